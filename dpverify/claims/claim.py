"""What somebody promises: PureDP, ApproxDP, ZCDP, GaussianDP; RenyiDP and TradeOff are in `curves`.

A claim is a whole privacy profile. Each kind answers three questions about it:

    delta_at(eps)       smallest delta with: the claim implies (eps, delta)-DP
    eps_at(delta)       smallest eps with: the claim implies (eps, delta)-DP
    accuracy_limit(w)   largest probability of a right guess of which dataset was used, when a wrong guess
                        has probability w (see `profiles`)

and carries what makes it a statement: the relation, the unit, the view, the assumptions, the source.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self, TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.base import require
from dpverify.claims import profiles
from dpverify.claims.neighbours import Pair, Relation, Unit, View
from dpverify.errors import ParameterError

Array = npt.NDArray[np.float64]

REPORTING_DELTA = 1e-5  # where a zCDP or GDP claim, which has no delta of its own, is quoted in (eps, delta)


@dataclass(frozen=True, kw_only=True)
class Claim(ABC):
    """Base class of all claims: what is promised, about whose data, and against whom.

    Claims are equal if their values are.

    Parameters
    ----------
    relation : Relation
        Which datasets are neighbours.
    unit : Unit
        Whose data is protected: one record, all records of a user, or a trajectory.
    view : View
        What the adversary sees of a release.
    assumptions : tuple of str
        What the claim takes for granted. Reports print it.
    source : str
        Where the claim is made, such as a theorem of a paper. Reports print it.

    Raises
    ------
    ParameterError
        For a relation, unit or view that is none, and for a number of the claim that is outside of its range.
    """

    notion: ClassVar[str]
    _number: ClassVar[str]  # the field that is claimed: eps, rho, mu or factor

    relation: Relation = Relation.REPLACE_ONE
    unit: Unit = Unit.RECORD
    view: View = View.CENTRAL
    assumptions: tuple[str, ...] = ()
    source: str = ""

    if TYPE_CHECKING:  # a field in one kind, derived in another

        @property
        def eps(self) -> float:
            """The claimed eps at `delta`."""

        @property
        def delta(self) -> float:
            """The delta at which eps is quoted."""

    def __post_init__(self) -> None:
        require.own_numbers(self)
        require.member(Relation, relation=self.relation)
        require.member(Unit, unit=self.unit)
        require.member(View, view=self.view)

    @abstractmethod
    def delta_at(self, eps: float) -> float:
        """Smallest delta such that the claim implies (eps, delta)-DP."""

    @abstractmethod
    def eps_at(self, delta: float) -> float:
        """Smallest eps such that the claim implies (eps, delta)-DP; inf where no eps does."""

    @abstractmethod
    def accuracy_limit(self, wrong: float) -> float:
        """Largest Pr[right guess] under the claim when Pr[wrong guess] = `wrong`; concave, increasing."""

    @property
    def number(self) -> float:
        """The claimed number in the claim's own unit: eps, rho, mu, or the factor on a curve (1)."""
        return float(getattr(self, self._number))

    def with_number(self, value: float) -> Self:
        """The same claim about another number."""
        changed: dict[str, Any] = {self._number: value}
        return replace(self, **changed)

    def check(self, pair: Pair) -> Pair:
        """The pair under this claim's relation and unit; NeighbourError when it is not a neighbouring pair."""
        if not isinstance(pair, Pair):
            raise ParameterError("pair", pair, "a dpverify.Pair of two neighbouring datasets")
        return pair.checked(self.relation, self.unit)


