"""How what the tape says is written: a cell of a table, a sentence, the three kinds of evidence side by side."""

import math
from decimal import Context, Decimal, localcontext, ROUND_FLOOR

from dpverify.auditing.record import AuditRecord
from dpverify.auditing.tape_record import CONFORMS, CONTRADICTED, DERIVED, EXACT, Taped, TapeDraw
from dpverify.auditing.verdict import Verdict
from dpverify.claims.claim import digits

# ----------------------------------------------------------------------------------------------------------------------
# One currency: every number of a claim in the claim's own unit, eps beside it only as a marked second view.
#
# pure, approx     eps, of (eps, delta) claims with their delta
# zcdp, gdp        rho, mu
# rdp, tradeoff    a factor of the claimed curve; 1 is the claim


SYMBOLS = {
    "pure": "eps",
    "approx": "eps",
    "zcdp": "rho",
    "gdp": "mu",
    "rdp": "factor of the claimed divergences",
    "tradeoff": "factor of the claimed power",
}
ABOUT_EPS = ("pure", "approx")  # claims whose own unit is eps; of all others eps is a second view, at a stated delta


def number(value: float | None) -> str:
    """Four significant figures; a dash where there is no number."""
    if value is None:
        return "-"
    return "inf" if math.isinf(value) else f"{value:.4g}"


def unit(record: AuditRecord) -> str:
    """The claim's own unit, in one word, for tables: eps, rho, mu or factor."""
    return SYMBOLS[record.notion].partition(" ")[0]


def at_delta(record: AuditRecord) -> str:
    """What belongs to every eps of an (eps, delta) claim; nothing to other numbers."""
    return f" at delta = {record.delta:g}" if record.notion == "approx" else ""


def quantity(record: AuditRecord, sign: str, value: float | None) -> str:
    """`rho >= 0.61`, `eps >= 1.2 at delta = 1e-05`: a number of the claim's own kind, with all that it needs."""
    written = at_least_words(value, record.claimed) if sign == ">=" and value is not None else number(value)
    return f"{SYMBOLS[record.notion]} {sign} {written}{at_delta(record)}"


def claimed(record: AuditRecord) -> str:
    """The claimed number without loss: what is shown is what is judged."""
    return digits(record.claimed)


def at_least_words(value: float, limit: float) -> str:
    """A lower bound in writing: four figures, rounded down; more where it exceeds `limit` and would not seem to.

    Less than 1e-9 of it is no reason to write 1.999 for 2.
    """
    if not 0 < value < math.inf:
        return number(value)
    for figures in range(4, 18):
        with localcontext(Context(prec=figures, rounding=ROUND_FLOOR)):
            down = float(+Decimal(value * (1 + 1e-9)))
        if down > limit or not value > limit:
            break
    return f"{down:.{figures}g}"


def lower(record: AuditRecord) -> str:
    """The certified lower bound in the claim's own unit, whatever it comes from; a dash where there is no evidence."""
    if not record.trials and record.verdict is not Verdict.REFUTED:
        return "-"
    return at_least_words(record.number_lower, record.claimed)


def eps_view(record: AuditRecord) -> str:
    """What is known of eps where the claim is not about it, with the delta; empty where it is, or nothing is known.

    It is no part of the verdict: a claim about rho can be false while its eps at one delta is not contradicted.
    """
    if record.notion in ABOUT_EPS:
        return ""
    ends = [f"eps >= {number(record.trials_eps)} by the trials"] if record.trials else []
    ends += [] if record.eps_upper is None else [f"eps <= {number(record.eps_upper)} by the ledger"]
    return f"at delta = {record.delta:g}: {', '.join(ends)}" if ends else ""


# ----------------------------------------------------------------------------------------------------------------------
# How what the tape says is written: a cell of a table, a sentence, the three kinds of evidence side by side.


UNMATCHED = "not matched by draws"  # how the tape's note begins
EQUAL = 1e-9  # relative: accounts that are closer are the same
NOT_DERIVED = (
    "No ledger is derived, whose number could be compared: what moves has no event of a ledger, or is another thing in "
    "every transcript."
)
MEANINGS = {
    CONFORMS: "conforms",
    DERIVED: "derived",
    CONTRADICTED: "contradicts",
    EXACT: "exact",
}


def cell(record: AuditRecord) -> str:
    """The code's end of the interval and its word: `2.5 conforms`, `>= 2 refutes`, `not traced`, `-`."""
    tape = record.tape
    if tape is None:
        return "-"
    if not tape.traced:
        return "not traced"
    word = "refutes" if tape.refutes else MEANINGS[tape.status]
    return f"{_value(tape)} {word}{' (reals)' if tape.rounding == 'reals' else ''}".lstrip()


def _value(tape: Taped) -> str:
    if tape.number is not None:
        return number(tape.number)
    if tape.refutes:
        return f">= {number(tape.lower)}"
    if tape.loss is not None and tape.delta_k is not None:
        return f"eps {number(tape.loss)}, delta {tape.delta_k:.2g}"
    return ""


