"""Files, folders and code that a process looks at: what was there first. An event is an attempt.

That it went well is heard afterwards (`unheard`), or never.
"""

import os
import posixpath
from collections.abc import Callable
from contextlib import suppress
from importlib.machinery import BYTECODE_SUFFIXES, EXTENSION_SUFFIXES, SOURCE_SUFFIXES
from importlib.util import source_from_cache
from typing import Any

from dpverify.runs import callers
from dpverify.runs.callers import importing, naming, seeking_distributions, under_import
from dpverify.runs.facts import attributes, code, digest_of_file, FOLDER, link, looks, NOT_CODE, World, writable
from dpverify.runs.places import absolute, identity, is_volatile, stamp
from dpverify.runs.seen import Seen, TRUSTED

MACHINE = ("/sys/fs/cgroup/", "/sys/devices/system/cpu/", "/proc/cpuinfo")
COUNTERS = ("dpverify", "joblib", "threadpoolctl", "psutil")  # of processors and memory, in /proc and /sys
IMPORTABLE = (*SOURCE_SUFFIXES, *BYTECODE_SUFFIXES, *EXTENSION_SUFFIXES)
WRITES = os.O_WRONLY | os.O_RDWR
TEMPORARY = getattr(os, "O_TMPFILE", 0)  # a file without a name
callers.LISTENING.add(__file__)


