"""Gaussian noise of private linear bandits, shared noise of successive elimination (C4, C6, C8), transcribed."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize, stats

from audits.published.evidence.trials import lower
from dpverify import account, Relation
from dpverify.base.seeding import Stage, stream
from dpverify.ledger import GaussianNoise, Ledger, Sensitivity


def gaussian_delta(mu: float, eps: float) -> float:
    """delta(eps) of N(0, 1) against N(mu, 1) (Balle, Wang 2018, Theorem 8)."""
    return float(stats.norm.cdf(mu / 2 - eps / mu) - math.exp(eps) * stats.norm.cdf(-mu / 2 - eps / mu))


def c4_sigma(eps: float, delta: float) -> float:
    """sqrt(ln(2.5/delta))/eps, for vector and matrix alike (C4)."""
    return math.sqrt(math.log(2.5 / delta)) / eps


def c4_delta(eps: float, delta: float) -> float:
    """delta(eps) of one user's message; mu^2 = 12/sigma^2 for arms of squared length 2, rewards 1 (C4)."""
    return gaussian_delta(math.sqrt(12) / c4_sigma(eps, delta), eps)


def c4_worst_movement() -> float:
    """The 12: largest ||xx' - yy'||_F^2 + ||x r - y s||^2 (C4).

    Over arms (u, 1), (v, 1) with |u| = |v| = 1 and rewards r, s in {0, 1}.
    """
    cosine = np.linspace(-1, 1, 20_001)
    inner = 1 + cosine
    matrix = 8 - 2 * inner**2
    return float((matrix + np.maximum(4 - 2 * inner, 2.0)).max())


@dataclass(frozen=True)
class Message:
    """C4: x r + N(0, sigma^2 I) and x x^T + (N + N^T)/2, upper triangle; `data` is (x_1, x_2, reward)."""

    sigma: float

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> Any:
        """(size, 5)."""
        x, reward = np.array(data[:2]), data[2]
        vector = x * reward + rng.normal(scale=self.sigma, size=(size, 2))
        noise = rng.normal(scale=self.sigma, size=(size, 2, 2))
        matrix = np.outer(x, x) + (noise + noise.transpose(0, 2, 1)) / 2
        return np.concatenate([vector, matrix[:, [0, 0, 1], [0, 1, 1]]], axis=1)


def c4_lower(eps: float, delta: float, trials: int) -> float:
    """Certified eps of the message at the claimed delta (C4)."""
    return lower(Message(c4_sigma(eps, delta)), (1.0, 1.0, 1.0), (-1.0, 1.0, 1.0), eps=eps, delta=delta, trials=trials)


def c4_accounted(eps: float, delta: float) -> float:
    """Exact eps at the claimed delta over the claimed eps, by the accountant (C4)."""
    moved = Sensitivity(replace=math.sqrt(12))
    ledger = Ledger(GaussianNoise(what="message", sigma=c4_sigma(eps, delta), sensitivity=moved))
    return account(ledger, delta=delta, relation=Relation.REPLACE_ONE) / eps


def c8_sigma(eps: float, delta: float, printed: bool = False) -> float:
    """4 sqrt(ln(1.25/delta))/eps in the code, 4 sqrt(2 ln(1.25/delta))/eps in its comment (C8)."""
    return 4 * math.sqrt((2 if printed else 1) * math.log(1.25 / delta)) / eps


def c8_delta(eps: float, delta: float = 0.1, moved: float = 4.0, printed: bool = False) -> float:
    """delta(eps) of one message whose squared movement is `moved`; 4: unit vectors at right angles, reward 1 (C8)."""
    return gaussian_delta(math.sqrt(moved) / c8_sigma(eps, delta, printed), eps)


def c8_accounted(eps: float, delta: float = 0.1) -> float:
    """Exact eps at delta over the claimed eps on that pair, by the accountant (C8)."""
    ledger = Ledger(GaussianNoise(what="message", sigma=c8_sigma(eps, delta), sensitivity=Sensitivity(replace=2.0)))
    return account(ledger, delta=delta, relation=Relation.REPLACE_ONE) / eps


