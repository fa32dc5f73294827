"""The pipeline. `audit` is one short function whose lines are the stages; read it first.

claim -> neighbours -> selection trials -> frozen attack -> certifying trials -> bound -> verdict -> record
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter  # as it is now, whatever audited code makes of the module
from typing import Any

import numpy as np

from dpverify.auditing.finding import Finding, finding_from_attack, invalid, make_record, POWER, Progress, Request
from dpverify.auditing.ladder import climb, score_of_less, silence
from dpverify.auditing.record import AuditRecord
from dpverify.auditing.sequential import wager
from dpverify.base import require
from dpverify.base.seeding import fresh_seed, Stage
from dpverify.claims.claim import Claim
from dpverify.claims.neighbours import Pair
from dpverify.errors import InvalidTrials, ParameterError, RunError
from dpverify.evidence.attack import Attack, Evidence, Judged, score_block
from dpverify.evidence.lower_bound import certify_bound, course, number_course
from dpverify.evidence.predicted_bound import objective_for
from dpverify.evidence.scores.known import LikelihoodScore
from dpverify.evidence.scores.model_selection import SCORES
from dpverify.evidence.selection import learn
from dpverify.evidence.tally import Tally
from dpverify.execution import sources
from dpverify.ledger.events import Ledger
from dpverify.tape.likelihood import TRACE, traced_target
from dpverify.trials.collect import Checkpoint, checkpoint_digest, estimate, Experiment
from dpverify.trials.health.provenance import drawn_before
from dpverify.trials.health.sentinel import check_target, confirm_single, kept_words
from dpverify.trials.outcomes import check_answers
from dpverify.trials.target import as_target, ExactTarget, name_of


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
    outcomes: tuple[type[BaseException], ...] = (),
    ladder: bool = False,
    source_digest: str | None = None,
) -> AuditRecord:
    """Test a privacy claim on one pair of neighbouring datasets, by trials and by the ledger where there is one.

    Many releases are made on both datasets. The first of them choose an attack, which is a rule that guesses the
    dataset from a release. The others count how often the attack is right, and certify a lower bound on eps. The claim
    is REFUTED if the bound is larger than what is claimed.

    Parameters
    ----------
    target : object or callable
        `release(data, *, rng, size)` returns an array of shape (size, ...): an object with this method, or a function
        with this signature. An object may also have `log_ratio(outputs, pair)` and `ledger`.
    claim : Claim
        What is claimed, such as `PureDP(1.0)`.
    pair : Pair
        Two datasets that are neighbours under the relation of the claim.
    trials : int
        How many trials to make, on both datasets together. Memory does not depend on it.
    significance : float
        Probability with which `eps_lower` of the record may be above the truth, in (0, 1).
    seed : int, optional
        Equal seeds give equal records, for any `jobs` and `backend`. None draws one, which the record states.
    score : {"auto", "exact", "histogram", "classifier", "bits", "trace"}
        What the attack looks at. "exact" is the target's `log_ratio`. "histogram" is for outputs that repeat. "bits"
        looks at which floating-point numbers can be reached, and "auto" never chooses it. "trace" is the log ratio that
        the tape takes from the code; it is refused if a release does not show every value that was drawn.
    sequential : bool
        Bet on every trial and stop early: when the claim is refuted, or hardly can be. `trials` of the record are those
        that were made, and `eps_lower` is the end of a confidence sequence.
    jobs : int
        Number of workers.
    backend : str
        Kind of workers, as in joblib.
    ledger : Ledger, optional
        Used in place of the target's own.
    progress : callable, optional
        Is called with the number of certifying trials that were just finished.
    checkpoint : str or Path, optional
        A file that keeps the counts of finished blocks of trials, so that a second run does not repeat them. They
        belong to the values of the target, its pair, the seed and the source files. Data files that the target reads
        are yours to watch.
    outcomes : tuple of exception classes
        Exceptions that are answers of the mechanism although they look like failures of the run (OSError, MemoryError,
        ImportError, RecursionError, SystemExit and their subclasses). All other exceptions are answers anyway.
    ladder : bool
        Measure how often the same target with less noise is refuted (`auditing.ladder`). This takes sixteen times the
        work. The target needs `with_noise(factor)`, or must draw normal or Laplace noise from its `rng`.
    source_digest : str, optional
        Digest of the audited sources for the record. None computes it.

    Returns
    -------
    AuditRecord
        Its verdict is INVALID, without a bound, if no bound may be computed from the trials: see `trials.target` for
        what is checked.

    Raises
    ------
    ParameterError
        For a parameter outside of its range, and for a sequential audit with a checkpoint.
    NeighbourError
        For a pair that is not one of neighbours under the claim.
    TargetError
        For a target that breaks the protocol. No error ends in a verdict.

    Examples
    --------
    >>> from dpverify import audit, Pair, PureDP
    >>> def count(data, *, rng, size):
    ...     return sum(data) + rng.laplace(scale=0.5, size=size)  # this is 2-DP
    >>> record = audit(count, claim=PureDP(1.0), pair=Pair([0, 1], [1, 1]), trials=20_000, seed=1)
    >>> str(record.verdict), 1.5 < record.eps_lower < 2
    ('REFUTED', True)
    """
    started = perf_counter()
    _check_request(claim, trials, significance, score, jobs)
    if sequential and checkpoint is not None:
        raise ParameterError("checkpoint", checkpoint, "None for a sequential audit: its rules grow with its trials")
    if source_digest is None:
        source_digest = sources.digest(sources.files_of(target))
    target = as_target(target)
    answers = check_answers(outcomes)
    pair = claim.check(pair)
    seed = fresh_seed() if seed is None else seed
    traced = score == TRACE
    if traced:
        target, score = traced_target(target, pair, seed), "exact"
    exact = score in ("auto", "exact") and isinstance(target, ExactTarget)
    asked = Request(claim, trials, significance, POWER, score, exact, jobs, backend, progress)
    try:
        experiment = Experiment.of(target, pair, seed, answers)
        scored = asked.exact and not traced  # the tape's ratios are ours
        experiment, remarks = check_target(experiment, trials, scored=scored, jobs=jobs, backend=backend)
        if sequential:
            finding = wager(experiment, asked)
        else:
            finding = _spend(experiment, asked, checkpoint)
        if finding.bound.number_lower > claim.number:
            if kept := drawn_before(target):
                said = f"its releases differ by more than is claimed, and {kept_words(kept)}"
                raise InvalidTrials("KEPT_NOISE", f"{name_of(target)}: {said}")
            confirm_single(experiment)
    except InvalidTrials as error:
        finding, remarks = invalid(str(error), sequential=sequential), ()
    if traced and finding.score == LikelihoodScore.name:
        finding = replace(finding, score=TRACE)

    def again(less: Any, other: int) -> AuditRecord:
        return audit(
            less,
            claim=claim,
            pair=pair,
            trials=trials,
            significance=significance,
            seed=other,
            score=score_of_less(target, TRACE if traced else score),
            sequential=sequential,
            jobs=jobs,
            backend=backend,
            outcomes=outcomes,
            source_digest="",
        )

    rungs = climb(target, pair, again, seed) if ladder else ()
    return make_record(
        target,
        claim,
        pair,
        finding,
        ledger,
        significance=significance,
        seed=seed,
        budget=trials,
        sequential=sequential,
        remarks=(*remarks, *(silence(rungs) if ladder else ())),
        ladder=rungs,
        source_digest=source_digest,
        seconds=perf_counter() - started,
    )


def _spend(experiment: Experiment, asked: Request, checkpoint: str | Path | None) -> Finding:
    """Learn an attack on the selection trials, freeze it, and certify a bound with the other trials."""
    claim, significance = asked.claim, asked.significance
    goal = objective_for(claim, significance, coordinates=experiment.form.items)
    jobs, backend = asked.jobs, asked.backend
    budget, attack = learn(experiment, asked.trials, goal, asked.score, exact=asked.exact, jobs=jobs, backend=backend)
    store = _store(checkpoint, experiment, attack)
    evidence, total, kept, blocks = Evidence(), attack.empty_tally(), list[Tally](), list[tuple[int, int, int, int]]()
    work = partial(score_block, attack)
    for size, part in estimate(experiment, budget.estimation, work, jobs=jobs, backend=backend, store=store):
        evidence.add(part)
        total += part.tally
        blocks.append((len(blocks), size, int(part.tally.right.sum()), int(part.tally.wrong.sum())))
        if not kept or total.trials >= 1.5 * kept[-1].trials or total.trials == budget.estimation:
            kept.append(total)
        if asked.progress is not None:
            asked.progress(size)
    evidence.check()
    certified = certify_bound(attack, total, claim, significance, asked.power)
    return finding_from_attack(
        certified,
        attack,
        evidence,
        trials=asked.trials,
        selection=budget.selection,
        curve=_curve(total),
        course=tuple(course(kept, attack, claim, significance)),
        blocks=tuple(blocks),
        number_course=tuple(number_course(kept, attack, claim, significance, certified.levels)),
    )


def _store(checkpoint: str | Path | None, experiment: Experiment, attack: Attack) -> Checkpoint[Judged] | None:
    """Open the checkpoint file; its key holds all that determines a block's counts, the frozen attack included."""
    if checkpoint is None:
        return None
    frozen = (attack.cuts, attack.side.value, attack.orientation, attack.score.name, attack.event)
    pair, answers = experiment.pair, [each.__qualname__ for each in experiment.answers]
    key = checkpoint_digest(experiment.target, pair.first, pair.second, experiment.seed, answers, *frozen)
    return Checkpoint(Path(checkpoint), key, Judged.to_plain, Judged.from_plain)


