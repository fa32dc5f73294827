"""Private selection by Renyi divergences: never below the enumerated law of the best run, and not far above it."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import special

from dpverify import account, ApproxDP, Relation
from dpverify.accounting.accountant import account_of, renyi_upper
from dpverify.accounting.selection import divergences, SelectedLoss
from dpverify.accounting.selection import ORDERS as KNOWN
from dpverify.errors import AccountingError, ParameterError
from dpverify.ledger import (
    composed,
    dp_sgd,
    FiniteLaws,
    gaussian,
    group_of,
    KaryResponse,
    laplace,
    Ledger,
    private_selection,
    Selected,
    Sensitivity,
)

ORDERS = (1.05, 1.5, 2.0, 5.0, 30.0)
NUMBERS = [{"gamma": gamma, "shape": shape} for gamma in (1e-3, 0.1, 0.9) for shape in (-0.5, 0.0, 1.0, 3.0)]
NUMBERS += [{"poisson": mean} for mean in (0.3, 1.0, 20.0)]


def generating(x, *, gamma=None, shape=1.0, poisson=None):
    """Of the number of runs (Papernot, Steinke 2022, Definitions 1 and 5)."""
    if poisson is not None:
        return np.exp(poisson * (x - 1))
    if shape == 0:
        return np.log1p(-(1 - gamma) * x) / math.log(gamma)
    return ((1 - (1 - gamma) * x) ** -shape - 1) / (gamma**-shape - 1)


def best(law, **number):
    """Chances of the best run's output, outputs in the order of their scores; of no run at all first."""
    steps = generating(np.concatenate([[0.0], np.cumsum(law[:-1]), [1.0]]), **number)
    return np.concatenate([[steps[0]], np.diff(steps)])


def divergence(p, q, alpha):
    seen = p > 0
    return float(special.logsumexp(alpha * np.log(p[seen]) + (1 - alpha) * np.log(q[seen]))) / (alpha - 1)


def hockey_stick(p, q, eps):
    return max(0.0, math.fsum(np.maximum(p - math.exp(eps) * q, 0)))


def pairs():
    """Laws of one run on two datasets: mild ones, extreme ones, and some with a rare output that tells much."""
    rng = np.random.default_rng(4)
    for count in (2, 3, 5):
        for spread in (0.05, 0.5, 2.0):
            first = rng.dirichlet(np.ones(count))
            second = first * np.exp(rng.normal(0, spread, count))
            yield first, second / second.sum()
    for rare, ratio in ((1e-2, 8.0), (1e-5, 8.0), (1e-6, 1e3)):
        yield np.array([1 - rare, rare]), np.array([1 - ratio * rare, ratio * rare])
        yield np.array([rare, 1 - rare]), np.array([ratio * rare, 1 - ratio * rare])


def run_of(first, second):
    return Ledger(FiniteLaws(pairs=((tuple(first), tuple(second)),), relation=Relation.REPLACE_ONE))


@pytest.mark.parametrize("number", NUMBERS, ids=str)
def test_it_is_never_below_the_enumerated_law(number):
    for first, second in pairs():
        ledger = private_selection(run_of(first, second), **number)
        one, other = best(first, **number), best(second, **number)
        for alpha in ORDERS:
            truth = max(divergence(one, other, alpha), divergence(other, one, alpha))
            assert renyi_upper(ledger, alpha=alpha, relation=Relation.REPLACE_ONE) >= truth
        for delta in (1e-2, 1e-6):
            eps = account(ledger, delta=delta)
            assert max(hockey_stick(one, other, eps), hockey_stick(other, one, eps)) <= delta


def test_it_is_nearly_attained_where_one_run_is_a_rare_leak():
    """Of a rare best output eight times as likely, the chance grows with every run: nothing much less is true."""
    first, second = np.array([1 - 1e-5, 1e-5]), np.array([1 - 8e-5, 8e-5])
    number = {"gamma": 0.1, "shape": 1.0}
    truth = divergence(best(second, **number), best(first, **number), 30.0)
    found = renyi_upper(private_selection(run_of(first, second), **number), alpha=30.0, relation=Relation.REPLACE_ONE)
    assert truth <= found <= 3.2 * truth


def orders_mixed(self):
    halves = (1 - 1 / KNOWN) * divergences(self.runs), -math.log(self.gamma) / KNOWN
    return float(self.shape + 1) * sum(float(np.min(half)) for half in halves)


