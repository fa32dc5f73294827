"""The search for the worst pair of trajectory datasets, started from one changed entry.

What is shown: for these privatizers, sizes and budgets the local search arrives, with most seeds, at a pair that loses
as much as `worst_replacement`, and as much as the sensitivity allows. Not shown: that it does for every seed, size or
eps. Of seeds 0 to 19 it arrived with 18 for local, laplace and shuffle, 17 for central, 16 for gaussian, and stopped at
6 of 8 cells with the others. The seeds below are the first six of them.
"""

import math
from functools import cache
from itertools import islice

import numpy as np
import pytest

from dpverify import Pair, Relation
from dpverify.base.errors import ParameterError
from dpverify.base.seeding import Stage, stream
from dpverify.claims.neighbours import Difference
from dpverify.evidence import search
from dpverify.trials import collect
from mechanisms.datasets.pair_moves import coarse_pairs, trajectory_move
from mechanisms.datasets.pairs import absence, constant, worst_replacement
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.privatizers.central import Central
from mechanisms.privatizers.local import Local
from mechanisms.privatizers.offline_tabular import OfflineTabularGaussian, OfflineTabularLaplace
from mechanisms.privatizers.shuffle import number_of_changed_counters, Shuffle
from mechanisms.shuffling.bits import NoiseBits

SMALL = CountLayout(H=2, S=2, A=2)
JOINT = CountLayout(H=2, S=2, A=2, B=2)
REWARDED = CountLayout(H=2, S=2, A=2, rewards=True)
EPS = 3.0
RHO = 0.1
SEED = 0  # the search is a heuristic on noisy figures: of seeds 0 to 3 it arrives with 0, 2 and 3 for Gaussian noise
TRIALS = 40_000

# privatizer, users; noise chosen so that a thousand trials tell pairs apart and do not show their most on all of them
PRIVATIZERS = {
    "local": (Local.corrected(EPS, SMALL), 1),
    "laplace": (OfflineTabularLaplace(layout=SMALL, eps=EPS), 3),
    "gaussian": (OfflineTabularGaussian(layout=SMALL, rho=RHO), 3),
    "central": (Central.corrected(EPS, SMALL, 2), 2),
    "shuffle": (Shuffle(layout=SMALL, users=3, eps=1.0, beta=1e-3, noise=NoiseBits(8, 0.5)), 3),
}


def changed_cells(pair: Pair, layout: CountLayout) -> int:
    exact = [layout.pack(data.counts(rewards=layout.rewards)) for data in pair]
    return int((exact[0] != exact[1]).sum())


def coarse(layout: CountLayout, users: int) -> Pair:
    """One action of the last step."""
    (pair,) = [pair for pair in coarse_pairs(layout, users) if pair.name == "user 0, actions of step 1"]
    return pair


@cache
def found_by_search(name: str, seed: int = SEED) -> Pair:
    privatizer, users = PRIVATIZERS[name]
    return search.worst_pair(
        privatizer,
        claim=privatizer.claim,
        pairs=[coarse(SMALL, users)],
        trials=TRIALS,
        seed=seed,
        move=trajectory_move,
    )


def extreme_loss(privatizer, pair: Pair) -> float:
    """The largest log ratio of the Laplace privatizers, at the exact counts with the second far below the first."""
    far = privatizer.layout.pack(pair.first.counts()) - privatizer.layout.pack(pair.second.counts())
    outputs = privatizer.layout.pack(pair.first.counts()) + 10.0 * far
    return float(privatizer.log_ratio(outputs[None], pair)[0])


@pytest.mark.parametrize("name", PRIVATIZERS)
def test_the_search_arrives_at_the_worst_replacement(name):
    _, users = PRIVATIZERS[name]
    worst = worst_replacement(constant(SMALL, users), 0)
    start = coarse(SMALL, users)
    assert (changed_cells(start, SMALL), changed_cells(worst, SMALL)) == (4, 8)
    found = found_by_search(name)
    assert found.verified
    assert found.first.differences(found.second) == Difference(replaced=1)
    assert changed_cells(found, SMALL) == changed_cells(worst, SMALL) == number_of_changed_counters(SMALL)


@pytest.mark.slow
@pytest.mark.parametrize("name", PRIVATIZERS)
def test_the_search_arrives_with_four_of_six_seeds(name):
    """A search that arrives with every second one gets here in 34 % of all cases; seed 0 is asked in every run."""
    arrived = (seed for seed in range(6) if changed_cells(found_by_search(name, seed), SMALL) == 8)
    assert len(list(islice(arrived, 4))) == 4


@pytest.mark.parametrize("name", ["local", "laplace"])
def test_its_loss_is_the_exact_worst_case(name):
    privatizer, users = PRIVATIZERS[name]
    start, worst = coarse(SMALL, users), worst_replacement(constant(SMALL, users), 0)
    found = found_by_search(name)
    assert extreme_loss(privatizer, start) == pytest.approx(EPS / 2)
    assert extreme_loss(privatizer, found) == pytest.approx(extreme_loss(privatizer, worst)) == pytest.approx(EPS)


def test_its_zcdp_shift_is_the_worst_case():
    privatizer, users = PRIVATIZERS["gaussian"]
    start, worst = coarse(SMALL, users), worst_replacement(constant(SMALL, users), 0)

    def rho(pair: Pair) -> float:
        first, second = (SMALL.pack(data.counts()) for data in pair)
        return float(((first - second) ** 2).sum() / (2 * privatizer.sigma**2))

    assert rho(start) == pytest.approx(RHO / 2)
    assert rho(found_by_search("gaussian")) == pytest.approx(rho(worst)) == pytest.approx(RHO)


