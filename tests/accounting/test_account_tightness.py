"""exact <= eps_upper <= 1.01 exact for every subject of audits/ with a known law; exact without ledger and accountant.

The independent computation is itself compared with enumeration and with closed forms below.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from in_process import load_folder
from scipy import stats

from audits import audit_vapvi
from benchmarks.account_tightness import AUDITS, event_row, rows
from benchmarks.tightness import events
from benchmarks.tightness.known import ENUMERATED, FUNCTION, laws_of, NO_LEDGER, PLANTED, why_not
from benchmarks.tightness.laws import GaussianShift, laplace, listed
from benchmarks.tightness.silent import ratio_at_the_truth
from dpverify import Pair, Subject
from dpverify.ledger.events import Ledger
from oracles.finite_laws import eps_at

SUBJECTS = load_folder(AUDITS).subjects
KNOWN = [subject for subject in SUBJECTS if not why_not(subject)]


@pytest.mark.parametrize("subject", KNOWN, ids=lambda subject: subject.name)
def test_the_account_is_at_most_one_percent_above_the_exact_eps(subject: Subject) -> None:
    found = rows(subject)
    assert (found[0].relation, found[0].delta) == (subject.claim.relation, subject.claim.delta)
    for row in found:
        assert row.tight, row
        # the bracket is narrow enough to say so
        assert row.high == row.low or row.high <= 1.005 * row.low, row


def test_events_without_a_subject_are_at_most_one_percent_above_the_exact_eps() -> None:
    known = events.known()
    kinds = {type(event).__name__ for each in known for event, _ in each.ledger.counted}
    assert kinds >= {
        "PoissonSampled",
        "FixedSizeSampled",
        "Shuffled",
        "BoundedRange",
        "MatrixGaussian",
        "DominatingPair",
    }
    for each in known:
        assert event_row(each).tight, event_row(each)


def test_what_has_no_known_law_is_little_and_has_a_reason() -> None:
    reasons = {subject.name: why_not(subject) for subject in SUBJECTS if why_not(subject)}
    assert len(KNOWN) >= 100
    assert set(reasons.values()) == {NO_LEDGER, PLANTED, FUNCTION, ENUMERATED}
    true = [subject for subject in SUBJECTS if not subject.planted and subject.name in reasons]
    assert {subject.name for subject in true if reasons[subject.name] == FUNCTION} == {
        "apvi/gaussian-policy",
        "apvi/laplace-policy",
        "bernstein_vi/central-actions",
        "nash_vi/central-actions",
        "postprocess/flow-chebyshev",
        "postprocess/flow-known-transitions",
        "postprocess/flow-l2",
        "postprocess/shuffled-counts",
        "postprocess/local-counts",
        "pucb/corrected-actions",
        "pucb/corrected-actions-known-rewards",
        "sdp_pe/calibrated-actions",
    }
    assert {subject.name for subject in true if reasons[subject.name] not in (FUNCTION, ENUMERATED)} == {
        "pucb/one-noise-seen-by-later-users",
        "pucb/one-noise-seen-by-all",
        "rlsvi/others-policies",
        "vapvi/policy",
    }


def test_a_loose_and_a_wrong_ledger_are_seen() -> None:
    (subject,) = [each for each in SUBJECTS if each.name == "laplace/histogram"]
    ledger = subject.target.ledger
    assert all(row.tight for row in rows(subject))
    for wrong in (Ledger(), ledger + ledger):
        assert not any(row.tight for row in rows(replace(subject, ledger=wrong)))


def test_the_exact_eps_of_listed_coordinates_is_enumerated() -> None:
    k = np.arange(26)
    still, moved = stats.binom.pmf(k, 24, 0.2), stats.binom.pmf(k - 1, 24, 0.2)
    p, q = (np.einsum("i,j,k->ijk", a, a, b).ravel() for a, b in ((still, moved), (moved, still)))
    law = listed((still, moved, 2), (moved, still, 1))
    for delta in (0.015, 0.05, 0.3):
        bracket = law.eps(delta)
        assert bracket is not None
        low, high = bracket
        assert low <= eps_at(p / p.sum(), q / q.sum(), delta) + 1e-12
        assert eps_at(p / p.sum(), q / q.sum(), delta) <= high <= 1.01 * low
    assert law.eps(0.0) == (math.inf, math.inf)


def test_the_exact_eps_of_laplace_coordinates_is_their_closed_form() -> None:
    for delta in (1e-6, 1e-3, 0.01):  # one: delta = 1 - e^((eps - a)/2)
        one = 0.7 + 2 * math.log1p(-delta)
        low, high = laplace(0.7, 1).eps(delta) or (math.nan, math.nan)
        assert low <= one <= high <= 1.005 * low
    # a hundred small ones are nearly a Gaussian of mu^2 = 100 a^2 (the atoms cost a little)
    many, like = laplace(0.05, 30).eps(1e-3), GaussianShift(30 * 0.05**2).eps(1e-3)
    assert many is not None
    assert like is not None
    assert many[0] == pytest.approx(like[0], rel=0.05)
    assert laplace(0.05, 30).eps(0.0) == (pytest.approx(1.5), pytest.approx(1.5))


def test_a_large_crowd_comes_close_to_the_limit_that_the_adaptive_account_is_compared_with() -> None:
    """10,000 users who all earn 1, half of them with either action: V near its ceiling, weights near 1."""
    target, n = audit_vapvi.unsplit.target, 10_000
    data = audit_vapvi.swap(2, n).first
    first = data.actions.copy()
    first[n // 2 :] = 1
    second = first.copy()
    second[0] = 1
    pair = Pair(replace(data, actions=first), replace(data, actions=second))
    (limit, again) = laws_of(audit_vapvi.unsplit)
    assert isinstance(limit, GaussianShift)
    assert isinstance(again, GaussianShift)
    assert limit.square == pytest.approx(again.square)
    assert 0.995 * limit.square <= 2 * ratio_at_the_truth(target, pair) <= limit.square
