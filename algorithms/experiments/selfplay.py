"""Regret of DP-Nash-VI against exact best responses: without privacy, eps-JDP (Central), eps-LDP (Local).

A random game (S = 4, A = B = 2, H = 4, sparse transitions), K = 5000. Privatizers are the corrected ones: they spend
their eps and no more. With the theory's constants every bound stays at its cap for all K here and
nothing is learned; C1, C2 and the scale of E are tuned by hand on seed 99 and have no guarantee.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from algorithms.core.users import TapeUsers
from algorithms.nash_vi.learner import error_of, NashVI, self_play
from algorithms.nash_vi.markov_games import MarkovGame, random_game
from dpverify.base.seeding import derive, Stage, stream
from mechanisms.privatizers.central import Central
from mechanisms.privatizers.local import Local
from mechanisms.privatizers.no_privacy import NoPrivacy
from mechanisms.privatizers.protocol import OnlinePrivatizer

Array = npt.NDArray[np.float64]

BETA = 0.05
POINTS = 200
EPS = (1.0, 10.0, 100.0)


@dataclass(frozen=True)
class GameConstants:
    """C2, C1 and the factor on E of the private and of the non-private learner."""

    private_bonus: float = 1e-4
    plain_bonus: float = 1e-3
    gap: float = 0.01
    error: float = 0.01


CONSTANTS = GameConstants()


class RegretCurve(NamedTuple):
    """Cumulated Nash gaps (runs, points) at `episodes`, and the exact gap of the output (runs,)."""

    learner: str
    eps: float | None
    episodes: npt.NDArray[np.int64]
    regret: Array
    output_gap: Array

    @property
    def label(self) -> str:
        """For legends."""
        return self.learner if self.eps is None else f"{self.learner}, eps={self.eps:g}"


def game_of(seed: int) -> MarkovGame:
    """S = 4, A = B = 2, H = 4."""
    return random_game(seed, 4, 2, 2, 4, concentration=0.3)


def lower_bound(game: MarkovGame, episodes: npt.ArrayLike, *, eps: float | None = None, local: bool = False) -> Array:
    """Shapes of Theorems 5.3 and 5.6 without their constants: sqrt(H^2 S (A+B) T), plus H S (A+B)/eps under
    JDP or sqrt(H S (A+B) T)/eps under LDP; T = H K.
    """
    horizon, states, first, second = game.rewards.shape
    steps = horizon * np.asarray(episodes, dtype=np.float64)
    plain = np.sqrt(horizon**2 * states * (first + second) * steps)
    if eps is None:
        return np.asarray(plain)
    width = horizon * states * (first + second)
    return np.asarray(plain + (np.sqrt(width * steps) if local else width) / eps)


def privatizer_of(game: MarkovGame, learner: str, eps: float | None, episodes: int) -> OnlinePrivatizer:
    """Corrected privatizers for K - 1 releases."""
    layout = game.layout
    if eps is None:
        return NoPrivacy(layout=layout)
    if learner == "DP-Nash-VI (JDP)":
        return Central.corrected(eps, layout, episodes, releases=max(episodes - 1, 1), fixed_start=True)
    return Local.corrected(eps, layout, users=max(episodes - 1, 1))


def draw_selfplay(learner: str, eps: float | None, episodes: int, runs: int, seed: int) -> RegretCurve:
    """One learner; users are the same for all learners."""
    game, c = game_of(seed), CONSTANTS
    environment = game.environment
    users = TapeUsers(environment, environment.tapes(seed, runs, episodes))
    privatizer = privatizer_of(game, learner, eps, episodes)
    planner = NashVI(
        layout=game.layout,
        rewards=game.rewards,
        episodes=episodes,
        error=0.0 if eps is None else error_of(privatizer, BETA, scale=c.error),
        beta=BETA,
        bonus_scale=c.plain_bonus if eps is None else c.private_bonus,
        gap_scale=c.gap,
    )
    noise = stream(derive(seed, f"selfplay-{learner}-{eps}"), Stage.EXPERIMENT)
    done = self_play(users, planner, privatizer, start=game.start, runs=runs, rng=noise)
    points = np.unique(np.linspace(1, episodes, min(POINTS, episodes)).astype(np.int64))
    return RegretCurve(learner, eps, points, done.regret(game).T[:, points - 1], done.output_gap(game))


def draw_all(eps: tuple[float, ...], episodes: int, runs: int, seed: int) -> list[RegretCurve]:
    """Nash-VI, then JDP and LDP for every eps."""
    kinds: list[tuple[str, float | None]] = [("Nash-VI", None)]
    kinds += [(name, each) for name in ("DP-Nash-VI (JDP)", "DP-Nash-VI (LDP)") for each in eps]
    return [draw_selfplay(name, each, episodes, runs, seed) for name, each in kinds]
