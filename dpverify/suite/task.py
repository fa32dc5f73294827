"""Many subjects, one family-wise error.

Every audit and every check of a promise gets an equal share of the significance (Bonferroni over pairs and
promises), fixed before anything is run. So with probability at least 1 - significance *all* certified bounds
of the suite are true at once, however the audits depend on each other - not only the verdicts.
"""

import math
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic  # as it is now, whatever audited code makes of the module
from typing import Any

from dpverify.auditing.ladder import climb, repeated, score_of_less, silence
from dpverify.auditing.pipeline import audit
from dpverify.auditing.record import AuditRecord, Proved
from dpverify.auditing.statuses import Verdict
from dpverify.auditing.subject import Subject
from dpverify.auditing.tape_record import Taped, together
from dpverify.auditing.tracing import taped_pair
from dpverify.base.plain_values import decoded
from dpverify.base.seeding import derive
from dpverify.execution.isolated import emit
from dpverify.ledger.events import Ledger
from dpverify.promises import check_promise, Promise, PromiseCheck
from dpverify.suite.discovery import load_file
from dpverify.suite.plan import local_name
from dpverify.suite.result import Failure, Settings, Ticker, to_plain


def _check(promise: Promise, *, seed: int, level: float) -> PromiseCheck | Failure:
    """A promise keeps its own number of trials: it was chosen for the power against its probability."""
    try:
        return check_promise(promise, seed=derive(seed, promise.name), significance=level)
    except (Exception, SystemExit) as error:
        return Failure.of(promise.name, error)


def run_subject(
    subject: Subject,
    settings: Settings,
    level: float,
    ticker: Ticker | None = None,
    source_digest: str | None = None,
) -> AuditRecord | Failure:
    """One subject of a suite, each of its pairs at significance `level`.

    Its seed depends on the suite's seed and its name only, so that it can be run again alone. A subject's record is
    that of its most telling pair. `ticker` hears of trials.
    """
    return _run(_Task(subject, settings, level, ticker, source_digest))


def run_promise(promise: Promise, settings: Settings, level: float) -> PromiseCheck | Failure:
    """One promise of a suite at significance `level`."""
    return _check(promise, seed=settings.seed, level=level)


@dataclass(frozen=True)
class _Task:
    subject: Subject
    settings: Settings
    level: float
    ticker: Ticker | None = None
    source_digest: str | None = None  # of the sources behind the subject; None: not known


def _run(task: _Task) -> AuditRecord | Failure:
    subject, settings = task.subject, task.settings
    try:
        proof = _proved(subject) if subject.schema else None  # first: of the code as it was loaded
        record = _labelled(_audited(task, subject.target, settings.seed, subject.ledger), subject)
        record = record if proof is None else record.with_proof(proof)
        return _with_ladder(task, record) if settings.ladder else record
    except (Exception, SystemExit) as error:  # foreign code may also ask for the end of the process
        return Failure.of(subject.name, error, subject.file, subject.line)


def _proved(subject: Subject) -> Proved:
    from dpverify.proof import prove  # loads what only subjects with a schema need

    claim = subject.claim
    proof = prove(subject.target, data=subject.schema, relation=claim.relation, claim=claim)
    return decoded(Proved, {"schema": subject.schema, **proof.to_dict()})


def _audited(task: _Task, target: Any, seed: int, ledger: Ledger | None, score: str | None = None) -> AuditRecord:
    """The subject's audit on all of its pairs, of another target, and with another score, where one is given."""
    subject, settings = task.subject, task.settings
    own = seed == settings.seed  # and not a rung of the ladder
    tapes = [_taped(task, index) for index in range(len(subject.pairs))] if own and settings.tape else []
    records = [
        audit(
            target,
            claim=subject.claim,
            pair=pair,
            trials=settings.trials or subject.trials,
            significance=task.level,
            seed=_seed_of(subject, seed, index),
            score=score or subject.score,
            sequential=settings.sequential,
            jobs=settings.jobs,
            backend=settings.backend,
            ledger=ledger,
            progress=partial(task.ticker, subject.name) if own and task.ticker is not None else None,
            outcomes=subject.outcomes,
            source_digest=task.source_digest,
        )
        for index, pair in enumerate(subject.pairs)
    ]
    if tapes:
        records = [record.with_tape(tape) for record, tape in zip(records, tapes, strict=True)]
    telling = replace(_together(records), seconds=sum(record.seconds for record in records))
    if not tapes:
        return telling
    whole = together(tapes)
    return replace(telling, tape=whole, accounted=None if whole.unlike_ledger else telling.accounted)


