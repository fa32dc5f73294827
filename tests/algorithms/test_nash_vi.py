"""DP-Nash-VI: against a slow reference, at its start, with one player, and in what it promises along a run."""

import math
from functools import partial

import numpy as np
import pytest

from algorithms.core.users import TapeUsers
from algorithms.nash_vi.equilibria import cce
from algorithms.nash_vi.kernel_promises import fork
from algorithms.nash_vi.learner import error_of, NashVI, self_play
from algorithms.nash_vi.markov_games import matrix_game, random_game
from algorithms.nash_vi.promises import WatchedNashVI
from algorithms.nash_vi.regret_promises import rate_promise, regret_bound, selfplay_promise, uniform_gap
from audits.planted.nash_vi import UniformPlay
from dpverify.base.seeding import Stage, stream
from dpverify.errors import RunError
from dpverify.promises import check_promise
from mechanisms.datasets.visit_counts import PrivateCounts
from mechanisms.privatizers.central import Central
from mechanisms.privatizers.local import Local
from mechanisms.privatizers.no_privacy import NoPrivacy

GAME = random_game(1, 3, 2, 2, 3)
K = 40


def learner(game=GAME, error=0.0, **options):
    options = {"bonus_scale": 0.01, "gap_scale": 0.5, **options}
    return NashVI(layout=game.layout, rewards=game.rewards, episodes=K, error=error, **options)


def run(game=GAME, *, error=0.0, privatizer=None, runs=3, seed=1, planner=None, look=None, **options):
    users = TapeUsers(game.environment, game.environment.tapes(seed, runs, K))
    privatizer = privatizer or NoPrivacy(layout=game.layout)
    planner = planner or learner(game, error)
    planner = WatchedNashVI.of(planner, look) if look else planner
    rng = stream(seed, Stage.EXPERIMENT, 7)
    return self_play(users, planner, privatizer, start=game.start, runs=runs, rng=rng, **options)


def reference_plan(game, visits, transitions, planner, error):
    """One run, cell by cell, from counts that are already consistent."""
    horizon, states = planner.layout.H, planner.layout.S
    tables = np.zeros((2, *game.rewards.shape))
    up, low = np.zeros((horizon + 1, states)), np.zeros((horizon + 1, states))
    iota = math.log(30 * game.rewards.size * K / planner.beta)
    for h in reversed(range(horizon)):
        for s in range(states):
            for a, b in np.ndindex(*game.rewards.shape[2:]):
                n = visits[h, s, a, b]
                if n == 0:
                    tables[:, h, s, a, b] = horizon, 0
                    continue
                p = [transitions[h, s, a, b, t] / n for t in range(states)]
                mid = [(up[h + 1, t] + low[h + 1, t]) / 2 for t in range(states)]
                mean = sum(p[t] * mid[t] for t in range(states))
                var = sum(p[t] * (mid[t] - mean) ** 2 for t in range(states))
                gap = sum(p[t] * (up[h + 1, t] - low[h + 1, t]) for t in range(states))
                bonus = math.sqrt(var * iota / n) + (horizon * states * error + horizon**2 * states) * iota / n
                bonus = planner.bonus_scale * bonus + planner.gap_scale / horizon * gap
                r = game.rewards[h, s, a, b]
                tables[0, h, s, a, b] = min(r + sum(p[t] * up[h + 1, t] for t in range(states)) + bonus, horizon)
                tables[1, h, s, a, b] = max(r + sum(p[t] * low[h + 1, t] for t in range(states)) - bonus, 0)
            joint = cce(tables[0, h, s], tables[1, h, s])
            up[h, s], low[h, s] = (joint * tables[0, h, s]).sum(), (joint * tables[1, h, s]).sum()
    return tables, up, low


def counts_of(game, users, key=0):
    """Exact counts of random trajectories, not every cell visited."""
    rng = stream(3, Stage.EXPERIMENT, key)
    visits = rng.poisson(users / 12, size=game.rewards.shape).astype(float)
    law = game.transitions
    transitions = np.array(
        [rng.multinomial(int(n), p) for n, p in zip(visits.ravel(), law.reshape(-1, law.shape[-1]), strict=True)]
    )
    return PrivateCounts(visits[None], transitions.reshape(1, *law.shape).astype(float))


@pytest.mark.parametrize("users", [6, 100, 3000])
def test_plan_is_that_of_the_slow_reference(users):
    counts = counts_of(GAME, users)
    plan = learner().plan(counts)
    tables, up, low = reference_plan(GAME, counts.visits[0], counts.transitions[0], learner(), 0.0)
    assert np.allclose(plan.upper[0], tables[0], rtol=0, atol=1e-10)
    assert np.allclose(plan.lower[0], tables[1], rtol=0, atol=1e-10)
    assert np.allclose(plan.upper_values[0], up, rtol=0, atol=1e-10)
    assert np.allclose(plan.lower_values[0], low, rtol=0, atol=1e-10)


def test_private_plan_is_that_of_the_slow_reference():
    error = 4.0
    counts = counts_of(GAME, 3000)  # consistent: post-processing adds E/(2S) to each next state
    plan = learner(error=error).plan(counts)
    shifted = counts.transitions[0] + error / 6
    tables, _, _ = reference_plan(GAME, shifted.sum(axis=-1), shifted, learner(), error)
    assert np.allclose(plan.upper[0], tables[0], rtol=0, atol=1e-10)
    assert np.allclose(plan.lower[0], tables[1], rtol=0, atol=1e-10)


