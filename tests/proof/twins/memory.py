"""Two names for one array, arrays that are filled with data later, containers that a loop over rows changes."""

import numpy as np

rng = np.random.default_rng()


def released_beside_a_noisy_copy(x):
    """vector: integer 0..3, rows 5..20; replace; inf; 3 in place; a"""
    h = np.bincount(x, minlength=4)
    g = h.astype(float)
    g += rng.laplace(scale=2.0, size=4)
    return h


def released_beside_a_rounded_copy(x):
    """vector: integer 0..3, rows 5..20; replace; inf; 3 in place; a"""
    h = np.bincount(x, minlength=4)
    g = np.round(h)
    g = g + 0.0
    g += rng.laplace(scale=2.0, size=4)
    return h


def written_through_another_name(x):
    """vector: integer 0..3, rows 5..20; replace; 1e6; 3 in place; a"""
    h = np.bincount(x, minlength=4)
    g = np.asarray(h)
    g[0] = 1_000_000 * x.sum()
    return h + rng.laplace(scale=2.0, size=4)


def filled_later_and_joined(x):
    """vector: integer 0..3, rows 5..20; replace; inf; 3 in place; a"""
    h = np.zeros(2)
    parts = [h]
    h[0] = x.sum()
    return np.concatenate(parts)


def filled_later_and_summed_by_a_method(x):
    """vector: integer 0..3, rows 5..20; replace; inf; 3 in place; a"""
    h = np.zeros(2)
    total = h.sum
    h[0] = x.sum()
    return total()


def filled_later_in_a_dict(x):
    """vector: integer 0..3, rows 5..20; replace; inf; 3 in place; a"""
    h = np.zeros(2)
    parts = {"a": h}
    h[0] = x.sum()
    return sum(parts.values())


def counted_by_a_function_of_the_row(x):
    """list: integer 0..3, rows 5..20; replace; 3000; 1.23; a"""
    seen = {"total": 0}

    def look(v):
        seen["total"] += v
        return 0.0

    nothing = sum(look(v) for v in x)
    return seen["total"] + nothing + rng.laplace(scale=0.001)


def divided_by_the_length_of_a_list_of_this_row(x):
    """list: integer 0..3, rows 5..5; replace; 5; 1.23; a"""
    total = 0.0
    for v in x:
        mine = []
        mine.append(v)
        total += v / len(mine)
    return total + rng.laplace(scale=0.6)


def noise_of_scale_zero(x):
    """vector: integer 0..3, rows 5..20; replace; inf; 1.14; a"""
    return x.sum() + rng.laplace(scale=0 * len(x))


def order_taken_away(x):
    """vector: integer 0..3, rows 5..5; replace; 30; 1.24; a"""
    p = rng.permutation(x)
    return (x * p).sum() - (x * x).sum() + (x * x).sum() / 1.0 - (p * x).sum() + x.sum() + rng.laplace(scale=0.1)
