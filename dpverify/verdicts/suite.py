"""Many subjects, one family-wise error.

Every audit and every check of a promise gets an equal share of the significance (Bonferroni over pairs and
promises), fixed before anything is run. So with probability at least 1 - significance *all* certified bounds
of the suite are true at once, however the audits depend on each other - not only the verdicts.
"""

import platform
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path
from typing import Any

from dpverify.base import require
from dpverify.base.errors import DpverifyError, EXIT_FAILED, EXIT_OK, EXIT_UNEXPECTED
from dpverify.base.executors import check_backend, ordered_map
from dpverify.base.seeding import derive
from dpverify.evidence.promises import check_promise, OPEN, Promise, PromiseCheck
from dpverify.verdicts.audit import audit
from dpverify.verdicts.record import AuditRecord
from dpverify.verdicts.subject import Subject
from dpverify.verdicts.verdict import Verdict


@dataclass(frozen=True)
class Failure:
    """A subject whose audit could not be finished: no record, no verdict."""

    subject: str
    error: str


@dataclass(frozen=True, kw_only=True)
class SuiteResult:
    """Records and failures of a suite, in the order of its subjects."""

    records: tuple[AuditRecord, ...]
    failures: tuple[Failure, ...]
    seed: int
    family_wise_error: float
    environment: dict[str, str]
    promises: tuple[PromiseCheck, ...] = ()
    family: str = "bonferroni"  # the procedure behind the verdicts: one of `verdicts.family.FAMILIES`

    @property
    def exit_code(self) -> int:
        """1 where a verdict or account is not as expected, else 3 where something has no result, else 0."""
        results: list[AuditRecord | PromiseCheck] = [*self.records, *self.promises]
        conclusive = [each for each in results if each.verdict not in (Verdict.INCONCLUSIVE, OPEN)]
        if not all(each.as_expected for each in conclusive):
            return EXIT_UNEXPECTED
        if self.failures or not results or not all(each.as_expected for each in results):
            return EXIT_FAILED
        return EXIT_OK


@dataclass(frozen=True)
class Settings:
    """What a run adds to its subjects; `trials` None keeps each subject's own budget."""

    seed: int
    significance: float = 0.05
    trials: int | None = None
    jobs: int = 1
    backend: str = "loky"
    sequential: bool = False

    def __post_init__(self) -> None:
        require.integer(at_least=0, seed=self.seed)
        require.integer(at_least=1, jobs=self.jobs)
        require.open_unit(significance=self.significance)
        check_backend(self.backend)
        if self.trials is not None:
            require.integer(at_least=1, trials=self.trials)


Outcome = AuditRecord | PromiseCheck | Failure
Listener = Callable[[Outcome], None]
Ticker = Callable[[str, int], None]  # told the subject and the number of its trials that were just finished


def run_suite(
    subjects: Sequence[Subject],
    settings: Settings,
    listener: Listener | None = None,
    ticker: Ticker | None = None,
    promises: Sequence[Promise] = (),
    known: Mapping[tuple[str, str], Outcome] | None = None,
) -> SuiteResult:
    """Audits every subject on every of its pairs; a subject's record is that of its most telling pair.
    Then checks every promise.

    With several jobs the subjects run side by side. A subject's seed depends on the suite's seed and its
    name only, so one subject can be run again alone. `ticker` hears of trials where they run in this process.
    Results that are `known`, as ("subject" or "promise", name), are taken as they are; they count in the family.
    """
    level = settings.significance / (sum(len(subject.pairs) for subject in subjects) + len(promises))
    results: list[Outcome] = []
    known = known or {}
    new = [subject for subject in subjects if ("subject", subject.name) not in known]
    new_promises = [promise for promise in promises if ("promise", promise.name) not in known]
    fresh = chain(_results(new, settings, level, ticker), _checks(new_promises, settings, level))
    asked = [("subject", each.name) for each in subjects] + [("promise", each.name) for each in promises]
    for key in asked:
        result = known[key] if key in known else next(fresh)
        results.append(result)
        if listener is not None:
            listener(result)
    return SuiteResult(
        records=tuple(each for each in results if isinstance(each, AuditRecord)),
        failures=tuple(each for each in results if isinstance(each, Failure)),
        seed=settings.seed,
        family_wise_error=settings.significance,
        environment=environment(),
        promises=tuple(each for each in results if isinstance(each, PromiseCheck)),
    )


