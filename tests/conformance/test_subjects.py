"""Claims, pairs and exact scores of the audits' subjects: the protocol that `dpverify.trials.target` states.

A test asks one subject of each class of targets and names those that fail; releases are made once for all questions.
"""

import dataclasses
import functools
import math
import pickle
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from in_process import load_folder

from audits.papers import misnamed, OFFLINE, PUCB, RELEASE, ROWS
from dpverify import Pair, Subject
from dpverify.base.seeding import Stage, stream
from dpverify.promises import BROKEN, KEPT
from dpverify.trials.target import as_target, ExactTarget

AUDITS = Path(__file__).parents[2] / "audits"
FOUND = load_folder(AUDITS)
SUBJECTS = FOUND.subjects
PLAIN = [subject for subject in SUBJECTS if isinstance(subject.pairs[0].first, list | int | float)]
EXACT = list(
    {
        (type(subject.target), subject.expected): subject
        for subject in reversed(SUBJECTS)
        if isinstance(subject.target, ExactTarget)
    }.values()
)  # the first of its class that is true, and the first that is not: others differ in numbers

N = 4000


def failing(ask: Callable[[Subject], bool], subjects: Iterable[Subject] = SUBJECTS) -> list[str]:
    """Names of those who do not answer yes."""
    return [subject.name for subject in subjects if not ask(subject)]


def test_what_names_a_paper_is_judged_where_the_table_says() -> None:
    rows = {(row.paper, row.audit) for row in ROWS}
    named = [each for each in (*FOUND.subjects, *FOUND.promises) if each.paper]
    assert len(named) > 150
    assert [each.name for each in named if (each.paper, f"audit_{each.name.partition('/')[0]}") not in rows] == []
    judged = {(each.paper, f"audit_{each.name.partition('/')[0]}") for each in named}
    assert {pair for pair in rows if pair[0] != RELEASE} - judged == set()


def test_what_names_a_paper_says_where_and_what_is_called_false_stands_in_the_atlas() -> None:
    assert [said for each in (*FOUND.subjects, *FOUND.promises) if (said := misnamed(each))] == []


MISNAMED = [  # planted: (fields, what is said of it)
    ({"paper": PUCB, "statement": "all counters within E"}, "its statement has no place of a row of pucb"),
    ({"paper": PUCB, "statement": "Theorem 121: eps-DP"}, "its statement has no place of a row of pucb"),
    ({"paper": "DP-UCBVI", "statement": "Theorem 1"}, "is no paper of papers.toml"),
    ({"statement": "the bonus as printed"}, "speaks of what is printed, and names no text that was read"),
    ({"name": "counters/printed"}, "speaks of what is printed, and names no text that was read"),
    (
        {"name": "apvi/p", "paper": OFFLINE, "statement": "Lemma D.2", "expected": BROKEN},
        "its statement has no place of a row of offline",  # of another audit
    ),
    (
        {"name": "vapvi/p", "paper": OFFLINE, "statement": "Lemma D.2, half the bound", "expected": BROKEN},
        "is BROKEN, and no entry of the atlas speaks of Lemma D.2",
    ),
]


@pytest.mark.parametrize(("fields", "said"), MISNAMED)
def test_a_wrong_accusation_is_caught(fields: dict[str, str], said: str) -> None:
    promise = dataclasses.replace(FOUND.promises[0], **{"name": "counters/p", "paper": "", "expected": KEPT, **fields})
    assert said in misnamed(promise)


def release(subject: Subject, data: Any, *, size: int, seed: int = 1) -> Any:
    return as_target(subject.target).release(data, rng=stream(seed, Stage.SHAPE), size=size)


def test_there_are_subjects_of_all_kinds() -> None:
    assert len(SUBJECTS) >= 30
    assert sum(subject.planted for subject in SUBJECTS) >= 15
    assert len(EXACT) >= 20
    assert len(PLAIN) >= 20


def test_settings_are_frozen_and_hashable() -> None:
    for target in (subject.target for subject in SUBJECTS if dataclasses.is_dataclass(subject.target)):
        assert repr(pickle.loads(pickle.dumps(target))) == repr(target)
        assert isinstance(hash(target), int)
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(target, dataclasses.fields(target)[0].name, None)


