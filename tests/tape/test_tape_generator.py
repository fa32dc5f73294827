"""Generators on the tape: the numbers, types and errors of NumPy's, for every method; doors that are closed."""

import pickle

import numpy as np
import pytest

from dpverify.base.seeding import Stage, stream
from dpverify.claims.claim import PureDP
from dpverify.claims.neighbours import Pair
from dpverify.tape.generator import TapeGenerator, TapeRandomState
from dpverify.tape.opaque import materialised, Opaque
from dpverify.tape.randomness import Arena
from dpverify.tape.sources import key_of, Opaques, Plain
from dpverify.tape.tracer import trace

CALLS = {
    "beta": [(2.0, 0.7), ([1.0, 2.0], 3.0, (4, 2))],
    "binomial": [(10, 0.3), ([3, 9], 0.5, (2, 2))],
    "bytes": [(7,)],
    "chisquare": [(3.0,), (2.0, 5)],
    "choice": [(5,), ([1.5, 2.5, 7.0], 4), (6, 3, False), (3, 4, True, [0.2, 0.3, 0.5])],
    "dirichlet": [([1.0, 2.0, 3.0],), ([1.0, 2.0], 3)],
    "exponential": [(2.0,), ([1.0, 3.0], (3, 2)), ()],
    "f": [(3.0, 4.0, 2)],
    "gamma": [(2.0, 3.0), ([1.0, 2.0], 2.0, (2, 2))],
    "geometric": [(0.2,), (0.5, 6)],
    "gumbel": [(), (1.0, 2.0, 3)],
    "hypergeometric": [(5, 6, 4, 3)],
    "integers": [(9,), (-3, 4, 7), (0, 2**64 - 1, 3, np.uint64), (5, None, 3, np.int64, True), (2, None, 4, bool)],
    "laplace": [(), (1.0, 2.0, (2, 3)), ([1.0, 2.0], 3.0)],
    "logistic": [(), (1.0, 2.0, 3)],
    "lognormal": [(0.0, 1.0, 3)],
    "logseries": [(0.4, 3)],
    "multinomial": [(7, [0.2, 0.3, 0.5]), (7, [0.2, 0.8], 3)],
    "multivariate_hypergeometric": [([3, 4, 5], 6)],
    "multivariate_normal": [([0.0, 1.0], np.eye(2), 3)],
    "negative_binomial": [(3, 0.4), (3, 0.4, 5)],
    "noncentral_chisquare": [(3.0, 1.0, 2)],
    "noncentral_f": [(3.0, 4.0, 1.0, 2)],
    "normal": [(), (1.0, 2.0, (2, 3)), ([1.0, 2.0], [3.0, 0.0])],
    "pareto": [(3.0, 2)],
    "permutation": [(5,), ([1, 2, 3],), (np.arange(6).reshape(3, 2),)],
    "permuted": [(np.arange(6.0),)],
    "poisson": [(), (4.0, 5)],
    "power": [(3.0, 2)],
    "random": [(), ((2, 3),), (3, np.float32)],
    "rayleigh": [(2.0, 3)],
    "standard_cauchy": [(), (3,)],
    "standard_exponential": [(), (3,), (3, np.float32)],
    "standard_gamma": [(2.0,), (2.0, 3)],
    "standard_normal": [(), ((3, 2),), (3, np.float32)],
    "standard_t": [(3.0,), (3.0, 4)],
    "triangular": [(0.0, 1.0, 2.0, 3)],
    "uniform": [(), (-1.0, 2.0, 4), ([0.0, 1.0], [2.0, 5.0])],
    "vonmises": [(0.0, 1.0, 3)],
    "wald": [(1.0, 2.0, 3)],
    "weibull": [(2.0, 3)],
    "zipf": [(2.0, 3)],
}
LEGACY = {
    **{name: calls for name, calls in CALLS.items() if hasattr(np.random.RandomState, name)},
    "rand": [(), (2, 3)],
    "randn": [(), (2, 3)],
    "randint": [(9,), (-3, 4, 7)],
    "random": [(), (4,)],
    "random_sample": [(), (4,)],
    "standard_exponential": [(), (3,)],
    "standard_normal": [(), (3,)],
    "tomaxint": [(3,)],
    "permutation": [(5,), ([1, 2, 3],)],
}
ELSEWHERE = {"bit_generator", "shuffle", "spawn", "seed", "get_state", "set_state", "random_integers"}


def real() -> np.random.Generator:
    return stream(3, Stage.TAPE, 0)


def legacy() -> np.random.RandomState:
    return np.random.RandomState(np.random.MT19937(3))


def test_every_method_of_numpy_is_tested() -> None:
    for kind, calls in ((np.random.Generator, CALLS), (np.random.RandomState, LEGACY)):
        assert {name for name in dir(kind) if not name.startswith("_")} - ELSEWHERE == set(calls)


