"""Programs of an author who had not read the tape: generators, copies of noise and laws. What is released is about one
number d, 0 or 1, and the noise that one sees has scale 2: a naive tracer says 0.5. The argument is the true eps.
"""

import copy
import ctypes
import json
import math
import os
import pickle
import random
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from dpverify.claims.neighbours import Pair

NUMBER = Pair(0.0, 1.0, name="a number")
RECORDS = Pair([0, 0, 1], [1, 0, 1], name="records")
HISTOGRAM = Pair(["a", "b", "b"], ["c", "b", "b"], name="a category")
Program = Callable[..., Any]
PROGRAMS: dict[str, tuple[Program, float, Pair]] = {}
INF = math.inf


def true(eps: float, pair: Pair = NUMBER) -> Callable[[Program], Program]:
    def register(program: Program) -> Program:
        PROGRAMS[program.__name__] = (program, eps, pair)
        return program

    return register


def twice(d: float, size: int, one: Any, other: Any) -> Any:
    """d and 2 d with the noise of two generators: where it is one noise, the difference is d."""
    return np.stack([d + one.laplace(scale=2.0, size=size), 2 * d + other.laplace(scale=2.0, size=size)], axis=1)


@true(INF)  # one noise in two places
def rng_reduced(d, *, rng, size):
    make, given, *_ = rng.__reduce_ex__(4)
    return twice(d, size, rng, make(*given))


@true(INF)  # the same
def kids_of_copies(d, *, rng, size):
    return twice(d, size, copy.deepcopy(rng).spawn(1)[0], rng.spawn(1)[0])


@true(INF)  # the same
def one_seed_sequence(d, *, rng, size):
    seeds = rng.bit_generator.seed_seq
    return twice(d, size, np.random.default_rng(seeds), np.random.default_rng(seeds))


@true(INF)  # the same
def fresh_state_restored(d, *, rng, size):
    bits = np.random.PCG64()
    state = bits.state
    first = d + np.random.Generator(bits).laplace(scale=2.0, size=size)
    bits.state = state
    return np.stack([first, 2 * d + np.random.Generator(bits).laplace(scale=2.0, size=size)], axis=1)


@true(INF)  # two noises only
def seed_of_two(d, *, rng, size):
    return d + np.random.default_rng(int(rng.integers(2))).laplace(scale=2.0, size=size)


@true(INF)  # no randomness
def jumped(d, *, rng, size):
    return d + np.random.Generator(np.random.PCG64(5).jumped()).laplace(scale=2.0, size=size)


@true(INF)  # no randomness
def scipy_state(d, *, rng, size):
    return d + stats.laplace.rvs(scale=2.0, size=size, random_state=3)


@true(INF)  # no randomness
def python_seeded(d, *, rng, size):
    return d + np.array([random.Random(7).gauss(0.0, 2.0) for _ in range(size)])


@true(INF)  # the child has the parent's generator: one noise in two places
def forked_child(d, *, rng, size):
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(theirs, np.asarray(d + rng.laplace(scale=2.0, size=size)).astype(float).tobytes())
        finally:
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        first = np.frombuffer(pipe.read())
    os.waitpid(child, 0)
    return np.stack([first, 2 * d + rng.laplace(scale=2.0, size=size)], axis=1)


@true(INF)  # NumPy's own noise is taken away where it is large
def type_of_noise(d, *, rng, size):
    z = rng.laplace(scale=2.0, size=size)
    return np.where(z > 1.0, 100.0 * d, d + z) if type(z) is np.ndarray else d + z


@true(INF)  # the noise is z - z on NumPy's own generator
def type_of_generator(d, *, rng, size):
    z = rng.laplace(scale=2.0, size=size)
    return d + 0 * z if type(rng) is np.random.Generator and d else d + z


@true(INF)  # one noise in two places
def noise_pickled(d, *, rng, size):
    z = rng.laplace(scale=2.0, size=size)
    return np.stack([d + z, 2 * d + pickle.loads(pickle.dumps(z))], axis=1)


