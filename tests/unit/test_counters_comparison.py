"""What the modules say about each other: half the variance, logarithm over pi."""

import math

import pytest

from benchmarks.counter_errors import at_equal_eps, at_equal_rho


def variance_ratio(table, name):
    return (table[name].root_mean_square / table["binary"].root_mean_square) ** 2


@pytest.mark.parametrize("releases", [1, 2, 3, 16, 255, 1024])
def test_averaging_never_hurts_and_tends_to_half(releases):
    for table in (at_equal_eps(releases, 1.0), at_equal_rho(releases, 0.5)):
        assert variance_ratio(table, "honaker") <= 1 + 1e-12
        assert table["honaker"].bound <= table["binary"].bound * (1 + 1e-12)
        assert table["honaker"].worst_deviation <= table["binary"].worst_deviation * (1 + 1e-12)
    if releases >= 255:
        assert 0.5 < variance_ratio(at_equal_eps(releases, 1.0), "honaker") < 0.65


def test_square_root_counter_has_the_least_variance_of_the_three():
    assert variance_ratio(at_equal_rho(1, 0.5), "toeplitz") == pytest.approx(1)
    for releases in (2, 3, 8, 256, 1024, 20_000):
        table = at_equal_rho(releases, 0.5)
        assert variance_ratio(table, "toeplitz") < variance_ratio(table, "honaker")


def test_square_root_deviation_is_the_documented_one():
    for releases in (256, 20_000):
        expected = (math.log(releases) / math.pi + 1.066) / math.sqrt(2 * 0.5)
        assert at_equal_rho(releases, 0.5)["toeplitz"].worst_deviation == pytest.approx(expected, rel=1e-2)


def test_integer_noise_costs_no_accuracy():
    for releases in (4, 100):
        table = at_equal_eps(releases, 1.0)
        for tree in ("binary", "honaker"):
            assert table[f"{tree}, integers"].root_mean_square <= table[tree].root_mean_square
            assert table[f"{tree}, integers"].bound == table[tree].bound
