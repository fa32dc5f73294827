"""Public operands whose classes have operators of their own: a rule for plain numbers does not say what they do."""

import enum

import numpy as np

rng = np.random.default_rng()


class Tripling(float):
    """A number that counts three times what is added to it."""

    def __add__(self, other):
        return float(self) + 3 * other

    def __radd__(self, other):
        return 3 * other + float(self)


class Silencing(float):
    """A number that makes what it meets vanish."""

    def __mul__(self, other):
        return 0 * other

    __rmul__ = __mul__


class Turned(tuple):
    """A collection that has what it has not."""

    def __contains__(self, value):
        return not super().__contains__(value)


class Steep(list):
    """A table that is steeper than it looks."""

    def __getitem__(self, place):
        return 100 * super().__getitem__(place)


class Larger(enum.IntEnum):
    ONE = 1

    def __radd__(self, other):
        return 30 * other


class Plain(enum.IntEnum):
    ONE = 1
    TWO = 2


class Louder(np.ndarray):
    """An array that multiplies by ten times its entries."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return getattr(ufunc, method)(*(10 * np.asarray(each) if each is self else each for each in inputs), **kwargs)


def starts_with_a_number_of_its_own(x):
    """list: real 0..1, rows 5; replace; 3; operands; b"""
    return Tripling(0) + sum(x) + rng.laplace(scale=1)


def noise_that_vanishes(x):
    """list: real 0..1, rows 5; replace; inf; operands; b"""
    return sum(x) + rng.laplace(scale=1) * Silencing(1)


def is_where_it_is_not(x):
    """list: integer 0..1, rows 5; replace; 5; operands; b"""
    return 5 * sum(v in Turned((0, 1, 2)) for v in x) + 5 * sum(x) + rng.laplace(scale=1)


def steeper_table(x):
    """vector: integer 0..2, rows 5; replace; 200; operands; b"""
    return sum(Steep([0, 1, 2])[v] for v in x) + rng.laplace(scale=1)


def member_with_an_operator(x):
    """list: real 0..1, rows 5; replace; 30; operands; b"""
    return sum(x) + Larger.ONE + rng.laplace(scale=1)


def array_with_an_operator(x):
    """vector: real 0..1, rows 5; replace; 10; operands; b"""
    return (x.sum() * np.ones(1).view(Louder))[0] + rng.laplace(scale=1)


def scale_with_an_operator(x):
    """vector: real 0..1, rows 5; replace; inf; operands; b"""
    return x.sum() + rng.laplace(scale=Silencing(1) * 1.0)


def plain_members(x):
    """list: integer 0..2, rows 5..9; replace; 1; operands; b; exact"""
    return sum(1 for v in x if v == Plain.TWO) + rng.laplace(scale=float(Plain.ONE))
