"""Where a result comes from: everything that was loaded and read to make it, and whether all of that still holds.

In the process that runs foreign code:   `start()` before it is imported, `found()` after the result is there.
In the process that keeps results:       `completed(found)` when it arrives, `changed(provenance, world)` before reuse.

A result may be used again where `changed` gives "": every file, folder and variable is what it was when the
process looked first, no module would be found elsewhere, and nothing was done that cannot be followed.
Not covered: what compiled extensions read by themselves (some are known, see `watch.NATIVE`, and are in doubt),
the times of files, the clock, and the network behind a file system.
"""

import json
import os
import posixpath
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from dpverify.runs.doors import names_in, NATIVE
from dpverify.runs.facts import digest_of_file, entries, Fact, FAMILIES, interpreter, sha256, World
from dpverify.runs.places import stamp as stamp_of
from dpverify.runs.watch import HERE, Watch

FOLDER = Path(".dpverify")
FACTS = "facts"  # folder in there: facts are many and shared, each set is a file named by its digest
KEPT = 2000  # sets of facts in a folder
LOADED = time.time_ns()
_watch = Watch()


def start() -> None:
    """Watches this process from now on; again is no change."""
    _watch.start()


def prepare() -> None:
    """Goes through what is loaded now, so that processes forked from this one need not."""
    ours()
    with _watch.aside():
        _loaded_before(_watch)


def declare(variables: Iterable[str]) -> None:
    """Variables that a subject says it depends on, also where compiled code reads them."""
    for name in variables:
        _watch.declared(name)


def moved(environment: Mapping[str, str]) -> None:
    """For another environment of this process: a doubt for each variable that was asked for and is not as it was."""
    with _watch.aside():
        before, now = World(_watch.environment), World(environment)
        for kind, name in list(_watch.firsts):
            if kind in ("env", "envs") and now.see(kind, name) != before.see(kind, name):
                _watch.doubt(f"{kind} {name} was another when libraries were loaded")


def found() -> dict[str, Any]:
    """What this process has depended on so far, as plain values.

    facts    what was seen, for files of the project, data, folders, variables and names of modules
    units    installed packages and libraries that were loaded; the keeper digests each as a whole
    doubts   what cannot be followed; results with any are not kept
    """
    with _watch.aside():
        return _found(_watch)


def _found(watch: Watch) -> dict[str, Any]:
    _loaded_before(watch)
    for path, stamp in watch.stamps.items():
        if stamp_of(path) != stamp and not watch.is_own(path):
            watch.doubt(f"{path} changed while it was in use")
    for path in sorted(watch.sources):
        for name in sorted(names_in(path)):
            watch.doubt(f"{path} refers to {name}, which cannot be followed")
    for name in NATIVE:
        if name in sys.modules:
            watch.doubt(f"{name} was loaded, which reads files by itself")
    facts = [(kind, name, seen) for (kind, name), seen in watch.firsts.items()]
    facts += [("search", question, _searched(question)) for question in _questions(watch)]
    here = World(watch.environment)
    facts += [("envs", beginning, here.see("envs", beginning)) for beginning in FAMILIES]
    facts += [("env", name, here.see("env", name)) for name in ("LANG", "LANGUAGE", "TZ")]
    facts.append(("self", "python", interpreter()))
    return {"facts": sorted(set(facts)), "units": sorted(watch.units | set(_mapped())), "doubts": list(watch.doubts)}


def own(file: Path) -> None:
    """A file that we write: who looks at it depends on nothing that it says."""
    _watch.ours.add(posixpath.abspath(file))


def aside() -> AbstractContextManager[None]:
    """What is looked at inside is our own business."""
    return _watch.aside()


def seen_first() -> list[Fact]:
    """Files, folders and variables that were looked at since `start`; nothing where it was not called."""
    return sorted((kind, name, seen) for (kind, name), seen in _watch.firsts.items() if kind != "code")


Told = dict[str, Any]
_KEPT_SETS = ("sources", "units", "asked", "ours")
_KEPT_PAIRS = ("stamps", "written")  # places, and numbers that say which file was there
_KEPT_MAPS = ("paths", "doubts")


def told(before: Told | None = None) -> Told:
    """What was seen so far; with an earlier answer, what came since as plain values, for a process that forked us."""
    with _watch.aside():
        if before is None:
            return {name: set(getattr(_watch, name)) for name in (*_KEPT_SETS, *_KEPT_MAPS, *_KEPT_PAIRS, "firsts")}
        fresh: Told = {name: sorted(set(getattr(_watch, name)) - before[name]) for name in (*_KEPT_SETS, *_KEPT_MAPS)}
        fresh["firsts"] = [[*key, seen] for key, seen in _watch.firsts.items() if key not in before["firsts"]]
        for name in _KEPT_PAIRS:
            fresh[name] = [[key, *seen] for key, seen in getattr(_watch, name).items() if key not in before[name]]
        return fresh


def heard(fresh: Told) -> None:
    """Takes over what a forked process says it saw (`told`); the first look at a thing counts."""
    with _watch.aside():
        for name in _KEPT_SETS:
            getattr(_watch, name).update(fresh[name])
        for name in _KEPT_MAPS:
            for each in fresh[name]:
                getattr(_watch, name).setdefault(each)
        for kind, name, seen in fresh["firsts"]:
            _watch.firsts.setdefault((kind, name), seen)
        for name in _KEPT_PAIRS:
            for place, *seen in fresh[name]:
                getattr(_watch, name).setdefault(place, tuple(seen))


def ours() -> dict[str, str]:
    """dpverify itself by the bytes of its files, and the interpreter."""
    return {"dpverify": _dpverify(), "python": interpreter()}


