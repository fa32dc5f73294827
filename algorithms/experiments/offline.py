"""Figure 1 of the offline paper: v* - v^pi of PEVI, VAPVI and DP-VAPVI on the linear example of Appendix F; and `lean`.

As the paper: H = 20, d = 10, 100 actions, un-split data, K from 5 to 1000, noise as printed. Two variants:

    printed   features as printed; squared lengths up to 7, so rho is spent up to 23 times
    scaled    features divided by sqrt 7: what the privacy analysis covers, and what `lean` claims for

and a second grid of K up to 10^6, because at the paper's K the printed noise still drowns the statistics.
Constants have no guarantee: by hand on seed 99, or with `--search N` the penalty of each learner by one search
(`search`) on seeds that are not drawn, N points and as many runs for each, at the figure's largest K and `SEARCH_RHO`.
The gap is exact (dynamic programming). In the same picture: what needs no data (`references`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from algorithms.beyond.lean import Lean
from algorithms.experiments.search import search
from algorithms.offline.data import appendix_mdp, leaning_policy, LinearMDP, sample_counts, suboptimality
from algorithms.offline.vapvi import Halves, pevi, VAPVI
from algorithms.tabular import Model, uniform_policy
from dpverify.base.seeding import derive, Stage, stream
from mechanisms.datasets.visit_counts import ExactCounts
from mechanisms.privatizers.linear_noise import LinearNoise

Array = npt.NDArray[np.float64]

HORIZON, DIMENSION = 20, 10
RHOS = (0.1, 1.0, 5.0, 25.0)
VARIANTS = ("printed", "scaled")
POLICIES = 200  # random deterministic ones
SEARCH_RHO = 25.0


@dataclass(frozen=True)
class OfflineConstants:
    """C sqrt(d) |phi| is subtracted by VAPVI (`penalty`), DP-VAPVI (`private`) and `lean`, c d H |phi| by `pevi`.

    D = 0; `ridge` is lambda.

    Tuned by itself PEVI is as good as VAPVI here. "PEVI, same C" takes c = C: then its penalty is sqrt(d) H times
    VAPVI's, as in the theory, and it learns later, as in the paper.
    `shift` multiplies the bound that keeps noisy Grams positive definite (1: the provable one).
    """

    penalty: float = 0.05
    private: float = 0.05
    lean: float = 0.05
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


def learners(
    linear: LinearMDP, rhos: tuple[float, ...], c: OfflineConstants = CONSTANTS
) -> list[tuple[str, float | None, VAPVI | Lean]]:
    """PEVI twice, VAPVI, then DP-VAPVI for each rho, and lean where features are in the unit ball."""
    features = linear.features
    plain = VAPVI(features=features, horizon=HORIZON, penalty=c.penalty * DIMENSION**0.5, ridge=c.ridge)
    unweighted, same = (
        pevi(features, HORIZON, penalty=each * DIMENSION * HORIZON, ridge=c.ridge) for each in (c.pevi, c.penalty)
    )
    private = [
        VAPVI(
            features=features,
            horizon=HORIZON,
            noise=LinearNoise.as_printed(rho, HORIZON, DIMENSION),
            penalty=c.private * DIMENSION**0.5,
            ridge=c.ridge,
            shift_scale=c.shift,
        )
        for rho in rhos
    ]
    named: list[tuple[str, float | None, VAPVI | Lean]] = [
        ("PEVI", None, unweighted),
        ("PEVI, same C", None, same),
        ("VAPVI", None, plain),
    ]
    named += [("DP-VAPVI", rho, each) for rho, each in zip(rhos, private, strict=True)]
    if (features**2).sum(axis=-1).max() <= 1 + 1e-12:
        lean = {"features": features, "horizon": HORIZON, "penalty": c.lean * DIMENSION**0.5, "ridge": c.ridge}
        named += [("lean", rho, Lean(rho=rho, **lean)) for rho in rhos]
    return named


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


def references(model: Model, seed: int) -> dict[str, float]:
    """What needs no data; the random policies are drawn from the seed."""
    shape = (model.horizon, model.states)
    drawn = stream(seed, Stage.EXPERIMENT, 1 << 22).integers(model.actions, size=(POLICIES, *shape))
    constant = [np.full(shape, action) for action in range(model.actions)]
    return {
        "uniform actions": float(suboptimality(uniform_policy(*shape, model.actions), model)),
        "random deterministic policies": float(suboptimality(drawn, model).mean()),
        "best constant action": float(suboptimality(np.stack(constant), model).min()),
    }


def draw_offline(
    variant: str,
    users: tuple[int, ...],
    rhos: tuple[float, ...],
    runs: int,
    seed: int,
    constants: OfflineConstants = CONSTANTS,
) -> list[GapCurve]:
    """All curves of one variant, then what needs no data; noise is keyed by learner and K, data by run."""
    linear = appendix_mdp(seed, HORIZON)
    if variant == "scaled":
        linear = linear.scaled()
    model, data = linear.model, datasets(linear, users, runs, seed)
    found = []
    for name, rho, learner in learners(linear, rhos, constants):
        gaps = np.empty((runs, len(users)))
        for index, (count, counts) in enumerate(zip(users, data, strict=True)):
            noise = stream(derive(seed, f"{variant}-{name}-{rho}"), Stage.EXPERIMENT, count)
            plan = learner.learn(Halves(counts, counts, count), rng=noise, size=runs)
            gaps[:, index] = suboptimality(plan.policy, model)
        found.append(GapCurve(variant, name, rho, users, gaps))
    for name, value in references(model, seed).items():
        found.append(GapCurve(variant, f"no data: {name}", None, users, np.full((runs, len(users)), value)))
    return found


def tuned(users: int, points: int, seed: int) -> tuple[OfflineConstants, dict[str, Any]]:
    """Constants by one search on scaled features, and its record."""
    fields = {"PEVI": "pevi", "VAPVI": "penalty", "DP-VAPVI": "private", "lean": "lean"}

    def loss(name: str, point: Mapping[str, float], seeds: Sequence[int]) -> Array:
        found = []
        for own in seeds:
            linear = appendix_mdp(own, HORIZON).scaled()
            (counts,) = datasets(linear, (users,), 1, own)
            named = learners(linear, (SEARCH_RHO,), replace(CONSTANTS, **{fields[name]: point["penalty"]}))
            noise = stream(derive(own, f"offline-search/{name}"), Stage.EXPERIMENT)
            learner = next(each for each_name, _, each in named if each_name == name)
            plan = learner.learn(Halves(counts, counts, users), rng=noise, size=1)
            found.append(float(suboptimality(plan.policy, linear.model)[0]))
        return np.array(found)

    spaces = {
        name: {"penalty": (getattr(CONSTANTS, field) / 10, 400 * getattr(CONSTANTS, field))}
        for name, field in fields.items()
    }
    known = {name: [{"penalty": getattr(CONSTANTS, field)}] for name, field in fields.items()}
    done = search(spaces, loss, points=points, seed=seed, known=known)
    record = {name: each.record for name, each in done.items()}
    chosen = replace(CONSTANTS, **{field: done[name].point["penalty"] for name, field in fields.items()})
    return chosen, {"points": points, "seed": seed, "rho": SEARCH_RHO, "users": users, "learners": record}
