"""What the tape says of a subject, as a part of its record: plain values, from which its verdict can be judged again.

    lower     log ratio of the witness, a lower bound of eps at significance 0 (F2 to F4); None where none is visible
    number    the derived ledger's account, in the claim's own unit, on the pairs that were traced; `eps` at its delta
    delta_k   what the transcripts leave open: the statement is about all but this mass, at `confidence` on each pair
    loss      F5, by runs alone: (loss, delta_k) holds in both orders
    paths     a finite release was enumerated (`tape.enumeration`) on this many paths: `number` and `eps` are its
              upper end, `lower` its lower end, and nothing is left open. None where it was not

A refutation (`refutes`) needs no statistics. A ledger that the code contradicts accounts for nothing. Nothing else in
here makes a verdict better or worse: a trace is about its pairs, a claim about all of them. NOT_TRACED has no number.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from dpverify.accounting.accountant import account_of
from dpverify.claims.claim import Claim, PureDP
from dpverify.claims.neighbours import Relation
from dpverify.ledger.compound_events import Filtered
from dpverify.ledger.events import (
    BinomialNoise,
    Direction,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    FiniteLaws,
    GaussianNoise,
    LaplaceNoise,
    Ledger,
    Sensitivity,
    Shift,
)

NOT_TRACED, CONTRADICTED, CONFORMS, DERIVED = "NOT_TRACED", "CONTRADICTED", "CONFORMS", "DERIVED"
EXACT = "EXACT"
UNDECIDED, UNMATCHED = "UNDECIDED", "UNMATCHED"
STATUSES = (NOT_TRACED, CONTRADICTED, UNDECIDED, CONFORMS, DERIVED, EXACT)
LEDGERS = (CONTRADICTED, UNMATCHED, UNDECIDED, "", CONFORMS)  # the worst first
MOST = 20  # draws, reasons and notes of a record: what is left out is counted
_NOISE: dict[str, tuple[type[Any], str]] = {
    "LaplaceNoise": (LaplaceNoise, "scale"),
    "GaussianNoise": (GaussianNoise, "sigma"),
    "DiscreteLaplaceNoise": (DiscreteLaplaceNoise, "scale"),
    "DiscreteGaussianNoise": (DiscreteGaussianNoise, "sigma"),
}


@dataclass(frozen=True)
class TapeReason:
    """Why the word is what it is: a code, file:line in the subject's own code (or ""), a text."""

    code: str
    site: str
    text: str

    def __str__(self) -> str:
        return f"{self.text}{f' ({self.site})' if self.site else ''}"


@dataclass(frozen=True)
class TapeDraw:
    """The draws of one line of code in one law; shifts are the largest over transcripts."""

    site: str
    family: str
    scale: float | None  # None where none of them moves
    count: int
    moved: int
    shift_max: float
    shift_l1: float
    shift_l2: float


@dataclass(frozen=True)
class TapeEvent:
    """`times` coordinates of the derived ledger: noise of size `values[0]` on a value that moves by `moves_by`.

    BinomialNoise: `values` are trials and probability; with another probability than 1/2 `moves_by` is negative where
    the value falls from the pair's first dataset to its second. FiniteLaws: a coin, `values` are the probabilities of
    one of its outcomes on the first dataset and on the second. Filtered: `values` is the budget, the largest sum of
    pure losses of one transcript, where the noise depends on what was released.
    """

    event: str
    values: tuple[float, ...]
    moves_by: float
    times: int

    def __str__(self) -> str:
        """As it would be written in a ledger."""
        if self.event == "BinomialNoise":
            moves = [repr(abs(self.moves_by)), repr(self.times), *([str(way)] if (way := self.way) else [])]
            return (
                f"BinomialNoise(trials={self.values[0]:.0f}, probability={self.values[1]!r}, "
                f"sensitivity=Sensitivity(replace=Shift({', '.join(moves)})))"
            )
        if self.event not in _NOISE:
            return f"{self.event}{self.values} x {self.times}"
        name = _NOISE[self.event][1]
        return (
            f"{self.event}({name}={self.values[0]!r}, "
            f"sensitivity=Sensitivity(replace=Shift({self.moves_by!r}, {self.times})))"
        )

    @property
    def way(self) -> Direction | None:
        """Where a binomial's value goes, None where that makes no difference."""
        if self.event != "BinomialNoise" or self.values[1] == 0.5:
            return None
        return Direction.UP if self.moves_by > 0 else Direction.DOWN