PLANTED = {  # what is put in place of the term; number of runs, rare output, its ratio, order where the term is needed
    "runs_on_average": (property(lambda self: 1.0), {"gamma": 0.0046, "shape": -0.2}, 1e-6, 8900.0, 1.5),
    "_of_events": (lambda self: 0.0, {"gamma": 4e-5, "shape": 8.0}, 1.3e-4, 4700.0, 300.0),
    "_of_events at two orders": (orders_mixed, {"gamma": 4e-5, "shape": 8.0}, 1.3e-4, 4700.0, 300.0),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_a_bound_without_one_of_its_terms_is_below_the_law(monkeypatch, bug):
    """Planted: log E[K] forgotten; the factor of the events of one run forgotten, or its halves at two orders."""
    without, number, rare, ratio, alpha = PLANTED[bug]
    term = bug.split()[0]
    laws = np.array([1 - rare, rare]), np.array([1 - ratio * rare, ratio * rare])
    one, other = (best(law, **number) for law in laws)
    truth = max(divergence(one, other, alpha), divergence(other, one, alpha))
    ledger, relation = private_selection(run_of(*laws), **number), Relation.REPLACE_ONE
    assert renyi_upper(ledger, alpha=alpha, relation=relation) >= truth
    monkeypatch.setattr(SelectedLoss, term, without)
    assert renyi_upper(ledger, alpha=alpha, relation=relation) < truth


def average(gamma, shape):
    gamma, shape = mpmath.mpf(gamma), mpmath.mpf(shape)
    if not shape:
        return (1 / gamma - 1) / -mpmath.log(gamma)
    return shape * (1 - gamma) / (gamma * -mpmath.expm1(shape * mpmath.log(gamma)))


def test_the_average_number_of_runs_is_rounded_up():
    """Where its terms cancel, vanish or are denormal; gamma near 1 and shape near 0 are the hard ones."""
    with mpmath.workdps(60):
        for gamma in (1e-299, 1e-5, 0.1, 0.9, 1 - 1e-6, 1 - 1e-10, 1 - 2**-53):
            for shape in (-0.99, -0.5, 0.0, 5e-324, -1e-322, 1e-31, 1e-29, 1.0, 8.0, 1e3):
                found = SelectedLoss((), gamma, Fraction(shape), None).runs_on_average
                assert found >= average(gamma, shape)
                assert found <= average(gamma, shape) * (1 + 1e-12)


def test_a_selection_that_is_nearly_always_one_run_is_not_below_one_run():
    """Planted once: E[K] by 1/gamma - 1, which is below 1 here; the divergence was then 0."""
    run = run_of((0.5, 0.5), (0.5 + 1e-6, 0.5 - 1e-6))
    gamma = 1 - 1e-10
    assert (1 / gamma - 1) / -math.log(gamma) < 1
    for alpha in ORDERS:
        once = renyi_upper(run, alpha=alpha, relation=Relation.REPLACE_ONE)
        best_of = private_selection(run, gamma=gamma, shape=0.0)
        assert renyi_upper(best_of, alpha=alpha, relation=Relation.REPLACE_ONE) >= once * (1 - 1e-9)


def test_a_gamma_too_small_for_its_powers_has_no_finite_account():
    found = private_selection(gaussian(sigma=4.0, sensitivity=1.0), gamma=1e-310, shape=-0.999)
    assert account(found, delta=1e-6) == math.inf


def test_more_runs_cost_more_and_noise_helps():
    noise = gaussian(sigma=4.0, sensitivity=1.0)
    for numbers in ([{"gamma": gamma} for gamma in (0.5, 0.1, 0.01)], [{"poisson": mean} for mean in (1.0, 5.0, 20.0)]):
        found = [account(private_selection(noise, **number), delta=1e-6) for number in numbers]
        assert account(noise, delta=1e-6) < found[0] < found[1] < found[2]
        less = account(private_selection(gaussian(sigma=8.0, sensitivity=1.0), **numbers[0]), delta=1e-6)
        assert less < found[0]


def test_trainings_are_composed_with_it_and_forty_that_nobody_drew_are_paid():
    training = gaussian(sigma=4.0, sensitivity=1.0)
    tuned = private_selection(training, gamma=0.1)
    eps = account(tuned, delta=1e-5)
    claim = ApproxDP(eps, 1e-5)
    assert account_of(claim, tuned).accounted is True
    assert account_of(claim, composed(tuned, training)).accounted is False
    assert account_of(claim, composed(*[training] * 40)).accounted is False
    both = account(composed(tuned, training), delta=1e-5)
    assert eps < both < eps + account(training, delta=1e-5)


def test_sampled_trainings_are_accounted():
    """Renyi divergences of a sample have an order of the datasets: the larger one is taken."""
    relation = Relation.ADD_OR_REMOVE_ONE
    training = dp_sgd(rate=0.05, noise_multiplier=2.0, steps=4)
    found = account(private_selection(training, gamma=0.2), delta=1e-5, relation=relation)
    assert account(training, delta=1e-5, relation=relation) < found < 3


def test_pure_runs_keep_the_pure_bound():
    once = laplace(scale=2.0, sensitivity=1.0)
    assert account(private_selection(once, gamma=0.1)) == account(private_selection(once)) == 1.5
    assert account(private_selection(once, gamma=0.1), delta=1e-3) < 1.5


def test_what_is_no_law_of_a_number_of_runs_is_refused():
    once = laplace(scale=1.0, sensitivity=1.0)
    for wrong in (
        {"gamma": 0.0},
        {"gamma": 1.0},
        {"gamma": math.nan},
        {"poisson": 0.0},
        {"poisson": math.inf},
        {"gamma": 0.5, "poisson": 1.0},
        {"gamma": 0.5, "shape": -1.0},
        {"gamma": 0.5, "shape": math.nan},
    ):
        with pytest.raises(ParameterError):
            private_selection(once, **wrong)
    with pytest.raises(AccountingError):
        group_of(private_selection(once, gamma=0.5), 2)
    assert account(Selected(run=Ledger(), gamma=0.5)) == 0.0
    assert account(Selected(run=Ledger(KaryResponse(eps=1.0, k=2, reports=Sensitivity(replace=0))), gamma=0.5)) == 0.0
