"""What audit files declare, read in watched children: the process that asks never runs their code."""

import difflib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Generic, NoReturn, Protocol, Self, TypeVar

from dpverify.base.text import clean
from dpverify.errors import DiscoveryError, RunError
from dpverify.execution import sources
from dpverify.execution.interruption import Halt
from dpverify.execution.isolated import Call, Ended, Limits, Outcome, side_by_side

# ----------------------------------------------------------------------------------------------------------------------
# Names of subjects: which ones an expression means, and how they stay apart when files are called alike.
#
#     expression = either ("or" either)*         either = each ("and" each)*
#     each       = "not" each | "(" expression ")" | word
#     word       = signs without spaces, brackets and quotes | 'quoted' | "quoted"
#
# A word is in a name where the name contains it, in whatever case; as `pytest -k`.


Test = Callable[[str], bool]
LONGEST = 200  # letters of an expression that a complaint repeats
DEEPEST = 50  # brackets inside brackets
_TOKEN = re.compile(r"\s*(?:(?P<sign>[()])|'(?P<single>[^']*)'|\"(?P<double>[^\"]*)\"|(?P<word>[^\s()'\"]+))")


def matches(name: str, expression: str) -> bool:
    """True where `expression` means the name; DiscoveryError for one that cannot be read. "" means all names."""
    return compiled(expression)(name.casefold())


@lru_cache(maxsize=64)
def compiled(expression: str) -> Test:
    """The expression as a test of case-folded names."""
    return _Reader(expression).read() if expression.strip() else lambda name: True


class _Reader:
    """Recursive descent over the tokens; a token is (position, kind, text)."""

    def __init__(self, expression: str) -> None:
        self.expression, self.tokens, place = expression, list[tuple[int, str, str]](), 0
        while expression[place:].strip():
            found = _TOKEN.match(expression, place)
            if found is None:
                self.fail(place, "a quote that is not closed")
            kind = str(found.lastgroup)
            text = str(found[kind])
            keyword = kind == "word" and text in ("and", "or", "not")
            self.tokens.append((found.start(kind), text if keyword or kind == "sign" else "word", text))
            place = found.end()
        self.next = self.depth = 0

    def read(self) -> Test:
        test = self.either()
        if self.kind:
            self.fail(self.tokens[self.next][0], f"{self.tokens[self.next][2]!r} where and, or or the end is expected")
        return test

    @property
    def kind(self) -> str:
        return self.tokens[self.next][1] if self.next < len(self.tokens) else ""

    def either(self) -> Test:
        tests = [self.both()]
        while self.kind == "or":
            self.next += 1
            tests.append(self.both())
        return tests[0] if len(tests) == 1 else lambda name: any(test(name) for test in tests)

    def both(self) -> Test:
        tests = [self.one()]
        while self.kind == "and":
            self.next += 1
            tests.append(self.one())
        return tests[0] if len(tests) == 1 else lambda name: all(test(name) for test in tests)

    def one(self) -> Test:
        kind, place = self.kind, self.next
        if not kind:
            self.fail(len(self.expression), "the end where a word, not or ( is expected")
        self.next += 1
        if kind == "word":
            word = self.tokens[place][2].casefold()
            return lambda name: word in name
        if kind == "not":
            times = 1
            while self.kind == "not":
                self.next += 1
                times += 1
            inner = self.one()
            return (lambda name: not inner(name)) if times % 2 else inner
        if kind == "(":
            if self.depth == DEEPEST:
                self.fail(self.tokens[place][0], f"more than {DEEPEST} brackets inside each other")
            self.depth += 1
            inside = self.either()
            self.depth -= 1
            if self.kind != ")":
                self.fail(self.tokens[place][0], "a ( that is not closed")
            self.next += 1
            return inside
        self.fail(self.tokens[place][0], f"{kind!r} where a word, not or ( is expected")

    def fail(self, place: int, what: str) -> NoReturn:
        said = f"{clean(what)} (column {place + 1}); words are joined by and, or, not, ( )"
        shown = self.expression if len(self.expression) <= LONGEST else self.expression[:LONGEST] + "..."
        raise DiscoveryError(f"-k {clean(shown)!r}: {said}")


def stem_of(file: PurePath) -> str:
    """`local` for audits/audit_local.py."""
    return clean(file.stem.removeprefix("audit_"))


def qualified_files(files: Sequence[PurePath]) -> dict[PurePath, str]:
    """What stands before `/name` for each file: its stem, with as many folders as files with one stem need.

    audits/audit_laplace.py alone is `laplace`; beside other/audit_laplace.py it is `audits:laplace`.
    """
    found = {file: stem_of(file) for file in files}
    for depth in range(1, max((len(file.parts) for file in files), default=0) + 1):
        counts = Counter(found.values())
        twice = [file for file in found if counts[found[file]] > 1]
        if not twice:
            break
        for file in twice:
            found[file] = "/".join(map(clean, file.parts[-1 - depth : -1])) + ":" + stem_of(file)
    return found


def local_name(name: str, file: str) -> str:
    """`stem/name` of a qualified name: the name in a run of this file alone, and what its seed comes from."""
    stem = stem_of(PurePath(file)) if file else ""
    _, qualifies, rest = name.partition(f":{stem}/")
    return f"{stem}/{rest}" if stem and qualifies else name


