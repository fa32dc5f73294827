"""What runs inside a watched child: run one subject or promise of an audit file.

Arguments and answers are plain values.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import monotonic  # as it is now, whatever audited code makes of the module
from typing import Any

from dpverify.evidence.promises import PromiseCheck
from dpverify.runs import child, provenance
from dpverify.verdicts.listing import load
from dpverify.verdicts.plain import to_plain
from dpverify.verdicts.settings import Settings
from dpverify.verdicts.suite import run_promise, run_subject
from dpverify.verdicts.suite_result import Failure

OFTEN = 0.5  # seconds between two words about progress
LONG = 2.0  # seconds after which a subject's blocks are worth keeping


def run(
    *, file: str, kind: str, local: str, name: str, settings: dict[str, Any], level: float, blocks: list[Any]
) -> dict[str, Any]:
    """The outcome of one subject or promise, as `plain.to_plain` writes it; `name` is its name in this run."""
    loaded = load(file)
    made = Settings(**settings)
    if kind == "promise":
        promise = loaded.promises.get(local)
        return to_plain(_gone(name, file) if promise is None else _renamed(run_promise(promise, made, level), name))
    subject = loaded.subjects.get(local)
    if subject is None:
        return to_plain(_gone(name, file))
    provenance.declare(subject.environment)
    teller = _Teller({_tupled(key): value for key, value in blocks})
    found = subject.found(name, subject.file, subject.line)
    return to_plain(run_subject(found, made, level, teller.trials, teller.blocks))


def _gone(name: str, file: str) -> Failure:
    return Failure(name, f"{file}: does not declare it any more; its list differs from load to load", file=file)


def _renamed(check: PromiseCheck | Failure, name: str) -> PromiseCheck | Failure:
    """Under its name in the run; its seed came from its name in the file."""
    return replace(check, name=name) if isinstance(check, PromiseCheck) else replace(check, subject=name)


@dataclass
class _Teller:
    """Tells the parent of trials and blocks, not too often; knows the blocks of an earlier run."""

    known: dict[tuple[Any, ...], Any]
    started: float | None = None  # at the first trials: what comes before them leaves no blocks
    told: float = 0.0
    count: int = 0
    fresh: list[tuple[tuple[Any, ...], Callable[[], Any]]] = field(default_factory=list)

    def trials(self, subject: str, count: int) -> None:
        """`count` more trials are done."""
        self.count += count
        now = monotonic()
        if self.started is None:
            self.started = now
        if now - self.told < OFTEN:
            return
        event: dict[str, Any] = {"trials": self.count}
        if now - self.started > LONG:
            event["blocks"], self.fresh = [[list(key), make()] for key, make in self.fresh], []
        child.emit(event)
        self.count, self.told = 0, now

    def blocks(self, pair: str) -> "_Blocks":
        """The store of one pair's certifying blocks."""
        return _Blocks(self, pair)


@dataclass
class _Blocks:
    teller: _Teller
    pair: str

    def get(self, key: tuple[Any, ...]) -> Any:
        return self.teller.known.get((key[0], self.pair, *key[1:]))

    def add(self, key: tuple[Any, ...], value: Any) -> None:
        self.add_later(key, lambda: value)

    def add_later(self, key: tuple[Any, ...], make: Callable[[], Any]) -> None:
        self.teller.fresh.append(((key[0], self.pair, *key[1:]), make))


def _tupled(key: list[Any]) -> tuple[Any, ...]:
    return tuple(key)