@cache
def _dpverify() -> str:
    with _watch.aside():
        places = [each for each in Path(HERE).rglob("*") if each.is_file() and "__pycache__" not in each.parts]
        files = sorted(map(str, places))
        return sha256("\n".join(f"{posixpath.relpath(each, HERE)} {digest_of_file(each)}" for each in files).encode())


def completed(provenance: dict[str, Any], since: int, world: World, folder: Path = FOLDER) -> dict[str, Any]:
    """`found()` with the digests of what is installed, as a short reference: the set of facts becomes a file.

    `since`: nanoseconds at which the run began, before anything was loaded. An installed file that has changed
    after it may not be the one that was loaded: a doubt.
    """
    facts: list[Fact] = [(kind, name, seen) for kind, name, seen in provenance["facts"]]
    doubts = list(provenance["doubts"])
    for unit in provenance["units"]:
        if unit != HERE:  # which is part of every key
            facts.append(("tree", unit, world.see("tree", unit)))
        if world.newest_of(unit) >= since:
            doubts.append(f"{unit} changed while it was in use")
    text = json.dumps(sorted(facts))
    name = sha256(text.encode("utf-8", "surrogateescape"))
    if not doubts:
        _put(folder / FACTS / f"{name}.json", text)
    return {"facts": name, "doubts": doubts}


def changed(provenance: Mapping[str, Any], world: World, folder: Path = FOLDER) -> str:
    """The first thing that is not as it was when the result was made; empty where everything is."""
    doubts, name = provenance.get("doubts"), provenance.get("facts")
    if not isinstance(doubts, list) or doubts:
        return str(doubts[0]) if doubts else "no provenance"
    if not isinstance(name, str):
        return "no provenance"
    return world.once(name, lambda: _changed(folder / FACTS / f"{posixpath.basename(name)}.json", name, world))


def _changed(file: Path, name: str, world: World) -> str:
    try:
        text = file.read_text(encoding="utf-8", errors="surrogateescape")
        if sha256(text.encode("utf-8", "surrogateescape")) != name:
            return "its facts are not those that were kept"
        for kind, what, seen in json.loads(text):
            if world.see(kind, what) != seen:
                return f"{kind} {what}"
    except (OSError, ValueError, TypeError, AttributeError):
        return "its facts cannot be read"
    return ""


def _put(file: Path, text: str) -> None:
    """Whole or not at all, also with two runs at once."""
    if file.exists():
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    ignore = file.parents[1] / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="ascii")
    half = file.with_suffix(f".{os.getpid()}")
    half.write_text(text, encoding="utf-8", errors="surrogateescape")
    half.replace(file)


def prune(folder: Path = FOLDER) -> None:
    """Drops all but the newest sets of facts; results whose set is gone are made again."""
    found = sorted((folder / FACTS).glob("*.json"), key=lambda file: file.stat().st_mtime, reverse=True)
    for file in found[KEPT:]:
        file.unlink(missing_ok=True)


def _loaded_before(watch: Watch) -> None:
    """Modules that were there before the watch, and those that something else than files gave."""
    for name, module in list(sys.modules.items()):
        if watch.modules.get(name) is module:
            continue
        watch.modules[name] = module
        watch.asked.add(name)
        place = _file_of(module)
        if place is None:
            continue
        if ("file", place) not in watch.firsts:
            before = place in watch.sources
            watch.loaded(place)
            stamp = watch.stamps.get(place)
            if not before and stamp and stamp[-1] >= LOADED:
                watch.doubt(f"{place} changed after it was loaded")
    watch.asked |= {"sitecustomize", "usercustomize"}
    watch.paths.update(dict.fromkeys(each for each in sys.path if isinstance(each, str)))


def _file_of(module: Any) -> str | None:
    """The file behind a module: also an archive, or bytecode without a source."""
    archive = getattr(getattr(module, "__loader__", None), "archive", None)
    place = archive if isinstance(archive, str) else getattr(module, "__file__", None)
    return posixpath.abspath(place) if isinstance(place, str) and isinstance(module, ModuleType) else None


def _questions(watch: Watch) -> list[str]:
    """Where modules were looked for, and under which names: [folder, names] for every folder outside of packages."""
    top = sorted({name.partition(".")[0] for name in watch.asked})
    wanted: dict[str, set[str]] = {}
    for folder in watch.paths:
        place = posixpath.abspath(folder)
        if watch.unit(posixpath.join(place, "_")) in (None, posixpath.join(place, "_")):  # not the standard library
            wanted.setdefault(place, set()).update(top)
    for name in watch.asked:
        parent, _, last = name.rpartition(".")
        for folder in getattr(sys.modules.get(parent), "__path__", ()) if parent else ():
            if watch.unit(posixpath.join(folder, "_")) is None:
                wanted.setdefault(posixpath.abspath(folder), {"__init__"}).add(last)
    return [json.dumps([folder, sorted(names)]) for folder, names in sorted(wanted.items())]


def _searched(question: str) -> str:
    folder, names = json.loads(question)
    return sha256(json.dumps(entries(folder, names)).encode())


def _mapped() -> list[str]:
    """Libraries that the loader has mapped, for extensions and for ctypes; [] where the system does not say."""
    try:
        lines = Path("/proc/self/maps").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []
    places = {parts[5] for parts in (line.split(None, 5) for line in lines) if len(parts) > 5 and parts[5][0] == "/"}
    units = {_watch.unit(place) or place for place in places if not place.startswith(("/dev/", "/memfd:", "/SYSV"))}
    return sorted(each for each in units if not each.endswith(" (deleted)"))
