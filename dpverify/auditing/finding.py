"""Settings and statistical result of one audit, fixed-size or sequential, and the record that is made of them."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from dpverify.accounting.accountant import Account, account_of
from dpverify.auditing.record import AuditRecord, Rung
from dpverify.auditing.statuses import judge
from dpverify.claims.claim import Claim
from dpverify.claims.neighbours import Pair
from dpverify.evidence.attack import Attack, Evidence, Failed
from dpverify.evidence.lower_bound import LowerBound
from dpverify.evidence.scores.known import LikelihoodScore
from dpverify.evidence.tally import Working
from dpverify.execution import sources
from dpverify.ledger.events import Ledger
from dpverify.trials.target import as_target, declaration, name_of, Target

Progress = Callable[[int], None]  # told the number of certifying trials that were just finished


@dataclass(frozen=True)
class Request:
    """What the trials of one audit are spent on, and where they run."""

    claim: Claim
    trials: int
    significance: float
    power: float
    score: str
    exact: bool
    jobs: int = 1
    backend: str = "loky"
    progress: Progress | None = None


@dataclass(frozen=True, eq=False)
class Finding:
    """A bound, the rule behind it, and the trials it took (`selection` of them certify nothing).

    `failed` counts failures on each dataset. Where `invalid` says why, there is no bound but the trivial one.
    """

    bound: LowerBound
    score: str
    witness: str
    one_sided: bool
    turned: bool  # a score that was said to be the log ratio points the other way
    trials: int
    selection: int
    curve: tuple[tuple[float, float], ...]
    course: tuple[tuple[int, float], ...]
    failed: Failed
    mostly_failed: bool
    notes: tuple[str, ...] = ()
    invalid: str = ""
    working: Working | None = None
    number_course: tuple[tuple[int, float], ...] = ()  # `course` in the unit of a claim about a whole profile


def finding_from_attack(
    bound: LowerBound,
    attack: Attack,
    evidence: Evidence,
    *,
    trials: int,
    selection: int,
    curve: tuple[tuple[float, float], ...],
    course: tuple[tuple[int, float], ...],
    number_course: tuple[tuple[int, float], ...] = (),
    notes: tuple[str, ...] = (),
    blocks: tuple[tuple[int, int, int, int], ...] = (),
) -> Finding:
    """Collect the result of a frozen attack on trials that passed all checks."""
    how = tuple(f"failing trials: {each}" for each in sorted(evidence.failing))
    return Finding(
        bound=bound,
        score=attack.score.name,
        witness=attack.witness(bound.levels),
        one_sided=attack.one_sided,
        turned=attack.orientation < 0 and attack.score.name == LikelihoodScore.name,
        trials=trials,
        selection=selection,
        curve=curve,
        course=course,
        failed=evidence.failed,
        mostly_failed=evidence.mostly_failed,
        notes=(*notes, *how),
        working=None if bound.working is None else replace(bound.working, blocks=blocks),
        number_course=number_course,
    )


def invalid(reason: str, *, sequential: bool) -> Finding:
    """Return the finding of trials that may not be used: the trivial bound, and the reason."""
    return replace(nothing(sequential=sequential), invalid=reason)


def nothing(*, sequential: bool = False) -> Finding:
    """Return the trivial bound, which holds before any trial was made: eps is at least 0."""
    trivial = LowerBound(
        eps_lower=0.0,
        number_lower=0.0,
        detectable=math.inf,
        detectable_eps=math.inf,
        test="none",
        right=0,
        wrong=0,
        p_value=1.0,
        log10_p_value=0.0,
        e_value=1.0 if sequential else None,
    )
    return Finding(trivial, "none", "none", False, False, 0, 0, (), (), ({}, {}), False)


# ----------------------------------------------------------------------------------------------------------------------
# From a finding and an account to the record with its verdict: one place for audits, and for claims without trials.


POWER = 0.95  # the probability behind every `detectable`
DETECTABLE = "most favourable violation: one that attains the claim's curve on all that the event guesses"


def make_record(
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
    """Make the record of an audit: its finding, the account of the ledger, and the verdict on the claim.

    Without a `ledger` the target's own is accounted, if it has one.
    """
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
    """Make the record of a claim that got no trials: it holds the account of the ledger.

    Its verdict is INCONCLUSIVE until other evidence is added, such as that of a trace.
    """
    digest = sources.digest(sources.files_of(target))
    return make_record(
        as_target(target),
        claim,
        pair,
        nothing(),
        ledger,
        significance=significance,
        seed=seed,
        budget=0,
        source_digest=digest,
    )


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
