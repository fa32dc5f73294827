"""Measured power: rungs are runs of the same audit, deterministic, and tell of planted twins."""

import math
from dataclasses import replace

import numpy as np
import pytest
from in_process import run_suite
from scipy import stats

from dpverify import audit, loop_trials, Pair, PureDP, Subject
from dpverify.auditing import ladder
from dpverify.auditing.ladder import less_noise
from dpverify.auditing.subject import planted
from dpverify.auditing.tape_record import Taped
from dpverify.base.seeding import derive, Stage, stream
from dpverify.errors import TargetError
from dpverify.ledger.events import Sensitivity
from dpverify.report import words
from dpverify.suite.result import Settings
from mechanisms.counters.honaker import HonakerCounter
from mechanisms.counters.toeplitz import ToeplitzCounter
from mechanisms.counters.tree import BinaryCounter
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.privatizers.central import Central
from mechanisms.releases.discrete_gaussian import DiscreteGaussian
from mechanisms.releases.discrete_laplace import DiscreteLaplace
from mechanisms.releases.gaussian import Gaussian
from mechanisms.releases.laplace import Laplace

ONE = Sensitivity(replace=1)
PAIR = Pair(np.array([0.0]), np.array([1.0]))
LAPLACE = Laplace(scale=1.0, sensitivity=ONE)
(WHY,) = ladder.silence(())
HALF = replace(LAPLACE, scale=0.5)


def subject(name="laplace", target=LAPLACE, **changes):
    made = {"name": name, "target": target, "claim": PureDP(1.0), "pairs": (PAIR,), "trials": 2000}
    return Subject(**{**made, **changes})


class Bare:
    def release(self, data, *, rng, size):
        return data + rng.laplace(size=(size, 1))


def test_an_audit_measures_its_own_target_with_less_noise():
    record = audit(LAPLACE, claim=PureDP(1.0), pair=PAIR, trials=2000, seed=1, ladder=True)
    weak, strong = record.ladder
    assert [step.name for step in record.ladder] == ["0.8 of the noise", "0.5 of the noise"]
    assert [step.size for step in record.ladder] == [pytest.approx(1.25), pytest.approx(2.0)]
    assert (weak.runs, strong.runs, strong.refuted) == (8, 8, 8)
    assert weak.refuted <= strong.refuted
    for step in record.ladder:  # Clopper and Pearson, by scipy
        interval = stats.binomtest(step.refuted, step.runs).proportion_ci(0.95)
        assert (step.power_lower, step.power_upper) == pytest.approx((interval.low, interval.high))
    again = audit(LAPLACE, claim=PureDP(1.0), pair=PAIR, trials=2000, seed=1, ladder=True)
    assert again.ladder == record.ladder
    plain = audit(LAPLACE, claim=PureDP(1.0), pair=PAIR, trials=2000, seed=1)
    assert replace(record, ladder=(), seconds=0.0) == replace(plain, seconds=0.0)  # measured beside it, not with it


def test_power_of_a_rung_is_that_of_its_runs():
    """A weak violation is refuted sometimes: the rung counts what the same seeds give one by one."""
    again = [
        audit(LAPLACE.with_noise(0.8), claim=PureDP(1.0), pair=PAIR, trials=2000, seed=derive(1, f"ladder/0.8/{run}"))
        for run in range(ladder.RUNS)
    ]
    record = audit(LAPLACE, claim=PureDP(1.0), pair=PAIR, trials=2000, seed=1, ladder=True)
    assert record.ladder[0] == ladder.rung("noise", "0.8 of the noise", again)


@pytest.mark.parametrize("trials", [2000, 0])
def test_a_rung_is_the_power_of_trials_not_of_the_tape(trials):
    """What the tape alone refutes is no run that trials refuted, nor is its bound theirs."""
    missed = audit(LAPLACE, claim=PureDP(1.0), pair=PAIR, trials=2000, seed=1)
    seen = audit(HALF, claim=PureDP(1.0), pair=PAIR, trials=2000, seed=1)
    assert (missed.verdict, seen.verdict) == ("NOT_REFUTED", "REFUTED")
    tape = Taped(status="CONTRADICTED", refutes=True, lower=2.0)
    both = [replace(each.with_tape(tape), trials=trials) for each in (missed, seen)]
    assert [each.verdict for each in both] == ["REFUTED", "REFUTED"]
    assert [each.number_lower for each in both] == [2.0, 2.0]
    assert [each.refuted_by_trials for each in both] == [False, bool(trials)]
    step = ladder.rung("planted", "bug", both)
    assert (step.runs, step.refuted) == (2, int(bool(trials)))
    assert step.lower == (seen.number_lower if trials else 0.0)


class Coin:
    """No noise to scale."""

    def release(self, data, *, rng, size):
        return (rng.random(size=(size, 1)) < 0.4) ^ (data > 0.5)


