"""What a trace has found: its word, its ledger, and the statements that follow from it, see `trace` and `derive`."""

import math
from dataclasses import dataclass, field
from typing import Any

from dpverify.accounting import accountant
from dpverify.accounting.ledger import Ledger
from dpverify.base import require
from dpverify.claims.neighbours import Relation
from dpverify.tape import derive
from dpverify.tape.conform import Conformity, conforms
from dpverify.tape.forced import Moved
from dpverify.tape.summary import DrawSummary
from dpverify.tape.transcript import Reason
from dpverify.tape.witness import Witness


@dataclass(frozen=True)
class Certified:
    """V is (eps, delta_total)-indistinguishable on this pair, both orders, at this confidence; by which fact."""

    eps: float
    delta_total: float
    confidence: float
    fact: str


@dataclass(frozen=True, kw_only=True)
class Trace:
    """What the tape has seen; see the module for the words of `status`."""

    name: str
    status: str
    reasons: tuple[Reason, ...]
    draws: tuple[DrawSummary, ...]
    ledger: Ledger | None
    fixed: bool
    log_ratio: tuple[tuple[float, ...], tuple[float, ...]]
    witness: Witness | None
    conformity: Conformity | None
    transcripts: int
    bad: int
    confidence: float
    relation: Relation
    alignment: str
    rounding: str
    seed: int
    seconds: float
    notes: tuple[str, ...]
    _moved: tuple[tuple[Moved, ...], ...] = field(default=(), repr=False)
    _at_most: tuple[tuple[float, ...], tuple[float, ...]] = field(default=((), ()), repr=False)  # ratios, rounded up

    @property
    def traced(self) -> bool:
        """Whether there is anything but a reason."""
        return self.status != "NOT_TRACED"

    def eps(self, delta: float = 0.0) -> float | None:
        """Account of the derived ledger on this pair at `delta`; inf where the witness proves it; None else."""
        require.delta(delta=delta)
        if self.witness is not None and math.isinf(self.witness.log_ratio) and delta == 0:
            return math.inf
        if not self.traced or self.bad or self.ledger is None:
            return None
        return accountant.eps_upper(self.ledger, delta=delta, relation=Relation.REPLACE_ONE)

    @property
    def loss(self) -> float:
        """The eps of F5: the largest log ratio of both orders, rounded up; inf where one is not finite."""
        return max(derive.largest(each) for each in self._at_most)

    def certified(self, delta: float = 0.0) -> Certified | None:
        """F7/F8 where all transcripts are covered by the derived ledger, at `delta` plus delta_k; otherwise F5.

        F7 is about movements as `conform` compares them; the eps of F5 is rounded up by what floating point may err.
        """
        require.delta(delta=delta)
        if not self.traced or self.bad or not self.transcripts:
            return None
        if not self.fixed and any(math.isnan(each) for order in self.log_ratio for each in order):
            return None  # an opaque call of a library that promises no pure bound
        missed = derive.failure_mass(self.transcripts, (1 - self.confidence) / 2)
        if self.fixed and (eps := self.eps(delta)) is not None:
            return Certified(eps, delta + missed, self.confidence, "F7")
        return Certified(self.loss, missed, self.confidence, "F5")

    def delta(self, eps: float) -> float | None:
        """F6: a delta for this eps, both orders, at the confidence of the trace."""
        require.non_negative(eps=eps)
        if not self.traced or not self.transcripts:
            return None
        if any(math.isnan(each) for order in self.log_ratio for each in order):
            return None
        return max(derive.profile(each, eps, (1 - self.confidence) / 2) for each in self._at_most)

    def conforms(self, ledger: Ledger) -> Conformity:
        """F7 against another ledger; UNDECIDED where the trace has a bad transcript."""
        if not self.traced or self.bad:
            return Conformity("UNDECIDED", 0, self.reasons, ())
        return conforms(self._moved, ledger, self.relation)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; infinities and NaN as their names."""
        certified = self.certified()
        return {
            "name": self.name,
            "status": self.status,
            "reasons": [vars(each) for each in self.reasons],
            "draws": [{key: _plain(value) for key, value in vars(each).items()} for each in self.draws],
            "ledger": None if self.ledger is None else [[repr(e), times] for e, times in self.ledger.counted],
            "fixed": self.fixed,
            "eps": _plain(self.eps()),
            "certified": None if certified is None else {key: _plain(v) for key, v in vars(certified).items()},
            "log_ratio": [[_plain(each) for each in order] for order in self.log_ratio],
            "witness": None if self.witness is None else _told(self.witness),
            "conformity": None if self.conformity is None else self.conformity.status,
            "transcripts": self.transcripts,
            "bad": self.bad,
            "confidence": self.confidence,
            "alignment": self.alignment,
            "rounding": self.rounding,
            "seed": self.seed,
            "seconds": self.seconds,
            "notes": list(self.notes),
        }


def _told(found: Witness) -> dict[str, Any]:
    return {name: _plain(value) for name, value in vars(found).items() if name != "terms"}


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
