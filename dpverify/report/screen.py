"""What a terminal shows of one claim: the word, then a row for each kind of evidence, then what to do next."""

import math
import shlex
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from dpverify.auditing.certificate import Certificate
from dpverify.auditing.record import AuditRecord
from dpverify.auditing.tape_record import Taped, TapeDraw
from dpverify.base.rounding import text_above
from dpverify.base.text import many
from dpverify.errors import EXIT_OK
from dpverify.report import words
from dpverify.report.words import number
from dpverify.wild.record import FieldWitness, PairResult, TryRecord

WIDTH, MOST = 100, 14
SAID_BY_ROWS = ("proves the claim from above", "the ledger does not prove the claim", "the trials refute the claim")
ROUNDED = 1 + 1e-9  # a number that exceeds the claim by less is the claim
LOOK_HARDER = 20_000  # trials of a pair
DRAWS = 3  # lines of code that are shown
DECLARE = "declare the noise as the object's `ledger`: then it is accounted for all neighbours (docs/certify.md)"
WORDS = {"NOT_REFUTED": "OPEN"}
SAID = {
    "REFUTED": "is not",
    "CERTIFIED": "is",
    "ACCOUNTED": "is by its ledger",
    "INVALID": "was not judged:",
    "NOT_REFUTED": "is neither proved nor refuted to be",
    "INCONCLUSIVE": "was not judged:",
}


def rows(head: str, found: Iterable[tuple[str, str]]) -> list[str]:
    """At most MOST lines of WIDTH signs; the last row is to be copied, and never cut."""
    listed = [(name, text) for name, text in found if text]
    lines = [head if len(head) <= WIDTH else head[: WIDTH - 4] + " ..."]
    for name, text in listed[:-1]:
        parts = textwrap.wrap(text, WIDTH - 10)[:2]
        lines += [f"  {name if not at else '':<8}{part}" for at, part in enumerate(parts)]
    return [*lines[: MOST - 1], f"  {listed[-1][0]:<8}{listed[-1][1]}"]


def proved(record: TryRecord) -> list[str]:
    """A claim that is proved from the code, and was not tried."""
    name = record.target.rpartition(":")[2]
    head = f"CERTIFIED   {name} is {record.claim} ({record.relation}) {record.notes[0]}: proved from the code"
    holds = next(each for each in record.proof.values() if each.get("holds"))
    others = [(relation, each) for relation, each in record.proof.items() if not each.get("holds")]
    return rows(
        f"{head}; {record.seconds:.1f} s",
        [
            ("data", record.called_with),
            *(("proof" if not at else "", step) for at, step in enumerate(holds["steps"][:DRAWS])),
            ("", f"and {len(holds['steps']) - DRAWS} more: --explain" if len(holds["steps"]) > DRAWS else ""),
            (
                "proof" if not holds["steps"] else "",
                "" if holds["steps"] else "nothing that depends on the data is released",
            ),
            ("audit", "none: proved for all neighbours of the schema (--trials N tries it as well)"),
            *(("", f"{relation}: not proved: {_why_not(each)}") for relation, each in others),
            (
                "holds",
                "for datasets of the schema, in real arithmetic; floating point, timing and the sampler of the library "
                "are not covered",
            ),
            ("again", record.again),
        ],
    )


def _why_not(proof: dict[str, Any]) -> str:
    """Why a claim is not proved: where the proof ended, or the number that is proved."""
    if proof.get("problem") or proof.get("ended"):
        return str(proof.get("problem") or proof["ended"])
    return (
        f"the code is proved to be pure:{number(proof['eps'])}"
        if proof["eps"] < math.inf
        else (
            f"the code is proved to be zcdp:{number(proof['rho'])}"
            if proof["rho"] < math.inf
            else "no number is proved"
        )
    )


def _no_ledger(record: TryRecord, lower: float) -> str:
    """That a function has no ledger; where nothing speaks against the claim, what that means."""
    if record.verdict == "CERTIFIED":
        return ""
    return (
        "none declared"
        if lower or record.verdict == "REFUTED"
        else ("none declared: nothing proves the claim for all neighbours")
    )


def _pair_of_proof(record: TryRecord) -> str:
    """The pair that the proof has named, where the tape refuted on it alone."""
    pair = next((each["pair"] for each in record.proof.values() if each.get("pair")), None)
    if record.pairs or record.verdict != "REFUTED" or pair is None:
        return ""
    first, second = pair
    apart = [(a, b) for a, b in zip(first, second, strict=False) if a != b]
    if len(first) != len(second) or not apart:
        return f"the pair that the proof names: {len(first)} rows against {len(second)}"
    (one, other) = apart[0]
    return (
        f"the pair that the proof names: a row {tuple(one)} against {tuple(other)}, {many(len(first) - 1, 'other row')}"
    )


