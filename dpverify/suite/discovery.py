"""Finding audits: files `audit_*.py` with module-level lists `subjects` and `promises`, as pytest finds tests.

The folder that holds the outermost package of a file (the file's own folder, when that is no package) goes
on `sys.path` behind the standard library, so that an audit file may import its neighbours; the current folder follows
at the end, so that it may import the project that it audits.
"""

import ast
import sys
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from types import ModuleType
from typing import Any

from dpverify.auditing.subject import lacking, Subject
from dpverify.base import search_path
from dpverify.base.text import clean
from dpverify.errors import DiscoveryError
from dpverify.promises import Promise
from dpverify.suite.plan import stem_of


def load_audits(file: Path) -> tuple[list[Subject], list[Promise]]:
    """The file's subjects and promises; DiscoveryError where it has none: a list that came out empty hides nothing."""
    module, nodes = _imported(file)
    subjects, promises = _subjects(module, nodes, file), _promises(module, file)
    if not subjects and not promises:
        raise DiscoveryError(
            f"{_shown(file)}: `subjects` is empty and there are no `promises`: nothing would be audited"
        )
    return subjects, promises


def _subjects(module: ModuleType, nodes: list[ast.AST], file: Path) -> list[Subject]:
    """The file's subjects, named `stem/name`; DiscoveryError where they are none."""
    subjects = getattr(module, "subjects", None)
    if not isinstance(subjects, Sequence) or not all(isinstance(each, Subject) for each in subjects):
        raise DiscoveryError(f"{_shown(file)}: must define `subjects`, a list of dpverify.Subject")
    _different(file, "subjects", [subject.name for subject in subjects])
    missing = lacking(subjects)
    if missing:
        raise DiscoveryError(f"{_shown(file)}: {missing[0]}: its view may see nothing, and no verdict would tell")
    lines, stem, shown = _declared(nodes), stem_of(file), _shown(file)
    return [
        subject.found(f"{stem}/{clean(subject.name)}", shown, lines.get(subject.name.rpartition("!")[2], 0))
        for subject in subjects
    ]


def _different(file: Path, what: str, names: list[str]) -> None:
    """DiscoveryError where two names are the same, or look the same once their signs that do not print are shown."""
    counts = Counter(map(clean, names))
    twice = sorted(name for name, count in counts.items() if count > 1)
    if twice:
        raise DiscoveryError(f"{_shown(file)}: two {what} are called {twice[0]!r}")


def _declared(nodes: list[ast.AST]) -> dict[str, int]:
    """Line of the first call that has a text as an argument, for each text: where a subject of that name is made."""
    lines: dict[str, int] = {}
    for node in nodes:
        if isinstance(node, ast.Call):
            for value in (*node.args, *(keyword.value for keyword in node.keywords)):
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    lines[value.value] = min(node.lineno, lines.get(value.value, node.lineno))
    return lines


def _promises(module: ModuleType, file: Path) -> list[Promise]:
    """The file's promises about utility (a list that may be missing), named `stem/name`."""
    promises = getattr(module, "promises", [])
    if not isinstance(promises, Sequence) or not all(isinstance(each, Promise) for each in promises):
        raise DiscoveryError(f"{_shown(file)}: `promises` must be a list of dpverify.promises.Promise")
    _different(file, "promises", [promise.name for promise in promises])
    return [replace(each, name=f"{stem_of(file)}/{clean(each.name)}") for each in promises]


def _shown(file: Path) -> str:
    """The path as a person in the current folder would write it."""
    here = Path.cwd()
    return str(file.relative_to(here) if file.is_relative_to(here) else file)


def import_file(file: Path) -> ModuleType:
    """The module of a file; its root goes on `sys.path` as the docstring above says. DiscoveryError where it fails."""
    return _imported(file)[0]


def _imported(file: Path) -> tuple[ModuleType, list[ast.AST]]:
    """The module of a file, and its source as it was parsed; nothing of it that does not parse."""
    root, parts = file.parent, [file.stem]
    while (root / "__init__.py").exists():
        parts.insert(0, root.name)
        root = root.parent
    search_path.add(str(root))
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    name = ".".join(parts)
    known = sys.modules.get(name)
    if known is not None and Path(known.__file__ or "").resolve() != file:
        raise DiscoveryError(f"{file}: a module {name!r} is loaded already from {known.__file__}; rename one of them")
    last = next(reversed(sys.modules))
    try:
        module = import_module(name)
    except (Exception, SystemExit) as error:  # whatever foreign code raises on import
        _refuse_foreign(file, _nodes(file), (root, Path.cwd()), last)
        sys.modules.pop(name, None)
        where = f"{_shown(file)}:{_line(error, file)}".rstrip(":")
        said = f"{where}: cannot be loaded ({type(error).__name__}: {error}){_passed_over(root, error)}"
        raise DiscoveryError(clean(said)) from error
    nodes = _nodes(file)
    _refuse_foreign(file, nodes, (root,), last)  # what lies in the current folder only may well be installed, too
    return module, nodes


