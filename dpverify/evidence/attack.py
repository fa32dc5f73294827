"""The attack: score, event and test, all frozen before the first certifying trial.

Guess "first" where the score is above the cut (`evidence.selection`), "second" below minus the cut, abstain between.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.errors import InvalidTrials
from dpverify.evidence.scores.histogram import row_keys
from dpverify.evidence.scores.score import FloatArray, Score
from dpverify.evidence.tally import IntArray, Tally
from dpverify.trials.collect import Grain
from dpverify.trials.health.independence import (
    compared_calls,
    Independence,
    LARGEST,
    looked_at,
    Marks,
    marks,
    RANKED,
    Sample,
)
from dpverify.trials.outcomes import Outcomes

SAME = 1e-9  # scores closer than this (relatively) are one value: float rounding is not an event


class Side(Enum):
    """On which datasets the rule guesses."""

    BOTH = "both"
    FIRST = "first"
    SECOND = "second"
    ALWAYS = "always"  # both, and never abstaining


@dataclass(frozen=True, eq=False)
class Attack:
    """A frozen rule: guess where |orientation * score| >= a cut, on the given side.

    `cuts` are decreasing; level i holds the guesses between cut i-1 and cut i. The event is a guess on
    any of the first `event` levels, that is beyond cut `event` - 1; the further levels are counted for other events and
    for plots.
    `shares` are (levels, share of the significance) of every event that certifies, this one first; empty: it has all.
    `weights` are those of the levels in one test of all of them; empty: guesses of an event count alike.
    """

    score: Score
    cuts: FloatArray
    event: int
    side: Side
    orientation: int  # -1 where the selection trials show that the score points the other way
    expected: Tally  # predicted guesses of the event in the certifying trials
    shares: tuple[tuple[int, float], ...] = ()
    weights: tuple[int, ...] = ()

    def tally(self, first: Outcomes, second: Outcomes) -> Tally:
        """Right and wrong guesses in trials of the first and of the second dataset, by level."""
        return self.counted(self.signed(first), self.signed(second))

    def signed(self, outcomes: Outcomes) -> FloatArray:
        """Score of every trial, turned so that the first dataset is guessed above the cuts; shape (size,)."""
        score = self.score(outcomes) if len(outcomes) else np.zeros(0)
        return score if self.orientation > 0 else -score

    def counted(self, first: FloatArray, second: FloatArray) -> Tally:
        """The tally of trials with these signed scores."""
        first_up, first_down = self._guesses(first)
        second_up, second_down = self._guesses(second)
        return Tally(len(first) + len(second), first_up + second_down, first_down + second_up, one_sided=self.one_sided)

    def guessed(self, signed: FloatArray) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Trials in which the event guesses the first, and the second, dataset."""
        if self.side is Side.ALWAYS:
            return signed >= 0, signed < 0
        cut = self.cuts[self.event - 1]
        none = np.zeros(len(signed), bool)
        return (
            signed >= cut if self.side is not Side.SECOND else none,
            signed <= -cut if self.side is not Side.FIRST else none,
        )

    def empty_tally(self) -> Tally:
        """The tally of no trials."""
        zero = np.zeros(len(self.cuts), np.int64)
        return Tally(0, zero, zero, self.one_sided)

    def _guesses(self, signed: FloatArray) -> tuple[IntArray, IntArray]:
        """Guesses of the first and of the second dataset, by level."""
        if self.side is Side.ALWAYS:
            first = int(np.count_nonzero(signed >= 0))
            return np.array([first]), np.array([len(signed) - first])
        up = self._levels(signed if self.side is not Side.SECOND else signed[:0])
        down = self._levels(-signed if self.side is not Side.FIRST else signed[:0])
        return up, down

    def _levels(self, confidence: FloatArray) -> IntArray:
        rising = self.cuts[::-1]
        guessed = confidence[confidence >= rising[0]]  # most trials abstain, or are on the other side
        passed = np.searchsorted(rising, guessed, side="right")  # number of cuts reached, at least one
        return np.bincount(len(rising) - passed, minlength=len(rising))

    @property
    def one_sided(self) -> bool:
        """True where the rule guesses only one dataset."""
        return self.side in (Side.FIRST, Side.SECOND)

    def guess_fraction(self) -> float:
        """Predicted share of trials with a guess."""
        return self.expected.guesses / self.expected.trials

    def witness(self, levels: int | None = None) -> str:
        """The event of the first `levels` levels in words; None for the event that was chosen first."""
        cut, first, second = self.cuts[(levels or self.event) - 1], "the first dataset", "the second dataset"
        said = {
            Side.BOTH: f"score >= {cut:.6g}: {first}; score <= {-cut:.6g}: {second}",
            Side.FIRST: f"score >= {cut:.6g}: {first}",
            Side.SECOND: f"score <= {-cut:.6g}: {second}",
            Side.ALWAYS: f"score >= 0: {first}; otherwise {second}",
        }[self.side]
        return f"{self.score.name} {said}" + ("" if self.side is Side.ALWAYS else "; otherwise no guess")


