"""Programs of ten lines for the tape, private ones with their true eps and others that look like them and are not.

By three authors, two of whom had not read the tape. All release something about DATA against NEAR, whose last records
differ by 1 (so do their sums, 8 and 7), or about one number d, 0 or 1. Noise is wide (scale 10, so 0.1 at most; 2, so
0.5), so that a program which is not private would be called fine by anything that sees the noise only.
"""

import array
import collections
import copy
import ctypes
import dataclasses
import decimal
import functools
import io
import itertools
import math
import os
import pickle
import random
import secrets
import threading
import time
import types
from typing import Any, ClassVar

import numpy as np
from numpy.random import default_rng as imported  # a name of its own
from numpy.random import laplace as imported_laplace  # the bound method of the global state
from scipy import stats

from dpverify.claims.neighbours import Pair
from mechanisms.toolbox import samplers as sampling

Array = Any
DATA = np.array([1.0, 0.0, 2.0, 5.0])
NEAR = np.array([1.0, 0.0, 2.0, 4.0])
PAIR = Pair(DATA, NEAR)
NUMBER = Pair(0.0, 1.0, name="a number")
STATE: dict[str, Any] = {}
COUNT = itertools.count()
SEEN: set[float] = set()
CALLS: collections.Counter[str] = collections.Counter()
LOCAL = threading.local()
WIDE = 10.0


def total(data: Array) -> float:
    return float(np.sum(data))


def odd(data: Array) -> bool:
    return int(total(data)) % 2 == 1


def noisy(data: Array, rng: Any, size: int | None) -> Array:
    return total(data) + rng.laplace(0.0, WIDE, size)


class Holder:
    """An object that a program may return."""

    def __init__(self, noisy: Any, exact: Any) -> None:
        self.noisy, self.exact = noisy, exact


class Slotted:
    """The same, without a __dict__."""

    __slots__ = ("exact", "noisy")

    def __init__(self, noisy: Any, exact: Any) -> None:
        self.noisy, self.exact = noisy, exact


class AlwaysEqual:
    """Equal to everything, and to itself."""

    def __init__(self, exact: float) -> None:
        self.exact = exact

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


@dataclasses.dataclass
class Partly:
    """A dataclass that compares one of its fields only."""

    shown: Any
    exact: float = dataclasses.field(compare=False, repr=False)


class Later:
    """Computes when it is asked."""

    def __init__(self, ask: Any) -> None:
        self._ask = ask

    @property
    def value(self) -> Any:
        return self._ask()


class CleanWhenCopied:
    """Its copies and its pickle have lost what it holds."""

    def __init__(self, exact: float) -> None:
        self.exact = exact

    def __reduce__(self) -> Any:
        return (CleanWhenCopied, (0.0,))

    def __deepcopy__(self, memo: Any) -> Any:
        return CleanWhenCopied(0.0)


class Marked(np.ndarray):
    """An array with an attribute."""

    exact = 0.0


class Shared:
    """Its value is its class's."""

    value = 0.0


class Text(str):
    pass


class Words(dict):
    pass


@dataclasses.dataclass
class SharedTwin:
    """Its class has data, which no run changes."""

    noisy: float
    unit: float = 1.0
    names: ClassVar = ("a", "b")


def with_secret(made, d):
    made.secret = d
    return made


def class_attribute(d):
    Shared.value = d
    return Shared()


@functools.cache
def cached(exact):
    return [exact]


