"""One curve: a learner, an eps, all runs. A pure function of its settings, whatever the workers."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from algorithms.bernstein_vi.learner import central, local
from algorithms.beyond.gaussian_counts import GaussianMessages, GaussianTrees
from algorithms.beyond.shuffled_optimism import ShuffledOptimism
from algorithms.core.counting import CountSource, ExactSource, layout_of
from algorithms.core.environments import Environment, heterogeneous_bandit, river_swim
from algorithms.core.online import regret_per_episode
from algorithms.core.protocol import played
from algorithms.core.users import TapeUsers
from algorithms.experiments.constants import (
    APPROX,
    Constants,
    DELTA,
    Elimination,
    Optimistic,
    PLAIN,
    PURE,
    TOLERANCE,
    TUNED,
    UNPAID,
)
from algorithms.experiments.side_by_side import Part, run_parts
from algorithms.sdp_pe.batches import Batches, ExactBatches, ShuffledBatches
from algorithms.sdp_pe.elimination import SDPPE
from algorithms.sdp_pe.policy_sets import FactoredSet
from dpverify.base.seeding import derive, Stage, stream
from dpverify.claims import Unit, View
from dpverify.errors import ParameterError
from mechanisms.datasets.visit_counts import CountLayout

Array = npt.NDArray[np.float64]

PRIVATE = (*PURE, *APPROX)
POINTS = 200  # episodes at which a curve is kept


def staged(learner: str) -> bool:
    """Whether it deploys to batches; the others plan before every episode."""
    return learner in ("PE", "SDP-PE", "shuffled-optimism", "batched-optimism")


@dataclass(frozen=True)
class CurveSettings:
    """What decides a curve; `eps` is None for the learners without privacy. `chosen` stands for the tuned constants."""

    environment: str
    learner: str
    eps: float | None
    runs: int
    episodes: int
    seed: int
    budget: str = "calibrated"
    delta: float = DELTA  # of the learners at (eps, delta)
    chosen: Constants | None = None

    def __post_init__(self) -> None:
        if self.learner not in (*PLAIN, *PRIVATE):
            raise ParameterError("learner", self.learner, ", ".join((*PLAIN, *PRIVATE)))
        if (self.eps is None) != (self.learner in PLAIN):
            raise ParameterError("eps", self.eps, f"{'None' if self.learner in PLAIN else 'a number'}: {self.learner}")

    @property
    def constants(self) -> Constants:
        """The learner's constants."""
        return self.chosen or TUNED[self.environment, self.learner]

    @property
    def privacy(self) -> dict[str, Any] | None:
        """What the curve spends, under replacement of one user; None without privacy."""
        if self.eps is None:
            return None
        pure = self.learner in PURE
        view = View.LOCAL if "LDP" in self.learner else View.JOINT if "JDP" in self.learner else View.SHUFFLE
        return {
            "view": view.value,
            "notion": "eps-DP" if pure else "(eps, delta)-DP",
            "eps": self.eps,
            "delta": 0.0 if pure else self.delta,
            "unit": Unit.TRAJECTORY.value,
        }

    @property
    def key(self) -> str:
        """Name of the curve's files."""
        content = json.dumps({**asdict(self), "chosen": asdict(self.constants)}, sort_keys=True)
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


def environment_of(settings: CurveSettings) -> Environment:
    """The environment; the bandit's means are drawn from the seed."""
    return river_swim() if settings.environment == "riverswim" else heterogeneous_bandit(settings.seed)


def draw_curve(settings: CurveSettings) -> Curve:
    """Runs the learner. Users are the same for all learners and eps: row (seed, run, user) of the tapes."""
    environment = environment_of(settings)
    users = TapeUsers(environment, environment.tapes(settings.seed, settings.runs, settings.episodes))
    if isinstance(settings.constants, Elimination):
        return _staged(settings, settings.constants, users)
    if staged(settings.learner):
        return _pooled(settings, settings.constants, users)
    return draw_online([settings])[0]


