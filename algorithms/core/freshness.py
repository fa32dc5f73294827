"""Is noise used twice? Over one run, from residuals (steps, cells) as uniform numbers v = 2 F(z) - 1 on [-1, 1].

    repeats   |v| are independent and uniform on [0, 1]: of n + 1 spacings of n such numbers those of at most t count.
              They are exchangeable, Pr[spacing <= t] = 1 - (1 - t)^n, and negatively associated (Joag-Dev, Proschan
              1983), so Chernoff's bound with this p holds (Dubhashi, Ranjan 1998). Several t, from what the residual is
              rounded by to 1/(4 n): copies, whatever their place and sign, and copies with a little noise of their own
    lags      sums over t of x_t x_{t + lag}, every lag: x = v of a cell (all cells added up), x = sum of v over cells,
              and both for 2|v| - 1. Signs of x are fair coins, and so are those of products at one lag, whose graph is
              a forest: Pr[|sum| >= s] <= 2 exp(-s^2/(2 Q)) (Hoeffding 1963, given sizes), Q = sum of squares. Sums and
              mixtures of draws; over cells also where these are permuted, with 2|v| - 1 also where signs are
    vectors   of integers: two steps with the same multiset of |noise|. Pr <= pairs x the largest probability of a
              multiset (`multiset_bound`): whole vectors, whatever the order and the signs of their cells

Each p-value holds for every n; the smallest one times their number is at most `LEVEL` with that probability when all is
well. 5.8e6 draws: some 20 copies, or a correlation of .004 at one lag, are too many.

Not seen: mixtures that permute cells and flip signs with weights so unequal that all correlations are small, in few of
the steps; these change the number of draws or the law, or the tape sees them in a small run of the same code.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import fft, special, stats

Array = npt.NDArray[np.float64]

LEVEL = 1e-9
ROUNDING = 2.0**-50  # of a residual, relative to the largest number that it is a difference of, and of F
WIDER = 32.0  # between two distances of `repeats`
GROUP = 32  # cells whose spectra are taken together


def repeats(sizes: Array, rounding: float = ROUNDING) -> float:
    """P-value of close pairs among `sizes`, which are independent and uniform on [0, 1] but for `rounding`."""
    ordered = np.sort(sizes, axis=None)
    n, found, near = len(ordered), [1.0], 2 * rounding
    spacings = np.diff(ordered)
    spacings = spacings[spacings <= max(near, 0.5 / n)]
    while near <= 0.25 / n or len(found) == 1:
        chance = -math.expm1(n * math.log1p(-min(0.5, near + 2 * rounding)))
        found.append(_at_least(int((spacings <= near).sum()), n - 1, chance))
        near *= WIDER
    return min(1.0, (len(found) - 1) * min(found))


def lags(blocks: Sequence[Array], chosen: Sequence[int] = ()) -> float:
    """P-value of products at all lags of the rows in `blocks`, v of (steps, cells); signs in rows `chosen` are not."""
    steps, cells = sum(map(len, blocks)), blocks[0].shape[1]
    if steps < 2:
        return 1.0
    length = fft.next_fast_len(2 * steps, real=True)
    spectra, fourth, rows = np.zeros((2, length // 2 + 1)), np.zeros(2), np.zeros((2, steps))
    for first in range(0, cells, GROUP):
        v = np.concatenate([block[:, first : first + GROUP] for block in blocks]).T
        sizes = 2 * np.abs(v) - 1
        v = np.ascontiguousarray(v)
        v[:, list(chosen)] = 0
        for kind, x in enumerate((v, sizes)):
            seen = fft.rfft(x, length, axis=1)
            spectra[kind] += (seen.real**2 + seen.imag**2).sum(axis=0)
            squares = x * x
            fourth[kind] += (squares * squares).sum()  # no linear algebra: its threads cost more than the sum
            rows[kind] += x.sum(axis=0)
    found = []
    for kind in range(2):
        sums = fft.irfft(spectra[kind], length)[1:steps]
        found.append(_by_coins(sums, fourth[kind]))  # Cauchy, Schwarz: at any lag Q is at most the sum of x^4
        sums, squares = (_products(x, length)[1:steps] for x in (rows[kind], rows[kind] ** 2))
        found.append(_by_coins(sums, squares + ROUNDING * steps * float((rows[kind] ** 4).max(initial=0.0))))
    return min(1.0, len(found) * (steps - 1) * min(found))


def multiset_bound(masses: Array, cells: int) -> float:
    """Largest probability of a multiset of `cells` independent draws of the law `masses`, from above.

    Multinomial = Poisson given the sum, and a Poisson variable's likeliest value is the floor of its mean.
    """
    means: Array = cells * masses
    logs = float(np.sum(stats.poisson.logpmf(np.floor(means), means)) - stats.poisson.logpmf(cells, cells))
    return math.exp(min(0.0, logs))


def vectors(rows: Sequence[Array] | Array, most: float) -> float:
    """P-value of equal multisets among `rows`, each of which is likelier than `most` for none of them."""
    seen = {np.sort(row).tobytes() for row in rows}
    return 1.0 if len(seen) == len(rows) else min(1.0, math.comb(len(rows), 2) * most)


def _products(x: Array, length: int) -> Array:
    seen = fft.rfft(x, length)
    return np.asarray(fft.irfft(seen.real**2 + seen.imag**2, length))


def _by_coins(sums: Array, squares: Array | float) -> float:
    """The least of Hoeffding's bounds."""
    return float(np.min(2 * np.exp(-(sums**2) / np.maximum(2 * squares, 1e-300)), initial=1.0))


def _at_least(count: int, of: int, chance: float) -> float:
    """Chernoff: Pr[K >= count] <= exp(-of KL(count/of, chance)) for sums of negatively associated indicators."""
    share = count / of if of else 0.0
    if share <= chance:
        return 1.0
    divergence = special.rel_entr(share, chance) + special.rel_entr(1 - share, 1 - chance)
    return math.exp(-of * float(divergence))
