"""Grains of trials on both datasets of a pair.

In each trial a fair coin picks the dataset. A grain draws its coins, then releases each arm in one vectorised call, the
arm that goes first picked by one more coin, and puts the releases where the coins say: order within an arm carries no
information where trials are independent, so this is the same law, and what looks at a grain as a whole (a score) sees
both arms mixed. Every grain has streams of its own, keyed by (stage, grain, arm), hence the same trials for any number
of workers.

Trials that choose (`SelectionTrials`) and trials that certify (tallies of a frozen attack) are different
types: there is no way to hand the one for the other.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from dpverify.base.errors import ParameterError
from dpverify.base.seeding import Stage, stream
from dpverify.claims.neighbours import Pair
from dpverify.runs.executors import ordered_map
from dpverify.trials import grains
from dpverify.trials.checkpoint import Checkpoint
from dpverify.trials.failing import Answers, blank, first_form, release_outcomes, Streams
from dpverify.trials.fingerprint import Guard
from dpverify.trials.outcomes import concatenate, Outcomes, OutputForm
from dpverify.trials.pristine import packed
from dpverify.trials.target import name_of, own_block, Target

FIRST, SECOND, COINS = 0, 1, 2  # the arms' streams, and the coins'

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Grain:
    """Trials in the order of their coins: `first` is True where the trial was made on the first dataset.

    `failing` says how failures became outcomes, see `failing`.
    """

    index: int
    outcomes: Outcomes
    first: npt.NDArray[np.bool_]
    failing: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self.outcomes)


@dataclass(frozen=True)
class Experiment:
    """A target on a pair of datasets, with the seed that determines every trial of it.

    `answers` are exceptions that are outcomes although they look like failures of the run. What only this process
    knows - the time of a release, what the data look like, the target before its first call - is no part of the
    experiment: it is not pickled.
    """

    target: Target
    pair: Pair
    seed: int
    form: OutputForm
    answers: Answers = ()
    guard: Guard = field(default_factory=lambda: Guard(""), compare=False, repr=False)
    seconds: float = field(default=0.0, compare=False)  # of one release, measured; 0 where nobody looked
    pristine: bytes | None = field(default=None, compare=False, repr=False)  # the target before its first call

    @classmethod
    def of(cls, target: Target, pair: Pair, seed: int, answers: Answers = ()) -> "Experiment":
        """Learns the form of one release by making one; InvalidTrials where that changes the data."""
        guard = Guard(name_of(target))
        guard.look(pair)
        pristine = packed(target)
        form = first_form(target, (pair.first, pair.second), [_shapes(seed, arm) for arm in (FIRST, SECOND)], answers)
        guard.check(pair)
        return cls(target, pair, seed, form, answers, guard, pristine=pristine)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "seconds": 0.0, "pristine": None}

    @property
    def largest(self) -> int:
        """Trials in the largest grain, and in any call: a function of the target alone.

        A target with a heavy inner state may say `trials_per_block` itself.
        """
        return grains.largest_grain(self.form.items, own_block(self.target))

    def run_grain(self, stage: Stage, index: int, size: int) -> Grain:
        """Outcomes of `size` trials; InvalidTrials where they are none to be counted."""
        self.guard.look(self.pair)
        coins = stream(self.seed, stage, index, COINS)
        start = int(coins.integers(2))
        first = np.unpackbits(np.frombuffer(coins.bytes(-(-size // 8)), np.uint8), count=size).view(bool)
        values: npt.NDArray[Any] = blank(self.form, size).values
        names: npt.NDArray[Any] | None = None
        said = set()
        for arm in (start, 1 - start):
            rows = first if arm == FIRST else ~first
            outcomes, failing = self._arm(arm, stage, index, int(np.count_nonzero(rows)))
            if outcomes.values.dtype.itemsize > values.dtype.itemsize:
                values = values.astype(outcomes.values.dtype)
            values[rows] = outcomes.values  # a copy at once: the target may use its buffer again
            if outcomes.failures is not None:
                names = np.zeros(size, "U1") if names is None else names
                names = names.astype(np.result_type(names, outcomes.failures))
                names[rows] = outcomes.failures
            said.add(failing)
        self.guard.check(self.pair)
        return Grain(index, Outcomes(values, names), first, frozenset(said - {""}))

    def _arm(self, arm: int, stage: Stage, index: int, size: int) -> tuple[Outcomes, str]:
        def streams(attempt: int) -> np.random.Generator:
            return stream(self.seed, stage, index, arm, *([attempt] if attempt else []))

        data = self.pair[arm]
        return release_outcomes(self.target, data, self.form, streams, size, answers=self.answers, index=index)

    def grains(self, trials: int) -> Iterator[grains.Block]:
        """(index, size) of every grain of a run of `trials`."""
        return grains.grains(trials, self.largest, growing=own_block(self.target) is None)


def _shapes(seed: int, arm: int) -> Streams:
    return lambda attempt: stream(seed, Stage.SHAPE, arm, *([attempt] if attempt else []))


@dataclass(frozen=True, eq=False)
class SelectionTrials:
    """Trials that choose the attack: outcomes, and which dataset each came from (True = the first)."""

    outcomes: Outcomes
    first: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.outcomes)


def select(
    experiment: Experiment, trials: int, *, jobs: int = 1, backend: str = "loky", stage: Stage = Stage.SELECT
) -> SelectionTrials:
    """`trials` trials that choose something (never `Stage.ESTIMATE`), held in memory."""
    if stage is Stage.ESTIMATE:
        raise ParameterError("stage", stage, "a stage that does not certify")
    work = partial(_run, experiment, stage, None)
    held = [grain for _, grain in _spread(work, experiment, experiment.grains(trials), trials, jobs, backend)]
    if not held:
        return SelectionTrials(blank(experiment.form, 0), np.zeros(0, bool))
    return past_trials(held)


def estimate(
    experiment: Experiment,
    trials: int,
    summarise: Callable[[Grain], Result],
    *,
    jobs: int = 1,
    backend: str = "loky",
    store: Checkpoint[Result] | None = None,
) -> Iterator[tuple[int, Result]]:
    """Runs certifying trials grain by grain; yields (trials in the grain, its summary), in order.

    Outcomes are dropped as soon as they are summarised: memory does not grow with `trials`. Grains that the
    `store` knows are not run again, and those that are run are put there.
    """
    work = partial(_run, experiment, Stage.ESTIMATE, summarise)
    missing = (block for block in experiment.grains(trials) if store is None or store.get(block) is None)
    results = _spread(work, experiment, missing, trials, jobs, backend)
    for block in experiment.grains(trials):
        known = None if store is None else store.get(block)
        if known is None:
            _, known = next(results)
            if store is not None:
                store.add(block, known)
        yield block[1], known


def _spread(
    work: Callable[[list[grains.Block]], list[Any]],
    experiment: Experiment,
    blocks: Iterator[grains.Block],
    trials: int,
    jobs: int,
    backend: str,
) -> Iterator[tuple[grains.Block, Any]]:
    """Each grain with its result, in order: several grains are one task of a worker, each grain one here."""
    used = grains.workers(trials, experiment.seconds, jobs, backend)
    here = (used, backend) == (1, "loky")
    groups = ([block] for block in blocks) if here else grains.tasks(blocks, trials, experiment.seconds, used)
    return chain.from_iterable(ordered_map(work, groups, jobs=used, backend=backend))


def _run(
    experiment: Experiment, stage: Stage, summarise: Callable[[Grain], Any] | None, blocks: list[grains.Block]
) -> list[tuple[grains.Block, Any]]:
    drawn = ((block, experiment.run_grain(stage, *block)) for block in blocks)
    return [(block, grain if summarise is None else summarise(grain)) for block, grain in drawn]


def wagered(
    experiment: Experiment, summarise: Callable[[Grain], Result], keep: bool, block: grains.Block
) -> tuple[Result, Grain | None]:
    """A grain of certifying trials under a settled rule, and the grain itself if it is kept."""
    grain = experiment.run_grain(Stage.ESTIMATE, *block)
    return summarise(grain), grain if keep else None


def past_trials(held: list[Grain]) -> SelectionTrials:
    """Grains that have been wagered on, as trials that choose rules for later grains."""
    return SelectionTrials(concatenate([grain.outcomes for grain in held]), np.concatenate([g.first for g in held]))
