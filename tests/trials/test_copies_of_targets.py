"""What copies of a target show: scores that remember releases, and laws that depend on the process."""

import multiprocessing
import os
import time

import numpy as np
import pytest

from dpverify import audit, Pair, PureDP
from dpverify.errors import InvalidTrials
from dpverify.trials.collect import Experiment
from dpverify.trials.health.sentinel import check_target, NO_COPY
from dpverify.trials.target import as_target

PAIR = Pair(0.0, 1.0)


class Honest:
    """Laplace noise of scale 1: exactly 1-DP."""

    def release(self, data, *, rng, size):
        return data + rng.laplace(size=size)

    def log_ratio(self, outputs, pair):
        return abs(outputs - pair.second) - abs(outputs - pair.first)


class Looks(Honest):
    """Scores by a list of what was released on which dataset: eps 6.8 was certified for a 1-DP release."""

    def __init__(self):
        self.seen = {}

    def release(self, data, *, rng, size):
        outputs = super().release(data, rng=rng, size=size)
        self.seen.update(dict.fromkeys(outputs.tolist(), data))
        return outputs

    def log_ratio(self, outputs, pair):
        return np.array([3.0 if self.seen.get(each) == pair.first else -3.0 for each in outputs.tolist()])


class Centred(Honest):
    """Scores by where the last release was made."""

    centre = 0.0

    def release(self, data, *, rng, size):
        self.centre = data
        return super().release(data, rng=rng, size=size)

    def log_ratio(self, outputs, pair):
        return -abs(outputs - self.centre)


class Lazy(Honest):
    """Computes something in its first call, the same for every dataset: allowed."""

    scale = None

    def release(self, data, *, rng, size):
        self.scale = 1.0
        return super().release(data, rng=rng, size=size)

    def log_ratio(self, outputs, pair):
        return super().log_ratio(outputs, pair) / self.scale


class Keyed(Honest):
    """The same for each dataset that it has seen."""

    def __init__(self):
        self.known = {}

    def release(self, data, *, rng, size):
        self.known[data] = data
        return super().release(data, rng=rng, size=size)

    def log_ratio(self, outputs, pair):
        return abs(outputs - self.known[pair.second]) - abs(outputs - self.known[pair.first])


@pytest.mark.parametrize("target", [Looks(), Centred()])
def test_a_score_that_remembers_is_invalid(target):
    assert audit(target, claim=PureDP(1.0), pair=PAIR, trials=2000, seed=1).verdict == "INVALID"


@pytest.mark.parametrize("target", [Honest(), Lazy(), Keyed()])
def test_a_score_that_does_not_is_judged(target):
    record = audit(target, claim=PureDP(1.0), pair=PAIR, trials=2000, seed=1)
    assert record.verdict == "NOT_REFUTED"
    assert NO_COPY not in record.notes


def test_a_score_that_is_not_used_is_not_looked_at():
    asked = {"claim": PureDP(1.0), "pair": PAIR, "trials": 2000, "seed": 1}
    assert audit(Looks(), score="classifier", **asked).verdict == "NOT_REFUTED"


FIRST, SECOND = type("Data", (), {})(), type("Data", (), {})()
KNOWN = {"first": id(FIRST), "second": id(SECOND)}  # travels by value: identities do not


def by_identity(data, *, rng, size):
    time.sleep(3e-4 * size)
    return 3.0 * (id(data) == KNOWN["second"]) + rng.laplace(size=size)


def by_process(data, *, rng, size):
    time.sleep(3e-4 * size)
    return rng.laplace(0.0, 1.0 if multiprocessing.parent_process() is None else 2.0, size)


def of_number(main):
    def by_number(data, *, rng, size):
        time.sleep(3e-4 * size)
        return rng.laplace(0.0, 1.0 if os.getpid() == main else 2.0, size)

    return by_number


def by_stream(data, *, rng, size):
    time.sleep(3e-4 * size)
    return rng.laplace(size=size)


def sent(target, pair, **asked):
    """Only the sentinel, with a run of 6 s or more before it, hence with workers."""
    return check_target(Experiment.of(as_target(target), pair, 1), 20_000, **asked)


@pytest.mark.process
@pytest.mark.parametrize("target", [by_identity, by_process, of_number(os.getpid())])
def test_a_law_that_depends_on_the_process_is_invalid_where_others_would_run_it(target):
    """With jobs=2, `by_identity` had eps_lower 0; it tells the datasets apart (eps 3)."""
    pair = Pair(FIRST, SECOND)
    sent(target, pair)  # in one process there is nothing to compare
    with pytest.raises(InvalidTrials, match="another process"):
        sent(target, pair, jobs=2)


@pytest.mark.process
def test_a_law_that_does_not_passes_there():
    _, notes = sent(by_stream, PAIR, jobs=2)
    assert notes == ()
