"""Programs of ten lines for the tape: private ones with their true eps, and others that look like them and are not.

All release something about DATA against NEAR, whose sums differ by 1. Noise is wide (scale 10, so 0.1 at most), so that
a program which is not private would be called fine by anything that only sees the noise.
"""

import copy
import itertools
import math
import os
import pickle
import random
import secrets
import time
from typing import Any

import numpy as np
from numpy.random import default_rng as imported  # the very thing: a name that escapes
from scipy import stats

from mechanisms.toolbox import laplace_sums as noise_sums
from mechanisms.toolbox import samplers as sampling

Array = Any
DATA = np.array([1.0, 0.0, 2.0, 5.0])
NEAR = np.array([1.0, 0.0, 2.0, 4.0])
STATE: dict[str, Any] = {}
COUNT = itertools.count()
WIDE = 10.0


class Holder:
    """An object that a program may return."""

    def __init__(self, noisy: Any, exact: Any) -> None:
        self.noisy, self.exact = noisy, exact


class Slotted:
    """The same, without a __dict__."""

    __slots__ = ("exact", "noisy")

    def __init__(self, noisy: Any, exact: Any) -> None:
        self.noisy, self.exact = noisy, exact


def total(data: Array) -> float:
    return float(np.sum(data))


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


TRUE_EPS = {
    "response": math.log(0.6 / 0.4),
    "response_by_search": math.log(0.6 / 0.4),
    "adaptive": 0.2,
    "discrete_by_choice": None,
    "two_halves_of_a_uniform": math.log(8 / 7),
}
FALL = frozenset(  # proved infinite or above the claim by one transcript; all others are NOT TRACED
    """
    reused_noise one_scalar_for_all_cells one_python_scalar bare_in_plain_array bare_in_list
    bare_in_memoryview bare_through_view exact_beside_noisy noise_released sign_of_zero
    type_of_number narrow_noise one_sided bounded first_cell_only
    scaled_by_data lattice_off_grid noise_sum_reused scipy_noise sum_and_parts
    mean_and_first broadcast_view repeated fixed_legacy_seed uniform_after_decision
    """.split()
)  # fmt: skip


