"""Laws made of other laws: mixtures, and laws cut to an interval."""

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.base import require
from dpverify.base.rounding import as_float, UNIT
from dpverify.errors import ParameterError
from dpverify.ledger.laws.standard import Flags, Law

Array = npt.NDArray[np.float64]

NARROW = 1 / 8  # of the spread of a mixture: laws of less have cells of their own
LEAST_SHARE = 1e-300  # smaller ones are no floats
LEAST_MASS = 1e-290  # of what is left of a law: smaller masses have fewer digits
REJECTIONS = 100  # rounds of drawing again before a truncated law is given up


@dataclass(frozen=True)
class Mixture(Law):
    """A mixture draws from law j with probability weights[j]/sum(weights).

    Parameters
    ----------
    weights : tuple of float
        One positive weight for each law; they need not sum to 1.
    laws : tuple of Law
        What is mixed, at least one law.

    Raises
    ------
    ParameterError
        Unless the weights are positive and finite, and there is one for each of the laws and at least one.

    Examples
    --------
    Two users, as a group, join a Poisson sample of rate 0.1 under Gaussian noise of sigma 2. None, one or both of them
    are in it, and each moves the sum by 1 (Ganesh 2024):

    >>> from dpverify import account, Relation
    >>> from dpverify.ledger import DominatingPair, Ledger, Mixture, Normal
    >>> joined = Mixture(weights=(0.81, 0.18, 0.01), laws=tuple(Normal(at, 2.0) for at in (0.0, 1.0, 2.0)))
    >>> pair = DominatingPair(p=joined, q=Normal(0.0, 2.0), relation=Relation.ADD_OR_REMOVE_ONE)
    >>> round(account(Ledger(pair), delta=1e-5, relation=Relation.ADD_OR_REMOVE_ONE), 3)
    0.812
    """

    weights: tuple[float, ...]
    laws: tuple[Law, ...]

    def __post_init__(self) -> None:
        require.own_numbers(self)
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

    def log_density(self, z: Array) -> Array:
        return self._sum([(law.log_density(z), law.log_error(z)) for law in self.laws])[0]

    def log_error(self, z: Array) -> Array:
        return self._sum([(law.log_density(z), law.log_error(z)) for law in self.laws])[1]

    def lives(self, low: Array, high: Array) -> Flags:
        return np.asarray(np.any([law.lives(low, high) for law in self.laws], axis=0), dtype=np.bool_)

    def inside(self, z: Array, low: Array, high: Array) -> tuple[Array, Array]:
        return self._sum(self._parts(z, low, high))

    def _parts(self, z: Array, low: Array, high: Array) -> list[tuple[Array, Array]]:
        """Log density and error of each law, -inf and 0 in cells where it does not live."""
        parts = []
        for law in self.laws:
            live, (log, error) = law.lives(low, high), law.inside(z, low, high)
            parts.append((np.where(live, log, -np.inf), np.where(live, error, 0.0)))
        return parts

    def _sum(self, parts: list[tuple[Array, Array]]) -> tuple[Array, Array]:
        """Error: that of the terms that weigh something (others enter with their share), and of the sum."""
        logs = np.stack([log for log, _ in parts]) + np.log(self._shares)[:, None]
        with np.errstate(divide="ignore"):
            total = np.asarray(special.logsumexp(logs, axis=0), dtype=np.float64)
        weighs = logs > logs.max(axis=0) - 60
        error = np.where(weighs, np.stack([error for _, error in parts]), 0.0).max(axis=0)
        size = np.where(np.isfinite(total), np.abs(total), 0.0)
        return total, np.asarray(error + 16 * UNIT * (size + len(self.laws) + 8), dtype=np.float64)

    def masses(self, edges: Array) -> Array:
        return sum((s * law.masses(edges) for s, law in zip(self._shares, self.laws, strict=True)), np.zeros(1))

    def spread(self, tail: float) -> tuple[float, float]:
        spreads = [law.spread(tail) for law in self.laws]
        return min(low for low, _ in spreads), max(high for _, high in spreads)

    def narrow_spreads(self, tail: float) -> list[tuple[float, float]]:
        """Those of laws that equal steps over the whole spread would not resolve."""
        low, high = self.spread(tail)
        parts = {part for law in self.laws for part in (law.spread(tail), *law.narrow_spreads(tail))}
        return sorted(part for part in parts if part[1] - part[0] < NARROW * (high - low))

    def outside(self, low: float, high: float) -> float:
        return math.fsum(s * law.outside(low, high) for s, law in zip(self._shares, self.laws, strict=True)) * (
            1 + self.eta
        )

    def curvature(self, low: Array, high: Array) -> tuple[Array, Array]:
        """(log sum w e^l)'' = mean of l'' + variance of l', means by the weights that the laws have at a point.

        The variance is at most a quarter of the squared range, and at most the mean of (l' - c)^2 for any c: the middle
        slope of the heaviest law.
        """
        weights, least, largest = self._weights(low, high)
        curves = [_masked(law.curvature(low, high), weight > 0) for law, weight in zip(self.laws, weights, strict=True)]
        center = np.take_along_axis((least + largest) / 2, weights.argmax(axis=0)[None], axis=0)
        apart = np.maximum(np.abs(least - center), np.abs(largest - center)) ** 2
        span = np.where(weights > 0, largest, -np.inf).max(axis=0) - np.where(weights > 0, least, np.inf).min(axis=0)
        extra = np.minimum(_largest_mean(apart, weights), span**2 / 4) * (1 + 64 * UNIT)
        low_curves, high_curves = (np.stack([curve[side] for curve in curves]) for side in (0, 1))
        return -_largest_mean(-low_curves, weights), _largest_mean(high_curves, weights) + extra

    def slope(self, low: Array, high: Array) -> tuple[Array, Array]:
        """(log sum w e^l)' = mean of l'."""
        weights, least, largest = self._weights(low, high)
        return -_largest_mean(-least, weights), _largest_mean(largest, weights)

    def _weights(self, low: Array, high: Array) -> tuple[Array, Array, Array]:
        """Upper bounds of the share that each law has in the density, anywhere in a cell, and bounds of its slope.

        A log density with slopes in [a, b] is at most min(l(low) + b^+ w, l(high) + a^- w) in a cell of width w, and at
        least max(l(low) - a^- w, l(high) - b^+ w); the share is at most e^(upper bound - the largest lower bound).
        """
        slopes = [_masked(law.slope(low, high), law.lives(low, high)) for law in self.laws]
        least, largest = (np.stack([slope[side] for slope in slopes]) for side in (0, 1))
        shares = np.log(self._shares)[:, None]
        with np.errstate(invalid="ignore", over="ignore"):
            width = high - low
            ends = [self._parts(np.where(np.isfinite(z), z, 0.0), low, high) for z in (low, high)]
            first, last = (np.stack([log for log, _ in end]) + shares for end in ends)
            rise, fall = np.maximum(largest, 0.0) * width, np.maximum(-least, 0.0) * width
            upper = np.minimum(first + rise, last + fall)
            lower = np.maximum(first - fall, last - rise)
            sizes = np.abs(upper) + np.abs(lower) + rise + fall + 8
            error = np.max([error for end in ends for _, error in end], axis=0) + 8 * UNIT * sizes
            lower = np.where(np.isfinite(lower), lower - error, -np.inf).max(axis=0)
            share = np.exp(np.minimum(upper + error - lower, 0.0)) + LEAST_SHARE
        dead = np.stack([~law.lives(low, high) for law in self.laws])
        # unbounded cells, and numbers that are none: any share is possible
        known = np.isfinite(width) & np.isfinite(lower) & ~np.isnan(share)
        return np.where(dead, 0.0, np.where(known, np.minimum(share, 1.0), 1.0)), least, largest

    def sample(self, *, rng: np.random.Generator, size: int) -> Array:
        which = rng.choice(len(self.laws), size=size, p=self._shares)
        draws = np.stack([law.sample(rng=rng, size=size) for law in self.laws])
        return np.asarray(draws[which, np.arange(size)], dtype=np.float64)


