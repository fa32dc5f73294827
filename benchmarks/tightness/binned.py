"""Laws of the newer events from below, without the accounting: outputs are put into bins, which hides.

By data processing the two laws of the bins are no easier to tell apart than the laws themselves, so what follows from
them is a lower bound on delta, whatever the bins are; it is off by the square of their width. Distribution functions
are those of scipy.stats; steps that are chosen adaptively are a recursion over a grid, rounded down.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from dpverify.claims import Relation
from dpverify.ledger import (
    BinomialNoise,
    BoundedRange,
    DominatingPair,
    Event,
    FiniteLaws,
    FixedSizeSampled,
    GaussianNoise,
    KaryResponse,
    LaplaceLaw,
    LaplaceNoise,
    Law,
    Mixture,
    Normal,
    PiecewiseConstant,
    PoissonSampled,
    Shift,
    Shuffled,
    Truncated,
)

Array = npt.NDArray[np.float64]
Laws = tuple[Array, Array]  # P- and Q-masses of the same outputs

BINS = 400
MOST = 2500  # outputs of a convolution
LEAST = 1e-34  # mass of such an output
FINE = 64  # choices of c in a bounded range; more where it is used a few times


def laws_of(event: Event, relation: Relation, *, flipped: bool, added: bool) -> Laws | None:
    """The two laws of one use in one order; None for events that are not known here."""
    match event:
        case PoissonSampled():
            p, q = _inside(event.inside.events[0], relation)
            mixed = event.rate * p + (1 - event.rate) * q
            return (q, mixed) if added != flipped else (mixed, q)
        case FixedSizeSampled():
            p, q = _inside(event.inside.events[0], relation)
            rate = event.sampled / event.of
            up = p > q
            high, low = (rate * p + (1 - rate) * q)[up], q[up]
            rest = 1 - high.sum() - low.sum()
            return np.concatenate([high, low, [rest]]), np.concatenate([low, high, [rest]])
        case Shuffled():
            return _clones(event.local_eps, event.users)
        case DominatingPair():
            edges = _edges(event.p, event.q)
            first, second = (_masses(law, edges) for law in (event.p, event.q))
            return (second, first) if flipped and event.directed else (first, second)
    return None


def open_profile(pairs: Sequence[Laws], count: int, *, step: float, reach: float) -> Array:
    """A lower bound of the worst delta on the grid -reach..reach of `count` steps whose pairs are chosen on the way."""
    half = math.ceil(reach / step)
    x = np.arange(-half, half + 1) * step
    worst = least = np.maximum(-np.expm1(x), 0.0)
    certain = max(float(p[q == 0].sum()) for p, q in pairs)
    for done in range(count):
        values, last = [least], -math.expm1(done * math.log1p(-certain))  # no less than this beyond the grid
        for p, q in pairs:
            total = np.full(len(x), p[q == 0].sum())
            both = (p > 0) & (q > 0)
            for mass, loss in zip(p[both], np.log(p[both] / q[both]), strict=True):
                shift = math.floor(loss / step + 1e-9)  # rounded down: delta falls
                if shift >= 0:
                    shift = min(shift, len(x))  # below the grid delta is at least 1 - e^x, which keeps it convex
                    moved = np.append(-np.expm1(x[:shift] - shift * step), worst[: len(x) - shift])
                else:
                    moved = np.append(worst[-shift:], np.full(min(-shift, len(x)), last))
                total += mass * moved
            values.append(total)
        worst = np.max(values, axis=0)
    return worst


def open_pairs(event: Event, relation: Relation, times: int) -> tuple[list[Laws], int, float] | None:
    """Pairs of a step that is met in any of them, how many such steps one event is, and a step of the losses."""
    match event:
        case BoundedRange():
            e, pairs, fine = event.eps, [], max(FINE, 2048 // times)
            for c in np.linspace(0, e, fine + 1)[1:-1]:
                p = np.array([math.expm1(c - e) / math.expm1(-e), 0.0])
                p[1] = 1 - p[0]
                pairs.append((p, p * np.exp([-c, e - c])))
            return pairs, sum(int(shift.count) for shift in event.uses.under(relation) if shift.size), e / fine
        case FiniteLaws(directed=False):
            laws = [tuple(np.array(law) / math.fsum(law) for law in pair) for pair in event.pairs]
            return [*((p, q) for p, q in laws), *((q, p) for p, q in laws)], 1, 0.0
        case BinomialNoise() if event.probability != 0.5:
            shifts = event.sensitivity.under(relation)
            if any(shift.direction for shift in shifts):
                return None
            (shift,) = shifts
            mass = stats.binom.pmf(np.arange(event.trials + 1), event.trials, event.probability)
            still, moved = np.append(mass, np.zeros(int(shift.size))), np.append(np.zeros(int(shift.size)), mass)
            return [(still, moved), (moved, still)], int(shift.count), 0.0
    return None


def laws_of_profile(step: float, deltas: Array, most: int = 10_000) -> tuple[Laws, float]:
    """Masses with a profile below the one whose values on an even grid are given; and the mass at infinite loss.

    Chords above the profile at every m-th point, moved down by one such distance, are below it.
    """
    # second differences: so few points that rounding, some units over their distance for each, stays below 1e-8
    most = min(most, int(math.sqrt(1e-8 * step * len(deltas) / 2.0**-51)) + 2)
    every = max(1, len(deltas) // most)
    half = len(deltas) // 2
    at = np.arange(len(deltas) - 1, -1, -every)[::-1]  # what is left at the last point is infinite
    d, x = deltas[at], (at - half) * step
    wide = step * every
    slopes = np.append((d[:-1] - d[1:]) / -math.expm1(-wide), 0.0)  # of the cell that ends at the next point
    masses = np.maximum(np.concatenate([[0.0], slopes[:-1]]) - math.exp(-wide) * slopes, 0.0)
    masses[0] = max(0.0, 1 - masses[1:].sum() - d[-1])
    return (masses, masses * np.exp(-(x - wide))), float(d[-1])


def _inside(event: Event, relation: Relation) -> Laws:
    match event:
        case GaussianNoise():
            return gauss(_size(event.sensitivity.under(relation)) / event.sigma)
        case LaplaceNoise():
            return laplace(_size(event.sensitivity.under(relation)) / event.scale)
        case KaryResponse():
            weights = [math.exp(event.eps), 1.0, *([event.k - 2.0] if event.k > 2 else [])]
            p = np.array(weights) / sum(weights)
            return p, p[[1, 0, *([2] if event.k > 2 else [])]]
    raise ValueError(f"no law of {event!r}")


def gauss(mu: float) -> Laws:
    """N(mu, 1) and N(0, 1)."""
    return _binned(stats.norm(mu), stats.norm(), knots=(mu / 2,))


def laplace(a: float) -> Laws:
    """Laplace noise of scale 1, moved by a and not moved."""
    return _binned(stats.laplace(a), stats.laplace(), knots=(0.0, a / 2, a))


def convolved(laws: Sequence[tuple[Laws, int]]) -> Laws:
    """Independent outputs of all pairs, so many of each; those of nearly the same loss are put together."""
    found = np.ones(1), np.ones(1)
    for law, count in laws:
        power = _gathered(*law)
        while count:
            if count % 2:
                found = _both(found, power)
            count //= 2
            power = _both(power, power) if count else power
    return found


def delta(law: Laws, eps: float) -> float:
    """delta at a slightly larger eps: differences of nearly equal masses are rounding, and no more than nothing."""
    p, q = law
    return math.fsum(np.maximum(p - math.exp(min(eps + 1e-12 * (1 + eps), 700.0)) * q, 0.0))


def _both(one: Laws, other: Laws) -> Laws:
    return _gathered(np.multiply.outer(one[0], other[0]).ravel(), np.multiply.outer(one[1], other[1]).ravel())


def _gathered(p: Array, q: Array) -> Laws:
    """Outputs of p < `LEAST` are left out, which hides as well."""
    both = (p > LEAST) & (q > 1e-290)
    infinite = p[(p > 1e-290) & (q <= 1e-290)].sum()
    p, q = p[both], q[both]
    if len(p) > MOST:
        loss = np.log(p / q)
        low, width = loss.min(), max(np.ptp(loss), 1e-300) / MOST
        loss -= low
        loss /= width
        at = np.minimum(loss.astype(np.int32), MOST - 1)
        p, q = np.bincount(at, p, MOST), np.bincount(at, q, MOST)
    return np.append(p, infinite), np.append(q, 0.0)


def _size(shifts: Sequence[Shift]) -> float:
    (only,) = shifts
    if only.count != 1:
        raise ValueError("several coordinates in a sample")
    return float(only.size)


def _binned(p: Any, q: Any, knots: tuple[float, ...] = ()) -> Laws:
    tails = np.logspace(-2, -45, 4)
    parts = [np.linspace(min(p.ppf(t), q.ppf(t)), max(p.isf(t), q.isf(t)), BINS // 2) for t in tails]
    edges = np.unique(np.concatenate([*parts, knots]))
    return _by_tails(p.cdf, p.sf, edges), _by_tails(q.cdf, q.sf, edges)


def _by_tails(cdf: Callable[[Array], Array], sf: Callable[[Array], Array], edges: Array) -> Array:
    """Masses of the bins, both ends included, as differences of the smaller tails."""
    below, above = cdf(edges), sf(edges)
    low = np.concatenate([[below[0]], np.where(below[1:] < 0.5, np.diff(below), -np.diff(above)), [above[-1]]])
    return np.maximum(low, 0.0)


def _edges(p: Law, q: Law) -> Array:
    return np.unique(np.concatenate([*(_own_edges(law) for law in (p, q))]))


def _own_edges(law: Law) -> Array:
    match law:
        case Normal():
            return np.concatenate([law.mean + law.sigma * np.linspace(-r, r, BINS // 2) for r in (2.5, 8.0, 14.0)])
        case LaplaceLaw():
            return law.mean + law.scale * np.concatenate([np.linspace(-r, r, BINS // 2 + 1) for r in (5.0, 60.0)])
        case Mixture():
            return np.concatenate([_own_edges(each) for each in law.laws])
        case Truncated():
            return np.clip(np.append(_own_edges(law.law), [law.low, law.high]), law.low, law.high)
        case PiecewiseConstant():
            return np.array(law.edges)
    raise ValueError(f"no distribution function of {law!r}")


def _masses(law: Law, edges: Array) -> Array:
    match law:
        case Normal():
            own = stats.norm(law.mean, law.sigma)
            return _by_tails(own.cdf, own.sf, edges)
        case LaplaceLaw():
            own = stats.laplace(law.mean, law.scale)
            return _by_tails(own.cdf, own.sf, edges)
        case Mixture():
            total = sum(law.weights)
            parts = (w / total * _masses(each, edges) for w, each in zip(law.weights, law.laws, strict=True))
            return np.asarray(sum(parts))
        case Truncated():
            inner = _masses(law.law, edges)
            middle = np.concatenate([[edges[0] - 1], (edges[1:] + edges[:-1]) / 2, [edges[-1] + 1]])
            inner = np.where((middle > law.low) & (middle < law.high), inner, 0.0)
            return inner / inner.sum()
        case PiecewiseConstant():
            ends, heights = np.array(law.edges), np.array(law.heights)
            area = np.concatenate([[0.0], np.cumsum(heights * np.diff(ends))])
            return np.concatenate([[0.0], np.diff(np.interp(edges, ends, area)) / area[-1], [0.0]])
    raise ValueError(f"no distribution function of {law!r}")


def _clones(local: float, users: int) -> Laws:
    """The clone pair by enumeration: see `accounting.dominating_pairs`."""
    found: dict[tuple[int, int], list[float]] = {}
    told = 1 / (1 + math.exp(-local))
    for clones, chance in enumerate(stats.binom.pmf(np.arange(users), users - 1, math.exp(-local))):
        for a, mass in enumerate(chance * stats.binom.pmf(np.arange(clones + 1), clones, 0.5)):
            for b, part in ((1, told), (0, 1 - told)):
                for side, output in enumerate(((a + b, clones - a + 1 - b), (a + 1 - b, clones - a + b))):
                    found.setdefault(output, [0.0, 0.0])[side] += mass * part
    p, q = np.array(list(found.values())).T
    return p, q
