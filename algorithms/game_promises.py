"""What DP-Nash-VI promises along a run, as a `Promise` that trials can break.

    with probability 1 - beta, in every episode k and every state and step:
        V^up_h >= V^{+,nu^k}_h   and   V^{mu^k,+}_h >= V^low_h          (Appendix B.2 of the paper)
    always:
        Q^up >= Q^low;  P~ is a distribution;  both (CCE) inequalities to 1e-9;  V^{+,nu}_1 >= V^{mu,+}_1

`error` of a trial is the largest amount by which a bound was missed in its run, 0 or less where none was;
`bound` is 0 up to rounding.
"""

import numpy as np
import numpy.typing as npt

from algorithms.cce import TOLERANCE, violation
from algorithms.markov_games import marginals, MarkovGame
from algorithms.nash_vi import GamePlan, NashVI, self_play
from algorithms.users import Episodes, TapeUsers
from dpverify.evidence.promises import Outcomes, Promise
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
        raw = [np.zeros((size, game.layout.cells))]

        def check(k: int, plan: GamePlan, counts: Array, seen: Episodes, coins: Array) -> None:
            first, second = marginals(plan.joint)
            best, worst = game.max_response(second), game.min_response(first)
            gaps = np.maximum(best - plan.upper_values, plan.lower_values - worst)
            np.maximum(missed, gaps[:, :-1].max(axis=(1, 2)), out=missed)
            kernel = learner.kernel(game.layout.unpack(raw[0]))
            axes = tuple(range(1, kernel.ndim))
            held["Q^up >= Q^low"] &= (plan.upper >= plan.lower).all(axis=axes[:-1])
            proper = (kernel >= 0) & (np.abs(kernel.sum(axis=-1, keepdims=True) - 1) <= ROUNDING)
            held["P~ a distribution"] &= proper.all(axis=axes)
            held["CCE"] &= (violation(plan.joint, plan.upper, plan.lower) <= TOLERANCE).all(axis=(1, 2))
            held["weak duality"] &= (best >= worst - ROUNDING).all(axis=(1, 2))
            raw[0] = counts

        users = TapeUsers(environment, rng.random((size, episodes, environment.tape_width)))
        self_play(users, learner, privatizer, start=game.start, runs=size, rng=rng, observe=check)
        return Outcomes(errors=np.maximum(missed, 0.0), invariants=held)

    return Promise(
        name=name,
        draw=draw,
        bound=ROUNDING,
        failure_probability=learner.beta,
        trials=trials,
        paper="DP-Nash-VI (Qiao, Wang 2024)",
        statement="V^up >= V^{+,nu} >= V^{mu,+} >= V^low in every episode",
    )