def _nodes(file: Path) -> list[ast.AST]:
    try:
        return list(ast.walk(ast.parse(file.read_bytes())))
    except (SyntaxError, ValueError):
        return []


def _loaded_after(last: str) -> set[str]:
    """Names of modules that came after this one; all of them where it is gone.

    Not a difference of sets: in a forked child, to take hold of every name is to copy the memory that they are in.
    """
    return set(takewhile(lambda name: name != last, reversed(sys.modules)))


def _refuse_foreign(file: Path, nodes: list[ast.AST], roots: tuple[Path, ...], last: str) -> None:
    """DiscoveryError where a name that lies in one of `roots` and that the file imports was found outside of them.

    A folder without `__init__.py` is passed over for a package of its name that is installed, and what another project
    has loaded stays loaded: the audit would be one of somebody else's code. Names of the standard library have a hint
    of their own (`_passed_over`), and `dpverify` is the one that runs.
    """
    asked = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    asked |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    asked |= _loaded_after(last)
    first = {name.partition(".")[0] for name in asked} - sys.stdlib_module_names - {"dpverify", ""}
    for name in sorted(first):
        found, here = sys.modules.get(name), next(filter(None, (_code(root, name) for root in roots)), None)
        if found is None or here is None:
            continue
        places = [Path(each) for each in (*getattr(found, "__path__", []), found.__file__) if each]
        if places and not any(each.resolve().is_relative_to(root.resolve()) for each in places for root in roots):
            said = f"{_shown(file)}: {name!r} is {places[-1]}, not {_shown(here)}: rename or remove one"
            raise DiscoveryError(clean(said))


def _code(root: Path, name: str) -> Path | None:
    """The module or the folder with modules that has this name there. Asked by name: a folder may hold many files."""
    file, folder = root / f"{name}.py", root / name
    return file if file.is_file() else folder if folder.is_dir() and any(folder.glob("*.py")) else None


def _passed_over(root: Path, error: BaseException) -> str:
    """A hint at a module of the project that was meant, and is not what was imported."""
    files = search_path.unreachable([str(root), str(Path.cwd())])
    meant = [file for file in files if f"'{Path(file).stem}'" in str(error)]
    return "".join(f"; {file} is not imported, the standard library has this name: rename it" for file in meant)


def _line(error: BaseException, file: Path) -> str:
    """The line of `file` that the error came through; "" where it did not."""
    if isinstance(error, SyntaxError) and error.filename == str(file):
        return str(error.lineno)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    return str(frames[-1].lineno) if frames else ""


# ----------------------------------------------------------------------------------------------------------------------
# What runs inside watched children to load and list an audit file.
#
# Without what would run its subjects: that loads slowly.


def manifest(file: str) -> dict[str, Any]:
    """All subjects and promises of a file; DiscoveryError where it does not load."""
    loaded = load_file(file)
    entries = [
        {
            "kind": "subject",
            "local": local,
            "name": subject.name,
            "file": subject.file,
            "line": subject.line,
            "pairs": len(subject.pairs),
            "trials": subject.trials,
            "claim": str(subject.claim),
            "relation": str(subject.claim.relation),
            "expected": subject.expected,
            "planted": subject.planted,
            "paper": subject.paper,
            "statement": subject.statement,
        }
        for local, subject in loaded.subjects.items()
    ]
    entries += [
        {
            "kind": "promise",
            "local": local,
            "name": promise.name,
            "trials": promise.trials,
            "claim": f"error > {promise.bound:.4g} with probability <= {promise.failure_probability:g}",
            "expected": promise.expected,
            "paper": promise.paper,
            "statement": promise.statement,
        }
        for local, promise in loaded.promises.items()
    ]
    return {"entries": entries}


@dataclass(frozen=True)
class Loaded:
    """Subjects and promises of a file, by the names that it gives them."""

    subjects: dict[str, Subject]
    promises: dict[str, Promise]


def load_file(file: str) -> Loaded:
    """The file's subjects and promises. DiscoveryError where it does not load."""
    subjects, promises = load_audits(Path(file))
    return Loaded(
        {each.name.partition("/")[2]: each for each in subjects},
        {each.name.partition("/")[2]: each for each in promises},
    )