def _curve(tally: Tally) -> tuple[tuple[float, float], ...]:
    """List (share of wrong guesses, share of right guesses) beyond every cut: a measured trade-off curve."""
    wrong, right = np.cumsum(tally.wrong) / tally.trials, np.cumsum(tally.right) / tally.trials
    return tuple(zip(wrong.tolist(), right.tolist(), strict=True))


def _check_request(claim: Any, trials: Any, significance: Any, score: Any, jobs: Any) -> None:
    if not isinstance(claim, Claim):
        raise ParameterError("claim", claim, "a claim such as PureDP(1.0)")
    require.integer(at_least=1, trials=trials, jobs=jobs)
    require.open_unit(significance=significance)
    if score not in (*SCORES, TRACE):
        raise ParameterError("score", score, "one of " + ", ".join((*SCORES, TRACE)))


# ----------------------------------------------------------------------------------------------------------------------
# Run some blocks of a record again and compare the counts.
#
# The seed of the record draws the selection trials again, and the attack is learned from them as before. Each block of
# certifying trials (`Working.blocks`) has random streams of its own, so that one block can be run without the others.
# The counts differ if the code, its libraries or the machine have changed, or if the record is wrong.


@dataclass(frozen=True)
class Block:
    """Counts (trials, right, wrong) of one block: as the record states them, and as the second run found them."""

    index: int
    stated: tuple[int, int, int]
    found: tuple[int, int, int]


def rerun(
    target: Any, claim: Claim, pair: Pair, record: AuditRecord, chosen: Sequence[int], *, outcomes: Any = ()
) -> list[Block]:
    """Run blocks of a record again; `chosen` are places in `record.working.blocks`.

    RunError is raised for a record that lists no blocks.
    """
    working = record.working
    if working is None or not working.blocks:
        raise RunError(f"{record.subject}: lists no blocks of trials that could be run again")
    subject, pair = as_target(target), claim.check(pair)
    experiment, _ = check_target(Experiment.of(subject, pair, record.seed, check_answers(outcomes)), record.budget)
    goal = objective_for(claim, record.significance, coordinates=experiment.form.items)
    exact = isinstance(subject, ExactTarget)
    _, attack = learn(experiment, record.budget, goal, "auto", exact=exact, jobs=1, backend="loky")
    found = []
    for place in chosen:
        index, size, right, wrong = working.blocks[place]
        tally = score_block(attack, experiment.run_grain(Stage.ESTIMATE, index, size)).tally
        came = (tally.trials, int(tally.right.sum()), int(tally.wrong.sum()))
        found.append(Block(index, (size, right, wrong), came))
    return found
