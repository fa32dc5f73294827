"""The sources of a project that lie behind a file: one digest for a record, the same in every process.

By what is written, not by what was loaded: which modules are loaded depends on what ran before. It says which code was
audited, and keys what `--resume` and a checkpoint take from an earlier run. Data files that code reads are the user's
business, as with joblib.Memory.
"""

import ast
import contextlib
import hashlib
import io
import os
import platform
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.metadata import distributions, PackageNotFoundError, version
from pathlib import Path
from typing import Any

HERE = str(Path(__file__).parents[1])  # dpverify itself


def digest(files: Iterable[str]) -> str:
    """SHA-256 over the paths and contents of the files and of every file of their projects that they import.

    Installed packages and dpverify are left out: their versions are in `environment`. Empty where there is no file.
    """
    seen: dict[Path, str] = {}
    waiting = [Path(os.path.abspath(file)) for file in files if file]
    top = _common([_root(file) for file in waiting]) if waiting else Path()
    found = [*map(_root, waiting), *(Path(os.path.abspath(each)) for each in (*sys.path, os.getcwd()))]
    roots = tuple(root for root in dict.fromkeys(found) if _is_project(f"{root}/_") and root.is_dir())
    known: _Known = {}
    while waiting:
        file = waiting.pop()
        if file in seen or not _is_project(str(file)):
            continue
        try:
            stamp = file.stat()
            content, imports = _read(file, stamp.st_mtime_ns, stamp.st_size, stamp.st_ino)
        except OSError:
            continue
        seen[file] = content
        waiting += _packages(file)
        for level, name in imports:
            inside = (file.parents[level - 1],) if 0 < level <= len(file.parents) else roots
            waiting += _places(name, inside, known)
    if not seen:
        return ""
    return sha256("\n".join(sorted(f"{os.path.relpath(file, top)} {text}" for file, text in seen.items())).encode())


def file_of(thing: Any) -> str:
    """The file of the module that defines an object or its class; empty where there is none."""
    name = getattr(thing, "__module__", None) or type(thing).__module__
    return str(getattr(sys.modules.get(name), "__file__", None) or "")


def files_of(*things: Any) -> list[str]:
    """The files of all modules whose classes and functions the objects are made of, as far as pickle finds them.

    An instance, a partial or a closure is made of what it holds: code of another file that it was handed.
    """
    import cloudpickle  # not at start-up: few commands pickle

    names: set[Any] = set()

    class Named(cloudpickle.Pickler):  # type: ignore[misc]
        def reducer_override(self, thing: Any) -> Any:
            names.update((getattr(thing, "__module__", None), type(thing).__module__))
            return super().reducer_override(thing)

    for thing in things:
        names.update((getattr(thing, "__module__", None), type(thing).__module__))
        with contextlib.suppress(Exception):  # what foreign objects raise: the others are known
            Named(_Discarded(), protocol=5, buffer_callback=lambda buffer: None).dump(thing)
    modules = (sys.modules.get(name) for name in names if isinstance(name, str))
    return sorted({str(file) for each in modules if (file := getattr(each, "__file__", None))})


class _Discarded(io.RawIOBase):
    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return memoryview(data).nbytes


@lru_cache(maxsize=1)
def own_digest() -> str:
    """Of dpverify's own modules."""
    files = sorted(Path(HERE).rglob("*.py"))
    return sha256("\n".join(f"{file.relative_to(HERE)} {sha256(file.read_bytes())}" for file in files).encode())


@lru_cache(maxsize=1)
def installed() -> str:
    """Of the names and versions of all installed packages, as this process found them."""
    names = {f"{each.metadata['Name']} {each.version}" for each in distributions()}
    return sha256("\n".join(sorted(names)).encode())


