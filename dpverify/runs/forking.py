"""Both ends of a process that forks on request: the fork server, and the template that has loaded an audit file.

    parent   Forks(socket).fork(requests, answers, output, status) and .kill(pid)
    server   Server(socket, serve).run(): forks, says on `status` a child's number and then how it ended, kills what
             a dead child leaves behind, and ends - with all children - when the parent goes away, however that happens

A child gets a session and files of its own, and everything else as its server has it: memory, folder, environment,
limits, signal handlers, random states.
"""

import contextlib
import ctypes
import functools
import gc
import os
import random
import select
import signal
import socket
import struct
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from dpverify.base.errors import RunError

FORK, KILL = b"F", b"K"
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h
Serve = Callable[[int, int], NoReturn]  # what a child does with its requests and answers


class Forks:
    """The parent's side: asks for children, and for their end."""

    def __init__(self, channel: socket.socket) -> None:
        self._socket, self._lock = channel, threading.Lock()

    def fork(self, requests: int, answers: int, output: int, status: int) -> None:
        """A new child on these ends of pipes; they belong to the child and may be closed here afterwards."""
        try:
            with self._lock:
                socket.send_fds(self._socket, [FORK], [requests, answers, output, status])
        except OSError as error:
            raise RunError(f"the process that forks audits is gone ({error.strerror})") from None

    def kill(self, pid: int) -> None:
        """Ends a child and its descendants; nothing where it has ended."""
        with self._lock, contextlib.suppress(OSError):
            self._socket.sendall(KILL + struct.pack("!q", pid))


class Server:
    """The other side: forks, kills and reaps. `serve` is what each child does."""

    def __init__(self, control: socket.socket, serve: Serve) -> None:
        self._control, self._serve = control, serve
        self._status: dict[int, int] = {}  # pid -> where to say how it ended
        self._wake, wake = os.pipe()
        for end in (self._wake, wake):
            os.set_blocking(end, False)
        self._before = (
            signal.set_wakeup_fd(wake, warn_on_full_buffer=False),
            signal.signal(signal.SIGCHLD, lambda *_: None),
        )
        self._pipes = (self._wake, wake)
        self._random = random.getstate()  # which Python draws anew in a forked process
        import_module("resource")  # once, and not in each child
        _prctl(PR_SET_CHILD_SUBREAPER, 1)  # what a child leaves behind comes here and not to init

    def run(self) -> NoReturn:
        gc.freeze()  # what is loaded stays: no child needs to look through it, and so to copy it
        while True:
            ready, _, _ = select.select([self._control.fileno(), self._wake], [], [])
            if self._wake in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wake, 4096)
                self._reap()
            if self._control.fileno() in ready:
                try:
                    word, descriptors, _, _ = socket.recv_fds(self._control, 1, 4)
                except OSError:
                    word, descriptors = b"", []
                if word == FORK:
                    self._fork(*descriptors)
                elif word == KILL:
                    (pid,) = struct.unpack("!q", self._control.recv(8, socket.MSG_WAITALL))
                    if pid in self._status:
                        _kill_group(pid)
                else:  # the parent is gone
                    self._end()

    def _fork(self, requests: int, answers: int, output: int, status: int) -> None:
        pid = os.fork()
        if pid == 0:
            try:
                self._become_child(output, status)
                self._serve(requests, answers)
            finally:
                os._exit(1)
        for descriptor in (requests, answers, output):
            os.close(descriptor)
        self._status[pid] = status
        with contextlib.suppress(OSError):
            os.write(status, b"%d\n" % pid)

    def _become_child(self, output: int, status: int) -> None:
        """A session of its own, files of its own, and death with its server."""
        os.setsid()
        parent = os.getppid()
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died in between
            os._exit(1)
        signal.set_wakeup_fd(self._before[0])
        signal.signal(signal.SIGCHLD, self._before[1] or signal.SIG_DFL)
        self._control.close()
        for descriptor in (*self._pipes, *self._status.values(), status):
            os.close(descriptor)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        for standard in (1, 2):
            os.dup2(output, standard)
        os.close(output)
        _goes_first()
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        random.setstate(self._random)

    def _reap(self) -> None:
        while True:
            try:
                pid, code = _next_dead()
            except ChildProcessError:
                return
            if not pid:
                return
            status = self._status.pop(pid, None)
            if status is not None:
                with contextlib.suppress(OSError):
                    os.write(status, b"%d\n" % os.waitstatus_to_exitcode(code))
                os.close(status)

    def _end(self) -> NoReturn:
        for pid in self._status:
            _kill_group(pid)
        for _ in range(100):  # strays that had left their group come here once their parents are dead
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            strays = own_children()
            if not strays:
                break
            for pid in strays:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            select.select([], [], [], 0.01)
        os._exit(0)


def _goes_first() -> None:
    """Should memory run out, this process is ended first; nothing where the system has no such word."""
    with contextlib.suppress(OSError):
        word = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        try:
            os.write(word, b"1000")
        finally:
            os.close(word)


def _next_dead() -> tuple[int, int]:
    """(number, wait status) of a child that has ended, its group killed; (0, 0) where none has."""
    if not hasattr(os, "waitid"):  # macOS before Python 3.13
        pid, code = os.waitpid(-1, os.WNOHANG)
        if pid:
            _kill_group(pid)
        return pid, code
    ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if ended is None:
        return 0, 0
    _kill_group(ended.si_pid)  # while the dead one still holds the group's number
    return os.waitpid(ended.si_pid, 0)


def _kill_group(pid: int) -> None:
    for kill in (os.killpg, os.kill):  # before it has made its group, only itself
        with contextlib.suppress(OSError):
            kill(pid, signal.SIGKILL)


def own_children() -> list[int]:
    """Processes that this thread has started and not yet reaped; none where the system does not say."""
    try:
        return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
    except OSError:
        return []


@functools.cache
def _libc() -> Any:
    """Opened before anything is forked: what a child opens or imports it has to copy memory for."""
    return ctypes.CDLL(None)


def _prctl(option: int, value: int) -> None:
    """Linux only; elsewhere the parent's end is noticed by the closed pipe."""
    if sys.platform == "linux":
        _libc().prctl(option, ctypes.c_ulong(value), 0, 0, 0)
