"""Repeated asymmetric losses of unknown direction: the exact worst case over whoever chooses the direction.

In each of n steps a mechanism compares one of several pairs of laws (one pair in its two orders, or every pair of
neighbours in both); which one may depend on what was released before. With f_k the worst delta of k steps,

    f_0(eps) = (1 - e^eps)^+        f_k(eps) = max over pairs (p, q) of  sum_x p_x f_{k-1}(eps - log(p_x/q_x)),

because after an output of loss l the rest is worth f_{k-1}(eps - l), whatever it was. No pair attains the
*maximum of the profiles*, which `composition` composes: with laws like (.5, .3, .2) and (.2, .5, .3) that is up to 20 %
too high in eps after 20 steps. Here every pair keeps its own law.

Several kinds of such steps, k_i of kind i, in an order that is chosen on the way as well: f_k is the maximum over the
kinds i with k_i > 0 and their pairs, of f with one step of kind i less. The same proof; one f for each vector k.

Every pair is replaced by the law above it on a grid (`loss_laws`, Lemma 1: f is convex in e^eps). f is non-increasing,
which bounds it above the grid; below, f(x) <= 1 - e^x (1 - f'(-x)), f' that of the exchanged pairs (an identity for
each pair of laws), which is f itself where every pair is listed in both orders, and at most 1 otherwise. Between
grid points chords are above it. All sums are of positive numbers, so errors are relative: a sum of J terms is off by
J u, and is rounded up by that. Beside other losses: see below.
"""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dpverify.accounting import bounded_range, loss_laws
from dpverify.accounting.composition import composed
from dpverify.accounting.discrete_losses import AtomicLoss
from dpverify.accounting.loss_laws import Cells, Exact, GridLaw, GridProfile, Loss, Losses
from dpverify.base.rounding import UNIT

Array = npt.NDArray[np.float64]

MOST_APPLICATIONS = 512  # pairs times steps
MOST_VECTORS = 128  # of counts of several kinds: each keeps a profile on the grid
MOST_HALF_GRID = 2**15  # grid points on either side of 0
MOST_PRODUCTS = 2.0**27
MOST_SPAN = (45.0, 0.0)  # without and with both orders of all pairs: what is below the grid errs by e^-45
RARE = 1e-30  # larger losses than those of this mass are charged as infinite, larger sums as all of them together
MOST_LOSS = 600.0  # e^700 is a float
FEW_ATOMS = 64  # fewer are shifted and added one by one


def _together(losses: Losses) -> bool:
    """Whether `_worst_case` is for these steps of several kinds in any order: few vectors k."""
    vectors = math.prod(count + 1 for _, count in losses)
    pairs = sum(len(loss.chosen) for loss, _ in losses if isinstance(loss, AtomicLoss))
    return vectors <= MOST_VECTORS and vectors * pairs <= MOST_APPLICATIONS


def _most_steps(loss: Loss) -> int:
    """How many steps of one kind `_worst_case` is for; 0 for losses without several pairs."""
    if not isinstance(loss, AtomicLoss) or not loss.listable or len(loss.chosen) < 2:
        return 0
    return MOST_APPLICATIONS // len(loss.chosen) if 0 < max(map(abs, loss.window(RARE))) < MOST_LOSS else 0


@lru_cache(maxsize=64)
def _worst_case(losses: Losses) -> GridProfile:
    """The recursion of the module."""
    kinds = [loss for loss, _ in losses if isinstance(loss, AtomicLoss)]
    counts = [count for _, count in losses]
    windows, closed = [loss.window(RARE) for loss in kinds], all(loss.direction is None for loss in kinds)
    guess = composed(losses).guess(RARE)
    reach = sum(count * max(abs(low), abs(high)) for (low, high), count in zip(windows, counts, strict=True))
    span = min(reach, max(1.1 * guess, MOST_SPAN[closed]))
    half, applied = MOST_HALF_GRID, math.prod(count + 1 for count in counts) - 1
    for loss, (low, high) in zip(kinds, windows, strict=True):
        if 2 * max(len(order.loss) for order in loss.chosen) > FEW_ATOMS:
            # a step costs 2 N products for each mass of each pair, of which there are some N (high - low)/span
            products = 2 * len(loss.chosen) * applied * min(1.0, (high - low) / span)
            half = min(half, 2 ** math.floor(math.log2(math.sqrt(MOST_PRODUCTS / products))))
    step = 2.0 ** math.ceil(math.log2(span / half))
    laws = [_laws(loss, window, step) for loss, window in zip(kinds, windows, strict=True)]
    found: dict[tuple[int, ...], Array] = {}
    for k in itertools.product(*(range(count + 1) for count in counts)):
        if not any(k):
            found[k] = -np.expm1(np.minimum(np.arange(-half, half + 1), 0.0) * step) * (1 + 4 * UNIT)
            continue
        worst = []
        for i in range(len(k)):
            if k[i]:
                later = found[(*k[:i], k[i] - 1, *k[i + 1 :])]
                beyond = float(later[-1]) if closed else 1.0
                first, listed = laws[i]
                below = -np.expm1(step * np.arange(-half - max(first + len(listed[0].points), 1), -half)) + beyond
                worst += [_step(later, np.minimum(below, 1.0), law, first) for law in listed]
        found[k] = np.max(worst, axis=0)
        if len(counts) == 1:
            del found[(k[0] - 1,)]
    return GridProfile(step, found[tuple(counts)])


