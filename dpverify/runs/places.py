"""Which file a name means, seen from this process: folders given as descriptors, links, and what was behind it."""

import os
import posixpath
from typing import Any

VOLATILE = ("/proc/", "/sys/", "/dev/")  # what is there is made as it is looked at
ORDINARY = ("/dev/shm/",)  # ... but not here
_look, _target = os.stat, os.readlink  # before anybody wraps them


def absolute(path: Any, folder: Any = None) -> str:
    """The path from the root on; `folder` is a descriptor, None or -1 for the current one. `path` may be one, too.

    `..` after a link leaves the folder that the link points to: no name says that for good, so that is an OSError.
    """
    if isinstance(path, int):
        return _of(path)
    name = os.fsdecode(path)
    if not name.startswith("/"):
        name = posixpath.join(os.getcwd() if folder in (None, -1) else _of(folder), name)
    plain = posixpath.normpath(name)
    if ".." in name.split("/") and os.path.realpath(name) != os.path.realpath(plain):
        raise OSError(f"{name} leads through a link and back")
    return plain


def is_volatile(place: str) -> bool:
    """True for what is no file on any disk."""
    return place.startswith(VOLATILE) and not place.startswith(ORDINARY)


def identity(path: Any) -> tuple[int, int] | None:
    """Which file is there, by device and inode; None for none. `path` may be a descriptor."""
    try:
        found = _look(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def stamp(path: str) -> tuple[int, ...]:
    """What changes with every change of a file; () where there is none."""
    try:
        found = _look(path)
    except (OSError, ValueError):
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _of(descriptor: int) -> str:
    """Where an open file is; OSError where the system does not say."""
    try:
        return _target(f"/proc/self/fd/{descriptor}")
    except FileNotFoundError:
        import fcntl

        if not hasattr(fcntl, "F_GETPATH"):
            raise
        return os.fsdecode(fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0"))
