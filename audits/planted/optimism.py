"""INCORRECT: optimistic learners with a term left out of their bonus."""

import numpy as np
import numpy.typing as npt

from algorithms.baselines.ucbvi import UCBVI
from algorithms.bernstein_vi.learner import BernsteinVI, learned_rewards_bonus

Array = npt.NDArray[np.float64]


class NoErrorTerms(BernsteinVI):
    """INCORRECT: nothing is paid for E."""

    def _bonus(self, span: int, visits: Array, spread: Array, rewards: Array) -> Array:
        return _paid(self, span, visits, spread, rewards, error=0.0)


class NoRewardError(BernsteinVI):
    """INCORRECT: nothing is paid for the E of the reward counts."""

    def _bonus(self, span: int, visits: Array, spread: Array, rewards: Array) -> Array:
        return super()._bonus(span, visits, spread, rewards) - 3 / 2 * self.error / visits


class NoVariance(BernsteinVI):
    """INCORRECT: nothing is paid for the next states but the lower order."""

    def _bonus(self, span: int, visits: Array, spread: Array, rewards: Array) -> Array:
        return super()._bonus(span, visits, np.zeros_like(spread), rewards)


class NoLowerOrder(BernsteinVI):
    """INCORRECT: the roots and E alone."""

    def _bonus(self, span: int, visits: Array, spread: Array, rewards: Array) -> Array:
        roots = np.sqrt(2 * self.log_term * spread / visits) + np.sqrt(
            2 * self.log_term * rewards * (1 - rewards) / visits
        )
        error = ((3 * self.layout.S + 1) * span + 3) / 2 * self.error / visits
        return np.asarray(roots + error)


class NoThird(UCBVI):
    """INCORRECT: UCBVI's Bernstein bonus without 14 H L/(3N)."""

    def _bonus(self, h: int, visits: Array, *rest: Array) -> Array:
        return super()._bonus(h, visits, *rest) - 14 * self.layout.H * self.log_term / (3 * visits)


def _paid(learner: BernsteinVI, span: int, *arrays: Array, error: float) -> Array:
    return learned_rewards_bonus(span, *arrays, layout=learner.layout, log=learner.log_term, error=error)