class Private:
    """name -> true eps on the pair (None: no pure eps)."""

    def laplace(data, *, rng, size):
        return total(data) + rng.laplace(0.0, WIDE, size)

    def scaled_in_place(data, *, rng, size):
        noise = rng.laplace(size=(size, 4))
        noise *= WIDE
        noise += data
        return noise

    def location(data, *, rng, size):
        return rng.laplace(data, WIDE, (size, 4))

    def through_views(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, (size, 4))
        left, right = noise[:, :2], noise.reshape(size, 2, 2)[:, 1]
        left += data[:2]
        right += data[2:]
        return noise

    def scalars(data, *, rng, size):
        return np.array([float(each) + rng.laplace(0.0, WIDE) for each in data])[None]

    def stacked(data, *, rng, size):
        parts = [data[i] + rng.laplace(0.0, WIDE, size) for i in range(4)]
        return np.concatenate([np.stack(parts[:2]), np.vstack(parts[2:])]).T

    def postprocessed(data, *, rng, size):
        noisy = data + rng.laplace(0.0, WIDE, (size, 4))
        return np.sort(np.clip(np.round(noisy), 0, 3)).cumsum(axis=1)

    def adaptive(data, *, rng, size):
        first = total(data) + rng.laplace(0.0, WIDE)
        return np.array([first, total(data) + rng.laplace(0.0, WIDE) if first > 8 else 0.0])[None]

    def public_coins(data, *, rng, size):
        order = rng.permutation(4)
        flip = 1 - 2 * rng.integers(0, 2, 4)
        return ((data[order] + rng.laplace(0.0, WIDE, 4)) * flip)[None]

    def sorted_first(data, *, rng, size):
        order = np.argsort(-data)
        return data[order] + rng.laplace(0.0, WIDE, (size, 4))

    def children(data, *, rng, size):
        return total(data) + rng.spawn(2)[1].laplace(0.0, WIDE, size)

    def unseeded(data, *, rng, size):
        return total(data) + np.random.default_rng().laplace(0.0, WIDE, size)

    def global_functions(data, *, rng, size):
        return total(data) + np.random.laplace(0.0, WIDE, size)  # noqa: NPY002

    def sum_of_noises(data, *, rng, size):
        return total(data) + rng.laplace(0.0, WIDE, (size, 3)).sum(axis=1)

    def response(data, *, rng, size):
        return (rng.random((size, 4)) < np.where(data > 4, 0.6, 0.4)).astype(int)

    def response_by_search(data, *, rng, size):
        chances = np.array([0.6, 0.4]) if data[3] > 4 else np.array([0.4, 0.6])
        return np.searchsorted(np.cumsum(chances), rng.random(size), side="right")

    def discrete_laplace(data, *, rng, size):
        return data.astype(int) + sampling.discrete_laplace(rng, 4 * size, WIDE).reshape(size, 4)

    def discrete_by_choice(data, *, rng, size):
        weights = np.exp(-np.abs(np.arange(12) - data[3]) / (2 * WIDE))
        return rng.choice(12, size, p=weights / weights.sum())

    def two_halves_of_a_uniform(data, *, rng, size):
        coin = rng.random(size)
        return np.stack([coin < 0.5 + 0.01 * total(data), coin > 0.5 - 0.01 * total(data), coin < 0.5])

    def python_objects(data, *, rng, size):
        return [(noisy(data, rng, None), Holder(3, 4)) for _ in range(size)]

    def many_uses_of_one_sum(data, *, rng, size):
        shown = noisy(data, rng, size)
        return np.stack([shown, 2.0 * shown, -shown], axis=1)

    def one_time_pad(data, *, rng, size):
        return (int(total(data)) + rng.integers(0, 1024, size)) % 1024

    def class_data_unchanged(data, *, rng, size):
        return SharedTwin(float(noisy(data, rng, None)))

    def imported_generator(data, *, rng, size):
        return total(data) + imported().laplace(0.0, WIDE, size)

    def inverse_by_hand(data, *, rng, size):
        uniform = rng.random(size) - 0.5
        return total(data) - WIDE * np.sign(uniform) * np.log1p(-2 * np.abs(uniform))


TRUE_EPS = {
    "response": math.log(0.6 / 0.4),
    "response_by_search": math.log(0.6 / 0.4),
    "adaptive": 0.2,
    "discrete_by_choice": None,
    "one_time_pad": 0.0,
    "two_halves_of_a_uniform": math.log(8 / 7),
}


