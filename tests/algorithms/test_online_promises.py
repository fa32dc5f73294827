"""The promises along online runs: a broken learner or privatizer breaks them, the right one does not."""

from dataclasses import replace

import numpy as np
import pytest

from algorithms.core.counting import LocalCounts, TreeCounts
from algorithms.core.online import run_online
from algorithms.core.users import TapeUsers
from algorithms.pucb.learner import corrected_counters, printed_error, PUCB
from algorithms.pucb.promises import (
    counters_promise,
    Optimism,
    optimism_of_plan,
    optimism_promise,
    run_assumption_promise,
    staged_run,
    survival_promise,
)
from algorithms.sdp_pe.batches import ExactBatches, ShuffledBatches
from algorithms.sdp_pe.elimination import SDPPE
from audits import audit_sdp_pe
from audits.audit_pucb import BETA, seen, small
from dpverify.base.seeding import Stage, stream
from dpverify.errors import ParameterError
from dpverify.promises import BROKEN, check_promise, INCONCLUSIVE, KEPT

T = 300


def rng():
    return stream(5, Stage.EXPERIMENT)


def pucb(eps, **options):
    error = printed_error(seen, T, eps, BETA)
    learner = PUCB(layout=seen, episodes=T, error=error, beta=BETA, **options)
    return learner, TreeCounts(seen, corrected_counters(seen, T - 1, eps), error)


def verdict(promise):
    """Wrong with probability at most 0.001, whatever the truth; 200 trials certify a rate of 0.034 where none fails."""
    return check_promise(promise, seed=11, trials=promise.trials, significance=0.001).verdict


# PUCB


def test_pucb_is_optimistic_and_without_its_bonus_it_is_not():
    learner, source = pucb(2000.0)
    # below H, and above the H - h that no Q* exceeds: nothing could have failed
    assert verdict(optimism_promise(small, learner, source, trials=200, name="right")) == INCONCLUSIVE
    bare = replace(learner, bonus_scale=1e-3)
    assert verdict(optimism_promise(small, bare, source, trials=200, name="no bonus")) == BROKEN


def test_one_plan_from_dense_counts_is_optimistic_and_without_its_bonus_it_is_not():
    learner = PUCB(layout=seen, episodes=10**5, error=20.0, beta=BETA)
    kept = check_promise(optimism_of_plan(small, learner, 10**5, trials=300, name="right"), seed=1)
    assert (kept.verdict, kept.active_share > 0.5) == (KEPT, True)
    assert "of the bounds below their caps" in str(kept)
    bare = replace(learner, bonus_scale=0.01)
    assert verdict(optimism_of_plan(small, bare, 10**5, trials=300, name="no bonus")) == BROKEN


@pytest.mark.parametrize(("eps", "informed"), [(2.5, False), (2000.0, True)])
def test_where_bonuses_are_all_at_their_cap(eps, informed):
    """What the audit's statements say: at eps = 2.5 all Q~+ are H, at eps = 2000 every run has some below."""
    learner, source = pucb(eps)
    watched = Optimism(learner, small.model)
    run_online(TapeUsers(small, small.tapes(2, 20, T)), watched, source, runs=20, rng=rng())
    assert ((watched.informed > 0) == informed).all()


def test_the_watched_learner_plays_the_same_policies():
    learner, source = pucb(2000.0)
    users = TapeUsers(small, small.tapes(2, 3, T))
    one, two = (
        run_online(users, each, source, runs=3, rng=rng()).policies
        for each in (learner, Optimism(learner, small.model))
    )
    np.testing.assert_array_equal(one, two)


def test_counters_stay_within_the_bound_and_noisier_ones_do_not():
    learner, source = pucb(2000.0)
    assert verdict(counters_promise(small, learner, source, trials=400, name="right")) == KEPT
    local = LocalCounts(seen, 1.0, source.error)  # noise grows as sqrt(t)
    assert verdict(counters_promise(small, learner, local, trials=400, name="local noise")) == BROKEN


def test_exact_counts_have_no_error():
    learner, source = pucb(2000.0)
    promise = counters_promise(small, learner, LocalCounts(seen, 0.0, source.error), name="exact")
    assert not promise.draw(rng=rng(), size=3).errors.any()


