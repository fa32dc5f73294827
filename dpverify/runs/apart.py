"""One call in a process of its own that is forked from this one: what it does to its process is lost with it.

For work that may crash, hang or change global state, and whose failure is no failure of the work here. The answer is a
plain value. What the call looked at belongs to this process's provenance, as if it had been made here.
"""

import contextlib
import faulthandler
import gc
import os
import signal
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from dpverify.runs import frames, provenance
from dpverify.runs.child import described
from dpverify.runs.task import killed_by


@dataclass(frozen=True)
class Lost:
    """There is no answer: `kind` is crash, timeout, error or system; `text` says why in one line."""

    kind: str
    text: str


def limited(seconds: float) -> None:
    """Ends this process - one of `apart` - after so many seconds of processor time from now."""
    signal.setitimer(signal.ITIMER_PROF, seconds)


def apart(call: Callable[[], Any], *, wall: float) -> Any:
    """What `call` returns, as JSON gives it back, or `Lost`; after at most `wall` seconds. `call` may be `limited`."""
    if not hasattr(os, "fork"):
        return Lost("system", "this system cannot fork a process")
    before = provenance.told()
    reader, writer = os.pipe()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # threads of libraries: what hangs for them is ended
            pid = os.fork()
    except OSError as error:
        os.close(reader)
        os.close(writer)
        return Lost("system", f"no process could be started ({error.strerror})")
    if pid == 0:
        _work(call, writer, before)
    os.close(writer)
    return _heard(pid, reader, wall)


def _work(call: Callable[[], Any], writer: int, before: provenance.Told) -> NoReturn:
    gc.freeze()  # what is the parent's stays: no need to look through it, and so to copy it
    try:
        _alone(writer)
        try:
            message = {"value": call()}
        except BaseException as error:  # whatever foreign code raises
            found = described(error)
            message = {"error": f"{found['type']}: {found['text']}"}
        limited(0)
        seen = provenance.told(before)
        try:
            frames.send(writer, {**message, "seen": seen})
        except (TypeError, ValueError) as error:
            frames.send(writer, {"error": f"its answer is no plain value ({error})", "seen": seen})
    finally:
        os._exit(0)  # none of the parent's farewells


def _alone(writer: int) -> None:
    """No word to anybody but the parent, and death by every signal that asks for it."""
    with contextlib.suppress(ValueError, OSError):
        signal.set_wakeup_fd(-1)
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGPROF, signal.SIGCHLD):
        with contextlib.suppress(ValueError, OSError):  # ValueError: not the main thread
            signal.signal(name, signal.SIG_DFL)
    faulthandler.disable()  # how it dies is told by whoever waits for it
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        if standard != writer:
            os.dup2(nothing, standard)


def _heard(pid: int, reader: int, wall: float) -> Any:
    deadline = time.monotonic() + wall
    unpacker, message, broken = frames.Unpacker(), None, ""
    try:
        while message is None and frames.readable([reader], deadline - time.monotonic()):
            piece = os.read(reader, 1 << 16)
            if not piece:
                break
            message = next(iter(unpacker.feed(piece)), None)
    except frames.BrokenFrame as error:
        broken = str(error)
    finally:
        late = message is None and time.monotonic() >= deadline
        os.close(reader)
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL if message is None else 0)
        code = _reaped(pid)
    if message is not None:
        return _answer(message)
    if broken:
        return Lost("crash", f"its answer is broken ({broken})")
    if late:
        return Lost("timeout", f"no answer within {wall:g} s")
    if code == -signal.SIGPROF:
        return Lost("timeout", "its share of processor time is spent")
    if code < 0:
        return Lost("crash", f"its process was {killed_by(-code)}")
    return Lost("crash", f"its process ended with exit code {code} and gave no answer")


def _answer(message: Any) -> Any:
    try:
        provenance.heard(message["seen"])
        return Lost("error", str(message["error"])) if "error" in message else message["value"]
    except (KeyError, TypeError, ValueError) as error:
        return Lost("crash", f"its answer cannot be read ({type(error).__name__})")


def _reaped(pid: int) -> int:
    try:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except OSError:  # somebody else waits for all children of this process
        return 0
