"""Learners that plan from counts: the policy of every step is a function of all counts released before it.

    PUCB's protocol (Algorithm 1):
        for t = 1..T:  pi_t = plan(counts of users 1..t-1);  user t answers pi_t;  her own counts are fed
        final policy:  pi_T, which uses T - 1 users; or, with `feed_last`, the plan after user T
    in B batches:  the same with ceil(T / B) users a plan; their counts are released together, and added up

So R = T - 1 prefixes are released, or R = T with `feed_last`: the difference matters to the accountant. The last
batch's counts are not released: nobody would read them.
"""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from algorithms.core.channels import ChannelStep
from algorithms.core.counting import CountSource
from algorithms.core.protocol import Acting, drive, Final, Look, Served, Setting, Shown
from algorithms.core.users import Users
from algorithms.tabular import backward_induction, expected_return, Model
from dpverify.base.seeding import Stage, stream
from dpverify.errors import ParameterError
from mechanisms.datasets.visit_counts import CountLayout, PrivateCounts

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


class Learner(Protocol):
    """A rule that turns counts into a policy; everything it knows about users is in the counts.

    `plan(counts, *, rng)` may flip coins, those of `rng` alone. `plan(counts, *, state)` may remember: it returns
    (policies, state), is handed the state that it returned last, and None in the first plan of every run. What a plan
    is handed is read off its signature (`handed`), or off a `handed` of the learner's own.
    """

    def plan(self, counts: PrivateCounts) -> IntArray:
        """Deterministic policies (runs, H, S) from counts with leading axis runs."""
        ...


def handed(learner: Any) -> frozenset[str]:
    """Which of "rng" and "state" a learner's `plan` takes as keywords."""
    own = getattr(learner, "plan_keywords", None)  # of one that hands on what it gets
    if isinstance(own, frozenset):
        return own
    try:
        taken = inspect.signature(learner.plan).parameters.values()
    except (TypeError, ValueError):  # it does not say
        return frozenset()
    return frozenset(each.name for each in taken if each.kind is not each.VAR_KEYWORD) & {"rng", "state"}


@dataclass(frozen=True, kw_only=True)
class Planned:
    """`learner` as an agent: asked before every user, or before each of at most `deployments` batches.

    `users` is how many it is made for: any number where it is None, but then batches have no ledger.
    """

    learner: Learner
    layout: CountLayout
    users: int | None = None
    deployments: int | None = None
    feed_last: bool = False
    last_transition: bool = True

    @property
    def shown(self) -> Shown:
        """In games a plan is a law of joint actions, (*lead, H, S, A B); what a learner's own coins drew is shown."""
        if self.layout.B is not None:
            return "coins"
        return "policies" if "rng" in handed(self.learner) else "nothing"

    def steps(self, users: int | None = None) -> Sequence[ChannelStep]:
        """All alike but the last one, which is silent unless it is fed."""
        users = number_of_users(users, self.users)
        if self.deployments is not None:
            return batches_of(self.layout, users, self.deployments)
        step = ChannelStep(1, self.layout, last_transition=self.last_transition)
        last = ChannelStep(1, self.layout, last_transition=self.last_transition, silent=not self.feed_last)
        return [step] * (users - 1) + [last]

    def act(self, setting: Setting) -> Acting:
        """Plans from all that was released; a continual release adds up by itself."""
        counts: Any = np.zeros((*setting.lead, self.layout.cells))
        own = {"rng": _own_coins(setting.rng) if "rng" in handed(self.learner) else None, "state": None}
        given = {name: own[name] for name in handed(self.learner)}

        def planned() -> IntArray:
            told = counts if self.deployments is None else counts.copy()  # batches are added up here
            made: Any = self.learner.plan(self.layout.unpack(told), **given)
            if "state" in given:
                made, given["state"] = made
            return made  # type: ignore[no-any-return]

        for step in setting.steps:
            policy = planned()
            released = yield policy
            if not step.silent:
                counts = counts + released if step.together else released
        return Final((planned() if self.feed_last else policy,))


def _own_coins(rng: np.random.Generator) -> np.random.Generator:
    """A generator from which nobody finds the noise: a copy of `rng` would draw it again, and a spawned one knows it.

    On the tape its seed is one whole number (so below 2^53), and the coins are a function of it: the same to the bit,
    where policies of values that tie but for rounding ask for that.
    """
    return stream(int(rng.integers(1 << 52)), Stage.EXPERIMENT)


def number_of_users(come: int | None, made_for: int | None) -> int:
    """ParameterError where more or fewer come than an agent is made for."""
    if come is None:
        come = made_for
    if come is None or (made_for is not None and come != made_for):
        raise ParameterError("len(users)", come, "a number of users" if come is None else f"{made_for} users")
    return come


def batches_of(layout: CountLayout, users: int, deployments: int) -> list[ChannelStep]:
    """Batches of ceil(users / deployments), perhaps less in the last one, which is silent."""
    size = -(-users // deployments)
    sizes = [min(size, users - first) for first in range(0, users, size)]
    found = [ChannelStep(each, layout, together=True) for each in sizes[:-1]]
    return [*found, ChannelStep(sizes[-1], layout, together=True, silent=True)]


@dataclass(frozen=True, eq=False)
class OnlineRun:
    """Policies (T, runs, H, S) that were played, and the final one (runs, H, S)."""

    policies: npt.NDArray[np.int8]
    final: IntArray

    @property
    def switches(self) -> IntArray:
        """Number of t with pi_t != pi_{t+1}, by comparing the whole tables, shape (runs,)."""
        moved = (self.policies[1:] != self.policies[:-1]).any(axis=(-2, -1))
        return np.asarray(moved.sum(axis=0), dtype=np.int64)


def run_online(
    users: Users,
    learner: Learner,
    source: CountSource,
    *,
    runs: int,
    rng: np.random.Generator,
    observe: Look | None = None,
    **options: Any,
) -> OnlineRun:
    """`drive` with `learner` planning before every user; `options` go to `Planned`."""
    layout = source.layout
    policies = np.empty((len(users), runs, layout.H, layout.S), dtype=np.int8)

    def keep(served: Served) -> None:
        policies[served.number] = served.policies
        if observe is not None:
            observe(served)

    agent = Planned(learner=learner, layout=layout, **options)
    (final,) = drive(agent, source, users, lead=(runs,), rng=rng, observe=keep).policies
    return OnlineRun(policies, final)


def regret_per_episode(policies: npt.NDArray[np.int8], model: Model, *, block: int = 1000) -> Array:
    """V* - V^pi from the initial law, in the true model: shape of `policies` without its last two axes.

    Expected, not realised, regret of each episode; the runs' means are unbiased for the papers' regret.
    """
    best = (backward_induction(model.transitions, model.rewards).values[0] * model.initial).sum()
    flat = policies.reshape(-1, *policies.shape[-2:])
    values = np.concatenate(
        [
            expected_return(flat[i : i + block], model.transitions, model.rewards, model.initial)
            for i in range(0, len(flat), block)
        ]
    )
    return np.asarray((best - values).reshape(policies.shape[:-2]))
