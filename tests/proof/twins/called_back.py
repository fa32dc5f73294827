"""What other functions call back, rare values of rows, and what is read later than it is made."""

import functools
from collections import defaultdict

import numpy as np

rng = np.random.default_rng()


# ----------------------------------------------------------------------------------------------------------------------
# Callbacks


def chosen_in_a_callback(a):
    """array: real 0..1 x 3, rows 5..9; replace; inf; 1.1; b"""
    noisy = rng.laplace()
    if sum(1 for _ in [0] if noisy > 60.0) == 1:
        total = a.sum(keepdims=True)
        return (total * np.array([1.0, 2.0, 3.0])).sum(axis=0) + rng.laplace(scale=100.0)
    return 0


def chosen_by_a_callback_of_map(a):
    """array: real 0..1 x 3, rows 5..9; replace; inf; 1.1; b"""
    noisy = rng.laplace()
    if list(map(lambda value: 1 if noisy > value else 0, [60.0])) == [1]:
        total = a.sum(keepdims=True)
        return (total * np.array([1.0, 2.0, 3.0])).sum(axis=0) + rng.laplace(scale=100.0)
    return 0


def chosen_in_a_callback_and_right(a):
    """array: real 0..1 x 3, rows 5..9; replace; 3; 1.1; b; exact"""
    noisy = rng.laplace()
    if sum(1 for _ in [0] if noisy > 60.0) == 1:
        return a.sum() + rng.laplace(scale=1.0)
    return 0


def _steps(x):
    counts = np.histogram(x, bins=[0, 2, 5, 10])[0]
    return np.diff(np.array([counts, counts])).sum() + rng.laplace(scale=100.0)


def steps_in_a_generator(x):
    """vector: real 0..10, rows 5..50; replace; 0.04; 1.2; b"""
    return sum(_steps(x) for _ in range(1))


def steps_in_map(x):
    """vector: real 0..10, rows 5..50; replace; 0.04; 1.2; b"""
    return next(map(_steps, [x]))


def steps_in_reduce(x):
    """vector: real 0..10, rows 5..50; replace; 0.04; 1.2; b"""
    return functools.reduce(lambda total, _: total + _steps(x), [0], 0)


def _scaled(x):
    lengths = np.linalg.norm(rng.uniform(0, 1e-9, size=(2, 2)), axis=1)
    return (x.sum() + rng.laplace(scale=lengths + 100)).sum()


def one_sum_in_two_draws(x):
    """vector: real 0..10, rows 5..50; replace; 0.2; 1.2; b"""
    return sum(_scaled(x) for _ in range(1))


def _count_above(x, bar):
    return (x > bar).sum() + rng.laplace(scale=2.0)


def counts_in_a_generator(x):
    """vector: real 0..10, rows 5..50; replace; 1; 1.3; b; exact"""
    return sum(_count_above(x, bar) for bar in (2, 5))


def counts_in_map(x):
    """vector: real 0..10, rows 5..50; replace; 1; 1.3; b; exact"""
    return list(map(lambda bar: _count_above(x, bar), (2, 5)))


# ----------------------------------------------------------------------------------------------------------------------
# Exceptions after a branch that the proof has chosen


