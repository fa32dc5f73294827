"""delta of a composition of grid laws: a tilted trapezoid sum, and a bound on what its arithmetic adds.

Units i = 1, 2, ... occur n_i times and have masses m_ij at the losses j h. With G_i(z) = sum_j m_ij e^(z j h),
M = prod G_i^(n_i) and w(z) = 1/(e^(zh) - 1) - 1/(e^((z+1)h) - 1), for any t > 0, N and m, z_k = t + 2 pi i k/(N h):

    S(m) = (1/N) sum_(k=0..N-1) M(z_k) w(z_k) e^(-z_k m h).

Theorem 2. S(m) = sum over all integers r of e^(t r N h) D((m + rN) h) >= D(m h), D being the profile of the finite
part of the composed law. Proof: for an atom l on the grid, D_l(m h) = (1 - e^(m h - l))^+, and
sum_m e^(z m h) D_l(m h) = e^(z l) sum_(k>=1) e^(-z k h)(1 - e^(-k h)) = e^(z l) w(z), absolutely convergent for Re z
> 0. Summed over the composed atoms this is M(z) w(z). The mean over the N-th roots of unity picks the indices that are
congruent to m modulo N, and every D is >= 0. QED. So wrap-around only raises the bound: N matters for tightness, never
for safety. It is the inverse of a tilted transform at one point, and the trapezoid rule on the line of Bromwich.

Theorem 3 (rounding, u = 2^-53). Everything is divided by G_i(t); let g_ik = |G^_i(z_k)|/G_i(t), a computed number, and
|G^_i - G_i| <= e_i G_i(t). Then:
- where some g_ik <= 4 e_i a frequency is left out and charged |w(z_k)| prod_i (g_ik + e_i)^(n_i);
- any other term is off by at most |term| (expm1(sum_i n_i e_i/(g_ik - e_i) + 4u sum_i n_i |log G^_i(z_k)|) + 60u): a
  factor 1 + r with |r| <= e/(g - e) to the power n, a product of logarithms that err by 4u (relative) each, and some
  ten operations for w, the phase (an integer k m modulo N, so exact but for a sine and a cosine) and the sum
  (pairwise);
- frequencies beyond K, where the units of stride 1 are small enough, are not evaluated: |G_i(z)|^2 <= G_i(t)^2
  (1 - 4 s_i sin^2(theta/2)), s_i = sum_j v_j v_(j+1) over the tilted and normalised masses v, because
  |G|^2 = sum v_i v_j cos((i-j) theta) and all other pairs only lower it. This falls in theta on [0, pi], and |w(z)|
  <= w(t): all of them together cost at most w(t) prod (1 - 4 s_i sin^2(theta_K/2))^(n_i/2);
- all is multiplied by e^(sum n_i log G_i(t) - t m h), off by the factor
  exp(sum n_i e_i0 + 4u (sum n_i |log G_i(t)| + t |m| h)).
The charges are added to S. They are small against Chernoff's bound M(t) e^(-t m h) w(t), whatever delta is.

e_i: a tilted mass is off by 4u + 3u max_j |t j h| (relative), its normaliser by (log2 J + 16) u more. In direct
sums, split as j = a + B b, phases are products of two that err by 11u each, inner and outer sums are of lengths B
and J/B: 1.5 (B + J/B) + 40 units. By FFT: 8u log2(N) sqrt(N) ||v||_2 (Higham 2002, Theorem 24.2).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpverify.base.rounding import UNIT

Array = npt.NDArray[np.float64]
Complex = npt.NDArray[np.complex128]

MOST_FFT = 2**19
MOST_ROOTS = 2**20  # roots of unity in a table
FFT_ERROR = 1e-7  # of all coordinates together, above which sums are taken directly
BLOCK = 128
MOST_WORK = 1.5e9  # nanoseconds, about
FAR = 60.0  # frequencies are left out where all of them together cost e^-60 of Chernoff's bound, or as `kept` says


@dataclass(frozen=True, eq=False)
class LatticeLosses:
    """A LatticeLosses holds coordinates of one law, with losses on a lattice.

    Parameters
    ----------
    first : int
        The lowest loss, in steps h.
    stride : int
        Distance of neighbouring losses, in steps.
    masses : array of float, shape (n,)
        Masses at the losses (first + j stride) h, j = 0, 1, ...
    count : int
        How many coordinates have them.

    Examples
    --------
    >>> import numpy as np
    >>> LatticeLosses(first=-4, stride=8, masses=np.array([0.25, 0.75]), count=10).masses.tolist()
    [0.25, 0.75]
    """

    first: int
    stride: int
    masses: Array
    count: int


class TrapezoidSum:
    """A TrapezoidSum bounds delta of a composition of lattice losses at all points of the lattice, with one tilt.

    `at(m)` is above D(m h), D the profile of the finite part of the composed law. The frequencies are evaluated once.
    `done` is False where that is too much work: nothing was summed.

    Parameters
    ----------
    units : sequence of LatticeLosses
        The coordinates.
    step : float
        h, the step of the lattice.
    tilt : float
        t > 0. It matters for tightness alone.
    period : int
        N, the number of frequencies. It matters for tightness alone.

    Notes
    -----
    By Theorem 2 of the module the sum is that of e^(t r N h) D((m + rN) h) over all integers r, so it is at least D(m
    h); Theorem 3 bounds what its arithmetic adds.

    Examples
    --------
    >>> import numpy as np
    >>> from dpverify.accounting.trapezoid import LatticeLosses
    >>> unit = LatticeLosses(first=-1, stride=2, masses=np.array([0.25, 0.75]), count=1)  # response of log(3)
    >>> sums = TrapezoidSum([unit], step=np.log(3.0), tilt=2.0, period=64)
    >>> sums.done, round(sums.at(0), 9)
    (True, 0.5)
    """

    def __init__(self, units: Sequence[LatticeLosses], *, step: float, tilt: float, period: int) -> None:
        self.step, self.tilt, self.period = step, tilt, period
        tilted = [_Tilted(unit, step, tilt) for unit in units]
        self._log_moment = math.fsum(each.count * each.log_moment for each in tilted)
        self._log_error = math.fsum(each.count * each.error for each in tilted)
        self._log_error += 4 * UNIT * math.fsum(each.count * abs(each.log_moment) for each in tilted)
        kept, beyond = _kept(tilted, period)
        self.done = sum(each.work(kept, period) for each in tilted) <= MOST_WORK
        if self.done:
            self._frequencies(tilted, kept, beyond)

    def _frequencies(self, tilted: "list[_Tilted]", kept: int, beyond: float) -> None:
        n, half = self.period, self.period // 2
        w_tilt = float(abs(_weights(self.step, self.tilt, np.zeros(1))[0]))
        k = np.arange(kept + 1, dtype=np.int64)
        angles = 2 * math.pi / n * np.where(k > half, k - n, k)
        w = _weights(self.step, self.tilt, angles)
        log_size, angle = np.zeros(len(k)), np.zeros(len(k))
        error, ceiling = np.zeros(len(k)), np.zeros(len(k))
        good = np.ones(len(k), dtype=bool)
        for each in tilted:
            values, e = each.transform(k, n)
            g = np.abs(values)
            fine = g > 4 * e
            good &= fine
            safe = np.where(fine, g, 1.0)
            logs = np.log(safe)
            turns = np.where(fine, np.angle(values), 0.0)
            log_size += each.count * logs
            angle += each.count * turns
            error += each.count * (e / (safe - np.where(fine, e, 0.0)) + 4 * UNIT * np.hypot(logs, turns))
            ceiling += each.count * np.log(np.minimum(g + e, 1 + e))
        # real parts of a conjugate pair of frequencies; 0 and N/2 are their own partners
        double = np.where((k == 0) | (2 * k == n), 1.0, 2.0) / n
        size = np.where(good, np.exp(np.minimum(log_size, 700)), 0.0) * np.abs(w) * double
        with np.errstate(over="ignore"):
            left_out = np.where(good, 0.0, np.exp(np.minimum(ceiling, 700)) * np.abs(w) * double)
            charges = size * (np.expm1(np.minimum(error, 700)) + 60 * UNIT) + left_out
        self._charge = (float(charges.sum()) + w_tilt * beyond) * (1 + 1e-9)
        used = size > 0
        self._k, self._terms = k[used], (size * np.exp(1j * (angle + np.angle(w))))[used]

    def log_prefactor(self, m: int) -> float:
        """log of prod G_i(t)^(n_i) e^(-t m h), rounded up."""
        shift = self.tilt * m * self.step
        return self._log_moment - shift + self._log_error + 4 * UNIT * abs(shift)

    def parts(self, m: int) -> tuple[float, float]:
        """The sum over frequencies and its charge, both without the prefactor."""
        phase = (
            (self._k * (m % self.period)) % self.period if self.period < 2**31 else _products(self._k, m, self.period)
        )
        turns = np.where(phase > self.period // 2, phase - self.period, phase) * (-2 * math.pi / self.period)
        return float((self._terms * np.exp(1j * turns)).real.sum()), self._charge

    def rounding(self, m: int) -> float:
        """About the share of `at(m)` that is charged for the arithmetic."""
        total, charge = self.parts(m)
        return charge / max(total + charge, charge, 1e-300) + self._log_error

    def at(self, m: int) -> float:
        """Above D(m h), at most 1e300."""
        total, charge = self.parts(m)
        bound = total + charge
        bound = max(bound, charge, 1e-300)  # rounding can bring the sum below 0 by no more than the charge
        if not bound < 1e300:
            return 1e300
        return math.exp(min(690.0, self.log_prefactor(m) + math.log(bound) + 16 * UNIT * (1 + abs(math.log(bound)))))


class _Tilted:
    """v_j = m_j e^(t j h)/G(t), log G(t), and what is known about their errors."""

    def __init__(self, unit: LatticeLosses, step: float, tilt: float) -> None:
        self.count, self.stride, self.first = unit.count, unit.stride, unit.first
        losses = (unit.first + np.arange(len(unit.masses), dtype=np.float64) * unit.stride) * step
        exponents = tilt * losses
        live = unit.masses > 0
        top = float((exponents + np.log(np.where(live, unit.masses, 1.0)))[live].max())
        with np.errstate(under="ignore"):
            weights = unit.masses * np.exp(np.minimum(exponents - top, 700.0))
        total = float(weights.sum())
        self.v = weights / total
        self.log_moment = top + math.log(total)
        # exponents count where they have weight: those of less than e^-80 err by less than they are
        size = float(np.abs(exponents[self.v > 1e-35]).max()) + abs(top)
        self.error = (math.log2(len(self.v) + 1) + 24 + 6 * size) * UNIT
        self.adjacent = float((self.v[1:] * self.v[:-1]).sum()) * (1 - 1e-9) if self.stride == 1 else 0.0

    def work(self, kept: int, n: int) -> float:
        """About the nanoseconds that `transform` takes."""
        return min(self._direct_work(kept), 50.0 * n / self.stride if n // self.stride <= MOST_FFT else math.inf)

    def _direct_work(self, kept: int) -> float:
        width = min(BLOCK, len(self.v))
        return kept * (40.0 * (width + len(self.v) / width) + len(self.v))

    def _fft_error(self, size: int) -> float:
        return 8 * UNIT * math.log2(size + 1) * math.sqrt(size) * float(np.linalg.norm(self.v))

    def _by_fft(self, kept: int, size: int) -> bool:
        """Where it is less work, unless its error is large and the direct sum is no work either."""
        if size > MOST_FFT or self._direct_work(kept) < 50.0 * size:
            return False
        return self.count * self._fft_error(size) <= FFT_ERROR or self._direct_work(kept) > MOST_WORK

    def transform(self, k: npt.NDArray[np.int64], n: int) -> tuple[Complex, float]:
        """G(z_k)/G(t) up to the phase of `first`, and the bound on its error."""
        size = n // self.stride
        if self._by_fft(len(k), size):
            folded = np.zeros(size)
            np.add.at(folded, np.arange(len(self.v)) % size, self.v)
            at = k % size
            values = np.conj(np.fft.rfft(folded))[np.minimum(at, size - at)]
            values = np.where(2 * at > size, np.conj(values), values)
            error = self._fft_error(size) + 16 * UNIT * (1 + len(self.v) / size)
        else:
            length = min(len(self.v), BLOCK + len(self.v) / BLOCK)
            values, error = self._direct(k % size, size), (1.5 * length + 40) * UNIT
        start = _products(k % n, self.first, n)
        return values * np.exp(
            2j * math.pi / n * np.where(start > n // 2, start - n, start)
        ), error + self.error + 16 * UNIT

    def _direct(self, k: npt.NDArray[np.int64], size: int) -> Complex:
        width = min(BLOCK, len(self.v))
        blocks = -(-len(self.v) // width)
        padded = np.zeros(width * blocks)
        padded[: len(self.v)] = self.v
        table = padded.reshape(blocks, width).T
        found = np.empty(len(k), dtype=np.complex128)
        roots = _roots(np.arange(size), size) if size <= min(MOST_ROOTS, len(k) * (width + blocks)) else None
        for start in range(0, len(k), 4096):
            chosen = k[start : start + 4096]
            inner = _phases(chosen, np.arange(width), size, roots) @ table
            found[start : start + 4096] = (inner * _phases(chosen, np.arange(blocks) * width, size, roots)).sum(axis=1)
        return found


def _phases(k: npt.NDArray[np.int64], j: npt.NDArray[np.int64], size: int, roots: Complex | None) -> Complex:
    """e^(2 pi i k j/size), from the integer k j modulo size; looked up where all roots of unity are at hand."""
    products = np.multiply.outer(k, j)
    turns = products & (size - 1) if size & (size - 1) == 0 else products % size
    return _roots(turns, size) if roots is None else roots[turns]


def _roots(turns: npt.NDArray[np.int64], size: int) -> Complex:
    return np.asarray(np.exp(2j * math.pi / size * np.where(turns > size // 2, turns - size, turns)))


def _products(k: npt.NDArray[np.int64], m: int, n: int) -> npt.NDArray[np.int64]:
    """k m modulo n, exactly, for 0 <= k < n < 2^62."""
    m %= n
    if n < 2**31:
        return (k * m) % n
    most = max(1, int(k.max(initial=0)))
    if most * m < 2**62:
        return (k * m) % n
    return np.array([int(each) * m % n for each in k], dtype=np.int64)


def _weights(step: float, tilt: float, angles: Array) -> Complex:
    """w(z) = e^(zh) (e^h - 1)/((e^(zh) - 1)(e^((z+1)h) - 1)) = (1 - e^-h)/((1 - e^(-zh))(e^(zh) - e^-h))."""

    def less_one(exponent: float) -> Complex:  # 1 - e^(-(exponent + i angle)), parts no larger than the whole
        decay = math.exp(-exponent)
        real = -math.expm1(-exponent) * np.cos(angles) + 2 * np.sin(angles / 2) ** 2
        return np.asarray(real + 1j * decay * np.sin(angles), dtype=np.complex128)

    first = less_one(tilt * step)
    second = less_one((tilt + 1) * step)
    rotation = np.exp(-1j * angles)
    return np.asarray(rotation * math.exp(-tilt * step) * -math.expm1(-step) / (first * second), dtype=np.complex128)


def _kept(tilted: Sequence[_Tilted], n: int) -> tuple[int, float]:
    """The last frequency that is evaluated, and a bound on the product of all g beyond it (0 where none is)."""
    half = n // 2

    def log_bound(k: int) -> float:
        sine = math.sin(math.pi * k / n) ** 2 * (1 - 1e-12)
        return math.fsum(each.count / 2 * math.log1p(-min(4 * each.adjacent * sine, 0.999)) for each in tilted)

    if log_bound(half) > -FAR:
        return half, 0.0
    low, high = 0, half
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if log_bound(middle) <= -FAR else (middle, high)
    return (half, 0.0) if high >= half else (high, math.exp(log_bound(high) + 1e-9))
