"""The lemmas under SDP-PE's regret: kept where they should be, broken by what is planted, and what they compute."""

import math

import numpy as np
import pytest

from algorithms.pucb.regret_promises import gaps_played
from algorithms.sdp_pe.batches import ExactBatches
from algorithms.sdp_pe.elimination import SDPPE
from algorithms.sdp_pe.promises import (
    _ratios,
    bias_promise,
    counts_promise,
    coverage_promise,
    kernel_promise,
    regret_bound,
    visiting_promise,
)
from algorithms.tabular import all_policies
from audits import audit_sdp_pe_lemmas as audit
from audits.planted.elimination import UniformDesign
from dpverify.base.seeding import Stage, stream
from dpverify.errors import ParameterError


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
    assert regret_bound(playing, audit.Told()) == pytest.approx(by_hand + noisy)


def test_what_is_lost_is_at_most_what_meets_w():
    """Lemma 8 from Lemma 16: each run loses at most H times its chance of W, and their bounds differ by H."""
    given = {"users": 450, "trials": 8}
    both = (audit.bias("b", meeting=meeting, **given) for meeting in (False, True))
    lost, met = (promise.draw(rng=stream(3, Stage.EXPERIMENT), size=8).errors for promise in both)
    assert (0 < lost).any()
    assert (lost <= met + 1e-12).all()


def test_visits_of_the_design_are_its_share_of_the_users():
    """Two arms, one step: L/2 w over N + iota, N close to L w in stages of 2,000 users and iota = 14."""
    playing = audit.learner(audit.arms, 6_200, 0.05)
    found = counts_promise(audit.arms, playing, audit.Told(), name="n").draw(rng=stream(4, Stage.EXPERIMENT), size=6)
    assert ((0.35 < found.errors) & (found.errors < 0.55)).all()


def test_visits_that_the_estimate_does_not_see_break_lemma_15():
    ratios = _ratios(np.array([0.0, 1.0, 2.0, np.nan, np.nan]), np.array([0.0, 0.0, 4.0, 0.0, 4.0]))
    np.testing.assert_array_equal(ratios, [0.0, np.inf, 0.5, np.inf, np.nan])


def test_the_bounds_on_meeting_w_by_hand():
    """Two users, told E = 1: all is in W. 96 (6 E X H^2 + 1) X^2 A H^2 iota/L, or 672 E X^3 A H^4 iota/L, L = 2."""
    playing = audit.learner(audit.small, 6, 0.07)
    iota = math.log(2 * 2 * 2 * 6 / 0.07)
    for printed, number in ((False, 96 * 49 * 32), (True, 672 * 256)):
        promise = bias_promise(audit.small, playing, audit.Told(), meeting=True, printed=printed, name="m")
        errors = promise.draw(rng=stream(6, Stage.EXPERIMENT), size=3).errors
        np.testing.assert_allclose(errors, 1 / (number * iota / 2), rtol=1e-9)


@pytest.mark.parametrize("promised", [kernel_promise, coverage_promise, counts_promise, bias_promise])
def test_no_stage_and_another_version_are_refused(promised):
    layout = audit.learner(audit.small, 3, 0.1).layout
    for learner in (SDPPE(layout=layout, episodes=2), SDPPE(layout=layout, episodes=300, version="conference")):
        with pytest.raises(ParameterError, match=r"episodes|version"):
            promised(audit.small, learner, ExactBatches(), name="x")


def test_lemma_15_needs_two_steps():
    with pytest.raises(ParameterError, match="H = 1"):
        visiting_promise(audit.arms, audit.learner(audit.arms, 300, 0.1), ExactBatches(), name="x")


@pytest.mark.parametrize(
    "promise", [each for each in audit.promises if each.name.startswith("regret")], ids=lambda each: each.name
)
def test_theorem_6_is_below_what_uniform_play_loses(promise):
    """All policies alike, which is what actions at random lose."""
    environment, users = (audit.two_steps, 1_500_000) if "two steps" in promise.name else (audit.arms, 450_000)
    model = environment.model
    every = all_policies(model.horizon, model.states, model.actions)
    assert promise.bound < 0.9 * users * gaps_played(every, model).mean()