def c8_worst_movement() -> float:
    """Largest squared movement over unit vectors and rewards in [-1, 1], upper triangle and vector (C8)."""
    angle = np.linspace(0, 2 * math.pi, 721)
    x = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    upper = np.stack([x[:, 0] ** 2, x[:, 0] * x[:, 1], x[:, 1] ** 2], axis=1)
    inner = np.clip(x @ x.T, -1, 1)
    matrix = ((upper[:, None] - upper[None]) ** 2).sum(axis=-1)
    return float((matrix + np.maximum(2 - 2 * inner, 2 + 2 * inner)).max())


def c8_holds_up_to(moved: float) -> float:
    """The eps at which delta(eps) reaches the claimed 0.1 (C8)."""
    return float(optimize.brentq(lambda eps: c8_delta(eps, moved=moved) - 0.1, 1, 60))


def eliminated(ones: int, runs: int = 500, seed: int = 1, eps: float = 0.1, delta: float = 0.1) -> float:
    """Share of first batches of successive elimination, K = 2, one scalar noise, in which an arm goes (C6).

    Arm 1 got only rewards 1 for `ones` of its pulls, arm 2 only 0; the noise is the same on both sums.
    """
    arms, batch, gap = 2, 1, 0.5
    size = 1 + int(
        max(
            32 * math.log(8 * arms * batch**2 / delta) / gap**2,
            8 * math.log(4 * arms * batch**2 / delta) / (gap * eps),
        )
    )
    width = math.sqrt(math.log(8 * arms * batch**2 / delta) / (2 * size))
    width += math.log(4 * arms * batch**2 / delta) / (size * eps)
    noise = stream(seed, Stage.EXPERIMENT).laplace(scale=1 / eps, size=(runs, 1))
    means = (np.array([ones, 0.0]) + noise) / size
    return float((means.min(axis=1) + width < means.max(axis=1) - width).mean())


def elimination_threshold(eps: float = 0.1, delta: float = 0.1) -> float:
    """Difference of the two sums beyond which the worse arm goes, without any noise: 2 x size x width (C6)."""
    size = 1 + int(max(32 * math.log(16 / delta) / 0.25, 8 * math.log(8 / delta) / (0.5 * eps)))
    return 2 * (math.sqrt(size * math.log(16 / delta) / 2) + math.log(8 / delta) / eps)


def kept_in_order(chance: float, users: int = 20_000, eps: float = 0.005, least: float = 0.8) -> float:
    """Pr[Binomial(users, chance) + Lap(1/eps) > least users]: a test of PUCB's Lemma 8 by `InOrder` (N7)."""
    won = np.arange(users + 1)
    short = eps * (least * users - won)
    above = np.where(short > 0, 0.5 * np.exp(-np.abs(short)), 1 - 0.5 * np.exp(-np.abs(short)))
    return float(stats.binom.pmf(won, users, chance) @ above)


def hardly_played() -> float:
    """Arm 1 (.9) is tested first: arm 2 is played only where that test fails (N7)."""
    return kept_in_order(0.9)


def mean_pulls_in_order() -> float:
    """E[n_2] on I = 1, 128,000 users, over what Lemma 8 prints, ln(1/(4 beta))/(24 eps alpha) (N7).

    Arm 2 is tested by 20,000 users where the test of arm 1 failed, and kept for the 88,000 left where its own passed.
    """
    most = (1 - kept_in_order(0.9)) * (20_000 + 88_000 * kept_in_order(0.5))
    return most / (math.log(1 / (4 * 0.05)) / (24 * 0.005 * 0.4))


def wrong_in_order() -> float:
    """The largest chance that `InOrder` ends with a wrong arm on I = 0, 1, 2, by the chances of its two tests (N7)."""
    fair, best = kept_in_order(0.5), kept_in_order(0.9)
    return max(1 - (1 - fair) ** 2, 1 - best, 1 - (1 - fair) * best)
