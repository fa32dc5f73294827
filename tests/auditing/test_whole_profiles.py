"""Claims of a whole profile against laws that are known: an enumerated law refutes zCDP, Renyi and Gaussian claims."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import special

from dpverify import ApproxDP, GaussianDP, Pair, PureDP, ZCDP
from dpverify.auditing.tracing import taped_pair
from dpverify.claims.claim import Claim
from dpverify.claims.curves import RenyiDP
from dpverify.tape.enumeration import exact

BIT = Pair([0], [1])


class Response:
    """The bit, turned with the chance of randomised response."""

    def __init__(self, eps: float) -> None:
        self.keep = 1 / (1 + math.exp(-eps))

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> np.ndarray:
        return np.where(rng.random(size) < self.keep, data[0], 1 - data[0])


def divergence(eps: float, order: float) -> float:
    p, q = np.array([math.exp(eps), 1.0]) / (1 + math.exp(eps)), np.array([1.0, math.exp(eps)]) / (1 + math.exp(eps))
    return float(np.log(np.sum(p**order * q ** (1 - order))) / (order - 1))


RHO = divergence(2.0, 1 + 1e-9)  # the supremum of D_a/a is the limit at 1
MU = 2 * special.ndtri(1 / (1 + math.exp(-2.0)))  # of total variation 2 keep - 1


@pytest.mark.parametrize(
    ("claim", "refuted"),
    [
        (ZCDP(0.5), True),
        (ZCDP(RHO * 0.98), True),
        (ZCDP(RHO * 1.001), False),
        (RenyiDP(((2.0, divergence(2.0, 2.0) * 0.999),)), True),
        (RenyiDP(((2.0, divergence(2.0, 2.0) * 1.001),)), False),
        (RenyiDP(((2.0, 9.0), (16.0, divergence(2.0, 16.0) * 5))), False),
        (GaussianDP(MU * 0.999), True),
        (GaussianDP(MU * 1.001), False),
        (PureDP(1.9), True),
        (PureDP(2.0), False),
        (ApproxDP(1.0, 0.1), True),
    ],
    ids=str,
)
def test_randomised_response_against_claims_of_every_kind(claim: Claim, refuted: bool) -> None:
    found = taped_pair(Response(2.0), claim=claim, pair=BIT, seed=3, trials=1000)
    assert found.refutes is refuted
    if refuted:
        assert found.lower is not None
        assert found.lower > claim.number


@pytest.mark.parametrize("eps", [0.1, 1.0, 4.0])
def test_a_number_of_a_law_is_never_above_the_closed_form(eps: float) -> None:
    numbers = [
        exact(Response(eps), pair=BIT, claim=claim).number_lower
        for claim in (ZCDP(1.0), GaussianDP(1.0), RenyiDP(((3.0, 1.0),)))
    ]
    most = divergence(eps, 1 + 1e-6), 2 * special.ndtri(1 / (1 + math.exp(-eps))), divergence(eps, 3.0)
    for number, largest in zip(numbers, most, strict=True):
        assert number is not None
        assert largest * 0.98 <= number <= largest


def test_a_leak_of_probability_one_has_no_finite_number() -> None:
    def plain(data: Any, *, rng: np.random.Generator, size: int) -> np.ndarray:
        return np.full(size, data[0]) + (rng.random(size) < 0.5) * 2

    for claim in (ZCDP(3.0), RenyiDP(((2.0, 3.0),))):
        assert exact(plain, pair=BIT, claim=claim).number_lower == math.inf
    assert taped_pair(plain, claim=ZCDP(3.0), pair=BIT, seed=3, trials=1000).refutes