def test_central_loss_counts_every_node():
    privatizer, users = PRIVATIZERS["central"]

    def loss(pair: Pair) -> float:
        first, second = (np.asarray(SMALL.pack(data.per_user())) for data in pair)
        return float(np.abs(first - second).sum() * privatizer.counter.nodes_per_item / privatizer.scale)

    start, worst = coarse(SMALL, users), worst_replacement(constant(SMALL, users), 0)
    assert loss(start) == pytest.approx(EPS / 2)
    assert loss(found_by_search("central")) == pytest.approx(loss(worst)) == pytest.approx(EPS)


def test_the_search_touches_no_other_streams(monkeypatch):
    used = []

    def watched(seed, stage, *key):
        used.append(stage)
        return stream(seed, stage, *key)

    monkeypatch.setattr(collect, "stream", watched)
    monkeypatch.setattr(search, "stream", watched)
    privatizer, users = PRIVATIZERS["local"]
    arguments = {"claim": privatizer.claim, "trials": 1000, "seed": 0, "move": trajectory_move}
    search.worst_pair(privatizer, pairs=[coarse(SMALL, users)], **arguments)
    assert set(used) == {Stage.SEARCH, Stage.SHAPE}  # the shape of one release, which nothing is learned from


def test_coarse_pairs_differ_in_one_entry():
    pairs = list(coarse_pairs(JOINT, 3, user=1))
    assert len(pairs) == 2 * 3 + 1  # two actions and a state a step, the final state
    assert all(pair.first.differences(pair.second) == Difference(replaced=1) for pair in pairs)
    by_name = {pair.name: changed_cells(pair, JOINT) for pair in pairs}
    assert by_name["user 1, actions of step 0"] == by_name["user 1, opponent_actions of step 1"] == 4
    assert by_name["user 1, states of step 1"] == 6  # a transition, a visit and its transition
    assert by_name["user 1, final state"] == 2
    rewarded = [pair for pair in coarse_pairs(REWARDED, 3) if "rewards" in pair.name]
    assert [changed_cells(pair, REWARDED) for pair in rewarded] == [1, 1]
    assert list(coarse_pairs(CountLayout(H=2, S=1, A=1), 1)) == []
    with pytest.raises(ParameterError, match="user"):
        list(coarse_pairs(SMALL, 2, user=2))


def test_a_fixed_start_stays():
    names = [pair.name for pair in coarse_pairs(JOINT, 1, fixed_start=True, fixed_action=True)]
    assert not [name for name in names if name.endswith("step 0")]
    assert [name for name in names if name.endswith("step 1")]
    rng = np.random.default_rng(0)
    pair = coarse(JOINT, 2)
    for _ in range(200):
        pair = trajectory_move(pair, rng, fixed_start=True, fixed_action=True)
        for data in pair:
            assert data.states[0, 0] == data.actions[0, 0] == data.opponent_actions[0, 0] == 0


def test_a_move_changes_one_step_of_the_replaced_user():
    rng = np.random.default_rng(1)
    start = next(coarse_pairs(JOINT, 3, user=1))
    seen, arms = set(), set()
    for _ in range(3000):
        moved = trajectory_move(start, rng)
        changed = [arm for arm in (0, 1) if start[arm].differences(moved[arm]).replaced]
        assert len(changed) == 1  # never the same pair again
        old, new = start[changed[0]], moved[changed[0]]
        assert all((old.states[user] == new.states[user]).all() for user in (0, 2))
        assert moved.first.differences(moved.second).allowed_by(Relation.REPLACE_ONE)
        touched = [
            (old.actions != new.actions) | (old.rewards != new.rewards) | (old.opponent_actions != new.opponent_actions)
        ]
        assert touched[0].sum() <= 1
        arms.add(changed[0])
        row = (new.states[1], new.actions[1], new.opponent_actions[1], new.rewards[1], new.final_states[1])
        seen.add((changed[0], *(int(value) for value in np.hstack(row))))
    assert arms == {0, 1}
    # two arms, two steps, 2^5 - 1 other values of (s, a, b, r, s') each; a state between the two steps is shared:
    # changing it alone is a move of either step
    assert len(seen) == 2 * (2 * 31 - 1)
    assert start.first.rewards.sum() == 0  # the given pair is left alone


def test_absent_users_stay_absent_and_equal_datasets_may_move():
    rng = np.random.default_rng(2)
    gone = absence(constant(SMALL, 2), 0)
    for _ in range(50):
        gone = trajectory_move(gone, rng)
        assert gone.first.differences(gone.second) == Difference(removed=1)
    data = constant(SMALL, 2)
    assert trajectory_move(Pair(data, data), rng).first.layout == SMALL
    with pytest.raises(ParameterError, match="length"):
        trajectory_move(Pair(data, constant(SMALL, 3)), rng)
    empty = absence(constant(SMALL, 1), 0).second
    with pytest.raises(ParameterError, match="present"):
        trajectory_move(Pair(empty, empty), rng)


def test_rewards_need_both_trajectories_to_move():
    # from rewards 0, replacing the second trajectory alone changes one reward cell a step; moving the first as well
    # reaches two, so the search space of the move is larger than the replacements of a constant dataset
    worst = worst_replacement(constant(REWARDED, 2), 0)
    assert changed_cells(worst, REWARDED) == 10 < number_of_changed_counters(REWARDED) == 12
    rng, pair, best = np.random.default_rng(3), coarse(REWARDED, 2), -math.inf
    for _ in range(300):  # hill climbing on the exact number of cells
        moved = trajectory_move(pair, rng)
        if changed_cells(moved, REWARDED) >= best:
            pair, best = moved, changed_cells(moved, REWARDED)
    assert best == number_of_changed_counters(REWARDED)
