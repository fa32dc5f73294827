"""A few releases before anything is spent: does the target use the stream that it is given, and nothing else?

On each dataset three calls of the same size n: A and A' from equal streams, B from another one, and n/2 calls of one
release.
    A = A'          or the target draws from elsewhere, or keeps a state; allowed only to `reproducible = False`
    B unlike A      or `rng` is not used. If releases are independent, B is any arrangement of its values with equal
                    probability, so B = A has probability at most 1/m given those values, m the number of arrangements
    not one draw    if every release of A is a and every one of B is b != a, one draw was made for the whole call: an
                    arrangement of n values a and n values b that has probability 2/C(2n, n)
    single as many  of A, B and the n/2 single releases together, the n/2 largest, the n/2 smallest, those in the middle
                    third, or of the most frequent value fall among the single ones as chance will have it
                    (hypergeometric, both tails). Only gross differences are seen: noise by the number of rows, none
                    for one row, a mean that is taken off
    no memory       a copy of the target from before its first call gives B on the second dataset, too, or the target
                    remembers: data that it has seen before, or releases that it has made
    scores          that copy gives A the log ratios that the target gave it
    processes       where workers will be used, one of them gives B on both datasets
A constant target has one arrangement and passes. -log of each probability is at most exponential, the two
datasets are independent: their sum exceeds t with probability at most (1 + t) e^-t.
"""

import math
from collections import Counter
from dataclasses import replace
from time import perf_counter  # as it is now, whatever audited code makes of the module

import numpy as np
import numpy.typing as npt

from dpverify.base.errors import InvalidTrials
from dpverify.base.seeding import Stage, stream
from dpverify.trials import grains
from dpverify.trials.collect import Experiment
from dpverify.trials.copies import copied_before, copied_elsewhere, Scored, scores
from dpverify.trials.failing import blank, one_call
from dpverify.trials.outcomes import concatenate, Outcomes
from dpverify.trials.repeated import alike, call, CALLS, keys, Seen
from dpverify.trials.target import is_reproducible, name_of

THRESHOLD = 21.3  # nats: (1 + t) e^-t = 1.3e-8 for each of the tests
MARKS = 4  # of releases that are compared with single ones
TESTS = 2 + MARKS
LEVEL = TESTS * (1 + THRESHOLD) * math.exp(-THRESHOLD)  # with which an honest target is called INVALID here
CALL = 32  # releases in each of seven calls; and as many in all that are single
TELLING = 24  # fewer in a call, and their difference from single releases tells nothing
FEWEST = 8
SHARE = 256  # of the trials, at least, for each call: heavy targets with few trials get smaller ones
COORDINATES = 8  # of an output whose sum says where it lies


FloatArray = npt.NDArray[np.float64]


