"""Blocks of trials on both datasets of a pair.

In each trial a fair coin picks the dataset. A block draws how many of its coins are heads, then releases
each arm in one vectorised call: order within a block carries no information, so this is the same law. Every
block has streams of its own, keyed by (stage, block, arm), hence the same trials for any number of workers.

Trials that choose (`SelectionTrials`) and trials that certify (tallies of a frozen attack) are different
types: there is no way to hand the one for the other.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from dpverify.base.errors import ParameterError
from dpverify.base.executors import ordered_map
from dpverify.base.seeding import Stage, stream
from dpverify.claims.neighbours import Pair
from dpverify.trials.checkpoint import Checkpoint
from dpverify.trials.outcomes import concatenate, Outcomes, output_form, OutputForm, release_outcomes
from dpverify.trials.target import Target

FIRST, SECOND, COINS = 0, 1, 2  # the arms' streams, and the coins'
BLOCK = 1 << 16  # trials in a block of scalars
BLOCK_ITEMS = 1 << 22  # numbers in a block of larger outputs
SMALLEST_BLOCK = 64
FEWEST_BLOCKS = 16  # for local workers

Result = TypeVar("Result")


@dataclass(frozen=True)
class Experiment:
    """A target on a pair of datasets, with the seed that determines every trial of it."""

    target: Target
    pair: Pair
    seed: int
    form: OutputForm

    @classmethod
    def of(cls, target: Target, pair: Pair, seed: int) -> "Experiment":
        """Learns the form of one release by making one."""
        rngs = [stream(seed, Stage.SHAPE, arm) for arm in (FIRST, SECOND)]
        return cls(target, pair, seed, output_form(target, (pair.first, pair.second), rngs))

    @property
    def block(self) -> int:
        """Trials in a block: a function of the target alone, so that streams do not depend on the budget.

        A target with a heavy inner state may say `trials_per_block` itself.
        """
        own = getattr(self.target, "trials_per_block", None)
        fitting = BLOCK_ITEMS // max(1, self.form.items)
        return int(own) if own is not None else max(SMALLEST_BLOCK, min(BLOCK, fitting))

    def run_block(self, stage: Stage, index: int, size: int) -> tuple[Outcomes, Outcomes]:
        """Outcomes of the trials whose coin picked the first, and the second, dataset."""
        heads = int(stream(self.seed, stage, index, COINS).binomial(size, 0.5))
        return (
            self._arm(FIRST, self.pair.first, stage, index, heads),
            self._arm(SECOND, self.pair.second, stage, index, size - heads),
        )

    def _arm(self, arm: int, data: Any, stage: Stage, index: int, size: int) -> Outcomes:
        rng = stream(self.seed, stage, index, arm)
        return release_outcomes(self.target, data, self.form, rng=rng, size=size)

    def no_outcomes(self) -> Outcomes:
        """Zero trials of this form."""
        return release_outcomes(self.target, None, self.form, rng=stream(self.seed, Stage.SHAPE), size=0)

    def blocks(self, trials: int) -> Iterator[tuple[int, int]]:
        """(index, size) of every block of a run of `trials`, one by one: there can be millions."""
        full, rest = divmod(trials, self.block)
        yield from ((index, self.block) for index in range(full))
        if rest:
            yield full, rest


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
    run = partial(_run, experiment, stage)
    workers = _workers(experiment, trials, jobs, backend)
    blocks = list(ordered_map(run, experiment.blocks(trials), jobs=workers, backend=backend))
    if not blocks:
        return SelectionTrials(experiment.no_outcomes(), np.zeros(0, bool))
    return past_trials(blocks)


def estimate(
    experiment: Experiment,
    trials: int,
    summarise: Callable[[Outcomes, Outcomes], Result],
    *,
    jobs: int = 1,
    backend: str = "loky",
    store: Checkpoint[Result] | None = None,
) -> Iterator[tuple[int, Result]]:
    """Runs certifying trials block by block; yields (trials in the block, its summary), in order.

    Outcomes are dropped as soon as they are summarised: memory does not grow with `trials`. Blocks that the
    `store` knows are not run again, and those that are run are put there.
    """
    work = partial(_summarise, experiment, summarise)
    missing = (block for block in experiment.blocks(trials) if store is None or store.get(block) is None)
    results = ordered_map(work, missing, jobs=_workers(experiment, trials, jobs, backend), backend=backend)
    for block in experiment.blocks(trials):
        known = None if store is None else store.get(block)
        if known is None:
            known = next(results)
            if store is not None:
                store.add(block, known)
        yield block[1], known


def _workers(experiment: Experiment, trials: int, jobs: int, backend: str) -> int:
    """One for a handful of blocks: starting local processes takes longer than running them."""
    return 1 if backend == "loky" and trials <= (FEWEST_BLOCKS - 1) * experiment.block else jobs


def _run(experiment: Experiment, stage: Stage, block: tuple[int, int]) -> tuple[Outcomes, Outcomes]:
    return experiment.run_block(stage, *block)


def _summarise(
    experiment: Experiment, summarise: Callable[[Outcomes, Outcomes], Result], block: tuple[int, int]
) -> Result:
    return summarise(*experiment.run_block(Stage.ESTIMATE, *block))


Held = tuple[Outcomes, Outcomes]  # a block's outcomes on the first and on the second dataset


def wagered_block(
    experiment: Experiment,
    summarise: Callable[[Outcomes, Outcomes], Result] | None,
    keep: bool,
    block: tuple[int, int],
) -> tuple[Result | None, Held | None]:
    """A block of certifying trials under a settled rule (None: no rule yet), its outcomes if they are kept."""
    held = experiment.run_block(Stage.ESTIMATE, *block)
    return None if summarise is None else summarise(*held), held if keep else None


def past_trials(held: list[Held]) -> SelectionTrials:
    """Blocks that have been wagered on, as trials that choose rules for later blocks."""
    first = np.concatenate([np.repeat([True, False], [len(a), len(b)]) for a, b in held])
    return SelectionTrials(concatenate([arm for pair in held for arm in pair]), first)