@pytest.mark.parametrize(
    ("make", "kind", "name", "args"),
    [(real, TapeGenerator, name, args) for name, calls in CALLS.items() for args in calls]
    + [(legacy, TapeRandomState, name, args) for name, calls in LEGACY.items() for args in calls],
)
def test_numbers_are_numpys_bit_for_bit(make, kind, name: str, args) -> None:
    """On the tape and in a plain replay, for three calls in a row: the generator below keeps the same state."""
    arena = Arena()
    taped, own = kind(make(), Opaques(arena)), make()
    wanted = [getattr(own, name)(*args) for _ in range(3)]
    found = [getattr(taped, name)(*args) for _ in range(3)]
    for each, want in zip(found, wanted, strict=True):
        assert key_of(np.asarray(materialised(each))) == key_of(np.asarray(want))
    replay = kind(make(), Plain(arena))
    for want in wanted:
        again = getattr(replay, name)(*args)
        assert key_of(np.asarray(again)) == key_of(np.asarray(want))
        assert type(again) is type(want) or (np.ndim(want) == 0 and isinstance(again, int | float | np.generic))
    assert not arena.notes


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("normal", (0.0, -1.0)),
        ("laplace", (0.0, -1.0, 3)),
        ("gamma", (-1.0,)),
        ("exponential", (-2.0,)),
        ("uniform", (0.0, np.inf)),
        ("choice", (3, 2, True, [0.5, 0.6, 0.1])),
        ("choice", (3, 5, False)),
        ("integers", (5, 5)),
        ("binomial", (3, 1.5)),
        ("normal", ([0.0, 1.0], 1.0, 3)),
        ("geometric", (0.0,)),
        ("multinomial", (3, [0.9, 0.9, 0.1])),
        ("wald", (0.0, 1.0)),
        ("beta", (0.0, 1.0)),
        ("permutation", (2.5,)),
        ("dirichlet", ([0.0, -1.0],)),
        ("poisson", (-1.0,)),
    ],
)
def test_errors_are_numpys(name: str, args) -> None:
    with pytest.raises(Exception) as want:  # noqa: PT011 - whatever NumPy raises
        getattr(real(), name)(*args)
    with pytest.raises(type(want.value)) as found:
        getattr(TapeGenerator(real(), Opaques(Arena())), name)(*args)
    assert str(found.value) == str(want.value)


@pytest.mark.parametrize(
    "act",
    [
        lambda rng: rng.bit_generator,
        lambda rng: pickle.dumps(rng),
        lambda rng: __import__("copy").deepcopy(rng),
    ],
)
def test_states_are_noted(act) -> None:
    arena = Arena()
    act(TapeGenerator(real(), Opaques(arena)))
    assert {note.code for note in arena.notes} == {"FOREIGN"}


def test_a_method_that_is_not_known_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """As for a method that a later NumPy brings."""
    from dpverify.tape import generator

    class Later(np.random.Generator):
        def brand_new(self, size):
            return np.zeros(size)

    class Taped(generator.Sampler, Later):
        pass

    generator._fail_closed(Taped, Later)
    arena = Arena()
    taped = Taped(np.random.PCG64(1))
    taped._real, taped._source = Later(np.random.PCG64(1)), Opaques(arena)
    taped.brand_new(3)
    assert [note.code for note in arena.notes] == ["UNKNOWN_METHOD"]


def test_a_generator_on_the_tape_is_a_generator() -> None:
    taped = TapeGenerator(real(), Opaques(Arena()))
    assert isinstance(taped, np.random.Generator)
    assert isinstance(taped.laplace(size=3), Opaque)


def integers(data, *, rng, size):
    return rng.integers(0, data, size)


def bytes_(data, *, rng, size):
    return rng.integers(0, data, size, dtype=np.uint8)


def legacy(data, *, rng, size):
    return np.random.randint(0, data, size)  # noqa: NPY002


def binomial(data, *, rng, size):
    return rng.binomial(data, 0.5, size)


def multinomial(data, *, rng, size):
    return rng.multinomial(data, [0.5, 0.5], size)


WHOLE = [integers, bytes_, legacy, binomial, multinomial]


@pytest.mark.parametrize("program", WHOLE)
def test_numpy_cuts_off_what_is_behind_the_point(program) -> None:
    """2.0 and 2.9 are one law; 2.9 and 3.0 are two, with a value that only one of them has."""
    same = trace(program, pair=Pair(2.0, 2.9), claim=PureDP(0.01), transcripts=16)
    assert (same.status, same.loss) == ("DERIVED", 0.0)
    assert trace(program, pair=Pair(2.9, 3.0), transcripts=16).status == "NOT_TRACED"
