"""Gaussian mechanism: query + normal noise, with its three accounts and calibrations."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from scipy import special

from dpverify import ApproxDP, GaussianDP, Relation, ZCDP
from dpverify.base import require
from dpverify.base.rounding import float_up
from dpverify.claims.profiles import gaussian_delta
from dpverify.ledger import Sensitivity
from mechanisms.releases.additive import Additive
from mechanisms.toolbox import noise_laws
from mechanisms.toolbox import query_values as queries


@dataclass(frozen=True, kw_only=True)
class Gaussian(Additive):
    """M(D) = q(D) + Z, each Z_j ~ N(0, sigma^2).

    Where sigma = `sigma`, and `sensitivity` states the l2 distance s of q between neighbours: a vector
    that moves by l2 distance s is `Shift(s)`, and shifts of separate coordinates add up in squares.

    Claim    mu-GDP with mu = s/sigma, rounded up. Also rho-zCDP with rho = mu^2/2 (`zcdp`), and
             (eps, delta)-DP for every eps with delta = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu).
    Why      the log density ratio depends on the output only through its coordinate along q - q', so the
             pair is N(0, 1) against N(|q - q'|/sigma, 1).
    Assumes  real arithmetic: outputs in float64 have gaps that leak (Mironov 2012). For real data use
             `mechanisms.releases.discrete_gaussian` with `mechanisms.toolbox.secure`.
    Shapes   data: finite reals of any shape v; outputs: float64 (size, *v), in units of q.
    Raises   ParameterError for sigma outside (0, inf), data that is not finite; AccountingError when
             `sensitivity` is not stated under `relation`; the claim of sensitivity 0 is no claim.
    Source   Dong, Roth, Su 2022, Theorem 2.7; Bun, Steinke 2016, Proposition 1.6; Balle, Wang 2018, Theorem 8.
    """

    sigma: float
    sensitivity: Sensitivity
    relation: Relation = Relation.REPLACE_ONE

    @property
    def noise(self) -> noise_laws.GaussianNoiseLaw:
        """The law of one coordinate's noise."""
        return noise_laws.GaussianNoiseLaw(self.sigma)

    @classmethod
    def for_gdp(cls, mu: float, *, sensitivity: Sensitivity, relation: Relation = Relation.REPLACE_ONE) -> Self:
        """The least noise that is exactly mu-GDP: sigma = s/mu, rounded up."""
        require.positive(mu=mu)
        queries.checked_sensitivity(sensitivity, relation)
        sigma = queries.least_root(queries.l2_squared(sensitivity, relation) / Fraction(mu) ** 2)
        return cls(sigma=sigma, sensitivity=sensitivity, relation=relation)

    @classmethod
    def for_zcdp(cls, rho: float, *, sensitivity: Sensitivity, relation: Relation = Relation.REPLACE_ONE) -> Self:
        """The least noise that is exactly rho-zCDP: sigma = s/sqrt(2 rho), rounded up."""
        require.positive(rho=rho)
        queries.checked_sensitivity(sensitivity, relation)
        sigma = queries.least_root(queries.l2_squared(sensitivity, relation) / (2 * Fraction(rho)))
        return cls(sigma=sigma, sensitivity=sensitivity, relation=relation)

    @classmethod
    def for_approx(
        cls, eps: float, delta: float, *, sensitivity: Sensitivity, relation: Relation = Relation.REPLACE_ONE
    ) -> Self:
        """The least noise that is (eps, delta)-DP, up to float64 (the analytic Gaussian mechanism).

        Balle, Wang 2018, Algorithm 1, as a bisection for the largest mu whose profile, raised by its own
        rounding error, is at most delta (1 - 1e-9); the end on which that holds is used. The 1e-9 is room for
        an accountant that rounds up too. Needs delta > 0.
        """
        require.non_negative(eps=eps)
        require.open_unit(delta=delta)
        low, high = 0.0, 1.0
        while _profile_up(high, eps) <= delta * (1 - 1e-9):
            low, high = high, 2 * high
        while high - low > 1e-13 * high:
            middle = (low + high) / 2
            low, high = (middle, high) if _profile_up(middle, eps) <= delta * (1 - 1e-9) else (low, middle)
        return cls.for_gdp(low, sensitivity=sensitivity, relation=relation)

    @property
    def claim(self) -> GaussianDP:
        """mu-GDP, the exact account."""
        mu = queries.least_root(queries.l2_squared(self.sensitivity, self.relation) / Fraction(self.sigma) ** 2)
        return GaussianDP(
            mu, relation=self.relation, assumptions=(queries.IDEAL_REALS,), source="Dong, Roth, Su 2022, Theorem 2.7"
        )

    @property
    def zcdp(self) -> ZCDP:
        """rho-zCDP with rho = s^2/(2 sigma^2), weaker than `claim`."""
        rho = float_up(queries.l2_squared(self.sensitivity, self.relation) / (2 * Fraction(self.sigma) ** 2))
        return ZCDP(
            rho,
            relation=self.relation,
            assumptions=(queries.IDEAL_REALS,),
            source="Bun, Steinke 2016, Proposition 1.6",
        )

    def approx(self, eps: float) -> ApproxDP:
        """(eps, delta)-DP at this eps, delta raised by its rounding error."""
        delta = _profile_up(self.claim.mu, eps)
        return ApproxDP(
            eps,
            delta,
            relation=self.relation,
            assumptions=(queries.IDEAL_REALS,),
            source="Balle, Wang 2018, Theorem 8",
        )


def _profile_up(mu: float, eps: float) -> float:
    """`gaussian_delta` plus a bound on its error in float64.

    It is P (1 - e^d) with P = Phi(mu/2 - eps/mu): logarithms of the size of eps and of the squared arguments,
    each correct to some 2^-52 of itself, cancel in d. 2^-49 leaves a factor of a few; a test compares with
    arbitrary precision.
    """
    size = 1 + eps + (mu / 2 + eps / mu) ** 2
    return gaussian_delta(mu, eps) + float(special.ndtr(mu / 2 - eps / mu)) * size * 2.0**-49
