"""One call in a process of its own, with limits: the only way in which dpverify runs code that may crash, hang or exit.

    outcome = isolated(Call("module:function", {...}), Limits(timeout=60))

The outcome is an `Answer` - what the function returned, or what it raised - or an `Ended`: the process died, or ran
into a limit. No outcome is a verdict. Processes are those of the standard library's `multiprocessing`: a "module:name"
is started by its fork server, which has imported dpverify and its libraries and never foreign code; an object in
memory is called in a fork of this process. Arguments of the former and all answers are plain values (JSON, in a file):
what a child answers cannot make its parent run anything.

A child is ended with its session. What leaves its session, and outlives it, is not ours to end.
"""

import contextlib
import faulthandler
import gc
import multiprocessing
import os
import random
import re
import shutil
import signal
import stat
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from json import dumps, loads  # as they are now, whatever audited code makes of the module
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, NoReturn

from dpverify.base import require, search_path
from dpverify.base.plain_values import describe_error, is_described
from dpverify.errors import RunError
from dpverify.execution.executors import ONE_THREAD
from dpverify.execution.interruption import Halt

TIMEOUT = 3600.0  # seconds for one call
TRACE = signal.SIGUSR2  # asks a child that hangs where it is
GRACE = 1.0  # seconds in which it may say so
POLL = 0.25  # seconds between two looks at what children say on their way
KEPT = 1 << 16  # bytes of a child's output that are remembered
LAST_LINES = 60
OURS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGPROF, signal.SIGCHLD)

Event = dict[str, Any]
Listener = Callable[[Event], None]


@dataclass(frozen=True)
class Limits:
    """For each call: seconds, and megabytes on top of the libraries (None: what the machine has)."""

    timeout: float = TIMEOUT
    memory: int | None = None

    def __post_init__(self) -> None:
        require.positive(timeout=self.timeout)
        if self.memory is not None:
            require.integer(at_least=1, memory=self.memory)


@dataclass(frozen=True)
class Call:
    """`function` is "module:name" with plain values as arguments, or an object of this process that takes them.

    patient  each event that the function emits starts the clock anew
    """

    function: str | Callable[..., Any]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    patient: bool = False


@dataclass(frozen=True)
class Answer:
    """The function came to its end: `value`, or what it raised as `describe_error` writes it."""

    value: Any = None
    error: dict[str, Any] | None = None
    output: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True)
class Ended:
    """There is no answer. `kind`: exit, signal, timeout, system or interrupted."""

    kind: str
    text: str
    output: tuple[str, ...] = ()  # the last lines that it wrote
    seconds: float = 0.0

    @property
    def place(self) -> tuple[str, int]:
        """Foreign file and line where it was, by the interpreter's last words; ("", 0) where it had none."""
        for line in self.output:
            found = re.match(r'  File "(.+)", line (\d+) in ', line)
            if found and not found[1].startswith(_NOT_FOREIGN):
                return found[1], int(found[2])
        return "", 0