class NotPrivate:
    """None of these may be called fine; the docstring-free names say what is wrong."""

    def reused_noise(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, size)
        return np.stack([total(data) + noise, 2 * total(data) + noise], axis=1)

    def difference_of_two_uses(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, size)
        return (total(data) + 2 * noise) - (total(data) * 0.5 + 2 * noise)

    def one_scalar_for_all_cells(data, *, rng, size):
        return data + rng.laplace(0.0, WIDE, (size, 1))

    def one_python_scalar(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE)
        return np.array([each + noise for each in data])[None]

    def bare_in_plain_array(data, *, rng, size):
        held = np.empty(size)
        held[:] = rng.laplace(0.0, WIDE, size)
        return np.stack([total(data) + held, held])

    def bare_in_list(data, *, rng, size):
        held = [float(rng.laplace(0.0, WIDE))]
        return np.array([[total(data) + held[0], held[0]]])

    def bare_in_memoryview(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, size)
        seen = memoryview(np.asarray(noise))
        return np.array([[total(data) + seen[0], noise[0]]])

    def bare_through_view(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, (size, 2))
        seen = np.asarray(noise[:, :1]).copy()
        noise += total(data)
        return np.concatenate([noise, seen], axis=1)

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

    def noise_released(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, size)
        return np.stack([total(data) + noise, noise])

    def noise_in_text(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE)
        return [f"{noise:.17g}", float(total(data) + noise)]

    def noise_in_exception(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE)
        raise ValueError(f"{total(data) + noise} {noise}")

    def imported_generator(data, *, rng, size):
        return total(data) + imported().laplace(0.0, WIDE, size)

    def imported_beside_tape(data, *, rng, size):
        return np.concatenate([total(data) + rng.laplace(0.0, WIDE, size), imported().normal(total(data), 1.0, size)])

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
        return np.array([total(data) + random.gauss(0.0, WIDE)])

    def operating_system(data, *, rng, size):
        return np.array([total(data) + secrets.randbelow(1000)])

    def urandom(data, *, rng, size):
        return np.array([total(data) + os.urandom(1)[0]])

    def clock(data, *, rng, size):
        return np.array([total(data) + rng.laplace(0.0, WIDE) + time.perf_counter_ns() % 7])

    def fewer_calls(data, *, rng, size):
        noisy = [each + rng.laplace(0.0, WIDE) for each in data[: int(data[3]) - 1]]
        return np.array([sum(noisy), rng.laplace(0.0, WIDE)])[None]

    def more_calls(data, *, rng, size):
        count = int(data[3])
        return np.array([rng.laplace(0.0, WIDE, count).sum(), 0.0])[None]

    def skipped_noise(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, size)
        return total(data) + (noise if data[3] > 4 else 0 * noise)

    def exception_on_one(data, *, rng, size):
        if data[3] < 5:
            raise RuntimeError("too few")
        return total(data) + rng.laplace(0.0, WIDE, size)

    def negative_scale_on_one(data, *, rng, size):
        return total(data) + rng.laplace(0.0, WIDE * (data[3] - 4.5), size)

    def inverse_by_hand(data, *, rng, size):
        uniform = rng.random(size) - 0.5
        return total(data) - WIDE * np.sign(uniform) * np.log1p(-2 * np.abs(uniform))

    def matrix_product(data, *, rng, size):
        return data[2:] + rng.laplace(0.0, WIDE, (size, 1)) @ np.ones((1, 2))

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

    def coin_of_impossibility(data, *, rng, size):
        return np.array([rng.random() < (0.0 if data[3] > 4 else 1.0)])

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

    def asks_for_the_generator(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, size) if type(rng) is not np.random.Generator else np.zeros(size)
        return total(data) + noise

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

    def one_record(data, *, rng, size):
        return rng.choice(data, size)

    def narrow_noise(data, *, rng, size):
        return rng.normal(total(data), 1e-3, size)

    def no_scale(data, *, rng, size):
        return rng.laplace(total(data), 0.0, size)

    def short_range(data, *, rng, size):
        return total(data) + rng.integers(0, 3, size)

    def one_sided(data, *, rng, size):
        return total(data) + rng.exponential(WIDE, size)

    def bounded(data, *, rng, size):
        return total(data) + rng.uniform(-WIDE, WIDE, size)

    def multinomial_with_a_hole(data, *, rng, size):
        return rng.multinomial(40, [0.5, 0.25, 0.25] if data[3] > 4 else [0.5, 0.5, 0.0], size)

    def first_cell_only(data, *, rng, size):
        noisy = np.array(data)
        noisy[0] += rng.laplace(0.0, WIDE)
        return noisy[None]

    def until_above_the_truth(data, *, rng, size):
        noisy = total(data) + rng.laplace(0.0, WIDE)
        while noisy < total(data):
            noisy = total(data) + rng.laplace(0.0, WIDE)
        return np.array([noisy])

    def clipped_at_the_truth(data, *, rng, size):
        return np.maximum(total(data) + rng.laplace(0.0, WIDE, size), total(data))

    def bits_of_noise(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, size)
        return np.stack([(noise.view(np.int64) & 1).astype(float), total(data) + noise])

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

    def noise_sum_reused(data, *, rng, size):
        noise = noise_sums.laplace_sum(WIDE, 3, (size,), rng=rng)
        return np.stack([total(data) + noise, noise])

    def keyword_noise(data, *, rng, size):
        out = np.empty(size)
        rng.standard_normal(out=out)
        return np.stack([total(data) + out, out])

    def sorted_noise(data, *, rng, size):
        return np.sort(rng.laplace(0.0, WIDE, (size, 4))) + data

    def largest_noise(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, (size, 4))
        return np.stack([noise.max(axis=1), total(data) + noise.max(axis=1)])

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

    def mean_and_first(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, (size, 2))
        return np.stack([noise.mean(axis=1) * 2 + total(data), noise[:, 0] - noise[:, 1], noise[:, 1]])

    def conditional_reuse(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, size)
        again = np.where(data[3] > 4, noise, rng.laplace(0.0, WIDE, size))
        return np.stack([total(data) + noise, total(data) + again])

    def broadcast_view(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, 1)
        return np.broadcast_to(noise, (2,)) + data[2:]

    def repeated(data, *, rng, size):
        return np.repeat(rng.laplace(0.0, WIDE, 1), 4) + data

    def running_sum(data, *, rng, size):
        return np.cumsum(np.concatenate([[data[3]], rng.laplace(0.0, WIDE, 3)]))[None]


def programs(of: type) -> dict[str, Any]:
    """The programs of a class, by name."""
    return {name: value for name, value in vars(of).items() if not name.startswith("_")}
