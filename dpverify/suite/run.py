"""A suite, a child a subject: every subject and promise that was asked gets an outcome, whatever its code does.

A crash, a hang, an exit or a full memory is a `Failure` with its name, never a verdict; the others go on. Outcomes are
written into the run's journal as they come, so that an interrupted run can be resumed.

Every audit and every check of a promise gets an equal share of the significance (Bonferroni over pairs and promises),
fixed before anything is run. So with probability at least 1 - significance *all* certified bounds of the suite are true
at once, however the audits depend on each other - not only the verdicts.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from dpverify.errors import LostWorker
from dpverify.execution import sources
from dpverify.execution.executors import LOKY, ordered_map
from dpverify.execution.interruption import Halt
from dpverify.execution.isolated import Call, Ended, Event, isolated, Limits, side_by_side
from dpverify.execution.isolated import Outcome as Finished
from dpverify.execution.journal import Journal
from dpverify.promises import PromiseCheck
from dpverify.suite.plan import Manifest, PlanEntry
from dpverify.suite.result import (
    Failure,
    from_plain,
    Listener,
    Outcome,
    Settings,
    shown_path,
    SuiteResult,
    Ticker,
    to_plain,
)

Key = tuple[str, str]  # kind and name


@dataclass
class Supervision:
    """How a run is watched: the limits of its children, the switch that ends it, and what it remembers."""

    limits: Limits = field(default_factory=Limits)
    halt: Halt = field(default_factory=Halt)
    journal: Journal | None = None
    trouble: Callable[[str], None] = lambda _: None  # told what does not change a result


@dataclass(frozen=True)
class SuiteRun:
    """A run's result, and its outcomes one by one."""

    result: SuiteResult
    outcomes: Mapping[Key, Outcome]


def run_watched(
    agenda: Manifest,
    settings: Settings,
    supervision: Supervision,
    listener: Listener | None = None,
    ticker: Ticker | None = None,
) -> SuiteRun:
    """Runs what audit files declare. Outcomes that the journal has are taken as they are (`remembered`)."""
    done = remembered(supervision.journal, agenda, settings)
    if listener is not None:
        for outcome in done.values():
            listener(outcome)
    waiting = [entry for entry in agenda.entries if entry.key not in done]
    calls = [
        call_of(entry, settings, agenda.statements, alone=len(waiting) == 1 and settings.backend == LOKY)
        for entry in waiting
    ]
    stopped = False
    for index, what in _stream(calls, settings, supervision):
        entry = waiting[index]
        if isinstance(what, dict):
            if ticker is not None and isinstance(count := what.get("trials"), int):
                ticker(entry.name, count)
        elif isinstance(what, Ended) and what.kind == "interrupted":
            stopped = True
        else:
            outcome = outcome_of(entry, what)
            done[entry.key] = outcome
            if listener is not None:  # first: it may end the run
                listener(outcome)
            line = {**to_plain(outcome), "seconds": what.seconds, "made_from": made_from(entry, agenda, settings)}
            _keep(supervision, entry.key, line)
    return SuiteRun(result_of(agenda, settings, done, "interrupted" if stopped else ""), done)


def result_of(agenda: Manifest, settings: Settings, done: Mapping[Key, Outcome], interrupted: str) -> SuiteResult:
    """The result of what is done, in the order of what was asked."""
    results = [done[entry.key] for entry in agenda.entries if entry.key in done]
    return SuiteResult.of(
        results,
        seed=settings.seed,
        family_wise_error=settings.significance,
        asked=tuple(entry.name for entry in agenda.entries),
        interrupted=interrupted,
        require_tape=settings.require_tape,
    )


def made_from(entry: PlanEntry, agenda: Manifest, settings: Settings) -> str:
    """A digest of all that an outcome is made from: the entry and the sources behind it, settings, level, versions."""
    asked = {name: value for name, value in asdict(settings).items() if name not in ("jobs", "backend")}
    level = settings.significance / agenda.statements
    return _digest(asdict(entry), asked, level, sources.environment(), sources.own_digest(), sources.installed())


