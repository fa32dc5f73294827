"""One draw for each row: its first axis is that of the rows, and NumPy broadcasts along the last ones."""

import numpy as np

rng = np.random.default_rng()


def one_draw_for_all_rows(x):
    """vector: real 0..10, rows 2..9; replace; inf; axes; b"""
    return x + rng.laplace(scale=10.0, size=(len(x), 1))


def one_draw_for_all_rows_of_a_column(a):
    """array: real 0..1 x 3, rows 2..9; replace; inf; axes; b"""
    return a[:, 0] + rng.laplace(size=(len(a), 1))


def one_draw_for_all_rows_of_a_frame(df):
    """frame: x real 0..10, rows 2..9; replace; inf; axes; b"""
    return df.x.to_numpy() + rng.laplace(scale=10.0, size=(len(df), 1))


def centre_of_the_draws(x):
    """vector: real 0..10, rows 2..9; replace; inf; axes; b"""
    return rng.laplace(x, 10.0, size=(len(x), 1))


def the_draw_of_the_first_row(x):
    """vector: real 0..10, rows 2..9; replace; inf; axes; b"""
    return x + rng.laplace(scale=10.0, size=(len(x), 1))[0]


def draws_in_another_shape(a):
    """array: real 0..1 x 3, rows 2..9; replace; inf; axes; b"""
    return a + rng.laplace(size=a.shape).reshape(-1)[:3]


def column_and_row(x):
    """vector: real 0..10, rows 2..9; replace; inf; axes; b"""
    return x.reshape(-1, 1) + rng.laplace(scale=10.0, size=(len(x), 1)).T


def as_often_as_there_are_draws(x):
    """vector: real 0..10, rows 5..9; replace; 9; axes; b"""
    return x.sum() * rng.laplace(size=len(x)).size + rng.laplace(scale=10)


def bare_where_there_are_draws(x):
    """vector: real 0..10, rows 5..9; replace; inf; axes; b"""
    return x.sum() if rng.laplace(size=len(x)).shape else x.sum() + rng.laplace(scale=10)


def axes_of_noisy_rows(x):
    """vector: real 0..10, rows 5..9; replace; 1; axes; b"""
    return x.sum() * (x + rng.laplace(scale=1e9, size=len(x))).ndim + rng.laplace(scale=10)


def shape_of_the_draws(x):
    """vector: real 0..10, rows 5..9; add-remove; inf; axes; b"""
    return rng.laplace(size=len(x)).shape


def ones_like_the_draws(x):
    """vector: real 0..10, rows 5..9; add-remove; inf; axes; b"""
    return np.ones(rng.laplace(size=len(x)).shape).sum()


def every_row_by_itself(x):
    """vector: real 0..10, rows 2..9; replace; 1; axes; b; exact"""
    return x + rng.laplace(scale=10.0, size=len(x))
