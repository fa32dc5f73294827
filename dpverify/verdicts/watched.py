"""A suite in watched children: every subject and promise that was asked gets an outcome, whatever its code does.

A crash, a hang, a closed pipe or a dead cluster is a `Failure` with its name, never a verdict; the others go
on. Outcomes are written into the run's journal as they come, so that an interrupted run can be resumed.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from dpverify.evidence.promises import PromiseCheck
from dpverify.runs.facts import World
from dpverify.runs.interruption import Halt
from dpverify.runs.journal import Journal
from dpverify.runs.provenance import changed, completed
from dpverify.runs.slots import Event, on_cluster, side_by_side
from dpverify.runs.supervisor import Supervisor
from dpverify.runs.task import Answer, Ended, Limits, Task
from dpverify.runs.task import Outcome as Finished
from dpverify.verdicts.manifest import Entry, Manifest, opened
from dpverify.verdicts.plain import from_plain, to_plain
from dpverify.verdicts.preload import PRELOAD
from dpverify.verdicts.record import AuditRecord
from dpverify.verdicts.settings import Listener, Settings, Ticker
from dpverify.verdicts.suite_result import Failure, Outcome, shown, SuiteResult

Key = tuple[str, str]  # kind and name


@dataclass
class Supervision:
    """How a run is watched: its children, their limits, the switch that ends it, and what it remembers."""

    supervisor: Supervisor = field(default_factory=lambda: Supervisor(preload=PRELOAD))
    limits: Limits = field(default_factory=Limits)
    halt: Halt = field(default_factory=Halt)
    journal: Journal | None = None
    world: World = field(default_factory=World)
    trouble: Callable[[str], None] = lambda _: None  # told what does not change a result


@dataclass(frozen=True)
class Watched:
    """A run's result, its outcomes one by one, and what each depended on (`runs.provenance.completed`)."""

    result: SuiteResult
    outcomes: Mapping[Key, Outcome]
    provenance: Mapping[Key, dict[str, Any]]


def run_watched(
    agenda: Manifest,
    settings: Settings,
    supervision: Supervision,
    listener: Listener | None = None,
    ticker: Ticker | None = None,
    known: Mapping[Key, Outcome] | None = None,
) -> Watched:
    """As `suite.run_suite`, for what audit files declare. Outcomes in the journal, and those `known`, are taken as
    they are; what failed before is tried again.
    """
    loaded = origins(supervision.journal)
    done = {**remembered(supervision.journal, agenda, supervision.world), **(known or {})}
    if listener is not None:
        for outcome in done.values():
            listener(outcome)
    waiting = [entry for entry in agenda.entries if entry.key not in done]
    alone = len(waiting) == 1
    tasks = [task_of(entry, settings, agenda.statements, supervision.journal, alone=alone) for entry in waiting]
    stopped = False
    for index, what in _stream(tasks, settings, supervision):
        entry = waiting[index]
        if isinstance(what, dict):
            if ticker is not None and what.get("trials"):
                ticker(entry.name, what["trials"])
            for key, value in what.get("blocks", ()):
                _keep(supervision, tuple(key), value)
        elif isinstance(what, Ended) and what.kind == "interrupted":
            stopped = True
        else:
            outcome = outcome_of(entry, what)
            done[entry.key] = outcome
            if listener is not None:  # first: it may end the run, and what comes now can take seconds
                listener(outcome)
            loaded[entry.key] = _origin(what, settings, supervision)
            line = {**to_plain(outcome), "seconds": what.seconds, "provenance": loaded[entry.key]}
            _keep(supervision, entry.key, line)
    return Watched(result_of(agenda, settings, done, "interrupted" if stopped else ""), done, loaded)


def _origin(finished: Finished, settings: Settings, supervision: Supervision) -> dict[str, Any]:
    if not isinstance(finished, Answer) or finished.provenance is None:
        return {"facts": "", "doubts": ["it did not say what it depended on"]}
    if settings.backend != "loky":  # files of another machine cannot be looked up here
        return {"facts": "", "doubts": ["it was run on a cluster"]}
    return completed(finished.provenance, supervision.supervisor.born, supervision.world)


def origins(journal: Journal | None) -> dict[Key, dict[str, Any]]:
    """What the outcomes of a journal depended on."""
    lines = journal.items() if journal is not None else ()
    return {(key[0], key[1]): value["provenance"] for key, value in lines if len(key) == 2 and "provenance" in value}


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


