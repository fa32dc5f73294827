"""Ledger -> losses: every event becomes losses of independent coordinates, under one relation.

Both orders of a pair of neighbours must be covered: Pr[M(D) in E] <= e^eps Pr[M(D') in E] + delta and the same
with D and D' exchanged. A ledger states its directions in one of the two orders. In that order a coordinate
that goes UP compares X with X + s, one that goes DOWN compares X with X - s; exchanged, they compare X + s
with X and X - s with X, which are the same comparisons the other way round (subtract what both are shifted
by). So every ordered pair of neighbours meets the stated pattern or its mirror image, and there is no third
possibility: the two are alternatives, and the worse one is charged. k coordinates up and k down of the same
noise are their own mirror image. A move by less than stated, in the stated direction, is dominated by the
full one (see `losses`). A coordinate without a direction has the worse of both in either alternative.
"""

import itertools
import math
import numbers
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from dpverify.accounting.atomic_losses import BinomialLoss, DiscreteGaussianLoss, DiscreteLaplaceLoss, LawsLoss
from dpverify.accounting.ledger import (
    BinomialNoise,
    Direction,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
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
from dpverify.accounting.losses import GaussianLoss, KaryLoss, LaplaceLoss, Loss, ResponseLoss, RevealedLoss
from dpverify.base.errors import AccountingError
from dpverify.claims.neighbours import Relation

MOST_ALTERNATIVES = 256
Losses = tuple[tuple[Loss, int], ...]  # (loss, how many coordinates have it), in an order of their own


@lru_cache(maxsize=1024)
def alternatives(ledger: Ledger, relation: Relation) -> tuple[Losses, ...]:
    """The compositions that a changed user may meet: one for each choice of a branch in every `OneOf`.

    Each comes with its mirror image, where the two datasets change places. Equal ones are listed once, all
    Gaussians of a composition are one Gaussian, and the order of events is forgotten. AccountingError when
    more than 256 choices are left.
    """
    choices = _choices(ledger, relation)
    return tuple(sorted({each for choice in choices for each in (choice, _mirrored(choice))}, key=repr))


def _mirrored(losses: Losses) -> Losses:
    return _gathered([(loss.mirrored, count) for loss, count in losses])


def _choices(ledger: Ledger, relation: Relation) -> set[tuple[tuple[Loss, int], ...]]:
    options: list[set[tuple[tuple[Loss, int], ...]]] = []
    fixed: list[tuple[Loss, int]] = []
    for event in ledger.events:
        if isinstance(event, OneOf):
            options.append(set().union(*(_choices(branch, relation) for branch in event.branches)))
        else:
            fixed += event_losses(event, relation)
    if math.prod(map(len, options)) > MOST_ALTERNATIVES:
        raise AccountingError(
            f"{math.prod(map(len, options))} combinations of disjoint branches: more than {MOST_ALTERNATIVES} "
            "are not enumerated; put them into one Disjoint where they split the users in the same way"
        )
    return {_gathered([*fixed, *itertools.chain(*picked)]) for picked in itertools.product(*options)}


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
    """Losses of one event that is not a `OneOf`; nothing for coordinates that do not move."""
    return [(loss, count) for loss, count in _losses(event, relation) if count]


def _losses(event: Event, relation: Relation) -> Iterator[tuple[Loss, int]]:
    match event:
        case LaplaceNoise():
            for size, count in _moved(event.sensitivity, relation):
                yield LaplaceLoss(size / exact(event.scale)), count
        case DiscreteLaplaceNoise():
            for size, count in _moved(event.sensitivity, relation):
                yield DiscreteLaplaceLoss(float(event.scale), int(size)), count
        case GaussianNoise():
            for size, count in _moved(event.sensitivity, relation):
                yield GaussianLoss((size / exact(event.sigma)) ** 2), count
        case DiscreteGaussianNoise():
            for size, count in _moved(event.sensitivity, relation):
                yield DiscreteGaussianLoss(float(event.sigma), int(size)), count
        case BinomialNoise():
            for shift in event.sensitivity.under(relation):
                if shift.size:
                    yield _binomial(event, shift), int(shift.count)
        case KaryResponse():
            yield KaryLoss(eps=exact(event.eps), k=int(event.k)), _uses(event.reports, relation, "a report")
        case PureStep():
            yield ResponseLoss(exact(event.eps)), _uses(event.uses, relation, "a use of a pure step")
        case FiniteLaws():
            if event.relation is not relation:
                raise AccountingError(f"the laws of {event.what!r} are stated under {event.relation}, not {relation}")
            if event.pairs:
                yield LawsLoss(event.pairs, direction=Direction.UP if event.directed else None), 1
        case Exposed():
            yield RevealedLoss(), 1
        case _:
            raise AccountingError(f"no account of {type(event).__name__} is known")


def _binomial(event: BinomialNoise, shift: Shift) -> BinomialLoss:
    # fair bits are symmetric: one loss for all directions
    direction = None if event.probability == 0.5 else shift.direction
    return BinomialLoss(int(event.trials), float(event.probability), int(shift.size), direction=direction)


def _moved(sensitivity: Sensitivity, relation: Relation) -> Iterator[tuple[Fraction, int]]:
    for shift in sensitivity.under(relation):
        if shift.size:
            yield exact(shift.size), int(shift.count)


def _uses(sensitivity: Sensitivity, relation: Relation, what: str) -> int:
    shifts = [shift for shift in sensitivity.under(relation) if shift.size]
    for shift in shifts:
        if shift.size != 1 or shift.direction is not None:
            raise AccountingError(f"{shift!r}: {what} is reached or not, its size must be 1 and it has no direction")
    return sum(int(shift.count) for shift in shifts)


def exact(number: float) -> Fraction:
    """The number as a fraction, NumPy scalars included."""
    return Fraction(int(number)) if isinstance(number, numbers.Integral) else Fraction(float(number))
