"""From a finding and an account to the record with its verdict: one place for audits, and for claims without trials."""

from typing import Any

from dpverify.accounting.claim_account import Account, account_of
from dpverify.accounting.ledger import Ledger
from dpverify.claims.claim import Claim
from dpverify.claims.neighbours import Pair
from dpverify.runs import sources
from dpverify.trials.target import as_target, declaration, name_of, Target
from dpverify.verdicts.finding import Finding, nothing
from dpverify.verdicts.record import AuditRecord, Rung
from dpverify.verdicts.verdict import judge

POWER = 0.95  # the probability behind every `detectable`
DETECTABLE = "most favourable violation: one that attains the claim's curve on all that the event guesses"


def recorded(
    target: Target,
    claim: Claim,
    pair: Pair,
    finding: Finding,
    ledger: Ledger | None,
    *,
    significance: float,
    seed: int,
    budget: int,
    sequential: bool = False,
    remarks: tuple[str, ...] = (),
    ladder: tuple[Rung, ...] = (),
    source_digest: str = "",
    seconds: float = 0.0,
) -> AuditRecord:
    """The evidence of `finding` and `ledger` - None: the target's own, if it has one - about the claim, judged."""
    bound = finding.bound
    account = account_of(claim, ledger if ledger is not None else getattr(target, "ledger", None))
    verdict = judge(
        number_lower=bound.number_lower,
        claimed=claim.number,
        detectable=bound.detectable,
        mostly_failed=finding.mostly_failed,
        invalid=bool(finding.invalid),
    )
    return AuditRecord(
        subject=name_of(target),
        claim=str(claim),
        notion=claim.notion,
        claimed=claim.number,
        claimed_eps=claim.eps,
        delta=claim.delta,
        relation=str(claim.relation),
        unit=str(claim.unit),
        view=str(claim.view),
        assumptions=claim.assumptions,
        source=claim.source,
        pair=pair.name,
        pair_verified=pair.verified,
        verdict=verdict,
        accounted=account.accounted,
        eps_lower=bound.eps_lower,
        eps_upper=account.eps_upper,
        number_lower=bound.number_lower,
        number_upper=account.number_upper,
        trials=finding.trials,
        selection_trials=finding.selection,
        significance=significance,
        power=POWER,
        detectable=bound.detectable,
        detectable_basis=DETECTABLE,
        detectable_eps=bound.detectable_eps,
        seed=seed,
        score=finding.score,
        test=bound.test,
        right=bound.right,
        wrong=bound.wrong,
        one_sided=finding.one_sided,
        witness=finding.witness,
        ledger=account.rows,
        curve=finding.curve,
        course=finding.course,
        number_course=finding.number_course,
        notes=(*finding.notes, *_notes(target, pair, finding, account), *remarks),
        failed_trials=dict(zip(("first", "second"), finding.failed, strict=True)),
        invalid=finding.invalid,
        sequential=sequential,
        p_value=bound.p_value,
        log10_p_value=bound.log10_p_value,
        e_value=bound.e_value,
        budget=budget,
        working=finding.working,
        charged=account.charged,
        ladder=ladder,
        source_digest=source_digest,
        seconds=seconds,
    )


def without_trials(
    target: Any, *, claim: Claim, pair: Pair, ledger: Ledger | None, significance: float, seed: int
) -> AuditRecord:
    """What is known of a claim before any trial: its account. INCONCLUSIVE unless something else judges it."""
    digest = sources.digest([sources.file_of(target)])
    return recorded(
        as_target(target), claim, pair, nothing(), ledger,
        significance=significance, seed=seed, budget=0, source_digest=digest,
    )  # fmt: skip


def _notes(target: Target, pair: Pair, finding: Finding, account: Account) -> tuple[str, ...]:
    notes = [str(note) for note in declaration(target, "notes") or ()]
    if not pair.verified:
        notes.append("the pair is taken as neighbouring on the caller's word: its type cannot be compared")
    if finding.turned:
        notes.append("log_ratio points from second to first in the selection trials; its sign was turned")
    if finding.bound.events > 1:
        notes.append(
            f"{finding.bound.events} events share the significance; the witness is the one that certifies most"
        )
    if account.note:
        notes.append(account.note)
    return tuple(notes)