def remembered(journal: Journal | None, agenda: Manifest, settings: Settings) -> dict[Key, Outcome]:
    """What an earlier run has judged, where nothing that it was made from has changed; not what it failed at."""
    found: dict[Key, Outcome] = {}
    for entry in agenda.entries if journal is not None else ():
        assert journal is not None
        plain = journal.get(entry.key)
        if plain is None or plain.get("made_from") != made_from(entry, agenda, settings):
            continue
        outcome = from_plain(plain)
        if not isinstance(outcome, Failure):
            found[entry.key] = outcome
    return found


def seconds_of(journal: Journal) -> dict[Key, float]:
    """How long each outcome of a journal took."""
    return {(key[0], key[1]): float(value["seconds"]) for key, value in journal.items()}


def call_of(entry: PlanEntry, settings: Settings, statements: int, *, alone: bool = False) -> Call:
    """One subject or promise. A subject that is `alone` spreads its blocks over the workers of this machine."""
    inside = settings if alone else replace(settings, jobs=1, backend=LOKY)
    arguments = {
        "file": entry.source,
        "kind": entry.kind,
        "local": entry.local,
        "name": entry.name,
        "settings": asdict(inside),
        "level": settings.significance / statements,
        "source_digest": entry.sources,
    }
    return Call("dpverify.suite.task:run_entry", arguments)


def outcome_of(entry: PlanEntry, finished: Finished) -> Outcome:
    """What became of an entry: its evidence, or why there is none."""
    if isinstance(finished, Ended):
        file, line = finished.place
        where = (shown_path(file), line) if file else (entry.file, entry.line)
        return Failure(entry.name, finished.text, finished.kind, "", finished.output, *where)
    if finished.error is not None:
        return replace(Failure.told(entry.name, finished.error, entry.file, entry.line), output=finished.output)
    try:
        outcome = from_plain(finished.value)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        return Failure(entry.name, f"its answer cannot be read ({type(error).__name__}: {error})", "protocol")
    named = outcome.name if isinstance(outcome, PromiseCheck) else outcome.subject
    if named != entry.name:
        return Failure(entry.name, f"its answer is about {named!r}", "protocol")
    if isinstance(outcome, Failure):
        place = (outcome.file, outcome.line) if outcome.file else (entry.file, entry.line)
        return replace(outcome, output=finished.output, file=place[0], line=place[1])
    return outcome


def _stream(
    calls: Sequence[Call], settings: Settings, supervision: Supervision
) -> Iterator[tuple[int, Event | Finished]]:
    limits, halt = supervision.limits, supervision.halt
    if settings.backend == LOKY:
        yield from side_by_side(calls, limits, jobs=settings.jobs, halt=halt)
        return
    work = partial(isolated, limits=limits)  # in a child of the worker
    done, rest = 0, Ended("interrupted", "the run was interrupted")
    try:
        for outcome in ordered_map(work, calls, jobs=settings.jobs, backend=settings.backend):
            if halt.is_set():
                break
            yield done, outcome
            done += 1
    except LostWorker as error:
        rest = Ended("cluster", str(error))
    for index in range(done, len(calls)):
        yield index, rest


def _keep(supervision: Supervision, key: tuple[Any, ...], value: Any) -> None:
    """A line of the journal. A journal that cannot be written any more costs the resumption, not the run."""
    if supervision.journal is not None:
        try:
            supervision.journal.add(key, value)
        except OSError as error:
            supervision.trouble(f"the journal is given up, no --resume ({error.strerror})")
            supervision.journal.close()
            supervision.journal = None


def place_of(folder: Path, *what: object) -> Path:
    """Where the journal of a run is: by what is audited."""
    return folder / f"{_digest(*what)[:16]}.jsonl"


def _digest(*what: object) -> str:
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()
