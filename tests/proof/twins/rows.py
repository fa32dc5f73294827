"""Rows and aggregates: moves, masks, cells, types, keywords, writing. The docstring of a function is its row."""

import math
import statistics

import numpy as np


def _laplace(scale, size=None):
    return np.random.default_rng().laplace(scale=scale, size=size)


def mean_with_noise_of_one(x):
    """vector: real 0..100, rows 20..50; replace; 5; 3 n_min; a; exact
    vector: real 0..100, rows 5..50; replace; 20; 3 n_min; a; exact
    vector: real 0..100, rows 19..50; add-remove; 5; 1.6; a; exact
    """
    return x.mean() + _laplace(1.0)


def mean_with_noise_of_n(x):
    """vector: real 0..100, rows 5..50; replace; 1; 3 n_min; a; exact
    vector: real 0..100, rows 5..50; add-remove; inf; 1.14; a
    """
    return x.mean() + _laplace(100 / len(x))


def mean_of_eight_and_more(x):
    """vector: real 0..10, rows 8..50; add-remove; 1; 1.6; a; exact"""
    return x.mean() + _laplace(10 / 9)


def mean_over_a_fixed_size(x):
    """vector: real 0..10, rows 5..50; add-remove; 1; 1.6; a; exact"""
    return x.sum() / 20 + _laplace(0.5)


def sum_bare_with_one_size(x):
    """vector: real 0..10, rows 8; add-remove; inf; 1.6; a
    vector: real 0..10, rows 8; replace; inf; 1.6; a
    """
    return x.sum()


def size_in_the_sum(x):
    """vector: integer 3..3, rows 5..50; add-remove; inf; 3 vacuous; a"""
    return x.sum()


def sum_of_large_values(x):
    """vector: real 50..100, rows 5..50; replace; .5; 2 moves; a; exact
    vector: real 50..100, rows 5..50; add-remove; 1; 2 moves; a; exact
    vector: real -100..50, rows 5..50; add-remove; 1; 2 moves; a; exact
    vector: real -100..50, rows 5..50; replace; 1.5; 2 moves; a; exact
    """
    return x.sum() + _laplace(100.0)


def squares(x):
    """vector: real -3..2, rows 5..50; replace; 9; 2 moves; a; exact"""
    return (x**2).sum() + _laplace(1.0)


def exponentials(x):
    """vector: real 0..3, rows 5..50; replace; exp(3)-1; 2 moves; a; exact"""
    return np.exp(x).sum() + _laplace(1.0)


def directions(X):
    """array: real -1..1 x 3, rows 5..50; replace; inf; 1.9; a"""
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).sum(axis=0) + np.random.default_rng().normal(size=3)


def factors_of_zero_rows(X):
    """array: real -1..1 x 3, rows 5..50; replace; inf; 1.9; a"""
    n = np.linalg.norm(X, axis=1, keepdims=True)
    return (X * (1 / n)).sum(axis=0) + np.random.default_rng().normal(size=3)


def rows_clipped(X):
    """array: real -5..5 x 3, rows 5..50; replace; inf; 1.9; a; mu=2; rho=2; exact
    array: real -5..5 x 3, rows 5..50; add-remove; inf; 1.9; a; mu=1; rho=.5; exact
    """
    n = np.linalg.norm(X, axis=1, keepdims=True)
    return (X / np.maximum(1, n)).sum(axis=0) + np.random.default_rng().normal(size=3)


def rows_clipped_by_a_guarded_factor(X):
    """array: real -5..5 x 3, rows 5..50; replace; inf; 1.9; a; mu=2; rho=2; exact"""
    n = np.linalg.norm(X, axis=1, keepdims=True)
    return (X * np.minimum(1, 1 / np.maximum(n, 1e-9))).sum(axis=0) + np.random.default_rng().normal(size=3)


def rows_clipped_by_two_columns(X):
    """array: real -5..5 x 3, rows 5..50; replace; inf; 1.9; a; mu=10; rho=50"""
    n = np.linalg.norm(X[:, :2], axis=1, keepdims=True)
    return (X / np.maximum(1, n)).sum(axis=0) + np.random.default_rng().normal(size=3)


def rows_clipped_by_all(X):
    """array: real -5..5 x 3, rows 5..50; replace; inf; 1.9; a; mu=7.1; rho=25.2"""
    return (X / max(1, np.linalg.norm(X))).sum(axis=0) + np.random.default_rng().normal(size=3)


def columns_clipped(X):
    """array: real -5..5 x 3, rows 5..50; replace; inf; 1.9; a; mu=11; rho=60"""
    return (X / np.maximum(1, np.linalg.norm(X, axis=0))).sum(axis=0) + np.random.default_rng().normal(size=3)


