"""Ledger -> losses: every event becomes losses of independent coordinates, under one relation.

Both orders of a pair of neighbours must be covered: Pr[M(D) in E] <= e^eps Pr[M(D') in E] + delta and the same
with D and D' exchanged. A ledger states its directions in one of the two orders. In that order a coordinate
that goes UP compares X with X + s, one that goes DOWN compares X with X - s; exchanged, they compare X + s
with X and X - s with X, which are the same comparisons the other way round (subtract what both are shifted
by). So every ordered pair of neighbours meets the stated pattern or its mirror image, and there is no third
possibility: the two are alternatives, and the worse one is charged. k coordinates up and k down of the same
noise are their own mirror image. A move by less than stated, in the stated direction, is dominated by the
full one (see `loss_laws`). A coordinate without a direction has the worse of both in either alternative.
"""

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import TypeGuard

from dpverify.accounting.bounded_range import BoundedRangeLoss
from dpverify.accounting.discrete_losses import DirectedLoss, KaryLoss, LawsLoss, ResponseLoss
from dpverify.accounting.dominating_pairs import PairLoss, ShuffledLoss
from dpverify.accounting.loss_laws import Loss, Losses
from dpverify.accounting.noise_losses import (
    BinomialLoss,
    ConcentratedLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    LaplaceLoss,
    RevealedLoss,
)
from dpverify.accounting.sampled_losses import SampledLoss, Sampling
from dpverify.accounting.selection import SelectedLoss
from dpverify.base.rounding import as_fraction, float_down, float_up
from dpverify.claims.claim import GaussianDP, PureDP, ZCDP
from dpverify.claims.neighbours import Relation
from dpverify.errors import AccountingError
from dpverify.ledger.compound_events import (
    AboveThreshold,
    BoundedRange,
    DominatingPair,
    Filtered,
    FixedSizeSampled,
    MatrixGaussian,
    PoissonSampled,
    Selected,
    Shuffled,
)
from dpverify.ledger.events import (
    Assigned,
    BinomialNoise,
    Direction,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Disjoint,
    Event,
    Exposed,
    FiniteLaws,
    GaussianNoise,
    KaryResponse,
    LaplaceNoise,
    Ledger,
    OneOf,
    PureStep,
    Sensitivity,
    Shift,
)
from dpverify.ledger.laws import Normal

MOST_ALTERNATIVES = 256
LEAST_RATE = Fraction(1, 2**50)  # of a sample


@lru_cache(maxsize=1024)
def alternatives(ledger: Ledger, relation: Relation) -> tuple[Losses, ...]:
    """List the compositions that a changed user may meet: one for each choice of a branch in every `OneOf`.

    Parameters
    ----------
    ledger : Ledger
        What was done.
    relation : Relation
        Which datasets are neighbours.

    Returns
    -------
    tuple of tuple of (Loss, int)
        Each comes with its mirror image, where the two datasets change places. Equal ones are listed once, all
        Gaussians of a composition are one Gaussian, and the order of events is forgotten.

    Raises
    ------
    AccountingError
        When more than 256 choices are left, and for a ledger that states no sensitivity under the relation.

    Notes
    -----
    Where users are sampled, the first of the two datasets, in the order in which the ledger states its directions, has
    the user or lacks it, the same for the whole ledger: both are listed.

    Examples
    --------
    >>> from dpverify import Relation
    >>> from dpverify.ledger import gaussian
    >>> alternatives(gaussian(sigma=2.0, sensitivity=1.0) * 4, Relation.REPLACE_ONE)
    (((GaussianLoss(square=Fraction(1, 1)), 1),),)
    """
    choices = _choices(ledger, relation) | _choices(ledger, relation, added=True)
    return tuple(sorted({each for choice in choices for each in (choice, _mirrored(choice))}, key=repr))


def _mirrored(losses: Losses) -> Losses:
    return _gathered([(loss.mirrored, count) for loss, count in losses])


