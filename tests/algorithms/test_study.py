"""A user's own agent: all that follows from a `Study` of it, and planted bugs."""

import numpy as np
import pytest

from algorithms.bernstein_vi.learner import BernsteinVI, central, local
from algorithms.core.environments import river_swim
from algorithms.study import Study
from audits import audit_bernstein_vi
from dpverify import View
from dpverify.errors import ParameterError
from mechanisms.datasets.visit_counts import CountLayout

LAYOUT = CountLayout(H=6, S=4, A=2, rewards=True)


class Left:
    """Knows nothing and goes left; what it returns can be broken."""

    def __init__(self, made=lambda policy: policy):
        self.made = made

    def plan(self, counts):
        return self.made(np.zeros(counts.visits.shape[:-1], dtype=int))


def study(users=40, agent=None, privatizer=None, eps=1.0):
    return Study(agent=agent or Left(), privatizer=privatizer or central(LAYOUT, users, eps), users=users, eps=eps)


def test_a_paper_s_learner_is_the_suite_s_own_bit_for_bit():
    users, eps = audit_bernstein_vi.EPISODES, audit_bernstein_vi.EPS
    agent = BernsteinVI(layout=audit_bernstein_vi.layout, episodes=users, error=audit_bernstein_vi.jdp.error)
    ours = Study(agent=agent, privatizer=audit_bernstein_vi.jdp, users=users, eps=eps)
    theirs, (pair,) = audit_bernstein_vi.joint.target, audit_bernstein_vi.first_user
    assert (ours.ledger, ours.upper) == (theirs.ledger, eps)
    released = [each.release(pair.first, rng=np.random.default_rng(1), size=50) for each in (ours.transcript, theirs)]
    assert np.array_equal(*released)
    assert np.array_equal(*(each.log_ratio(released[0], pair) for each in (ours.transcript, theirs)))


def test_the_others_of_an_agent_that_looks_see_exact_counts():
    class Greedy:
        def plan(self, counts):
            return (counts.visits[..., 0] > counts.visits[..., 1] + 0.5).astype(int)

    seen = [study(users=4, agent=Greedy()).actions(hidden=0, exact=exact) for exact in (False, True)]
    pair = study(users=4).pair()
    told = [each.release(pair.first, rng=np.random.default_rng(2), size=50) for each in seen]
    assert told[0].shape == told[1].shape
    assert (told[1] == told[1][0]).all()  # no noise
    assert not (told[0] == told[0][0]).all()


@pytest.mark.parametrize("privatizer", [central, local])
def test_half_the_noise_doubles_the_witness_and_the_ledger(privatizer):
    whole = study(privatizer=privatizer(LAYOUT, 40, 1.0))
    half = whole.with_noise(0.5)
    assert whole.claim == half.claim
    assert whole.claim.view is (View.LOCAL if privatizer is local else View.JOINT)
    assert (whole.upper, half.upper) == pytest.approx((1.0, 2.0))
    assert whole.witness(river_swim(), seed=2).lower == pytest.approx(1.0, abs=1e-6)
    assert half.witness(river_swim(), seed=2).lower == pytest.approx(2.0, abs=1e-6)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda policy: policy[:, :, :-1], "policies of shape"),
        (lambda policy: policy[0], "policies of shape"),
        (lambda policy: policy.astype(float), "action numbers"),
        (lambda policy: np.where(policy == 0, np.nan, policy), "action numbers"),
        (lambda policy: policy + 2, "from 0 to 1"),
        (lambda policy: policy - 1, "from 0 to 1"),
        (lambda policy: None, "policies of shape"),
    ],
)
def test_what_is_no_policy_is_one_clear_line(made, said):
    with pytest.raises(ParameterError, match=said) as caught:
        study(users=3, agent=Left(made)).regret(river_swim(), runs=2, seed=1)
    assert "Left.plan" in str(caught.value)


class Coins(Left):
    """Draws its own numbers, or remembers."""

    def __init__(self, late=0):
        self.rng, self.late, self.calls = np.random.default_rng(1), late, 0

    def plan(self, counts):
        self.calls += 1
        shape = counts.visits.shape[:-1]
        return self.rng.integers(2, size=shape) if self.calls > self.late else np.zeros(shape, dtype=int)


@pytest.mark.parametrize("late", [0, 5, 20])
def test_a_plan_that_is_no_function_of_the_counts_is_refused(late):
    with pytest.raises(ParameterError, match="the same policies for the same counts") as caught:
        study(agent=Coins(late)).regret(river_swim(), runs=2, seed=1)
    assert "Coins.plan, call" in str(caught.value)
    few = study(users=4, agent=Coins())
    with pytest.raises(ParameterError, match="the same policies"):
        few.transcript.release(few.pair().first, rng=np.random.default_rng(1), size=5)
