"""The sources of a project that lie behind a file: one digest for a record, the same in every process.

By what is written, not by what was loaded: which modules are loaded depends on what ran before. It says which code was
audited, and keys what `--resume` and a checkpoint take from an earlier run. Data files that code reads are the user's
business, as with joblib.Memory.
"""

import hashlib
import os
import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

HERE = str(Path(__file__).parents[1])  # dpverify itself

_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+(?P<base>[.\w]+)[ \t]+import[ \t]+(?P<names>\([^)]*\)|[^\n#;]+)"
    rb"|import[ \t]+(?P<plain>[^\n#;]+))",
    re.MULTILINE,
)
_WORD = re.compile(rb"[.\w]+")


def digest(files: Iterable[str]) -> str:
    """SHA-256 over the paths and contents of the files and of every file of their projects that they import.

    Installed packages and dpverify are left out: their versions are in `environment`. Empty where there is no file.
    """
    seen: dict[Path, bytes] = {}
    waiting = [Path(os.path.abspath(file)) for file in files if file]
    top = _common([_root(file) for file in waiting]) if waiting else Path()
    found = [*map(_root, waiting), *(Path(os.path.abspath(each)) for each in sys.path)]
    roots = tuple(root for root in dict.fromkeys(found) if _is_project(f"{root}/_") and root.is_dir())
    known: _Known = {}
    while waiting:
        file = waiting.pop()
        if file in seen or not _is_project(str(file)):
            continue
        try:
            seen[file] = file.read_bytes()
        except OSError:
            continue
        waiting += _imported(file, seen[file], roots, known)
    if not seen:
        return ""
    return sha256(
        "\n".join(sorted(f"{os.path.relpath(file, top)} {sha256(text)}" for file, text in seen.items())).encode()
    )


def file_of(thing: Any) -> str:
    """The file of the module that defines an object or its class; empty where there is none."""
    name = getattr(thing, "__module__", None) or type(thing).__module__
    return str(getattr(sys.modules.get(name), "__file__", None) or "")


@lru_cache(maxsize=1)
def own_digest() -> str:
    """Of dpverify's own modules."""
    files = sorted(Path(HERE).rglob("*.py"))
    return sha256("\n".join(f"{file.relative_to(HERE)} {sha256(file.read_bytes())}" for file in files).encode())


def sha256(content: bytes) -> str:
    """Hexadecimal digest."""
    return hashlib.sha256(content).hexdigest()


@lru_cache(maxsize=4096)
def _is_project(file: str) -> bool:
    kinds = ("purelib", "platlib", "stdlib", "platstdlib")
    installed = [each for each in sys.path if os.path.basename(each) in ("site-packages", "dist-packages")]
    return not file.startswith(tuple(f"{root}/" for root in (*map(sysconfig.get_path, kinds), *installed, HERE)))


_Known = dict[tuple[Path, str], list[Path]]


def _imported(file: Path, text: bytes, roots: tuple[Path, ...], known: _Known) -> Iterator[Path]:
    for found in _IMPORT.finditer(text):
        if found["plain"] is not None:
            names = [part.split()[0] for part in found["plain"].split(b",") if part.split()]
            yield from (place for name in names for place in _places(_text(name), roots, known))
            continue
        base = _text(found["base"])
        level = len(base) - len(base.lstrip("."))
        inside = (file.parents[level - 1],) if 0 < level <= len(file.parents) else roots
        for name in _WORD.findall(found["names"]):
            yield from _places(f"{base.lstrip('.')}.{_text(name)}".lstrip("."), inside, known)


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace")


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
