"""State that a loop changes out of sight, texts and outputs of objects that hold data, contexts that catch."""

import logging
import operator
import types
import warnings
from collections import defaultdict, UserDict
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np

rng = np.random.default_rng()
__seen = defaultdict(int)


@dataclass(slots=True)
class Slots:
    counts: dict = field(default_factory=lambda: defaultdict(int))
    bar: int = 37


@dataclass
class Box:
    held: object


class Counts:
    def __init__(self):
        self.seen = defaultdict(int)
        self.start = 0

    def add(self, v):
        if v != 37:
            self.seen["other"] += 1

    def result(self):
        return len(self.seen)

    @cached_property
    def first(self):
        return self.start


class Number(np.float64):
    pass


class Hidden:
    def __init__(self, held):
        self.__dict__["held"] = held

    held = property(lambda self: 0.0)


class quiet_errstate:
    def __enter__(self):
        return self

    def __exit__(self, *reasons):
        return True


def slots_of_an_object(x):
    """list: integer 18..90, rows 5..50; replace; inf; 1.23; b"""
    found = Slots()
    for v in x:
        if v != 37:
            found.counts["other"] += 1
    return len(found.counts)


def slots_that_stay(x):
    """list: integer 18..90, rows 5..50; replace; 1; 1.23; b; exact"""
    given = Slots()
    total = 0
    for v in x:
        if v != given.bar:
            total += 1
    return total + rng.laplace(scale=1.0)


def a_mapping_that_is_no_dict(x):
    """list: integer 18..90, rows 5..50; replace; inf; 1.23; b"""
    found = UserDict({"a": 0})
    for v in x:
        if v != 37:
            operator.setitem(found, "a", 1)
    return found["a"]


def a_view_of_a_dict(x):
    """list: integer 18..90, rows 5..50; replace; inf; 1.23; b"""
    found = types.MappingProxyType({"a": [0]})
    for v in x:
        if v != 37:
            operator.setitem(found["a"], 0, 1)
    return found["a"][0]


def nested_eight_deep(x):
    """list: integer 18..90, rows 5..50; replace; inf; 1.23; b"""
    found = [[[[[[[[0]]]]]]]]
    for v in x:
        if v != 37:
            operator.setitem(found[0][0][0][0][0][0][0], 0, 1)
    return found[0][0][0][0][0][0][0][0]


def a_private_name_of_the_module(x):
    """list: integer 18..90, rows 5..50; replace; inf; 1.23; b"""
    for v in x:
        if v != 37:
            __seen["other"]
    return len(__seen)


def held_by_a_bound_method(x):
    """list: integer 18..90, rows 5..50; replace; inf; 1.23; b"""
    made = Counts()
    add, result = made.add, made.result
    del made
    for v in x:
        add(v)
    return result()


def class_made_in_the_function(x):
    """list: integer 18..90, rows 5..50; replace; inf; 1.23; b"""

    class Own:
        seen = defaultdict(int)  # noqa: RUF012 - what is tried

    own = Own()
    for v in x:
        if v != 37:
            own.seen["other"]
    return len(own.seen)


def cached_in_the_loop(x):
    """list: integer 18..90, rows 5..50; replace; inf; 1.23; b"""
    made = Counts()
    nothing = sum([made.first if v != 37 else 0 for v in x])
    made.start = 1
    return made.first + 0 * nothing


def cached_before_the_loop(x):
    """list: integer 18..90, rows 5..50; replace; 72; 1.23; b; exact"""
    made = Counts()
    first = made.first
    return sum([v - first for v in x]) + rng.laplace(scale=1.0)


def held_by_a_slice_and_an_exception(x):
    """list: integer 18..90, rows 5..50; replace; inf; 1.23; b"""
    found = [slice([0], None), ValueError([0])]
    for v in x:
        if v != 37:
            operator.setitem(found[0].start, 0, 1)
    return found[0].start[0]


def texts_in_a_set(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.14; b"""
    return set(map(str, [Box(x.sum())]))


def text_of_a_public_object(x):
    """vector: real 0..10, rows 5..50; replace; 1; 1.14; b; exact"""
    return {"of": str(Box(3)), "sum": x.sum() + rng.laplace(scale=10.0)}


def printed_object(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.14; b"""
    print(Box(x.sum()))
    return rng.laplace()


def logged_object(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.14; b"""
    logging.getLogger("twins").debug("%s", Box(x.sum()))
    return x.sum() + rng.laplace(scale=10.0)


def printed_and_logged_facts(x):
    """vector: real 0..10, rows 5..50; replace; 1; 1.14; b; exact"""
    print(Box(3))
    logging.getLogger("twins").debug("%s", Box(3))
    return x.sum() + rng.laplace(scale=10.0)


def _only_37(v):
    if v != 37:
        raise ValueError
    return 1.0


def caught_by_another_name(x):
    """list: integer 18..90, rows 5..50; replace; inf; 1.21; b"""
    found = 0
    with quiet_errstate():
        sum([_only_37(v) for v in x])
        found = 1
    return found


def silenced(x):
    """vector: real 0..10, rows 5..50; replace; 1; 1.21; b; exact"""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        total = x.sum()
    return total + rng.laplace(scale=10.0)


def given_for_missing_keys(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.14; b"""
    return defaultdict(lambda: x.sum())


def given_for_missing_keys_by_a_partial(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.14; b"""
    return defaultdict(partial(lambda box: box.held, Box(x.sum())), a=1)


def nothing_for_missing_keys(x):
    """vector: real 0..10, rows 5..50; replace; 1; 1.14; b; exact"""
    found = defaultdict(int)
    found["a"] = x.sum() + rng.laplace(scale=10.0)
    return found


def beside_a_number(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.14; b"""
    found = Number(0.0)
    found.total = x.sum()
    return found


def behind_a_property(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.14; b"""
    return Hidden(x.sum())


def an_object_of_noisy_values(x):
    """vector: real 0..10, rows 5..50; replace; 1; 1.14; b; exact"""
    return Box([x.sum() + rng.laplace(scale=10.0)])
