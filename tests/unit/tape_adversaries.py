"""Programs written from the specification alone, by somebody who had not seen the tape: each tries to be called fine.

All release something about DATA against NEAR (the last record: 5 against 4, so the sums are 8 and 7) with noise of
scale 10, so that one who sees the noise only would say 0.1. None is 1-DP. `STATEMENTS` leak with a known probability:
there a statement (eps, delta) is allowed, and must be true.
"""

import array
import asyncio
import copy
import ctypes
import dataclasses
import decimal
import functools
import hashlib
import io
import math
import os
import pickle
import threading
import types
import uuid
from typing import Any

import numpy as np
from numpy.random import laplace as imported_laplace  # the bound method of the global state: a name that escapes
from scipy import stats

Array = Any
DATA = np.array([1.0, 0.0, 2.0, 5.0])
NEAR = np.array([1.0, 0.0, 2.0, 4.0])
WIDE = 10.0
LOCAL = threading.local()


def total(data: Array) -> float:
    return float(np.sum(data))


def odd(data: Array) -> bool:
    return int(total(data)) % 2 == 1


def noisy(data: Array, rng: Any, size: int) -> Array:
    return total(data) + rng.laplace(0.0, WIDE, size)


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


class Adversary:
    """None of these may be called fine."""

    # -- the noise is used twice, or taken away again
    def antithetic(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, size)
        return np.stack([total(data) + noise, total(data) - noise], axis=-1)

    def centred(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, (size, 4))
        return data + noise - noise.mean(axis=-1, keepdims=True)

    def parts_add_up(data, *, rng, size):
        first, second = rng.laplace(0.0, WIDE, size), rng.laplace(0.0, WIDE, size)
        return np.stack([total(data) + first, first - second, second], axis=-1)

    def cumulated_and_last(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, (size, 4))
        return np.concatenate([np.cumsum(data + noise, axis=-1), noise[:, -1:] + noise[:, :1], noise[:, :3]], axis=-1)

    def deep_copied(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, size)
        return np.stack([total(data) + noise, 3 * total(data) + copy.deepcopy(noise)], axis=-1)

    def pickled_noise(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, size)
        return np.stack([total(data) + noise, 3 * total(data) + pickle.loads(pickle.dumps(noise))], axis=-1)

    def through_a_list(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, size)
        return np.stack([total(data) + noise, 3 * total(data) + np.array(noise.tolist())], axis=-1)

    def narrower_floats(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, size)
        return np.stack([total(data) + noise, 3 * total(data) + noise.astype(np.float32)], axis=-1)

    def seen_as_integers(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, size)
        return total(data) + noise, noise.view(np.int64)

    def digest(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, size)
        return total(data) + noise, hashlib.sha256(noise.tobytes()).hexdigest()

    def hash_of_the_noise(data, *, rng, size):
        noise = float(rng.laplace(0.0, WIDE))
        return total(data) + noise, hash(noise)

    def chosen_then_shown(data, *, rng, size):
        first, second = rng.laplace(0.0, WIDE, size), rng.laplace(0.0, WIDE, size)
        return np.stack([total(data) + (first if odd(data) else second), first], axis=-1)

    def same_buffer(data, *, rng, size):
        buffer = np.empty(size)
        rng.standard_normal(out=buffer)
        first = total(data) + WIDE * buffer
        return np.stack([first, WIDE * buffer + 3 * total(data)], axis=-1)

    def shuffled_noise(data, *, rng, size):
        noise = rng.laplace(0.0, WIDE, 4)
        shown = data + noise
        rng.shuffle(noise)
        return shown, noise

    # -- the noise does not reach the value
    def coefficient_by_data(data, *, rng, size):
        return total(data) + rng.laplace(0.0, WIDE, size) * (total(data) - 7.0)

    def where_of_a_ufunc(data, *, rng, size):
        out = np.array(np.broadcast_to(data, (size, 4)))
        np.add(out, rng.laplace(0.0, WIDE, (size, 4)), out=out, where=data < 4.5)
        return out

    def where_by_data(data, *, rng, size):
        return np.where(data > 4.5, data + rng.laplace(0.0, WIDE, (size, 4)), data)

    def imaginary_noise(data, *, rng, size):
        return total(data) + 1j * rng.laplace(0.0, WIDE, size)

    def one_bare_cell(data, *, rng, size):
        return data + rng.laplace(0.0, [WIDE, WIDE, WIDE, 1e-12], (size, 4))

    def half_and_floor(data, *, rng, size):
        return 0.5 * total(data) + np.floor(rng.laplace(0.0, WIDE, size))

    def parity_bit(data, *, rng, size):
        return 2 * np.rint(total(data) + rng.laplace(0.0, WIDE, size)).astype(np.int64) + odd(data)

    def absolute(data, *, rng, size):
        return total(data) + np.abs(rng.laplace(0.0, WIDE, size))

    def exponentiated(data, *, rng, size):
        return total(data) + np.exp(rng.laplace(0.0, 1.0, size))

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

    def exclusive_or(data, *, rng, size):
        mask = rng.integers(0, 16, size)
        return np.stack([int(total(data)) ^ mask, mask], axis=-1)

    # -- the law depends on the data
    def rejected_by_data(data, *, rng, size):
        while True:
            noise = float(rng.laplace(0.0, WIDE))
            if abs(noise) < total(data) - 6.0:
                return total(data) + noise

    def two_families(data, *, rng, size):
        return total(data) + (rng.laplace(0.0, WIDE, size) if odd(data) else rng.normal(0.0, WIDE, size))

    def records_as_noise(data, *, rng, size):
        return total(data) + rng.choice(np.array(data), size)

    def number_of_coins(data, *, rng, size):
        return rng.binomial(int(total(data)), 0.9, size)

    def top_of_range(data, *, rng, size):
        return rng.integers(0, int(total(data)), size, endpoint=True)

    # -- randomness from elsewhere
    def jumped(data, *, rng, size):
        other = np.random.Generator(rng.bit_generator.jumped())
        return total(data) + other.laplace(0.0, 1e-3, size)

    def raw_words(data, *, rng, size):
        return total(data) + rng.bit_generator.random_raw() * 2.0**-70

    def seed_sequence(data, *, rng, size):
        other = np.random.default_rng(rng.bit_generator.seed_seq.spawn(1)[0])
        return total(data) + other.laplace(0.0, 1e-3, size)

    def seeded_by_data(data, *, rng, size):
        return total(data) + np.random.default_rng([int(v) for v in data]).laplace(0.0, WIDE, size)

    def own_bit_generator(data, *, rng, size):
        return total(data) + np.random.Generator(np.random.PCG64()).laplace(0.0, 1e-3, size)

    def fresh_entropy(data, *, rng, size):
        return total(data) + np.random.SeedSequence().entropy * 2.0**-140

    def imported_method(data, *, rng, size):
        return total(data) + imported_laplace(0.0, 1e-3, size)  # noqa: NPY002 - the defect

    def unbound_method(data, *, rng, size):
        return np.random.Generator.laplace(rng, total(data), 1e-9, size)

    def universal_identifiers(data, *, rng, size):
        return total(data) + uuid.uuid4().int * 2.0**-138

    def c_library(data, *, rng, size):
        return total(data) + ctypes.CDLL(None).rand() * 2.0**-41

    def replaced_method(data, *, rng, size):
        try:
            rng.laplace = lambda *_, **__: np.zeros(size)
        except AttributeError:
            return total(data) + np.zeros(size)
        return noisy(data, rng, size)

    # -- memory between calls
    def default_argument(data, *, rng, size, seen=[]):  # noqa: B006 - the defect
        seen.append(1)
        return total(data) if len(seen) % 2 else noisy(data, rng, size)

    def thread_local(data, *, rng, size):
        LOCAL.calls = getattr(LOCAL, "calls", 0) + 1
        return total(data) if LOCAL.calls % 2 else noisy(data, rng, size)

    def environment_variable(data, *, rng, size):
        calls = int(os.environ.get("DPVERIFY_ADVERSARY", "0")) + 1
        os.environ["DPVERIFY_ADVERSARY"] = str(calls)
        return total(data) if calls % 2 else noisy(data, rng, size)

    @functools.cache  # noqa: B019
    def _once(exact):
        return [exact]

    def cached_truth(data, *, rng, size):
        return noisy(data, rng, size), Adversary._once(total(data))

    # -- threads
    def another_thread(data, *, rng, size):
        found = []
        worker = threading.Thread(target=lambda: found.append(np.random.default_rng().laplace(0.0, 1e-3, size)))
        worker.start()
        worker.join()
        return total(data) + found[0]

    def coroutine_with_leak(data, *, rng, size):
        async def work():
            return np.stack([noisy(data, rng, size), np.full(size, total(data))], axis=-1)

        return asyncio.run(work())

    # -- what the output carries beside its numbers
    def equal_to_everything(data, *, rng, size):
        return noisy(data, rng, size), AlwaysEqual(total(data))

    def field_not_compared(data, *, rng, size):
        return Partly(noisy(data, rng, size), total(data))

    def computes_later(data, *, rng, size):
        shown = noisy(data, rng, size)
        return shown, Later(lambda: total(data))

    def partial(data, *, rng, size):
        return noisy(data, rng, size), functools.partial(float, total(data))

    def bound_method(data, *, rng, size):
        return noisy(data, rng, size), AlwaysEqual(total(data)).__eq__

    def clean_when_copied(data, *, rng, size):
        return noisy(data, rng, size), CleanWhenCopied(total(data))

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

    def truth_for_one(data, *, rng, size):
        return noisy(data, rng, size), (True if odd(data) else 1)

    def zero_dimensions(data, *, rng, size):
        out = np.asarray(noisy(data, rng, ()))
        return out if odd(data) else np.float64(out)

    def fill_value(data, *, rng, size):
        return np.ma.masked_array(np.asarray(noisy(data, rng, size)), mask=False, fill_value=total(data))

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

    def stream(data, *, rng, size):
        return noisy(data, rng, size), io.BytesIO(str(total(data)).encode())

    def iterator(data, *, rng, size):
        return noisy(data, rng, size), iter([total(data)])

    def typed_array(data, *, rng, size):
        return noisy(data, rng, size), array.array("d", [total(data)])

    def class_made_here(data, *, rng, size):
        return noisy(data, rng, size), type("Answer", (), {"exact": total(data)})

    def namespace(data, *, rng, size):
        return types.SimpleNamespace(shown=noisy(data, rng, size), exact=total(data))

    def half_range(data, *, rng, size):
        return noisy(data, rng, size), range(int(total(data)))

    def generator_released(data, *, rng, size):
        return noisy(data, rng, size), rng

    # -- exceptions
    def attribute_of_exception(data, *, rng, size):
        noisy(data, rng, size)
        error = ValueError("as usual")
        error.exact = total(data)
        raise error

    def cause_of_exception(data, *, rng, size):
        noisy(data, rng, size)
        raise ValueError("as usual") from KeyError(total(data))

    def note_of_exception(data, *, rng, size):
        noisy(data, rng, size)
        error = ValueError("as usual")
        error.add_note(str(total(data)))
        raise error

    def system_exit(data, *, rng, size):
        noisy(data, rng, size)
        raise SystemExit(int(total(data)))


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
