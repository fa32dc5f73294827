"""How far a run is: bars on a terminal, a line a minute elsewhere; and a forecast before it starts."""

import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from dpverify.evidence.promises import PromiseCheck
from dpverify.verdicts.manifest import Manifest
from dpverify.verdicts.settings import Settings
from dpverify.verdicts.suite_result import Failure, Outcome

FIRST, EVERY = 15.0, 60.0  # seconds until the first line without a terminal, and between two of them
WORTH = 10.0  # seconds: a shorter run needs no forecast
Key = tuple[str, str]


class Watcher(Protocol):
    """Is told of outcomes, and of trials on the way."""

    def finished(self, outcome: Outcome) -> None:
        """One more subject or promise has its outcome."""

    def trials(self, subject: str, count: int) -> None:
        """`count` more trials of `subject` are done."""


@contextmanager
def shown(agenda: Manifest, settings: Settings, before: Mapping[Key, float], *, quiet: bool) -> Iterator[Watcher]:
    """Shows progress on stderr while inside; `before` are the seconds that outcomes took in an earlier run."""
    budget = {each.name: each.pairs * (settings.trials or each.trials) for each in agenda.subjects}
    lines = Lines(agenda, budget, before, settings.jobs)
    if quiet:
        yield lines
        return
    if said := lines.forecast():
        print(f"dpverify: {said}", file=sys.stderr)
    if sys.stderr.isatty():
        with _bars() as bar:
            yield Bars(bar, len(agenda.entries), budget)
        return
    ended = threading.Event()

    def tell() -> None:
        wait = FIRST
        while not ended.wait(wait):
            print(f"dpverify: {lines.line()}", file=sys.stderr, flush=True)
            wait = EVERY

    thread = threading.Thread(target=tell, name="dpverify-progress", daemon=True)
    thread.start()
    try:
        yield lines
    finally:
        ended.set()
        thread.join()


class Lines:
    """Counts, and says where the run is in one line."""

    def __init__(self, agenda: Manifest, budget: Mapping[str, int], before: Mapping[Key, float], jobs: int) -> None:
        self._asked = [entry.key for entry in agenda.entries]
        self._budget, self._before, self._jobs = budget, before, jobs
        self._started = time.monotonic()
        self._done: set[str] = set()
        self._failed = 0
        self._trials: dict[str, int] = {}

    def finished(self, outcome: Outcome) -> None:
        """One more."""
        name = outcome.name if isinstance(outcome, PromiseCheck) else outcome.subject
        self._done.add(name)
        self._failed += isinstance(outcome, Failure)
        self._trials.pop(name, None)

    def trials(self, subject: str, count: int) -> None:
        """Some more."""
        self._trials[subject] = self._trials.get(subject, 0) + count

    def forecast(self) -> str:
        """Before the run: how long it takes, by the times of an earlier one; empty where that is short or unknown."""
        known = [self._before[key] for key in self._asked if key in self._before]
        if len(known) < 0.5 * len(self._asked) or not known:
            return ""
        seconds = max(sum(known) / self._jobs, max(known)) * len(self._asked) / len(known)
        if seconds < WORTH:
            return ""
        of = f"{len(known)} of {len(self._asked)} known"
        return f"takes about {_long(seconds)}, by the times of the last run ({of})"

    def line(self) -> str:
        """While it runs."""
        spent = time.monotonic() - self._started
        done, asked = len(self._done), len(self._asked)
        failed = f", {self._failed} of them failed" if self._failed else ""
        now = [f"{name} ({_share(count, self._budget.get(name, 0))})" for name, count in list(self._trials.items())[:4]]
        at = f"; at {', '.join(now)}" if now else ""
        return f"after {_long(spent)}: {done} of {asked} done{failed}, {self._left(spent)}{at}"

    def _left(self, spent: float) -> str:
        waiting = [key for key in self._asked if key[1] not in self._done]
        known = [self._before[key] for key in waiting if key in self._before]
        if waiting and len(known) == len(waiting):
            return f"about {_long(max(sum(known) / self._jobs, max(known)))} left by the times of the last run"
        if not self._done:
            return "how long it takes is not known yet"
        return f"about {_long(spent * len(waiting) / len(self._done))} left if the others are like those"


class Bars:
    """Moves the bars: one for the suite in subjects, one for the trials of the subject that was heard of last."""

    def __init__(self, bar: Progress, asked: int, budget: Mapping[str, int]) -> None:
        self._bar, self._budget = bar, budget
        self._suite = bar.add_task("subjects", total=asked)
        self._inside: TaskID | None = None
        self._done: dict[str, int] = {}

    def finished(self, outcome: Outcome) -> None:
        """One more subject or promise has its result."""
        self._bar.update(self._suite, advance=1)

    def trials(self, subject: str, count: int) -> None:
        """`count` more trials of `subject` are done."""
        done = self._done[subject] = self._done.get(subject, 0) + count
        if self._inside is None:
            self._inside = self._bar.add_task(subject)
        self._bar.update(self._inside, description=subject, total=self._budget.get(subject), completed=done)


def _bars() -> Progress:
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )


def _share(count: int, budget: int) -> str:
    return f"{100 * count / budget:.0f} % of its trials" if budget else f"{count:,} trials"


def _long(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
