"""What copies of a target do: one from before its first call, and one in another process.

A target that remembers, or that depends on the process it is in, gives trials that are not draws of one law.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.base.errors import InvalidTrials
from dpverify.claims.neighbours import Pair
from dpverify.runs.executors import ordered_map
from dpverify.trials.collect import Experiment
from dpverify.trials.outcomes import Outcomes
from dpverify.trials.pristine import packed, unpacked
from dpverify.trials.repeated import alike, call, Seen
from dpverify.trials.target import name_of

NO_COPY = "not checked: the target cannot be copied, so whether it remembers data that it has seen is not known"
ROUNDING = 1e-6  # difference of two scores of one output that is rounding, relative where scores are above 1

Scored = tuple[npt.NDArray[Any], npt.NDArray[np.float64]]  # values of releases, and their log ratios


def copied_before(experiment: Experiment, used: Seen, scored: Sequence[Scored], size: int) -> tuple[str, ...]:
    """Notes for the record; InvalidTrials where a target that has seen no data yet releases or scores otherwise.

    `used`: what the target gave on the second dataset. `scored`: what it scored when it had released it.
    """
    fresh = unpacked(experiment.pristine)

    def release(target: Any) -> Seen | None:
        return None if target is None else call(replace(experiment, target=target), 1, 1, size)

    found = release(fresh)
    if found is not None and not alike(used, found):
        # is it the copying? Sets may come in another order, foreign handles may be shared
        now = release(unpacked(packed(experiment.target)))
        if now is not None and alike(used, now):
            raise InvalidTrials(
                f"{name_of(experiment.target)}: it remembers data that it has seen, or releases that it made: a copy "
                "from before its first call gives others of the second dataset. What is fitted or drawn must be so in "
                "every call; to "
                "have each call made by a target that has seen nothing, wrap it: dpverify.loop_trials(lambda data, "
                "*, rng: ...) with a target that is made in there"
            )
        found = None
    known = found is not None and (not scored or _scores_alike(experiment, fresh, scored))
    experiment.guard.check(experiment.pair)
    return () if known else (NO_COPY,)


def copied_elsewhere(experiment: Experiment, here: Sequence[Seen], size: int, jobs: int, backend: str) -> None:
    """InvalidTrials where a worker, if any will be used, does not do what this process did on the two datasets."""
    if (jobs, backend) == (1, "loky"):
        return
    there = ordered_map(partial(_in_worker, experiment, size), (0, 1), jobs=jobs, backend=backend)
    if not all(alike(one, other) for one, other in zip(here, there, strict=True)):
        raise InvalidTrials(
            f"{name_of(experiment.target)}: equal streams gave other releases in another process: it depends on more "
            "than data and stream, such as process numbers, identities of objects (`is`, `id`), the order of a set, "
            "or what the main program has set"
        )


def scores(target: Any, pair: Pair, outcomes: Outcomes) -> list[Scored]:
    """The target's log ratios of these outcomes; none where it has none, which whoever scores by them will say."""
    values = outcomes.values[~outcomes.failed]
    try:
        given = np.asarray(target.log_ratio(np.array(values), pair), dtype=float)  # a copy: it may change them
    except Exception:
        return []
    return [(values, given)] if given.shape == values.shape[:1] else []


def _scores_alike(experiment: Experiment, fresh: Any, scored: Sequence[Scored]) -> bool:
    """True where a target that has not made these releases scores them the same; False where that cannot be told."""
    for values, before in scored:
        again = scores(fresh, experiment.pair, Outcomes(values))
        if not again:  # it may compute something in its first call on the first dataset
            call(replace(experiment, target=fresh), 0, 1, 1)
            again = scores(fresh, experiment.pair, Outcomes(values))
        if again and _equal(again[0][1], before):
            continue
        copy = scores(unpacked(packed(experiment.target)), experiment.pair, Outcomes(values))
        now = scores(experiment.target, experiment.pair, Outcomes(values))
        if not (again and copy and now and _equal(copy[0][1], now[0][1])):  # it may be the copying
            return False
        raise InvalidTrials(
            f"{name_of(experiment.target)}: log_ratio remembers what was released, or on which dataset: a copy that "
            "did not make these releases scores them otherwise. It must be a function of the output and the pair"
        )
    return True


def _equal(one: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> bool:
    with np.errstate(invalid="ignore"):  # inf - inf
        near = np.abs(one - other) <= ROUNDING * np.maximum(1.0, np.abs(other))
    return bool((near | (one == other) | (np.isnan(one) & np.isnan(other))).all())


def _in_worker(experiment: Experiment, size: int, arm: int) -> Seen:
    return call(experiment, arm, 1, size)
