"""Numbers beyond the usual: infinity, NaN, truth values of few bits, lengths of slices, coins of a mean, many cells."""

import math

import numpy as np

rng = np.random.default_rng()


# ----------------------------------------------------------------------------------------------------------------------
# Numbers of rows of slices


def length_from_both_ends(x):
    """vector: real 0..10, rows 7..13; replace; inf; numbers; b"""
    if len(x[-10:10]) != 7:
        return x.sum()
    return 0.0


def length_from_both_ends_as_a_factor(x):
    """vector: real 0..10, rows 2..8; replace; 20; numbers; b"""
    part = x[-6:4]
    return part.sum() * max(0.0, len(part) - 2) + rng.laplace(scale=1.0)


def length_from_both_ends_of_a_list(x):
    """list: real 0..10, rows 1..5; replace; inf; numbers; b"""
    return sum(x) if len(x[-3:3]) != 1 else 0.0


def length_of_the_first_rows(x):
    """vector: real 0..10, rows 7..13; replace; 1; numbers; b; exact"""
    part = x[:5]
    return part.sum() + rng.laplace(scale=2.0 * len(part))


def length_from_both_ends_that_is_one(x):
    """vector: real 0..10, rows 20..70; replace; 1; numbers; b; exact"""
    part = x[2:-90]
    return x.sum() + rng.laplace(scale=10.0 + len(part))


# ----------------------------------------------------------------------------------------------------------------------
# Coins of a mean, where a row comes or goes


def mean_of_coins(x):
    """vector: real 0..10, rows 5..50; add-remove; 1000; numbers; b"""
    keep = rng.random(len(x)) < 0.5
    return keep.mean() + rng.laplace(scale=1e-6)


def mean_of_values_with_coins(x):
    """vector: real 10..10.1, rows 5..50; add-remove; 15; numbers; b"""
    keep = rng.random(len(x)) < 0.5
    return np.mean(x * keep) + rng.laplace(scale=0.01)


def mean_of_values_by_coins(x):
    """vector: real 10..10.1, rows 5..50; add-remove; 1.66; numbers; b"""
    keep = rng.random(len(x)) < 0.5
    return np.mean(np.where(keep, x, 10 - x)) + rng.laplace(scale=1.0)


def mean_without_coins(x):
    """vector: real 0..12, rows 5..50; add-remove; 1; numbers; b; exact"""
    return np.mean(x) + rng.laplace(scale=2.0)


def sum_of_coins(x):
    """vector: real 0..12, rows 5..50; add-remove; 1; numbers; b; exact"""
    keep = rng.random(len(x)) < 0.5
    return (x * keep).sum() + rng.laplace(scale=12.0)


def mean_of_one_value(x):
    """vector: integer 3..3, rows 1..3; add-remove; 0; numbers; b; exact"""
    return x.mean() + rng.laplace(scale=1.0)


# ----------------------------------------------------------------------------------------------------------------------
# Infinity


def infinite_row_times_zero(x):
    """vector: real 0..1000, rows 5..50; replace; inf; numbers; b"""
    weights = np.where(x == 500, np.inf, 1.0)
    return (weights * 0.0).sum() + rng.laplace(scale=1.0)


def infinite_sum_times_zero(x):
    """vector: real 0..1000, rows 5..50; replace; inf; numbers; b"""
    return np.where(x == 500, np.inf, 1.0).sum() * 0 + rng.laplace(scale=1.0)


def infinite_rows_of_a_loop(x):
    """vector: real 0..1000, rows 5..50; replace; inf; numbers; b"""
    total = 0.0
    for v in x:
        total += math.inf if v == 500 else 1.0
    return total * 0 + rng.laplace(scale=1.0)


def infinite_row_minus_itself(x):
    """vector: real 0..1000, rows 5..50; replace; inf; numbers; b"""
    weights = np.where(x == 500, np.inf, 1.0)
    return np.clip(weights - weights, -1, 1).sum() + rng.laplace(scale=1.0)


def largest_of_infinite_rows_minus_itself(x):
    """vector: real 0..1000, rows 5..50; replace; inf; numbers; b"""
    largest = np.where(x == 500, np.inf, 1.0).max()
    return np.clip(largest - largest, -1, 1) + rng.laplace(scale=1.0)


