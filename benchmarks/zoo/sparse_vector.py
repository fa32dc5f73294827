"""Sparse vector techniques 1 to 6 of Lyu, Su, Li 2017 (figure 1) and numerical sparse vector.

One output of a query: 1 above, 0 below, -1 not asked any more; 3 and the numerical one give numbers, with NaN
for "below" and -inf for "not asked any more". Ten queries, threshold `t`, at most `c` answers above.
"""

from functools import partial

import numpy as np

from benchmarks.zoo.sparse_vector_laws import FreshRatio, Noise, PatternRatio, ReleasedRatio
from benchmarks.zoo.subject import Animal, Array, pure

EPS = 0.1
ONES = np.ones(10)
HALVES = np.r_[2 * np.ones(5), np.zeros(5)]


def _above(t: float, rho: float, nu: float, data: Array, rng: np.random.Generator, size: int) -> tuple[Array, Array]:
    """Noisy answers, and which are above one noisy threshold."""
    threshold = t + rng.laplace(0.0, rho, (size, 1))
    noisy = data + (rng.laplace(0.0, nu, (size, len(data))) if nu else 0.0)
    return np.broadcast_to(noisy, (size, len(data))), noisy >= threshold


def _stopped(c: int, above: Array) -> Array:
    """True where c answers above came before."""
    return np.cumsum(above, axis=1) - above >= c


def _binary(c: int, t: float, rho: float, nu: float, data: Array, rng: np.random.Generator, size: int) -> Array:
    _, above = _above(t, rho, nu, data, rng, size)
    return np.where(_stopped(c, above), -1, above.astype(np.int64))


def _values(
    c: int, t: float, rho: float, nu: float, fresh: float, data: Array, rng: np.random.Generator, size: int
) -> Array:
    noisy, above = _above(t, rho, nu, data, rng, size)
    if fresh:
        noisy = data + rng.laplace(0.0, fresh, (size, len(data)))
    return np.where(_stopped(c, above), -np.inf, np.where(above, noisy, np.nan))


def _truth(ratio: PatternRatio, stops: bool) -> float:
    """max |log ratio| over outputs with c = 1, or over all 2^10 without a stop."""
    if stops:
        rows = np.where(np.arange(10) < np.arange(11)[:, None], 0, -1)
        rows[np.arange(10), np.arange(10)] = 1
    else:
        rows = (np.arange(2**10)[:, None] >> np.arange(10)) & 1
    return float(np.abs(ratio(rows)).max())


def animals() -> list[Animal]:
    """All of this file, on the pair of ten answers 1 against five 2 and five 0."""
    lyu = "Lyu, Su, Li 2017, figure 1, Algorithm "
    h = EPS / 2
    found = []
    for number, t, rho, nu, claimed in (
        (1, 0.5, 1 / h, 2 / h, EPS),
        (2, 1.0, 1 / h, 2 / h, EPS),
        (4, 1.0, 4 / EPS, 4 / (3 * EPS), EPS),
    ):
        ratio = PatternRatio(Noise(t, rho, nu), ONES, HALVES)
        draw = partial(_binary, 1, t, rho, nu)
        found.append(
            Animal(
                f"sparse vector {number}",
                draw,
                ONES,
                HALVES,
                pure(claimed),
                _truth(ratio, True),
                lyu + str(number),
                ratio=ratio,
            )
        )
    three = partial(_values, 1, 1.0, 1 / h, 1 / h, 0.0)
    found.append(
        Animal(
            "sparse vector 3",
            three,
            ONES,
            HALVES,
            pure(EPS),
            np.inf,
            lyu + "3 (inf as queries grow)",
            False,
            ratio=ReleasedRatio(Noise(1.0, 1 / h, 1 / h), ONES, HALVES),
        )
    )
    five = partial(_binary, 11, 1.0, 1 / h, 0.0)
    found.append(
        Animal(
            "sparse vector 5",
            five,
            HALVES,
            ONES,
            pure(EPS),
            np.inf,
            lyu + "5 (no noise on answers)",
            ratio=PatternRatio(Noise(1.0, 1 / h, 0.0), HALVES, ONES),
        )
    )
    six = partial(_binary, 11, 1.0, 1 / h, 1 / h)
    ratio = PatternRatio(Noise(1.0, 1 / h, 1 / h), ONES, HALVES)
    found.append(Animal("sparse vector 6", six, ONES, HALVES, pure(EPS), _truth(ratio, False), lyu + "6", ratio=ratio))
    third = EPS / 3
    numerical = partial(_values, 2, 1.0, 1 / third, 4 / third, 2 / third)
    found.append(
        Animal(
            "numerical sparse vector",
            numerical,
            ONES,
            np.zeros(10),
            pure(EPS),
            EPS,
            "Dwork, Roth 2014, 3.4",
            False,
            ratio=FreshRatio(Noise(1.0, 1 / third, 4 / third), 2 / third, ONES, np.zeros(10)),
        )
    )
    return found
