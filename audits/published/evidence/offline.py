"""Offline RL: features of Appendix F, the event of Lemma C.6's proof, Hoeffding as Lemma E.2 states it (N1, N2, N6)."""

import math

import numpy as np
from scipy import stats

from algorithms.offline.apvi import APVI
from dpverify.base.seeding import Stage, stream
from mechanisms.datasets.visit_counts import CountLayout, PrivateCounts
from mechanisms.privatizers.linear_costs import appendix_features


def smallest_eigenvalue() -> float:
    """lambda_min of the sum of phi phi^T over all states and actions: an upper bound for every policy's kappa (N1)."""
    table = appendix_features().reshape(-1, 10)
    return abs(float(np.linalg.eigvalsh(table.T @ table)[0]))


def bits_never_set() -> float:
    """Binary digits, of 8, that are 0 for all of 0..99: a feature that is 0 everywhere (N1)."""
    return sum(all(action >> place & 1 == 0 for action in range(100)) for place in range(8))


def tail_over_bound(samples: int, mean: float) -> float:
    """P(mean of fair signs >= `mean`) over exp(-2 n^2 eps^2/sum xi_i^2), xi_i = 1 (N6)."""
    needed = math.ceil(samples * (1 + mean) / 2)
    return float(stats.binom.sf(needed - 1, samples, 0.5)) / math.exp(-2 * samples * mean**2)


def tail_over_mended(largest: int) -> float:
    """The worst ratio with exp(-n^2 eps^2/(2 sum xi_i^2)) over all n up to `largest` and all attainable means (N6)."""
    worst = 0.0
    for n in range(1, largest + 1):
        k = np.arange((n + 1) // 2, n + 1)
        mean = 2 * k / n - 1
        worst = max(worst, float((stats.binom.sf(k - 1, n, 0.5) / np.exp(-n * mean**2 / 2)).max()))
    return worst


def enumerated_tail() -> float:
    """P(x >= 1) for one fair sign minus e^-2, by listing both outcomes (N6)."""
    return sum(x >= 1 for x in (-1, 1)) / 2 - math.exp(-2)


def bernstein_broken(
    states: int, runs: int, seed: int = 1, stretch: float = 1.0, planner: bool = True, what: str = "share"
) -> float:
    """Share of runs, or the median ratio, in which |(P^ - P) V~| exceeds the bound (22) at h = 1 (N2).

    H = 2, A = 1, fixed first state, P uniform, r_2 = 1, rho = 25, delta = .1. V~_2 is pessimistic: 1 minus a penalty
    that falls with the visits of its state, and those visits are the transitions that P^ counts. There are `stretch`
    times as many episodes as put the penalty at 1. `planner` uses this repository's Algorithm 1, else ten lines.
    """
    rho, delta, horizon = 25.0, 0.1, 2
    error = 4 * math.sqrt(horizon * math.log(4 * horizon * states**2 / delta) / rho)
    iota = math.log(horizon * states / delta)
    each = 16 * states * horizon * error * iota  # visits at which the penalty of h = 2 is 1
    episodes = int(stretch * states * each)
    rng = stream(seed, Stage.EXPERIMENT)
    ratios = []
    for _ in range(runs):
        visits = rng.multinomial(episodes, np.full(states, 1 / states)).astype(float)
        noisy = visits + rng.normal(scale=math.sqrt(2 * horizon / rho), size=states)
        if planner:
            value = _planned(states, noisy, error, delta)
        else:
            value = np.maximum(0.0, 1 - each / np.maximum(noisy, 3 * error))
        empirical = visits / episodes
        deviation = abs((empirical - 1 / states) @ value)
        spread = empirical @ value**2 - (empirical @ value) ** 2
        ratios.append(deviation / (math.sqrt(2 * spread * iota / episodes) + 7 * horizon * iota / (3 * episodes)))
    return float(np.median(ratios)) if what == "median" else float(np.mean(np.array(ratios) > 1))


def _planned(states: int, noisy: np.ndarray, error: float, delta: float) -> np.ndarray:
    """V~_2 of this repository's Algorithm 1 from noisy counts; what follows step 2 does not matter, V_3 = 0."""
    visits, onward = np.zeros((2, states, 1)), np.zeros((2, states, 1, states))
    visits[0, 0, 0], onward[0, 0, 0] = noisy.sum(), noisy
    visits[1, :, 0], onward[1, :, 0, 0] = noisy, noisy
    rewards = np.concatenate([np.zeros((1, states, 1)), np.ones((1, states, 1))])
    planner = APVI(layout=CountLayout(H=2, S=states, A=1), rewards=rewards, error=error, delta=delta)
    values: np.ndarray = planner.plan(PrivateCounts(visits=visits, transitions=onward)).values[1]
    return values


def noise_free_lemma(states: int, runs: int, seed: int = 2) -> float:
    """Share of runs in which (20), the lemma's own statement, is broken on the instances above (N2)."""
    rho, delta, horizon = 25.0, 0.1, 2
    error = 4 * math.sqrt(horizon * math.log(4 * horizon * states**2 / delta) / rho)
    iota = math.log(horizon * states / delta)
    each = 16 * states * horizon * error * iota
    episodes = int(states * each)
    rng, broken = stream(seed, Stage.EXPERIMENT), 0
    for _ in range(runs):
        visits = rng.multinomial(episodes, np.full(states, 1 / states)).astype(float)
        noisy = visits + rng.normal(scale=math.sqrt(2 * horizon / rho), size=(2, states))
        value = np.maximum(0.0, 1 - each / np.maximum(noisy[0], 3 * error))
        private = np.maximum(noisy[1], 0) / np.maximum(noisy[1], 0).sum()
        total = np.maximum(noisy[1], 0).sum()
        spread = private @ value**2 - (private @ value) ** 2
        bound = math.sqrt(2 * spread * iota / (total - error)) + 16 * states * horizon * error * iota / total
        broken += abs((private - 1 / states) @ value) > bound
    return broken / runs
