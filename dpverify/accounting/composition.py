"""delta of a composition of losses: grid laws above them, composed by the sum of `trapezoid`.

Every bound is one whatever is chosen here. What is chosen, for tightness only, as a function of a tilt t = 2^(k/6):

    tilt    argmin over t of K(t) - t eps - log t - log(1 + t), K = sum of n_i log E[e^(t L_i)] on a coarse law
    steps   h_i = 0.03 sqrt(V/(units n_i)), V the tilted variance of the sum: a chord adds at most h_i^2/4 of variance
            to a coordinate, 2e-4 V in all; finer where the period has fewer than 2^14 steps, never finer than the
            window over 2^15. h is the finest, the others are h times powers of two. h is 5 or 7 times a power of two:
            losses of a lattice shall not lie on the grid, or sums would not decay in frequency
    window  what is above it is charged as infinite: 1e-4 of delta over all coordinates, delta as at the tilt's own eps;
            wider where the tilt is used far from there (heavy tails: moments beyond some t are those of the tail alone)
    cut     where steps are coarse or floating point counts all the same, larger losses are charged as infinite, so that
            their moments are gone: a rare loss far out (samples at small rates) leaves no tilt near the saddle point
    period  N h such that Chernoff bounds both aliases by 1e-7 of delta
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dpverify.accounting.loss_laws import GridLaw, Loss, Losses
from dpverify.accounting.trapezoid import LatticeLosses, MOST_FFT, TrapezoidSum
from dpverify.base.rounding import UNIT

Array = npt.NDArray[np.float64]

FINENESS = 0.03
COARSE = 0.02  # of log delta may be due to steps or to floating point before losses are cut
CLOSE_TILTS = 2.0  # eps of neighbouring saddle points; mostly some 1.1
COARSE_EPS, LEAST = 1e-3, 2e-3  # as much in eps, where that is less, but no less than this of log delta
NO_GAIN, MOST_CUTS = 0.99, 8
FAILED, DEEPER = 10.0, 1e-8
ENOUGH = 1e-30  # such a delta is not improved by cuts
CUT_DIGITS = 3  # losses are cut where they come to 1e-3 of delta, or a third of that
FINEST = 2**15  # steps in a window
NEAREST = 2.0**-40  # of the losses: a grid of floats has no finer steps
MANY = 2**14  # steps in a period: no more are saved where coordinates are few
BEYOND = 1e-3  # of delta may be charged as infinite
AT_ONCE = 2**15  # numbers of a table of tilts and points: what stays in the processor's cache
FAINT = 690.0  # e^-690 is a float
FORGOTTEN = 20.0  # in log of a moment: lower losses are raised to it
WIDER, MOST_WIDER = 20.0, 30  # in log delta: windows where a tilt is used for smaller deltas than its own
_TILTS = 2.0 ** (np.arange(-240, 420) / 6)
_SIZES = 2.0 ** (np.arange(-60 * 16, 21 * 16) / 16)
_POINTS = np.concatenate([-_SIZES[::-1], [0.0], _SIZES])
_LOG_ALIAS = math.log(1e7)
_LOG_TAIL = math.log(1e-4)


@dataclass(frozen=True)
class _CutLoss(Loss):
    """A loss whose mass above about `most` is charged as infinite: see (b) of Lemma 1 in `loss_laws`."""

    loss: Loss
    most: float

    def profile(self, eps: Array) -> Array:
        """Not needed: laws on points are composed."""
        raise NotImplementedError("a cut loss has atoms, see on_points")

    cells = profile  # type: ignore[assignment]

    def window(self, tail: float) -> tuple[float, float]:
        low, high = self.loss.window(tail)
        return low, max(min(high, self.most), np.nextafter(low, math.inf))

    def on_points(self, points: Array) -> GridLaw:
        law = self.loss.on_points(points)
        kept = np.arange(len(points)) <= np.searchsorted(points, self.most)  # with the first point beyond
        infinite = law.infinite + math.fsum(law.masses[~kept]) * (1 + 4 * UNIT)
        return GridLaw(law.points, np.where(kept, law.masses, 0.0), infinite)


@lru_cache(maxsize=128)
def composed(losses: Losses) -> "Composition":
    """Compose losses adaptively, each so many times as it says.

    Parameters
    ----------
    losses : tuple of (Loss, int)
        Losses, and how many coordinates have each.

    Returns
    -------
    Composition
        The same object for the same losses: it keeps its sums.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dpverify.accounting.noise_losses import LaplaceLoss
    >>> ten = composed(((LaplaceLoss(Fraction(1, 10)), 10),))
    >>> 0 < ten.delta_at(0.5) < 0.1
    True
    """
    return Composition(losses)


class _NothingFinite(Exception):
    """All losses of a step are charged as infinite: such a sum, of a cut for instance, bounds nothing."""


class Composition:
    """A Composition computes delta(eps) of independent coordinates; sums at few tilts are kept.

    Parameters
    ----------
    losses : tuple of (Loss, int)
        Losses, and how many coordinates have each.

    Notes
    -----
    Every `delta_at` is an upper bound, by Theorems 2 and 3 of `trapezoid` and Lemma 1 of `loss_laws`. The module says
    what is chosen for tightness only.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dpverify.accounting.composition import Composition
    >>> from dpverify.accounting.noise_losses import GaussianLoss
    >>> four = Composition(((GaussianLoss(Fraction(1, 4)), 4),))  # as one of mu = 1
    >>> 0.1269 < four.delta_at(1.0) < 0.1271
    True
    """

    def __init__(self, losses: Losses) -> None:
        self._losses = losses
        self._count = sum(count for _, count in losses)
        laws = [loss.on_points(_POINTS) for loss, _ in losses]
        self.revealed = any(law.infinite >= 1 or not law.masses.any() for law in laws)
        if self.revealed:
            return
        self._beyond = [np.append(np.cumsum(law.masses[:0:-1])[::-1], 0.0) for law in laws]
        cumulants = [_cumulants(law.masses) for law in laws]
        counts = np.array([count for _, count in losses], dtype=np.float64)
        self._log, self._mean, self._variance = (counts @ np.stack(part) for part in zip(*cumulants, strict=True))
        # where all of the tilted law lies at its end, larger tilts say nothing more
        told = np.flatnonzero(_TILTS * np.sqrt(self._variance) > 0.03)
        self._usable = np.arange(len(_TILTS)) <= (told[-1] if len(told) else len(_TILTS) // 2)
        # delta is some 1e-300 there, and no larger beyond
        tops = (self._log + FAINT - np.log(_TILTS) - np.log1p(_TILTS)) / _TILTS
        self._farthest = max(float(tops[self._usable & np.isfinite(tops)].min(initial=np.inf)), 0.0)
        self._sums: dict[tuple[int, int], tuple[TrapezoidSum, float]] = {}

    def tilt_of(self, eps: float) -> int:
        """Index of the tilt that is used at eps."""
        return self._tilt_of(eps)[0]

    def _tilt_of(self, eps: float) -> tuple[int, float]:
        """And about Chernoff's bound on the logarithm of delta."""
        with np.errstate(invalid="ignore", over="ignore"):
            bounds = self._log - _TILTS * eps - np.log(_TILTS) - np.log1p(_TILTS)
        bounds = np.where(self._usable & np.isfinite(bounds), bounds, np.inf)
        index = int(np.argmin(bounds))
        return index, float(bounds[index])

    def guess(self, delta: float) -> float:
        """About eps(delta): where a search may begin.

        Where moments are those of the tail alone, tilts jump past the eps that is looked for, and a search from there
        would meet deltas that take long: cut losses say where to begin.
        """
        if self.revealed:
            return math.inf
        found, close = self._saddle_point(delta)
        if not close:
            cut = self._cut(delta)
            if not cut.revealed:
                found, close = cut._saddle_point(delta)
        return found if math.isfinite(found) else 1.0

    def _saddle_point(self, delta: float) -> tuple[float, bool]:
        """About eps(delta), by the saddle points of the tilts; whether two tilts are close on either side."""
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            eps = self._mean - 1 / _TILTS - 1 / (1 + _TILTS)
            spread = self._variance + 1 / _TILTS**2 + 1 / (1 + _TILTS) ** 2
            logs = self._log - _TILTS * eps - np.log(_TILTS * (1 + _TILTS)) - 0.5 * np.log(2 * math.pi * spread)
        good = self._usable & np.isfinite(eps) & np.isfinite(logs) & (eps > 0)
        if not good.any():
            return math.inf, False
        order = np.argsort(logs[good])
        logs, eps, wanted = logs[good][order], eps[good][order], math.log(delta)
        above = int(np.searchsorted(logs, wanted))
        inside = 0 < above < len(logs)
        close = inside and max(eps[above - 1 : above + 1]) <= CLOSE_TILTS * min(eps[above - 1 : above + 1])
        return float(np.interp(wanted, logs, eps)), close

    def delta_at(self, eps: float) -> float:
        """delta(eps), eps >= 0, an upper bound: between grid points D is linear in e^eps."""
        if self.revealed:
            return 1.0
        first = self._for(eps)
        found, poor = first._delta_at(eps)
        if not poor or found < ENOUGH:
            return found
        wanted = found
        for _ in range(MOST_CUTS):
            lower, poor = self._cut(wanted)._delta_at(eps)
            gain, found = lower / found, min(lower, found)
            if not poor or found < ENOUGH or NO_GAIN < gain < FAILED:
                break
            # where a cut leaves no tilt, a rarer one may
            wanted = found if gain < 1 else wanted * DEEPER
        return found

    def _for(self, eps: float) -> "Composition":
        """The first of it and its cuts that has tilts at eps: other sums take long and say little."""
        found = self
        for _ in range(MOST_CUTS):
            index, bound = found._tilt_of(eps)
            t, index = float(_TILTS[index]), min(index + 1, len(_TILTS) - 1)
            if not found._usable[index] or found._mean[index] <= CLOSE_TILTS * (eps + 2 / t):
                return found
            cut = self._cut(math.exp(min(bound, 0.0)))
            if cut is found or cut.revealed:
                break
            found = cut
        return self

    def _cut(self, delta: float) -> "Composition":
        """The same, with losses that are of no account at `delta` charged as infinite, and without their moments."""
        digits = -math.log10(max(delta, 1e-290)) + CUT_DIGITS
        tail = 10.0 ** -min(math.ceil(2 * digits) / 2, 300) / len(self._losses)
        return composed(
            tuple(
                (_CutLoss(loss, float(_POINTS[int(np.argmax(count * beyond <= tail))])), count)
                for (loss, count), beyond in zip(self._losses, self._beyond, strict=True)
            )
        )

    def _delta_at(self, eps: float) -> tuple[float, bool]:
        """An upper bound; and whether floating point or coarse steps are much of it."""
        if self.revealed:
            return 1.0, False
        eps = min(eps, self._farthest)
        try:
            sums, infinite = self._at(eps)
        except _NothingFinite:
            return 1.0, False
        left = math.floor(eps / sums.step)
        left -= left * sums.step > eps
        low, high = sums.at(left), sums.at(left + 1)
        high = min(low, high)
        weight = _share(eps - left * sums.step, sums.step)
        found = min(1.0, (infinite + low + min(weight, 1.0) * (high - low)) * (1 + 4 * UNIT))
        coarse = self._count * (sums.tilt * sums.step) ** 2 / 8 > min(COARSE, max(COARSE_EPS * sums.tilt * eps, LEAST))
        return found, coarse or infinite > BEYOND * low or sums.rounding(left) > COARSE

    def rounding_at(self, eps: float) -> float:
        """About the share of `delta_at(eps)` that is charged for the arithmetic."""
        if self.revealed:
            return 0.0
        eps = min(eps, self._farthest)
        try:
            sums = self._at(eps)[0]
        except _NothingFinite:
            return 0.0
        return sums.rounding(math.floor(eps / sums.step))

    def _at(self, eps: float) -> tuple[TrapezoidSum, float]:
        """The best sum of some: windows are widened until what is beyond them is little, where that pays. In a wide
        window steps are coarse.
        """
        index = self.tilt_of(eps)
        best, least, before = None, math.inf, math.inf
        for wider in range(MOST_WIDER):
            found = self._prepared(index, wider)
            inside = found[0].at(math.floor(eps / found[0].step))
            if best is None or found[1] + inside < least:
                best, least = found, found[1] + inside
            if found[1] <= BEYOND * inside or found[1] > before / 2:
                break
            before = found[1]
        assert best is not None
        return best

    def _prepared(self, index: int, wider: int) -> tuple[TrapezoidSum, float]:
        if (index, wider) not in self._sums:
            self._sums[index, wider] = self._prepare(index, wider)
        return self._sums[index, wider]

    def _prepare(self, index: int, wider: int) -> tuple[TrapezoidSum, float]:
        t = float(_TILTS[index])
        eps = max(0.0, float(self._mean[index]) - 1 / t - 1 / (1 + t))
        variance = float(self._variance[index])
        spread = variance + 1 / t**2 + 1 / (1 + t) ** 2
        chernoff = float(self._log[index]) - t * eps
        # a tilt is used half a step to either side: there delta is smaller by a factor of some e^(0.06 t^2 V)
        log_delta = (
            chernoff - math.log(t * (1 + t)) - 0.5 * math.log(2 * math.pi * spread) - 0.08 * t * t * variance - 2
        )
        log_delta = max(min(log_delta, -1.0) - WIDER * wider, -650.0)
        tail = math.exp(max(log_delta + _LOG_TAIL - math.log(self._count), -690.0))
        windows = [_inner(loss.window(tail), t, count) for loss, count in self._losses]
        largest = sum(count * high for (_, count), (_, high) in zip(self._losses, windows, strict=True))
        reach = self._period(index, eps, log_delta, max(largest - eps, 0.0))
        share = variance / len(self._losses)
        steps = [
            max(
                min(FINENESS * math.sqrt(share / count), reach / MANY),
                (high - low) / FINEST,
                max(high, -low) * NEAREST,
                1e-290,
            )
            for (_, count), (low, high) in zip(self._losses, windows, strict=True)
        ]
        finest = 0.0
        while True:
            steps = [max(step, finest) for step in steps]
            step = _odd(min(steps))
            strides = [2 ** math.floor(math.log2(each / step)) if each > step else 1 for each in steps]
            period = max(2 ** math.ceil(math.log2(reach / step)), 16, 2 * max(strides))
            units, infinite = self._units(step, strides, windows)
            if not all(unit.masses.any() for unit in units):
                raise _NothingFinite
            sums = TrapezoidSum(units, step=step, tilt=t, period=period)
            if sums.done:
                return sums, infinite
            finest = max(1.5 * step, reach / MOST_FFT)

    def _units(
        self, step: float, strides: list[int], windows: list[tuple[float, float]]
    ) -> tuple[list[LatticeLosses], float]:
        units, log_finite = [], 0.0
        for (loss, count), stride, (low, high) in zip(self._losses, strides, windows, strict=True):
            first = math.floor(low / (stride * step))
            last = max(first + 1, math.ceil(high / (stride * step)))
            points = np.arange(first, last + 1, dtype=np.float64) * (stride * step)
            law = loss.on_points(points)
            units.append(LatticeLosses(first * stride, stride, law.masses, count))
            log_finite += count * math.log1p(-min(law.infinite, 1 - UNIT))
        return units, -math.expm1(log_finite * (1 + 8 * UNIT)) * (1 + 8 * UNIT)

    def _period(self, index: int, eps: float, log_delta: float, most: float) -> float:
        """N h with e^(t r N h) D(eps + r N h) <= 1e-7 delta by Chernoff at other tilts, for r of either sign.

        D = 0 beyond eps + most.
        """
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            tops = (self._log - _TILTS * eps - log_delta + _LOG_ALIAS) / np.abs(_TILTS - _TILTS[index])
        tops = np.where(np.isfinite(tops), tops, np.inf)
        plain = (_LOG_ALIAS - log_delta) / float(_TILTS[index])
        right = float(tops[index + 1 :].min(initial=np.inf))
        left = min(plain, float(tops[:index].min(initial=np.inf)))
        return max(min(right, 1.1 * most), left, 1e-280)