def lengths_that_differ(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.1; b"""
    if rng.laplace(scale=1.0) < 3.0:
        return 0
    rows = x.copy()
    rows[rows > 5] = np.sqrt(x)
    return rows.sum() + rng.laplace(scale=10.0)


def roots_of_a_noisy_number(x):
    """vector: real 0..10, rows 5..50; replace; 1; 1.1; b; exact"""
    noisy = x.sum() + rng.laplace(scale=10.0)
    if noisy < 0:
        return 0.0
    return noisy**0.5


# ----------------------------------------------------------------------------------------------------------------------
# Rows of one value


def filled_but_for_one_age(rows):
    """records: age integer 18..90, income real 0..1e5, rows 5..50; replace; inf; 1.17; b"""
    ages = []
    for row in rows:
        if row["age"] != 37:
            ages.append(row["age"])
    if not ages:
        return None
    return sum(ages) + rng.laplace(scale=90.0)


def empty_and_something_else(rows):
    """records: age integer 18..90, income real 0..1e5, rows 5..50; replace; inf; 1.17; b"""
    ages = []
    for row in rows:
        if row["age"] != 37:
            ages.append(row["age"])
    return ages and 1


def empty_as_a_tuple(rows):
    """records: age integer 18..90, income real 0..1e5, rows 5..50; replace; inf; 1.17; b"""
    ages = []
    for row in rows:
        if row["age"] != 37:
            ages.append(row["age"])
    return "some" if (*ages,) else "none"


def filled_and_summed(rows):
    """records: age integer 18..90, income real 0..1e5, rows 5..50; replace; 1; 1.17; b; exact"""
    ages = []
    for row in rows:
        if row["age"] != 37:
            ages.append(row["age"])
    return sum(ages) + rng.laplace(scale=90.0)


def keys_of_filled_lists(rows):
    """records: age integer 18..90, income real 0..1e5, rows 5..50; replace; inf; 1.17; b"""
    found = {"a": []}
    for row in rows:
        if row["age"] != 37:
            found["a"].append(row["age"])
    return [key for key in found if not found[key]]


def values_of_one_row(frame):
    """frame: x integer 0..1000, y integer 0..1000, rows 5..50; replace; 1; 1.12; b"""
    return frame.apply(lambda row: sum(1.0 for value in row if value == 500), axis=1).sum() + rng.laplace(scale=2.0)


def named_values_of_one_row(frame):
    """frame: x integer 0..1000, y integer 0..1000, rows 5..50; replace; 1; 1.12; b; exact"""
    hits = frame.apply(lambda row: (row["x"] == 500) * 1 + (row["y"] == 500) * 1, axis=1)
    return hits.sum() + rng.laplace(scale=2.0)


def values_of_a_pair(a):
    """array: integer 0..1000 x 2, rows 5..50; replace; 2; 1.12; b"""
    total = 0.0
    for pair in zip(a[:, 0], a[:, 1], strict=True):
        for value in pair:
            if value == 500:
                total += 1.0
    return total + rng.laplace(scale=1.0)


def a_value_in_a_pair(a):
    """array: integer 0..1000 x 2, rows 5..50; replace; 1; 1.12; b"""
    return sum(1 for pair in zip(a[:, 0], a[:, 1], strict=True) if 500 in pair) + rng.laplace(scale=1.0)


def parts_of_a_pair(a):
    """array: integer 0..1000 x 2, rows 5..50; replace; 2; 1.12; b; exact"""
    pairs = list(zip(a[:, 0], a[:, 1], strict=True))
    return sum((pair[0] == 500) * 1 + (pair[1] == 500) * 1 for pair in pairs) + rng.laplace(scale=1.0)


def written_where_one_value_is_not(x):
    """vector: integer 0..1000, rows 5..50; replace; inf; 1.17; b"""
    rows = x * 1.0
    rows[rows != 500] = np.sqrt(x)
    return rows.sum() + rng.laplace(scale=1000.0)


def after_the_last_row(rows):
    """records: age integer 18..90, income real 0..1e5, rows 5..50; replace; inf; 1.17; b"""
    for row in rows:
        if row["age"] != 37:
            flag = 1
        else:
            flag = 0
    else:
        return flag


def grouped_before_a_change(frame):
    """frame: c category a|b|z, x integer 0..1000, rows 5..50; replace; 1000; 1.12; b"""
    groups = frame.groupby("c")
    frame["x"] = frame["x"] + (frame["x"] == 500) * 1000000
    return groups["x"].sum().reindex(["a", "b", "z"], fill_value=0).to_numpy() + rng.laplace(scale=1000.0, size=3)


def grouped_after_a_change(frame):
    """frame: c category a|b|z, x integer 0..1000, rows 5..50; replace; 2; 1.12; b; exact"""
    frame["x"] = frame["x"] * 2
    groups = frame.groupby("c")
    return groups["x"].sum().reindex(["a", "b", "z"], fill_value=0).to_numpy() + rng.laplace(scale=2000.0, size=3)


# ----------------------------------------------------------------------------------------------------------------------
# Read later than it is made


def pairs_of_a_list_that_changes(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.2; b"""
    scale = np.maximum(rng.laplace(scale=100.0), 1.0)
    noisy = [x.sum() + rng.laplace(scale=scale), x.sum() + rng.laplace(scale=scale)]
    pairs = zip(noisy, "ab", strict=True)
    noisy[0] = x.sum()
    return [value for value, _ in pairs]


def numbers_of_a_list_that_changes(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.2; b"""
    noisy = [x.sum() + (rng.laplace(scale=10.0) + 0.5), 3.0]
    numbered = enumerate(noisy)
    noisy[0] = x.sum()
    return [value for _, value in numbered]


def a_list_that_changes_in_its_loop(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.2; b"""
    noisy = [x.sum() + (rng.laplace(scale=10.0) + 0.5), x.sum() + (rng.laplace(scale=10.0) + 0.5)]
    out = []
    for _, value in enumerate(noisy):
        noisy[1] = x.sum()
        out.append(value)
    return out


def numbers_of_a_list(x):
    """vector: real 0..10, rows 5..50; replace; 2; 1.2; b; exact"""
    noisy = [x.sum() + rng.laplace(scale=10.0), x.sum() + rng.laplace(scale=10.0)]
    return {name: value for name, value in zip("ab", noisy, strict=True)}


def two_names_of_a_dict(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.2; b"""
    scale = np.maximum(rng.laplace(scale=100.0), 1.0)
    noisy = {"k": x.sum() + rng.laplace(scale=scale)}
    other = noisy
    noisy |= {"k": x.sum()}
    return other


def a_view_of_draws(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.2; b"""
    draws = rng.laplace(scale=10.0, size=2)
    view = draws.view()
    draws[0] = x.sum()
    return view


def more_axes_of_draws(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.2; b"""
    draws = rng.laplace(scale=10.0, size=2) + 1.0
    table = np.atleast_2d(draws)
    draws[0] = x.sum()
    return table


def real_parts_of_noisy_numbers(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.2; b"""
    noisy = x.sum() + rng.laplace(scale=10.0, size=2)
    real = np.real(noisy)
    noisy[0] = x.sum()
    return real


def missing_keys(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.21; b"""
    return defaultdict(lambda: x.sum())
