"""`python -m algorithms.experiments consistency [--seeds N] [--out DIR]`: what consistent counts bring to DP-APVI.

A dataset of `USERS` trajectories with uniform actions is released once by Gaussian noise at rho (zCDP). The same noisy
counts are post-processed in each of the WAYS:

    none             negative counts are 0, and visits the sum of the transitions
    cells            the papers' programme, cell by cell, with half of the provable E as slack
    flow, chebyshev  `FlowConsistent`: errors at most twice those of the noisy counts; the option of the learners
    flow, l2         `FlowConsistent`: nearest in l2
    flow, l2, known  the same, and transitions that the model cannot make are known to be impossible, if there are any

and the planner of DP-APVI plans from each, with equal constants: `ERROR_SCALE` times the provable E, and
`PENALTY_SCALE` times sqrt 2 and 16. They are set by hand on seeds from 900 on, for with the theory's nothing is learnt
from so few users: there is no guarantee. Three numbers for every seed:

    counts       mean absolute error of visits and transitions
    transitions  total variation between the estimated law of the next state and the model's, mean over the users' steps
    gap          v* - v^pi of the policy

Data and noise are functions of the seed, and common to all ways. Intervals are those of `intervals`.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from algorithms.core.environments import random_environment, river_swim
from algorithms.experiments.intervals import mean_and_half_width, write_cell
from algorithms.experiments.store import write_numbers
from algorithms.offline.apvi import APVI
from algorithms.offline.data import sample_counts, suboptimality
from algorithms.tabular import Model, uniform_policy
from dpverify.base import require
from dpverify.base.seeding import derive, Stage, stream
from mechanisms.datasets.visit_counts import CountLayout, ExactCounts, PrivateCounts
from mechanisms.privatizers.flow import FlowConsistent, Transitions
from mechanisms.privatizers.offline_tabular import OfflineTabularGaussian

USERS, RHOS, DELTA = 500, (0.1, 1.0), 0.1
ERROR_SCALE, PENALTY_SCALE = 0.01, 0.001
NUMBERS = ("counts", "transitions", "gap")
WAYS = ("none", "cells", "flow, chebyshev", "flow, l2", "flow, l2, known")
BASIS = "cells"  # whose numbers the others' differences are from
DIGITS = 5


def make_models() -> dict[str, Model]:
    """RiverSwim, where more than half of the transitions are impossible, and a random model, where none is."""
    return {"riverswim": river_swim().model, "random": random_environment(1, 4, 2, 6).model}


def post_processings(model: Model, layout: CountLayout, error: float) -> dict[str, Any]:
    """Functions of noisy counts by the names of WAYS; the last one where some transition is impossible."""
    impossible = np.argwhere(model.transitions == 0)

    def extra(x: Transitions) -> list[Any]:
        return [x[h][s][a][after] == 0 for h, s, a, after in impossible]

    def clip(counts: PrivateCounts) -> PrivateCounts:
        transitions = np.maximum(counts.transitions, 0.0)
        return PrivateCounts(transitions.sum(axis=-1), transitions)

    plain = APVI(layout=layout, rewards=model.rewards, error=error)
    flowing = APVI(layout=layout, rewards=model.rewards, error=error, consistent="flow", users=USERS)
    ways = [clip, plain.make_consistent, flowing.make_consistent, FlowConsistent(layout, USERS, "l2").solve]
    if len(impossible):
        ways.append(FlowConsistent(layout, USERS, "l2", extra).solve)
    return dict(zip(WAYS, ways, strict=False))


def measure(model: Model, exact: ExactCounts, counts: PrivateCounts, planner: APVI) -> dict[str, float]:
    """The NUMBERS of post-processed counts with leading axis 1."""
    off = [np.abs(counts.visits - exact.visits), np.abs(counts.transitions - exact.transitions)]
    sums = counts.transitions.sum(axis=-1, keepdims=True)
    law = np.where(sums > 0, counts.transitions / np.where(sums > 0, sums, 1.0), 1 / model.states)
    apart = np.abs(law - model.transitions).sum(axis=-1) / 2
    return {
        "counts": round(float(np.concatenate([each.ravel() for each in off]).mean()), DIGITS),
        "transitions": round(float((apart * exact.visits).sum() / exact.visits.sum()), DIGITS),
        "gap": round(float(suboptimality(planner.plan_consistent(counts).policy, model)[0]), DIGITS),
    }


def draw_consistency(name: str, rho: float, seeds: Sequence[int]) -> list[dict[str, Any]]:
    """A record for every way: {"model", "rho", "way"}, and each of the NUMBERS as a list over the seeds."""
    model = make_models()[name]
    layout = CountLayout(H=model.horizon, S=model.states, A=model.actions)
    privatizer = OfflineTabularGaussian(layout=layout, rho=rho)
    error = privatizer.error_bound(DELTA)
    planner = APVI(
        layout=layout,
        rewards=model.rewards,
        error=ERROR_SCALE * error,
        delta=DELTA,
        c1=PENALTY_SCALE * math.sqrt(2),
        c2=PENALTY_SCALE * 16,
    )
    played, ways = uniform_policy(model.horizon, model.states, model.actions), post_processings(model, layout, error)
    found = {way: [dict[str, float]() for _ in seeds] for way in ways}
    for index, seed in enumerate(seeds):
        sampled = sample_counts(model, played, USERS, rng=stream(derive(seed, f"{name}/data"), Stage.EXPERIMENT))
        exact = ExactCounts(sampled.visits, sampled.transitions)
        noise = stream(derive(seed, f"{name}/{rho}/noise"), Stage.EXPERIMENT)
        noisy = privatizer.noisy(PrivateCounts(exact.visits, exact.transitions), rng=noise)
        for way, process in ways.items():
            found[way][index] = measure(model, exact, process(noisy), planner)
    return [
        {"model": name, "rho": rho, "way": way, **{number: [each[number] for each in measured] for number in NUMBERS}}
        for way, measured in found.items()
    ]


def summarise(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each record's mean and half-width of the NUMBERS, and of what they are more than those of BASIS, by seed."""
    basis = {(each["model"], each["rho"]): each for each in runs if each["way"] == BASIS}
    rows = []
    for each in runs:
        row: dict[str, Any] = {name: each[name] for name in ("model", "rho", "way")}
        for number in NUMBERS:
            own, other = np.array(each[number]), np.array(basis[each["model"], each["rho"]][number])
            row[number] = mean_and_half_width(own)
            row[f"{number}, difference"] = None if each["way"] == BASIS else mean_and_half_width(own - other)
        rows.append(row)
    return rows