class Files(Seen):
    """Hears of files and folders."""

    def made(self, path: Any, file: int | None = None, folder: Any = None) -> None:
        """A file was made or emptied, open as `file`, or a folder."""
        if not getattr(self._busy, "here", False):
            with self.aside(), suppress(OSError):
                place = absolute(path, folder)
                found = identity(place if file is None else file)
                if found is not None:
                    self.written[place] = found

    def moving(self, names: tuple[Any, Any], folders: tuple[Any, Any], move: Callable[[], None]) -> None:
        """Moves a file. What it says is known, or was written down by the event: so the new name is the process's."""
        before = None
        with self.aside(), suppress(Exception):
            before = identity(absolute(names[0], folders[0]))
        move()
        if getattr(self._busy, "here", False):
            return
        with self.aside(), suppress(OSError):
            source, target = (absolute(name, folder) for name, folder in zip(names, folders, strict=True))
            self.written.pop(source, None)
            if before is not None and identity(target) == before:
                self.written[target] = before

    def opening(self, path: Any, flags: int, folder: int, call: Callable[[], int]) -> int:
        """Opens a file by its name in an open folder, of which the event says nothing."""
        if getattr(self._busy, "here", False):
            return call()
        with self.aside():
            try:
                self.opened(path, flags, folder)
            except Exception as error:
                self.doubt(f"os.open could not be followed ({type(error).__name__})")
            return call()

    def _opened(self, event: str, given: tuple[Any, ...]) -> None:
        path, _, flags = given
        if not isinstance(path, int) and path is not None:
            self.opened(path, flags or 0)

    def opened(self, path: Any, flags: int, folder: Any = None) -> None:
        """A file is about to be opened."""
        place, writes = absolute(path, folder), flags & WRITES
        if is_volatile(place):
            self._volatile(place)
        elif importing():
            if place.endswith(IMPORTABLE):
                self.loaded(place)
            elif not writes:
                self.read(place)
        elif not writes:
            self.read(place)
        elif flags & TEMPORARY != TEMPORARY or not TEMPORARY:
            exclusive = flags & os.O_CREAT and flags & os.O_EXCL
            if exclusive and naming():
                return
            self._changing(place)
            if exclusive:
                self.look(place)
            if flags & os.O_RDWR and not (exclusive or flags & os.O_TRUNC):
                self.read(place)

    def _changing(self, place: str) -> None:
        """A file may be about to get other contents: those of before matter to who reads it afterwards."""
        if not self.is_own(place) and not self._own_business(place):
            if place not in self._before_change:
                self._before_change[place] = digest_of_file(place)
            self.firsts.setdefault(("may", place), writable(place))

    def read(self, place: str) -> None:
        """A file is read that the process may not have written itself."""
        if ("file", place) not in self.firsts and not self.is_own(place):
            self.firsts["file", place] = self._before_change.get(place) or digest_of_file(place)
            self.stamps[place] = stamp(place)

    def look(self, place: str) -> None:
        """What happens next depends on whether there is something, and what."""
        if ("stat", place) not in self.firsts and not self.is_own(place) and not self._own_business(place):
            self.firsts["stat", place] = looks(place)

    def looked(self, path: Any, folder: Any = None, *, itself: bool = False) -> None:
        """`os.stat` and its like; `itself`: also at a link."""
        if getattr(self._busy, "here", False) or isinstance(path, int) or path is None:
            return
        with self.aside():
            try:
                place = absolute(path, folder)
                if is_volatile(place) and self.asker() in TRUSTED:
                    return
                self.look(place)
                if itself and ("stat", place) in self.firsts:
                    self.firsts.setdefault(("link", place), link(place))
            except Exception as error:
                self.doubt(f"a look could not be followed ({type(error).__name__})")

    def _touched(self, event: str, given: tuple[Any, ...]) -> None:
        """Whether a name is taken, made or removed here: it may fail, and the program may go on differently."""
        if importing() or isinstance(given[0], int):
            return
        has_folder = event in ("os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.utime", "os.chown")
        place = absolute(given[0], given[-1] if has_folder else None)
        if event == "os.mkdir" and naming():
            return
        self.look(place)
        if event in ("os.remove", "os.rmdir"):
            self.written.pop(place, None)
        if event == "os.truncate":
            self._changing(place)

    def _moved(self, event: str, given: tuple[Any, ...]) -> None:
        if importing():  # bytecode
            return
        source, target = absolute(given[0], given[2]), absolute(given[1], given[3])
        if not self.is_own(source):
            self.read(source)
            if self.firsts.get(("file", source)) == FOLDER:
                self.doubt(f"{source} was moved, with all that is in it")
        self._changing(target)

    def _linked(self, event: str, given: tuple[Any, ...]) -> None:
        symbolic = event == "os.symlink"
        target = absolute(given[1], given[-1])
        name = posixpath.join(posixpath.dirname(target), os.fsdecode(given[0])) if symbolic else given[0]
        self.read(absolute(name, None if symbolic else given[2]))
        self.look(target)

    def _attributes(self, event: str, given: tuple[Any, ...]) -> None:
        place = absolute(given[0])
        if not self.is_own(place):
            self.firsts.setdefault(("xattr", place), attributes(place))

    def _listed(self, event: str, given: tuple[Any, ...]) -> None:
        path = given[0] if given else None
        if not importing():
            place = absolute("." if path is None else path)
            if not self.is_own(place) and not self._own_business(place):
                kind = "dists" if seeking_distributions() else self._detail(event)
                self.firsts.setdefault((kind, place), World({}).see(kind, place))

    def _detail(self, event: str) -> str:
        """How much of a folder is told: entries of `os.scandir` know more, which `glob` does not hand on."""
        if event == "os.listdir":
            return "list"
        file = next(callers.files(), "")
        standard = file.startswith("<frozen") or self.unit(posixpath.abspath(file)) in self._standard
        return "types" if standard else "sizes"

    def loaded(self, place: str) -> None:
        """Code was loaded from a file."""
        if place.endswith(".pyc") and posixpath.basename(posixpath.dirname(place)) == "__pycache__":
            place = source_from_cache(place)
        unit = self.unit(place)
        if unit is not None:
            self.units.add(unit)
        if (unit is None or NOT_CODE.intersection(place[len(unit) :].split("/"))) and place not in self.sources:
            self.sources.add(place)
            self.firsts["code", place] = code(place)
            self.stamps[place] = stamp(place)

    def _volatile(self, place: str) -> None:
        asker = self.asker()
        counts = asker in COUNTERS or (asker in TRUSTED and (place.startswith(MACHINE) or under_import()))
        if place not in ("/dev/null", "/dev/urandom", "/dev/random", "/dev/zero") and not counts:
            self.doubt(f"{place} was opened, by {asker}")
