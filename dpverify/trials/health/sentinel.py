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
    no noise kept   releases that draw nothing, of a target whose source draws when it is made or imported, are one
                    draw for all of them: eps is about all releases together, which trials cannot judge
    processes       where workers will be used, one of them gives B on both datasets
A constant target has one arrangement and passes. -log of each probability is at most exponential, the two
datasets are independent: their sum exceeds t with probability at most (1 + t) e^-t.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter  # as it is now, whatever audited code makes of the module
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.base.seeding import Stage, stream
from dpverify.base.sites import Site, site_text
from dpverify.claims.neighbours import Pair
from dpverify.errors import InvalidTrials
from dpverify.execution.executors import ordered_map
from dpverify.trials import collect
from dpverify.trials.collect import Experiment
from dpverify.trials.health.fingerprint import pickled, unpickled
from dpverify.trials.health.provenance import drawn_before, stored_draws
from dpverify.trials.outcomes import blank, concatenate, one_call, Outcomes
from dpverify.trials.target import is_reproducible, name_of

# ----------------------------------------------------------------------------------------------------------------------
# Calls that are made more than once, and whether they gave the same.


CALLS = 100  # keys of the sentinel's streams: away from that of the form
SAME = 1e-9  # differences of this share of the largest number are rounding (threaded sums)
Seen = Outcomes | str  # what a call gave, or the name of what it raised


def call(experiment: Experiment, arm: int, key: int, size: int) -> Seen:
    """`size` releases of the target in one call, from the stream that the key names."""
    rng = stream(experiment.seed, Stage.SHAPE, CALLS + key, arm)
    seen = one_call(experiment.target, experiment.pair[arm], experiment.form, rng, size, experiment.answers)
    # a copy: the target may use its buffer again
    return seen if isinstance(seen, str) else Outcomes(np.array(seen.values), seen.failures)


def alike(one: Seen, other: Seen) -> bool:
    """Equal but for rounding; two calls that raised are alike where the names are."""
    if isinstance(one, str) or isinstance(other, str):
        return isinstance(one, str) and isinstance(other, str) and one == other
    if one.values.dtype.kind != "f" or _names(one) != _names(other):
        return keys(one) == keys(other)
    a, b = one.rows.astype(float), other.rows.astype(float)
    with np.errstate(invalid="ignore"):  # inf - inf
        near = SAME * np.abs(np.where(np.isfinite(a), a, 0.0)).max(axis=0, initial=0.0)
        alike = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= near)
    return bool(alike.all())


def _names(outcomes: Outcomes) -> list[str]:
    return [] if outcomes.failures is None else outcomes.failures.tolist()


def keys(outcomes: Outcomes) -> list[bytes]:
    """One for each outcome, equal where they are."""
    rows, names = np.ascontiguousarray(outcomes.rows), outcomes.failures
    return [row.tobytes() if names is None else row.tobytes() + str(names[i]).encode() for i, row in enumerate(rows)]


# ----------------------------------------------------------------------------------------------------------------------
# What copies of a target do: one from before its first call, and one in another process.
#
# A target that remembers, or that depends on the process it is in, gives trials that are not draws of one law.


NO_COPY = "not checked: the target cannot be copied, so whether it remembers data that it has seen is not known"
ROUNDING = 1e-6  # difference of two scores of one output that is rounding, relative where scores are above 1

Scored = tuple[npt.NDArray[Any], npt.NDArray[np.float64]]  # values of releases, and their log ratios


def copied_before(experiment: Experiment, used: Seen, scored: Sequence[Scored], size: int) -> tuple[str, ...]:
    """Notes for the record; InvalidTrials where a target that has seen no data yet releases or scores otherwise.

    `used`: what the target gave on the second dataset. `scored`: what it scored when it had released it.
    """
    fresh = unpickled(experiment.pristine)

    def release(target: Any) -> Seen | None:
        return None if target is None else call(replace(experiment, target=target), 1, 1, size)

    found = release(fresh)
    if found is not None and not alike(used, found):
        # is it the copying? Sets may come in another order, foreign handles may be shared
        now = release(unpickled(pickled(experiment.target)))
        if now is not None and alike(used, now):
            raise InvalidTrials(
                "REMEMBERS",
                f"{name_of(experiment.target)}: it remembers data that it has seen, or releases that it made: a copy "
                "from before its first call gives others of the second dataset. What is fitted or drawn must be so in "
                "every call; to "
                "have each call made by a target that has seen nothing, wrap it: dpverify.loop_trials(lambda data, "
                "*, rng: ...) with a target that is made in there",
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
            "OTHER_PROCESS",
            f"{name_of(experiment.target)}: equal streams gave other releases in another process: it depends on more "
            "than data and stream, such as process numbers, identities of objects (`is`, `id`), the order of a set, "
            "or what the main program has set",
        )


def _scores(target: Any, pair: Pair, outcomes: Outcomes) -> list[Scored]:
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
        again = _scores(fresh, experiment.pair, Outcomes(values))
        if not again:  # it may compute something in its first call on the first dataset
            call(replace(experiment, target=fresh), 0, 1, 1)
            again = _scores(fresh, experiment.pair, Outcomes(values))
        if again and _equal(again[0][1], before):
            continue
        copy = _scores(unpickled(pickled(experiment.target)), experiment.pair, Outcomes(values))
        now = _scores(experiment.target, experiment.pair, Outcomes(values))
        if not (again and copy and now and _equal(copy[0][1], now[0][1])):  # it may be the copying
            return False
        raise InvalidTrials(
            "REMEMBERS",
            f"{name_of(experiment.target)}: log_ratio remembers what was released, or on which dataset: a copy that "
            "did not make these releases scores them otherwise. It must be a function of the output and the pair",
        )
    return True


