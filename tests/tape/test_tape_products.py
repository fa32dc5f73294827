"""Many finite draws are a product of small laws: binomials with their directions, coins with their two chances (F8).

No enumeration sees the end of them. What is derived is compared with enumerations of small ones, with closed forms, and
with programs whose draws are no such product: none of those may be called fine.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpverify.accounting.accountant import delta_upper
from dpverify.claims.neighbours import Pair, Relation
from dpverify.ledger.events import (
    BinomialNoise,
    Direction,
    FiniteLaws,
    KaryResponse,
    LaplaceNoise,
    Ledger,
    PureStep,
    Sensitivity,
    Shift,
)
from dpverify.tape import trace_result
from dpverify.tape.enumeration import exact
from dpverify.tape.forced import Moved
from dpverify.tape.ledger_matching import conforms
from dpverify.tape.tracer import trace

UP, DOWN = Direction.UP, Direction.DOWN
REPLACED = Relation.REPLACE_ONE


def flips(shift: float, *, n: float = 40.0, p: float = 0.2, coef: float = 1.0) -> Moved:
    """Noise Bin(n, p) times coef on a value that falls by `shift` from D to D'."""
    ones = np.ones(1)
    given = (n * ones, p * ones)
    return Moved(
        0, "x.py:3", "binomial", "value", shift * ones, ones, ones, given, given, ones, np.sign(coef * shift) * ones
    )


def coin(p: float, q: float) -> Moved:
    nothing, ones = np.zeros(1), np.ones(1)
    return Moved(0, "x.py:4", "uniform", "decision", nothing, nothing, nothing, (p * ones,), (q * ones,), ones, nothing)


def binomial(*shifts: Shift, n: int = 40, p: float = 0.2) -> Ledger:
    return Ledger(BinomialNoise(trials=n, probability=p, sensitivity=Sensitivity(replace=shifts)))


def chances(p: float, q: float, *, directed: bool = True, times: int = 1) -> Ledger:
    law = FiniteLaws(pairs=(((p, 1 - p), (q, 1 - q)),), relation=REPLACED, directed=directed)
    return Ledger.of((law, times))


EITHER, RISES, BOTH = binomial(Shift(1, 2)), binomial(Shift(1, 2, UP)), binomial(Shift(1, 1, UP), Shift(1, 1, DOWN))
ONCE = Sensitivity(replace=Shift(1))


