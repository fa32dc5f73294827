"""Sparse vector as it is written in textbooks, on the tape: right ones CONFORM to their event, wrong ones never do."""

import numpy as np
import pytest

from dpverify import account, Pair, PureDP, trace
from dpverify.ledger import AboveThreshold, LaplaceNoise, Ledger, OneOf, PureStep, Sensitivity
from mechanisms.releases.sparse_vector import SparseVector

ONE = Sensitivity(replace=1)
ROUGH = Pair([0.0, 1.0, 0.0, 3.0, 1.0, 0.0, 2.0, 1.0], [1.0, 0.0, 1.0, 2.0, 0.0, 1.0, 1.0, 0.0])
RISING = Pair([0.0, 1.0, 0.0, 3.0, 1.0, 0.0, 2.0, 1.0], [1.0, 2.0, 1.0, 4.0, 1.0, 1.0, 3.0, 1.0])
FEW = Pair([-40.0, -41.0, -42.0, -40.0], [-41.0, -40.0, -41.0, -41.0])


def vector(threshold=4.0, query=8.0, count=2, **given):
    return AboveThreshold(threshold_scale=threshold, query_scale=query, sensitivity=ONE, count=count, **given)


def released(loop):
    """The first release of a loop over one dataset: what a textbook writes."""

    def release(data, *, rng, size):
        assert size == 1
        return np.array([loop(data, rng)])

    return release


def words(data, found):
    return np.array([*found, *[-1.0] * (len(data) - len(found))])


@released
def once(data, rng):
    """Algorithm 1, in numbers of Python."""
    bar, found, left = 0.5 + rng.laplace(0, 4.0), [], 2
    for answer in data:
        found.append(answer + rng.laplace(0, 8.0) >= bar)
        left -= found[-1]
        if not left:
            break
    return words(data, found)


@released
def otherwise(data, rng):
    """The same, below and with bare draws, in NumPy's numbers."""
    rho, found, left = rng.laplace(scale=4.0, size=1), [], 2
    for answer in data:
        nu = 8.0 * rng.laplace(size=1)
        below = bool((0.5 + rho > np.float64(answer) - nu)[0])
        found.append(not below)
        left -= not below
        if left == 0:
            break
    return words(data, found)


@released
def anew(data, rng):
    """Algorithm 2."""
    bar, found, left = 0.5 + rng.laplace(0, 8.0), [], 2
    for answer in data:
        found.append(answer + rng.laplace(0, 8.0) >= bar)
        if found[-1]:
            left, bar = left - 1, 0.5 + rng.laplace(0, 8.0)
        if not left:
            break
    return words(data, found)


@released
def numeric(data, rng):
    """With values of positive outcomes, from fresh noise."""
    bar, found, left = 0.5 + rng.laplace(0, 4.0), [], 2
    for answer in data:
        above = answer + rng.laplace(0, 8.0) >= bar
        found.append(answer + rng.laplace(0, 5.0) if above else 0.0)
        left -= above
        if not left:
            break
    return words(data, found)


@released
def compared_value(data, rng):
    """Algorithm 3: the answer that was compared is released."""
    bar = 0.5 + rng.laplace(0, 4.0)
    found = []
    for answer in data:
        noisy = answer + rng.laplace(0, 8.0)
        found.append(noisy if noisy >= bar else -1e9)
        if found[-1] != -1e9:
            break
    return words(data, found)


@released
def small_noise(data, rng):
    """Algorithm 4: query noise that does not grow with the count."""
    bar, found, left = 0.5 + rng.laplace(0, 4.0), [], 2
    for answer in data:
        found.append(answer + rng.laplace(0, 4.0 / 3) >= bar)
        left -= found[-1]
        if not left:
            break
    return words(data, found)


@released
def bare(data, rng):
    """Algorithm 5: queries without noise."""
    bar = 0.5 + rng.laplace(0, 4.0)
    return words(data, [answer >= bar for answer in data])


@released
def endless(data, rng):
    """Algorithm 6: no stop."""
    bar = 0.5 + rng.laplace(0, 4.0)
    return words(data, [answer + rng.laplace(0, 8.0) >= bar for answer in data])


@released
def late(data, rng):
    """Stops after one more than is paid for."""
    bar, found, left = 0.5 + rng.laplace(0, 4.0), [], 3
    for answer in data:
        found.append(answer + rng.laplace(0, 8.0) >= bar)
        left -= found[-1]
        if not left:
            break
    return words(data, found)


@released
def one_noise(data, rng):
    """All queries share their noise."""
    bar, nu = 0.5 + rng.laplace(0, 4.0), rng.laplace(0, 8.0)
    return words(data, [answer + nu >= bar for answer in data])


@released
def twice(data, rng):
    """The noise of a query is used for the next one, too."""
    bar, found, nu = 0.5 + rng.laplace(0, 4.0), [], 0.0
    for at, answer in enumerate(data[:2]):
        nu = rng.laplace(0, 8.0) if at % 2 == 0 else nu
        found.append(answer + nu >= bar)
    return words(data, found)


@released
def threshold_shown(data, rng):
    """The noisy threshold is released at the end."""
    bar = 0.5 + rng.laplace(0, 4.0)
    return words(data, [data[0] + rng.laplace(0, 8.0) >= bar, bar])


