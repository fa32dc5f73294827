"""Report noisy max 1 to 4 and one with half of the noise."""

from functools import partial

import numpy as np
from scipy import stats

from benchmarks.zoo.subject import Animal, Array, pure

EPS = 0.1
SPREAD = np.array([2.0, 0, 0, 0, 0])
ONES = np.ones(5)


def _noise(kind: str, scale: float, data: Array, rng: np.random.Generator, size: int) -> Array:
    shape = (size, len(data))
    return data + (rng.laplace(0.0, scale, shape) if kind == "laplace" else rng.exponential(scale, shape))


def _which(kind: str, scale: float, data: Array, rng: np.random.Generator, size: int) -> Array:
    return _noise(kind, scale, data, rng, size).argmax(axis=1)


def _value(kind: str, scale: float, data: Array, rng: np.random.Generator, size: int) -> Array:
    return _noise(kind, scale, data, rng, size).max(axis=1)


def _law(kind: str, scale: float, data: Array) -> Array:
    """Pr[argmax = i] by quadrature."""
    noise = stats.laplace(scale=scale) if kind == "laplace" else stats.expon(scale=scale)
    edges = np.unique(np.r_[data, np.linspace(data.min() - 60 * scale, data.max() + 60 * scale, 4001)])
    nodes, weights = np.polynomial.legendre.leggauss(8)
    half = np.diff(edges)[:, None] / 2
    x, w = (edges[:-1, None] + half + half * nodes).ravel(), (half * weights).ravel()
    below = np.array([noise.cdf(x - each) for each in data])
    law = []
    for i, each in enumerate(data):
        law.append((w * noise.pdf(x - each) * np.prod(np.delete(below, i, axis=0), axis=0)).sum())
    return np.array(law)


def _table(ratio: Array, o: Array) -> Array:
    return ratio[o]


def _max_ratio(kind: str, scale: float, first: float, second: float, count: int, o: Array) -> Array:
    """The maximum of `count` equal answers with noise has density count f F^(count - 1)."""
    noise = stats.laplace(scale=scale) if kind == "laplace" else stats.expon(scale=scale)

    def log_density(answer: float) -> Array:
        return np.asarray(noise.logpdf(o - answer) + (count - 1) * noise.logcdf(o - answer))

    above = o > second  # exponential noise: nothing lies below the answer, and below the larger one only the first
    with np.errstate(invalid="ignore"):
        return np.where(above | (kind == "laplace"), log_density(first) - log_density(second), np.inf)


def animals() -> list[Animal]:
    """All of this file; 3 and 4 release the maximum itself, which is not what their proof covers."""
    found = []
    for name, kind, scale in (
        ("report noisy max 1", "laplace", 2 / EPS),
        ("report noisy max 2", "exponential", 2 / EPS),
        ("noisy max (half noise)", "laplace", 1 / EPS),
    ):
        ratio = np.log(_law(kind, scale, SPREAD) / _law(kind, scale, ONES))
        found.append(
            Animal(
                name,
                partial(_which, kind, scale),
                SPREAD,
                ONES,
                pure(EPS),
                float(np.abs(ratio).max()),
                "Dwork, Roth 2014, section 3.3; Ding et al. 2018",
                ratio=partial(_table, ratio),
            )
        )
    # the maximum of 5 Laplace(2/eps): below both answers the densities differ by e^(5 eps/2)
    three = Animal(
        "report noisy max 3",
        partial(_value, "laplace", 2 / EPS),
        ONES,
        2 * ONES,
        pure(EPS),
        5 * EPS / 2,
        "Ding et al. 2018",
        ratio=partial(_max_ratio, "laplace", 2 / EPS, 1.0, 2.0, 5),
    )
    four = Animal(
        "report noisy max 4",
        partial(_value, "exponential", 2 / EPS),
        ONES,
        2 * ONES,
        pure(EPS),
        np.inf,
        "Ding et al. 2018",
        ratio=partial(_max_ratio, "exponential", 2 / EPS, 1.0, 2.0, 5),
    )
    return [*found, three, four]