class NotPrivate:
    """None of these may be called fine; the docstring-free names say what is wrong."""

    def reused_noise(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, size)
        return np.stack([total(data) + noise, 2 * total(data) + noise], axis=1)

    def one_python_scalar(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE)
        return np.array([each + noise for each in data])[None]

    def bare_in_plain_array(data, *, rng, size):
        held = np.empty(size)
        held[:] = rng.laplace(0.0, WIDE, size)
        return np.stack([total(data) + held, held])

    def bare_in_memoryview(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, size)
        seen = memoryview(np.asarray(noise))
        return np.array([[total(data) + seen[0], noise[0]]])

    def alias_of_array(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, size)
        alias = np.asarray(noise)
        noise += total(data)
        return np.concatenate([alias - total(data), noise])

    def write_into_shown_memory(data, *, rng, size):
        first, second = rng.laplace(0.0, WIDE, 2), rng.laplace(0.0, WIDE, 2)
        alias = np.asarray(first)
        first[:] = second
        return np.concatenate([alias, total(data) + second])[None]

    def exact_beside_noisy(data, *, rng, size):
        return np.array([[total(data) + rng.laplace(0.0, WIDE), total(data)]])

    def noise_in_text(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE)
        return [f"{noise:.17g}", float(total(data) + noise)]

    def noise_in_exception(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE)
        raise ValueError(f"{total(data) + noise} {noise}")

    def fixed_seed(data, *, rng, size):
        return total(data) + np.random.default_rng(5).laplace(0.0, WIDE, size)

    def fixed_legacy_seed(data, *, rng, size):
        return total(data) + np.random.RandomState(5).laplace(0.0, WIDE, size)

    def seeded_from_tape(data, *, rng, size):
        return total(data) + np.random.default_rng(int(rng.integers(2**31))).laplace(0.0, WIDE, size)

    def global_seed(data, *, rng, size):
        np.random.seed(0)  # noqa: NPY002
        return total(data) + np.random.laplace(0.0, WIDE, size)  # noqa: NPY002

    def state_put_back(data, *, rng, size):
        state = rng.bit_generator.state
        first = total(data) + rng.laplace(0.0, WIDE, size)
        rng.bit_generator.state = state
        return np.concatenate([first, rng.laplace(0.0, WIDE, size)])

    def generator_copied(data, *, rng, size):
        other = copy.deepcopy(rng)
        return np.concatenate([total(data) + rng.laplace(0.0, WIDE, size), other.laplace(0.0, WIDE, size)])

    def generator_pickled(data, *, rng, size):
        other = pickle.loads(pickle.dumps(rng.bit_generator))
        return np.concatenate(
            [total(data) + rng.laplace(0.0, WIDE, size), np.random.Generator(other).normal(size=size)]
        )

    def module_random(data, *, rng, size):
        return np.array([total(data) + random.gauss(0.0, 1e-3)])

    def operating_system(data, *, rng, size):
        return np.array([total(data) + secrets.randbelow(2**40) * 2.0**-40])

    def clock(data, *, rng, size):
        return np.array([total(data) + rng.laplace(0.0, WIDE) + time.perf_counter_ns() % 7])

    def fewer_calls(data, *, rng, size):
        noisy = [each + rng.laplace(0.0, WIDE) for each in data[: int(data[3]) - 1]]
        return np.array([sum(noisy), rng.laplace(0.0, WIDE)])[None]

    def exception_on_one(data, *, rng, size):
        if data[3] < 5:
            raise RuntimeError("too few")
        return total(data) + rng.laplace(0.0, WIDE, size)

    def alternating_state(data, *, rng, size):
        return total(data) + (rng.laplace(0.0, WIDE, size) if next(COUNT) % 2 else np.zeros(size))

    def remembered(data, *, rng, size):
        if "noise" not in STATE:
            STATE["noise"] = float(rng.laplace(0.0, WIDE))
        return np.array([total(data) + STATE["noise"]])

    def low_bits(data, *, rng, size):
        noisy = np.asarray(total(data) + rng.laplace(0.0, WIDE, size))
        return noisy + 1e-13 * total(data)

    def sign_of_zero(data, *, rng, size):
        noisy = total(data) + rng.laplace(0.0, WIDE, size)
        return np.stack([noisy, np.copysign(np.zeros(size), data[3] - 4.5)])

    def sign_of_zero_of_noise(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, size)
        return np.stack([0.0 * noise, noise + total(data)])

    def dtype(data, *, rng, size):
        noisy = total(data) + rng.laplace(0.0, WIDE, size)
        return np.round(np.asarray(noisy)).astype(np.float32 if data[3] > 4 else np.float64)

    def type_of_number(data, *, rng, size):
        noisy = float(total(data) + rng.laplace(0.0, WIDE))
        return [noisy if data[3] > 4 else np.float64(noisy)]

    def shape(data, *, rng, size):
        return np.zeros(int(data[3])) + rng.laplace(0.0, WIDE, size)[0] * 0

    def coin_of_certainty(data, *, rng, size):
        return (rng.random(size) < (1.0 if data[3] > 4 else 0.5)).astype(float)

    def uniform_after_decision(data, *, rng, size):
        coin = rng.random(size)
        return np.stack([coin < 0.1 * data[3], coin])

    def leak_above_fourteen(data, *, rng, size):
        noisy = np.asarray(total(data) + rng.laplace(0.0, 1.5, size))
        return np.where(noisy > 26.0, total(data), noisy)

    def long_arguments(data, *, rng, size):
        chances = np.full(4000, 1 / 4000)
        chances[2000:2002] = [2 / 4000, 0.0] if data[3] > 4 else [0.0, 2 / 4000]
        return rng.choice(4000, (size, 4000), p=chances).sum(axis=1)

    def unknown_law(data, *, rng, size):
        return rng.wald(data[3], WIDE, size)

    def asks_for_its_type(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE)
        return np.array([total(data) if type(noise) is float else total(data) + noise])

    def asks_for_the_array(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, size)
        return total(data) + noise if not isinstance(noise, np.ndarray) else total(data) + np.zeros(size)

    def swallows_everything(data, *, rng, size):
        try:
            held = [total(data) + rng.laplace(0.0, WIDE) for _ in range(int(data[3]))]
            return np.array([sum(held) / len(held)])
        except BaseException:
            return np.array([0.0])

    def shuffled_records(data, *, rng, size):
        return rng.permutation(data)[None]

    def shuffled_in_place(data, *, rng, size):
        rng.shuffle(data)
        return data[None]

    def narrow_noise(data, *, rng, size):
        return rng.normal(total(data), 1e-3, size)

    def no_scale(data, *, rng, size):
        return rng.laplace(total(data), 0.0, size)

    def one_sided(data, *, rng, size):
        return total(data) + rng.exponential(WIDE, size)

    def multinomial_with_a_hole(data, *, rng, size):
        return rng.multinomial(40, [0.5, 0.25, 0.25] if data[3] > 4 else [0.5, 0.5, 0.0], size)

    def until_above_the_truth(data, *, rng, size):
        noisy = total(data) + rng.laplace(0.0, WIDE)
        while noisy < total(data):
            noisy = total(data) + rng.laplace(0.0, WIDE)
        return np.array([noisy])

    def clipped_at_the_truth(data, *, rng, size):
        return np.maximum(total(data) + rng.laplace(0.0, WIDE, size), total(data))

    def rounded_to_whole(data, *, rng, size):
        whole = np.zeros(size, dtype=int)
        whole[:] = rng.normal(0.0, 0.1, size)
        return total(data) + whole

    def noise_cancelled_later(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, (size, 2))
        noisy = total(data) + noise[:, 0]
        return np.stack([noisy, noisy - noise[:, 0] + noise[:, 1] * 1e-9], axis=1)

    def scaled_by_data(data, *, rng, size):
        return 100.0 * total(data) * rng.laplace(0.0, WIDE, size) - total(data) * 1e6

    def lattice_off_grid(data, *, rng, size):
        return 1e-9 * total(data) + sampling.discrete_laplace(rng, size, WIDE)

    def keyword_noise(data, *, rng, size):
        out = np.empty(size)
        rng.standard_normal(out=out)
        return np.stack([total(data) + out, out])

    def sorted_noise(data, *, rng, size):
        return np.sort(rng.laplace(0.0, WIDE, (size, 4))) + data

    def masked(data, *, rng, size):
        noisy = np.asarray(total(data) + rng.laplace(0.0, WIDE, 4))
        return np.ma.MaskedArray(noisy, mask=data > 4)

    def object_in_circles(data, *, rng, size):
        held = Holder(total(data) + rng.laplace(0.0, WIDE), total(data))
        held.itself = held
        return held

    def hidden_in_slots(data, *, rng, size):
        return Slotted(rng.laplace(0.0, WIDE, size), total(data))

    def lazy(data, *, rng, size):
        return (each for each in [total(data), rng.laplace(0.0, WIDE)])

    def never_returns(data, *, rng, size):
        rng.laplace(0.0, WIDE, size)
        raise TypeError("not made for this")

    def kept_opaque(data, *, rng, size):
        STATE.setdefault("kept", rng.laplace(0.0, WIDE, size))
        return total(data) + STATE["kept"]

    def scipy_noise(data, *, rng, size):
        return np.stack([total(data) + stats.norm.rvs(scale=WIDE, size=size, random_state=rng), [total(data)]])

    def sum_and_parts(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, (size, 3))
        return np.concatenate([noise.sum(axis=1) + total(data), noise[:, 0], noise[:, 1], noise[:, 2]])

    def conditional_reuse(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, size)
        again = np.where(data[3] > 4, noise, rng.laplace(0.0, WIDE, size))
        return np.stack([total(data) + noise, total(data) + again])

    def repeated(data, *, rng, size):
        return np.repeat(rng.laplace(0.0, WIDE, 1), 4) + data

    def centred(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, (size, 4))
        return data + noise - noise.mean(axis=-1, keepdims=True)

    def pickled_noise(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, size)
        return np.stack([total(data) + noise, 3 * total(data) + pickle.loads(pickle.dumps(noise))], axis=-1)

    def narrower_floats(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, size)
        return np.stack([total(data) + noise, 3 * total(data) + noise.astype(np.float32)], axis=-1)

    def seen_as_integers(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, size)
        return total(data) + noise, noise.view(np.int64)

    def hash_of_the_noise(data, *, rng, size):
        noise = float(rng.laplace(0.0, WIDE))
        return total(data) + noise, hash(noise)

    def chosen_then_shown(data, *, rng, size):
        first, second = rng.laplace(0.0, WIDE, size), rng.laplace(0.0, WIDE, size)
        return np.stack([total(data) + (first if odd(data) else second), first], axis=-1)

    def shuffled_noise(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, 4)
        shown = data + noise
        rng.shuffle(noise)
        return shown, noise

    def where_of_a_ufunc(data, *, rng, size):
        out = np.array(np.broadcast_to(data, (size, 4)))
        np.add(out, rng.laplace(0.0, WIDE, (size, 4)), out=out, where=data < 4.5)
        return out

    def where_by_data(data, *, rng, size):
        return np.where(data > 4.5, data + rng.laplace(0.0, WIDE, (size, 4)), data)

    def imaginary_noise(data, *, rng, size):
        return total(data) + 1j * rng.laplace(0.0, WIDE, size)

    def half_and_floor(data, *, rng, size):
        return 0.5 * total(data) + np.floor(rng.laplace(0.0, WIDE, size))

    def parity_bit(data, *, rng, size):
        return 2 * np.rint(total(data) + rng.laplace(0.0, WIDE, size)).astype(np.int64) + odd(data)

    def absolute(data, *, rng, size):
        return total(data) + np.abs(rng.laplace(0.0, WIDE, size))

    def sum_of_twelve(data, *, rng, size):
        return total(data) + WIDE * (rng.random((size, 12)).sum(axis=-1) - 6.0)

    def rounded_away(data, *, rng, size):
        return total(data) + np.rint(rng.laplace(0.0, WIDE, size) / 1e6)

    def underflow(data, *, rng, size):
        return total(data) + (rng.laplace(0.0, WIDE, size) * 1e-200) * 1e-200

    def integer_mask_too_short(data, *, rng, size):
        return (int(total(data)) + rng.integers(0, 5, size)) % 20

    def mask_shown(data, *, rng, size):
        mask = rng.integers(0, 20, size)
        return np.stack([(int(total(data)) + mask) % 20, mask], axis=-1)

    def two_families(data, *, rng, size):
        return total(data) + (rng.laplace(0.0, WIDE, size) if odd(data) else rng.normal(0.0, WIDE, size))

    def number_of_coins(data, *, rng, size):
        return rng.binomial(int(total(data)), 0.9, size)

    def top_of_range(data, *, rng, size):
        return rng.integers(0, int(total(data)), size, endpoint=True)

    def jumped(data, *, rng, size):
        other = np.random.Generator(rng.bit_generator.jumped())
        return total(data) + other.laplace(0.0, 1e-3, size)

    def raw_words(data, *, rng, size):
        return total(data) + rng.bit_generator.random_raw() * 2.0**-70

    def seed_sequence(data, *, rng, size):
        other = np.random.default_rng(rng.bit_generator.seed_seq.spawn(1)[0])
        return total(data) + other.laplace(0.0, 1e-3, size)

    def own_bit_generator(data, *, rng, size):
        return total(data) + np.random.Generator(np.random.PCG64()).laplace(0.0, 1e-3, size)

    def fresh_entropy(data, *, rng, size):
        return total(data) + np.random.SeedSequence().entropy * 2.0**-140

    def imported_method(data, *, rng, size):
        return total(data) + imported_laplace(0.0, 1e-3, size)  # noqa: NPY002 - the defect

    def unbound_method(data, *, rng, size):
        return np.random.Generator.laplace(rng, total(data), 1e-9, size)

    def c_library(data, *, rng, size):
        return total(data) + ctypes.CDLL(None).rand() * 2.0**-41

    def replaced_method(data, *, rng, size):
        try:
            rng.laplace = lambda *_, **__: np.zeros(size)
        except AttributeError:
            return total(data) + np.zeros(size)
        return noisy(data, rng, size)

    def another_thread(data, *, rng, size):
        found = []
        worker = threading.Thread(target=lambda: found.append(np.random.default_rng().laplace(0.0, 1e-3, size)))
        worker.start()
        worker.join()
        return total(data) + found[0]

    def array_with_attribute(data, *, rng, size):
        out = np.asarray(noisy(data, rng, size)).view(Marked)
        out.exact = total(data)
        return out

    def metadata_of_dtype(data, *, rng, size):
        return np.asarray(noisy(data, rng, size)).astype(np.dtype("f8", metadata={"exact": total(data)}))

    def payload_of_nan(data, *, rng, size):
        word = np.array([0x7FF8000000000000 + int(total(data))], dtype=np.uint64)
        return np.concatenate([np.atleast_1d(np.asarray(noisy(data, rng, size))), word.view(np.float64)])

    def byte_order(data, *, rng, size):
        return np.asarray(noisy(data, rng, size)).astype(">f8" if odd(data) else "<f8")

    def order_of_keys(data, *, rng, size):
        out = {"a": noisy(data, rng, size), "b": 0.0}
        return dict(reversed(list(out.items()))) if odd(data) else out

    def zero_dimensions(data, *, rng, size):
        out = np.asarray(noisy(data, rng, ()))
        return out if odd(data) else np.float64(out)

    def behind_the_mask(data, *, rng, size):
        shown = np.concatenate([np.atleast_1d(np.asarray(noisy(data, rng, size))), [total(data)]])
        return np.ma.masked_array(shown, mask=[False] * (len(shown) - 1) + [True])

    def name_of_field(data, *, rng, size):
        return np.asarray(noisy(data, rng, size)).view([("odd" if odd(data) else "even", "f8")])

    def long_decimal(data, *, rng, size):
        noise = decimal.Decimal(float(rng.laplace(0.0, WIDE)))
        with decimal.localcontext() as context:
            context.prec = 400
            return noise + decimal.Decimal(total(data)) * (1 + decimal.Decimal(10) ** -300)

    def one_unit_in_the_last_place(data, *, rng, size):
        out = np.asarray(noisy(data, rng, size))
        return np.nextafter(out, np.inf) if odd(data) else out

    def generator_released(data, *, rng, size):
        return noisy(data, rng, size), rng

    def attribute_of_exception(data, *, rng, size):
        noisy(data, rng, size)
        error = ValueError("as usual")
        error.exact = total(data)
        raise error

    def system_exit(data, *, rng, size):
        noisy(data, rng, size)
        raise SystemExit(int(total(data)))

    def keys_of_histogram(data, *, rng, size):
        return [{key: noisy(count, rng, None) for key, count in collections.Counter(data.tolist()).items()}]


