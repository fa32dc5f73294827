"""The code changes, the ledger stays: what the tape says of every planted twin under the ledger of the honest subject.

    python -m benchmarks.tape_twins [--transcripts 8] [-k EXPR]

A twin is traced on all of its pairs without its claim, so nothing but the ledger can be contradicted. It is seen where
a pair is CONTRADICTED or NOT TRACED. Twins that are not seen are printed with why: the ledger has events that no draw
shows (a theorem's; trials and exact laws answer for them), or it is MISSED. Exit code 1 where one is missed.
"""

import argparse
from collections import Counter
from pathlib import Path

from dpverify.accounting.ledger import Ledger
from dpverify.tape.trace import Trace, trace
from dpverify.trials.target import as_target, declaration
from dpverify.verdicts import discovery
from dpverify.verdicts.subject import Subject


def ledger_of(subject: Subject) -> Ledger | None:
    """What a subject declares."""
    return subject.ledger if subject.ledger is not None else declaration(as_target(subject.target), "ledger")


def word(found: Trace) -> str:
    """CONTRADICTED, NOT TRACED, THEOREM (events that no draw shows) or MISSED."""
    if found.status in ("CONTRADICTED", "NOT_TRACED"):
        return found.status.replace("_", " ")
    return "THEOREM" if found.conformity is not None and found.conformity.unmatched_events else "MISSED"


ORDER = ("CONTRADICTED", "NOT TRACED", "THEOREM", "MISSED")


def main() -> int:
    """Prints a line for each twin, and the counts."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--transcripts", type=int, default=8)
    options.add_argument("-k", dest="expression", default="")
    given = options.parse_args()
    every = {each.name: each for each in discovery.discover([Path("audits")]).subjects}
    counts: Counter[str] = Counter()
    for name, twin in every.items():
        base = every.get(name.rpartition("!")[0])
        ledger = None if base is None else ledger_of(base)
        if not twin.planted or ledger is None or given.expression not in name:
            continue
        found = [trace(twin.target, pair=twin.claim.check(pair), ledger=ledger, transcripts=given.transcripts,
                       timeout=600.0) for pair in twin.pairs]  # fmt: skip
        said, shown = min(((word(each), each) for each in found), key=lambda one: ORDER.index(one[0]))
        own = ledger_of(twin)
        kind = "same ledger" if own == ledger else "no ledger" if own is None else "own ledger"
        counts[said] += 1
        why = shown.reasons[0] if shown.reasons else shown.notes[:1]
        print(f"{said} {name} ({kind}): {why}"[:200], flush=True)
    print(dict(counts))
    return int(counts["MISSED"] > 0)


if __name__ == "__main__":
    raise SystemExit(main())
