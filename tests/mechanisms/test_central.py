"""Central privatizer: changed cells by enumeration, the spec's table, streaming, transcripts, error bounds."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from dpverify.accounting.accountant import meets, pure_eps
from dpverify.claims.neighbours import Relation
from dpverify.errors import ParameterError, UsageError
from mechanisms.counters import LogBase
from mechanisms.datasets.pairs import constant, uniform, worst_replacement
from mechanisms.datasets.trajectories import Trajectories
from mechanisms.datasets.visit_counts import CountLayout, ExactCounts
from mechanisms.privatizers.central import Central, changed_counter_cells, Reading
from mechanisms.privatizers.protocol import OnlinePrivatizer

REPLACE, ABSENT = Relation.REPLACE_ONE, Relation.ADD_OR_REMOVE_ONE
SMALL = CountLayout(H=1, S=1, A=2, B=1)


def all_trajectories(layout, *, fixed_start):
    """Increments of every single user, (n, cells), with her first (state, action)."""
    steps = [range(layout.S)] * (layout.H + 1) + [range(layout.A)] * layout.H + [(0.0, 1.0)] * layout.H
    found = []
    for choice in product(*(each if layout.rewards or i <= 2 * layout.H else (0.0,) for i, each in enumerate(steps))):
        states, actions = choice[: layout.H + 1], choice[layout.H + 1 : 2 * layout.H + 1]
        if fixed_start and (states[0], actions[0]) != (0, 0):
            continue
        user = Trajectories(
            states=np.array([states[:-1]]),
            actions=np.array([actions]),
            S=layout.S,
            A=layout.A,
            rewards=np.array([choice[2 * layout.H + 1 :]]),
            final_states=np.array([states[-1]]),
        )
        found.append(layout.pack(user.counts(rewards=layout.rewards)))
    return np.array(found)


@pytest.mark.parametrize("fixed_start", [False, True])
@pytest.mark.parametrize("rewards", [False, True])
@pytest.mark.parametrize(("H", "S", "A"), [(1, 1, 1), (1, 1, 2), (1, 2, 1), (2, 1, 1), (2, 1, 2), (2, 2, 1), (2, 2, 2)])
def test_changed_cells_is_the_largest_distance_of_two_trajectories(H, S, A, rewards, fixed_start):
    layout = CountLayout(H=H, S=S, A=A, rewards=rewards)
    users = all_trajectories(layout, fixed_start=fixed_start)
    (moved,) = changed_counter_cells(layout, fixed_start=fixed_start).under(REPLACE)
    (gone,) = changed_counter_cells(layout, fixed_start=fixed_start).under(ABSENT)
    distances = np.abs(users[:, None] - users[None])
    assert distances.sum(axis=2).max() == moved.size * moved.count
    assert distances.max(initial=0) <= moved.size
    assert users.sum(axis=1).max() == gone.size * gone.count


def ratio(central, relation=REPLACE):
    return float(pure_eps(central.ledger, relation=relation) / Fraction(central.eps))


# Spec table, D = 4H and R = K - 1: K, TREE log2, TREE ln, NODE log2, NODE ln
TABLE = [
    (2, 2.00, 4.16, 2.00, 2.89),
    (4, 1.00, 2.08, 2.00, 2.89),
    (8, 0.667, 1.39, 2.00, 2.89),
    (32, 0.400, 0.833, 2.00, 2.89),
    (1000, 0.201, 0.419, 2.01, 2.90),
    (100_000, 0.123, 0.257, 2.05, 2.95),
]


@pytest.mark.parametrize("row", TABLE)
@pytest.mark.parametrize("H", [1, 3])
def test_printed_scales_spend_what_the_table_says(row, H):
    episodes, *expected = row
    layout = CountLayout(H=H, S=2, A=2, B=1)
    cases = product(Reading, LogBase)
    for (reading, log), value in zip(cases, expected, strict=True):
        central = Central.as_printed(0.7, layout, episodes, reading=reading, log=log, releases=episodes - 1)
        assert ratio(central) == pytest.approx(value, rel=6e-3)
        fixed = replace(central, fixed_start=True)
        assert ratio(fixed) == pytest.approx(ratio(central) * (1 - 1 / (2 * H)), rel=1e-12)
        assert ratio(central, ABSENT) == pytest.approx(ratio(central) / 2, rel=1e-12)


@pytest.mark.parametrize("discrete", [False, True])
@pytest.mark.parametrize("rewards", [False, True])
@pytest.mark.parametrize("fixed_start", [False, True])
def test_corrected_scale_meets_the_claim_and_wastes_nothing(discrete, rewards, fixed_start):
    layout = CountLayout(H=3, S=2, A=2, B=2, rewards=rewards)
    for episodes in (1, 2, 3, 31, 32, 1000):
        for eps in (0.1, 0.3, 1.0):
            central = Central.corrected(eps, layout, episodes, fixed_start=fixed_start, discrete=discrete)
            assert meets(central.claim, central.ledger)
            assert ratio(central) >= 1 - 2**-50


@pytest.mark.parametrize("rewards", [False, True])
@pytest.mark.parametrize("discrete", [False, True])
def test_streaming_equals_the_whole_release(rewards, discrete):
    layout = CountLayout(H=2, S=2, A=2, B=2, rewards=rewards)
    data = uniform(layout, 5, rng=np.random.default_rng(0))
    central = Central.corrected(1.0, layout, 5, discrete=discrete)
    whole = central.release(data, rng=np.random.default_rng(3), size=4)
    assert whole.shape == (4, 5, layout.cells)
    stream, users = central.stream(4, rng=np.random.default_rng(3)), data.per_user(rewards=rewards)
    assert isinstance(central, OnlinePrivatizer)
    for k in range(5):
        one = ExactCounts(*(None if a is None else np.broadcast_to(a[k], (4, *a.shape[1:])) for a in arrays(users)))
        assert np.array_equal(layout.pack(stream.feed(one)), whole[:, k])
    with pytest.raises(UsageError):
        stream.feed(one)


def arrays(counts):
    return counts.visits, counts.transitions, counts.rewards


@pytest.mark.parametrize("fixed_start", [False, True])
def test_worst_pair_reaches_the_ledger(fixed_start):
    """With every node far on one side the log ratio is eps_true: for visits and for transitions, at user 1."""
    layout = CountLayout(H=2, S=2, A=1)
    central = Central.corrected(0.8, layout, 5, fixed_start=fixed_start)
    pair = worst_replacement(constant(layout, 5), 0, fixed_start=fixed_start)
    first, second = (layout.pack(data.per_user()) for data in pair)
    side = 1000.0 * np.sign(second.sum(axis=0) - first.sum(axis=0))
    outputs = np.broadcast_to(-side * np.arange(1, 6)[:, None] ** 2, (1, 5, layout.cells))
    assert central.log_ratio(outputs, pair)[0] == pytest.approx(0.8, rel=1e-12)


def test_likelihood_ratio_against_densities_of_an_adaptive_run():
    """User 2 and 3 act on what was released; only user 1's increments differ given the transcript."""
    layout = CountLayout(H=1, S=1, A=2)
    central = Central(layout=layout, eps=1.0, scale=1.5, episodes=3, releases=3)
    law = stats.laplace(scale=1.5)

    def increments(first_action, outputs):
        """(runs, 3, cells): later users take the action with the smaller released count."""
        chosen = np.stack(
            [np.full(len(outputs), first_action), *(outputs[:, k, 0] > outputs[:, k, 1] for k in (0, 1))], axis=1
        ).astype(int)
        return np.tile(np.eye(2)[chosen], 2)  # visits and transitions (S = 1) are the same indicators

    stream = central.stream(200, rng=np.random.default_rng(0))
    outputs = np.zeros((200, 3, 4))
    for k in range(3):
        now = increments(0, outputs)[:, k]
        outputs[:, k] = layout.pack(stream.feed(ExactCounts(now[:, None, None, :2], now[:, None, None, 2:, None])))
    ratios = central.transcript_log_ratio(outputs, increments(0, outputs), increments(1, outputs))

    def log_density(first_action):
        fed = increments(first_action, outputs)
        steps = [outputs[:, 0], outputs[:, 1], outputs[:, 2] - outputs[:, 1]]
        means = [fed[:, 0], fed[:, 0] + fed[:, 1], fed[:, 2]]
        return sum(law.logpdf(step - mean).sum(axis=1) for step, mean in zip(steps, means, strict=True))

    assert np.allclose(ratios, log_density(0) - log_density(1), atol=1e-9)
    assert np.abs(ratios).max() <= 4 * 2 / 1.5 + 1e-12


def test_impossible_requests_are_refused():
    with pytest.raises(ParameterError):
        Central.as_printed(1.0, SMALL, 1, reading=Reading.NODE, log=LogBase.E)  # log 1 = 0
    with pytest.raises(ParameterError):
        Central.corrected(1.0, CountLayout(H=2, S=1, A=1), 4)  # a single trajectory
    with pytest.raises(ParameterError):
        Central.corrected(1.0, SMALL, 4, releases=5)
    central = Central.corrected(1.0, SMALL, 4)
    for wrong in (constant(SMALL, 3), constant(CountLayout(H=1, S=2, A=2, B=1), 4)):
        with pytest.raises(ParameterError):
            central.release(wrong, rng=np.random.default_rng(0), size=1)
    with pytest.raises(ParameterError):
        Central(layout=SMALL, eps=1.0, scale=float("nan"), episodes=2, releases=2)
