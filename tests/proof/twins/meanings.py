"""What means something else in Python, NumPy or pandas than one may think: shapes, axes, copies, membership."""

import copy
import enum
import heapq
import math
import operator
from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np
from scipy import stats

rng = np.random.default_rng()


# ----------------------------------------------------------------------------------------------------------------------
# Shapes and axes: one draw meets several sums


def total_that_keeps_its_axes(a):
    """array: real 0..1 x 3, rows 5..9; replace; inf; 1.4; b"""
    total = a.sum(keepdims=True)
    return (total * np.array([1.0, 2.0, 3.0])).sum(axis=0) + rng.laplace(scale=100)


def chosen_by_a_plain_condition(x):
    """vector: real 0..10, rows 5..9; replace; inf; 1.4; b"""
    return np.where(np.array([True, False]), x.sum(), 0.0) + rng.laplace(scale=100)


def larger_than_released_ones(x):
    """vector: real 0..10, rows 5..9; replace; inf; 1.4; b"""
    return np.maximum(x.sum(), rng.uniform(0, 50, size=2)) + rng.laplace(scale=100)


def mean_above_five_bars(x):
    """vector: real 0..10, rows 5..50; replace; 10; 1.4; b; exact"""
    return np.maximum(x.mean(), np.array([0.0, 0.1, 0.2, 0.3, 0.4])) + rng.laplace(scale=1, size=5)


def sums_one_after_the_other(a):
    """array: real 0..1 x 3, rows 5..9; replace; inf; 1.4; b"""
    total = a.sum(axis=0, keepdims=True)
    return np.concatenate([total, 2 * total]).sum(axis=0) + rng.laplace(scale=100)


def squeezed_along_one_axis(a):
    """array: real 0..1 x 3, rows 5..9; replace; inf; 1.4; b"""
    total = a.sum(axis=0, keepdims=True)[..., None]
    return np.squeeze(total, axis=0) + rng.laplace(scale=100, size=3)


def differences_of_two_rows(x):
    """vector: real 0..10, rows 5..9; replace; 0.04; 1.4; b"""
    counts, _ = np.histogram(x, bins=[0, 2, 5, 10])
    return np.diff(np.array([counts, counts])).sum() + rng.laplace(scale=100)


def list_of_a_matrix(x):
    """vector: integer 0..3, rows 5..9; replace; inf; 1.4; b"""
    return list(np.bincount(x, minlength=4).reshape(2, 2))[0] + rng.laplace(scale=100)  # noqa: RUF015


def norms_of_released_rows(x):
    """vector: real 0..10, rows 5..9; replace; 0.2; 1.4; b"""
    bounds = rng.uniform(0, 1e-9, size=(2, 2))
    return x.sum() + rng.laplace(scale=np.linalg.norm(bounds, axis=1) + 100)


def guarded_entry_by_entry(a):
    """array: real -5..5 x 4, rows 5..9; replace; 4; 1.9; b"""
    first, last = a[:, :2], a[:, 2:]
    size = np.maximum(np.linalg.norm(first, 1, axis=1, keepdims=True), np.array([0.0, 100.0]))
    scaled = last / np.maximum(np.linalg.norm(last, 1, axis=1, keepdims=True), 1.0)
    return np.where(size > 1, scaled, first).sum(axis=0) + rng.laplace(size=2)


# ----------------------------------------------------------------------------------------------------------------------
# Other functions than one may think


def largest_and_least_column(a):
    """array: real 0..1 x 3, rows 5..9; replace; 1; N3; b; exact"""
    high, low = np.argmax(a, axis=1), np.argmin(a, axis=1)
    return ((high == 0) & (low == 1)).sum() + rng.laplace()


def logarithm_to_a_base(x):
    """vector: real 0..10, rows 5..7; replace; 1.58; 1.20; b"""
    return math.log(x.mean() + 1, 2) + rng.laplace()


def lists_are_joined(x):
    """vector: real 0..10, rows 5..9; replace; inf; 1.4; b"""
    return np.array(operator.add([x.sum()], [-x.sum()])) + rng.laplace(scale=100, size=1)


def product_of_truth_values(x):
    """vector: real 0..10, rows 5..9; replace; 0.01; 1.21; b"""
    return ((x > 5) @ (x > -1)) * 1 + ((x <= 5) @ (x > -1)) * 1 + rng.laplace(scale=100)


def squares_of_truth_values_run_over(x):
    """vector: real 0..10, rows 5..9; replace; 2.46; 1.21; b"""
    return (np.square(x > 5) * 10 + 120).sum() + rng.laplace(scale=100)


def released_and_cut_off(x):
    """vector: real 0..10, rows 5..9; replace; inf; 1.14; b"""
    scale = np.maximum(x.sum() + rng.laplace(scale=100), 0.9)
    return x.sum() + rng.laplace(scale=scale.astype(int))


def released_and_rounded_to_tens(x):
    """vector: real 0..10, rows 5..9; replace; inf; 1.14; b"""
    return x.sum() + rng.laplace(scale=np.round(np.maximum(x.sum() + rng.laplace(scale=100), 4.0), -1))


def frozen_law_with_a_seed(x):
    """vector: integer 0..3, rows 5..9; replace; inf; 1.17; b"""
    return np.bincount(x, minlength=4) + stats.laplace(scale=100).rvs(4, 42)


