"""Generators that are released: who reads one may send, throw, change what it gave, and gets what it returns."""

import numpy as np

rng = np.random.default_rng()


class Catch:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return True


def two_sums(x):
    """vector: real 0..100, rows 5..50; replace; 1; 2; b; exact"""
    total = x.sum()
    yield total + rng.laplace(scale=200)
    yield total + rng.laplace(scale=200)


def counts_in_a_loop(x):
    """vector: real 0..100, rows 5..50; replace; 1; 2; b; exact"""
    for k in range(4):
        yield (x > 20 * k).sum() + rng.laplace(scale=4)


def counts_by_an_expression(x):
    """vector: real 0..100, rows 5..50; replace; 1; 2; b; exact"""
    return ((x > 20 * k).sum() + rng.laplace(scale=4) for k in range(4))


def a_list_of_a_generator(x):
    """vector: real 0..100, rows 5..50; replace; 1; 2; b; exact"""
    return list(counts_in_a_loop(x))


def a_generator_that_is_read_inside(x):
    """vector: real 0..100, rows 5..50; replace; 1; 2; b; exact"""

    def parts():
        yield (x > 10).sum()
        return 3

    return sum(each for each in parts()) + rng.laplace(scale=1)


def returned_beside(x):
    """vector: real 0..100, rows 5..50; replace; inf; 2; b"""
    yield x.sum() + rng.laplace(scale=100)
    return x.sum()


def returned_and_nothing_yielded(x):
    """vector: real 0..100, rows 5..50; replace; inf; 2; b"""
    if False:
        yield 0
    return x.sum()


def returned_by_an_inner_one(x):
    """vector: real 0..100, rows 5..50; replace; inf; 2; b"""
    return returned_and_nothing_yielded(x)


def within_a_list(x):
    """vector: real 0..100, rows 5..50; replace; inf; 2; b"""
    return [returned_and_nothing_yielded(x), 1]


def returned_after_others(x):
    """vector: real 0..100, rows 5..50; replace; inf; 2; b"""
    yield from [1, 2]
    return x


def yielded_when_sent(x):
    """vector: real 0..100, rows 5..50; replace; inf; 2; b"""
    t = yield x.sum() + rng.laplace(scale=100)
    if t is not None:
        yield x.sum()


def scale_that_is_sent(x):
    """vector: real 0..100, rows 5..50; replace; inf; 2; b"""
    k = yield 1
    yield x.sum() + rng.laplace(scale=k or 100)


def sent_into_a_walrus(x):
    """vector: real 0..100, rows 5..50; replace; inf; 2; b"""
    if (sent := (yield 1)) is not None and sent > 0:
        yield x.sum()


def yielded_when_thrown(x):
    """vector: real 0..100, rows 5..50; replace; inf; 2; b"""
    try:
        yield x.sum() + rng.laplace(scale=100)
    except ValueError:
        yield x.sum()


def list_that_is_kept(x):
    """vector: real 0..100, rows 5..50; replace; inf; 2; b"""
    k = [1.0]
    yield k
    yield x.sum() * k[0] + rng.laplace(scale=100)


def array_that_is_kept(x):
    """vector: real 0..100, rows 5..50; replace; inf; 2; b"""
    k = np.ones(1)
    yield k
    yield x.sum() * k[0] + rng.laplace(scale=100)


def list_within_a_new_one(x):
    """vector: real 0..100, rows 5..50; replace; inf; 2; b"""
    k = [1.0]
    yield [k, 2]
    yield x.sum() * k[0] + rng.laplace(scale=100)


def dict_within_a_new_one(x):
    """vector: real 0..100, rows 5..50; replace; inf; 2; b"""
    k = {"a": 1.0}
    yield {"k": k}
    yield x.sum() * k["a"] + rng.laplace(scale=100)


def list_beside_a_generator(x):
    """vector: real 0..100, rows 5..50; replace; inf; 2; b"""
    k = [1.0]
    return k, (x.sum() * k[0] + rng.laplace(scale=100) for _ in range(1))


def list_of_an_expression(x):
    """vector: real 0..100, rows 5..50; replace; inf; 2; b"""
    k = [1.0]
    return (k if i == 0 else x.sum() * k[0] + rng.laplace(scale=100) for i in range(2))


def list_of_an_inner_generator(x):
    """vector: real 0..100, rows 5..50; replace; inf; 2; b"""
    k = [1.0]

    def inner():
        yield k
        yield 2
        yield x.sum() * k[0] + rng.laplace(scale=100)

    yield from inner()


def list_of_a_map(x):
    """vector: real 0..100, rows 5..50; replace; inf; 2; b"""
    k = [1.0]
    yield from map(lambda i: k if i == 0 else x.sum() * k[0] + rng.laplace(scale=100), range(2))


def list_of_a_list(x):
    """vector: real 0..100, rows 5..50; replace; inf; 2; b"""
    k = [1.0]
    yield from [k]
    yield x.sum() * k[0] + rng.laplace(scale=100)
