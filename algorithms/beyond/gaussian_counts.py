"""Online privatizers at (eps, delta): Gaussian trees for JDP, Gaussian messages for LDP.

    GaussianTrees     N(0, sigma^2) on every node of every cell, sigma = sqrt(6 H L)/mu     (eps, delta)-JDP
    GaussianMessages  N(0, sigma^2) on every cell of every message, sigma = sqrt(6 H)/mu    (eps, delta)-LDP

    where  mu = the largest with Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu) <= delta  (Balle, Wang 2018, Theorem 8)
           L = floor(log2 R) + 1 nodes hold the first of R = K - 1 released users; a replaced user moves 6H cells by at
           most 1 (2H visits, transitions and rewards), hence sqrt(6 H L) or sqrt(6 H) in l2

No composition theorem is lost: the whole run is one Gaussian mechanism, also adaptively (Dong, Roth, Su 2022).
"""

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from algorithms.core.counting import families, TreeCounts
from dpverify.base import require
from dpverify.claims import ApproxDP, Unit, View
from dpverify.ledger import GaussianNoise, Ledger, Sensitivity, Shift
from mechanisms.counters.error_bounds import provable_bound
from mechanisms.counters.tree import BinaryCounter
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.releases.gaussian import Gaussian as GaussianRelease
from mechanisms.toolbox.noise_laws import GaussianNoiseLaw

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class GaussianTrees(TreeCounts):
    """Binary counters with Gaussian nodes; `central` calibrates them to the claim."""

    eps: float
    delta: float

    @classmethod
    def central(
        cls,
        layout: CountLayout,
        episodes: int,
        eps: float,
        delta: float,
        *,
        beta: float = 0.05,
        error_scale: float = 1.0,
    ) -> Self:
        """R = K - 1 releases; E = 4 x the bound on all noise at once, times `error_scale`."""
        require.integer(at_least=2, episodes=episodes)
        require.positive(error_scale=error_scale)
        touches = families(layout) * layout.H
        shape = BinaryCounter(
            releases=episodes - 1, noise=GaussianNoiseLaw(1.0), cells=(layout.cells,), touches=touches
        )
        sigma = least_sigma(2 * touches * shape.nodes_per_item, eps, delta)
        counter = replace(shape, noise=GaussianNoiseLaw(sigma))
        bound = provable_bound(counter, beta, counters=layout.cells)
        return cls(layout, counter, error_scale * 4 * bound, eps, delta)

    @property
    def claim(self) -> ApproxDP:
        """(eps, delta)-JDP of whole trajectories, by the billboard lemma."""
        return ApproxDP(self.eps, self.delta, unit=Unit.TRAJECTORY, view=View.JOINT, source="billboard lemma")

    def with_noise(self, factor: float) -> Self:
        """`factor` times the noise under the same claim: what measured power is measured on."""
        return replace(self, counter=self.counter.with_noise(factor))


@dataclass(frozen=True, kw_only=True)
class GaussianMessages:
    """Every user adds N(0, sigma^2) to each of her own cells; the counts are sums of messages."""

    layout: CountLayout
    sigma: float
    error: float
    eps: float
    delta: float

    def __post_init__(self) -> None:
        require.positive(sigma=self.sigma)
        require.non_negative(error=self.error)

    @classmethod
    def local(
        cls,
        layout: CountLayout,
        episodes: int,
        eps: float,
        delta: float,
        *,
        beta: float = 0.05,
        error_scale: float = 1.0,
    ) -> Self:
        """E = 4 sigma sqrt(2 (K-1) l), l = ln(4 M/beta): Levy's inequality over all episodes, union over M cells."""
        require.integer(at_least=2, episodes=episodes)
        require.open_unit(beta=beta)
        require.positive(error_scale=error_scale)
        sigma = least_sigma(2 * families(layout) * layout.H, eps, delta)
        bound = sigma * math.sqrt(2 * (episodes - 1) * math.log(4 * layout.cells / beta))
        return cls(layout=layout, sigma=sigma, error=error_scale * 4 * bound, eps=eps, delta=delta)

    @property
    def claim(self) -> ApproxDP:
        """(eps, delta)-LDP of one user's message."""
        return ApproxDP(self.eps, self.delta, unit=Unit.TRAJECTORY, view=View.LOCAL)

    @property
    def ledger(self) -> Ledger:
        """One message of indicators in [0, 1]; every user sends one."""
        touched = families(self.layout) * self.layout.H
        moved = Sensitivity(replace=Shift(1, 2 * touched), add_remove=Shift(1, touched))
        return Ledger(GaussianNoise(what="one user's message", sigma=self.sigma, sensitivity=moved))

    def with_noise(self, factor: float) -> Self:
        """`factor` times the noise under the same claim: what measured power is measured on."""
        require.positive(factor=factor)
        return replace(self, sigma=factor * self.sigma)

    def stream(self, runs: int, *, rng: np.random.Generator) -> "_NormalSum":
        return _NormalSum(np.zeros((runs, self.layout.cells)), self.sigma, rng)

    def transcript_log_ratio(self, released: Array, first: Array, second: Array) -> Array:
        """The messages are the differences of the released sums: a normal likelihood ratio of each."""
        messages = np.diff(released, axis=1, prepend=0.0)
        return np.asarray(GaussianNoiseLaw(self.sigma).log_ratio(messages, first, second))


class _NormalSum:
    def __init__(self, sums: Array, sigma: float, rng: np.random.Generator) -> None:
        self._sums, self._sigma, self._rng = sums, sigma, rng

    def feed(self, increments: Array) -> Array:
        self._sums = self._sums + increments + self._sigma * self._rng.standard_normal(self._sums.shape)
        return self._sums


def least_sigma(coordinates: int, eps: float, delta: float) -> float:
    """The least sigma that is (eps, delta)-DP where `coordinates` noised numbers move by at most 1 each."""
    moved = Sensitivity(replace=Shift(1, coordinates))
    return GaussianRelease.for_approx(eps, delta, sensitivity=moved).sigma