@released
def steeper(data, rng):
    """Answers move by twice what is stated."""
    bar = 0.5 + rng.laplace(0, 4.0)
    return words(data, [2 * data[0] + rng.laplace(0, 8.0) >= bar])


@released
def own_scale(data, rng):
    """The scale of a query's noise depends on its answer."""
    bar = 0.5 + rng.laplace(0, 4.0)
    return words(data, [data[0] + (8.0 + abs(data[0])) * rng.laplace() >= bar])


@released
def own_threshold(data, rng):
    """The factor of the threshold's noise changes from query to query."""
    rho = rng.laplace(0, 4.0)
    return words(data, [answer + rng.laplace(0, 8.0) >= (1 + at) * rho for at, answer in enumerate(data[:2])])


@released
def told(data, rng):
    """An outcome without noise goes with those that have it."""
    bar = 0.5 + rng.laplace(0, 4.0)
    return words(data, [data[0] + rng.laplace(0, 8.0) >= bar, data[1] > 0.5])


def traced(target, ledger, pair=ROUGH, **given):
    return trace(target, pair=pair, claim=PureDP(1000.0), ledger=Ledger(*ledger), transcripts=8, **given)


RIGHT = [
    (once, [vector()], ROUGH),
    (once, [vector(query=7.5)], ROUGH),
    (once, [vector(count=3)], ROUGH),
    (once, [vector(monotone=True)], RISING),
    (once, [AboveThreshold(threshold_scale=8.0, query_scale=16.0, sensitivity=Sensitivity(replace=2), count=2)], ROUGH),
    (once, [OneOf(branches=(Ledger(vector()), Ledger()))], ROUGH),
    (otherwise, [vector()], ROUGH),
    (anew, [vector(8.0, fresh=True)], ROUGH),
    (anew, [vector(8.0, count=1), vector(8.0, count=1)], ROUGH),
    (numeric, [vector(value_scale=5.0)], ROUGH),
    (numeric, [vector(), *[LaplaceNoise(scale=5.0, sensitivity=ONE)] * 2], ROUGH),
    (SparseVector(eps=1.0, sensitivity=ONE, cutoff=2), [vector(2.0)], ROUGH),
    (SparseVector(eps=1.0, sensitivity=ONE, cutoff=2, fresh=True), [vector(4.0, fresh=True)], ROUGH),
]


@pytest.mark.parametrize("case", range(len(RIGHT)))
def test_right_ones_conform(case):
    target, ledger, pair = RIGHT[case]
    found = traced(target, ledger, pair)
    assert (found.status, found.alignment) == ("CONFORMS", "compared"), found.reasons
    assert not found.conformity.unmatched_events
    assert 0 < found.loss <= account(Ledger(*ledger)) * (1 + 1e-9)


WRONG = {
    "algorithm 3": (compared_value, [vector(count=1)]),
    "algorithm 3, paid for": (compared_value, [vector(count=1, value_scale=8.0)]),
    "algorithm 4": (small_noise, [vector()]),
    "algorithm 5": (bare, [vector()]),
    "algorithm 6": (endless, [vector()]),
    "one more": (late, [vector()]),
    "threshold anew, charged once": (anew, [vector(8.0)]),
    "threshold anew, of the scale of one": (anew, [vector(16.0, fresh=True)]),
    "a noisier threshold declared": (once, [vector(4.001)]),
    "noisier queries declared": (once, [vector(query=8.001)]),
    "fresh declared, one threshold": (once, [vector(fresh=True)]),
    "not monotone": (once, [vector(monotone=True)]),
    "values not declared": (numeric, [vector()]),
    "one value declared": (numeric, [vector(), LaplaceNoise(scale=5.0, sensitivity=ONE)]),
    "values of other noise": (numeric, [vector(value_scale=5.001)]),
    "one noise for all": (one_noise, [vector(count=8)]),
    "noise used twice": (twice, [vector()]),
    "the threshold shown": (threshold_shown, [vector()]),
    "steeper": (steeper, [vector()]),
    "a scale from the data": (own_scale, [vector()]),
    "a threshold of other factors": (own_threshold, [vector()]),
    "an outcome without noise": (told, [vector()]),
    "declared under another relation": (
        once,
        [AboveThreshold(threshold_scale=4.0, query_scale=8.0, sensitivity=Sensitivity(add_remove=1), count=2)],
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_ones_never_conform(name):
    """And nothing is contradicted without a witness that says more than the ledger."""
    found = traced(*WRONG[name])
    assert found.status in ("NOT_TRACED", "DERIVED", "UNDECIDED"), found.reasons
    assert found.conformity is None or found.conformity.status in ("UNDECIDED", "UNMATCHED")


@pytest.mark.parametrize("target", [endless, late])
def test_a_stop_that_is_rarely_needed_is_asked_for(target):
    """Positive outcomes have a chance of some e^-5: transcripts that are drawn show none, those that are forced do."""
    found = traced(target, [vector()], FEW)
    assert found.conformity.status == "UNMATCHED"
    assert "times positive" in found.conformity.unmatched_draws[0].text
    assert traced(once, [vector()], FEW).status == "CONFORMS"


def test_without_the_event_nothing_changes():
    found = traced(once, [PureStep(eps=1.0, uses=ONE)])
    assert (found.alignment, found.status, found.conformity.status) == ("value", "DERIVED", "UNDECIDED")