def _inner(window: tuple[float, float], tilt: float, count: int) -> tuple[float, float]:
    """Without losses so low that their part of the tilted moment, which is at least 1, is some e^-20 in all."""
    low, high = window
    return min(max(low, -(math.log(count) + FORGOTTEN) / tilt), high), high


def _share(part: float, step: float) -> float:
    """(e^part - 1)/(e^step - 1), rounded down, 0 <= part <= step."""
    if step < 600:
        return math.expm1(part) / math.expm1(step) * (1 - 8 * UNIT)
    return math.exp(part - step) * -math.expm1(-part) * (1 - 1e-9)  # the exponent errs by u of step, at most 1e6


def _cumulants(masses: Array) -> tuple[Array, Array, Array]:
    """log E[e^(tL)], its first and second derivative at all tilts, of a coarse law on `_POINTS`."""
    used = masses > 0
    m, points = masses[used], _POINTS[used]
    log, mean, variance = np.empty(len(_TILTS)), np.empty(len(_TILTS)), np.empty(len(_TILTS))
    size = float(np.abs(points).max(initial=1e-300))
    rows = max(1, AT_ONCE // max(len(points), 1))
    for start in range(0, len(_TILTS), rows):
        part = slice(start, start + rows)
        exponents = np.clip(_TILTS[part, None] * points, -1e290, 1e290)
        tops = exponents.max(axis=1)
        weights = m * np.exp(exponents - tops[:, None])
        totals = weights.sum(axis=1)
        mean[part] = (weights * points).sum(axis=1) / totals
        weights *= (points - mean[part, None]) ** 2
        variance[part] = weights.sum(axis=1) / totals
        log[part] = tops + np.log(totals)
        small = np.flatnonzero(_TILTS[part] * size < 1)  # there, the logarithm of a number near 1
        log[start + small] = np.log1p((m * np.expm1(exponents[small])).sum(axis=1) + m.sum() - 1)
    return log, mean, variance


def _odd(step: float) -> float:
    """The largest of 5/8 and 7/8 times a power of two that is <= `step`, or a number below."""
    mantissa, exponent = math.frexp(step)
    return math.ldexp(0.875 if mantissa >= 0.875 else 0.625 if mantissa >= 0.625 else 0.4375, exponent)