def _choices(ledger: Ledger, relation: Relation, *, added: bool = False) -> set[tuple[tuple[Loss, int], ...]]:
    """In the stated order; `added`: its first dataset lacks the user whom the second one has, else the other way."""
    options: list[set[tuple[tuple[Loss, int], ...]]] = []
    fixed: list[tuple[Loss, int]] = []
    for event, times in ledger.counted:
        if isinstance(event, OneOf):
            met = set().union(*(_choices(branch, relation, added=added) for branch in event.branches))
            options.append(_repeated(met | _crossings(event, relation), times))
        elif isinstance(event, PoissonSampled):
            options.append(_repeated(_poisson(event, relation, added), times))
        elif isinstance(event, FixedSizeSampled):
            options.append(_repeated(_fixed_size(event, relation), times))
        else:
            fixed += [(loss, times * count) for loss, count in event_losses(event, relation)]
    _few_enough(math.prod(map(len, options)))
    return {_gathered([*fixed, *itertools.chain(*picked)]) for picked in itertools.product(*options)}


def _poisson(event: PoissonSampled, relation: Relation, added: bool) -> set[Losses]:
    if relation is not Relation.ADD_OR_REMOVE_ONE:
        raise AccountingError(
            f"Poisson sampling is accounted under {Relation.ADD_OR_REMOVE_ONE} only: under {relation} the pair that "
            "amplification by sampling gives does not dominate (Lebeda, Regehr, Kamath, Steinke 2024)"
        )
    rate, choices = _rate(as_fraction(event.rate)), _choices(event.inside, relation, added=added)
    if rate == 1:
        return choices
    if rate == 0:
        return {()}
    # inside in the order (with the user, without it)
    sampling = Sampling.ADDED if added else Sampling.REMOVED
    ordered = {_mirrored(inside) if added else inside for inside in choices}
    return {((SampledLoss(rate, inside, sampling), 1),) if inside else () for inside in ordered}


def _rate(rate: Fraction) -> Fraction:
    """The rate, or a larger one where floats do not tell it from 0 or 1: who is sampled less often is hidden better."""
    if 0 < rate < LEAST_RATE:
        return LEAST_RATE
    return Fraction(1) if rate > 1 - LEAST_RATE else rate


def _fixed_size(event: FixedSizeSampled, relation: Relation) -> set[Losses]:
    if relation is not Relation.REPLACE_ONE:
        raise AccountingError(
            f"sampling of a fixed size is accounted under {Relation.REPLACE_ONE} only: under {relation} the number of "
            "users changes, and with it the chance of every other one to be sampled"
        )
    choices = _choices(event.inside, relation)
    if len(choices) > 1:
        raise AccountingError("branches inside of a sample of fixed size: three datasets are compared, not two")
    rate, (inside,) = _rate(Fraction(int(event.sampled), int(event.of))), choices
    if not rate or not inside:
        return {()}
    if rate == 1:
        return choices
    # of the three datasets any two are compared, in either order
    either = _gathered([(replace(loss, direction=None) if _directed(loss) else loss, count) for loss, count in inside])
    return {((SampledLoss(rate, either, Sampling.FIXED), 1),)}


def _directed(loss: Loss) -> TypeGuard[DirectedLoss]:
    return isinstance(loss, DirectedLoss) and loss.direction is not None


def _repeated(choices: set[Losses], times: int) -> set[Losses]:
    """What `times` uses of one `OneOf` come to: each use may meet a branch of its own, in whatever order."""
    if len(choices) > 1:
        _few_enough(math.comb(times + len(choices) - 1, times))
    if len(choices) == 1:
        (only,) = choices
        return {tuple((loss, times * count) for loss, count in only)}
    picks = itertools.combinations_with_replacement(sorted(choices, key=repr), times)
    return {_gathered(list(itertools.chain(*picked))) for picked in picks}


