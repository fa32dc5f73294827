"""Accepted results, kept by what they depend on: `--changed-only` runs only what has changed.

A result is kept where it is as expected, under a hash of
    the subject's name, seed, trials and share of the significance,
    the text of its audit file and of every file of the project that it imports, directly or not,
    the whole of dpverify, and the versions of Python and of all installed packages.

Equal hashes give equal records, so a kept one is what a run would give. Not covered: data files that the code
reads, and imports whose names are computed.
"""

import ast
import hashlib
import json
import os
import platform
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path

from dpverify.evidence.promises import Promise
from dpverify.faces.report import as_json
from dpverify.verdicts.subject import Subject
from dpverify.verdicts.suite import Failure, Outcome, Settings

FOLDER = Path(".dpverify_cache")
INSTALLED = tuple(Path(sysconfig.get_path(kind)) for kind in ("stdlib", "platstdlib", "purelib", "platlib"))


class Cache:
    """The kept results of one run's subjects and promises, looked up by name."""

    def __init__(
        self, subjects: Iterable[Subject], promises: Iterable[Promise], settings: Settings, folder: Path = FOLDER
    ) -> None:
        subjects, promises = list(subjects), list(promises)
        statements = sum(len(subject.pairs) for subject in subjects) + len(promises)
        self._folder = folder
        run = [settings.seed, settings.trials, settings.sequential, settings.significance, statements]
        # promises do not know their file: they depend on all of the audit files
        everything = "".join(sorted({_digest(subject.file) for subject in subjects}))
        self._keys = {subject.name: _hash("subject", subject.name, _digest(subject.file), *run) for subject in subjects}
        self._promise_keys = {promise.name: _hash("promise", promise.name, everything, *run) for promise in promises}

    def known(self) -> dict[tuple[str, str], Outcome]:
        """(kind, name) -> kept result, for everything that has not changed."""
        found: dict[tuple[str, str], Outcome] = {}
        for kind, keys in (("subject", self._keys), ("promise", self._promise_keys)):
            for name, key in keys.items():
                outcome = self._read(self._folder / f"{key}.json")
                if outcome is not None:
                    found[kind, name] = outcome
        return found

    def keep(self, outcomes: Iterable[Outcome]) -> None:
        """Stores what is as expected."""
        self._folder.mkdir(exist_ok=True)
        (self._folder / ".gitignore").write_text("*\n", encoding="utf-8")
        for outcome in outcomes:
            if isinstance(outcome, Failure) or not outcome.as_expected:
                continue
            name = getattr(outcome, "subject", None)
            key = self._promise_keys[outcome.name] if name is None else self._keys[name]  # type: ignore[union-attr]
            file = self._folder / f"{key}.json"
            half = file.with_suffix(f".{os.getpid()}")
            half.write_text(as_json.render_one(outcome), encoding="utf-8")
            half.replace(file)  # whole or not at all, also with two runs at once

    def _read(self, file: Path) -> Outcome | None:
        try:
            (outcome,) = as_json.outcomes([file.read_text(encoding="utf-8")])
        except (OSError, ValueError, KeyError, TypeError):  # missing, or of another version: run it again
            return None
        return outcome


def _hash(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


@lru_cache(maxsize=256)
def _digest(file: str) -> str:
    """Hash of all code behind an audit file, and of what is installed."""
    texts = {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in _code(Path(file).resolve())}
    return _hash(sorted(texts.items()), _installed())


@lru_cache(maxsize=1)
def _installed() -> list[tuple[str, str]]:
    versions = {(each.name or "", each.version) for each in distributions()}
    return [("python", platform.python_version()), ("machine", platform.machine()), *sorted(versions)]


def _code(start: Path) -> set[Path]:
    """The file, what it imports from the project, what that imports, ...; and all of dpverify."""
    seen = set(Path(__file__).parents[1].rglob("*.py"))
    waiting = [start]
    while waiting:
        file = waiting.pop()
        if file in seen or not file.is_file() or any(file.is_relative_to(place) for place in INSTALLED):
            continue
        seen.add(file)
        waiting += _imported(file)
    return seen


def _imported(file: Path) -> Iterator[Path]:
    package = _package(file)
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            head = package[: len(package) + 1 - node.level] if node.level else []
            base = ".".join([*head, *([node.module] if node.module else [])])
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        for name in names:
            parts = name.split(".")
            for end in range(1, len(parts) + 1):  # importing a.b runs a/__init__.py too
                place = _place(".".join(parts[:end]))
                if place is not None:
                    yield place


def _place(name: str) -> Path | None:
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if module is None:
        try:
            spec = find_spec(name)
        except (ImportError, ValueError, AttributeError):
            return None
        file = spec.origin if spec is not None else None
    return Path(file).resolve() if file and file.endswith(".py") else None


def _package(file: Path) -> list[str]:
    parts: list[str] = []
    folder = file.parent
    while (folder / "__init__.py").exists():
        parts.insert(0, folder.name)
        folder = folder.parent
    return parts
