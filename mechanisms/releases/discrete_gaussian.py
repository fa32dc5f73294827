"""Discrete Gaussian mechanism: integer query + integer noise, sampled exactly."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from dpverify import Relation, ZCDP
from dpverify.base import require
from dpverify.base.rounding import float_up
from dpverify.ledger import Sensitivity
from mechanisms.releases.additive import Additive
from mechanisms.toolbox import noise_laws
from mechanisms.toolbox import query_values as queries


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussian(Additive):
    """M(D) = q(D) + Z with Pr[Z_j = k] proportional to exp(-k^2/(2 sigma^2)), k an integer.

    Where sigma = `sigma` (the variance of Z_j is slightly below sigma^2), and `sensitivity` states the l2
    distance s of q between neighbours: shifts of separate coordinates add up in squares.

    Claim    rho-zCDP with rho = s^2/(2 sigma^2), rounded up. Not s/sigma-GDP: that is not proved.
    Why      completing the square turns the Renyi divergence of order a into a s^2/(2 sigma^2) plus the log
             of a ratio of sums over shifted lattices, and the unshifted sum is the largest.
    Exact    the law is the stated one given uniform bits, see `mechanisms.toolbox.samplers`; with
             `mechanisms.toolbox.secure` it is fit for real data.
    Shapes   data: integers of any shape v; outputs: int64 (size, *v), in units of q.
    Raises   ParameterError for sigma outside [2^-9, 2^26], data of another type than integers.
    Source   Canonne, Kamath, Steinke 2020, Definition 1, Theorem 14 and Algorithm 3.
    """

    sigma: float
    sensitivity: Sensitivity
    relation: Relation = Relation.REPLACE_ONE
    whole: ClassVar[bool] = True

    @property
    def noise(self) -> noise_laws.DiscreteGaussianNoiseLaw:
        """The law of one coordinate's noise."""
        return noise_laws.DiscreteGaussianNoiseLaw(self.sigma)

    @classmethod
    def for_claim(cls, rho: float, *, sensitivity: Sensitivity, relation: Relation = Relation.REPLACE_ONE) -> Self:
        """The least noise that is exactly rho-zCDP: sigma = s/sqrt(2 rho), rounded up."""
        require.positive(rho=rho)
        queries.checked_sensitivity(sensitivity, relation)
        sigma = queries.least_root(queries.l2_squared(sensitivity, relation) / (2 * Fraction(rho)))
        return cls(sigma=sigma, sensitivity=sensitivity, relation=relation)

    @property
    def claim(self) -> ZCDP:
        """rho-zCDP."""
        rho = float_up(queries.l2_squared(self.sensitivity, self.relation) / (2 * Fraction(self.sigma) ** 2))
        return ZCDP(rho, relation=self.relation, source="Canonne, Kamath, Steinke 2020, Theorem 14")
