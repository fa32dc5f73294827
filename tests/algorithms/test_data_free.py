"""A promise about a learner is broken by a player who reads no data, and kept by the learner."""

import numpy as np
import pytest

from algorithms.core.counting import layout_of
from algorithms.core.environments import Environment, random_environment
from algorithms.core.users import SideBySide
from algorithms.nash_vi.markov_games import game_fork
from algorithms.offline.suboptimality_promises import fork
from algorithms.sdp_pe.batches import ExactBatches
from algorithms.sdp_pe.elimination import SDPPE
from algorithms.tabular import backward_induction
from audits import (
    audit_apvi,
    audit_lean,
    audit_nash_vi,
    audit_nash_vi_rates,
    audit_pucb,
    audit_pucb_guarantees,
    audit_sdp_pe,
    audit_sdp_pe_lemmas,
    audit_vapvi,
)
from dpverify.errors import ParameterError
from dpverify.promises import all_of, BROKEN, check_promise, INCONCLUSIVE, KEPT, Outcomes, Promise

FAMILIES = {
    "regret-pucb": audit_pucb_guarantees,
    "pac-pucb": audit_pucb_guarantees,
    "regret-sdp-pe": audit_sdp_pe_lemmas,
    "survival-two-arms": audit_sdp_pe,
    "regret-nash and output-nash": audit_nash_vi_rates,
    "rate-nash": audit_nash_vi_rates,
    "value-nash": audit_nash_vi,
    "suboptimality-apvi": audit_apvi,
    "suboptimality-vapvi": audit_vapvi,
    "suboptimality-lean": audit_lean,
    "pessimism-apvi": audit_apvi,
    "pessimism-vapvi": audit_vapvi,
    "pessimism-lean": audit_lean,
    "optimism-of-one-plan": audit_pucb,
}
DEAR = ("regret-nash and output-nash", "regret-sdp-pe", "regret-pucb")  # whole runs: `dpverify audit` has them


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_a_learner_that_keeps_it_and_a_player_without_data(family):
    mine = [each for each in FAMILIES[family].promises if each.name.startswith(family)]
    without_data = [each for each in mine if "reads no data" in each.name]
    assert any(each.expected == KEPT for each in mine)
    assert without_data
    assert all(each.expected == BROKEN for each in without_data)


@pytest.mark.parametrize("family", [each for each in FAMILIES if each not in DEAR])
def test_every_trial_of_a_player_without_data_fails(family):
    """Not one in a hundred: the bounds are below what she loses on one of two instances."""
    for promise in FAMILIES[family].promises:
        if promise.name.startswith(family) and "reads no data" in promise.name:
            check = check_promise(promise, seed=5, trials=4)
            assert check.failures == 4


# ----------------------------------------------------------------------------------------------------------------------
# Instances and their mirror images


@pytest.mark.parametrize("model", [random_environment(3, 3, 2, 2).mirrored.model, fork(0.1).mirrored])
def test_a_mirror_image_has_the_same_best_value_and_another_best_action(model):
    first = random_environment(3, 3, 2, 2).model if model.states == 3 else fork(0.1)
    one, other = (backward_induction(each.transitions, each.rewards) for each in (first, model))
    assert np.allclose(one.values[0], other.values[0])
    assert np.array_equal(one.policy[0], 1 - other.policy[0])


def test_a_fork_of_a_game_is_worth_1_and_its_mirror_as_much():
    game = game_fork()
    assert game.nash().values[0, 0] == game.mirrored.nash().values[0, 0] == 1
    policies = game.nash()
    assert game.mirrored.gap(policies.first, policies.second) == 1


