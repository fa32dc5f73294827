"""What a process has looked at so far, and who asked: the state that `files`, `variables` and `watch` write down."""

import posixpath
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dpverify.runs import callers
from dpverify.runs.callers import seeking_distributions
from dpverify.runs.facts import installed_roots, standard_roots
from dpverify.runs.places import identity

# packages whose own looks at installed files, processors and threads change no release
TRUSTED = {
    "dpverify", "numpy", "scipy", "sklearn", "joblib", "threadpoolctl", "statsmodels", "pandas", "matplotlib",
    "cvxpy", "dp_accounting", "rich", "typer", "jinja2", "psutil", "narwhals",
}  # fmt: skip
HERE = posixpath.dirname(posixpath.dirname(posixpath.abspath(__file__)))
callers.LISTENING.add(__file__)


class Seen:
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

    @contextmanager
    def aside(self) -> Iterator[None]:
        """What this thread does inside is ours, and not written down."""
        before, self._busy.here = getattr(self._busy, "here", False), True
        try:
            yield
        finally:
            self._busy.here = before

    def is_own(self, place: str) -> bool:
        """True where this process has made what is there: then it says nothing that was not known."""
        if place in self.ours or not self.written:
            return place in self.ours
        found = identity(place)
        if found is None and place != "/":  # nothing there: neither is there anything in a folder of its own
            return self.is_own(posixpath.dirname(place))
        return place in self.written and self.written[place] == found

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
