"""The loss of a pair of laws on the line, for any two that `laws` knows.

The line is cut into some 10^5 cells, at the knots of both densities among others. In a cell of width w the log ratio r
is bounded from its values at a quarter and at three quarters: a line through them is off by at most 3/32 w^2 |r''|. Its
P-mass then moves to the two ends of that range of losses such that P- and Q-mass are kept, which only helps to tell P
from Q (`grid_law`, Lemma 1). No root of r = x is searched, and r need not be monotone. P-mass where Q has none is
infinite loss; so is P-mass beyond the last cell, unless r is constant there.

No cell has a knot inside, so which laws live in it is read off their knots, by comparisons of floats, which are exact:
a cell between neighbouring floats has no point inside at which a density could be read. Densities at points that
rounding moves to an end of the cell are those that go on from its inside (`Law.inside`). Where floats hold no bound of
r (or no mass), the mass is infinite loss.
"""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dpverify.accounting.discrete_losses import DirectedLoss, Order, Orders
from dpverify.accounting.grid_law import TINY
from dpverify.accounting.laws import Law
from dpverify.accounting.ledger import Direction
from dpverify.accounting.loss import Exact
from dpverify.base.rounding import UNIT

Array = npt.NDArray[np.float64]

TAILS = (1e-2, 1e-5, 1e-12, 1e-45)  # cells are equally wide over each of these spreads
CELLS = 2**14
DISTINCT = 2.0**50  # points are told apart by so much of their size
MOST_EXPONENT = 700.0


@dataclass(frozen=True)
class PairLoss(DirectedLoss):
    """UP is p against q."""

    p: Law
    q: Law

    @property
    def pure(self) -> Exact:
        return _table(self.p, self.q).pure

    def orders(self) -> Orders:
        table = _table(self.p, self.q)
        return {Direction.UP: (table.up,), Direction.DOWN: (table.down,)}


@dataclass(frozen=True, eq=False)
class _Table:
    up: Order
    down: Order
    pure: Exact


@lru_cache(maxsize=32)
def _table(p: Law, q: Law) -> _Table:
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):  # what is no number is infinite
        return _computed(p, q)


def _computed(p: Law, q: Law) -> _Table:
    edges = _edges(p, q)
    low, high = edges[:-1], edges[1:]
    mass_p, mass_q = p.masses(edges), q.masses(edges)
    counted = np.isfinite(mass_p) & np.isfinite(mass_q)
    mass_p, mass_q = (np.where(np.isfinite(mass), mass, 1.0) for mass in (mass_p, mass_q))
    # a mass may be no float where the density is positive: at delta = 0 its loss counts as well
    live_p, live_q = (law.lives(low, high) for law in (p, q))
    both = live_p & live_q
    least, largest = _ratios(p, q, low[both], high[both])
    known = np.isfinite(least) & np.isfinite(largest) & counted[both]
    least, largest = least[known], largest[known]
    bounded = bool(known.all()) and not (live_p != live_q).any()
    both[both] = known
    eta = max(p.eta, q.eta)
    ends = [(p.outside(first, last), q.outside(first, last)) for first, last in _tails(edges)]
    tails = [_tail_ratio(p, q, float(edges[at]), side) for at, side in ((0, -1), (-1, 1))]
    bounded &= all(tail is not None or end == (0.0, 0.0) for tail, end in zip(tails, ends, strict=True))
    pure: Exact = math.inf
    if bounded and len(least):
        pure = Fraction(max(0.0, float(largest.max()), float(-least.min()), *(t or 0.0 for t in tails)))

    def order(own: Array, other: Array, least: Array, largest: Array, side: int) -> Order:
        loss, masses = _split(own[both], other[both], least, largest, eta)
        infinite = math.fsum(own[~both])
        extra = []
        for tail, end in zip(tails, ends, strict=True):
            if tail is None:
                infinite += end[side]
            elif end[side] > 0:
                extra.append((tail, end[side]))
        loss = np.concatenate([loss, [at for at, _ in extra]])
        masses = np.concatenate([masses, [mass for _, mass in extra]])
        raised = 1 + 2 * eta + 16 * UNIT
        return Order.of(loss, masses * raised, infinite=infinite * raised, slack=4 * eta + 64 * UNIT)

    up = order(mass_p, mass_q, least, largest, 0)
    return _Table(up, order(mass_q, mass_p, -largest, -least, 1), pure)


