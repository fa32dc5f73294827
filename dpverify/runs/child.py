"""Inside a watched child: it does what its parent asks for, answers, and ends.

A request names a function, `module:name`, and its arguments as plain values; so is the answer. Whatever the
function raises is an answer too. One process, one task: what a task does to its process - patched modules, random
states, closed files, threads that go on - ends with it. A child that was asked to be a template stays as its
function left it, and forks on request (`forking`), so that many tasks start from equal processes.
"""

import contextlib
import faulthandler
import os
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from dpverify.base import search_path
from dpverify.base.errors import DpverifyError, LostWorker, UsageError
from dpverify.runs import fingerprint, frames, provenance
from dpverify.runs.forking import own_children, Server

TRACE = signal.SIGUSR2  # asks a child that hangs where it is
CLOSED = 77  # exit code of a child whose pipes were closed from inside
LONGEST = 4000  # characters of a message or a traceback that are handed on

_answers = -1
_owner = 0
_stderr = -1  # of this child, whatever its task does to 2


def emit(event: dict[str, Any]) -> None:
    """Tells the parent something before the answer is there; nothing where nobody watches."""
    if _answers >= 0:
        _tell({"event": event})


def serve(requests: int, answers: int) -> NoReturn:
    """Answers one request, and ends without any of Python's farewells; or forks on request from then on."""
    _begin(answers)
    with contextlib.suppress(frames.BrokenFrame, OSError):
        for request in frames.receive(requests):
            template = bool(request.get("template"))
            before = _shared() if template else set()
            answer = _perform(request)
            with contextlib.suppress(Exception):  # closed by the target
                sys.stdout.flush()
                sys.stderr.flush()
            copies = template and "error" not in answer and not _shared() - before
            try:
                _tell({**answer, "copies": copies})
            except (TypeError, ValueError) as error:  # not plain values
                _tell({"error": described(error)})
                copies = False
            if copies:
                os.close(answers)
                provenance.prepare()
                fingerprint.prepare()
                Server(socket.socket(fileno=requests), serve).run()
            break
    os._exit(0)


def _begin(answers: int) -> None:
    global _answers, _owner, _stderr
    _answers, _owner = answers, os.getpid()
    faulthandler.enable(file=2, all_threads=True)
    faulthandler.register(TRACE, file=2, all_threads=True)
    if _stderr >= 0:  # the template's
        os.close(_stderr)
    _stderr = os.dup(2)  # the target may close 2
    faulthandler.enable(file=_stderr, all_threads=True)
    faulthandler.register(TRACE, file=_stderr, all_threads=True)
    provenance.start()


def _tell(message: dict[str, Any]) -> None:
    if os.getpid() != _owner:  # a copy that the target forked and forgot: it must not speak for the child
        os._exit(CLOSED)
    try:
        frames.send(_answers, message)
    except OSError:
        os._exit(CLOSED)


def _perform(request: dict[str, Any]) -> dict[str, Any]:
    try:
        _settle(request.get("place", {}))
        module, _, name = request["call"].partition(":")
        function: Callable[..., Any] = getattr(import_module(module), name)
        value = function(**request["arguments"])
        return {"answer": value, "provenance": provenance.found() if request.get("provenance") else None}
    except BaseException as error:  # SystemExit and what else foreign code may raise: never this process's end
        return {"error": described(error)}


def _settle(place: dict[str, Any]) -> None:
    """The parent's folder, module path and environment, which may be newer than the fork server."""
    if place:
        os.chdir(place["folder"])
        sys.path[:] = search_path.here_later(place["path"])
        provenance.moved(place["environment"])
        for name in set(os.environ) - set(place["environment"]):
            del os.environ[name]
        os.environ.update(place["environment"])
        _limit_memory(place["memory"])


def _limit_memory(megabytes: int | None) -> None:
    if megabytes is not None:
        import resource

        used = 0
        with contextlib.suppress(OSError, ValueError):
            used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
        limit = used + megabytes * 2**20  # the libraries' own address space comes on top
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def described(error: BaseException) -> dict[str, Any]:
    """An exception as plain values: kind, one line, traceback, and the place in foreign code that it came from.

    The place is ("", 0) where it came from none.
    """
    frames_ = traceback.extract_tb(error.__traceback__)
    foreign = [frame for frame in frames_ if not _is_ours(frame.filename)]
    return {
        "kind": "memory" if _has(error, MemoryError) else "cluster" if _has(error, LostWorker) else "error",
        "expected": isinstance(error, DpverifyError),
        "usage": isinstance(error, UsageError),
        "type": type(error).__name__,
        "text": _text(error),
        "traceback": _told(error),
        "file": foreign[-1].filename if foreign else "",
        "line": (foreign[-1].lineno or 0) if foreign else 0,
    }


def _told(error: BaseException) -> str:
    """The traceback of foreign code, causes included, without our files around it; all of it for a bug of ours."""
    shown = traceback.TracebackException.from_exception(error)
    pending: list[traceback.TracebackException | None] = [shown]
    foreign = False
    while pending:
        each = pending.pop()
        if each is not None:
            frames_ = [frame for frame in each.stack if not _is_ours(frame.filename)]
            foreign |= bool(frames_)
            each.stack = traceback.StackSummary.from_list(frames_)
            if not frames_:
                each.stack = None  # type: ignore[assignment]  # a header without lines is none
            pending += [each.__cause__, each.__context__, *(each.exceptions or ())]
    return "".join(shown.format() if foreign else traceback.format_exception(error))[-LONGEST:]


def _text(error: BaseException) -> str:
    try:
        return str(error)[:LONGEST]
    except Exception:  # foreign exceptions may fail to say what they are
        return ""


def _has(error: BaseException | None, kind: type[BaseException]) -> bool:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, kind):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def _is_ours(file: str) -> bool:
    return Path(file).is_relative_to(Path(__file__).parents[1])


def _shared() -> set[str]:
    """What a copy of this process would not have, or would not have to itself: threads, timers, open files, memory.

    Where the system does not say what is open and mapped, only what Python knows of.
    """
    found = {f"thread {each}" for each in _tasks()}
    found |= {f"process {each}" for each in own_children()}
    for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
        if signal.getitimer(timer)[0]:
            found.add(f"timer {timer}")
    with contextlib.suppress(OSError):
        for each in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):  # the listing's own
                found.add(f"file {each} {os.readlink(f'/proc/self/fd/{each}')}")
        for line in Path("/proc/self/maps").read_bytes().splitlines():
            if line.split(None, 2)[1].endswith(b"s"):
                found.add(f"memory {line!r}")
    return found


def _tasks() -> list[str]:
    """All threads, also those that compiled code has started."""
    try:
        return os.listdir("/proc/self/task")
    except OSError:
        return [str(each.ident) for each in threading.enumerate()]