@dataclass(frozen=True)
class TapeTerm:
    """One value that the witness shows, see `tape.witness.Term`; its log ratio adds to `lower`."""

    family: str
    z: float
    other_z: float
    scale: float
    other_scale: float
    parameters: tuple[float, ...] = ()
    other_parameters: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Taped:
    """See the module. `status`, `ledger` are words of `tape.tracer`; `ledger` is about the declared one, "" for none.

    error        probability with which a refutation is wrong: 0, but for a frequency of transcripts against a delta
    terms        the values behind the witness's log ratio; None where they are not listed
    chances      of the witness of an enumerated law: its probability on either dataset
    pairs        how many were traced; numbers are the largest of them, words the worst
    transcripts  good and bad ones that count, in each order of each pair
    uncovered    what the code may do with noise that no run shows, each with its line: a decision of which no run took
                 the other side, a noisy number that goes where it is not followed, a rare outcome of a choice
    """

    status: str
    reasons: tuple[TapeReason, ...] = ()
    refutes: bool = False
    error: float = 0.0
    lower: float | None = None
    witness: str = ""
    terms: tuple[TapeTerm, ...] | None = None
    chances: tuple[float, float] | None = None
    ledger: str = ""
    eps: float | None = None
    number: float | None = None
    events: tuple[TapeEvent, ...] | None = None
    loss: float | None = None
    delta_k: float | None = None
    paths: int | None = None
    confidence: float = 0.95
    transcripts: int = 0
    bad: int = 0
    draws: tuple[TapeDraw, ...] = ()
    rounding: str = "bits"
    alignment: str = "value"
    seed: int = 0
    pairs: int = 1
    notes: tuple[str, ...] = ()
    uncovered: tuple[str, ...] = ()

    @property
    def traced(self) -> bool:
        """Whether there is anything but a reason."""
        return self.status != NOT_TRACED

    @property
    def first_reason(self) -> str:
        """The first reason, in words."""
        return str(self.reasons[0]) if self.reasons else "no reason is known"

    @property
    def moves(self) -> bool:
        """Whether the datasets made any difference to a draw of the code: an enumerated law, or a draw that moved."""
        return self.paths is not None or any(row.moved for row in self.draws)

    @property
    def covers(self) -> bool:
        """Whether the runs say what the code does on these pairs.

        A draw moved, each decision on noise went both ways, and every noisy number was followed until it was returned.
        A rule that was learned from outputs does not say it:
        the numbers between noise and output are not followed.
        """
        return self.moves and self.alignment != "learned" and not self.uncovered

    @property
    def unlike_ledger(self) -> bool:
        """Whether the code was compared with the ledger and is not what it says: then the ledger accounts for nothing.

        That alone is no contradiction: a ledger may be right in another way than draw by draw.
        """
        return self.ledger in (CONTRADICTED, UNMATCHED)

    @classmethod
    def lost(cls, code: str, text: str, seed: int = 0) -> "Taped":
        """Nothing came back from the attempt."""
        return cls(status=NOT_TRACED, reasons=(TapeReason(code, "", text),), seed=seed)


def written(ledger: Ledger) -> tuple[TapeEvent, ...] | None:
    """The events of a derived ledger as plain values; None where it has others than those that can be read again."""
    found = []
    for event, times in ledger.counted:
        name = type(event).__name__
        if isinstance(event, FiniteLaws):
            if event.relation is not Relation.REPLACE_ONE or len(event.pairs) != 1:
                return None
            (p, q) = event.pairs[0]
            found.append(TapeEvent(name, (float(p[0]), float(q[0])), 0.0, times))
        elif isinstance(event, BinomialNoise):
            (shift,) = _shifts(event)
            size = -shift.size if shift.direction is Direction.DOWN else shift.size
            found.append(TapeEvent(name, (float(event.trials), event.probability), float(size), times))
        elif isinstance(event, Filtered) and isinstance(event.budget, PureDP):
            found.append(TapeEvent(name, (event.budget.eps,), 1.0, times))
        elif name in _NOISE:
            (shift,) = _shifts(event)
            found.append(TapeEvent(name, (float(getattr(event, _NOISE[name][1])),), float(shift.size), times))
        else:
            return None
    return tuple(found)


