"""Finding audits: files `audit_*.py` with module-level lists `subjects` and `promises`, as pytest finds tests.

The folder that holds the outermost package of a file (the file's own folder, when that is no package) goes
on `sys.path`, so that an audit file may import its neighbours; the current folder follows at the end, so that
it may import the project that it audits.
"""

import ast
import difflib
import sys
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from dpverify.base.errors import DiscoveryError
from dpverify.evidence.promises import Promise
from dpverify.verdicts.subject import Subject

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
        looked = ", ".join(str(path) for path in paths) or "."
        raise DiscoveryError(f"no audits found in {looked}: looked for files {PATTERN}")
    return list(dict.fromkeys(file.resolve() for file in found))


def load_subjects(file: Path) -> list[Subject]:
    """The file's subjects, named `stem/name`; DiscoveryError with file and reason when it does not load."""
    module = _import(file)
    subjects = getattr(module, "subjects", None)
    if not isinstance(subjects, Sequence) or not all(isinstance(each, Subject) for each in subjects):
        raise DiscoveryError(f"{_shown(file)}: must define `subjects`, a list of dpverify.Subject")
    names = [subject.name for subject in subjects]
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise DiscoveryError(f"{_shown(file)}: two subjects are called {sorted(repeated)[0]!r}")
    lines = _declared(file)
    return [
        subject.found(f"{stem_of(file)}/{subject.name}", _shown(file), lines.get(subject.name.rpartition("!")[2], 0))
        for subject in subjects
    ]


def _declared(file: Path) -> dict[str, int]:
    """Line of the first call that has a text as an argument, for each text: where a subject of that name is made."""
    lines: dict[str, int] = {}
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            for value in (*node.args, *(keyword.value for keyword in node.keywords)):
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    lines[value.value] = min(node.lineno, lines.get(value.value, node.lineno))
    return lines


def load_promises(file: Path) -> list[Promise]:
    """The file's promises about utility (a list that may be missing), named `stem/name`."""
    promises = getattr(_import(file), "promises", [])
    if not isinstance(promises, Sequence) or not all(isinstance(each, Promise) for each in promises):
        raise DiscoveryError(f"{_shown(file)}: `promises` must be a list of dpverify.evidence.promises.Promise")
    return [replace(each, name=f"{stem_of(file)}/{each.name}") for each in promises]


@dataclass(frozen=True)
class Agenda:
    """What a suite has to look into."""

    subjects: tuple[Subject, ...]
    promises: tuple[Promise, ...] = ()

    def of_papers(self) -> "Agenda":
        """What a paper states, without planted bugs: the scorecard."""
        subjects = tuple(each for each in self.subjects if each.paper and not each.planted)
        if not subjects:
            raise DiscoveryError("no scorecard: no subject names the `paper` it comes from")
        return Agenda(subjects, tuple(each for each in self.promises if each.paper))


def discover(paths: Iterable[Path], expression: str = "") -> Agenda:
    """All subjects and promises under `paths` whose name matches `expression` (see `matches`)."""
    paths = list(paths)
    files = find_files(paths)
    subjects = _chosen([subject for file in files for subject in load_subjects(file)], expression)
    promises = _chosen([promise for file in files for promise in load_promises(file)], expression)
    if not subjects and not promises:
        where = ", ".join(str(path) for path in paths)
        names = [each.name for file in files for each in load_subjects(file)]
        names += [each.name for file in files for each in load_promises(file)]
        what = f" matching {expression!r}{_meant(expression, names)}" if expression else ""
        raise DiscoveryError(f"no audits found in {where}{what}")
    return Agenda(tuple(subjects), tuple(promises))


Named = TypeVar("Named", Subject, Promise)


def _chosen(found: list[Named], expression: str) -> list[Named]:
    exact = [each for each in found if each.name == expression]  # a whole name means itself only
    return exact or [each for each in found if matches(each.name, expression)]


def matches(name: str, expression: str) -> bool:
    """True where the name contains the words of `expression`: `a and b`, `a or b`, `not a`, as pytest -k.

    Raises DiscoveryError for an expression that cannot be read.
    """
    return any(all(_term(name, term, expression) for term in part.split(" and ")) for part in expression.split(" or "))


def stem_of(file: Path) -> str:
    """`local` for audits/audit_local.py."""
    return file.stem.removeprefix("audit_")


def _meant(expression: str, names: list[str]) -> str:
    """A suggestion for a mistyped name or word."""
    parts = {part for name in names for part in (name, *name.replace("!", "/").split("/"))}
    for word in (expression, *expression.split()):
        near = difflib.get_close_matches(word.casefold(), sorted(parts), n=1, cutoff=0.6)
        if near and word.casefold() not in near[0].casefold():
            return f"; did you mean {near[0]!r}?"
    return "; --list shows the names"


def _shown(file: Path) -> str:
    """The path as a person in the current folder would write it."""
    here = Path.cwd()
    return str(file.relative_to(here) if file.is_relative_to(here) else file)


def _term(name: str, term: str, expression: str) -> bool:
    word = term.strip()
    wanted = not word.startswith("not ")
    word = word.removeprefix("not ").strip()
    if not word and expression.strip():
        raise DiscoveryError(f"-k {expression!r}: must be words joined by and, or, not")
    return (word.casefold() in name.casefold()) is wanted


def _import(file: Path) -> ModuleType:
    root, parts = file.parent, [file.stem]
    while (root / "__init__.py").exists():
        parts.insert(0, root.name)
        root = root.parent
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    name = ".".join(parts)
    known = sys.modules.get(name)
    if known is not None and Path(known.__file__ or "").resolve() != file:
        raise DiscoveryError(f"{file}: a module {name!r} is loaded already from {known.__file__}; rename one of them")
    try:
        return import_module(name)
    except (Exception, SystemExit) as error:  # whatever foreign code raises on import
        sys.modules.pop(name, None)
        where = f"{_shown(file)}:{_line(error, file)}".rstrip(":")
        raise DiscoveryError(f"{where}: cannot be loaded ({type(error).__name__}: {error})") from error


def _line(error: BaseException, file: Path) -> str:
    """The line of `file` that the error came through; "" where it did not."""
    if isinstance(error, SyntaxError) and error.filename == str(file):
        return str(error.lineno)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    return str(frames[-1].lineno) if frames else ""
