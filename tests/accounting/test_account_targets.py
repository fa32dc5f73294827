"""The tables of the accounting spec: ledgers with known eps, counts to 1e9, deltas to 1e-20; rho and mu of pure losses.

Known values by ball arithmetic, to the digits that are written; `LAST_DIGITS` lists the rows whose last digits are not
relied on, and how far they may be off.
"""

import math
import time
from collections import Counter

import pytest

from benchmarks.tightness.compositions import DELTAS, gaussian, laplace, LAST_DIGITS, ONE, R, response, TABLE
from dpverify.accounting.accountant import eps_upper, mu_upper, rho_upper
from dpverify.ledger.description import rows
from dpverify.ledger.events import DiscreteLaplaceNoise, LaplaceNoise, Ledger, OneOf, Sensitivity, Shift


@pytest.mark.parametrize("name", TABLE)
def test_the_table_of_compositions(name: str) -> None:
    """At most 0.1 % above, and below by no more than the last digits of the table; seconds, whatever the count."""
    ledger, known = TABLE[name]
    begun = time.perf_counter()
    for delta, exact in zip(DELTAS, known, strict=True):
        found = eps_upper(ledger, delta=delta, relation=R)
        assert exact * (1 - LAST_DIGITS.get(name, 5e-7)) <= found <= 1.001 * exact
    assert time.perf_counter() - begun < 60


def test_laplace_and_gauss_to_more_digits() -> None:
    """By mpmath: one Laplace loss integrated over the profile of the Gaussian, 40 digits."""
    for delta, exact in ((1e-6, 3.18390372465681), (1e-10, 4.04655371397075), (1e-15, 4.87481434648757)):
        assert exact <= eps_upper(laplace(1) + gaussian(2), delta=delta, relation=R) <= exact * (1 + 1e-6)


RHO_MU = [
    (laplace(10), 0.004837418036, 0.1223259291),
    (laplace(2), 0.1065306597, 0.5617643232),
    (laplace(1), 0.3678794412, 1.030063998),
    (laplace(0.5), 1.135335283, 1.800905193),
    (laplace(0.25), 3.018315639, 2.986778821),
    (response(2, 0.5), 0.1224593312, 0.6238925921),
    (response(2, 1), 0.4621171573, 1.232035385),
    (response(2, 4), 3.85611032, 4.194478086),
    (response(3, 1), 0.3641753271, 0.9916719479),
    (response(10, 0.5), 0.03242836377, 0.3011238661),
    (response(50, 1), 0.07373884982, 0.4471417175),
    (response(50, 4), 2.072640625, None),
    (response(50, 6), 5.336912229, 4.082073783),
    (response(1000, 2), 0.170400073, None),
    (Ledger(DiscreteLaplaceNoise(scale=3, sensitivity=ONE)), 0.05504680431, None),
    (Ledger(DiscreteLaplaceNoise(scale=2, sensitivity=Sensitivity(replace=3))), 0.75457989, None),
]


@pytest.mark.parametrize(("ledger", "rho", "mu"), RHO_MU)
def test_the_table_of_zcdp_and_gdp(ledger: Ledger, rho: float, mu: float | None) -> None:
    for times in (1, 7):
        assert rho * times * (1 - 1e-8) <= rho_upper(ledger * times, relation=R) <= rho * times * (1 + 1e-4)
        if mu is not None:
            root = math.sqrt(times) * mu
            assert root * (1 - 1e-9) <= mu_upper(ledger * times, relation=R) <= root * (1 + 1e-9)


def test_the_supremum_of_a_sum_is_not_the_sum_of_suprema() -> None:
    """10-ary responses attain theirs at alpha = 5.9, Laplace losses at 1."""
    both = response(10, 0.5) + laplace(10)
    assert rho_upper(both, relation=R) < 0.999 * (0.03242836377 + 0.004837418036)


# --- ledgers hold counts ----------------------------------------------------------------------------------------


def test_a_ledger_of_a_thousand_million_events_takes_no_time() -> None:
    begun = time.perf_counter()
    ledger = laplace(5) * 10**9
    assert ledger == laplace(5) * 10**8 * 10
    assert hash(ledger) == hash(laplace(5) * (10**9 - 1) + laplace(5))
    assert rows(ledger, R)[0][0] == "1,000,000,000"
    assert (len(ledger.events), ledger.events[-1]) == (10**9, laplace(5).events[0])
    assert time.perf_counter() - begun < 1


def test_occurrences_are_a_sequence() -> None:
    ledger = laplace(5) + laplace(3) + laplace(5)
    assert Counter(ledger.events) == {laplace(5).events[0]: 2, laplace(3).events[0]: 1}
    assert list(ledger.events) == [ledger.events[i] for i in range(3)] == list(ledger.events[:])
    assert ledger.events[1:] == (ledger.events[1], ledger.events[2])
    assert ledger == laplace(5) * 2 + laplace(3) == laplace(3) + laplace(5) * 2
    assert ledger != laplace(5) + laplace(3)
    assert not (ledger * 0).events
    with pytest.raises(IndexError):
        ledger.events[3]


def test_uses_of_one_of_several_patterns_are_counted() -> None:

    either = Ledger(OneOf(branches=(laplace(2), laplace(4))))
    for times in (1, 3):
        worst = eps_upper(laplace(2) * times, delta=1e-3, relation=R)
        assert eps_upper(either * times, delta=1e-3, relation=R) == worst
    moved = Ledger(LaplaceNoise(scale=2, sensitivity=Sensitivity(replace=Shift(1, 3))))
    assert eps_upper(moved, delta=1e-3, relation=R) == eps_upper(laplace(2) * 3, delta=1e-3, relation=R)
