"""Ledger -> parameters. Every number is an upper bound, and a proof given the ledger.

A changed user meets one alternative (one branch of each `OneOf`, in the stated directions or all of them
mirrored); the worst alternative is charged. For each alternative the smallest of several valid bounds on
delta(eps) is taken:

    one Laplace, response, k-ary, discrete or listed loss, or any number of Gaussians: its own profile
    sums of pure losses                          `profiles.response_delta` of the exact sum
    sums of zCDP parameters                      `profiles.zcdp_delta`
    one discrete or listed loss many times, its
    direction left open                          the worst sequence of directions, `adaptive`
    everything                                   composed privacy-loss distributions, `pld`

Closed forms are inflated by 1e-9 (relative), far more than their rounding errors. For bounds of composed
losses at delta below some 1e-10 see the floor in `pld`.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from dpverify.accounting import adaptive, pld
from dpverify.accounting.atomic_losses import listable
from dpverify.accounting.expand import alternatives, Losses
from dpverify.accounting.ledger import Ledger
from dpverify.accounting.losses import Exact, GaussianLoss
from dpverify.base import require
from dpverify.base.errors import AccountingError, ParameterError, UsageError
from dpverify.base.rounding import float_up
from dpverify.claims import profiles
from dpverify.claims.claim import ApproxDP, Claim, GaussianDP, PureDP, ZCDP
from dpverify.claims.neighbours import Relation

INFLATE = 1 + 1e-9
MOST_RHO = 10**6  # beyond it zCDP proves nothing at any eps that is searched


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
    """Sum of the largest log ratios, an exact fraction; math.inf where there is none."""
    return max(_total([(loss.pure, count) for loss, count in losses]) for losses in _listed(ledger, relation))


def rho_upper(ledger: Ledger, *, relation: Relation) -> Exact:
    """zCDP parameter, an exact fraction: Gaussians by shift^2/(2 sigma^2), pure losses by eps^2/2 each.

    math.inf where some loss has no known one (binomial noise, laws with different supports).
    """
    return max(_total([(loss.rho, count) for loss, count in losses]) for losses in _listed(ledger, relation))


def mu_upper(ledger: Ledger, *, relation: Relation) -> float:
    """GDP parameter, rounded up: sqrt(sum shift^2/sigma^2) where all noise is Gaussian, else inf."""
    square = _mu_square(ledger, relation)
    if not isinstance(square, Fraction):
        return math.inf
    return GaussianLoss(square).mu if square else 0.0


def eps_upper(ledger: Ledger, *, delta: float, relation: Relation) -> float:
    """Smallest eps that is proved at `delta`, rounded up; inf where none is.

    At delta = 0 this is `pure_eps`, exactly rounded up. Raises ParameterError unless 0 <= delta < 1.
    """
    require.delta(delta=delta)
    return max(_eps_of(losses, delta) for losses in _listed(ledger, relation))


def delta_upper(ledger: Ledger, *, eps: float, relation: Relation) -> float:
    """Smallest delta that is proved at `eps`. Raises ParameterError unless 0 <= eps < inf."""
    require.non_negative(eps=eps)
    return max(_delta_of(losses, eps) for losses in _listed(ledger, relation))


def meets(claim: Claim, ledger: Ledger) -> bool:
    """True iff the ledger proves the claim, under the claim's relation.

    Pure, zCDP and GDP claims are compared in exact fractions, so that "exactly eps" meets eps. False means
    "not proved", and nothing more.
    """
    if not isinstance(claim, Claim):
        raise ParameterError("claim", claim, "a PureDP, ApproxDP, ZCDP or GaussianDP")
    relation = claim.relation
    match claim:
        case PureDP():
            return pure_eps(ledger, relation=relation) <= Fraction(claim.eps)
        case ApproxDP():
            if pure_eps(ledger, relation=relation) <= Fraction(claim.eps):
                return True
            if claim.delta == 0:
                return False
            return (
                eps_upper(ledger, delta=claim.delta, relation=relation) <= claim.eps
                or delta_upper(ledger, eps=claim.eps, relation=relation) <= claim.delta
            )
        case ZCDP():
            return rho_upper(ledger, relation=relation) <= Fraction(claim.rho)
        case GaussianDP():
            return _mu_square(ledger, relation) <= Fraction(claim.mu) ** 2
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


def _total(parts: list[tuple[Exact, int]]) -> Exact:
    total = Fraction(0)
    for value, count in parts:
        if not isinstance(value, Fraction):
            return math.inf
        total += count * value
    return total


def _mu_square(ledger: Ledger, relation: Relation) -> Exact:
    worst: Exact = Fraction(0)
    for losses in _listed(ledger, relation):
        for loss, _ in losses:  # Gaussians are gathered into one
            worst = max(worst, loss.square if isinstance(loss, GaussianLoss) else math.inf)
    return worst


def _eps_of(losses: Losses, delta: float) -> float:
    pure = _total([(loss.pure, count) for loss, count in losses])
    most = float_up(pure) if isinstance(pure, Fraction) else math.inf
    if delta == 0 or most == 0:
        return most
    return min(most, profiles.invert_profile(lambda eps: _delta_of(losses, eps), delta))


def _delta_of(losses: Losses, eps: float) -> float:
    pure = _total([(loss.pure, count) for loss, count in losses])
    if pure <= Fraction(eps):
        return 0.0
    bounds = [1.0]
    if isinstance(pure, Fraction):
        bounds.append(INFLATE * profiles.response_delta(float_up(pure), 0.0, eps))
    rho = _total([(loss.rho, count) for loss, count in losses])
    if isinstance(rho, Fraction) and rho < MOST_RHO:
        bounds.append(INFLATE * profiles.zcdp_delta(float_up(rho), eps))
    if all(listable(loss) for loss, _ in losses):
        if len(losses) == 1 and losses[0][1] == 1:
            bounds.append(INFLATE * float(losses[0][0].profile(np.array([eps]))[0]))
        else:
            bounds.append(pld.composed(losses).delta_at(eps))
            if adaptive.applies(losses):
                bounds.append(adaptive.worst_case(losses).delta_at(eps))
    return min(bounds)
