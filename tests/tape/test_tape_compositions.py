"""Noise that is made of several draws: the law of the whole, its wrong twins, and generators beside `rng`."""

import importlib
import math
import os
import random
import secrets
import struct
from collections.abc import Callable
from random import expovariate as imported
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpverify.claims.claim import PureDP
from dpverify.claims.neighbours import Pair
from dpverify.ledger.events import GaussianNoise
from dpverify.tape.enumeration import exact
from dpverify.tape.families import FAMILIES
from dpverify.tape.tracer import Trace, trace

PAIR = Pair(np.array([1.0, 0.0, 1.0, 1.0]), np.array([1.0, 0.0, 1.0, 0.0]))
SCORES = Pair(np.array([1.0, 2.0, 0.0]), np.array([1.0, 1.0, 1.0]))
One = Callable[[Any, Any], Any]


def released(one: One) -> Any:
    return lambda data, *, rng, size: [one(data, rng) for _ in range(size)]


def traced(one: One, pair: Pair = PAIR) -> Trace:
    return trace(released(one), pair=pair, claim=PureDP(1.0 + 1e-9), transcripts=8)


def certified(one: One, pair: Pair = PAIR) -> float:
    """The eps that is certified; inf where none is."""
    found = traced(one, pair).certified()
    return math.inf if found is None else found.eps


def seed() -> int:
    return int.from_bytes(os.urandom(4), "big")


def polar(rng: Any, factor: float = 2.0) -> tuple[Any, Any]:
    radius, angle = np.sqrt(-factor * np.log(rng.random())), 2 * np.pi * rng.random()
    return radius * np.cos(angle), radius * np.sin(angle)


def shared(data: Any, rng: Any) -> Any:
    noise = rng.gamma(1 / 5, size=5).sum() - rng.gamma(1 / 5, size=5).sum()
    return data.sum() + noise


def by_hand(data: Any, rng: Any) -> Any:
    u = random.SystemRandom().random() - 0.5
    return data.sum() - math.copysign(1.0, u) * math.log1p(-2 * abs(u))


def coin_by_hand(data: Any, rng: Any) -> Any:
    return data.sum() + (2 * rng.integers(0, 2) - 1) * rng.exponential()


LAPLACE: dict[str, One] = {
    "exponentials": lambda data, rng: data.sum() + rng.exponential() - rng.exponential(),
    "vectors of exponentials": lambda data, rng: data + (rng.exponential(size=4) - rng.exponential(size=4)),
    "minus logarithms": lambda data, rng: data.sum() - math.log(rng.random()) + math.log(1 - rng.random()),
    "gammas": lambda data, rng: data.sum() + 2.0 * (rng.gamma(1.0) - rng.gamma(1.0)) / 2.0,
    "shares": shared,
    "sign of a choice": lambda data, rng: data.sum() + rng.choice([-1.0, 1.0]) * rng.exponential(),
    "sign of a coin": coin_by_hand,
    "inverse transform": by_hand,
    "normals": lambda data, rng: data.sum() + rng.normal() * rng.normal() + rng.normal() * rng.normal(),
    "mixture": lambda data, rng: data.sum() + rng.standard_normal() * np.sqrt(2 * rng.exponential()),
    "geometrics": lambda data, rng: int(data.sum()) + rng.geometric(1 - 1 / math.e) - rng.geometric(1 - 1 / math.e),
    "random": lambda data, rng: data.sum() + random.choice([1, -1]) * random.expovariate(1.0),
    "random, imported": lambda data, rng: data.sum() + imported(1.0) - imported(1.0),
    "random, of its own": lambda data, rng: data.sum() + (g := random.Random()).expovariate(1.0) - g.expovariate(1.0),
    "numpy.random": lambda data, rng: data.sum() + np.random.exponential() - np.random.exponential(),  # noqa: NPY002
    "scipy": lambda data, rng: data.sum() + stats.laplace.rvs(),
    "scipy, frozen": lambda data, rng: data.sum() + stats.expon().rvs() - stats.expon().rvs(),
    "seed of the system": lambda data, rng: data.sum() + np.random.RandomState(seed()).laplace(),
    "seed of secrets": lambda data, rng: data.sum() + np.random.default_rng(secrets.randbits(128)).laplace(),
    "words": lambda data, rng: data.sum() + np.random.default_rng(struct.unpack("<4I", os.urandom(16))).laplace(),
    "single precision": lambda data, rng: data.sum() + np.float32(rng.laplace()),
    "numbers": lambda data, rng: round(float(data.sum() * 1e6 + float(rng.laplace(0, 1e6))) / 1e6, 9) * 1.0,
    "no seed": lambda data, rng: data.sum() + np.random.RandomState().laplace(),
    "no seed of a bit generator": lambda data, rng: data.sum() + np.random.Generator(np.random.Philox()).laplace(),
}


