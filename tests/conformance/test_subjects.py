"""The same questions to every subject of the audits: the protocol that `dpverify.trials.target` states."""

import dataclasses
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from audits.papers import RELEASE, ROWS
from dpverify import Pair, Subject
from dpverify.base.seeding import Stage, stream
from dpverify.trials.target import as_target, ExactTarget
from dpverify.verdicts.discovery import discover

AUDITS = Path(__file__).parents[2] / "audits"
FOUND = discover([AUDITS])
SUBJECTS = FOUND.subjects
PLAIN = [subject for subject in SUBJECTS if isinstance(subject.pairs[0].first, list | int | float)]
EXACT = [subject for subject in SUBJECTS if isinstance(subject.target, ExactTarget)]

each_subject = pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
each_exact = pytest.mark.parametrize("subject", EXACT, ids=lambda subject: subject.name)
each_exact_pure = pytest.mark.parametrize(
    "subject", [subject for subject in EXACT if subject.claim.notion == "pure"], ids=lambda subject: subject.name
)
each_plain = pytest.mark.parametrize("subject", PLAIN, ids=lambda subject: subject.name)

NOISELESS = {  # these release the data itself, or without noise: what an audit must see through
    "no_privacy/exact-counts",
    "counters/printed-T1",  # log 1 = 0: no noise at all
    "counters/corrected!zeros-not-fed",  # an unvisited cell gets no noise
    "shuffle/as-printed-bits!noise-forgotten",
    "nash_vi/central-actions!exact-counts",
    "dp_ucbvi/central-actions!exact-counts",
    "pucb/corrected-actions!exact-counts",
    "pucb/corrected-actions-known-rewards!exact-counts",
    "apvi/gaussian-policy!exact-counts",
    "vapvi/policy!no-noise",
}
RARELY_DIFFERENT = {"dp_ucbvi/central-actions", "pucb/corrected-actions"}  # few actions, one of them far likelier


def test_what_names_a_paper_is_judged_where_the_table_says() -> None:
    rows = {(row.paper, row.audit) for row in ROWS}
    named = [each for each in (*FOUND.subjects, *FOUND.promises) if each.paper]
    assert len(named) > 150
    assert [each.name for each in named if (each.paper, f"audit_{each.name.partition('/')[0]}") not in rows] == []
    judged = {(each.paper, f"audit_{each.name.partition('/')[0]}") for each in named}
    assert {pair for pair in rows if pair[0] != RELEASE} - judged == set()


def release(subject: Subject, data: Any, *, size: int, seed: int = 1) -> Any:
    return as_target(subject.target).release(data, rng=stream(seed, Stage.SHAPE), size=size)


