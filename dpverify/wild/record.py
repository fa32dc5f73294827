"""What `try` and `replay` found: values, their words, and JSON."""

import math
from dataclasses import asdict, dataclass, field
from typing import Any, TYPE_CHECKING

from dpverify.base.text import clean
from dpverify.errors import EXIT_FAILED, EXIT_OK, EXIT_UNEXPECTED

if TYPE_CHECKING:
    from dpverify.wild.witness import FieldWitness

MOST = 12  # findings that are shown
CODES = {"REFUTED": EXIT_UNEXPECTED, "NOT_REFUTED": EXIT_OK, "INCONCLUSIVE": EXIT_FAILED, "KEPT": EXIT_OK,
         "OVER": EXIT_UNEXPECTED, "UNDECIDED": EXIT_FAILED}  # fmt: skip


@dataclass(frozen=True)
class PairResult:
    """One pair: what its trials say (`try`), or its calls (`replay`: `eps_upper`, the sum of their losses)."""

    name: str
    relation: str
    domain: str
    verdict: str
    eps_lower: float = 0.0
    trials: int = 0
    detectable: float = math.inf
    eps_upper: float | None = None
    first: tuple[str, ...] = ()
    second: tuple[str, ...] = ()
    witness: "FieldWitness | None" = None
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        found = {name: value for name, value in self.__dict__.items() if name != "witness"}
        return {**found, "first": list(self.first), "second": list(self.second),
                "witness": None if self.witness is None else self.witness.to_dict()}  # fmt: skip


@dataclass(frozen=True)
class Found:
    """A rule of `replay` that a call broke on a pair."""

    rule: str
    call: str
    where: str
    declared: float | str | None
    moved: float | str | None
    pair: str
    text: str
    decided: bool = True  # False: by itself it is UNDECIDED


@dataclass(frozen=True)
class Row:
    """One relation: its verdict and the numbers behind it."""

    relation: str
    verdict: str
    pairs: int
    refuted: int
    trials: int
    eps_lower: float
    detectable: float


@dataclass(frozen=True)
class WildRecord:
    """The result of `try` or `replay`; `verdict` is one of section 1's words."""

    command: str
    target: str
    claim: str
    relation: str
    verdict: str
    versions: dict[str, str]
    predicted_seconds: float
    seconds: float
    seed: int
    notes: tuple[str, ...] = ()
    matrix: tuple[Row, ...] = ()
    pairs: tuple[PairResult, ...] = ()
    findings: tuple[Found, ...] = ()
    repro: tuple[str, ...] = ()
    ledger: Any = field(default=None, compare=False)

    @property
    def exit_code(self) -> int:
        """0 nothing found, 1 something, 3 inconclusive."""
        return CODES[self.verdict]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, the same keys for both commands."""
        return {
            "command": self.command, "target": self.target, "claim": self.claim, "relation": self.relation,
            "verdict": self.verdict, "versions": self.versions, "predicted_seconds": self.predicted_seconds,
            "seconds": self.seconds, "seed": self.seed, "notes": list(self.notes),
            "matrix": [asdict(each) for each in self.matrix], "pairs": [each.to_dict() for each in self.pairs],
            "findings": [asdict(each) for each in self.findings], "repro": list(self.repro),
        }  # fmt: skip


class TryRecord(WildRecord):
    """Trials on many pairs: REFUTED, NOT_REFUTED or INCONCLUSIVE."""


def lines(record: WildRecord) -> list[str]:
    """A record in words, for a terminal."""
    found = [f"{record.verdict.replace('_', ' ')}: {record.target}, claim {record.claim}"]
    for row in record.matrix if record.command == "replay" else ():
        cost = f"the costliest pair's calls add up to eps {row.detectable:.4g}" if row.detectable < math.inf else (
            "no finite cost on some pair")  # fmt: skip
        found.append(f"  {row.relation}: {row.verdict}; {row.refuted} of {row.pairs} pairs OVER; {cost}")
    for row in record.matrix if record.command == "try" else ():
        said = f"  {row.relation}: {row.verdict.replace('_', ' ')}; {row.refuted} of {row.pairs} pairs refuted, " \
               f"{row.trials:,} trials"  # fmt: skip
        if row.refuted:
            said += f"; eps >= {row.eps_lower:.3g}"
        elif row.trials:
            said += f"; at best eps {row.detectable:.3g} would have been caught (the most favourable violation, on " \
                    "the best pair)" if row.detectable < math.inf else "; nothing could have been caught"  # fmt: skip
        found.append(said)
    found += [f"  {each.rule}{'' if each.decided else ' (undecided)'}: {each.text} ({each.pair})"
              for each in record.findings[:MOST]]  # fmt: skip
    if len(record.findings) > MOST:
        found.append(f"  and {len(record.findings) - MOST} more")
    for each in record.pairs:
        if each.witness is not None:
            found += _pair(each)
        elif record.command == "replay" and each.trials:
            calls = "" if each.eps_upper is None else f"; calls <= {each.eps_upper:.4g}"
            text = f"pair {each.name} ({each.relation}): trials >= {each.eps_lower:.3g} after {each.trials:,}{calls}"
            found.append(f"{text}: {each.verdict}")
    rest = [
        each for each in record.pairs if record.command == "try" and each.verdict == "REFUTED" and each.witness is None
    ]
    if rest:
        found.append("also refuted: " + "; ".join(f"{each.name} (eps >= {each.eps_lower:.3g}, {_where(each)})"
                                                  for each in rest[:12]))  # fmt: skip
    found += [f"note: {each}" for each in record.notes]
    found += [f"script without dpverify: {each}" for each in record.repro]
    return [clean(line) for line in found]


def _where(each: PairResult) -> str:
    return each.relation if each.domain == "in" else f"{each.relation}, outside of the stated domain"


def _pair(each: PairResult) -> list[str]:
    found = [f"pair: {each.name} ({_where(each)})"]
    found += [f"  eps >= {each.eps_lower:.3g} after {each.trials:,} trials on it"]
    found += [f"  {each.note}, and its event on fresh releases:"] if each.note else []
    found += ["  first:", *(f"  {row}" for row in each.first), "  second:", *(f"  {row}" for row in each.second)]
    found.append(f"  {each.witness}")
    return found
