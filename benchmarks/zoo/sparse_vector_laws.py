"""Laws of the sparse vector techniques by quadrature over the noise of the threshold.

Given the threshold, queries are independent. So every likelihood is one integral over the threshold's noise.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from benchmarks.zoo.subject import Array

STEPS, TAIL = 4001, 60  # intervals, and scales of the noise on each side


@dataclass(frozen=True)
class Noise:
    """Threshold `t` with Laplace(rho), answers with Laplace(nu); nu = 0 is no noise."""

    t: float
    rho: float
    nu: float

    def nodes(self, *breaks: float) -> tuple[Array, Array]:
        """Threshold noise and its probability weights; Gauss-Legendre between kinks of the integrand."""
        edges = np.unique(np.r_[0.0, breaks, np.linspace(-TAIL * self.rho, TAIL * self.rho, STEPS)])
        nodes, weights = np.polynomial.legendre.leggauss(8)
        half = np.diff(edges)[:, None] / 2
        x, w = (edges[:-1, None] + half + half * nodes).ravel(), (half * weights).ravel()
        return x, w * stats.laplace.pdf(x, scale=self.rho)

    def above(self, answer: float, x: Array) -> Array:
        """Pr[noisy answer >= t + x]."""
        if self.nu == 0:
            return (answer >= self.t + x).astype(float)
        return np.asarray(stats.laplace.sf(self.t + x - answer, scale=self.nu))

    def pattern_law(self, answers: Array, patterns: Array) -> Array:
        """Probability of every row of `patterns`: 1 above, 0 below, -1 not asked."""
        x, w = self.nodes(*(answer - self.t for answer in np.unique(answers)))
        top = {answer: self.above(answer, x) for answer in np.unique(answers)}
        law = np.empty(len(patterns))
        for row, pattern in enumerate(patterns):
            each = w.copy()
            for answer, said in zip(answers, pattern, strict=True):
                if said >= 0:
                    each *= top[answer] if said else 1 - top[answer]
            law[row] = each.sum()
        return law


@dataclass(frozen=True)
class PatternRatio:
    """log P/Q of answers in {1, 0, -1}, for the patterns that are met."""

    noise: Noise
    first: Array
    second: Array

    def __call__(self, outputs: Array) -> Array:
        patterns, index = np.unique(outputs, axis=0, return_inverse=True)
        with np.errstate(divide="ignore"):
            laws = [np.log(self.noise.pattern_law(data, patterns)) for data in (self.first, self.second)]
        return (laws[0] - laws[1])[index.reshape(-1)]


def read_pattern(outputs: Array) -> Array:
    """Values, NaN for below and -inf for not asked, as a pattern."""
    return np.where(np.isnan(outputs), 0, np.where(np.isneginf(outputs), -1, 1))


@dataclass(frozen=True)
class FreshRatio:
    """log P/Q where an answer above is released with fresh Laplace(fresh) noise."""

    noise: Noise
    fresh: float
    first: Array
    second: Array

    def __call__(self, outputs: Array) -> Array:
        pattern = read_pattern(outputs)
        ratio = PatternRatio(self.noise, self.first, self.second)(pattern)
        with np.errstate(invalid="ignore"):
            moved = (np.abs(outputs - self.second) - np.abs(outputs - self.first)) / self.fresh
        return np.asarray(ratio + np.where(pattern == 1, moved, 0.0).sum(axis=1))


@dataclass(frozen=True)
class ReleasedRatio:
    """log P/Q where the compared answer itself is released and the first answer above ends the run.

    A value v after k answers below has density E[1{t + x <= v} prod_{j < k} Pr[j below]] f(v - answer k).
    """

    noise: Noise
    first: Array
    second: Array

    def __call__(self, outputs: Array) -> Array:
        stop = (read_pattern(outputs) == 1).argmax(axis=1)
        never = ~(read_pattern(outputs) == 1).any(axis=1)
        laws = [self._log_density(data, outputs, stop, never) for data in (self.first, self.second)]
        return np.asarray(laws[0] - laws[1])

    def _log_density(self, data: Array, outputs: Array, stop: Array, never: Array) -> Array:
        x, w = self.noise.nodes(*(answer - self.noise.t for answer in np.unique(data)))
        log = np.zeros(len(outputs))
        below = w.copy()
        for k, answer in enumerate(data):
            rows = ~never & (stop == k)
            value = outputs[rows, k]
            mass = np.r_[0.0, np.cumsum(below)]  # nodes are dense: a step function will do
            reached = mass[np.searchsorted(x, value - self.noise.t, side="right")]
            log[rows] = np.log(reached) - np.abs(value - answer) / self.noise.nu
            below *= 1 - self.noise.above(answer, x)
        log[never] = np.log(below.sum())
        return log