@pytest.mark.parametrize("name", LAPLACE)
def test_noise_of_several_draws_has_the_eps_of_its_law(name: str) -> None:
    found = traced(LAPLACE[name])
    assert found.status == "DERIVED", found.reasons
    assert found.eps() == pytest.approx(1.0, rel=1e-9)
    assert found.certified().eps == pytest.approx(1.0, rel=1e-9)


def kept_difference(data: Any, rng: Any) -> Any:
    first, second = rng.exponential(), rng.exponential()
    return data.sum() + first - second, first


def same_exponential(data: Any, rng: Any) -> Any:
    noise = rng.exponential()
    return data.sum() + noise - noise


def used_in_two_sums(data: Any, rng: Any) -> Any:
    first, second = rng.exponential(), rng.exponential()
    return data.sum() + first - second, (data > 0).sum() + first - second


def kept_uniform(data: Any, rng: Any) -> Any:
    u = rng.uniform(-0.5, 0.5)
    return data.sum() - np.sign(u) * np.log(1 - 2 * abs(u)), u


def one_normal_twice(data: Any, rng: Any) -> Any:
    a, b, c = rng.standard_normal(3)
    return data.sum() + a * b - c * b


def leaking_branch(data: Any, rng: Any) -> Any:
    """The sign is the data's."""
    sign = rng.choice([-1, 1]) if data[3] else 1
    return data.sum() + sign * rng.exponential()


def same_seed(data: Any, rng: Any) -> Any:
    given = seed()
    first, second = (np.random.RandomState(given).laplace() for _ in range(2))
    return data.sum() + first, data.sum() + second


def kept_seed(data: Any, rng: Any) -> Any:
    given = seed()
    return data.sum() + np.random.RandomState(given).laplace(), given