def environment() -> dict[str, str]:
    """Versions and machine that a record was made with."""
    found = {"python": platform.python_version(), "machine": platform.machine(), "system": platform.system()}
    for package in ("dpverify", "numpy", "scipy", "dp-accounting", "scikit-learn"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def sha256(content: bytes) -> str:
    """Hexadecimal digest."""
    return hashlib.sha256(content).hexdigest()


@lru_cache(maxsize=4096)
def _is_project(file: str) -> bool:
    kinds = ("purelib", "platlib", "stdlib", "platstdlib")
    installed = [each for each in sys.path if os.path.basename(each) in ("site-packages", "dist-packages")]
    return not file.startswith(tuple(f"{root}/" for root in (*map(sysconfig.get_path, kinds), *installed, HERE)))


_Known = dict[tuple[Path, str], list[Path]]


@lru_cache(maxsize=4096)
def _read(file: Path, *stamp: int) -> tuple[str, tuple[tuple[int, str], ...]]:
    """The digest of a file, and what it imports: (level, dotted name), level 0 where absolute. `stamp`: which file."""
    content = file.read_bytes()
    try:
        nodes = list(ast.walk(ast.parse(content)))
    except (SyntaxError, ValueError, RecursionError):  # no module: loading it fails
        nodes = []
    found: list[tuple[int, str]] = []
    for node in nodes:
        if isinstance(node, ast.Import):
            found += [(0, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            found += [(node.level, f"{base}.{alias.name}".strip(".*")) for alias in node.names]
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if called in ("import_module", "__import__") and isinstance(node.args[0].value, str):
                found.append((0, node.args[0].value))
    return sha256(content), tuple(dict.fromkeys(found))


def _packages(file: Path) -> Iterator[Path]:
    """The `__init__.py` of every package that the file lies in: all are executed before it."""
    folder = file.parent
    while (folder / "__init__.py").is_file() and folder != folder.parent:
        yield folder / "__init__.py"
        folder = folder.parent


def _places(name: str, roots: tuple[Path, ...], known: _Known) -> Iterator[Path]:
    """The files that importing a dotted name runs: those of its packages, and its own."""
    parts = [part for part in name.split(".") if part]
    for root in roots if parts[:1] != ["dpverify"] else ():
        if (root, name) not in known:
            places = [root.joinpath(*parts[:end]) for end in range(1, len(parts) + 1)]
            files = [each for place in places for each in (place.with_suffix(".py"), place / "__init__.py")]
            top = places[0] if places else root
            there = top.is_dir() or top.with_suffix(".py").is_file()
            known[root, name] = [each for each in files if each.is_file()] if there else []
        yield from known[root, name]


def _root(file: Path) -> Path:
    folder = file.parent
    while (folder / "__init__.py").exists() and folder != folder.parent:
        folder = folder.parent
    return folder


def _common(folders: list[Path]) -> Path:
    return Path(os.path.commonpath(folders))


# ----------------------------------------------------------------------------------------------------------------------
# Which code this is: the commit of the project's repository, whether its files are those of the commit, our own files.
#
# Versions of packages are in `environment`; the digest of what was audited is in each record (`execution.sources`).


SECONDS = 5.0  # for git: a repository on a slow disk is then one that we know nothing of
# a repository's own settings may name programs to run
_QUIET = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.pager=cat")

Identity = dict[str, str | bool | None]


def identity() -> Identity:
    """commit ("" without a repository), dirty (None where nobody can say), and a digest of dpverify's own files.

    Dirty: a tracked file is not as committed, or there is a Python file that is not tracked. As it was when this
    process looked first, before anything was run.
    """
    return dict(_identity(os.getcwd()))


@lru_cache(maxsize=16)
def _identity(folder: str) -> tuple[tuple[str, str | bool | None], ...]:
    commit = _git(folder, "rev-parse", "--verify", "HEAD")
    changed = None if not commit else _git(folder, "status", "--porcelain", "--untracked-files=all")
    dirty = None if changed is None else any(_counts(line) for line in changed.splitlines())
    return (("commit", commit or ""), ("dirty", dirty), ("dpverify", own_digest()))


def _counts(line: str) -> bool:
    return not line.startswith("??") or line.rstrip('"').endswith(".py")


def _git(folder: str, *words: str) -> str | None:
    """What git says; None where there is none, or it fails."""
    try:
        done = subprocess.run(
            ["git", *_QUIET, *words],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
