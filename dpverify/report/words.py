"""How numbers, verdicts and commands are written: one place for every rendering."""

import math
import shlex
from decimal import Context, Decimal, localcontext, ROUND_FLOOR

from dpverify.auditing.canaries import SCORE as ONE_RUN
from dpverify.auditing.ladder import PLANTED
from dpverify.auditing.record import AuditRecord, Rung
from dpverify.auditing.statuses import Grade, Status, Verdict
from dpverify.auditing.tape_record import (
    CONFORMS,
    CONTRADICTED,
    DERIVED,
    EXACT,
    Taped,
    TapeDraw,
    UNDECIDED,
    UNMATCHED,
)
from dpverify.claims.claim import digits
from dpverify.promises import BROKEN, KEPT
from dpverify.report.overview import BAD, ClaimEntry, GOOD, PLAIN, WARN
from dpverify.report.overview import headline as headline
from dpverify.report.overview import incomplete as incomplete
from dpverify.suite.plan import local_name
from dpverify.suite.result import BONFERRONI, E_BH, Failure, HOLM, SuiteResult

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


NOT_SHOWN = "not matched by draws"  # how the tape's note begins
EQUAL = 1e-9  # relative: accounts that are closer are the same
NOT_DERIVED = (
    "No ledger is derived, whose number could be compared: what moves has no event of a ledger, or is another thing in "
    "every transcript."
)
MEANINGS = {
    CONFORMS: "conforms",
    DERIVED: "derived",
    CONTRADICTED: "contradicts",
    UNDECIDED: "undecided",
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
    if tape.ledger == UNMATCHED:
        apart = "The code does not match the ledger draw by draw, which decides nothing"
        return f"{apart}: {why}. {_end(tape, symbol, pairs)}"
    if tape.status == CONFORMS:
        seen = f"{tape.transcripts} of {tape.transcripts} transcripts in each order"
        return f"The code does what the ledger says in {seen}, on {pairs}. {_end(tape, symbol, pairs)}"
    unmatched = next((note for note in tape.notes if note.startswith(NOT_SHOWN)), "")
    compared = f" The ledger is not compared with it, it has what no draw shows ({unmatched})." if tape.ledger else ""
    return f"{_end(tape, symbol, pairs)}{compared}"


def _end(tape: Taped, symbol: str, pairs: str) -> str:
    """The code's end of the interval, with what the transcripts leave open."""
    if tape.delta_k is None:
        return ""
    sure = f"at {tape.confidence:.0%} on {pairs}"
    if tape.number is not None:
        at = f" at {sites(tape)}" if sites(tape) else ""
        return (
            f"The noise that the code adds{at} is worth {symbol} = {number(tape.number)} in every transcript; a branch "
            f"of probability below {tape.delta_k:.3g} may not have been met ({sure})."
        )
    return (
        f"The {tape.transcripts} transcripts in each order show ({number(tape.loss)}, {tape.delta_k:.3g})-DP, {sure}."
    )


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
    if tape.ledger == UNMATCHED:
        return "unmatched", ""
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


# ----------------------------------------------------------------------------------------------------------------------


PROCEDURES = {HOLM: "Holm's step-down over the suite", E_BH: "e-BH over the suite"}
KINDS: dict[str, str] = {
    **{Status.CERTIFIED: GOOD, Status.ACCOUNTED: PLAIN, Status.REFUTED: BAD, Status.OPEN: PLAIN},
    **dict.fromkeys((Status.INCONCLUSIVE, Status.INVALID, Status.FAILED), WARN),
    **{KEPT: GOOD, BROKEN: BAD},
}
MOST_WORDS = 40  # letters of a claim; a longer curve is named by its ends


def claim(record: AuditRecord) -> str:
    """The claim with the relation, where that is not replace-one, and the unit, where that is no record."""
    text = record.claim
    if len(text) > MOST_WORDS:
        points = text.split(";")
        text = f"{points[0]};...;{points[-1]} ({len(points)} points)"
    unit = "" if record.unit == "record" else f" per {record.unit}"
    return text + (" +/-1" if record.relation.startswith("add") else "") + unit


def kind(word: str) -> str:
    """What drives the colour of a status or of a promise's verdict; a word that nobody knows is undecided."""
    return KINDS.get(word, WARN)


def account_words(record: AuditRecord) -> str:
    """What the ledger says, in one word."""
    if record.ledger_contradicted:
        return "CONTRADICTED"
    return {True: "yes", False: "no", None: "-"}[record.accounted]


def expectation(record: AuditRecord) -> str:
    """Empty where all is as expected, else what was expected instead."""
    if record.as_expected:
        return ""
    if record.verdict != (record.expected or Verdict.NOT_REFUTED):
        return f"expected {record.expected or Verdict.NOT_REFUTED}"
    if record.ledger_contradicted:
        return f"the {'code contradicts' if record.unlike_ledger else 'trials contradict'} the ledger"
    if record.expected_accounted is not None and record.accounted is not record.expected_accounted:
        return f"expected accounted: {'yes' if record.expected_accounted else 'no'}"
    return f"expected evidence: {record.accept}"


def failed_trials(record: AuditRecord) -> str:
    """How many trials failed on each dataset, and with what; empty where none did."""
    if not any(record.failed_trials.values()):
        return ""

    def told(counts: dict[str, int]) -> str:
        names = ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items()))
        return f"{sum(counts.values()):,}" + (f" ({names})" if names else "")

    first, second = (told(record.failed_trials.get(arm, {})) for arm in ("first", "second"))
    return f"Failed trials: {first} on the first dataset, {second} on the second."


