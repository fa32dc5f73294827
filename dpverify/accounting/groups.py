"""Ledgers of groups: what k changes, one after the other, cost together; an odometer and private selection beside it.

Additive log-concave noise. A coordinate that moves by k s costs at most f_s iterated k times = f_(k s) (Dong, Roth, Su
2022, Theorem 4, with equality for shifts). k changes of c coordinates by s move coordinates i by m_i s, m_i <= k, sum
m_i <= k c. Densities (Laplace, Gauss): min(p(x), e^eps p(x - v)) is log-concave in (x, v), so its integral is in v
(Prekopa), delta = 1 - integral is quasi-convex in v, and its largest value on this set of v is at a vertex: c
coordinates by k s. Chosen one after the other, by induction from the last one. Integer noise, symmetric: moves are
packed as they come into bins of capacity k, a bin costs no more than one coordinate by k s (iterate f_s along it),
bins compose although they overlap in time (Vadhan, Zhang 2023); two bins of at most k/2 are never open, which leaves c
bins for k = 2 and 2c - 1 beyond. Pure steps, and runs of sparse vector, are packed in the same way.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

from dpverify.accounting.accountant import eps_upper, pure_eps
from dpverify.base import require
from dpverify.base.rounding import as_fraction, float_up, sqrt_up
from dpverify.claims.claim import GaussianDP, PureDP, ZCDP
from dpverify.claims.neighbours import Relation
from dpverify.errors import AccountingError, ParameterError
from dpverify.ledger.compound_events import AboveThreshold, Filtered, MatrixGaussian, Selected
from dpverify.ledger.events import (
    BinomialNoise,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    Exposed,
    FiniteLaws,
    GaussianNoise,
    KaryResponse,
    LaplaceNoise,
    Ledger,
    PureStep,
    Sensitivity,
    Shift,
)


def group_of(ledger: Ledger, k: int) -> Ledger:
    """Make the ledger of the same releases for datasets that are k steps of the relation apart, such as k users.

    Parameters
    ----------
    ledger : Ledger
        Of one step.
    k : int
        How many steps, at least 1.

    Returns
    -------
    Ledger
        Additive noise: sizes times k, exact for one coordinate and for Laplace and Gaussian noise; integer noise with c
        > 1 coordinates and k > 2 is charged 2c - 1 of them. A report that changes k times is one changed report of
        another user or of the same: k times as many reports. Listed laws and pure steps: k times the largest log ratio.
        Budgets: k eps, k^2 rho, k mu.

    Raises
    ------
    ParameterError
        For k below 1.
    AccountingError
        For events without such a rule: sampling (state the `DominatingPair` of the group, for Gaussians a `Mixture`,
        Ganesh 2024), branches (each member of the group may be in another one), and noise of unfair bits.

    Notes
    -----
    `group_of(ledger under add/remove, 2)` under add/remove is what replaces one user. A ledger of rows, for users of at
    most N rows: k = N under add/remove; 2 N of add/remove where a user is replaced by one with another number of rows.
    The proofs are those of `accounting.groups`.

    Examples
    --------
    >>> from dpverify import account
    >>> from dpverify.accounting.groups import group_of
    >>> from dpverify.ledger import laplace
    >>> account(group_of(laplace(scale=2.0, sensitivity=1.0), 3))
    1.5
    """
    require.integer(at_least=1, k=k)
    if k == 1:
        return ledger
    return Ledger.of(*((_grouped(event, int(k)), times) for event, times in ledger.counted))


def _grouped(event: Event, k: int) -> Event:
    match event:
        case LaplaceNoise() | GaussianNoise():
            return replace(event, sensitivity=_moved(event.sensitivity, k))
        case DiscreteLaplaceNoise() | DiscreteGaussianNoise():
            return replace(event, sensitivity=_moved(event.sensitivity, k, partial(_packed, k)))
        case BinomialNoise(probability=0.5) | AboveThreshold():
            return replace(event, sensitivity=_moved(event.sensitivity, k, partial(_packed, k)))
        case KaryResponse():
            return replace(event, reports=_more(event.reports, k))
        case PureStep():
            uses = _moved(event.uses, 1, partial(_packed, k))
            return replace(event, eps=float_up(k * as_fraction(event.eps)), uses=uses)
        case MatrixGaussian():
            return replace(event, movement=_moved(event.movement, k))
        case FiniteLaws():
            return _finite(event, k)
        case Filtered():
            return replace(event, budget=_budget(event, k))
        case Exposed():
            return event
    raise AccountingError(f"no account of a group is known for {type(event).__name__} ({event.what or 'unnamed'})")


def _moved(sensitivity: Sensitivity, k: int, count: Callable[[int], int] = int) -> Sensitivity:
    """Sizes times k, rounded up, without directions."""

    def times(shifts: tuple[Shift, ...] | None) -> tuple[Shift, ...] | None:
        if shifts is None:
            return None
        return tuple(Shift(float_up(as_fraction(shift.size) * k), count(shift.count)) for shift in shifts)

    return Sensitivity(replace=times(sensitivity.replace), add_remove=times(sensitivity.add_remove))


def _packed(k: int, count: int) -> int:
    """How many moves by the full k hold `count` k single ones."""
    return count if k <= 2 or not count else 2 * count - 1


def _more(reports: Sensitivity, k: int) -> Sensitivity:
    found = [
        None if shifts is None else tuple(replace(shift, count=shift.count * k) for shift in shifts)
        for shifts in (reports.replace, reports.add_remove)
    ]
    return Sensitivity(replace=found[0], add_remove=found[1])


def _finite(event: FiniteLaws, k: int) -> Event:
    pure = pure_eps(Ledger(event), relation=event.relation)
    if not isinstance(pure, Fraction):
        return Exposed(what=event.what)
    if not pure:
        return replace(event, directed=False)
    reached = Sensitivity(**{"replace" if "replace" in event.relation.value else "add_remove": 1})
    return PureStep(what=event.what, eps=float_up(k * pure), uses=reached)


def _budget(event: Filtered, k: int) -> PureDP | ZCDP | GaussianDP:
    budget = event.budget
    assert isinstance(budget, PureDP | ZCDP | GaussianDP)
    factor = k * k if isinstance(budget, ZCDP) else k
    return budget.with_number(float_up(factor * as_fraction(budget.number)))


def private_selection(
    ledger: Ledger,
    *,
    shape: float = 1.0,
    gamma: float | None = None,
    poisson: float | None = None,
    relation: Relation = Relation.REPLACE_ONE,
) -> Ledger:
    """The best of a random number of runs on the same data: hyperparameters that are tuned on the data themselves.

    The number of runs is drawn, apart from all data, from a truncated negative binomial law: `shape` 1 is geometric,
    0 logarithmic; or from a Poisson law. What is released is the best run's output, by a score that is a part of it.
    A number of runs that is fixed, or that somebody looked for, is no such law: every run is paid then (`composed`).

    Parameters
    ----------
    ledger : Ledger
        Of one run, all that it does with the data, its score included.
    shape : float
        eta > -1 of the negative binomial law of the number of runs.
    gamma : float, optional
        Its parameter in (0, 1); geometric of mean 1/gamma for shape 1. Needed unless a run has a finite pure eps, which
        is accounted for any gamma.
    poisson : float, optional
        Mean of a Poisson number of runs; where it is 0, nothing is released.
    relation : Relation
        Under which a pure eps of one run is taken.

    Returns
    -------
    Ledger
        One `Selected` where `gamma` or `poisson` is given, which is accounted by its Renyi divergences; else one
        `PureStep` of (2 + shape) times the pure eps, rounded up.

    Raises
    ------
    AccountingError
        Where one run has no finite pure eps, and neither `gamma` nor `poisson` is given.
    ParameterError
        Unless shape > -1 and finite.

    Notes
    -----
    With F the distribution function of a run's score and f the probability generating function of the number of runs,
    y is released with chance f(F(y)) - f(F(y-)), the integral of f' over [F(y-), F(y)], and f'(u) is proportional to
    (1 - (1 - gamma) u)^(-1 - shape). That bracket is (1 - u) + gamma u, two chances of one run: it changes by a factor
    of at most e^eps, and so does the length of the interval: (1 + shape) eps and eps.

    References
    ----------
    Papernot, Steinke (2022), Hyperparameter tuning with Renyi differential privacy, Corollary 3 and Theorems 2 and 6
    (proofs in `accounting.selection`); Liu, Talwar (2019).

    Examples
    --------
    >>> from dpverify import account
    >>> from dpverify.ledger import gaussian, laplace
    >>> account(private_selection(laplace(scale=2.0, sensitivity=1.0)))
    1.5
    >>> training = gaussian(sigma=4.0, sensitivity=1.0)
    >>> account(training, delta=1e-6) < account(private_selection(training, gamma=0.1), delta=1e-6) < 3
    True
    """
    if gamma is not None or poisson is not None:
        return Ledger(
            Selected(what="best of a random number of runs", run=ledger, gamma=gamma, shape=shape, poisson=poisson)
        )
    if not -1 < shape < math.inf:
        raise ParameterError("shape", shape, "above -1 and finite")
    eps = pure_eps(ledger, relation=relation)
    if not eps < math.inf:
        raise AccountingError(
            "private selection: one run has no finite pure eps; its Renyi divergences are accounted "
            "where gamma (or poisson) says of which law the number of runs is"
        )
    if eps == 0:
        return Ledger()
    once = Shift(1)
    reached = Sensitivity(replace=once) if relation is Relation.REPLACE_ONE else Sensitivity(add_remove=once)
    total = float_up((2 + as_fraction(shape)) * as_fraction(eps))
    return Ledger(PureStep(what="best of a random number of runs", eps=total, uses=reached))


def odometer_eps(spent: float, *, base: PureDP | ZCDP | GaussianDP, delta: float) -> float:
    """Compute the eps that holds at every moment of an adaptive run at once.

    Parameters
    ----------
    spent : float
        What was spent so far, in the unit of `base`: the sum of eps_t, of rho_t, or sqrt(sum mu_t^2); >= 0.
    base : PureDP, ZCDP or GaussianDP
        The first budget, and the relation.
    delta : float
        Failure mass of all moments together, in (0, 1).

    Returns
    -------
    float
        eps, rounded up: that of the smallest budget which is not exceeded.

    Raises
    ------
    ParameterError
        For `spent` below 0, and delta outside (0, 1).

    Notes
    -----
    Budgets B_j are 2^j times that of `base` (for mu: 2^j times mu^2), each a filter (`Filtered`) at delta_j = 6
    delta/(pi^2 (j+1)^2), which add up to delta: the smallest one that is not exceeded says the eps. Every j is decided
    by what was spent, so the statement holds whenever one looks.

    Examples
    --------
    >>> from dpverify import ZCDP
    >>> odometer_eps(0.1, base=ZCDP(0.5), delta=1e-6) == odometer_eps(0.5, base=ZCDP(0.5), delta=1e-6)
    True
    """
    require.non_negative(spent=spent)
    require.open_unit(delta=delta)
    used, number = as_fraction(spent), as_fraction(base.number)
    if isinstance(base, GaussianDP):
        used, number = used**2, number**2
    j = 0
    while number * 2**j < used:
        j += 1
    reached = number * 2**j
    budget = base.with_number(sqrt_up(reached) if isinstance(base, GaussianDP) else float_up(reached))
    share = delta * (6 / math.pi**2 * (1 - 1e-15)) / (j + 1) ** 2
    return eps_upper(Ledger(Filtered(budget=budget)), delta=share, relation=base.relation)