class OwnGenerator:
    """Noise that does not come from its rng alone: scaling the rng's would leave the rest."""

    def release(self, data, *, rng, size):
        return data + rng.laplace(size=(size, 1)) + np.random.Generator(rng.bit_generator).laplace(size=(size, 1))


def once(data, *, rng):
    return float(data[0]) + float(rng.laplace()) + 0 * int(rng.integers(5))


class Mixed:
    """Discrete noise, which is not scaled, beside noise that is."""

    def release(self, data, *, rng, size):
        return (
            data + rng.geometric(0.5, size=(size, 1)) - rng.geometric(0.5, size=(size, 1)) + rng.laplace(size=(size, 1))
        )


def test_noise_is_scaled_on_the_tape_where_a_target_has_no_scale_of_its_own():
    for target in (Bare(), Bare().release, loop_trials(once)):
        record = audit(target, claim=PureDP(1.0), pair=PAIR, trials=2000, seed=1, ladder=True)
        weak, strong = record.ladder
        assert strong.refuted >= 7  # Laplace(1/2): eps 2, with a learned score
        assert weak.refuted <= strong.refuted
        assert strong.size is None  # no ledger
    less = less_noise(Bare(), 0.25)
    wide, narrow = Bare(), less
    first, second = (each.release(PAIR.first, rng=stream(1, Stage.EXPERIMENT), size=1000) for each in (wide, narrow))
    assert second == pytest.approx(0.25 * first, rel=1e-12)
    assert np.array_equal(
        less_noise(Bare(), 0.0).release(PAIR.second, rng=stream(1, Stage.EXPERIMENT), size=2), [[1], [1]]
    )


def test_targets_without_a_scale_have_no_rungs_and_wrong_ones_are_named():
    for target in (Coin(), OwnGenerator(), Mixed()):
        record = audit(target, claim=PureDP(9.0), pair=PAIR, trials=500, seed=1, ladder=True)
        assert record.ladder == ()
        assert WHY in record.notes
        assert WHY not in audit(target, claim=PureDP(9.0), pair=PAIR, trials=500, seed=1).notes

    class Wrong(Bare):
        def with_noise(self, factor):
            return factor

    with pytest.raises(TargetError, match="with_noise"):
        audit(Wrong(), claim=PureDP(1.0), pair=PAIR, trials=500, seed=1, ladder=True)


@pytest.fixture(scope="module")
def suites():
    true = subject()
    subjects = [
        true,
        planted(true, "half-noise", HALF),
        planted(true, "none", LAPLACE),
        subject("bare", Bare()),
        subject("coin", Coin(), claim=PureDP(9.0)),
    ]
    return [run_suite(subjects, Settings(seed=3, ladder=asked)) for asked in (False, True)]


def test_a_subject_tells_of_its_planted_twins(suites):
    plain, _ = suites
    caught, missed = plain.records[0].ladder
    assert (caught.kind, caught.name, caught.runs, caught.refuted) == ("planted", "half-noise", 1, 1)
    assert caught.size == pytest.approx(2.0)
    assert caught.lower == plain.records[1].trials_lower
    assert (missed.name, missed.refuted, missed.size) == ("none", 0, None)
    assert words.measured(plain.records[0]) == "Measured: planted half-noise (2): CAUGHT; planted none: not caught."
    assert all(not record.ladder for record in plain.records[1:])


def test_every_scaled_mechanism_pays_for_its_noise():
    """Half the noise is twice the ledger's number (Gaussian: four times rho), of the same type and release."""
    targets = [
        (LAPLACE, "scale"),
        (Gaussian(sigma=2.0, sensitivity=ONE), "sigma"),
        (DiscreteLaplace(scale=2.0, sensitivity=ONE), "scale"),
        (DiscreteGaussian(sigma=2.0, sensitivity=ONE), "sigma"),
    ]
    for target, field in targets:
        less = target.with_noise(0.5)
        assert type(less) is type(target)
        assert getattr(less, field) == getattr(target, field) / 2
        assert replace(less, **{field: getattr(target, field)}) == target
        dearer = 4 if less.claim.notion == "zcdp" else 2
        assert less.claim.number == pytest.approx(dearer * target.claim.number)
    for counter in (BinaryCounter, HonakerCounter, ToeplitzCounter):
        made = counter.calibrated(4, rho=0.5)
        assert made.with_noise(0.5) == replace(made, noise=replace(made.noise, sigma=made.noise.sigma / 2))
    central = Central.corrected(1.0, CountLayout(H=1, S=2, A=1), 4)
    assert central.with_noise(0.5) == replace(central, scale=central.scale / 2)
    for wrong in (0.0, -1.0, math.nan):
        with pytest.raises(Exception, match="factor"):
            LAPLACE.with_noise(wrong)
