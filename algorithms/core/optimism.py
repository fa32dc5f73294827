"""Optimism, Q >= Q* in every cell, as `Promise`s that trials can break; for every learner whose plan has a Q.

    optimism_of_run    in every episode of a run
    optimism_of_plan   of one plan from dense counts, without episodes: runs of a size that can be simulated keep the
                       bounds of the theory at their caps, where nothing can fail

The error of a trial is the largest Q* - Q, 0 where there is none. A bound is active where it could fail: Q* is above
0, and Q below the H - h that no Q* exceeds.
"""

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from algorithms.core.counting import CountSource
from algorithms.core.environments import Environment
from algorithms.core.online import Learner, run_online
from algorithms.core.users import TapeUsers
from algorithms.tabular import backward_induction, Model, Plan
from dpverify.base import require
from dpverify.errors import ParameterError
from dpverify.promises import Outcomes, Promise
from mechanisms.datasets.visit_counts import CountLayout, PrivateCounts

Array = npt.NDArray[Any]
ROUNDING = 1e-9


class Optimistic(Protocol):
    """A learner whose greedy policy comes from an optimistic Q."""

    @property
    def layout(self) -> CountLayout: ...
    @property
    def episodes(self) -> int: ...

    def optimistic(self, counts: PrivateCounts) -> Plan:
        """The plan; `q` is the optimistic Q."""
        ...


def optimism_of_run(environment: Environment, learner: Optimistic, source: CountSource, **options: Any) -> Promise:
    """Q >= Q* in every episode and cell of a run; a trial is a run with users of its own.

    Parameters
    ----------
    environment
        Where the users live.
    learner
        Plans before every user.
    source
        The counts that it plans from.
    options
        Of `Promise`; at least `name` and `failure_probability`.
    """

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        watched = WatchedPlans(learner, environment.model)
        users = TapeUsers(environment, rng.random((size, learner.episodes, environment.tape_width)))
        run_online(users, watched, source, runs=size, rng=rng)
        return Outcomes(errors=np.maximum(watched.missed, 0.0), active=watched.active)

    return Promise(draw=draw, bound=ROUNDING, **options)


def optimism_of_plan(
    environment: Environment,
    learner: Optimistic,
    visits: int,
    *,
    noise: float,
    sharp: float = np.inf,
    **options: Any,
) -> Promise:
    """Q >= Q* in every cell of one plan from `visits` visits of each cell; a trial is a plan from fresh counts.

    Parameters
    ----------
    environment
        Its model draws next states and 0/1 rewards.
    learner
        Plans once.
    visits
        Of every (h, s, a); at most the learner's episodes, for which its logarithm is.
    noise
        Every count is moved by +-`noise`, a fair coin each: the largest error that the learner's theory allows.
    sharp
        Q - Q* is promised to be at most this as well: Q = H is always optimistic, and never sharp.
    options
        Of `Promise`; at least `name` and `failure_probability`.
    """
    require.integer(at_least=1, visits=visits)
    if visits > learner.episodes:
        raise ParameterError("visits", visits, f"at most the learner's {learner.episodes} episodes")
    model = environment.model

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        watched = WatchedPlans(learner, model)
        watched.plan(dense_counts(model, visits, size, noise=noise, rng=rng))
        off = np.maximum(watched.missed, watched.above - sharp)
        held = {"the policy is greedy in Q": watched.greedy}
        return Outcomes(errors=np.maximum(off, 0.0), active=watched.active, invariants=held)

    statement = f"Q >= Q* in every cell of a plan from {visits:.0e} visits a cell"
    given: dict[str, Any] = {"statement": statement, "trials": 1_000, "block": 256, **options}
    return Promise(draw=draw, bound=ROUNDING, **given)


def dense_counts(model: Model, visits: int, size: int, *, noise: float, rng: np.random.Generator) -> PrivateCounts:
    """`visits` of each cell, with next states and 0/1 rewards from `model`, +-`noise` on all counts; (size, ...)."""
    law = model.transitions / model.transitions.sum(axis=-1, keepdims=True)
    onward = rng.multinomial(visits, law, size=(size, *law.shape[:-1])).astype(np.float64)
    paid = rng.binomial(visits, model.rewards, size=onward.shape[:-1]).astype(np.float64)
    exact = (np.full(paid.shape, float(visits)), onward, paid)
    return PrivateCounts(*(each + noise * (2 * rng.integers(2, size=each.shape) - 1) for each in exact))


class WatchedPlans(Learner):
    """`learner`, and by how much its Q fell below Q* at most so far, and was above it (runs,)."""

    def __init__(self, learner: Optimistic, model: Model) -> None:
        self.learner, self.best = learner, backward_induction(model.transitions, model.rewards).q
        self.missed: Array = np.asarray(-np.inf)
        self.above: Array = np.asarray(-np.inf)
        self.greedy: Array = np.asarray(True)  # the policy so far
        self.plans = 0
        self.below: Array = np.asarray(0.0)

    def plan(self, counts: PrivateCounts) -> npt.NDArray[np.int64]:
        plan = self.learner.optimistic(counts)
        axes = (-3, -2, -1)
        self.missed = np.maximum(self.missed, (self.best - plan.q).max(axis=axes))
        self.above = np.maximum(self.above, (plan.q - self.best).max(axis=axes))
        chosen = np.take_along_axis(plan.q, plan.policy[..., None].astype(np.int64), axis=-1)[..., 0]
        self.greedy = self.greedy & (chosen >= plan.q.max(axis=-1)).all(axis=(-2, -1))
        most = np.arange(self.learner.layout.H, 0, -1.0)[:, None, None]  # no Q* is above it: there optimism cannot fail
        falls = (plan.q < most - ROUNDING) & (self.best > ROUNDING)
        self.plans, self.below = self.plans + 1, self.below + falls.mean(axis=axes)
        return plan.policy

    @property
    def active(self) -> Array:
        """Share of all Q so far that could fall short, (runs,)."""
        return np.asarray(np.minimum(self.below / max(self.plans, 1), 1.0))
