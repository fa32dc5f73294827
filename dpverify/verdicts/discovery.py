"""Finding audits: files `audit_*.py` with a module-level list `subjects`, as pytest finds tests.

The folder that holds the outermost package of a file (the file's own folder, when that is no package) goes
on `sys.path`, so that an audit file may import its neighbours.
"""

import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

from dpverify.base.errors import DiscoveryError
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
        raise DiscoveryError(f"{file}: must define `subjects`, a list of dpverify.Subject")
    names = [subject.name for subject in subjects]
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise DiscoveryError(f"{file}: two subjects are called {sorted(repeated)[0]!r}")
    return [subject.found(f"{stem_of(file)}/{subject.name}", _shown(file)) for subject in subjects]


def discover(paths: Iterable[Path], expression: str = "") -> list[Subject]:
    """All subjects under `paths` whose name matches `expression` (see `matches`)."""
    paths = list(paths)
    subjects = [subject for file in find_files(paths) for subject in load_subjects(file)]
    exact = [subject for subject in subjects if subject.name == expression]  # a whole name means itself only
    chosen = exact or [subject for subject in subjects if matches(subject.name, expression)]
    if not chosen:
        where = ", ".join(str(path) for path in paths)
        raise DiscoveryError(f"no audits found in {where}" + (f" matching {expression!r}" if expression else ""))
    return chosen


def matches(name: str, expression: str) -> bool:
    """True where the name contains the words of `expression`: `a and b`, `a or b`, `not a`, as pytest -k.

    Raises DiscoveryError for an expression that cannot be read.
    """
    return any(all(_term(name, term, expression) for term in part.split(" and ")) for part in expression.split(" or "))


def stem_of(file: Path) -> str:
    """`local` for audits/audit_local.py."""
    return file.stem.removeprefix("audit_")


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
    name = ".".join(parts)
    known = sys.modules.get(name)
    if known is not None and Path(known.__file__ or "").resolve() != file:
        raise DiscoveryError(f"{file}: a module {name!r} is loaded already from {known.__file__}; rename one of them")
    try:
        return import_module(name)
    except Exception as error:  # whatever foreign code raises on import
        raise DiscoveryError(f"{file}: cannot be loaded ({type(error).__name__}: {error})") from error
