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


# ----------------------------------------------------------------------------------------------------------------------
# Written to where a condition on released values holds


def negative_ones_are_zero(x):
    """vector: integer 0..3, rows 5..20; replace; 1.0; 3; b; exact"""
    counts = np.bincount(x, minlength=4) + rng.laplace(scale=2.0, size=4)
    counts[counts < 0] = 0
    return counts / (1 + counts.sum())


def cut_at_both_ends(x):
    """vector: integer 0..3, rows 5..20; replace; 1.0; 3; b; exact"""
    counts = np.bincount(x, minlength=4) + rng.laplace(scale=2.0, size=4)
    counts[counts < 1] = 0.5
    counts[counts > 100] = 100
    return list(counts)


def small_counts_are_zero(x):
    """vector: integer 0..3, rows 5..20; replace; 2.0; 3; b"""
    counts = np.bincount(x, minlength=4)
    counts[counts < 3] = 0
    return counts + rng.laplace(scale=2.0, size=4)


def noisy_ones_are_zero_by_true_counts(x):
    """vector: integer 0..3, rows 5..20; replace; inf; 3; b"""
    counts = np.bincount(x, minlength=4)
    noisy = counts + rng.laplace(scale=2.0, size=4)
    noisy[counts < 3] = 0
    return noisy


def true_ones_are_zero_by_noisy_counts(x):
    """vector: integer 0..3, rows 5..20; replace; inf; 3; b"""
    counts = np.bincount(x, minlength=4) * 1.0
    noisy = counts + rng.laplace(scale=2.0, size=4)
    counts[noisy < 3] = 0
    return counts


def a_true_count_where_noisy_ones_are_small(x):
    """vector: integer 0..3, rows 5..20; replace; inf; 3; b"""
    counts = np.bincount(x, minlength=4)
    noisy = counts + rng.laplace(scale=2.0, size=4)
    noisy[noisy < 3] = counts[0]
    return noisy


def another_name_of_what_is_cut(x):
    """vector: integer 0..3, rows 5..20; replace; inf; 3; b"""
    counts = np.bincount(x, minlength=4) * 1.0
    kept = counts[:]
    noisy = counts + rng.laplace(scale=2.0, size=4)
    counts[noisy < 1] = 0
    return noisy, kept


def released_and_then_cut_by_more_data(x):
    """vector: integer 0..3, rows 5..20; replace; 2.0; 3; b"""
    counts = np.bincount(x, minlength=4)
    noisy = counts + rng.laplace(scale=2.0, size=4)
    other = counts + rng.laplace(scale=2.0, size=4)
    noisy[other < 1] = 0
    return noisy
