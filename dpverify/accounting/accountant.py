"""Ledger -> parameters. Every number is an upper bound, and a proof given the ledger.

A changed user meets one alternative (one branch of each `OneOf`, in the stated directions or all of them
mirrored); the worst alternative is charged. For each alternative the smallest of several valid bounds on
delta(eps) is taken:

    one loss, or any number of Gaussians         its own profile
    sums of pure losses                          `profiles.response_delta` of the exact sum
    sums of any losses that can be listed        `composition`: tilted trapezoid sums of laws above them
    the same, steps with several pairs of laws   as one loss each, of the worst sequence of pairs: `run_loss`
    what none of these says anything about, and
    where floating point costs 1e-3 of delta     zCDP parameters, `profiles.zcdp_delta`

Each closed form states what its arithmetic may err by and is rounded up by that. Accounts of compositions are within
some 1e-4 of the truth down to delta = 1e-20 and for up to 1e9 coordinates. More is charged for what `run_loss` names.
Deltas below 1e-300 are not told apart (below 1e-32 where noise is on integers), nor losses of listed laws below 1e-15.
"""

import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import scipy

from dpverify.accounting import curve_claims
from dpverify.accounting.composition import composed
from dpverify.accounting.concentrated_loss import ConcentratedLoss
from dpverify.accounting.continuous_losses import GaussianLoss
from dpverify.accounting.ledger import Ledger
from dpverify.accounting.loss import Exact
from dpverify.accounting.losses_of_ledger import alternatives, Losses
from dpverify.accounting.parameters import mu_square_of, renyi_of_loss, rho_of
from dpverify.accounting.run_loss import gathered
from dpverify.base import require
from dpverify.base.errors import AccountingError, ParameterError, UsageError
from dpverify.base.rounding import as_fraction, float_down, float_up, UNIT
from dpverify.claims import profiles
from dpverify.claims.claim import ApproxDP, Claim, GaussianDP, PureDP, ZCDP
from dpverify.claims.curves import RenyiDP, TradeOff
from dpverify.claims.neighbours import Relation

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
    """Upper bound on eps at `delta`, of a ledger, of anything that has one as `.ledger`, or of a `Subject`.

    >>> from dpverify.accounting.ledger import LaplaceNoise, Ledger, Sensitivity
    >>> account(Ledger(LaplaceNoise(scale=2.0, sensitivity=Sensitivity(replace=1.0))))
    0.5

    Raises UsageError for something without a ledger, AccountingError when the ledger cannot be accounted
    (for example, states no sensitivity under `relation`), ParameterError for delta outside [0, 1).
    """
    return eps_upper(ledger_of(subject), delta=delta, relation=relation)


def ledger_of(subject: Any) -> Ledger:
    """The ledger itself or the subject's `.ledger`; where that is None, the one of its `.target`, as in an audit."""
    if isinstance(subject, Ledger):
        return subject
    kind = type(subject).__name__
    if isinstance(subject, type) or not hasattr(subject, "ledger"):
        raise UsageError(f"a {kind} cannot be accounted: it is no Ledger and has no attribute `ledger`")
    ledger = subject.ledger
    if ledger is None:
        ledger = getattr(getattr(subject, "target", None), "ledger", None)
    if ledger is None:
        raise AccountingError(f"this {kind} states no ledger (its `ledger` is None)")
    if not isinstance(ledger, Ledger):
        raise UsageError(f"the `ledger` of this {kind} is a {type(ledger).__name__}, not a Ledger")
    return ledger


def pure_eps(ledger: Ledger, *, relation: Relation) -> Exact:
    """Sum of the largest log ratios in the worse order, an exact fraction; math.inf where there is none."""
    return max(_pure(losses) for losses in _listed(ledger, relation))


def rho_upper(ledger: Ledger, *, relation: Relation) -> Exact:
    """zCDP parameter, rounded up; an exact fraction where all noise is Gaussian. inf where none is known.

    The supremum over alpha of the Renyi divergence over alpha, to 1e-5; see `parameters`.
    """
    return max(rho_of(losses) for losses in _listed(ledger, relation))