def tried(record: TryRecord) -> list[str]:
    """A claim whose pairs were made from a schema."""
    word = WORDS.get(record.verdict, record.verdict)
    head = f"{word:<11} {record.target.rpartition(':')[2]} {SAID[record.verdict]} {record.claim} ({record.relation})"
    head += f"; {record.seconds:.1f} s"  # the seed is in the last row
    matrix = [row for row in record.matrix if row.relation in record.relation] or list(record.matrix)
    pairs = sum(row.pairs for row in matrix)
    trials = sum(row.trials for row in matrix)
    lower = max((row.eps_lower for row in matrix), default=0.0)
    caught = min((row.detectable for row in matrix), default=math.inf)
    shown = next((each for each in record.pairs if each.witness is not None and each.domain == "in"), None)
    by_trials = [each for each in record.pairs if each.verdict == "REFUTED" and each.domain == "in"]
    symbol = words.SYMBOLS[record.claim.partition(":")[0]].partition(" ")[0]  # of the claim's own number
    made = f"{trials:,} trials on {many(pairs, 'pair')}"
    audit = f"no violation in {made}; nothing could have been caught"
    if by_trials:
        certain = max(each.eps_lower for each in by_trials)
        audit = f"eps >= {text_above(certain, record.claimed_eps)}   {made}"
    elif caught < math.inf:
        audit = f"no violation in {made}; at best eps {number(caught)} would have been caught"
    codes = [record.code[row.relation] for row in matrix if row.relation in record.code] or list(record.code.values())
    apart = [each for each in record.pairs if each.verdict == "REFUTED" and each.domain != "in"]
    return rows(
        head,
        [
            ("data", record.called_with),
            ("audit", audit if trials else "no trials were needed" if record.verdict == "REFUTED" else "no trials"),
            ("code", _code(codes, symbol) if codes else "not traced"),
            *(("", _noise(row)) for each in codes[:1] for row in each.draws[:DRAWS] if row.moved and each.traced),
            *(("proof", _why_not(each)) for each in list(record.proof.values())[:1] if not each.get("holds")),
            *(("proof", step) for each in record.proof.values() if each.get("holds") for step in each["steps"][:DRAWS]),
            ("ledger", _no_ledger(record, lower)),
            ("witness", _pair_of_proof(record) if shown is None else _witness(shown)),
            (
                "outside",
                f"{many(len(apart), 'pair')} with data outside of --data can be told apart: not counted"
                if apart
                else "",
            ),
            ("next", _next(record, codes)),
            ("again", record.again),
        ],
    )


def certified(certificate: Certificate, seconds: float | None = None) -> list[str]:
    """A claim whose pairs were given; `seconds` are those of the command, or None for those of its audits."""
    word, strongest = str(certificate.status), certificate.strongest
    said = {"OPEN": SAID["NOT_REFUTED"]}.get(word, SAID.get(word, SAID["INCONCLUSIVE"]))
    head = f"{word:<11} {certificate.subject} {said} {certificate.claim} ({strongest.relation})"
    head += f": {certificate.grade}" if certificate.grade else ""
    symbol, pairs = words.unit(strongest), len(certificate.records)
    seconds = sum(record.seconds for record in certificate.records) if seconds is None else seconds
    by_trials = strongest.trials_lower is not None and strongest.trials_lower > strongest.claimed
    made = f"{strongest.trials:,} trials a pair, {many(pairs, 'pair')}"
    audit = "no trials were needed" if certificate.verdict == "REFUTED" else "no trials"
    if strongest.trials and strongest.trials_lower is not None:
        least = words.at_least_words(strongest.trials_lower, strongest.claimed)
        audit = f"{symbol} >= {least}   {made}, all statements hold with {1 - certificate.significance:.0%}"
        caught = f"; at best {symbol} {number(strongest.detectable)} would have been refuted"
        audit += "" if by_trials or not strongest.detectable < math.inf else caught
    tapes = [record.tape for record in certificate.records if record.tape is not None]
    return rows(
        f"{head}; {seconds:.1f} s",
        [
            ("audit", audit),
            ("code", _code(tapes, symbol) if tapes else "not traced"),
            *(("", _noise(row)) for tape in tapes[:1] for row in tape.draws[:DRAWS] if row.moved and tape.traced),
            ("ledger", _ledger(strongest, symbol)),
            ("witness", f"{strongest.witness}, on {strongest.pair or 'pair 1'}" if by_trials else ""),
            ("promise", "; ".join(f"{check.name} {check.verdict}" for check in certificate.promises)),
            ("why", "" if word == "REFUTED" else _why(certificate.objections)),
            ("limits", f"{len(certificate.not_proved)} things that this does not prove: --explain"),
            ("next", _after(certificate, tapes)),
            ("again", certificate.command),
        ],
    )


