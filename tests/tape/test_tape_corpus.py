"""What the tape says of programs that are private and of programs that are not: never fine, where they are not."""

import math

import numpy as np
import pytest
from tape_corpus import NOT_PRIVATE, NUMBER, PAIR, Private, programs, Statement, TRUE_DELTA, TRUE_EPS

from dpverify.claims.claim import PureDP
from dpverify.ledger.events import GaussianNoise, LaplaceNoise, Ledger, Sensitivity, Shift
from dpverify.tape.enumeration import exact
from dpverify.tape.tracer import trace

FALL = {  # proved infinite or above the claim by one transcript; all others are NOT TRACED
    *"""
    reused_noise one_python_scalar bare_in_plain_array bare_in_memoryview exact_beside_noisy sign_of_zero
    type_of_number uniform_after_decision narrow_noise one_sided scaled_by_data lattice_off_grid scipy_noise
    sum_and_parts repeated another_thread payload_of_nan byte_order zero_dimensions keys_of_histogram
    scipy_state moved_within gumbel module_random own_bit_generator imported_method keyword_noise
    """.split(),
    *(
        f"beside {each}"
        for each in """
    equal_to_everything clean_when_copied typed_array namespace half_range cached slots class_attribute
    attribute_of_text attribute_of_dict attribute_of_error decimal_digits tuple_or_list counter_of_zero
    deque_length stream sign_of_zero
    """.split()
    ),
}
RARE = {"leak_above_fourteen", "top_of_range"}  # what they do now and then is not among 12 transcripts, and is among 24
LARGE = {  # private with an eps that may be derived, and that is a large one
    "noise_cancelled_later": 1e8 + 0.1,  # what is left of the noise is 1e-8
    "rounded_away": 1e5,
    "two_coins": math.log(9),
}


@pytest.mark.parametrize("name", programs(Private))
def test_private_programs_are_traced_with_their_eps(name: str) -> None:
    found = trace(programs(Private)[name], pair=PAIR, claim=PureDP(1.0), transcripts=12, timeout=600.0)
    assert found.status == "DERIVED", found.reasons
    want = TRUE_EPS.get(name, 0.1)
    if want is None:
        assert found.eps() is None
        assert found.certified() is not None
    else:
        assert pytest.approx(want, rel=1e-9, abs=1e-9) in (found.eps(), found.certified().eps)
    assert all(reason for reason in found.draws)


@pytest.mark.parametrize("name", NOT_PRIVATE)
def test_programs_that_are_not_private_are_never_called_fine(name: str) -> None:
    program, pair = NOT_PRIVATE[name]
    found = trace(program, pair=pair, claim=PureDP(1.0), transcripts=24 if name in RARE else 12, timeout=600.0)
    if name in LARGE and found.status == "DERIVED":
        assert found.eps() >= LARGE[name] * (1 - 1e-12)
        return
    assert found.status == ("CONTRADICTED" if name in FALL else "NOT_TRACED"), found.reasons
    assert found.reasons
    if name not in FALL:
        assert found.eps() is None or math.isinf(found.eps())
        assert found.certified() is None


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("name", [name for name in NOT_PRIVATE if not name.startswith("beside")])
def test_programs_that_are_not_private_have_no_small_exact_eps(name: str) -> None:
    program, pair = NOT_PRIVATE[name]
    found = exact(program, pair=pair, timeout=5.0, paths=5000)
    assert found.status != "EXACT" or found.eps_upper > 1.0


@pytest.mark.parametrize("name", programs(Statement))
def test_a_leak_of_small_probability_gets_true_statements_only(name: str) -> None:
    found = trace(programs(Statement)[name], pair=PAIR, transcripts=64, timeout=600.0)
    if found.status not in ("DERIVED", "CONFORMS"):
        return
    assert found.eps() is None or math.isinf(found.eps())  # no pure eps is true
    certified = found.certified()
    assert certified is None or certified.delta_total >= TRUE_DELTA[name](certified.eps)


def test_there_are_enough_of_them() -> None:
    assert len(NOT_PRIVATE) >= 120
    assert len(programs(Private)) >= 17
    assert set(NOT_PRIVATE) >= FALL | set(LARGE)


STATED = Ledger(LaplaceNoise(scale=2.0, sensitivity=Sensitivity(replace=Shift(1.0, 1))))
GAUSS = Ledger(GaussianNoise(sigma=2.0, sensitivity=Sensitivity(replace=Shift(1.0, 1))))


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


def plain(d, *, rng, size):
    return d + rng.laplace(scale=2.0, size=size)


def test_a_ledger_that_is_true_conforms():
    assert trace(plain, pair=NUMBER, ledger=STATED).status == "CONFORMS"
    assert trace(other_family, pair=NUMBER, ledger=GAUSS, transcripts=12).status == "CONFORMS"


def test_rounding_that_tells_the_datasets_apart_is_noted():
    """Private in ideal reals; in floats one of the two is on a grid of 2^-42, on one dataset only."""

    def rough(d, *, rng, size):
        z = rng.laplace(scale=2.0, size=size)
        return np.stack([d + z, ((z + d * 1024.0) - d * 1024.0) + d], axis=1)

    found = trace(rough, pair=NUMBER, transcripts=12)
    assert any(note.startswith("rounding") for note in found.notes)
    assert not trace(plain, pair=NUMBER, transcripts=12).notes
