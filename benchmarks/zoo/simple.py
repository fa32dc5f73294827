"""Subjects of one noise draw a coordinate: Laplace, histograms, RAPPOR, prefix sums, geometric, planted scales."""

from functools import partial

import numpy as np
from scipy import optimize, stats

from benchmarks.zoo.subject import Animal, Array, pure
from dpverify import ApproxDP

EPS = 0.1
ONES = np.ones(5)


def _laplace(scale: float, data: Array, rng: np.random.Generator, size: int) -> Array:
    return data + rng.laplace(0.0, scale, (size, *np.shape(data)))


def _laplace_ratio(scale: float, first: Array, second: Array, o: Array) -> Array:
    apart = np.abs(first - second)
    each = np.sign(first - second) * np.clip(2 * o - first - second, -apart, apart)
    return each.reshape(len(o), -1).sum(axis=1) / scale


def _prefix(scale: float, data: Array, rng: np.random.Generator, size: int) -> Array:
    return np.cumsum(_laplace(scale, data, rng, size), axis=1)


def _prefix_ratio(scale: float, first: Array, second: Array, o: Array) -> Array:
    return _laplace_ratio(scale, first, second, np.diff(o, axis=1, prepend=0.0))


def _bits(keep: float, data: Array, rng: np.random.Generator, size: int) -> Array:
    same = rng.random((size, len(data))) < keep
    return np.where(same, data, 1 - data).astype(np.int64)


def _bits_ratio(keep: float, first: Array, second: Array, o: Array) -> Array:
    return ((o == first).astype(float) - (o == second)).sum(axis=1) * np.log(keep / (1 - keep))


def _truncated_geometric(eps: float, data: Array, rng: np.random.Generator, size: int) -> Array:
    p = -np.expm1(-eps)
    return np.clip(data + rng.geometric(p, size) - rng.geometric(p, size), 0, 5).astype(np.int64)


def _step_ratio(eps: float, o: Array) -> Array:
    return np.where(o >= 2, eps, -eps)  # from 2 to 1


def _gaussian(sigma: float, data: Array, rng: np.random.Generator, size: int) -> Array:
    return data + sigma * rng.standard_normal(size)


def _gaussian_ratio(sigma: float, o: Array) -> Array:
    return (0.5 - o) / sigma**2


def _subsampled(rate: float, eps: float, data: Array, rng: np.random.Generator, size: int) -> Array:
    kept = rng.random(size) < rate
    return kept * data + rng.laplace(0.0, 1 / eps, size)


def _subsampled_ratio(rate: float, eps: float, o: Array) -> Array:
    """From data 0, where the record adds nothing, to data 1."""
    shifted = eps * np.clip(2 * o - 1, -1, 1)  # log of f(o - 1)/f(o)
    return np.asarray(-np.log1p(rate * np.expm1(shifted)))


def _gaussian_eps(sigma: float, delta: float) -> float:
    """Exact eps(delta) of a shift by 1 (Balle, Wang 2018, Theorem 8)."""

    def excess(eps: float) -> float:
        a, b = 0.5 / sigma - eps * sigma, -0.5 / sigma - eps * sigma
        return float(stats.norm.cdf(a) - np.exp(eps) * stats.norm.cdf(b)) - delta

    return float(optimize.brentq(excess, 0.0, 50.0))


def animals() -> list[Animal]:
    """All of this file."""
    bits = np.r_[np.ones(4), np.zeros(16)]
    other = np.r_[np.zeros(3), np.ones(4), np.zeros(13)]  # one shared hash: 6 bits differ
    longitudinal, once = 0.375 + 0.25 * 0.55, 0.525
    step = np.log(9 / 8)
    wrong_delta = 1 / 0.9 * np.sqrt(2 * np.log(1.25 / 1e-3))  # noise for delta 1e-3, claimed at 1e-6
    found = [
        Animal(
            "laplace",
            partial(_laplace, 1 / EPS),
            0,
            1,
            pure(EPS),
            EPS,
            "Dwork et al. 2006",
            ratio=partial(_laplace_ratio, 1 / EPS, np.zeros(1), np.ones(1)),
        ),
        Animal(
            "laplace-1",
            partial(_laplace, 1.0),
            0,
            1,
            pure(1.0),
            1.0,
            "Dwork et al. 2006",
            ratio=partial(_laplace_ratio, 1.0, np.zeros(1), np.ones(1)),
        ),
        Animal(
            "noisy-hist-1",
            partial(_laplace, 1 / EPS),
            [2, 1, 1, 1, 1],
            ONES,
            pure(EPS),
            EPS,
            "Ding et al. 2018",
            ratio=partial(_laplace_ratio, 1 / EPS, np.array([2.0, 1, 1, 1, 1]), ONES),
        ),
        Animal(
            "noisy-hist-2 (scale eps)",
            partial(_laplace, EPS),
            [0, 1, 1, 1, 1],
            ONES,
            pure(EPS),
            1 / EPS,
            "Ding et al. 2018",
            ratio=partial(_laplace_ratio, EPS, np.array([0.0, 1, 1, 1, 1]), ONES),
        ),
        Animal(
            "one-time rappor",
            partial(_bits, once),
            bits,
            other,
            pure(0.8),
            6 * np.log(once / (1 - once)),
            "Erlingsson et al. 2014",
            ratio=partial(_bits_ratio, once, bits, other),
        ),
        Animal(
            "rappor",
            partial(_bits, longitudinal),
            bits,
            other,
            pure(0.4),
            6 * np.log(longitudinal / (1 - longitudinal)),
            "Erlingsson et al. 2014",
            ratio=partial(_bits_ratio, longitudinal, bits, other),
        ),
        Animal(
            "prefix sums",
            partial(_prefix, 1 / EPS),
            2 * np.ones(10),
            np.ones(10),
            pure(1.0),
            1.0,
            "Bichsel et al. 2021",
            ratio=partial(_prefix_ratio, 1 / EPS, 2 * np.ones(10), np.ones(10)),
        ),
        Animal(
            "truncated geometric",
            partial(_truncated_geometric, step),
            2,
            1,
            pure(step),
            step,
            "Ghosh et al. 2009",
            ratio=partial(_step_ratio, step),
        ),
        Animal(
            "gaussian (wrong delta)",
            partial(_gaussian, wrong_delta),
            0,
            1,
            ApproxDP(0.9, 1e-6),
            _gaussian_eps(wrong_delta, 1e-6),
            "Dwork, Roth 2014, Theorem A.1",
            ratio=partial(_gaussian_ratio, wrong_delta),
        ),
        Animal(
            "subsampled laplace (eps q)",
            partial(_subsampled, 0.2, 2.0),
            0,
            1,
            pure(0.4),
            float(np.log1p(0.2 * np.expm1(2.0))),
            "Li et al. 2012: log(1 + q(e^eps - 1))",
            ratio=partial(_subsampled_ratio, 0.2, 2.0),
        ),
    ]
    return found
