"""Private statistics of DP-VAPVI (Qiao, Wang, "Offline RL with differential privacy", Algorithm 2).

Mechanism   for every step h, with y_1 = V_{h+1}(s')^2, y_2 = V_{h+1}(s'), y_3 = r + V_{h+1}(s'):
                second   sum phi y_1 + phi_1        gram1   sum phi phi^T + K_1      over the users of D'
                first    sum phi y_2 + phi_2
                target   sum phi y_3 + phi_3        gram2   sum phi phi^T + K_2      over the users of D
            with the noise of `linear_noise` and public shifts left out.
Claim       rho-zCDP, rho_0 = rho/(5H) for each of the 5H statistics.
Truth       the Gram lemma is false (2 rho_0, or 4 rho_0 for c = 1/2), yet the theorem is true for unit features
            and c = 1/sqrt 2: see `linear_costs`. Worst totals as fractions of rho at H = 1: 0.506 split, 0.903
            un-split; with c = 1/2 0.903 split and 1.70 un-split. Features longer than 1 break it: 23 rho for
            the features of Appendix F (H = 20, un-split).
Adaptive    V_{h+1} depends on what the later steps released. Given that transcript it is a fixed function, so
            `values` is fixed here and the ledger holds for every V_{h+1} in [0, H-h].
Split       D is the first half of the users, D' the second; a user is in one of them. Un-split (the paper's
            experiment): D = D' = everybody. Under add/remove the ledger speaks of absent users, who keep their
            place; taking a user out of the list would move another one into the other half.
"""

from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.base.rounding import sqrt_up
from dpverify.claims import Pair, Unit, ZCDP
from dpverify.errors import ParameterError
from dpverify.ledger import Assigned, Disjoint, Event, GaussianNoise, Ledger, Sensitivity, Shift
from mechanisms.datasets.trajectories import Trajectories
from mechanisms.privatizers.linear_costs import StepCost
from mechanisms.privatizers.linear_noise import LinearNoise
from mechanisms.privatizers.offline_tabular import gaussian_log_ratio

Array = npt.NDArray[Any]


class Statistic(Enum):
    """The five statistics of a step, in the order of release."""

    SECOND = "second"
    FIRST = "first"
    TARGET = "target"
    GRAM1 = "gram1"
    GRAM2 = "gram2"

    @property
    def is_gram(self) -> bool:
        """A d x d matrix; the others are vectors."""
        return self in (Statistic.GRAM1, Statistic.GRAM2)


HALF_D = (Statistic.TARGET, Statistic.GRAM2)
HALF_D_PRIME = (Statistic.SECOND, Statistic.FIRST, Statistic.GRAM1)


