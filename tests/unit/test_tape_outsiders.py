"""Programs of an author who had not read the tape: none is given an eps below its true one, and twins are traced."""

import numpy as np
import pytest
from tape_outsiders import NUMBER, PROGRAMS
from tape_outsiders_outputs import noisy, TWINS

from dpverify.accounting.ledger import GaussianNoise, LaplaceNoise, Ledger, Sensitivity, Shift
from dpverify.claims.neighbours import Pair
from dpverify.tape.trace import trace

STATED = Ledger(LaplaceNoise(scale=2.0, sensitivity=Sensitivity(replace=Shift(1.0, 1))))
GAUSS = Ledger(GaussianNoise(sigma=2.0, sensitivity=Sensitivity(replace=Shift(1.0, 1))))


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_an_outsider_is_not_called_fine(name):
    program, truth, pair = PROGRAMS[name]
    found = trace(program, pair=pair, transcripts=8, timeout=600.0)
    if found.status in ("DERIVED", "CONFORMS"):
        assert found.eps() is None or found.eps() >= truth * (1 - 1e-12)
    else:
        assert found.reasons
        assert found.eps() is None


@pytest.mark.parametrize("name", sorted(TWINS))
def test_a_private_twin_is_traced(name):
    program, eps, pair = TWINS[name]
    found = trace(program, pair=pair, transcripts=12, timeout=600.0)
    assert found.status == "DERIVED", found.reasons
    assert found.certified().eps == pytest.approx(eps, abs=1e-9)


def two_draws(d, *, rng, size):  # true eps 1, the ledger says 0.5
    return d + rng.laplace(scale=2.0, size=(size, 2))


def half_scale(d, *, rng, size):  # true eps 1
    return 0.5 * (2.0 * d + rng.laplace(scale=2.0, size=size))


def more_shift(d, *, rng, size):  # true eps 1
    return d + d + rng.laplace(scale=2.0, size=size)


def other_family(d, *, rng, size):  # true eps infinite
    return d + rng.normal(0.0, 2.0, size)


@pytest.mark.parametrize("program", [two_draws, half_scale, more_shift, other_family])
def test_a_ledger_that_understates_is_contradicted(program):
    assert trace(program, pair=NUMBER, ledger=STATED, transcripts=12).status == "CONTRADICTED"


def test_a_ledger_that_is_true_conforms():
    found = trace(lambda d, *, rng, size: d + rng.laplace(scale=2.0, size=size), pair=NUMBER, ledger=STATED)
    assert found.status == "CONFORMS"
    found = trace(lambda d, *, rng, size: d + rng.normal(0.0, 2.0, size), pair=NUMBER, ledger=GAUSS, transcripts=12)
    assert found.status == "CONFORMS"


def test_rounding_that_tells_the_datasets_apart_is_noted():
    """Private in ideal reals; in floats one of the two is on a grid of 2^-42, on one dataset only."""

    def rough(d, *, rng, size):
        z = rng.laplace(scale=2.0, size=size)
        return np.stack([d + z, ((z + d * 1024.0) - d * 1024.0) + d], axis=1)

    found = trace(rough, pair=NUMBER, transcripts=12)
    assert any(note.startswith("rounding") for note in found.notes)
    clean = trace(lambda d, *, rng, size: noisy(d, rng), pair=Pair(0.0, 1.0), transcripts=12)
    assert not clean.notes
