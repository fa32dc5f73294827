"""One run with every call of a mechanism recorded, or played back from another run.

A step is a call with what was drawn for it. Its key is the mechanism and the place in the library; steps of one key are
matched by a plan (position, until the alignment knows better). Every step has a random stream of its own, by key and
number, so that one that is skipped on one dataset shifts no other, and the library's other random choices stay equal.
"""

import contextlib
import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpverify.base.seeding import Stage, stream
from dpverify.tape.instruments import at_work
from dpverify.tape.instruments.calls import CallStep as Told
from dpverify.tape.instruments.calls import Given, NoiseCall, Spend
from dpverify.tape.instruments.host import Host
from dpverify.tape.transcript import Reason, Site, site_text
from dpverify.wild.worker import calling

Key = tuple[str, str, str]  # mechanism, the user's line, the library's line
Plan = dict[tuple[Key, int], int | None]  # step of the second run -> step of the first with the same key


@dataclass(frozen=True, eq=False)
class Drawn:
    """What a step gave: a family of noise on `off`, or a value with what an instrument knows of its law."""

    family: str
    off: Any
    coef: float
    parameters: tuple[float, ...]
    given: Given | None
    output: Any


@dataclass(eq=False)
class Step:
    """One call; `number` counts those of its key."""

    key: Key
    number: int
    call: NoiseCall | None
    drawn: list[Drawn] = field(default_factory=list)

    @property
    def where(self) -> str:
        """The library's line, or the user's."""
        return self.key[2] or self.key[1]


class _Arena:
    """What instruments write to."""

    def __init__(self) -> None:
        self.calls: list[NoiseCall] = []
        self.spends: list[Spend] = []
        self.steps: list[Told] = []
        self.notes: list[Reason] = []
        self.called: Site | None = None


@dataclass(eq=False)
class RecordedRun:
    """Steps in order, the library's accountant, notes, and the outcome in fields."""

    steps: list[Step]
    spends: list[Spend]
    told: list[Told]
    notes: list[Reason]
    transformed: list[Any] = field(default_factory=list)
    outcome: dict[str, Any] = field(default_factory=dict)

    def by_key(self) -> dict[Key, list[Step]]:
        """Steps of each key, in order."""
        found: dict[Key, list[Step]] = defaultdict(list)
        for step in self.steps:
            found[step.key].append(step)
        return found


class Recorder(Host):
    """An instrument's host that records and, with `played` and a plan, gives what was given before."""

    own = (*Host.own, __file__.rpartition("/")[0] + "/")
    edge = calling.__file__

    def __init__(self, seed: int, played: RecordedRun | None = None, plan: Plan | None = None) -> None:
        self._arena = _Arena()
        super().__init__(self._arena, None, None, None)  # type: ignore[arg-type]
        self._seed, self._plan = seed, plan or {}
        self._played = {} if played is None else played.by_key()  # type: ignore[assignment]
        self._counts: dict[Key, int] = defaultdict(int)
        self._place: Key = ("", "", "")
        self._steps: list[Step] = []
        self._known = 0  # calls that have a step

    @property
    def taped(self) -> bool:
        """Generators of NumPy that a caller has seeded are fine here: mechanisms draw from their own streams."""
        return False

    @property
    def rng(self) -> np.random.Generator:
        """The stream of the step that comes next at this place."""
        digest = hashlib.blake2b(repr(self._place).encode(), digest_size=6).digest()
        return stream(self._seed, Stage.TAPE, int.from_bytes(digest, "big"), self._counts[self._place])

    def caller(self, library: str, through: str = "") -> tuple[Site, str, int | None]:
        """See `Host`; remembers the place for the stream."""
        site, inner, within = super().caller(library, through)
        self._place = ("", site_text(site), inner)
        return site, inner, within

    def noise(self, site: Site, family: str, z: Any, off: Any, coef: float, parameters: tuple[float, ...] = ()) -> Any:
        """See `Host`."""
        own = super().noise(site, family, z, off, coef, parameters)
        return self._kept(site, family, off, float(coef), parameters, None, own)

    def law(self, site: Site, what: str, value: Any, log_mass: Callable[[Any], Any], given: Given) -> Any:
        """See `Host`."""
        return self._kept(site, what, None, 0.0, (), given, value)

    def bound(self, site: Site, what: str, value: Any, given: Given) -> Any:
        """See `Host`."""
        return self._kept(site, what, None, 0.0, (), given, value)

    def _kept(
        self, site: Site, family: str, off: Any, coef: float, parameters: tuple[float, ...], given: Given | None,
        own: Any,
    ) -> Any:  # fmt: skip
        step = self._latest() or self._new((family, site_text(site), ""), None)
        output = self._before(step, len(step.drawn), own)
        step.drawn.append(Drawn(family, off, coef, parameters, given, output))
        return output

    def _latest(self) -> Step | None:
        """The step of the last call; calls without a draw so far become steps as well."""
        while self._known < len(self.calls):
            call = self.calls[self._known]
            self._known += 1
            self._new((call.name, site_text(call.site), call.inner), call)
        return self._steps[-1] if self._steps and self._steps[-1].call is not None else None

    def _new(self, key: Key, call: NoiseCall | None) -> Step:
        step = Step(key, self._counts[key], call)
        self._counts[key] += 1
        self._counts[("", key[1], key[2])] += 1
        self._steps.append(step)
        return step

    def _before(self, step: Step, place: int, own: Any) -> Any:
        """What the matching step gave there, or this run's own value."""
        others: list[Step] = self._played.get(step.key, [])  # type: ignore[union-attr]
        number = self._plan.get((step.key, step.number), step.number)
        if number is None or number >= len(others) or place >= len(others[number].drawn):
            return own
        before = others[number].drawn[place].output
        return before if np.shape(before) == np.shape(own) else own

    def run(self) -> RecordedRun:
        """What was recorded."""
        self._latest()
        return RecordedRun(self._steps, list(self.spends), list(self._arena.steps), list(self._arena.notes),
                   self.transformed)  # fmt: skip


@contextlib.contextmanager
def recording(seed: int, played: RecordedRun | None = None, plan: Plan | None = None) -> Iterator[Recorder]:
    """Inside, the libraries that are imported draw through a recorder."""
    recorder = Recorder(seed, played, plan)
    with at_work(recorder):
        yield recorder