def _shifts(event: Any) -> tuple[Shift, ...]:
    return tuple(event.sensitivity.replace)


def read_events(events: Sequence[TapeEvent]) -> Ledger:
    """Inverse of `written`; ValueError for an event that no trace derives."""
    counted: list[tuple[Event, int]] = []
    for each in events:
        if each.event == "FiniteLaws":
            p, q = each.values
            laws = ((p, 1 - p), (q, 1 - q))
            coin = FiniteLaws(what="code", pairs=(laws,), relation=Relation.REPLACE_ONE, directed=True)
            counted.append((coin, each.times))
        elif each.event == "BinomialNoise":
            trials, chance = each.values
            moves = Sensitivity(replace=(step := Shift(abs(each.moves_by), 1, each.way)), add_remove=step)
            noise = BinomialNoise(what="code", trials=int(trials), probability=chance, sensitivity=moves)
            counted.append((noise, each.times))
        elif each.event == "Filtered":
            budget = PureDP(each.values[0], relation=Relation.REPLACE_ONE)
            counted.append((Filtered(what="code", budget=budget), each.times))
        elif each.event in _NOISE:
            kind, name = _NOISE[each.event]
            moves = Sensitivity(replace=Shift(each.moves_by), add_remove=Shift(each.moves_by))
            counted.append((kind(what="code", sensitivity=moves, **{name: each.values[0]}), each.times))
        else:
            raise ValueError(f"{each.event} is no event of a derived ledger")
    return Ledger.of(*counted)


def numbers_of_claim(claim: Claim, events: Sequence[TapeEvent]) -> tuple[float | None, float | None]:
    """(eps at the claim's delta, number in its own unit) of a derived ledger, on its pair."""
    account = account_of(replace(claim, relation=Relation.REPLACE_ONE), read_events(events))
    return account.eps_upper, account.number_upper


_WORST = (NOT_TRACED, UNDECIDED, DERIVED, CONFORMS, EXACT)  # after the two contradictions


def together(blocks: Sequence[Taped]) -> Taped:
    """What holds on all pairs: the worst word, the largest numbers; numbers only where every pair is traced.

    A refutation on one pair refutes the claim, a contradiction on one pair the ledger, whatever the others say.
    """
    if len(blocks) == 1:
        return blocks[0]
    worst = min(blocks, key=_badness)
    whole = all(each.traced for each in blocks)
    lowers = [each.lower for each in blocks if each.lower is not None]
    known = whole and all(each.number is not None for each in blocks)
    strongest = max(blocks, key=lambda each: each.number or 0.0)
    runs = [each for each in blocks if each.paths is None]  # an exact law leaves nothing open
    return replace(
        worst,
        refutes=any(each.refutes for each in blocks),
        lower=max(lowers, default=None),
        **_shown(blocks, max(lowers, default=None)),
        ledger=min((each.ledger for each in blocks), key=LEDGERS.index),
        draws=(strongest if known and not worst.refutes else worst).draws,
        events=strongest.events if known else None,
        eps=strongest.eps if known else None,
        number=strongest.number if known else None,
        loss=_largest([each.loss for each in runs]) if whole and runs else None,
        delta_k=_largest([each.delta_k for each in runs]) if whole and runs else None,
        paths=None if runs else sum(each.paths or 0 for each in blocks),
        transcripts=min((each.transcripts for each in runs), default=0),
        bad=sum(each.bad for each in blocks),
        pairs=len(blocks),
        notes=tuple(dict.fromkeys(note for each in blocks for note in each.notes))[:MOST],
        uncovered=tuple(dict.fromkeys(line for each in blocks for line in each.uncovered))[:MOST],
    )


def _shown(blocks: Sequence[Taped], lower: float | None) -> dict[str, Any]:
    """The witness of the largest lower bound."""
    own = next((each for each in blocks if each.lower is not None and each.lower == lower), None)
    if own is None:
        return {}
    return {"witness": own.witness, "terms": own.terms, "chances": own.chances}


def _badness(block: Taped) -> tuple[int, float]:
    if block.refutes:
        return 0, -(block.lower or 0.0)
    if block.status == CONTRADICTED:
        return 1, 0.0
    return 2 + _WORST.index(block.status), 0.0


def _largest(values: Sequence[float | None]) -> float | None:
    """The largest; None where one is missing."""
    known = [each for each in values if each is not None]
    return max(known) if len(known) == len(values) else None
