"""What a terminal shows of one claim: the word, then a row for each kind of evidence, then what to do next."""

import math
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from dpverify.auditing.tape_record import Taped, TapeDraw
from dpverify.base.rounding import text_above
from dpverify.report.words import number
from dpverify.wild.record import FieldWitness, PairResult, TryRecord

WIDTH, MOST = 100, 14
DRAWS = 3  # lines of code that are shown
WORDS = {"NOT_REFUTED": "OPEN"}
SAID = {"REFUTED": "is not", "NOT_REFUTED": "is neither proved nor refuted to be", "INCONCLUSIVE": "was not judged:"}


def rows(head: str, found: Iterable[tuple[str, str]]) -> list[str]:
    """At most MOST lines of WIDTH signs; the last row is to be copied, and never cut."""
    listed = [(name, text) for name, text in found if text]
    lines = [head if len(head) <= WIDTH else head[: WIDTH - 4] + " ..."]
    for name, text in listed[:-1]:
        parts = textwrap.wrap(text, WIDTH - 10)[:2]
        lines += [f"  {name if not at else '':<8}{part}" for at, part in enumerate(parts)]
    return [*lines[: MOST - 1], f"  {listed[-1][0]:<8}{listed[-1][1]}"]


def tried(record: TryRecord, again: str) -> list[str]:
    """A claim whose pairs were made from a schema."""
    word = WORDS.get(record.verdict, record.verdict)
    head = f"{word:<12}{record.target.rpartition(':')[2]} {SAID[record.verdict]} {record.claim} ({record.relation})"
    head += f"; {record.seconds:.1f} s"  # the seed is in the last row
    matrix = [row for row in record.matrix if row.relation in record.relation] or list(record.matrix)
    pairs = sum(row.pairs for row in matrix)
    trials = sum(row.trials for row in matrix)
    lower = max((row.eps_lower for row in matrix), default=0.0)
    caught = min((row.detectable for row in matrix), default=math.inf)
    shown = next((each for each in record.pairs if each.witness is not None and each.domain == "in"), None)
    by_trials = [each for each in record.pairs if each.verdict == "REFUTED" and each.domain == "in"]
    made = f"{trials:,} trials on {pairs} pairs"
    audit = f"no violation in {made}; nothing could have been caught"
    if by_trials:
        certain = max(each.eps_lower for each in by_trials)
        audit = f"eps >= {text_above(certain, record.claimed_eps)}   {made}"
    elif caught < math.inf:
        audit = f"no violation in {made}; at best eps {number(caught)} would have been caught"
    codes = [record.code[row.relation] for row in matrix if row.relation in record.code]
    apart = [each for each in record.pairs if each.verdict == "REFUTED" and each.domain != "in"]
    return rows(
        head,
        [
            ("audit", audit if trials else "no trials"),
            ("code", _code(codes) if codes else "not traced"),
            *(("", _noise(row)) for each in codes[:1] for row in each.draws[:DRAWS] if row.moved and each.traced),
            ("ledger", "none declared" + ("" if lower else ": nothing proves the claim for all neighbours")),
            ("witness", "" if shown is None else _witness(shown)),
            ("outside", f"{len(apart)} pairs with data outside of --data tell the datasets apart; they do not count"
             if apart else ""),
            ("next", _next(record, codes)),
            ("again", again),
        ],
    )  # fmt: skip


def _code(codes: Sequence[Taped]) -> str:
    """What the tape says on all pairs, in the claim's unit."""
    refuting = next((each for each in codes if each.refutes), None)
    if refuting is not None:
        return f"eps >= {number(refuting.lower)}   {refuting.reasons[0] if refuting.reasons else 'a run of the code'}"
    lost = next((each for each in codes if not each.traced), None)
    if lost is not None:
        return f"not traced: {lost.reasons[0] if lost.reasons else 'no reason is known'}"
    largest = [each.number for each in codes if each.number is not None]
    seen = sum(each.pairs for each in codes)
    if len(largest) < len(codes):
        return f"traced on {seen} pairs, its noise is not one that is accounted"
    return f"{number(max(largest))}   worth of the noise that it adds, on {seen} pairs"


def _noise(row: TapeDraw) -> str:
    scale = "" if row.scale is None else f"({number(row.scale)})"
    what = "a value that moves" if row.moved == 1 else f"{row.moved} values that move"
    return f"{row.family}{scale} at {row.site.rpartition('/')[2]} is added to {what} by {number(row.shift_max)}"


def _witness(pair: PairResult) -> str:
    assert isinstance(pair.witness, FieldWitness)
    one, other = (_differing(mine, yours) for mine, yours in ((pair.first, pair.second), (pair.second, pair.first)))
    return f"{one} against {other}: {pair.witness}"


def _differing(mine: Sequence[str], yours: Sequence[str]) -> str:
    """The records in which a dataset differs from its neighbour, and how many others there are."""
    marked = [each[2:] for each in mine if each.startswith("> ")]
    others = len(mine) - len(marked)
    rest = f"{others} other rows" if others else ""
    return " and ".join(each for each in ("; ".join(marked) or "no more", rest) if each)


def _next(record: TryRecord, codes: Sequence[Any]) -> str:
    if record.verdict == "REFUTED":
        return ""
    if record.verdict == "INCONCLUSIVE":
        return record.notes[0] if record.notes else "more --trials, or other --data"
    if codes and all(each.traced and each.number is not None for each in codes):
        return "declare the noise as the object's `ledger`: then it is accounted for all neighbours (docs/certify.md)"
    return "--trials N makes more of them; --allow-open makes OPEN exit code 0"