def usable(values: FloatArray, side: Side) -> npt.NDArray[np.bool_]:
    """Trials in which a rule on this side could guess."""
    used: npt.NDArray[np.bool_] = {Side.FIRST: values > 0, Side.SECOND: values < 0}.get(side, values != 0)
    return used


def carry(ends: npt.NDArray[np.int64], confidence: FloatArray) -> FloatArray:
    """Cuts beyond which about `ends` of the frozen score's `confidence` (decreasing) lie, never within an atom.

    Each cut is halfway between two different values, away from rounding.
    """
    if len(confidence) == 0:
        return np.full(len(ends), np.inf)
    places = np.r_[np.nonzero(different(confidence))[0] + 1, len(confidence)]
    after = np.minimum(np.searchsorted(places, ends), len(places) - 1)
    before = np.maximum(after - 1, 0)
    nearest = np.where(ends - places[before] < places[after] - ends, before, after)
    taken = places[nearest]
    cuts: FloatArray = (confidence[taken - 1] + np.r_[confidence, 0.0][taken]) / 2
    return cuts


def different(confidence: FloatArray) -> npt.NDArray[np.bool_]:
    """Whether each of `confidence` (decreasing) differs from the next one by more than rounding."""
    apart: npt.NDArray[np.bool_] = confidence[:-1] - confidence[1:] > SAME * np.maximum(1.0, confidence[:-1])
    return apart


def bounded(scores: FloatArray) -> FloatArray:
    """Infinite scores as very large ones, so that means and differences stay numbers."""
    return np.clip(scores, -700.0, 700.0)


# ----------------------------------------------------------------------------------------------------------------------
# What a grain of certifying trials leaves behind: counts, failures, marks of independence. Outcomes are dropped.


TIE = 1e-6  # weight of the output in a rank value
COORDINATES = 8  # of an output that break ties
LINE = 64  # coordinates of an output that say where it lies on a line
RESCORED = 128  # trials that are scored again in another mix
TOGETHER = 32  # grains that are looked at together, and kept in memory until then
ROUNDING = 1e-6  # difference of two scores of one output that is rounding, relative where scores are above 1
Failed = tuple[dict[str, int], dict[str, int]]  # how often each failure occurred, on the first and second dataset


@dataclass(frozen=True, eq=False)
class Judged:
    """A grain under a frozen attack; `sizes` are its trials on the first and on the second dataset."""

    tally: Tally
    marks: Marks | Sample  # a sample until somebody asks what it says
    sizes: tuple[int, int]
    failed: Failed = field(default_factory=lambda: ({}, {}))
    failing: frozenset[str] = frozenset()

    def to_plain(self) -> dict[str, Any]:
        """Plain values, for a checkpoint."""
        return {
            "tally": self.tally.to_plain(),
            "marks": marked([self.marks])[0].to_plain(),
            "sizes": list(self.sizes),
            "failed": list(self.failed),
            "failing": sorted(self.failing),
        }

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> "Judged":
        """Inverse of `to_plain`."""
        return cls(
            Tally.from_plain(plain["tally"]),
            Marks.from_plain(plain["marks"]),
            (plain["sizes"][0], plain["sizes"][1]),
            (plain["failed"][0], plain["failed"][1]),
            frozenset(plain["failing"]),
        )


def score_block(attack: Attack, grain: Grain) -> Judged:
    """Score one block of trials of both datasets, and count the right and wrong guesses.

    Some trials of the blocks 0, 1, 2, 4, 8, ... are scored once more, in another mix. InvalidTrials is raised if their
    scores change: the score of a trial must not depend on the trials beside it.
    """
    signed = attack.signed(grain.outcomes)
    if grain.index & (grain.index - 1) == 0:
        check_scores(attack, grain, signed)
    first, second = signed[grain.first], signed[~grain.first]
    arms = np.flatnonzero(grain.first), np.flatnonzero(~grain.first)
    ranked = rank_values(signed, grain.outcomes, np.concatenate([part for arm in arms for part in looked_at(arm)]))
    many = min(RANKED, len(arms[0]))
    values = (_line(grain, arms[0]), _line(grain, arms[1])) if compared_calls(grain.index) else (b"", b"")
    return Judged(
        attack.counted(first, second),
        Sample.of(grain.index, (ranked[:many], ranked[many:]), (attack.guessed(first), attack.guessed(second)), values),
        (len(first), len(second)),
        failures(grain),
        grain.failing,
    )


def marked(found: Sequence[Marks | Sample]) -> list[Marks]:
    """The marks of grains, of which some may be samples still."""
    fresh = iter(marks([each for each in found if isinstance(each, Sample)]))
    return [next(fresh) if isinstance(each, Sample) else each for each in found]