@pytest.mark.parametrize("error", [0.0, 2.0])
def test_before_the_first_episode_nothing_is_known(error):
    planner = learner(error=error, bonus_scale=1.0)
    zero = GAME.layout.zeros(2)
    assert np.allclose(planner.kernel(zero), 1 / 3, rtol=0, atol=1e-12)
    plan = planner.plan(zero)
    assert (plan.upper == 3).all()
    assert (plan.lower == 0).all()


def test_one_player_is_the_single_agent_learner():
    """B = 1: greedy in an optimistic table, written down here without a second player."""
    game = random_game(2, 3, 3, 1, 3)
    planner = learner(game)
    counts = counts_of(game, 200)
    plan = planner.plan(counts)
    n, onward, rewards = counts.visits[0, ..., 0], counts.transitions[0, ..., 0, :], game.rewards[..., 0]
    iota, value, floor = planner.log_term, np.zeros(3), np.zeros(3)
    for h in reversed(range(3)):
        p = np.where(n[h, ..., None] > 0, onward[h] / np.maximum(n[h, ..., None], 1), 1 / 3)
        mid = (value + floor) / 2
        var = p @ mid**2 - (p @ mid) ** 2
        bonus = 0.01 * (np.sqrt(np.maximum(var, 0) * iota / np.maximum(n[h], 1)) + 27 * iota / np.maximum(n[h], 1))
        bonus += 0.5 / 3 * (p @ (value - floor))
        q = np.where(n[h] > 0, np.minimum(rewards[h] + p @ value + bonus, 3), 3)
        below = np.where(n[h] > 0, np.maximum(rewards[h] + p @ floor - bonus, 0), 0)
        greedy = q.argmax(axis=1)
        assert np.array_equal(plan.joint[0, h, :, :, 0], np.eye(3)[greedy])
        value, floor = q.max(axis=1), below[np.arange(3), greedy]
        assert np.allclose(plan.upper_values[0, h], value, rtol=0, atol=1e-9)


def test_infinite_eps_is_the_non_private_learner():
    """Noise and E at 1e-9: the same coins, the same policies, episode by episode."""
    exact = run()
    for private in (
        Local.corrected(1e12, GAME.layout, users=K - 1),
        Central.corrected(1e12, GAME.layout, K, releases=K - 1, fixed_start=True),
    ):
        nearly = run(privatizer=private, error=error_of(private, 0.05))
        assert np.allclose(nearly.first, exact.first, rtol=0, atol=1e-5)
        assert np.allclose(nearly.out_width, exact.out_width, rtol=0, atol=1e-5)


def test_the_bound_of_theorem_4_1_by_hand():
    """H = S = 1, A = B = 2, E = 3: sqrt(4 K) iota + (4 + 12) iota^2."""
    game = matrix_game([[0.0, 0.5], [0.5, 1.0]])
    learner = NashVI(layout=game.layout, rewards=game.rewards, episodes=100, error=3.0)
    iota = math.log(30 * 4 * 100 / 0.05)
    assert regret_bound(learner) == pytest.approx(20 * iota + 16 * iota**2)
    assert uniform_gap(game) == 0.5


def test_a_rate_of_minus_one_half_is_allowed_and_nothing_slower():
    """E = K^p: the width falls as 1/sqrt K, or as K^(p - 1) where that is slower, up to iota."""
    game = fork(0.5)
    errors = []
    for power in (0.4, 0.6):
        planner = partial(_planner, game, power)
        promise = rate_promise(game, planner, (10**10, 10**12, 10**14), name="r")
        errors.append(promise.draw(rng=stream(5, Stage.EXPERIMENT), size=3).errors)
    assert (errors[0] == 0).all()
    assert (errors[1] > 0.02).all()


def _planner(game, power, users):
    return NashVI(layout=game.layout, rewards=game.rewards, episodes=users, error=users**power)


class Undefined(NashVI):
    """INCORRECT: its values are no numbers."""

    def plan(self, counts):
        return super().plan(counts)._replace(upper_values=np.full((*counts.visits.shape[:-4], 2, 1), np.nan))


def test_a_run_without_an_output_keeps_nothing():
    game = matrix_game([[0.0, 0.5], [0.5, 1.0]])
    learner = Undefined(layout=game.layout, rewards=game.rewards, episodes=20, error=0.0)
    promise = selfplay_promise([game], learner, NoPrivacy(layout=game.layout), what="output", name="none", trials=10)
    with pytest.raises(RunError, match="no output"):
        check_promise(promise, seed=1)


def test_a_width_below_the_true_gap_breaks_the_rate():
    game = random_game(1, 2, 2, 2, 2)
    planner = lambda users: UniformPlay(layout=game.layout, rewards=game.rewards, episodes=users, error=0.0)  # noqa: E731
    promise = rate_promise(game, planner, (10**10, 10**12, 10**14), name="r")
    errors = promise.draw(rng=stream(5, Stage.EXPERIMENT), size=3).errors
    np.testing.assert_allclose(errors, uniform_gap(game), atol=1e-4)