class OnANumber:
    """Of one number d against another, with noise of scale 2; none is private, but for two_coins with log 9."""

    def scipy_state(d, *, rng, size):  # no randomness
        return d + stats.laplace.rvs(scale=2.0, size=size, random_state=3)

    def forked_child(d, *, rng, size):  # the child has the parent's generator: one noise in two places
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

    def overwritten(d, *, rng, size):  # the noise is overwritten by the number
        z = rng.laplace(scale=2.0, size=(size, 2))
        np.asarray(z)[:, 1] = 2 * d
        return z + d

    def overwritten_by_address(d, *, rng, size):  # the same
        z = rng.laplace(scale=2.0, size=size)
        ctypes.c_double.from_address(z.__array_interface__["data"][0]).value = 2 * d
        return z + d

    def overwritten_by_buffer(d, *, rng, size):  # the same
        z = rng.laplace(scale=2.0, size=size)
        memoryview(z)[0] = float(d)
        return z

    def moved_within(d, *, rng, size):  # the last cell is the first one's noise
        z = rng.laplace(scale=2.0, size=(size, 3))
        z[:, 1:] = z[:, :-1]
        return z + np.array([d, 0.0, 0.0])

    def gumbel(d, *, rng, size):  # ratio exp(exp(-x) (e - 1)) in the left tail
        return d + rng.gumbel(size=size)

    def two_thresholds(d, *, rng, size):  # both 1: possible on one dataset only
        u = rng.random(size)
        return np.stack([u < 0.5, u < 0.25 + 0.5 * d], axis=1)

    def two_coins(d, *, rng, size):  # .9 / .1
        return (rng.random((size, 2)) < 0.1 + 0.8 * d)[:, 0]

    def grid(d, *, rng, size):  # one is on a grid of 2^-25, on one dataset
        z = rng.laplace(scale=2.0, size=size)
        return np.stack([d + z, ((z + d * 2.0**27) - d * 2.0**27) + d], axis=1)