def _edges(p: Law, q: Law) -> Array:
    """All knots, and many points between them that are some units apart: a cell never has a knot inside."""
    knots = {*p.knots, *q.knots, *(end for law in (p, q) for end in law.support if math.isfinite(end))}
    parts = []
    for law, tail in itertools.product((p, q), TAILS):
        narrow = law.narrow_spreads(tail)
        parts.append(np.linspace(*law.spread(tail), CELLS))
        parts += [np.linspace(*part, max(2, CELLS // len(narrow))) for part in narrow]
    mantissa, exponent = np.frexp(np.concatenate(parts))
    between = np.ldexp(np.round(mantissa * DISTINCT), exponent) / DISTINCT
    between = between[np.isfinite(between)]
    if knots:
        sorted_knots = np.sort(np.array(list(knots)))
        after = np.searchsorted(sorted_knots, between).clip(1, len(knots)) - 1
        near = [np.abs(between - sorted_knots[at]) for at in (after, (after + 1).clip(max=len(knots) - 1))]
        between = between[np.minimum(*near) > np.abs(between) / DISTINCT]
    return np.unique([*between, *knots])


def _tails(edges: Array) -> list[tuple[float, float]]:
    """As arguments of `outside`: what lies left of the cells, and right of them."""
    return [(float(edges[0]), math.inf), (-math.inf, float(edges[-1]))]


def _ratios(p: Law, q: Law, low: Array, high: Array) -> tuple[Array, Array]:
    """Bounds of log p/q in each cell."""
    width = high - low
    inner = [low + width / 4, low + 3 * width / 4]
    found = [(*p.inside(z, low, high), *q.inside(z, low, high)) for z in inner]
    first, second = (log_p - log_q for log_p, _, log_q, _ in found)
    # two evaluations, extrapolated by half of their distance; the points themselves are off by a unit, where r is steep
    error = 2 * np.max([error_p + error_q for _, error_p, _, error_q in found], axis=0)
    bend_p, bend_q = p.curvature(low, high), q.curvature(low, high)
    slope_p, slope_q = p.slope(low, high), q.slope(low, high)
    bend = np.maximum(np.abs(bend_p[0] - bend_q[1]), np.abs(bend_p[1] - bend_q[0]))
    steep = np.maximum(np.abs(slope_p[0] - slope_q[1]), np.abs(slope_p[1] - slope_q[0]))
    error += 3 / 32 * width**2 * bend * (1 + 8 * UNIT) + 4 * UNIT * steep * np.maximum(np.abs(low), np.abs(high))
    start, end = first + (first - second) / 2, second + (second - first) / 2
    # a slope over the whole cell bounds r as well, and is exact where it is constant
    return np.minimum(start, end) - error, np.maximum(start, end) + error


def _tail_ratio(p: Law, q: Law, at: float, side: int) -> float | None:
    """Upper bound on |r| beyond the cells where r is constant there, None where it is not."""
    low, high = (np.array([-math.inf]), np.array([at])) if side < 0 else (np.array([at]), np.array([math.inf]))
    if not all(math.isinf(law.support[0 if side < 0 else 1]) for law in (p, q)):
        return None
    slopes = [p.slope(low, high), q.slope(low, high)]
    if not (np.isfinite(slopes).all() and len(np.unique(slopes)) == 1):
        return None
    z = np.array([at])
    return float(abs(p.log_density(z) - q.log_density(z))[0] + (p.log_error(z) + q.log_error(z))[0])


def _split(p: Array, q: Array, least: Array, largest: Array, eta: float) -> tuple[Array, Array]:
    """Atoms at both ends of each range: p (1 - s) at `least`, p s at `largest`."""
    known = (np.abs(least) <= MOST_EXPONENT) & (np.minimum(p, q) >= TINY)
    ratio = np.where(known, q, 0.0) / np.where(known, p, 1.0) * np.exp(np.where(known, least, 0.0))
    width = np.maximum(largest - least, 1e-300)
    share = np.clip((1 - ratio + 2.5 * eta + 8 * UNIT) * (1 + 8 * UNIT) / -np.expm1(-width), 0.0, 1.0)
    return np.concatenate([least, largest]), np.concatenate([p * (1 - share), p * share])
