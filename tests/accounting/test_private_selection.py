"""The best of a random number of runs: never below the enumerated law, and what was run beside it is paid in full."""

import math

import numpy as np
import pytest

from dpverify import account, PureDP, Relation
from dpverify.accounting.accountant import account_of
from dpverify.errors import AccountingError, ParameterError
from dpverify.ledger import composed, gaussian, KaryResponse, laplace, Ledger, private_selection, Sensitivity


def generating(x, shape, gamma):
    """Of the truncated negative binomial law (Papernot, Steinke 2022, Definition 1)."""
    if shape == 0:
        return np.log1p(-(1 - gamma) * x) / math.log(gamma)
    return ((1 - (1 - gamma) * x) ** -shape - 1) / (gamma**-shape - 1)


def selected(law, shape, gamma):
    """Chances of the best run's output, outputs in the order of their scores."""
    steps = np.concatenate([[0.0], np.cumsum(law[:-1]), [1.0]])
    return np.diff(generating(steps, shape, gamma))


@pytest.mark.parametrize("shape", [-0.5, 0.0, 1.0, 3.0])
def test_it_is_never_below_the_enumerated_law_and_is_nearly_attained(shape):
    eps, rng, largest = 0.7, np.random.default_rng(1), 0.0
    upper = account(private_selection(Ledger(KaryResponse(eps=eps, k=2, reports=Sensitivity(replace=1))), shape=shape))
    assert upper == pytest.approx((2 + shape) * eps, rel=1e-12)
    for gamma in (1e-6, 1e-3, 0.1, 0.9):
        for count in (2, 3, 5):
            for _ in range(60):
                first = rng.dirichlet(np.full(count, 0.3)) + 1e-12
                ends = np.exp(rng.choice([-eps, eps], count))  # extreme: each ratio is e^eps or e^-eps
                high, low = first[ends > 1].sum(), first[ends < 1].sum()
                if high and low:  # scaled so that both are laws whose ratios are within e^eps
                    share = (1 - math.exp(-eps)) / (math.exp(eps) - math.exp(-eps))
                    first = np.where(ends > 1, first / high * share, first / low * (1 - share))
                    found = np.log(selected(first, shape, gamma) / selected(first * ends, shape, gamma))
                    largest = max(largest, float(np.abs(found).max()))
    assert largest <= upper
    assert largest >= 0.9 * upper


def test_what_is_not_drawn_so_is_paid_in_full():
    once = laplace(scale=1.0, sensitivity=0.125)
    assert account(private_selection(once)) == 0.375
    forty = composed(*[once] * 40)
    assert account(forty) == pytest.approx(5.0)
    assert account_of(PureDP(0.375), private_selection(once)).accounted is True
    assert account_of(PureDP(0.375), forty).accounted is False  # forty trainings that nobody counted


def test_what_has_no_such_account_is_refused():
    with pytest.raises(AccountingError, match="no finite pure eps"):
        private_selection(gaussian(sigma=1.0, sensitivity=1.0))
    for shape in (-1.0, math.nan, math.inf):
        with pytest.raises(ParameterError, match="shape"):
            private_selection(laplace(scale=1.0, sensitivity=1.0), shape=shape)
    assert private_selection(Ledger()) == Ledger()
    other = private_selection(laplace(scale=1.0, sensitivity=1.0), relation=Relation.ADD_OR_REMOVE_ONE)
    assert account(other, relation=Relation.ADD_OR_REMOVE_ONE) == pytest.approx(3.0)
    with pytest.raises(AccountingError):
        account(other)
