"""Arrays that are read entry by entry while data are written into them: for a rare row, which no example has."""

import numpy as np

rng = np.random.default_rng()


def rare(values, at):
    return ((values > at / 7) & (values < at / 7 + 1e-7)).sum()


def expression_over_it(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3; b"""
    c = np.zeros(3)
    g = (e for e in c)
    c[0] = rare(x, 20)
    return list(g)


def flat_of_it(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3; b"""
    c = np.zeros(3)
    f = c.flat
    c[0] = rare(x, 20)
    return [e for e in f]


def memory_of_it(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3; b"""
    c = np.zeros(3)
    f = c.data
    c[0] = rare(x, 20)
    return f[0]


def generator_function_over_it(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3; b"""
    c = np.zeros(3)

    def it():
        for e in c:  # noqa: UP028
            yield e

    g = it()
    next(g)
    c[2] = rare(x, 20)
    return list(g)


def loop_that_writes(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3; b"""
    c = np.zeros(3)
    out = []
    for e in c:
        c[2] = rare(x, 20)
        out.append(e)
    return out


def expression_over_a_view(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3; b"""
    c = np.zeros(3)
    g = (e for e in c[1:])
    c[1] = rare(x, 20)
    return list(g)


def expression_and_all_raised(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3; b"""
    c = np.zeros(3)
    g = (e for e in c)
    c += rare(x, 20)
    return list(g)


def expression_and_one_raised(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3; b"""
    c = np.zeros(3)
    g = (e for e in c)
    c[1] += rare(x, 20)
    return list(g)


def data_in_a_loop_that_writes(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3; b"""
    c = np.zeros(3)
    c[0] = rare(x, 1)
    for e in c:
        c[1] = rare(x, 20)
        c[2] = e
    return c[2]


def counts_in_a_loop_that_writes(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3; b"""
    c = np.bincount((x > 3).astype(int), minlength=3).astype(float)
    s = []
    for e in c:
        c[1] = 0.0
        c[2] = rare(x, 20)
        s.append(e)
    return s[2]


def comprehension_that_writes(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3; b"""
    c = np.zeros(3)

    def put(e):
        c[1] = rare(x, 20)
        return e

    return [put(e) for e in c]


def dict_that_writes(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3; b"""
    c = np.zeros(3)

    def put(e):
        c[1] = rare(x, 20)
        return e

    return {i: put(e) for i, e in enumerate(c)}


def generator_over_noise_that_is_overwritten(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3; b"""
    n = (x > 50).sum() + rng.laplace(scale=1, size=2)
    for e in n:
        yield e * 1.0
        n[1] = rare(x, 50)


def read_before_noise_is_added(x):
    """vector: real 0..100, rows 5..50; replace; 1; 3; b; exact"""
    c = (x > 50).sum() + np.zeros(3)
    copied = [e for e in c]
    for e in c:
        copied.append(e)
    c += rng.laplace(scale=3, size=3)
    return c


def second(_, value):
    return value


def starred_in_a_list(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3; b"""
    c = np.zeros(2)
    c[1] = rare(x, 20)
    return [0.0, *c]


def starred_as_arguments(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3; b"""
    c = np.zeros(2)
    c[1] = (x > 50).sum()
    yield second(*c)


def starred_noise(x):
    """vector: real 0..100, rows 5..50; replace; 1; 3; b; exact"""
    n = np.array([(x > 10).sum(), (x > 20).sum()]) + rng.laplace(scale=2, size=2)
    return [*n, 1.0]


def iterator_of_noise_that_is_overwritten(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3; b"""
    n = (x > 50).sum() + rng.laplace(scale=1, size=2)
    g = iter(n)
    n[:] = x.sum()
    return next(g), next(g)


def map_of_noise_that_is_overwritten(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3; b"""
    n = (x > 50).sum() + rng.laplace(scale=1, size=2)
    g = map(float, n)
    n *= 0
    n += x.sum()
    return list(g)


def yielded_from_while_it_is_written(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3; b"""
    c = np.zeros(2)

    def entries():
        yield from c

    g = entries()
    yield next(g)
    c[1] = rare(x, 20)
    yield next(g)
