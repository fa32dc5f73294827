"""`lean`: budget, sums and estimates against slow references, the exact cost of a step, planted mistakes."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize

from algorithms.beyond.lean import Lean
from algorithms.beyond.lean_promises import best_promise, pessimism_promise, proved_penalty, require_linear
from algorithms.beyond.lean_transcripts import LeanView
from algorithms.offline.data import appendix_mdp, collect, counts_of_runs, leaning_policy
from algorithms.offline.suboptimality_promises import near_tie, rarely
from algorithms.offline.vapvi import Halves
from algorithms.tabular import Model
from dpverify.accounting.accountant import account
from dpverify.base.seeding import Stage, stream
from dpverify.claims.claim import ZCDP
from dpverify.errors import ParameterError
from dpverify.promises import BROKEN, check_promise, KEPT

HORIZON = 3


@pytest.fixture(scope="module")
def linear():
    return appendix_mdp(5, HORIZON, 6).scaled()


@pytest.fixture(scope="module")
def data(linear):
    return collect(linear.model, leaning_policy(HORIZON, 2, 6), 40, rng=stream(1, Stage.EXPERIMENT, 3))


def lean(linear, **options):
    return Lean(**{"features": linear.features, "horizon": HORIZON, "rho": 2.0, "penalty": 0.3, **options})


def test_a_run_is_the_formula(linear, data):
    """One step after the other, user by user, with the noise that the learner draws."""
    learner = lean(linear)
    counts = counts_of_runs([data])
    plan = learner.learn(Halves(counts, counts, 40), rng=stream(2, Stage.EXPERIMENT), size=1)
    rng, value = stream(2, Stage.EXPERIMENT), np.zeros(2)
    for h in (2, 1, 0):
        gram, target = np.zeros((10, 10)), np.zeros(10)
        for user in range(40):
            phi = linear.features[data.states[user, h], data.actions[user, h]]
            gram += np.outer(phi, phi)
            target += phi * (data.rewards[user, h] + value[data.next_states[user, h]])
        vector, noise = learner.draw(h, 1, rng=rng)
        matrix = gram + noise[0] + (1.0 + learner.shift(h)) * np.eye(10)
        assert np.linalg.eigvalsh(matrix).min() > 1.0  # on the good event, which this seed is on
        inverse = np.linalg.inv(matrix)
        w = inverse @ (target + vector[0])
        lengths = np.sqrt(np.einsum("sad,de,sae->sa", linear.features, inverse, linear.features))
        q = np.clip(linear.features @ w - 0.3 * lengths, 0, HORIZON - h)
        assert np.array_equal(plan.policy[0, h], q.argmax(axis=1))
        value = q.max(axis=1)
        assert np.allclose(plan.values[0, h], value, atol=1e-9)


def test_the_budget_is_spent_and_not_more(linear):
    learner = lean(linear)
    costs = [learner.step_cost(h).unit_ball_replace() for h in range(HORIZON)]
    assert [float(each) for each in costs] == pytest.approx([1.0, 2 / 3, 1 / 3], rel=1e-11)  # 3 : 2 : 1 of rho = 2
    assert sum(costs) <= Fraction(2)
    view = LeanView(learner)
    assert account(view, delta=1e-5) == pytest.approx(ZCDP(2.0).eps_at(1e-5), rel=0.2)
    assert account(view.with_noise(0.5), delta=1e-5) > 2 * account(view, delta=1e-5)


@pytest.mark.parametrize("h", [0, 1, 2])
def test_no_pair_of_users_costs_more_than_a_step_s_cost(linear, h):
    """Maximised numerically over features in the unit ball of the plane and targets in [0, top]."""
    learner = lean(linear)
    s, g = learner.sigmas[h]
    top = HORIZON - h

    def loss(x):
        one, other = x[0] * np.array([np.cos(x[1]), np.sin(x[1])]), x[2] * np.array([np.cos(x[3]), np.sin(x[3])])
        target = ((one * x[4] - other * x[5]) ** 2).sum() / (2 * s**2)
        return -(target + ((np.outer(one, one) - np.outer(other, other)) ** 2).sum() / (2 * g**2))

    box = [(0, 1), (0, 2 * np.pi), (0, 1), (0, 2 * np.pi), (0, top), (0, top)]
    found = optimize.differential_evolution(loss, box, seed=1, tol=1e-10, maxiter=400)
    assert -found.fun == pytest.approx(float(learner.step_cost(h).unit_ball_replace()), rel=1e-5)


def test_noise_keeps_its_shift(linear):
    learner = lean(linear, beta=0.2)
    beyond = np.zeros(2_000, dtype=bool)
    for h in range(HORIZON):
        _, gram = learner.draw(h, 2_000, rng=stream(h, Stage.EXPERIMENT, 4))
        assert np.allclose(gram, np.swapaxes(gram, 1, 2))
        beyond |= np.abs(np.linalg.eigvalsh(gram)).max(axis=1) > learner.shift(h)
        entries = gram[:, 0, 0], gram[:, 0, 1] * np.sqrt(2)
        assert [each.std() for each in entries] == pytest.approx([learner.sigmas[h, 1]] * 2, rel=0.08)
    assert beyond.mean() <= 0.2  # a bound: far below


def test_the_penalty_that_is_proved_by_hand():
    """H = 1, d = 2, S = 1: one step, so t = 1."""
    learner = Lean(features=np.eye(2)[None], horizon=1, rho=1.0, ridge=4.0, beta=0.2)
    s, shift, tail = learner.sigmas[0, 0], learner.shift(0), math.log(10)
    sampling = 0.5 * math.sqrt(2 * math.log(1 + 100 / 8) + 2 * (math.log(101) + tail)) + 1
    by_hand = sampling + s * (math.sqrt(2) + math.sqrt(2 * tail)) / 2 + math.sqrt(2 * (4 + 2 * shift))
    assert proved_penalty(learner, 100) == pytest.approx(by_hand)


SQUARE = np.eye(4).reshape(2, 2, 4)


def proved(users, **options):
    learner = Lean(features=SQUARE, horizon=2, rho=1.0, **options)
    return replace(learner, penalty=proved_penalty(learner, users))


@pytest.mark.parametrize("promise", [pessimism_promise, best_promise])
def test_promises_are_at_the_penalty_that_is_proved(promise):
    learner = proved(10**10)
    promise(near_tie(1e-3), learner, rarely(0.1), 10**10, name="x")
    with pytest.raises(ParameterError, match="penalty"):
        promise(near_tie(1e-3), replace(learner, penalty=0.99 * learner.penalty), rarely(0.1), 10**10, name="x")
    with pytest.raises(ParameterError, match="users"):
        promise(near_tie(1e-3), learner, rarely(0.1), 0, name="x")


def test_the_model_is_linear_with_short_weights_or_refused():
    """H = 1: w* of features c e_i is 1/c in the state that pays, above sqrt 2 from c = 0.7 down."""
    model = Model(np.full((1, 2, 1, 2), 0.5), np.array([[[0.0], [1.0]]]), np.full(2, 0.5))
    require_linear(model, 0.71 * np.eye(2).reshape(2, 1, 2))
    with pytest.raises(ParameterError, match="w"):
        require_linear(model, 0.7 * np.eye(2).reshape(2, 1, 2))
    with pytest.raises(ParameterError, match="linear"):  # both states look alike, and do not pay alike
        require_linear(model, np.ones((2, 1, 1)))


def test_a_correct_lean_loses_and_whoever_learns_nothing_loses_more():
    learner = proved(10**10)
    promise = best_promise(near_tie(1e-3), learner, rarely(0.1), 10**10, name="x", trials=100)
    check = check_promise(promise, seed=1)
    assert (check.verdict, check.active_share) == (KEPT, 1.0)
    assert check.tightness > 0.1
    assert check_promise(replace(promise, bound=0.1 * promise.bound), seed=1).verdict == BROKEN