WRONG: dict[str, One] = {
    "too small a scale": lambda data, rng: data.sum() + 0.5 * (rng.exponential() - rng.exponential()),
    "two scales": lambda data, rng: data.sum() + rng.exponential() - 0.5 * rng.exponential(),
    "a scale of the data": lambda data, rng: data.sum() + (1 + data[3]) * (rng.exponential() - rng.exponential()),
    "a rate of the data": lambda data, rng: data.sum() + random.expovariate(1 + data[3]) - random.expovariate(1.0),
    "shapes of the data": lambda data, rng: data.sum() + rng.gamma(1 + data[3]) - rng.gamma(1 + data[3]),
    "half of the shares": lambda data, rng: data.sum() + sum(rng.gamma(1 / 8) - rng.gamma(1 / 8) for _ in range(4)),
    "other shapes": lambda data, rng: data.sum() + rng.gamma(1.0) - rng.gamma(1.5),
    "one exponential": lambda data, rng: data.sum() + rng.exponential(),
    "a kept part": kept_difference,
    "a part against itself": same_exponential,
    "two sums": used_in_two_sums,
    "a kept uniform": kept_uniform,
    "half of a logarithm": lambda data, rng: data.sum() + rng.choice([-1, 1]) * np.log(1 - rng.random() / 2),
    "an unfair sign": lambda data, rng: data.sum() + rng.choice([-1, 1], p=[0.75, 0.25]) * rng.exponential(),
    "an uneven sign": lambda data, rng: data.sum() + rng.choice([-1, 2]) * rng.exponential(),
    "a sign of the data": leaking_branch,
    "one normal in two products": one_normal_twice,
    "small products": lambda data, rng: data.sum() + (rng.normal() * rng.normal() + rng.normal() * rng.normal()) / 2,
    "a small mixture": lambda data, rng: data.sum() + rng.standard_normal() * np.sqrt(rng.exponential()),
    "other geometrics": lambda data, rng: int(data.sum()) + rng.geometric(0.5) - rng.geometric(1 - 1 / math.e),
    "large geometrics": lambda data, rng: int(data.sum()) + rng.geometric(0.9) - rng.geometric(0.9),
    "small noise in single precision": lambda data, rng: data.sum() + np.float32(rng.laplace(0, 0.5)),
    "a leak below single precision": lambda data, rng: data.sum() + np.float32(rng.laplace()) + 1e-9 * data[3],
    "one seed for two": same_seed,
    "a seed that is released": kept_seed,
    "a seed of eight bits": lambda data, rng: data.sum() + np.random.RandomState(seed() % 256).laplace(),
    "a seed that is known": lambda data, rng: data.sum() + np.random.RandomState(5).laplace(),
    "a generator of a known seed": lambda data, rng: data.sum() + random.Random(5).expovariate(1.0),
    "a leak in the low bits": lambda data, rng: (
        (data.sum() + rng.exponential() - rng.exponential()) // 1e-9 + data[3] / 2
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_twins_are_not_certified(name: str) -> None:
    assert certified(WRONG[name]) > 1.0 + 1e-6


@pytest.mark.parametrize(
    ("one", "sigma"),
    [
        (lambda data, rng: data.sum() + polar(rng)[0], 1.0),
        (lambda data, rng: data.sum() + polar(rng, 1.0)[1], math.sqrt(0.5)),
        (lambda data, rng: data.sum() + rng.normal() * 3.0 - 4.0 * rng.normal(), 5.0),
        (lambda data, rng: data.sum() + rng.normal(size=16).sum(), 4.0),
        (lambda data, rng: data.sum() + random.gauss(0, 2) + random.normalvariate(0, 1.5), 2.5),
    ],
)
def test_normal_noise_of_several_draws_has_its_sigma(one: One, sigma: float) -> None:
    found = traced(one)
    (event,) = (event for event, _ in found.ledger.counted)
    assert isinstance(event, GaussianNoise)
    assert event.sigma == pytest.approx(sigma, rel=1e-11)


def test_both_normals_of_one_angle_are_independent() -> None:
    def both(data: Any, rng: Any) -> Any:
        first, second = polar(rng)
        return data.sum() + first, 2 * data.sum() + second

    found = traced(both)
    moves = sorted(event.sensitivity.replace[0].size for event, _ in found.ledger.counted)
    assert moves == pytest.approx([1.0, 2.0])
    assert traced(lambda data, rng: data.sum() + sum(polar(rng)[:1] * 2)).ledger is None  # one of them, twice


@pytest.mark.parametrize(("scale", "eps"), [(2.0, 1.0), (1.0, 2.0), (0.25, 8.0)])
def test_a_gumbel_maximum_is_one_choice(scale: float, eps: float) -> None:
    """Scores move by 1 up and 1 down: the log ratio of the second is 1/scale and that of the normalising sums."""
    found = traced(lambda data, rng: int(np.argmax(data + rng.gumbel(scale=scale, size=3))), SCORES)
    chances = [np.exp(each / scale) / np.exp(each / scale).sum() for each in (SCORES.first, SCORES.second)]
    ratios = np.log(chances[0] / chances[1])
    assert found.alignment == "composed"
    assert max(abs(ratios)) <= eps
    for order, sign in zip(found.log_ratio, (1, -1), strict=True):
        assert all(np.abs(ratios * sign - each).min() < 1e-12 for each in order)


@pytest.mark.parametrize(
    "one",
    [
        lambda data, rng: int(np.argmax(data + rng.gumbel(scale=0.25, size=3))),
        lambda data, rng: int(np.argmax(data + rng.gumbel(scale=2.0))),
    ],
)
def test_wrong_gumbel_maxima_are_not_certified(one: One) -> None:
    assert certified(one, SCORES) > 1.0


def test_noise_that_is_seen_beside_its_maximum_is_no_choice() -> None:
    both = released(lambda data, rng: (noisy := data + rng.gumbel(scale=2.0, size=3), int(np.argmax(noisy))))
    assert trace(both, pair=SCORES, transcripts=8).alignment == "value"


SEEDED = """
import random

random.seed(5)


def release(data, *, rng, size):
    return [data.sum() + random.expovariate(1.0) - random.expovariate(1.0)]
"""


@pytest.mark.parametrize(
    "source", [SEEDED, SEEDED.replace("random.seed(5)\n", "").replace("    ret", "    random.seed(5)\n    ret")]
)
def test_random_with_a_known_seed_is_no_noise(source: str, tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    name = f"seeded_{len(source)}"
    (tmp_path / f"{name}.py").write_text(source)
    found = trace(importlib.import_module(name).release, pair=PAIR, claim=PureDP(1.0), transcripts=8)
    assert found.status == "NOT_TRACED"
    assert found.reasons[0].code in ("SEEDED", "FOREIGN")


def test_coins_of_the_system_are_enumerated() -> None:
    coin = released(lambda data, rng: data if secrets.randbelow(4) else secrets.randbelow(2))
    found = exact(coin, pair=Pair(0, 1))
    assert found.eps_upper == pytest.approx(math.log(7))
    bits = released(lambda data, rng: data ^ (secrets.randbits(2) == 0))
    assert exact(bits, pair=Pair(0, 1)).eps_upper == pytest.approx(math.log(3))


def test_generators_of_the_standard_library_are_put_back() -> None:
    before = random.random, random.SystemRandom.random, os.urandom, secrets.randbits, np.random.RandomState, math.log
    state = random.getstate()
    traced(LAPLACE["random"])
    after = random.random, random.SystemRandom.random, os.urandom, secrets.randbits, np.random.RandomState, math.log
    assert before == after
    assert state == random.getstate()
    assert "expovariate" not in vars(random.SystemRandom)


@pytest.mark.parametrize(
    ("family", "law"),
    [
        ("normal_product", lambda rng: rng.normal(size=100_000) * rng.normal(size=100_000)),
        ("root_exponential", lambda rng: np.sqrt(rng.exponential(size=100_000))),
        ("cosine", lambda rng: np.cos(2 * np.pi * rng.random(100_000))),
    ],
)
def test_laws_of_parts_are_densities(family: str, law: Any) -> None:
    """Binned against the density at level 1e-6, by a chi-squared test of 20 cells of equal mass under the samples."""
    rng = np.random.Generator(np.random.PCG64(3))
    train, test = law(rng), law(rng)
    grid = np.linspace(*np.quantile(train, [0.02, 0.98]), 21)
    fine = np.linspace(grid[0], grid[-1], 200_001)
    fine = (fine[1:] + fine[:-1]) / 2
    density = np.exp(FAMILIES[family].log_mass(fine))
    mass = density.reshape(20, -1).sum(axis=1)
    counts = np.histogram(test, grid)[0]
    assert stats.chisquare(counts, mass / mass.sum() * counts.sum()).pvalue > 1e-6
    assert density.sum() * (fine[1] - fine[0]) == pytest.approx(counts.sum() / 100_000, abs=0.01)