_NOT_FOREIGN = ("<", str(Path(__file__).parents[1]), *(sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib")))

Outcome = Answer | Ended


def isolated(call: Call, limits: Limits, *, halt: Halt | None = None, listener: Listener | None = None) -> Outcome:
    """The outcome of one call; `listener` hears the events that it emits on its way."""
    for _, what in side_by_side([call], limits, jobs=1, halt=halt):
        if not isinstance(what, dict):
            return what
        if listener is not None:
            listener(what)
    raise AssertionError


def side_by_side(
    calls: Sequence[Call], limits: Limits, *, jobs: int, halt: Halt | None = None
) -> Iterator[tuple[int, Event | Outcome]]:
    """(index, an event or the outcome of a call), as they come, `jobs` calls at a time; every call has one outcome.

    Once `halt` is set the outcomes that are missing are Ended("interrupted"). A reader that goes away ends the rest.
    """
    waiting, running = list(enumerate(calls))[::-1], dict[int, _Child]()
    try:
        while waiting or running:
            if halt is not None and halt.is_set():
                for index in [*running, *(index for index, _ in waiting[::-1])]:
                    yield index, Ended("interrupted", "the run was interrupted")
                return
            while waiting and len(running) < jobs:
                index, call = waiting.pop()
                try:
                    running[index] = _Child(call, limits)
                except (OSError, EOFError) as error:
                    yield index, Ended("system", f"no process could be started ({type(error).__name__}: {error})")
            sentinels = [child.process.sentinel for child in running.values()]
            until = min((child.deadline for child in running.values()), default=0.0) - time.monotonic()
            wait([*sentinels, *([] if halt is None else [halt.pipe])], max(0.0, min(POLL, until)))
            for index, child in list(running.items()):
                yield from ((index, event) for event in child.events())
                outcome = child.outcome()
                if outcome is not None:
                    del running[index]
                    child.close()
                    yield index, outcome
    finally:
        for child in running.values():
            child.close()


def emit(event: Event) -> None:
    """Tells the parent something before the answer is there; nothing where this is no isolated call."""
    if _here is not None and os.getpid() == _here.owner:
        with open(_here.events, "a", encoding="ascii") as file:
            file.write(dumps(event) + "\n")


def limited(seconds: float) -> None:
    """Ends this process - that of an isolated call - after so many seconds of processor time from now; 0: never."""
    signal.setitimer(signal.ITIMER_PROF, seconds)


_starting = threading.Lock()


def start_server(preload: Sequence[str] = ()) -> None:
    """Starts the fork server of this process, where there is none: it loads while this process goes on.

    `preload` are modules that every child will need; never foreign code. Again is no change.
    """
    from multiprocessing import forkserver

    with _starting:
        context = multiprocessing.get_context("forkserver")
        if preload:
            context.set_forkserver_preload(list(preload))
        before = dict(os.environ)
        # one thread a library: the children are the parallelism; a project's files never hide installed packages
        try:
            os.environ.update({**ONE_THREAD, **before, "PYTHONSAFEPATH": "1"})
            forkserver.ensure_running()
        finally:
            for name in set(os.environ) - set(before):
                del os.environ[name]
            os.environ.update(before)


class _Child:
    """The parent's side: a process, a folder of its own for what it says, and its deadline."""

    def __init__(self, call: Call, limits: Limits) -> None:
        self.limits, self.patient = limits, call.patient
        self.folder = tempfile.mkdtemp(prefix="dpverify-")
        self.heard = 0
        place: dict[str, Any] = {"folder": os.getcwd(), "path": list(sys.path), "memory": limits.memory}
        try:
            if isinstance(call.function, str):
                start_server()
                place["environment"] = dict(os.environ)
                context: Any = multiprocessing.get_context("forkserver")
            else:
                context = multiprocessing.get_context("fork")
            self.own_session = isinstance(call.function, str)
            self.process = context.Process(target=_work, args=(self.folder, call.function, dict(call.arguments), place))
            if multiprocessing.current_process().daemon:
                raise RunError(
                    "a daemonic worker may not start processes: for dask, set distributed.worker.daemon to False"
                )
            _start(self.process)
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        self.started = time.monotonic()
        self.deadline = self.started + limits.timeout

    def events(self) -> Iterator[Event]:
        """What it has said since the last look; unfinished lines wait."""
        lines = self._written("events", self.heard).split(b"\n")[:-1]
        self.heard += sum(len(line) + 1 for line in lines)
        for line in lines:
            if self.patient:
                self.deadline = time.monotonic() + self.limits.timeout
            event = _plain(line)
            if isinstance(event, dict):
                yield event

    def _written(self, name: str, start: int = 0) -> bytes:
        """What is in a file of its folder; nothing where the target has put something else there, such as a pipe."""
        try:
            with open(os.open(Path(self.folder, name), os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    return b""
                file.seek(start)
                return file.read()
        except OSError:
            return b""

    def outcome(self) -> Outcome | None:
        """None while it runs and has time left."""
        code = self.process.exitcode
        late = code is None and time.monotonic() >= self.deadline
        if code is None and not late:
            return None
        found: Outcome = self._answer() or (self._late() if late else _died(code or 0))
        return replace(found, output=self._last_lines(), seconds=time.monotonic() - self.started)

    def _answer(self) -> Answer | None:
        message = _plain(self._written("answer"))
        if not isinstance(message, dict) or not ({"value", "error"} & set(message)):
            return None
        error = message.get("error")
        return Answer(message.get("value"), error) if error is None or is_described(error) else None

    def _late(self) -> Ended:
        """Asks where it is, and gives it a moment to say so: the interpreter's words are part of its output."""
        until = time.monotonic() + GRACE
        with contextlib.suppress(OSError):
            os.kill(self.process.pid, TRACE)
        while time.monotonic() < until and self.process.exitcode is None:
            if any(line.startswith('  File "') for line in self._last_lines()):
                break
            time.sleep(0.02)
        return Ended("timeout", f"no answer within {self.limits.timeout:g} seconds (--timeout)")

    def _last_lines(self) -> tuple[str, ...]:
        try:
            size = os.stat(Path(self.folder, "output")).st_size
        except OSError:
            return ()
        lines = self._written("output", max(0, size - KEPT))[-KEPT:].decode("utf-8", "replace").splitlines()
        shown = [line[:500] for line in lines if line.strip() and not line.startswith("Extension modules: ")]
        return tuple(shown[-LAST_LINES:])

    def close(self) -> None:
        """Ends it, and what it has started in its session."""
        with contextlib.suppress(OSError):
            if self.own_session:
                os.killpg(self.process.pid, signal.SIGKILL)
        with contextlib.suppress(OSError, EOFError, ValueError):
            self.process.kill()
            self.process.join(10 * GRACE)
            self.process.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def _start(process: Any) -> Any:
    """Starts it; standard streams that are not text files of ours cannot be flushed before a fork, and need not."""
    import warnings

    until = time.monotonic() + GRACE
    while True:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # threads of libraries: a hang ends
                return process.start()
        except (ConnectionError, EOFError):  # the fork server was killed, and that is not yet known
            if time.monotonic() >= until:
                raise
            time.sleep(0.02)
            start_server()


def _plain(text: bytes) -> Any:
    """The value that is written there; None where it is none: the target may have written it."""
    try:
        return loads(text)
    except (ValueError, RecursionError):
        return None


def _died(code: int) -> Ended:
    if code >= 0:
        return Ended("exit", f"it ended with exit code {code} and gave no answer")
    if code == -signal.SIGPROF:
        return Ended("timeout", "its share of processor time is spent")
    return Ended("signal", killed_by(-code))


def killed_by(number: int) -> str:
    """The end of a process by this signal, in words."""
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    return f"killed by {name}" + (" (often: out of memory)" if name == "SIGKILL" else "")


# ---------------------------------------------------------------------------------------------------- the child's side


@dataclass(frozen=True)
class _Here:
    owner: int
    events: Path


_here: _Here | None = None


def _work(folder: str, function: Any, arguments: dict[str, Any], place: dict[str, Any]) -> NoReturn:
    """The whole life of a child; it ends without any of Python's farewells."""
    global _here
    owner = os.getpid()
    try:
        _settle(Path(folder), place, own_session=isinstance(function, str))
        _here = _Here(owner, Path(folder, "events"))
        try:
            if isinstance(function, str):
                module, _, name = function.partition(":")
                function = getattr(import_module(module), name)
            message: dict[str, Any] = {"value": function(**arguments)}
        except BaseException as error:  # SystemExit and what else foreign code may raise: never this process's end
            message = {"error": describe_error(error)}
        if os.getpid() != owner:  # a copy that the target forked and forgot: it must not speak for the child
            os._exit(1)
        limited(0)
        try:
            text = dumps(message)
        except (TypeError, ValueError) as error:  # not plain values
            text = dumps({"error": describe_error(error)})
        half = Path(folder, f"answer.{owner}")
        half.write_text(text, encoding="ascii")
        half.replace(Path(folder, "answer"))
        with contextlib.suppress(Exception):  # closed by the target
            sys.stdout.flush()
            sys.stderr.flush()
    finally:
        os._exit(0 if os.getpid() == owner else 1)


def _settle(folder: Path, place: dict[str, Any], *, own_session: bool) -> None:
    """Signals as in a new process, output into a file, the parent's folder, path and environment, and the limit."""
    with contextlib.suppress(ValueError, OSError):
        signal.set_wakeup_fd(-1)
    for each in OURS:
        signal.signal(each, signal.default_int_handler if each == signal.SIGINT and own_session else signal.SIG_DFL)
    _end_with_parent()
    nothing = os.open(os.devnull, os.O_RDONLY)
    output = os.open(folder / "output", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number, source in ((0, nothing), (1, output), (2, output)):
        os.dup2(source, number)
    told = os.dup(output)  # the target may close 2
    faulthandler.enable(file=told, all_threads=True)
    faulthandler.register(TRACE, file=told, all_threads=True)
    if not own_session:
        gc.freeze()  # what is the parent's stays: no need to look through it, and so to copy it
        return
    os.setsid()
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, encoding="utf-8", errors="backslashreplace", closefd=False)
        for number, mode in ((0, "r"), (1, "w"), (2, "w"))
    )
    os.chdir(place["folder"])
    sys.path[:] = search_path.here_later(place["path"])
    for name in set(os.environ) - set(place["environment"]):
        del os.environ[name]
    os.environ.update(place["environment"])
    random.seed()
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed()
    if place["memory"] is not None:
        import resource

        used = 0
        with contextlib.suppress(OSError, ValueError):
            used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
        limit = used + place["memory"] * 2**20  # the libraries' own address space comes on top
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _end_with_parent() -> None:
    """On Linux the kernel ends a child whose parent is gone, however that happened: PR_SET_PDEATHSIG.

    That parent may be the fork server, which ends as soon as nobody holds its pipe, of which it gives all children one
    end: they could ask it for processes. Ours do not.
    """
    if sys.platform == "linux":
        import ctypes
        from multiprocessing import forkserver

        with contextlib.suppress(OSError, AttributeError, TypeError):
            os.close(forkserver._forkserver._forkserver_alive_fd)  # type: ignore[attr-defined]
            forkserver._forkserver._forkserver_alive_fd = None  # type: ignore[attr-defined]
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)
