"""The promises along online runs: a broken learner or privatizer breaks them, the right one does not."""

from dataclasses import replace

import numpy as np

from algorithms.core.counting import TreeCounts
from algorithms.core.online import run_online
from algorithms.core.users import TapeUsers
from algorithms.pucb.learner import corrected_counters, printed_error, PUCB
from algorithms.pucb.promises import (
    Optimism,
    optimism_of_plan,
    optimism_promise,
    staged_run,
    survival_promise,
)
from algorithms.sdp_pe.batches import ExactBatches
from algorithms.sdp_pe.elimination import SDPPE
from audits import audit_sdp_pe
from audits.audit_pucb import BETA, seen, small
from dpverify.base.seeding import Stage, stream
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


def test_the_watched_learner_plays_the_same_policies():
    learner, source = pucb(2000.0)
    users = TapeUsers(small, small.tapes(2, 3, T))
    one, two = (
        run_online(users, each, source, runs=3, rng=rng()).policies
        for each in (learner, Optimism(learner, small.model))
    )
    np.testing.assert_array_equal(one, two)


# SDP-PE


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
