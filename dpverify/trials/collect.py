"""Grains of trials on both datasets of a pair.

In each trial a fair coin picks the dataset. A grain draws its coins, then releases each arm in one vectorised call, the
arm that goes first picked by one more coin, and puts the releases where the coins say: order within an arm carries no
information where trials are independent, so this is the same law, and what looks at a grain as a whole (a score) sees
both arms mixed. Every grain has streams of its own, keyed by (stage, grain, arm), hence the same trials for any number
of workers.

Trials that choose (`SelectionTrials`) and trials that certify (tallies of a frozen attack) are different
types: there is no way to hand the one for the other.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from dpverify.base.imports import environment_kept
from dpverify.base.seeding import Stage, stream
from dpverify.claims.neighbours import Pair
from dpverify.errors import ParameterError, UsageError
from dpverify.execution import sources
from dpverify.execution.executors import ordered_map
from dpverify.execution.journal import Journal
from dpverify.trials.health.fingerprint import Guard, pickled
from dpverify.trials.outcomes import (
    Answers,
    blank,
    concatenate,
    first_form,
    Outcomes,
    OutputForm,
    release_outcomes,
    Streams,
)
from dpverify.trials.target import name_of, own_block, Target

# ----------------------------------------------------------------------------------------------------------------------
# Grains: the units in which trials are drawn, each with streams of its own, and the tasks that they are put into.
#
# The sizes of grains are a function of the target alone, so that streams depend neither on time nor on the budget:
# small ones first, then each a sixth of all before it. So a run of 10^5 trials of a scalar has 33 grains (blocks, in
# records and tests of independence), one of 2,000 has 7, and one of 10^7 hardly more than it would have at the largest
# size.
#
# Measured time decides only how many grains one task takes and whether workers are worth starting.


LARGEST_GRAIN = 1 << 16  # trials of scalars
GRAIN_ITEMS = 1 << 22  # numbers in a grain of larger outputs
SMALLEST_LIMIT = 64  # trials: outputs so large that fewer fit are not foreseen
FIRST_GRAIN = 256
GROWTH = 6  # a grain is this part of the trials before it
START_SECONDS = 2.0  # of expected work, below which starting local workers takes longer
TASK_SECONDS = 1.0  # of expected work in one task at most: what a crash or a checkpoint may lose
SHARES = 4  # tasks for each worker, at least, so that none waits long for the last one

Block = tuple[int, int]  # index, trials


def largest_grain(items: int, own: int | None) -> int:
    """Trials in the largest grain of outputs of `items` numbers; a target may say `trials_per_block` itself."""
    return own if own is not None else max(SMALLEST_LIMIT, min(LARGEST_GRAIN, GRAIN_ITEMS // max(1, items)))


def grains(trials: int, largest: int, *, growing: bool = True) -> Iterator[Block]:
    """(index, size) of every grain of a run of `trials`, one by one: there can be millions.

    All are of the largest size where they are not `growing`: a target that says `trials_per_block` gets just that.
    """
    done = index = 0
    while done < trials:
        size = min(largest, max(FIRST_GRAIN, done // GROWTH)) if growing else largest
        yield index, min(size, trials - done)
        done, index = done + size, index + 1


def tasks(blocks: Iterable[Block], trials: int, seconds: float, jobs: int) -> Iterator[list[Block]]:
    """Blocks in groups, each for one call of a worker; `seconds` is what one trial is expected to take."""
    most = trials if jobs == 1 else trials / (SHARES * jobs)
    if seconds > 0:
        most = min(most, TASK_SECONDS / seconds)
    group: list[Block] = []
    held = 0
    for block in blocks:
        if group and held + block[1] > most:
            yield group
            group, held = [], 0
        group.append(block)
        held += block[1]
    if group:
        yield group


def workers(trials: int, seconds: float, jobs: int, backend: str) -> int:
    """`jobs`, or 1 where starting local processes takes longer than the run; a cluster is used as it was asked for."""
    return 1 if backend == "loky" and trials * seconds < START_SECONDS else jobs


# ----------------------------------------------------------------------------------------------------------------------
# Certifying blocks that survive a crash: one line of a journal a block, written as soon as the block is counted.
#
# A line belongs to a key: a digest of everything that determines the block's summary. Lines of other keys, a
# last line cut short by the crash and repeated lines change nothing, so no block is lost and none counted twice.


Result = TypeVar("Result")


def checkpoint_digest(target: Any, *parts: Any) -> str:
    """A key for an experiment: the values of its target and of all else, the sources behind them, and our own.

    Data files that the target reads, and globals that are not as their modules are written, are the user's business, as
    with joblib.Memory. UsageError for values without a digest of their own: functions that are not importable by name.
    """
    with environment_kept():
        import joblib

    home = sources.file_of(getattr(target, "function", None) or getattr(target, "once", None) or target)
    if not home:
        raise UsageError("checkpoint: the target has no source file, so that no edit of it would be seen")
    loaded = [str(getattr(each, "__file__", None) or "") for each in list(sys.modules.values())]
    code = [sources.digest([home, *loaded]), sources.own_digest(), sources.installed()]
    try:
        return str(joblib.hash((target, parts, code), hash_name="sha1"))
    except Exception as error:  # whatever a foreign object raises when it is pickled
        raise UsageError(
            f"checkpoint: the target has values that cannot be told apart ({type(error).__name__}: {error}); "
            "use functions and classes of a module"
        ) from error


@dataclass
class Checkpoint(Generic[Result]):
    """Summaries by (block index, block size) under one key, in a file that may hold several keys."""

    path: Path
    key: str
    encode: Callable[[Result], Any]
    decode: Callable[[Any], Result]
    _store: Journal = field(init=False)

    def __post_init__(self) -> None:
        self._store = Journal.of(self.path)

    def get(self, block: tuple[int, int]) -> Result | None:
        """The summary of a block that was done before, or None."""
        found = self._store.get(("block", self.key, *block))
        return None if found is None else self.decode(found)

    def add(self, block: tuple[int, int], summary: Result) -> None:
        """Remembers a block: on disk before this returns."""
        self._store.add(("block", self.key, *block), self.encode(summary))


# ----------------------------------------------------------------------------------------------------------------------


FIRST, SECOND, COINS = 0, 1, 2  # the arms' streams, and the coins'


@dataclass(frozen=True, eq=False)
class Grain:
    """Trials in the order of their coins: `first` is True where the trial was made on the first dataset.

    `outcomes` says how failures became outcomes, see `outcomes`.
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
    drew: bool = field(default=False, compare=False, repr=False)  # its first release, from its stream

    @classmethod
    def of(cls, target: Target, pair: Pair, seed: int, answers: Answers = ()) -> "Experiment":
        """Learns the form of one release by making one; InvalidTrials where that changes the data."""
        guard = Guard(name_of(target))
        guard.look(pair)
        pristine = pickled(target)
        shapes = [_shapes(seed, arm) for arm in (FIRST, SECOND)]
        made: list[tuple[np.random.Generator, str]] = []

        def watched(arm: int) -> Streams:
            def given(attempt: int) -> np.random.Generator:
                rng = shapes[arm](attempt)
                made.append((rng, repr(rng.bit_generator.state)))
                return rng

            return given

        form = first_form(target, (pair.first, pair.second), [watched(FIRST), watched(SECOND)], answers)
        guard.check(pair)
        drew = any(repr(rng.bit_generator.state) != before for rng, before in made)
        return cls(target, pair, seed, form, answers, guard, pristine=pristine, drew=drew)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "seconds": 0.0, "pristine": None}

    @property
    def largest(self) -> int:
        """Trials in the largest grain, and in any call: a function of the target alone.

        A target with a heavy inner state may say `trials_per_block` itself.
        """
        return largest_grain(self.form.items, own_block(self.target))

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

    def grains(self, trials: int) -> Iterator[Block]:
        """(index, size) of every grain of a run of `trials`."""
        return grains(trials, self.largest, growing=own_block(self.target) is None)


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
    work: Callable[[list[Block]], list[Any]],
    experiment: Experiment,
    blocks: Iterator[Block],
    trials: int,
    jobs: int,
    backend: str,
) -> Iterator[tuple[Block, Any]]:
    """Each grain with its result, in order: several grains are one task of a worker, each grain one here."""
    used = workers(trials, experiment.seconds, jobs, backend)
    here = (used, backend) == (1, "loky")
    groups = ([block] for block in blocks) if here else tasks(blocks, trials, experiment.seconds, used)
    return chain.from_iterable(ordered_map(work, groups, jobs=used, backend=backend))


def _run(
    experiment: Experiment, stage: Stage, summarise: Callable[[Grain], Any] | None, blocks: list[Block]
) -> list[tuple[Block, Any]]:
    drawn = ((block, experiment.run_grain(stage, *block)) for block in blocks)
    return [(block, grain if summarise is None else summarise(grain)) for block, grain in drawn]


def wagered(
    experiment: Experiment, summarise: Callable[[Grain], Result], keep: bool, block: Block
) -> tuple[Result, Grain | None]:
    """A grain of certifying trials under a settled rule, and the grain itself if it is kept."""
    grain = experiment.run_grain(Stage.ESTIMATE, *block)
    return summarise(grain), grain if keep else None


def past_trials(held: list[Grain]) -> SelectionTrials:
    """Grains that have been wagered on, as trials that choose rules for later grains."""
    return SelectionTrials(concatenate([grain.outcomes for grain in held]), np.concatenate([g.first for g in held]))
