"""Theorems 2 and 3 of `trapezoid`: the sum is the sum of all aliases, and its arithmetic stays below its charge."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpverify.accounting import trapezoid
from dpverify.accounting.trapezoid import LatticeLosses, TrapezoidSum

STEP = 0.4375 / 2**4


def small_units(rng: np.random.Generator) -> list[LatticeLosses]:
    return [
        LatticeLosses(-3, 1, rng.dirichlet(np.ones(6)), int(rng.integers(1, 4))),
        LatticeLosses(-8, 4, rng.dirichlet(np.ones(5)), int(rng.integers(1, 3))),
    ]


def composed(units: list[LatticeLosses]) -> dict[int, mpmath.mpf]:
    """The composed law by enumeration, in exact fractions until the end."""
    law = {0: Fraction(1)}
    for unit in units:
        for _ in range(unit.count):
            added: dict[int, Fraction] = {}
            for at, mass in law.items():
                for j, more in enumerate(unit.masses):
                    place = at + unit.first + j * unit.stride
                    added[place] = added.get(place, Fraction(0)) + mass * Fraction(float(more))
            law = added
    return {at: mpmath.mpf(mass.numerator) / mass.denominator for at, mass in law.items()}


def profile(law: dict[int, mpmath.mpf], m: int) -> mpmath.mpf:
    return mpmath.fsum(mass * -mpmath.expm1((m - at) * mpmath.mpf(STEP)) for at, mass in law.items() if at > m)


@pytest.mark.parametrize("tilt", [0.3, 2.0, 11.0])
@pytest.mark.parametrize("period", [16, 32, 64])
def test_the_sum_is_the_sum_of_all_aliases(tilt: float, period: int) -> None:
    """To 1e-12 relative, and `at` is above it: also where wrap-around is most of the sum."""
    units = small_units(np.random.Generator(np.random.PCG64(3)))
    with mpmath.workprec(110):
        law = composed(units)
        sums = TrapezoidSum(units, step=STEP, tilt=tilt, period=period)
        for m in (-7, 0, 5, 18):
            aliases = mpmath.fsum(
                mpmath.exp(tilt * r * period * mpmath.mpf(STEP)) * profile(law, m + r * period)
                for r in range(-math.ceil(50 / (tilt * period * STEP)) - 2, math.ceil(60 / period) + 1)
            )
            total, charge = sums.parts(m)
            exact_log = sums._log_moment - tilt * m * STEP
            assert total * math.exp(exact_log) == pytest.approx(float(aliases), rel=1e-12)
            assert sums.at(m) >= aliases >= profile(law, m)
            assert charge <= 1e-6 * total


def exact_sum(units: list[LatticeLosses], tilt: float, period: int, m: int) -> mpmath.mpf:
    """S(m) at 200 bits, straight from its definition."""
    h, t = mpmath.mpf(STEP), mpmath.mpf(tilt)
    total = mpmath.mpc(0)
    for k in range(period):
        z = t + 2j * mpmath.pi * k / (period * h)
        term = (1 / mpmath.expm1(z * h) - 1 / mpmath.expm1((z + 1) * h)) * mpmath.exp(-z * m * h)
        for unit in units:
            points = [(unit.first + j * unit.stride) * h for j in range(len(unit.masses))]
            term *= (
                mpmath.fsum(mpmath.mpf(float(p)) * mpmath.exp(z * x) for p, x in zip(unit.masses, points, strict=True))
                ** unit.count
            )
        total += term
    return total.real / period


@pytest.mark.parametrize("count", [1, 100, 10**6, 10**9])
@pytest.mark.parametrize("block", [2, 128])  # direct sums in two levels, and in one
@pytest.mark.parametrize("fft", [False, True])
def test_rounding_stays_below_the_charge(count: int, block: int, fft: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The computed bound is at least the exact sum, and above it by no more than twice the charge."""
    monkeypatch.setattr(trapezoid, "BLOCK", block)
    monkeypatch.setattr(trapezoid, "MOST_FFT", 2**19 if fft else 0)
    monkeypatch.setattr(trapezoid, "MOST_WORK", math.inf)
    monkeypatch.setattr(trapezoid, "FFT_ERROR", math.inf)
    rng = np.random.Generator(np.random.PCG64([count, block]))
    for period in (64, 128):
        units = [
            LatticeLosses(-4, 1, rng.dirichlet(np.ones(9)), count),
            LatticeLosses(-4, 2, rng.dirichlet(np.ones(5)), 3),
        ]
        mean = round(count * float((units[0].masses * np.arange(-4, 5)).sum()))
        with mpmath.workprec(400):
            for tilt, m in ((0.5, mean), (2.0, mean + 3)):
                sums = TrapezoidSum(units, step=STEP, tilt=tilt, period=period)
                exact = exact_sum(units, tilt, period, m)
                total, charge = sums.parts(m)
                log = mpmath.log(exact) - mpmath.mpf(sums.log_prefactor(m))
                assert mpmath.exp(log) <= total + charge
                relative = mpmath.exp(sums._log_error + 8 * trapezoid.UNIT * count * 10) - 1
                assert total + charge <= mpmath.exp(log) * (1 + 2 * relative) + 2.1 * charge


def test_without_the_charge_the_bound_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mutation: with unit roundoff 0 the charges are 0, and some computed sum is below the exact one."""
    monkeypatch.setattr(trapezoid, "UNIT", 0.0)
    rng = np.random.Generator(np.random.PCG64(1))
    below = 0
    with mpmath.workprec(200):
        for _ in range(6):
            units = [LatticeLosses(-4, 1, rng.dirichlet(np.ones(9)), 50)]
            sums = TrapezoidSum(units, step=STEP, tilt=1.0, period=32)
            total, charge = sums.parts(9)
            below += mpmath.mpf(total + charge) * mpmath.exp(sums.log_prefactor(9)) < exact_sum(units, 1.0, 32, 9)
    assert below


def test_frequencies_that_are_not_evaluated_are_charged() -> None:
    """A sum over a few of 2^30 frequencies is above the one over all of a shorter period, by little."""
    masses = np.exp(-np.abs(np.arange(-40, 41)) / 8.0)
    unit = LatticeLosses(-40, 1, masses / masses.sum(), 10**6)
    tilt = 8e-5 / STEP
    found = [TrapezoidSum([unit], step=STEP, tilt=tilt, period=2**n).at(40_000) for n in (19, 20, 24)]
    assert found == pytest.approx([found[0]] * 3, rel=1e-8)
