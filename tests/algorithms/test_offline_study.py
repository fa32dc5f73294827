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
from mechanisms.privatizers.no_privacy import NoPrivacy
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


class Greedy:
    """Greedy in the known rewards and the estimated law, one step after the other."""

    def plan(self, counts):
        law = (counts.transitions + 1) / (counts.transitions + 1).sum(axis=-1, keepdims=True)
        values, policy = np.zeros((*law.shape[:1], LAYOUT.S)), np.empty(law.shape[:3], dtype=int)
        for h in reversed(range(LAYOUT.H)):
            q = MODEL.rewards[h] + (law[:, h] * values[:, None, None]).sum(axis=-1)
            policy[:, h], values = q.argmax(axis=-1), q.max(axis=-1)
        return policy


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


def test_the_policy_alone_tells_exact_counts_and_noise_apart():
    mine = OfflineStudy(agent=Common(), privatizer=GAUSS)
    pair = mine.pair()
    noisy, exact = (mine.policy(exact=each).release(pair.first, rng=rng(), size=60) for each in (False, True))
    assert noisy.shape == exact.shape == (60, LAYOUT.H * LAYOUT.S)
    assert (exact == exact[0]).all()
    assert not (noisy == noisy[0]).all()


def test_regret_falls_with_users_and_without_privacy():
    mine = OfflineStudy(agent=Greedy(), privatizer=GAUSS)
    few, many = (mine.regret(MODEL, users=n, runs=12, seed=3).mean() for n in (2, 20_000))
    assert 0 <= many < 1e-2
    assert many <= few
    private = mine.regret(MODEL, users=20, runs=4, seed=3)
    assert private.shape == (4,)
    assert np.array_equal(private, mine.regret(MODEL, users=20, runs=4, seed=3))
    worse = mine.with_agent(Common()).regret(MODEL, users=20_000, runs=12, seed=3)
    assert worse.mean() > many
    assert mine.regret(MODEL, users=20_000, runs=2, seed=3, exact=True).max() < 1e-2


def test_the_promises_are_the_privatizer_s():
    mine = OfflineStudy(agent=Common(), privatizer=GAUSS)
    data = mine.pair().first
    names = [each.name for each in mine.promise(data, beta=0.1)]
    assert names == [each.name for each in GAUSS.promises(data, beta=0.1)]
    assert names


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
        (coins(), "no coins, no memory"),
    ],
)
def test_what_is_no_policy_is_one_clear_line(agent, said):
    with pytest.raises(ParameterError, match=said) as caught:
        OfflineStudy(agent=agent, privatizer=GAUSS).regret(MODEL, users=30, runs=3, seed=1)
    assert "Common.plan, call" in str(caught.value)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ParameterError, match="privatizer"):
        OfflineStudy(agent=Common(), privatizer=NoPrivacy(layout=LAYOUT))
    with pytest.raises(ParameterError, match="one player"):
        OfflineStudy(agent=Common(), privatizer=OfflineTabularGaussian(layout=CountLayout(H=1, S=2, A=2, B=2), rho=1.0))
    with pytest.raises(ParameterError, match="plan"):
        OfflineStudy(agent=object(), privatizer=GAUSS)
    with pytest.raises(ParameterError, match="model"):
        OfflineStudy(agent=Common(), privatizer=GAUSS).regret(
            random_environment(0, 3, 2, 2).model, users=3, runs=1, seed=1
        )
