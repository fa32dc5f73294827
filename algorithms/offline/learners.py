"""Offline learners of tabular counts: one release of a finished dataset, one plan. DP-APVI, and a user's own.

    OneRelease     a planner on a privatizer, as an audit target: DP-APVI (`apvi`), and `Offline` for any agent
    PolicyView     its output alone
    OfflineStudy   a researcher's own agent, `plan(counts) -> policies`, whole: ledger, targets, promise, suboptimality

Not driven by `protocol.drive`: what was logged answers no policy, nobody is served while the agent learns, and after
one release nothing is adaptive. It would be a loop of one step whose policy is thrown away. Nor do DP-VAPVI (`vapvi`)
and `lean` fit there: they release vectors and Gram matrices of the same users once for every step of the horizon, each
made from the V of the step before. Between two releases they have neither policies nor users, which is all that the
driver is about; their targets (`vapvi_transcripts`, `lean_transcripts`) walk down the horizon by themselves.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.core.checked_agent import CheckedAgent
from algorithms.core.online import handed
from algorithms.offline.data import collect, suboptimality, take
from algorithms.tabular import Model, uniform_policy
from dpverify.accounting.accountant import account_of
from dpverify.base import require
from dpverify.base.seeding import derive, Stage, stream
from dpverify.claims import Claim, Pair
from dpverify.errors import ParameterError
from dpverify.ledger import Ledger
from dpverify.promises import Promise
from mechanisms.datasets.pairs import constant, worst_replacement
from mechanisms.datasets.trajectories import Trajectories
from mechanisms.datasets.visit_counts import CountLayout, PrivateCounts
from mechanisms.privatizers.no_privacy import NoPrivacy
from mechanisms.privatizers.offline_tabular import OfflineTabularGaussian, OfflineTabularLaplace

Array = npt.NDArray[Any]
IntArray = npt.NDArray[np.int64]


class OneRelease:
    """What plans from the counts that its `source` releases once: the policy is a function of them."""

    source: Any  # an offline privatizer, or exact counts

    def plan(self, counts: PrivateCounts) -> IntArray:
        """Policies (size, H, S)."""
        raise NotImplementedError

    @property
    def ledger(self) -> Ledger:
        """That of the counts."""
        return self.source.ledger  # type: ignore[no-any-return]

    def policies(self, data: Trajectories, *, rng: np.random.Generator, size: int) -> IntArray:
        """`size` independent output policies, (size, H, S)."""
        return self.plan(self.source.private_counts(data, rng=rng, size=size))

    def release(self, data: Trajectories, *, rng: np.random.Generator, size: int) -> Array:
        """Raw noisy counts, (size, cells)."""
        return np.asarray(self.source.release(data, rng=rng, size=size))

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """Exact, of the counts."""
        return np.asarray(self.source.log_ratio(outputs, pair))


@dataclass(frozen=True, eq=False, kw_only=True)
class Offline(OneRelease):
    """`agent.plan` on a source."""

    agent: CheckedAgent
    source: Any
    name: str = "offline"

    def plan(self, counts: PrivateCounts) -> IntArray:
        return np.asarray(self.agent.plan(counts))


@dataclass(frozen=True, eq=False)
class PolicyView:
    """Black box: the output policy of a learner with `policies`, flat action numbers (size, H S)."""

    learner: Any
    name: str = "policy"

    @property
    def ledger(self) -> Ledger | None:
        """That of the learner: the policy is post-processing."""
        return getattr(self.learner, "ledger", None)

    def release(self, data: Trajectories, *, rng: np.random.Generator, size: int) -> IntArray:
        """`size` policies as rows of action numbers."""
        policies = self.learner.policies(data, rng=rng, size=size)
        return np.asarray(policies.reshape(size, -1), dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class OfflineStudy:
    """`agent` on the counts of a dataset, released once by `privatizer`; rewards are known.

    agent       `plan(counts) -> policies`, (runs, H, S) action numbers: a function of the released counts
    privatizer  `OfflineTabularGaussian` (rho-zCDP) or `OfflineTabularLaplace` (eps-DP), replacing one trajectory
    stated      what is claimed; None: what the privatizer claims
    """

    agent: Any
    privatizer: OfflineTabularGaussian | OfflineTabularLaplace
    stated: Claim | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.privatizer, OfflineTabularGaussian | OfflineTabularLaplace):
            raise ParameterError("privatizer", self.privatizer, "OfflineTabularGaussian or OfflineTabularLaplace")
        if self.layout.B is not None:
            raise ParameterError("privatizer.layout", self.layout, "that of one player")
        if not callable(getattr(self.agent, "plan", None)) or handed(self.agent):
            raise ParameterError("agent", self.agent, "an object with plan(counts) -> policies, without rng and state")

    @property
    def layout(self) -> CountLayout:
        """Of the counts."""
        return self.privatizer.layout

    @property
    def claim(self) -> Claim:
        """Of the policy, and of the counts that it is made from."""
        return self.stated or self.privatizer.claim

    @property
    def ledger(self) -> Ledger:
        """That of the counts: the plan is post-processing."""
        return self.privatizer.ledger

    @property
    def upper(self) -> float:
        """The ledger's bound in the claim's own unit."""
        found = account_of(self.claim, self.ledger).number_upper
        assert found is not None
        return found

    @property
    def transcript(self) -> Offline:
        """Target: the released counts, with the exact log ratio."""
        return self._run(self.privatizer)

    def policy(self, *, exact: bool = False) -> PolicyView:
        """Target: the output policy alone. `exact`: from counts without noise, a planted twin."""
        return PolicyView(self._run(NoPrivacy(layout=self.layout) if exact else self.privatizer))

    def with_noise(self, factor: float) -> "OfflineStudy":
        """The same claim with `factor` times the noise, and the ledger that this has: 1/2 is a planted bug."""
        require.positive(factor=factor)
        source = self.privatizer
        drawn: OfflineTabularGaussian | OfflineTabularLaplace
        if isinstance(source, OfflineTabularGaussian):
            drawn = replace(source, rho=source.rho / factor**2)
        else:
            drawn = replace(source, eps=source.eps / factor)
        return replace(self, privatizer=drawn, stated=self.claim)

    def with_agent(self, agent: Any) -> "OfflineStudy":
        """The same privatizer and claim: a baseline at equal privacy."""
        return replace(self, agent=agent)

    def pair(self, users: int = 2, user: int = 0) -> Pair:
        """Datasets in which `user`'s trajectory moves all that one can move; all others are alike."""
        return worst_replacement(constant(self.layout, users), user)

    def promise(self, data: Trajectories, *, beta: float) -> list[Promise]:
        """With probability 1 - `beta` counts are within the privatizer's bounds, raw and post-processed."""
        return self.privatizer.promises(data, beta=beta)

    def regret(
        self,
        model: Model,
        *,
        users: int,
        runs: int,
        seed: int,
        exact: bool = False,
        logged: Trajectories | None = None,
    ) -> Array:
        """V* - V^pi of the output policy, (runs,); each run has `users` of its own, who played uniform actions.

        `exact`: without privacy, on the same users. `logged`: the first `users` of these in every run instead, so that
        runs differ in noise alone.
        """
        require.integer(at_least=1, users=users, runs=runs)
        size = self.layout
        if (size.H, size.S, size.A) != (model.horizon, model.states, model.actions):
            raise ParameterError("model", model.rewards.shape, f"{size.visits_shape}, as the privatizer's layout")
        played, seeds = uniform_policy(size.H, size.S, size.A), derive(seed, "offline study/users")
        noise = stream(derive(seed, "offline study/noise"), Stage.EXPERIMENT)
        learner = self._run(NoPrivacy(layout=size) if exact else self.privatizer)
        found = []
        for run in range(runs):
            drawn = stream(seeds, Stage.EXPERIMENT, run)
            data = collect(model, played, users, rng=drawn) if logged is None else take(logged, slice(users))
            found.append(suboptimality(learner.policies(data, rng=noise, size=1)[0], model))
        return np.array(found)

    def _run(self, source: Any) -> Offline:
        return Offline(agent=CheckedAgent(self.agent, self.layout), source=source)
