"""An array must not make two different releases one; scores are real numbers; blocks are counts of trials."""

import fractions

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify import audit, loop_trials, Pair, PureDP
from dpverify.errors import InvalidTrials, TargetError
from dpverify.trials.outcomes import read_outcomes

PAIR = Pair(0, 1)


def verdict(target, **asked):
    return audit(target, claim=PureDP(1.0), pair=PAIR, trials=2000, seed=1, **asked).verdict


LOSES = {
    "low bits of a long double": lambda data, rng, size: 1 + np.longdouble(2.0) ** -60 * np.full(size, data),
    "NUL at the end": lambda data, rng, size: ["a\0" if data else "a"] * size,
    "a number as text": lambda data, rng, size: [["x", 1 if data else "1"]] * size,
    "a large whole number as float": lambda data, rng, size: [[0.5, 2**53 + data]] * size,
    "a larger one": lambda data, rng, size: [[-1, 2**63 + data]] * size,
    "bytes as text": lambda data, rng, size: [["x", b"a" if data else "a"]] * size,
}


@pytest.mark.parametrize("name", LOSES)
def test_what_no_array_keeps_is_not_judged(name):
    """Each tells the datasets apart with certainty, and did so without a word: eps_lower was 0."""

    def release(data, *, rng, size):
        return LOSES[name](data, rng, size)

    def once(data, *, rng):
        return LOSES[name](data, rng, 1)[0]

    assert np.array_equal(np.asarray(release(0, rng=None, size=3)), np.asarray(release(1, rng=None, size=3))) or (
        name == "low bits of a long double"
    )  # the bug that is planted: NumPy sees no difference
    assert verdict(release) == "INVALID"
    assert verdict(loop_trials(once)) == "INVALID"


def test_trials_of_a_loop_are_of_one_kind():
    """'1' on one dataset and 1 on the other, beside text: one array of text would hold them both as '1'."""

    def once(data, *, rng):
        return "0" if rng.random() < 0.5 else (1 if data else "1")

    def large(data, *, rng):
        return 0.5 if rng.random() < 0.5 else 2**53 + data

    assert verdict(loop_trials(once)) == "INVALID"
    assert verdict(loop_trials(large)) == "INVALID"


scalars = st.one_of(
    st.integers(-(2**65), 2**65),
    st.sampled_from([2**53 + 1, 2**53, 0, 1]),
    st.booleans(),
    st.floats(),
    st.sampled_from(["1", "1\0", "", "True", "0.5"]),
    st.sampled_from([b"1", None, 1j]),
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(scalars, min_size=2, max_size=3), st.lists(scalars, min_size=2, max_size=3))
def test_equal_arrays_come_from_equal_lists(one, other):
    """For all lists of one length: where both are read, and as equal, they were equal value by value and in text."""
    other = (other + one)[: len(one)]
    found = []
    for each in (one, other):
        try:
            found.append(read_outcomes(None, each, len(one)).values)
        except (InvalidTrials, TargetError):
            return
    if found[0].dtype.kind == found[1].dtype.kind and np.array_equal(*found):
        assert all(
            isinstance(a, str) == isinstance(b, str) and (a == b or (a != a and b != b))
            for a, b in zip(one, other, strict=True)
        )


class Noise:
    def __init__(self, ratio=None, block=None):
        self.ratio, self.trials_per_block = ratio, block

    def release(self, data, *, rng, size):
        return data + rng.laplace(size=size)

    def log_ratio(self, outputs, pair):
        right = abs(outputs - pair.second) - abs(outputs - pair.first)
        return right if self.ratio is None else self.ratio(right)


def test_log_ratios_are_real_numbers():
    for ratio in (
        lambda x: x + 1j,
        lambda x: x.astype(str),
        lambda x: x.astype("datetime64[s]"),
        lambda x: [None] * len(x),
    ):
        with pytest.raises(TargetError, match="must be"):
            verdict(Noise(ratio))
    exact = [fractions.Fraction(1, 3), fractions.Fraction(-1, 3)]
    assert verdict(Noise(lambda x: np.array([exact[int(each < 0)] for each in x]))) == "NOT_REFUTED"


@pytest.mark.parametrize("block", [0, -1, 1.5, "many", True, float("nan")])
def test_blocks_are_counts_of_trials(block):
    """A block of no trials was asked for again and again, for ever."""
    with pytest.raises(TargetError, match="trials_per_block"):
        verdict(Noise(block=block))
