"""What a watched child is asked for, and what became of it.

An outcome is an `Answer` - what the function returned or raised - or an `Ended`: the child died, hung or broke
the protocol. No outcome is a verdict.
"""

import json
import re
import signal
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpverify.base import require

TIMEOUT = 3600.0  # seconds for one task


@dataclass(frozen=True)
class Limits:
    """For each task: seconds, and megabytes on top of the libraries (None: what the machine has)."""

    timeout: float = TIMEOUT
    memory: int | None = None

    def __post_init__(self) -> None:
        require.positive(timeout=self.timeout)
        if self.memory is not None:
            require.integer(at_least=1, memory=self.memory)


@dataclass(frozen=True)
class Start:
    """A call that makes a process ready for many tasks, of which each gets a copy; "module:function" and plain values.

    It saves time and nothing else: where a process cannot be copied (it has threads, or open files), or a copy has
    died, a task is done in a new process that has not made this call.
    """

    call: str
    arguments: dict[str, Any]

    @property
    def key(self) -> str:
        """Equal for equal calls."""
        return json.dumps([self.call, self.arguments])


@dataclass(frozen=True)
class Task:
    """`call` is "module:function", its arguments and its answer are plain values (JSON).

    No task sees what another did to its process.
    """

    call: str
    arguments: dict[str, Any]
    start: Start | None = None
    provenance: bool = False
    patient: bool = False  # each event of the task starts the clock anew

    @classmethod
    def of(cls, plain: dict[str, Any]) -> "Task":
        """Inverse of `asdict`."""
        return cls(**{**plain, "start": None if plain["start"] is None else Start(**plain["start"])})

    @property
    def group(self) -> str:
        """Tasks of one group have one start."""
        return "" if self.start is None else self.start.key


@dataclass(frozen=True)
class Answer:
    """The function came to its end: `value`, or what it raised as `child.described` writes it."""

    value: Any = None
    error: dict[str, Any] | None = None
    provenance: dict[str, Any] | None = None
    output: tuple[str, ...] = ()
    attempts: int = 1
    seconds: float = 0.0


@dataclass(frozen=True)
class Ended:
    """There is no answer. `kind`: exit, signal, timeout, memory, protocol, cluster or interrupted."""

    kind: str
    text: str
    output: tuple[str, ...] = ()  # the last lines that it wrote
    attempts: int = 1
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
Listener = Callable[[dict[str, Any]], None]


def killed_by(number: int) -> str:
    """The end of a process by this signal, in words."""
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    hint = " (often: out of memory)" if name == "SIGKILL" else ""
    return f"killed by {name}{hint}"
