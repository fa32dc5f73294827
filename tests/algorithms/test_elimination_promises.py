"""The lemmas under SDP-PE's regret: kept where they should be, broken by what is planted, and what they compute."""

import math

import numpy as np
import pytest

from algorithms.sdp_pe.batches import ExactBatches
from algorithms.sdp_pe.promises import _ratios, counts_promise, coverage_promise, regret_bound
from audits import audit_sdp_pe_lemmas as audit
from audits.planted.elimination import UniformDesign
from dpverify.base.seeding import Stage, stream


def test_coverage_of_all_policies_alike_is_that_of_a_binary_tree():
    """Step h of the lock is reached, and an action taken there, by a share 2^-(h+1): sum 2^(h+1) = 2 (2^8 - 1)."""
    playing = audit.learner(audit.locked, 762, 0.1, UniformDesign)
    promise = coverage_promise(audit.locked, playing, ExactBatches(), policies=audit.ways, name="alike")
    found = promise.draw(rng=stream(2, Stage.EXPERIMENT), size=6).errors * 12 * playing.layout.tuples
    assert found.max() == pytest.approx(2 * (2**audit.STEPS - 1))


def test_the_regret_bound_by_hand():
    """186 users: stages of 2, 4, 8, 16, 32; without noise only the first term is left."""
    playing = audit.learner(audit.arms, 186, 0.02)
    iota = math.log(2 * 2 * 186 / 0.02)
    by_hand = 6 + sum(12 * 2**b * math.sqrt(2 * iota / 2 ** (b - 1)) for b in range(2, 6))
    assert regret_bound(playing, ExactBatches()) == pytest.approx(by_hand)
    noisy = 12 * sum(2**b * 2 * iota / 2 ** (b - 1) for b in range(2, 6))
    assert regret_bound(playing, audit.ToldOne()) == pytest.approx(by_hand + noisy)


def test_what_is_lost_is_at_most_what_meets_w():
    """Lemma 8 from Lemma 16: each run loses at most H times its chance of W, and their bounds differ by H."""
    given = {"users": 450, "trials": 8, "both": True}
    both = (audit.bias("b", meeting=meeting, **given) for meeting in (False, True))
    lost, met = (promise.draw(rng=stream(3, Stage.EXPERIMENT), size=8).errors for promise in both)
    assert (0 < lost).any()
    assert (lost <= met + 1e-12).all()


def test_visits_of_the_design_are_its_share_of_the_users():
    """Two arms, one step: L/2 w over N + iota, N close to L w in stages of 2,000 users and iota = 14."""
    playing = audit.learner(audit.arms, 6_200, 0.05)
    found = counts_promise(audit.arms, playing, audit.ToldOne(), name="n").draw(rng=stream(4, Stage.EXPERIMENT), size=6)
    assert ((0.35 < found.errors) & (found.errors < 0.55)).all()


def test_visits_that_the_estimate_does_not_see_break_lemma_15():
    ratios = _ratios(np.array([0.0, 1.0, 2.0]), np.array([0.0, 0.0, 4.0]))
    np.testing.assert_array_equal(ratios, [0.0, np.inf, 0.5])