BESIDE = {  # what is released beside the noisy number, given whether the last record is odd; each tells it
    "equal_to_everything": AlwaysEqual,
    "field_not_compared": Partly,
    "computes_later": lambda d: Later(lambda: d),
    "partial": lambda d: functools.partial(float, d),
    "bound_method": lambda d: AlwaysEqual(d).__eq__,
    "clean_when_copied": CleanWhenCopied,
    "iterator": lambda d: iter([d]),
    "typed_array": lambda d: array.array("d", [d]),
    "class_made_here": lambda d: type("Answer", (), {"exact": d}),
    "namespace": lambda d: types.SimpleNamespace(exact=d),
    "half_range": lambda d: range(7 + d),
    "cached": lambda d: cached(d),
    "slots": lambda d: Slotted(0, d),
    "class_attribute": class_attribute,
    "attribute_of_text": lambda d: with_secret(Text("x"), d),
    "attribute_of_dict": lambda d: with_secret(Words(a=1), d),
    "attribute_of_error": lambda d: with_secret(ValueError("x"), d),
    "decimal_digits": lambda d: decimal.Decimal("1.0" if d else "1.00"),
    "bool_or_int": lambda d: True if d else 1,
    "tuple_or_list": lambda d: () if d else [],
    "counter_of_zero": lambda d: collections.Counter({"a": int(d)} if d else {}),
    "deque_length": lambda d: collections.deque(maxlen=1 + int(d)),
    "stream": lambda d: io.BytesIO(bytes([int(d)])),
    "sign_of_zero": lambda d: -0.0 if d else 0.0,
    "closure": lambda d: lambda: d,
}


