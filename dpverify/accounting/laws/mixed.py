"""Laws made of other laws: mixtures, and laws cut to an interval."""

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.accounting.laws.law import Law
from dpverify.base import require
from dpverify.base.errors import ParameterError
from dpverify.base.rounding import as_float, UNIT

Array = npt.NDArray[np.float64]

REJECTIONS = 100  # rounds of drawing again before a truncated law is given up


@dataclass(frozen=True)
class Mixture(Law):
    """Law j with probability weights[j] / sum(weights)."""

    weights: tuple[float, ...]
    laws: tuple[Law, ...]

    def __post_init__(self) -> None:
        require.several(object, weights=self.weights, laws=self.laws)
        object.__setattr__(self, "weights", tuple(self.weights))
        object.__setattr__(self, "laws", tuple(self.laws))
        require.positive(**{f"weights[{i}]": each for i, each in enumerate(self.weights)})
        if len(self.weights) != len(self.laws) or not self.laws:
            raise ParameterError("weights", self.weights, "one for each law, at least one")
        object.__setattr__(self, "weights", tuple(as_float("weights", each) for each in self.weights))
        if not all(isinstance(law, Law) for law in self.laws):
            raise ParameterError("laws", self.laws, "laws such as Normal(0.0, 1.0)")

    @property
    def eta(self) -> float:
        return max(law.eta for law in self.laws) + (16 + len(self.laws)) * UNIT

    @property
    def support(self) -> tuple[float, float]:
        return min(law.support[0] for law in self.laws), max(law.support[1] for law in self.laws)

    @property
    def knots(self) -> tuple[float, ...]:
        ends = (end for law in self.laws for end in law.support if math.isfinite(end))
        return tuple(sorted({*ends, *(knot for law in self.laws for knot in law.knots)}))

    @property
    def _shares(self) -> Array:
        weights = np.array(self.weights, dtype=np.float64)
        return np.asarray(weights / math.fsum(weights), dtype=np.float64)

    def _logs(self, z: Array) -> Array:
        return np.stack([law.log_density(z) for law in self.laws]) + np.log(self._shares)[:, None]

    def log_density(self, z: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(special.logsumexp(self._logs(z), axis=0), dtype=np.float64)

    def log_error(self, z: Array) -> Array:
        """That of the terms that weigh something (others enter with their share), and of the sum."""
        logs = self._logs(z)
        errors = np.stack([law.log_error(z) for law in self.laws])
        live = logs > logs.max(axis=0) - 60
        found = np.where(np.isfinite(self.log_density(z)), np.abs(self.log_density(z)), 0.0)
        return np.asarray(np.where(live, errors, 0.0).max(axis=0) + 16 * UNIT * (found + len(self.laws) + 8))

    def masses(self, edges: Array) -> Array:
        return sum((s * law.masses(edges) for s, law in zip(self._shares, self.laws, strict=True)), np.zeros(1))

    def spread(self, tail: float) -> tuple[float, float]:
        spreads = [law.spread(tail) for law in self.laws]
        return min(low for low, _ in spreads), max(high for _, high in spreads)

    def outside(self, low: float, high: float) -> float:
        return math.fsum(s * law.outside(low, high) for s, law in zip(self._shares, self.laws, strict=True)) * (
            1 + self.eta
        )

    def curvature(self, low: Array, high: Array) -> tuple[Array, Array]:
        """(log sum w e^l)'' = mean of l'' + variance of l', the latter at most a quarter of the squared range."""
        curves = [law.curvature(low, high) for law in self.laws]
        least, largest = self.slope(low, high)
        extra = (largest - least) ** 2 / 4 * (1 + 16 * UNIT)
        return np.min([c[0] for c in curves], axis=0), np.max([c[1] for c in curves], axis=0) + extra

    def slope(self, low: Array, high: Array) -> tuple[Array, Array]:
        slopes = [law.slope(low, high) for law in self.laws]
        return np.min([s[0] for s in slopes], axis=0), np.max([s[1] for s in slopes], axis=0)

    def sample(self, *, rng: np.random.Generator, size: int) -> Array:
        which = rng.choice(len(self.laws), size=size, p=self._shares)
        draws = np.stack([law.sample(rng=rng, size=size) for law in self.laws])
        return np.asarray(draws[which, np.arange(size)], dtype=np.float64)


@dataclass(frozen=True)
class Truncated(Law):
    """`law` given that it falls into [low, high]: density 0 outside, larger by 1/mass inside."""

    law: Law
    low: float
    high: float

    def __post_init__(self) -> None:
        if not isinstance(self.law, Law):
            raise ParameterError("law", self.law, "a law such as LaplaceLaw(0.0, 1.0)")
        require.finite(low=self.low, high=self.high)
        for name in ("low", "high"):
            object.__setattr__(self, name, as_float(name, getattr(self, name)))
        if not self.low < self.high or not self._mass > 0:
            raise ParameterError("high", self.high, f"above low = {self.low:g}, with mass of the law between them")

    @cached_property
    def _mass(self) -> float:
        inner = sorted({self.low, self.high, *(k for k in self.law.knots if self.low < k < self.high)})
        return math.fsum(self.law.masses(np.array(inner, dtype=np.float64)))

    @property
    def eta(self) -> float:
        return 2 * self.law.eta + 8 * UNIT

    @property
    def support(self) -> tuple[float, float]:
        low, high = self.law.support
        return max(low, self.low), min(high, self.high)

    @property
    def knots(self) -> tuple[float, ...]:
        low, high = self.support
        return tuple(sorted({low, high, *(knot for knot in self.law.knots if low < knot < high)}))

    def log_density(self, z: Array) -> Array:
        inside = (z >= self.low) & (z <= self.high)
        return np.where(inside, self.law.log_density(z) - math.log(self._mass), -np.inf)

    def log_error(self, z: Array) -> Array:
        return self.law.log_error(z) + self.law.eta + 8 * UNIT * (abs(math.log(self._mass)) + 1)

    def masses(self, edges: Array) -> Array:
        """Of the parts inside; an interval without one has no mass."""
        inner = np.clip(edges, self.low, self.high)
        return np.where(np.diff(inner) > 0, self.law.masses(inner), 0.0) / self._mass

    def spread(self, tail: float) -> tuple[float, float]:
        low, high = self.law.spread(tail * self._mass)
        return max(self.low, min(low, self.high)), min(self.high, max(high, self.low))

    def outside(self, low: float, high: float) -> float:
        first, last = self.support
        ends = np.array([first, max(first, min(low, last)), min(last, max(high, first)), last])
        parts = [self.masses(ends[i : i + 2])[0] if ends[i + 1] > ends[i] else 0.0 for i in (0, 2)]
        return float(sum(parts)) * (1 + self.eta)

    def curvature(self, low: Array, high: Array) -> tuple[Array, Array]:
        return self.law.curvature(low, high)

    def slope(self, low: Array, high: Array) -> tuple[Array, Array]:
        return self.law.slope(low, high)

    def sample(self, *, rng: np.random.Generator, size: int) -> Array:
        """Draws again what falls outside; ParameterError where that does not end."""
        kept: list[Array] = []
        missing = size
        for _ in itertools.islice(itertools.count(), REJECTIONS):
            drawn = self.law.sample(rng=rng, size=2 * missing + 64)
            drawn = drawn[(drawn >= self.low) & (drawn <= self.high)][:missing]
            kept.append(drawn)
            missing -= len(drawn)
            if not missing:
                return np.concatenate(kept)
        raise ParameterError("law", self.law, f"often inside [{self.low:g}, {self.high:g}]: most draws fall outside")