def test_users_side_by_side_are_those_of_each_environment():
    arms = Environment("arms", np.ones((1, 1, 2, 1)), np.array([[[0.0, 1.0]]]), np.ones(1))
    users = SideBySide([arms, arms.mirrored], 2, 5, rng=np.random.default_rng(1))
    zeros = np.zeros(4, dtype=np.int64)
    rewards, _ = users.reply(0, 0, zeros, users.start(0), zeros)
    assert [rewards[where].tolist() for where in users.where] == [[0, 0], [1, 1]]
    drawn = [SideBySide([arms] * 2, 2, 5, rng=np.random.default_rng(seed)).where[0] for seed in range(20)]
    assert {tuple(sorted(each)) for each in drawn} != {(0, 1)}  # the place of a run says nothing
    with pytest.raises(ParameterError, match="one shape"):
        SideBySide([arms, random_environment(0, 2, 2, 2)], 2, 5, rng=np.random.default_rng(1))


# ----------------------------------------------------------------------------------------------------------------------
# all_of


def constant(error, *, bound=1.0, name="part", **outcomes):
    def draw(*, rng, size, of=error):
        shown = {key: np.full(size, value) for key, value in outcomes.items() if key != "invariants"}
        held = {key: np.full(size, value) for key, value in outcomes.get("invariants", {}).items()}
        return Outcomes(errors=np.full(size, of), invariants=held, **shown)

    return Promise(name=name, draw=draw, bound=bound, failure_probability=0.05, trials=200)


def verdict_of(*parts, **options):
    return check_promise(all_of(parts, name="all", **options), seed=1).verdict


def test_all_parts_have_to_be_kept():
    assert verdict_of(constant(0.5), constant(0.9)) == KEPT
    assert verdict_of(constant(0.5), constant(1.1)) == BROKEN
    assert verdict_of(constant(0.5), constant(0.5, failed=True)) == BROKEN
    assert verdict_of(constant(0.5), constant(0.5, invariants={"sums": False})) == BROKEN
    assert verdict_of(constant(0.5), constant(np.nan)) == BROKEN


def test_a_part_that_cannot_fail_says_nothing():
    assert verdict_of(constant(0.5, active=1.0), constant(0.5, active=0.0)) == INCONCLUSIVE


def test_errors_are_in_units_of_their_bounds():
    both = all_of([constant(3.0, bound=4.0), constant(0.5, bound=1.0)], name="both")
    assert both.bound == 1
    assert both.draw(rng=np.random.default_rng(0), size=1).errors.tolist() == [0.75]
    same = all_of([constant(3.0, bound=4.0), constant(2.0, bound=4.0)], name="same")
    assert same.bound == 4
    assert same.failure_probability == pytest.approx(0.1)


def test_invariants_keep_the_name_of_their_part():
    both = all_of([constant(0.0, name="a", invariants={"sums": True})], name="one")
    assert list(both.draw(rng=np.random.default_rng(0), size=1).invariants) == ["sums (a)"]


@pytest.mark.parametrize("parts", [[], [constant(0.0, bound=0.0), constant(0.0)]])
def test_what_cannot_be_joined_is_refused(parts):
    with pytest.raises(ParameterError, match="parts"):
        all_of(parts, name="none")


def test_other_settings_may_be_given():
    joined = all_of([constant(0.0)], name="one", failure_probability=0.5, trials=7, statement="said")
    assert (joined.failure_probability, joined.trials, joined.statement) == (0.5, 7, "said")


class NeverEliminates(SDPPE):
    """INCORRECT: keeps every policy for ever."""

    def gap(self, length, error):
        return float("inf")


def test_survival_asks_that_the_worse_arm_is_eliminated():
    """Who keeps everything loses nothing, and learns nothing."""
    arms = audit_sdp_pe.two_arms
    keeps = NeverEliminates(layout=layout_of(arms.model), episodes=6001, delta=0.02)
    promise = audit_sdp_pe.survival_mirrored("never", keeps, ExactBatches())
    assert check_promise(promise, seed=1, trials=20).verdict == BROKEN
    with pytest.raises(ParameterError, match="eliminated"):
        audit_sdp_pe.survival_mirrored("short", audit_sdp_pe.learner_for(arms, 301), ExactBatches())