@pytest.mark.parametrize(
    ("ledger", "transcripts", "word"),
    [
        (EITHER, [(flips(1), flips(-1))], "CONFORMS"),
        (EITHER, [(flips(1), flips(1), flips(1))], "UNMATCHED"),  # one more than declared
        (EITHER, [(flips(2),)], "UNMATCHED"),  # farther
        (EITHER, [(flips(1, n=41.0),)], "CONFORMS"),  # more flips are noise that is added
        (EITHER, [(flips(1, n=39.0),)], "UNMATCHED"),
        (EITHER, [(flips(1, p=0.25),)], "UNMATCHED"),  # fairer flips are more noise, and no post-processing
        (EITHER, [(flips(1, p=0.5),)], "UNMATCHED"),
        (RISES, [(flips(1), flips(1))], "CONFORMS"),  # all fall: the other order of the pair
        (RISES, [(flips(1), flips(-1))], "UNMATCHED"),
        (RISES, [(flips(1), flips(1, coef=-1.0))], "UNMATCHED"),  # noise that is subtracted goes the other way
        (RISES, [(flips(1), flips(1)), (flips(-1), flips(-1))], "UNMATCHED"),  # one order for all transcripts
        (BOTH, [(flips(1), flips(-1)), (flips(-1), flips(1))], "CONFORMS"),
        (BOTH, [(flips(1), flips(1))], "UNMATCHED"),
        (binomial(Shift(1, 2, UP), p=0.5), [(flips(1, p=0.5), flips(-1, p=0.5))], "CONFORMS"),  # fair flips have none
        (binomial(Shift(1, 1, UP), Shift(1, 1)), [(flips(-1), flips(1))], "CONFORMS"),  # the directed one goes first
        (binomial(Shift(1), Shift(2)), [(flips(2), flips(1))], "CONFORMS"),
        (binomial(Shift(1), Shift(2)), [(flips(1), flips(2))], "CONFORMS"),  # best fit
        (chances(0.7, 0.3), [(coin(0.7, 0.3),)], "CONFORMS"),
        (chances(0.7, 0.3), [(coin(0.3, 0.7),)], "CONFORMS"),  # its other outcome, of either dataset
        (chances(0.7, 0.4), [(coin(0.3, 0.6),)], "CONFORMS"),
        (chances(0.7, 0.4), [(coin(0.4, 0.7),)], "CONFORMS"),  # mirrored
        (chances(0.7, 0.4), [(coin(0.4, 0.7),), (coin(0.7, 0.4),)], "UNDECIDED"),  # not both
        (chances(0.7, 0.4, directed=False), [(coin(0.4, 0.7),), (coin(0.7, 0.4),)], "CONFORMS"),
        (chances(0.7, 0.4), [(coin(0.65, 0.45),)], "CONFORMS"),  # less telling
        (chances(0.7, 0.4), [(coin(0.71, 0.4),)], "UNDECIDED"),
        (chances(0.7, 0.4), [(coin(0.7, 0.4), coin(0.7, 0.4))], "UNDECIDED"),
        (chances(0.7, 0.4, times=2), [(coin(0.7, 0.4), coin(0.7, 0.4))], "CONFORMS"),
        (Ledger(PureStep(eps=1.0, uses=ONCE)), [(coin(0.7, 0.3),)], "CONFORMS"),
        (Ledger(PureStep(eps=0.8, uses=ONCE)), [(coin(0.7, 0.3),)], "UNDECIDED"),
        (Ledger(KaryResponse(k=2, eps=1.0, reports=ONCE)), [(coin(0.7, 0.3),)], "CONFORMS"),
        (Ledger(KaryResponse(k=3, eps=1.0, reports=ONCE)), [(coin(0.7, 0.3),)], "UNDECIDED"),  # other laws
        (Ledger(LaplaceNoise(scale=1.0, sensitivity=ONCE)), [(coin(0.5, 0.4),)], "UNMATCHED"),
        (
            Ledger(LaplaceNoise(scale=1.0, sensitivity=ONCE)),
            [(coin(1 - 1e-9, 1 - 2e-9),)],
            "UNDECIDED",
        ),  # no digits left
    ],
)
def test_flips_and_coins_are_matched_one_by_one(ledger: Ledger, transcripts: Any, word: str) -> None:
    found = conforms(transcripts, ledger, REPLACED)
    assert found.status == word
    if word == "CONFORMS":
        assert found.unmatched_events == ()


def test_what_is_matched_costs_no_more_than_its_event() -> None:
    """By the accountant, on 300 random pairs of events: power 1 against an accepted coordinate that costs more."""
    rng, accepted = np.random.default_rng(5), 0
    for _ in range(300):
        if rng.random() < 0.5:
            n, shift, way = int(rng.integers(5, 12)), int(rng.integers(1, 3)), int(rng.choice([-1, 1]))
            seen = flips(way * shift, n=float(n))
            declared = binomial(Shift(int(rng.integers(1, 3)), 1, UP if rng.random() < 0.5 else None), n=8)
        else:
            p, q, more, less = rng.uniform(0.05, 0.95, 4).round(2).tolist()
            seen, declared = coin(p, q), chances(more, less, directed=bool(rng.random() < 0.5))
        if conforms([(seen,)], declared, REPLACED).status != "CONFORMS":
            continue
        accepted += 1
        own = trace_result.envelope([(seen,)])
        assert own is not None
        for eps in (0.0, 0.2, 1.0, 2.5):
            most = delta_upper(declared, eps=eps, relation=REPLACED)
            assert delta_upper(own, eps=eps, relation=REPLACED) <= most * (1 + 1e-8) + 1e-13
    assert accepted >= 60


class Bits:
    """Each of 40 users sends her bit with probability 3/4: 2^40 paths, no enumeration."""

    def __init__(self, keep: float = 0.75) -> None:
        self.keep = keep

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> np.ndarray:
        return rng.random((size, len(data))) < np.where(data, self.keep, 1 - self.keep)

    @property
    def ledger(self) -> Ledger:
        return Ledger(KaryResponse(k=2, eps=math.log(3), reports=Sensitivity(replace=Shift(1))))


def shuffled(data: Any, *, rng: np.random.Generator, size: int) -> np.ndarray:
    """Three sums of skew bits: two rise, one falls."""
    return np.asarray(data) + rng.binomial(18, 0.3, size=(size, 3))


USERS = [0, 1] * 20
BITS = Pair(USERS, [1, *USERS[1:]])
SUMS = Pair([0, 0, 1], [1, 1, 0])


