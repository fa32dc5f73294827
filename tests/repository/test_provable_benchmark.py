"""The programs of `benchmarks/provable`: rows are well formed, programs run, and some truths by account."""

import importlib.util
import itertools
import math
from collections import Counter
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import special

from benchmarks.provable.table import PROGRAMS, ROWS
from dpverify import account, GaussianDP
from dpverify.claims.curves import parse_claim
from dpverify.claims.neighbours import Pair, Relation
from dpverify.ledger import dp_sgd
from dpverify.tape.enumeration import exact
from dpverify.wild.datasets import built, wire
from dpverify.wild.local import on_wire
from dpverify.wild.one_line import data_schema
from dpverify.wild.pairs import grid, ordinary, random_pairs
from dpverify.wild.trying import relations

NAMES = [row.name for row in ROWS]
RIGHT = {row.name: row for row in ROWS if row.right}


@cache
def module(path):
    spec = importlib.util.spec_from_file_location(f"provable_{path.stem}", path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def function(row):
    return getattr(module(row.path), row.function)


def row_of(name):
    return next(each for each in ROWS if each.name == name)


def called(row, schema, data):
    return function(row)(*data) if schema.container == "args" else function(row)(data)


def test_names_are_unique_and_there_are_enough():
    assert [name for name, times in Counter(NAMES).items() if times > 1] == []
    assert sum(row.right for row in ROWS) >= 75
    assert sum(not row.right for row in ROWS) >= 75


def test_every_file_of_programs_is_in_the_table():
    assert {path.name for path in PROGRAMS.glob("*.py")} - {"__init__.py"} == {row.file for row in ROWS}


def test_every_wrong_program_names_its_right_twin_and_every_right_one_has_one():
    twins = {row.twin for row in ROWS if not row.right}
    assert twins == set(RIGHT)
    assert all(row.file == RIGHT[row.twin].file for row in ROWS if not row.right)
    assert not any(row.twin for row in RIGHT.values())


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_row(row):
    """Claim, relation and schema parse; a known number is on the right side; the program runs on ordinary data."""
    schema, claim = data_schema(row.data), parse_claim(row.claim)
    assert row.relation in ("replace", "add-remove")
    relation = relations(schema, row.relation)[0]
    assert relation is {"replace": Relation.REPLACE_ONE, "add-remove": Relation.ADD_OR_REMOVE_ONE}[row.relation]
    assert row.reason
    assert row.exact is None or (row.exact <= claim.number * (1 + 1e-9)) is row.right
    rng = np.random.default_rng(NAMES.index(row.name))
    for _ in range(2):
        size = int(rng.integers(schema.rows[0], schema.rows[1] + 1))
        with np.errstate(all="ignore"):
            called(row, schema, built(schema, ordinary(schema, size, rng)))
    pair = next(random_pairs(schema, relation, rng))
    with np.errstate(all="ignore"):
        called(row, schema, built(schema, pair.first))
        called(row, schema, built(schema, pair.second))


# Truths by enumeration: the worst pair of a small domain, all outcomes with their chances.

ZEROS = tuple((0,) for _ in range(5))
ONE = ((1,), *ZEROS[1:])
ENUMERATED = {
    "die": (((True,),), ((False,),)),
    "die_five": (((True,),), ((False,),)),
    "any_cell": (((0,),), ((5,),)),
    "optimized_unary": ((("apple",),), (("date",),)),
    "optimized_unary_high": ((("apple",),), (("date",),)),
    "two_answers": (((0, 0),), ((1, 1),)),
    "two_answers_full": (((0, 0),), ((1, 1),)),
    "sum_of_reports": (ZEROS, ONE),
    "sum_of_reports_sure": (ZEROS, ONE),
    "anybody": (ZEROS, ONE),
    "anybody_or_coin": (ZEROS, ONE),
    "one_vote": (ZEROS, ONE),
    "one_vote_plain": (ZEROS, ONE),
}


@pytest.mark.parametrize("name", ENUMERATED)
def test_enumeration_gives_the_known_number(name):
    row = row_of(name)
    schema = data_schema(row.data)
    target = on_wire(function(row), call="auto", arguments={}, name=name)
    pair = Pair(*(wire(schema, each) for each in ENUMERATED[name]), relation=Relation.REPLACE_ONE, mixed=True)
    law = exact(target, pair=pair, timeout=60.0)
    assert law.eps_lower == pytest.approx(row.exact, abs=1e-9)


# Truths by taking the noise off: where a program adds one Laplace draw to each number that it returns, a pair of
# datasets costs the movements over the scales, and all of it where the scales differ.


class Recorder:
    """Stands for a generator: each draw is the next of `values`, and its scale is kept."""

    def __init__(self, values):
        self.values, self.scales = iter(values), []

    def laplace(self, loc=0.0, scale=1.0, size=None):
        number = 1 if size is None else int(np.prod(size))
        self.scales += [scale] * number
        drawn = loc + np.array([next(self.values) for _ in range(number)])
        return float(drawn[0]) if size is None else drawn.reshape(size)


SHIFTS = math.pi / 3 + math.e / 9 * np.arange(200)


def numbers(out):
    """All numbers of an output in order, and its other parts."""
    if isinstance(out, pd.DataFrame | pd.Series):
        return [float(each) for each in out.to_numpy().ravel()], [list(out.index)]
    if isinstance(out, np.ndarray):
        return [float(each) for each in out.ravel()], [out.shape]
    if isinstance(out, dict | list | tuple):
        parts = [numbers(each) for each in (out.values() if isinstance(out, dict) else out)]
        keys = list(out) if isinstance(out, dict) else [len(out)]
        return [x for part in parts for x in part[0]], keys + [x for part in parts for x in part[1]]
    if isinstance(out, int | float | np.number) and not isinstance(out, bool):
        return [float(out)], []
    return [], [repr(out)]


def bare(row, schema, records, values, monkeypatch):
    recorder = Recorder(values)
    monkeypatch.setattr(np.random, "laplace", recorder.laplace)
    if hasattr(module(row.path), "rng"):
        monkeypatch.setattr(module(row.path), "rng", recorder)
    return *numbers(called(row, schema, built(schema, records))), recorder.scales


def losses(row, monkeypatch):
    """The loss of each pair of the grid; None where the program is no such sum."""
    schema = data_schema(row.data)
    found = []
    for pair in grid(schema, relations(schema, row.relation)[0], np.random.default_rng(1))[:20]:
        released = []
        for records in (pair.first, pair.second):
            plain, rest, scales = bare(row, schema, records, [0.0] * 200, monkeypatch)
            if not scales or len(scales) != len(plain):
                return None
            shifted, same, _ = bare(row, schema, records, SHIFTS, monkeypatch)
            if same != rest or not np.allclose(np.subtract(shifted, plain), SHIFTS[: len(plain)]):
                return None
            released.append((plain, rest, scales))
        (one, rest, scales), (two, same, others) = released
        if rest != same or not np.allclose(scales, others, rtol=1e-12, atol=0):
            found.append(math.inf)
        else:
            moved = np.abs(np.subtract(one, two))
            found.append(float(np.sum(np.divide(moved, scales, out=np.zeros(len(moved)), where=moved > 0))))
    return found


def additive(row):
    """The loss is found for pure claims where one kind of noise is drawn in the ways that the recorder stands for."""
    return row.claim.startswith("pure") and "laplace" in row.path.read_text()


# wrong ones whose pair is too special for the grid
SPECIAL = {"mean_of_rounded", "mean_then_clip", "not_unique", "not_unique_replaced", "centered_total_above"}
SPECIAL |= {"one_in_ten_passes", "redraw_until_positive"}  # noise that is left out or drawn again now and then


def test_movements_over_scales(monkeypatch):
    seen, odd = [], []
    for row in filter(additive, ROWS):
        with monkeypatch.context() as patch, np.errstate(all="ignore"):
            try:
                found = losses(row, patch)
            except (AttributeError, TypeError, StopIteration):  # draws of another kind, or until they please
                continue
        if found is None:
            continue
        seen.append(row.name)
        claim = parse_claim(row.claim).eps
        if max(found) > claim * (1 + 1e-9) if row.right else max(found) <= claim and row.name not in SPECIAL:
            odd.append((row.name, max(found)))
        if row.exact is not None and max(found) > row.exact * (1 + 1e-9):
            odd.append((row.name, max(found)))
    assert odd == [], odd
    assert len(seen) > 80


# Truths by account.

ADDED = {"relation": Relation.ADD_OR_REMOVE_ONE}


def test_accounts_of_gaussian_noise():
    tail = math.sqrt(2 * math.log(1.25e5))
    assert GaussianDP(1 / tail).eps_at(1e-5) == pytest.approx(row_of("classical_sum").exact, abs=1e-3)
    assert GaussianDP(100 / tail).eps_at(1e-5) == pytest.approx(row_of("classical_sum_unit").exact, abs=0.1)
    assert GaussianDP(1.0).eps_at(1e-5) == pytest.approx(row_of("classical_sum_no_delta").exact, abs=1e-3)
    run = dp_sgd(rate=0.1, noise_multiplier=1.0, steps=10)
    assert account(run, delta=1e-5, **ADDED) <= parse_claim(row_of("dp_sgd").claim).eps


def test_one_quiet_step_of_dp_sgd_breaks_its_claim():
    """Mixture against normal at the threshold t: 1 - q + q P(N(1, .2) > t) against P(N(0, .2) > t)."""
    claim = parse_claim(row_of("dp_sgd_quiet").claim)
    t, sigma = 0.9, 0.2
    right = 0.9 * special.ndtr(-t / sigma) + 0.1 * special.ndtr(-(t - 1) / sigma)
    assert right > math.exp(claim.eps) * special.ndtr(-t / sigma) + claim.delta


def test_sampled_laplace():
    for name, rate, inner in (
        ("sampled_sum", 0.1, math.log(1 + math.expm1(1) / 0.1)),
        ("sampled_sum_divided", 0.1, 10.0),
        ("half_sum", 0.5, 1.0),
        ("half_sum_short", 0.5, 2.0),
        ("some_mean", 0.5, 1.0),
    ):
        assert math.log(1 - rate + rate * math.exp(inner)) == pytest.approx(row_of(name).exact)
    assert 50 * math.log1p(math.expm1(1) / 50) > parse_claim(row_of("bootstrap_mean").claim).eps


# Truths by the densities and masses themselves.


def test_redrawn_noise():
    """Noise given that the sum is inside: the largest log ratio over a grid of values and outputs."""

    def log_density(y, v, mass):
        return -abs(y - v) - math.log(2 * mass(v))

    def worst(mass, ends):
        grid = np.linspace(0, 1, 21)
        return max(
            log_density(y, a, mass) - log_density(y, b, mass)
            for a, b in itertools.permutations(grid, 2)
            for y in np.linspace(0, ends, 21)
        )

    inside = worst(lambda v: 1 - (math.exp(-v) + math.exp(v - 1)) / 2, 1.0)
    assert inside == pytest.approx(row_of("redraw_until_inside").exact)
    positive = worst(lambda v: 1 - math.exp(-v) / 2, 5.0)
    assert positive == pytest.approx(row_of("redraw_until_positive").exact)
    assert positive == pytest.approx(row_of("count_redrawn").exact)


def chances_of_permute_and_flip(counts, eps):
    best = max(counts)
    flips = [math.exp(eps * (each - best) / 2) for each in counts]
    found = np.zeros(len(counts))
    orders = list(itertools.permutations(range(len(counts))))
    for order in orders:
        left = 1.0
        for at in order:
            found[at] += left * flips[at] / len(orders)
            left *= 1 - flips[at]
    return found


def chances_of_exponential(counts, eps):
    weights = np.exp(eps * (np.array(counts) - max(counts)) / 2)
    return weights / weights.sum()


@pytest.mark.parametrize(
    ("law", "right", "wrong"),
    [
        (chances_of_permute_and_flip, "permute_and_flip", "exponential_noise_choice_full"),
        (chances_of_exponential, "exponential_choice", "exponential_choice_full"),
    ],
)
def test_choices_over_all_votes(law, right, wrong):
    """All counts of eight votes for three labels, one vote replaced."""
    largest = dict.fromkeys((1.0, 2.0), 0.0)
    for counts in itertools.product(range(9), repeat=3):
        if sum(counts) != 8:
            continue
        for start, end in itertools.permutations(range(3), 2):
            if counts[start]:
                other = [each - (at == start) + (at == end) for at, each in enumerate(counts)]
                for eps in largest:
                    ratio = np.log(law(counts, eps) / law(other, eps))
                    largest[eps] = max(largest[eps], float(np.abs(ratio).max()))
    assert largest[1.0] <= parse_claim(row_of(right).claim).eps * (1 + 1e-9)
    assert largest[2.0] > parse_claim(row_of(wrong).claim).eps


def test_two_largest():
    """Plackett-Luce: the chance of an order of two is that of two exponential mechanisms."""

    def chance(counts, scale):
        weights = np.exp(np.array(counts) / scale)
        return weights[0] / weights.sum() * weights[1] / weights[1:].sum()

    first, second = [0, 0, 50, 0, 0], [1, 0, 49, 0, 0]
    assert abs(math.log(chance(second, 4.0) / chance(first, 4.0))) <= 1
    assert math.log(chance(second, 2.0) / chance(first, 2.0)) == pytest.approx(1.5, abs=0.01)


def test_noisy_maximum_of_two():
    """P(L1 - L2 > t) of two Laplace noises of scale b: e^(-t/b) (1 + t/(2b))/2."""

    def tail(t, b):
        return math.exp(-t / b) * (1 + t / (2 * b)) / 2

    assert math.log(tail(28, 2.0) / tail(30, 2.0)) < parse_claim(row_of("winner").claim).eps
    assert math.log(tail(28, 1.0) / tail(30, 1.0)) == pytest.approx(1.9, abs=0.05)
    assert math.log((1 - tail(5, 2.0)) / tail(5, 2.0)) == pytest.approx(2.29, abs=0.01)


def test_rounded_and_whole_noise():
    """Masses of Laplace noise of scale 1 that is rounded, and of its whole part."""
    rounded = [1 - math.exp(-0.5), *(math.exp(-k) * math.sinh(0.5) for k in range(1, 9))]
    whole = [1 - math.exp(-1), *((math.exp(-k) - math.exp(-k - 1)) / 2 for k in range(1, 9))]
    for masses, name in ((rounded, "rounded_noise_count"), (whole, "whole_parts")):
        largest = max(math.log(a / b) for a, b in itertools.pairwise(masses))
        assert largest == pytest.approx(row_of(name).exact)


def test_statistics_move_as_said():
    """Zeros and one 1: how far variance, deviation and the logarithm of the mean move, over their scales."""
    n = 50
    x = np.zeros(n)
    y = np.append(np.zeros(n - 1), 1.0)
    assert n * (np.var(y) - np.var(x)) == pytest.approx(row_of("variance").exact)
    assert n * (np.std(y) - np.std(x)) == pytest.approx(row_of("deviation").exact)
    moved = np.log((1 + 99 * y).mean()) - np.log((1 + 99 * x).mean())
    assert n * moved / math.log(100) == pytest.approx(row_of("log_of_mean").exact)
    for size in range(5, 9):  # all datasets of a grid, one row replaced
        for rows in itertools.combinations_with_replacement((0.0, 0.3, 1.0), size):
            for new in (0.0, 0.3, 1.0):
                other = (new, *rows[1:])
                assert abs(np.var(rows) - np.var(other)) <= (size - 1) / size**2 + 1e-12
                assert abs(sum(sorted(rows)[2:-2]) - sum(sorted(other)[2:-2])) <= 1 + 1e-12
