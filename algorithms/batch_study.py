"""A researcher's own agent that learns in batches, under shuffle DP: what its privacy and its regret can be checked by.

    agent    a rule `plan(counts) -> policies`, asked once a batch with the pooled released counts of all batches before
    batches  how a finished batch is released: `ShuffledBatches(layout=..., eps=..., beta=..., budget="calibrated")`, or
             what has `release`, `log_ratio` and `ledger` like it

As `study`, for a few dozen deployments instead of one plan for every user: see `pooled` for the loop and its account.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.batches import ExactBatches, ShuffledBatches
from algorithms.environments import Environment
from algorithms.online import Learner, Planned, regret_per_episode
from algorithms.protocol import played
from algorithms.study import CheckedAgent, fits, steady_pair
from algorithms.transcripts import Transcript
from algorithms.users import TapeUsers
from dpverify.accounting.accountant import account
from dpverify.accounting.ledger import Ledger
from dpverify.base import require
from dpverify.base.errors import ParameterError
from dpverify.base.seeding import derive, Stage, stream
from dpverify.claims.claim import ApproxDP
from dpverify.claims.neighbours import Pair, Unit, View
from mechanisms.datasets.visit_counts import CountLayout

Array = npt.NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class BatchStudy:
    """`agent` with `users` users in `deployments` batches; the last batch's counts are not released.

    (`eps`, `delta`) is what is claimed for every user, in the shuffle model: the counts of her batch are all that is
    seen by anybody but the shuffler. ParameterError where the parts do not fit.
    """

    agent: Learner
    batches: Any
    layout: CountLayout
    users: int
    deployments: int
    eps: float
    delta: float

    def __post_init__(self) -> None:
        require.integer(at_least=2, users=self.users, deployments=self.deployments)
        require.positive(eps=self.eps)
        require.delta(delta=self.delta)
        if not callable(getattr(self.agent, "plan", None)):
            raise ParameterError("agent", self.agent, "an object with plan(counts) -> policies")
        for name in ("release", "log_ratio", "ledger"):
            if not callable(getattr(self.batches, name, None)):
                raise ParameterError("batches", self.batches, f"an object with {name}, as ShuffledBatches has")
        if isinstance(self.batches, ShuffledBatches) and self.batches.layout != self.layout:
            raise ParameterError("layout", self.layout, f"{self.batches.layout}, as the batches'")
        if self.deployments > self.users:
            raise ParameterError("deployments", self.deployments, f"at most {self.users}, one user each")

    @property
    def claim(self) -> ApproxDP:
        """(eps, delta)-SDP; the unit is a whole trajectory."""
        return ApproxDP(self.eps, self.delta, unit=Unit.TRAJECTORY, view=View.SHUFFLE)

    @property
    def transcript(self) -> Transcript:
        """Target: the released counts of every batch, with the exact log ratio."""
        return Transcript(agent=self._agent, privatizer=self.batches)

    @property
    def ledger(self) -> Ledger:
        """Parallel composition over the batches: whatever the agent does with released counts is post-processing."""
        stated = self.transcript.ledger
        assert stated is not None
        return stated

    @property
    def upper(self) -> float:
        """Eps of the ledger at `delta`."""
        return float(account(self.ledger, delta=self.delta))

    def pair(self, user: int = 0) -> Pair:
        """Datasets in which all that a user's data can move is moved, see `Study.pair`."""
        return steady_pair(self.layout, self.users, user)

    def with_noise(self, factor: float) -> "BatchStudy":
        """The same claim with `factor` times the noise's standard deviation: 1/2 is a planted bug."""
        require.positive(factor=factor)
        scaled = getattr(self.batches, "with_noise", None)
        if scaled is None:
            raise ParameterError("batches", self.batches, "an object with with_noise(factor)")
        return replace(self, batches=scaled(factor))

    def with_agent(self, agent: Learner) -> "BatchStudy":
        """The same batches, users and claim: a baseline at equal privacy."""
        return replace(self, agent=agent)

    def regret(self, environment: Environment, *, runs: int, seed: int, exact: bool = False) -> Array:
        """Total expected regret of each run, (runs,); `exact`: without privacy, on the same users."""
        require.integer(at_least=1, runs=runs)
        return self._regret(environment, environment.tapes(seed, runs, self.users), seed, exact)

    def losses(self, environment: Environment, seeds: Sequence[int]) -> Array:
        """The same, one run a seed, (len(seeds),): what a search compares settings by. Noise depends on all seeds."""
        tapes = np.concatenate([environment.tapes(each, 1, self.users) for each in seeds])
        return self._regret(environment, tapes, derive(seeds[0], f"study/{list(seeds)}"), False)

    def _regret(self, environment: Environment, tapes: Array, seed: int, exact: bool) -> Array:
        fits(environment, self.layout)
        rng = stream(derive(seed, "study/regret"), Stage.EXPERIMENT)
        batches = ExactBatches() if exact else self.batches
        policies, sizes = played(self._agent, TapeUsers(environment, tapes), batches, runs=len(tapes), rng=rng)
        regret = np.repeat(regret_per_episode(policies, environment.model), sizes, axis=0)
        return np.asarray(np.ascontiguousarray(regret.T).sum(axis=1))

    @property
    def _agent(self) -> Planned:
        layout = self.layout
        checked = CheckedAgent(self.agent, (layout.H, layout.S, layout.A))
        return Planned(learner=checked, layout=layout, users=self.users, deployments=self.deployments)