def _laws(loss: AtomicLoss, window: tuple[float, float], step: float) -> tuple[int, list[GridLaw]]:
    """The first point in steps, and a law on points above each pair."""
    low, high = window
    first, last = math.floor(low / step), max(math.floor(low / step) + 1, math.ceil(high / step))
    points = np.arange(first, last + 1, dtype=np.float64) * step
    return first, [order.on_points(points) for order in loss.chosen]


def _step(deltas: Array, below: Array, law: GridLaw, first: int) -> Array:
    """sum_j masses_j f(eps - j) + infinite, j from `first` on; f = `below` below the grid, its last value above."""
    masses, size, last = law.masses, len(deltas), first + len(law.masses) - 1
    padded = np.concatenate([below[len(below) - max(last, 0) :], deltas, np.full(max(-first, 0), deltas[-1])])
    padded = padded[max(-last, 0) : len(padded) - max(first, 0)]
    atoms = np.flatnonzero(masses)
    if len(atoms) <= FEW_ATOMS:
        total = np.zeros(size)
        for atom in atoms:
            start = len(masses) - 1 - atom
            total += masses[atom] * padded[start : start + size]
    else:
        total = np.convolve(padded, masses, mode="valid")
    raised = (total + law.infinite) * (1 + (len(atoms) + 12) * UNIT)
    return np.asarray(np.minimum.accumulate(np.minimum(raised, 1.0)), dtype=np.float64)


# ----------------------------------------------------------------------------------------------------------------------
# Steps whose pair of laws is chosen on the way, as one loss; and what they cost beside other losses.
#
# A kind of step offers several pairs (an asymmetric coordinate that goes up or down, a step of bounded range); which
#   one
# is met may depend on everything that was released before. Let (M f)(x) = max over pairs of E[f(x - L)] be what one
#   such
# step makes of the worst delta f of all later ones, T f(x) = E[f(x - L)] the same for a loss of one pair, and f_0(x) =
#   (1
# - e^x)^+. The order of the events of a ledger is not stated. Since E max >= max E, T M f >= M T f: the worst order has
# the k open steps last, when everything else is known, and comes to T ... T M^k f_0. M^k f_0 is convex in e^x, from 1
#   to
# 0, so it is the profile of a pair (Zhu, Dong, Wang 2022, Proposition 9), and the account is exact: that pair composed
# with the other losses. M may as well choose the kind of the next step, of those that are left: few steps of several
# kinds are one run, whose account is exact, too. Many, and steps of bounded range, are one such pair for each kind;
# whoever interleaves them, reading all answers, learns no more than from the pairs composed (Vadhan, Zhang 2023:
# interactive mechanisms compose concurrently as their trade-off curves do).
#
# M^k f_0 is computed by `adaptive` and `bounded_range`, from above. More steps than they are for are blocks: whatever
# is chosen in a block of m, its pair is dominated by that of M^m f_0, and such pairs compose adaptively; 10^5 steps of
# bounded range in blocks of 200 are charged 0.4 % more than they cost at delta = 1e-6. Steps inside of a sample, and
# samples of such steps, keep the maximum of their profiles.


@dataclass(frozen=True)
class RunLoss(Loss):
    """A RunLoss is the loss of steps that each offer several pairs of laws, of which one is chosen on the way.

    Parameters
    ----------
    steps : tuple of (Loss, int)
        Kinds of steps, and how many of each; they may be taken in any order.

    Notes
    -----
    With f_k the worst delta of k steps, f_0(eps) = (1 - e^eps)^+ and f_k(eps) = max over pairs (p, q) of sum_x p_x
    f_(k-1) (eps - log(p_x/q_x)), because after an output of loss l the rest is worth f_(k-1)(eps - l), whatever it was.
    f_k is the profile of a pair (Zhu, Dong, Wang 2022, Proposition 9), so it composes with other losses. The module has
    the proofs, also of the bounds by which it is computed.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> from dpverify.accounting.bounded_range import BoundedRangeLoss
    >>> run = RunLoss(((BoundedRangeLoss(Fraction(1)), 2),))
    >>> run.pure, bool(run.profile(np.array([2.0]))[0] < 1e-6)
    (Fraction(2, 1), True)
    """

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
        return _worst_case(self.steps)

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
        return loss_laws.of_profile(points, deltas, float(deltas[-1]))


def chosen_as_runs(losses: Losses) -> Losses:
    """Replace all steps of several pairs of laws by runs.

    Parameters
    ----------
    losses : tuple of (Loss, int)
        Losses, and how many coordinates have each.

    Returns
    -------
    tuple of (Loss, int)
        The same losses, with a `RunLoss` in place of steps of which the pair is chosen on the way.

    Notes
    -----
    Many steps are blocks: whatever is chosen in a block of m, its pair is dominated by that of the worst case of m
    steps, and such pairs compose adaptively.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dpverify.accounting.bounded_range import BoundedRangeLoss
    >>> ((run, blocks),) = chosen_as_runs(((BoundedRangeLoss(Fraction(1)), 400),))
    >>> blocks, run.steps
    (2, ((BoundedRangeLoss(eps=Fraction(1, 1)), 200),))
    """
    chosen = tuple(part for part in losses if _most_steps(part[0]))
    if len(chosen) > 1 and _together(chosen):
        others = tuple(part for part in losses if part not in chosen)
        return (*chosen_as_runs(others), (RunLoss(chosen), 1))
    return tuple(part for loss, count in losses for part in _runs(loss, count))


def _runs(loss: Loss, count: int) -> Losses:
    most = min(count, max(_most_steps(loss), bounded_range.most_steps(loss)))
    if most < 2:
        return ((loss, count),)
    blocks, rest = divmod(count, most)
    return ((RunLoss(((loss, most),)), blocks), *(((RunLoss(((loss, rest),)), 1),) if rest else ()))
