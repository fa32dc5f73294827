"""Grains: the units in which trials are drawn, each with streams of its own, and the tasks that they are put into.

The sizes of grains are a function of the target alone, so that streams depend neither on time nor on the budget: small
ones first, then each a sixth of all before it. So a run of 10^5 trials of a scalar has 33 grains (blocks, in records
and tests of independence), one of 2,000 has 7, and one of 10^7 hardly more than it would have at the largest size.

Measured time decides only how many grains one task takes and whether workers are worth starting.
"""

from collections.abc import Iterable, Iterator

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