def _few_enough(combinations: int) -> None:
    if combinations > MOST_ALTERNATIVES:
        raise AccountingError(
            f"{combinations} combinations of disjoint branches: more than {MOST_ALTERNATIVES} "
            "are not enumerated; put them into one Disjoint where they split the users in the same way"
        )


def _crossings(event: OneOf, relation: Relation) -> "set[tuple[tuple[Loss, int], ...]]":
    """What a replaced user meets who leaves one branch and enters another; none where there is no such user.

    Given who is where, the branches' noises are independent and all other sets of users are equal in both datasets.
    The branch that is left loses a user in the order in which the other one gains one: its directions are mirrored.
    """
    if not isinstance(event, Disjoint) or relation is not Relation.REPLACE_ONE or len(event.branches) == 1:
        return set()
    if event.assigned is None:
        raise AccountingError(
            f"{len(event.branches)} disjoint branches under replace-one: a replaced user meets one of them where its "
            "place says which and two where its data do; state Disjoint(assigned=Assigned.BY_POSITION) or BY_DATA"
        )
    if event.assigned is Assigned.BY_POSITION:
        return set()
    copies = Counter(_choices_of(branch) for branch in event.branches)
    return {
        _gathered([*left, *_mirrored(entered)])
        for one, other in itertools.product(copies, repeat=2)
        if one != other or copies[one] > 1
        for left, entered in itertools.product(one, other)
    }


def _choices_of(branch: Ledger) -> "frozenset[tuple[tuple[Loss, int], ...]]":
    return frozenset(_choices(branch, Relation.ADD_OR_REMOVE_ONE))


def _gathered(losses: "list[tuple[Loss, int]] | Losses") -> Losses:
    counted: dict[Loss, int] = {}
    square = Fraction(0)
    for loss, count in losses:
        if isinstance(loss, GaussianLoss):
            square += count * loss.square
        else:
            counted[loss] = counted.get(loss, 0) + count
    if square:
        counted[GaussianLoss(square)] = 1
    return tuple(sorted(counted.items(), key=lambda item: (type(item[0]).__name__, repr(item[0]))))


def event_losses(event: Event, relation: Relation) -> list[tuple[Loss, int]]:
    """List the losses of one event that is not a `OneOf`.

    Parameters
    ----------
    event : Event
        The event.
    relation : Relation
        Which datasets are neighbours.

    Returns
    -------
    list of (Loss, int)
        Losses, and how many coordinates have each; nothing for coordinates that do not move.

    Raises
    ------
    AccountingError
        For an event that states no sensitivity under the relation.

    Examples
    --------
    >>> from dpverify import Relation
    >>> from dpverify.ledger import LaplaceNoise, Sensitivity
    >>> event_losses(LaplaceNoise(scale=2.0, sensitivity=Sensitivity(replace=1)), Relation.REPLACE_ONE)
    [(LaplaceLoss(eps=Fraction(1, 2)), 1)]
    """
    return [(loss, count) for loss, count in _losses(event, relation) if count]


