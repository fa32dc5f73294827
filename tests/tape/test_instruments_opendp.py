"""OpenDP on the tape: the measurement's own map at the distance of the pair, and what no measurement protects."""

import gc
import math
import secrets
from functools import partial

import numpy as np
import opendp.prelude as dp
import pytest
from opendp.core import measurement_invoke as imported

from dpverify.claims.neighbours import Pair
from dpverify.ledger.events import Ledger, PureStep, Sensitivity, Shift
from dpverify.tape.instruments.calls import distance as between
from dpverify.tape.instruments.opendp import _watching, input_distance
from dpverify.tape.tracer import trace

dp.enable_features("contrib", "honest-but-curious")

FLOAT = dp.atom_domain(T=float, nan=False)
LIST = dp.vector_domain(FLOAT), dp.symmetric_distance()
NUMBER = FLOAT, dp.absolute_distance(T=float)
LAPLACE = dp.m.make_laplace(*NUMBER, scale=2.0)
COUNT = LIST >> dp.t.then_count() >> dp.m.then_laplace(scale=1.0)
CLAMPED = LIST >> dp.t.then_clamp((0.0, 1.0)) >> dp.t.then_sum() >> dp.m.then_laplace(scale=1.0)
NAIVE = dp.m.make_user_measurement(*NUMBER, dp.max_divergence(), function=lambda x: x, privacy_map=lambda d: 0.0)
ODOMETER = dp.c.make_fully_adaptive_composition(*LIST, dp.max_divergence())

DATA = [0.5, 1.0, 0.25, 0.75]
LESS = DATA[:-1]
MORE = [*DATA, 9.0]


def steps(*sizes):
    uses = Sensitivity(replace=Shift(1.0), add_remove=Shift(1.0))
    return Ledger.of(*((PureStep(eps=eps, uses=uses), 1) for eps in sizes))


def look(words, first=DATA, second=LESS, *, ledger=None):
    def release(data, *, rng, size):
        return words(data)

    return trace(release, pair=Pair(first, second), ledger=ledger, transcripts=2, stress=False, timeout=600.0)


def asked(data):
    composed = dp.c.make_adaptive_composition(*LIST, dp.max_divergence(), d_in=1, d_mids=[CLAMPED.map(1), COUNT.map(1)])
    queryable = composed(data)
    return queryable(CLAMPED), queryable(COUNT)


def context(data):
    made = dp.Context.compositor(
        data=data,
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=2,
        domain=LIST[0],
    )
    first = made.query().clamp((0.0, 1.0)).sum().laplace().release()
    return first, made.query().count().laplace().release()


CORRECT = {
    "laplace": (lambda data: LAPLACE(sum(data)), LESS, 0.375),
    "count": (lambda data: COUNT(data), LESS, 1.0),
    "clamped": (lambda data: CLAMPED(data), MORE, 1.0),
    "parts": (lambda data: [COUNT([each for each in data if (each > at)]) for at in (0.6,)] + [COUNT([])], LESS, 1.0),
    "two": (lambda data: (COUNT(data), COUNT(data)), LESS, 2.0),
    "rounded": (lambda data: round(COUNT(data)), LESS, 1.0),
    "invoke": (lambda data: COUNT.invoke(data), LESS, 1.0),
    "queryable": (asked, LESS, 2.0),
    "response": (lambda data: dp.m.make_randomized_response_bool(prob=0.75)(len(data) > 3), LESS, math.log(3)),
    "geometric": (
        lambda data: dp.m.make_geometric(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=2.0)(len(data)),
        LESS,
        0.5,
    ),
}


@pytest.mark.parametrize("name", CORRECT)
def test_correct_uses_are_not_flagged(name):
    words, second, eps = CORRECT[name]
    found = look(words, DATA, second)
    assert found.status == "DERIVED", found.reasons
    assert found.eps() == pytest.approx(eps, rel=1e-6)
    assert found.eps() >= eps
    assert all("test_instruments_opendp.py:" in draw.site for draw in found.draws)


@pytest.mark.slow  # a context searches for its scales in every run
def test_a_context_is_traced():
    found = look(context)
    assert found.status == "DERIVED", found.reasons
    assert found.eps() == pytest.approx(1.0, rel=1e-6)


def test_the_declared_steps_conform():
    found = look(CORRECT["two"][0], ledger=steps(COUNT.map(1), COUNT.map(1)))
    assert found.status == "CONFORMS", found.reasons
    assert found.notes == ()


