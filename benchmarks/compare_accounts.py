"""Accounts of all ledgers of audits/ as JSON, and the comparison of two such files.

Run in each of two checkouts: python -m benchmarks.compare_accounts > new.json; then with both files: 1 where an account
has become larger by more than 1e-4.
"""

import json
import sys
from pathlib import Path

from dpverify import Relation
from dpverify.accounting.accountant import eps_upper, ledger_of, mu_upper, rho_upper
from dpverify.base.errors import AccountingError, UsageError
from dpverify.verdicts.discovery import discover

AUDITS = Path(__file__).parents[1] / "audits"
DELTAS = (0.0, 1e-12, 1e-6, 1e-3)
LARGER = 1e-4


def accounts() -> dict[str, float]:
    """Numbers by "subject | relation | what"."""
    found: dict[str, float] = {}
    for subject in discover([AUDITS]).subjects:
        for relation in Relation:
            try:
                ledger = ledger_of(subject)
                for delta in (*DELTAS, subject.claim.delta):
                    eps = eps_upper(ledger, delta=delta, relation=relation)
                    found[f"{subject.name} | {relation} | {delta:g}"] = eps
                found[f"{subject.name} | {relation} | rho"] = float(rho_upper(ledger, relation=relation))
                found[f"{subject.name} | {relation} | mu"] = mu_upper(ledger, relation=relation)
            except (AccountingError, UsageError):
                continue
    return found


def main(old: Path, new: Path) -> int:
    """Prints what differs by more than `LARGER`, and how many accounts are tighter, as before and larger."""
    before, after = (json.loads(path.read_text()) for path in (old, new))
    larger = tighter = 0
    for name in sorted(before.keys() & after.keys()):
        was, now = before[name], after[name]
        if was != now and not abs(now - was) <= LARGER * abs(was):
            print(f"{name}: {was:.8g} -> {now:.8g}")
            larger, tighter = larger + (now > was), tighter + (now < was)
    print(f"{len(before)} and {len(after)} accounts: {tighter} tighter, {larger} larger, by more than {LARGER:g}")
    return 1 if larger or before.keys() - after.keys() else 0


if __name__ == "__main__":
    if len(sys.argv) == 3:
        sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
    print(json.dumps(accounts()))
