"""Enumerated laws of programs that ask which object a value is: a caller may share equal texts, or copy them."""

import functools
import itertools
import operator

import numpy as np

YES = "yes"
NOTHING = object()
OWN = np.random.default_rng()
SAME = [operator.is_]


def is_this_text(x):
    """value: category yes|no; replace; inf; N15; later"""
    return x is YES


def is_not_this_text(x):
    """value: category yes|no; replace; inf; N15; later"""
    return "no" if x is not YES else "yes"


def is_by_operator(x):
    """value: category yes|no; replace; inf; N15; later"""
    return operator.is_(x, YES)


def is_by_a_list(x):
    """value: category yes|no; replace; inf; N15; later"""
    return SAME[0](x, YES)


def is_by_map(x):
    """value: category yes|no; replace; inf; N15; later"""
    return any(map(operator.is_, [x], [YES]))


def is_by_partial(x):
    """value: category yes|no; replace; inf; N15; later"""
    return functools.partial(operator.is_not, x)(YES)


def is_by_starmap(x):
    """value: category yes|no; replace; inf; N15; later"""
    return list(itertools.starmap(SAME[0], [(x, YES)]))


def is_or_a_coin(x):
    """value: category yes|no; replace; inf; N15; later"""
    return x is YES or OWN.random() < 0.5


def same_rows(rows):
    """list: category yes|no, rows 2..3; replace; inf; N15; later"""
    return any(a == b and a is not b for a, b in itertools.combinations(rows, 2))


def counted(rows):
    """list: category yes|no, rows 2..3; replace; inf; N15; later"""
    return sum(1 for each in rows if each is YES)


def of_records(rows):
    """records: group category yes|no, rows 2; replace; inf; N15; later"""
    return [row["group"] is YES for row in rows]


def large_number(x):
    """value: category 300|301; replace; inf; N15; later"""
    return x is 300 + len("")


def one_list_twice(x):
    """value: category yes|no; replace; inf; N15; later"""
    part = [1]
    return [part, part] if x == "yes" else [[1], [1]]


def two_names_of_one_dict(x):
    """value: category yes|no; replace; inf; N15; later"""
    part = {}
    return (part, part if x == "yes" else {})


def is_nothing(x):
    """value: category yes|no; replace; log(3); N15; later; exact"""
    seen = NOTHING if x is None else x
    flip = OWN.random() < 0.25
    return seen is NOTHING or (seen == "yes") != flip


def is_true(x):
    """value: category True|False; replace; log(3); N15; later; exact"""
    return (x is True) != (OWN.random() < 0.25)


def same_class(x):
    """value: category yes|no; replace; log(3); N15; later; exact"""
    return type(x) is str and (x == "yes") != (OWN.random() < 0.25)


def two_equal_lists(x):
    """value: category yes|no; replace; log(3); N15; later; exact"""
    told = (x == "yes") != (OWN.random() < 0.25)
    return [[told], [told]]
