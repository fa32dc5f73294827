"""How numbers, verdicts and commands are written: one place for every rendering."""

import math
import shlex

from dpverify.auditing.ladder import PLANTED
from dpverify.auditing.record import AuditRecord, Rung
from dpverify.auditing.verdict import Status, Verdict
from dpverify.promises import BROKEN, KEPT
from dpverify.report import tape_words
from dpverify.report.overview import BAD, ClaimEntry, GOOD, PLAIN, WARN
from dpverify.report.overview import headline as headline
from dpverify.report.overview import incomplete as incomplete
from dpverify.report.tape_words import at_delta as at_delta
from dpverify.report.tape_words import claimed as claimed
from dpverify.report.tape_words import eps_view as eps_view
from dpverify.report.tape_words import lower as lower
from dpverify.report.tape_words import number as number
from dpverify.report.tape_words import quantity as quantity
from dpverify.report.tape_words import SYMBOLS as SYMBOLS
from dpverify.report.tape_words import unit as unit
from dpverify.suite.family import BONFERRONI, E_BH, HOLM
from dpverify.suite.plan import local_name
from dpverify.suite.result import Failure, SuiteResult

PROCEDURES = {HOLM: "Holm's step-down over the suite", E_BH: "e-BH over the suite"}
KINDS: dict[str, str] = {
    **{Status.PROVED: GOOD, Status.REFUTED: BAD, Status.OPEN: PLAIN},
    **dict.fromkeys((Status.INCONCLUSIVE, Status.INVALID, Status.FAILED), WARN),
    **{KEPT: GOOD, BROKEN: BAD},
}
MOST_WORDS = 40  # letters of a claim; a longer curve is named by its ends


def claim(record: AuditRecord) -> str:
    """The claim with the relation, where that is not replace-one."""
    text = record.claim
    if len(text) > MOST_WORDS:
        points = text.split(";")
        text = f"{points[0]};...;{points[-1]} ({len(points)} points)"
    return text + (" +/-1" if record.relation.startswith("add") else "")


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
    return f"expected accounted: {'yes' if record.expected_accounted else 'no'}"


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


def code_sentence(record: AuditRecord) -> str:
    """What the tape says of the code, and why its number is not the ledger's, in sentences that can stand alone."""
    _, why = tape_words.compared_words(record.tape, record.number_upper)
    return f"{tape_words.tape_sentence(record.tape, SYMBOLS[record.notion])} {why}".rstrip()


def of_code(record: AuditRecord) -> str:
    """What the tape says where it has a part in the verdict or against the ledger; else empty."""
    part = record.tape is not None and (record.tape.refutes or record.unlike_ledger)
    return code_sentence(record) if part else ""


def evidence_words(record: AuditRecord) -> str:
    """The evidence in sentences: trials, the code where it decides something, the ledger."""
    said = (sentence(record), of_code(record), ledger_sentence(record))
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
