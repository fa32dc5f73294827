"""zCDP and GDP parameters of compositions.

rho is the supremum over alpha > 1 of F(alpha)/alpha, F = sum of n_i D_alpha(i): of the sum, not the sum of suprema.
alpha -> D_alpha is non-decreasing, so on [a, b] F(alpha)/alpha <= F(b)/a, and beyond a it is at most D_inf/a. Intervals
are split until the largest of these bounds is within 1e-5 of a value that is attained. A loss that is known to have
D_alpha <= rho alpha (Gaussians) adds that rho, exactly. Every eps-DP step is dominated by randomised response of eps:
none has a larger divergence or mu.

mu: GDP parameters of steps compose as a root of squares (Dong, Roth, Su 2022, Corollary 2).
"""

import heapq
import math
from fractions import Fraction
from functools import lru_cache

from dpverify.accounting.continuous_losses import GaussianLoss
from dpverify.accounting.discrete_losses import ResponseLoss
from dpverify.accounting.divergence import pure_to_zcdp
from dpverify.accounting.loss import Exact, Loss
from dpverify.accounting.losses_of_ledger import Losses
from dpverify.accounting.sampled_loss import SampledLoss
from dpverify.base.rounding import float_up, UNIT

CLOSE = 1e-5
MOST_SPLITS = 4000
NEAREST = 2.0**-22  # orders closer to 1 are not looked at: D_alpha would lose its digits
LEAST = 1e-300  # a parameter of what moves at all: smaller floats have fewer digits, and may be 0


@lru_cache(maxsize=256)
def rho_of(losses: Losses) -> Exact:
    """zCDP parameter, rounded up: a fraction where all of it is exact; inf where none is known."""
    simple, exact, rest = Fraction(0), Fraction(0), []
    for loss, count in losses:
        known = _known_rho(loss)
        if not isinstance(known, Fraction):
            return math.inf
        simple += count * known
        if isinstance(loss.pure, Fraction) and loss.pure and _worth_a_search(loss):
            rest.append((loss, count))
        else:
            exact += count * known
    return min(simple, exact + Fraction(_supremum(rest))) if rest else exact


def _known_rho(loss: Loss) -> Exact:
    implied = pure_to_zcdp(loss.pure) if isinstance(loss.pure, Fraction) else math.inf
    return min(loss.rho, implied)


def _worth_a_search(loss: Loss) -> bool:
    """A sample has the rho of what is inside; its divergences take long, and say more where `pure` is small."""
    if not isinstance(loss, SampledLoss) or loss.rho == math.inf:
        return True
    return loss.rho > Fraction(loss.pure) * Fraction(math.tanh(float(min(Fraction(loss.pure), Fraction(100))) / 2))


def renyi_of_loss(loss: Loss, alpha: float) -> float:
    """Its D_alpha, rounded up: that of randomised response of the same `pure` where less is known; at least `LEAST`."""
    if loss.pure == 0:
        return 0.0
    if isinstance(loss.pure, Fraction):
        return max(LEAST, min(loss.renyi(alpha), ResponseLoss(loss.pure).renyi(alpha)))
    return max(LEAST, loss.renyi(alpha))


def mu_of_loss(loss: Loss) -> float:
    """Its GDP parameter, likewise."""
    if loss.pure == 0:
        return 0.0
    if isinstance(loss.pure, Fraction):
        return max(LEAST, min(loss.mu, ResponseLoss(loss.pure).mu))
    return max(LEAST, loss.mu)


def _supremum(losses: list[tuple[Loss, int]]) -> float:
    """sup over alpha > 1 of F(alpha)/alpha for pure losses, from above."""
    most = float_up(sum((count * Fraction(loss.pure) for loss, count in losses), Fraction(0)))
    if most == math.inf:
        return 1e300

    def total(alpha: float) -> float:
        found = math.fsum(count * renyi_of_loss(loss, alpha) for loss, count in losses) * (1 + 4 * UNIT)
        return min(most, found)

    def interval(low: float, high: float, at_high: float) -> tuple[float, float, float, float]:
        return -at_high / low * (1 + 4 * UNIT), low, high, at_high

    start = total(2.0)
    attained = start / 2
    heap = [interval(1.0, 2.0, start), interval(2.0, math.inf, most)]
    heapq.heapify(heap)
    for _ in range(MOST_SPLITS):
        bound, low, high, at_high = heap[0]
        middle = (
            2 * low if high == math.inf else 1 + math.sqrt((low - 1) * (high - 1)) if low > 1 else 1 + (high - 1) / 8
        )
        if -bound <= attained * (1 + CLOSE) or not (low < middle < high) or middle - 1 < NEAREST:
            break
        value = total(middle)
        attained = max(attained, value / middle)
        heapq.heapreplace(heap, interval(low, middle, value))
        heapq.heappush(heap, interval(middle, high, at_high))
    return -heap[0][0]


def mu_square_of(losses: Losses) -> Exact:
    """Square of the GDP parameter, a fraction that is not below it; inf where none is known."""
    total = Fraction(0)
    for loss, count in losses:
        if isinstance(loss, GaussianLoss):
            total += count * loss.square
        else:
            mu = mu_of_loss(loss)
            if mu == math.inf:
                return math.inf
            total += count * Fraction(mu) ** 2
    return total
