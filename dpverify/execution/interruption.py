"""Ctrl-C, SIGTERM and SIGHUP end a run in order: what is done is kept, children are ended, reports say so."""

import os
import select
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from dpverify.base import early
from dpverify.base.early import HEEDED


class Halt:
    """A switch that all waiting threads see; it stays on."""

    def __init__(self) -> None:
        self.pipe, self._end = os.pipe()

    def set(self) -> None:
        os.write(self._end, b"!")

    def is_set(self) -> bool:
        poll = select.poll()
        poll.register(self.pipe, select.POLLIN)
        return bool(poll.poll(0))

    def close(self) -> None:
        for end in (self.pipe, self._end):
            os.close(end)


@dataclass
class Heard:
    """The first signal that came; 0 while none did."""

    number: int = 0
    again: bool = False  # a further one came

    @property
    def name(self) -> str:
        """SIGINT and the like; empty while none came."""
        return signal.Signals(self.number).name if self.number else ""

    @property
    def exit_code(self) -> int:
        """128 + the signal's number, as shells say it."""
        return 128 + self.number


@contextmanager
def heeded(halt: Halt) -> Iterator[Heard]:
    """While inside, the first of these signals sets `halt`; a further one raises KeyboardInterrupt at once, and
    all later ones are ignored. Once one was heard, they are ignored afterwards, too: the process ends with its code.

    In other threads than the main one signals cannot be handled: nothing changes there.
    """
    heard = Heard()

    def hear(number: int, _: FrameType | None) -> None:
        if heard.number:
            heard.again = True
            for each in HEEDED:  # however many more come: this one ends it
                signal.signal(each, signal.SIG_IGN)
            raise KeyboardInterrupt
        heard.number = number
        halt.set()

    if threading.current_thread() is not threading.main_thread():
        yield heard
        return
    before = {number: signal.getsignal(number) for number in HEEDED}
    for number in HEEDED:
        if before[number] is not signal.SIG_IGN:  # nohup
            signal.signal(number, hear)
    early.over()
    try:
        yield heard
    finally:
        for number, handler in before.items() if not heard.again else ():
            signal.signal(number, signal.SIG_IGN if heard.number else handler)
