"""The loss of a pair of laws on the line, for any two that `laws` knows.

The line is cut into some 10^5 cells, at the knots of both densities among others. In a cell of width w the log ratio r
is bounded from its values at a quarter and at three quarters: a line through them is off by at most 3/32 w^2 |r''|. Its
P-mass then moves to the two ends of that range of losses such that P- and Q-mass are kept, which only helps to tell P
from Q (`loss_laws`, Lemma 1). No root of r = x is searched, and r need not be monotone. P-mass where Q has none is
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

from dpverify.accounting import loss_laws
from dpverify.accounting.discrete_losses import AtomicLoss, both_ways, DirectedLoss, Order, Orders, response
from dpverify.accounting.loss_laws import Exact, TINY
from dpverify.base.rounding import float_down, float_up, UNIT
from dpverify.ledger.events import Direction
from dpverify.ledger.laws import Law

Array = npt.NDArray[np.float64]

TAILS = (1e-2, 1e-5, 1e-12, 1e-45)  # cells are equally wide over each of these spreads
CELLS = 2**14
DISTINCT = 2.0**50  # points are told apart by so much of their size
MOST_EXPONENT = 700.0


@dataclass(frozen=True)
class PairLoss(DirectedLoss):
    """A PairLoss is the loss of a pair of laws on the line; UP is p against q.

    Parameters
    ----------
    p : Law
        The first law.
    q : Law
        The second law.
    direction : Direction, optional
        UP or DOWN where it is stated. None: the worse one is charged.

    Notes
    -----
    The line is cut into some 10^5 cells. In each of them the log ratio is bounded, and the P-mass moves to the two ends
    of that range of losses such that P- and Q-mass are kept (Lemma 1 of `loss_laws`). The module has the bound.

    Examples
    --------
    >>> import numpy as np
    >>> from dpverify.ledger.laws import Normal
    >>> loss = PairLoss(Normal(1.0, 1.0), Normal(0.0, 1.0))
    >>> loss.profile(np.array([1.0])).round(4).tolist()
    [0.1269]
    """

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


# ----------------------------------------------------------------------------------------------------------------------
# Shuffled reports of local randomisers: the clone pair of Feldman, McMillan, Talwar 2021 (the reduction that proves
# their Theorem 3.1).
#
# C ~ Bin(n - 1, e^-eps0) other users are clones of the changed one's two records, A ~ Bin(C, 1/2) of the first, and B ~
# Bern(e^eps0/(1 + e^eps0)): the shuffled reports are dominated by (A + B, C - A + 1 - B) against (A + 1 - B, C - A +
# B). This holds for every eps0-DP local randomiser, chosen adaptively. (The "stronger clones" of 2022 do not: by their
# authors' erratum they need special randomisers. They are not used.)
#
# With i + j = C + 1 clones and records the loss is log((e^eps0 i + j)/(i + e^eps0 j)). Fewer clones hide less (others
# can be made up), so C may be rounded down: blocks of C stand for their lowest value, and C given that it is not above
# a window for C. Windows reach 14 standard deviations and more: what lies below that of C has mass e^-98 (Bernstein),
# what lies outside of that of A 2 e^-98 (Hoeffding). The pair is then a mixture of that of the windows, with masses
# over those of their windows, and of a rest of at most `OUTSIDE`; both are eps0-DP. Whoever is told which, gets
# randomised response of eps0 in place of the rest, and the latter with chance `OUTSIDE`, can tell P and Q at least as
# well: that is charged. Tight where few users leave no other tails: for many, e^-98 at the loss eps0 is what rho (some
# eps0^2/390) and mu (some eps0/13) see, and they are bounds and no more; delta(eps) is not touched.


HALF_WIDTH = 14.0  # standard deviations
MORE_CLONES = 120  # beyond that, for windows of C: Bernstein's bound is then below e^-98 for every variance
OUTSIDE = 1e-42
BLOCKS = 16  # of C, in a standard deviation; fewer where one of them is less than `COARSE` of C: eps is about C^(-1/2)
COARSE = 2e-4
POINTS = 2**14 + 1  # of the losses in the windows
MOST_LOCAL = 300.0  # beyond it nobody is a clone
MOST_USERS = 10**9  # of whom so many clones are told apart; more of them hide no less
SAFE = 1e-9  # relative, of probabilities: see `_binomial`
SLACK = 1e-8  # of masses: twice `SAFE` for two probabilities and twice for being raised, and the rounding of sums


@dataclass(frozen=True)
class ShuffledLoss(AtomicLoss):
    """A ShuffledLoss is the loss of reports by local randomisers that are shuffled, where one report is replaced.

    Parameters
    ----------
    eps : Fraction
        eps0 of each randomiser.
    users : int
        How many users report.

    Notes
    -----
    It is that of the clone pair of Feldman, McMillan, Talwar 2021 (the reduction that proves their Theorem 3.1), for
    every eps0-DP local randomiser, chosen adaptively. What is charged for windows of the binomials stands above this
    class.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> shuffled = ShuffledLoss(Fraction(1), 1000)
    >>> shuffled.pure, bool(shuffled.profile(np.array([0.25]))[0] < 1e-3)
    (Fraction(1, 1), True)
    """

    eps: Fraction
    users: int

    @property
    def pure(self) -> Fraction:
        """Shuffling is post-processing."""
        return self.eps

    def orders(self) -> Orders:
        """Symmetric: exchanging i and j exchanges the two laws. Losses err by 16u of their size."""
        a = float_up(self.eps)
        if a > MOST_LOCAL:
            return response(self.eps, 2)
        lie = math.exp(-a) / (1 + math.exp(-a))  # 1 - truth would cancel: errors are relative
        clones, chances = self._clones(a)
        top = min(a, _largest(int(clones[0]), a) * (1 + 1e-12))
        points = np.unique([-a, *np.linspace(-top, top, POINTS), a, a * (1 + 1e-12)])
        total = np.zeros(len(points))
        for clone, chance in zip(clones.tolist(), chances.tolist(), strict=True):
            low, high = _window(clone)
            i = np.arange(low, high + 1, dtype=np.float64)
            weight = _binomial(clone, 0.5, low - 1, high)
            p = weight[:-1] / (1 + math.exp(-a)) + lie * weight[1:]
            loss = _loss(i, clone + 1 - i, a)
            raised = np.minimum(loss + 32 * UNIT * np.abs(loss), a)
            total += loss_laws.of_atoms(points, raised, chance * p, 0.0).masses
        live = total > 0
        # sums of as many numbers as there are values of C, and the probabilities themselves
        loss = np.concatenate([points[live], [a, -a]])
        masses = np.concatenate([total[live] * (1 + 2 * SAFE), [OUTSIDE, OUTSIDE * math.exp(-a)]])
        return both_ways(Order.of(loss, masses, slack=SLACK))

    def _clones(self, a: float) -> tuple[npt.NDArray[np.int64], Array]:
        """Values of C, rounded down, and their probabilities."""
        n, chance = min(self.users, MOST_USERS) - 1, float_down(Fraction(math.exp(-a)) * (1 - Fraction(8, 2**53)))
        mean, deviation = n * chance, math.sqrt(n * chance * (1 - chance))
        low = max(0, math.floor(mean - HALF_WIDTH * deviation - MORE_CLONES))
        high = min(n, math.ceil(mean + HALF_WIDTH * deviation + MORE_CLONES))
        values = np.arange(low, high + 1)
        masses = _binomial(n, chance, low, high)
        width = max(1, int(deviation / BLOCKS), int(low * COARSE))
        starts = np.arange(0, len(values), width)
        return values[starts], np.add.reduceat(masses, starts)


def _window(clone: int) -> tuple[int, int]:
    middle, spread = (clone + 1) / 2, HALF_WIDTH * math.sqrt(clone) / 2 + 40
    return max(0, math.floor(middle - spread)), min(clone + 1, math.ceil(middle + spread))


def _loss(i: Array, j: Array, a: float) -> Array:
    """log((e^a i + j)/(i + e^a j)) = +-log(1 + (1 - e^-a) |i - j|/(e^-a max + min)): no digits are lost for small a."""
    excess = -math.expm1(-a) * np.abs(i - j) / (math.exp(-a) * np.maximum(i, j) + np.minimum(i, j))
    return np.asarray(np.sign(i - j) * np.log1p(excess), dtype=np.float64)


def _largest(clone: int, a: float) -> float:
    high = _window(clone)[1]
    return float(_loss(np.array([float(high)]), np.array([float(clone + 1 - high)]), a)[0])


def _binomial(n: int, chance: float, low: int, high: int) -> Array:
    """Probabilities of Bin(n, chance) at low..high, by ratios of neighbours from the mode, normalised there.

    A product of m ratios errs by 4 m units, the sum by as much: below `SAFE` for 10^5 values.
    """
    if n == 0:
        return np.array([1.0 if k == 0 else 0.0 for k in range(low, high + 1)])
    first, last = max(low, 0), min(high, n)
    k = np.arange(first, last + 1, dtype=np.float64)
    mode = min(max(int((n + 1) * chance), first), last)
    at = mode - first
    ratio = (n - k + 1) * (chance / (1 - chance)) / np.maximum(k, 1)
    weight = np.ones(len(k))
    weight[at + 1 :] = np.cumprod(ratio[at + 1 :])
    weight[:at] = np.cumprod(1 / ratio[1 : at + 1][::-1])[::-1]
    found = np.zeros(high - low + 1)
    found[first - low : last - low + 1] = weight / math.fsum(weight)
    return found