def watched(
    experiment: Experiment, trials: int, *, scored: bool = False, jobs: int = 1, backend: str = "loky"
) -> tuple[Experiment, tuple[str, ...]]:
    """The experiment with the time that a release takes, and notes for the record; InvalidTrials, see the module.

    `scored`: the target's own log ratios are the score. `jobs` and `backend` are those of the audit.
    """
    size = max(1, min(CALL, max(FEWEST, trials // SHARE), experiment.largest))
    target, seconds = experiment.target, math.inf
    same_stream, unused, shared, by_size = True, 0.0, 0.0, np.zeros(MARKS)
    others: list[Seen] = []
    ratios: list[Scored] = []
    for arm in (0, 1):
        once, again = call(experiment, arm, 0, size), call(experiment, arm, 0, size)
        started = perf_counter()
        other = call(experiment, arm, 1, size)
        seconds = min(seconds, (perf_counter() - started) / size)
        others.append(other)
        same_stream = same_stream and alike(once, again)
        if not isinstance(once, str) and not isinstance(other, str):
            unused += _arrangements(once) if keys(once) == keys(other) else 0.0
            shared += _one_draw(once, other)
            by_size += _against_single(experiment, arm, concatenate([once, other]), size)
        if scored and not isinstance(once, str):
            ratios += scores(target, experiment.pair, once)
        experiment.guard.check(experiment.pair)
    if unused > THRESHOLD:
        raise InvalidTrials(f"{name_of(target)}: another stream gives the same releases: `rng` is not used")
    if shared > THRESHOLD:
        raise InvalidTrials(
            f"{name_of(target)}: all releases of a call are equal, and differ from those of the next call: one draw is "
            "made for the whole call (was `size=` forgotten?)"
        )
    if not is_reproducible(target):
        notes: tuple[str, ...] = (
            "not reproducible: the target declares operating-system randomness; equal seeds give other trials",
        )
    elif not same_stream:
        raise InvalidTrials(
            f"{name_of(target)}: equal streams gave different releases: it keeps a state, or draws from elsewhere than "
            "`rng` (np.random, random). A target that is meant to draw from the operating system says "
            "`reproducible = False`"
        )
    else:
        notes = copied_before(experiment, other, ratios, size)
        copied_elsewhere(experiment, others, size, grains.workers(trials, seconds, jobs, backend), backend)
    if by_size.max() > THRESHOLD:
        raise InvalidTrials(
            f"{name_of(target)}: {size} releases of one call have another law than single releases: what is drawn "
            "must not depend on `size`, which says how many rows to return and nothing else"
        )
    return replace(experiment, seconds=seconds), notes


def _against_single(experiment: Experiment, arm: int, together: Outcomes, size: int) -> FloatArray:
    """-log of the probabilities of how single releases lie among those of whole calls; see the module."""
    if size < TELLING or hasattr(experiment.target, "attempts"):  # a loop makes single releases anyway
        return np.zeros(MARKS)
    rng = stream(experiment.seed, Stage.SHAPE, CALLS + 2, arm)
    target, data = experiment.target, experiment.pair[arm]
    single = []
    for _ in range(size // 2):
        found = one_call(target, data, experiment.form, rng, 1, experiment.answers)
        if isinstance(found, str):
            found = Outcomes(blank(experiment.form, 1).values, np.array([found]))
        single.append(found.take([0]))  # a copy: the target may use its buffer again
    return rarity(concatenate([*single, together]), len(single))


def rarity(outcomes: Outcomes, n: int) -> FloatArray:
    """-log p of three marks of the outcomes: how many of the first n have them, given how many of all have.

    Each mark is a function of all outcomes in any order: the n largest, the n smallest, in the middle third, the most
    frequent. Of equal ones, more may be marked.
    """
    found = keys(outcomes)
    counts = Counter(found)
    known = {key: place for place, key in enumerate(sorted(counts))}
    labels = np.array([known[key] for key in found])
    places = labels.astype(float)
    if outcomes.values.dtype.kind != "U" and outcomes.rows.shape[1]:
        with np.errstate(over="ignore", invalid="ignore"):  # inf - inf
            sums = outcomes.rows[:, :COORDINATES].astype(float).sum(axis=1)
        places = np.where(outcomes.failed, np.inf, np.where(np.isnan(sums), -np.inf, sums))
    order = np.sort(places)
    third = len(order) // 3
    largest = max(counts.values())
    most = min(key for key, count in counts.items() if count == largest)
    marks = (
        places >= order[-n],
        places <= order[n - 1],
        (places >= order[third]) & (places <= order[-1 - third]),
        labels == known[most],
    )
    return np.array([_rarity(len(found), int(mark.sum()), n, int(mark[:n].sum())) for mark in marks])


def _rarity(trials: int, marked: int, n: int, seen: int) -> float:
    """-log of twice the smaller tail of the hypergeometric law, at least 0."""
    ways = [math.comb(marked, k) * math.comb(trials - marked, n - k) for k in range(seen + 1)]
    every, below = math.comb(trials, n), sum(ways)
    return max(0.0, math.log(every / (2 * min(below, every - below + ways[seen]))))


def _arrangements(outcomes: Outcomes) -> float:
    """log of the number of different orders of these outcomes."""
    counts = Counter(keys(outcomes)).values()
    return math.lgamma(len(outcomes) + 1) - sum(math.lgamma(count + 1) for count in counts)


def _one_draw(once: Outcomes, other: Outcomes) -> float:
    """-log Pr[each call constant | n of each of two values]; 0 where that is not what was seen."""
    first, second = set(keys(once)), set(keys(other))
    if len(first) != 1 or len(second) != 1 or first == second:
        return 0.0
    n = len(once)
    return math.lgamma(2 * n + 1) - 2 * math.lgamma(n + 1) - math.log(2)
