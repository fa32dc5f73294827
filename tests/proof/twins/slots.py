"""Slots of arrays of whole numbers, types of reductions, lists with conditions, iterators that are read twice."""

import numpy as np

rng = np.random.default_rng()


def counts_in_slots(x):
    """vector: integer 0..2, rows 5..6; replace; 2; 3 in place; b; exact"""
    found = np.zeros(3, dtype=int)
    for at in range(3):
        found[at] = (x == at).sum()
    return found + rng.laplace(size=3)


def sum_in_a_slot_of_floats(x):
    """vector: real 0..1, rows 5..6; replace; 1; 3 in place; b; exact"""
    found = np.zeros(2)
    found[0] = x.sum()
    return found[0] + rng.laplace()


def noise_in_a_slot_of_whole_numbers(x):
    """vector: real 0..1, rows 6; replace; inf; 3 in place; b"""
    noise = np.zeros(1, dtype=int)
    noise[0] = rng.laplace(scale=5.0)
    return x.sum() + noise


def normal_noise_in_a_slot_of_counts(x):
    """vector: real 0..1, rows 6; replace; inf; 3 in place; b"""
    noise = np.bincount([0])
    noise[0] = rng.normal(scale=5.0)
    return x.sum() + noise


def sum_in_a_slot_of_whole_numbers(x):
    """vector: real 0..0.1, rows 60; replace; 1; 3 in place; b"""
    found = np.full(2, 0)
    found[:] = x.sum()
    return found[:1] + rng.laplace()


def sum_that_is_added_to_a_slot(x):
    """vector: real 0..0.1, rows 60; replace; 1; 3 in place; b"""
    found = np.zeros(2, dtype=int)
    found[0] += x.sum()
    return found[0] + rng.laplace()


def fractions_for_whole_rows(x):
    """vector: integer 0..1, rows 6; replace; 10; 3 in place; b"""
    x[x == 0] = 0.9
    return x.sum() * 10 + rng.laplace()


def sum_in_a_slot_of_truth(x):
    """vector: real 0..0.1, rows 6; replace; 5; 3 in place; b"""
    found = np.zeros(1, dtype=bool)
    found[0] = x.sum()
    return found * 5 + rng.laplace()


def sum_in_a_small_slot(x):
    """vector: integer 0..100, rows 6; replace; 200; 3 in place; b"""
    found = np.zeros(1, dtype=np.int8)
    found[0] = 2
    found += x.sum()
    return found + rng.laplace()


def small_numbers(x):
    """vector: integer 0..5, rows 6; replace; 156; 3 in place; b"""
    chosen = np.where(x > 3, np.uint8(200), np.uint8(100)) + np.uint8(100)
    return chosen.astype(int).sum() + rng.laplace()


def sum_of_truncated_rows(x):
    """vector: real 0.9..1.1, rows 6; replace; 1; 3 in place; b"""
    return np.sum(x, dtype=int) + rng.laplace()


def mean_of_truncated_rows(x):
    """vector: real 0.9..1.1, rows 6; replace; 6; 3 in place; b"""
    return x.mean(dtype=int) * 6 + rng.laplace()


def total_of_truncated_columns(x):
    """frame: x real 0.9..1.1, rows 6; replace; 1; 3 in place; b"""
    return x["x"].to_numpy(dtype=int).sum() + rng.laplace()


def list_under_a_condition(x):
    """list: real 0..3, rows 5..8; replace; 93; 3 in place; b"""
    found = [7]
    for each in x:
        if each > 2:
            found.append(0)
    found[-1] = 100
    return found[0] + rng.laplace()


def last_of_a_list_that_grows(x):
    """list: real 0..3, rows 5..8; replace; 52; 3 in place; b"""
    found = [0]
    for each in x:
        found[-1] += 4 * each
        if each > 2:
            found.append(0)
    return found[0] + rng.laplace()


def list_without_its_last(x):
    """list: real 0..3, rows 5..8; replace; 9; 3 in place; b"""
    found = [0, 9]
    for each in x:
        if each > 2:
            found.append(0)
    found.pop()
    return sum(found) + rng.laplace()


def rest_of_a_generator(x):
    """list: real 0..3, rows 5..8; replace; 14; 3 in place; b"""
    rest = (each for each in x)
    any(each > 2 for each in rest)
    return sum(rest) + rng.laplace()


def rest_of_an_iterator(x):
    """list: real 0..3, rows 5..8; replace; 7; 3 in place; b"""
    rest = iter(x)
    any(each > 2 for each in rest)
    return len(list(rest)) + rng.laplace()


def rest_of_a_map(x):
    """list: real 0..3, rows 5..8; replace; 14; 3 in place; b"""
    rest = map(float, x)
    all(each <= 2 for each in rest)
    return sum(rest) + rng.laplace()


def rest_in_a_function(x):
    """list: real 0..3, rows 5..8; replace; 14; 3 in place; b"""
    return _sum_of_rest(each for each in x) + rng.laplace()


def _sum_of_rest(values):
    any(each > 2 for each in values)
    return sum(values)
