"""What replacing one trajectory costs DP-VAPVI in one step, in zCDP, exactly.

In a step one user adds phi phi^T to a Gram and phi y_j to the vector statistics j, with targets
y_1 = V^2, y_2 = V, y_3 = r + V, r in [0,1], V = V_{h+1}(s') in [0, H-h]. (Weights 1/sigma~^2 <= 1 are computed from
earlier releases and only shrink this.) For a change from (phi, y) to (phi', y') the Gaussian noises cost

    sum_j ||phi y_j - phi' y_j'||^2/(2 sigma_j^2)  +  sum_K ||phi phi^T - phi' phi'^T||_F^2/(2 sigma_K^2).

Targets     sup over y, y' in [0, m]: the square is convex in (y, y'), so the corners decide:
            m^2 max(||phi - phi'||^2, ||phi||^2, ||phi'||^2), the same corner for every j.
Unit ball   sup over ||phi||, ||phi'|| <= 1 is attained by unit vectors with inner product t <= 0:
            alpha (1 - t) + gamma (1 - t^2), alpha = sum_j m_j^2/sigma_j^2, gamma = sum_K 1/sigma_K^2,
            hence alpha + gamma + alpha^2/(4 gamma) at t = -alpha/(2 gamma), or 2 alpha at t = -1 if alpha >= 2 gamma.
  Why       t -> -t shows t <= 0 and y = y' = m. For lengths s, r the derivative in s is
            (s + r|t|)(alpha + 2 gamma s (s - r|t|)) >= 0 if alpha >= gamma/2. Else the sum is at most
            alpha (1 + |t|) + gamma max(1 - t^2, 1/2) (a convex form in s^2, r^2), and
            2 alpha + gamma/2 <= alpha + gamma.
Absent      against an absent user: half of alpha and half of gamma.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class StepCost:
    """alpha and gamma of one step (see the module), as exact fractions of the rounded noise scales."""

    alpha: Fraction
    gamma: Fraction

    @classmethod
    def of(cls, targets: Sequence[tuple[int, float]], gram_sigmas: Sequence[float]) -> "StepCost":
        """From (largest target m_j, sigma_j) of the released vectors and sigma_K of the released Grams."""
        alpha = sum((Fraction(m) ** 2 / Fraction(sigma) ** 2 for m, sigma in targets), Fraction(0))
        return cls(alpha, sum((1 / Fraction(sigma) ** 2 for sigma in gram_sigmas), Fraction(0)))

    def unit_ball_replace(self) -> Fraction:
        """Largest cost of a replaced trajectory over all features of length at most 1."""
        if self.alpha >= 2 * self.gamma:
            return 2 * self.alpha
        return self.alpha + self.gamma + self.alpha**2 / (4 * self.gamma)

    def unit_ball_absent(self) -> Fraction:
        """Largest cost of a trajectory against an absent user."""
        return (self.alpha + self.gamma) / 2

    def worst_cosine(self) -> float:
        """The inner product of two unit features at which `unit_ball_replace` is attained."""
        return -1.0 if self.alpha >= 2 * self.gamma else float(-self.alpha / (2 * self.gamma))

    def table_replace(self, features: Array) -> float:
        """Largest cost over all pairs of rows of `features` (m, d), targets free; one row may replace itself."""
        inner = features @ features.T
        p, q = np.diag(inner)[:, None], np.diag(inner)[None, :]
        vectors = np.maximum(p + q - 2 * inner, np.maximum(p, q))
        grams = p**2 + q**2 - 2 * inner**2
        return float((float(self.alpha) / 2 * vectors + float(self.gamma) / 2 * grams).max())

    def table_absent(self, features: Array) -> float:
        """Largest cost of one row of `features` against an absent user."""
        p = (features**2).sum(axis=1)
        return float((float(self.alpha) / 2 * p + float(self.gamma) / 2 * p**2).max())


def appendix_features(actions: int = 100) -> Array:
    """(2, actions, 10) features of Appendix F: the action in binary (8 bits, most significant first), delta, 1 - delta.

    delta(s, a) = 1 where 1{s = 0} = 1{a = 0}. Squared lengths are popcount + 1, up to 7 for 100 actions, while the
    analysis assumes at most 1: divide by sqrt 7.
    """
    table = np.zeros((2, actions, 10))
    for state, action in product(range(2), range(actions)):
        delta = float((state == 0) == (action == 0))
        table[state, action] = [*(action >> bit & 1 for bit in reversed(range(8))), delta, 1 - delta]
    return table
