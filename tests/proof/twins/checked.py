"""Checks of data before they are used: those that the schema decides say nothing, all others show data."""

import math

import numpy as np

rng = np.random.default_rng()


def noisy_total(x):
    return np.sum(x) + rng.laplace(scale=100)


def within_its_bounds(x):
    """vector: real 0..100, rows 5..50; replace; 1; 1.22; b; exact"""
    if np.min(x) < 0 or max(x) > 100:
        raise ValueError("out of bounds")
    return noisy_total(x)


def below_its_upper_bound(x):
    """vector: real 0..100, rows 5..50; replace; inf; 1.22; b"""
    if max(x) >= 100:
        return 0.0
    return noisy_total(x)


def every_value_within(x):
    """list: real 0..100, rows 5..50; replace; 1; 1.22; b; exact"""
    assert all(0 <= v <= 100 for v in x)
    return noisy_total(x)


def no_value_above(x):
    """vector: real 0..100, rows 5..50; replace; 1; 1.22; b; exact"""
    if np.any(x > 100) or np.any(x < 0):
        raise ValueError("out of bounds")
    return noisy_total(x)


def no_value_above_99(x):
    """vector: real 0..100, rows 5..50; replace; inf; 1.22; b"""
    if np.any(x > 99) or np.any(x < 0):
        return 0.0
    return noisy_total(x)


def all_of_the_chosen(x):
    """vector: real 0..100, rows 5..50; replace; 100; 1.22; b; exact"""
    return float(np.all(x[x > 50] > 60)) + rng.laplace(scale=0.01)


def any_of_the_chosen(x):
    """vector: real 0..100, rows 5..50; replace; inf; 1.22; b"""
    if np.any(x[x > 50] > 50):
        return 1.0
    return 0.0


def any_of_none(x):
    """vector: real 0..100, rows 0..50; add-remove; inf; 1.22; b"""
    if np.any(x >= 0):
        return 1.0
    return 0.0


def not_all_below_zero(x):
    """vector: real 1..100, rows 0..50; add-remove; inf; 1.22; b"""
    if np.all(x < 0):
        return 1.0
    return 0.0


def total_is_negative(x):
    """vector: real 0..100, rows 5..50; replace; 1; 1.22; b; exact"""
    if np.sum(x) < 0:
        raise ValueError("negative")
    return noisy_total(x)


def total_is_zero(x):
    """vector: real 0..100, rows 5..50; replace; inf; 1.22; b"""
    if np.sum(x) <= 0:
        return 0.0
    return noisy_total(x)


def finite(x):
    """vector: real 0..100, rows 5..50; replace; 1; 1.22; b; exact"""
    x = np.atleast_1d(np.squeeze(np.asarray(x, dtype=float)))
    if not np.isfinite(x).all() or np.isnan(x).any() or any(math.isinf(v) for v in x):
        raise ValueError("not finite")
    return noisy_total(np.nan_to_num(x))


def finite_ones(x):
    """vector: real 0..100, rows 5..50; replace; 1; 1.22; b; exact"""
    x = np.array(x, copy=True)
    x[~np.isfinite(x)] = 0.0
    return noisy_total(x[np.isfinite(x)])


def written_through_a_view(x):
    """vector: real 0..100, rows 5..50; replace; inf; 1.22; b"""
    y = np.array(x)
    view = y[:]
    y[y > 0] = 0
    return view.sum()


def written_without_a_copy(x):
    """vector: real 0..100, rows 5..50; replace; 1; 1.22; b"""
    y = np.nan_to_num(x, copy=False)
    y[y > 0] = 0
    return noisy_total(x)


def of_numbers(x):
    """vector: real 0..100, rows 5..50; replace; 1; 1.22; b; exact"""
    if x.dtype.kind not in "iuf" or not np.issubdtype(x.dtype, np.number) or np.iscomplexobj(x):
        raise TypeError("no numbers")
    if type(x) is list or not hasattr(x, "__len__"):
        raise TypeError("no array")
    return noisy_total(x)


def type_of_mixed_numbers(x):
    """list: category 0|0.5, rows 5..50; replace; inf; 1.22; b"""
    if np.array(x).dtype == float:
        return 1.0
    return 0.0


def type_of_chosen_numbers(x):
    """list: real 0..100, rows 5..50; replace; inf; 1.22; b"""
    if np.array([v if v > 5 else 0 for v in x]).dtype == float:
        return 1.0
    return 0.0


def is_finite_after_a_quotient(x):
    """vector: real 0..1, rows 5..50; replace; inf; 1.22; b"""
    with np.errstate(all="ignore"):
        if np.isfinite(1 / x).all():
            return 1.0
    return 0.0


def missing_ones(f):
    """frame: a real 0..10 missing, rows 5..50; replace; inf; 1.22; b"""
    if np.isnan(f["a"]).any():
        return 1.0
    return 0.0


def number_of_missing_ones(f):
    """frame: a real 0..10 missing, rows 5..50; replace; 1; 1.22; b; exact"""
    return np.isnan(f["a"]).sum() + rng.laplace(scale=1)