def remembered(journal: Journal | None, agenda: Manifest, world: World) -> dict[Key, Outcome]:
    """What an earlier run of the same agenda has judged and still holds; not what it failed at.

    Where it cannot be said what an outcome depended on, the run's own code decides, which is in the journal's header.
    """
    found: dict[Key, Outcome] = {}
    for entry in agenda.entries if journal is not None else ():
        assert journal is not None
        plain = journal.get(entry.key)
        outcome = None if plain is None else from_plain(plain)
        if outcome is not None and not isinstance(outcome, Failure) and not _outdated(plain, world):
            found[entry.key] = outcome
    return found


def _outdated(plain: Mapping[str, Any], world: World) -> bool:
    origin = plain.get("provenance") or {}
    return not origin.get("doubts") and bool(changed(origin, world))


def seconds_of(journal: Journal) -> dict[Key, float]:
    """How long each outcome of a journal took."""
    return {
        (key[0], key[1]): float(value["seconds"])
        for key, value in journal.items()
        if len(key) == 2 and isinstance(value, dict) and "seconds" in value
    }


def task_of(
    entry: Entry, settings: Settings, statements: int, journal: Journal | None = None, *, alone: bool = False
) -> Task:
    """One subject or promise. A subject that is `alone` spreads its blocks over the workers."""
    inside = settings if alone else replace(settings, jobs=1, backend="loky")
    arguments = {
        "file": entry.source,
        "kind": entry.kind,
        "local": entry.local,
        "name": entry.name,
        "settings": asdict(inside),
        "level": settings.significance / statements,
        "blocks": [] if journal is None else _blocks_of(entry, journal),
    }
    return Task("dpverify.verdicts.tasks:run", arguments, opened(entry.source), provenance=True)


def outcome_of(entry: Entry, finished: Finished) -> Outcome:
    """What became of an entry: its evidence, or why there is none."""
    if isinstance(finished, Ended):
        file, line = finished.place
        where = (shown(file), line) if file else (entry.file, entry.line)
        return Failure(entry.name, finished.text, finished.kind, "", finished.output, *where, finished.attempts)
    if finished.error is not None:
        return replace(Failure.told(entry.name, finished.error, entry.file, entry.line), output=finished.output)
    try:
        outcome = from_plain(finished.value)
    except (KeyError, TypeError, ValueError) as error:
        return Failure(entry.name, f"its answer cannot be read ({type(error).__name__}: {error})", "protocol")
    named = outcome.name if isinstance(outcome, PromiseCheck) else outcome.subject
    if named != entry.name:
        return Failure(entry.name, f"its answer is about {named!r}", "protocol")
    if finished.attempts > 1 and isinstance(outcome, AuditRecord):
        return replace(outcome, attempts=finished.attempts)
    if isinstance(outcome, Failure):
        place = (outcome.file, outcome.line) if outcome.file else (entry.file, entry.line)
        return replace(outcome, output=finished.output, file=place[0], line=place[1])
    return outcome


def _stream(tasks: list[Task], settings: Settings, supervision: Supervision) -> Iterator[tuple[int, Event | Finished]]:
    watch = supervision
    if settings.backend == "loky" or len(tasks) <= 1:
        return side_by_side(tasks, watch.supervisor, watch.limits, slots=settings.jobs, halt=watch.halt)
    return on_cluster(
        tasks,
        watch.limits,
        backend=settings.backend,
        jobs=settings.jobs,
        preload=PRELOAD,
        halt=watch.halt,
    )


def _keep(supervision: Supervision, key: tuple[Any, ...], value: Any) -> None:
    """A line of the journal. A journal that cannot be written any more costs the resumption, not the run."""
    if supervision.journal is not None:
        try:
            supervision.journal.add(key, value)
        except OSError as error:
            supervision.trouble(f"the journal is given up, no --resume ({error.strerror})")
            supervision.journal.close()
            supervision.journal = None


def _blocks_of(entry: Entry, journal: Journal) -> list[Any]:
    return [
        [list(key), value]
        for key, value in journal.items()
        if key[0] == "block" and str(key[1]).rpartition("#")[0] == entry.name
    ]


def place_of(folder: Path, *what: object) -> Path:
    """Where the journal of a run is: by what is audited, so that `--resume` can say what else differs."""
    import hashlib
    import json

    return folder / f"{hashlib.sha256(json.dumps(what).encode()).hexdigest()[:16]}.jsonl"
