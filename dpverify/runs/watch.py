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
from contextlib import contextmanager
from importlib.machinery import BYTECODE_SUFFIXES, EXTENSION_SUFFIXES, SOURCE_SUFFIXES
from importlib.util import source_from_cache
from types import FrameType
from typing import Any

from dpverify.runs import unheard
from dpverify.runs.facts import (
    code,
    digest_of_file,
    distributions,
    installed_roots,
    listing,
    looks,
    NOT_CODE,
    standard_roots,
    World,
)

# events after which a result may depend on what nobody has seen, and which argument says on what
LEAVES = {
    "subprocess.Popen": 0, "os.system": 0, "os.exec": 0, "os.posix_spawn": 0, "os.spawn": 1, "os.fork": None,
    "os.forkpty": None, "pty.spawn": 0, "socket.connect": 1, "socket.sendto": 1, "socket.sendmsg": 1,
    "socket.bind": 1, "socket.getaddrinfo": 0, "socket.gethostbyname": 0, "socket.gethostbyaddr": 0,
    "socket.gethostname": None, "ctypes.dlopen": 0, "sqlite3.connect": 0,
}  # fmt: skip
# modules that open files by themselves, in compiled code, where no hook sees it
NATIVE = (
    "h5py", "tables", "netCDF4", "pyarrow", "polars", "duckdb", "lmdb", "osgeo", "rasterio", "fiona", "cv2",
    "tensorflow", "_dbm", "_gdbm", "cffi.api", "ROOT", "pyreadstat", "zmq", "grpc",
)  # fmt: skip
# packages whose own looks at installed files, processors and threads change no release
TRUSTED = {
    "dpverify", "numpy", "scipy", "sklearn", "joblib", "threadpoolctl", "statsmodels", "pandas", "matplotlib",
    "cvxpy", "dp_accounting", "rich", "typer", "jinja2", "psutil", "narwhals",
}  # fmt: skip
COUNTS_PROCESSORS = {("subprocess.Popen", "joblib"), ("os.fork", "dpverify"), ("ctypes.dlopen", "dpverify")}
HERE = posixpath.dirname(posixpath.dirname(posixpath.abspath(__file__)))
IMPORTABLE = (*SOURCE_SUFFIXES, *BYTECODE_SUFFIXES, *EXTENSION_SUFFIXES)
LISTENING = (__file__, unheard.__file__)  # their frames ask for nobody
SELECTED = os.O_WRONLY | os.O_RDWR
_look = os.stat


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
        self.written: set[str] = set()
        self._before: dict[str, str | None] = {}  # values of variables that foreign code has set since
        self._appended: dict[str, str] = {}
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
            self._busy = threading.local()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """What this thread does inside is ours, and not written down."""
        before, self._busy.here = getattr(self._busy, "here", False), True
        try:
            yield
        finally:
            self._busy.here = before

    # --- what the hook hears

    def _opened(self, event: str, given: tuple[Any, ...]) -> None:
        path, _, flags = given
        if isinstance(path, int) or path is None:
            return
        place, flags = _absolute(path), flags or 0
        if place.startswith(("/proc/", "/sys/", "/dev/")):
            self._volatile(place)
        elif _importing() and place.endswith(IMPORTABLE):
            self.loaded(place)
        elif flags & SELECTED and flags & (os.O_TRUNC | os.O_EXCL):
            self.written.add(place)
        elif place not in self.written:
            if flags & os.O_WRONLY:  # adds to the end: matters only to who reads it afterwards
                self._appended.setdefault(place, digest_of_file(place))
            else:
                self.read(place)

    def read(self, place: str) -> None:
        """A file was opened that the process has not written itself."""
        if ("file", place) not in self.firsts:
            self.firsts["file", place] = self._appended.get(place) or digest_of_file(place)
            self.stamps[place] = _stamp(place)

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
            self.stamps[place] = _stamp(place)

    def unit(self, place: str) -> str | None:
        """The installed package that a file is part of, or the standard library; None for a project's own file."""
        for root in self._roots:
            if place.startswith(root + "/"):
                return posixpath.join(root, place[len(root) + 1 :].partition("/")[0])
        if place.startswith(HERE + "/"):
            return HERE
        return next((root for root in self._standard if place.startswith(root + "/")), None)

    def _listed(self, event: str, given: tuple[Any, ...]) -> None:
        path = given[0] if given else None
        if not isinstance(path, int) and not _importing():
            place = _absolute("." if path is None else path)
            if not self._own_business(place):
                kind, look = ("dists", distributions) if _seeking_distributions() else ("list", listing)
                self.firsts.setdefault((kind, place), look(place))

    def _own_business(self, place: str) -> bool:
        """True where a package of the toolkit looks at what is installed, or dpverify at whatever it wants."""
        asker = self.asker()
        if asker == "dpverify" or asker not in TRUSTED:
            return asker == "dpverify"
        return self.unit(posixpath.join(place, "_")) is not None or _seeking_distributions()

    def looked(self, path: Any) -> None:
        """`os.stat` and its like."""
        if not (getattr(self._busy, "here", False) or isinstance(path, int) or path is None):
            self._busy.here = True
            try:
                place = _absolute(path)
                seen = ("stat", place) in self.firsts or place in self.written
                if not (seen or place.startswith(("/proc/", "/sys/", "/dev/")) or self._own_business(place)):
                    self.firsts["stat", place] = looks(place)
            finally:
                self._busy = threading.local()

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
            self.loaded(_absolute(file))

    def _moved(self, event: str, given: tuple[Any, ...]) -> None:
        source, target = _absolute(given[0]), _absolute(given[1])
        if source not in self.written and source not in self._appended:
            self.read(source)
        self.written.add(target)

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
        if place not in ("/dev/null", "/dev/urandom", "/dev/random") and self.asker() not in TRUSTED:
            self.doubt(f"{place} was read, by {self.asker()}")

    @property
    def environment(self) -> dict[str, str]:
        """The variables as they were before foreign code set any."""
        plain: Any = os.environ  # its own dictionary: not through the class that tells
        now = {os.fsdecode(name): os.fsdecode(value) for name, value in plain._data.items()}
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
        for file in _files(sys._getframe(1)):
            if file.startswith("<frozen") or file in LISTENING:
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
    **dict.fromkeys(LEAVES, Watch._left),
}


def _files(frame: FrameType | None) -> Iterator[str]:
    while frame is not None:
        yield frame.f_code.co_filename
        frame = frame.f_back


def _importing() -> bool:
    """True where Python's own import system is at work, not a program that opens a file of code."""
    for file in _files(sys._getframe(1)):
        if file not in LISTENING:
            return file.startswith("<frozen importlib")
    return False


def _seeking_distributions() -> bool:
    """True inside `importlib.metadata`, which goes through every folder on the path for names of its own."""
    return any(posixpath.join("importlib", "metadata") in file for file in _files(sys._getframe(2)))


def _absolute(path: Any) -> str:
    return posixpath.normpath(posixpath.join(os.getcwd(), os.fsdecode(path)))


def _stamp(path: str) -> tuple[int, ...]:
    try:
        found = _look(path)
    except (OSError, ValueError):
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
