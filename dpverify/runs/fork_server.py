"""The fork server: a process that has imported dpverify and its libraries and forks children from there.

A forked child starts in milliseconds; a new interpreter would need seconds for the same imports. Foreign code
is loaded in children only, so that one child cannot see what another did. The server keeps no state, and ends -
with all children - when the process that started it goes away, however that happens: see `forking`.
"""

import atexit
import contextlib
import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from dpverify.base import search_path
from dpverify.base.errors import RunError, UsageError
from dpverify.runs import fingerprint, provenance
from dpverify.runs.facts import FAMILIES
from dpverify.runs.forking import Forks, Server
from dpverify.runs.pools import ONE_THREAD

IGNORED = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)  # by the fork server, not by its children
SET_BY_LIBRARIES = {**ONE_THREAD, "KMP_INIT_AT_FORK": "FALSE"}  # by joblib, once it is imported: the same before it is
READ_BY_LIBRARIES = tuple(each for each in FAMILIES if each != "PYTHON")  # children get their module path anew


class ForkServer(Forks):
    """The parent's side: starts the fork server, and ends it."""

    def __init__(self, preload: Sequence[str] = ()) -> None:
        if not hasattr(os, "fork"):
            raise UsageError("audits are watched in forked processes, which this system does not have (Linux, macOS)")
        self.born = time.time_ns()  # everything that it loads is loaded after this
        ours, theirs = socket.socketpair()
        path = search_path.here_later([os.path.abspath(each) for each in sys.path])
        begin = (
            f"import sys; sys.path[:] = {json.dumps(path)}; "
            f"from dpverify.runs.fork_server import main; main({theirs.fileno()}, {list(preload)!r})"
        )
        super().__init__(ours)
        self.owner = os.getpid()
        self._process = subprocess.Popen(
            [sys.executable, *_interpreter_flags(), "-c", begin],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            env={**SET_BY_LIBRARIES, **os.environ},
            start_new_session=True,  # an interruption is the parent's to handle
        )
        theirs.close()

    def fork(self, requests: int, answers: int, output: int, status: int) -> None:
        try:
            super().fork(requests, answers, output, status)
        except RunError:
            self.close()
            raise

    def close(self) -> None:
        """Ends the fork server and all of its children."""
        with self._lock:
            self._socket.close()
        if self.owner == os.getpid():
            try:
                self._process.wait(timeout=10)
            except BaseException as error:  # too late, or interrupted once more: it must not be left behind
                self._process.kill()
                self._process.wait()
                if not isinstance(error, subprocess.TimeoutExpired):
                    raise

    @property
    def alive(self) -> bool:
        """True while it can be asked."""
        return self.owner == os.getpid() and self._socket.fileno() >= 0 and self._process.poll() is None


_servers: dict[tuple[Any, ...], ForkServer] = {}  # by what they have loaded, and under which variables
_starting = threading.Lock()


def fork_server(preload: Sequence[str] = ()) -> ForkServer:
    """The fork server of this process with these modules, started at the first call and again should it be gone.

    `preload` are modules that every child will need; one that is not installed is left out. Never foreign code. What
    children have loaded depends on them and on variables that libraries read, so that others mean another server.
    """
    environment = {**SET_BY_LIBRARIES, **os.environ}
    variables = tuple(sorted(item for item in environment.items() if item[0].startswith(READ_BY_LIBRARIES)))
    key = (*preload, variables)
    with _starting:
        if key not in _servers or not _servers[key].alive:
            _servers[key] = ForkServer(preload)
            atexit.register(_servers[key].close)
        return _servers[key]


def _interpreter_flags() -> list[str]:
    """-O, -X, -I and the like, as this interpreter was started with; without -W: warnings are for people."""
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return [flag for flag in flags if not flag.startswith("-W")]


def main(control: int, preload: Sequence[str]) -> NoReturn:
    """The fork server's own process."""
    for name in IGNORED:
        signal.signal(name, signal.SIG_IGN)
    import_module("dpverify.runs.child")
    provenance.start()  # before anything that a result may depend on is loaded
    if sys.platform != "darwin":  # its system libraries do not survive a fork
        for module in preload:
            if _hung_up(control):
                os._exit(0)
            with contextlib.suppress(ImportError):
                import_module(module)
    provenance.prepare()
    fingerprint.prepare()
    Server(socket.socket(fileno=control), _serve).run()


def _serve(requests: int, answers: int) -> NoReturn:
    """A child: signals as in a new process, and random states that it shares with no other."""
    from dpverify.runs import child

    for name in IGNORED:
        signal.signal(name, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    random.seed()
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed()
    child.serve(requests, answers)


def _hung_up(control: int) -> bool:
    """True where the parent is gone."""
    poll = select.poll()
    poll.register(control, 0)  # no more than its end
    return bool(poll.poll(0))