def infinite_entry_of_a_table(x):
    """vector: integer 0..1000, rows 5..50; replace; inf; numbers; b"""
    table = [0.0] * 500 + [math.inf] + [0.0] * 500
    return sum(table[v] * 0.0 for v in x) + rng.laplace(scale=1.0)


def infinite_bounds(x):
    """vector: real 0..10, rows 5..50; replace; 1; numbers; b; exact"""
    return np.clip(np.maximum(x, -np.inf), 0, np.inf).sum() + rng.laplace(scale=10.0)


def infinite_row_that_is_clipped(x):
    """vector: real 0..1000, rows 5..50; replace; 1; numbers; b; exact"""
    weights = np.where(x == 500, np.inf, 1.0)
    return np.minimum(weights, 11.0).sum() + rng.laplace(scale=10.0)


def infinite_before_the_first(x):
    """vector: real 0..10, rows 5..50; replace; 1; numbers; b; exact"""
    best, chosen = -math.inf, 0
    for place, count in enumerate([(x > 3).sum(), (x > 6).sum()]):
        value = count + rng.laplace(scale=1.0)
        if value > best:
            best, chosen = value, place
    return chosen


# ----------------------------------------------------------------------------------------------------------------------
# Released values that are infinite, NaN or 0


def infinite_released_factor(x):
    """vector: real 0..10, rows 5..50; replace; inf; numbers; b"""
    noisy = np.maximum(x.sum() + rng.laplace(scale=100.0) + 500, 0.0)
    factor = np.maximum(1 / noisy, 1.0)
    return x.sum() * factor + rng.laplace(scale=factor)


def logarithm_as_a_released_factor(x):
    """vector: real 0..10, rows 5..50; replace; inf; numbers; b"""
    noisy = np.maximum(x.sum() + rng.laplace(scale=100.0) + 500, 0.0)
    factor = np.maximum(-np.log(noisy), 1.0)
    return x.sum() * factor + rng.laplace(scale=factor)


def bounded_released_factor(x):
    """vector: real 0..10, rows 5..50; replace; 10.1; numbers; b; exact"""
    noisy = np.maximum(x.sum() + rng.laplace(scale=100.0) + 500, 1.0)
    factor = np.maximum(1000 / noisy, 1.0)
    return x.sum() * factor + rng.laplace(scale=factor)


def root_of_a_released_value(x):
    """vector: real 0..10, rows 5..50; replace; 1000; numbers; b"""
    noisy = x.sum() + rng.laplace(scale=100.0) + 500
    bound = np.clip(np.sqrt(noisy), 11.0, 50.0)
    return x[~(x < bound)].sum() + rng.laplace(scale=1e-3)


def root_in_a_loop(x):
    """vector: real 0..10, rows 5..50; replace; 1000; numbers; b"""
    noisy = x.sum() + rng.laplace(scale=100.0) + 500
    bound = np.clip(np.log(noisy), 11.0, 50.0)
    total = 0.0
    for v in x:
        if v <= bound:
            continue
        total += v
    return total + rng.laplace(scale=1e-3)


def quotient_of_released_values(x):
    """vector: real 0..10, rows 5..50; replace; 1000; numbers; b"""
    noisy = np.maximum(x.sum() + rng.laplace(scale=100.0) + 500, 0.0)
    bound = np.clip(noisy / noisy, 11.0, 50.0)
    return np.minimum(x.max(), 10) * (1.0 - (x.max() < bound)) + rng.laplace(scale=1e-3)


def root_of_a_positive_value(x):
    """vector: real 0..10, rows 5..50; replace; 0.1; numbers; b; exact"""
    noisy = x.sum() + rng.laplace(scale=100.0) + 500
    bound = np.clip(np.sqrt(np.maximum(noisy, 0.0)), 11.0, 50.0)
    return x[~(x < bound)].sum() + rng.laplace(scale=1e-3)


def rows_over_a_released_zero(x):
    """vector: real 0..10, rows 5..50; replace; inf; numbers; b"""
    bound = np.maximum(x.sum() + rng.laplace(scale=100.0) + 500, 0.0)
    other = rng.laplace(scale=bound)
    return other * 0 + (x / bound).sum() + rng.laplace(scale=1.0) / bound


