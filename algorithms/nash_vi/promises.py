"""What DP-Nash-VI promises along a run, as a `Promise` that trials can break.

    with probability 1 - beta, in every episode k and every state and step:
        V^up_h >= V^{+,nu^k}_h   and   V^{mu^k,+}_h >= V^low_h          (Appendix B.2 of the paper)
    always:
        Q^up >= Q^low;  P~ is a distribution;  both (CCE) inequalities to 1e-9;  V^{+,nu}_1 >= V^{mu,+}_1

`error` of a trial is the largest amount by which a bound was missed in its run, 0 or less where none was;
`bound` is 0 up to rounding. A bound is active where it could fail: V^up_h below the H - h that no value exceeds, and
the response above 0; V^low_h above 0, and the response below H - h.

`plan_promise` needs no episodes: it asks the same of one plan, from counts of N visits in every cell. In runs of a size
that can be simulated the bonus of the theory keeps all bounds at their caps.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from algorithms.core.users import TapeUsers
from algorithms.nash_vi.equilibria import TOLERANCE, violation
from algorithms.nash_vi.learner import GamePlan, NashVI, self_play
from algorithms.nash_vi.markov_games import marginals, MarkovGame
from dpverify.promises import Outcomes, Promise
from mechanisms.datasets.visit_counts import PrivateCounts
from mechanisms.privatizers.protocol import OnlinePrivatizer

Array = npt.NDArray[np.float64]
ROUNDING = 1e-9


def value_promise(
    game: MarkovGame, learner: NashVI, privatizer: OnlinePrivatizer, episodes: int, *, trials: int, name: str
) -> Promise:
    """The promise above for runs of `episodes` users; a trial is a run with users of its own."""

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        missed = np.full(size, -np.inf)
        held = {
            what: np.ones(size, dtype=bool) for what in ("Q^up >= Q^low", "P~ a distribution", "CCE", "weak duality")
        }
        environment = game.environment
        active = np.zeros(size)

        def check(counts: PrivateCounts, plan: GamePlan) -> None:
            first, second = marginals(plan.joint)
            best, worst = game.max_response(second), game.min_response(first)
            gaps = np.maximum(best - plan.upper_values, plan.lower_values - worst)
            np.maximum(missed, gaps[:, :-1].max(axis=(1, 2)), out=missed)
            active[...] += _active(plan, best, worst) / episodes
            kernel = learner.kernel(counts)
            axes = tuple(range(1, kernel.ndim))
            held["Q^up >= Q^low"] &= (plan.upper >= plan.lower).all(axis=axes[:-1])
            proper = (kernel >= 0) & (np.abs(kernel.sum(axis=-1, keepdims=True) - 1) <= ROUNDING)
            held["P~ a distribution"] &= proper.all(axis=axes)
            held["CCE"] &= (violation(plan.joint, plan.upper, plan.lower) <= TOLERANCE).all(axis=(1, 2))
            held["weak duality"] &= (best >= worst - ROUNDING).all(axis=(1, 2))

        users = TapeUsers(environment, rng.random((size, episodes, environment.tape_width)))
        self_play(users, WatchedNashVI.of(learner, check), privatizer, start=game.start, runs=size, rng=rng)
        return Outcomes(errors=np.maximum(missed, 0.0), invariants=held, active=np.minimum(active, 1.0))

    return Promise(
        name=name,
        draw=draw,
        bound=ROUNDING,
        failure_probability=learner.beta,
        trials=trials,
        paper="DP-Nash-VI (Qiao, Wang 2024)",
        statement="Lemma B.7: V^up >= V^{+,nu} >= V^{mu,+} >= V^low in every episode",
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class WatchedNashVI(NashVI):
    """A planner whose plans are looked at, with the counts that they are made from."""

    look: Callable[[PrivateCounts, GamePlan], None]

    @classmethod
    def of(cls, planner: NashVI, look: Callable[[PrivateCounts, GamePlan], None]) -> Self:
        """`planner`, watched."""
        return cls(**{each.name: getattr(planner, each.name) for each in fields(planner)}, look=look)

    def plan(self, counts: PrivateCounts) -> GamePlan:
        made = super().plan(counts)
        self.look(counts, made)
        return made


def plan_promise(
    game: MarkovGame,
    learner: NashVI,
    visits: int,
    *,
    trials: int,
    name: str,
    error: float | None = None,
    sharp: float = np.inf,
    **options: Any,
) -> Promise:
    """The promise for one plan from `visits` visits of every cell, with noise of +-`error`/4 in every count.

    That is the largest noise that the learner's E allows, unless `error` says another. At the start V^up - V^low is
    promised to be at most `sharp` as well: H and 0 always bracket, and are never sharp.
    """
    size_of_noise = (learner.error if error is None else error) / 4
    statement = f"Lemma B.7: V^up >= V^{{+,nu}} >= V^{{mu,+}} >= V^low of a plan from {visits:.0e} visits a cell"

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        plan = learner.plan(PrivateCounts(*dense_game_counts(game, visits, size, noise=size_of_noise, rng=rng)))
        first, second = marginals(plan.joint)
        best, worst = game.max_response(second), game.min_response(first)
        gaps = np.maximum(best - plan.upper_values, plan.lower_values - worst)[:, :-1].max(axis=(1, 2))
        wide = plan.width(game.start) - sharp
        return Outcomes(errors=np.maximum(np.maximum(gaps, wide), 0.0), active=_active(plan, best, worst))

    return Promise(
        name=name,
        draw=draw,
        bound=ROUNDING,
        failure_probability=learner.beta,
        trials=trials,
        block=256,
        paper="DP-Nash-VI (Qiao, Wang 2024)",
        **{"statement": statement, **options},
    )


def width_bound(learner: NashVI, visits: int) -> float:
    """How far V^up and V^low of a plan are apart at most at the start, from `visits` visits of every cell.

    By Algorithm 1, Q^up - Q^low <= (1 + 2 C1/H) P~ (V^up - V^low) + 2 Gamma in every cell, and no variance of a value
    in [0, H] is above H^2/4.
    """
    size, iota = learner.layout, learner.log_term
    lower_order = (size.H * size.S * learner.error + size.H**2 * size.S) * iota / visits
    most = learner.bonus_scale * (size.H / 2 * float(np.sqrt(iota / visits)) + lower_order)
    return sum(2 * most * (1 + 2 * learner.gap_scale / size.H) ** h for h in range(size.H))


def dense_game_counts(
    game: MarkovGame, visits: int, size: int, *, noise: float, rng: np.random.Generator
) -> tuple[Array, Array]:
    """(visits, transitions): `visits` of every cell, next states from the game's law, +-`noise`; (size, ...)."""
    law = np.maximum(game.transitions, 0.0)
    onward = rng.multinomial(visits, law / law.sum(axis=-1, keepdims=True), size=(size, *law.shape[:-1]))
    exact = (np.full((size, *law.shape[:-1]), float(visits)), onward.astype(np.float64))
    first, second = (each + noise * (2 * rng.integers(2, size=each.shape) - 1) for each in exact)
    return first, second


def _active(plan: GamePlan, best: Array, worst: Array) -> Array:
    """Share of the bounds of a plan that could fail; `best` and `worst` are the responses that they are compared to."""
    upper, lower = plan.upper_values[:, :-1], plan.lower_values[:, :-1]
    caps = np.arange(upper.shape[1], 0, -1.0)[:, None]
    above = (upper < caps - ROUNDING) & (best[:, :-1] > ROUNDING)
    below = (lower > ROUNDING) & (worst[:, :-1] < caps - ROUNDING)
    return np.asarray((above.mean(axis=(1, 2)) + below.mean(axis=(1, 2))) / 2)
