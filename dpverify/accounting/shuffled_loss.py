"""Shuffled reports of local randomisers: the clone pair of Feldman, McMillan, Talwar 2021 (the reduction that proves
their Theorem 3.1).

C ~ Bin(n - 1, e^-eps0) other users are clones of the changed one's two records, A ~ Bin(C, 1/2) of the first, and B ~
Bern(e^eps0/(1 + e^eps0)): the shuffled reports are dominated by (A + B, C - A + 1 - B) against (A + 1 - B, C - A + B).
This holds for every eps0-DP local randomiser, chosen adaptively. (The "stronger clones" of 2022 do not: by their
authors' erratum they need special randomisers. They are not used.)

With i + j = C + 1 clones and records the loss is log((e^eps0 i + j)/(i + e^eps0 j)). Fewer clones hide less (others
can be made up), so C may be rounded down: blocks of C stand for their lowest value, and C given that it is not above a
window for C. Windows reach 14 standard deviations and more: what lies below that of C has mass e^-98 (Bernstein), what
lies outside of that of A 2 e^-98 (Hoeffding). The pair is then a mixture of that of the windows, with masses over those
of their windows, and of a rest of at most `OUTSIDE`; both are eps0-DP. Whoever is told which, gets randomised response
of eps0 in place of the rest, and the latter with chance `OUTSIDE`, can tell P and Q at least as well: that is charged.
Tight where few users leave no other tails: for many, e^-98 at the loss eps0 is what rho (some eps0^2/390) and mu (some
eps0/13) see, and they are bounds and no more; delta(eps) is not touched.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpverify.accounting import grid_law
from dpverify.accounting.discrete_losses import AtomicLoss, both_ways, Order, Orders, response
from dpverify.base.rounding import float_down, float_up, UNIT

Array = npt.NDArray[np.float64]

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
    """Reports of `users` users by eps0-DP randomisers, shuffled; one report replaced."""

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
            total += grid_law.of_atoms(points, raised, chance * p, 0.0).masses
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
