"""One curve: a learner, an eps, all runs. A pure function of its settings, whatever the workers."""

import json
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from algorithms.batches import Batches, ExactBatches, ShuffledBatches
from algorithms.counting import Exact, layout_of, Source
from algorithms.dp_ucbvi import central, DPUCBVI, local
from algorithms.environments import Environment, heterogeneous_bandit, river_swim
from algorithms.experiments.constants import BETA, Constants, Elimination, Optimistic, TOLERANCE, TUNED
from algorithms.online import Learner, regret_per_episode, run_online
from algorithms.policy_sets import FactoredSet
from algorithms.sdp_pe import SDPPE
from algorithms.ucbvi import UCBVI
from algorithms.users import TapeUsers
from dpverify.base.seeding import derive, Stage, stream

Array = npt.NDArray[np.float64]

Name = Literal["UCBVI", "UCBVI-JDP", "UCBVI-LDP", "PE", "SDP-PE"]
PRIVATE: tuple[Name, ...] = ("UCBVI-JDP", "UCBVI-LDP", "SDP-PE")
PLAIN: tuple[Name, ...] = ("UCBVI", "PE")
POINTS = 200  # episodes at which a curve is kept


@dataclass(frozen=True)
class Settings:
    """What decides a curve; `eps` is None for the non-private learners. `constants` are in the key too."""

    environment: str
    learner: Name
    eps: float | None
    runs: int
    episodes: int
    seed: int
    budget: str = "calibrated"

    @property
    def constants(self) -> Constants:
        """The learner's tuned constants."""
        return TUNED[self.environment, self.learner]

    @property
    def key(self) -> str:
        """Name of the curve's files."""
        content = json.dumps({**asdict(self), **asdict(self.constants), "beta": BETA}, sort_keys=True)
        label = f"{self.environment}-{self.learner}" + ("" if self.eps is None else f"-eps{self.eps:g}")
        return f"{label}-{sha256(content.encode()).hexdigest()[:10]}"


class Curve(NamedTuple):
    """`episodes` (points,), cumulative expected `regret` (runs, points), `deployments` and `switches` (runs,).

    `deployments`: policies handed out (one an episode for UCB-VI). `switches`: times the played policy differed
    from the one before; for SDP-PE, whose mixtures give every user a policy of her own, changes of mixture.
    """

    episodes: npt.NDArray[np.int64]
    regret: Array
    deployments: npt.NDArray[np.int64]
    switches: npt.NDArray[np.int64]


def environment_of(settings: Settings) -> Environment:
    """The environment; the bandit's means are drawn from the seed."""
    return river_swim() if settings.environment == "riverswim" else heterogeneous_bandit(settings.seed)


def draw(settings: Settings) -> Curve:
    """Runs the learner. Users are the same for all learners and eps: row (seed, run, user) of the tapes."""
    environment = environment_of(settings)
    users = TapeUsers(environment, environment.tapes(settings.seed, settings.runs, settings.episodes))
    if isinstance(settings.constants, Elimination):
        return _staged(settings, settings.constants, users)
    learner, source = _online(settings, settings.constants, environment)
    noise = stream(derive(settings.seed, settings.key), Stage.EXPERIMENT)
    done = run_online(users, learner, source, runs=settings.runs, rng=noise)
    regret = regret_per_episode(done.policies, environment.model)
    return _curve(settings, regret.T, np.full(settings.runs, settings.episodes), done.switches)


def _online(settings: Settings, constants: Optimistic, environment: Environment) -> tuple[Learner, Source]:
    layout, episodes = layout_of(environment.model), settings.episodes
    if settings.learner == "UCBVI":
        return UCBVI(layout=layout, episodes=episodes, bonus_scale=constants.bonus), Exact(layout)
    make: Any = central if settings.learner == "UCBVI-JDP" else local
    source = make(layout, episodes, settings.eps, error_scale=constants.error)
    learner = DPUCBVI(layout=layout, episodes=episodes, error=source.error, bonus_scale=constants.bonus)
    return learner, source


def _staged(settings: Settings, constants: Elimination, users: TapeUsers) -> Curve:
    model = users.environment.model
    layout = layout_of(model)
    learner = SDPPE(
        layout=layout,
        episodes=settings.episodes,
        threshold_scale=constants.threshold,
        privacy_scale=constants.privacy,
        infrequent_scale=constants.infrequent,
        error_scale=constants.error,
        tolerance=TOLERANCE,
    )
    batches: Batches = ExactBatches()
    if settings.eps is not None:
        budget: Any = settings.budget
        batches = ShuffledBatches(layout=layout, eps=settings.eps, beta=BETA, budget=budget)
    everything = FactoredSet(model.horizon, model.actions, model.initial)
    regret, deployments = [], []
    for run in range(settings.runs):
        noise = stream(derive(settings.seed, settings.key), Stage.EXPERIMENT, run)
        done = learner.run(users.run(run), batches, everything, model.initial, rng=noise)
        regret.append(regret_per_episode(done.policies, model))
        deployments.append(done.deployments)
    return _curve(settings, np.stack(regret), np.array(deployments), np.array(deployments) - 1)


def _curve(settings: Settings, regret: Array, deployments: Any, switches: Any) -> Curve:
    points = np.unique(np.linspace(1, settings.episodes, min(POINTS, settings.episodes)).astype(np.int64))
    return Curve(points, np.cumsum(regret, axis=1)[:, points - 1], deployments, switches)
