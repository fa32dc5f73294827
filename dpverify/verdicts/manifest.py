"""What audit files declare, read in watched children: the process that asks never runs their code."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dpverify.base.errors import DiscoveryError, RunError
from dpverify.runs import sources
from dpverify.runs.interruption import Halt
from dpverify.runs.isolated import Call, Ended, Limits, Outcome, side_by_side
from dpverify.verdicts import names
from dpverify.verdicts.agenda import Agenda, chosen, find_files


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A subject or promise of an audit file, without anything that its code could do.

    source  the file that declares it, as an absolute path; `file` as a person here would write it
    local   its name inside the file; `name` in the run
    pairs   shares of the significance
    sources digest of the project's files behind it
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
    sources: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Kind and name: one outcome of a run."""
        return self.kind, self.name


@dataclass(frozen=True)
class Manifest(Agenda[Entry, Entry]):
    """An agenda of entries."""

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


def read(paths: Sequence[Path], expression: str, limits: Limits, *, jobs: int, halt: Halt) -> Manifest:
    """All entries under `paths` whose name matches `expression`; DiscoveryError where a file does not load."""
    files = find_files(paths)
    calls = [manifest_call(file) for file in files]
    declared: dict[int, list[Entry]] = {}
    problems: dict[int, str] = {}
    for index, what in side_by_side(calls, limits, jobs=jobs, halt=halt):
        if not isinstance(what, dict):
            try:
                declared[index] = entries_of(files[index], what)
            except DiscoveryError as error:
                problems[index] = str(error)
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
    return Manifest(agenda.subjects, agenda.promises)


def manifest_call(file: Path) -> Call:
    """Reads one file."""
    return Call("dpverify.verdicts.listing:manifest", {"file": str(file)})


def entries_of(file: Path, outcome: Outcome) -> list[Entry]:
    """From the outcome of `manifest_call`; DiscoveryError for a file that cannot be loaded."""
    if isinstance(outcome, Ended):
        place, line = outcome.place
        where = f"{place}:{line}" if place else str(file)
        raise DiscoveryError(f"{where}: cannot be loaded ({outcome.text})")
    if outcome.error is not None and outcome.error["expected"]:
        raise DiscoveryError(outcome.error["text"])
    if outcome.error is not None:
        raise DiscoveryError(f"{file}: cannot be loaded ({outcome.error['type']}: {outcome.error['text']})")
    digest = sources.digest([str(file)])
    return [
        Entry(source=str(file), sources=digest, **{"file": str(file), **entry}) for entry in outcome.value["entries"]
    ]


def qualified(entries: list[Entry]) -> list[Entry]:
    """Names that are unique in the run: files with one stem are told apart by their folders."""
    sources = list(dict.fromkeys(entry.source for entry in entries))
    files = names.qualified([Path(source) for source in sources])
    before = {source: files[Path(source)] for source in sources}
    wanted = [f"{before[entry.source]}/{entry.local}" for entry in entries]
    return [
        entry if entry.name == name else replace(entry, name=name) for entry, name in zip(entries, wanted, strict=True)
    ]