def rows_of_a_list_over_a_released_zero(x):
    """vector: real 0..10, rows 5..50; replace; inf; numbers; b"""
    bound = np.maximum(x.sum() + rng.laplace(scale=100.0) + 500, 0.0)
    other = rng.laplace(scale=bound)
    return other * 0 + sum([v / bound for v in x]) + rng.laplace(scale=1.0) / bound


def rows_over_a_positive_released_value(x):
    """vector: real 0..10, rows 5..50; replace; 10.1; numbers; b; exact"""
    bound = np.maximum(x.sum() + rng.laplace(scale=100.0) + 500, 1.0)
    return (x / bound).sum() + rng.laplace(scale=1.0) / bound


# ----------------------------------------------------------------------------------------------------------------------
# Truth values of NumPy


def square_of_a_truth_value_of_a_row(x):
    """vector: real 0..1000, rows 5..50; replace; 2.46; numbers; b"""
    total = 0.0
    for v in x:
        total += np.square(v == 500) * 10 + 120
    return total + rng.laplace(scale=100.0)


def square_of_truth_values_in_a_list(x):
    """vector: real 0..1000, rows 5..50; replace; 2.46; numbers; b"""
    return sum([float(np.square(v == 500) * 10 + 120) for v in x]) + rng.laplace(scale=100.0)


def power_of_truth_values(x):
    """vector: real 0..1000, rows 5..50; replace; 2.46; numbers; b"""
    return ((x == 500) ** 2 * 10 + 120).sum() + rng.laplace(scale=100.0)


def square_of_stacked_truth_values(x):
    """vector: real 0..1000, rows 5..50; replace; 2.46; numbers; b"""
    both = np.column_stack([x == 500, x == 500])
    return (np.square(both) * 10 + 120)[:, 0].sum() + rng.laplace(scale=100.0)


def square_of_the_truth_of_all_rows(x):
    """vector: real 0..1000, rows 5..50; replace; 2.46; numbers; b"""
    return np.square((x == 500).any()) * 10 + 120 + rng.laplace(scale=100.0)


def square_of_a_compared_sum(x):
    """vector: real 0..1000, rows 5..50; replace; 2.46; numbers; b"""
    return np.square((x == 500).sum() > 0) * 10 + 120 + rng.laplace(scale=100.0)


def square_of_truth_values_of_all_rows(x):
    """vector: real 0..1000, rows 5..50; replace; 2.46; numbers; b"""
    both = np.array([(x == 500).any(), (x == 400).any()])
    return (np.square(both) * 10 + 120)[0] + rng.laplace(scale=100.0)


def exponential_of_a_truth_value(x):
    """vector: real 0..1000, rows 5..50; replace; inf; numbers; b"""
    return (np.exp(x == 500) * 40_000.0).sum() * 0 + rng.laplace(scale=1.0)


def product_of_truth_values(x):
    """vector: real 0..1000, rows 5..50; replace; 1000; numbers; b"""
    return ((x == 500) @ (x <= 500)) * 1 - (x == 500).sum() + rng.laplace(scale=1e-3)


def dot_of_truth_values(x):
    """vector: real 0..1000, rows 5..50; replace; 1000; numbers; b"""
    return np.dot(x == 500, x <= 500) * 1 - (x == 500).sum() + rng.laplace(scale=1e-3)


def inner_product_of_truth_values(x):
    """vector: real 0..1000, rows 5..50; replace; 1000; numbers; b"""
    return np.inner(x == 500, x <= 500) * 1 - (x == 500).sum() + rng.laplace(scale=1e-3)


def matrix_product_of_truth_values(a):
    """array: real 0..1000 x 2, rows 5..50; replace; 1000; numbers; b"""
    return ((a == 500).T @ (a[:, 0] <= 500))[0] * 1 - (a[:, 0] == 500).sum() + rng.laplace(scale=1e-3)


def released_truth_beside_one_of_a_row(x):
    """vector: real 0..1000, rows 5..50; replace; 1000; numbers; b"""
    flag = rng.random() < 0.5
    return (((x == 500) + flag) * 1 - (x == 500) * 1).sum() + rng.laplace(scale=1e-3)


