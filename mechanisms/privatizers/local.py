"""Local privatizer: every user adds Laplace noise to her own indicators (Qiao, Wang, DP-Nash-VI, section 5.2).

Mechanism   each user sends sigma_h(s,a,b) + Lap(scale) and sigma_h(s,a,b,s') + Lap(scale) for every cell,
            sigma the 0/1 indicators of her own trajectory. The counts are sums of messages.
Claim       eps-LDP: the message is eps-DP for any two trajectories.
Why         the message is a Laplace release of one vector, so eps_true = (D1 + D2)/scale, D1 and D2 the
            indicators of each family that differ at most between two trajectories. In every step the old
            visit cell goes down and the new one up: D = 2H for each family, 4H together.
As printed  scale = 2H/eps counts H instead of 2H for each family ("sensitivity H"): eps_true = 2 eps. It is right
            against an absent user (H + H), and for a single joint action (AB = 1) with a fixed first state
            and H = 1, where the only visit cell cannot change.
Corrected   scale = (D1 + D2)/eps, rounded up.

Where       D1 = 2H, or 2(H-1) if AB = 1 and the first state is fixed; D2 = 2H; both 0 if AB = S = 1.
Assumes     ideal real noise; `discrete` draws integers instead and leaks nothing through floating point.
Source      Lemma 5.4 and section 5.2.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.base.rounding import div_up
from dpverify.claims import Pair, PureDP, Unit, View
from dpverify.errors import ParameterError, UsageError
from dpverify.ledger import DiscreteLaplaceNoise, LaplaceNoise, Ledger, Sensitivity, Shift
from dpverify.promises import Promise
from mechanisms.datasets.trajectories import Trajectories
from mechanisms.datasets.visit_counts import CountLayout, ExactCounts, PrivateCounts
from mechanisms.privatizers.error_bounds import promises_of
from mechanisms.toolbox.laplace_sums import discrete_laplace_sum, laplace_sum, laplace_sum_bound

Array = npt.NDArray[Any]


def changed_indicators(layout: CountLayout, *, fixed_start: bool) -> tuple[int, int]:
    """(D1, D2): how many visit and transition indicators differ at most between two trajectories.

    Attained together, by two trajectories that differ in every step where they may.
    """
    if layout.choices == 1 and layout.S == 1:
        return 0, 0  # there is only one trajectory
    visits = 2 * (layout.H - 1) if layout.choices == 1 and fixed_start else 2 * layout.H
    return visits, 2 * layout.H


@dataclass(frozen=True, kw_only=True)
class Local:
    """Laplace noise of `scale` on each indicator of each user's message.

    layout       sizes of the game, without rewards
    eps          the claimed eps
    scale        b > 0, in counts
    users        the largest number of messages ever summed (K - 1 inside DP-Nash-VI, which uses k - 1 episodes)
    discrete     integer noise, Pr[k] proportional to exp(-|k|/scale)
    fixed_start  every trajectory begins in the same state, known to everybody

    `as_printed` and `corrected` choose the scale. The adversary's view, `release`, is one user's message,
    (size, layout.cells). Raises ParameterError for a dataset of more than one user there.
    """

    layout: CountLayout
    eps: float
    scale: float
    users: int = 1
    discrete: bool = False
    fixed_start: bool = False

    def __post_init__(self) -> None:
        require.own_numbers(self)
        require.positive(eps=self.eps, scale=self.scale)
        require.integer(at_least=1, users=self.users)
        if self.layout.rewards:
            raise ParameterError("layout.rewards", True, "False: rewards are known in this paper")

    @classmethod
    def as_printed(cls, eps: float, layout: CountLayout, **options: Any) -> Self:
        """scale = 2H/eps on both families."""
        require.positive(eps=eps)
        return cls(layout=layout, eps=eps, scale=div_up(2 * layout.H, eps), **options)

    @classmethod
    def corrected(cls, eps: float, layout: CountLayout, *, fixed_start: bool = False, **options: Any) -> Self:
        """The smallest scale whose ledger gives eps: (D1 + D2)/eps, which is 4H/eps but for AB = 1."""
        require.positive(eps=eps)
        changed = sum(changed_indicators(layout, fixed_start=fixed_start))
        if changed == 0:
            raise ParameterError("layout", layout, "with S > 1 or A B > 1: a single trajectory needs no noise")
        return cls(layout=layout, eps=eps, scale=div_up(changed, eps), fixed_start=fixed_start, **options)

    @property
    def claim(self) -> PureDP:
        """eps-LDP for any two trajectories."""
        return PureDP(self.eps, unit=Unit.TRAJECTORY, view=View.LOCAL, source="DP-Nash-VI, Lemma 5.4")

    @property
    def ledger(self) -> Ledger:
        """Two Laplace (or discrete Laplace) releases of 0/1 indicators; an absent user changes H in each."""
        event = DiscreteLaplaceNoise if self.discrete else LaplaceNoise
        families = zip(
            ("visit indicators of one user", "transition indicators of one user"),
            changed_indicators(self.layout, fixed_start=self.fixed_start),
            strict=True,
        )
        return Ledger(
            *(
                event(
                    what=what,
                    scale=self.scale,
                    sensitivity=Sensitivity(replace=Shift(1, changed), add_remove=Shift(1, self.layout.H)),
                )
                for what, changed in families
            )
        )

    def release(self, data: Trajectories, *, rng: np.random.Generator, size: int) -> Array:
        """`size` messages of the one user in `data` (of an absent user if there is none)."""
        return self._message(data) + self._noise(1, (size, self.layout.cells), rng)

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """sum over cells of (|y - v2| - |y - v1|)/scale, v1 and v2 the exact messages; the same for integers."""
        first, second = self._message(pair.first), self._message(pair.second)
        moved = first != second
        seen = outputs[:, moved]
        return np.asarray((np.abs(seen - second[moved]) - np.abs(seen - first[moved])).sum(axis=1) / self.scale)

    def transcript_log_ratio(self, outputs: Array, first: Array, second: Array) -> Array:
        """Log likelihood ratio of an online run's released counts, given both exact increment streams.

        outputs (runs, R, cells), packed counts after each user; first, second (runs or 1, R, cells). Differences of
        consecutive counts are the users' messages, so this is a sum of Laplace ratios over all of them.
        """
        messages = np.diff(outputs, axis=1, prepend=0.0)
        terms = np.abs(messages - second) - np.abs(messages - first)
        return np.asarray(np.where(first == second, 0.0, terms).sum(axis=(1, 2)) / self.scale)

    def private_counts(self, data: Trajectories, *, rng: np.random.Generator, size: int) -> PrivateCounts:
        """Sums of the messages of all users in `data`: exact counts plus a sum of len(data) noises a cell."""
        if len(data) > self.users:
            raise UsageError(f"{len(data)} users, but the error bound was promised for {self.users}")
        exact = self.layout.pack(self._own(data).counts())
        return self.layout.unpack(exact + self._noise(len(data), (size, self.layout.cells), rng))

    def stream(self, runs: int, *, rng: np.random.Generator) -> "LocalStream":
        """Running sums of messages, one user an episode."""
        require.integer(at_least=1, runs=runs)
        return LocalStream(self, np.zeros((runs, self.layout.cells)), rng)

    def noise_bound(self, beta: float) -> float:
        """b (2 sqrt(w l) + l), w = users, l = ln(4M/beta), M = layout.cells: all counts, all k <= w at once.

        Levy's inequality (symmetric steps) gives Pr[max_k |S_k| > t] <= 2 Pr[|S_w| > t], the tail of
        `noise_sums` another factor 2 e^-l, a union over M counters the rest.
        """
        require.open_unit(beta=beta)
        return laplace_sum_bound(self.scale, self.users, math.log(4 * self.layout.cells / beta))

    def error_bound(self, beta: float) -> float:
        """E = 4 noise_bound(beta): the slack of Lemma 5.8 is E/4."""
        return 4 * self.noise_bound(beta)

    def promises(self, data: Trajectories, *, beta: float) -> list[Promise]:
        """What a certificate checks: the bounds on raw and on post-processed counts."""
        return promises_of(self, data, beta)

    def paper_error_bound(self, beta: float) -> float:
        """(H/eps) sqrt(K log(HSABK/beta)): the printed form with 1 for the hidden constant. Not a promise."""
        require.open_unit(beta=beta)
        inside = math.log(self.layout.tuples * self.users / beta)
        return self.layout.H / self.eps * math.sqrt(self.users * inside)

    def with_users(self, users: int) -> Self:
        """The same messages, summed over at most `users` users."""
        return replace(self, users=users)

    def _noise(self, terms: int, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        draw = discrete_laplace_sum if self.discrete else laplace_sum
        return draw(self.scale, terms, shape, rng=rng)

    def _message(self, data: Trajectories) -> Array:
        if len(data) > 1:
            raise ParameterError("len(data)", len(data), "0 or 1: the view is one user's message")
        return self.layout.pack(self._own(data).counts())

    def _own(self, data: Trajectories) -> Trajectories:
        if data.layout != self.layout:
            raise ParameterError("data.layout", data.layout, str(self.layout))
        return data


class LocalStream:
    """Running sums of the users' noisy messages."""

    def __init__(self, privatizer: Local, sums: Array, rng: np.random.Generator) -> None:
        self._privatizer, self._sums, self._rng, self._fed = privatizer, sums, rng, 0

    def feed(self, increments: ExactCounts) -> PrivateCounts:
        """Private counts after one more user in each run."""
        local = self._privatizer
        if self._fed == local.users:
            raise UsageError(f"more than the {local.users} users that the error bound was promised for")
        self._fed += 1
        message = local.layout.pack(increments) + local._noise(1, self._sums.shape, self._rng)
        self._sums = self._sums + message
        return local.layout.unpack(self._sums)
