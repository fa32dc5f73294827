"""The coordinates of a ledger, each to be used once by a moved draw that it dominates; see `conform`."""

import bisect
from dataclasses import dataclass, replace

from dpverify.accounting.ledger import (
    BinomialNoise,
    Direction,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    FiniteLaws,
    GaussianNoise,
    KaryResponse,
    LaplaceNoise,
    Ledger,
    PureStep,
    Sensitivity,
    Shift,
)
from dpverify.base.errors import AccountingError
from dpverify.claims.neighbours import Relation

STRICT = 1e-9  # relative: closer than that counts as equal


def direction(sign: float) -> Direction:
    """Of noise that must go this way for the largest loss: values are higher on D' where it must go down."""
    return Direction.UP if sign < 0 else Direction.DOWN


@dataclass(frozen=True)
class _Binomial:
    trials: int
    probability: float
    size: float
    way: Direction | None  # None dominates both
    count: int

    def covers(self, trials: float, probability: float, shift: float, way: Direction) -> bool:
        fits = trials >= self.trials and probability == self.probability and shift <= self.size
        return fits and (self.way in (None, way) or probability == 0.5)


@dataclass(frozen=True)
class _Coin:
    p: float  # of one outcome, on D
    q: float  # on D'
    directed: bool
    count: int

    def covers(self, p: float, q: float) -> bool:
        return _less_telling(p, q, self.p, self.q) or (not self.directed and _less_telling(q, p, self.p, self.q))


def _less_telling(p: float, q: float, more: float, less: float) -> bool:
    """Whether no quotient of the coin (p, q) exceeds that of (more, less) of the same kind."""
    if p < q:
        p, q = 1 - p, 1 - q
    if more < less:
        more, less = 1 - more, 1 - less
    within = 1 + STRICT
    return p * less <= more * q * within and (1 - q) * (1 - more) <= (1 - less) * (1 - p) * within