def _masked(bounds: tuple[Array, Array], used: Flags) -> tuple[Array, Array]:
    return np.where(used, bounds[0], 0.0), np.where(used, bounds[1], 0.0)


def _largest_mean(values: Array, weights: Array) -> Array:
    """The largest sum of w_j v_j over w with sum 1 and 0 <= w_j <= weights_j, in each column; rounded up.

    Weights go to the largest values first; the bounds sum to 1 or more where any law lives.
    """
    order = np.argsort(-values, axis=0, kind="stable")
    values, weights = np.take_along_axis(values, order, axis=0), np.take_along_axis(weights, order, axis=0)
    before = np.cumsum(weights, axis=0) - weights
    given = np.clip(1 - before, 0.0, weights)
    with np.errstate(invalid="ignore"):
        terms = np.where(given > 0, given * values, 0.0)
    # sums err by units of their terms, and what is left of 1 by units of 1: that counts where weights end
    last = np.where((given > 0) & (before + weights > 1 - 1e-9), np.abs(values), 0.0).max(axis=0)
    return np.asarray(terms.sum(axis=0) + 8 * len(values) * UNIT * (np.abs(terms).sum(axis=0) + last))


@dataclass(frozen=True)
class Truncated(Law):
    """A truncated law is `law` given that it falls into [low, high]: density 0 outside, larger by 1/mass inside.

    Parameters
    ----------
    law : Law
        What is cut.
    low : float
        Lower end, finite.
    high : float
        Upper end, finite and above `low`.

    Raises
    ------
    ParameterError
        For a `law` that is none, ends that are not finite or not in order, and where less than 1e-290 of the law's mass
        lies between them.

    Examples
    --------
    >>> import numpy as np
    >>> from dpverify.ledger import Normal, Truncated
    >>> cut = Truncated(Normal(0.0, 1.0), 0.0, 2.0)
    >>> cut.support
    (0.0, 2.0)
    >>> cut.log_density(np.array([3.0]))
    array([-inf])
    """

    law: Law
    low: float
    high: float

    def __post_init__(self) -> None:
        require.own_numbers(self)
        if not isinstance(self.law, Law):
            raise ParameterError("law", self.law, "a law such as LaplaceLaw(0.0, 1.0)")
        require.finite(low=self.low, high=self.high)
        for name in ("low", "high"):
            object.__setattr__(self, name, as_float(name, getattr(self, name)))
        if not self.low < self.high or not self._mass >= LEAST_MASS:
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

    def lives(self, low: Array, high: Array) -> Flags:
        return (low >= self.low) & (high <= self.high) & self.law.lives(low, high)

    def inside(self, z: Array, low: Array, high: Array) -> tuple[Array, Array]:
        found, error = self.law.inside(z, low, high)
        return found - math.log(self._mass), error + self._scale_error

    def log_density(self, z: Array) -> Array:
        inside = (z >= self.low) & (z <= self.high)
        return np.where(inside, self.law.log_density(z) - math.log(self._mass), -np.inf)

    def log_error(self, z: Array) -> Array:
        return self.law.log_error(z) + self._scale_error

    @property
    def _scale_error(self) -> float:
        return self.law.eta + 8 * UNIT * (abs(math.log(self._mass)) + 1)

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
