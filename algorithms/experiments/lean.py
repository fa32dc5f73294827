"""`lean` beside DP-VAPVI on the linear example of Appendix F, at equal rho, data and search.

    python -m algorithms.experiments.lean [--rho 25] [--users 1000] [--runs 8] [--points 8] [--json F]

Features are scaled to the unit ball, which both claims need. The factor C of the penalty is searched for both by
`search`: the same number of log-uniform points of one range, the same seeds, none of them drawn. Beside them what needs
no data: v* - v of the uniform mixture of actions, of random deterministic policies (their mean), and of the best
constant action, which nobody knows without data. A learner above the first two has learned nothing.
"""

import argparse
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.beyond.lean import Lean
from algorithms.experiments.offline import datasets, DIMENSION, HORIZON, references
from algorithms.experiments.search import Point, search
from algorithms.offline.data import appendix_mdp, LinearMDP, suboptimality
from algorithms.offline.vapvi import Halves, VAPVI
from dpverify.base import require
from dpverify.base.seeding import derive, Stage, stream
from dpverify.errors import ParameterError
from mechanisms.privatizers.linear_noise import LinearNoise

Array = npt.NDArray[np.float64]
RIDGE, SPACE = 1.0, {"penalty": (0.05, 20.0)}
NAMES = ("lean", "DP-VAPVI")


def learner(name: str, linear: LinearMDP, rho: float, point: Point) -> Lean | VAPVI:
    """A learner at a point of the search; the noise of DP-VAPVI is as printed, which its claim covers."""
    features, penalty = linear.features, point["penalty"]
    if name == "lean":
        return Lean(features=features, horizon=HORIZON, rho=rho, penalty=penalty, ridge=RIDGE)
    noise = LinearNoise.as_printed(rho, HORIZON, DIMENSION)
    return VAPVI(features=features, horizon=HORIZON, noise=noise, penalty=penalty, ridge=RIDGE)


def gaps(name: str, point: Point, *, rho: float, users: int, runs: int, seed: int) -> Array:
    """v* - v^pi of each run, (runs,); MDP, data and noise are functions of the seed."""
    linear = appendix_mdp(seed, HORIZON).scaled()
    (counts,) = datasets(linear, (users,), runs, seed)
    noise = stream(derive(seed, f"lean-table/{name}"), Stage.EXPERIMENT)
    plan = learner(name, linear, rho, point).learn(Halves(counts, counts, users), rng=noise, size=runs)
    return np.asarray(suboptimality(plan.policy, linear.model))


def lean_table(
    *, rho: float, users: int, runs: int, seeds: Sequence[int], points: int, search_seed: int
) -> dict[str, Any]:
    """Both learners at the point that was found, on every seed, and the references."""
    require.positive(rho=rho)
    require.integer(at_least=2, users=users, runs=runs)
    if search_seed in seeds:
        raise ParameterError("search_seed", search_seed, "none of the seeds that are drawn")

    def loss(name: str, point: Point, own: Sequence[int]) -> Array:
        return np.array([gaps(name, point, rho=rho, users=users, runs=1, seed=each)[0] for each in own])

    found = search(dict.fromkeys(NAMES, SPACE), loss, points=points, seed=search_seed)
    rows = []
    for seed in seeds:
        free = references(appendix_mdp(seed, HORIZON).scaled().model, seed)
        for name in NAMES:
            each = gaps(name, found[name].point, rho=rho, users=users, runs=runs, seed=seed)
            error = float(each.std(ddof=1) / math.sqrt(runs))
            rows.append({"seed": seed, "learner": name, "gap": float(each.mean()), "error": error})
        rows += [{"seed": seed, "learner": name, "gap": value, "error": 0.0} for name, value in free.items()]
    told = {name: {"point": each.point, "runs": each.runs} for name, each in found.items()}
    return {
        "rho": rho,
        "users": users,
        "runs": runs,
        "search": {"seed": search_seed, "points": points, **told},
        "rows": rows,
    }


def main() -> None:
    """Prints the table; see the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rho", type=float, default=25.0)
    parser.add_argument("--users", type=int, default=1_000)
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--points", type=int, default=8)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    found = lean_table(
        rho=given.rho, users=given.users, runs=given.runs, seeds=(1, 2), points=given.points, search_seed=9
    )
    for name in NAMES:
        print(f"{name}: C = {found['search'][name]['point']['penalty']:.3g} of {found['search'][name]['runs']} runs")
    for each in found["rows"]:
        error = f" +- {each['error']:.2f}" if each["error"] else ""
        print(f"seed {each['seed']}  {each['learner']:32}{each['gap']:6.2f}{error}")
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
