"""Shuffle privatizer: every counter of a batch of trajectories by its own shuffled bits (SDP-PE, Section 5).

Mechanism   n users; counters N_h(s,a), N_h(s,a,s'), R_h(s,a) (binary rewards), each the sum of one bit a user;
            each is released by `shuffled_bits` with the same noise, independently. Estimate: sum - n m p.
Claim       (eps, beta)-SDP for a batch of n users; for all batches, since users are in one batch each.
Why         replacing a user moves, in every step, one counter of each family down and one up, by 1: 6H
            counters in all, 3H in each direction. The papers count H for each family and give a counter
            (eps/(3H), beta'):

  conference  beta' = beta            journal  beta' = beta/(HXA)      both: tau = 96 ln(2/beta')/(eps/3H)^2
  corrected   eps/(6H), beta/(6H): basic composition over what really moves, same constant
  calibrated  the smallest noise whose exact account over the moved counters meets (eps, beta)

            With separate bits the printed ones meet the claim all the same, by the slack in the constant 96.
Views       BITS: every message is one bit; the shuffler shows the sum of each counter.
            INTEGERS: every user sends z_i = bit + noise as one number; the shuffler shows the histogram of
            them. This is the text taken literally, and it is not private: see `shuffling.integers`.
Assumes     perfect and independent shuffles, one for each counter; n public (an absent user sends noise).
"""

import functools
from dataclasses import dataclass
from enum import Enum
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.claims import ApproxDP, Pair, Unit, View
from dpverify.errors import ParameterError
from dpverify.ledger import Direction, Ledger, Shift
from dpverify.promises import Promise
from mechanisms.datasets.trajectories import Trajectories
from mechanisms.datasets.visit_counts import CountLayout, PrivateCounts
from mechanisms.privatizers.error_bounds import promises_of
from mechanisms.shuffling.bits import (
    counter_ledger,
    noise_for,
    NoiseBits,
    noisy_sums,
    PAPER_CONSTANT,
    Patterns,
    sum_log_ratio,
    threshold,
)
from mechanisms.shuffling.calibration import gaussian_variance, log_excess, smallest_noise
from mechanisms.shuffling.error_bounds import exact_error, provable_error
from mechanisms.shuffling.integers import histogram_log_ratio, histograms, integers_exposed

Array = npt.NDArray[Any]

_MOST_PATTERNS = 32


class Messages(Enum):
    """What one user hands to the shuffler of a counter."""

    BITS = "bits"
    INTEGERS = "integers"


def changed_counters(layout: CountLayout) -> Patterns:
    """How the counters of a batch may move when a user is replaced: one of these patterns.

    In every step her old trajectory leaves one counter of each family (down by at most 1) and the new one
    enters one (up by at most 1). Where both are the same counter it moves in one direction, or not at all: two
    different rewards. With a single tuple nothing but the H rewards can move, any number of them up and the
    others down; more than 32 patterns are not listed, and each reward may go either way.
    """
    H = layout.H
    if layout.S == 1 and layout.choices == 1:
        if not layout.rewards:
            return ((),)
        if H + 1 > _MOST_PATTERNS:
            return ((Shift(1, H),),)
        return tuple((Shift(1, H - up, Direction.DOWN), Shift(1, up, Direction.UP)) for up in range(H + 1))
    each_way = H * (3 if layout.rewards else 2)
    return ((Shift(1, each_way, Direction.DOWN), Shift(1, each_way, Direction.UP)),)


def number_of_changed_counters(layout: CountLayout) -> int:
    """2H in each family; H rewards only, or nothing, if there is one tuple."""
    return sum(shift.count for shift in changed_counters(layout)[0])


