"""What a process looks at: an audit hook that writes down files, folders, variables and names of modules.

`Watch.start` comes before foreign code is imported, and cannot be undone. What is written down is what was seen
*first*, before the process could change it: so a result is a function of these facts, also where the process
writes files or sets variables itself. What a hook cannot follow (a child process, a connection, a library with
input and output of its own) is written down as a doubt, and a result in doubt is never kept.
"""

import os
import posixpath
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.machinery import BYTECODE_SUFFIXES, EXTENSION_SUFFIXES, SOURCE_SUFFIXES
from importlib.util import source_from_cache
from typing import Any

from dpverify.runs import callers, unheard
from dpverify.runs.callers import importing, naming, seeking_distributions, under_import
from dpverify.runs.doors import LEAVES
from dpverify.runs.facts import (
    attributes,
    code,
    digest_of_file,
    FOLDER,
    installed_roots,
    link,
    looks,
    NOT_CODE,
    standard_roots,
    World,
    writable,
)
from dpverify.runs.places import absolute, identity, is_volatile, stamp

# packages whose own looks at installed files, processors and threads change no release
TRUSTED = {
    "dpverify", "numpy", "scipy", "sklearn", "joblib", "threadpoolctl", "statsmodels", "pandas", "matplotlib",
    "cvxpy", "dp_accounting", "rich", "typer", "jinja2", "psutil", "narwhals",
}  # fmt: skip
MACHINE = ("/sys/fs/cgroup/", "/sys/devices/system/cpu/", "/proc/cpuinfo")
COUNTERS = ("dpverify", "joblib", "threadpoolctl", "psutil")  # of processors and memory, in /proc and /sys
COUNTS_PROCESSORS = {("subprocess.Popen", "joblib"), ("os.fork", "dpverify"), ("ctypes.dlopen", "dpverify")}
HERE = posixpath.dirname(posixpath.dirname(posixpath.abspath(__file__)))
IMPORTABLE = (*SOURCE_SUFFIXES, *BYTECODE_SUFFIXES, *EXTENSION_SUFFIXES)
callers.LISTENING.update({__file__, unheard.__file__})
WRITES = os.O_WRONLY | os.O_RDWR
TOUCHES = (
    "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "os.chmod", "os.chown", "os.utime", "os.setxattr",
    "os.removexattr",
)  # fmt: skip
TEMPORARY = getattr(os, "O_TMPFILE", 0)  # a file without a name


