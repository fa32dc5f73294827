"""The search of `search` on the learners of the curves: all at eps = 1, final regret is the loss.

Online learners are run for all points and seeds side by side: an episode costs nearly the same for eight runs as for
one. What a row does is what `DPUCBVI` does, up to rounding (counts are post-processed at E = 1 after division by E).
"""

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.counting import layout_of
from algorithms.dp_ucbvi import DPUCBVI
from algorithms.experiments.constants import constants_at, KNOWN, Optimistic, PLAIN, SPACES
from algorithms.experiments.curves import draw, environment_of, online_source, Settings, staged
from algorithms.experiments.search import Found, Point, search
from algorithms.online import Learner, regret_per_episode, run_online
from algorithms.ucbvi import UCBVI
from algorithms.users import TapeUsers
from dpverify.base.errors import ParameterError
from dpverify.base.seeding import derive, Stage, stream
from mechanisms.datasets.visit_counts import PrivateCounts
from mechanisms.privatizers.consistency import never_underestimating

Array = npt.NDArray[np.float64]


def tune(
    environment: str, learners: Sequence[str], *, episodes: int, eps: float, points: int, seed: int
) -> dict[str, Found]:
    """The best point of each learner, with all that was tried. ParameterError where the seed changes the environment."""
    if environment != "riverswim":
        raise ParameterError("environment", environment, "'riverswim': the bandit's arms are another seed's others")

    def together(name: str, chosen: Sequence[Point], seeds: Sequence[int]) -> Array:
        learner: Any = name
        settings = Settings(environment, learner, None if name in PLAIN else eps, 1, episodes, seed)
        if not staged(name):
            return online_losses(settings, chosen, seeds)
        return np.array(
            [
                [draw(replace(settings, seed=each, chosen=constants_at(name, point))).regret[0, -1] for each in seeds]
                for point in chosen
            ]
        )

    def loss(name: str, point: Point, seeds: Sequence[int]) -> Array:
        return np.asarray(together(name, [point], seeds)[0])

    spaces = {name: SPACES[name] for name in learners}
    return search(spaces, loss, points=points, seed=seed, known=KNOWN, together=together)


def online_losses(settings: Settings, points: Sequence[Point], seeds: Sequence[int]) -> Array:
    """Final regrets (len(points), len(seeds)); all points have the users of a seed, and every row noise of its own."""
    environment = environment_of(replace(settings, seed=seeds[0]))
    layout, episodes = layout_of(environment.model), settings.episodes
    tapes = np.concatenate([environment.tapes(seed, 1, episodes) for seed in seeds])
    users = TapeUsers(environment, np.tile(tapes, (len(points), 1, 1)))
    rows = [constants_at(settings.learner, each) for each in points for _ in seeds]
    bonus = np.array([each.bonus for each in rows if isinstance(each, Optimistic)])
    scale = np.array([each.error for each in rows if isinstance(each, Optimistic)])
    source = online_source(settings, layout, 1.0)
    learner: Learner = _PlainRows(layout=layout, episodes=episodes, bonus_scale=_over_cells(bonus))
    if settings.eps is not None:
        errors: Any = source.error * scale[:, None, None, None]
        learner = _Rows(layout=layout, episodes=episodes, error=errors, bonus_scale=_over_cells(bonus))
    noise = stream(derive(seeds[0], f"{settings.learner}/search"), Stage.EXPERIMENT)
    done = run_online(users, learner, source, runs=len(rows), rng=noise)
    total = regret_per_episode(done.policies, environment.model).sum(axis=0)
    return np.asarray(total.reshape(len(points), len(seeds)))


def _over_cells(values: Array) -> Any:
    return values[:, None, None]


def tune_kept(path: Path, environment: str, learners: Sequence[str], **options: Any) -> dict[str, Any]:
    """`tune`, one learner after the other; what is found is kept in a JSON file, and a stopped search goes on."""
    kept: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    about = {"environment": environment, **options}
    if kept.get("about") != about:
        kept = {"about": about, "learners": {}}
    for name in learners:
        if name not in kept["learners"]:
            kept["learners"][name] = tune(environment, [name], **options)[name].record
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(".part")
            part.write_text(json.dumps(kept, indent=1) + "\n")
            os.replace(part, path)
    return kept


class _PlainRows(UCBVI):
    """UCB-VI with a bonus scale for every run, (runs, 1, 1)."""

    def __post_init__(self) -> None:
        """Scales were checked by the search."""


class _Rows(DPUCBVI):
    """DP-UCBVI with an E, (runs, 1, 1, 1), and a bonus scale, (runs, 1, 1), for every run."""

    def __post_init__(self) -> None:
        """Both were checked by the search."""

    @property
    def _exact(self) -> bool:
        return False

    def _processed(self, counts: PrivateCounts) -> tuple[Array, Array]:
        errors: Any = self.error
        done = never_underestimating(counts.transitions / errors[..., None], counts.visits / errors, 1.0)
        return done.pair_counts * errors, done.next_counts / done.pair_counts[..., None]
