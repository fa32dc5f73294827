"""UCB-VI, PUCB and Bernstein-VI: against slow references, at eps = infinity, and in what they promise."""

import math

import numpy as np
import pytest

from algorithms.baselines.ucbvi import UCBVI
from algorithms.bernstein_vi.learner import BernsteinVI, local
from algorithms.core.counting import ExactSource, layout_of, LocalCounts, own_counts, total_counts, TreeCounts
from algorithms.core.environments import random_environment
from algorithms.core.online import run_online
from algorithms.core.users import play, Replaced, TapeUsers, Tree
from algorithms.pucb.learner import PUCB, touched_cells
from algorithms.tabular import backward_induction, uniform_policy
from dpverify.base.seeding import Stage, stream
from dpverify.errors import ParameterError
from mechanisms.counters.tree import BinaryCounter
from mechanisms.datasets.trajectories import Trajectories
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.toolbox.noise_laws import NoNoise

ENV = random_environment(0, 3, 2, 3)
LAYOUT = layout_of(ENV.model)
RUNS, T = 3, 60


def users(env=ENV, runs=RUNS, episodes=T, seed=1):
    return TapeUsers(env, env.tapes(seed, runs, episodes))


def rng(*key):
    return stream(2, Stage.EXPERIMENT, *key)


# Slow references: one run, nested loops over (h, s, a), nothing shared with the library but the tapes.


def bonus_hoeffding(n, h, p, r, v, arrivals):
    log = math.log(5 * 3 * 2 * T * 3 / 0.05)
    return 7 * 3 * log / math.sqrt(n)


def bonus_bernstein(n, h, p, r, v, arrivals):
    log = math.log(5 * 3 * 2 * T * 3 / 0.05)
    mean = sum(p[t] * v[t] for t in range(3))
    var = sum(p[t] * (v[t] - mean) ** 2 for t in range(3)) + r * (1 - r)
    bonus = math.sqrt(8 * log * var / n) + 14 * 3 * log / (3 * n)
    if h < 2:
        miss = sum(p[t] * min(100**2 * 9 * 9 * 2 * log**2 / max(arrivals[t], 1), 9) for t in range(3))
        bonus += math.sqrt(8 * miss / n)
    return bonus


def bonus_dp(n, h, p, r, v, arrivals):
    iota = math.log(30 * 18 * T / 0.05)
    mean = sum(p[t] * v[t] for t in range(3))
    var = sum(p[t] * (v[t] - mean) ** 2 for t in range(3))
    span = 3 - h - 1
    following = max(math.sqrt(2 * var * iota / n), 2 * span * iota / n)
    return following + math.sqrt(2 * r * (1 - r) * iota / n) + 17 / 3 * (span + 1) * iota / n


def bonus_dp_known(n, h, p, r, v, arrivals):
    iota = math.log(30 * 18 * T / 0.05)
    mean = sum(p[t] * v[t] for t in range(3))
    var = sum(p[t] * (v[t] - mean) ** 2 for t in range(3))
    return math.sqrt(var * iota / n) + 9 * 3 * iota / n


def bonus_pucb(n, h, p, r, v, arrivals):
    return 4 * math.sqrt(2 * math.log(4 * T / 0.05) / n)


def reference_actions(bonus, scale, cap, run):
    """Policies (T, 3, 3) of one run, with exact counts."""
    who = users().run(run)
    n, m, r = np.zeros((3, 3, 2)), np.zeros((3, 3, 2, 3)), np.zeros((3, 3, 2))
    policies = []
    for t in range(T):
        policy, v = np.zeros((3, 3), dtype=int), np.zeros(3)
        for h in (2, 1, 0):
            above = np.zeros(3)
            for s in range(3):
                q = []
                for a in range(2):
                    c = n[h, s, a]
                    if c == 0:
                        q.append(float(cap(h)))
                        continue
                    p, mean = m[h, s, a] / c, r[h, s, a] / c
                    arrivals = n[h + 1].sum(axis=1) if h < 2 else None
                    plain = mean + sum(p[x] * v[x] for x in range(3))
                    q.append(min(cap(h), plain + scale * bonus(c, h, p, mean, v, arrivals)))
                policy[h, s] = int(np.argmax(q))
                above[s] = max(q)
            v = above
        policies.append(policy)
        seen = play(who, slice(t, t + 1), policy, actions=2)
        for h in range(3):
            s, a, after = seen.states[0, h], seen.actions[0, h], seen.states[0, h + 1]
            n[h, s, a] += 1
            m[h, s, a, after] += 1
            r[h, s, a] += seen.rewards[0, h]
    return np.array(policies)


