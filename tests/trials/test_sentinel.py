"""The sentinel beyond streams: size, memory, dtype; names of failures; columns without any number."""

import itertools
import math
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify import audit, Pair, PureDP
from dpverify.base.text import clean, LABEL, label
from dpverify.errors import InvalidTrials
from dpverify.evidence.scores.coordinates import FeatureMap
from dpverify.evidence.scores.learned import BoostedFamily, LogisticFamily, RadialFamily
from dpverify.trials.collect import Experiment, SelectionTrials
from dpverify.trials.health import sentinel
from dpverify.trials.health.sentinel import _rarity, check_target, NO_COPY
from dpverify.trials.outcomes import Outcomes
from dpverify.trials.target import as_target

PAIR = Pair(0.0, 1.0)


def looked(target, trials=20_000, seed=1):
    return check_target(Experiment.of(as_target(target), PAIR, seed), trials)[1]


def test_rarity_is_a_p_value_by_enumeration():
    """P(-log p >= t) <= e^-t for every hypergeometric law up to 14 of which 5 are single."""
    for trials, n in itertools.product((7, 14), (1, 5)):
        for marked in range(trials + 1):
            ways = [math.comb(marked, k) * math.comb(trials - marked, n - k) for k in range(n + 1)]
            found = [_rarity(trials, marked, n, k) if w else 0.0 for k, w in enumerate(ways)]
            for t in found:
                assert sum(w for w, s in zip(ways, found, strict=True) if s >= t) / sum(ways) <= math.exp(-t) + 1e-12


def test_no_more_than_256_releases_are_repeated():
    asked = []

    def counts(data, *, rng, size):
        asked.append(size)
        return data + rng.laplace(size=size)

    experiment = Experiment.of(as_target(counts), PAIR, 1)
    asked.clear()
    check_target(experiment, 10**6)
    assert sum(asked) <= 256  # the copy counts into a list of its own
    assert 7 * sentinel.CALL + 2 * (sentinel.CALL // 2) <= 256


def centred(data, *, rng, size):
    x = rng.laplace(size=size)
    return data + x - x.mean()


def hides(remove):
    """eps = 10 in single releases, and nothing of it in a call of many."""

    def release(data, *, rng, size):
        x = 10 * data + rng.laplace(size=size)
        return x if size == 1 else x - remove(x)

    return release


def first_row_leaks(data, *, rng, size):
    x = rng.laplace(size=size)
    x[0] -= 10 * data
    return x


@pytest.mark.parametrize(
    "target",
    [
        centred,
        hides(np.mean),
        hides(np.median),
        first_row_leaks,
        lambda data, *, rng, size: rng.laplace(size=size) - 10 * data * (size == 1),
        lambda data, *, rng, size: data + rng.laplace(scale=0.2 * size, size=size),
        lambda data, *, rng, size: data + rng.laplace(size=size) + 100 * (size > 1),
        lambda data, *, rng, size: np.full(size, 7.0) if size == 1 else rng.laplace(size=size),
        lambda data, *, rng, size: np.array([["a", "b"][int(size > 1 and x < 0.95)] for x in rng.random(size)]),
    ],
)
def test_a_law_that_depends_on_the_number_of_rows_is_invalid(target):
    """Each mark separates 16 single releases from 64 others, on one dataset alone if need be: -log C(80, 16) is -38
    at most, with two rows of 64 like the single ones -33, and the threshold is at 21.3. On every seed tried."""
    for seed in range(5):
        with pytest.raises(InvalidTrials, match="must not depend on `size`"):
            looked(target, seed=seed)


def first_wins():
    kept = []

    def release(data, *, rng, size):
        kept.append(data)
        return kept[0] + rng.laplace(scale=0.1, size=size)

    return release


class Fitted:
    fit = None

    def release(self, data, *, rng, size):
        self.fit = data if self.fit is None else self.fit
        return self.fit + rng.laplace(size=size)


def memoised():
    made = {}

    def release(data, *, rng, size):
        if data not in made:
            made[data] = data + rng.laplace()
        return np.full(size, made[data])

    return release


def cached_noise():
    made = {}

    def release(data, *, rng, size):
        return data + made.setdefault("noise", rng.laplace(size=10_000))[:size]

    return release


class Lazy:
    """Draws once, at the first release, whatever is released then."""

    noise = None

    def release(self, data, *, rng, size):
        if self.noise is None:
            self.noise = rng.laplace()
        return np.full(size, data + self.noise)


@pytest.mark.parametrize("make", [memoised, cached_noise, Lazy])
def test_a_target_that_makes_one_release_for_ever_is_invalid(make):
    """Its claim may be true: it would be refuted by as many equal trials as one likes."""
    with pytest.raises(InvalidTrials, match=r"another stream|releases that it made|later ones draw nothing"):
        looked(make())
    assert audit(make(), claim=PureDP(1.0), pair=PAIR, trials=20_000, seed=1).verdict == "INVALID"


@pytest.mark.parametrize("make", [first_wins, Fitted])
def test_a_target_that_remembers_the_first_dataset_is_invalid(make):
    with pytest.raises(InvalidTrials, match=r"remembers data .*loop_trials"):
        looked(make())


def test_a_target_that_cannot_be_copied_says_so():
    def release(data, *, rng, size):
        assert handle is not None
        return data + rng.laplace(size=size)

    handle = threading.Lock()
    assert looked(release) == (NO_COPY,)
    assert looked(lambda data, *, rng, size: data + rng.laplace(size=size)) == ()


@pytest.mark.parametrize(("one", "other"), [("f4", "f8"), ("f8", "i8"), ("?", "u1")])
def test_a_dtype_that_differs_is_invalid(one, other):
    record = audit(
        lambda data, *, rng, size: np.zeros(size, other if data else one), claim=PureDP(1.0), pair=PAIR, trials=200
    )
    assert record.verdict.value == "INVALID"


@given(st.text(max_size=300), st.text(max_size=300))
def test_labels_are_short_clean_and_tell_names_apart(one, other):
    assert 0 < len(label(one)) <= LABEL
    assert clean(label(one)) == label(one)
    assert (label(one) == label(other)) == (one == other)


ODD = {
    "nan": [np.nan],
    "inf": [np.inf],
    "-inf": [-np.inf],
    "both": [np.inf, -np.inf],
    "all odd": [np.nan, np.inf, -np.inf],
    "one value": [3.0],
    "one value or nan": [3.0, np.nan],
}


@settings(max_examples=20)
@given(st.lists(st.sampled_from(sorted(ODD)), min_size=1, max_size=3), st.booleans(), st.integers(0, 99))
def test_columns_without_numbers_break_no_score(columns, leaks, seed):
    rng = np.random.Generator(np.random.PCG64(seed))
    n, first = 200, rng.random(200) < 0.5
    table = [rng.choice(ODD[name], n) for name in columns] + ([rng.laplace(size=n) + 5 * first] if leaks else [])
    outcomes = Outcomes(np.stack(table, axis=1))
    trials = SelectionTrials(outcomes, first)
    assert np.isfinite(FeatureMap.fit(outcomes).ranks(outcomes)).all()
    for family in (LogisticFamily(), LogisticFamily(bends=True, products=True), BoostedFamily(), RadialFamily()):
        assert np.isfinite(family.fit(trials)(outcomes)).all()


def test_rarity_of_many_releases_is_no_overflow():
    """All 512 marked ones of 1,536 among the 512 single ones: about 512 ln 3 and more nats, beyond all doubles."""
    assert 900 < _rarity(1536, 512, 512, 512) < 1000
