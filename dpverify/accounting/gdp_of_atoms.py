"""GDP parameters of pairs of laws that are listed as atoms: p_j at the losses l_j, the largest first.

mu is the largest Phi^-1(P_k) - Phi^-1(Q_k), P_k and Q_k the masses of the k largest losses: these are the vertices of
the trade-off curve, which is linear between them, and that of a Gaussian is convex. With upper bounds of p and l and Q-
masses p e^-l this is a curve g below that of the pair (a pair that dominates), so only P_k up, and 1 - P_k and Q_k
down, are needed. Sums are off by a unit for each of their terms, quantiles by some 1e-12.

Neighbouring quantiles. s -> Phi^-1(e^s) is convex with the derivative Phi(z)/phi(z), z = Phi^-1(e^s) (log Phi is
concave), so Phi^-1(P) - Phi^-1(Q) <= log(P/Q) Phi(z)/phi(z) at z = Phi^-1(P); log(P/Q) = log(1 + (P - Q)/Q), and
P - Q = sum of p (1 - e^-l) has positive terms as long as l > 0: nothing cancels where the laws are nearly equal.

Symmetric pairs (Q against P is the same): their curve f is its own inverse. Let m be the last vertex with l_m > 0, D =
P_m - Q_m >= D_f(0) and x = (1 - D)/2. It is enough that a Gaussian G is below g at the vertices 1..m and G(x) <= x, so
mu >= -2 Phi^-1(x). For f >= g, and f(a) >= 1 - D - a everywhere; g meets this line at the vertex m, so G, convex, is
below f up to max(Q_m, x). The line is 1 - x - x = D at x, so the fixed point x_f of f is at least x: convexity and
symmetry give f the slope -1 there, 1 - 2 x_f = D_f(0). On [x, x_f] f >= x_f >= x >= G(x) >= G. So G <= f on [0, x_f],
and inverses are ordered in the same way beyond it.
"""

import math

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.base.rounding import UNIT

Array = npt.NDArray[np.float64]

MANY = 300.0  # losses beyond it: see `response_mu`


def mu_of(loss: Array, p: Array, least: Array, slack: float, *, symmetric: bool) -> float:
    """An upper bound of mu: atoms by decreasing loss, none at infinity; p and `least` are bounds of their masses.

    `least` is at most `p`, and at least (1 - slack) p or 0.
    """
    error = slack + 1e-13 + 2 * len(p) * UNIT
    rest = np.cumsum(least[::-1])[::-1][1:] * (1 - error)
    above = np.cumsum(least * np.exp(-loss))[:-1] * (1 - error)
    most = np.minimum(np.cumsum(p)[:-1] * (1 + error), 1.0)
    if not symmetric:
        return float(_differences(rest, above, most).max(initial=0.0)) * (1 + 1e-12) + 1e-15
    last = int(np.count_nonzero(loss > 0))
    gained = np.cumsum(p[:last] * -np.expm1(-loss[:last])) * (1 + error)
    distance = float(gained[-1]) if last else 0.0
    vertices = slice(0, min(last, len(rest)))
    rest, above, most, gained = rest[vertices], above[vertices], most[vertices], gained[vertices]
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        z = special.ndtri(most)
        slopes = _HALF * special.erfcx(-z / math.sqrt(2)) * np.log1p(gained / above)
    found = np.fmin(_differences(rest, above, most), slopes)
    at_most = float(found.max(initial=0.0)) * (1 + 1e-12)
    # two bounds of (1 - D)/2: the rest and Q are small where D is near 1
    half = (float(rest[-1]) + float(above[-1])) / 2 if len(rest) == last and last else 0.0
    crossing = min(
        2 * math.sqrt(2) * float(special.erfinv(min(distance, 1.0))),
        -2 * float(special.ndtri(half)) if half > 0 else math.inf,
    )
    return max(at_most, crossing * (1 + 1e-12))


_HALF = math.sqrt(math.pi / 2)


def _differences(rest: Array, above: Array, most: Array) -> Array:
    """Phi^-1(P) - Phi^-1(Q), the first one from the side of the smaller tail."""
    with np.errstate(divide="ignore", invalid="ignore"):
        power = np.minimum(-special.ndtri(np.minimum(rest, 1.0)), special.ndtri(most))
        return np.asarray(power - special.ndtri(np.minimum(above, 1.0)), dtype=np.float64)


def response_mu(a: float) -> float:
    """-2 Phi^-1(1/(1 + e^a)) for a > `MANY`, at most 1 % too much: Phi(-z) <= e^(-z^2/2)/2 for z >= 0."""
    return 2 * math.sqrt(2 * (a - math.log(2.0) + math.exp(-a))) * (1 + 16 * UNIT)