def sentence(record: AuditRecord) -> str:
    """The verdict in one sentence that can stand alone, and a second one about failed trials where there are any."""
    return f"{_judgement(record)} {failed_trials(record)}".rstrip()


def _judgement(record: AuditRecord) -> str:
    sure = f"{100 * (1 - record.significance):.6g} %"
    least = quantity(record, ">=", record.number_lower)
    claim_ = f"{SYMBOLS[record.notion]} = {claimed(record)}{at_delta(record)}"
    if record.refuted_by:
        evidence = f"p = {record.p_text}" if record.refuted_by == HOLM else f"e = {number(record.e_value)}"
        return (
            f"The claim {claim_} is false: refuted by {PROCEDURES[record.refuted_by]} ({evidence}). Its own bound, at "
            f"its share of the significance, is {least} (confidence {sure}) and does not contradict the claim."
        )
    if record.audited is not None or (record.verdict is Verdict.REFUTED and not record.trials):
        said = (
            "no trials were made"
            if record.trials_lower is None
            else (f"the trials certify {quantity(record, '>=', record.trials_lower)} (confidence {sure})")
        )
        return f"The claim {claim_} is false: transcripts of the code show {least}; {said}."
    if record.verdict is Verdict.REFUTED:
        return f"The claim {claim_} is false: the trials certify {least} with confidence {sure}."
    if record.verdict is Verdict.NOT_REFUTED:
        return (
            f"The trials certify {least} (confidence {sure}), which does not contradict the claim {claim_}. "
            f"{favourable(record)}{' ' + measured(record) if record.ladder else ''}"
        )
    if record.verdict is Verdict.INVALID:
        return f"No bound may be computed from these trials, for or against the claim {claim_}: {record.invalid}."
    if any(record.failed_trials.values()) and record.detectable < math.inf:
        return f"At least half of the trials on a dataset failed: the run does not clear the claim {claim_}."
    return "No violation, however large, could have been refuted with this budget: the run says nothing of the claim."


DETECTABLE = (
    "detectable: the most favourable violation that the run refutes with 95 % power, in the claim's own unit; one that "
    "is less favourable has to be larger, or is missed"
)


def favourable(record: AuditRecord) -> str:
    """What `detectable` means, in one sentence."""
    return (
        f"The most favourable violation ({quantity(record, '=', record.detectable)}) is refuted with probability "
        f"{record.power:g}; others of that size, and smaller ones, may be missed."
    )


def rung_words(step: Rung) -> str:
    """One measured figure: `0.5 of the noise (2): refuted 8 of 8`, `planted half-noise (2): CAUGHT`."""
    name = f"planted {step.name}" if step.kind == PLANTED else step.name
    size = "" if step.size is None else f" ({number(step.size)})"
    if step.runs == 1:
        return f"{name}{size}: {'CAUGHT' if step.refuted else 'not caught'}"
    return f"{name}{size}: refuted {step.refuted} of {step.runs}"


def measured(record: AuditRecord) -> str:
    """The ladder in one sentence; empty without one."""
    if not record.ladder:
        return ""
    return f"Measured: {'; '.join(rung_words(step) for step in record.ladder)}."


def bugs(entry: ClaimEntry) -> str:
    """`3 of 4` planted bugs caught, and how often less noise was refuted where that was measured.

    A claim that is known to be false needs none.
    """
    if entry.planted:
        return ""
    none = "-" if entry.record is not None and entry.record.expected == Verdict.REFUTED else "none"
    noise = [rung_words(step) for step in entry.record.ladder if step.kind != PLANTED] if entry.record else []
    return "; ".join([entry.count or none, *noise])


def power(step: Rung) -> str:
    """The interval of a rung's power."""
    return f"{100 * step.power_lower:.0f} to {100 * step.power_upper:.0f} %"