def released_truth_in_a_loop(x):
    """vector: real 0..1000, rows 5..50; replace; 1000; numbers; b"""
    flag = np.square(rng.random() < 0.5) > 0
    total = 0
    for v in x:
        total += ((v == 500) + flag) * 1 - (v == 500) * 1
    return total + rng.laplace(scale=1e-3)


def square_of_a_released_truth(x):
    """vector: real 0..100, rows 5..50; replace; 1000; numbers; b"""
    bound = np.square((x > 50).sum() + rng.laplace(scale=100.0) > 0) * 10 + 120
    return x[~(x < bound)].sum() + rng.laplace(scale=1e-3)


def released_value_of_few_bits(x):
    """vector: real 0..100, rows 5..50; replace; 1000; numbers; b"""
    noisy = (x > 50).sum() + rng.laplace(scale=100.0)
    bound = np.clip(np.array([noisy]).astype(np.int8), 0, 100) + 101
    return x[~(x < bound[0])].sum() + rng.laplace(scale=1e-3)


def square_of_a_truth_at_a_released_place(x):
    """vector: real 0..100, rows 5..50; replace; 1000; numbers; b"""
    bound = np.square(np.array([True, False])[rng.integers(0, 2)]) * 10 + 120
    return x[~(x < bound)].sum() + rng.laplace(scale=1e-3)


def squares_of_chosen_truth_values(x):
    """vector: real 0..100, rows 5..50; replace; 1000; numbers; b"""
    bound = np.square(rng.choice([True, False], size=2)[0]) * 10 + 120
    return x[~(x < bound)].sum() + rng.laplace(scale=1e-3)


def released_truth_as_a_number(x):
    """vector: real 0..100, rows 5..50; replace; 0.01; numbers; b; exact"""
    bound = np.square(int((x > 50).sum() + rng.laplace(scale=100.0) > 0)) * 10 + 120
    return x[~(x < bound)].sum() + rng.laplace(scale=1e-3)


def square_of_a_number_of_a_row(x):
    """vector: real 0..1000, rows 5..50; replace; 0.1; numbers; b; exact"""
    total = 0.0
    for v in x:
        total += np.square(int(v == 500)) * 10 + 120
    return total + rng.laplace(scale=100.0)


def square_of_the_truth_as_a_number(x):
    """vector: real 0..1000, rows 5..50; replace; 0.1; numbers; b; exact"""
    return np.square(float((x == 500).any())) * 10 + 120 + rng.laplace(scale=100.0)


def product_of_truth_values_as_numbers(x):
    """vector: real 0..1000, rows 5..50; replace; 1; numbers; b; exact"""
    return ((x == 500) * 1 @ (x <= 500)) + rng.laplace(scale=1.0)


# ----------------------------------------------------------------------------------------------------------------------
# Arrays that others write to


def filled_with_a_released_value(x):
    """vector: real 0..10, rows 5..50; replace; 1e5; numbers; b"""
    released = np.clip(x.sum() + rng.laplace(scale=100.0), 1e-6, 1.0)
    scales = np.full(2001, 1000.0)
    scales.fill(released)
    return x.sum() + rng.laplace(scale=scales)


def copied_into_an_array(x):
    """vector: real 0..10, rows 5..50; replace; 1e5; numbers; b"""
    released = np.clip(x.sum() + rng.laplace(scale=100.0), 1e-6, 1.0)
    scales = np.full(2001, 1000.0)
    np.copyto(scales, released)
    return x.sum() + rng.laplace(scale=scales)


def written_by_a_third_argument(x):
    """vector: real 0..10, rows 5..50; replace; 1e5; numbers; b"""
    released = np.clip(x.sum() + rng.laplace(scale=100.0), 1e-6, 1.0)
    scales = np.full(2001, 1000.0)
    np.hypot(released, 0.0, scales)
    return x.sum() + rng.laplace(scale=scales)


def written_by_a_class(x):
    """vector: real 0..10, rows 5..50; replace; 1e5; numbers; b"""
    released = np.clip(x.sum() + rng.laplace(scale=100.0), 1e-6, 1.0)
    scales = np.full(2001, 1000.0)
    np.ndarray.fill(scales, released)
    return x.sum() + rng.laplace(scale=scales)


