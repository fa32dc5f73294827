"""What an instrument has seen of a library's noise calls: what they were given and what they declare.

`NoiseCall` is a call of a mechanism in one run, `Spend` what the library's own accountant was told. `Bound` is a call
whose law is not known, but for the library's own promise. Both runs of a transcript have the same calls up to the
first entry that differs; what differs against the declaration is found below.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.base.sites import Site, site_text
from dpverify.ledger.events import Event, PureStep, Sensitivity, Shift
from dpverify.tape.transcript import Reason

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class NoiseCall:
    """One call of a mechanism.

    `value` is its input as numbers; `settings` are what must be equal on both datasets; `sensitivity` is what is
    declared, in the `norm` of one call's input (1, 2, inf, or a name of `MATRIX`), None where nothing is declared.
    `part` names the vector that the call is a part of: one mechanism object at one line of the library. `within` is the
    user's call into the library that the call was made for, None where the user called the mechanism himself. `opaque`:
    the released value is not a function of what was drawn (candidates that come from the data, functions): nothing can
    be said of it.
    """

    name: str
    site: Site  # the user's line
    inner: str  # the library's line
    value: Array
    settings: dict[str, Any]
    sensitivity: float | None
    norm: float | str
    eps: float
    delta: float
    part: tuple[int, str]
    within: int | None
    opaque: bool = False


@dataclass(frozen=True)
class Spend:
    """The library's accountant was told (eps, delta), for the user's call `within`."""

    account: int
    within: int | None
    eps: float
    delta: float


@dataclass(frozen=True)
class CallStep:
    """An accountant was told of a noisy step with this noise multiplier."""

    site: Site
    multiplier: float


@dataclass(frozen=True, eq=False)
class CallLoss:
    """What a moved call costs on this pair: `event` dominates it (None: there is no such event), `eps` bounds its log
    ratio (inf: the library promises no pure bound), `moved` is the distance of its inputs.
    """

    event: Event | None
    eps: float
    moved: float
    text: str = ""


@dataclass(frozen=True, eq=False)
class Given:
    """What an entry of the transcript was drawn from: `against(other)` is the loss between two of them, None where
    nothing moves, a text where nothing can be said.
    """

    what: str
    value: Any
    compare: "Callable[[Any, Any], CallLoss | str | None]" = field(repr=False)

    def against(self, other: "Given") -> CallLoss | str | None:
        """The loss of this call's law against the other's."""
        return self.compare(self.value, other.value)


def pure(eps: float, what: str) -> Event | None:
    """The event of a step that is eps-DP on this pair: randomised response dominates every such pair of laws
    (Kairouz, Oh, Viswanath 2015, Theorem 2.5), so that matching it is F7. None for no finite eps.
    """
    if not 0 < eps < np.inf:
        return None
    return PureStep(what=what, eps=eps, uses=Sensitivity(replace=Shift(1.0), add_remove=Shift(1.0)))


MATRIX: dict[str, Any] = {"spectral": 2, "nuclear": "nuc"}  # norms of matrices: largest, and sum, of singular values


def distance(first: Array, second: Array, norm: float | str = 1.0) -> float:
    """Norm of the difference; inf where the shapes differ, or a NaN or an infinity is on one side alone.

    A number is the norm of all entries in a row; names are norms of matrices, see `MATRIX`.
    """
    if first.shape != second.shape:
        return np.inf
    same = (first == second) | (np.isnan(first) & np.isnan(second))
    if same.all():
        return 0.0
    gaps = np.zeros(first.shape)
    gaps[~same] = first[~same] - second[~same]
    if not np.isfinite(gaps).all():
        return np.inf
    if isinstance(norm, str):
        return float(np.linalg.norm(gaps, MATRIX[norm])) if gaps.ndim == 2 else np.inf
    return float(np.linalg.norm(gaps.ravel(), norm))


# ----------------------------------------------------------------------------------------------------------------------
# What calls of a library do against the library's own declaration, on one pair: findings, with the user's line.
#
#     SETTING       a setting (scale, bounds, sensitivity, divisor) is another one on the other dataset
#     SENSITIVITY   the input of one call moves by more than the sensitivity that the call declares, in its norm
#     NOISE         within its sensitivity, the call loses more than the eps that it declares
#     BUDGET        the calls that move, each at its full eps, add up to more than the library's accountant was told
#     STEPS         the accountant was told of fewer noisy steps, or of more noise, than there was
#
# Inputs are compared while all released values are equal, so a finding is about these two datasets and this transcript.
# Each contradicts the library's declaration, never the claim: what is released may hide it. A finding is never missing
# where it holds in the transcript; rounding counts for the library (1e-9 of the sensitivity, 4 ulp of the input).
#
# Parallel composition needs no rule of its own: calls whose input does not move cost nothing, whatever they declare. A
# vector (several calls of one mechanism object at one line of the library) costs its eps once where the distances of
# its parts add up to the sensitivity at most (Dwork, McSherry, Nissim, Smith 2006: Laplace noise in l1), and otherwise
# the eps of every part that moves.


SLACK = 1e-9
ULPS = 4


def findings(first: Any, second: Any) -> tuple[Reason, ...]:
    """Of the calls that both runs have made; `first` and `second` are their arenas."""
    found: list[Reason] = []
    moved: list[tuple[NoiseCall, float]] = []
    for here, there in zip(first.calls, second.calls, strict=False):
        if (here.name, here.site, here.inner) != (there.name, there.site, there.inner):
            break  # the runs have gone apart: nothing after this is compared
        found += _settings(here, there)
        if here.norm == math.inf and here.value.shape != there.value.shape:
            continue  # a choice among other candidates: its law says so, see the instrument
        gap = distance(here.value, there.value, here.norm)
        if gap <= ULPS * ulp(here, there):
            continue
        moved.append((here, gap))
        if here.sensitivity is not None and gap > here.sensitivity * (1 + SLACK) + ULPS * ulp(here, there):
            text = f"{_what(here)}: its input moves by {gap:g}, and it declares the sensitivity {here.sensitivity:g}"
            found.append(Reason("SENSITIVITY", site_text(here.site), text))
    found += _noise(first, second)
    found += _budget(first, moved) + steps(first)
    return tuple({(each.code, each.site, each.text): each for each in found}.values())


def _what(call: NoiseCall) -> str:
    return f"{call.name} ({call.inner})" if call.inner else call.name


def ulp(here: NoiseCall, there: NoiseCall) -> float:
    """The spacing of floats at the largest finite input of both."""
    finite = [np.abs(each[np.isfinite(each)]).max(initial=0.0) for each in (here.value, there.value)]
    return float(np.spacing(max(finite))) if max(finite) > 0 else 0.0


def _settings(here: NoiseCall, there: NoiseCall) -> list[Reason]:
    found = []
    for name in here.settings.keys() | there.settings.keys():
        ours, theirs = here.settings.get(name), there.settings.get(name)
        if not equal(ours, theirs):
            values = f"{shown_value(ours)} here, {shown_value(theirs)} there"
            text = (
                f"{_what(here)}: {name} depends on the data ({values}); it "
                "stands only if what it depends on is public, as the number of records may be"
            )
            found.append(Reason("SETTING", site_text(here.site), text))
    return sorted(found, key=str)


def equal(ours: Any, theirs: Any) -> bool:
    """Equal, numbers up to the rounding of what they were computed from."""
    if isinstance(ours, int | float) and isinstance(theirs, int | float):
        return ours == theirs or math.isclose(ours, theirs, rel_tol=1e-12) or (math.isnan(ours) and math.isnan(theirs))
    return type(ours) is type(theirs) and bool(np.array_equal(ours, theirs))


def shown_value(value: Any) -> str:
    """A setting as a finding says it."""
    return f"{value:g}" if isinstance(value, int | float) else str(value)[:40]


def _noise(first: Any, second: Any) -> list[Reason]:
    """Entries with an exact law that lose more than their call declares."""
    found = []
    for here, there in zip(first.transcript.entries, second.transcript.entries, strict=False):
        call = getattr(here.given, "value", None)
        call = getattr(call, "call", None)
        if call is None or there.given is None or call.delta > 0 or call.sensitivity is None:
            continue
        loss = here.given.against(there.given)
        if loss is None or isinstance(loss, str):
            continue
        if loss.moved <= call.sensitivity * (1 + SLACK) and loss.eps > call.eps * (1 + 1e-6):
            text = (
                f"{_what(call)}: it declares eps {call.eps:g} and loses {loss.eps:g} where its input moves by "
                f"{loss.moved:g} of {call.sensitivity:g}"
            )
            found.append(Reason("NOISE", site_text(call.site), text))
    return found


def _budget(first: Any, moved: list[tuple[NoiseCall, float]]) -> list[Reason]:
    found = []
    for within, (eps, delta) in told_for(first.spends).items():
        calls = [(call, gap) for call, gap in moved if call.within == within and not call.opaque]
        spent = _declared(calls)
        if spent[0] > eps * (1 + SLACK) or spent[1] > delta * (1 + SLACK):
            what, least = (
                (f"eps {spent[0]:g}", f"{eps:g}")
                if spent[0] > eps * (1 + SLACK)
                else (f"delta {spent[1]:g}", f"{delta:g}")
            )
            names = ", ".join(dict.fromkeys(call.name for call, _ in calls))
            text = f"the calls that move ({names}) declare {what} in all, and the library's accountant is told {least}"
            found.append(Reason("BUDGET", site_text(calls[0][0].site), text))
    return found


def told_for(spends: Sequence[Spend]) -> dict[int | None, tuple[float, float]]:
    """What the user's account was told for each of his calls: accounts made for a part are told less."""
    found: dict[int | None, dict[int, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for spend in spends:
        found[spend.within][spend.account].append((spend.eps, spend.delta))
    return {
        within: max((math.fsum(e for e, _ in each), math.fsum(d for _, d in each)) for each in accounts.values())
        for within, accounts in found.items()
    }


def steps(first: Any) -> list[Reason]:
    """Noisy steps against those that an accountant was told of, where it was told of any: each has one with no more
    noise than it had.
    """
    told = sorted(step.multiplier for step in first.steps)
    made = sorted(call.settings["noise_multiplier"] for call in first.calls if "noise_multiplier" in call.settings)
    enough = all(a >= b for a, b in zip(reversed(made), reversed(told), strict=False))
    if not told or (len(told) >= len(made) and enough):
        return []
    text = (
        f"{len(made)} noisy steps with multipliers from {min(made, default=0):g}, and the accountant is told of "
        f"{len(told)} from {told[0]:g}"
    )
    return [Reason("STEPS", site_text(first.steps[0].site), text)]


def _declared(calls: list[tuple[NoiseCall, float]]) -> tuple[float, float]:
    """(eps, delta) of calls that move: a vector once where its distances add up to its sensitivity."""
    parts: dict[tuple[int, str], list[tuple[NoiseCall, float]]] = defaultdict(list)
    for call, gap in calls:
        parts[call.part].append((call, gap))
    eps, delta = [], []
    for group in parts.values():
        call = group[0][0]
        whole = (
            call.sensitivity is not None
            and call.norm == 1
            and math.fsum(gap for _, gap in group) <= (call.sensitivity * (1 + SLACK))
        )
        charged = group[:1] if whole else group
        eps += [each.eps for each, _ in charged]
        delta += [each.delta for each, _ in charged]
    return math.fsum(eps), math.fsum(delta)
