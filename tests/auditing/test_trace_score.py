"""`score="trace"`: the log ratio that the tape takes from the code, against the one that its author knows."""

import numpy as np
import pytest

from dpverify import audit, Pair, PureDP
from dpverify.base.seeding import Stage, stream
from dpverify.errors import ParameterError
from dpverify.tape.likelihood import likelihood
from dpverify.trials.target import as_target, loop_trials

DATA = Pair(np.array([3, 1, 0, 0]), np.array([2, 1, 0, 1]))


class Histogram:
    scale = 2.0

    def release(self, data, *, rng, size):
        return data + rng.laplace(scale=self.scale, size=(size, 4))

    def log_ratio(self, outputs, pair):
        first, second = (np.abs(outputs - data).sum(axis=1) for data in pair)
        return (second - first) / self.scale


class Normal(Histogram):
    def release(self, data, *, rng, size):
        return rng.normal(data, self.scale, (size, 4))

    def log_ratio(self, outputs, pair):
        first, second = (((outputs - data) ** 2).sum(axis=1) for data in pair)
        return (second - first) / (2 * self.scale**2)


class Adaptive(Histogram):
    """The second number is about the first cell where the first one was large: its shift depends on the transcript."""

    @staticmethod
    def _second(data, seen):
        return np.where(seen > 1.5, data[0], data[3])

    def release(self, data, *, rng, size):
        seen = data[0] + rng.laplace(scale=self.scale, size=size)
        return np.stack([seen, self._second(data, seen) + rng.laplace(scale=1.0, size=size)], axis=1)

    def log_ratio(self, outputs, pair):
        found = [
            -np.abs(outputs[:, 0] - data[0]) / self.scale - np.abs(outputs[:, 1] - self._second(data, outputs[:, 0]))
            for data in pair
        ]
        return found[0] - found[1]


class Geometric(Histogram):
    def release(self, data, *, rng, size):
        return data[0] + rng.geometric(0.05, size)

    def log_ratio(self, outputs, pair):
        with np.errstate(invalid="ignore"):
            first, second = (np.where(outputs > data[0], (outputs - data[0]) * np.log(0.95), -np.inf) for data in pair)
            return first - second


@pytest.mark.parametrize("kind", [Histogram, Normal, Adaptive, Geometric])
def test_the_log_ratio_is_the_author_s(kind):
    target = kind()
    found = likelihood(target, DATA, seed=1)
    assert (found.sides is None) == isinstance(target, Adaptive)
    for arm, data in enumerate(DATA):
        outputs = target.release(data, rng=stream(5, Stage.SHAPE, arm), size=60)
        assert found(outputs) == pytest.approx(target.log_ratio(outputs, DATA), rel=1e-9, abs=1e-9)


@pytest.mark.process
def test_the_audit_is_the_white_box_audit():
    target = Histogram()
    plain = as_target(lambda data, *, rng, size: target.release(data, rng=rng, size=size))
    asked = {"claim": PureDP(0.5), "pair": DATA, "trials": 20_000, "seed": 3}
    traced, exact = audit(plain, score="trace", **asked), audit(target, score="exact", **asked)
    assert (traced.score, exact.score) == ("trace", "likelihood")
    assert traced.number_lower == pytest.approx(
        exact.number_lower, rel=0.01
    )  # cuts among values that are equal but for rounding
    assert traced.verdict == "REFUTED"
    assert traced.selection_trials == exact.selection_trials
    two = audit(plain, score="trace", jobs=2, **asked)
    assert {**two.to_dict(), "seconds": 0} == {**traced.to_dict(), "seconds": 0}


def once(data, *, rng):
    return data[0] + rng.laplace()


def rounded(data, *, rng, size):
    return np.rint(data[0] + rng.laplace(size=size))


def largest(data, *, rng, size):
    return np.argmax(data + rng.laplace(size=(size, 4)), axis=1)


def foreign(data, *, rng, size):
    return data[0] + np.random.default_rng(7).laplace(size=size)


def test_a_loop_of_single_releases_is_scored_too():
    record = audit(loop_trials(once), claim=PureDP(0.4), pair=DATA, trials=4_000, seed=3, score="trace")
    assert (record.score, record.verdict) == ("trace", "REFUTED")


@pytest.mark.parametrize("target", [rounded, largest, foreign])
def test_it_is_refused_where_what_is_released_does_not_determine_the_transcript(target):
    with pytest.raises(ParameterError, match="dpverify trace") as caught:
        audit(target, claim=PureDP(1.0), pair=DATA, trials=1_000, seed=1, score="trace")
    assert "\n" not in str(caught.value)