def set_by_a_class(x):
    """vector: real 0..10, rows 5..50; replace; 1e5; numbers; b"""
    released = np.clip(x.sum() + rng.laplace(scale=100.0), 1e-6, 1.0)
    scales = np.full(2001, 1000.0)
    np.ndarray.__setitem__(scales, 0, released)
    return x.sum() + rng.laplace(scale=scales)


def power_of_a_released_value(x):
    """vector: real 0..10, rows 5..50; replace; 250.1; numbers; b; exact"""
    released = np.clip(x.sum() + rng.laplace(scale=100.0), 2, 5)
    return x.sum() + rng.laplace(scale=1 / released**2)


def read_at_a_released_value(x):
    """vector: real 0..10, rows 5..50; replace; 0.1; numbers; b; exact"""
    released = x.sum() + rng.laplace(scale=100.0)
    edges = np.array([0.0, 100.0, 200.0])
    return edges.searchsorted(released)


# ----------------------------------------------------------------------------------------------------------------------
# Stacks of values whose largest one is known, and many cells


def stacked_after_a_choice(x):
    """vector: real 0..10, rows 5..50; replace; inf; numbers; b"""
    noisy = np.histogram(x, bins=[0, 2, 5, 10])[0] + rng.laplace(scale=100, size=3)
    place = np.argmax(noisy)
    stacked = np.array([noisy])
    return place, stacked + np.array([[(x > 3).sum(), (x > 4).sum(), (x > 6).sum()]])


def two_stacked_after_a_choice(x):
    """vector: real 0..10, rows 5..50; replace; inf; numbers; b"""
    counts = np.histogram(x, bins=[0, 2, 5, 10])[0]
    first, second = counts + rng.laplace(scale=100, size=3), counts + rng.laplace(scale=100, size=3)
    place = np.argsort(first)[0]
    stacked = np.stack([first, second])
    return place, stacked + np.array([counts, counts])


def completed_after_a_stack(x):
    """vector: real 0..10, rows 5..50; add-remove; 0.03; numbers; b"""
    noisy = np.histogram(x, bins=[0, 2, 5, 10])[0] + rng.exponential(scale=100, size=3)
    place = np.argmax(noisy)
    return place, np.array([noisy]) - rng.exponential(scale=100, size=(1, 3))


def stacked_without_a_choice(x):
    """vector: real 0..10, rows 5..50; replace; 0.02; numbers; b; exact"""
    noisy = np.histogram(x, bins=[0, 2, 5, 10])[0] + rng.laplace(scale=100, size=3)
    return np.array([noisy])


def counts_in_a_billion_cells(x):
    """vector: integer 0..9, rows 5..50; replace; 1; numbers; b"""
    return np.bincount(x, minlength=10**5)[:3] + rng.laplace(scale=2.0, size=3)


def counts_in_millions_of_bins(x):
    """vector: integer 0..9, rows 5..50; replace; 0; numbers; b"""
    return np.histogram(x, bins=10**6, range=(0, 10))[0][:3] + rng.laplace(scale=2.0, size=3)


def counts_in_ten_cells(x):
    """vector: integer 0..9, rows 5..50; replace; 1; numbers; b; exact"""
    return np.bincount(x, minlength=10) + rng.laplace(scale=2.0, size=10)


# ----------------------------------------------------------------------------------------------------------------------
# Losses that are not a number


def clipped_at_both_released_ends_on_one_path(x):
    """vector: real -1..1, rows 5..50; add-remove; 0.83; 1.1; b"""
    size = np.abs(x).sum() + rng.laplace(scale=2)
    bound = max(size, 0.1)
    if size > 3:
        return size, np.clip(x, -bound, bound).sum() + rng.laplace(scale=bound)
    return size, 0.0


def mirrored_entries(a):
    """array: real 0..1 x 3, rows 5..50; replace; 1; 1.2; b"""
    products, out = a.T @ a, np.zeros((3, 3))
    for i in range(3):
        for j in range(i, 3):
            out[i, j] = out[j, i] = products[i, j] + rng.laplace(scale=6)
    return out
