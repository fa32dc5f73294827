"""A user's own offline learner: ledger, targets, suboptimality, planted bugs."""

import numpy as np
import pytest

from algorithms.core.environments import random_environment
from algorithms.offline.apvi import APVI
from algorithms.offline.learners import OfflineStudy
from audits import audit_apvi
from dpverify import audit
from dpverify.base.seeding import Stage, stream
from dpverify.errors import ParameterError
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.privatizers.offline_tabular import OfflineTabularGaussian, OfflineTabularLaplace

LAYOUT = CountLayout(H=2, S=2, A=2)
GAUSS = OfflineTabularGaussian(layout=LAYOUT, rho=0.5)
LAPLACE = OfflineTabularLaplace(layout=LAYOUT, eps=1.0)
MODEL = random_environment(0, 2, 2, 2).model


class Common:
    """The action that was played more often; what it returns can be broken."""

    def __init__(self, made=lambda policy: policy):
        self.made = made

    def plan(self, counts):
        return self.made(counts.visits.argmax(axis=-1))


def rng(*key):
    return stream(7, Stage.EXPERIMENT, *key)


def test_the_paper_s_learner_is_the_suite_s_own_bit_for_bit():
    theirs = audit_apvi.learner(audit_apvi.gauss, 1e-3)

    class Paper:
        def plan(self, counts):
            planner: APVI = theirs.planner
            return planner.plan(counts).policy

    ours, (pair,) = OfflineStudy(agent=Paper(), privatizer=audit_apvi.gauss), audit_apvi.few
    released = [each.release(pair.first, rng=rng(), size=20) for each in (ours.transcript, theirs)]
    assert np.array_equal(*released)
    assert np.array_equal(*(each.log_ratio(released[0], pair) for each in (ours.transcript, theirs)))
    told = [each.policies(pair.first, rng=rng(), size=20) for each in (ours.transcript, theirs)]
    assert np.array_equal(*told)
    assert np.array_equal(ours.policy().release(pair.first, rng=rng(), size=20), told[0].reshape(20, -1))


@pytest.mark.parametrize(("privatizer", "more"), [(GAUSS, 4.0), (LAPLACE, 2.0)])
def test_half_the_noise_is_refuted_by_the_account_and_by_trials(privatizer, more):
    whole = OfflineStudy(agent=Common(), privatizer=privatizer)
    half = whole.with_noise(0.5)
    assert whole.claim == half.claim == privatizer.claim
    assert half.upper == pytest.approx(more * whole.upper, rel=1e-6)
    for mine, verdict, accounted in ((whole, "NOT_REFUTED", True), (half, "REFUTED", False)):
        record = audit(mine.transcript, claim=mine.claim, pair=mine.pair(), trials=10_000, seed=1)
        assert (record.verdict, record.accounted) == (verdict, accounted)


def coins():
    draws = np.random.default_rng(1)
    return Common(lambda policy: draws.integers(2, size=policy.shape))


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        (Common(lambda policy: policy[:, :1]), "policies of shape"),
        (Common(lambda policy: policy.astype(float)), "action numbers"),
        (Common(lambda policy: np.where(policy == 0, np.nan, policy)), "action numbers"),
        (Common(lambda policy: policy + 2), "from 0 to 1"),
        (coins(), "the same policies for the same counts"),
    ],
)
def test_what_is_no_policy_is_one_clear_line(agent, said):
    with pytest.raises(ParameterError, match=said) as caught:
        OfflineStudy(agent=agent, privatizer=GAUSS).regret(MODEL, users=30, runs=3, seed=1)
    assert "Common.plan, call" in str(caught.value)
