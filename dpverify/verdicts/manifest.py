"""What audit files declare, read in watched children: the process that asks never runs their code."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dpverify.base.errors import DiscoveryError, RunError
from dpverify.runs.interruption import Halt
from dpverify.runs.slots import side_by_side
from dpverify.runs.supervisor import Supervisor
from dpverify.runs.task import Answer, Ended, Limits, Outcome, Start, Task
from dpverify.verdicts import names
from dpverify.verdicts.agenda import Agenda, chosen, find_files


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A subject or promise of an audit file, without anything that its code could do.

    source  the file that declares it, as an absolute path; `file` as a person here would write it
    local   its name inside the file; `name` in the run
    pairs   shares of the significance
    """

    kind: str
    source: str
    local: str
    name: str
    claim: str
    trials: int
    expected: str
    file: str = ""
    line: int = 0
    pairs: int = 1
    relation: str = ""
    planted: bool = False
    paper: str = ""
    statement: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Kind and name: one outcome of a run."""
        return self.kind, self.name


@dataclass(frozen=True)
class Manifest(Agenda[Entry, Entry]):
    """An agenda of entries, with what their files had loaded when they were read."""

    provenance: tuple[tuple[str, dict[str, Any]], ...] = ()
    shared: int = 0  # statements of the whole of which this is a part, 0 where it is none

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Subjects, then promises: the order of a report."""
        return (*self.subjects, *self.promises)

    @property
    def statements(self) -> int:
        """Among how many the significance is shared."""
        return self.shared or sum(entry.pairs for entry in self.entries)

    def only(self, keys: Collection[tuple[str, str]]) -> "Manifest":
        """A part of it, at the shares of the whole: its records are those that the whole run would give."""
        return replace(
            self,
            subjects=tuple(each for each in self.subjects if each.key in keys),
            promises=tuple(each for each in self.promises if each.key in keys),
            shared=self.statements,
        )


def read(
    paths: Sequence[Path],
    expression: str,
    supervisor: Supervisor,
    limits: Limits,
    *,
    slots: int,
    halt: Halt,
    provenance: bool = True,
) -> Manifest:
    """All entries under `paths` whose name matches `expression`; DiscoveryError where a file does not load.

    Without `provenance` it is not asked what the files loaded: enough for a list.
    """
    files = find_files(paths)
    tasks = [manifest_task(file, provenance=provenance) for file in files]
    found: dict[int, Answer] = {}
    declared: dict[int, list[Entry]] = {}
    problems: dict[int, str] = {}
    for index, what in side_by_side(tasks, supervisor, limits, slots=slots, halt=halt):
        if not isinstance(what, dict):
            try:
                declared[index] = entries_of(files[index], what)
            except DiscoveryError as error:
                problems[index] = str(error)
            else:
                assert isinstance(what, Answer)
                found[index] = what
    if halt.is_set():
        raise RunError("interrupted before anything was run")
    if problems:
        raise DiscoveryError(problems[min(problems)])
    entries = qualified([entry for index in sorted(declared) for entry in declared[index]])
    agenda = chosen(
        [entry for entry in entries if entry.kind == "subject"],
        [entry for entry in entries if entry.kind == "promise"],
        paths,
        expression,
    )
    sources = {entry.source for entry in (*agenda.subjects, *agenda.promises)}
    loaded = [(str(files[index]), found[index].provenance or {}) for index in sorted(found)]
    return Manifest(agenda.subjects, agenda.promises, tuple(each for each in loaded if each[0] in sources))


def manifest_task(file: Path, *, provenance: bool = True) -> Task:
    """Reads one file: in a copy of the process that its subjects will be copies of, where they will be run; for a list
    in a process of its own, which is one fork less.
    """
    start = opened(str(file)) if provenance else None
    return Task("dpverify.verdicts.listing:manifest", {"file": str(file)}, start, provenance=provenance)


def opened(file: str) -> Start:
    """What every task about a file begins with: loading it."""
    return Start("dpverify.verdicts.listing:opened", {"file": file})


def entries_of(file: Path, outcome: Outcome) -> list[Entry]:
    """From the outcome of `manifest_task`; DiscoveryError for a file that cannot be loaded."""
    if isinstance(outcome, Ended):
        place, line = outcome.place
        where = f"{place}:{line}" if place else str(file)
        raise DiscoveryError(f"{where}: cannot be loaded ({outcome.text})")
    if outcome.error is not None and outcome.error["expected"]:
        raise DiscoveryError(outcome.error["text"])
    if outcome.error is not None:
        raise DiscoveryError(f"{file}: cannot be loaded ({outcome.error['type']}: {outcome.error['text']})")
    return [Entry(source=str(file), **{"file": str(file), **entry}) for entry in outcome.value["entries"]]


def qualified(entries: list[Entry]) -> list[Entry]:
    """Names that are unique in the run: files with one stem are told apart by their folders."""
    sources = list(dict.fromkeys(entry.source for entry in entries))
    files = names.qualified([Path(source) for source in sources])
    before = {source: files[Path(source)] for source in sources}
    wanted = [f"{before[entry.source]}/{entry.local}" for entry in entries]
    return [
        entry if entry.name == name else replace(entry, name=name) for entry, name in zip(entries, wanted, strict=True)
    ]