def _equal(one: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> bool:
    with np.errstate(invalid="ignore"):  # inf - inf
        near = np.abs(one - other) <= ROUNDING * np.maximum(1.0, np.abs(other))
    return bool((near | (one == other) | (np.isnan(one) & np.isnan(other))).all())


def _in_worker(experiment: Experiment, size: int, arm: int) -> Seen:
    return call(experiment, arm, 1, size)


# ----------------------------------------------------------------------------------------------------------------------


THRESHOLD = 21.3  # nats: (1 + t) e^-t = 1.3e-8 for each of the tests
MARKS = 4  # of releases that are compared with single ones
TESTS = 2 + MARKS
LEVEL = TESTS * (1 + THRESHOLD) * math.exp(-THRESHOLD)  # with which an honest target is called INVALID here
CALL = 32  # releases in each of seven calls; and as many in all that are single
TELLING = 24  # fewer in a call, and their difference from single releases tells nothing
FEWEST = 8
SINGLES, LARGE_CALL = 512, 8192  # single releases before a refutation, and the size of the call beside them, at most
SHARE = 256  # of the trials, at least, for each call: heavy targets with few trials get smaller ones
COORDINATES = 8  # of an output whose sum says where it lies


FloatArray = npt.NDArray[np.float64]


def check_target(
    experiment: Experiment, trials: int, *, scored: bool = False, jobs: int = 1, backend: str = "loky"
) -> tuple[Experiment, tuple[str, ...]]:
    """Make a few releases before the audit, and refuse a target whose trials are not independent draws of one law.

    Returns the experiment with the measured seconds of a release, and notes for the record. InvalidTrials names what
    is wrong, for example that `rng` is not used. With `scored` the target's own log ratios are checked as well.
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
            ratios += _scores(target, experiment.pair, once)
        experiment.guard.check(experiment.pair)
    if unused > THRESHOLD:
        raise InvalidTrials("NO_RNG", f"{name_of(target)}: another stream gives the same releases: `rng` is not used")
    if shared > THRESHOLD:
        raise InvalidTrials(
            "ONE_DRAW",
            f"{name_of(target)}: all releases of a call are equal, and differ from those of the next call: one draw is "
            "made for the whole call (was `size=` forgotten?)",
        )
    if not is_reproducible(target):
        notes: tuple[str, ...] = (
            "not reproducible: the target declares operating-system randomness; equal seeds give other trials",
        )
    elif not same_stream:
        raise InvalidTrials(
            "OTHER_RANDOMNESS",
            f"{name_of(target)}: equal streams gave different releases: it keeps a state, or draws from elsewhere than "
            "`rng` (np.random, random). A target that is meant to draw from the operating system says "
            "`reproducible = False`",
        )
    else:
        if not alike(*others) and not _draws(experiment):
            if experiment.drew:
                raise InvalidTrials(
                    "KEPT_NOISE",
                    f"{name_of(target)}: its first release draws and later ones draw nothing: noise that is kept is "
                    "one draw for all releases together, which trials of one process cannot judge",
                )
            if kept := drawn_before(target) or stored_draws(target):
                raise InvalidTrials(
                    "KEPT_NOISE", f"{name_of(target)}: its releases draw nothing, and {kept_words(kept)}"
                )
        notes = copied_before(experiment, other, ratios, size)
        copied_elsewhere(experiment, others, size, collect.workers(trials, seconds, jobs, backend), backend)
    if by_size.max() > THRESHOLD:
        raise InvalidTrials(
            "CALL_SIZE",
            f"{name_of(target)}: {size} releases of one call have another law than single releases: what is drawn "
            "must not depend on `size`, which says how many rows to return and nothing else",
        )
    return replace(experiment, seconds=seconds), notes


def confirm_single(experiment: Experiment) -> None:
    """Compares many single releases with a call of the size of the trials, before trials refute a claim.

    A claim is about one release. InvalidTrials where releases of a large call have another law: then the trials are
    not about the claim. An honest target is called so with probability below `LEVEL`.
    """
    rare = np.zeros(MARKS)
    for arm in (0, 1):
        together = call(experiment, arm, 4, min(experiment.largest, LARGE_CALL))
        if not isinstance(together, str):
            rows = np.unique(np.linspace(0, len(together) - 1, 2 * SINGLES).astype(int))
            rare += _against_single(experiment, arm, together.take(rows), 2 * SINGLES)
    if rare.max() > THRESHOLD:
        raise InvalidTrials(
            "CALL_SIZE",
            f"{name_of(experiment.target)}: releases of a large call have another law than single releases, of which "
            "the claim speaks: what is drawn must not depend on `size`",
        )


def kept_words(kept: Sequence[Site]) -> str:
    """Why trials cannot judge a target with such lines."""
    return (
        f"{site_text(kept[0])} draws before them: noise that is kept is one draw for all releases together, which "
        "trials of one object cannot judge. Draw in `release`"
    )


def _draws(experiment: Experiment) -> bool:
    """Whether a release draws from `rng`."""
    for arm in (0, 1):
        rng = stream(experiment.seed, Stage.SHAPE, CALLS + 3, arm)
        before = repr(rng.bit_generator.state)
        one_call(experiment.target, experiment.pair[arm], experiment.form, rng, 1, experiment.answers)
        if repr(rng.bit_generator.state) != before:
            return True
    return False


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
    return max(0.0, math.log(every) - math.log(2 * min(below, every - below + ways[seen])))  # quotients may overflow


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
