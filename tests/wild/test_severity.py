"""How bad a refuted claim is: a certain leak says so, a mild one no more than the truth, and the errors add up."""

import math

import numpy as np
import pytest
from scipy import stats

from dpverify.base.rounding import text_above
from dpverify.claims.claim import ApproxDP, PureDP
from dpverify.wild import try_out, trying
from dpverify.wild.record import FieldEvent, FieldWitness, Frequency, lines

pytestmark = pytest.mark.process

NUMBERS = {"data": {"as": "vector", "rows": [3, 4]}, "columns": {"x": {"kind": "real", "low": 0.0, "high": 1.0}}}
COLUMNS = {
    "data": {"as": "array", "rows": [3, 4]},
    "columns": {name: {"kind": "real", "low": 0.0, "high": 1.0} for name in "abc"},
}
LOCAL = {"data": {"as": "value"}, "columns": {"item": {"kind": "category", "values": [0, 1]}}}


def tried(target, schema, claim, **options):
    relation = None if schema is LOCAL else "replace"
    return try_out(target, claim=claim, schema=schema, relation=relation, out_of_domain="off", minutes=5.0, **options)


def one_seed(data, rng):
    return float(data.sum() + np.random.default_rng(7).laplace())


def one_draw(data, rng):
    """Noise for every column, the same in each: their differences are exact, and no column alone says so."""
    return data.sum(axis=0) + rng.laplace()


@pytest.mark.parametrize(("target", "schema"), [(one_seed, NUMBERS), (one_draw, COLUMNS)])
@pytest.mark.parametrize("claim", [PureDP(1.0), ApproxDP(1.0, 1e-5)])
def test_a_certain_leak_is_told_from_a_mild_one(target, schema, claim):
    record = tried(target, schema, claim)
    (found,) = [each for each in record.pairs if each.witness is not None]
    assert (record.verdict, found.verdict) == ("REFUTED", "REFUTED")
    assert found.eps_lower >= 6
    assert record.matrix[0].eps_lower == found.eps_lower
    assert "fresh releases" in found.behind
    assert any(f"eps >= {text_above(found.eps_lower, 1.0)} by {found.behind}" in line for line in lines(record))


def response(eps):
    def release(item, rng):
        return item if rng.random() < 1 / (1 + math.exp(-eps)) else 1 - item

    return release


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_mild_violation_has_a_number_between_the_claim_and_the_truth(seed):
    record = tried(response(1.3), LOCAL, PureDP(1.0), trials=30_000, seed=seed)
    (found,) = [each for each in record.pairs if each.witness is not None]
    assert record.verdict == "REFUTED"
    assert 1.0 < found.eps_lower <= 1.3
    assert found.eps_lower == found.witness.eps(0.0, trying.SEVERITY * 0.05)  # one relation: all of the share
    assert found.behind
    assert float(text_above(found.eps_lower, 1.0)) <= found.eps_lower


def test_the_number_is_never_below_what_the_trials_certify():
    """Few fresh releases say less than the trials did."""
    most = trying.refutation.STATED
    trying.refutation.STATED = (100, 100)
    try:
        record = tried(response(1.3), LOCAL, PureDP(1.0), trials=30_000)
    finally:
        trying.refutation.STATED = most
    (found,) = [each for each in record.pairs if each.witness is not None]
    assert found.eps_lower > 1.0
    assert not found.behind


def test_the_witness_is_on_the_pair_that_fell_where_two_have_one_name():
    def total(data, rng):
        return float(data.sum() + rng.laplace(0.0, 0.25))

    record = tried(total, NUMBERS, PureDP(1.0))
    names = [each.name for each in record.pairs]
    assert len(set(names)) < len(names)
    (found,) = [each for each in record.pairs if each.witness is not None]
    assert found.verdict == "REFUTED"
    assert 2 < found.eps_lower <= 4


@pytest.mark.parametrize("delta", [0.0, 0.01])
def test_the_run_covers_the_truth_at_its_share(delta):
    """Exactly, over all counts: at the truth the number is too large with probability at most the level."""
    less = 0.1
    more = less * math.exp(1.3) + delta

    def error(level):
        ends = (
            [Frequency(k, 200).at(level)[0] for k in range(201)],
            [Frequency(k, 600).at(level)[1] for k in range(601)],
        )
        above = np.asarray(ends[0])[:, None] - delta > math.exp(1.3) * np.asarray(ends[1])[None, :]
        chance = stats.binom.pmf(np.arange(201), 200, more)[:, None] * stats.binom.pmf(np.arange(601), 600, less)
        return float(chance[above].sum())

    assert 0 < error(0.02) <= 0.02
    assert error(0.9) > 0.02  # a level that is not kept would show
    found = FieldWitness(FieldEvent(()), Frequency(150, 200), Frequency(10, 600))
    low, high = Frequency(150, 200).at(0.02)[0], Frequency(10, 600).at(0.02)[1]
    assert found.eps(delta, 0.02) == math.log((low - delta) / high)


def test_races_and_runs_share_one_significance(monkeypatch):
    """Both relations, all pairs of the grid, ever so many random ones, and one run each."""
    monkeypatch.setattr(trying.Trial, "_timed", lambda self: 1e-3)
    schema = trying.as_schema(NUMBERS)
    source = trying.source_of(one_seed, call="auto", arguments=None, encode=None, python="", cwd=None, timeout_s=1.0)
    trial = trying.Trial(source, PureDP(1.0), schema, trying.Options(relation="both"), {}, print, None)
    races = [trial._race(each, at) for at, each in enumerate(trial.inside)]
    assert len(races) == 2
    grid = trial.count * races[0].alpha / 2 / races[0].planned
    random = sum(race.random_share(k) for race in races for k in range(1, 1000))
    runs = len(races) * trying.SEVERITY * 0.05 / len(trial.inside)
    assert 0.049 < grid + random + runs <= 0.05


@pytest.mark.parametrize(
    ("x", "limit", "text"),
    [
        (1.000001, 1.0, "1.000001"),
        (1.0049, 1.0, "1.004"),
        (1.0049, 0.5, "1"),
        (7.029, 1.0, "7.02"),
        (12.0, 1.0, "12"),
        (123.96, 1.0, "123"),
        (2.0 + 2**-50, 2.0, "2.000000000000001"),
        (0.00301, 0.003, "0.00301"),
        (0.5, 1.0, "0.5"),
        (math.inf, 1.0, "inf"),
    ],
)
def test_digits_tell_a_number_from_the_claim_and_round_down(x, limit, text):
    assert text_above(x, limit) == text
