"""`compare` of agents in batches, in games and offline: each family by what differs from one user a plan.

    family   run                             measured                          beside it, at equal privacy and search
    online   one user a plan                 regret                            Bernstein-VI; PUCB, where asked for
    batches  asked `deployments` times       regret                            SDP-PE, shuffled optimism
    games    one user a plan, joint actions  Nash gap, summed over users       DP-Nash-VI
    offline  one release of a dataset        v* - v of its policy, by dataset  DP-APVI

One call compares one family: views (joint, local, shuffle), data (served or logged) and units differ between them, so
their lines are not drawn in one picture. Nor are DP-VAPVI and `lean` beside DP-APVI: see `OfflineTerms.REFUSED`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import joblib
import numpy as np
import numpy.typing as npt

from algorithms.beyond.gaussian_counts import least_sigma
from algorithms.beyond.shuffled_optimism import ShuffledOptimism
from algorithms.core.environments import Environment
from algorithms.core.online import regret_per_episode
from algorithms.core.users import TapeUsers
from algorithms.experiments.compare_evidence import offline_evidence
from algorithms.experiments.compare_terms import BLIND, Contender, privacy_of, REWARDS_ONLY, Terms
from algorithms.experiments.constants import KNOWN, SPACES, TOLERANCE
from algorithms.experiments.search import Point
from algorithms.experiments.selfplay import BETA
from algorithms.experiments.selfplay import game_of as game_of
from algorithms.nash_vi.learner import error_of, NashVI
from algorithms.nash_vi.markov_games import marginals, MarkovGame
from algorithms.offline.apvi import APVI
from algorithms.offline.data import suboptimality
from algorithms.offline.learners import OfflineStudy
from algorithms.sdp_pe.batches import ShuffledBatches
from algorithms.sdp_pe.elimination import SDPPE, Staged
from algorithms.sdp_pe.policy_sets import FactoredSet
from algorithms.study import Study
from algorithms.tabular import Model
from dpverify.accounting.accountant import account
from dpverify.base import require
from dpverify.base.seeding import derive, Stage, stream
from dpverify.claims import ApproxDP, PureDP, Unit
from dpverify.errors import ParameterError
from mechanisms.datasets.trajectories import Trajectories
from mechanisms.datasets.visit_counts import CountLayout, PrivateCounts
from mechanisms.privatizers.central import Central
from mechanisms.privatizers.offline_tabular import OfflineTabularGaussian, OfflineTabularLaplace

Array = npt.NDArray[np.float64]


def batches(layout: CountLayout, users: int, eps: float, delta: float) -> ShuffledBatches:
    """The privatizer of the family: the least noise of shuffled bits; `users` are divided by the agent."""
    return ShuffledBatches(layout=layout, eps=eps, beta=delta, budget="calibrated")


def games(layout: CountLayout, users: int, eps: float) -> Central:
    """That of DP-Nash-VI, corrected."""
    return Central.corrected(eps, layout, users, releases=users - 1)


def game() -> MarkovGame:
    """The game of the self-play figure."""
    return game_of(1)


def offline(layout: CountLayout, users: int, eps: float, delta: float = 0.0) -> Any:
    """Laplace noise at pure eps; at (eps, delta) the least Gaussian noise."""
    if not delta:
        return OfflineTabularLaplace(layout=layout, eps=eps)
    return OfflineTabularGaussian(layout=layout, rho=2 * layout.H / least_sigma(4 * layout.H, eps, delta) ** 2)


class DividesUsers(Study):
    """An agent that divides its users itself, SDP-PE or shuffled optimism, on batches of the same privatizer."""

    def __post_init__(self) -> None:
        require.integer(at_least=2, users=self.users)

    @property
    def _agent(self) -> Any:
        return self.agent

    def _regret(self, environment: Any, tapes: Array, seed: int, exact: bool) -> Array:
        if isinstance(self.agent, ShuffledOptimism):
            return super()._regret(environment, tapes, seed, exact)
        source, model, found = self._exact if exact else self.privatizer, environment.model, []
        everything = FactoredSet(model.horizon, model.actions, model.initial)
        for run in range(len(tapes)):  # its set of policies has no leading axes
            rng = stream(derive(seed, "study/regret"), Stage.EXPERIMENT, run)
            users = TapeUsers(environment, tapes).run(run)
            done = self.agent.learner.run(users, source, everything, model.initial, rng=rng)
            found.append(regret_per_episode(done.policies, model))
        return np.stack(found, axis=-1)


@dataclass(frozen=True, kw_only=True)
class BatchTerms(Terms):
    """Every user is in one batch, whoever divides them; `deployments` are those of the caller's agents."""

    deployments: int = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        require.integer(at_least=2, deployments=self.deployments)
        if 2 * self.deployments > self.users:
            raise ParameterError("deployments", self.deployments, f"at most half of the {self.users} users")

    @property
    def known_opponents(self) -> dict[str, Contender]:
        return {}

    def study(self, one: Contender, point: Point, eps: float, users: int | None = None) -> Study:
        users = users or self.users
        source = self.privatizer(self.layout, users, *self._spent(eps))
        given = {"agent": one.made(source, users, point), "privatizer": source, "users": users, "eps": eps}
        kind = DividesUsers if one.divides else Study
        return kind(**given, delta=self.delta, deployments=min(self.deployments, users // 2))

    @property
    def baselines(self) -> tuple[Contender, ...]:
        initial = tuple(self.model.initial)

        def staged(privatizer: Any, users: int, **point: float) -> Staged:
            scales: dict[str, Any] = {f"{name}_scale": value for name, value in point.items()}
            return Staged(
                learner=SDPPE(layout=self.layout, episodes=users, tolerance=TOLERANCE, **scales), initial=initial
            )

        def pooled(privatizer: Any, users: int, *, bonus: float, error: float) -> ShuffledOptimism:
            return ShuffledOptimism(layout=self.layout, episodes=users, error_scale=error, bonus_scale=bonus)

        return (
            Contender("SDP-PE", staged, SPACES["SDP-PE"], KNOWN["SDP-PE"], divides=True),
            Contender(
                "shuffled optimism", pooled, SPACES["shuffled-optimism"], KNOWN["shuffled-optimism"], divides=True
            ),
        )

    @property
    def references(self) -> tuple[Contender, ...]:
        _, pooled = self.baselines
        return (pooled._replace(name="batched optimism, exact counts", exact=True),)

    def check(self, cell: tuple[Contender, float]) -> dict[str, Any]:
        """That of the caller's agent, and the ledgers of those that divide the users otherwise."""
        found = super().check(cell)
        for each in self.baselines:
            upper = self.study(each, dict(*each.known[:1]), cell[1]).upper
            if not upper <= cell[1] * (1 + 1e-9):
                found["objections"].append(f"REFUTED: the ledger of {each.name} has eps {upper:.9g}")
        return found


@dataclass(frozen=True, kw_only=True)
class GameTerms(Terms):
    """Two players; `environment` is a `MarkovGame`."""

    MEASURE: ClassVar = "Nash gap"
    UNIT: ClassVar = "expected reward between best responses, summed over users"

    SETTING: ClassVar = MarkovGame
    environment: MarkovGame

    @property
    def model(self) -> Model:
        return self.environment.environment.model

    @property
    def layout(self) -> CountLayout:
        return self.environment.layout

    @property
    def known_opponents(self) -> dict[str, Contender]:
        return {}

    @property
    def relative_to(self) -> str:
        return "a Nash equilibrium, whose gap is 0"

    @property
    def data_free(self) -> dict[str, float]:
        return game_references(self.environment, self.users)

    def _nash(self, users: int, error: float, bonus: float, gap: float) -> Any:
        return JointLaws(nash(self.environment, users, error, bonus, gap))

    @property
    def baselines(self) -> tuple[Contender, ...]:
        def make(privatizer: Any, users: int, *, bonus: float, gap: float, error: float) -> Any:
            return self._nash(users, error_of(privatizer, BETA, scale=error), bonus, gap)

        space = {"bonus": (1e-5, 1e-1), "gap": (1e-3, 1.0), "error": (1e-3, 1.0)}
        return (Contender("DP-Nash-VI", make, space, ({"bonus": 1e-4, "gap": 0.01, "error": 0.01},)),)

    @property
    def references(self) -> tuple[Contender, ...]:
        def make(privatizer: Any, users: int, *, bonus: float, gap: float) -> Any:
            return self._nash(users, 0.0, bonus, gap)

        return (Contender("Nash-VI, exact counts", make, {}, ({"bonus": 1e-3, "gap": 0.01},), exact=True),)


def nash(game: MarkovGame, users: int, error: float, bonus: float, gap: float) -> NashVI:
    """Nash-VI's planner with scales of its own."""
    return NashVI(
        layout=game.layout,
        rewards=game.rewards,
        episodes=users,
        error=error,
        beta=BETA,
        bonus_scale=bonus,
        gap_scale=gap,
    )


def game_references(game: MarkovGame, users: int) -> dict[str, float]:
    """Nash gaps without data: of uniform actions, and of Nash-VI where all transitions are taken for uniform."""
    known = nash(game, users, 0.0, 1e-3, 0.01).plan(flat(game.layout)).joint
    laws = {BLIND: np.full(game.layout.visits_shape, 1 / game.layout.choices), REWARDS_ONLY: known[0]}
    return {name: float(game.gap(*marginals(each))) for name, each in laws.items()}


@dataclass(frozen=True)
class JointLaws:
    """A planner of games as an agent: the laws of its joint actions."""

    planner: NashVI

    def plan(self, counts: Any) -> Array:
        """(runs, H, S, A, B)."""
        return self.planner.plan(counts).joint


@dataclass(frozen=True, kw_only=True)
class OfflineTerms(Terms):
    """A dataset of uniform actions, released once; the curve is over its size.

    `logged`: the first `users` of these trajectories are the dataset of every run. The search never sees them: it draws
    datasets of uniform actions from the environment, as without them.
    """

    MEASURE: ClassVar = "v* - v"
    UNIT: ClassVar = "expected reward of the policy made from a dataset"
    AXIS: ClassVar = "users in the dataset"
    REFUSED: ClassVar = (
        "NOT COMPARED  DP-VAPVI and lean: they spend privacy on rewards that agents of counts know (not equal data); "
        "at equal rho beside each other: python -m algorithms.experiments offline",
    )

    logged: Trajectories | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.logged is None:
            return
        if self.logged.layout != self.layout or self.logged.final_states is None or self.logged.absent.any():
            wanted = f"of {self.layout}, as the environment, with final states, without absent users"
            raise ParameterError("logged", self.logged.layout, wanted)
        if self.users > len(self.logged):
            raise ParameterError("users", self.users, f"at most the {len(self.logged)} that are logged")

    @property
    def known_opponents(self) -> dict[str, Contender]:
        return {}

    @property
    def data(self) -> str:
        if self.logged is None:
            return super().data
        return f"{self.users} logged users, the same for all seeds: they differ in noise alone"

    @property
    def layout(self) -> CountLayout:
        return CountLayout(H=self.model.horizon, S=self.model.states, A=self.model.actions)

    def study(self, one: Contender, point: Point, eps: float, users: int | None = None) -> "Logged":
        users = users or self.users
        source = self.privatizer(self.layout, users, *self._spent(eps))
        study = OfflineStudy(agent=one.made(source, users, point), privatizer=source)
        return Logged(study, users, eps, self.delta, self.logged)

    def settings(self, agents: Mapping[str, Any]) -> dict[str, Any]:
        return {**super().settings(agents), "logged": joblib.hash(self.logged)}

    def check(self, cell: tuple[Contender, float]) -> dict[str, Any]:
        one, eps = cell
        mine = self.study(one, {name: math.sqrt(low * high) for name, (low, high) in one.space.items()}, eps)
        shown = offline_evidence(mine, self.model, self.seed)
        return {"agent": one.name, "privacy": privacy_of(mine), "upper": mine.upper, **shown}

    def curve(self, measured: Array) -> tuple[npt.NDArray[np.int64], Array]:
        at = np.array(sizes(self.users))
        return at, measured[: len(at)]

    @property
    def data_free(self) -> dict[str, float]:
        (known,) = self._apvi(0.0, 0.01).plan(flat(self.layout))
        return {**super().data_free, REWARDS_ONLY: float(suboptimality(known, self.model))}

    def _apvi(self, error: float, scale: float) -> Any:
        planner = APVI(
            layout=self.layout, rewards=self.model.rewards, error=error, c1=math.sqrt(2) * scale, c2=16 * scale
        )
        return Policies(planner)

    @property
    def baselines(self) -> tuple[Contender, ...]:
        def make(privatizer: Any, users: int, *, penalty: float, error: float) -> Any:
            return self._apvi(error * privatizer.error_bound(BETA), penalty)

        space = {"penalty": (1e-3, 1.0), "error": (1e-3, 1.0)}
        return (Contender("DP-APVI", make, space, ({"penalty": 0.01, "error": 0.01},)),)

    @property
    def references(self) -> tuple[Contender, ...]:
        def make(privatizer: Any, users: int, *, penalty: float) -> Any:
            return self._apvi(0.0, penalty)

        return (Contender("APVI, exact counts", make, {}, ({"penalty": 0.01},), exact=True),)


@dataclass(frozen=True)
class Policies:
    """APVI as an agent."""

    planner: APVI

    def plan(self, counts: Any) -> npt.NDArray[np.int64]:
        """(runs, H, S)."""
        return np.asarray(self.planner.plan(counts).policy)


def flat(layout: CountLayout) -> PrivateCounts:
    """Counts, as of one run, that make every transition equally likely, without doubt."""
    visits = np.full((1, *layout.visits_shape), 1e15)
    return PrivateCounts(visits, np.repeat(visits[..., None] / layout.S, layout.S, axis=-1), None)


def sizes(users: int) -> list[int]:
    """Of the datasets of a curve: an eighth of the users, a quarter, a half, all."""
    return sorted({max(1, users // each) for each in (8, 4, 2, 1)})


@dataclass(frozen=True)
class Logged:
    """An `OfflineStudy` at (eps, delta) with the interface that a search and a curve ask for."""

    study: OfflineStudy
    users: int
    eps: float
    delta: float
    logged: Trajectories | None = None

    @property
    def claim(self) -> PureDP | ApproxDP:
        """In words that all families have."""
        if self.delta:
            return ApproxDP(self.eps, self.delta, unit=Unit.TRAJECTORY)
        return PureDP(self.eps, unit=Unit.TRAJECTORY)

    @property
    def upper(self) -> float:
        """Eps of the ledger at `delta`."""
        return float(account(self.study.ledger, delta=self.delta))

    def losses(self, environment: Environment, seeds: Sequence[int]) -> Array:
        """Of the policy from all users, one dataset a seed, drawn from the environment."""
        model = environment.model
        return np.array([self.study.regret(model, users=self.users, runs=1, seed=each)[0] for each in seeds])

    def regret(self, environment: Environment, *, runs: int, seed: int, exact: bool, per_user: bool) -> Array:
        """At each of the `sizes`, (sizes, runs)."""
        options: dict[str, Any] = {"runs": runs, "seed": seed, "exact": exact, "logged": self.logged}
        rows = [self.study.regret(environment.model, users=each, **options) for each in sizes(self.users)]
        return np.stack(rows)


FAMILIES: dict[str, type[Terms]] = {
    "online": Terms,
    "batches": BatchTerms,
    "games": GameTerms,
    "offline": OfflineTerms,
}
