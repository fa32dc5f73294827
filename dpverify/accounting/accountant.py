"""Ledger -> parameters. Every number is an upper bound, and a proof given the ledger.

A changed user meets one alternative (one branch of each `OneOf`, in the stated directions or all of them
mirrored); the worst alternative is charged. For each alternative the smallest of several valid bounds on
delta(eps) is taken:

    one loss, or any number of Gaussians         its own profile
    sums of pure losses                          `profiles.response_delta` of the exact sum
    sums of any losses that can be listed        `composition`: tilted trapezoid sums of laws above them
    the same, steps with several pairs of laws   as one loss each, of the worst sequence of pairs: `adaptive`
    what none of these says anything about, and
    where floating point costs 1e-3 of delta     zCDP parameters, `profiles.zcdp_delta`
    where a loss has no law (`selection`)        Renyi divergences at some orders, `profiles.renyi_delta`

Each closed form states what its arithmetic may err by and is rounded up by that. Accounts of compositions are within
some 1e-4 of the truth down to delta = 1e-20 and for up to 1e9 coordinates. More is charged for what `adaptive` names.
Deltas below 1e-300 are not told apart (below 1e-32 where noise is on integers), nor losses of listed laws below 1e-15.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from dpverify.accounting.adaptive import chosen_as_runs
from dpverify.accounting.composition import composed
from dpverify.accounting.loss_laws import Exact, Losses
from dpverify.accounting.losses_of_ledger import alternatives
from dpverify.accounting.noise_losses import ConcentratedLoss, GaussianLoss
from dpverify.accounting.parameters import mu_square_of, renyi_of_loss, rho_of
from dpverify.accounting.selection import ORDERS
from dpverify.base import require
from dpverify.base.rounding import as_fraction, float_down, float_up, UNIT
from dpverify.claims import profiles
from dpverify.claims.claim import ApproxDP, Claim, GaussianDP, PureDP, ZCDP
from dpverify.claims.curves import RenyiDP, TradeOff
from dpverify.claims.neighbours import Relation
from dpverify.errors import AccountingError, ParameterError, UsageError
from dpverify.ledger import description
from dpverify.ledger.description import Charged, charged
from dpverify.ledger.events import Event, Ledger

RESPONSE_ERROR = 32 * UNIT  # expm1, exp, a quotient and a product
ZCDP_ERROR = 1e-9  # every order is a bound; its exponent, at most 700 in size, and logarithms err by some 1e-12
MOST_ROUNDING = 1e-3  # of delta
MANY = 10**9  # coordinates: with fewer only deltas of which nothing is left (at the largest loss) are rounded that much
ROUNDED = "so many coordinates: floating point is charged with more than 1/1000 of delta; bounds hold and are not tight"
CLOSE = 1e-5  # relative, to the sum of all largest losses
MOST_EPS = 1e12  # beyond it no eps is searched
NOTHING = 1e-200  # sums of largest losses below it are charged as one loss: no delta above it is touched
MOST_RHO = 10**6  # beyond it zCDP proves nothing at any eps that is searched


class LooseAccountWarning(UserWarning):
    """An account is a bound, but so many coordinates are composed (beyond some 10^11) that it is not a tight one."""


def account(subject: Any, *, delta: float = 0.0, relation: Relation = Relation.REPLACE_ONE) -> float:
    """Compute an upper bound on eps from a ledger.

    Parameters
    ----------
    subject : Ledger, Event, Subject, or object with a `ledger`
        What was done: which noise was added, and how far one user moves what it was added to.
    delta : float
        At which eps is computed, in [0, 1). At 0 the bound is about pure DP.
    relation : Relation
        Which datasets are neighbours.

    Returns
    -------
    float
        A number that the true eps does not exceed; inf if nothing is proved.

    Raises
    ------
    UsageError
        For something without a ledger.
    ParameterError
        For delta outside [0, 1).
    AccountingError
        If the ledger cannot be accounted, for example because it states no sensitivity under `relation`.

    Examples
    --------
    >>> from dpverify.ledger import LaplaceNoise, Ledger, Sensitivity
    >>> noise = LaplaceNoise(scale=2.0, sensitivity=Sensitivity(replace=1.0))
    >>> account(noise), account(Ledger(noise) * 3)
    (0.5, 1.5)
    """
    return eps_upper(as_ledger(subject), delta=delta, relation=relation)


def as_ledger(subject: Any) -> Ledger:
    """Find the ledger of something: itself, that of one event, or an object's `.ledger`.

    Parameters
    ----------
    subject : Ledger, Event, Subject, or object with a `ledger`
        Where the `ledger` of a subject is None, its target's is taken.

    Returns
    -------
    Ledger
        The ledger.

    Raises
    ------
    UsageError
        For something without a ledger.
    AccountingError
        For a subject whose ledger is None, and whose target has none.

    Examples
    --------
    >>> from dpverify.ledger import gaussian, Ledger
    >>> as_ledger(gaussian(sigma=2.0, sensitivity=1.0).events[0]) == gaussian(sigma=2.0, sensitivity=1.0)
    True
    """
    if isinstance(subject, Ledger):
        return subject
    if isinstance(subject, Event):
        return Ledger(subject)
    kind = type(subject).__name__
    if isinstance(subject, type) or not hasattr(subject, "ledger"):
        raise UsageError(f"a {kind} cannot be accounted: it is no Ledger or event and has no attribute `ledger`")
    ledger = subject.ledger
    if ledger is None:
        ledger = getattr(getattr(subject, "target", None), "ledger", None)
    if ledger is None:
        raise AccountingError(f"this {kind} states no ledger (its `ledger` is None)")
    if not isinstance(ledger, Ledger):
        raise UsageError(f"the `ledger` of this {kind} is a {type(ledger).__name__}, not a Ledger")
    return ledger


def pure_eps(ledger: Ledger, *, relation: Relation) -> Exact:
    """Compute the eps of pure DP that a ledger proves: the sum of the largest log ratios in the worse order.

    Parameters
    ----------
    ledger : Ledger
        What was done.
    relation : Relation
        Which datasets are neighbours.

    Returns
    -------
    Fraction or float
        An exact fraction; math.inf where nothing is proved.

    Raises
    ------
    ParameterError
        For a ledger that is none, or is made of lists or arrays.
    AccountingError
        If the ledger cannot be accounted, for example because it states no sensitivity under `relation`.

    Examples
    --------
    >>> from dpverify import Relation
    >>> from dpverify.ledger import laplace
    >>> pure_eps(laplace(scale=4.0, sensitivity=1.0) * 3, relation=Relation.REPLACE_ONE)
    Fraction(3, 4)
    """
    return max(_pure(losses) for losses in _listed(ledger, relation))


def rho_upper(ledger: Ledger, *, relation: Relation) -> Exact:
    """Compute an upper bound on the zCDP parameter of a ledger.

    Parameters
    ----------
    ledger : Ledger
        What was done.
    relation : Relation
        Which datasets are neighbours.

    Returns
    -------
    Fraction or float
        rho, rounded up: an exact fraction where all noise is Gaussian, within 1e-5 of the supremum else; inf where none
        is known.

    Raises
    ------
    ParameterError
        For a ledger that is none, or is made of lists or arrays.
    AccountingError
        If the ledger cannot be accounted, for example because it states no sensitivity under `relation`.

    Notes
    -----
    rho is the supremum over alpha > 1 of the Renyi divergence over alpha, of the sum of all steps;
    `accounting.parameters` has the proof of its bound.

    Examples
    --------
    >>> from dpverify import Relation
    >>> from dpverify.ledger import gaussian
    >>> rho_upper(gaussian(sigma=2.0, sensitivity=1.0), relation=Relation.REPLACE_ONE)
    Fraction(1, 8)
    """
    return max(rho_of(losses) for losses in _listed(ledger, relation))


def mu_upper(ledger: Ledger, *, relation: Relation) -> float:
    """Compute an upper bound on the parameter of Gaussian DP of a ledger.

    Parameters
    ----------
    ledger : Ledger
        What was done.
    relation : Relation
        Which datasets are neighbours.

    Returns
    -------
    float
        mu, rounded up; inf where a step has none.

    Raises
    ------
    ParameterError
        For a ledger that is none, or is made of lists or arrays.
    AccountingError
        If the ledger cannot be accounted, for example because it states no sensitivity under `relation`.

    Notes
    -----
    It is the root of the sum of the squares of those of all steps (Dong, Roth, Su 2022, Corollary 2).

    Examples
    --------
    >>> from dpverify import Relation
    >>> from dpverify.ledger import gaussian
    >>> mu_upper(gaussian(sigma=2.0, sensitivity=1.0) * 4, relation=Relation.REPLACE_ONE)
    1.0
    """
    square = max(mu_square_of(losses) for losses in _listed(ledger, relation))
    if not isinstance(square, Fraction):
        return math.inf
    return GaussianLoss(square).mu if square else 0.0


def renyi_upper(ledger: Ledger, *, alpha: float, relation: Relation) -> float:
    """Compute an upper bound on the Renyi divergence of a ledger.

    Parameters
    ----------
    ledger : Ledger
        What was done.
    alpha : float
        The order, 1 < alpha < inf.
    relation : Relation
        Which datasets are neighbours.

    Returns
    -------
    float
        A bound in both directions of every pair of neighbours; inf where none is known.

    Raises
    ------
    ParameterError
        For an order outside (1, inf), and for a ledger that is none, or is made of lists or arrays.
    AccountingError
        If the ledger cannot be accounted, for example because it states no sensitivity under `relation`.

    Notes
    -----
    Divergences of dominating pairs add up under adaptive composition (Mironov 2017, Proposition 1).

    Examples
    --------
    >>> from dpverify import Relation
    >>> from dpverify.ledger import gaussian
    >>> renyi_upper(gaussian(sigma=2.0, sensitivity=1.0), alpha=4.0, relation=Relation.REPLACE_ONE)
    0.5
    """
    require.positive(alpha=alpha)
    if not 1 < alpha < math.inf:
        raise ParameterError("alpha", alpha, "in (1, inf)")
    order = float_up(as_fraction(alpha))  # divergences grow with their order
    return max(_renyi(losses, order) for losses in _listed(ledger, relation))


def factor_upper(claim: RenyiDP | TradeOff, ledger: Ledger) -> float:
    """Compute the smallest factor on a claim's curve that a ledger proves.

    Parameters
    ----------
    claim : RenyiDP or TradeOff
        The claim with the curve and the relation.
    ledger : Ledger
        What was done.

    Returns
    -------
    float
        The factor, from above (to 1 in 1000 for a trade-off curve); inf where nothing is proved.

    Raises
    ------
    ParameterError
        For a ledger that is none, or is made of lists or arrays.
    AccountingError
        If the ledger cannot be accounted, for example because it states no sensitivity under `relation`.

    Examples
    --------
    >>> from dpverify import RenyiDP
    >>> from dpverify.ledger import gaussian
    >>> factor_upper(RenyiDP(((2.0, 1.0), (4.0, 1.0))), gaussian(sigma=2.0, sensitivity=1.0))
    0.5
    """
    relation = claim.relation
    if isinstance(claim, RenyiDP):
        return _renyi_factor(claim, lambda alpha: renyi_upper(ledger, alpha=alpha, relation=relation))
    return tradeoff_factor(claim, lambda eps: delta_upper(ledger, eps=eps, relation=relation))


def eps_upper(ledger: Ledger, *, delta: float, relation: Relation) -> float:
    """Compute the smallest eps that a ledger proves at a delta.

    Parameters
    ----------
    ledger : Ledger
        What was done.
    delta : float
        At which eps is computed, in [0, 1). At 0 the bound is `pure_eps`, rounded up.
    relation : Relation
        Which datasets are neighbours.

    Returns
    -------
    float
        eps, rounded up; inf where nothing is proved.

    Raises
    ------
    ParameterError
        For delta outside [0, 1), and for a ledger that is none, or is made of lists or arrays.
    AccountingError
        If the ledger cannot be accounted, for example because it states no sensitivity under `relation`.

    Warns
    -----
    LooseAccountWarning
        Where so many coordinates are composed that the bound is not tight.

    Notes
    -----
    `accounting.accountant` lists the bounds of which the smallest is taken.

    Examples
    --------
    >>> from dpverify import Relation
    >>> from dpverify.ledger import gaussian
    >>> round(eps_upper(gaussian(sigma=4.0, sensitivity=1.0), delta=1e-5, relation=Relation.REPLACE_ONE), 4)
    0.9263
    """
    require.delta(delta=delta)
    most = _down(delta)
    return max(_eps_of(losses, most) for losses in _listed(ledger, relation))


def delta_upper(ledger: Ledger, *, eps: float, relation: Relation) -> float:
    """Compute the smallest delta that a ledger proves at an eps.

    Parameters
    ----------
    ledger : Ledger
        What was done.
    eps : float
        At which delta is computed, 0 <= eps < inf.
    relation : Relation
        Which datasets are neighbours.

    Returns
    -------
    float
        delta, rounded up, in [0, 1]; 0 where eps of pure DP is proved.

    Raises
    ------
    ParameterError
        For eps outside [0, inf), and for a ledger that is none, or is made of lists or arrays.
    AccountingError
        If the ledger cannot be accounted, for example because it states no sensitivity under `relation`.

    Warns
    -----
    LooseAccountWarning
        Where so many coordinates are composed that the bound is not tight.

    Examples
    --------
    >>> from dpverify import Relation
    >>> from dpverify.ledger import gaussian
    >>> round(delta_upper(gaussian(sigma=1.0, sensitivity=1.0), eps=1.0, relation=Relation.REPLACE_ONE), 4)
    0.1269
    """
    require.non_negative(eps=eps)
    exact = as_fraction(eps)
    return max(0.0 if _pure(losses) <= exact else _delta_of(losses, _down(eps)) for losses in _listed(ledger, relation))


def _down(number: Any) -> float:
    """A float that is not above it: a fraction or a long float is rounded to where more has to be proved."""
    return float_down(as_fraction(number))


CLOSED = Fraction(1, 2**51)


def meets(claim: Claim, ledger: Ledger) -> bool:
    """Decide whether a ledger proves a claim, under the claim's relation.

    Parameters
    ----------
    claim : Claim
        What is claimed.
    ledger : Ledger
        What was done.

    Returns
    -------
    bool
        True iff the ledger proves the claim. False means "not proved", and nothing more.

    Raises
    ------
    ParameterError
        For a claim or a ledger that is none.
    AccountingError
        If the ledger cannot be accounted, for example because it states no sensitivity under the relation of the claim.

    Notes
    -----
    Pure claims, and zCDP and GDP ones of Gaussians, are compared in exact fractions, so that "exactly eps" meets eps.

    A sigma that is a root is no float: the nearest one makes mu^2 and rho another fraction, by at most 2^-52 of them,
    and by 2^-53 each where its square or the claim's number was rounded before. So of a closed form in fractions (rho
    and mu^2 of Gaussians) CLOSED = 2^-51 of it counts as equal. Bounds that are computed in floats are rounded outwards
    and compared as they are, and the figures that are reported are those of the floats.

    Examples
    --------
    >>> from dpverify import PureDP
    >>> from dpverify.ledger import laplace
    >>> noise = laplace(scale=2.0, sensitivity=1.0)
    >>> meets(PureDP(0.5), noise), meets(PureDP(0.49), noise)
    (True, False)
    """
    if not isinstance(claim, Claim):
        raise ParameterError("claim", claim, "a PureDP, ApproxDP, ZCDP, GaussianDP, RenyiDP or TradeOff")
    relation = claim.relation
    match claim:
        case PureDP():
            return pure_eps(ledger, relation=relation) <= as_fraction(claim.eps)
        case ApproxDP():
            if pure_eps(ledger, relation=relation) <= as_fraction(claim.eps):
                return True
            if claim.delta == 0:
                return False
            # floats and fractions are compared exactly, infinity included
            within = eps_upper(ledger, delta=claim.delta, relation=relation) <= as_fraction(claim.eps)
            return within or delta_upper(ledger, eps=claim.eps, relation=relation) <= as_fraction(claim.delta)
        case ZCDP():
            return rho_upper(ledger, relation=relation) <= as_fraction(claim.rho) * _equal_to(ledger, relation)
        case GaussianDP():
            square = max(mu_square_of(losses) for losses in _listed(ledger, relation))
            return square <= as_fraction(claim.mu) ** 2 * _equal_to(ledger, relation)
        case RenyiDP():
            return meets_renyi(claim, lambda alpha: renyi_upper(ledger, alpha=alpha, relation=relation))
        case TradeOff():
            return meets_tradeoff(claim, lambda eps: delta_upper(ledger, eps=eps, relation=relation))
    raise AccountingError(f"no rule says when a ledger meets a {type(claim).__name__}")


def _equal_to(ledger: Ledger, relation: Relation) -> Fraction:
    """What a number of a claim is multiplied with: 1 + CLOSED where all losses are those of Gaussians, else 1."""
    closed = all(isinstance(loss, GaussianLoss) for losses in _listed(ledger, relation) for loss, _ in losses)
    return 1 + CLOSED if closed else Fraction(1)


def _listed(ledger: Ledger, relation: Relation) -> tuple[Losses, ...]:
    if not isinstance(ledger, Ledger):
        raise ParameterError("ledger", ledger, "a Ledger")
    require.member(Relation, relation=relation)
    try:
        hash(ledger)  # what was computed once is kept
    except TypeError:
        raise ParameterError("ledger", ledger, "made of numbers and tuples (no lists or arrays)") from None
    return alternatives(ledger, relation)


def _renyi(losses: Losses, alpha: float) -> float:
    terms = [(renyi_of_loss(loss, alpha), count) for loss, count in losses]
    if any(value == math.inf for value, _ in terms):
        return math.inf
    return float_up(sum((count * Fraction(value) for value, count in terms), Fraction(0)))


def _total(parts: list[tuple[Exact, int]]) -> Exact:
    total = Fraction(0)
    for value, count in parts:
        if not isinstance(value, Fraction):
            return math.inf
        total += count * value
    return total


def _eps_of(losses: Losses, delta: float) -> float:
    pure = _pure(losses)
    most = float_up(pure) if isinstance(pure, Fraction) else math.inf
    if delta <= 2 * profiles.LEAST_DELTA or most == 0:  # no smaller delta is told apart from 0
        return most
    if _close_to_pure(losses, most, delta):
        found = profiles.response_eps(most, 0.0, delta) * (1 + RESPONSE_ERROR)
        return min(most, found if profiles.response_delta(most, 0.0, found) * (1 + RESPONSE_ERROR) <= delta else most)
    if _delta_of(losses, 0.0) <= delta:
        return 0.0
    near = composed(chosen_as_runs(losses)).guess(delta) if _composable(losses) else 1.0
    return min(most, _inverted(lambda eps: _delta_of(losses, eps), delta, near))


def _close_to_pure(losses: Losses, most: float, delta: float) -> bool:
    """Whether eps(delta) is within 2e-5 of the sum of the largest losses: then it is not worth a composition.

    A law of largest loss a has D(x) <= P(L > x) (1 - e^(x - a)), which bounds P(L > x) from below; all losses within a
    share `CLOSE` of their largest, the sum is. Tightness hangs on it, never safety.
    """
    if most == math.inf or not _composable(losses):
        return False
    log_chance = math.log(-math.expm1(-CLOSE * most) + 1e-300)
    for loss, count in losses:
        a = float_up(as_fraction(loss.pure))
        reach = max(a, loss.window(1e-300)[1]) - a * (1 - CLOSE)  # a listed law may end a little above its loss
        found = float(loss.profile(np.array([a * (1 - CLOSE)]))[0]) / (-math.expm1(-reach) + 1e-300)
        log_chance += count * math.log(min(found, 1.0) + 1e-300)
    return log_chance > math.log(delta)


def _inverted(profile: Callable[[float], float], delta: float, near: float) -> float:
    """An eps with profile(eps) <= delta, the smallest up to 1e-12 where the profile falls; profile(0) > delta."""

    def excess(eps: float) -> float:
        return math.log(max(profile(eps), 1e-320)) - math.log(delta)

    high = low = min(max(near, 1e-300), MOST_EPS)
    step = 1.01
    while not excess(high) <= 0:
        if high >= MOST_EPS:
            return math.inf
        low, high, step = high, high * step, min(2.0, step**2)
    while high == low or excess(low) <= 0:
        high, low, step = low, low / step if low > 1e-300 else 0.0, min(2.0, step**2)
    eps, bump = float(scipy.optimize.brentq(excess, low, high, xtol=1e-300, rtol=1e-13)), 1e-13
    while not profile(eps) <= delta:
        eps, bump = eps * (1 + bump), 2 * bump
    return eps


def _composable(losses: Losses) -> bool:
    return all(loss.listable and not isinstance(loss, ConcentratedLoss) for loss, _ in losses)


def _delta_of(losses: Losses, eps: float) -> float:
    """The smallest of the bounds in the head of this module."""
    pure = _pure(losses)
    if pure <= Fraction(eps):
        return 0.0
    bounds = [1.0]
    if isinstance(pure, Fraction):
        bounds.append((1 + RESPONSE_ERROR) * profiles.response_delta(float_up(pure), 0.0, eps))
    rounding, eps = math.inf, min(eps, MOST_EPS)  # delta falls
    if pure < NOTHING:
        return min(bounds)
    if _composable(losses):
        found = [_by_composition(each, eps) for each in dict.fromkeys((losses, chosen_as_runs(losses)))]
        rounding = min(each for _, each in found)
        bounds += [delta for delta, _ in found]
    if not _composable(losses):
        bounds.append(profiles.renyi_delta(ORDERS, _divergences(losses), eps))
    if rounding > MOST_ROUNDING or min(bounds) == 1:
        rho = rho_of(losses)
        if isinstance(rho, Fraction) and rho < MOST_RHO:
            bounds.append((1 + ZCDP_ERROR) * profiles.zcdp_delta(float_up(rho), eps))
    if MOST_ROUNDING < rounding < math.inf:
        warnings.warn(ROUNDED, LooseAccountWarning, stacklevel=2)
    return max(min(bounds), profiles.LEAST_DELTA)  # a sum may be rounded to 0: nothing but `pure` says that it is


@lru_cache(maxsize=256)
def _divergences(losses: Losses) -> npt.NDArray[np.float64]:
    return np.array([_renyi(losses, float(alpha)) for alpha in ORDERS])


def _by_composition(losses: Losses, eps: float) -> tuple[float, float]:
    """delta, and about which share of it is charged for floating point."""
    ((loss, count), *others) = losses
    if count == 1 and not others:
        return float(loss.profile(np.array([eps]))[0]), 0.0
    many = sum(count for _, count in losses) > MANY
    return composed(losses).delta_at(eps), composed(losses).rounding_at(eps) if many else 0.0


def _pure(losses: Losses) -> Exact:
    """Of the order of the datasets that is worse for all losses together."""
    return max(_total([(loss.pure_ways[way], count) for loss, count in losses]) for way in (0, 1))


# ----------------------------------------------------------------------------------------------------------------------
# When a ledger proves a claim that is a curve: functions of the ledger's Renyi divergences and of its delta(eps).
#
# `divergence(alpha)` and `delta(eps)` are upper bounds that cover both directions of every pair of neighbours.


Bound = Callable[[float], float]

FACTOR_CLOSE = 1e-3  # a trade-off factor is found to this, from above
MOST_FACTOR = 2.0**60


def meets_renyi(claim: RenyiDP, divergence: Bound) -> bool:
    """Decide whether Renyi divergences are within those that a claim lists.

    Parameters
    ----------
    claim : RenyiDP
        The claim: D_alpha <= factor * eps at each of its orders.
    divergence : callable
        Upper bound on the divergence of an order, in both directions of every pair of neighbours.

    Returns
    -------
    bool
        Whether all of them are.

    Examples
    --------
    >>> from dpverify import RenyiDP
    >>> meets_renyi(RenyiDP(((2, 0.25), (4, 0.5))), lambda alpha: alpha / 8)
    True
    """
    factor = as_fraction(claim.factor)
    return all(divergence(alpha) <= factor * Fraction(eps) for alpha, eps in claim.curve)


def _renyi_factor(claim: RenyiDP, divergence: Bound) -> float:
    """max over the listed orders of D_alpha/eps, rounded up: the smallest factor that is proved."""
    worst = 0.0
    for alpha, eps in claim.curve:
        value = divergence(alpha)
        if value == math.inf:
            return math.inf
        worst = max(worst, float_up(Fraction(value) / Fraction(eps)))
    return worst


def meets_tradeoff(claim: TradeOff, delta: Bound) -> bool:
    """Decide whether a profile of deltas proves a trade-off curve.

    Parameters
    ----------
    claim : TradeOff
        The claim.
    delta : callable
        Upper bound on delta at an eps >= 0, in both directions of every pair of neighbours.

    Returns
    -------
    bool
        Whether the curve of the profile is nowhere below the claim.

    Notes
    -----
    It is the finite conjunction over the segments, see `TradeOff.segments`. The vertices would not do: the ledger's own
    curve is convex and may dip below the claim between them.

    Examples
    --------
    >>> import math
    >>> from dpverify import TradeOff
    >>> claim = TradeOff(((0, 1), (0.25, 0.25), (1, 0)))  # log(3)-DP
    >>> meets_tradeoff(claim, lambda eps: max(0.0, (2 - math.exp(eps)) / 3))  # randomised response of log(2)
    True
    """
    return all(_holds(ratio, missing, delta) for ratio, missing in claim.segments())


def tradeoff_factor(claim: TradeOff, delta: Bound) -> float:
    """Compute the smallest factor on a trade-off curve that a profile of deltas proves.

    Parameters
    ----------
    claim : TradeOff
        The claim, with any factor.
    delta : callable
        Upper bound on delta at an eps >= 0, in both directions of every pair of neighbours.

    Returns
    -------
    float
        The factor, from above and to 1 in 1000; inf where none is found.

    Notes
    -----
    A larger factor only weakens every segment, so the set of factors that are proved is an interval up to infinity.

    Examples
    --------
    >>> from dpverify import TradeOff
    >>> claim = TradeOff(((0, 1), (0.25, 0.25), (1, 0)))
    >>> 1 <= tradeoff_factor(claim, claim.delta_at) <= 1.001
    True
    """
    low, high = 0.0, 1.0
    while not meets_tradeoff(claim.with_number(high), delta):
        low, high = high, 2 * high
        if high > MOST_FACTOR:
            return math.inf
    if low == 0:  # the claim itself is proved: how much less would be
        low = high / 2
        while meets_tradeoff(claim.with_number(low), delta) and low > 1 / MOST_FACTOR:
            low, high = low / 2, low
    while high - low > FACTOR_CLOSE * high:
        middle = (low + high) / 2
        low, high = (low, middle) if meets_tradeoff(claim.with_number(middle), delta) else (middle, high)
    return high


def _holds(ratio: Fraction, missing: Fraction, delta: Bound) -> bool:
    """D(log ratio) <= missing, with the logarithm rounded down, where D is larger."""
    if missing < 0:
        return False
    return Fraction(delta(_log_down(ratio))) <= missing


def _log_down(ratio: Fraction) -> float:
    """A float <= log(ratio), for a ratio >= 1; at most 1e-15 relative (1e-14 for huge ratios) below it."""
    if ratio < 2:
        value = math.log1p(float(ratio - 1))
        return max(0.0, math.nextafter(math.nextafter(value * (1 - 2.0**-52), 0.0), 0.0))
    value = math.log(ratio.numerator) - math.log(ratio.denominator)
    return value - 2.0**-50 * (math.log(ratio.numerator) + math.log(ratio.denominator))


# ----------------------------------------------------------------------------------------------------------------------
# What a ledger says about a claim: eps at its delta, its own number, and whether it is met.


@dataclass(frozen=True)
class Account:
    """An Account says what the ledger proves about a claim.

    `account_of` makes it. All fields are empty where there is no ledger.

    Parameters
    ----------
    eps_upper : float or None
        Upper bound on eps at the claim's delta.
    number_upper : float or None
        Upper bound in the claim's own unit: eps, rho, mu or factor.
    accounted : bool or None
        Whether the ledger proves the claim.
    rows : tuple of tuple of str
        Rows of the ledger as `ledger.description.COLUMNS`.
    note : str
        Why there is no account, where the ledger is silent.
    charged : tuple of Charged, or None
        The ledger's events as numbers; None where some are more than noise.
    """

    eps_upper: float | None = None
    number_upper: float | None = None
    accounted: bool | None = None
    rows: tuple[tuple[str, ...], ...] = ()
    note: str = ""
    charged: tuple[Charged, ...] | None = None


def account_of(claim: Claim, ledger: Ledger | None) -> Account:
    """Account a ledger at a claim's delta and in its own unit.

    Parameters
    ----------
    claim : Claim
        What is claimed.
    ledger : Ledger or None
        What was done.

    Returns
    -------
    Account
        Its `note` says so where the ledger is silent about the relation of the claim. It is empty without a ledger.

    Raises
    ------
    ParameterError
        For a ledger that is none.

    Examples
    --------
    >>> from dpverify import PureDP
    >>> from dpverify.ledger import laplace
    >>> found = account_of(PureDP(1.0), laplace(scale=2.0, sensitivity=1.0))
    >>> found.eps_upper, found.accounted
    (0.5, True)
    """
    if ledger is None:
        return Account()
    try:
        upper = eps_upper(ledger, delta=claim.delta, relation=claim.relation)
    except AccountingError as error:  # the ledger is silent about this relation: no account, and said so
        return Account(rows=description.rows(ledger, claim.relation), note=f"not accounted: {error}")
    return Account(
        eps_upper=upper,
        number_upper=number_upper_of(claim, ledger, upper),
        accounted=meets(claim, ledger),
        rows=description.rows(ledger, claim.relation),
        charged=charged(ledger, claim.relation),
    )


def number_upper_of(claim: Claim, ledger: Ledger, eps_upper: float) -> float:
    """Compute a ledger's bound in a claim's own unit: rho, mu, the factor on a curve, or eps.

    Parameters
    ----------
    claim : Claim
        The claim.
    ledger : Ledger
        What was done.
    eps_upper : float
        The ledger's eps at the claim's delta, which is returned where the claim is about eps.

    Returns
    -------
    float
        The bound, rounded up.

    Raises
    ------
    AccountingError
        For a notion whose own number no ledger is asked for.

    Examples
    --------
    >>> from dpverify import ZCDP
    >>> from dpverify.ledger import gaussian
    >>> number_upper_of(ZCDP(0.5), gaussian(sigma=2.0, sensitivity=1.0), 1.0)
    0.125
    """
    if isinstance(claim, GaussianDP):
        return mu_upper(ledger, relation=claim.relation)
    if isinstance(claim, RenyiDP | TradeOff):
        return factor_upper(claim, ledger)
    if isinstance(claim, ZCDP):
        rho = rho_upper(ledger, relation=claim.relation)
        return float_up(rho) if isinstance(rho, Fraction) else rho
    if not isinstance(claim, PureDP | ApproxDP):
        raise AccountingError(f"{type(claim).__name__}: a notion whose own number no ledger is asked for")
    return eps_upper