def norms_along_the_wrong_axis(X):
    """array: real -5..5 x 3, rows 3; replace; inf; 3 norms; a; mu=14; rho=98"""
    return (X / np.maximum(1, np.linalg.norm(X, axis=1))).sum(axis=0) + np.random.default_rng().normal(size=3)


def smallest_coordinate_as_norm(X):
    """array: real -5..5 x 3, rows 5..50; replace; inf; 1.9; a; mu=14; rho=98"""
    n = np.linalg.norm(X, ord=-np.inf, axis=1, keepdims=True)
    return (X / np.maximum(1, n)).sum(axis=0) + np.random.default_rng().normal(size=3)


def number_of_coordinates_as_norm(X):
    """array: real -5..5 x 3, rows 5..50; replace; inf; 1.9; a; mu=10; rho=50"""
    n = np.linalg.norm(X, ord=0, axis=1, keepdims=True)
    return (X / np.maximum(1, n)).sum(axis=0) + np.random.default_rng().normal(size=3)


def rows_scaled_after_their_norm(X):
    """array: real -5..5 x 3, rows 5..50; replace; inf; 1.9; a; mu=20; rho=200; exact"""
    n = np.linalg.norm(X, axis=1, keepdims=True)
    X = 10 * X
    return (X / np.maximum(1, n)).sum(axis=0) + np.random.default_rng().normal(size=3)


def rows_written_after_their_norm(X):
    """array: real -5..5 x 3, rows 5..50; replace; inf; 1.9; a; mu=9.9; rho=49"""
    n = np.linalg.norm(X, axis=1, keepdims=True)
    X[:, 0] = 5 * np.sign(X[:, 0])
    return (X / np.maximum(1, n)).sum(axis=0) + np.random.default_rng().normal(size=3)


def two_norm_and_laplace(X):
    """array: real -5..5 x 3, rows 5..50; replace; 2*sqrt(3); 1.9; a; exact
    array: real -5..5 x 3, rows 5..50; add-remove; sqrt(3); 1.9; a; exact
    """
    n = np.linalg.norm(X, axis=1, keepdims=True)
    return (X / np.maximum(1, n)).sum(axis=0) + _laplace(1.0, size=3)


def one_norm_and_laplace(X):
    """array: real -5..5 x 3, rows 5..50; replace; 2; 1.9; a; exact"""
    n = np.linalg.norm(X, ord=1, axis=1, keepdims=True)
    return (X / np.maximum(1, n)).sum(axis=0) + _laplace(1.0, size=3)