def columns_are_shuffled(frame):
    """frame: x real 0..1, y real 0..10, rows 6; replace; 5; 1.23; b"""
    both = frame[["x", "y"]].to_numpy().copy()
    rng.shuffle(both, axis=1)
    return both[:, 0].sum() + rng.laplace()


# ----------------------------------------------------------------------------------------------------------------------
# Copies, and what is written in place


def copied_with_what_it_holds(x):
    """vector: real 0..10, rows 5..9; replace; inf; 1.17; b"""
    table = [[x.sum()], [0.0]]
    shown = copy.deepcopy(table)
    shown[0][0] = 0.0
    return table[0][0]


def flattened_into_new_memory(x):
    """vector: real 0..10, rows 5..9; replace; 0.1; 1.17; b; exact"""
    flat = x.flatten()
    flat *= 0.0
    return x.sum() + rng.laplace(scale=100)


def scale_that_is_filled_later(x):
    """vector: real 0..10, rows 5..9; replace; 1e9; 1.14; b"""
    scale = np.full(1, 1000.0)
    scale.fill(rng.uniform(0, 1e-9))
    return x.sum() + rng.laplace(scale=scale[0])


def flat_view_of_what_is_written_later(x):
    """vector: real 0..10, rows 5..9; replace; inf; 1.17; b"""
    total = np.zeros(2)
    view = total.flat
    total += x.sum()
    return list(view)


def mask_of_another_length(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.22; b"""
    y = x.copy()
    y[y > 5] = np.sqrt(x)
    return y.sum() + rng.laplace(scale=10)


# ----------------------------------------------------------------------------------------------------------------------
# Rows, records, frames


def entry_of_a_series(frame):
    """frame: x real 0..10, rows 5..50; replace; inf; 1.12; b"""
    return frame["x"].get(0)


def entries_of_pairs(a):
    """array: real 0..10 x 2, rows 5..50; replace; 1; 1.23; b"""
    total = 0
    for pair in zip(a[:, 0], a[:, 1]):  # noqa: B905
        for value in pair:
            total += value
    return total + rng.laplace(scale=20)


def entries_of_a_row(frame):
    """frame: c category a|b|z, x real 0..10, rows 5..50; replace; 1; 1.12; b"""
    return frame.apply(lambda row: sum(1.0 for v in row if v == "a"), axis=1).sum() + rng.laplace()


def query_with_a_sign_in_a_text(frame):
    """frame: dept category R&D|HR|IT, x real 0..10, rows 5..50; add-remove; 1; 1.12; b; exact"""
    return len(frame.query("dept == 'R&D'")) + rng.laplace()


class City(str, enum.Enum):  # noqa: UP042
    A, B = "a", "b"


def labels_that_are_members(rows):
    """records: age integer 18..90, city category a|b|c, rows 5..50; replace; 1; 1.12; b; exact"""
    return sum(1 for r in rows if r["city"] == City.A) + rng.laplace()


def forgotten_comma(rows):
    """records: age integer 18..90, dept category hr|it|ops, rows 5..50; replace; 1; 1.12; b"""
    return sum(1 for r in rows if r["dept"] in ("hr")) + rng.laplace()


def keys_that_a_loop_makes(rows):
    """records: age integer 18..90, rows 5..50; replace; inf; 1.12; b"""
    found = defaultdict(int)
    for r in rows:
        if r["age"] > 40:
            found["old"] += 1
        else:
            found["young"] += 1
    return {key: count + rng.laplace() for key, count in found.items()}


def number_of_keys_of_a_counter(rows):
    """records: age integer 18..90, rows 5..50; replace; inf; 1.12; b"""
    found = Counter()
    for r in rows:
        if r["age"] > 40:
            found["old"] += 1
    return len(found)


def is_empty(rows):
    """records: age integer 18..90, rows 5..50; replace; inf; 1.22; b"""
    old = []
    for r in rows:
        if r["age"] > 40:
            old.append(r["age"])
    return not old


def kept_by_a_function_and_valued_by_another(rows):
    """records: age integer 18..90, city category a|b|c, rows 5..50; replace; 1; 1.23; b"""

    def is_old(r):
        if r["age"] > 40:
            return True
        return False

    def value(r):
        if r["city"] == "a":
            return 1.0
        return 2.0

    return sum([value(r) for r in rows if is_old(r)]) + rng.laplace(scale=2)


@dataclass
class Result:
    total: object


def text_of_an_object(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.22; b"""
    return str(Result(x.sum()))


def pushed_onto_a_heap(rows):
    """records: age integer 18..90, rows 5..50; replace; inf; 1.23; b"""
    found = []
    for r in rows:
        if r["age"] > 40:
            heapq.heappush(found, 1)
    return len(found)


def iterator_that_a_loop_uses_up(x):
    """vector: real 0..10, rows 5..50; replace; 1000; 1.23; b"""
    weights = iter([1.0, 1.0] + [1000.0] * 100)
    total = 0
    for v in x:
        for weight in weights:
            total += weight * v
            break
    return total + rng.laplace(scale=10)


def flag_of_the_last_row(rows):
    """records: age integer 18..90, rows 5..50; replace; inf; 1.23; b"""
    for r in rows:
        if r["age"] > 40:
            flag = 1
        else:
            flag = 0
    else:
        return flag


class Slotted:
    __slots__ = "total"


def object_with_one_slot(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.22; b"""
    found = Slotted()
    found.total = x.sum()
    return found
