"""What raises no audit event: wrapped, once and for good, so that a watch hears of it (`watch`)."""

import os
import sys
from collections.abc import Callable
from importlib.machinery import PathFinder
from typing import Any, TYPE_CHECKING

if TYPE_CHECKING:
    from dpverify.runs.watch import Watch


def tell(watch: "Watch") -> None:
    """From now on the watch hears of variables, looks at files, processes and searches for modules."""
    _environment(watch)
    _looks(watch)
    _forks(watch)
    _finders(watch)


def _environment(watch: "Watch") -> None:
    """`os.environ` stays the same object and gets a class that tells what is asked of it."""
    plain = type(os.environ)

    class Watched(plain):  # type: ignore[misc, valid-type]
        def __getitem__(self, name: Any) -> Any:
            watch.variable(name)
            return super().__getitem__(name)

        def __iter__(self) -> Any:
            watch.all_variables()
            return super().__iter__()

        def __len__(self) -> int:
            watch.all_variables()
            return int(super().__len__())

        def __setitem__(self, name: Any, value: Any) -> None:
            watch.set(name)
            super().__setitem__(name, value)

        def __delitem__(self, name: Any) -> None:
            watch.set(name)
            super().__delitem__(name)

    for each in (os.environ, getattr(os, "environb", None)):
        if each is not None:
            each.__class__ = Watched


def _looks(watch: "Watch") -> None:
    """These raise no audit events."""

    def wrapped(plain: Callable[..., Any]) -> Callable[..., Any]:
        def look(path: Any, *rest: Any, **named: Any) -> Any:
            watch.looked(path)
            return plain(path, *rest, **named)

        look.__name__, look.__doc__ = plain.__name__, plain.__doc__
        return look

    for name in ("stat", "lstat", "access", "readlink"):
        plain = getattr(os, name)
        seeing = wrapped(plain)
        for group in (os.supports_dir_fd, os.supports_follow_symlinks, os.supports_fd, os.supports_effective_ids):
            if plain in group:
                group.add(seeing)
        setattr(os, name, seeing)


def _forks(watch: "Watch") -> None:
    """`multiprocessing` and loky start processes by a function that raises no audit event."""
    try:
        import _posixsubprocess
    except ImportError:
        return
    plain = _posixsubprocess.fork_exec

    def fork_exec(*given: Any) -> Any:
        if not sys._getframe(1).f_code.co_filename.endswith("subprocess.py"):  # which has an event of its own
            watch.doubt(f"a process was started, by {watch.asker()}")
        return plain(*given)

    _posixsubprocess.fork_exec = fork_exec


def _finders(watch: "Watch") -> None:
    """`importlib.util.find_spec` and its like raise no audit event."""
    plain = PathFinder.find_spec

    def find_spec(cls: type, fullname: str, path: Any = None, target: Any = None) -> Any:
        watch.sought(fullname, path)
        return plain(fullname, path, target)

    PathFinder.find_spec = classmethod(find_spec)  # type: ignore[assignment, method-assign]
