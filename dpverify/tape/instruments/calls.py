"""What an instrument has seen of a library's noise calls: what they were given and what they declare.

`Call` is a call of a mechanism in one run, `Spend` what the library's own accountant was told. `Bound` is a call whose
law is not known, but for the library's own promise. Both runs of a transcript have the same calls up to the first
entry that differs; `declared` compares them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.accounting.ledger import Event, PureStep, Sensitivity, Shift
from dpverify.tape.transcript import Site

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Call:
    """One call of a mechanism.

    `value` is its input as numbers; `settings` are what must be equal on both datasets; `sensitivity` is what is
    declared, in the `norm` (1, 2 or inf) of one call's input, None where nothing is declared. `part` names the vector
    that the call is a part of: one mechanism object at one line of the library. `within` is the user's call into the
    library that the call was made for, None where the user called the mechanism himself. `opaque`: the released value
    is not a function of what was drawn (candidates that come from the data, functions): nothing can be said of it.
    """

    name: str
    site: Site  # the user's line
    inner: str  # the library's line
    value: Array
    settings: dict[str, Any]
    sensitivity: float | None
    norm: float
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
class Step:
    """An accountant was told of a noisy step with this noise multiplier."""

    site: Site
    multiplier: float


@dataclass(frozen=True, eq=False)
class Loss:
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
    compare: "Callable[[Any, Any], Loss | str | None]" = field(repr=False)

    def against(self, other: "Given") -> Loss | str | None:
        """The loss of this call's law against the other's."""
        return self.compare(self.value, other.value)


def pure(eps: float, what: str) -> Event | None:
    """The event of a step that is eps-DP on this pair: randomised response dominates every such pair of laws
    (Kairouz, Oh, Viswanath 2015, Theorem 2.5), so that matching it is F7. None for no finite eps.
    """
    if not 0 < eps < np.inf:
        return None
    return PureStep(what=what, eps=eps, uses=Sensitivity(replace=Shift(1.0), add_remove=Shift(1.0)))


def distance(first: Array, second: Array, norm: float = 1.0) -> float:
    """Norm of the difference; inf where the shapes differ, or a NaN or an infinity is on one side alone."""
    if first.shape != second.shape:
        return np.inf
    same = (first == second) | (np.isnan(first) & np.isnan(second))
    if same.all():
        return 0.0
    gaps = np.abs(first[~same] - second[~same])
    gaps = np.where(np.isnan(gaps), np.inf, gaps)
    return float(np.linalg.norm(gaps, norm)) if np.isfinite(gaps).all() else np.inf
