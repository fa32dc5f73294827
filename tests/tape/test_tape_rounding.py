"""Certified bounds of runs alone are rounded up by what floating point may have lost (F5, F6)."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpverify.claims.claim import PureDP
from dpverify.claims.neighbours import Pair
from dpverify.tape import tracer
from dpverify.tape.forced import Pairing
from dpverify.tape.tracer import trace
from dpverify.tape.witness import log_ratio_at_most
from dpverify.trials.target import as_target

SCALE = 10.0


def two_widths(data, *, rng, size):
    """The scale is a public coin's, never the same twice: no ledger is derived, F5 is what is left."""
    coin = rng.random(size)
    return np.stack([data + rng.laplace(0.0, 1.0, size) * (SCALE * (1 + coin)), coin], axis=-1)


def counted(data, *, rng, size):
    return data + rng.laplace(0.0, SCALE, size)


def in_rationals(run, part: slice = slice(None)) -> Fraction:
    """L(T) without rounding: o = off + coef z, z' = (o - off')/coef, Laplace noise, all of it as fractions."""
    total = Fraction(0)
    for here, there in zip(run.first.transcript.entries, run.second.transcript.entries, strict=True):
        if here.kind != "value" or here.families != ("laplace",):
            continue
        for z, off, other, coef in zip(here.z[part], here.off[part], there.off[part], here.coef[part], strict=True):
            shift = (Fraction(float(off)) - Fraction(float(other))) / Fraction(float(coef))
            total += abs(Fraction(float(z)) + shift) - abs(Fraction(float(z)))
    return total


@pytest.mark.parametrize("base", [0.3, 1e6 + 0.1, 1e9 + 0.3, 1e12])
def test_f5_a_log_ratio_rounded_up_is_not_below_that_of_rationals(base: float) -> None:
    """And no further from it than 1e-13 of the base over the scale. The ratio as computed is below it at times."""
    pairing = Pairing(as_target(counted), base + 1.0, base, seed=5, order=0)
    runs = [pairing.transcript(index) for index in range(40)]
    for run in runs:
        assert run.bad is None
        above = Fraction(log_ratio_at_most(run)) - in_rationals(run)
        assert 0 <= above <= 1e-13 * (1 + base / SCALE)
    assert any(Fraction(run.log_ratio) < in_rationals(run) for run in runs)


def test_f5_the_largest_loss_is_that_of_rationals_or_more() -> None:
    """The largest loss as computed is too small here, by 1e-9 and more: without the bound on its error this fails."""
    base = 1e9 + 0.3
    found = trace(two_widths, pair=Pair(base + 1.0, base), transcripts=20, seed=5)
    exact = []
    for order, both in enumerate([(base + 1.0, base), (base, base + 1.0)]):
        pairing = Pairing(as_target(two_widths), *both, seed=5, order=order)
        exact += [in_rationals(pairing.transcript(index)) for index in range(20)]
    assert max(map(max, found.log_ratio)) < max(exact) - Fraction(1, 10**9)
    assert max(exact) <= Fraction(found.loss) <= max(exact) + Fraction(1, 10**5)


def test_rows_of_a_call_are_rounded_up_as_well() -> None:
    pairing = Pairing(as_target(counted), 1e9 + 1.3, 1e9 + 0.3, seed=5, order=0)
    found = tracer.batch(pairing, 0, tracer.ROWS)
    exact = [in_rationals(found[0], slice(row, row + 1)) for row in range(tracer.ROWS)]
    assert all(one <= Fraction(log_ratio_at_most(run)) for one, run in zip(exact, found, strict=True))
    assert any(one > Fraction(run.log_ratio) for one, run in zip(exact, found, strict=True))


def test_a_movement_below_the_last_digit_is_charged() -> None:
    """z is the same on both datasets, in bits, although the offsets are not: the log ratio 0 is a rounded one."""

    def hidden(data, *, rng, size):
        return (data + rng.laplace(0.0, 1e3, size)) + 0.0

    pairing = Pairing(as_target(hidden), 1.0, 1.0 + 2.0**-52, seed=3, order=0)
    runs = [pairing.transcript(index) for index in range(30)]
    same = [run for run in runs if run.bad is None and run.log_ratio == 0]
    assert same
    assert all(log_ratio_at_most(run) >= abs(in_rationals(run)) > 0 for run in same)


def test_a_decision_is_known_to_the_last_digits_of_one() -> None:
    """log(1 - p) with p next to 1: what is left of 1 - p is its last digits."""
    p = 1 - 2.0**-40

    def coin(data, *, rng, size):
        return (rng.random(size) < (p if data else p - 2.0**-41)).astype(float)

    run = Pairing(as_target(coin), 1, 0, seed=3, order=0).transcript(
        0, change=lambda family, z, start: z * 0 + 1 - 2e-16
    )
    assert run.bad is None
    assert run.log_ratio == pytest.approx(math.log(2.0**-40 / (2.0**-40 + 2.0**-41)))
    assert log_ratio_at_most(run) - run.log_ratio > 2.0**-53 / 2.0**-40


def test_what_is_bad_has_no_bound() -> None:
    def bare(data, *, rng, size):
        return data + 0 * rng.laplace(0.0, 1.0, size)

    run = Pairing(as_target(bare), 1.0, 0.0, seed=3, order=0).transcript(0)
    assert run.bad is not None
    assert log_ratio_at_most(run) == math.inf


def denormal(data, *, rng, size):
    return data * math.ulp(0.0) + rng.laplace(scale=math.ulp(0.0), size=size)


def test_noise_below_the_smallest_normal_number_is_known_to_no_digit() -> None:
    """What is released is the rounded noise and a whole number: eps is 1, and a transcript seemed to have 1.45."""
    found = trace(denormal, pair=Pair(0.0, 1.0), claim=PureDP(1.0), transcripts=32, seed=7)
    assert found.status == "DERIVED"
    assert found.loss >= 1