def test_claims_are_finite_pairs_are_neighbours_and_expectations_fit_the_kind() -> None:
    def yes(subject: Subject) -> bool:
        return (
            0 < subject.claim.number < math.inf
            and 0 < subject.claim.eps < math.inf
            and (not subject.planted or subject.expected == "REFUTED")
            and all(
                pair.name and subject.claim.check(pair).relation is subject.claim.relation for pair in subject.pairs
            )
        )

    assert failing(yes) == []


@functools.cache
def ratios(index: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """N log ratios of an exact subject on the first and on the second dataset, for each pair."""
    target, pairs = EXACT[index].target, EXACT[index].pairs
    one = [target.log_ratio(release(EXACT[index], pair.first, size=N), pair) for pair in pairs]
    two = [target.log_ratio(release(EXACT[index], pair.second, size=N, seed=2), pair) for pair in pairs]
    return list(zip(one, two, strict=True))


def failing_exact(right: Callable[[np.ndarray, np.ndarray], bool]) -> list[str]:
    return [
        subject.name for index, subject in enumerate(EXACT) if not all(right(one, two) for one, two in ratios(index))
    ]


def test_log_ratio_is_a_number_per_trial_antisymmetric_and_zero_where_data_are_equal() -> None:
    def yes(subject: Subject) -> bool:
        target = subject.target
        for pair in subject.pairs:
            outputs = release(subject, pair.first, size=300)
            there = target.log_ratio(outputs, pair)
            back = target.log_ratio(outputs, Pair(pair.second, pair.first, pair.relation, pair.name))
            single = target.log_ratio(release(subject, pair.first, size=1), pair)
            if (there.shape, single.shape, there.dtype) != ((300,), (1,), np.float64) or np.isnan(there).any():
                return False
            if not np.allclose(there, -back, rtol=1e-12, atol=1e-12):
                return False
        data = subject.pairs[0].first
        return bool(np.all(target.log_ratio(release(subject, data, size=50), Pair(data, data)) == 0))

    assert failing(yes, EXACT) == []


def test_log_ratio_points_from_second_to_first() -> None:
    """E_P tanh(r/2) - E_Q tanh(r/2) = integral of (p - q)^2/(p + q) = g >= 0; a swapped sign gives -g.

    Level: for two means of n = 4,000 values in [-1, 1] Hoeffding gives Pr[difference < g - 0.12] <=
    exp(-n 0.12^2/4) < 6e-7. Power: a swapped sign is caught up to 6e-7 where g >= 0.24 (eps = 1: g = 0.15, values
    up to tanh(1/2), so a standard error of at most 0.011: caught with more than 0.99).
    """
    assert failing_exact(lambda up, down: np.tanh(up / 2).mean() - np.tanh(down / 2).mean() > -0.12) == []


def test_pure_claims_bound_the_exact_ratio() -> None:
    """The log ratio of a true pure claim never leaves [-eps, eps]; that of a planted one does."""
    wrong = []
    for index, subject in enumerate(EXACT):
        if subject.claim.notion == "pure":
            largest = max(float(np.abs(each).max()) for one, two in ratios(index) for each in (one, two))
            eps = subject.claim.eps
            if not (largest > eps * 1.05 if subject.expected == "REFUTED" else largest <= eps * (1 + 1e-9)):
                wrong.append(subject.name)
    assert wrong == []


def test_ratio_averages_to_one() -> None:
    """E over first of min(exp(-ratio), C) = E over second of min(1, C exp(ratio)): a change of measure.

    C = 4, means of n = 4000 values in [0, 4] and [0, 1]: by Hoeffding each misses its expectation by more
    than 0.18 (0.045) with probability at most 2 exp(-2 n 0.045^2) < 2e-7.
    """

    def right(first: np.ndarray, second: np.ndarray) -> bool:
        left = np.exp(np.minimum(-first, math.log(4.0))).mean()
        return abs(left - np.exp(np.minimum(0.0, math.log(4.0) + second)).mean()) < 0.225

    assert failing_exact(right) == []
