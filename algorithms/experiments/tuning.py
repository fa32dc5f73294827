"""The search of `search` on the learners of the curves: all at one eps, final regret is the loss."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.experiments.constants import constants_at, KNOWN, PLAIN, SPACES
from algorithms.experiments.curves import CurveSettings, draw_curve, draw_online, staged
from algorithms.experiments.search import Point, search, SearchResult, Together
from dpverify.errors import ParameterError

Array = npt.NDArray[np.float64]


def tune(
    environment: str, learners: Sequence[str], *, episodes: int, eps: float, points: int, seed: int, keep: Path
) -> dict[str, SearchResult]:
    """The best point of each learner, name -> Found. Finished rounds are kept in the file `keep`.

    ParameterError but for RiverSwim: the bandit's arms are another seed's others.
    """
    if environment != "riverswim":
        raise ParameterError("environment", environment, "'riverswim': the bandit's arms are another seed's others")

    def settings(name: str, point: Point, seed: int) -> CurveSettings:
        chosen = constants_at(name, point)
        return CurveSettings(environment, name, None if name in PLAIN else eps, 1, episodes, seed, chosen=chosen)

    def losses(asked: Mapping[str, Sequence[Point]], seeds: Sequence[int]) -> dict[str, Array]:
        rows = [settings(name, each, s) for name, points in asked.items() for each in points for s in seeds]
        online = [each for each in rows if not staged(each.learner)]
        final = {each.key: draw_curve(each).regret[0, -1] for each in rows if staged(each.learner)}
        for private in (True, False):
            group = [each for each in online if (each.eps is not None) == private]
            curves = draw_online(group) if group else []
            final |= {each.key: curve.regret[0, -1] for each, curve in zip(group, curves, strict=True)}
        return {
            name: np.array([[final[settings(name, each, s).key] for s in seeds] for each in points])
            for name, points in asked.items()
        }

    def loss(name: str, point: Point, seeds: Sequence[int]) -> Array:
        return np.asarray(losses({name: [point]}, seeds)[name][0])

    about = {"environment": environment, "episodes": episodes, "eps": eps, "points": points, "seed": seed}
    rounds = kept_rounds(losses, keep, about)
    spaces = {name: SPACES[name] for name in learners}
    return search(spaces, loss, points=points, seed=seed, known=KNOWN, together=rounds)


def kept_rounds(losses: Together, keep: Path, about: dict[str, Any]) -> Together:
    """`losses`, but what the file `keep` has of the same search is read from it, and the rest goes there."""

    def together(asked: Mapping[str, Sequence[Point]], seeds: Sequence[int]) -> dict[str, Array]:
        known: dict[str, Any] = json.loads(keep.read_text()) if keep.exists() else {}
        if known.get("about") != about:
            known = {"about": about, "rounds": []}
        found = {}
        for done in known["rounds"]:
            name = done["learner"]
            if done["seeds"] == list(seeds) and done["points"] == list(asked.get(name, ())):
                found[name] = np.array(done["losses"])
        fresh = losses({name: points for name, points in asked.items() if name not in found}, seeds)
        for name, values in fresh.items():
            found[name] = np.asarray(values)
            row = {"learner": name, "seeds": list(seeds), "points": list(asked[name]), "losses": found[name].tolist()}
            known["rounds"].append(row)
        keep.parent.mkdir(parents=True, exist_ok=True)
        part = keep.with_suffix(".part")
        part.write_text(json.dumps(known, indent=1) + "\n")
        os.replace(part, keep)
        return found

    return together


def with_found(each: CurveSettings, found: Mapping[str, SearchResult]) -> CurveSettings:
    """The curve at the point that was found for its learner."""
    return replace(each, chosen=constants_at(each.learner, found[each.learner].point))
