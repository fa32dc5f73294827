"""What a rewritten program could do in another order, in another scope or at another time than Python."""

import contextvars
import functools
import statistics

import numpy as np

rng = np.random.default_rng()
SCALE = contextvars.ContextVar("scale", default=1.0)
NOISE = functools.partial(rng.laplace, scale=1.0)
WIDTH = 1.0


class Settings:
    """A class whose own name is that of the module."""

    WIDTH = 0.1
    width = WIDTH if True else 2.0


def _count(x):
    return (x > 50).sum()


def walrus_in_a_comprehension(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3 scope; b"""
    last = 0.0
    [(last := each) for each in x]
    return last


def walrus_in_an_and(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3 scope; b"""
    found = 0
    True and (found := _count(x))
    return found


def walrus_of_a_scale(x):
    """vector: real 0..100, rows 5..50; replace; 10; 3 scope; b"""
    scale = 1.0
    [(scale := each) for each in (1.0, 0.1)]
    return _count(x) + rng.laplace(scale=scale)


def walrus_in_a_condition(x):
    """vector: real 0..100, rows 5..50; replace; 1; 3 scope; b; exact"""
    if (size := len(x)) > 3:
        return _count(x) / size + rng.laplace(scale=1 / size)
    return 0


def generator_that_is_read_later(x):
    """vector: real 0..100, rows 5..50; replace; 10; 3 scope; b"""
    factor = 1
    values = (factor * (each > 50) for each in x)
    factor = 10
    return sum(values) + rng.laplace()


def map_that_is_read_later(x):
    """vector: real 0..100, rows 5..50; replace; 10; 3 scope; b"""
    factor = [1]
    values = map(lambda each: factor[0] * (each > 50), x)
    factor[0] = 10
    return sum(values) + rng.laplace()


def map_that_a_loop_reads(x):
    """vector: real 0..100, rows 5..50; replace; 10; 3 scope; b"""
    factor, total = 1, 0
    for each in map(lambda v: factor * (v > 50), x):
        factor = 10
        total += each
    return total + rng.laplace()


def filter_that_nobody_reads(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3 scope; b"""
    found = [_count(x)]
    filter(lambda each: found.clear(), (1, 2))
    return found


def closures_of_a_comprehension(x):
    """vector: real 0..100, rows 5..50; replace; 10; 3 scope; b"""
    parts = [lambda: ((x >= low) & (x < low + 20)).sum() + rng.laplace() for low in range(0, 100, 10)]  # noqa: B023
    return [each() for each in parts]


def name_of_a_class(x):
    """vector: real 0..100, rows 5..50; replace; 10; 3 scope; b"""
    return _count(x) + rng.laplace(scale=Settings.width)


def name_of_an_inner_class(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3 scope; b"""

    class Found:
        WIDTH = _count(x)
        width = True and WIDTH

    return Found.width


def name_of_a_class_in_a_default(x):
    """vector: real 0..100, rows 5..50; replace; 10; 3 scope; b"""
    scale = 1.0

    class Sampler:
        scale = 0.1

        def draw(self, given=scale if len(x) else 1.0):  # noqa: B008
            return rng.laplace(scale=given)

    return scale * _count(x) + Sampler().draw()


def yield_in_an_and(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3 scope; b"""
    yield _count(x) + rng.laplace()
    True and (yield _count(x))


def names_in_an_and(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3 scope; b"""
    found = _count(x)
    return True and locals().get("found", 0)


def entry_that_is_read_first(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3 scope; b"""
    found = [_count(x), 0]

    def clear():
        found[0] = 0
        return 0

    found[0] += clear()
    return found


def value_that_is_read_first(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3 scope; b"""
    found = {"a": _count(x)}

    def cleared():
        found["a"] = 0
        return "b"

    found[cleared()] = found["a"]
    return found


def scale_that_outlives(x):
    """vector: real 0..100, rows 5..50; replace; 10; 3 scope; b"""
    found = _count(x) + rng.laplace(scale=SCALE.get())
    SCALE.set(0.1)
    return found


def option_that_outlives(x):
    """vector: real 0..100, rows 5..50; replace; 10; 3 scope; b"""
    found = _count(x) + NOISE()
    NOISE.keywords["scale"] = 0.1
    return found


# ----------------------------------------------------------------------------------------------------------------------
# Arguments that mean something else than they seem


def deviation_from_a_centre(x):
    """vector: real 0..100, rows 3..6; replace; 55.7; 3 arguments; b"""
    return statistics.pstdev(x, 2) + rng.laplace()


def mean_of_whole_numbers(x):
    """vector: integer 0..4, rows 3..6; replace; 1; 3 arguments; b"""
    return statistics.mean((x > 2) * 1) + rng.laplace()


def axis_of_data(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3 arguments; b"""
    return np.max(x.sum(), (x > 50).sum()) + rng.laplace(scale=1000.0)


def entries_that_are_not_0(x):
    """array: real -1..1 x 3, rows 5..50; replace; 3; 3 arguments; b; exact"""
    return np.count_nonzero(x) + rng.laplace()


def any_of_columns(x):
    """array: real -1..1 x 3, rows 5..50; replace; inf; 3 arguments; b"""
    return np.any(x > 0, axis=0) + rng.laplace()


def result_that_is_handed_over(x):
    """array: real -1..1 x 3, rows 5..50; replace; inf; 3 arguments; b"""
    found = np.zeros(3)
    np.sum(x, 0, None, found)
    return found


def length_of_repeated_rows(x):
    """list: integer 0..4, rows 5..50; replace; 4; 3 arguments; b"""
    return sum(len([0] * each) for each in x) + rng.laplace()


def whole_numbers_as_places(x):
    """vector: real 0..100, rows 5..6; replace; 500; 3 arguments; b"""
    return x[[int(each > 50) for each in x]].sum() + rng.laplace()


def labels_as_places(x):
    """frame: a real 0..10, b integer 0..4, rows 5..6; replace; 50; 3 arguments; b"""
    return x.loc[x.b].a.sum() + rng.laplace()


def count_of_columns(x):
    """frame: a real 0..10, b integer 0..4, rows 5..6; add-remove; 2; 3 arguments; b"""
    return x.count().sum() + rng.laplace()
