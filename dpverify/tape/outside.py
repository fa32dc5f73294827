"""What a release asks of the world outside: clocks, the operating system's randomness, identities of objects.

The tape cannot choose their values, so a decision on one of them (`time.time_ns() % 100_000 == 7`) is seen on one side
alone. One run is watched by a profile function, which Python calls at every call.
"""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from dpverify.base.sites import INSTALLED, Site, site_text
from dpverify.tape.returned import PACKAGE

CLOCKS = (
    "time",
    "time_ns",
    "monotonic",
    "monotonic_ns",
    "perf_counter",
    "perf_counter_ns",
    "process_time",
    "process_time_ns",
    "thread_time",
    "thread_time_ns",
    "clock_gettime",
    "now",
    "utcnow",
    "today",
)
OTHERS = ("urandom", "getrandom", "id", "getpid", "open", "read")
FILES = ("/secrets.py", "/uuid.py")


def outside_reads(run: Callable[[], Any]) -> list[str]:
    """Lines of the program that read a clock, a file or randomness of the operating system in one release.

    Parameters
    ----------
    run
        Makes one release on copies, and leaves the generators of this process as they are.

    Returns
    -------
    list of str
        `file:line: name of what is called`, each once.
    """
    found: dict[str, None] = {}

    def note(frame: FrameType | None, name: str) -> None:
        if frame is not None and not frame.f_code.co_filename.startswith((*INSTALLED, PACKAGE, "<frozen")):
            site: Site = (frame.f_code.co_filename, frame.f_lineno)
            found[f"{site_text(site)}: {name} is read, whose values the tape cannot choose"] = None

    def watch(frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call" and getattr(called, "__name__", "") in (*CLOCKS, *OTHERS):
            note(frame, called.__name__)
        elif event == "call" and frame.f_code.co_filename.endswith(FILES):
            note(frame.f_back, frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        run()
    finally:
        sys.setprofile(before)
    return list(found)