def group(name: str) -> str:
    """What stands before the subject's own name: its file, qualified where that is needed; empty where nothing does."""
    before, colon, rest = name.partition(":")
    if colon and "/" in rest:
        return f"{before}:{rest.partition('/')[0]}"
    return name.partition("/")[0] if "/" in name else ""


# ----------------------------------------------------------------------------------------------------------------------
# What a suite has to look into, before any audit file is loaded: its files, and which names are chosen.


PATTERN = "audit_*.py"


def find_files(paths: Iterable[Path]) -> list[Path]:
    """Audit files under the given folders and files, sorted; DiscoveryError when there are none."""
    found: list[Path] = []
    for path in paths:
        if path.is_file():
            found.append(path)
        elif path.is_dir():
            found += sorted(path.rglob(PATTERN))
        else:
            raise DiscoveryError(f"{path}: no such file or folder")
    if not found:
        looked = ", ".join(clean(path) for path in paths) or "."
        raise DiscoveryError(f"no audits found in {looked}: looked for files {PATTERN}")
    return list(dict.fromkeys(file.resolve() for file in found))


class Named(Protocol):
    """What can be chosen by its name: a subject, a promise, or a file's entry about one."""

    @property
    def name(self) -> str:
        """The full name."""

    @property
    def paper(self) -> str:
        """Where a published claim comes from; empty for others."""


class NamedSubject(Named, Protocol):
    """A subject, or a file's entry about one."""

    @property
    def planted(self) -> bool:
        """True for a bug put in on purpose."""


S = TypeVar("S", bound=NamedSubject, covariant=True)
P = TypeVar("P", bound=Named, covariant=True)
AnyNamed = TypeVar("AnyNamed", bound=Named)


@dataclass(frozen=True)
class Agenda(Generic[S, P]):
    """What a suite has to look into."""

    subjects: tuple[S, ...]
    promises: tuple[P, ...] = ()

    def of_papers(self) -> Self:
        """What a paper states, without planted bugs: the scorecard."""
        subjects = tuple(each for each in self.subjects if each.paper and not each.planted)
        if not subjects:
            raise DiscoveryError("no scorecard: no subject names the `paper` it comes from")
        return replace(self, subjects=subjects, promises=tuple(each for each in self.promises if each.paper))

    def of_promises(self) -> Self:
        """The promises alone; DiscoveryError where there are none."""
        if not self.promises:
            raise DiscoveryError("--promises-only: no promise is among what was asked for")
        return replace(self, subjects=())


def chosen(subjects: Sequence[S], promises: Sequence[P], paths: Sequence[Path], expression: str) -> Agenda[S, P]:
    """Those whose name matches; DiscoveryError where there are none."""
    found = Agenda(tuple(_chosen(subjects, expression)), tuple(_chosen(promises, expression)))
    if not found.subjects and not found.promises:
        where = ", ".join(str(path) for path in paths)
        names = [each.name for each in (*subjects, *promises)]
        what = f" matching {clean(expression)!r}{_meant(expression, names)}" if expression else ""
        raise DiscoveryError(f"no audits found in {where}{what}")
    return found


def _chosen(found: Sequence[AnyNamed], expression: str) -> list[AnyNamed]:
    exact = [each for each in found if each.name == expression]  # a whole name means itself only
    return exact or [each for each in found if matches(each.name, expression)]


def _meant(expression: str, names: list[str]) -> str:
    """A suggestion for a mistyped name or word."""
    parts = {part for name in names for part in (name, *name.replace("!", "/").split("/"))}
    for word in (expression, *expression.split()):
        near = difflib.get_close_matches(word.casefold(), sorted(parts), n=1, cutoff=0.6)
        if near and word.casefold() not in near[0].casefold():
            return f"; did you mean {near[0]!r}?"
    return "; --list shows the names"


# ----------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class PlanEntry:
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
class Manifest(Agenda[PlanEntry, PlanEntry]):
    """An agenda of entries."""

    shared: int = 0  # statements of the whole of which this is a part, 0 where it is none

    @property
    def entries(self) -> tuple[PlanEntry, ...]:
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


def read_plan(paths: Sequence[Path], expression: str, limits: Limits, *, jobs: int, halt: Halt) -> Manifest:
    """All entries under `paths` whose name matches `expression`; DiscoveryError where a file does not load."""
    files = find_files(paths)
    calls = [manifest_call(file) for file in files]
    declared: dict[int, list[PlanEntry]] = {}
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
    return Call("dpverify.suite.discovery:manifest", {"file": str(file)})


def entries_of(file: Path, outcome: Outcome) -> list[PlanEntry]:
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
        PlanEntry(source=str(file), sources=digest, **{"file": str(file), **entry})
        for entry in outcome.value["entries"]
    ]


def qualified(entries: list[PlanEntry]) -> list[PlanEntry]:
    """Names that are unique in the run: files with one stem are told apart by their folders."""
    sources = list(dict.fromkeys(entry.source for entry in entries))
    files = qualified_files([Path(source) for source in sources])
    before = {source: files[Path(source)] for source in sources}
    wanted = [f"{before[entry.source]}/{entry.local}" for entry in entries]
    return [
        entry if entry.name == name else replace(entry, name=name) for entry, name in zip(entries, wanted, strict=True)
    ]
