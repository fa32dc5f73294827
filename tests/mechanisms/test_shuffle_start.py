"""Where the search for the least shuffle noise starts decides what it costs, never what it finds."""

import math

import pytest

from dpverify.accounting.accountant import delta_upper
from dpverify.claims.neighbours import Relation
from dpverify.ledger.events import GaussianNoise, Ledger, Sensitivity, Shift
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.privatizers.shuffle import changed_counters, Shuffle
from mechanisms.shuffling.bits import counter_ledger
from mechanisms.shuffling.calibration import gaussian_variance, log_excess, smallest_noise

LAYER = CountLayout(H=1, S=4, A=2)
EPS, BETA = 1.0, 1e-3


class Counted:
    """An account that counts how often it is asked."""

    def __init__(self, users, layout=LAYER, eps=EPS):
        self.asked, self.least, self._users = 0, math.inf, users
        self._ledger = lambda noise: counter_ledger(noise, users, changed_counters(layout), "")
        self._eps = eps

    def __call__(self, noise):
        self.asked += 1
        self.least = min(self.least, noise.variance(self._users))
        return log_excess(self._ledger, noise, eps=self._eps, beta=BETA)


@pytest.mark.parametrize("users", [1, 43, 429])
def test_the_start_saves_accounts_and_changes_no_answer(users):
    cold, warm = Counted(users), Counted(users)
    found = smallest_noise(users, warm, near=lambda above: gaussian_variance(4, eps=EPS, beta=BETA, above=above))
    assert found == smallest_noise(users, cold) == Shuffle.calibrated(EPS, BETA, LAYER, users).noise
    assert warm.asked <= 5 < cold.asked


def test_hardly_any_noise_is_not_asked_where_the_start_does_not_lead():
    """Its account is the slowest of all: 20 s at the least noise of 171 users and eps = 10, .1 s at the answer."""
    excess = Counted(171, eps=10.0)
    found = smallest_noise(171, excess, near=lambda above: gaussian_variance(4, eps=10.0, beta=BETA, above=above))
    assert excess.least > found.variance(171) / 4


@pytest.mark.parametrize("above", [0.0, -2.0, 1.5])
def test_the_gaussian_variance_is_that_of_the_account(above):
    variance = gaussian_variance(36, eps=EPS, beta=BETA, above=above)
    noise = GaussianNoise(what="", sigma=math.sqrt(variance), sensitivity=Sensitivity(replace=Shift(1, 36)))
    delta = delta_upper(Ledger(noise), eps=EPS, relation=Relation.REPLACE_ONE)
    assert math.log(delta / BETA) == pytest.approx(above, abs=1e-5)
