"""How numbers, verdicts and commands are written: one place for every rendering."""

import math
import shlex

from dpverify.evidence.promises import BROKEN, KEPT
from dpverify.faces.report import tape_words
from dpverify.faces.report.answers import BAD, GOOD, PLAIN, WARN
from dpverify.faces.report.answers import headline as headline
from dpverify.faces.report.answers import incomplete as incomplete
from dpverify.faces.report.answers import reused as reused
from dpverify.faces.report.overview import Entry
from dpverify.faces.report.tape_words import number as number
from dpverify.verdicts.family import BONFERRONI, E_BH, HOLM
from dpverify.verdicts.ladder import PLANTED
from dpverify.verdicts.names import local
from dpverify.verdicts.record import AuditRecord, Rung
from dpverify.verdicts.suite_result import Failure, SuiteResult
from dpverify.verdicts.verdict import Status, Verdict

PROCEDURES = {HOLM: "Holm's step-down over the suite", E_BH: "e-BH over the suite"}
SYMBOLS = {
    "pure": "eps",
    "approx": "eps",
    "zcdp": "rho",
    "gdp": "mu",
    "rdp": "factor of the claimed divergences",
    "tradeoff": "factor of the claimed power",
}
KINDS: dict[str, str] = {
    **{Status.PROVED: GOOD, Status.REFUTED: BAD, Status.OPEN: PLAIN},
    **dict.fromkeys((Status.INCONCLUSIVE, Status.INVALID, Status.FAILED), WARN),
    **{KEPT: GOOD, BROKEN: BAD},
}
ABOUT_EPS = ("pure", "approx")  # claims whose own unit is eps; of all others eps is a second view, at a stated delta
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


def unit(record: AuditRecord) -> str:
    """The claim's own unit, in one word, for tables: eps, rho, mu or factor."""
    return SYMBOLS[record.notion].partition(" ")[0]


def at_delta(record: AuditRecord) -> str:
    """What belongs to every eps of an (eps, delta) claim; nothing to other numbers."""
    return f" at delta = {record.delta:g}" if record.notion == "approx" else ""


def quantity(record: AuditRecord, sign: str, value: float | None) -> str:
    """`rho >= 0.61`, `eps >= 1.2 at delta = 1e-05`: a number of the claim's own kind, with all that it needs."""
    return f"{SYMBOLS[record.notion]} {sign} {number(value)}{at_delta(record)}"


def lower(record: AuditRecord) -> str:
    """The certified lower bound in the claim's own unit, whatever it comes from; a dash where there is no evidence."""
    return number(record.number_lower) if record.trials or record.verdict is Verdict.REFUTED else "-"


def eps_view(record: AuditRecord) -> str:
    """What is known of eps where the claim is not about it, with the delta; empty where it is, or nothing is known.

    It is no part of the verdict: a claim about rho can be false while its eps at one delta is not contradicted.
    """
    if record.notion in ABOUT_EPS:
        return ""
    ends = [f"eps >= {number(record.trials_eps)} by the trials"] if record.trials else []
    ends += [] if record.eps_upper is None else [f"eps <= {number(record.eps_upper)} by the ledger"]
    return f"at delta = {record.delta:g}: {', '.join(ends)}" if ends else ""


def account(record: AuditRecord) -> str:
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
    lower = quantity(record, ">=", record.number_lower)
    claimed = quantity(record, "=", record.claimed)
    if record.refuted_by:
        evidence = f"p = {record.p_text}" if record.refuted_by == HOLM else f"e = {number(record.e_value)}"
        return (
            f"The claim {claimed} is false: refuted by {PROCEDURES[record.refuted_by]} ({evidence}). Its own bound, at "
            f"its share of the significance, is {lower} (confidence {sure}) and does not contradict the claim."
        )
    if record.audited is not None or (record.verdict is Verdict.REFUTED and not record.trials):
        said = (
            "no trials were made"
            if record.trials_lower is None
            else (f"the trials certify {quantity(record, '>=', record.trials_lower)} (confidence {sure})")
        )
        return f"The claim {claimed} is false: transcripts of the code show {lower}; {said}."
    if record.verdict is Verdict.REFUTED:
        return f"The claim {claimed} is false: the trials certify {lower} with confidence {sure}."
    if record.verdict is Verdict.NOT_REFUTED:
        return (
            f"The trials certify {lower} (confidence {sure}), which does not contradict the claim {claimed}. "
            f"{favourable(record)}{' ' + measured(record) if record.ladder else ''}"
        )
    if record.verdict is Verdict.INVALID:
        return f"No bound may be computed from these trials, for or against the claim {claimed}: {record.invalid}."
    if any(record.failed_trials.values()) and record.detectable < math.inf:
        return f"At least half of the trials on a dataset failed: the run does not clear the claim {claimed}."
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


def rung(step: Rung) -> str:
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
    return f"Measured: {'; '.join(rung(step) for step in record.ladder)}."


def bugs(entry: Entry) -> str:
    """`3 of 4` planted bugs caught, and how often less noise was refuted where that was measured."""
    if entry.planted:
        return ""
    noise = [rung(step) for step in entry.record.ladder if step.kind != PLANTED] if entry.record else []
    return "; ".join([entry.count or "none", *noise])


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
    """What the tape says of the code, in sentences that can stand alone."""
    return tape_words.sentence(record.tape, SYMBOLS[record.notion])


def of_code(record: AuditRecord) -> str:
    """What the tape says where it has a part in the verdict or against the ledger; else empty."""
    part = record.tape is not None and (record.tape.refutes or record.unlike_ledger)
    return code_sentence(record) if part else ""


def told(record: AuditRecord) -> str:
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
        f"dpverify audit {where} -k {shlex.quote(local(record.subject, record.file))} --seed {seed} "
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
    tries = f" (tried {failure.attempts} times)" if failure.attempts > 1 else ""
    return f"{failure.error}{tries}"
