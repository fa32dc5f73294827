"""Vectors of up to ten coordinates with a known likelihood ratio: which shapes of leak a learned score finds.

    python -m benchmarks.vectors --trials 100000 --repetitions 10 --jobs 2 --only Laplace

prints, for each subject, the mean certified eps with the exact score and with a learned one, and their ratio,
over seeds 0, 1, ... The exact score certifies with all trials; the learned one pays for learning out of them.
"""

import argparse
import time
from collections import Counter
from functools import partial

import numpy as np
from scipy import special, stats

from benchmarks.reference import Array, BlackBox, Reference
from dpverify import ApproxDP, Claim, PureDP
from dpverify.runs.executors import ordered_map
from dpverify.verdicts.audit import audit


def laplace_one(d: int, eps: float) -> Reference:
    """One coordinate moves by 1, all have Laplace(1/eps): d - 1 coordinates of pure noise."""

    def draw(arm: int, rng: np.random.Generator, size: int) -> Array:
        out = rng.laplace(0.0, 1 / eps, (size, d))
        out[:, 0] += arm
        return out

    return Reference(
        f"Laplace({eps:g}), 1 of {d}",
        draw,
        lambda o: eps * -np.clip(2 * o[:, 0] - 1, -1, 1),
        PureDP(eps),
        eps,
    )


def laplace_all(d: int, eps: float) -> Reference:
    """Every coordinate moves by 1/d under Laplace(1/eps): the L1 sensitivity is shared out evenly."""
    return Reference(
        f"Laplace({eps:g}), all of {d}",
        lambda arm, rng, size: arm / d + rng.laplace(0.0, 1 / eps, (size, d)),
        lambda o: eps * -np.clip(2 * o - 1 / d, -1 / d, 1 / d).sum(axis=1),
        PureDP(eps),
        eps,
    )


def laplace_mixed_signs(d: int, eps: float) -> Reference:
    """Coordinates move by geometrically falling shifts of alternating sign, 1 in all."""
    shift = 0.5 ** np.arange(d) * (-1.0) ** np.arange(d)
    shift /= np.abs(shift).sum()
    return Reference(
        f"Laplace({eps:g}), uneven {d}",
        lambda arm, rng, size: arm * shift + rng.laplace(0.0, 1 / eps, (size, d)),
        lambda o: eps * (np.abs(o - shift) - np.abs(o)).round(12).sum(axis=1),
        PureDP(eps),
        eps,
    )


def gaussian_correlated(d: int, mu: float, correlation: float) -> Reference:
    """N(0, S) against N(e_1 shift, S), S equicorrelated; the shift is scaled so that its length in S is mu."""
    cov = np.full((d, d), correlation) + (1 - correlation) * np.eye(d)
    root, inverse = np.linalg.cholesky(cov), np.linalg.inv(cov)
    shift = np.zeros(d)
    shift[0] = mu / np.sqrt(inverse[0, 0])
    return Reference(
        f"Gaussian({mu:g}), correlated {d}",
        lambda arm, rng, size: arm * shift + rng.standard_normal((size, d)) @ root.T,
        lambda o: mu * mu / 2 - o @ inverse @ shift,
        ApproxDP(1.0, 1e-5),
        _gaussian_eps(mu, 1e-5),
    )


def _gaussian_eps(mu: float, delta: float) -> float:
    """eps(delta) of N(0, 1) against N(mu, 1) (Balle, Wang 2018, Theorem 8), by bisection."""
    low, high = 0.0, 100.0
    for _ in range(100):
        eps = (low + high) / 2
        excess = stats.norm.cdf(mu / 2 - eps / mu) - np.exp(eps + stats.norm.logcdf(-mu / 2 - eps / mu))
        low, high = (eps, high) if excess > delta else (low, eps)
    return high


def bits(d: int, eps: float) -> Reference:
    """Randomised response on d bits that all flip."""
    keep = special.expit(eps / d)
    return Reference(
        f"bits({eps:g}), all of {d}",
        lambda arm, rng, size: np.where(rng.random((size, d)) < keep, arm, 1 - arm).astype(np.int64),
        lambda o: (eps / d) * (1.0 - 2 * o).sum(axis=1),
        PureDP(eps),
        eps,
    )


def bits_two_of(d: int, eps: float) -> Reference:
    """Randomised response on d bits of which two flip."""
    keep = special.expit(eps / 2)
    truth = np.zeros((2, d), np.int64)
    truth[1, :2] = 1
    return Reference(
        f"bits({eps:g}), 2 of {d}",
        lambda arm, rng, size: np.where(rng.random((size, d)) < keep, truth[arm], 1 - truth[arm]),
        lambda o: (eps / 2) * (1.0 - 2 * o[:, :2]).sum(axis=1),
        PureDP(eps),
        eps,
    )


def mixed(d: int, eps: float) -> Reference:
    """A bit, a count and a real number share eps; the other d - 3 coordinates are normal noise."""
    one = eps / 3
    keep, p = special.expit(one), -np.expm1(-one)

    def draw(arm: int, rng: np.random.Generator, size: int) -> Array:
        out = rng.standard_normal((size, d))
        out[:, 0] = np.where(rng.random(size) < keep, arm, 1 - arm)
        out[:, 1] = arm + rng.geometric(p, size) - rng.geometric(p, size)
        out[:, 2] = arm + rng.laplace(0.0, 1 / one, size)
        return out

    def ratio(o: Array) -> Array:
        return one * (np.where(o[:, 0] == 0, 1, -1) + np.where(o[:, 1] <= 0, 1, -1) - np.clip(2 * o[:, 2] - 1, -1, 1))

    return Reference(f"bit, count, real of {d}", draw, ratio, PureDP(eps), eps)


