"""Programs that look at what a value is, leave data behind or hide them in what they return."""

import collections
import contextlib
import functools
import math

import numpy as np
import pandas as pd

rng = np.random.default_rng()
KEPT = np.zeros(3)
ITERATOR = iter([10.0, 1e-9])


class Basket(list):
    """A list that takes attributes."""


BASKET = Basket()


class Held:
    """An object that takes attributes."""


def truth_of_data_by_identity(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 identity; a"""
    big = bool(x.sum() > 20)
    return 1 if big is True else 0


def scale_by_the_identity_of_data(x):
    """vector: real 0..10, rows 5..50; replace; 1; 3 identity; a"""
    big = x.max() > 9
    return x.sum() + rng.laplace(scale=10 if big is True else 20)


def none_among_the_choices(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 identity; a"""
    best = ["a", None][int(np.argmax(np.array([x.sum(), 5]) + rng.laplace(scale=10, size=2)))]
    return x.sum() if best is None else best


def none_by_default(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 identity; a"""
    y = x.sum() + rng.laplace(scale=10)
    first = next((k for k in range(3) if k > y), None)
    return x.sum() if first is None else y


def type_of_a_released_value(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 identity; a"""
    y = float(x.sum() + rng.laplace(scale=10))
    return x.sum() if type(y) is float else y


def class_of_a_released_value(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 identity; a"""
    y = float(x.sum() + rng.laplace(scale=10))
    return x.sum() if y.__class__ is float else y


def data_where_a_logarithm_fails(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.22; a"""
    y = x.sum() + rng.laplace(scale=10)
    try:
        return math.log(y)
    except ValueError:
        return x.sum()


def data_where_a_root_is_suppressed(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.22; a"""
    y = x.sum() + rng.laplace(scale=10)
    with contextlib.suppress(ValueError):
        return math.sqrt(y)
    return x.sum()


def data_where_an_index_fails(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.22; a"""
    at = rng.integers(0, 5)
    try:
        return [7, 8][at]
    except IndexError:
        return x.sum()


def data_by_default(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.22; a"""
    y = round(x.sum() + rng.laplace(scale=10))
    return {1: 2}.get(y, x.sum())


def data_of_a_missing_key(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.22; a"""
    y = round(x.sum() + rng.laplace(scale=10))
    return collections.defaultdict(lambda: x.sum(), {1: 2})[y]


def scale_of_an_iterator_of_the_module(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; a"""
    return x.sum() + rng.laplace(scale=next(ITERATOR))


def data_left_in_an_array(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; a"""
    KEPT[:] = x.sum()
    return 1


def data_left_in_an_attribute(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; a"""
    BASKET.total = x.sum()
    return 1


def data_left_in_a_library(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; a"""
    math.total = x.sum()
    return 1


def data_in_an_attribute_of_what_is_returned(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 outputs; a"""
    found = collections.OrderedDict(a=1)
    found.total = x.sum()
    return found


def data_in_a_set(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 outputs; a"""
    held = Held()
    held.total = x.sum()
    return {held}


def data_in_a_class(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 outputs; a"""

    class Found:
        total = x.sum()

    return Found


def data_behind_a_series(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 in place; a"""
    a = np.zeros(2)
    shown = pd.Series(a, copy=False)
    a[0] = x.sum()
    return shown.tolist()


def data_behind_a_partial(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 in place; a"""
    a = np.zeros(2)
    shown = functools.partial(np.copy, a)
    a[0] = x.sum()
    return shown()


def data_that_a_map_reads_later(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 in place; a"""
    values = [0, 0]
    shown = map(lambda v: v, values)
    values[0] = x.sum()
    return list(shown)