def mu_upper(ledger: Ledger, *, relation: Relation) -> float:
    """GDP parameter, rounded up: the root of the sum of squares of those of all steps; inf where one has none."""
    square = max(mu_square_of(losses) for losses in _listed(ledger, relation))
    if not isinstance(square, Fraction):
        return math.inf
    return GaussianLoss(square).mu if square else 0.0


def renyi_upper(ledger: Ledger, *, alpha: float, relation: Relation) -> float:
    """Upper bound on the Renyi divergence of an order 1 < alpha < inf, both directions; inf where none is known.

    Divergences of dominating pairs add up under adaptive composition (Mironov 2017, Proposition 1).
    """
    require.positive(alpha=alpha)
    if not 1 < alpha < math.inf:
        raise ParameterError("alpha", alpha, "in (1, inf)")
    order = float_up(as_fraction(alpha))  # divergences grow with their order
    return max(_renyi(losses, order) for losses in _listed(ledger, relation))


def factor_upper(claim: RenyiDP | TradeOff, ledger: Ledger) -> float:
    """The smallest factor on the claim's curve that the ledger proves, from above; inf where there is none."""
    relation = claim.relation
    if isinstance(claim, RenyiDP):
        return curve_claims.renyi_factor(claim, lambda alpha: renyi_upper(ledger, alpha=alpha, relation=relation))
    return curve_claims.tradeoff_factor(claim, lambda eps: delta_upper(ledger, eps=eps, relation=relation))


def eps_upper(ledger: Ledger, *, delta: float, relation: Relation) -> float:
    """Smallest eps that is proved at `delta`, rounded up; inf where none is.

    At delta = 0 this is `pure_eps`, exactly rounded up. Raises ParameterError unless 0 <= delta < 1.
    """
    require.delta(delta=delta)
    most = _down(delta)
    return max(_eps_of(losses, most) for losses in _listed(ledger, relation))


def delta_upper(ledger: Ledger, *, eps: float, relation: Relation) -> float:
    """Smallest delta that is proved at `eps`. Raises ParameterError unless 0 <= eps < inf."""
    require.non_negative(eps=eps)
    exact = as_fraction(eps)
    return max(0.0 if _pure(losses) <= exact else _delta_of(losses, _down(eps)) for losses in _listed(ledger, relation))


def _down(number: Any) -> float:
    """A float that is not above it: a fraction or a long float is rounded to where more has to be proved."""
    return float_down(as_fraction(number))


def meets(claim: Claim, ledger: Ledger) -> bool:
    """True iff the ledger proves the claim, under the claim's relation.

    Pure claims, and zCDP and GDP ones of Gaussians, are compared in exact fractions, so that "exactly eps" meets
    eps. False means "not proved", and nothing more.
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
            return rho_upper(ledger, relation=relation) <= as_fraction(claim.rho)
        case GaussianDP():
            square = max(mu_square_of(losses) for losses in _listed(ledger, relation))
            return square <= as_fraction(claim.mu) ** 2
        case RenyiDP():
            return curve_claims.meets_renyi(claim, lambda alpha: renyi_upper(ledger, alpha=alpha, relation=relation))
        case TradeOff():
            return curve_claims.meets_tradeoff(claim, lambda eps: delta_upper(ledger, eps=eps, relation=relation))
    raise AccountingError(f"no rule says when a ledger meets a {type(claim).__name__}")


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
    near = composed(gathered(losses)).guess(delta) if _composable(losses) else 1.0
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
        found = [_by_composition(each, eps) for each in dict.fromkeys((losses, gathered(losses)))]
        rounding = min(each for _, each in found)
        bounds += [delta for delta, _ in found]
    if rounding > MOST_ROUNDING or min(bounds) == 1:
        rho = rho_of(losses)
        if isinstance(rho, Fraction) and rho < MOST_RHO:
            bounds.append((1 + ZCDP_ERROR) * profiles.zcdp_delta(float_up(rho), eps))
    if MOST_ROUNDING < rounding < math.inf:
        warnings.warn(ROUNDED, LooseAccountWarning, stacklevel=2)
    return max(min(bounds), profiles.LEAST_DELTA)  # a sum may be rounded to 0: nothing but `pure` says that it is


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