def draw_online(together: Sequence[CurveSettings]) -> list[Curve]:
    """Online learners side by side, all with privacy or all without; environment, episodes and K must be the same."""
    first = together[0]
    environment, layout = environment_of(first), layout_of(environment_of(first).model)
    tapes = [environment.tapes(each.seed, each.runs, each.episodes) for each in together]
    parts = []
    for each in together:
        assert isinstance(each.constants, Optimistic)
        noise = stream(derive(each.seed, each.key), Stage.EXPERIMENT)
        source = online_source(each, layout, each.constants.error)
        parts.append(Part(source, each.constants.bonus, each.runs, noise, known=each.learner == UNPAID))
    users = TapeUsers(environment, np.concatenate(tapes))
    done = run_parts(users, parts, layout=layout, episodes=first.episodes)
    regret, curves, row = regret_per_episode(done.policies, environment.model).T, [], 0
    for each in together:
        mine = slice(row, row + each.runs)
        row += each.runs
        curves.append(_curve(each, regret[mine], np.full(each.runs, each.episodes), done.switches[mine]))
    return curves


def online_source(settings: CurveSettings, layout: CountLayout, error_scale: float) -> CountSource:
    """The counts of an online learner; they tell it their E times `error_scale`."""
    episodes, eps, delta = settings.episodes, settings.eps, settings.delta
    if eps is None:
        return ExactSource(layout)
    if settings.learner in ("UCBVI-JDP-gaussian", UNPAID):
        return GaussianTrees.central(layout, episodes, eps, delta, error_scale=error_scale)
    if settings.learner == "UCBVI-LDP-gaussian":
        return GaussianMessages.local(layout, episodes, eps, delta, error_scale=error_scale)
    make = central if settings.learner == "UCBVI-JDP" else local
    source: CountSource = make(layout, episodes, eps, error_scale=error_scale)
    return source


def _batches(settings: CurveSettings, layout: CountLayout) -> ExactBatches | ShuffledBatches:
    if settings.eps is None:
        return ExactBatches()
    budget: Any = settings.budget
    return ShuffledBatches(layout=layout, eps=settings.eps, beta=settings.delta, budget=budget)


def _pooled(settings: CurveSettings, constants: Optimistic, users: TapeUsers) -> Curve:
    model = users.environment.model
    layout = layout_of(model)
    learner = ShuffledOptimism(
        layout=layout, episodes=settings.episodes, error_scale=constants.error, bonus_scale=constants.bonus
    )
    noise = stream(derive(settings.seed, settings.key), Stage.EXPERIMENT)
    each, sizes = played(learner, users, _batches(settings, layout), runs=settings.runs, rng=noise)
    regret = np.repeat(regret_per_episode(each, model), sizes, axis=0).T
    switches = (each[1:] != each[:-1]).any(axis=(-2, -1)).sum(axis=0)
    return _curve(settings, regret, np.full(settings.runs, len(each)), switches)


def _staged(settings: CurveSettings, constants: Elimination, users: TapeUsers) -> Curve:
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
    batches: Batches = _batches(settings, layout)
    everything = FactoredSet(model.horizon, model.actions, model.initial)
    regret, deployments = [], []
    for run in range(settings.runs):
        noise = stream(derive(settings.seed, settings.key), Stage.EXPERIMENT, run)
        done = learner.run(users.run(run), batches, everything, model.initial, rng=noise)
        regret.append(regret_per_episode(done.policies, model))
        deployments.append(done.deployments)
    return _curve(settings, np.stack(regret), np.array(deployments), np.array(deployments) - 1)


def _curve(settings: CurveSettings, regret: Array, deployments: Any, switches: Any) -> Curve:
    points = np.unique(np.linspace(1, settings.episodes, min(POINTS, settings.episodes)).astype(np.int64))
    return Curve(points, np.cumsum(regret, axis=1)[:, points - 1], deployments, switches)