def beside(record: AuditRecord) -> str:
    """`audit 0.91 | code 1 (64 transcripts, derived) | ledger 1`, in the claim's own unit."""
    tape = record.tape
    code = cell(record)
    if tape is not None and tape.traced:
        value, word = _value(tape), "refutes" if tape.refutes else MEANINGS[tape.status]
        looked = f"{tape.transcripts} transcripts" if tape.paths is None else f"{tape.paths} paths"
        code = f"{value} ({looked}, {word})".lstrip()
    lower = record.trials_lower
    audit = "-" if lower is None else at_least_words(lower, record.claimed)
    return f"audit {audit} | code {code} | ledger {number(record.number_upper)}"


def tape_sentence(tape: Taped | None, symbol: str) -> str:
    """What the tape says, in sentences that can stand alone."""
    if tape is None:
        return "The code was not traced."
    why = "; ".join(str(each) for each in tape.reasons[:2])
    if not tape.traced:
        return f"The code is not traced, which says nothing about the claim: {why}."
    pairs = "this pair" if tape.pairs == 1 else f"each of {tape.pairs} pairs"
    if tape.refutes:
        where = f" The noise is added at {sites(tape)}." if sites(tape) else ""
        how = f"at an error of {tape.error:g}" if tape.error else "without statistics"
        return f"The code refutes the claim, {how}: {why} [{tape.witness}].{where}"
    if tape.paths is not None:
        return (
            f"All {tape.paths} paths of the code are enumerated: {symbol} = {number(tape.number)} exactly, on {pairs}"
            f"{f' ({tape.witness})' if tape.witness else ''}; ordinary releases fit the law."
        )
    if tape.ledger == CONTRADICTED:
        return f"The code contradicts the ledger, which accounts for nothing then: {why}. {_end(tape, symbol, pairs)}"
    if tape.status == CONFORMS:
        seen = f"{tape.transcripts} of {tape.transcripts} transcripts in each order"
        return f"The code does what the ledger says in {seen}, on {pairs}. {_end(tape, symbol, pairs)}"
    unmatched = next((note for note in tape.notes if note.startswith(UNMATCHED)), "")
    compared = f" The ledger is not compared with it, it has what no draw shows ({unmatched})." if tape.ledger else ""
    return f"{_end(tape, symbol, pairs)}{compared}"


def _end(tape: Taped, symbol: str, pairs: str) -> str:
    """The code's end of the interval, with what the transcripts leave open."""
    if tape.delta_k is None:
        return ""
    sure = f"but for a probability of {tape.delta_k:.3g}, at {tape.confidence:.0%} on {pairs}"
    if tape.number is not None:
        at = f" at {sites(tape)}" if sites(tape) else ""
        return f"The noise that the code adds{at} makes {symbol} <= {number(tape.number)}, {sure}."
    return f"In {tape.transcripts} transcripts in each order no loss exceeds {number(tape.loss)}, {sure}."


def sites(tape: Taped) -> str:
    """file:line of the draws that move."""
    return ", ".join(dict.fromkeys(draw.site for draw in tape.draws if draw.moved and draw.site))


def draw_words(row: TapeDraw) -> str:
    """`noisy.py:21 adds laplace(2) to 2 of 4 values that move, by 1 at most`."""
    if not row.moved:
        return f"{row.site}: {row.count} of {row.family}, none on a value that moves"
    scale = "" if row.scale is None else f"({number(row.scale)})"
    return (
        f"{row.site}: {row.family}{scale} on {row.moved} values that move, by {number(row.shift_max)} at most "
        f"(l1 {number(row.shift_l1)}, l2 {number(row.shift_l2)}); {row.count} drawn"
    )


def derived_words(tape: Taped) -> list[str]:
    """The derived ledger as it would be written; nothing where there is none."""
    return [str(each) for each in tape.events or ()]


def compared_words(tape: Taped | None, upper: float | None) -> tuple[str, str]:
    """(kind, sentence): why the code's number is not that of the declared ledger, `upper`, on the pairs traced.

    Kinds: `` (nothing to compare), equal (to 1e-9), refuted, contradiction, no ledger derived, pair, theorem, selection
    and envelope. Sentences are empty where `sentence` says it already, or there is nothing to say.
    """
    if tape is None or upper is None or not tape.traced:
        return "", ""
    if tape.number is not None and (tape.number == upper or abs(tape.number - upper) <= EQUAL * abs(upper)):
        return "equal", ""
    if tape.refutes:
        return "refuted", ""
    if tape.ledger == CONTRADICTED:
        return "contradiction", ""
    if tape.number is None:
        return "no ledger derived", NOT_DERIVED
    if tape.number < upper:
        least = f"That is less than the ledger's {number(upper)}:"
        if tape.ledger == CONFORMS:
            return "pair", f"{least} the ledger is about the worst pair, and here less moves than it allows for."
        return "theorem", f"{least} the ledger is about the worst pair, and its theorem need not be tight."
    more = f"That is more than the ledger's {number(upper)}:"
    if tape.paths is not None:
        return "contradiction", f"{more} what is released is not what the ledger says."
    if tape.ledger == CONFORMS:
        return (
            "envelope",
            f"{more} what is derived covers all transcripts at once, and each of them is within the ledger.",
        )
    return "selection", (
        f"{more} what the ledger says by a theorem is about what is released, which hides values that the code draws; "
        "a single transcript, which has them all, may lose more and contradicts nothing."
    )
