"""Lean private value iteration for linear decision processes: two noisy statistics a step instead of five.

For h = H..1, with V_{h+1} of the steps before, t = H - h + 1 and sums over all users:

    Lambda = sum phi phi^T + Z_h + (lambda + shift_h) I,    w = Lambda^-1 [sum phi (r + V_{h+1}(s')) + z_h]
    Q_h    = clip(<phi, w> - C |phi|_{Lambda^-1}, 0, t),    greedy, V_h = max_a Q_h, ties to the smallest action

    z_h    N(0, s_h^2 I_d);  Z_h symmetric, independent: diagonal N(0, g_h^2), the others N(0, g_h^2/2)

Un-weighted and un-split, unlike DP-VAPVI (`vapvi`): no variances, so the budget goes to what the policy needs, and more
of it to early steps, whose targets are larger.

Budget      rho_h = rho t/sum t; s_h^2 = t^2/(2 a rho_h) and g_h^2 = 1/(c rho_h) with a = u/2, c = 1 - u scaled by one
            factor such that a step costs exactly rho_h; u = `TARGETS`.
Claim       rho-zCDP, replacing one trajectory, for features of length at most 1: one user moves the target by phi y, y
            in [0, t], and the Gram by phi phi^T. Their joint worst case is `linear_costs.StepCost.unit_ball_replace`
            (the vectors move most at phi' = -phi, where the Gram does not move): alpha = t^2/s_h^2, gamma = 1/g_h^2.
            Steps are adaptive: V_{h+1} and the policy are functions of what was released. zCDP adds up (Bun, Steinke
            2016, Lemma 2.3).
Shift       the bound on |Z_h| that all steps keep with probability 1 - beta (`LinearNoise.gram_operator_bound`'s law).
            Off that event eigenvalues are raised to lambda, which is post-processing.
Constants   C is tuned in the figures, which no theorem covers; `lean_promises.proved_penalty` is a C with a proof.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from algorithms.offline.data import counts_of_runs
from algorithms.offline.vapvi import Halves, LinearPlan, VAPVI
from dpverify.base import require
from dpverify.base.rounding import sqrt_up
from dpverify.errors import ParameterError
from mechanisms.datasets.trajectories import Trajectories
from mechanisms.privatizers.linear_costs import StepCost
from mechanisms.privatizers.linear_noise import symmetric

Array = npt.NDArray[Any]
ROUNDED = Fraction(1, 1 << 40)  # of the budget, left for accounts that round up
TARGETS = Fraction(7, 10)  # u: the share of a step's budget that targets would have if the worst cases added up


@dataclass(frozen=True, eq=False, kw_only=True)
class Lean:
    """The learner. `features` (S, A, d), |phi| <= 1 up to 1e-12; `rho` > 0; `penalty` = C; `ridge` = lambda > 0.

    `noise` multiplies what is drawn and leaves the claim alone: 1 is what the ledger states, 1/2 a planted bug.
    """

    features: Array
    horizon: int
    rho: float
    penalty: float = 1.0
    ridge: float = 1.0
    beta: float = 0.1
    noise: float = 1.0

    def __post_init__(self) -> None:
        require.integer(at_least=1, horizon=self.horizon)
        require.positive(rho=self.rho, ridge=self.ridge, noise=self.noise)
        require.non_negative(penalty=self.penalty)
        require.open_unit(beta=self.beta)
        if self.features.ndim != 3 or not np.isfinite(self.features).all():
            raise ParameterError("features", self.features, "a finite (S, A, d) array")
        longest = float((self.features**2).sum(axis=2).max())
        if not longest <= 1 + 1e-12:
            raise ParameterError("features", longest, "of squared length <= 1")

    def with_noise(self, factor: float) -> Self:
        """The same claim with `factor` times the noise, and the ledger that this has."""
        require.positive(factor=factor)
        return replace(self, noise=factor * self.noise)

    @property
    def dimension(self) -> int:
        """d."""
        return int(self.features.shape[2])

    @cached_property
    def sigmas(self) -> Array:
        """(H, 2): s_h and g_h of the steps h = 1..H, rounded up, times `noise`."""
        total = Fraction(self.horizon * (self.horizon + 1), 2)
        unit = StepCost(TARGETS / 2, 1 - TARGETS).unit_ball_replace()
        rows = []
        for h in range(1, self.horizon + 1):
            top = self.horizon - h + 1
            budget = Fraction(self.rho) * top / total / unit * (1 - ROUNDED)
            rows.append((sqrt_up(top**2 / (TARGETS / 2 * budget)), sqrt_up(1 / ((1 - TARGETS) * budget))))
        return self.noise * np.array(rows)

    def step_cost(self, h: int) -> StepCost:
        """What step h (from 0) costs, from the scales that are used."""
        target, gram = self.sigmas[h].tolist()
        return StepCost.of([(self.horizon - h, target)], [gram])

    def shift(self, h: int) -> float:
        """Of the diagonal at step h (from 0): Pr[some |Z| > shift] <= beta over all steps."""
        spread = 2 * math.sqrt(self.dimension) + 2 * math.sqrt(math.log(2 * self.horizon / self.beta))
        return float(self.sigmas[h, 1]) / math.sqrt(2) * spread

    def policies(self, data: Trajectories, *, rng: np.random.Generator, size: int) -> npt.NDArray[np.int64]:
        """`size` independent output policies, (size, H, S)."""
        counts = counts_of_runs([data])
        return self.learn(Halves(counts, counts, max(len(data), 1)), rng=rng, size=size).policy

    def learn(self, halves: Halves, *, rng: np.random.Generator, size: int) -> LinearPlan:
        """`size` runs, each with noise of its own (and data of its own where the counts have that many rows)."""
        states, actions, _ = self.features.shape
        values = np.zeros((size, self.horizon + 1, states))
        policy = np.empty((size, self.horizon, states), dtype=np.int64)
        for h in range(self.horizon - 1, -1, -1):
            target, gram = self.statistics(halves, h, values[:, h + 1])
            noise = self.draw(h, size, rng=rng)
            q = self.q_values(target + noise[0], gram + noise[1], h)
            policy[:, h], values[:, h] = q.argmax(axis=-1), q.max(axis=-1)
        return LinearPlan(policy, values, np.ones((size, self.horizon, states, actions)))

    def draw(self, h: int, size: int, *, rng: np.random.Generator) -> tuple[Array, Array]:
        """z_h (size, d) and Z_h (size, d, d), the latter through its upper triangle."""
        target, gram = self.sigmas[h]
        d = self.dimension
        vector = rng.normal(scale=target, size=(size, d))
        rows, columns = np.triu_indices(d)
        scales = np.where(rows == columns, gram, gram / math.sqrt(2))
        return vector, symmetric(rng.normal(size=(size, rows.size)) * scales, d)

    def statistics(self, halves: Halves, h: int, following: Array) -> tuple[Array, Array]:
        """sum phi (r + V) and sum phi phi^T at step h (from 0), V = `following` (T, S)."""
        return self._plain[h].fitted_statistics(halves.fitted, h, following, np.ones((1, 1, 1)))

    def q_values(self, target: Array, gram: Array, h: int) -> Array:
        """Q_h (T, S, A) from the noisy statistics."""
        return self._plain[h].q_values(target, gram, h, 1)

    @cached_property
    def _plain(self) -> list["_Shifted"]:
        """For each step the un-weighted learner whose sums and estimates these are."""
        options: dict[str, Any] = {"features": self.features, "horizon": self.horizon, "penalty": self.penalty}
        shifts = [self.shift(h) for h in range(self.horizon)]
        return [_Shifted(**options, ridge=self.ridge, weighted=False, added=each) for each in shifts]


@dataclass(frozen=True, eq=False, kw_only=True)
class _Shifted(VAPVI):
    """Without noise of its own, and with a shift."""

    added: float = 0.0

    @property
    def shift(self) -> float:
        """What is added to the diagonal."""
        return self.added