# SDP-PE

SMALL = audit_sdp_pe.small
LONGER = audit_sdp_pe.longer


class Shifted(ShuffledBatches):
    """INCORRECT: every visit is E below the truth."""

    def release(self, episodes, layout, *, rng):
        counts = super().release(episodes, layout, rng=rng)
        counts[..., : layout.tuples] -= self.error(layout, episodes.actions.shape[-2])
        return counts


class TooSure(ShuffledBatches):
    """INCORRECT: an E that is eight times too small."""

    def error(self, layout, users):
        return super().error(layout, users) / 8


def assumption(kind):
    """At eps = 100, where E/2 is below the larger counts."""
    batches = kind(layout=LONGER.layout, eps=100.0, beta=1e-3, delta=0.01)
    failure_probability = audit_sdp_pe.risk(LONGER)
    return run_assumption_promise(
        SMALL, LONGER, batches, failure_probability=failure_probability, trials=200, name=kind.__name__
    )


@pytest.mark.parametrize(("kind", "expected"), [(ShuffledBatches, KEPT), (Shifted, BROKEN), (TooSure, BROKEN)])
def test_assumption_4_holds_along_a_run_and_breaks_with_the_privatizer(kind, expected):
    assert verdict(assumption(kind)) == expected


def test_underestimates_are_failures_of_their_own():
    seen_ = assumption(Shifted).draw(rng=rng(), size=50)
    assert seen_.failed.all()
    assert all(held.all() for held in seen_.invariants.values())  # positive and consistent on every path


def test_assumption_4_needs_noise():
    promise = run_assumption_promise(SMALL, LONGER, ExactBatches(), failure_probability=0.1, name="exact")
    with pytest.raises(ParameterError):
        promise.draw(rng=rng(), size=2)


def test_the_optimal_policy_survives_theory_constants_and_not_a_threshold_too_small():
    learner = audit_sdp_pe.learner_for(audit_sdp_pe.two_arms, 1501)
    assert verdict(survival_promise(audit_sdp_pe.two_arms, learner, ExactBatches(), trials=200, name="C = 1")) == KEPT
    hasty = audit_sdp_pe.learner_for(SMALL, 301, threshold_scale=0.01, privacy_scale=0.0)
    assert verdict(survival_promise(SMALL, hasty, ExactBatches(), trials=200, name="C = 0.01")) == BROKEN


@pytest.mark.parametrize(
    ("environment", "users", "batches", "left"),
    [
        (SMALL, 18, audit_sdp_pe.calibrated_small, 16),
        (audit_sdp_pe.two_arms, 1501, ExactBatches(), 1),
        (audit_sdp_pe.two_arms, 12001, audit_sdp_pe.shuffled(audit_sdp_pe.two_arms, 100.0, "journal"), 1),
    ],
)
def test_where_theory_constants_eliminate(environment, users, batches, left):
    """What the audit's statements say."""
    learner = audit_sdp_pe.learner_for(environment, users)
    np.testing.assert_array_equal(staged_run(environment, learner, batches, 10, rng=rng()).remaining.size, left)


class Restless(SDPPE):
    """INCORRECT: reports one deployment more than the schedule has."""

    def run(self, users, batches, policies, initial, *, rng, lead=(), observe=None):
        done = super().run(users, batches, policies, initial, rng=rng, lead=lead, observe=observe)
        return done._replace(deployments=done.deployments + 1)


def test_switches_are_at_most_h_plus_two_a_stage_and_one_more_is_seen():
    """1501 users are full stages and one user over: (H+2) B switches exactly at H = 1."""
    arms = audit_sdp_pe.two_arms
    right = audit_sdp_pe.learner_for(arms, 1501)
    done = staged_run(arms, right, ExactBatches(), 2, rng=rng())
    assert done.deployments - 1 == 3 * len(right.plan)
    restless = Restless(layout=right.layout, episodes=1501)
    for learner, held in ((right, True), (restless, False)):
        promise = survival_promise(arms, learner, ExactBatches(), trials=200, name="switches")
        assert promise.draw(rng=rng(), size=2).invariants["N_switch <= (H+2) B"].all() == held
        assert verdict(promise) == (KEPT if held else BROKEN)
