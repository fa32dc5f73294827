"""Steps whose pair of laws is chosen on the way, as one loss; and what they cost beside other losses.

A kind of step offers several pairs (an asymmetric coordinate that goes up or down, a step of bounded range); which one
is met may depend on everything that was released before. Let (M f)(x) = max over pairs of E[f(x - L)] be what one such
step makes of the worst delta f of all later ones, T f(x) = E[f(x - L)] the same for a loss of one pair, and f_0(x) = (1
- e^x)^+. The order of the events of a ledger is not stated. Since E max >= max E, T M f >= M T f: the worst order has
the k open steps last, when everything else is known, and comes to T ... T M^k f_0. M^k f_0 is convex in e^x, from 1 to
0, so it is the profile of a pair (Zhu, Dong, Wang 2022, Proposition 9), and the account is exact: that pair composed
with the other losses. M may as well choose the kind of the next step, of those that are left: few steps of several
kinds are one run, whose account is exact, too. Many, and steps of bounded range, are one such pair for each kind;
whoever interleaves them, reading all answers, learns no more than from the pairs composed (Vadhan, Zhang 2023:
interactive mechanisms compose concurrently as their trade-off curves do).

M^k f_0 is computed by `adaptive` and `bounded_range`, from above. More steps than they are for are blocks: whatever is
chosen in a block of m, its pair is dominated by that of M^m f_0, and such pairs compose adaptively; 10^5 steps of
bounded range in blocks of 200 are charged 0.4 % more than they cost at delta = 1e-6. Steps inside of a sample, and
samples of such steps, keep the maximum of their profiles.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpverify.accounting import adaptive, bounded_range, grid_law
from dpverify.accounting.grid_law import Cells, GridLaw
from dpverify.accounting.grid_profile import GridProfile
from dpverify.accounting.loss import Exact, Loss
from dpverify.accounting.losses_of_ledger import Losses
from dpverify.base.rounding import UNIT

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class RunLoss(Loss):
    """Adaptive steps, so many of each kind."""

    steps: Losses

    @property
    def pure(self) -> Exact:
        return sum((count * step.pure for step, count in self.steps), Fraction(0))

    @property
    def mirrored(self) -> "RunLoss":
        return RunLoss(tuple((step.mirrored, count) for step, count in self.steps))

    @property
    def _worst(self) -> GridProfile:
        step, count = self.steps[0]
        if bounded_range.most_steps(step):
            return bounded_range.worst_case(step, count)
        return adaptive.worst_case(self.steps)

    def profile(self, eps: Array) -> Array:
        """Below 0 by D(x) = 1 - e^x + e^x D'(-x), D' of the exchanged pairs: an identity for each sequence of pairs."""
        above = self._worst.at(np.maximum(eps, 0.0))
        x = np.minimum(eps, 0.0)
        below = -np.expm1(x) + np.exp(x) * self.mirrored._worst.at(-x)
        return np.minimum(np.where(eps >= 0, above, below * (1 + 8 * UNIT)), 1.0)

    def cells(self, edges: Array) -> Cells:
        """What is known is a profile."""
        raise NotImplementedError("a run of steps has a profile, see on_points")

    def window(self, tail: float) -> tuple[float, float]:
        """Where delta is no more than that; tightness only."""
        return -self.mirrored._worst.beyond(tail), self._worst.beyond(tail)

    def on_points(self, points: Array) -> GridLaw:
        deltas = self.profile(points)
        return grid_law.of_profile(points, deltas, float(deltas[-1]))


def gathered(losses: Losses) -> Losses:
    """The same losses, with runs in place of all steps of several pairs."""
    chosen = tuple(part for part in losses if adaptive.most_steps(part[0]))
    if len(chosen) > 1 and adaptive.together(chosen):
        others = tuple(part for part in losses if part not in chosen)
        return (*gathered(others), (RunLoss(chosen), 1))
    return tuple(part for loss, count in losses for part in _runs(loss, count))


def _runs(loss: Loss, count: int) -> Losses:
    most = min(count, max(adaptive.most_steps(loss), bounded_range.most_steps(loss)))
    if most < 2:
        return ((loss, count),)
    blocks, rest = divmod(count, most)
    return ((RunLoss(((loss, most),)), blocks), *(((RunLoss(((loss, rest),)), 1),) if rest else ()))