def test_a_product_of_coins_has_the_account_of_those_that_move() -> None:
    found = trace(Bits(), pair=BITS, transcripts=16)
    assert found.status == "CONFORMS"
    assert found.fixed
    assert found.conformity is not None
    assert found.conformity.unmatched_events == ()
    assert found.eps() == pytest.approx(math.log(3), rel=1e-9)
    assert trace(Bits(0.8), pair=BITS, transcripts=16).status == "DERIVED"  # k-ary laws may come without a coin
    wrong = trace(Bits(0.8), pair=BITS, transcripts=16)
    assert wrong.eps() == pytest.approx(math.log(4), rel=1e-9)
    two = trace(Bits(), pair=Pair(USERS, [1, 0, *USERS[2:]]), transcripts=16)
    assert two.eps() == pytest.approx(2 * math.log(3), rel=1e-9)


@pytest.mark.parametrize("delta", [0.0, 0.02])
def test_products_of_coins_are_what_an_enumeration_finds(delta: float) -> None:
    """Unary encoding of one of four values, two of whose bits move: laws that are not symmetric."""

    def encoded(data: Any, *, rng: np.random.Generator, size: int) -> np.ndarray:
        return rng.random((size, 4)) < np.where(np.arange(4) == data[0], 0.5, 0.2)

    pair = Pair([1], [3])
    law, found = exact(encoded, pair=pair, delta=delta), trace(encoded, pair=pair, transcripts=16)
    assert law.status == "EXACT"
    assert found.status == "DERIVED"
    assert found.fixed
    assert law.eps_lower * (1 - 1e-9) <= found.eps(delta) <= law.eps_upper * (1 + 1e-6) + 1e-9


def test_products_of_binomials_are_what_an_enumeration_finds() -> None:
    """Bin(18, .3) is skew: without directions the account would be another one."""
    found = next(each for seed in range(20) if not (each := trace(shuffled, pair=SUMS, transcripts=8, seed=seed)).bad)
    assert found.fixed
    undirected = replace(
        found,
        ledger=Ledger.of(
            *(
                (replace(event, sensitivity=Sensitivity(replace=Shift(1))), times)
                for event, times in found.ledger.counted
            )
        ),
    )
    for delta in (0.01, 0.05):
        law = exact(shuffled, pair=SUMS, delta=delta)
        assert law.status == "EXACT"
        assert law.eps_lower * (1 - 1e-9) <= found.eps(delta) <= law.eps_upper * (1 + 1e-5)
        assert undirected.eps(delta) > found.eps(delta) * (1 + 1e-3)


def _once(data: Any, rng: np.random.Generator) -> Any:
    """One flip for three users: the second and the third show nothing new, but their outcomes go with the data."""
    u = rng.random()
    return [bool((u < 0.75) == bool(each)) for each in data]


def _borrowed(data: Any, rng: np.random.Generator) -> Any:
    """As many flips as there are ones: the noise tells."""
    return sum(data) + rng.binomial(20 + sum(data), 0.3)


def _chance(data: Any, rng: np.random.Generator) -> Any:
    return rng.binomial(20, 0.3 + 0.01 * sum(data))


def _clipped(data: Any, rng: np.random.Generator) -> Any:
    return np.minimum(sum(data) + rng.binomial(400, 0.3), 125)


def _branch(data: Any, rng: np.random.Generator) -> Any:
    """Moves where a public coin says so, by one or by seven."""
    far = 7 if rng.random() < 0.5 else 1
    return far, far * sum(data) + rng.binomial(400, 0.3)


def _together(data: Any, rng: np.random.Generator) -> Any:
    """The same flips under two sums: their difference is exact."""
    noise = rng.binomial(400, 0.3)
    return sum(data) + noise, 2 * sum(data) + noise


def _later(data: Any, rng: np.random.Generator) -> Any:
    """What the first release was decides how many flips the second one has."""
    first = sum(data) + rng.binomial(400, 0.3)
    return first, sum(data) + rng.binomial(100 if first > 121 else 4000, 0.3)


HONEST = binomial(Shift(1, 1), n=400, p=0.3)
ADVERSARIES: list[tuple[Callable[..., Any], set[str]]] = [
    (_once, {"NOT_TRACED", "CONTRADICTED"}),
    (_borrowed, {"NOT_TRACED", "CONTRADICTED"}),
    (_chance, {"NOT_TRACED", "UNDECIDED"}),
    (_clipped, {"CONFORMS"}),
    (_branch, {"UNDECIDED"}),
    (_together, {"NOT_TRACED", "CONTRADICTED", "DERIVED"}),
    (_later, {"UNDECIDED"}),
]