class Watch:
    """First looks of one process; `installed` units are only named, since they are digested as a whole."""

    def __init__(self) -> None:
        self.firsts: dict[tuple[str, str], str] = {}  # (kind, name) -> what was seen first
        self.stamps: dict[str, tuple[int, ...]] = {}  # of files that were read
        self.sources: set[str] = set()  # files outside of installed packages from which code was loaded
        self.units: set[str] = set()  # installed packages from which code was loaded
        self.modules: dict[str, Any] = {}  # those that were gone through
        self.asked: set[str] = set()  # names of modules, found or not
        self.paths: dict[str, None] = {}  # every folder that was ever searched for modules of first level
        self.doubts: dict[str, None] = {}
        self.ours: set[str] = set()  # files that dpverify writes: who looks at one depends on nothing
        self.written: dict[str, tuple[int, int]] = {}  # made by this process, and which files and folders they were
        self._before: dict[str, str | None] = {}  # values of variables that foreign code has set since
        self._before_change: dict[str, str] = {}  # digests
        self._roots, self._standard = installed_roots(), standard_roots()
        self._busy = threading.local()
        self._active = False

    def start(self) -> None:
        """Begins to watch."""
        if not self._active:
            self._active = True
            unheard.tell(self)
            sys.addaudithook(self._hear)

    def _hear(self, event: str, given: tuple[Any, ...]) -> None:
        handler = _HANDLERS.get(event)
        if handler is None or getattr(self._busy, "here", False):
            return
        self._busy.here = True
        try:
            handler(self, event, given)
        except Exception as error:  # a hook that raises would change what the program does
            self.doubt(f"{event} could not be followed ({type(error).__name__})")
        finally:
            self._busy.here = False

    @contextmanager
    def aside(self) -> Iterator[None]:
        """What this thread does inside is ours, and not written down."""
        before, self._busy.here = getattr(self._busy, "here", False), True
        try:
            yield
        finally:
            self._busy.here = before

    # --- files. An event is an attempt: that it went well is heard afterwards (`unheard`), or never

    def is_own(self, place: str) -> bool:
        """True where this process has made what is there: then it says nothing that was not known."""
        if place in self.ours or not self.written:
            return place in self.ours
        found = identity(place)
        if found is None and place != "/":  # nothing there: neither is there anything in a folder of its own
            return self.is_own(posixpath.dirname(place))
        return place in self.written and self.written[place] == found

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

    # --- code

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

    def unit(self, place: str) -> str | None:
        """The installed package that a file is part of, or the standard library; None for a project's own file."""
        for root in self._roots:
            if place.startswith(root + "/"):
                return posixpath.join(root, place[len(root) + 1 :].partition("/")[0])
        if place.startswith(HERE + "/"):
            return HERE
        return next((root for root in self._standard if place.startswith(root + "/")), None)

    def _own_business(self, place: str) -> bool:
        """True where a package of the toolkit looks at what is installed, or dpverify at whatever it wants."""
        asker = self.asker()
        if asker == "dpverify" or asker not in TRUSTED:
            return asker == "dpverify"
        return self.unit(posixpath.join(place, "_")) is not None or seeking_distributions()

    def sought(self, name: str, path: Any) -> None:
        """A module was looked for: by an import, or by whoever asks whether there is one."""
        self.asked.add(name)
        if "." not in name:  # of others the parent knows where
            self.paths.update(dict.fromkeys(each for each in path or () if isinstance(each, str)))

    def _imported(self, event: str, given: tuple[Any, ...]) -> None:
        name, file, path = given[:3]
        self.asked.add(name)
        if isinstance(path, list):
            self.paths.update(dict.fromkeys(each for each in path if isinstance(each, str)))
        if isinstance(file, str):
            self.loaded(absolute(file))

    def _left(self, event: str, given: tuple[Any, ...]) -> None:
        which = LEAVES[event]
        about = "" if which is None or which >= len(given) else f" {given[which]!r:.80}"
        if event == "sqlite3.connect" and given[0] == ":memory:":
            return
        asker = self.asker()
        installed = event == "ctypes.dlopen" and asker != "the project"  # the library's file is digested
        if not installed and (event, asker) not in COUNTS_PROCESSORS:
            self.doubt(f"{event}{about}, by {asker}")

    def _volatile(self, place: str) -> None:
        asker = self.asker()
        counts = asker in COUNTERS or (asker in TRUSTED and (place.startswith(MACHINE) or under_import()))
        if place not in ("/dev/null", "/dev/urandom", "/dev/random", "/dev/zero") and not counts:
            self.doubt(f"{place} was opened, by {asker}")

    @property
    def environment(self) -> dict[str, str]:
        """The variables as they were before foreign code set any."""
        own: Any = os.environ
        plain = dict.items(own._data)  # not by the methods that tell
        now = {os.fsdecode(name): os.fsdecode(value) for name, value in plain}
        now.update({name: value for name, value in self._before.items() if value is not None})
        return {name: value for name, value in now.items() if self._before.get(name, value) is not None}

    def variable(self, name: object) -> None:
        """One variable was asked for."""
        name = os.fsdecode(name) if isinstance(name, bytes) else name
        if isinstance(name, str) and ("env", name) not in self.firsts and not self._is_ours():
            self.declared(name)

    def declared(self, name: str) -> None:
        """One variable matters."""
        self.firsts.setdefault(("env", name), World(self.environment).see("env", name))

    def set(self, name: object) -> None:
        """One variable is about to change."""
        name = os.fsdecode(name) if isinstance(name, bytes) else name
        if isinstance(name, str) and name not in self._before and not self._is_ours():
            self._before[name] = self.environment.get(name)

    def all_variables(self) -> None:
        """The environment was gone through."""
        if ("envs", "") not in self.firsts and not self._is_ours() and self.asker() not in TRUSTED:
            self.firsts["envs", ""] = World(self.environment).see("envs", "")

    def _is_ours(self) -> bool:
        return getattr(self._busy, "here", False) or self.asker() == "dpverify"

    def doubt(self, why: str) -> None:
        """Something that cannot be followed."""
        self.doubts.setdefault(" ".join(why.split()))

    def asker(self) -> str:
        """Who is behind what was just heard: the package of the nearest frame outside of the standard library."""
        for file in callers.files():
            if file.startswith("<frozen"):
                continue
            unit = self.unit(posixpath.abspath(file))
            if unit == HERE:
                return "dpverify"
            if unit is None:
                return "the project"
            if unit not in self._standard:
                return posixpath.basename(unit).partition(".")[0]
        return "the interpreter"


_HANDLERS: dict[str, Callable[[Watch, str, tuple[Any, ...]], None]] = {
    "open": Watch._opened,
    "import": Watch._imported,
    "os.listdir": Watch._listed,
    "os.scandir": Watch._listed,
    "os.rename": Watch._moved,
    "os.link": Watch._linked,
    "os.symlink": Watch._linked,
    "os.getxattr": Watch._attributes,
    "os.listxattr": Watch._attributes,
    **dict.fromkeys(TOUCHES, Watch._touched),
    **dict.fromkeys(LEAVES, Watch._left),
}
