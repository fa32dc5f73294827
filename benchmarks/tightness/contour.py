"""Another account of a ledger, without the accountant: the contour integral of its moment-generating function.

With M(z) = prod E[e^(z L_i)]^(n_i) of the exact laws and any t > 0,

    delta(eps) = P(L = inf) + (1/(2 pi)) int M(t + iy) e^(-(t + iy) eps)/((t + iy)(t + 1 + iy)) dy.

The mean of delta over three successive intervals [eps, eps + w/3] puts the factor ((1 - e^(-zw/3))/(zw/3))^3 under the
integral, which then falls like |z|^-5 whatever the law; as delta falls in eps it is a lower bound of delta(eps). Plain
doubles, a trapezoid rule on the line, no grid of losses: an oracle up to some 1e-9 (relative), not a proof. Events with
continuous laws other than Laplace and Gauss are put into bins, steps whose pair is chosen on the way are one coordinate
(see `binned`): from below as well.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from benchmarks.tightness import binned
from dpverify.claims import Relation
from dpverify.ledger import (
    BinomialNoise,
    Direction,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    FiniteLaws,
    GaussianNoise,
    KaryResponse,
    LaplaceNoise,
    Ledger,
    MatrixGaussian,
    PoissonSampled,
    PureStep,
    Shift,
)

Complex = npt.NDArray[np.complex128]
TILTS = 2.0 ** (np.arange(-120, 240) / 6)
MOST_NODES = 4_000_000
FEW = 64  # coordinates that are convolved bin by bin


@dataclass(frozen=True, eq=False)
class Coordinate:
    """log E[e^(zL); L finite] of one coordinate, P(L = inf), how many there are, and the largest loss (inf if none)."""

    log_moment: Callable[[Complex], Complex]
    infinite: float
    count: int
    largest: float
    laws: Callable[[], binned.Laws] | None = None  # P and Q of bins


@dataclass(frozen=True)
class Contour:
    """One order of a pair of datasets."""

    coordinates: tuple[Coordinate, ...]

    def delta_from_below(self, eps: float, width: float = 1e-4) -> float:
        """The mean of delta over intervals above eps, of `width` times eps in all; 0 beyond the largest loss."""
        infinite = -math.expm1(sum(each.count * math.log1p(-each.infinite) for each in self.coordinates))
        largest = sum(each.count * each.largest for each in self.coordinates)
        if eps >= largest:
            return infinite
        if self._few is not None:
            return max(binned.delta(self._few, eps), infinite)
        logs = self._logs(TILTS.astype(np.complex128)).real
        with np.errstate(invalid="ignore"):
            bounds = logs - TILTS * eps - np.log(TILTS) - np.log1p(TILTS)
        at = int(np.nanargmin(np.where(np.isfinite(bounds), bounds, np.inf)))
        t, scale = float(TILTS[at]), float(bounds[at])
        # aliases e^(t r P) delta(eps + rP) below 1e-8 of e^scale, by the same bound at other tilts
        with np.errstate(invalid="ignore", divide="ignore"):
            tops = (logs - TILTS * eps - scale + 22) / np.abs(TILTS - t)
        tops = np.where(np.isfinite(tops), tops, np.inf)
        right = min(float(tops[at + 1 :].min(initial=np.inf)), largest - eps)
        period = max(right, min(float(tops[:at].min(initial=np.inf)), (24 - scale) / t))
        part = width * eps / 3
        reach = 40 / part  # |z|^-5 beyond 1/part
        nodes = min(MOST_NODES, math.ceil(reach * period / (2 * math.pi)))
        total = 0.0
        start = 0
        while start < nodes:
            k = np.arange(start, min(2 * start + 2000, start + 100_000, nodes))
            start += len(k)
            z = t + 2j * math.pi / period * k
            smooth = (-np.expm1(-z * part) / (z * part)) ** 3
            terms = np.exp(self._logs(z) - z * eps - scale) * smooth / (z * (z + 1))
            total += float((terms.real * np.where(k == 0, 1.0, 2.0)).sum())
            if np.abs(terms[-len(terms) // 4 :]).max() * nodes < 1e-10 * abs(total):
                break
        return infinite + max(0.0, total / period) * math.exp(scale)

    @cached_property
    def _few(self) -> binned.Laws | None:
        laws = [(each.laws(), each.count) for each in self.coordinates if each.laws]
        if sum(each.count for each in self.coordinates) > FEW or len(laws) < len(self.coordinates):
            return None
        return binned.convolved(laws)

    def _logs(self, z: Complex) -> Complex:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return np.asarray(sum(each.count * each.log_moment(z) for each in self.coordinates), dtype=np.complex128)


def contours(ledger: Ledger, relation: Relation, eps: float = math.inf) -> list[Contour]:
    """All orders of the pair; `eps`: about where they will be asked, for steps whose pair is chosen on the way.

    ValueError for several kinds of such steps, and for events without a law here.
    """
    sampled = any(isinstance(event, PoissonSampled) for event, _ in ledger.counted)
    return [
        Contour(
            tuple(each for event, n in ledger.counted for each in _coordinates(event, relation, n, flipped, added, eps))
        )
        for flipped in (False, True)
        for added in ((False, True) if sampled else (False,))
    ]


def _coordinates(
    event: Event, relation: Relation, times: int, flipped: bool, added: bool, eps: float
) -> Iterator[Coordinate]:
    laws = binned.laws_of(event, relation, flipped=flipped, added=added)
    if laws is not None:
        yield _listed(*laws, times)
        return
    chosen = binned.open_pairs(event, relation, times)
    if chosen is not None:
        yield _chosen(*chosen, times, eps)
        return
    if isinstance(event, MatrixGaussian):
        gram = np.abs(np.array(event.strategy).T @ np.array(event.strategy))
        (shift,) = event.movement.under(relation)
        half = max(_sums(gram, event.participations, event.separation)) * (shift.size / event.sigma) ** 2 / 2
        mu = math.sqrt(2 * half)
        yield Coordinate(lambda z: z * (z + 1) * half, 0.0, times, math.inf, lambda: binned.gauss(mu))
        return
    if isinstance(event, FiniteLaws):
        if not event.directed or len(event.pairs) != 1:
            raise ValueError("several pairs")
        p, q = (np.array(law) / math.fsum(law) for law in event.pairs[0][:: -1 if flipped else 1])
        yield _listed(p, q, times)
        return
    sensitivity = getattr(event, "sensitivity", None) or getattr(event, "reports", None) or event.uses  # type: ignore[attr-defined]
    for shift in sensitivity.under(relation):
        if shift.size and shift.count:
            yield _moved(event, shift, times * shift.count, flipped)


def _moved(event: Event, shift: Shift, count: int, flipped: bool) -> Coordinate:
    size = shift.size
    match event:
        case LaplaceNoise():
            a = size / event.scale
            return Coordinate(lambda z: _laplace(z, a), 0.0, count, a, lambda: binned.laplace(a))
        case GaussianNoise():
            half = (size / event.sigma) ** 2 / 2
            mu = size / event.sigma
            return Coordinate(lambda z: z * (z + 1) * half, 0.0, count, math.inf, lambda: binned.gauss(mu))
        case KaryResponse() | PureStep():
            k, e = getattr(event, "k", 2), event.eps
            p = np.array([1.0, math.exp(-e), *([(k - 2) * math.exp(-e)] if k > 2 else [])])
            q = np.array([math.exp(-e), 1.0, *([(k - 2) * math.exp(-e)] if k > 2 else [])])
            return _listed(p / p.sum(), q / q.sum(), count)
        case DiscreteLaplaceNoise():
            x = np.arange(-math.ceil(60 * event.scale), math.ceil(60 * event.scale) + int(size) + 1)
            return _noise(np.exp(-np.abs(x) / event.scale), int(size), count)
        case DiscreteGaussianNoise():
            x = np.arange(-math.ceil(14 * event.sigma), math.ceil(14 * event.sigma) + int(size) + 1)
            return _noise(np.exp(-((x / event.sigma) ** 2) / 2), int(size), count)
        case BinomialNoise():
            n, c, s = event.trials, event.probability, int(size)
            x = np.arange(n + 1)
            logs = np.array([math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) for i in x])
            mass = np.exp(logs + x * math.log(c) + (n - x) * math.log1p(-c))
            down = (shift.direction is Direction.DOWN) != flipped
            if shift.direction is None and c != 0.5:
                raise ValueError("direction open")
            still, moved = np.concatenate([mass, np.zeros(s)]), np.concatenate([np.zeros(s), mass])
            return _listed(*((moved, still) if down else (still, moved)), count)
    raise ValueError(f"no law of {event!r}")


def _chosen(pairs: list[binned.Laws], count: int, step: float, times: int, eps: float) -> Coordinate:
    """All steps as one coordinate."""
    largest = max(float(np.abs(np.log(p[p * q > 0] / q[p * q > 0])).max()) for p, q in pairs)
    reach = min(times * count * largest, 1.5 * eps + 10 * largest) * 1.0001
    step = step or reach / 40_000
    laws, infinite = binned.laws_of_profile(step, binned.open_profile(pairs, times * count, step=step, reach=reach))
    found = _listed(*laws, 1)
    mass_p, mass_q = laws
    both = np.append(mass_p, infinite), np.append(mass_q, 0.0)
    return Coordinate(found.log_moment, infinite, 1, times * count * largest, lambda: both)


def _sums(gram: npt.NDArray[np.float64], participations: int, separation: int) -> Iterator[float]:
    for size in range(1, participations + 1):
        for steps in itertools.combinations(range(len(gram)), size):
            if all(b - a >= separation for a, b in itertools.pairwise(steps)):
                yield float(gram[np.ix_(steps, steps)].sum())


def _noise(weights: npt.NDArray[np.float64], size: int, count: int) -> Coordinate:
    """The window moves with the noise: both laws are nearly nothing at its ends, which count for nothing."""
    mass = weights / weights.sum()
    return _listed(mass[size:], mass[: len(mass) - size], count)


def _listed(p: npt.NDArray[np.float64], q: npt.NDArray[np.float64], count: int) -> Coordinate:
    both = (p > 1e-290) & (q > 1e-290)
    losses, where = np.unique(np.round(np.log(p[both] / q[both]), 14), return_inverse=True)
    masses = np.bincount(where, p[both])

    def log_moment(z: Complex) -> Complex:
        top = np.maximum(z.real * losses[-1], z.real * losses[0])
        if np.ptp(z.real) > 0:
            total = np.exp(np.multiply.outer(z, losses) - top[:, None]) @ masses
            return np.asarray(np.log(total) + top, dtype=np.complex128)
        # nodes at equal distances on a line: z = a start and a short way from it, as a product of matrices
        width = math.isqrt(len(z)) + 1
        step = (z[-1] - z[0]) / max(len(z) - 1, 1)
        starts = np.exp(np.multiply.outer(z[::width], losses) - top[0]) * masses
        total = (starts @ np.exp(np.multiply.outer(losses, step * np.arange(width)))).ravel()[: len(z)]
        return np.asarray(np.log(total) + top, dtype=np.complex128)

    infinite = float(p[(q == 0) & (p > 1e-290)].sum())
    return Coordinate(log_moment, infinite, count, float(losses[-1]) if len(losses) else 0.0, lambda: (p, q))


def _laplace(z: Complex, a: float) -> Complex:
    """E[e^(zL)] = ((z + 1) e^(za) + z e^(-(z+1)a))/(2z + 1)."""
    return np.asarray(z * a + np.log((z + 1 + z * np.exp(-(2 * z + 1) * a)) / (2 * z + 1)), dtype=np.complex128)