def beside(name: str) -> Any:
    def program(data, *, rng, size):
        return [(float(noisy(data, rng, None)), BESIDE[name](int(odd(data)))) for _ in range(size)]

    return program


class Statement:
    """Leaks of known probability: a statement (eps, delta) may be made, and must be true."""

    def released_now_and_then(data, *, rng, size):
        return total(data) if float(rng.random()) < 0.02 else float(noisy(data, rng, None))

    def poisson_of_the_truth(data, *, rng, size):
        return rng.poisson(total(data), size)

    def scale_by_data(data, *, rng, size):
        return rng.laplace(0.0, WIDE * (1.0 + odd(data)), size)

    def multiplied(data, *, rng, size):
        return total(data) * rng.laplace(0.0, WIDE, size)


def _hockey_stick(first: Array, second: Array, eps: float) -> float:
    return float(np.sum(np.maximum(first - math.exp(eps) * second, 0.0)))


def _of_masses(first: Any, second: Any, grid: Array, width: float) -> Any:
    p, q = first(grid) * width, second(grid) * width
    return lambda eps: max(_hockey_stick(p, q, eps), _hockey_stick(q, p, eps))


COUNTS = np.arange(0, 80)
LINE = (np.arange(400_000) + 0.5) * 0.01 - 2000.0
TRUE_DELTA = {
    "released_now_and_then": lambda eps: 0.02,
    "poisson_of_the_truth": _of_masses(stats.poisson(8).pmf, stats.poisson(7).pmf, COUNTS, 1.0),
    "scale_by_data": _of_masses(stats.laplace(0, 10).pdf, stats.laplace(0, 20).pdf, LINE, 0.01),
    "multiplied": _of_masses(stats.laplace(0, 80).pdf, stats.laplace(0, 70).pdf, LINE, 0.01),
}


def programs(of: type) -> dict[str, Any]:
    """The programs of a class, by name."""
    return {name: made for name, made in vars(of).items() if callable(made) and not name.startswith("_")}


NOT_PRIVATE = {  # with their pairs
    **{name: (made, PAIR) for name, made in programs(NotPrivate).items()},
    **{f"beside {name}": (beside(name), PAIR) for name in BESIDE},
    **{name: (made, NUMBER) for name, made in programs(OnANumber).items()},
}
