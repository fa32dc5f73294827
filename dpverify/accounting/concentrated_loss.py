"""What is known only as rho-zCDP: Renyi divergences of all orders, and no pair of laws."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpverify.accounting.grid_law import Cells
from dpverify.accounting.loss import Loss
from dpverify.base.rounding import float_up, UNIT
from dpverify.claims import profiles

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ConcentratedLoss(Loss):
    """D_alpha <= rho alpha for every order; composed with others through its Renyi divergences alone."""

    rho_claimed: Fraction

    @property
    def rho(self) -> Fraction:
        return self.rho_claimed

    def renyi(self, alpha: float) -> float:
        return float_up(self.rho_claimed * Fraction(alpha))

    def profile(self, eps: Array) -> Array:
        """The conversion of `profiles.zcdp_delta`; below 0 by delta(x) = 1 - e^x + e^x delta(-x)."""
        above = np.array([profiles.zcdp_delta(float_up(self.rho_claimed), abs(float(each))) for each in eps])
        below = -np.expm1(np.minimum(eps, 0)) + np.exp(np.minimum(eps, 0)) * above
        return np.minimum(np.where(eps >= 0, above, below) * (1 + 2**20 * UNIT), 1.0)

    def cells(self, edges: Array) -> Cells:
        """All mass is infinite loss: the most cautious law there is."""
        nothing = np.zeros(len(edges) - 1)
        return Cells(nothing, nothing, (0.0, 1.0), (1.0, 0.0))
