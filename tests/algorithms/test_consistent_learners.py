"""The option `consistent` of the learners: E is kept, the default is as before, and wrong settings are refused."""

from dataclasses import replace

import numpy as np
import pytest

from algorithms.bernstein_vi.learner import BernsteinVI
from algorithms.beyond.shuffled_optimism import ShuffledOptimism
from algorithms.core.counting import layout_of
from algorithms.core.environments import random_environment
from algorithms.core.protocol import drive
from algorithms.core.users import TapeUsers
from algorithms.offline.apvi import APVI, DPAPVI
from algorithms.offline.data import collect
from algorithms.sdp_pe.batches import ExactBatches, ShuffledBatches
from algorithms.tabular import uniform_policy
from dpverify.base.seeding import Stage, stream
from dpverify.errors import ParameterError
from mechanisms.datasets.visit_counts import CountLayout, PrivateCounts
from mechanisms.privatizers.flow import FlowConsistent
from mechanisms.privatizers.flow_promises import find_missed_flow
from mechanisms.privatizers.offline_tabular import OfflineTabularGaussian

ENV = random_environment(0, 3, 2, 3)
LAYOUT, REWARDED, USERS = CountLayout(H=3, S=3, A=2), layout_of(ENV.model), 400
DATA = collect(ENV.model, uniform_policy(3, 3, 2), USERS, rng=stream(8, Stage.EXPERIMENT))
EXACT = DATA.counts(rewards=True)
GAUSS = OfflineTabularGaussian(layout=LAYOUT, rho=1.0)


def rng(*key):
    return stream(9, Stage.EXPERIMENT, *key)


def raw(width=0.0, size=1):
    """Counts with noise on (-width, width), rewards without."""
    parts = (EXACT.visits, EXACT.transitions)
    noisy = [x + rng(1).uniform(-width, width, size=(size, *x.shape)) for x in parts]
    return PrivateCounts(*noisy, np.broadcast_to(EXACT.rewards, (size, *EXACT.rewards.shape)))


def apvi(**options):
    return APVI(layout=LAYOUT, rewards=ENV.model.rewards, **options)


def dp_apvi(**options):
    return DPAPVI(layout=LAYOUT, rewards=ENV.model.rewards, privatizer=GAUSS, **options)


def bernstein(**options):
    return BernsteinVI(layout=REWARDED, episodes=USERS, error=8.0, **options)


def shuffled(**options):
    return ShuffledOptimism(layout=REWARDED, episodes=40, deployments=4, **options)


@pytest.mark.parametrize("make", [apvi, dp_apvi, bernstein, shuffled])
def test_another_value_is_refused_in_one_line(make):
    with pytest.raises(ParameterError, match=r"consistent.*'cells' or 'flow'") as refused:
        make(consistent="flows")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("make", [apvi, dp_apvi, bernstein])
def test_flow_needs_the_number_of_users(make):
    with pytest.raises(ParameterError, match="users"):
        make(consistent="flow")
    for wrong in (0, 2.5):
        with pytest.raises(ParameterError, match="users"):
            make(consistent="flow", users=wrong)


@pytest.mark.parametrize("consistent", ["cells", "flow"])
def test_apvi_keeps_e_where_noise_is_within_half_of_it(consistent):
    width = 6.0
    done = apvi(error=2 * width, consistent=consistent, users=USERS).make_consistent(raw(width, size=5))
    for found, true in ((done.visits, EXACT.visits), (done.transitions, EXACT.transitions)):
        assert np.abs(found - true).max() <= 2 * width + 1e-3
    missed = find_missed_flow(done, LAYOUT, USERS)
    assert (missed.max() < 1e-3) if consistent == "flow" else (missed.min() > 1)


