"""Arrays that are filled entry by entry: with noisy values, and with data among them."""

import numpy as np

rng = np.random.default_rng()


def noisy_counts(x):
    """vector: integer 0..4, rows 5..50; replace; 1; 3; b; exact"""
    c = np.zeros(5)
    for k in range(5):
        c[k] = (x == k).sum() + rng.laplace(scale=2)
    return c


def noise_added_to_floats(x):
    """vector: integer 0..4, rows 5..50; replace; 1; 3; b; exact"""
    c = np.bincount(x, minlength=5).astype(float)
    for k in range(5):
        c[k] += rng.laplace(scale=2)
    return c


def one_without_noise(x):
    """vector: integer 0..4, rows 5..50; replace; inf; 3; b"""
    c = np.zeros(5)
    for k in range(4):
        c[k] = (x == k).sum() + rng.laplace(scale=2)
    c[4] = (x == 4).sum()
    return c


def data_added_to_all(x):
    """vector: integer 0..4, rows 5..50; replace; inf; 3; b"""
    c = np.zeros(5)
    for k in range(5):
        c[k] = (x == k).sum() + rng.laplace(scale=2)
    c += x.sum()
    return c


def data_added_to_one(x):
    """vector: integer 0..4, rows 5..50; replace; inf; 3; b"""
    c = np.zeros(5)
    c[:] = x.sum()
    c[1:] = 0.0
    c[0] = c[0] * 0 + rng.laplace(scale=2)
    c[1] += x.sum()
    return c


def one_float_without_noise(x):
    """vector: integer 0..4, rows 5..50; replace; inf; 3; b"""
    c = np.bincount(x, minlength=5).astype(float)
    for k in range(4):
        c[k] += rng.laplace(scale=2)
    return c


def data_written_by_another_name(x):
    """vector: integer 0..4, rows 5..50; replace; inf; 3; b"""
    c = np.zeros(5)
    d = c
    for k in range(5):
        c[k] = (x == k).sum() + rng.laplace(scale=2)
    d[2] = x.sum()
    return c


def data_written_by_a_view(x):
    """vector: integer 0..4, rows 5..50; replace; inf; 3; b"""
    c = np.zeros(5)
    d = c[:2]
    for k in range(5):
        c[k] = (x == k).sum() + rng.laplace(scale=2)
    d[1] = x.sum()
    return c


def sorted_between(x):
    """vector: integer 0..4, rows 5..50; replace; inf; 3; b"""
    c = np.zeros(5)
    c[0] = x.sum()
    c[1] = x.sum() + rng.laplace(scale=4)
    c.sort()
    c[4] = 1.0
    return c


def data_that_are_overwritten(x):
    """vector: integer 0..4, rows 5..50; replace; 1; 3; b; exact"""
    c = np.zeros(5)
    c[0] = x.sum()
    c[0] = 1.0
    c[1] = x.sum() + rng.laplace(scale=4)
    return c


def noisy_table(x):
    """vector: integer 0..4, rows 5..50; replace; 1; 3; b; exact"""
    c = np.zeros((2, 2))
    for i in range(2):
        for j in range(2):
            c[i, j] = (x == i + 2 * j).sum() + rng.laplace(scale=2)
    return c


def computed_from_noisy_entries(x):
    """vector: integer 0..4, rows 5..50; replace; 1; 3; b; exact"""
    c = np.zeros(5)
    for k in range(5):
        c[k] = (x == k).sum() + rng.laplace(scale=2)
    return c / c.sum(), int(np.argmax(c))
