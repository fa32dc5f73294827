"""How numbers, verdicts and commands are written: one place for every rendering."""

import math
import shlex

from dpverify.verdicts.family import BONFERRONI, E_BH, HOLM
from dpverify.verdicts.record import AuditRecord
from dpverify.verdicts.suite import SuiteResult
from dpverify.verdicts.verdict import Verdict

PROCEDURES = {HOLM: "Holm's step-down over the suite", E_BH: "e-BH over the suite"}
SYMBOLS = {"pure": "eps", "approx": "eps", "zcdp": "rho", "gdp": "mu"}


def number(value: float | None) -> str:
    """Four significant figures; a dash where there is no number."""
    if value is None:
        return "-"
    return "inf" if math.isinf(value) else f"{value:.4g}"


def claim(record: AuditRecord) -> str:
    """The claim with the relation, where that is not replace-one."""
    return record.claim + (" +/-1" if record.relation.startswith("add") else "")


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
        return "the trials contradict the ledger"
    return f"expected accounted: {'yes' if record.expected_accounted else 'no'}"


def group(subject: str) -> str:
    """The stem of the file that declares the subject."""
    return subject.partition("/")[0] if "/" in subject else ""


def sentence(record: AuditRecord) -> str:
    """The verdict in one sentence that can stand alone."""
    symbol = SYMBOLS[record.notion]
    sure = f"{100 * (1 - record.significance):.6g} %"
    lower = f"{symbol} >= {number(record.number_lower)}"
    claimed = f"{symbol} = {number(record.claimed)}"
    if record.refuted_by:
        evidence = f"p = {number(record.p_value)}" if record.refuted_by == HOLM else f"e = {number(record.e_value)}"
        return (
            f"The claim {claimed} is false: refuted by {PROCEDURES[record.refuted_by]} ({evidence}). Its own bound, at "
            f"its share of the significance, is {lower} (confidence {sure}) and does not contradict the claim."
        )
    if record.verdict is Verdict.REFUTED:
        return f"The claim {claimed} is false: the trials certify {lower} with confidence {sure}."
    catch = f"a true eps of {number(record.detectable_eps)} at delta = {record.delta:g}"
    if record.verdict is Verdict.NOT_REFUTED:
        return (
            f"The trials certify {lower} (confidence {sure}), which does not contradict the claim {claimed}. "
            f"This run would have refuted {catch} with probability {record.power:g}; a smaller violation may exist."
        )
    return "No violation, however large, could have been caught with this budget: the run says nothing about the claim."


def ledger_sentence(record: AuditRecord) -> str:
    """What the ledger proves, in one sentence."""
    symbol = SYMBOLS[record.notion]
    if record.number_upper is None:
        return "No ledger: nothing is proved from above."
    upper = f"{symbol} <= {number(record.number_upper)}"
    if record.ledger_contradicted:
        return f"The ledger says {upper}, the trials certify more: the ledger is not what is released."
    if record.accounted:
        return f"The ledger proves {upper}: the claim holds if the ledger lists what is really released."
    return f"The ledger proves {upper} only: it does not prove the claim."


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
        f"dpverify audit {where} -k {shlex.quote(record.subject)} --seed {seed} "
        f"--trials {record.budget} --significance {share!r}" + (" --sequential" if record.sequential else "")
    )


def family(result: SuiteResult) -> str:
    """What limits the error of the suite's verdicts, in sentences that can stand alone."""
    level = f"{result.family_wise_error:g}"
    bounds = (
        f"All certified lower bounds (eps, rho or mu, as claimed) hold at once with probability >= "
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


def headline(result: SuiteResult) -> str:
    """The suite in one line."""
    expected = sum(record.as_expected for record in result.records)
    bugs = [record for record in result.records if record.planted]
    caught = sum(record.verdict is Verdict.REFUTED for record in bugs)
    kept = sum(check.as_expected for check in result.promises)
    promises = f"{len(result.promises)} promises, {kept} as expected; " if result.promises else ""
    return (
        f"{len(result.records)} subjects, {expected} as expected; {caught} of {len(bugs)} planted bugs caught; "
        f"{promises}{len(result.failures)} failed."
    )