@pytest.mark.parametrize(("program", "words"), ADVERSARIES, ids=lambda each: getattr(each, "__name__", ""))
def test_draws_that_are_no_such_product_are_not_taken_for_one(program: Callable[..., Any], words: set[str]) -> None:
    def target(data: Any, *, rng: np.random.Generator, size: int) -> Any:
        return [program(data, rng) for _ in range(size)]

    found = trace(target, pair=Pair([0, 1, 1], [1, 1, 1]), ledger=HONEST, transcripts=32)
    assert found.status in words, (found.status, found.reasons)
    if found.status == "DERIVED":  # without a claim an infinite witness is a finding
        assert found.eps() == math.inf
        assert found.eps(1e-3) is None


def test_a_later_draw_that_hangs_on_an_earlier_one_is_charged_both_ways() -> None:
    """The envelope has the flips of either case; its account is at least that of the worse case."""

    def target(data: Any, *, rng: np.random.Generator, size: int) -> Any:
        return [_later(data, rng) for _ in range(size)]

    pair = Pair([0, 1, 1], [1, 1, 1])
    found = trace(target, pair=pair, transcripts=32)
    worse = binomial(Shift(1), n=400, p=0.3) + binomial(Shift(1), n=100, p=0.3)
    if found.fixed:
        most = delta_upper(worse, eps=0.5, relation=REPLACED)
        assert delta_upper(found.ledger, eps=0.5, relation=REPLACED) >= most * (1 - 1e-9)


def test_half_the_flips_under_the_same_ledger_are_contradicted_with_their_line() -> None:
    def half(data: Any, *, rng: np.random.Generator, size: int) -> np.ndarray:
        return sum(data) + rng.binomial(200, 0.3, size=size)

    pair = Pair([0, 1, 1], [1, 1, 1])
    found = trace(half, pair=pair, ledger=HONEST, transcripts=16)
    assert found.status == "UNDECIDED"
    assert "test_tape_products.py:" in found.reasons[0].site
    assert trace(half, pair=pair, ledger=binomial(Shift(1), n=200, p=0.3), transcripts=16).status == "CONFORMS"


def finite_program(seed: int) -> Callable[..., Any]:
    """Coins and binomials whose chances and parts hang on the data and, in half of them, on what came before."""
    r = np.random.default_rng(seed)
    adaptive = r.random() < 0.5
    steps = [
        (
            bool(r.random() < 0.5),
            *r.uniform(0.1, 0.9, 2).round(2).tolist(),
            int(r.integers(3, 9)),
            int(r.integers(-1, 2)),
            int(r.integers(3)),
        )
        for _ in range(int(r.integers(1, 4)))
    ]

    def target(data: Any, *, rng: np.random.Generator, size: int) -> list[Any]:
        return [one(data, rng) for _ in range(size)]

    def one(data: Any, rng: np.random.Generator) -> list[Any]:
        seen: list[Any] = []
        for is_coin, p, q, n, coef, place in steps:
            other = adaptive and bool(seen) and bool(seen[-1] > 1)
            bit = data[place] if not other else 1 - data[place]
            if is_coin:
                seen.append(bool(rng.random() < (p if bit else q)))
            else:
                seen.append(coef * data[place] + rng.binomial(n + (2 if other else 0), p))
        return seen

    return target


def is_derived(seed: int) -> bool:
    """Whether there is an account; asserts that it is not below the enumerated law."""
    target, pair = finite_program(seed), Pair([0, 1, 0], [1, 1, 0] if seed % 2 else [1, 0, 1])
    found = trace(target, pair=pair, transcripts=64, seed=seed)
    if not found.fixed:
        assert found.eps(0.01) is None
        return False
    open_mass = trace_result.failure_mass(64, 0.025)
    for delta in (1e-9, 0.02, 0.2):
        law = exact(target, pair=pair, delta=delta + open_mass)
        assert law.status == "EXACT"
        assert law.eps_lower <= found.eps(delta) * (1 + 1e-9) + 1e-12, seed
    return True


def test_what_is_derived_is_never_below_the_enumerated_law() -> None:
    """delta(eps) <= delta_ledger(eps) + delta_k. A program's statement is false with 5 % at most; as none of them has
    rare paths that 64 transcripts may all miss, none may be. Three of five are derived, so that this can fail.
    """
    assert [is_derived(seed) for seed in (0, 3, 4, 5, 7)] == [False, True, False, True, True]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 6, *range(8, 60)])
def test_more_of_what_is_derived_is_never_below_the_enumerated_law(seed: int) -> None:
    is_derived(seed)