@dataclass(frozen=True)
class PureDP(Claim):
    """Pure differential privacy, eps-DP: P(E) <= e^eps Q(E) for every event E and both orders of the datasets.

    With `view=View.LOCAL` this is eps-LDP, with `View.JOINT` eps-JDP (Kearns, Pai, Roth, Ullman 2014).

    Parameters
    ----------
    eps : float
        What is claimed, 0 < eps < inf.
    relation, unit, view : Relation, Unit, View
        Neighbours, whose data is protected, and what the adversary sees, as in `Claim`.
    assumptions, source : tuple of str, str
        Printed in reports, as in `Claim`.

    Raises
    ------
    ParameterError
        Unless 0 < eps < inf.

    Examples
    --------
    >>> from dpverify import PureDP
    >>> claim = PureDP(1.0)
    >>> str(claim), claim.delta_at(1.0)
    ('pure:1', 0.0)
    """

    eps: float

    notion: ClassVar[str] = "pure"
    _number: ClassVar[str] = "eps"

    def __post_init__(self) -> None:
        require.positive(eps=self.eps)
        super().__post_init__()

    @property
    def delta(self) -> float:
        """0: pure DP has no failure mass."""
        return 0.0

    def delta_at(self, eps: float) -> float:
        """The profile of eps0-randomised response; see `profiles.response_delta`."""
        return profiles.response_delta(self.eps, 0.0, eps)

    def eps_at(self, delta: float) -> float:
        """eps + log(1 - delta (1 + e^-eps)), at least 0."""
        return profiles.response_eps(self.eps, 0.0, delta)

    def accuracy_limit(self, wrong: float) -> float:
        """e^eps w, at most 1 - w."""
        return profiles.response_accuracy_limit(self.eps, 0.0, wrong)

    def __str__(self) -> str:
        return f"pure:{digits(self.eps)}"


@dataclass(frozen=True)
class ApproxDP(Claim):
    """Approximate differential privacy, (eps, delta)-DP: P(E) <= e^eps Q(E) + delta for every event E, both orders.

    Parameters
    ----------
    eps : float
        What is claimed, 0 <= eps < inf.
    delta : float
        Is part of the claim, 0 <= delta < 1. Not both numbers may be 0.
    relation, unit, view : Relation, Unit, View
        Neighbours, whose data is protected, and what the adversary sees, as in `Claim`.
    assumptions, source : tuple of str, str
        Printed in reports, as in `Claim`.

    Raises
    ------
    ParameterError
        Unless 0 <= eps < inf, 0 <= delta < 1 and not both are 0.

    Examples
    --------
    >>> from dpverify import ApproxDP
    >>> claim = ApproxDP(1.0, 1e-6)
    >>> claim.eps_at(1e-6), claim.eps_at(1e-7)
    (1.0, inf)
    """

    eps: float
    delta: float

    notion: ClassVar[str] = "approx"
    _number: ClassVar[str] = "eps"

    def __post_init__(self) -> None:
        require.delta(delta=self.delta)
        if self.delta == 0:
            require.positive(eps=self.eps)
        require.non_negative(eps=self.eps)
        super().__post_init__()

    def delta_at(self, eps: float) -> float:
        """The profile of the dominating pair of Kairouz-Oh-Viswanath; see `profiles.response_delta`."""
        return profiles.response_delta(self.eps, self.delta, eps)

    def eps_at(self, delta: float) -> float:
        """Inverse of `delta_at`; inf below the claimed delta."""
        return profiles.response_eps(self.eps, self.delta, delta)

    def accuracy_limit(self, wrong: float) -> float:
        """e^eps w + delta, at most 1 - w."""
        return profiles.response_accuracy_limit(self.eps, self.delta, wrong)

    def __str__(self) -> str:
        return f"approx:{digits(self.eps)},{digits(self.delta)}"


def digits(x: Any) -> str:
    """The number without loss, as on the command line; a fraction that is no float as a quotient.

    A claim that is shown is the claim that is judged: 1.0000004 must not read 1.
    """
    if not isinstance(x, float) and Fraction(*x.as_integer_ratio()) != Fraction(float(x)):
        return str(Fraction(*x.as_integer_ratio()))
    short = f"{float(x):g}"
    return short if float(short) == float(x) else repr(float(x))


