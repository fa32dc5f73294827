"""Many subjects, one family-wise error.

Every audit of a suite gets an equal share of the significance (Bonferroni over subjects and pairs), fixed
before anything is run. So with probability at least 1 - significance *all* certified lower bounds of the
suite are true at once, however the audits depend on each other - not only the verdicts.
"""

import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from dpverify.base import require
from dpverify.base.errors import DpverifyError, EXIT_FAILED, EXIT_OK, EXIT_UNEXPECTED
from dpverify.base.executors import ordered_map
from dpverify.base.seeding import derive
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

    @property
    def exit_code(self) -> int:
        """1 where a verdict or account is not as expected, else 3 where something has no result, else 0."""
        conclusive = [record for record in self.records if record.verdict is not Verdict.INCONCLUSIVE]
        if not all(record.as_expected for record in conclusive):
            return EXIT_UNEXPECTED
        if self.failures or len(conclusive) < len(self.records) or not self.records:
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
        if self.trials is not None:
            require.integer(at_least=1, trials=self.trials)


Listener = Callable[[AuditRecord | Failure], None]


def run_suite(subjects: Sequence[Subject], settings: Settings, listener: Listener | None = None) -> SuiteResult:
    """Audits every subject on every of its pairs; a subject's record is that of its most telling pair.

    With several jobs the subjects run side by side. A subject's seed depends on the suite's seed and its
    name only, so one subject can be run again alone.
    """
    level = settings.significance / sum(len(subject.pairs) for subject in subjects)
    results: list[AuditRecord | Failure] = []
    for result in _results(subjects, settings, level):
        results.append(result)
        if listener is not None:
            listener(result)
    return SuiteResult(
        records=tuple(each for each in results if isinstance(each, AuditRecord)),
        failures=tuple(each for each in results if isinstance(each, Failure)),
        seed=settings.seed,
        family_wise_error=settings.significance,
        environment=environment(),
    )


def _results(subjects: Sequence[Subject], settings: Settings, level: float) -> Iterator[AuditRecord | Failure]:
    if len(subjects) == 1:  # nothing to run side by side: its blocks are spread over the workers instead
        yield _run(_Task(subjects[0], settings, level))
        return
    tasks = [_Task(subject, replace(settings, jobs=1, backend="loky"), level) for subject in subjects]
    yield from ordered_map(_run, tasks, jobs=settings.jobs, backend=settings.backend)


@dataclass(frozen=True)
class _Task:
    subject: Subject
    settings: Settings
    level: float


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
            )
            for index, pair in enumerate(subject.pairs)
        ]
    except DpverifyError as error:
        return Failure(subject.name, str(error))
    return _labelled(_most_telling(records), subject, seconds=sum(record.seconds for record in records))


def _most_telling(records: list[AuditRecord]) -> AuditRecord:
    """The pair with the largest bound; all pairs' bounds hold at once, so this one holds too."""
    return max(records, key=lambda record: (record.number_lower, -record.detectable_eps))


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
