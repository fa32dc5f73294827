"""What the calls cost on one pair: events of a ledger, on the distances by which their inputs moved.

Additive noise costs what its law says at that distance (Laplace: distance/scale; Gaussian: distance/sigma, composed
numerically); choices and bounded laws what their instrument derives; calls whose input does not move nothing. Where
the calls of two transcripts do not agree - noise that depends on what was released - no ledger may be read off one of
them: then the account is that of a filter (`Filtered`) with the claim as its budget, and only claims that a filter can
have stand.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpverify.accounting import accountant
from dpverify.claims.claim import Claim, GaussianDP, PureDP, ZCDP
from dpverify.errors import AccountingError
from dpverify.ledger.compound_events import Filtered
from dpverify.ledger.events import (
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    GaussianNoise,
    LaplaceNoise,
    Ledger,
    Sensitivity,
    Shift,
)
from dpverify.wild.replay_calls.recording import Drawn, Step

ROUNDING = 1e-9
NEGLIGIBLE = 4  # ulp of the input


@dataclass(frozen=True)
class Cost:
    """Of one transcript: events, calls that no event dominates (with the reason), and infinite losses."""

    events: tuple[Event, ...]
    unknown: tuple[tuple[Step, str], ...]
    infinite: tuple[tuple[Step, str], ...]

    @property
    def ledger(self) -> Ledger:
        """The calls as events."""
        return Ledger(*self.events)


def cost(pairs: Sequence[tuple[Step, Step]]) -> Cost:
    """Of matched steps."""
    events: list[Event] = []
    unknown: list[tuple[Step, str]] = []
    infinite: list[tuple[Step, str]] = []
    for one, two in pairs:
        for here, there in zip(one.drawn, two.drawn, strict=False):
            found = _event(here, there)
            if isinstance(found, str):
                (infinite if found.startswith("infinite") else unknown).append((one, found))
            elif found is not None:
                events.append(found)
    return Cost(tuple(events), tuple(unknown), tuple(infinite))


def _event(here: Drawn, there: Drawn) -> Event | str | None:
    """The event of one draw; None where nothing moves, a text where there is no event."""
    if here.given is not None and there.given is not None:
        loss = here.given.against(there.given)
        if loss is None or isinstance(loss, str):
            return loss
        if loss.event is not None:
            return loss.event
        return loss.text or f"infinite loss: {here.family} whose input moves by {loss.moved:g}"
    if here.given is not None or there.given is not None or here.family != there.family:
        return "another law on the other dataset"
    return _additive(here, there)


def _additive(here: Drawn, there: Drawn) -> Event | str | None:
    one, two = np.asarray(here.off, dtype=float), np.asarray(there.off, dtype=float)
    if one.shape != two.shape:
        return f"infinite loss: {here.family} noise on inputs of shapes {one.shape} and {two.shape}"
    same = (one == two) | (np.isnan(one) & np.isnan(two))
    gaps = np.where(same, 0.0, np.abs(one - two))
    if not np.isfinite(gaps).all():
        return f"infinite loss: an input of {here.family} noise is infinite or NaN on one dataset only"
    largest = max(np.abs(one).max(initial=0.0), np.abs(two).max(initial=0.0))
    gaps = np.where(gaps <= NEGLIGIBLE * np.spacing(largest), 0.0, gaps)
    if (here.coef, here.parameters) != (there.coef, there.parameters):
        return "infinite loss: another scale on the other dataset"
    if not gaps.any():
        return None
    if here.family == "laplace":
        shifts = tuple(Shift(float(each)) for each in gaps.ravel() if each > 0)
        return LaplaceNoise(scale=here.coef, sensitivity=Sensitivity(replace=shifts, add_remove=shifts))
    if here.family == "normal":
        both = Shift(float(np.linalg.norm(gaps)))
        return GaussianNoise(sigma=here.coef, sensitivity=Sensitivity(replace=both, add_remove=both))
    if here.family in ("discrete_laplace", "discrete_gaussian"):
        whole = tuple(Shift(float(round(each))) for each in gaps.ravel() if each > 0)
        uses, scale = Sensitivity(replace=whole, add_remove=whole), here.parameters[0] * here.coef
        if here.family == "discrete_laplace":
            return DiscreteLaplaceNoise(scale=scale, sensitivity=uses)
        return DiscreteGaussianNoise(sigma=scale, sensitivity=uses)
    return f"no event for noise of the family {here.family}"


@dataclass(frozen=True)
class Total:
    """eps on this pair at the claim's delta (inf where there is no finite one), and whether the claim is kept."""

    eps: float
    kept: bool
    ledger: Ledger | None
    filtered: bool = False


def total(costs: Sequence[Cost], claim: Claim) -> Total:
    """The account of all transcripts of a pair; an infinite loss keeps nothing."""
    if any(each.infinite for each in costs):
        return Total(math.inf, False, None)
    near = claim.with_number(claim.number * (1 + ROUNDING))  # for the library, whose scales are floats
    accounts = [accountant.account_of(near, each.ledger) for each in costs]
    if any(each.eps_upper is None for each in accounts):
        raise AccountingError(next(each.note for each in accounts if each.note))
    eps = max(float(each.eps_upper or 0.0) for each in accounts)
    kept = all(bool(each.accounted) for each in accounts)
    if _agree(costs):
        return Total(eps, kept, costs[0].ledger)
    if kept and isinstance(claim, PureDP | ZCDP | GaussianDP):
        spent = Filtered(what="calls whose noise depends on what was released", budget=claim)
        return Total(eps, True, Ledger(spent), True)
    return Total(eps, False, None, True)


def _agree(costs: Sequence[Cost]) -> bool:
    """Equal ledgers, up to the rounding of what the inputs were computed from."""

    def rounded(each: Cost) -> list[str]:
        return sorted(repr(event) for event in each.events)

    first = rounded(costs[0])
    return all(rounded(each) == first for each in costs[1:]) or all(_near(costs[0], each) for each in costs[1:])


def _near(one: Cost, other: Cost) -> bool:
    if len(one.events) != len(other.events):
        return False
    return all(type(a) is type(b) and _scale(a) == _scale(b) for a, b in zip(one.events, other.events, strict=True))


def _scale(event: Event) -> float:
    return float(getattr(event, "scale", getattr(event, "sigma", getattr(event, "eps", 0.0))))
