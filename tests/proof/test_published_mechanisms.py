"""The mechanisms of `benchmarks.checkdp`: no wrong one is proved, as many right ones as before are, and truths hold."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad

from benchmarks.checkdp import MECHANISMS, PROGRAMS, proof_of
from dpverify.claims.curves import parse_claim
from dpverify.proof import Proof
from dpverify.wild.datasets import built
from dpverify.wild.one_line import data_schema
from dpverify.wild.pairs import ordinary

NOT_YET = {"noisy_max", "gap_sparse_vector", "adaptive_sparse_vector", "prefix_sum", "smart_sum"}  # it only shrinks


@pytest.fixture(scope="module")
def proofs() -> dict[str, Proof]:
    return {each.name: proof_of(each) for each in MECHANISMS}


def test_no_wrong_mechanism_is_proved(proofs: dict[str, Proof]) -> None:
    assert [each.name for each in MECHANISMS if not each.right and proofs[each.name].holds] == []


def test_right_mechanisms_are_proved(proofs: dict[str, Proof]) -> None:
    assert {each.name for each in MECHANISMS if each.right and not proofs[each.name].holds} <= NOT_YET


def test_every_program_is_in_the_table_and_runs() -> None:
    programs = {line.split("(")[0] for path in PROGRAMS.glob("*.py") for line in path.read_text().split("\ndef ")[1:]}
    assert programs - {"distance"} == {each.name for each in MECHANISMS}
    rng = np.random.default_rng(1)
    for each in MECHANISMS:
        schema = data_schema(each.data)
        each.function(built(schema, ordinary(schema, 5, rng)), rng)


# Witnesses of wrong sparse vectors: the chance of a pattern of answers, an integral over the noisy bar.


def below(z: float, scale: float) -> float:
    return 0.5 * math.exp(z / scale) if z < 0 else 1 - 0.5 * math.exp(-z / scale)


def chance(pattern: str, queries: list[int], bar: float, scale: float, last: float = math.inf, far: float = 0) -> float:
    """Of "B"elow and "A"bove; values up to `last` of the last one, which is `far` above the bar."""

    def density(z: float) -> float:
        found = math.exp(-abs(z - 1) / bar) / (2 * bar)
        for answer, query in zip(pattern, queries, strict=True):
            top = 1.0 if last == math.inf else below(last - query, scale)
            above = max(0.0, top - below(z + far - query, scale))
            under = below(z + far - query, scale) * (below(z - query, scale / 2) if far else 1)
            found *= above if answer == "A" else under
        return found

    ends = [-100.0, *sorted({1.0, *queries, *(query - far for query in queries), min(last, 99.0) - far}), 100.0]
    return sum(quad(density, *each, epsabs=0, epsrel=1e-8)[0] for each in itertools.pairwise(ends))


WITNESSES = {  # pattern, queries before and after, scales, the last value, how far it is above the bar, log ratio
    "bad_sparse_vector_2": ("BBAAA", [1, 1, 0, 0, 0], [0, 0, 1, 1, 1], 2, 2, math.inf, 0, 1.9),
    "bad_sparse_vector_3": ("BBBAA", [1, 1, 1, 0, 0], [0, 0, 0, 1, 1], 4, 4 / 3, math.inf, 0, 2.6),
    "isvt2": ("BBAAA", [1, 1, 0, 0, 0], [0, 0, 1, 1, 1], 2, 2, math.inf, 0, 1.9),
    "isvt3": ("BBAA", [1, 1, 0, 0], [0, 0, 1, 1], 4, 4 / 3, math.inf, 0, 2.18),
    "isvt4": ("BBBBA", [1, 1, 1, 1, 0], [0, 0, 0, 0, 1], 2, 2, 1, 0, 1.97),
    "bad_gap_sparse_vector": ("BBBBBBBBBA", [1] * 10, [0] * 10, 2, 4, 0, 0, 2.5),
    "bad_adaptive_sparse_vector": ("BBBBBBBBBA", [1] * 10, [0] * 10, 2, 8, 20, 16, 1.13),
}


@pytest.mark.parametrize("name", WITNESSES)
def test_a_wrong_sparse_vector_breaks_its_claim_where_its_row_says(name: str) -> None:
    pattern, first, second, bar, scale, last, far, expected = WITNESSES[name]
    mechanism = next(each for each in MECHANISMS if each.name == name)
    ratio = math.log(chance(pattern, second, bar, scale, last, far) / chance(pattern, first, bar, scale, last, far))
    assert ratio > expected - 1e-9 > parse_claim(mechanism.claim).eps
    assert f"eps >= {expected:g}" in mechanism.truth
