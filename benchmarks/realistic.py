# ruff: noqa: D103  # a program is its name
"""47 true mechanisms, written as people write them: how many are followed by the tape, and is one accused?

    python -m benchmarks.realistic          # a row each, then the totals; exit code 1 where a true claim is accused

Each is a release of a small dataset with its true eps (pure, on the pair that is shown) and no ledger. `traced` counts
DERIVED with an eps at most the true one (to 1e-6), `exact` an enumeration with at most the true one; the rest says why.
A refutation, or a claim called CONTRADICTED, is an error of ours. By style: plain sums, generators other than `rng`,
laws by composition, and releases whose form depends on the noise.
"""

import math
import os
import random
import secrets
import struct
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from dpverify.claims.claim import PureDP
from dpverify.claims.neighbours import Pair
from dpverify.tape.enumeration import exact
from dpverify.tape.tracer import trace

ROWS = Pair(np.array([1.0, 0.0, 1.0, 1.0]), np.array([1.0, 0.0, 1.0, 0.0]))
CELLS = Pair([0, 1, 1, 2], [0, 1, 1, 1])
BIT = Pair(0, 1)
Release = Callable[..., Any]
PROGRAMS: dict[str, tuple[Release, float, Pair]] = {}


def mechanism(eps: float, pair: Pair = ROWS) -> Callable[[Callable[[Any, Any], Any]], Callable[[Any, Any], Any]]:
    """Registers one release as a target, with its eps."""

    def register(one: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def release(data: Any, *, rng: Any, size: int) -> Any:
            return [one(data, rng) for _ in range(size)]

        release.__name__ = one.__name__
        PROGRAMS[one.__name__] = release, eps, pair
        release.__wrapped__ = one  # type: ignore[attr-defined]
        return one

    return register


def uniform_bits() -> float:
    """A uniform of the operating system."""
    return int.from_bytes(os.urandom(7), "big") % 2**53 / 2**53


# Plain sums.


@mechanism(1.0)
def float_of_noise(data, rng):
    return data.sum() + float(rng.laplace())


@mechanism(1.0)
def item_of_noise(data, rng):
    return data.sum() + rng.laplace(size=1).item()


@mechanism(1.0)
def rounded_sum(data, rng):
    return round(float(data.sum() + rng.laplace()), 2)


@mechanism(1.0)
def whole_part(data, rng):
    return int(data.sum() + rng.laplace())


@mechanism(1.0)
def mean_by_hand(data, rng):
    return (sum(data.tolist()) + rng.laplace()) / len(data)


@mechanism(1.0)
def noisy_mean(data, rng):
    return float(np.mean(data) + rng.laplace(0, 1 / len(data)))


@mechanism(1.0)
def clipped_sum(data, rng):
    return np.clip(data, 0, 1).sum() + rng.laplace(0, 1.0)


@mechanism(1.0)
def clipped_result(data, rng):
    return max(0.0, data.sum() + rng.laplace())


@mechanism(2.0, CELLS)
def histogram(data, rng):
    return np.bincount(data, minlength=3) + rng.laplace(size=3)


@mechanism(2.0, CELLS)
def histogram_in_a_loop(data, rng):
    return [data.count(cell) + rng.laplace() for cell in range(3)]


@mechanism(2.0, CELLS)
def dictionary(data, rng):
    return {cell: data.count(cell) + float(rng.laplace()) for cell in range(3)}


@mechanism(2.0)
def count_and_sum(data, rng):
    return float(data.sum() + rng.laplace()), float((data > 0).sum() + rng.laplace())


@mechanism(1.0)
def sum_and_ratio(data, rng):
    noisy = data.sum() + rng.laplace()
    return noisy, noisy / len(data)


@mechanism(1.0)
def noise_first(data, rng):
    noise = rng.laplace(0, 1, 1)
    return float((noise + data.sum())[0])


@mechanism(1.0)
def single_precision(data, rng):
    return data.sum() + np.float32(rng.laplace())


@mechanism(1.0)
def text(data, rng):
    return f"{data.sum() + rng.laplace():.3f}"


# Generators other than `rng`.


@mechanism(1.0)
def global_numpy(data, rng):
    return data.sum() + np.random.laplace()  # noqa: NPY002


@mechanism(1.0)
def global_numpy_exponentials(data, rng):
    return data.sum() + np.random.exponential() - np.random.exponential()  # noqa: NPY002


@mechanism(1.0)
def fresh_generator(data, rng):
    return data.sum() + np.random.default_rng().laplace()


@mechanism(1.0)
def random_module(data, rng):
    return data.sum() + random.choice([-1, 1]) * random.expovariate(1.0)


@mechanism(1.0)
def random_module_difference(data, rng):
    return data.sum() + random.expovariate(1.0) - random.expovariate(1.0)


@mechanism(1.0)
def system_random(data, rng):
    return data.sum() + random.SystemRandom().expovariate(1.0) - random.SystemRandom().expovariate(1.0)


@mechanism(math.log(3), BIT)
def secret_coins(data, rng):
    return data if secrets.randbelow(2) else secrets.randbelow(2)


@mechanism(1.0)
def uniform_of_the_system(data, rng):
    u = uniform_bits() - 0.5
    return data.sum() - math.copysign(1.0, u) * math.log1p(-2 * abs(u))


@mechanism(1.0)
def scipy_with_rng(data, rng):
    return data.sum() + stats.laplace.rvs(random_state=rng)


@mechanism(1.0)
def scipy_alone(data, rng):
    return data.sum() + stats.laplace.rvs()


@mechanism(1.0)
def seed_from_the_system(data, rng):
    return data.sum() + np.random.RandomState(struct.unpack("<I", os.urandom(4))[0]).laplace()


# Laws by composition.


@mechanism(1.0)
def difference_of_exponentials(data, rng):
    return data.sum() + rng.exponential() - rng.exponential()


@mechanism(1.0)
def sign_times_exponential(data, rng):
    return data.sum() + rng.choice([-1, 1]) * rng.exponential()


@mechanism(1.0)
def inverse_transform(data, rng):
    u = rng.uniform(-0.5, 0.5)
    return data.sum() - np.sign(u) * np.log(1 - 2 * abs(u))


@mechanism(1.0)
def gamma_difference(data, rng):
    return data.sum() + rng.gamma(1.0) - rng.gamma(1.0)


@mechanism(1.0)
def shares_of_laplace(data, rng):
    return data.sum() + sum(rng.gamma(1 / 4) - rng.gamma(1 / 4) for _ in range(4))


@mechanism(1.0)
def difference_of_geometrics(data, rng):
    p = 1 - math.exp(-1.0)
    return int(data.sum()) + int(rng.geometric(p)) - int(rng.geometric(p))


@mechanism(1.0)
def laplace_of_normals(data, rng):
    a, b, c, d = rng.standard_normal(4)
    return data.sum() + a * b - c * d


@mechanism(1.0)
def exponential_mixture(data, rng):
    return data.sum() + math.sqrt(2 * rng.exponential()) * rng.standard_normal()


@mechanism(1.0)
def truncated_noise(data, rng):
    return float(np.clip(data.sum() + rng.laplace(), -10, 10))


# Coins, choices, and releases whose form depends on the noise.


@mechanism(math.log(3), BIT)
def two_coins(data, rng):
    return data if rng.random() < 0.5 else int(rng.random() < 0.5)


@mechanism(1.0, BIT)
def flip(data, rng):
    keep = math.e / (1 + math.e)
    return data ^ int(rng.binomial(1, 1 - keep))


@mechanism(math.log(4), Pair(0, 2))
def k_ary_response(data, rng):
    keep = 4 / (4 + 2)
    return data if rng.random() < keep else int(rng.choice([each for each in range(3) if each != data]))


@mechanism(1.0, CELLS)
def exponential_mechanism(data, rng):
    weights = np.exp(0.5 * np.bincount(data, minlength=3))
    return int(rng.choice(3, p=weights / weights.sum()))


@mechanism(1.0, CELLS)
def gumbel_maximum(data, rng):
    return int(np.argmax(np.bincount(data, minlength=3) + rng.gumbel(scale=2.0, size=3)))


@mechanism(1.0, CELLS)
def noisy_maximum(data, rng):
    return int(np.argmax(np.bincount(data, minlength=3) + rng.laplace(scale=2.0, size=3)))


@mechanism(1.0, CELLS)
def permute_and_flip(data, rng):
    counts = np.bincount(data, minlength=3)
    for cell in rng.permutation(3):
        if rng.random() < math.exp(0.5 * (counts[cell] - counts.max())):
            return int(cell)
    raise AssertionError("the largest is always taken")


@mechanism(1.0)
def above_a_threshold(data, rng):
    bar = 1.5 + rng.laplace(scale=2.0)
    return [bool(part + rng.laplace(scale=4.0) >= bar) for part in np.cumsum(data)]


@mechanism(2.0, CELLS)
def stability_histogram(data, rng):
    noisy = {cell: data.count(cell) + rng.laplace() for cell in range(3)}
    return {cell: value for cell, value in noisy.items() if value > 1.5}


@mechanism(1.0)
def private_quantile(data, rng):
    grid = np.linspace(0, 1, 11)
    score = -np.abs((data[:, None] <= grid).sum(axis=0) - len(data) / 2)
    weights = np.exp(0.5 * score)
    return float(rng.choice(grid, p=weights / weights.sum()))


@mechanism(math.log(3), Pair(0.0, 1.0))
def piecewise(data, rng):
    centre = 0.25 if data < 0.5 else 0.75
    near = rng.random() < 0.75
    return centre + rng.uniform(-0.25, 0.25) + (0.0 if near else 0.5 if centre < 0.5 else -0.5)


def looked_at(name: str) -> tuple[str, str]:
    """(word, reason) of one program: traced, exact, nothing, or accused."""
    release, eps, pair = PROGRAMS[name]
    claim = PureDP(eps * (1 + 1e-6))
    found = trace(release, pair=pair, claim=claim, transcripts=16, timeout=20.0)
    if found.status == "CONTRADICTED":
        return "ACCUSED", str(found.reasons[0])
    own = found.eps() if found.traced else None
    if own is not None and own <= claim.eps:
        return "traced", f"eps {own:.6g}"
    if found.traced and not found.bad and found.loss <= claim.eps:
        return "traced", f"no loss above {found.loss:.6g}"
    law = exact(release, pair=pair, timeout=5.0)
    if law.eps_lower is not None and law.eps_lower > claim.eps:
        return "ACCUSED", f"enumerated, at least {law.eps_lower:.6g}"
    if law.eps_upper is not None and law.eps_upper <= claim.eps:
        return "exact", f"eps {law.eps_upper:.6g}"
    return "nothing", str(found.reasons[0]) if found.reasons else f"eps {own}, loss {found.loss:.4g}"


def main() -> int:
    """The table; 1 where a true claim is accused."""
    words: list[str] = []
    for name in PROGRAMS:
        started = time.process_time()
        word, why = looked_at(name)
        words.append(word)
        print(f"{name:28} {word:8} {time.process_time() - started:5.1f} s  {why[:150]}")
    counts = {word: words.count(word) for word in ("traced", "exact", "nothing", "ACCUSED")}
    print(f"{len(words)} true mechanisms: " + ", ".join(f"{count} {word}" for word, count in counts.items()))
    return 1 if counts["ACCUSED"] else 0


if __name__ == "__main__":
    sys.exit(main())
