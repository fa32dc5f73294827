"""The parent's side of a watched child: one request with a time limit, and the child's end."""

import os
import socket
import sys
import time
from dataclasses import dataclass, field, replace
from typing import Any

from dpverify.runs import frames
from dpverify.runs.child import CLOSED, TRACE
from dpverify.runs.forking import Forks
from dpverify.runs.frames import readable
from dpverify.runs.interruption import Halt
from dpverify.runs.task import Answer, Ended, killed_by, Limits, Listener, Outcome, Start, Task

KEPT = 1 << 16  # bytes of a child's output that are remembered
LAST_LINES = 60
LOADING = 600.0  # seconds in which the fork server may load libraries and make its first child, on a busy machine
GRACE = 2.0  # seconds in which a hanging child may say where it is, a closing one may end


@dataclass
class ChildProcess:
    """A watched process, and what it has said so far. A `copy` of a template is as the template left it."""

    home: Forks
    copy: bool = False
    pid: int = 0
    forks: Forks | None = None  # by which a template is asked for copies
    _ended: int | None = None
    _closed: bool = False
    _tail: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self._requests, theirs = socket.socketpair()  # a socket, since a template needs one afterwards
        (self._answers, theirs_w), (self._output, theirs_o), (self._status, theirs_s) = (os.pipe() for _ in range(3))
        self._unpacker = frames.Unpacker()
        self._word = b""
        for pipe in (self._answers, self._output, self._status):
            os.set_blocking(pipe, False)
        try:
            self.home.fork(theirs.fileno(), theirs_w, theirs_o, theirs_s)
        except BaseException:
            self._closed = True
            self._close_pipes()
            raise
        finally:
            theirs.close()
            for end in (theirs_w, theirs_o, theirs_s):
                os.close(end)

    def run(self, task: Task, limits: Limits, halt: Halt | None = None, listener: Listener | None = None) -> Outcome:
        """The task from request to outcome, and the child's end."""
        try:
            return self._told(task, False, limits, halt, listener)
        finally:
            self.close()

    def begin(self, start: Start, limits: Limits, halt: Halt | None = None) -> Outcome:
        """Makes it a template: afterwards it `forks`, or has ended since it cannot be copied."""
        try:
            return self._told(Task(start.call, start.arguments), True, limits, halt, None)
        finally:
            if self.forks is None:
                self.close()

    def _told(
        self, task: Task, template: bool, limits: Limits, halt: Halt | None, listener: Listener | None
    ) -> Outcome:
        started = time.monotonic()
        outcome = self._ask(task, template, limits, halt, listener)
        return replace(outcome, output=self._last_lines(), seconds=time.monotonic() - started)

    def _ask(self, task: Task, template: bool, limits: Limits, halt: Halt | None, listener: Listener | None) -> Outcome:
        waited = bool(self.pid)  # what loads libraries for all children is ours, and not in a task's time
        deadline = time.monotonic() + limits.timeout + (0.0 if waited else LOADING)
        place = {"folder": os.getcwd(), "path": sys.path, "environment": dict(os.environ), "memory": limits.memory}
        request = {
            "call": task.call,
            "arguments": task.arguments,
            "provenance": task.provenance,
            "template": template,
        }
        if not self.copy:
            request["place"] = place
        try:
            frames.send(self._requests.fileno(), request)  # a child that waits for requests reads them
        except OSError:
            return self._end("", "")
        pipes = [self._answers, self._output, self._status] + ([halt.pipe] if halt else [])
        try:
            while True:
                ready = readable(pipes, deadline - time.monotonic())
                if self._output in ready and not self._drain():
                    pipes.remove(self._output)
                if self._answers in ready:
                    for message in self._messages():
                        if "event" not in message:
                            return self._answer(message)
                        if task.patient:
                            deadline = time.monotonic() + limits.timeout
                        if listener is not None:
                            listener(message["event"])
                if (self._status in ready and self._reaped()) or self._ended is not None:
                    return self._end("", "")
                if self.pid and not waited:
                    waited, deadline = True, time.monotonic() + limits.timeout
                if halt is not None and halt.pipe in ready:
                    return self._end("interrupted", "the run was interrupted")
                if time.monotonic() >= deadline:
                    self._where()
                    return self._end("timeout", f"no answer within {limits.timeout:g} seconds (--timeout)")
        except frames.BrokenFrame as error:
            return self._end("protocol", str(error))

    def _messages(self) -> list[Any]:
        """What has arrived; BrokenFrame once the channel is closed."""
        messages: list[Any] = []
        while True:
            try:
                piece = os.read(self._answers, 1 << 16)
            except BlockingIOError:
                return messages
            messages += self._unpacker.feed(piece)
            if not piece:
                if messages or self._soon_reaped():
                    return messages
                raise frames.BrokenFrame("it closed the channel to its supervisor")

    def _answer(self, message: Any) -> Answer:
        self._drain()
        if message.get("copies"):
            self.forks = Forks(self._requests)
        return Answer(message.get("answer"), message.get("error"), message.get("provenance"))

    def _drain(self) -> bool:
        """Remembers the end of what was written; False once nobody can write any more."""
        while True:
            try:
                piece = os.read(self._output, 1 << 16)
            except BlockingIOError:
                return True
            if not piece:
                return False
            self._tail += piece
            del self._tail[: max(0, len(self._tail) - KEPT)]
            if len(piece) < 1 << 16:  # so that a flood does not keep us from looking at the clock
                return True

    def _reaped(self) -> bool:
        """Reads what the fork server says: first the child's number, then how it ended."""
        try:
            piece = os.read(self._status, 64)
        except BlockingIOError:
            return False
        self._word += piece
        words = self._word.split()
        if words and not self.pid and b"\n" in self._word:
            self.pid = int(words[0])
        if len(words) > 1:
            self._ended = int(words[1])
        return not piece or self._ended is not None

    def _soon_reaped(self) -> bool:
        """True where the child's end is known, or becomes known shortly."""
        limit = time.monotonic() + GRACE
        while self._ended is None and (left := limit - time.monotonic()) > 0:
            if readable([self._status], left) and self._reaped():
                break
        return self._ended is not None

    def _where(self) -> None:
        """Asks a hanging child where it is; the answer comes with its output."""
        self._reaped()
        if self.pid:
            try:
                os.kill(self.pid, TRACE)
            except OSError:
                return
            limit = time.monotonic() + GRACE
            while (left := limit - time.monotonic()) > 0 and readable([self._output], min(left, 0.2)):
                if not self._drain():
                    return

    def _end(self, kind: str, text: str) -> Ended:
        """What became of it, by the fork server's word where it died by itself."""
        self._drain()
        if not kind and self._soon_reaped():
            code = self._ended or 0
            if code < 0:
                return Ended("signal", killed_by(-code))
            if code == CLOSED:
                return Ended("protocol", "it closed the channel to its supervisor")
            return Ended("exit", f"it ended with exit code {code} and gave no answer")
        return (
            Ended(kind, text)
            if kind
            else Ended("protocol", "its end was not told: the process that forks audits is gone")
        )

    def _last_lines(self) -> tuple[str, ...]:
        lines = bytes(self._tail).decode("utf-8", "replace").splitlines()
        told = [line[:500] for line in lines if line.strip() and not line.startswith("Extension modules: ")]
        return tuple(told[-LAST_LINES:])

    def begun(self, seconds: float) -> bool:
        """True once it is there; waits so long."""
        limit = time.monotonic() + seconds
        while not self.pid and (left := limit - time.monotonic()) > 0 and self._ended is None:
            if not readable([self._status], left) or self._reaped():
                break
        return bool(self.pid)

    @property
    def alive(self) -> bool:
        """False for one that has ended, or whose parent process has."""
        return not self._closed and not (readable([self._status], 0) and self._reaped())

    def close(self) -> None:
        """Ends it, with all that it has started."""
        if self._closed:
            return
        self._closed = True
        self.begun(GRACE)
        if self.pid and self._ended is None:
            self.home.kill(self.pid)
        self._close_pipes()

    def _close_pipes(self) -> None:
        self._requests.close()
        for pipe in (self._answers, self._output, self._status):
            os.close(pipe)
