"""zCDP and GDP parameters of compositions.

rho is the supremum over alpha > 1 of F(alpha)/alpha, F = sum of n_i D_alpha(i): of the sum, not the sum of suprema.
alpha -> D_alpha is non-decreasing, so on [a, b] F(alpha)/alpha <= F(b)/a, and beyond a it is at most D_inf/a. With t =
alpha - 1, t D_alpha = log E_P[e^(tL)] is convex in t (so is the largest one of several pairs): t F lies below its chord
on [a, b], as does 1/(t (1 + t)), and F(alpha)/alpha below the product of the two chords, a concave quadratic with a
known maximum. It is off by the square of the width of the interval, where the first bound is off by the width.
Intervals are split until the largest bound is within 1e-5 of a value that is attained, or `MOST_SPLITS` times, which
leaves some 1e-4. A loss that is known to have D_alpha <= rho alpha (Gaussian and Laplace noise) adds that rho. Every
eps-DP step is dominated by randomised response of eps: none has a larger divergence or mu.

mu: GDP parameters of steps compose as a root of squares (Dong, Roth, Su 2022, Corollary 2).
"""

import heapq
import math
from fractions import Fraction
from functools import lru_cache

from dpverify.accounting.discrete_losses import ResponseLoss
from dpverify.accounting.loss_laws import Exact, Loss, Losses
from dpverify.accounting.noise_losses import GaussianLoss, LaplaceLoss
from dpverify.accounting.sampled_losses import SampledLoss
from dpverify.base.rounding import float_up, UNIT
from dpverify.ledger.events import pure_to_zcdp

CLOSE = 1e-5
MOST_SPLITS = 1000
NEAREST = 2.0**-22  # orders closer to 1 are not looked at: D_alpha would lose its digits
LEAST = 1e-300  # a parameter of what moves at all: smaller floats have fewer digits, and may be 0


@lru_cache(maxsize=256)
def rho_of(losses: Losses) -> Exact:
    """Compute an upper bound on the zCDP parameter of a composition.

    Parameters
    ----------
    losses : tuple of (Loss, int)
        Losses, and how many coordinates have each.

    Returns
    -------
    Fraction or float
        rho, rounded up: a fraction, exact where all losses are Gaussian or Laplace; inf where none is known.

    Notes
    -----
    The module has the proof of the bound on the supremum over all orders.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dpverify.accounting.noise_losses import GaussianLoss
    >>> rho_of(((GaussianLoss(Fraction(1, 4)), 2),))
    Fraction(1, 4)
    """
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
    if all(isinstance(loss, LaplaceLoss) for loss, _ in rest):  # as of Gaussians, the suprema are limits at alpha = 1
        return simple
    return min(simple, exact + Fraction(_supremum(rest)))


def _known_rho(loss: Loss) -> Exact:
    implied = pure_to_zcdp(loss.pure) if isinstance(loss.pure, Fraction) else math.inf
    return min(loss.rho, implied)


def _worth_a_search(loss: Loss) -> bool:
    """A sample has the rho of what is inside; its divergences take long, and say more where `pure` is small."""
    if not isinstance(loss, SampledLoss) or loss.rho == math.inf:
        return True
    return loss.rho > Fraction(loss.pure) * Fraction(math.tanh(float(min(Fraction(loss.pure), Fraction(100))) / 2))


def renyi_of_loss(loss: Loss, alpha: float) -> float:
    """Compute an upper bound on the Renyi divergence of one loss.

    Parameters
    ----------
    loss : Loss
        What one coordinate costs.
    alpha : float
        The order, 1 < alpha < inf.

    Returns
    -------
    float
        D_alpha, rounded up: that of randomised response of the same `pure` where less is known; at least `LEAST`, and 0
        for what costs nothing.

    Notes
    -----
    It is at most alpha `pure`^2/2 (Bun, Steinke 2016, Proposition 3.3), which is close where `pure` is tiny.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dpverify.accounting.noise_losses import GaussianLoss
    >>> renyi_of_loss(GaussianLoss(Fraction(1, 4)), 2.0)
    0.25
    """
    if loss.pure == 0:
        return 0.0
    if isinstance(loss.pure, Fraction):
        implied = float_up(pure_to_zcdp(loss.pure) * Fraction(alpha))
        return max(LEAST, min(loss.renyi(alpha), ResponseLoss(loss.pure).renyi(alpha), implied))
    return max(LEAST, loss.renyi(alpha))


