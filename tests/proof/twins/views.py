"""Arrays that share memory, and data in lists, slices and texts that a library is handed."""

import itertools

import numpy as np
import pandas as pd

rng = np.random.default_rng()
NUMBERS = iter(range(100))


# ----------------------------------------------------------------------------------------------------------------------
# A view of rows is changed in place


def copied_rows_are_doubled(x):
    """vector: real -4..4, rows 6; replace; 16; 3 in place; b; exact"""
    y = x.copy()
    y *= 2
    return y.sum() + rng.laplace()


def clipped_rows_are_moved(x):
    """vector: real -4..4, rows 6; replace; 1; 3 in place; b; exact"""
    y = np.clip(x, 0, 1)
    y -= 1
    return y.sum() + rng.laplace()


def first_rows_are_scaled(x):
    """vector: real -4..4, rows 6; replace; 40; 3 in place; b"""
    y = x[:3]
    y *= 5
    return x.sum() + rng.laplace()


def first_row_is_set(x):
    """vector: real -4..4, rows 6; replace; 8; 3 in place; b"""
    y = x[:3]
    y[0] = 50
    return x.sum() + rng.laplace()


def rows_from_behind_are_scaled(x):
    """vector: real -4..4, rows 6; replace; 40; 3 in place; b"""
    y = x[::-1]
    np.multiply(y, 5, out=y)
    return x.sum() + rng.laplace()


def rows_of_another_kind_are_scaled(x):
    """vector: real -4..4, rows 6; replace; 40; 3 in place; b"""
    y = np.asarray(x, dtype=float)
    y *= 5
    return x.sum() + rng.laplace()


def rows_that_are_not_copied_are_scaled(x):
    """vector: real -4..4, rows 6; replace; 40; 3 in place; b"""
    y = x.astype(float, copy=False)
    y *= 5
    return x.sum() + rng.laplace()


def squeezed_rows_are_scaled(x):
    """vector: real -4..4, rows 6; replace; 40; 3 in place; b"""
    y = np.squeeze(x)
    y *= 5
    return x.sum() + rng.laplace()


def rows_under_a_view_are_scaled(x):
    """vector: real -4..4, rows 6; replace; 80; 3 in place; b"""
    y = x[:]
    x *= 10
    return y.sum() + rng.laplace()


def column_is_scaled(x):
    """array: real -4..4 x 2, rows 5..6; replace; 48; 3 in place; b"""
    y = x[:, 0]
    y *= 5
    return x.sum(axis=0) + rng.laplace(size=2)


def one_of_two_columns_is_scaled(x):
    """array: real -4..4 x 2, rows 5..6; replace; 56; 3 in place; b"""
    y, z = x[:, 1], x[:, 1]
    y *= 7
    return z.sum() + rng.laplace()


def rows_are_scaled_one_by_one(x):
    """array: real -4..4 x 2, rows 5..6; replace; 80; 3 in place; b"""
    for row in x:
        row *= 5
    return x.sum(axis=0) + rng.laplace(size=2)


def part_is_scaled_by_a_function(x):
    """array: real -4..4 x 2, rows 5..6; replace; 160; 3 in place; b"""
    _scale(x[2:])
    return x.sum(axis=0) + rng.laplace(size=2)


def _scale(part):
    part *= 10


# ----------------------------------------------------------------------------------------------------------------------
# Data that a library is handed in a container


def permutation_of_a_list(x):
    """vector: real 0..1, rows 5..50; replace; inf; 3 outputs; b"""
    return rng.permutation([x.sum(), 1.0])


def permutation_of_a_noisy_list(x):
    """vector: real 0..1, rows 5..50; replace; 1; 3 outputs; b"""
    return rng.permutation([x.sum() + rng.laplace()])


def place_of_a_list(x):
    """vector: integer 0..1, rows 5..50; replace; inf; 3 outputs; b"""
    return np.digitize([x.sum()], [3])


def place_among_data(x):
    """vector: integer 0..1, rows 5..50; replace; inf; 3 outputs; b"""
    return np.searchsorted([0, x.sum()], 4)


def range_of_data(x):
    """vector: integer 0..1, rows 5..50; replace; inf; 3 outputs; b"""
    return rng.integers([0], [x.sum() + 1])


def text_of_a_list(x):
    """vector: integer 0..1, rows 5..50; replace; inf; 3 outputs; b"""
    return "%s" % [x.sum()]


def length_of_a_repeated_list(x):
    """vector: integer 0..1, rows 5..50; replace; inf; 3 outputs; b"""
    return len([1] * x.sum())


def first_entries_of_a_list(x):
    """vector: integer 0..1, rows 5..50; replace; inf; 3 outputs; b"""
    return [1, 2, 3][: x.sum()]


def first_entries_of_an_array(x):
    """vector: integer 0..1, rows 5..50; add-remove; inf; 3 outputs; b"""
    return np.arange(60)[: len(x)]


def sum_of_first_entries(x):
    """vector: integer 0..1, rows 5..50; replace; 49; 3 outputs; b"""
    return np.arange(100)[: x.sum()].sum() + rng.laplace()


def first_entries_of_a_series(x):
    """vector: integer 0..1, rows 5..50; replace; inf; 3 outputs; b"""
    return len(pd.Series(range(60)).iloc[: x.sum()])


# ----------------------------------------------------------------------------------------------------------------------
# Outputs that show more than their value


class Answer(str):
    """A text that does not show what it is."""

    def __repr__(self):
        return "answer"


class Count(int):
    """A number with a name."""


class Empty(list):
    """A list that says that it is empty."""

    __slots__ = ("kept",)

    def __iter__(self):
        return iter([])

    def __len__(self):
        return 0


def list_that_hides(answer):
    """value: category yes|no; replace; inf; 3 laws; b"""
    return Empty([answer])


def list_with_a_slot(x):
    """vector: real 0..1, rows 5..50; replace; inf; 3 outputs; b"""
    found = Empty()
    found.kept = x.sum()
    return found


def answer_that_hides(answer):
    """value: category yes|no; replace; inf; 3 laws; b"""
    return Answer(answer)


def count_that_hides(answer):
    """value: category yes|no; replace; inf; 3 laws; b"""
    return Count(1 if answer == "yes" else 2)


def answer_in_an_attribute(answer):
    """value: category yes|no; replace; inf; 3 laws; b"""
    found = Answer("x")
    found.secret = answer
    return found


def answer_in_a_warning(answer):
    """value: category yes|no; replace; inf; 3 laws; b"""
    return int(np.log(0 if answer == "yes" else 1) < 5)


def answer_in_what_is_left(answer):
    """value: category yes|no; replace; inf; 3 laws; b"""
    if answer == "yes":
        next(NUMBERS)
    return 0


def answer_in_what_a_default_has_left(answer, numbers=itertools.count()):  # noqa: B008
    """value: category yes|no; replace; inf; 3 laws; b"""
    if answer == "yes":
        next(numbers)
    return 0


def answer_in_the_order_of_memory(answer):
    """value: category yes|no; replace; inf; 3 laws; b"""
    return np.zeros((2, 2), order="F" if answer == "yes" else "C")
