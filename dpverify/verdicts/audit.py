"""The pipeline. `audit` is one short function whose lines are the stages; read it first.

claim -> neighbours -> selection trials -> frozen attack -> certifying trials -> bound -> verdict -> record
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from dpverify.accounting import accountant, describe
from dpverify.accounting.ledger import Ledger
from dpverify.base import require
from dpverify.base.errors import AccountingError, ParameterError
from dpverify.base.rounding import float_up
from dpverify.base.seeding import fresh_seed
from dpverify.claims.claim import Claim, GaussianDP, ZCDP
from dpverify.claims.neighbours import Pair
from dpverify.evidence.attack import Attack
from dpverify.evidence.certify import certify_bound, course
from dpverify.evidence.gains import aim_for
from dpverify.evidence.scores.families import SCORES
from dpverify.evidence.selection import learn
from dpverify.evidence.tally import Tally
from dpverify.trials.checkpoint import Checkpoint, digest
from dpverify.trials.collect import estimate, Experiment
from dpverify.trials.target import as_target, ExactTarget, name_of, Target
from dpverify.verdicts.finding import Finding
from dpverify.verdicts.record import AuditRecord
from dpverify.verdicts.sequential_run import Request, wager
from dpverify.verdicts.verdict import judge

POWER = 0.95  # the probability behind every `detectable_eps`
Progress = Callable[[int], None]  # told the number of certifying trials that were just finished


def audit(
    target: Any,
    *,
    claim: Claim,
    pair: Pair,
    trials: int = 100_000,
    significance: float = 0.05,
    seed: int | None = None,
    score: str = "auto",
    sequential: bool = False,
    jobs: int = 1,
    backend: str = "loky",
    ledger: Ledger | None = None,
    progress: Progress | None = None,
    checkpoint: str | Path | None = None,
) -> AuditRecord:
    """Confronts a claim with trials on a neighbouring pair, and with the ledger where there is one.

    target        `release(data, *, rng, size) -> (size, ...)`, an object with it or a plain function;
                  optional `log_ratio(outputs, pair)` and `ledger`
    claim, pair   what is claimed, and two datasets that are neighbours under the claim's relation
    trials        budget, both datasets together; memory does not depend on it
    sequential    bet on every trial and stop once the claim is refuted, or hardly can be: the record's `trials`
                  are those that were run, its eps_lower the end of a confidence sequence
    significance  probability with which the run may report an eps_lower above the truth
    seed          equal seeds give equal records, for any `jobs` and `backend`; None draws one, see the record
    score         "auto", "exact" (the target's log_ratio), "histogram" (outputs that repeat), "classifier",
                  "bits" (which floating-point numbers can be reached; never part of "auto")
    ledger        overrides the target's own
    checkpoint    a file: certifying blocks that it holds are not run again after a crash; the others are added

    Raises UsageError (ParameterError, NeighbourError) for a request that is not allowed, TargetError for a
    target that breaks the protocol; neither ends in a verdict.
    """
    started = time.perf_counter()
    _check_request(claim, trials, significance, score, jobs)
    if sequential and checkpoint is not None:
        raise ParameterError("checkpoint", checkpoint, "None for a sequential audit: its rules grow with its trials")
    target = as_target(target)
    pair = claim.check(pair)
    seed = fresh_seed() if seed is None else seed
    experiment = Experiment.of(target, pair, seed)
    exact = _is_exact(target, score)
    if sequential:
        finding = wager(Request(experiment, claim, trials, significance, POWER, score, exact, jobs, backend, progress))
    else:
        aim = aim_for(claim, significance, coordinates=experiment.form.items)
        budget, attack = learn(experiment, trials, aim, score, exact=exact, jobs=jobs, backend=backend)
        store = _store(checkpoint, experiment, attack)
        tallies = _tallies(experiment, attack, budget.estimation, jobs, backend, progress, store)
        certified = certify_bound(attack, tallies[-1], claim, significance, POWER)
        finding = Finding(
            bound=certified,
            attack=attack,
            trials=trials,
            selection=budget.selection,
            curve=_curve(tallies[-1]),
            course=tuple(course(tallies, attack, claim, significance, certified.levels)),
        )
    bound = finding.bound
    account = _account(claim, ledger if ledger is not None else getattr(target, "ledger", None))
    verdict = judge(number_lower=bound.number_lower, claimed=claim.number, detectable=bound.detectable_eps)

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
        detectable_eps=bound.detectable_eps,
        seed=seed,
        score=finding.attack.score.name,
        test=bound.test,
        right=bound.right,
        wrong=bound.wrong,
        one_sided=finding.attack.one_sided,
        witness=finding.attack.witness(bound.levels),
        ledger=account.rows,
        curve=finding.curve,
        course=finding.course,
        notes=(*finding.notes, *_notes(target, pair, finding.attack, bound.events, account)),
        sequential=sequential,
        p_value=bound.p_value,
        e_value=bound.e_value,
        budget=trials,
        seconds=time.perf_counter() - started,
    )


def _tallies(
    experiment: Experiment,
    attack: Attack,
    trials: int,
    jobs: int,
    backend: str,
    progress: Progress | None,
    store: Checkpoint[Tally] | None,
) -> list[Tally]:
    """Running totals at a few prefixes of the certifying trials; the last one is the evidence."""
    total = attack.empty_tally()
    kept: list[Tally] = []
    for size, tally in estimate(experiment, trials, attack.tally, jobs=jobs, backend=backend, store=store):
        total += tally
        if not kept or total.trials >= 1.5 * kept[-1].trials or total.trials == trials:
            kept.append(total)
        if progress is not None:
            progress(size)
    return kept


def _store(checkpoint: str | Path | None, experiment: Experiment, attack: Attack) -> Checkpoint[Tally] | None:
    """Keyed by all that determines a block's counts: target, pair, seed, and the frozen attack."""
    if checkpoint is None:
        return None
    key = digest(experiment, attack.cuts, attack.side.value, attack.orientation, attack.score.name)
    return Checkpoint(Path(checkpoint), key, Tally.to_plain, Tally.from_plain)


@dataclass(frozen=True)
class Account:
    """What the ledger proves about the claim."""

    eps_upper: float | None = None
    number_upper: float | None = None
    accounted: bool | None = None
    rows: tuple[tuple[str, ...], ...] = ()
    note: str = ""


def _account(claim: Claim, ledger: Ledger | None) -> Account:
    if ledger is None:
        return Account()
    try:
        upper = accountant.eps_upper(ledger, delta=claim.delta, relation=claim.relation)
    except AccountingError as error:  # the ledger is silent about this relation: no account, and said so
        return Account(rows=describe.rows(ledger, claim.relation), note=f"not accounted: {error}")
    return Account(
        eps_upper=upper,
        number_upper=_number_upper(claim, ledger, upper),
        accounted=accountant.meets(claim, ledger),
        rows=describe.rows(ledger, claim.relation),
    )


def _number_upper(claim: Claim, ledger: Ledger, eps_upper: float) -> float:
    if isinstance(claim, GaussianDP):
        return accountant.mu_upper(ledger, relation=claim.relation)
    if isinstance(claim, ZCDP):
        rho = accountant.rho_upper(ledger, relation=claim.relation)
        return float_up(rho) if isinstance(rho, Fraction) else rho
    return eps_upper


def _curve(tally: Tally) -> tuple[tuple[float, float], ...]:
    """(share of wrong guesses, share of right guesses) beyond every cut: a measured trade-off curve."""
    wrong, right = np.cumsum(tally.wrong) / tally.trials, np.cumsum(tally.right) / tally.trials
    return tuple(zip(wrong.tolist(), right.tolist(), strict=True))


def _notes(target: Target, pair: Pair, attack: Attack, events: int, account: Account) -> tuple[str, ...]:
    notes = [str(note) for note in getattr(target, "notes", ())]
    if not pair.verified:
        notes.append("the pair is taken as neighbouring on the caller's word: its type cannot be compared")
    if attack.orientation < 0 and attack.score.name == "likelihood":
        notes.append("log_ratio points from second to first in the selection trials; its sign was turned")
    if events > 1:
        notes.append(f"{events} events share the significance; the witness is the one that certifies most")
    if account.note:
        notes.append(account.note)
    return tuple(notes)


def _is_exact(target: Target, score: str) -> bool:
    return score in ("auto", "exact") and isinstance(target, ExactTarget)


def _check_request(claim: Any, trials: Any, significance: Any, score: Any, jobs: Any) -> None:
    if not isinstance(claim, Claim):
        raise ParameterError("claim", claim, "a claim such as PureDP(1.0)")
    require.integer(at_least=1, trials=trials, jobs=jobs)
    require.open_unit(significance=significance)
    if score not in SCORES:
        raise ParameterError("score", score, "one of " + ", ".join(SCORES))
