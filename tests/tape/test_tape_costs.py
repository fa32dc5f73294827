"""What a transcript costs: the sum over its draws of movement over scale, each in one unit and of one transcript."""

import math
from typing import Any

import numpy as np
import pytest
from test_tape_facts import moved

from dpverify import Pair, PureDP, Relation
from dpverify.auditing import tape_record
from dpverify.ledger.compound_events import Filtered
from dpverify.ledger.events import LaplaceNoise, Ledger, Sensitivity, Shift
from dpverify.tape import trace_result
from dpverify.tape.ledger_matching import conforms
from dpverify.tape.tracer import trace

REPLACED = Relation.REPLACE_ONE
HEIGHTS = [1.0, 3.0, 4.5, 6.0, 8.0]
ADDED = [
    Pair(HEIGHTS, [*HEIGHTS, 10.0], relation=Relation.ADD_OR_REMOVE_ONE, name="last"),
    Pair(HEIGHTS, [10.0, *HEIGHTS], relation=Relation.ADD_OR_REMOVE_ONE, name="first"),
]


class Each:
    """A release of one number or list, made `size` times."""

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> Any:
        return np.array([self.once(list(data), rng) for _ in range(size)])

    def once(self, data: list[float], rng: np.random.Generator) -> Any:
        raise NotImplementedError


class Quotient(Each):
    """A noisy sum over a noisy count: 1/2 for each."""

    def once(self, data: list[float], rng: np.random.Generator) -> Any:
        total = sum(data) + rng.laplace(scale=20.0)
        return total / max(len(data) + rng.laplace(scale=2.0), 1.0)


class Steered(Each):
    """A noisy mean says which half is counted next: 1/4, then 1/2."""

    def once(self, data: list[float], rng: np.random.Generator) -> Any:
        middle = sum(data) + rng.laplace(scale=40.0)
        half = [x for x in data if 5 * x < middle]
        return [len(half) + rng.laplace(scale=2.0), middle]


class Centres(Each):
    """Three rounds of two centres, 1/6 for each sum and each count: one cluster moves in each round."""

    def once(self, data: list[float], rng: np.random.Generator) -> Any:
        centres = [2.0, 7.0]
        for _ in range(3):
            own = [int(abs(x - centres[1]) < abs(x - centres[0])) for x in data]
            sums = [sum(x for x, k in zip(data, own, strict=True) if k == j) + rng.laplace(scale=60.0) for j in (0, 1)]
            counts = [own.count(j) + rng.laplace(scale=6.0) for j in (0, 1)]
            centres = [total / max(count, 1.0) for total, count in zip(sums, counts, strict=True)]
        return centres


class Branching(Each):
    """A coin of the program, drawn as noise on nothing, chooses what is costlier: (1/2, 1/4) or (2/5, 2/5)."""

    def once(self, data: list[float], rng: np.random.Generator) -> Any:
        coin = rng.laplace()
        scales = (2.0, 4.0) if coin > 0 else (2.5, 2.5)
        return [float(coin), *(len(data) + rng.laplace(scale=each) for each in scales)]


@pytest.mark.parametrize("pair", ADDED, ids=lambda pair: pair.name)
@pytest.mark.parametrize(("target", "worth"), [(Quotient(), 1.0), (Steered(), 0.75), (Branching(), 0.8)])
def test_an_adaptive_release_is_worth_its_costliest_transcript(target: Each, worth: float, pair: Pair) -> None:
    found = trace(target, pair=pair, claim=PureDP(worth, relation=Relation.ADD_OR_REMOVE_ONE), transcripts=24)
    assert found.status == "DERIVED"
    assert found.fixed
    assert found.eps() == pytest.approx(worth, rel=1e-9)
    assert found.loss <= worth * (1 + 1e-9)


def test_a_centre_that_is_divided_by_what_was_released_is_not_charged_twice() -> None:
    found = trace(Centres(), pair=ADDED[0], transcripts=24)
    assert found.status == "DERIVED"
    assert found.eps() == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("share", [2.0, 0.5])
def test_half_the_noise_costs_twice_as_much(share: float) -> None:
    class Scaled(Each):
        def once(self, data: list[float], rng: np.random.Generator) -> Any:
            total = sum(data) + rng.laplace(scale=20.0 / share)
            return total / max(len(data) + rng.laplace(scale=2.0 / share), 1.0)

    assert trace(Scaled(), pair=ADDED[0], transcripts=16).eps() == pytest.approx(share, rel=1e-9)


def test_a_line_of_the_table_has_scale_and_movement_in_one_unit() -> None:
    found = trace(Quotient(), pair=ADDED[0], transcripts=24)
    assert [row.shift_max / row.scale for row in found.draws] == pytest.approx([0.5, 0.5], rel=1e-9)


def test_parts_of_different_transcripts_are_never_added() -> None:
    seen = [moved(shifts=(10, 5), scale=20.0), moved(shifts=(4, 4), scale=10.0)]
    found = trace_result.envelope(seen)
    assert found is not None
    ((event, times),) = found.counted
    assert isinstance(event, Filtered)
    assert times == 1
    assert event.budget.number == pytest.approx(0.8)
    assert conforms(seen, found, REPLACED).status == "CONFORMS"
    assert conforms([moved(shifts=(5, 4), scale=10.0)], found, REPLACED).status != "CONFORMS"


