"""Laws and bounds of instrumented calls against their definitions, and the door that scikit-learn takes."""

import math

import numpy as np
import pytest
from scipy import integrate, stats
from sklearn.utils import check_random_state

from dpverify.base.seeding import Stage, stream
from dpverify.claims.neighbours import Pair, Relation
from dpverify.ledger.events import Ledger, PureStep
from dpverify.tape.forced import Moved
from dpverify.tape.instruments import diffprivlib
from dpverify.tape.instruments.calls import CallLoss, NoiseCall, pure
from dpverify.tape.ledger_matching import conforms
from dpverify.tape.tracer import trace

CALL = NoiseCall("x", ("", 0), "", np.zeros(1), {}, 1.0, 1.0, 1.0, 0.0, (0, ""), None)


def test_four_uniforms_make_a_laplace_variable():
    """Kolmogorov-Smirnov at level 1e-6; half or twice the scale is a distance above 0.1 (power above 1 - 1e-9)."""
    count = 20_000
    uniforms = stream(5, Stage.TAPE, 91).random((4, count))
    z = -diffprivlib._standard([uniforms])
    least = math.sqrt(math.log(2 / 1e-6) / (2 * count))
    assert stats.kstest(z, stats.laplace.cdf).statistic < least
    for factor in (0.5, 2.0):
        assert stats.kstest(factor * z, stats.laplace.cdf).statistic > least


@pytest.mark.parametrize(("low", "high", "scale", "one", "two"), [(0, 5, 2, 1, 4), (0, 5, 0.3, 0, 5), (-1, 1, 9, 0, 1)])
def test_loss_of_bounded_domains_is_the_largest_log_ratio(low, high, scale, one, two):
    def log_mass(centre):
        at = np.linspace(low, high, 4001)
        return -np.abs(at - centre) / scale - math.log(scale * diffprivlib._kept(centre, scale, low, high))

    assert 2 * integrate.quad(lambda at: math.exp(-abs(at - one) / scale) / 2 / scale, low, high, points=[one])[
        0
    ] == pytest.approx(2 * diffprivlib._kept(one, scale, low, high))
    here, there = (diffprivlib.Conditions(CALL, (each, scale, low, high)) for each in (one, two))
    found = diffprivlib._bounded_loss(here, there)
    assert found.eps == pytest.approx(np.abs(log_mass(one) - log_mass(two)).max(), rel=1e-3)
    assert found.eps >= np.abs(log_mass(one) - log_mass(two)).max() - 1e-12
    assert diffprivlib._bounded_loss(here, here) is None
    moved = diffprivlib.Conditions(CALL, (two, scale, low, high + 1))
    assert diffprivlib._bounded_loss(here, moved).event is None


def test_deltas_of_gaussians_are_those_of_the_definition():
    eps, mu = 1.0, 0.7
    excess = integrate.quad(
        lambda x: max(0.0, stats.norm.pdf(x, mu) - math.exp(eps) * stats.norm.pdf(x)),
        -9,
        12,
        points=[eps / mu + mu / 2],
    )[0]
    assert diffprivlib.gaussian_delta_of_shift(eps, mu) == pytest.approx(excess, rel=1e-6)
    assert diffprivlib.gaussian_delta_of_shift(1.0, math.inf) == 1.0
    assert diffprivlib._discrete_delta(eps, 7, 10.0) == pytest.approx(
        excess, rel=0.02
    )  # wide: nearly the continuous one


def step(eps, code="bound"):
    one = np.ones(1)
    return Moved(
        0,
        "x.py:1",
        "library",
        code,
        one,
        one,
        one,
        (),
        (),
        np.array([eps]),
        one,
        loss=CallLoss(pure(eps, "library"), eps, 1.0),
    )


def declared(*sizes):
    uses = pure(1.0, "").uses
    return Ledger.of(*((PureStep(eps=eps, uses=uses), 1) for eps in sizes))


@pytest.mark.parametrize(
    ("sizes", "word"),
    [((1.0, 0.5), "CONFORMS"), ((0.5, 1.0, 2.0), "CONFORMS"), ((1.0,), "UNMATCHED"), ((0.9, 0.6), "UNMATCHED")],
)
def test_a_step_is_used_once_and_covers_what_is_no_larger(sizes, word):
    assert conforms([(step(0.5), step(1.0))], declared(*sizes), Relation.REPLACE_ONE).status == word


def test_generators_that_scikit_learn_hands_out_are_on_the_tape():
    def release(data, *, rng, size):
        return np.sum(data) + check_random_state(None).laplace(0.0, 10.0, size)

    state = np.random.get_state()[1].copy()  # noqa: NPY002 - the module's own generator is not touched
    found = trace(release, pair=Pair([1.0], [2.0]), transcripts=2, stress=False, timeout=600.0)
    assert (found.status, found.eps()) == ("DERIVED", 0.1)
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002