def _losses(event: Event, relation: Relation) -> Iterator[tuple[Loss, int]]:
    match event:
        case LaplaceNoise():
            for size, count in _moved(event.sensitivity, relation):
                yield LaplaceLoss(size / as_fraction(event.scale)), count
        case DiscreteLaplaceNoise():
            for size, count in _moved(event.sensitivity, relation):
                yield DiscreteLaplaceLoss(as_fraction(event.scale), int(size)), count
        case GaussianNoise():
            for size, count in _moved(event.sensitivity, relation):
                yield GaussianLoss((size / as_fraction(event.sigma)) ** 2), count
        case DiscreteGaussianNoise():
            for size, count in _moved(event.sensitivity, relation):
                yield DiscreteGaussianLoss(as_fraction(event.sigma), int(size)), count
        case BinomialNoise():
            for shift in event.sensitivity.under(relation):
                if shift.size:
                    yield _binomial(event, shift), int(shift.count)
        case KaryResponse():
            yield KaryLoss(eps=as_fraction(event.eps), k=int(event.k)), _uses(event.reports, relation, "a report")
        case PureStep():
            yield ResponseLoss(as_fraction(event.eps)), _uses(event.uses, relation, "a use of a pure step")
        case FiniteLaws():
            if event.relation is not relation:
                raise AccountingError(f"the laws of {event.what!r} are stated under {event.relation}, not {relation}")
            if event.pairs:
                yield LawsLoss(event.pairs, direction=Direction.UP if event.directed else None), 1
        case DominatingPair():
            if event.relation is not relation:
                raise AccountingError(f"the pair of {event.what!r} is stated under {event.relation}, not {relation}")
            yield _pair(event), 1
        case BoundedRange():
            yield BoundedRangeLoss(as_fraction(event.eps)), _uses(event.uses, relation, "a use of a step")
        case AboveThreshold():
            for size, count in _moved(event.sensitivity, relation):
                yield ResponseLoss(event.largest_loss(size)), count * event.thresholds
                if event.value_scale is not None:
                    yield LaplaceLoss(size / as_fraction(event.value_scale)), count * int(event.count)
        case Shuffled():
            if relation is not Relation.REPLACE_ONE:
                raise AccountingError(f"shuffled reports are accounted under replace-one, not {relation}: n is public")
            yield ShuffledLoss(as_fraction(event.local_eps), int(event.users)), 1
        case MatrixGaussian():
            yield GaussianLoss(event.square(relation) / as_fraction(event.sigma) ** 2), 1
        case Filtered():
            yield _budget(event, relation), 1
        case Selected():
            if any(runs := alternatives(event.run, relation)):
                gamma = None if event.gamma is None else float_down(as_fraction(event.gamma))
                mean = None if event.poisson is None else float_up(as_fraction(event.poisson))
                yield SelectedLoss(runs, gamma, as_fraction(event.shape), mean), 1
        case Exposed():
            yield RevealedLoss(), 1
        case _:
            raise AccountingError(f"no account of {type(event).__name__} is known")


def _pair(event: DominatingPair) -> Loss:
    p, q = event.p, event.q
    if isinstance(p, Normal) and isinstance(q, Normal) and p.sigma == q.sigma:
        return GaussianLoss(((as_fraction(p.mean) - as_fraction(q.mean)) / as_fraction(p.sigma)) ** 2)
    return PairLoss(p, q, direction=Direction.UP if event.directed else None)


def _budget(event: Filtered, relation: Relation) -> Loss:
    if event.budget.relation is not relation:
        raise AccountingError(f"the budget of {event.what!r} is stated under {event.budget.relation}, not {relation}")
    match event.budget:
        case PureDP(eps=eps):
            return ResponseLoss(as_fraction(eps))
        case GaussianDP(mu=mu):
            return GaussianLoss(as_fraction(mu) ** 2)
        case ZCDP(rho=rho):
            return ConcentratedLoss(as_fraction(rho))
    raise AccountingError(f"no filter for a {type(event.budget).__name__} is known")


def _binomial(event: BinomialNoise, shift: Shift) -> BinomialLoss:
    # fair bits are symmetric: one loss for all directions
    direction = None if event.probability == 0.5 else shift.direction
    return BinomialLoss(int(event.trials), as_fraction(event.probability), int(shift.size), direction=direction)


def _moved(sensitivity: Sensitivity, relation: Relation) -> Iterator[tuple[Fraction, int]]:
    for shift in sensitivity.under(relation):
        if shift.size:
            yield as_fraction(shift.size), int(shift.count)


def _uses(sensitivity: Sensitivity, relation: Relation, what: str) -> int:
    shifts = [shift for shift in sensitivity.under(relation) if shift.size]
    for shift in shifts:
        if shift.size != 1 or shift.direction is not None:
            raise AccountingError(f"{shift!r}: {what} is reached or not, its size must be 1 and it has no direction")
    return sum(int(shift.count) for shift in shifts)
