"""What selection trials leave open about outputs that repeat: a posterior of the log odds of every distinct one.

Rare outputs have the largest observed odds by luck alone, and a cut at the largest odds would pick them. So odds are
posterior means under a prior that all outputs together estimate (empirical Bayes), and what an event of several
outputs would certify is judged by draws from the posterior.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.evidence.scores.score import FloatArray, log_odds, log_odds_variance

WIDE, OUTLIERS = 3.0, 0.05  # outputs that are unlike the others: prior standard deviation and share of them
NORMAL_SCALES, FLAT_SCALES = np.geomspace(0.03, 10.0, 40), np.geomspace(0.03, 10.0, 120)
SCALES = np.r_[NORMAL_SCALES, FLAT_SCALES]
PRIOR = np.repeat([0.5 / len(NORMAL_SCALES), 0.5 / len(FLAT_SCALES)], [len(NORMAL_SCALES), len(FLAT_SCALES)])
ZERO = 0.2  # of a flat ratio: share of outputs at its zero
ALIKE = 0.025  # of a flat ratio: relative standard deviation, half the distance of two scales
DRAWS, FEWEST_DRAWS, NUMBERS = 200, 20, 4_000_000  # draws, and the most numbers in them


@dataclass(frozen=True, eq=False)
class OddsPosterior:
    """`sizes` (cells,): selection trials with each output; `odds` (cells,): posterior means of the log odds."""

    sizes: npt.NDArray[np.int64]
    odds: FloatArray
    mixture: "NormalMixture"

    @classmethod
    def of(cls, first: FloatArray, second: FloatArray) -> "OddsPosterior":
        """From how often each dataset produced each output, shape (cells,) each."""
        # the coin is fair: unequal arm sizes in this sample are luck, not evidence
        luck = np.log((first.sum() + 1) / (second.sum() + 1))
        mixture = NormalMixture.of(log_odds(first, second) - luck, log_odds_variance(first, second))
        return cls((first + second).astype(np.int64), mixture.mean, mixture)

    @cached_property
    def draws(self) -> FloatArray:
        """Equally likely values of the log odds, shape (draws, cells)."""
        return self.mixture.draws(min(DRAWS, max(FEWEST_DRAWS, NUMBERS // max(1, len(self.odds)))))

    def accuracy(self, used: npt.NDArray[np.bool_], ends: npt.NDArray[np.int64]) -> FloatArray:
        """Share of right guesses among the `ends` most confident ones, shape (draws, ends).

        Only the outputs in `used` are guessed; each of `ends` is a number of trials after which the next output begins.
        """
        order = np.nonzero(used)[0]
        order = order[np.argsort(-np.abs(self.odds[order]), kind="stable")]
        sizes = self.sizes[order]
        right = special.expit(np.sign(self.odds[order]) * self.draws[:, order]) * sizes
        last = np.searchsorted(np.cumsum(sizes), ends)
        return np.asarray(np.cumsum(right, axis=1)[:, last] / np.cumsum(sizes)[last])


@dataclass(frozen=True, eq=False)
class NormalMixture:
    """Posterior of effects of which normal estimates with known variances are given, shape (cells,) each.

    Prior: but for a share OUTLIERS with N(0, WIDE^2), all effects are N(0, s^2), or all are about +s, about -s and (a
    share ZERO) 0, as where noise has a flat log ratio. Both shapes, and the scales s of each, are equally likely
    beforehand.
    """

    estimates: FloatArray
    variances: FloatArray
    weights: FloatArray  # of SCALES: those of the normal shape, then those of the flat one

    @classmethod
    def of(cls, estimates: FloatArray, variances: FloatArray) -> "NormalMixture":
        """Weighs scales and shapes by how well they explain all estimates together."""
        bare = cls(estimates, variances, np.zeros(0))
        fits = [np.log(bare._normal(s) + bare._odd).sum() for s in NORMAL_SCALES]
        fits += [np.log(bare._flat(s).sum(axis=0) + bare._odd).sum() for s in FLAT_SCALES]
        return cls(estimates, variances, special.softmax(fits + np.log(PRIOR)))

    @property
    def mean(self) -> FloatArray:
        """Posterior means."""
        total = np.zeros(len(self.estimates))
        for place in self._likely:
            s = SCALES[place]
            if place < len(NORMAL_SCALES):
                odd = self._odd / (self._odd + self._normal(s))
                usual = (1 - odd) * self._keep(s) * self.estimates
            else:
                flat = self._flat(s)
                odd = self._odd / (self._odd + flat.sum(axis=0))
                sides = flat[0] * self._about(s) + flat[1] * self._about(-s)
                usual = sides / (self._odd + flat.sum(axis=0))
            total += self.weights[place] * (usual + odd * self._keep(WIDE) * self.estimates)
        return total

    def draws(self, count: int) -> FloatArray:
        """`count` draws, the same each time: the scales in proportion to their weights."""
        rng = np.random.Generator(np.random.PCG64(0))
        found = np.empty((count, len(self.estimates)))
        for row, place in enumerate(rng.choice(len(self.weights), count, p=self.weights)):
            s, u = SCALES[place], rng.random(len(self.estimates))
            if place < len(NORMAL_SCALES):
                usual = self._around(s, rng)
                odd = u < self._odd / (self._odd + self._normal(s))
            else:
                flat = self._flat(s)
                shares = np.cumsum(flat / (self._odd + flat.sum(axis=0)), axis=0)
                noise = np.sqrt(self._keep(ALIKE * s) * self.variances) * rng.standard_normal(len(u))
                up, down = self._about(s) + noise, self._about(-s) + noise
                usual, odd = np.where(u < shares[0], up, np.where(u < shares[1], down, 0.0)), u >= shares[2]
            found[row] = np.where(odd, self._around(WIDE, rng), usual)
        return found

    def _around(self, s: float, rng: np.random.Generator) -> FloatArray:
        """A draw of every effect under N(0, s^2)."""
        keep = self._keep(s)
        return np.asarray(keep * self.estimates + np.sqrt(keep * self.variances) * rng.standard_normal(len(keep)))

    def _keep(self, s: float) -> FloatArray:
        return np.asarray(s**2 / (s**2 + self.variances))

    def _about(self, s: float) -> FloatArray:
        """Posterior mean of every effect under N(s, (ALIKE s)^2)."""
        return np.asarray(s + self._keep(ALIKE * s) * (self.estimates - s))

    @property
    def _likely(self) -> npt.NDArray[np.intp]:
        return np.nonzero(self.weights > 1e-6)[0]

    @cached_property
    def _odd(self) -> FloatArray:
        return OUTLIERS * _density(self.estimates, WIDE**2 + self.variances)

    def _normal(self, s: float) -> FloatArray:
        return (1 - OUTLIERS) * _density(self.estimates, s**2 + self.variances)

    def _flat(self, s: float) -> FloatArray:
        """Densities at +s, -s and 0, shape (3, cells)."""
        at, spread = np.array([[s], [-s], [0.0]]), np.array([[ALIKE * s], [ALIKE * s], [0.0]])
        share = (1 - OUTLIERS) * np.array([[(1 - ZERO) / 2], [(1 - ZERO) / 2], [ZERO]])
        return np.asarray(share * _density(self.estimates - at, spread**2 + self.variances))


def _density(x: FloatArray, variance: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-0.5 * np.minimum(x * x / variance, 1400.0)) / np.sqrt(variance))