class Stock:
    """Coordinates of a ledger that are not used yet; `mirrored` takes its directions for those of the other order."""

    def __init__(self, ledger: Ledger, relation: Relation, *, mirrored: bool = False) -> None:
        self.laplace: list[tuple[float, int]] = []
        self.discrete: dict[str, list[tuple[float, float, int]]] = {"discrete_laplace": [], "discrete_gaussian": []}
        self.binomial: list[_Binomial] = []
        self.coins: list[_Coin] = []
        self.pure: list[tuple[float, int]] = []
        self.square = 0.0
        self.directed = False  # whether mirroring makes a difference
        self.other: list[str] = []  # names of events of which some implementations show no draw
        self.shown: set[str] = set()  # those of them that were used
        self._mirrored = mirrored
        for event, times in ledger.counted:
            self._add(event, times, relation)
        self.laplace.sort()
        self.pure.sort()
        self.binomial.sort(key=lambda each: (each.size, each.way is None, -each.trials))
        self.coins.sort(key=lambda each: (not each.directed, max(each.p, each.q) - min(each.p, each.q)))

    def _add(self, event: Event, times: int, relation: Relation) -> None:
        match event:
            case PureStep():
                self.pure += [(event.eps, shift.count * times) for shift in _shifts(event.uses, relation) if shift.size]
                self.other.append(type(event).__name__)
            case KaryResponse(k=2):
                uses = [shift for shift in _shifts(event.reports, relation) if shift.size]
                self.pure += [(event.eps, shift.count * times) for shift in uses]
                self.other.append(type(event).__name__)
            case FiniteLaws(pairs=(((p, not_p), (q, not_q)),)) if event.relation is relation:
                p, q = p / (p + not_p), q / (q + not_q)
                self.coins.append(_Coin(*((q, p) if self._mirrored else (p, q)), event.directed, times))
                self.directed |= event.directed
                self.other.append(type(event).__name__)
            case LaplaceNoise() | GaussianNoise() | DiscreteLaplaceNoise() | DiscreteGaussianNoise() | BinomialNoise():
                for shift in _shifts(event.sensitivity, relation):
                    if shift.count * times and shift.size:
                        self._add_noise(event, shift, shift.count * times)
            case _:
                self.other.append(type(event).__name__)

    def _add_noise(self, event: Event, shift: Shift, count: int) -> None:
        match event:
            case LaplaceNoise():
                self.laplace.append((shift.size / event.scale, count))
            case GaussianNoise():
                self.square += count * (shift.size / event.sigma) ** 2
            case DiscreteLaplaceNoise():
                self.discrete["discrete_laplace"].append((event.scale, shift.size, count))
            case DiscreteGaussianNoise():
                self.discrete["discrete_gaussian"].append((event.sigma, shift.size, count))
            case BinomialNoise():
                way = shift.direction
                self.directed |= way is not None
                way = way.mirrored if way is not None and self._mirrored else way
                self.binomial.append(_Binomial(event.trials, event.probability, shift.size, way, count))

    def take_step(self, eps: float) -> bool:
        """Uses the smallest declared step that is as large."""
        at = bisect.bisect_left(self.pure, (eps * (1 - STRICT), 0))
        if at == len(self.pure):
            return False
        self.shown |= {"PureStep", "KaryResponse"}
        declared, count = self.pure[at]
        self.pure[at : at + 1] = [(declared, count - 1)] if count > 1 else []
        return True

    def take_coin(self, p: float, q: float) -> bool:
        """Uses a declared coin that dominates one of chance p on D and q on D'."""
        at = next((at for at, each in enumerate(self.coins) if each.covers(p, q)), None)
        if at is None:
            return False
        self.shown.add("FiniteLaws")
        left = self.coins[at]
        self.coins[at : at + 1] = [replace(left, count=left.count - 1)] if left.count > 1 else []
        return True

    def take(self, family: str, shift: float, scale: float, parameters: tuple[float, ...], sign: float = 0.0) -> bool:
        """Uses a coordinate that dominates; False where none is left. `sign` is the noise's with the largest loss."""
        if family in ("laplace", "laplace_sum"):
            at = bisect.bisect_left(self.laplace, (shift / scale * (1 - STRICT), 0))
            if at == len(self.laplace):
                return False
            ratio, count = self.laplace[at]
            self.laplace[at : at + 1] = [(ratio, count - 1)] if count > 1 else []
            return True
        if family == "normal":
            self.square -= (shift / scale) ** 2 * (1 - STRICT)
            return self.square >= -STRICT * (shift / scale) ** 2
        if family in self.discrete and scale == 1:
            return self._take_discrete(family, shift, parameters[0])
        if family == "binomial" and scale == 1:
            return self._take_binomial(parameters, shift, direction(sign))
        return False

    def _take_discrete(self, family: str, shift: float, width: float) -> bool:
        fits = [
            (size, -declared, at)
            for at, (declared, size, _) in enumerate(self.discrete[family])
            if size >= shift and (width == declared or (width > declared and family == "discrete_laplace"))
        ]
        if not fits:
            return False
        at = min(fits)[2]
        declared, size, count = self.discrete[family][at]
        self.discrete[family][at : at + 1] = [(declared, size, count - 1)] if count > 1 else []
        return True

    def _take_binomial(self, parameters: tuple[float, ...], shift: float, way: Direction) -> bool:
        trials, chance = parameters
        at = next((at for at, each in enumerate(self.binomial) if each.covers(trials, chance, shift, way)), None)
        if at is None:
            return False
        left = self.binomial[at]
        self.binomial[at : at + 1] = [replace(left, count=left.count - 1)] if left.count > 1 else []
        return True


def _shifts(sensitivity: Sensitivity, relation: Relation) -> tuple[Shift, ...]:
    try:
        return sensitivity.under(relation)
    except AccountingError:
        return ()