def mu_of_loss(loss: Loss) -> float:
    """Compute an upper bound on the parameter of Gaussian DP of one loss.

    Parameters
    ----------
    loss : Loss
        What one coordinate costs.

    Returns
    -------
    float
        mu, rounded up: that of randomised response of the same `pure` where less is known; inf where none is, and 0 for
        what costs nothing.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dpverify.accounting.noise_losses import GaussianLoss
    >>> mu_of_loss(GaussianLoss(Fraction(1, 4)))
    0.5
    """
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

    def total(t: float) -> float:
        found = math.fsum(count * renyi_of_loss(loss, 1 + t) for loss, count in losses) * (1 + 4 * UNIT)
        return min(most, found)

    start = total(1.0)
    attained = start / 2
    heap = [_Interval(0.0, 1.0, 0.0, start), _Interval(1.0, math.inf, start, most)]
    heapq.heapify(heap)
    for _ in range(MOST_SPLITS):
        worst = heap[0]
        middle = worst.middle
        if worst.bound <= attained * (1 + CLOSE) or not (worst.low < middle < worst.high) or middle < NEAREST:
            break
        value = total(middle)
        attained = max(attained, value / (1 + middle))
        heapq.heapreplace(heap, _Interval(worst.low, middle, worst.at_low, value))
        heapq.heappush(heap, _Interval(middle, worst.high, value, worst.at_high))
    return heap[0].bound


class _Interval:
    """Orders 1 + t, low <= t <= high, upper bounds of F at both ends; the one with the largest bound comes first."""

    def __init__(self, low: float, high: float, at_low: float, at_high: float) -> None:
        self.low, self.high, self.at_low, self.at_high = low, high, at_low, at_high
        self.bound = min(at_high / (1 + low), self._of_chords()) * (1 + 4 * UNIT)

    def __lt__(self, other: "_Interval") -> bool:
        return self.bound > other.bound

    @property
    def middle(self) -> float:
        """Far ends are halved in the logarithm."""
        if self.high == math.inf:
            return 2 * self.low
        return math.sqrt(self.low) * math.sqrt(self.high) if self.low > 0 else self.high / 8

    def _of_chords(self) -> float:
        """The largest (k_0 + s (k_1 - k_0)) (w_0 + s (w_1 - w_0)), 0 <= s <= 1, with k = t F and w = 1/(t (1 + t)).

        A share s that misses the top by the rounding of a quotient loses some u^2. Sums have positive terms.
        """
        if not (0 < self.low and self.high < 1e100):
            return math.inf
        k0, k1 = self.low * self.at_low, self.high * self.at_high
        w0, w1 = (1 / (t * (1 + t)) for t in (self.low, self.high))
        bend = 2 * (k1 - k0) * (w0 - w1)
        slope = (k1 - k0) * w0 - k0 * (w0 - w1)
        s = min(max(slope / bend, 0.0), 1.0) if bend > 0 else 0.0 if slope < 0 else 1.0
        return (k0 * (1 - s) + k1 * s) * (w0 * (1 - s) + w1 * s) * (1 + 16 * UNIT)


def mu_square_of(losses: Losses) -> Exact:
    """Compute an upper bound on the squared parameter of Gaussian DP of a composition.

    Parameters
    ----------
    losses : tuple of (Loss, int)
        Losses, and how many coordinates have each.

    Returns
    -------
    Fraction or float
        mu^2, a fraction that is not below it; inf where none is known.

    Notes
    -----
    Squares of the parameters of steps add up (Dong, Roth, Su 2022, Corollary 2).

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dpverify.accounting.noise_losses import GaussianLoss
    >>> mu_square_of(((GaussianLoss(Fraction(1, 4)), 8),))
    Fraction(2, 1)
    """
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