def ledger_sentence(record: AuditRecord) -> str:
    """What the ledger proves, in one sentence."""
    if record.number_upper is None:
        return "No ledger: nothing is proved from above."
    upper = quantity(record, "<=", record.number_upper)
    if record.unlike_ledger:
        return f"The ledger says {upper}, the code adds something else: it accounts for nothing."
    if record.ledger_contradicted:
        return f"The ledger says {upper}, the trials certify more: the ledger is not what is released."
    if record.accounted:
        return f"The ledger proves {upper}: the claim holds if the ledger lists what is really released."
    return f"The ledger proves {upper} only: it does not prove the claim."


def proof_sentence(record: AuditRecord) -> str:
    """What is proved from the code, in one sentence; empty where nobody asked."""
    if record.proof is None:
        return ""
    if record.proof.ended:
        return f"Not proved from the code: {record.proof.ended}."
    upper = record.proved_number
    said = "the claim" if upper is None else quantity(record, "<=", upper)
    where = f"for all neighbours of {record.proof.schema!r}"
    return f"Proved from the code {where}: {said}{'' if record.proof.holds else ', which is more than is claimed'}."


def proved(record: AuditRecord) -> str:
    """The number that is proved from the code, "ended", or "-" where nobody asked."""
    if record.proof is None:
        return "-"
    return "ended" if record.proof.ended else number(record.proved_number)


GRADE_SENTENCES = {
    Grade.PROOF: "No ledger is needed: the code itself is proved.",
    Grade.CODE: "The code was compared with the ledger on these pairs, and conforms.",
    Grade.LEDGER: "The ledger is the author's word: nothing has compared the code with it.",
    Grade.THEOREM: "The ledger has steps that no draw of the code shows: their theorem is the author's word.",
}


def grade_sentence(grade: Grade | None) -> str:
    """What a proof rests on; empty without one."""
    return "" if grade is None else GRADE_SENTENCES[grade]


def code_sentence(record: AuditRecord) -> str:
    """What the tape says of the code, and why its number is not the ledger's, in sentences that can stand alone."""
    _, why = compared_words(record.tape, record.number_upper)
    return f"{tape_sentence(record.tape, SYMBOLS[record.notion])} {why}".rstrip()


def of_code(record: AuditRecord) -> str:
    """What the tape says where it has a part in the verdict or against the ledger; else empty."""
    part = record.tape is not None and (record.tape.refutes or record.unlike_ledger)
    return code_sentence(record) if part else ""


def evidence_words(record: AuditRecord) -> str:
    """The evidence in sentences: trials, the code where it decides something, the ledger."""
    said = (sentence(record), of_code(record), ledger_sentence(record), proof_sentence(record))
    return " ".join(each for each in said if each)


def command(record: AuditRecord, result: SuiteResult) -> str:
    """The command that gives this record again."""
    return command_for(record, result.seed)


def command_for(record: AuditRecord, seed: int) -> str:
    """The command that gives a record of a suite with this seed again.

    A suite shares its significance among all pairs; alone, the subject gets the same share.
    """
    share = record.significance * record.pairs
    while share / record.pairs < record.significance:
        share = math.nextafter(share, 1.0)
    where = shlex.quote(record.file or "audits")
    if record.score == ONE_RUN:
        return f"dpverify scores {where} --claim {shlex.quote(record.claim)} --significance {share!r}"
    return (
        f"dpverify audit {where} -k {shlex.quote(local_name(record.subject, record.file))} --seed {seed} "
        f"--trials {record.budget} --significance {share!r}"
        + (" --sequential" if record.sequential else "")
        + ("" if record.tape is not None else " --no-tape")
    )


def family(result: SuiteResult) -> str:
    """What limits the error of the suite's verdicts, in sentences that can stand alone."""
    level = f"{result.family_wise_error:g}"
    bounds = (
        f"All certified lower bounds (eps, rho, mu or factor, as claimed) hold at once with probability >= "
        f"{1 - result.family_wise_error:g}."
    )
    if result.family == BONFERRONI:
        return bounds
    further = [record.subject for record in result.records if record.refuted_by]
    error = {
        HOLM: f"any claim is refuted wrongly with probability <= {level}",
        E_BH: f"of the refuted claims an expected share <= {level} is refuted wrongly",
    }[result.family]
    count = sum(record.verdict is Verdict.REFUTED for record in result.records)
    named = f", {len(further)} of them not by their own bounds: {', '.join(further)}" if further else ""
    return (
        f"Verdicts by {PROCEDURES[result.family]}: {error}; {count} refuted{named}. "
        f"A statement of its own, with an error of its own: {bounds[0].lower()}{bounds[1:]}"
    )


def speed(record: AuditRecord) -> str:
    """Trials a second, both datasets and all pairs together; empty where it is not known."""
    if not record.seconds > 0 or (record.sequential and record.pairs > 1):  # pairs stop at different times
        return ""
    return f"{record.trials * record.pairs / record.seconds:,.0f} trials a second"


def failed(failure: Failure) -> str:
    """Why a subject has no verdict, in one line."""
    return failure.error
