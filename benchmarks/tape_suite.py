"""What the tape says of every subject of the suite: words, false alarms, falls, accounts, and how long it takes.

    python -m benchmarks.tape_suite [--transcripts 10] [-k EXPR] [--json F]

Each subject on its first pair: traced, and enumerated (`exact`) where an audit would do so. Counts, for true and false
claims: the words; claims that fall, of all and of pure ones; subjects called fine (DERIVED, CONFORMS or EXACT, and the
derived ledger's account, the exact eps or the largest loss is at most what the claim allows on this pair); how outputs
agree (in bits, in bits on a dyadic tape, or only as real numbers). Of all: how many are DERIVED, CONFORMS, EXACT or
CONTRADICTED, why the others are not (by code of reason), of how many with finite draws the law is known, and whether
the derived ledger's account is the declared one's to 1e-9. Where it is not, the report's words about that are printed.
Exit code 1 where a true claim falls, or an account differs and the report does not say why.
"""

import argparse
import json
import math
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpverify.accounting.accountant import account_of
from dpverify.auditing import tracing
from dpverify.auditing.subject import Subject
from dpverify.auditing.tape_record import Taped
from dpverify.claims import ApproxDP, PureDP
from dpverify.report import words
from dpverify.report.words import SYMBOLS
from dpverify.suite.discovery import load_audits
from dpverify.suite.plan import find_files, matches
from dpverify.tape.enumeration import exact
from dpverify.tape.tracer import trace
from dpverify.trials.target import as_target, declaration

SEEN = ("DERIVED", "CONFORMS", "EXACT")
FINITE = ("BinomialNoise", "FiniteLaws")
SEED = 7


def taped(subject: Subject, transcripts: int) -> Taped:
    """What an audit's record would have, made in this process."""
    claim, pair = subject.claim, subject.claim.check(subject.pairs[0])
    found = trace(
        subject.target, pair=pair, claim=claim, ledger=subject.ledger, transcripts=transcripts, seed=SEED, timeout=600.0
    )
    block = tracing.of_trace(found, claim)
    if isinstance(claim, PureDP | ApproxDP) and tracing.may_be_finite(block):
        law = tracing.of_law(
            exact(subject.target, pair=pair, delta=claim.delta, paths=tracing.PATHS, seed=SEED, timeout=60.0),
            claim,
            SEED,
        )
        if law.refutes or (law.number is not None and law.number < math.inf):
            return law
    return block


def row(subject: Subject, transcripts: int) -> dict[str, Any]:
    """One subject on its first pair."""
    start = time.process_time()
    block = taped(subject, transcripts)
    spent = time.process_time() - start
    ledger = subject.ledger or declaration(as_target(subject.target), "ledger")
    declared = account_of(subject.claim, ledger).number_upper
    kind, why = words.compared_words(block, declared)
    eps = None if block.status not in SEEN else block.loss if block.eps is None else block.eps
    return {
        "subject": subject.name,
        "true": subject.expected == "NOT_REFUTED",
        "claim": subject.claim.notion,
        "claimed": subject.claim.eps,
        "status": block.status,
        "refuted": block.refutes,
        "shown": block.traced or block.paths is not None,
        "finite": block.paths is not None or _finite(block),
        "eps": eps,
        "rounding": block.rounding,
        "fine": eps is not None and eps <= subject.claim.eps * (1 + 1e-9),
        "ledger": block.ledger,
        "derived": block.number,
        "declared": declared,
        "compared": kind,
        "told": f"{words.tape_sentence(block, SYMBOLS[subject.claim.notion])} {why}".rstrip(),
        "code": block.reasons[0].code if block.reasons else "",
        "site": block.reasons[0].site if block.reasons else "",
        "cpu": spent,
    }


def _finite(block: Taped) -> bool:
    """Whether an account was derived and all that moves are flips and coins."""
    return block.number is not None and bool(block.events) and all(e.event in FINITE for e in block.events or ())


def counted_by_word(rows: Sequence[dict[str, Any]]) -> None:
    """Counts of true and of false claims, and of all."""
    for truth in (True, False):
        some = [each for each in rows if each["true"] is truth]
        print(
            "true" if truth else "false",
            len(some),
            dict(Counter(each["status"] for each in some)),
            "refuted",
            sum(each["refuted"] for each in some),
            "called fine",
            sum(each["fine"] for each in some),
        )
        pure = [each for each in some if each["claim"] == "pure"]
        print(
            f"  pure: {sum(each['refuted'] for each in pure)} of {len(pure)} refuted,",
            f"cpu {sum(each['cpu'] for each in pure):.0f} s; words by rounding:",
            dict(Counter(f"{each['rounding']} {each['status']}" for each in some)),
        )
        seen = sum(each["shown"] for each in some)
        print(f"  {seen} of {len(some)} ({seen / max(len(some), 1):.1%}) derived, conform, exact or contradicted")
    left = [each for each in rows if not each["shown"]]
    seen = len(rows) - len(left)
    print(
        f"all: {seen} of {len(rows)} ({seen / max(len(rows), 1):.1%}); the others by word and code of reason:",
        dict(Counter(f"{each['status']} {each['code']}" for each in left)),
    )
    print("finite draws, enumerated or a product:", sum(each["finite"] for each in rows))


def accounts(rows: Sequence[dict[str, Any]]) -> int:
    """Derived against declared accounts; how many differ without a word in the report."""
    print("derived against declared:", dict(Counter(each["compared"] or "nothing to compare" for each in rows)))
    equal = [each for each in rows if each["compared"] == "equal"]
    print(f"equal to {words.EQUAL:g}: {len(equal)}, by rounding", dict(Counter(each["rounding"] for each in equal)))
    rounded = [each for each in rows if each["rounding"] != "bits"]
    print(
        f"outputs that agree but for the last digits: {len(rounded)}; in bits on a dyadic tape:",
        sum(each["rounding"] == "dyadic" for each in rounded),
        "only as real numbers, by word:",
        dict(Counter(each["status"] for each in rounded if each["rounding"] == "reals")),
    )
    silent = 0
    for each in rows:
        if each["compared"] in ("", "equal"):
            continue
        silent += not each["told"]
        print(
            f"  {each['subject']}: derived {each['derived']}, declared {each['declared']}, {each['compared']}:",
            each["told"] or "NOT EXPLAINED",
        )
    return silent


def main() -> int:
    """Prints a line for each subject and the counts."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--transcripts", type=int, default=10)
    options.add_argument("-k", dest="expression", default="")
    options.add_argument("--json", type=Path)
    given = options.parse_args()
    rows = []
    for subject in (each for file in find_files([Path("audits")]) for each in load_audits(file)[0]):
        if not matches(subject.name, given.expression):
            continue
        rows.append(row(subject, given.transcripts))
        print(
            json.dumps(
                {
                    key: str(v) if isinstance(v, float) and not math.isfinite(v) else v
                    for key, v in rows[-1].items()
                    if key != "told"
                }
            ),
            flush=True,
        )
    counted_by_word(rows)
    silent = accounts(rows)
    print(f"cpu {sum(each['cpu'] for each in rows):.0f} s")
    if given.json is not None:
        given.json.write_text(json.dumps(rows, indent=1, default=str))
    return int(silent > 0 or any(each["true"] and each["refuted"] for each in rows))


if __name__ == "__main__":
    raise SystemExit(main())
