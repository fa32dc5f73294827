"""A public value that is read at a place, or asked for a value, that depends on the data."""

import numpy as np

rng = np.random.default_rng()


def as_many_as_are_large(x):
    """vector: real 0..3, rows 5..9; replace; inf; places; b"""
    y = x + rng.laplace(scale=1, size=len(x))
    return len(y[x > 1])


def released_where_large(x):
    """vector: real 0..3, rows 5..9; replace; inf; places; b"""
    y = x + rng.laplace(scale=1, size=len(x))
    return y, y[x > 1].sum()


def released_up_to_the_sum(x):
    """vector: integer 0..1, rows 5..9; replace; inf; places; b"""
    y = x + rng.laplace(scale=1, size=len(x))
    return y, y[: x.sum()]


def order_up_to_the_sum(x):
    """vector: integer 0..1, rows 5..9; replace; inf; places; b"""
    return len(rng.permutation(9)[: x.sum()])


def digits_up_to_the_sum(x):
    """vector: integer 0..1, rows 5..9; replace; inf; places; b"""
    return str(x.sum() + rng.laplace(scale=1))[: x.sum()]


def shown_up_to_the_sum(x):
    """vector: integer 0..1, rows 5..9; replace; inf; places; b"""
    y = x.sum() + rng.laplace(scale=1)
    return f"{y:.3f}"[: x.sum()]


def noise_up_to_the_sum(x):
    """vector: integer 0..1, rows 5..9; replace; inf; places; b"""
    places = np.nonzero(rng.normal(size=30) > 0)[0]
    return places, places[x.sum() :]


def range_at_the_largest(x):
    """vector: integer 0..1, rows 5..9; replace; inf; places; b"""
    count = max(3, int(abs(rng.laplace(scale=1))))
    return np.arange(count)[x.max()]


def asked_for_the_sum(x):
    """vector: integer 0..1, rows 5..9; replace; inf; places; b"""
    y = round(x.sum() + rng.laplace(scale=1))
    return y, y in [x.sum()]


def asked_among_the_values(x):
    """vector: integer 0..1, rows 5..9; replace; inf; places; b"""
    held = {"sum": x.sum()}
    y = round(x.sum() + rng.laplace(scale=1))
    return y, y in held.values()


def turned_round_by_the_sum(x):
    """vector: integer 0..1, rows 5..9; replace; inf; places; b"""
    noisy = [x.sum() + rng.laplace(scale=1) for _ in range(3)]
    return sorted(noisy, reverse=x.sum() > 2)


def option_of_the_data(x):
    """vector: integer 0..1, rows 5..9; replace; inf; places; b"""
    y = x.sum() + rng.laplace(scale=1, size=3)
    return y, np.var(y, ddof=x.max())


def place_among_the_rows(x):
    """vector: real 0..3, rows 5..9; replace; 4; places; b"""
    return np.searchsorted(x, [1.0, 2.0]).sum() + rng.laplace(scale=1)


def ends_side_by_side(x):
    """vector: integer 0..1, rows 5..9; replace; 4; places; b"""
    both = np.hstack([np.bincount(x, minlength=2), np.bincount(x, minlength=2)])
    return both[:2] + rng.laplace(scale=2 / len(both), size=2)


def product_with_rows_of_a_matrix(a):
    """array: real 0..1 x 2, rows 5; replace; 10; places; b"""
    return (np.inner(a, np.array([[1.0, 10.0], [0.0, 0.0]])) @ np.array([1.0, 0.0])).sum() + rng.laplace(scale=1.1)
