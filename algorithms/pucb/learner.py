"""PUCB (Vietri, Balle, Krishnamurthy, Wu 2020): optimistic planning on private counters; eps-JDP.

Mechanism   every cell of n, m, r has a binary counter (`counters`), fed each episode; before episode t
            PrivQ (Algorithm 3), h = H..1:
                conf = (H+1) phi + psi  if n~ >= 2E,  else H
                phi  = sqrt(2 ln(T/beta') / max(n~ - E, 1)),  psi = (1 + S H)(3E/n~ + 2 E^2/n~^2)
                Q+   = min(H, (r~ + sum_t V_{h+1}(t) m~(t))/n~ + conf),  V_h = max_a Q+
            and the user's actions are greedy.
Claim       eps-JDP under continual observation (Definition 3), by the billboard lemma: actions are a function
            of the released counters and of the user's own data, so eps is that of the counters.
As printed  eps' = eps/(3H) for each counter and Lap(log(T)/eps') on its nodes. A replaced user changes 2H cells
            in each family, not H, and a cell lies in L = floor(log2 R) + 1 nodes, not log T:
            eps_true = 2 eps L / log T. Add/remove: eps L / log T.
Corrected   Lap(6 H L / eps) on every node of n, m and r, rounded up.
Where       R = number of prefixes released: T - 1 when pi_T is the final policy, T when user T is fed too.
            E = (3/eps) H ln((2SAH + S^2 AH)/beta') ln(T)^{5/2}, beta' = beta/4: as printed; a factor 4 below
            Theorem 12. `error` overrides it.
Optimism    where n~ < 2E the printed Q = r~/n~ + H may lie below Q* (n~ <= 0): Q+ = H there, unless
            `printed_low_counts`, which keeps the formula where n~ > 0.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.tabular import backward_induction, Plan
from dpverify.base import require
from dpverify.errors import ParameterError
from mechanisms.counters.logbase import LogBase
from mechanisms.counters.tree import BinaryCounter
from mechanisms.datasets.visit_counts import CountLayout, PrivateCounts

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def touched_cells(horizon: int, *, last_transition: bool = True) -> int:
    """Cells that one user feeds with something: n, m and r in every step; 3H, or 3H - 1 without the last m."""
    return 3 * horizon if last_transition else 3 * horizon - 1


def printed_counters(
    layout: CountLayout, episodes: int, eps: float, *, log: LogBase, releases: int | None = None, **options: Any
) -> BinaryCounter:
    """All counters as printed: PC(T, eps/(3H)), i.e. Lap(3 H log(T)/eps) on every node. R = T - 1 by default."""
    require.integer(at_least=2, episodes=episodes)
    return BinaryCounter.printed(
        episodes,
        eps / (3 * layout.H),
        log=log,
        releases=episodes - 1 if releases is None else releases,
        **{"touches": touched_cells(layout.H), "cells": (layout.cells,), **options},
    )


def corrected_counters(layout: CountLayout, releases: int, eps: float, **options: Any) -> BinaryCounter:
    """All counters with the least Laplace noise that makes R = `releases` prefixes eps-DP under replace-one."""
    return BinaryCounter.calibrated(
        releases, eps, **{"touches": touched_cells(layout.H), "cells": (layout.cells,), **options}
    )


def printed_error(layout: CountLayout, episodes: int, eps: float, beta: float, *, log: LogBase = LogBase.E) -> float:
    """E_eps as printed; 0 at eps = infinity."""
    require.open_unit(beta=beta)
    if not 0 < eps:
        raise ParameterError("eps", eps, "> 0, or infinity")
    counters = 2 * layout.tuples + layout.tuples * layout.S
    return float(3 / eps * layout.H * math.log(counters / (beta / 4)) * log.of(episodes) ** 2.5)


@dataclass(frozen=True, kw_only=True)
class PUCB:
    """PrivQ for `episodes` = T users with failure probability `beta` and error bound `error` = E >= 0.

    `bonus_scale` multiplies conf where n~ >= 2E; 1 is the paper's.
    """

    layout: CountLayout
    episodes: int
    error: float
    beta: float = 0.05
    bonus_scale: float = 1.0
    printed_low_counts: bool = False

    def __post_init__(self) -> None:
        require.integer(at_least=1, episodes=self.episodes)
        require.open_unit(beta=self.beta)
        require.non_negative(error=self.error)
        require.positive(bonus_scale=self.bonus_scale)

    def plan(self, counts: PrivateCounts) -> IntArray:
        return self.optimistic(counts).policy

    def width(self, visits: float) -> float:
        """How far Q+ is above Q* at most where all counters are within E and optimism holds, all n~ at least `visits`.

        Q+ - Q* <= 2 conf + P (V - V*) in every cell, as conf pays for all values in [0, H] at once; so 2 H conf.
        """
        return 2 * self.layout.H * float(self._conf(np.asarray(visits)))

    def _conf(self, visits: Array) -> Array:
        """conf at n~ = `visits`."""
        horizon, error = self.layout.H, self.error
        sampling = np.sqrt(2 * math.log(4 * self.episodes / self.beta) / np.maximum(visits - error, 1.0))
        privacy = (1 + self.layout.S * horizon) * (3 * error / visits + 2 * error**2 / visits**2)
        return np.asarray(self.bonus_scale * ((horizon + 1) * sampling + privacy))

    def optimistic(self, counts: PrivateCounts) -> Plan:
        """Algorithm 3 (PrivQ); `q` is Q+."""
        assert counts.rewards is not None
        visits, horizon, error = counts.visits, self.layout.H, self.error
        enough = (visits >= 2 * error) & (visits > 0)
        usable = (visits > 0) if self.printed_low_counts else enough
        divisor = np.where(usable, visits, 1.0)
        law = np.where(usable[..., None], counts.transitions / divisor[..., None], 0.0)
        rewards = np.where(usable, counts.rewards / divisor, 0.0)
        conf = np.where(enough, self._conf(divisor), float(horizon))

        def adjust(h: int, plain: Array, following: Array) -> Array:
            step = np.s_[..., h, :, :]
            return np.where(usable[step], np.minimum(horizon, plain + conf[step]), float(horizon))

        return backward_induction(law, rewards, adjust=adjust)
