"""What the tape says of every subject of the suite: words, false alarms, falls, and how long it takes.

    python -m benchmarks.tape_suite [--transcripts 10] [-k EXPR] [--json F]

Counts, for true and false claims: the four words; claims that fall by one transcript, of all and of pure ones; subjects
called fine (DERIVED or CONFORMS, and the account of the derived ledger or the largest loss is at most what the claim
allows on this pair); how outputs agree (in bits, in bits on a dyadic tape, or only as real numbers).
Exit code 1 where a true claim falls.
"""

import argparse
import json
import math
import time
from collections import Counter
from pathlib import Path
from typing import Any

from dpverify.tape.trace import Trace, trace
from dpverify.verdicts import discovery
from dpverify.verdicts.subject import Subject


def stated(found: Trace, subject: Subject) -> float | None:
    """The eps of the trace at the claim's delta: of the derived ledger, or the largest loss (F5)."""
    if found.status not in ("DERIVED", "CONFORMS"):
        return None
    value = found.eps(subject.claim.delta)
    certified = found.certified(subject.claim.delta)
    return value if value is not None else certified.eps if certified is not None else None


def row(subject: Subject, transcripts: int) -> dict[str, Any]:
    """One subject on its first pair."""
    start = time.process_time()
    found = trace(
        subject.target, pair=subject.pairs[0], claim=subject.claim, ledger=subject.ledger, transcripts=transcripts,
        timeout=600.0,
    )  # fmt: skip
    eps = stated(found, subject)
    return {
        "subject": subject.name,
        "true": subject.expected == "NOT_REFUTED",
        "claim": str(subject.claim.notion),
        "claimed": subject.claim.eps,
        "status": found.status,
        "refuted": any(reason.code == "WITNESS" for reason in found.reasons),
        "eps": eps,
        "fact": getattr(found.certified(), "fact", None),
        "rounding": found.rounding,
        "fine": eps is not None and eps <= subject.claim.eps * (1 + 1e-9),
        "ledger_conforms": None if found.conformity is None else found.conformity.status,
        "reason": str(found.reasons[0]) if found.reasons else "",
        "cpu": time.process_time() - start,
    }


def main() -> int:
    """Prints a line for each subject and the counts."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--transcripts", type=int, default=10)
    options.add_argument("-k", dest="expression", default="")
    options.add_argument("--json", type=Path)
    given = options.parse_args()
    rows = []
    for subject in discovery.discover([Path("audits")], given.expression).subjects:
        rows.append(row(subject, given.transcripts))
        print(json.dumps({key: str(v) if isinstance(v, float) and not math.isfinite(v) else v
                          for key, v in rows[-1].items()}), flush=True)  # fmt: skip
    for truth in (True, False):
        some = [each for each in rows if each["true"] is truth]
        words = Counter(each["status"] for each in some)
        print("true" if truth else "false", len(some), dict(words), "refuted", sum(each["refuted"] for each in some),
              "called fine", sum(each["fine"] for each in some))  # fmt: skip
        pure = [each for each in some if each["claim"].rsplit(".", 1)[-1].lower() == "pure"]
        print(f"  pure: {sum(each['refuted'] for each in pure)} of {len(pure)} refuted,",
              f"cpu {sum(each['cpu'] for each in pure):.0f} s; words by rounding:",
              dict(Counter(f"{each['rounding']} {each['status']}" for each in some)))  # fmt: skip
    print(f"cpu {sum(each['cpu'] for each in rows):.0f} s")
    if given.json is not None:
        given.json.write_text(json.dumps(rows, indent=1, default=str))
    return int(any(each["true"] and each["refuted"] for each in rows))


if __name__ == "__main__":
    raise SystemExit(main())