def check_scores(attack: Attack, grain: Grain, signed: FloatArray) -> None:
    """Scores a sample in another mix: fewer trials, in reverse order, most of them from one dataset."""
    one, other = np.flatnonzero(grain.first), np.flatnonzero(~grain.first)
    rows = np.r_[one[:RESCORED], other[: RESCORED // 8]][::-1]
    if len(rows) == 0:
        return
    again = attack.signed(grain.outcomes.take(rows))
    before = signed[rows]
    with np.errstate(invalid="ignore"):  # inf - inf
        alike = (again == before) | (np.abs(again - before) <= ROUNDING * np.maximum(1.0, np.abs(before)))
    if not alike.all():
        place = int(np.argmin(alike))
        raise InvalidTrials(
            "ROW_SCORES",
            f"the {attack.score.name} score of an output depends on the outputs scored with it: {before[place]:.6g} "
            f"among {len(signed)} trials, {again[place]:.6g} among {len(rows)}. log_ratio must work row by row",
        )


def rank_values(signed: FloatArray, outcomes: Outcomes, rows: IntArray) -> FloatArray:
    """Scores of these trials, ties broken by a few coordinates of the output: a function of each trial alone."""
    values, signed = outcomes.rows, signed[rows]
    if values.dtype.kind == "U" or values.shape[1] == 0:
        return signed
    with np.errstate(over="ignore", invalid="ignore"):  # inf / inf
        few: FloatArray = values[rows, 0].astype(float)
        if values.shape[1] > 1:
            few = values[:, :: -(-values.shape[1] // COORDINATES)][rows].astype(float).sum(axis=1)
        few /= 1 + np.abs(few)
    few *= TIE
    odd = np.isnan(few)
    if odd.any():
        few[odd] = 0.0
    ranked: FloatArray = signed + few
    return ranked


def failures(grain: Grain) -> Failed:
    """How often each failure occurred on each dataset."""
    names = grain.outcomes.failures
    if names is None:
        return {}, {}
    found = [Counter(names[rows & (names != "")].tolist()) for rows in (grain.first, ~grain.first)]
    return dict(found[0]), dict(found[1])


def _line(grain: Grain, rows: IntArray) -> bytes:
    """Where these outputs lie on a line, as float32: near where they are near, by a function of each output alone."""
    if len(rows) > LARGEST:
        lot = np.random.Generator(np.random.PCG64(len(rows)))
        rows = rows[lot.choice(len(rows), LARGEST, replace=False, shuffle=False)]
    outcomes = grain.outcomes
    if outcomes.rows.dtype.kind == "U" or outcomes.rows.shape[1] == 0:
        return row_keys(outcomes.take(rows)).astype(np.float32).tobytes()
    step = -(-outcomes.rows.shape[1] // LINE)
    few = outcomes.rows[:, ::step][rows].astype(float)
    with np.errstate(over="ignore", invalid="ignore"):
        places = few[:, 0] if few.shape[1] == 1 else few @ np.sqrt(np.arange(2.0, 2.0 + few.shape[1]))
        if outcomes.failures is not None:
            places = np.where(outcomes.failures[rows] != "", np.inf, places)
        found: bytes = np.where(np.isnan(places), -np.inf, places).astype(np.float32).tobytes()
    return found


@dataclass
class Evidence:
    """Running totals over the grains of an audit."""

    sizes: tuple[int, int] = (0, 0)
    failed: Failed = field(default_factory=lambda: ({}, {}))
    failing: frozenset[str] = frozenset()
    _independence: Independence = field(default_factory=Independence)
    _waiting: list[tuple[Marks | Sample, Any]] = field(default_factory=list)  # grains that nobody has looked at

    def add(self, part: Judged, rule: Any = None) -> None:
        """One more grain, judged under `rule`."""
        self._waiting.append((part.marks, rule))
        if len(self._waiting) == TOGETHER:
            self._look()
        self.count(part.sizes, part.failed, part.failing)

    @property
    def independence(self) -> Independence:
        """What all grains so far say about it, in their order."""
        self._look()
        return self._independence

    def _look(self) -> None:
        for each, (_, rule) in zip(marked([given for given, _ in self._waiting]), self._waiting, strict=True):
            self._independence.add(each, rule)
        self._waiting.clear()

    def count(self, sizes: tuple[int, int], failed: Failed, failing: frozenset[str]) -> None:
        """Trials and failures of a grain that no rule has judged."""
        self.sizes = self.sizes[0] + sizes[0], self.sizes[1] + sizes[1]
        if failed[0] or failed[1]:
            self.failed = _plus(self.failed[0], failed[0]), _plus(self.failed[1], failed[1])
        self.failing |= failing

    @property
    def mostly_failed(self) -> bool:
        """True where at least half of the trials on a dataset failed."""
        return any(2 * sum(failed.values()) >= size > 0 for failed, size in zip(self.failed, self.sizes, strict=True))

    def check(self) -> None:
        """InvalidTrials where the trials were not independent."""
        if found := self.independence.objections:
            raise InvalidTrials(
                "DEPENDENT",
                "trials are not independent: " + "; ".join(found) + ". Each must be a draw of its own, see "
                "dpverify.trials.target",
            )


def _plus(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in sorted({*one, *other})}
