"""What raises no audit event, or one that does not say how it ended: wrapped, once and for good (`watch`)."""

import builtins
import functools
import io
import os
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import PathFinder
from typing import Any, TYPE_CHECKING

if TYPE_CHECKING:
    from dpverify.runs.watch import Watch


def tell(watch: "Watch") -> None:
    """From now on the watch hears of variables, looks at files, files made, processes and searches for modules."""
    _environment(watch)
    _looks(watch)
    _makers(watch)
    _shared(watch)
    _forks(watch)
    _finders(watch)


def _environment(watch: "Watch") -> None:
    """The dictionary behind `os.environ`, `os.environb` and `posix.environ` gets a class that tells what is asked."""

    class Told(dict):  # type: ignore[type-arg]
        def __reduce_ex__(self, protocol: Any) -> Any:  # a copy is no environment
            return dict, (dict(dict.items(self)),)

    def one(name: str, *, sets: bool) -> Any:
        plain = getattr(dict, name)

        @functools.wraps(plain)
        def method(self: Any, variable: Any, *rest: Any) -> Any:
            if name != "__setitem__":
                watch.variable(variable)
            if sets:
                watch.set(variable)
            return plain(self, variable, *rest)

        return method

    def every(name: str) -> Any:
        plain = getattr(dict, name)

        @functools.wraps(plain)
        def method(self: Any, *rest: Any) -> Any:
            watch.all_variables()
            return plain(self, *rest)

        return method

    def many(name: str) -> Any:
        plain = getattr(dict, name)

        @functools.wraps(plain)
        def method(self: Any, *rest: Any, **named: Any) -> Any:
            watch.all_variables()
            given = (dict(*rest, **named),) if rest or named else ()
            for variable in (*dict.keys(self), *(given[0] if given else ())):
                watch.set(variable)
            return plain(self, *given)

        return method

    for name in ("__getitem__", "__contains__", "get", "__setitem__", "__delitem__", "pop", "setdefault"):
        setattr(Told, name, one(name, sets=name in ("__setitem__", "__delitem__", "pop", "setdefault")))
    for name in ("__iter__", "__len__", "__reversed__", "__repr__", "__eq__", "__or__", "__ror__", "keys", "values"):
        setattr(Told, name, every(name))
    for name in ("items", "copy"):
        setattr(Told, name, every(name))
    for name in ("clear", "popitem", "update", "__ior__"):
        setattr(Told, name, many(name))
    variables: Any = os.environ
    plain = variables._data
    told = Told(plain)
    variables._data = told
    in_bytes: Any = getattr(os, "environb", None)
    if in_bytes is not None:
        in_bytes._data = told
    below = import_module(os.name)
    if getattr(below, "environ", None) is plain:
        below.environ = told  # type: ignore[attr-defined]


def _replaced(name: str, wrapper: Callable[..., Any]) -> None:
    """`os.name`, and what the module knows of it, becomes the wrapper of it."""
    plain = getattr(os, name)
    seeing = functools.wraps(plain)(wrapper)
    for group in (os.supports_dir_fd, os.supports_follow_symlinks, os.supports_fd, os.supports_effective_ids):
        if plain in group:
            group.add(seeing)
    setattr(os, name, seeing)


def _looks(watch: "Watch") -> None:
    """These raise no audit events."""

    def wrapped(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
        def look(path: Any, *rest: Any, **named: Any) -> Any:
            itself = name in ("lstat", "readlink") or not named.get("follow_symlinks", True)
            watch.looked(path, named.get("dir_fd"), itself=itself)
            return plain(path, *rest, **named)

        return look

    for name in ("stat", "lstat", "access", "readlink"):
        _replaced(name, wrapped(name, getattr(os, name)))


def _makers(watch: "Watch") -> None:
    """Events come before the attempt: only what returns has made something."""
    plain, plain_open, make = builtins.open, os.open, os.mkdir

    @functools.wraps(plain)
    def opened(file: Any, mode: Any = "r", *rest: Any, **named: Any) -> Any:
        made = plain(file, mode, *rest, **named)
        if not {"w", "x"}.isdisjoint(mode) and not isinstance(file, int):
            if len(rest) < 6 and named.get("opener") is None:
                watch.made(file, made.fileno())
        return made

    def os_open(path: Any, flags: int, *rest: Any, **named: Any) -> Any:
        folder = named.get("dir_fd")
        if folder is None:
            made = plain_open(path, flags, *rest, **named)
        else:  # of which the event says nothing
            made = watch.opening(path, flags, folder, lambda: plain_open(path, flags, *rest, **named))
        temporary = getattr(os, "O_TMPFILE", 0)
        creates = flags & os.O_TRUNC or (flags & os.O_CREAT and flags & os.O_EXCL)
        if creates and flags & (os.O_WRONLY | os.O_RDWR) and not (temporary and flags & temporary == temporary):
            watch.made(path, made, folder)
        return made

    def mkdir(path: Any, *rest: Any, **named: Any) -> None:
        make(path, *rest, **named)
        watch.made(path, folder=named.get("dir_fd"))

    def moves(plain_move: Callable[..., Any]) -> Callable[..., Any]:
        def move(src: Any, dst: Any, **named: Any) -> None:
            folders = named.get("src_dir_fd"), named.get("dst_dir_fd")
            watch.moving((src, dst), folders, lambda: plain_move(src, dst, **named))

        return move

    for module in (builtins, io, import_module("_io")):
        module.open = opened  # type: ignore[attr-defined]
    _replaced("open", os_open)
    _replaced("mkdir", mkdir)
    for name in ("rename", "replace"):
        _replaced(name, moves(getattr(os, name)))


def _shared(watch: "Watch") -> None:
    """Memory that other processes write is opened without an event."""
    try:
        below: Any = import_module("_posixshmem")
    except ImportError:
        return
    plain = below.shm_open

    @functools.wraps(plain)
    def shm_open(*given: Any, **named: Any) -> Any:
        watch.doubt(f"shared memory was opened, by {watch.asker()}")
        return plain(*given, **named)

    below.shm_open = shm_open


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
