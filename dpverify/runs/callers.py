"""Who is behind what was just heard, by the files of the frames above."""

import posixpath
import sys
from collections.abc import Iterator
from types import FrameType

LISTENING: set[str] = set()  # files whose frames ask for nobody


def files() -> Iterator[str]:
    """Files of code, innermost first, without those that only listen."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename not in LISTENING:
            yield frame.f_code.co_filename
        frame = frame.f_back


def importing() -> bool:
    """True where Python's own import system is at work, not a program that opens a file of code."""
    return next(files(), "").startswith("<frozen importlib")


def under_import() -> bool:
    """True where an import is under way further out."""
    return any(file.startswith("<frozen importlib") for file in files())


def naming() -> bool:
    """True inside `tempfile`, which goes on with another name where one is taken."""
    return posixpath.basename(next(files(), "")) == "tempfile.py"


def seeking_distributions() -> bool:
    """True inside `importlib.metadata`, which goes through every folder on the path for names of its own."""
    return any(posixpath.join("importlib", "metadata") in file for file in files())


LISTENING.add(__file__)