class WholeProfile(Claim):
    """A claim that no single (eps, delta) expresses: its eps is quoted at a `delta` that is not part of it."""

    @abstractmethod
    def number_at(self, right: Array, wrong: Array) -> Array:
        """Smallest number of the claim that allows right guesses of these rates with wrong ones of those.

        A plan, not a bound: nearest floats.
        """

    def __post_init__(self) -> None:
        require.open_unit(delta=self.delta)
        super().__post_init__()

    @property
    def eps(self) -> float:
        """eps implied at `delta`."""
        return self.eps_at(self.delta)

    def eps_at(self, delta: float) -> float:
        """Inverse of `delta_at`, from above."""
        return profiles.invert_profile(self.delta_at, delta)


@dataclass(frozen=True)
class ZCDP(WholeProfile):
    """Zero-concentrated differential privacy, rho-zCDP: Renyi divergences of every order a > 1 are at most rho a.

    This is Definition 1.1 of Bun, Steinke 2016. It is about both orders of the datasets.

    Parameters
    ----------
    rho : float
        What is claimed, 0 < rho < inf.
    delta : float
        Where eps of the claim is quoted, in (0, 1). It is no part of the claim: a verdict is about the whole profile.
    relation, unit, view : Relation, Unit, View
        Neighbours, whose data is protected, and what the adversary sees, as in `Claim`.
    assumptions, source : tuple of str, str
        Printed in reports, as in `Claim`.

    Raises
    ------
    ParameterError
        Unless 0 < rho < inf and 0 < delta < 1.

    Examples
    --------
    >>> from dpverify import ZCDP
    >>> round(ZCDP(0.5).eps_at(1e-5), 2)
    4.73
    """

    rho: float
    delta: float = REPORTING_DELTA

    notion: ClassVar[str] = "zcdp"
    _number: ClassVar[str] = "rho"

    def __post_init__(self) -> None:
        require.positive(rho=self.rho)
        super().__post_init__()

    def delta_at(self, eps: float) -> float:
        """Optimal conversion from Renyi divergences; see `profiles.zcdp_delta`."""
        return profiles.zcdp_delta(self.rho, eps)

    def accuracy_limit(self, wrong: float) -> float:
        """Largest c that no Renyi divergence of (Bern(c), Bern(w)) forbids."""
        return profiles.zcdp_accuracy_limit(self.rho, wrong)

    def number_at(self, right: Array, wrong: Array) -> Array:
        return profiles.zcdp_number(right, wrong)

    def __str__(self) -> str:
        return f"zcdp:{digits(self.rho)}"


@dataclass(frozen=True)
class GaussianDP(WholeProfile):
    """Gaussian differential privacy, mu-GDP: two neighbours are no easier to tell apart than N(0, 1) and N(mu, 1).

    This is the notion of Dong, Roth, Su 2022.

    Parameters
    ----------
    mu : float
        What is claimed, 0 < mu < inf.
    delta : float
        Where eps of the claim is quoted, in (0, 1). It is no part of the claim: a verdict is about the whole profile.
    relation, unit, view : Relation, Unit, View
        Neighbours, whose data is protected, and what the adversary sees, as in `Claim`.
    assumptions, source : tuple of str, str
        Printed in reports, as in `Claim`.

    Raises
    ------
    ParameterError
        Unless 0 < mu < inf and 0 < delta < 1.

    Examples
    --------
    >>> from dpverify import GaussianDP
    >>> round(GaussianDP(1.0).eps_at(1e-5), 2)
    4.38
    """

    mu: float
    delta: float = REPORTING_DELTA

    notion: ClassVar[str] = "gdp"
    _number: ClassVar[str] = "mu"

    def __post_init__(self) -> None:
        require.positive(mu=self.mu)
        super().__post_init__()

    def delta_at(self, eps: float) -> float:
        """Profile of N(mu,1) against N(0,1); see `profiles.gaussian_delta`."""
        return profiles.gaussian_delta(self.mu, eps)

    def accuracy_limit(self, wrong: float) -> float:
        """Phi(Phi^-1(w) + mu), at most 1 - w."""
        return profiles.gaussian_accuracy_limit(self.mu, wrong)

    def number_at(self, right: Array, wrong: Array) -> Array:
        return np.asarray(special.ndtri(right) - special.ndtri(wrong), dtype=np.float64)

    def __str__(self) -> str:
        return f"gdp:{digits(self.mu)}"
