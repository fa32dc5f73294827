"""Noise that is drawn once, or afresh on exact counts: the mathematics of C1, C2, C3 and C5, transcribed.

Each class releases the statistics that its learner computes from; data are exact counts or directions, small and public
in shape. `release(data, *, rng, size)` as everywhere.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import signal

from audits.published.evidence.trials import lower, SEED
from dpverify import audit, Pair, ZCDP
from dpverify.base.seeding import Stage, stream


@dataclass(frozen=True)
class OnePath:
    """C1: every (state, action) gets the same sum of one Lap(1/eps) an episode; `data` are the visits of all cells."""

    eps: float
    episodes: int

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> Any:
        """Noisy visits, (size, cells)."""
        path = rng.laplace(scale=1 / self.eps, size=(size, self.episodes)).sum(axis=1)
        return np.asarray(data, dtype=float) + path[:, None]


@dataclass(frozen=True)
class FreshNoise:
    """C2: in episode t a fresh sum of floor(ln t) + 1 noises Lap(1/eps) on the exact count, for each episode anew."""

    eps: float
    episodes: int

    def release(self, data: float, *, rng: np.random.Generator, size: int) -> Any:
        """The mean of all noisy counts of one cell that stays as it is, weighted by precision: a function of them."""
        noises = [math.floor(math.log(t)) + 1 for t in range(1, self.episodes + 1)]
        drawn = [rng.laplace(scale=1 / self.eps, size=(size, k)).sum(axis=1) / k for k in noises]
        return data + sum(drawn) / sum(1 / k for k in noises)


@dataclass(frozen=True)
class OneDraw:
    """C3: the vector noise of variance 2H^2/rho_0 is drawn once and used in every step h; `data` is (steps, d)."""

    rho: float
    horizon: int
    episodes: int

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> Any:
        """The noisy statistics of step 1, and those of each later step minus it: a function of what is computed."""
        values = np.asarray(data, dtype=float)
        rho_0 = self.rho / (4 * self.horizon * self.episodes)
        once = rng.normal(scale=math.sqrt(2 * self.horizon**2 / rho_0), size=(size, 1, values.shape[1]))
        noisy = values + once
        noisy[:, 1:] -= noisy[:, :1]
        return noisy.reshape(size, -1)


@dataclass(frozen=True)
class FixedList:
    """C5: N = floor(ln n) + 1 noises are drawn at the start; round t adds the first floor(ln(1 + t)) + 1 of them."""

    sigma: float
    rounds: int

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> Any:
        """The noisy prefix sums of a stream of numbers, (size, rounds)."""
        noise = rng.normal(scale=self.sigma, size=(size, math.floor(math.log(self.rounds)) + 1))
        used = [math.floor(math.log(1 + t)) + 1 for t in range(1, self.rounds + 1)]
        sums = np.cumsum(np.asarray(data, dtype=float))
        return sums + np.cumsum(noise, axis=1)[:, np.array(used) - 1]


def one_path_exact(runs: int = 1000, seed: int = 1) -> float:
    """Share of releases in which the difference of two cells is the exact one (C1)."""
    seen = OnePath(1.0, 20).release([3.0, 1.0], rng=stream(seed, Stage.EXPERIMENT), size=runs)
    return float(np.isclose(seen[:, 0] - seen[:, 1], 2.0, atol=1e-9).mean())


def one_path_rank(cells: int = 4) -> float:
    """Rank of the noise covariance over the number of cells: below 1, some combination carries no noise (C1)."""
    return float(np.linalg.matrix_rank(np.ones((cells, cells)))) / cells


def one_path_lower(trials: int) -> float:
    """One visit moved from a cell to another one; eps = 1, H = 20 visits a user at most (C1)."""
    return lower(OnePath(1.0, 1), [1.0, 0.0], [0.0, 1.0], eps=1.0, trials=trials)


def fresh_lower(episodes: int, trials: int) -> float:
    """One visit more or less, eps = 1 (C2)."""
    return lower(FreshNoise(1.0, episodes), 0.0, 1.0, eps=1.0, trials=trials)


def fresh_mean_log_ratio(episodes: int) -> float:
    """Mean log ratio of all T releases of one count, eps = 1: by quadrature, a lower bound on eps (C2)."""
    grid = np.linspace(-60, 60, 12_001)
    step, one = grid[1] - grid[0], np.exp(-abs(grid)) / 2
    law, total = one, 0.0
    by_count = {}
    for k in range(1, math.floor(math.log(episodes)) + 2):
        shifted = np.interp(grid - 1, grid, law)
        inside = (law > 1e-12) & (shifted > 1e-12)  # beyond, there is rounding of the transform
        by_count[k] = float((law[inside] * np.log(law[inside] / shifted[inside])).sum() * step)
        law = np.maximum(0.0, signal.fftconvolve(law, one, mode="same")) * step
    for t in range(1, episodes + 1):
        total += by_count[math.floor(math.log(t)) + 1]
    return total


def one_draw_exact(runs: int = 1000, seed: int = 1) -> float:
    """Share of releases in which the difference of two steps is the exact one (C3)."""
    data = np.array([[1.0, 0.0], [0.0, 0.0]])
    seen = OneDraw(10.0, 2, 5).release(data, rng=stream(seed, Stage.EXPERIMENT), size=runs).reshape(runs, 2, 2)
    return float(np.isclose(seen[:, 1], data[1] - data[0], atol=1e-6).all(axis=1).mean())


def one_draw_rank(steps: int = 2) -> float:
    """Rank of the noise over the number of steps (C3)."""
    return float(np.linalg.matrix_rank(np.ones((steps, steps)))) / steps


def one_draw_lower(trials: int) -> float:
    """Certified rho over the claimed rho = 1 (C3)."""
    target = OneDraw(1.0, 2, 5)
    first, second = [[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [1.0, 0.0]]
    return audit(target, claim=ZCDP(1.0), pair=Pair(first, second), trials=trials, seed=SEED).number_lower or 0.0


def fixed_list_exact(rounds: int, seed: int = 1) -> float:
    """Share of rounds whose increment is the exact one (C5)."""
    data = np.arange(1.0, rounds + 1) % 3
    seen = FixedList(50.0, rounds).release(data, rng=stream(seed, Stage.EXPERIMENT), size=1)[0]
    return float(np.isclose(np.diff(seen), data[1:], atol=1e-6).mean())


def fixed_list_changes(rounds: int) -> float:
    """Rounds t = 2..n at which floor(ln(1 + t)) rises, counted from its closed form t = e^k - 1 (C5)."""
    return float(sum(1 for k in range(1, 60) if 2 <= math.ceil(math.exp(k) - 1) <= rounds))


def fixed_list_share(rounds: int) -> float:
    """1 - changes/(n - 1): what the share of exact increments must be (C5)."""
    return 1 - fixed_list_changes(rounds) / (rounds - 1)


def fixed_list_lower(trials: int) -> float:
    """One increment moves from 0 to 1 in a round without a change; noise of eps = .2, delta = .1, n = 100 (C5)."""
    sigma = math.sqrt(math.log(100)) * math.log(2.5 / 0.1) / 0.2
    return lower(FixedList(sigma, 12), [1.0] * 12, [1.0] * 4 + [0.0] + [1.0] * 7, eps=0.2, delta=0.1, trials=trials)