def padded(d: int, eps: float) -> Reference:
    """Between 1 and d answers, each eps/d-DP, padded with NaN; how many does not depend on the data."""
    one = eps / d

    def draw(arm: int, rng: np.random.Generator, size: int) -> Array:
        out = arm + rng.laplace(0.0, 1 / one, (size, d))
        return np.where(np.arange(d) < rng.integers(1, d + 1, (size, 1)), out, np.nan)

    return Reference(
        f"padded({eps:g}), up to {d}",
        draw,
        lambda o: np.nansum(one * -np.clip(2 * o - 1, -1, 1), axis=1).round(12),
        PureDP(eps),
        eps,
    )


def spherical(d: int, eps: float) -> Reference:
    """Noise of density exp(-eps |x|_2), a shift of length 1: the mechanism of L2 sensitivity, not additive."""
    shift = np.zeros(d)
    shift[:] = 1 / np.sqrt(d)

    def draw(arm: int, rng: np.random.Generator, size: int) -> Array:
        direction = rng.standard_normal((size, d))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        return arm * shift + direction * rng.gamma(d, 1 / eps, (size, 1))

    return Reference(
        f"spherical({eps:g}), {d}",
        draw,
        lambda o: eps * (np.linalg.norm(o - shift, axis=1) - np.linalg.norm(o, axis=1)),
        PureDP(eps),
        eps,
    )


def twisted(correlation: float) -> Reference:
    """Two normals with correlation r on the first and -r on the second dataset: equal margins, a product leaks.

    The ratio r x y 2/(1 - r^2) is unbounded: the truth at the claim's delta is not tabulated.
    """
    slope = 2 * correlation / (1 - correlation**2)

    def draw(arm: int, rng: np.random.Generator, size: int) -> Array:
        x, z = rng.standard_normal((2, size))
        sign = 1 - 2 * arm
        return np.stack([x, sign * correlation * x + np.sqrt(1 - correlation**2) * z], axis=1)

    return Reference(
        f"product({correlation:g}), 2", draw, lambda o: slope * o[:, 0] * o[:, 1], PureDP(1.0), float("inf")
    )


def hidden_parity(d: int, eps: float) -> Reference:
    """d fair bits whose parity tells the data with eps: no d - 1 of them say anything."""
    keep = special.expit(eps)

    def draw(arm: int, rng: np.random.Generator, size: int) -> Array:
        out = rng.integers(0, 2, (size, d))
        parity = np.where(rng.random(size) < keep, arm, 1 - arm)
        out[:, -1] = (out[:, :-1].sum(axis=1) + parity) % 2
        return out

    return Reference(
        f"parity({eps:g}) of {d} bits",
        draw,
        lambda o: np.where(o.sum(axis=1) % 2 == 0, eps, -eps),
        PureDP(eps),
        eps,
    )


def _subjects() -> list[Reference]:
    found = []
    for d in (2, 5, 10):
        found += [laplace_one(d, 1.0), laplace_all(d, 1.0), laplace_mixed_signs(d, 1.0)]
        found += [gaussian_correlated(d, 1.0, 0.5), bits(d, 1.0), spherical(d, 1.0)]
    for d in (5, 10):
        found += [mixed(d, 1.0), padded(d, 1.0), bits_two_of(d, 1.0), laplace_one(d, 0.3), laplace_all(d, 0.3)]
    return [*found, twisted(0.3), hidden_parity(4, 1.0), hidden_parity(10, 1.0)]


SUBJECTS = tuple(_subjects())


def _run(trials: int, asked: tuple[int, int]) -> tuple[float, float, str, float]:
    """Exact and learned bound of one subject and seed, the learned score's name, and its seconds."""
    place, seed = asked
    subject = SUBJECTS[place]
    request = {"claim": subject.claim, "pair": subject.pair, "trials": trials, "seed": seed}
    exact = audit(subject, **request).eps_lower
    started = time.process_time()
    record = audit(BlackBox(subject), **request)
    return exact, record.eps_lower, record.score, time.process_time() - started


def _row(subject: Reference, claim: Claim, found: list[tuple[float, float, str, float]]) -> str:
    exact, learned, seconds = (np.array([each[k] for each in found], float) for k in (0, 1, 3))
    scale = max(exact.mean(), 1e-300)
    # the two audits of a seed share no trial: the learned one's scatter, in units of the exact mean
    error = learned.std() / scale / np.sqrt(len(found))
    false = np.mean(learned > subject.truth)
    names = ", ".join(f"{name} {count}" for name, count in Counter(each[2] for each in found).most_common(3))
    return (
        f"| {subject.name} | {exact.mean():.4f} | {learned.mean():.4f} | {learned.mean() / scale:.3f} +- {error:.3f} | "
        f"{false:.2f} | {seconds.mean():.1f} | {names} |"
    )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    print("| subject | exact score | learned score | ratio | above truth | cpu s | scores |")
    print("|---|---|---|---|---|---|---|")
    seeds = range(options.first_seed, options.first_seed + options.repetitions)
    for place, subject in enumerate(SUBJECTS):
        if options.only in subject.name:
            asked = [(place, seed) for seed in seeds]
            found = list(ordered_map(partial(_run, options.trials), asked, jobs=options.jobs, backend="loky"))
            print(_row(subject, subject.claim, found), flush=True)


if __name__ == "__main__":
    main()
