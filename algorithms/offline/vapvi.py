"""VAPVI and DP-VAPVI (Qiao, Wang 2023, Algorithm 2), and PEVI (Jin et al. 2021), for linear decision processes.

For h = H..1, with y2 = V_{h+1}(s') and sums over the users of D' (first block) and D (second block):

    Sigma  = sum phi phi^T + lambda I + K_1
    beta   = Sigma^-1 [sum phi y2^2 + phi_1],    theta = Sigma^-1 [sum phi y2 + phi_2]
    sigma2 = max(1, clip(<phi, beta>, 0, (H-h+1)^2) - clip(<phi, theta>, 0, H-h+1)^2)
    Lambda = sum phi phi^T/sigma2 + lambda I + K_2
    w      = Lambda^-1 [sum phi (r + y2)/sigma2 + phi_3]
    Q_h    = max(0, min(<phi, w> - C sqrt(d) |phi|_{Lambda^-1} - D/K, H-h+1)),  greedy, ties to the smallest action

VAPVI has no noise (`noise=None`, rho = infinity). PEVI has neither noise nor weights: sigma2 = 1, and penalty
C' d H |phi|_{Lambda^-1} (`penalty`). All sums are functions of the counts N_h(s,a,s') and of the reward sums, so a
thousand users cost as much as one.

Noise       `privatizers.linear_noise`: as printed or corrected, fresh in every step. K_i = W + shift I, where
            shift = `shift_scale` times the bound on |W| that all 2H draws keep with probability 1 - delta.
            Off that event a matrix may not be positive definite: eigenvalues are then raised to lambda, which is
            post-processing and never happens without noise.
Split       D = first half of the users, D' = second half, as in `privatizers.offline_linear`; or both = everybody.
Claim       rho-zCDP: true for features in the unit ball (0.51 rho split, 0.91 rho un-split), 23 rho for the
            features of Appendix F as they are. The policy is a function of the noisy statistics.
Constants   C, D and c are universal and unnamed in the paper: `penalty` = C sqrt(d) (or c d H), `penalty_over_k` = D.
            Their theory values make every Q zero at the paper's K; smaller ones are tuning, without a guarantee.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from algorithms.offline.data import counts_of_runs
from dpverify.base import require
from dpverify.errors import ParameterError
from mechanisms.datasets.trajectories import Trajectories
from mechanisms.datasets.visit_counts import ExactCounts
from mechanisms.privatizers.linear_noise import LinearNoise, StepNoise

Array = npt.NDArray[Any]
IntArray = npt.NDArray[np.int64]


class LinearPlan(NamedTuple):
    """Greedy policy (T, H, S), values (T, H+1, S) and the weights sigma2 (T, H, S, A)."""

    policy: IntArray
    values: Array
    variances: Array


class Halves(NamedTuple):
    """Counts with reward sums of D and of D', leading axis T or 1; `users` is the paper's K."""

    fitted: ExactCounts
    variance: ExactCounts
    users: int


@dataclass(frozen=True, eq=False, kw_only=True)
class VAPVI:
    """The learner. `features` (S, A, d); `noise` None is non-private.

    penalty         factor of |phi|_{Lambda^-1}: C sqrt(d)
    penalty_over_k  D: D/K is subtracted everywhere
    ridge           lambda > 0
    weighted        False: sigma2 = 1 (PEVI)
    split           two disjoint halves, or everybody in both
    """

    features: Array
    horizon: int
    noise: LinearNoise | None = None
    penalty: float = 1.0
    penalty_over_k: float = 0.0
    ridge: float = 1.0
    weighted: bool = True
    split: bool = False
    delta: float = 0.1
    shift_scale: float = 1.0

    def __post_init__(self) -> None:
        require.integer(at_least=1, horizon=self.horizon)
        require.positive(ridge=self.ridge)
        require.non_negative(penalty=self.penalty, penalty_over_k=self.penalty_over_k, shift_scale=self.shift_scale)
        require.open_unit(delta=self.delta)
        if self.features.ndim != 3 or not np.isfinite(self.features).all():
            raise ParameterError("features", self.features, "a finite (S, A, d) array")
        if self.noise is not None and (self.noise.H, self.noise.d) != (self.horizon, self.features.shape[2]):
            raise ParameterError("noise", self.noise, f"for H = {self.horizon}, d = {self.features.shape[2]}")
        flat = self.features.reshape(-1, self.features.shape[2])
        object.__setattr__(self, "_outer", (flat[:, :, None] * flat[:, None, :]).reshape(len(flat), -1))

    @property
    def shift(self) -> float:
        """What is added to the diagonals together with the noise; 0 without noise."""
        if self.noise is None:
            return 0.0
        return self.shift_scale * self.noise.gram_operator_bound(self.delta / (2 * self.horizon))

    def halves(self, data: Trajectories) -> Halves:
        """D and D' of one dataset as counts, leading axis 1."""
        middle = (len(data) + 1) // 2
        parts = (slice(0, middle), slice(middle, None)) if self.split else (slice(None), slice(None))
        first, second = (counts_of_runs([data], part) for part in parts)
        return Halves(first, second, max(middle if self.split else len(data), 1))

    def policies(self, data: Trajectories, *, rng: np.random.Generator, size: int) -> IntArray:
        """`size` independent output policies, (size, H, S)."""
        return self.learn(self.halves(data), rng=rng, size=size).policy

    def learn(self, halves: Halves, *, rng: np.random.Generator, size: int) -> LinearPlan:
        """`size` runs, each with noise of its own (and data of its own where the counts have that many rows)."""
        states, actions, _ = self.features.shape
        values = np.zeros((size, self.horizon + 1, states))
        policy = np.empty((size, self.horizon, states), dtype=np.int64)
        variances = np.ones((size, self.horizon, states, actions))
        for h in range(self.horizon - 1, -1, -1):
            draws = self.draw(size, rng=rng)
            following = values[:, h + 1]
            before = self.variance_statistics(halves.variance, h, following)
            if draws is not None:
                before = (before[0] + draws.phi1, before[1] + draws.phi2, before[2] + draws.gram1)
            if self.weighted:
                variances[:, h] = self.variance(*before, h)
            after = self.fitted_statistics(halves.fitted, h, following, variances[:, h])
            if draws is not None:
                after = (after[0] + draws.phi3, after[1] + draws.gram2)
            q = self.q_values(*after, h, halves.users)
            policy[:, h], values[:, h] = q.argmax(axis=-1), q.max(axis=-1)
        return LinearPlan(policy, values, variances)

    def draw(self, size: int, *, rng: np.random.Generator) -> StepNoise | None:
        """Fresh noise of one step, or None."""
        return None if self.noise is None else self.noise.draw(size, rng=rng)

    def variance_statistics(self, counts: ExactCounts, h: int, following: Array) -> tuple[Array, Array, Array]:
        """sum phi V^2, sum phi V, sum phi phi^T over D' at step h, V = `following` (T, S)."""
        arrivals = np.einsum("tsax,sad->txd", counts.transitions[:, h], self.features)
        second = (following[:, None, :] ** 2 @ arrivals)[:, 0]
        first = (following[:, None, :] @ arrivals)[:, 0]
        return second, first, self._gram(counts.visits[:, h])

    def variance(self, second: Array, first: Array, gram: Array, h: int) -> Array:
        """sigma2 (T, S, A) from the noisy statistics."""
        ceiling = self.horizon - h
        inverse = self._inverse(gram)
        squares, means = self._predict(inverse, second), self._predict(inverse, first)
        spread = np.clip(squares, 0.0, ceiling**2) - np.clip(means, 0.0, ceiling) ** 2
        return np.asarray(np.maximum(spread, 1.0))

    def fitted_statistics(self, counts: ExactCounts, h: int, following: Array, variance: Array) -> tuple[Array, Array]:
        """sum phi (r + V)/sigma2 and sum phi phi^T/sigma2 over D at step h."""
        assert counts.rewards is not None
        totals = counts.rewards[:, h] + (counts.transitions[:, h] @ following[:, None, :, None])[..., 0]
        target = np.einsum("tsa,sad->td", totals / variance, self.features)
        return target, self._gram(counts.visits[:, h] / variance)

    def q_values(self, target: Array, gram: Array, h: int, users: int) -> Array:
        """Q_h (T, S, A) from the noisy statistics."""
        inverse = self._inverse(gram)
        outer: Array = self._outer  # type: ignore[attr-defined]
        squares = inverse.reshape(len(inverse), -1) @ outer.T  # phi^T M phi = <M, phi phi^T>
        lengths = np.sqrt(np.maximum(squares, 0.0)).reshape(-1, *self.features.shape[:2])
        plain = self._predict(inverse, target) - self.penalty * lengths - self.penalty_over_k / users
        return np.asarray(np.maximum(np.minimum(plain, self.horizon - h), 0.0))

    def _predict(self, inverse: Array, statistic: Array) -> Array:
        """<phi, inverse statistic> for all (s, a): (T, S, A)."""
        weights = (inverse @ statistic[..., None])[..., 0]
        return np.asarray(np.tensordot(weights, self.features, axes=(-1, -1)))

    def _gram(self, weights: Array) -> Array:
        outer: Array = self._outer  # type: ignore[attr-defined]  # (S A, d d): phi phi^T
        gram = weights.reshape(len(weights), -1) @ outer
        return np.asarray(gram.reshape(-1, self.features.shape[2], self.features.shape[2]))

    def _inverse(self, gram: Array) -> Array:
        """Inverse of gram + (lambda + shift) I, eigenvalues not below lambda."""
        roots, basis = np.linalg.eigh(gram)
        roots = np.maximum(roots + self.ridge + self.shift, self.ridge)
        return np.asarray((basis / roots[..., None, :]) @ np.swapaxes(basis, -1, -2))


def pevi(features: Array, horizon: int, *, penalty: float, ridge: float = 1.0) -> VAPVI:
    """PEVI: unweighted, non-private; `penalty` = c d H sqrt(ln(2 d H K/xi)) in theory."""
    return VAPVI(features=features, horizon=horizon, penalty=penalty, ridge=ridge, weighted=False)
