"""Classes of false claims that were once CERTIFIED, and honest programs that look like them.

Each class has false programs, which may not be CERTIFIED, and honest ones, which may not be REFUTED; the word that each
gets today is written beside it. Trials are few: what is tested is the word, not the power of the trials.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpverify import certify, Pair, Records, Relation, Subject
from dpverify.claims.curves import parse_claim
from dpverify.errors import NeighbourError
from dpverify.ledger import GaussianNoise, LaplaceNoise, Ledger, Sensitivity
from dpverify.ledger.compound_events import AboveThreshold, BoundedRange, PoissonSampled, Selected
from dpverify.ledger.events import KaryResponse, PureStep, Shift

BIT = Pair(0.0, 1.0)
ONE = Sensitivity(replace=1.0, add_remove=1.0)
STEP = Ledger(PureStep(eps=1.0, uses=ONE))


def laplace(scale: float = 1.0, count: int = 1) -> Ledger:
    return Ledger(LaplaceNoise(scale=scale, sensitivity=Sensitivity(replace=Shift(1.0, count))))


@dataclass(frozen=True)
class Case:
    """A release, its claim and ledger, a pair, and the words that are right for it."""

    release: Callable[..., Any]
    words: str
    claim: str = "pure:1"
    ledger: Ledger | None = None
    pair: Pair = BIT


CASES: dict[str, Case] = {}


def case(words: str, *, looped: bool = True, labelled: bool = False, **more: Any) -> Callable[..., Any]:
    """Registers a release: of one trial a call, or of `size` trials where it is not `looped`."""

    def registered(once: Callable[..., Any]) -> Callable[..., Any]:
        def release(data: Any, *, rng: Any, size: int) -> Any:
            return np.array([once(data, rng) for _ in range(size)])

        def listed(data: Any, *, rng: Any, size: int) -> Any:
            return [once(data, rng) for _ in range(size)]

        def vectorised(data: Any, *, rng: Any, size: int) -> Any:
            return once(data, rng, size)

        CASES[once.__name__] = Case(listed if labelled else release if looped else vectorised, words, **more)
        return once

    return registered


def word(each: Case) -> str:
    claim = parse_claim(each.claim)
    relation = each.pair.relation or Relation.REPLACE_ONE
    claim = replace(claim, relation=relation)
    subject = Subject(name="x", target=each.release, claim=claim, pairs=(each.pair,), ledger=each.ledger)
    return certify(subject, claim=claim, trials=1000, seed=3).headline


# ----------------------------------------------------------------------------------------------------------------------
# All draws are finite: the law is enumerated, whatever the ledger says.


@case("REFUTED", ledger=STEP)
def coin_of_one_in_a_million(d, rng):
    return rng.random() < (1e-6 if d else 0.0)


@case("REFUTED", ledger=Ledger(BoundedRange(eps=1.0, uses=ONE)), pair=Pair([9, 0, 0, 0], [8, 1, 1, 1]))
def exponential_mechanism_without_the_half(d, rng):
    weights = np.exp(np.array(d, dtype=float))
    return rng.choice(4, p=weights / weights.sum())


@case("REFUTED", ledger=Ledger(KaryResponse(eps=1.0, k=2, reports=ONE)))
def response_of_eps_two(d, rng):
    return d if rng.random() < np.exp(2) / (1 + np.exp(2)) else 1 - d


@case("REFUTED", ledger=STEP)
def rare_integer(d, rng):
    return float(rng.integers(1000) == 0) * d


@case("REFUTED", ledger=STEP)
def skewed_choice(d, rng):
    return rng.choice(3, p=[0.7, 0.2, 0.1] if d else [0.1, 0.2, 0.7])


@case("CERTIFIED (code conforms)", ledger=Ledger(BoundedRange(eps=1.0, uses=ONE)), pair=Pair([2, 0], [1, 1]))
def exponential_mechanism(d, rng):
    weights = np.exp(np.array(d, dtype=float) / 2)
    return rng.choice(2, p=weights / weights.sum())


@case("CERTIFIED (code conforms)", ledger=Ledger(KaryResponse(eps=1.0, k=2, reports=ONE)))
def response_of_eps_one(d, rng):
    return d if rng.random() < np.e / (1 + np.e) else 1 - d


@case("CERTIFIED (code conforms)", ledger=STEP)
def coin_of_two_chances(d, rng):
    return rng.random() < (0.4 if d else 0.5)


@case("CERTIFIED (code conforms)", ledger=STEP)
def response_by_integers(d, rng):
    return d if rng.integers(10) < 7 else 1 - d


@case("CERTIFIED (code conforms)", ledger=Ledger(KaryResponse(eps=1.0, k=3, reports=ONE)))
def response_of_three(d, rng):
    stay = np.e / (np.e + 2)
    return rng.choice(3, p=[stay if each == d else (1 - stay) / 2 for each in range(3)])


# ----------------------------------------------------------------------------------------------------------------------
# The code's own number on the pair is above the claim, or a theorem's random numbers are not drawn.

SPARSE = Ledger(AboveThreshold(threshold_scale=2.0, query_scale=4.0, sensitivity=ONE))
SIX = Pair([0] * 6, [1] * 6)
BEST = Ledger(Selected(run=laplace(1.25), gamma=0.1))


@case("OPEN", ledger=STEP, pair=Pair([1, 0, 0], [0, 1, 1]))
def largest_and_its_place(d, rng):
    noisy = np.array(d) + rng.laplace(scale=2.0, size=3)
    return [np.argmax(noisy), noisy.max()]


@case("OPEN", ledger=SPARSE, pair=SIX)
def sparse_vector_without_threshold_noise(d, rng):
    above = [x + rng.laplace(scale=4.0) > 1.0 for x in d]
    return [float(each) for each in above]


@case("OPEN", ledger=SPARSE, pair=SIX)
def sparse_vector_with_the_compared_value(d, rng):
    threshold = 0.5 + rng.laplace(scale=2.0)
    for x in d:
        noisy = x + rng.laplace(scale=4.0)
        if noisy > threshold:
            return noisy
    return -1e9


@case("OPEN", ledger=BEST, claim="pure:2.5")
def best_of_ten(d, rng):
    return max(d + rng.laplace() for _ in range(10))


@case("OPEN", ledger=BEST, claim="pure:2.5")
def best_of_three_with_other_noise(d, rng):
    return max(d + rng.laplace(scale=0.5) for _ in range(3))


USERS = Pair(Records([1, 1]), Records([1, 1, 1]), relation=Relation.ADD_OR_REMOVE_ONE)
TENTH = Ledger(PoissonSampled(rate=0.1, inside=Ledger(LaplaceNoise(scale=1.0, sensitivity=ONE))))


@case("OPEN", ledger=TENTH, claim="pure:0.2", pair=USERS)
def sample_of_half(d, rng):
    return sum(x for x in d.rows if rng.random() < 0.5) + rng.laplace()


@case("ACCOUNTED (author's theorem)", ledger=TENTH, claim="pure:0.2", pair=USERS)
def sample_of_a_tenth(d, rng):
    return sum(x for x in d.rows if rng.random() < 0.1) + rng.laplace()


@case("CERTIFIED (code conforms)", ledger=SPARSE, pair=SIX)
def sparse_vector(d, rng):
    threshold, found = 0.5 + rng.laplace(scale=2.0), []
    for x in d:
        found.append(float(x + rng.laplace(scale=4.0) > threshold))
        if found[-1]:
            break
    return found + [2.0] * (6 - len(found))


@case("ACCOUNTED (author's theorem)", ledger=Ledger(Selected(run=laplace(1.25), gamma=0.1)), claim="pure:2.5")
def best_of_a_random_number(d, rng):
    return max(d + rng.laplace(scale=1.25) for _ in range(rng.geometric(0.1)))


@case("ACCOUNTED (author's theorem)", ledger=TENTH, claim="pure:0.2", pair=USERS)
def sample_by_binomials(d, rng):
    return sum(x for x in d.rows if rng.binomial(1, 0.1)) + rng.laplace()


@case("CERTIFIED (code conforms)", looped=False, ledger=SPARSE, pair=Pair([0.0], [1.0]))
def one_comparison(d, rng, size):
    threshold = rng.laplace(scale=2.0, size=size)
    return (d[0] + rng.laplace(scale=4.0, size=size) > threshold).astype(float)


# ----------------------------------------------------------------------------------------------------------------------
# What the tape sees in a run that it follows is held against the ledger.


@case("OPEN", ledger=laplace())
def another_law_on_the_neighbour(d, rng):
    return rng.laplace() if d == 0 else d + rng.normal()


@case("OPEN", ledger=laplace(), pair=Pair(0.0, 1e-7))
def noise_on_a_grid(d, rng):
    return d + np.round(rng.laplace(), 6)


@case("OPEN", ledger=laplace(1.0, 2), claim="pure:2", pair=Pair([0, 1], [0, 2]))
def keys_that_are_present(d, rng):
    found = np.zeros(3)
    for key in set(d):
        count = d.count(key) + rng.laplace()
        found[key] = count if count > 5 else 0
    return found


@case("ACCOUNTED (author's ledger)", ledger=laplace())
def noise_of_single_precision(d, rng):
    return d + np.float32(rng.laplace())


@case("OPEN", ledger=laplace())
def one_more_draw(d, rng):
    return d + (rng.laplace() if d == 0 else rng.laplace() + 0 * rng.laplace())


@case("CERTIFIED (code conforms)", ledger=laplace(1.0, 2), claim="pure:2", pair=Pair([0, 1], [0, 2]))
def counts_in_a_loop(d, rng):
    found = np.zeros(3)
    for key in range(3):
        found[key] = d.count(key) + rng.laplace()
    return found


@case("CERTIFIED (code conforms)", ledger=laplace())
def another_law_for_a_public_number(d, rng):
    return [d + rng.laplace(), rng.normal()]


@case("CERTIFIED (code conforms)", ledger=laplace())
def draws_that_are_not_used(d, rng):
    rng.normal(size=3)
    return d + rng.laplace()


# ----------------------------------------------------------------------------------------------------------------------
# Noise that is used twice: it hides the released value, and something else is done with it.

THOUSAND = {"ledger": laplace(1000.0), "claim": "pure:0.001"}


@case("OPEN or REFUTED", **THOUSAND)
def sign_of_the_noise(d, rng):
    noise = rng.laplace(scale=1000.0)
    return [d + noise, noise > 0]


@case("OPEN or REFUTED", looped=False, **THOUSAND)
def digitized_noise(d, rng, size):
    noise = rng.laplace(scale=1000.0, size=size)
    return np.stack([d + noise, np.digitize(noise, [-100, 0, 100])], axis=1)


@case("OPEN or REFUTED", **THOUSAND)
def floor_of_the_noise(d, rng):
    noise = rng.laplace(scale=1000.0)
    return [d + noise, np.floor(noise / 10)]


@case("OPEN or REFUTED", **THOUSAND)
def whole_part_of_the_noise(d, rng):
    noise = rng.laplace(scale=1000.0)
    return [d + noise, int(noise)]


@case("OPEN or REFUTED", **THOUSAND)
def order_of_the_noise(d, rng):
    noise = rng.laplace(scale=1000.0, size=2)
    return [d + noise[0], np.argsort(noise)[0]]


@case("OPEN or REFUTED", **THOUSAND)
def text_of_the_noise(d, rng):
    noise = rng.laplace(scale=1000.0)
    return [d + noise, len(str(abs(noise)).split(".")[0])]


@case("OPEN or REFUTED", **THOUSAND)
def sign_of_used_noise(d, rng):
    noise = rng.laplace(scale=1000.0)
    released = float(d + noise)
    return [released, noise > 0]


@case("OPEN or REFUTED", **THOUSAND)
def size_of_the_error(d, rng):
    noise = rng.laplace(scale=1000.0)
    return [d + noise, np.ceil(abs(noise) / 500)]


@case("CERTIFIED (code conforms)", **THOUSAND)
def sign_of_the_result(d, rng):
    released = d + rng.laplace(scale=1000.0)
    return [released, released > 0]


@case("CERTIFIED (code conforms)", **THOUSAND)
def floor_of_the_result(d, rng):
    released = d + rng.laplace(scale=1000.0)
    return [released, np.floor(released / 10)]


@case("ACCOUNTED (author's ledger)", **THOUSAND)
def text_of_the_result(d, rng):
    released = d + rng.laplace(scale=1000.0)
    return [released, len(str(abs(released)).split(".")[0])]


@case("CERTIFIED (code conforms)", **THOUSAND)
def sign_of_other_noise(d, rng):
    return [d + rng.laplace(scale=1000.0), rng.laplace() > 0]


@case("ACCOUNTED (author's ledger)", looped=False, ledger=laplace(), pair=Pair(np.zeros(3), np.array([1.0, 0, 0])))
def linear_mixture_of_noise(d, rng, size):
    mixed = np.array([[1.0, 0, 0], [1, 1, 0], [1, 1, 1]])
    return d @ mixed.T + rng.laplace(size=(size, 3)) @ mixed.T


@case("CERTIFIED (code conforms)", ledger=laplace(1.0, 2), claim="pure:2", pair=Pair([0, 1], [0, 2]))
def all_keys(d, rng):
    return [d.count(key) + rng.laplace() for key in range(3)]


@case("CERTIFIED (code conforms)", ledger=laplace())
def result_on_a_grid(d, rng):
    return np.round(d + rng.laplace(), 6)


# ----------------------------------------------------------------------------------------------------------------------
# A decision on noise of which one side is rare.


@case("OPEN", ledger=laplace())
def rare_coin_releases_the_data(d, rng):
    return d if rng.random() < 1e-4 else d + rng.laplace()


@case("OPEN", ledger=laplace())
def rare_integer_releases_the_data(d, rng):
    return d if rng.integers(100_000) == 7 else d + rng.laplace()


@case("OPEN", looped=False, ledger=laplace())
def rare_mask_releases_the_data(d, rng, size):
    return np.where(rng.random(size) < 1e-5, d, d + rng.laplace(size=size))


@case("OPEN or REFUTED", ledger=laplace(count=2), claim="pure:2")
def high_answer_triples_the_next(d, rng):
    first = d + rng.laplace()
    return [first, (3 * d if first > 9 else d) + rng.laplace()]


@case("OPEN or REFUTED", ledger=laplace(count=2), claim="pure:2")
def high_number_triples_the_next(d, rng):
    first = float(d + rng.laplace())
    return [first, (3 * d if first > 14 else d) + rng.laplace()]


@case("OPEN", looped=False, ledger=laplace(), pair=Pair(2.0, 3.0))
def noise_is_cut_at_twelve(d, rng, size):
    return d + np.minimum(rng.laplace(size=size), 12.0)


@case("OPEN", looped=False, ledger=laplace(), pair=Pair(2.0, 3.0))
def noise_is_clipped(d, rng, size):
    return d + np.clip(rng.laplace(size=size), -15.0, 15.0)


@case("OPEN or REFUTED", ledger=laplace())
def far_noise_is_left_out(d, rng):
    noise = rng.laplace()
    return d + (noise if abs(noise) < 20 else 0)


@case("OPEN or REFUTED", ledger=laplace())
def decision_after_a_decision(d, rng):
    first = d + rng.laplace()
    if first > 8 and rng.random() < 0.01:
        return d
    return first


@case("OPEN", looped=False, ledger=laplace())
def result_is_compared_with_data(d, rng, size):
    released = d + rng.laplace(size=size)
    return np.stack([released, released > 13 + d], axis=1)


@case("OPEN", looped=False, ledger=laplace(), pair=USERS)
def result_is_compared_with_the_number_of_rows(d, rng, size):
    released = sum(d.rows) + rng.laplace(size=size)
    return np.where(released > len(d) + 8, np.nan, released)


@case("OPEN", looped=False, ledger=laplace())
def narrow_window_releases_the_data(d, rng, size):
    released = d + rng.laplace(size=size)
    return np.stack([released, np.where((released > 0.5) & (released < 0.5 + 1e-7), d, 0.0)], axis=1)


@case("OPEN", looped=False, ledger=laplace())
def narrow_window_of_a_coin(d, rng, size):
    coin = rng.random(size)
    return np.stack([d + rng.laplace(size=size), np.where((coin > 0.5) & (coin < 0.5 + 1e-7), d, 0.0)], axis=1)


@case("OPEN", looped=False, ledger=laplace())
def two_rare_integers(d, rng, size):
    both = (rng.integers(0, 1000, size) == 0) & (rng.integers(0, 1000, size) == 0)
    return np.stack([d + rng.laplace(size=size), both * d], axis=1)


@case("ACCOUNTED (author's ledger)", looped=False, ledger=laplace())
def near_a_number(d, rng, size):
    released = d + rng.laplace(size=size)
    return np.where(np.abs(released - 0.5) < 1e-8, 10 + d, released)


@case("ACCOUNTED (author's ledger)", looped=False, ledger=laplace())
def rare_choice_beside(d, rng, size):
    kind = rng.choice(3, size=size, p=[0.5, 0.5 - 1e-6, 1e-6])
    return np.stack([d + rng.laplace(size=size), np.array([0, 0, d])[kind]], axis=1)


@case("ACCOUNTED (author's ledger)", looped=False, ledger=laplace())
def clock_releases_the_data(d, rng, size):
    return d if time.time_ns() % 100_000 == 7 else d + rng.laplace(size=size)


@case("CERTIFIED (code conforms)", ledger=laplace(2.0, 2), claim="pure:1", pair=Pair([1.0, 2.0], [1.0, 3.0]))
def data_are_compared_with_a_result(d, rng):
    middle = sum(each > 2.5 for each in d) + rng.laplace(scale=2.0)
    return [middle, sum(each > middle for each in d) + rng.laplace(scale=2.0)]


@case("CERTIFIED (code conforms)", ledger=laplace())
def result_is_cut(d, rng):
    return min(max(d + rng.laplace(), -12.0), 12.0)


@case("CERTIFIED (code conforms)", ledger=laplace())
def small_results_are_left_out(d, rng):
    released = d + rng.laplace()
    return released if released > 8 else 0.0


@case("CERTIFIED (code conforms)", ledger=laplace(count=2), claim="pure:2")
def high_answer_stops(d, rng):
    first = d + rng.laplace()
    return [first, d + rng.laplace() if first < 9 else 0.0]


@case("ACCOUNTED (author's ledger)", ledger=laplace(count=2), claim="pure:2")
def high_number_stops(d, rng):
    first = float(d + rng.laplace())
    return [first, float(d + rng.laplace()) if first < 9 else 0.0]


@case("CERTIFIED (code conforms)", ledger=laplace())
def rare_coin_releases_nothing(d, rng):
    return 0.0 if rng.random() < 1e-4 else d + rng.laplace()


@case("CERTIFIED (code conforms)", looped=False, ledger=laplace())
def clipped_results(d, rng, size):
    return np.clip(d + rng.laplace(size=size), -9.0, 9.0)


# ----------------------------------------------------------------------------------------------------------------------
# A law that depends on `size`: trials of a call judge another law than that of one release.


@case("INVALID", looped=False)
def narrow_where_many(d, rng, size):
    return d + rng.laplace(scale=1.0 if size == 1 else 1 / 3, size=size)


@case("INVALID", looped=False)
def divided_by_root(d, rng, size):
    return d + rng.laplace(scale=1 / np.sqrt(size), size=size)


@case("INVALID", looped=False)
def nothing_where_many(d, rng, size):
    return np.full(size, d) + (rng.laplace(size=size) if size < 5 else 1e-3 * rng.laplace(size=size))


@case("INVALID", looped=False)
def shared_by_rows(d, rng, size):
    return d + rng.laplace(scale=1 / max(1.0, np.log(size)), size=size)


@case("INVALID", looped=False)
def last_rows_are_narrow(d, rng, size):
    return d + rng.laplace(size=size) * np.where(np.arange(size) < 1, 1.0, 0.2)


@case("OPEN", looped=False)
def blocks_of_rows(d, rng, size):
    return d + np.concatenate([rng.laplace(size=min(7, size - at)) for at in range(0, size, 7)])


@case("OPEN", looped=False)
def rows_by_columns(d, rng, size):
    return d + rng.laplace(size=(1, size)).T[:, 0]


@case("OPEN", looped=False)
def scale_in_an_array(d, rng, size):
    return d + rng.laplace(scale=np.ones(size))


@case("OPEN")
def one_row_after_another(d, rng):
    return d + rng.laplace()


@case("OPEN", looped=False)
def more_than_is_asked(d, rng, size):
    return (d + rng.laplace(size=2 * size))[:size]


# ----------------------------------------------------------------------------------------------------------------------
# What is released is more than its numbers.


@case("INVALID", labelled=True, ledger=laplace())
def index_of_a_series(d, rng):
    return pd.Series([d + rng.laplace()], index=[f"row {d:g}"])


@case("INVALID", labelled=True, ledger=laplace())
def name_of_a_series(d, rng):
    return pd.Series([d + rng.laplace()], name=str(d))


@case("INVALID", labelled=True, ledger=laplace())
def columns_of_a_frame(d, rng):
    return pd.DataFrame({f"mean of {d:g}": [d + rng.laplace()]})


@case("INVALID", looped=False, ledger=laplace())
def index_of_all_rows(d, rng, size):
    return pd.Series(d + rng.laplace(size=size), index=np.arange(size) + d)


@case("INVALID", looped=False, ledger=laplace())
def columns_of_all_rows(d, rng, size):
    return pd.DataFrame({str(d): d + rng.laplace(size=size)})


@case("ACCOUNTED (author's ledger)", looped=False, ledger=laplace())
def numbers_of_a_series(d, rng, size):
    return pd.Series(d + rng.laplace(size=size), index=np.arange(size)).to_numpy()


@case("CERTIFIED (code conforms)", ledger=laplace())
def value_of_a_series(d, rng):
    return pd.Series([d + rng.laplace()]).iloc[0]


@case("CERTIFIED (code conforms)", ledger=laplace(), pair=Pair([0.0, 2.0], [1.0, 2.0]))
def sum_of_a_column(d, rng):
    return pd.DataFrame({"x": d})["x"].sum() + rng.laplace()


@case(
    "CERTIFIED (code conforms)",
    looped=False,
    ledger=Ledger(GaussianNoise(sigma=1.0, sensitivity=ONE)),
    claim="zcdp:0.5",
)
def noise_into_a_buffer(d, rng, size):
    noise = np.empty(size)
    rng.standard_normal(out=noise)
    return d + noise


@case("REFUTED", looped=False, claim="pure:1")
def complex_numbers(d, rng, size):
    return 1j * (2 * d + rng.laplace(size=size))


@case("CERTIFIED (code conforms)", ledger=laplace())
def list_of_numbers(d, rng):
    return [d + rng.laplace(), 3.0]


@case("CERTIFIED (code conforms)", ledger=laplace())
def tuple_of_numbers(d, rng):
    return (d + rng.laplace(), 3.0)


@pytest.mark.parametrize("name", CASES)
def test_no_false_claim_is_certified_and_no_true_one_refuted(name):
    assert word(CASES[name]) in CASES[name].words.split(" or ")


@pytest.mark.parametrize(
    "pair",
    [
        Pair(0.0, 0.0),
        Pair([1, 2], [1, 2]),
        Pair(np.arange(3.0), np.arange(3.0)),
        Pair({"a": np.zeros(2)}, {"a": np.zeros(2)}),
        Pair(Records([0]), Records([0])),
    ],
)
def test_equal_datasets_are_no_pair(pair):
    with pytest.raises(NeighbourError, match="both datasets are equal"):
        word(Case(lambda data, *, rng, size: rng.laplace(size=size), "", pair=pair))


def test_nothing_conforms_where_no_draw_moves():
    """The pair differs in a field that the code does not read: the ledger is the author's word."""

    def reads_the_first(data, *, rng, size):
        return 100 * data[0] + rng.laplace(size=size)

    assert word(Case(reads_the_first, "", ledger=laplace(), pair=Pair([0, 0], [0, 1]))) == "ACCOUNTED (author's ledger)"


def test_a_law_of_large_calls_alone_refutes_nothing():
    """Less noise in calls of more than a hundred: the first few releases do not tell, and the tape cannot follow."""

    def narrow(data, *, rng, size):
        drawn = np.random.Generator(rng.bit_generator).laplace(scale=0.4 if size > 100 else 1.0, size=size)
        return data + drawn

    assert word(Case(narrow, "")) == "INVALID"
