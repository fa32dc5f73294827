"""What is released as linear combinations tells the noises that they are made of: rank, not places."""

from typing import Any

import numpy as np
import pytest

from dpverify import Pair, PureDP
from dpverify.tape.tracer import trace

CHANGED = Pair([1.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0])


class Combined:
    """Noisy nodes of which running totals are released; `levels` is what the noise is meant for."""

    def __init__(self, levels: float, first: bool = True) -> None:
        self.levels, self.first = levels, first

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> Any:
        return np.array([self.once(list(data), rng) for _ in range(size)])

    def once(self, data: list[float], rng: np.random.Generator) -> list[float]:
        one, all_of_it, last = (sum(part) + rng.laplace(scale=self.levels) for part in (data[:1], data, data[2:]))
        shown = [all_of_it, one + all_of_it + last, all_of_it + last]
        return shown if self.first else shown[1:]


def test_sums_that_determine_their_parts_refute() -> None:
    """The first value is in two nodes of scale 1: eps is 2. Of scale 2 it is 1."""
    found = trace(Combined(1.0), pair=CHANGED, claim=PureDP(1.0), transcripts=24)
    assert found.status == "CONTRADICTED"
    assert found.witness is not None
    assert 1.0 < found.witness.log_ratio <= 2.0
    assert trace(Combined(2.0), pair=CHANGED, claim=PureDP(1.0), transcripts=24).status == "DERIVED"


@pytest.mark.parametrize("claim", [0.5, 1.0])
def test_sums_that_do_not_determine_their_parts_refute_nothing(claim: float) -> None:
    found = trace(Combined(1.0, first=False), pair=CHANGED, claim=PureDP(claim), transcripts=24)
    assert found.status == "DERIVED"
    assert found.witness is None


@pytest.mark.parametrize(("weight", "seen"), [(1.0, True), (0.25, True), (0.0, False)])
def test_two_sums_of_two_noises(weight: float, seen: bool) -> None:
    def told(data: Any, *, rng: np.random.Generator, size: int) -> Any:
        rows = []
        for _ in range(size):
            one, two = data[0] + rng.laplace(scale=1.0), data[0] + rng.laplace(scale=1.0)
            rows.append([one + two, one + (1 - weight) * two])
        return np.array(rows)

    found = trace(told, pair=CHANGED, claim=PureDP(1.5), transcripts=48)
    assert (found.status == "CONTRADICTED") is seen


def test_a_combination_that_is_rounded_shows_nothing() -> None:
    class Rounded(Combined):
        def once(self, data: list[float], rng: np.random.Generator) -> list[float]:
            return [round(float(each), 2) for each in super().once(data, rng)]

    assert trace(Rounded(1.0), pair=CHANGED, claim=PureDP(1.0), transcripts=24).status == "DERIVED"