def _why(objections: Sequence[str]) -> str:
    """The first objection that no other row makes, one that names a place before one that does not."""
    left = [each for each in objections if not each.endswith(SAID_BY_ROWS)]
    return next((each for each in left if ": " in each), left[0] if left else "")


def _ledger(record: AuditRecord, symbol: str) -> str:
    if record.number_upper is None:
        return "none declared: nothing proves the claim for all neighbours" if not record.ledger else "has no account"
    proves = "it lists all that is released" if record.accounted else "it does not prove the claim"
    if record.ledger_contradicted:
        proves = "CONTRADICTED: it is not what is released"
    elif record.accounted:
        proves = f"proves the claim, if {proves}"
    return f"{symbol} <= {number(record.number_upper)}   {proves}"


def _after(certificate: Certificate, tapes: Sequence[Taped]) -> str:
    """What to do next."""
    if certificate.status == "OPEN" and certificate.accounted is None and not certificate.records[0].ledger:
        if tapes and all(each.traced and each.number is not None for each in tapes):
            return DECLARE
        return "declare what is added as the object's `ledger` (docs/certify.md); --allow-open makes OPEN exit code 0"
    if certificate.status == "ACCOUNTED":
        if certificate.exit_code == EXIT_OK:
            return ""
        return "--accept ledger makes ACCOUNTED exit code 0; with --data the code itself may be proved (docs/proof.md)"
    if certificate.status == "OPEN" and certificate.accounted is False:
        return "the noise that would do: dpverify plan --spend 'laplace: ...' --eps E"
    return "more --trials, or other pairs" if certificate.status == "INCONCLUSIVE" else ""


def _code(codes: Sequence[Taped], symbol: str) -> str:
    """What the tape says on all pairs, in the claim's unit."""
    refuting = next((each for each in codes if each.refutes), None)
    if refuting is not None:
        shown = str(refuting.reasons[0]) if refuting.reasons else "a run of the code shows it"
        return f"{symbol} >= {number(refuting.lower)}   {shown.partition('; claimed')[0]}"
    lost = next((each for each in codes if not each.traced), None)
    if lost is not None:
        why = lost.reasons[0] if lost.reasons else None
        return f"not traced: {'no reason is known' if why is None else f'{why.code}, {why} (docs/reasons.md)'}"
    largest = [each.number for each in codes if each.number is not None]
    seen = sum(each.pairs for each in codes)
    if len(largest) < len(codes):
        return f"traced on {many(seen, 'pair')}, its noise is not one that is accounted"
    on = f"{seen} pairs" if seen > 1 else "this pair"
    if all(each.paths is not None for each in codes):
        return f"{symbol} = {number(max(largest))}   exactly, by all values of its draws, on {on}"
    return f"{symbol} = {number(max(largest))}   worth of the noise that it adds, on {on}"


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
    mends = [each["mend"] for each in record.proof.values() if each.get("mend")]
    if mends and record.verdict != "CERTIFIED":
        return str(mends[0])
    if record.verdict in ("REFUTED", "CERTIFIED"):
        return ""
    if record.verdict == "INCONCLUSIVE":
        return record.notes[0] if record.notes else "more --trials, or other --data"
    notion, _, claimed = record.claim.partition(":")
    worth = max((each.number for each in codes if each.number is not None), default=0.0)
    if notion not in ("rdp", "tradeoff") and worth > float(claimed.partition(",")[0]) * ROUNDED:
        symbol = words.SYMBOLS[notion].partition(" ")[0]
        found = f"{symbol} = {number(worth)}"
        return f"the noise is accounted as {found} on a pair, more than is claimed: add noise, or claim more"
    words_given = shlex.split(record.again)
    given = int(words_given[words_given.index("--trials") + 1]) if "--trials" in words_given else 0
    harder = f"--trials {LOOK_HARDER if given < LOOK_HARDER else 10 * given} looks harder"
    if any(each.get("ended") for each in record.proof.values()):
        return f"write it so that the proof can follow it, see `proof` (docs/proof.md); {harder}"
    return harder if "--allow-open" in words_given else f"{harder}; --allow-open makes OPEN exit code 0"