@dataclass(frozen=True, kw_only=True, eq=False)
class OfflineLinear:
    """The statistics of all steps as one release.

    noise       scales; its H and d are those of the data and the features
    features    (S, A, d) phi(s, a)
    values      (H, S) V_{h+1}(s') in [0, H-h] (h = 1..H); the last row is 0
    split       two disjoint halves of users, or everybody in both
    statistics  what is released; all five by default. A single one shows what it costs alone.
    unit_ball   the ledger holds for all features of length <= 1 (refused if `features` has longer ones); False: the
                ledger is the exact maximum over the rows of `features`
    """

    noise: LinearNoise
    features: Array
    values: Array
    split: bool = False
    statistics: tuple[Statistic, ...] = field(default=tuple(Statistic))
    unit_ball: bool = True

    def __post_init__(self) -> None:
        require.own_numbers(self)
        H, d = self.noise.H, self.noise.d
        if self.features.ndim != 3 or self.features.shape[2] != d or not np.isfinite(self.features).all():
            raise ParameterError("features", self.features, f"a finite (S, A, {d}) array")
        if self.values.shape != (H, self.features.shape[0]):
            raise ParameterError("values.shape", self.values.shape, f"({H}, {self.features.shape[0]})")
        ceiling = np.arange(H - 1, -1, -1)[:, None]
        if not ((self.values >= 0) & (self.values <= ceiling)).all():
            raise ParameterError("values", self.values, "in [0, H-h] in the row of step h")
        if not self.statistics or len(set(self.statistics)) != len(self.statistics):
            raise ParameterError("statistics", self.statistics, "one or more, without repetition")
        longest = float((self.features**2).sum(axis=2).max())
        if self.unit_ball and not longest <= 1 + 1e-12:  # rounding of a normalised feature is let through
            raise ParameterError("features", longest, "of squared length <= 1 with unit_ball=True")

    @property
    def claim(self) -> ZCDP:
        """rho-zCDP, replacing one trajectory."""
        return ZCDP(self.noise.rho, unit=Unit.TRAJECTORY, source="Offline RL with differential privacy, Theorem 4.1")

    @property
    def ledger(self) -> Ledger:
        """One Gaussian event a step: its statistics together, scaled to unit noise, and their joint worst case.

        Their separate worst cases exclude each other (phi' = -phi moves the vectors most and the Gram not
        at all), so the sum over statistics would overstate. Split: two disjoint branches.
        """
        if not self.split:
            return self._steps(self.statistics)
        halves = [[each for each in self.statistics if each in half] for half in (HALF_D, HALF_D_PRIME)]
        return Ledger(
            # the first half of the places and the second: a replaced trajectory keeps its place, an absent one as well
            Disjoint(branches=tuple(self._steps(tuple(half)) for half in halves if half), assigned=Assigned.BY_POSITION)
        )

    @property
    def cells(self) -> int:
        """Length of the flat view: H times (d a vector, d(d+1)/2 a Gram, its upper triangle)."""
        return self._sigmas.size

    def release(self, data: Trajectories, *, rng: np.random.Generator, size: int) -> Array:
        """`size` views (size, cells): step by step, the statistics in order, Grams as upper triangles."""
        return self.exact(data) + rng.normal(size=(size, self.cells)) * self._sigmas

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """Log density ratio of two Gaussians with the same independent noises."""
        return gaussian_log_ratio(outputs, self.exact(pair.first), self.exact(pair.second), self._sigmas)

    def exact(self, data: Trajectories) -> Array:
        """(cells,) the statistics without noise: sensitive."""
        S, A, _ = self.features.shape
        if (data.S, data.A, data.B, data.H) != (S, A, None, self.noise.H) or data.final_states is None:
            raise ParameterError("data", data, f"single-player, S={S}, A={A}, H={self.noise.H}, with final_states")
        half = (len(data) + 1) // 2
        users = {each: slice(None) for each in Statistic}
        if self.split:
            users |= dict.fromkeys(HALF_D, slice(0, half)) | dict.fromkeys(HALF_D_PRIME, slice(half, None))
        blocks = [self._statistic(data, each, users[each]) for each in self.statistics]  # each (H, width)
        return np.concatenate(blocks, axis=1).ravel()

    def _statistic(self, data: Trajectories, which: Statistic, users: slice) -> Array:
        present = ~data.absent[users]
        states, actions = data.states[users][present], data.actions[users][present]
        phi = self.features[states, actions]  # (n, H, d)
        if which.is_gram:
            rows, columns = np.triu_indices(self.noise.d)
            return np.asarray(np.einsum("nhi,nhj->hij", phi, phi)[:, rows, columns])
        value = self.values[np.arange(self.noise.H), data.next_states[users][present]]  # (n, H)
        assert data.rewards is not None
        targets = {
            Statistic.SECOND: value**2,
            Statistic.FIRST: value,
            Statistic.TARGET: data.rewards[users][present] + value,
        }
        return np.asarray(np.einsum("nhi,nh->hi", phi, targets[which]))

    @property
    def _sigmas(self) -> Array:
        one_step = [self._sigma_block(each) for each in self.statistics]
        return np.tile(np.concatenate(one_step), self.noise.H)

    def _sigma_block(self, which: Statistic) -> Array:
        if which.is_gram:
            return self.noise.triangle_sigmas
        return np.full(self.noise.d, self._vector_sigma(which))

    def _vector_sigma(self, which: Statistic) -> float:
        vectors = (Statistic.SECOND, Statistic.FIRST, Statistic.TARGET)
        return self.noise.vector_sigmas[vectors.index(which)]

    def _steps(self, statistics: tuple[Statistic, ...]) -> Ledger:
        return Ledger(*(self._step_event(h, statistics) for h in range(1, self.noise.H + 1)))

    def _step_event(self, h: int, statistics: tuple[Statistic, ...]) -> Event:
        remaining = self.noise.H - h
        largest = {
            Statistic.SECOND: remaining**2,
            Statistic.FIRST: remaining,
            Statistic.TARGET: remaining + 1,
        }
        what = f"step {h}: " + ", ".join(each.value for each in statistics)
        if self.unit_ball and len(statistics) == 1 and statistics[0].is_gram:
            moves = Sensitivity(replace=Shift(1, 2), add_remove=Shift(1))  # ||D||_F^2 = 2 or 1, without a rounded root
            return GaussianNoise(what=what, sigma=self.noise.gram_sigma, sensitivity=moves)
        targets = [(largest[each], self._vector_sigma(each)) for each in statistics if not each.is_gram]
        cost = StepCost.of(targets, [self.noise.gram_sigma for each in statistics if each.is_gram])
        if self.unit_ball:
            replace, absent = cost.unit_ball_replace(), cost.unit_ball_absent()
        else:
            rows = self.features.reshape(-1, self.noise.d)
            replace, absent = Fraction(cost.table_replace(rows)), Fraction(cost.table_absent(rows))
        moves = Sensitivity(replace=Shift(sqrt_up(2 * replace)), add_remove=Shift(sqrt_up(2 * absent)))
        return GaussianNoise(what=what + ", scaled to unit noise", sigma=1.0, sensitivity=moves)