def mean_of_chosen(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3 chosen; a"""
    return x[x > 50].mean() + _laplace(100 / len(x))


def ratio_of_masked_sums(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3 chosen; a"""
    m = x > 50
    return (x * m).sum() / m.sum() + _laplace(100 / len(x))


def mean_where(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3 chosen; a"""
    return x.mean(where=x > 50) + _laplace(100 / len(x))


def nanmean_of_chosen(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3 chosen; a"""
    return np.nanmean(np.where(x > 50, x, np.nan)) + _laplace(100 / len(x))


def masked_mean(x):
    """vector: real 0..100, rows 5..50; replace; 10; 3 chosen; a"""
    return float(np.ma.masked_less(x, 50).filled(0).max()) + _laplace(10.0)


def mean_in_a_comprehension(x):
    """list: real 0..100, rows 5..50; replace; inf; 3 chosen; a"""
    return statistics.mean([v for v in x if v > 50]) + _laplace(100 / len(x))


def sum_of_chosen(x):
    """vector: real 0..100, rows 5..50; replace; 1; 3 chosen; a; exact
    vector: real 0..100, rows 5..50; add-remove; 1; 3 chosen; a; exact
    """
    return x[x > 50].sum() + _laplace(100.0)


def number_of_chosen_bare(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3 chosen; a"""
    return len(x[x > 50])


def noise_for_each_chosen(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3 chosen; a"""
    chosen = x[x > 50]
    return chosen + _laplace(100.0, size=chosen.shape)


def chosen_bare(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3 chosen; a"""
    return x[x > 50].sum()


def maximum(x):
    """vector: real 0..10, rows 5..50; replace; 10; N1; a; exact"""
    return x.max() + _laplace(1.0)


def middle(x):
    """vector: real 0..10, rows 5..50; replace; 10; N1; a"""
    return np.median(x) + _laplace(1.0)


def middle_that_is_clipped(x):
    """vector: real -100..100, rows 5..50; replace; 1; N1; a; exact"""
    return np.clip(np.median(x), 0, 10) + _laplace(10.0)


def smallest_of_sorted(x):
    """vector: real 0..10, rows 5..50; replace; 10; N1; a"""
    return np.sort(x)[0] + _laplace(1.0)


def range_over_n(x):
    """vector: real 0..10, rows 5..50; replace; 50; N1; a"""
    return x.max() + _laplace(10 / len(x))


def first_row_bare(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 outputs; a"""
    return x[0]


def rows_bare(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 outputs; a"""
    return x


def first_rows(x):
    """vector: real 0..100, rows 5..50; replace; 1; 1.24; a; exact"""
    return x[:4].sum() + _laplace(100.0)


def every_other_row(x):
    """vector: real 0..100, rows 5..50; add-remove; 25; 1.24; a
    vector: real 0..100, rows 5..50; replace; 1; 1.24; a; exact
    """
    return x[::2].sum() + _laplace(100.0)


def first_row_with_noise(x):
    """vector: real 0..100, rows 5..50; add-remove; 10; 1.24; a"""
    return x[0] + _laplace(10.0)


def neighbouring_rows(x):
    """vector: real 0..100, rows 5..50; replace; 2; 1.24; a"""
    return np.abs(np.diff(x)).sum() + _laplace(100.0)


def neighbouring_rows_by_zip(x):
    """list: real 0..100, rows 5..50; replace; 2; 1.23; a"""
    return sum(abs(a - b) for a, b in zip(x[:-1], x[1:], strict=True)) + _laplace(100.0)  # noqa: RUF007


def running_sums(x):
    """vector: real 0..100, rows 5..50; replace; 50; 1.24; a"""
    return np.cumsum(x) + _laplace(100.0, size=len(x))


def prefixes(x):
    """vector: real 0..100, rows 5..50; replace; 50; 1.24; a"""
    return [x[:i].sum() + _laplace(100.0) for i in range(1, len(x) + 1)]


def every_row_with_noise(x):
    """vector: real 0..100, rows 5..50; replace; 1; N4; b; exact
    vector: real 0..100, rows 5..50; add-remove; inf; N4; a
    """
    return x + _laplace(100.0, size=len(x))


def every_row_with_the_same_noise(x):
    """vector: real 0..100, rows 5..50; replace; inf; 1.23; a"""
    z = _laplace(100.0)
    return [v + z for v in x]


def all_pairs_of_rows(x):
    """list: real 0..100, rows 5..50; replace; 98; 1.23; a"""
    return sum(abs(a - b) for a in x for b in x) + _laplace(100.0)


def places_times_rows(x):
    """list: real 0..100, rows 5..50; replace; 49; 1.23; a
    list: real 0..100, rows 5..50; add-remove; 49; 1.23; a
    """
    return sum(i * v for i, v in enumerate(x)) + _laplace(100.0)


def total_until_a_large_row(x):
    """list: real 0..100, rows 5..50; replace; 25; 1.23; a"""
    total = 0.0
    for v in x:
        if v > 50:
            break
        total += v
    return total + _laplace(100.0)


def total_that_is_compared(x):
    """list: real 50..100, rows 5..50; replace; 2; 1.23; a
    vector: real 50..100, rows 5..50; replace; 2; 1.23; a
    """
    total = 0
    for v in x:
        if v >= total:
            total += v
    return total + _laplace(50.0)


def total_that_is_doubled(x):
    """list: real 0..1, rows 4; replace; 8; 1.23; a"""
    total = 0.0
    for v in x:
        total = 2 * total + v
    return total + _laplace(1.0)


def total_that_is_bounded(x):
    """list: real 0..3, rows 5..50; replace; 1; 1.23; a"""
    total = 0.0
    for v in x:
        total += v if total < 4 else 0.0
    return total + _laplace(3.0)


def number_of_records(x):
    """list: real 0..100, rows 5..50; replace; 48.9; 1.23; a"""
    best, count = -1.0, 0
    for v in x:
        if v > best:
            best = v
            count += 1
    return count + _laplace(1.0)


def loop_that_clips(x):
    """list: real 0..100, rows 5..50; replace; .5; 1.23; b; exact"""
    total = 0.0
    for v in x:
        total += min(v, 50.0)
    return total + _laplace(100.0)


def one_for_a_large_row(x):
    """list: real 0..100, rows 5..50; replace; inf; 1.23; a"""
    for v in x:
        if v > 99:
            return 1
    return 0


def touching_counts(x):
    """vector: real 0..10, rows 5..50; add-remove; 1; 1.15; a; exact
    vector: real 0..10, rows 5..50; replace; 1; 1.15; a; exact
    """
    return (x <= 5).sum() + _laplace(2.0), (x >= 5).sum() + _laplace(2.0)


def apart_counts(x):
    """vector: real 0..10, rows 5..50; add-remove; .5; 1.15; a; exact"""
    return (x < 5).sum() + _laplace(2.0), (x >= 5).sum() + _laplace(2.0)


def equal_and_below(x):
    """vector: real 0..10, rows 5..50; add-remove; 2; 1.15; a; exact"""
    return (x == 5).sum() + _laplace(1.0), (x <= 5).sum() + _laplace(1.0)


def touching_ranges(x):
    """vector: real 0..40, rows 5..50; add-remove; 2; 3 masks; a; exact"""
    low, high = (x >= 0) & (x <= 20), (x >= 20) & (x <= 40)
    return low.sum() + _laplace(1.0), high.sum() + _laplace(1.0)


def overlapping_counts(x):
    """vector: real 0..100, rows 5..50; replace; 3; 3 masks; a; exact"""
    return [(x > bound).sum() + _laplace(1.0) for bound in (20, 40, 60)]


def real_half_thresholds(x):
    """vector: real 0..10, rows 5..50; add-remove; 2; 3 thresholds; a; exact
    vector: integer 0..10, rows 5..50; add-remove; 1; 3 thresholds; b; exact
    """
    return (x > 4.5).sum() + _laplace(1.0), (x < 5).sum() + _laplace(1.0)


def within_one_cell(x):
    """vector: real 0..10, rows 5..50; replace; 5; 3 cells; a; exact"""
    return (x * (x <= 5)).sum() + _laplace(1.0)


def thresholds_on_expressions(X):
    """array: real 0..10 x 2, rows 5..50; add-remove; 2; 1.15; b; exact"""
    t = X[:, 0] + X[:, 1]
    return (t > 3).sum() + _laplace(1.0), (2 * X[:, 0] > 7).sum() + _laplace(1.0)


def twelve_thresholds(X):
    """array: real 0..1 x 3, rows 5..50; add-remove; 12; 3 cells; b; exact"""
    return [(X[:, j] > t).sum() + _laplace(1.0) for j in range(3) for t in (0.2, 0.4, 0.6, 0.8)]


def last_bin_is_closed(x):
    """vector: real 0..10, rows 5..50; add-remove; 2; 1.15; a; exact"""
    h = np.histogram(x, bins=[0, 5, 10])[0] + _laplace(1.0, size=2)
    return h, (x == 10).sum() + _laplace(1.0)


def histogram_of_the_range_of_data(x):
    """vector: real 0..100, rows 5..50; replace; 30; 3 keywords; a"""
    return np.histogram(x, bins=4)[0] + _laplace(2.0, size=4)


def histogram_and_its_edges(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3 keywords; a"""
    h, edges = np.histogram(x, bins=4)
    return h + _laplace(2.0, size=4), edges


def density_of_some_rows(x):
    """vector: integer 0..20, rows 5..50; replace; inf; N13; a"""
    return np.histogram(x, bins=[0, 5, 10], density=True)[0] + _laplace(1.0, size=2)


def histogram_with_weights(x):
    """vector: real 0..100, rows 5..50; replace; 74.9; 3 keywords; a"""
    return np.histogram(x, bins=[0, 50, 100], weights=x)[0] + _laplace(2.0, size=2)


def histogram_with_edges(x):
    """vector: real 0..100, rows 5..50; replace; 1; 1.15; a; exact"""
    return np.histogram(x, bins=[0, 50, 100])[0] + _laplace(2.0, size=2)


def more_labels_than_cells(x):
    """vector: integer 0..9, rows 5..50; replace; inf; 3 keywords; a"""
    h = np.bincount(x, minlength=4)
    return h + _laplace(2.0, size=h.shape)


def labels_of_occurring_values(x):
    """vector: integer 0..9, rows 5..50; replace; inf; 1.12; a"""
    values, counts = np.unique(x, return_counts=True)
    return values, counts + _laplace(2.0, size=len(values))


def booleans_added(x):
    """vector: real 0..10, rows 5..50; replace; 2; 1.21; a; exact"""
    return ((x > 3) + (x > 5) - 2 * (x > 5)).sum() + _laplace(1.0)


def whole_numbers_added(x):
    """vector: real 0..10, rows 5..50; replace; 2; 1.21; a; exact"""
    return ((x > 3).astype(int) + (x > 5)).sum() + _laplace(1.0)


def bytes_below_zero(x):
    """vector: integer 0..254, rows 5..50; add-remove; 255; 1.21; a"""
    return (x.astype(np.uint8) - np.uint8(1)).sum() + _laplace(1.0)


def small_whole_numbers(x):
    """vector: integer 0..200, rows 5..50; replace; 255; 1.21; a"""
    return x.astype(np.int8).sum() + _laplace(1.0)


def absolute_small_whole_numbers(x):
    """vector: integer -128..127, rows 5..50; replace; 255; 1.21; a"""
    return np.abs(x.astype(np.int8)).sum() + _laplace(1.0)


def product_that_wraps(x):
    """vector: integer 0..3000000, rows 5..50; replace; 4294; 1.21; a"""
    return (x.astype(np.int32) * np.int32(1000)).sum() + _laplace(1e6)


def total_that_wraps(x):
    """vector: integer 0..1, rows 100..200; replace; 255; 3 keywords; a"""
    return x.sum(dtype=np.int8) + _laplace(1.0)


def lower_bound_only(x):
    """vector: real 0..100, rows 5..50; replace; 2; 3 keywords; a; exact"""
    return np.clip(x, a_min=0, a_max=None).sum() + _laplace(50.0)


def upper_bound_by_name(x):
    """vector: real 0..100, rows 5..50; replace; 1; 3 keywords; a; exact"""
    return np.clip(x, a_min=None, a_max=50).sum() + _laplace(50.0)


def sum_where(x):
    """vector: real 0..100, rows 5..50; replace; 2; 3 keywords; a; exact"""
    return x.sum(where=x > 50) + _laplace(50.0)


def clipped_and_dropped(x):
    """vector: real 0..100, rows 5..50; replace; 20; 3 in place; a; exact"""
    np.clip(x, 0, 5)
    return x.sum() + _laplace(5.0)


def clipped_in_place(x):
    """vector: real 0..100, rows 5..50; replace; 1; 3 in place; b; exact"""
    np.clip(x, 0, 5, out=x)
    return x.sum() + _laplace(5.0)


def clipped_in_a_copy(x):
    """vector: real 0..100, rows 5..50; replace; 20; 3 in place; a; exact"""
    y = x.copy()
    y[y > 5] = 5
    return x.sum() + _laplace(5.0)


def clipped_in_a_chosen_copy(x):
    """vector: real 0..100, rows 5..50; replace; 20; 3 in place; a"""
    x[x > 5][:] = 5
    return x.sum() + _laplace(5.0)


def raised_in_place(x):
    """vector: real 0..100, rows 5..50; replace; 1.01; 3 in place; b; exact"""
    x[x > 50] += 1
    return x.sum() + _laplace(100.0)


def clip(v, low, high):
    return v + 0 * (low + high)


def own_clip(x):
    """vector: real 0..100, rows 5..50; replace; 20; 3 names; a; exact"""
    return clip(x, 0, 5).sum() + _laplace(5.0)


def copy_before_the_noise(x):
    """vector: integer 0..3, rows 5..50; replace; inf; 3 in place; a"""
    h = np.bincount(x, minlength=4).astype(float)
    g = h.copy()
    h += _laplace(2.0, size=4)
    return h, g


def noise_into_another_array(x):
    """vector: integer 0..3, rows 5..50; replace; inf; 3 in place; a"""
    h = np.bincount(x, minlength=4).astype(float)
    noisy = np.zeros(4)
    np.add(h, _laplace(2.0, size=4), out=noisy)
    return h


def noise_in_place(x):
    """vector: integer 0..3, rows 5..50; replace; 1; 3 in place; b; exact"""
    h = np.bincount(x, minlength=4).astype(float)
    g = h
    h += _laplace(2.0, size=4)
    return g


def noise_into_a_new_name(x):
    """vector: integer 0..3, rows 5..50; replace; inf; 3 in place; a"""
    h = np.bincount(x, minlength=4)
    g = h
    h = h + _laplace(2.0, size=4)
    return h, g


def variance(x):
    """vector: real 0..10, rows 5..50; replace; 16; N2; b; exact
    vector: real 0..10, rows 5..50; add-remove; 100*5/36; N2; b; exact
    """
    return x.var() + _laplace(1.0)


def variance_of_a_sample(x):
    """vector: real 0..10, rows 5..50; replace; 20; N2; b; exact"""
    return x.var(ddof=1) + _laplace(1.0)


def deviation(x):
    """vector: real 0..10, rows 5..50; replace; 4; N2; b; exact"""
    return np.std(x) + _laplace(1.0)


def deviation_of_a_sample(x):
    """vector: real 0..10, rows 5..50; replace; sqrt(20); N2; b; exact"""
    return np.std(x, ddof=1) + _laplace(1.0)


def squares_about_the_mean(x):
    """vector: real 0..10, rows 5; replace; 80; 1.20; b"""
    return ((x - x.mean()) ** 2).sum() + _laplace(1.0)


def parts_of_the_largest(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.20; a"""
    return (x / x.max()).sum() + _laplace(1.0)


def product_of_sums(x):
    """vector: real 0..10, rows 5; replace; 90; 1.20; a"""
    return x.sum() * (x > 5).sum() + _laplace(1.0)


def quotient_of_sums(X):
    """array: a real 0..10, b real 0..2, rows 5..50; replace; inf; 1.20; a"""
    return X[:, 0].sum() / X[:, 1].sum() + _laplace(1.0)


def sums_of_columns(X):
    """array: real -1..1 x 3, rows 5..50; replace; 6; 3 axis; a; exact
    array: real -1..1 x 3, rows 5..50; add-remove; 3; 3 axis; a; exact
    """
    return X.sum(axis=0) + _laplace(1.0, size=3)


def sums_of_columns_from_the_end(X):
    """array: real -1..1 x 3, rows 5..50; replace; 6; 3 axis; a; exact"""
    return X.sum(axis=-2) + _laplace(1.0, size=3)


def sum_of_all(X):
    """array: real -1..1 x 3, rows 5..50; replace; 6; 3 axis; a; exact"""
    return X.sum() + _laplace(1.0)


def sums_of_rows(X):
    """array: real -1..1 x 3, rows 5..50; replace; 6; 3 axis; a
    array: real -1..1 x 3, rows 5..50; add-remove; inf; 3 axis; a
    """
    return X.sum(axis=1) + _laplace(1.0, size=len(X))


def sums_kept_in_a_row(X):
    """array: real -1..1 x 3, rows 5..50; replace; 6; 3 keepdims; a; exact"""
    return X.sum(axis=0, keepdims=True) + _laplace(1.0, size=(1, 3))


def sums_in_five_rows(X):
    """array: real -1..1 x 3, rows 5..50; replace; 30; 3 keepdims; a; exact"""
    return X.sum(axis=0, keepdims=True) + _laplace(1.0, size=(5, 3))


def means_of_columns(X):
    """array: real -1..1 x 3, rows 5..50; replace; 1.2; 3 axis; a; exact"""
    return X.mean(axis=0) + _laplace(1.0, size=3)


def rounded_to_tens(x):
    """vector: real 0..15.5, rows 5..50; replace; 20/15.5; 3 keywords; a"""
    return np.round(x, -1).sum() + _laplace(15.5)


def rounded_rows(x):
    """vector: real 0..0.6, rows 5..50; replace; 1/.6; 3 keywords; a; exact"""
    return np.round(x).sum() + _laplace(0.6)


def ceilings(x):
    """vector: real 0..0.5, rows 5..50; replace; 2; 2 moves; a; exact"""
    return np.ceil(x).sum() + _laplace(0.5)


def signs(x):
    """vector: real -0.1..0.1, rows 5..50; replace; 10; 2 moves; a; exact"""
    return np.sign(x).sum() + _laplace(0.2)


def remainders_of_negatives(x):
    """vector: real -1..1, rows 5..50; replace; 1.4999; 1.21; a"""
    return (x % 3).sum() + _laplace(2.0)


def inverses(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.22; a
    vector: real -1..1, rows 5..50; replace; inf; 1.22; a
    vector: real 1..10, rows 5..50; replace; .9; 1.22; a; exact
    """
    return (1 / x).sum() + _laplace(1.0)


def logarithms(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.22; a
    vector: real 1..10, rows 5..50; replace; log(10); 1.22; a; exact
    """
    return np.log(x).sum() + _laplace(1.0)


def roots(x):
    """vector: real -1..1, rows 5..50; replace; inf; 1.22; a
    vector: real 0..4, rows 5..50; replace; 2; 1.22; a; exact
    """
    return np.sqrt(x).sum() + _laplace(1.0)


def logarithms_that_raise(x):
    """list: real 0..10, rows 5..50; replace; inf; 1.22; a"""
    return sum(math.log(v) for v in x) + _laplace(1.0)


def inverses_where_positive(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.22; a"""
    return np.where(x > 0, 1 / x, 0).sum() + _laplace(1.0)


def inverses_where_large(x):
    """vector: real 0..10, rows 5..50; replace; 1; 1.22; b; exact"""
    return sum(1 / v if v > 1 else 0.0 for v in x) + _laplace(1.0)


def asserts_on_rows(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.22; a"""
    assert x.max() < 10
    return x.sum() + _laplace(10.0)


def pairs_by_reshape(x):
    """vector: real 0..10, rows 5..50; add-remove; inf; 1.22; a"""
    return x.reshape(-1, 2).sum() + _laplace(10.0)


def first_large_row(x):
    """list: real 0..10, rows 5..50; replace; inf; 1.22; a"""
    return next(v for v in x if v > 5) * 0 + _laplace(10.0)


def sum_with_missing(x):
    """vector: real 0..100 missing, rows 5..50; replace; inf; 1.22; a"""
    return x.sum() + _laplace(100.0)


def masked_sum_with_missing(x):
    """vector: real 0..100 missing, rows 5..50; replace; inf; 1.22; a"""
    return (x * (x > 50)).sum() + _laplace(100.0)


def nansum_with_missing(x):
    """vector: real 0..100 missing, rows 5..50; replace; 1; 1.22; b; exact"""
    return np.nansum(x) + _laplace(100.0)


def sorted_pair(x):
    """vector: real 0..100, rows 5..50; replace; 2; 1.18; b"""
    return np.sort(np.array([2.0 * (x > 50).sum(), 10.0])) + _laplace(np.array([1e9, 1.0]))


def prefixes_of_cells(x):
    """vector: integer 0..3, rows 5..50; add-remove; 4; 2 maps; a; exact"""
    return np.cumsum(np.bincount(x, minlength=4)) + _laplace(1.0, size=4)


def weighted_places(x):
    """vector: real 0..10, rows 4; replace; 3; 1.24; b; exact"""
    return np.array([1.0, 2.0, 3.0, 1.0]) @ x + _laplace(10.0)


def size_bare(x):
    """vector: real 0..10, rows 5..50; add-remove; inf; 3 relation; a"""
    return x.size


def shape_bare(x):
    """vector: real 0..10, rows 5..50; add-remove; inf; 3 relation; a"""
    return x.shape


def length_of_a_range(x):
    """vector: real 0..10, rows 5..50; add-remove; inf; 3 relation; a"""
    return len(range(len(x)))


def ones_of_the_rows(x):
    """vector: real 0..10, rows 5..50; add-remove; inf; 3 relation; a"""
    return np.ones(len(x)).sum()


def shape_turned(X):
    """array: real 0..10 x 2, rows 5..50; add-remove; inf; 3 relation; a"""
    return X.T.shape[1]


def last_place(x):
    """list: real 0..10, rows 5..50; add-remove; inf; 3 relation; a"""
    last = 0
    for i, _ in enumerate(x):
        last = i
    return last


def rows_counted_one_by_one(x):
    """list: real 0..10, rows 5..50; add-remove; inf; 3 relation; a
    vector: real 0..10, rows 5..50; add-remove; inf; 3 relation; a
    """
    return sum(1 for _ in x)


def noise_of_the_size(x):
    """vector: real 0..10, rows 5..50; add-remove; inf; 3 relation; a"""
    return _laplace(1.0, size=len(x))


def number_of_rows_with_noise(x):
    """vector: real 0..10, rows 5..50; add-remove; 1; 3 relation; a; exact"""
    return len(x) + _laplace(1.0)


def scale_that_forgets_small_sizes(x):
    """vector: real 0..10, rows 5..50; replace; 4; 3 n range; a; exact"""
    return x.mean() + _laplace(10 / max(len(x), 20))


def thirteen_rows_bare(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 n range; a"""
    if len(x) == 13:
        return x.sum()
    return x.sum() + _laplace(10.0)


def thirteen_rows_with_little_noise(x):
    """vector: real 0..100, rows 5..50; replace; 100/13; 3 n range; a; exact"""
    return x.mean() + _laplace(1.0 if len(x) == 13 else 100 / len(x))


def least_noise_in_the_middle(x):
    """vector: real 0..1, rows 5..50; replace; 1; 3 n range; a; exact"""
    return x.sum() + _laplace(1.0 + abs(len(x) - 20))


def no_noise_for_none(x):
    """vector: real 0..10, rows 0..50; add-remove; inf; 1.6; a"""
    if len(x) == 0:
        return 0.0
    return x.sum() + _laplace(10.0)


def scale_a_little_short(x):
    """vector: real 0..10, rows 5..50; replace; 1.0000000005; 3 rounding; a; exact; claim=pure:1"""
    return x.sum() + _laplace(10 / 1.0000000005)


def _by_one_norm(x, limit):
    sizes = np.abs(x).sum(axis=1, keepdims=True)
    return x * np.minimum(1.0, limit / np.maximum(sizes, 1e-12))


def clipped_in_one_norm(x):
    """array: real -5..5 x 3, rows 5..50; replace; 1; 1.9; b; exact"""
    return _by_one_norm(x, 1.0).sum(axis=0) + _laplace(scale=2.0, size=3)


def clipped_in_one_norm_of_two(x):
    """array: real -5..5 x 3, rows 5..50; replace; 5; 1.9; a"""
    sizes = np.abs(x[:, :2]).sum(axis=1, keepdims=True)
    clipped = x * np.minimum(1.0, 1.0 / np.maximum(sizes, 1e-12))
    return clipped.sum(axis=0) + _laplace(scale=2.0, size=3)


def clipped_by_a_sum(x):
    """array: real -5..5 x 3, rows 5..50; replace; 10; 1.9; a"""
    sums = np.abs(x.sum(axis=1, keepdims=True))
    clipped = x * np.minimum(1.0, 1.0 / np.maximum(sums, 1e-12))
    return clipped.sum(axis=0) + _laplace(scale=2.0, size=3)


def long_rows_are_scaled(x):
    """array: real -5..5 x 3, rows 5..50; replace; 1; 1.9; b; exact"""
    found = []
    for row in x:
        size = sum(abs(each) for each in row)
        found.append(row / size if size > 1 else row)
    return np.sum(found, axis=0) + _laplace(scale=2.0, size=3)


def long_rows_are_scaled_above_four(x):
    """array: real -5..5 x 3, rows 5..50; replace; 4; 1.9; b; exact"""
    found = []
    for row in x:
        size = sum(abs(each) for each in row)
        found.append(row / size if size >= 4 else row)
    return np.sum(found, axis=0) + _laplace(scale=2.0, size=3)


def short_rows_are_scaled(x):
    """array: real -5..5 x 3, rows 5..50; replace; 15; 1.9; a"""
    found = []
    for row in x:
        size = sum(abs(each) for each in row)
        found.append(row if size > 1 else row / max(size, 1e-3))
    return np.sum(found, axis=0) + _laplace(scale=2.0, size=3)


def all_rows_are_scaled(x):
    """array: real -1..1 x 3, rows 5..50; replace; inf; 1.9; a"""
    sizes = np.abs(x).sum(axis=1, keepdims=True)
    return (x / sizes).sum(axis=0) + _laplace(scale=2.0, size=3)


def scaled_by_some_of_the_entries(x):
    """array: real -5..5 x 3, rows 5..50; replace; 5; 1.9; a"""
    found = []
    for row in x:
        size = abs(row[0]) + abs(row[1]) + abs(row[1])
        found.append(row / size if size > 1 else row)
    return np.sum(found, axis=0) + _laplace(scale=2.0, size=3)


def other_names_of_a_sum(x):
    """array: real -1..1 x 3, rows 5..50; replace; inf; 3 NumPy; a"""
    total = np.zeros(3)
    other = total
    for row in x:
        total += row
    return other


def one_array_for_two_keys(x):
    """array: real -1..1 x 3, rows 5..50; replace; inf; 3 NumPy; a"""
    zeros = np.zeros(3)
    sums = {"a": zeros, "b": zeros}
    for row in x:
        sums["a"] += row
    return sums["b"]


def written_after_a_loop(x):
    """array: real -1..1 x 3, rows 5..50; replace; 100; 3 NumPy; a"""
    total = np.zeros(3)
    for row in x:
        total += row
    total[:] = 100 * x.sum(axis=0)
    return total + _laplace(scale=6.0, size=3)


def sum_of_rows_in_a_loop(x):
    """array: real -1..1 x 3, rows 5..50; replace; 1; 3 NumPy; b; exact"""
    total = np.zeros(3)
    for row in x:
        total += row
    total += _laplace(scale=6.0, size=3)
    return total


def number_of_an_earlier_loop(x):
    """vector: real 0..10, rows 5..50; replace; 1000; 1.26; a"""
    total = 0
    for value in x:
        total += value > 5
    first = total
    for value in x:
        total -= value > 5
    return first + _laplace(scale=0.001)


def length_of_what_an_and_kept(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.22; a"""
    kept = []

    def keep(value):
        kept.append(value)
        return True

    for value in x:
        value > 5 and keep(value)
    return len(kept)


def two_halves(x):
    """vector: real 0..10, rows 8; replace; 1; 1.24; b; exact"""
    return x[:4].sum() + _laplace(10.0), x[4:].sum() + _laplace(10.0)


def halves_that_overlap(x):
    """vector: real 0..10, rows 8; replace; 2; 1.24; b; exact"""
    return x[:5].sum() + _laplace(10.0), x[-4:].sum() + _laplace(10.0)


def every_second_and_third(x):
    """vector: real 0..10, rows 12; replace; 2; 1.24; b; exact"""
    return [x[at::2].sum() + _laplace(20.0) for at in (0, 1)] + [x[at::3].sum() + _laplace(20 / 3) for at in (0, 1, 2)]


def half_of_either_number_of_rows(x):
    """vector: real 0..10, rows 6..8; replace; 2; 1.24; a"""
    return x[:4].sum() + _laplace(10.0), x[3:].sum() + _laplace(10.0)


def last_row_twice(x):
    """vector: real 0..10, rows 8; replace; 2; 1.24; a"""
    return x[-1:].sum() + _laplace(10.0), x[7:].sum() + _laplace(10.0)


def many_thresholds_in_two_columns(df):
    """frame: a real 0..8, b real 0..8, rows 5..9; add-remove; 2; cells; b; exact
    frame: a real 0..8, b real 0..8, rows 5..9; replace; 2; cells; b; exact
    """
    edges = np.arange(1, 8)
    first = np.array([0.0, 10.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])[np.digitize(df["a"], edges)].sum()
    last = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 10.0, 0.0])[np.digitize(df["b"], edges)].sum()
    return first + _laplace(10), last + _laplace(10)


def many_thresholds_and_labels(df):
    """frame: a real 0..8, b real 0..8, c category x|y, rows 5..9; add-remove; 3; cells; b"""
    edges = np.arange(1, 8)
    first = np.array([0.0, 10.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])[np.digitize(df["a"], edges)].sum()
    last = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 10.0, 0.0])[np.digitize(df["b"], edges)].sum()
    named = (df["c"] == "y").sum()
    return first + _laplace(10), last + _laplace(10), named + _laplace(1)