def as_markdown(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Lines of the table: mean and half-width, in brackets the difference from BASIS."""
    lines = ["| model, rho | post-processing | " + " | ".join(NUMBERS) + " |", "|---|---|" + "---|" * len(NUMBERS)]
    for row in rows:
        cells = [write_cell(row[number], row[f"{number}, difference"], 3) for number in NUMBERS]
        lines.append(f"| {row['model']}, {row['rho']:g} | {row['way']} | " + " | ".join(cells) + " |")
    return lines


def consistency(
    seeds: Annotated[int, typer.Option(min=2, help="as many datasets, common to all ways")] = 100,
    out: Annotated[Path, typer.Option(help="folder; consistency.json is written there")] = Path("figures"),
) -> None:
    """Table of none, cell-by-cell and flow-consistent counts: errors, and the gap of DP-APVI's policy."""
    require.integer(at_least=2, seeds=seeds)
    drawn = range(1, seeds + 1)
    runs = [each for name in make_models() for rho in RHOS for each in draw_consistency(name, rho, drawn)]
    settings = {"users": USERS, "seeds": seeds, "delta": DELTA}
    settings |= {"error_scale": ERROR_SCALE, "penalty_scale": PENALTY_SCALE}
    command = f"python -m algorithms.experiments consistency --seeds {seeds}"
    write_numbers(out / "consistency.json", {"command": command, "settings": settings, "runs": runs})
    typer.echo("\n".join(as_markdown(summarise(runs))))
    typer.echo(f"wrote {out / 'consistency.json'}")
