"""Figure 1 of the offline paper: v* - v^pi of PEVI, VAPVI and DP-VAPVI on the linear example of Appendix F.

As the paper: H = 20, d = 10, 100 actions, un-split data, K from 5 to 1000, noise as printed. Two variants:

    printed   features as printed; squared lengths up to 7, so rho is spent up to 23 times
    scaled    features divided by sqrt 7: what the privacy analysis covers

and a second grid of K up to 10^6, because at the paper's K the printed noise still drowns the statistics.
Constants are tuned by hand on seed 99 and have no guarantee; the gap is exact (dynamic programming).
"""

from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from algorithms.offline.data import appendix_mdp, leaning_policy, LinearMDP, sample_counts, suboptimality
from algorithms.offline.vapvi import Halves, pevi, VAPVI
from dpverify.base.seeding import derive, Stage, stream
from mechanisms.datasets.visit_counts import ExactCounts
from mechanisms.privatizers.linear_noise import LinearNoise

Array = npt.NDArray[np.float64]

HORIZON, DIMENSION = 20, 10
RHOS = (0.1, 1.0, 5.0, 25.0)
VARIANTS = ("printed", "scaled")


@dataclass(frozen=True)
class OfflineConstants:
    """`penalty` is C: (DP-)VAPVI subtracts C sqrt(d) |phi|; `pevi` is c: PEVI subtracts c d H |phi|; D = 0; lambda.

    Tuned by itself PEVI is as good as VAPVI here. "PEVI, same C" takes c = C: then its penalty is sqrt(d) H times
    VAPVI's, as in the theory, and it learns later, as in the paper.
    `shift` multiplies the bound that keeps noisy Grams positive definite (1: the provable one).
    """

    penalty: float = 0.05
    pevi: float = 0.005
    ridge: float = 1.0
    shift: float = 1.0


CONSTANTS = OfflineConstants()


class GapCurve(NamedTuple):
    """One line of a figure: `gaps` (runs, len(users)); `rho` is None without privacy."""

    variant: str
    learner: str
    rho: float | None
    users: tuple[int, ...]
    gaps: Array

    @property
    def label(self) -> str:
        """As in the paper's legend."""
        return self.learner if self.rho is None else f"{self.learner}, rho={self.rho:g}"


def settings_grid(most: int, points: int = 22) -> tuple[int, ...]:
    """K = 5..most, evenly, as in the paper's figure."""
    return tuple(int(k) for k in np.unique(np.linspace(min(5, most), most, points).round()))


def long_grid(most: int = 10**6) -> tuple[int, ...]:
    """K = 10..most, two a decade."""
    return tuple(int(k) for k in np.unique(np.geomspace(10, most, 2 * round(np.log10(most / 10)) + 1).round()))


def learners(linear: LinearMDP, rhos: tuple[float, ...]) -> list[tuple[str, float | None, VAPVI]]:
    """PEVI twice, VAPVI, then DP-VAPVI for each rho."""
    c, features = CONSTANTS, linear.features
    plain = VAPVI(features=features, horizon=HORIZON, penalty=c.penalty * DIMENSION**0.5, ridge=c.ridge)
    unweighted, same = (
        pevi(features, HORIZON, penalty=each * DIMENSION * HORIZON, ridge=c.ridge) for each in (c.pevi, c.penalty)
    )
    private = [
        VAPVI(
            features=features,
            horizon=HORIZON,
            noise=LinearNoise.as_printed(rho, HORIZON, DIMENSION),
            penalty=plain.penalty,
            ridge=c.ridge,
            shift_scale=c.shift,
        )
        for rho in rhos
    ]
    named: list[tuple[str, float | None, VAPVI]] = [
        ("PEVI", None, unweighted),
        ("PEVI, same C", None, same),
        ("VAPVI", None, plain),
    ]
    return named + [("DP-VAPVI", rho, each) for rho, each in zip(rhos, private, strict=True)]


def datasets(linear: LinearMDP, users: tuple[int, ...], runs: int, seed: int) -> list[ExactCounts]:
    """Counts of the first K users for every K of the grid, leading axis runs: the same users for all learners."""
    model, policy = linear.model, leaning_policy(HORIZON, 2, 100)
    sums: list[ExactCounts] = []
    streams = [stream(derive(seed, "offline-data"), Stage.EXPERIMENT, run) for run in range(runs)]
    before = 0
    for count in users:
        fresh = [sample_counts(model, policy, count - before, rng=rng) for rng in streams]
        parts = [
            np.concatenate([getattr(each, name) for each in fresh]) for name in ("visits", "transitions", "rewards")
        ]
        if sums:
            last = sums[-1]
            parts = [old + new for old, new in zip((last.visits, last.transitions, last.rewards), parts, strict=True)]
        sums.append(ExactCounts(*parts))
        before = count
    return sums


def draw_offline(variant: str, users: tuple[int, ...], rhos: tuple[float, ...], runs: int, seed: int) -> list[GapCurve]:
    """All curves of one variant; noise is keyed by learner and K, data by run."""
    linear = appendix_mdp(seed, HORIZON)
    if variant == "scaled":
        linear = linear.scaled()
    model, data = linear.model, datasets(linear, users, runs, seed)
    found = []
    for name, rho, learner in learners(linear, rhos):
        gaps = np.empty((runs, len(users)))
        for index, (count, counts) in enumerate(zip(users, data, strict=True)):
            noise = stream(derive(seed, f"{variant}-{name}-{rho}"), Stage.EXPERIMENT, count)
            plan = learner.learn(Halves(counts, counts, count), rng=noise, size=runs)
            gaps[:, index] = suboptimality(plan.policy, model)
        found.append(GapCurve(variant, name, rho, users, gaps))
    return found


def constants() -> dict[str, float]:
    """For the record."""
    return asdict(CONSTANTS)