LEARNERS = {
    "hoeffding": (
        UCBVI(layout=LAYOUT, episodes=T, bonus="hoeffding", bonus_scale=0.003),
        bonus_hoeffding,
        0.003,
        lambda h: 3 - h,
    ),
    "bernstein": (
        UCBVI(layout=LAYOUT, episodes=T, bonus="bernstein", bonus_scale=0.01),
        bonus_bernstein,
        0.01,
        lambda h: 3 - h,
    ),
    "bernstein-vi": (
        BernsteinVI(layout=LAYOUT, episodes=T, error=0.0, bonus_scale=0.01),
        bonus_dp,
        0.01,
        lambda h: 3 - h,
    ),
    "bernstein-vi, known rewards' bonus": (
        BernsteinVI(layout=LAYOUT, episodes=T, error=0.0, bonus_scale=0.01, bonus="known"),
        bonus_dp_known,
        0.01,
        lambda h: 3 - h,
    ),
    "pucb": (PUCB(layout=LAYOUT, episodes=T, error=0.0, bonus_scale=0.05), bonus_pucb, 0.05, lambda h: 3),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_the_vectorised_learner_equals_a_slow_reference_action_for_action(name):
    learner, bonus, scale, cap = LEARNERS[name]
    fast = run_online(users(), learner, ExactSource(LAYOUT), runs=RUNS, rng=rng())
    assert len(np.unique(fast.policies.reshape(T * RUNS, -1), axis=0)) > 5  # it does learn something
    for run in range(RUNS):
        np.testing.assert_array_equal(fast.policies[:, run], reference_actions(bonus, scale, cap, run))


SILENT = [
    LocalCounts(LAYOUT, 0.0, 0.0),
    TreeCounts(LAYOUT, BinaryCounter(releases=T, noise=NoNoise(), cells=(LAYOUT.cells,), touches=9), 0.0),
]


@pytest.mark.parametrize("source", SILENT, ids=["local", "central"])
@pytest.mark.parametrize("name", LEARNERS)
def test_at_eps_infinity_the_private_learner_is_the_non_private_one(name, source):
    learner = LEARNERS[name][0]
    private = run_online(users(), learner, source, runs=RUNS, rng=rng())
    plain = run_online(users(), learner, ExactSource(LAYOUT), runs=RUNS, rng=rng())
    np.testing.assert_array_equal(private.policies, plain.policies)
    np.testing.assert_array_equal(private.final, plain.final)


def test_own_counts_are_those_of_trajectories():
    seen = play(users(), 0, uniform_policy(3, 3, 2), actions=2, coins=rng(7).random((RUNS, 3)))
    data = Trajectories(
        states=seen.states[:, :-1],
        actions=seen.actions,
        S=3,
        A=2,
        rewards=seen.rewards,
        final_states=seen.states[:, -1],
    )
    np.testing.assert_array_equal(own_counts(seen, LAYOUT), LAYOUT.pack(data.per_user(rewards=True)))
    np.testing.assert_array_equal(total_counts(seen, LAYOUT), LAYOUT.pack(data.counts(rewards=True)))
    less = own_counts(seen, LAYOUT, last_transition=False)
    assert np.all(own_counts(seen, LAYOUT).sum(axis=1) - less.sum(axis=1) == 1)
    assert touched_cells(3) == 9 == own_counts(seen, LAYOUT)[:, : 18 * 4].sum(axis=1)[0] + 3
    assert touched_cells(3, last_transition=False) == 8


def test_a_replaced_user_changes_nothing_before_her_and_only_what_was_released_after():
    """Non-private run: policies up to and including hers are the same; later ones may differ."""
    learner, who = LEARNERS["bernstein-vi"][0], users()
    other = Replaced(who, 20, Tree.steady((0, 0, 0, 0), (1, 1, 1), 2))
    one, two = (run_online(each, learner, ExactSource(LAYOUT), runs=RUNS, rng=rng()) for each in (who, other))
    np.testing.assert_array_equal(one.policies[:21], two.policies[:21])
    assert not np.array_equal(one.policies[21:], two.policies[21:])


def test_ucbvi_is_optimistic_at_theory_scale():
    """Q >= Q* in all (t, h, s, a) of all runs; allowed to fail with probability delta = 0.05 a run."""
    q_star = backward_induction(ENV.model.transitions, ENV.model.rewards).q
    runs, episodes, failures = 20, 80, {"hoeffding": 0, "bernstein": 0}
    for bonus in failures:
        learner = UCBVI(layout=LAYOUT, episodes=episodes, bonus=bonus)
        bad = np.zeros(runs, dtype=bool)

        def watch(served, learner=learner, bad=bad):
            if served.counts is not None:
                bad |= (learner.optimistic(LAYOUT.unpack(served.counts)).q < q_star - 1e-9).any(axis=(1, 2, 3))

        run_online(
            users(runs=runs, episodes=episodes), learner, ExactSource(LAYOUT), runs=runs, rng=rng(), observe=watch
        )
        failures[bonus] = int(bad.sum())
    # level: P[Bin(20, 0.05) > 5] < 3e-4
    assert max(failures.values()) <= 5


def test_low_private_counts_are_met_with_optimism():
    """n~ <= 0 gives Q+ = H; the printed formula is kept for 0 < n~ < 2E only on request, and may be below Q*."""
    layout = CountLayout(H=1, S=1, A=2, rewards=True)
    counts = layout.unpack(np.array([[-3.0, 0.5, 1.0, 1.0, -4.0, -4.0]]))
    mended = PUCB(layout=layout, episodes=10, error=5.0)
    np.testing.assert_array_equal(mended.optimistic(counts).q, [[[[1.0, 1.0]]]])
    printed = PUCB(layout=layout, episodes=10, error=5.0, printed_low_counts=True)
    np.testing.assert_allclose(printed.optimistic(counts).q, [[[[1.0, -7.0]]]])


@pytest.mark.parametrize("bad", [float("nan"), -1.0, math.inf])
def test_impossible_settings_are_refused(bad):
    for make in (
        lambda: PUCB(layout=LAYOUT, episodes=T, error=bad),
        lambda: BernsteinVI(layout=LAYOUT, episodes=T, error=bad),
        lambda: UCBVI(layout=LAYOUT, episodes=T, bonus_scale=bad),
        lambda: LocalCounts(LAYOUT, bad, 0.0),
        lambda: local(LAYOUT, T, bad),
    ):
        with pytest.raises(ParameterError):
            make()