def _checks(promises: Sequence[Promise], settings: Settings, level: float) -> Iterator[PromiseCheck | Failure]:
    check = partial(_check, seed=settings.seed, level=level)
    yield from ordered_map(check, promises, jobs=settings.jobs, backend=settings.backend)


def _check(promise: Promise, *, seed: int, level: float) -> PromiseCheck | Failure:
    """A promise keeps its own number of trials: it was chosen for the power against its probability."""
    try:
        return check_promise(promise, seed=derive(seed, promise.name), significance=level)
    except Exception as error:
        return Failure(promise.name, _told(error))


def _results(
    subjects: Sequence[Subject], settings: Settings, level: float, ticker: Ticker | None
) -> Iterator[AuditRecord | Failure]:
    if len(subjects) == 1:  # nothing to run side by side: its blocks are spread over the workers instead
        yield _run(_Task(subjects[0], settings, level, ticker))
        return
    here = ticker if (settings.jobs, settings.backend) == (1, "loky") else None
    tasks = [_Task(subject, replace(settings, jobs=1, backend="loky"), level, here) for subject in subjects]
    yield from ordered_map(_run, tasks, jobs=settings.jobs, backend=settings.backend)


def run_subject(subject: Subject, settings: Settings, level: float) -> AuditRecord | Failure:
    """One subject of a suite, each of its pairs at significance `level`."""
    return _run(_Task(subject, settings, level))


def run_promise(promise: Promise, settings: Settings, level: float) -> PromiseCheck | Failure:
    """One promise of a suite at significance `level`."""
    return _check(promise, seed=settings.seed, level=level)


@dataclass(frozen=True)
class _Task:
    subject: Subject
    settings: Settings
    level: float
    ticker: Ticker | None = None


def _run(task: _Task) -> AuditRecord | Failure:
    subject, settings = task.subject, task.settings
    try:
        records = [
            audit(
                subject.target,
                claim=subject.claim,
                pair=pair,
                trials=settings.trials or subject.trials,
                significance=task.level,
                seed=derive(settings.seed, f"{subject.name}#{index}"),
                score=subject.score,
                sequential=settings.sequential,
                jobs=settings.jobs,
                backend=settings.backend,
                ledger=subject.ledger,
                progress=None if task.ticker is None else partial(task.ticker, subject.name),
            )
            for index, pair in enumerate(subject.pairs)
        ]
    except Exception as error:
        return Failure(subject.name, _told(error))
    return _labelled(_together(records), subject, seconds=sum(record.seconds for record in records))


def _told(error: Exception) -> str:
    """What went wrong, in one line. Anything but our own errors is foreign code or a bug of ours: with its place."""
    if isinstance(error, DpverifyError):
        return str(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"


def _together(records: list[AuditRecord]) -> AuditRecord:
    """The pair with the largest bound, with the p- and e-value of all pairs; all bounds hold at once, so this does.

    The claim is about every pair, so that the smallest p-value times their number is one of the claim, and the
    mean of the e-values too.
    """
    telling = max(records, key=lambda record: (record.number_lower, -record.detectable_eps))
    p_values = [record.p_value for record in records if record.p_value is not None]
    e_values = [record.e_value for record in records if record.e_value is not None]
    p_value = min(1.0, len(records) * min(p_values)) if p_values else None
    e_value = sum(each / len(records) for each in e_values) if e_values else None
    return replace(telling, p_value=p_value, e_value=e_value)


def _labelled(record: AuditRecord, subject: Subject, seconds: float) -> AuditRecord:
    labels: dict[str, Any] = {
        "subject": subject.name,
        "expected": subject.expected,
        "expected_accounted": subject.accounted,
        "planted": subject.planted,
        "paper": subject.paper,
        "statement": subject.statement,
        "pairs": len(subject.pairs),
        "file": subject.file,
        "line": subject.line,
        "notes": (*record.notes, *subject.notes),
    }
    return replace(record, seconds=seconds, **labels)


def environment() -> dict[str, str]:
    """Versions and machine that a record was made with."""
    found = {"python": platform.python_version(), "machine": platform.machine(), "system": platform.system()}
    for package in ("dpverify", "numpy", "scipy", "dp-accounting", "scikit-learn"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found
