"""Signals while the command line is still loading: one line on stderr, and no old report that looks like a new one.

Installed before anything heavy is imported, and over as soon as a run heeds signals by itself. Imports nothing that
takes time. What comes before Python has started, and SIGKILL, cannot be handled.
"""

import os
import signal
import sys
from types import FrameType

HEEDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
REPORTS = ("--json", "--html", "--markdown", "--junit", "--sarif")
CODE = (".py", ".pyi", ".pyx", ".pyc", ".so")
_armed = [False]


def arm() -> None:
    """From now on these signals end the process in order; again is no change. Ignored ones (nohup) stay ignored."""
    if not _armed[0]:
        _armed[0] = True
        for number in HEEDED:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, _heard)


def over() -> None:
    """Somebody else heeds signals: should these handlers come back, they do what Python does by itself."""
    _armed[0] = False


def _heard(number: int, frame: FrameType | None) -> None:
    name = signal.Signals(number).name
    if not _armed[0]:
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        return
    for each in HEEDED:
        signal.signal(each, signal.SIG_IGN)
    gone = [file for file in reports(sys.argv[1:]) if _removed(file)]
    about = f"; old reports were removed: {', '.join(map(ascii, gone))}" if gone else ""
    try:
        os.write(2, f"dpverify: interrupted by {name} before anything was run{about}\n".encode())
    except OSError:
        pass
    os._exit(128 + number)


def reports(arguments: list[str]) -> list[str]:
    """Files that a command line would replace; none that it also reads, and no code."""
    found, others = [], []
    waiting = False
    for word in arguments:
        option, equals, value = word.partition("=")
        if waiting:
            found.append(word)
        elif option in REPORTS and equals:
            found.append(value)
        elif not word.startswith("-"):
            others.append(os.path.realpath(word))
        waiting = not waiting and word in REPORTS
    return [file for file in found if os.path.realpath(file) not in others]


def _removed(file: str) -> bool:
    place = os.path.realpath(file)
    try:
        if os.path.isfile(place) and not place.endswith(CODE) and not file.endswith(CODE):
            os.unlink(place)
            return True
    except (OSError, ValueError):
        pass
    return False
