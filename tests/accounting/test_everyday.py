"""Ledgers in one call, against dp-accounting's own accountants and against the events that they stand for."""

import math

import pytest

from dpverify import account, Relation
from dpverify.errors import AccountingError, ParameterError, UsageError
from dpverify.ledger import (
    composed,
    dp_sgd,
    gaussian,
    GaussianNoise,
    laplace,
    LaplaceNoise,
    Ledger,
    PoissonSampled,
    PureStep,
    Sensitivity,
    Shift,
)

R, A = Relation.REPLACE_ONE, Relation.ADD_OR_REMOVE_ONE


@pytest.mark.parametrize(("rate", "noise", "steps"), [(0.01, 1.1, 10_000), (0.001, 0.7, 2000), (0.2, 3.0, 50)])
def test_dp_sgd_costs_what_dp_accounting_says(rate, noise, steps):
    """Its PLD accountant, pessimistic at a step of 1e-4: to 0.5 %."""
    dp = pytest.importorskip("dp_accounting")
    from dp_accounting.pld import PLDAccountant

    event = dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(rate, dp.GaussianDpEvent(noise)), steps)
    peer = PLDAccountant(dp.NeighboringRelation.ADD_OR_REMOVE_ONE).compose(event)
    run = dp_sgd(rate=rate, noise_multiplier=noise, steps=steps)
    for delta in (1e-3, 1e-5):
        assert account(run, delta=delta, relation=A) == pytest.approx(peer.get_epsilon(delta), rel=5e-3)


def test_laplace_and_gaussian_together_cost_what_dp_accounting_says():
    dp = pytest.importorskip("dp_accounting")
    from dp_accounting.pld import PLDAccountant

    event = dp.ComposedDpEvent([dp.GaussianDpEvent(4.0), dp.LaplaceDpEvent(3.0), dp.LaplaceDpEvent(3.0)])
    peer = PLDAccountant(dp.NeighboringRelation.ADD_OR_REMOVE_ONE).compose(event)
    both = composed(gaussian(sigma=4.0, sensitivity=1.0), laplace(scale=3.0, sensitivity=1.0) * 2)
    assert account(both, delta=1e-5, relation=A) == pytest.approx(peer.get_epsilon(1e-5), rel=5e-3)


def test_a_call_is_the_ledger_that_it_stands_for():
    moves = Sensitivity(replace=2.0, add_remove=1.0)
    assert laplace(scale=3.0, sensitivity=moves) == Ledger(LaplaceNoise(scale=3.0, sensitivity=moves))
    assert gaussian(sigma=3.0, sensitivity=moves) == Ledger(GaussianNoise(sigma=3.0, sensitivity=moves))
    assert account(laplace(scale=4.0, sensitivity=moves)) == 2 * account(
        laplace(scale=4.0, sensitivity=moves), relation=A
    )
    same = laplace(scale=4.0, sensitivity=1.0)
    assert account(same) == account(same, relation=A) == 0.25
    ((step, times),) = dp_sgd(rate=0.1, noise_multiplier=2.0, steps=7).counted
    assert (step.rate, times, step.inside.events[0].sigma) == (0.1, 7, 2.0)
    assert composed() == Ledger() == dp_sgd(rate=0.1, noise_multiplier=2.0, steps=0)


def test_steps_without_sampling_are_gaussians():
    whole = account(dp_sgd(rate=1.0, noise_multiplier=2.0, steps=16), delta=1e-6, relation=A)
    assert whole == pytest.approx(account(gaussian(sigma=0.5, sensitivity=1.0), delta=1e-6, relation=A), rel=1e-3)


def test_a_vector_costs_no_more_than_its_distance_on_one_coordinate():
    """The docstring's proof, as numbers: also where a distance is spread over coordinates unequally."""
    one = laplace(scale=1.0, sensitivity=1.0)
    for shifts in ([Shift(0.5, 2)], [Shift(0.9), Shift(0.1)], [Shift(0.1, 10)]):
        spread = laplace(scale=1.0, sensitivity=Sensitivity(replace=shifts))
        for delta in (0.0, 1e-3, 0.1, 0.3):
            assert account(spread, delta=delta) <= account(one, delta=delta) * (1 + 1e-4)


def test_under_replacement_a_sampled_run_has_no_account():
    with pytest.raises(AccountingError, match="add-or-remove-one"):
        account(dp_sgd(rate=0.01, noise_multiplier=1.0, steps=10), delta=1e-5)


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_an_event_is_accounted_as_its_ledger(delta):
    inside = Ledger(GaussianNoise(sigma=1.0, sensitivity=Sensitivity(add_remove=1)))
    for event, relation in (
        (LaplaceNoise(scale=2.0, sensitivity=Sensitivity(replace=1)), R),
        (PureStep(eps=0.5, uses=Sensitivity(replace=1)), R),
        (PoissonSampled(rate=0.1, inside=inside), A),
    ):
        found = account(event, delta=delta, relation=relation)
        assert found == account(Ledger(event), delta=delta, relation=relation)
    with pytest.raises(UsageError, match="no Ledger or event"):
        account(LaplaceNoise)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, "2", None, True])
def test_numbers_that_are_no_noise_are_refused(bad):
    for make in (
        lambda: laplace(scale=bad, sensitivity=1.0),
        lambda: gaussian(sigma=bad, sensitivity=1.0),
        lambda: dp_sgd(rate=0.1, noise_multiplier=bad, steps=1),
    ):
        with pytest.raises(ParameterError):
            make()


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf, "2", None, True])
def test_numbers_that_are_no_sensitivity_rate_or_count_are_refused(bad):
    for make in (
        lambda: laplace(scale=1.0, sensitivity=bad),
        lambda: gaussian(sigma=1.0, sensitivity=bad),
        lambda: dp_sgd(rate=bad, noise_multiplier=1.0, steps=1),
        lambda: dp_sgd(rate=0.1, noise_multiplier=1.0, steps=bad),
        lambda: composed(laplace(scale=1.0, sensitivity=1.0), bad),
    ):
        with pytest.raises(ParameterError):
            make()