def _taped(task: _Task, index: int) -> Taped:
    subject, settings = task.subject, task.settings
    return taped_pair(
        subject.target,
        claim=subject.claim,
        pair=subject.claim.check(subject.pairs[index]),
        ledger=subject.ledger,
        seed=_seed_of(subject, settings.seed, index),
        trials=settings.trials or subject.trials,
    )


def _seed_of(subject: Subject, seed: int, index: int) -> int:
    return derive(seed, f"{local_name(subject.name, subject.file)}#{index}")


def _with_ladder(task: _Task, record: AuditRecord) -> AuditRecord:
    """Power measured on the subject itself if it is a planted bug, else on its target with less noise."""
    subject, seed = task.subject, task.settings.seed
    score = subject.score if subject.planted else score_of_less(subject.target, subject.score)

    def again(target: Any, other: int) -> AuditRecord:
        return _audited(task, target, other, None, score)

    if subject.planted:
        return replace(record, ladder=repeated(subject.target, record, again, seed, subject.name.rpartition("!")[2]))
    rungs = climb(subject.target, subject.claim.check(subject.pairs[0]), again, seed)
    return replace(record, ladder=rungs, notes=(*record.notes, *silence(rungs)))


def _together(records: list[AuditRecord]) -> AuditRecord:
    """The pair with the largest bound, with the p- and e-value of all pairs; all bounds hold at once, so this does.

    The claim is about every pair, so that the smallest p-value times their number is one of the claim, and the
    mean of the e-values too.
    """
    telling = max(records, key=_telling)
    if telling.verdict is Verdict.INVALID:
        return telling
    p_values = [record.p_value for record in records if record.p_value is not None]
    logs = [record.log10_p_value for record in records if record.log10_p_value is not None]
    e_values = [record.e_value for record in records if record.e_value is not None]
    p_value = min(1.0, len(records) * min(p_values)) if p_values else None
    e_value = sum(each / len(records) for each in e_values) if e_values else None
    log = min(0.0, min(logs) + math.log10(len(records)) + 1e-14) if len(logs) == len(records) else None
    return replace(telling, p_value=p_value, log10_p_value=log, e_value=e_value)


def _telling(record: AuditRecord) -> tuple[int, float, float]:
    """What cannot be judged on one pair is not cleared on another; invalid trials on one pair speak against all."""
    first = {Verdict.INVALID: 3, Verdict.REFUTED: 2, Verdict.INCONCLUSIVE: 1, Verdict.NOT_REFUTED: 0}[record.verdict]
    return first, record.number_lower, -record.detectable


def _labelled(record: AuditRecord, subject: Subject) -> AuditRecord:
    labels: dict[str, Any] = {
        "subject": subject.name,
        "expected": subject.expected,
        "expected_accounted": subject.accounted,
        "accept": subject.accept,
        "planted": subject.planted,
        "paper": subject.paper,
        "statement": subject.statement,
        "pairs": len(subject.pairs),
        "file": subject.file,
        "line": subject.line,
        "notes": (*record.notes, *subject.notes),
    }
    return replace(record, **labels)


# ----------------------------------------------------------------------------------------------------------------------
# What runs inside a watched child: run one subject or promise of an audit file.
#
# Arguments and answers are plain values.


OFTEN = 0.5  # seconds between two words about progress


def run_entry(
    *,
    file: str,
    kind: str,
    local: str,
    name: str,
    settings: dict[str, Any],
    level: float,
    source_digest: str | None = None,
) -> dict[str, Any]:
    """The outcome of one subject or promise, as `suite.result.to_plain` writes it; `name` is its name in this run."""
    loaded = load_file(file)
    made = Settings(**settings)
    if kind == "promise":
        promise = loaded.promises.get(local)
        return to_plain(_gone(name, file) if promise is None else _renamed(run_promise(promise, made, level), name))
    subject = loaded.subjects.get(local)
    if subject is None:
        return to_plain(_gone(name, file))
    found = subject.found(name, subject.file, subject.line)
    return to_plain(run_subject(found, made, level, _Teller().trials, source_digest))


def _gone(name: str, file: str) -> Failure:
    return Failure(name, f"{file}: does not declare it any more; its list differs from load to load", file=file)


def _renamed(check: PromiseCheck | Failure, name: str) -> PromiseCheck | Failure:
    """Under its name in the run; its seed came from its name in the file."""
    return replace(check, name=name) if isinstance(check, PromiseCheck) else replace(check, subject=name)


class _Teller:
    """Tells the parent of trials, not too often."""

    def __init__(self) -> None:
        self.told, self.count = 0.0, 0

    def trials(self, subject: str, count: int) -> None:
        """`count` more trials are done."""
        self.count += count
        now = monotonic()
        if now - self.told >= OFTEN:
            emit({"trials": self.count})
            self.told, self.count = now, 0
