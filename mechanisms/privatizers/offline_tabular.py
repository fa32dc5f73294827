"""Private counts of a finished dataset: DP-APVI of "Offline RL with differential privacy" (Qiao, Wang).

Mechanism   n'_h(s,a) = (n + noise)^+ and n'_h(s,a,s') = (n + noise)^+ for every cell of both families.
Claims      Gaussian noise of variance 2H/rho: rho-zCDP.   Laplace noise of scale 4H/eps: eps-DP.
Why         replacing one trajectory moves at most 2H cells of each family by 1: squared l2 sensitivity 2H each,
            so (2H + 2H)/(2 sigma^2) = rho, and l1 sensitivity 4H in total, so 4H/scale = eps. Both are true,
            exactly. Against an absent user it is half of that. Truncation is post-processing.
Error       the M = HSA(1+S) noises are independent, so the largest is at most t with probability
            (1 - tail(t))^M, tail two-sided: `noise_bound` solves this for 1 - beta. Truncation cannot make an
            error larger, counts being >= 0. E = 2 noise_bound: the post-processing's slack is E/2, without
            a shift.
Source      section 3, Lemma C.1 (privacy), Lemma C.2 (E_rho), Definition E.19 (Laplace).
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.base import require
from dpverify.base.rounding import div_up, sqrt_up
from dpverify.claims import Claim, Pair, PureDP, Unit, ZCDP
from dpverify.errors import ParameterError
from dpverify.ledger import (
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    GaussianNoise,
    LaplaceNoise,
    Ledger,
    Sensitivity,
    Shift,
)
from dpverify.promises import Promise
from mechanisms.datasets.trajectories import Trajectories
from mechanisms.datasets.visit_counts import CountLayout, PrivateCounts
from mechanisms.privatizers.error_bounds import promises_of
from mechanisms.privatizers.local import changed_indicators
from mechanisms.toolbox import samplers as sampling
from mechanisms.toolbox.laplace_sums import discrete_laplace_sum, laplace_sum

Array = npt.NDArray[Any]

SOURCE = "Offline RL with differential privacy (Qiao, Wang), section 3"


@dataclass(frozen=True, kw_only=True)
class _OfflineTabular(ABC):
    """What both noises share; `layout` without rewards, which are known in this paper."""

    layout: CountLayout
    discrete: bool = False

    def __post_init__(self) -> None:
        require.own_numbers(self)
        if self.layout.rewards:
            raise ParameterError("layout.rewards", True, "False: rewards are known in this paper")

    @property
    @abstractmethod
    def claim(self) -> Claim:
        """What is promised about privacy."""

    @abstractmethod
    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """Exact log-likelihood ratio, shape (size,)."""

    @property
    @abstractmethod
    def ledger(self) -> Ledger:
        """Two families of noised counts."""

    @abstractmethod
    def quantile(self, tail: float) -> float:
        """t with Pr[|Z| > t] = tail for one real-valued noise."""

    def noise_bound(self, beta: float) -> float:
        """The (1 - beta)-quantile of the largest of all noises; rounded up, and a bound, where discrete."""
        require.open_unit(beta=beta)
        single = -math.expm1(math.log1p(-beta) / self.layout.cells)  # (1 - single)^M = 1 - beta
        bound = self.quantile(single)
        return float(math.ceil(bound)) if self.discrete else bound

    @abstractmethod
    def _noise(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array: ...

    def release(self, data: Trajectories, *, rng: np.random.Generator, size: int) -> Array:
        """The raw noisy counts before truncation, (size, layout.cells): the strongest view there is."""
        return self._exact(data) + self._noise((size, self.layout.cells), rng)

    def private_counts(self, data: Trajectories, *, rng: np.random.Generator, size: int) -> PrivateCounts:
        """Truncated noisy counts (n + noise)^+, leading axis `size`."""
        return self._truncated(self.release(data, rng=rng, size=size))

    def noisy(self, exact: PrivateCounts, *, rng: np.random.Generator) -> PrivateCounts:
        """`private_counts` of many datasets, once each: (n + noise)^+ of exact counts, leading axis = datasets."""
        packed = self.layout.pack(exact)
        return self._truncated(packed + self._noise(packed.shape, rng))

    def _truncated(self, released: Array) -> PrivateCounts:
        return self.layout.unpack(np.maximum(released, 0))

    def error_bound(self, beta: float) -> float:
        """E = 2 noise_bound(beta): the post-processing moves a count by at most E/2 more."""
        return 2 * self.noise_bound(beta)

    def promises(self, data: Trajectories, *, beta: float) -> list[Promise]:
        """What a certificate checks: the bounds on raw and on post-processed counts."""
        return promises_of(self, data, beta, offline=True)

    def _exact(self, data: Trajectories) -> Array:
        if data.layout != self.layout:
            raise ParameterError("data.layout", data.layout, str(self.layout))
        return self.layout.pack(data.counts())

    def _sensitivities(self) -> tuple[tuple[str, Sensitivity], ...]:
        visits, transitions = changed_indicators(self.layout, fixed_start=False)
        present = Shift(1, self.layout.H)
        return (
            ("visit counts", Sensitivity(replace=Shift(1, visits), add_remove=present)),
            ("transition counts", Sensitivity(replace=Shift(1, transitions), add_remove=present)),
        )


@dataclass(frozen=True, kw_only=True)
class OfflineTabularGaussian(_OfflineTabular):
    """N(0, 2H/rho) on every count: rho-zCDP. Raises ParameterError unless 0 < rho < inf."""

    rho: float

    def __post_init__(self) -> None:
        require.own_numbers(self)
        require.positive(rho=self.rho)
        super().__post_init__()

    @property
    def sigma(self) -> float:
        """sqrt(2H/rho), rounded up."""
        return sqrt_up(Fraction(2 * self.layout.H) / Fraction(self.rho))

    @property
    def claim(self) -> Claim:
        """rho-zCDP, replacing one trajectory."""
        return ZCDP(self.rho, unit=Unit.TRAJECTORY, source=SOURCE)

    @property
    def ledger(self) -> Ledger:
        event = DiscreteGaussianNoise if self.discrete else GaussianNoise
        return Ledger(*(event(what=w, sigma=self.sigma, sensitivity=s) for w, s in self._sensitivities()))

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """sum over cells of ((y - v2)^2 - (y - v1)^2)/(2 sigma^2)."""
        first, second = self._exact(pair.first), self._exact(pair.second)
        return gaussian_log_ratio(outputs, first, second, np.full(first.shape, self.sigma))

    def quantile(self, tail: float) -> float:
        """sigma Phi^-1(1 - tail/2)."""
        return self.sigma * -float(special.ndtri(tail / 2))

    def explicit_error_bound(self, beta: float) -> float:
        """4 sqrt(H ln(2M/beta)/rho): union bound over 2 exp(-t^2/(2 sigma^2)) for each of the M counts."""
        require.open_unit(beta=beta)
        return 4 * math.sqrt(self.layout.H * math.log(2 * self.layout.cells / beta) / self.rho)

    def paper_error_bound(self, beta: float, *, constant: float = 4.0) -> float:
        """E_rho = constant sqrt(H log(4 H S^2 A/beta)/rho). Lemma C.2 needs the constant 4; with 2 it is false."""
        require.open_unit(beta=beta)
        require.positive(constant=constant)
        inside = math.log(4 * self.layout.tuples * self.layout.S / beta)
        return constant * math.sqrt(self.layout.H * inside / self.rho)

    def _noise(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        if self.discrete:
            return sampling.discrete_gaussian(rng, math.prod(shape), self.sigma).reshape(shape)
        return rng.normal(scale=self.sigma, size=shape)


@dataclass(frozen=True, kw_only=True)
class OfflineTabularLaplace(_OfflineTabular):
    """Lap(4H/eps) on every count: eps-DP. Raises ParameterError unless 0 < eps < inf."""

    eps: float

    def __post_init__(self) -> None:
        require.own_numbers(self)
        require.positive(eps=self.eps)
        super().__post_init__()

    @property
    def scale(self) -> float:
        """4H/eps, rounded up."""
        return div_up(4 * self.layout.H, self.eps)

    @property
    def claim(self) -> Claim:
        """eps-DP, replacing one trajectory."""
        return PureDP(self.eps, unit=Unit.TRAJECTORY, source=SOURCE)

    @property
    def ledger(self) -> Ledger:
        event = DiscreteLaplaceNoise if self.discrete else LaplaceNoise
        return Ledger(*(event(what=w, scale=self.scale, sensitivity=s) for w, s in self._sensitivities()))

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """sum over cells of (|y - v2| - |y - v1|)/scale."""
        first, second = self._exact(pair.first), self._exact(pair.second)
        moved = first != second
        seen = outputs[:, moved]
        return np.asarray((np.abs(seen - second[moved]) - np.abs(seen - first[moved])).sum(axis=1) / self.scale)

    def quantile(self, tail: float) -> float:
        """scale ln(1/tail)."""
        return -self.scale * math.log(tail)

    def explicit_error_bound(self, beta: float) -> float:
        """(8H/eps) ln(M/beta): union bound over exp(-t/scale) for each of the M counts."""
        require.open_unit(beta=beta)
        return 8 * self.layout.H / self.eps * math.log(self.layout.cells / beta)

    def _noise(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        return (discrete_laplace_sum if self.discrete else laplace_sum)(self.scale, 1, shape, rng=rng)


def gaussian_log_ratio(outputs: Array, first: Array, second: Array, sigmas: Array) -> Array:
    """log density ratio of N(first, diag sigmas^2) to N(second, diag sigmas^2) at (size, cells) outputs."""
    moved = first != second
    gap = (first[moved] - second[moved]) / sigmas[moved] ** 2
    middle = (first[moved] + second[moved]) / 2
    return np.asarray((outputs[:, moved] - middle) @ gap)
