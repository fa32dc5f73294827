"""Trajectories: counts, differences, neighbours, flat layout, and sensitivities by enumeration."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from dpverify import PureDP, Relation
from dpverify.claims.neighbours import Difference
from dpverify.errors import NeighbourError, ParameterError
from mechanisms.datasets.pairs import absence, constant, random_replacement, uniform, worst_replacement
from mechanisms.datasets.trajectories import ABSENT, Trajectories
from mechanisms.datasets.visit_counts import CountLayout, Counts, ExactCounts
from mechanisms.privatizers.local import changed_indicators

RNG_SEED = 11
LAYOUTS = [CountLayout(H=3, S=2, A=2), CountLayout(H=2, S=3, A=2, B=3), CountLayout(H=1, S=1, A=1, B=1)]


def brute_force(data: Trajectories) -> ExactCounts:
    layout = data.layout
    visits, rewards = np.zeros(layout.visits_shape), np.zeros(layout.visits_shape)
    transitions = np.zeros(layout.transitions_shape)
    for user in range(len(data)):
        if data.states[user, 0] == ABSENT:
            continue
        for h in range(data.H):
            cell = (h, data.states[user, h], data.actions[user, h])
            if data.opponent_actions is not None:
                cell = (*cell, data.opponent_actions[user, h])
            visits[cell] += 1
            rewards[cell] += data.rewards[user, h]
            if h + 1 < data.H:
                transitions[(*cell, data.states[user, h + 1])] += 1
            elif data.final_states is not None:
                transitions[(*cell, data.final_states[user])] += 1
    return ExactCounts(visits, transitions, rewards)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("with_final", [True, False])
def test_counts_are_those_of_a_loop(layout, with_final):
    rng = np.random.default_rng(RNG_SEED)
    data = uniform(layout, 40, rng=rng, binary_rewards=False)
    data = absence(data, 7).second
    if not with_final:
        data = replace(data, final_states=None)
    expected, counts = brute_force(data), data.counts(rewards=True)
    np.testing.assert_array_equal(counts.visits, expected.visits)
    np.testing.assert_array_equal(counts.transitions, expected.transitions)
    np.testing.assert_allclose(counts.rewards, expected.rewards, rtol=1e-12)
    assert data.counts().rewards is None


def test_layout_refuses_what_does_not_fit():
    layout = CountLayout(H=1, S=2, A=1)
    counts = constant(layout, 1).counts(rewards=True)
    with pytest.raises(ParameterError, match="rewards"):
        layout.pack(counts)
    with pytest.raises(ParameterError, match=r"flat\.shape"):
        layout.unpack(np.zeros(5))
    with pytest.raises(ParameterError, match=r"visits\.shape"):
        CountLayout(H=2, S=2, A=1).pack(constant(layout, 1).counts())
    with pytest.raises(ParameterError, match=r"transitions\.shape"):
        Counts(np.zeros((1, 2)), np.zeros((1, 2)))


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"states": np.array([[0, 2]])}, "states"),
        ({"states": np.array([[0, -1]])}, "states"),  # absent in one step only is no absence
        ({"states": np.array([[0.0, 1.0]])}, "states"),
        ({"states": np.array([0, 1])}, "states"),
        ({"actions": np.array([[0, 2]])}, "actions"),
        ({"actions": np.array([[0]])}, "actions.shape"),
        ({"rewards": np.array([[0.0, np.nan]])}, "rewards"),
        ({"final_states": np.array([2])}, "final_states"),
        ({"B": 2}, "opponent_actions"),
        ({"S": 0}, "S"),
    ],
)
def test_what_lies_outside_its_range_is_refused(changes, named):
    good = {"states": np.array([[0, 1]]), "actions": np.array([[0, 1]]), "S": 2, "A": 2}
    Trajectories(**good)
    with pytest.raises(ParameterError, match=named):
        Trajectories(**{**good, **changes})


def test_differences_count_users():
    layout = CountLayout(H=2, S=2, A=2)
    data = uniform(layout, 6, rng=np.random.default_rng(RNG_SEED))
    assert data.differences(data) == Difference()
    assert data.differences(worst_replacement(data, 2).second) == Difference(replaced=1)
    left = absence(data, 2).second
    assert data.differences(left) == Difference(removed=1)
    assert left.differences(data) == Difference(added=1)
    other = worst_replacement(worst_replacement(data, 2).second, 3).second
    assert data.differences(other) == Difference(replaced=2)


def test_claims_verify_built_pairs_and_refuse_the_wrong_relation():
    data = uniform(CountLayout(H=2, S=2, A=2, B=2), 4, rng=np.random.default_rng(RNG_SEED))
    replaced = PureDP(1.0)
    removed = PureDP(1.0, relation=Relation.ADD_OR_REMOVE_ONE)
    assert replaced.check(worst_replacement(data, 0)).verified
    assert replaced.check(random_replacement(data, 1, rng=np.random.default_rng(1), fixed_start=True)).verified
    assert removed.check(absence(data, 3)).verified
    with pytest.raises(NeighbourError):
        removed.check(replace(worst_replacement(data, 0), relation=None))
    with pytest.raises(NeighbourError):
        replaced.check(replace(absence(data, 0), relation=None))


def all_trajectories(layout: CountLayout, *, fixed_start: bool) -> Trajectories:
    """Every trajectory there is, one a user."""
    states = itertools.product(range(layout.S), repeat=layout.H + 1)
    rows = [
        (path, actions, opponents)
        for path in states
        if not (fixed_start and path[0])
        for actions in itertools.product(range(layout.A), repeat=layout.H)
        for opponents in itertools.product(range(layout.B or 1), repeat=layout.H)
    ]
    paths = np.array([row[0] for row in rows])
    return Trajectories(
        states=paths[:, :-1],
        actions=np.array([row[1] for row in rows]),
        S=layout.S,
        A=layout.A,
        opponent_actions=None if layout.B is None else np.array([row[2] for row in rows]),
        B=layout.B,
        final_states=paths[:, -1],
    )


SMALL = [CountLayout(H=H, S=S, A=A, B=B) for H, S, A, B in itertools.product((1, 2), (1, 2), (1, 2), (None, 1, 2))]


@pytest.mark.parametrize("layout", SMALL, ids=str)
@pytest.mark.parametrize("fixed_start", [False, True])
def test_sensitivity_is_the_maximum_over_all_pairs_of_trajectories(layout, fixed_start):
    everything = all_trajectories(layout, fixed_start=fixed_start)
    each = everything.per_user()
    families = [each.visits.reshape(len(everything), -1), each.transitions.reshape(len(everything), -1)]
    gaps = [np.abs(family[:, None] - family[None]).sum(axis=2) for family in families]
    claimed = changed_indicators(layout, fixed_start=fixed_start)
    assert tuple(gap.max() for gap in gaps) == claimed
    assert (gaps[0] + gaps[1]).max() == sum(claimed)  # attained together
    assert all(np.abs(family[:, None] - family[None]).max(initial=0) <= 1 for family in families)
    assert all((family.sum(axis=1) == layout.H).all() for family in families)  # against an absent user
    worst = worst_replacement(constant(layout, 1), 0, fixed_start=fixed_start)
    moved = [np.abs(layout.pack(worst[0].counts()) - layout.pack(worst[1].counts())).sum()]
    assert moved == [sum(claimed)]