def state(value: Any) -> Any:
    """Everything that a value holds, without what it may have cached."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return type(value), [state(getattr(value, field.name)) for field in dataclasses.fields(value)]
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype, value.tobytes()
    if isinstance(value, list | tuple):
        return [state(each) for each in value]
    return repr(value)


def test_there_are_subjects_of_all_kinds() -> None:
    assert len(SUBJECTS) >= 30
    assert sum(subject.planted for subject in SUBJECTS) >= 15
    assert len(EXACT) >= 20
    assert len(PLAIN) >= 20


@each_subject
def test_trials_are_the_leading_axis(subject: Subject) -> None:
    for pair in subject.pairs:
        one, seven = release(subject, pair.first, size=1), release(subject, pair.second, size=7)
        assert len(one) == 1
        assert len(seven) == 7
        assert one.shape[1:] == seven.shape[1:]
        assert one.dtype == seven.dtype
        assert one.dtype in (np.dtype(np.float64), np.dtype(np.int64))


@each_subject
def test_all_randomness_comes_from_rng(subject: Subject) -> None:
    data = subject.pairs[0].first
    before = np.random.get_state()[1].copy()  # noqa: NPY002 - the leak that is looked for
    first, again = release(subject, data, size=40), release(subject, data, size=40)
    other = release(subject, data, size=40, seed=2)
    assert np.array_equal(first, again)
    if subject.name not in RARELY_DIFFERENT:
        assert np.array_equal(first, other) is (subject.name in NOISELESS)
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


@each_subject
def test_trials_differ_from_each_other(subject: Subject) -> None:
    trials = 20_000 if subject.name in RARELY_DIFFERENT else 200
    outputs = release(subject, subject.pairs[0].first, size=trials).reshape(trials, -1)
    assert (len(np.unique(outputs, axis=0)) == 1) is (subject.name in NOISELESS)


@each_subject
def test_neither_data_nor_settings_change(subject: Subject) -> None:
    pair = subject.pairs[0]
    data, settings = state(pair), state(subject.target)
    release(subject, pair.first, size=5)
    if isinstance(subject.target, ExactTarget):
        subject.target.log_ratio(release(subject, pair.second, size=5), pair)
    assert state(pair) == data
    assert state(subject.target) == settings


@each_plain
def test_array_data_is_not_written_to(subject: Subject) -> None:
    data = subject.pairs[0].first
    array = np.array(data)
    array.setflags(write=False)
    assert np.array_equal(release(subject, array, size=3), release(subject, data, size=3))


@each_subject
def test_settings_are_frozen_hashable_and_travel(subject: Subject) -> None:
    target = subject.target
    copy = pickle.loads(pickle.dumps(target))
    data = subject.pairs[0].first
    assert np.array_equal(
        release(dataclasses.replace(subject, target=copy), data, size=4), release(subject, data, size=4)
    )
    if dataclasses.is_dataclass(target):
        assert repr(copy) == repr(target)
        assert isinstance(hash(target), int)
        field = dataclasses.fields(target)[0].name
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(target, field, None)


@each_subject
def test_claim_is_finite_and_pairs_are_neighbours(subject: Subject) -> None:
    assert 0 < subject.claim.number < math.inf
    assert 0 < subject.claim.eps < math.inf
    for pair in subject.pairs:
        assert subject.claim.check(pair).relation is subject.claim.relation
        assert pair.name


@each_subject
def test_expectation_fits_the_kind(subject: Subject) -> None:
    assert not subject.planted or subject.expected == "REFUTED"


@each_exact
def test_log_ratio_is_a_number_per_trial(subject: Subject) -> None:
    for pair in subject.pairs:
        for size in (1, 7):
            ratio = subject.target.log_ratio(release(subject, pair.first, size=size), pair)
            assert ratio.shape == (size,)
            assert ratio.dtype == np.float64
            assert not np.isnan(ratio).any()


@each_exact
def test_log_ratio_is_antisymmetric(subject: Subject) -> None:
    for pair in subject.pairs:
        swapped = Pair(pair.second, pair.first, pair.relation, pair.name)
        outputs = release(subject, pair.first, size=300)
        there, back = subject.target.log_ratio(outputs, pair), subject.target.log_ratio(outputs, swapped)
        assert np.allclose(there, -back, rtol=1e-12, atol=1e-12)


@each_exact
def test_equal_datasets_have_ratio_one(subject: Subject) -> None:
    data = subject.pairs[0].first
    assert np.all(subject.target.log_ratio(release(subject, data, size=50), Pair(data, data)) == 0)


@each_exact
def test_log_ratio_points_from_second_to_first(subject: Subject) -> None:
    """E_P tanh(r/2) - E_Q tanh(r/2) = integral of (p - q)^2/(p + q) = g >= 0; a swapped sign gives -g.

    Level: for two means of n = 10,000 values in [-1, 1] Hoeffding gives Pr[difference < g - 0.08] <=
    exp(-n 0.08^2/4) < 2e-7. Power: a swapped sign is caught up to 2e-7 where g >= 0.16 (eps = 1: g = 0.15,
    caught with more than 0.99).
    """
    n = 10_000
    for pair in subject.pairs:
        up = subject.target.log_ratio(release(subject, pair.first, size=n), pair)
        down = subject.target.log_ratio(release(subject, pair.second, size=n, seed=2), pair)
        assert np.tanh(up / 2).mean() - np.tanh(down / 2).mean() > -0.08


@each_exact_pure
def test_pure_claims_bound_the_exact_ratio(subject: Subject) -> None:
    """The log ratio of a true pure claim never leaves [-eps, eps]; that of a planted one does."""
    largest = 0.0
    for pair in subject.pairs:
        for data in pair:
            ratio = subject.target.log_ratio(release(subject, data, size=3000), pair)
            largest = max(largest, float(np.abs(ratio).max()))
    if subject.expected == "REFUTED":
        assert largest > subject.claim.eps * 1.05
    else:
        assert largest <= subject.claim.eps * (1 + 1e-9)


@each_exact
def test_ratio_averages_to_one(subject: Subject) -> None:
    """E over first of min(exp(-ratio), C) = E over second of min(1, C exp(ratio)): a change of measure.

    C = 4, means of n = 4000 values in [0, 4] and [0, 1]: by Hoeffding each misses its expectation by more
    than 0.18 (0.045) with probability at most 2 exp(-2 n 0.045^2) < 2e-7.
    """
    n, cap = 4000, 4.0
    for pair in subject.pairs:
        first = subject.target.log_ratio(release(subject, pair.first, size=n), pair)
        second = subject.target.log_ratio(release(subject, pair.second, size=n, seed=2), pair)
        left = np.exp(np.minimum(-first, math.log(cap))).mean()
        right = np.exp(np.minimum(0.0, math.log(cap) + second)).mean()
        assert abs(left - right) < 0.225