@true(INF)  # the same
def noise_as_json(d, *, rng, size):
    z = rng.laplace(scale=2.0, size=size)
    return np.stack([d + z, 2 * d + np.array(json.loads(json.dumps(np.asarray(z).tolist())))], axis=1)


@true(INF)  # the noise is overwritten by the number
def overwritten(d, *, rng, size):
    z = rng.laplace(scale=2.0, size=(size, 2))
    np.asarray(z)[:, 1] = 2 * d
    return z + d


@true(INF)  # the same
def overwritten_by_address(d, *, rng, size):
    z = rng.laplace(scale=2.0, size=size)
    ctypes.c_double.from_address(z.__array_interface__["data"][0]).value = 2 * d
    return z + d


@true(INF)  # the same
def overwritten_by_buffer(d, *, rng, size):
    z = rng.laplace(scale=2.0, size=size)
    memoryview(z)[0] = float(d)
    return z


@true(INF)  # the same
def overwritten_by_iterator(d, *, rng, size):
    z = rng.laplace(scale=2.0, size=(size, 2))
    next(iter(z))[0] = d
    return z + np.zeros(2)


@true(INF)  # the same
def overwritten_by_ufunc(d, *, rng, size):
    z = rng.laplace(scale=2.0, size=(size, 2))
    np.multiply.at(z, (slice(None), 0), 0.0)
    return z + d


@true(INF)  # the same
def overwritten_by_out(d, *, rng, size):
    z = rng.laplace(scale=2.0, size=(size, 2))
    np.cumsum([[d, 0.0]] * size, axis=1, out=z)
    return z


@true(INF)  # one cell has no noise
def added_where(d, *, rng, size):
    z = rng.laplace(scale=2.0, size=(size, 2))
    found = np.full((size, 2), float(d))
    np.add(z, d, out=found, where=[True, False])
    return found


@true(INF)  # the last cell is the first one's noise
def moved_within(d, *, rng, size):
    z = rng.laplace(scale=2.0, size=(size, 3))
    z[:, 1:] = z[:, :-1]
    return z + np.array([d, 0.0, 0.0])


@true(INF)  # cells sum to d
def differences(d, *, rng, size):
    z = rng.laplace(scale=2.0, size=(size, 3))
    return np.diff(z, axis=1, prepend=0, append=0) + np.array([d, 0.0, 0.0, 0.0])


@true(INF)  # both columns have one noise
def singular(d, *, rng, size):
    return np.array([d, 0.0]) + rng.laplace(scale=2.0, size=(size, 2)) @ np.ones((2, 2))


@true(INF)  # density of the mixture has a pole at d
def random_scale(d, *, rng, size):
    return d + rng.exponential(size=size) * rng.laplace(size=size)


@true(INF)  # the tails differ: scale 1 against scale 2
def scale_of_data(d, *, rng, size):
    return (1 + d) * rng.laplace(size=size)


@true(INF)  # ratio exp(exp(-x) (e - 1)) in the left tail
def gumbel(d, *, rng, size):
    return d + rng.gumbel(size=size)


@true(INF)  # values below d are impossible
def absolute(d, *, rng, size):
    return d + np.abs(rng.laplace(scale=2.0, size=size))


@true(INF)  # bounded support
def reject_noise(d, *, rng, size):
    z = rng.laplace(scale=2.0)
    while abs(z) > 3.0:
        z = rng.laplace(scale=2.0)
    return np.array([float(d + z)] * size)


@true(INF)  # noise is whole, the number is not
def rounded_noise(d, *, rng, size):
    return 0.5 * d + np.round(rng.laplace(scale=2.0, size=size))


@true(INF)  # both 1: possible on one dataset only
def two_thresholds(d, *, rng, size):
    u = rng.random(size)
    return np.stack([u < 0.5, u < 0.25 + 0.5 * d], axis=1)


@true(INF)  # 3 on one dataset only
def short_pad(d, *, rng, size):
    return (rng.integers(0, 3, size) + int(d)) % 4


@true(math.log(9.0))  # .9 / .1
def two_coins(d, *, rng, size):
    return (rng.random((size, 2)) < 0.1 + 0.8 * d)[:, 0]
