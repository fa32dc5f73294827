"""Truth values: Python adds them up and turns True round to -2, NumPy joins them by `or` and turns them round."""

import numpy as np

rng = np.random.default_rng()


def summed_by_python(x):
    """vector: real 0..3, rows 5; replace; 2; 1.21; b"""
    return sum((x > bar) for bar in (1, 2)).sum() + rng.laplace(scale=1)


def both_of_two(x):
    """vector: real 0..3, rows 5; replace; 5; 1.21; b"""
    large = x > 1
    return 5 * (sum([large, large]) == 2).sum() + rng.laplace(scale=1)


def columns_summed_by_python(a):
    """array: real 0..3 x 3, rows 5; replace; 3; 1.21; b"""
    return sum(a[:, j] > 1 for j in range(3)).sum() + rng.laplace(scale=1)


def joined_by_numpy(x):
    """vector: real 0..3, rows 5; replace; 5; 1.21; b"""
    return 5 * sum(((v > 1) + (v > 1)) == 1 for v in x) + rng.laplace(scale=1)


def added_by_python(a):
    """array: real 0..3 x 2, rows 5; replace; 2; 1.21; b"""
    return sum((row[0] > 1) + (row[1] > 1) for row in a.tolist()) + rng.laplace(scale=1)


def turned_round_by_python(x):
    """list: real 0..3, rows 5; replace; 3; 1.21; b"""
    return sum(v for v in x if ~(v > 1)) + rng.laplace(scale=1)


def turned_round_within_a_product(x):
    """list: real 0..3, rows 5; replace; 6; 1.21; b"""
    return sum(v * ~(v > 1) for v in x) + rng.laplace(scale=1)


def any_and_any(x):
    """vector: real 0..3, rows 5; replace; 5; 1.21; b"""
    return 5 * sum(any([v > 1, v > 2]) + any([v > 1]) == 2 for v in x) + rng.laplace(scale=1)


def all_of_them(x):
    """vector: real 0..3, rows 5; replace; 5; 1.21; b"""
    return 5 * sum(all([v > 1, v > -1]) for v in x) + rng.laplace(scale=1)


def all_of_them_exactly(x):
    """vector: real 0..3, rows 5; replace; 1; 1.21; b; exact"""
    return sum(all([v > 1, v > -1]) for v in x) + rng.laplace(scale=1)


def counts_of_two_bars(x):
    """vector: real 0..3, rows 5; replace; 2; 1.21; b; exact"""
    return sum((x > bar) for bar in (1, 2)).sum() + rng.laplace(scale=1)