@dataclass(frozen=True, kw_only=True)
class Shuffle:
    """A batch release with the same `noise` on every counter.

    layout    sizes of the counted space; the papers' has rewards
    users     n, the size of the batch; public
    eps, beta the claim
    noise     bits that each user adds to each of her messages
    messages  BITS or INTEGERS

    `conference`, `journal`, `corrected` and `calibrated` choose the noise. `release` returns the adversary's
    view: (size, cells) sums of bits, or (size, cells, m + 2) histograms of integers.
    """

    layout: CountLayout
    users: int
    eps: float
    beta: float
    noise: NoiseBits
    messages: Messages = Messages.BITS

    def __post_init__(self) -> None:
        require.own_numbers(self)
        require.integer(at_least=1, users=self.users)
        require.positive(eps=self.eps)
        require.open_unit(beta=self.beta)
        require.member(Messages, messages=self.messages)

    @classmethod
    def conference(cls, eps: float, beta: float, layout: CountLayout, users: int, **options: Any) -> Self:
        """eps' = eps/(3H), beta' = beta, constant 96."""
        return cls._with_budget(eps, beta, layout, users, eps / (3 * layout.H), beta, **options)

    @classmethod
    def journal(cls, eps: float, beta: float, layout: CountLayout, users: int, **options: Any) -> Self:
        """eps' = eps/(3H), beta' = beta/(HXA), constant 96."""
        return cls._with_budget(eps, beta, layout, users, eps / (3 * layout.H), beta / layout.tuples, **options)

    @classmethod
    def corrected(cls, eps: float, beta: float, layout: CountLayout, users: int, **options: Any) -> Self:
        """eps' = eps/c, beta' = beta/c with c the number of counters that move (6H), constant 96."""
        moved = _moved(layout)
        return cls._with_budget(eps, beta, layout, users, eps / moved, beta / moved, **options)

    @classmethod
    def calibrated(cls, eps: float, beta: float, layout: CountLayout, users: int) -> Self:
        """The smallest noise (see `shuffling.calibration`) whose ledger meets (eps, beta); BITS only.

        The account has a floor of some 1e-12 in delta, so RunError for a beta below it.
        """
        _moved(layout)

        def stated(noise: NoiseBits) -> Ledger:
            return counter_ledger(noise, users, changed_counters(layout), "")

        moved = number_of_changed_counters(layout)
        noise = smallest_noise(
            users,
            functools.partial(log_excess, stated, eps=eps, beta=beta),
            near=lambda above: gaussian_variance(moved, eps=eps, beta=beta, above=above),
        )
        return cls(layout=layout, users=users, eps=eps, beta=beta, noise=noise)

    @classmethod
    def _with_budget(
        cls, eps: float, beta: float, layout: CountLayout, users: int, eps_each: float, beta_each: float, **options: Any
    ) -> Self:
        constant = options.pop("constant", PAPER_CONSTANT)
        noise = noise_for(threshold(eps_each, beta_each, constant), users)
        return cls(layout=layout, users=users, eps=eps, beta=beta, noise=noise, **options)

    @property
    def claim(self) -> ApproxDP:
        """(eps, beta)-SDP of one batch."""
        return ApproxDP(
            self.eps, self.beta, unit=Unit.TRAJECTORY, view=View.SHUFFLE, source="SDP-PE, Lemma 10 (journal)"
        )

    @property
    def ledger(self) -> Ledger:
        """Binomial noise on the counters that a replaced user moves; integer messages have no proven eps."""
        if self.messages is Messages.INTEGERS:
            return Ledger(integers_exposed("the multisets of integer messages, one for each counter"))
        return counter_ledger(self.noise, self.users, changed_counters(self.layout), "shuffled bits of a batch")

    def release(self, data: Trajectories, *, rng: np.random.Generator, size: int) -> Array:
        """`size` independent shuffles of the whole batch; no message is materialised."""
        exact = self._exact(data)
        if self.messages is Messages.BITS:
            return exact + noisy_sums(self.noise, self.users, (size, self.layout.cells), rng)
        each = [histograms(self.noise, self.users, int(ones), (size,), rng) for ones in exact]
        return np.stack(each, axis=1)

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """Exact: a sum over the counters that differ."""
        first, second = self._exact(pair.first), self._exact(pair.second)
        moved = np.flatnonzero(first != second)
        if self.messages is Messages.BITS:
            total, p = self.noise.total(self.users), self.noise.probability
            return np.asarray(sum_log_ratio(outputs[:, moved], first[moved], second[moved], total, p).sum(axis=1))
        ratios = [
            histogram_log_ratio(outputs[:, c], int(first[c]), int(second[c]), self.users, self.noise) for c in moved
        ]
        return np.sum(ratios, axis=0) if ratios else np.zeros(len(outputs))

    def private_counts(self, data: Trajectories, *, rng: np.random.Generator, size: int) -> PrivateCounts:
        """`size` releases of the unbiased raw counts; the same law for both kinds of messages."""
        sums = self._exact(data) + noisy_sums(self.noise, self.users, (size, self.layout.cells), rng)
        return self.layout.unpack(sums - self.noise.mean(self.users))

    def noise_bound(self, beta: float) -> float:
        """Exact quantile of one counter's noise at beta/M, M = layout.cells: a union bound over the batch."""
        require.open_unit(beta=beta)
        return exact_error(self.noise, self.users, beta / self.layout.cells)

    def provable_noise_bound(self, beta: float) -> float:
        """The same with Hoeffding's or Bernstein's inequality in place of the exact quantile."""
        require.open_unit(beta=beta)
        return provable_error(self.noise, self.users, beta / self.layout.cells)

    def error_bound(self, beta: float) -> float:
        """E = 4 noise_bound(beta): the slack of the post-processing is E/4. Rewards, raw, are within E/4."""
        return 4 * self.noise_bound(beta)

    def promises(self, data: Trajectories, *, beta: float) -> list[Promise]:
        """What a certificate checks: the bounds on raw and on post-processed counts."""
        return promises_of(self, data, beta)

    def paper_error_bound(self, beta: float) -> float:
        """H/eps: the printed O~(H/eps) with 1 for what it hides. Not a promise."""
        return self.layout.H / self.eps

    def _exact(self, data: Trajectories) -> Array:
        """(cells,) exact counts; ParameterError for another space, another n, or rewards that are no bits."""
        if len(data) != self.users:
            raise ParameterError("len(data)", len(data), f"{self.users}, the n of the mechanism")
        layout = self.layout
        if data.layout != CountLayout(H=layout.H, S=layout.S, A=layout.A, B=layout.B):
            raise ParameterError("data.layout", data.layout, f"{layout} without rewards")
        if layout.rewards and not np.isin(np.asarray(data.rewards), (0.0, 1.0)).all():
            raise ParameterError("rewards", data.rewards, "0 or 1: shuffled bits carry binary rewards")
        exact = layout.pack(data.counts(rewards=layout.rewards))
        return exact.astype(np.int64)


def _moved(layout: CountLayout) -> int:
    moved = number_of_changed_counters(layout)
    if moved == 0:
        raise ParameterError("layout", layout, "with S > 1, A B > 1 or rewards: a single trajectory needs no noise")
    return moved