def test_normal_noise_of_one_transcript_and_laplace_noise_of_another_have_no_ledger() -> None:
    assert trace_result.envelope([moved("normal", shifts=(1,)), moved(shifts=(1,))]) is None
    both = trace_result.envelope([moved("normal", shifts=(1,)), moved("normal", shifts=(1, 1))])
    assert both is not None
    assert sum(times for _, times in both.counted) == 2


def test_a_filter_is_written_into_records_and_read_again() -> None:
    ledger = Ledger(Filtered(what="code", budget=PureDP(0.8, relation=REPLACED)))
    events = tape_record.written(ledger)
    assert events is not None
    assert tape_record.read_events(events) == ledger
    assert tape_record.numbers_of_claim(PureDP(1.0), events) == (0.8, 0.8)


def test_a_declared_filter_is_compared_with_the_sum_of_each_transcript() -> None:
    def filtered(eps: float) -> Ledger:
        return Ledger(Filtered(what="adaptive", budget=PureDP(eps, relation=Relation.ADD_OR_REMOVE_ONE)))

    words = [
        trace(
            Branching(),
            pair=ADDED[0],
            claim=PureDP(1.0, relation=Relation.ADD_OR_REMOVE_ONE),
            ledger=filtered(eps),
            transcripts=24,
        ).status
        for eps in (0.8, 0.79)
    ]
    assert words[0] == "CONFORMS"
    assert words[1] != "CONFORMS"


def test_an_infinite_sum_has_no_filter() -> None:
    coin = trace_result._largest_loss(trace_result._coin(0.5, 0.25))
    assert coin == pytest.approx(math.log(2))
    assert trace_result._largest_loss(trace_result._coin(0.5, 0.0)) == math.inf


# A step of a noisy value costs what the noisy value does.


def _near(how: str, x: float, centre: Any) -> bool:
    if how == "between":
        return bool(centre - 2 < x < centre + 2)
    if how == "square":
        return bool((x - centre) ** 2 < 4)
    if how == "product":
        return bool((x - centre) * (x - centre) < 4)
    if how == "reversed":
        return bool(abs(centre - x) < 2)
    if how == "numpy":
        return bool(np.abs(np.subtract(x, centre)) < 2)
    return bool(abs(x - centre) < 2)


class Near(Each):
    """A noisy mean (1/4), then two counts of what is near to it and what is not: one of them moves (1/2)."""

    ledger = Ledger(
        LaplaceNoise(scale=2.0, sensitivity=Sensitivity(add_remove=0.5)),
        LaplaceNoise(scale=2.0, sensitivity=Sensitivity(add_remove=Shift(1.0, 1))),
    )

    def __init__(self, how: str) -> None:
        self.how = how

    def once(self, data: list[float], rng: np.random.Generator) -> Any:
        centre = sum(data) / 20 + rng.laplace(scale=2.0)
        near = sum(_near(self.how, x, centre) for x in data)
        return [near + rng.laplace(scale=2.0), len(data) - near + rng.laplace(scale=2.0)]


@pytest.mark.parametrize("pair", ADDED, ids=lambda pair: pair.name)
@pytest.mark.parametrize("how", ["abs", "between", "square", "product", "reversed", "numpy"])
def test_a_step_of_a_noisy_value_costs_what_the_noisy_value_does(how: str, pair: Pair) -> None:
    found = trace(Near(how), pair=pair, transcripts=16)
    assert found.status == "CONFORMS", found.reasons
    assert found.eps() == pytest.approx(0.75, rel=1e-9)


class TakenOut(Each):
    """A noisy sum, and a step of what is left when the sum is taken off again: infinite eps."""

    def __init__(self, limit: float, turned: bool) -> None:
        self.limit, self.turned = limit, turned

    def once(self, data: list[float], rng: np.random.Generator) -> Any:
        noisy = sum(data) + rng.laplace(scale=1000.0)
        left = sum(data) - noisy if self.turned else noisy - sum(data)
        return [float(noisy), float(left > self.limit)]


@pytest.mark.parametrize("limit", [0.0, 500.0])
@pytest.mark.parametrize("turned", [True, False])
def test_noise_that_is_taken_out_of_its_sum_is_no_noise(limit: float, turned: bool) -> None:
    declared = Ledger(LaplaceNoise(scale=1000.0, sensitivity=Sensitivity(add_remove=10.0)))
    found = trace(TakenOut(limit, turned), pair=ADDED[0], ledger=declared, transcripts=16)
    assert found.status == "NOT_TRACED"
    assert found.reasons[0].code == "OUTPUTS_DIFFER"


def test_a_sum_is_made_to_lie_between_what_it_is_compared_with() -> None:
    """The largest value, of scale 1000 and released, is compared with the last row: no ordinary run shows it."""

    def told(data: Any, *, rng: np.random.Generator, size: int) -> Any:
        noisy = [sum(data) + rng.laplace(scale=1000.0) for _ in range(size)]
        return [[float(each), float(each - data[-1] > 0)] for each in noisy]

    found = trace(told, pair=ADDED[0], transcripts=16)
    assert found.status == "NOT_TRACED"
    assert found.reasons[0].code == "OUTPUTS_DIFFER"
