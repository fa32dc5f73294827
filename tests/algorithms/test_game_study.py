"""A user's own agent of a two-player game: all that follows from a `Study` of it, and planted bugs."""

import numpy as np
import pytest

from algorithms.nash_vi.markov_games import random_game
from algorithms.study import Study
from audits import audit_nash_vi
from dpverify import View
from dpverify.base.seeding import Stage, stream
from dpverify.errors import ParameterError
from mechanisms.privatizers.central import Central
from mechanisms.privatizers.local import Local

GAME = random_game(0, 2, 2, 2, 2)
USERS = 12


class Curious:
    """Plays what was played less; what it returns can be broken."""

    def __init__(self, made=lambda laws: laws):
        self.made = made

    def plan(self, counts):
        rare = 1 / (1 + np.maximum(counts.visits, 0))
        return self.made(rare / rare.sum(axis=(-2, -1), keepdims=True))


def central(users=USERS, eps=1.0):
    return Central.corrected(eps, GAME.layout, users, releases=users - 1)


def local(users=USERS, eps=1.0):
    return Local.corrected(eps, GAME.layout, users=users - 1)


def study(agent=None, privatizer=None, users=USERS, eps=1.0, **options):
    return Study(agent=agent or Curious(), privatizer=privatizer or central(users), users=users, eps=eps, **options)


def rng(*key):
    return stream(6, Stage.EXPERIMENT, *key)


def test_a_paper_s_planner_releases_and_is_rated_as_in_the_suite():
    theirs, (pair,) = audit_nash_vi.central.target, audit_nash_vi.central.pairs

    class Paper:
        def plan(self, counts):
            return theirs.agent.planner.plan(counts).joint

    ours = study(Paper(), theirs.privatizer.privatizer, users=2).transcript
    released = [each.release(pair.first, rng=rng(), size=50) for each in (ours, theirs)]
    assert np.array_equal(*released)
    assert np.array_equal(*(each.log_ratio(released[0], pair) for each in (ours, theirs)))


@pytest.mark.parametrize("make", [central, local])
def test_half_the_noise_doubles_the_witness_and_the_ledger(make):
    whole = study(privatizer=make())
    half = whole.with_noise(0.5)
    assert whole.claim == half.claim
    assert whole.claim.view is (View.LOCAL if make is local else View.JOINT)
    assert (whole.upper, half.upper) == pytest.approx((1.0, 2.0))
    found = [each.witness(GAME, seed=2) for each in (whole, half)]
    assert [each.lower for each in found] == pytest.approx([1.0, 2.0], abs=1e-6)
    assert all(each.tap.ok for each in found[:1])
    assert [each.code for each in found] == ["CONFORMS", "CONFORMS"]  # each with the ledger that it has


def test_the_log_ratio_is_the_release_s_own_and_coins_are_shown():
    """E[exp(-log ratio)] = 1 under the first dataset, five sigmas."""
    mine = study(users=4)
    pair = mine.pair()
    outputs = mine.transcript.release(pair.first, rng=rng(), size=10_000)
    assert outputs.shape == (10_000, 3 * GAME.layout.cells + 4 * GAME.layout.H)
    coins = outputs[:, 3 * GAME.layout.cells :]
    assert ((coins >= 0) & (coins < 1)).all()
    inverse = np.exp(-mine.transcript.log_ratio(outputs, pair))
    assert inverse.std() > 0.1
    assert abs(inverse.mean() - 1) <= 5 * inverse.std() / np.sqrt(len(inverse))


def test_the_others_see_joint_actions_and_the_last_plan():
    mine, size = study(users=4), GAME.layout
    data = mine.pair().first
    noisy, exact = (mine.actions(0, exact=each).release(data, rng=rng(), size=40) for each in (False, True))
    assert noisy.shape == exact.shape == (40, 3 * size.H + size.tuples)
    last = noisy[:, 3 * size.H :].reshape(40, size.H, size.S, size.choices)
    assert np.allclose(last.sum(axis=-1), 1)
    assert len(np.unique(noisy[:, 3 * size.H :], axis=0)) > len(np.unique(exact[:, 3 * size.H :], axis=0))


class Coins(Curious):
    """Draws its own numbers."""

    def __init__(self):
        draws = np.random.default_rng(1)
        super().__init__(lambda laws: draws.dirichlet(np.ones(4), laws.shape[:3]).reshape(laws.shape))


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        (Curious(lambda laws: laws[..., 0]), "policies of shape"),
        (Curious(lambda laws: laws.argmax(axis=-1)), "policies of shape"),
        (Curious(lambda laws: np.ones(laws.shape, dtype=int)), "probabilities of joint actions"),
        (Curious(lambda laws: np.where(laws > 0.2, np.nan, laws)), "NaN"),
        (Curious(lambda laws: laws - 0.5), "below 0"),
        (Curious(lambda laws: laws * 1.001), "sum to 1"),
        (Coins(), "the same policies for the same counts"),
    ],
)
def test_what_is_no_law_of_joint_actions_is_one_clear_line(agent, said):
    with pytest.raises(ParameterError, match=said) as caught:
        study(agent, users=3).regret(GAME, runs=2, seed=1)
    assert ".plan, call" in str(caught.value)
    assert "\n" not in str(caught.value)[:60]