def test_apvi_plans_from_what_flow_makes_of_the_counts():
    planner = apvi(error=0.5, consistent="flow", users=USERS, c1=0.1, c2=0.0)
    plan = planner.plan(raw(10.0))
    solved = FlowConsistent(LAYOUT, USERS, "chebyshev").solve(raw(10.0))
    assert plan.q == pytest.approx(planner.plan_consistent(solved).q, abs=1e-9)
    cells = replace(planner, consistent="cells").plan(raw(10.0))
    assert np.abs(plan.q - cells.q).max() > 1e-2
    same = apvi(error=0.0, consistent="flow", users=USERS).plan(raw()).q  # exact counts: nothing to do
    assert np.array_equal(same, apvi(error=0.0).plan(raw()).q)


def test_dp_apvi_hands_the_option_on_and_asks_for_whole_data():
    learner = dp_apvi(consistent="flow", users=USERS, error=0.5)
    policies = learner.policies(DATA, rng=rng(2), size=3)
    counts = GAUSS.private_counts(DATA, rng=rng(2), size=3)
    planner = apvi(error=0.5, consistent="flow", users=USERS)
    assert np.array_equal(policies, planner.plan(counts).policy)
    assert dp_apvi().planner.consistent == "cells"
    with pytest.raises(ParameterError, match="as many as users, 399"):
        dp_apvi(consistent="flow", users=USERS - 1).policies(DATA, rng=rng(2), size=1)
    with pytest.raises(ParameterError, match="final_states"):
        learner.policies(replace(DATA, final_states=None), rng=rng(2), size=1)
    assert dp_apvi().policies(replace(DATA, final_states=None), rng=rng(2), size=1).shape == (1, 3, 3)


def test_bernstein_vi_has_the_same_plan_from_counts_that_fit_together():
    cells, flow = (bernstein(consistent=each, users=USERS).optimistic(raw()).q for each in ("cells", "flow"))
    assert flow == pytest.approx(cells, abs=1e-3)
    other = bernstein(consistent="flow", users=USERS * 2).optimistic(raw()).q
    assert np.abs(other - cells).max() > 1e-2


def test_bernstein_vi_never_underestimates_visits_with_flow():
    learner = bernstein(consistent="flow", users=USERS)
    noisy = raw(learner.error / 4, size=5)
    planned = learner.optimistic(noisy).q
    done = FlowConsistent(REWARDED, USERS, "chebyshev").never_underestimating(noisy, learner.error)
    assert (done.visits >= EXACT.visits - 1e-3).all()
    assert np.abs(done.transitions - EXACT.transitions).max() <= learner.error + 1e-3
    # counts that are that large at E: from them, shift taken off, cells makes the same plan
    shift = learner.error / (2 * LAYOUT.S)
    back = done.transitions - shift
    again = bernstein().optimistic(PrivateCounts(back.sum(axis=-1), back, noisy.rewards)).q
    assert planned == pytest.approx(again, abs=1e-3)


def run_batches(learner, batches):
    """The final policy and the played ones, of users who are the same for all."""
    users = TapeUsers(ENV, ENV.tapes(3, 2, 40))
    return drive(learner, batches, users, lead=(2,), rng=rng(4)).policies


def test_shuffled_optimism_knows_who_is_counted_in_every_batch():
    batches = ShuffledBatches(layout=REWARDED, eps=1.0, beta=0.01, budget="calibrated")
    learner = shuffled(consistent="flow", error_scale=0.01, bonus_scale=0.01)
    assert [learner.planner(batches, pooled).users for pooled in range(4)] == [None, 10, 20, 30]
    assert [learner.planner(batches, pooled).consistent for pooled in range(2)] == ["cells", "flow"]
    (flow,), (cells,) = (run_batches(each, batches) for each in (learner, replace(learner, consistent="cells")))
    assert flow.shape == (2, 3, 3)
    assert set(np.unique(flow)) <= {0, 1}
    assert not np.array_equal(flow, cells)
    (exact,), (same,) = (run_batches(each, ExactBatches()) for each in (learner, replace(learner, consistent="cells")))
    assert np.array_equal(exact, same)
