"""How tight the accounts of the audits are: eps_upper over the exact eps. Run: python -m benchmarks.account_tightness

For every subject of audits/ whose law is known, and for ledgers of events that no subject uses (`tightness.events`).
"exact" is computed without ledger and accountant (see
`tightness.laws`), from below; at the claim's relation and delta, and where more of the law is known at `DELTAS`
and under the other relation as well: the last column is the worst of all.
"""

import math
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.tightness import events
from benchmarks.tightness.known import laws_of, why_not
from dpverify import Relation, Subject
from dpverify.accounting.accountant import as_ledger, eps_upper
from dpverify.accounting.losses_of_ledger import alternatives
from dpverify.errors import AccountingError
from dpverify.suite.discovery import load_audits
from dpverify.suite.plan import find_files

AUDITS = Path(__file__).parents[1] / "audits"
DELTAS = (1e-6, 1e-3)
LOOSE = 1.01
ROUNDING = 1e-12


@dataclass(frozen=True)
class Row:
    """One subject at one delta; low <= exact eps <= high."""

    subject: str
    relation: Relation
    delta: float
    low: float
    high: float
    upper: float

    @property
    def ratio(self) -> float:
        """eps_upper over exact, at least; 1 where both are infinite or 0."""
        if self.upper == self.low:
            return 1.0
        return self.upper / self.low if self.low else math.inf

    @property
    def tight(self) -> bool:
        """exact <= eps_upper <= 1.01 exact, up to rounding of the logarithms in `low`."""
        return self.low * (1 - ROUNDING) <= self.upper <= LOOSE * self.low


def rows(subject: Subject) -> list[Row]:
    """At the claim's relation and delta first; the other relation where the ledger states it and a law is known."""
    found = []
    for relation in sorted(Relation, key=lambda each: each is not subject.claim.relation):
        laws = laws_of(subject, relation) if _states(subject, relation) else []
        for delta in dict.fromkeys((subject.claim.delta, *DELTAS)):
            known = [each for each in (law.eps(delta) for law in laws) if each is not None]
            if known and len(known) == len(laws):
                upper = eps_upper(as_ledger(subject), delta=delta, relation=relation)
                low, high = max(low for low, _ in known), max(high for _, high in known)
                found.append(Row(subject.name, relation, delta, low, high, upper))
    return found


def event_row(known: events.Known) -> Row:
    """The row of a ledger whose exact eps is known to some digits."""
    upper = eps_upper(known.ledger, delta=known.delta, relation=known.relation)
    low, high = known.exact * (1 - events.DIGITS), known.exact * (1 + events.DIGITS)
    return Row(known.name, known.relation, known.delta, low, high, upper)


def _states(subject: Subject, relation: Relation) -> bool:
    try:
        alternatives(as_ledger(subject), relation)
    except AccountingError:
        return False
    return True


def main() -> int:
    """Prints the table; 1 where an account is below the exact eps or more than 1 % above it."""
    print(f"{'subject':<48} {'delta':>7} {'exact':>10} {'eps_upper':>10} {'ratio':>8} {'worst of all':>24}")
    excluded: dict[str, list[str]] = {}
    wrong = 0
    for subject in (each for file in find_files([AUDITS]) for each in load_audits(file)[0]):
        if reason := why_not(subject):
            excluded.setdefault(reason, []).append(subject.name)
            continue
        found = rows(subject)
        first, worst = found[0], max(found, key=lambda row: row.ratio)
        bad = [row for row in found if not row.tight]
        wrong += len(bad)
        print(
            f"{subject.name:<48} {first.delta:>7g} {first.low:>10.6g} {first.upper:>10.6g} {first.ratio:>8.5f} "
            f"{worst.ratio:>10.5f} at {worst.delta:g}, {worst.relation}" + (" LOOSE or WRONG" if bad else "")
        )
    for known in events.known():
        row = event_row(known)
        wrong += not row.tight
        print(
            f"{row.subject:<48} {row.delta:>7g} {row.low:>10.6g} {row.upper:>10.6g} {row.ratio:>8.5f}"
            + ("" if row.tight else " LOOSE or WRONG")
        )
    for reason, names in excluded.items():
        print(f"\nnot in the table, {reason}:\n  " + ", ".join(names))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