@pytest.mark.parametrize(
    ("words", "second", "declared"),
    [
        (lambda data: CLAMPED(data), MORE, (0.5,)),  # half the noise
        (lambda data: LAPLACE(sum(data)), MORE, (LAPLACE.map(1.0),)),  # the sum is not clipped
        (lambda data: LAPLACE(3.0 * len(data)), LESS, (LAPLACE.map(1.0),)),  # sensitivity understated
        (lambda data: (COUNT(data), COUNT(data)), LESS, (COUNT.map(1),)),  # a second use
    ],
)
def test_twins_contradict_the_ledger(words, second, declared):
    found = look(words, DATA, second, ledger=steps(*declared))
    assert found.status == "UNDECIDED", found.reasons
    assert {each.code for each in found.reasons} == {"NO_EVENT"}
    assert all("test_instruments_opendp.py:" in each.site for each in found.reasons)


class Dropped:
    """Garbage that only the collector finds, with a finalizer in Python."""

    def __init__(self):
        self.itself = self

    def __del__(self):
        pass


def test_finalizers_of_other_objects_are_not_the_measurements():
    """A collection in the middle of a call once made a measurement UNKNOWN_LAW."""
    gc.collect()
    before = gc.get_threshold()
    gc.set_threshold(100)
    try:
        gc.disable()
        Dropped()
        gc.enable()
        assert _watching("/opendp/", partial(list, zip(range(10_000))))[1] == ""
        assert gc.isenabled()
    finally:
        gc.set_threshold(*before)


def own_map():
    return dp.m.make_user_measurement(
        *NUMBER, dp.max_divergence(), function=lambda x: x + secrets.randbelow(3), privacy_map=lambda d: 0.0
    )


BESIDE = {
    "its result is dropped": lambda data: (COUNT(data), len(data))[1],
    "beside it the truth": lambda data: (COUNT(data), len(data)),
    "other noise": lambda data: (COUNT(data), sum(data) + secrets.SystemRandom().random())[1],
    "a function of its author": lambda data: NAIVE(sum(data)),
    "a map of its author": lambda data: own_map()(sum(data)),
    "a name that escapes": lambda data: imported(COUNT, data),
    "a scale of the data": lambda data: dp.m.make_laplace(*NUMBER, scale=1.0 + len(data))(0.0),
    "an odometer": lambda data: ODOMETER(data)(COUNT),
    "only on one dataset": lambda data: COUNT(data) if len(data) > 3 else float(len(data)),
}


@pytest.mark.parametrize("name", BESIDE)
def test_what_no_call_protects_is_never_fine(name):
    found = look(BESIDE[name])
    assert found.status == "NOT_TRACED", (found.status, found.eps())
    assert found.eps() is None
    assert found.certified() is None


@pytest.mark.parametrize(
    ("metric", "first", "second", "want"),
    [
        ("SymmetricDistance()", [1, 2, 2], [2, 1, 3], 2),
        ("SymmetricDistance()", [1], [1, 1], 1),
        ("InsertDeleteDistance()", [1, 2, 3], [2, 3, 1], 2),
        ("HammingDistance()", [1, 2, 3], [1, 3, 2], 2),
        ("ChangeOneDistance()", [1, 2, 3], [1, 3, 2], 0),
        ("ChangeOneDistance()", [1], [1, 2], None),
        ("DiscreteDistance()", "a", "b", 1),
        ("AbsoluteDistance(f64)", 0.1, 0.3, np.nextafter(0.2, 0)),
        ("L1Distance(f64)", [0.0, 1.0], [1.0, -1.0], 3),
        ("L2Distance(f64)", [0.0, 0.0], [3.0, 4.0], 5.0),
        ("LInfDistance(f64)", np.array([0.0, 1.0]), np.array([1.0, -1.0]), 2),
        ("AbsoluteDistance(f64)", math.nan, 1.0, None),
        ("PartitionDistance()", 1, 2, None),
    ],
)
def test_distances_are_never_too_small(metric, first, second, want):
    found = input_distance(metric, first, second)
    assert found is None if want is None else found >= want
    assert want is None or found == pytest.approx(want, rel=1e-15)


def test_a_value_that_is_missing_on_one_side_is_infinitely_far():
    assert between(np.array([math.nan]), np.array([1.0])) == math.inf
    assert between(np.array([math.nan]), np.array([math.nan])) == 0.0
    assert between(np.array([math.inf, 3.0]), np.array([math.inf, 1.0])) == 2.0
    assert between(np.zeros(2), np.zeros(3)) == math.inf
