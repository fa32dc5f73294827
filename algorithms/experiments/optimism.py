"""`python -m algorithms.experiments optimism`: which plans are optimistic.

Over visits a cell and E: our bonus for learned rewards, DP-Nash-VI's at B = 1 with known ones, and UCBVI's two, at
the theory's constants (C2 = 1, beta = .05), on a random model of H = S = A = 2: `core.optimism.optimism_of_plan`.
The bonus for known rewards with rewards that are learned is in no paper: it shows what the rewards' part is for.
"""

from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer

from algorithms.baselines.ucbvi import UCBVI
from algorithms.bernstein_vi.learner import BernsteinVI
from algorithms.core.counting import layout_of
from algorithms.core.environments import random_environment
from algorithms.core.optimism import dense_counts, optimism_of_plan, Optimistic
from algorithms.experiments.store import write_numbers
from algorithms.tabular import backward_induction, Model
from dpverify.base.seeding import Stage, stream
from dpverify.promises import check_promise

BETA = 0.05
VISITS, ERRORS = (10**4, 10**5, 10**6, 10**8), (0.0, 4.0, 40.0)


Rewards = Literal["learned", "known"]
PAIRINGS: tuple[tuple[Rewards, Rewards], ...] = (("learned", "learned"), ("known", "known"), ("known", "learned"))


def _learner(model: Model, visits: int, error: float, bonus: Rewards, rewards: Rewards) -> BernsteinVI:
    given = model.rewards if rewards == "known" else None
    return BernsteinVI(layout=layout_of(model), episodes=visits, error=error, beta=BETA, bonus=bonus, rewards=given)


def draw_optimism(plans: int, seed: int) -> list[dict[str, Any]]:
    """A record for every learner, E and number of visits; "below" is the number of plans with some Q below Q*."""
    environment = random_environment(0, 2, 2, 2)
    model, layout = environment.model, layout_of(environment.model)
    best = backward_induction(model.transitions, model.rewards).q
    found = []
    for visits in VISITS:
        rows: list[tuple[str, float, Optimistic]] = [
            (f"{made} bonus, {rewards} r", error, _learner(model, visits, error, made, rewards))
            for error in ERRORS
            for made, rewards in PAIRINGS
        ]
        rows += [
            (f"UCBVI, {bonus}", 0.0, UCBVI(layout=layout, episodes=visits, delta=BETA, bonus=bonus))
            for bonus in ("bernstein", "hoeffding")
        ]
        for name, error, learner in rows:
            promise = optimism_of_plan(
                environment, learner, visits, noise=error / 4, name=name, failure_probability=BETA
            )
            check = check_promise(promise, seed=seed, trials=plans)
            counts = dense_counts(model, visits, 16, noise=error / 4, rng=stream(seed, Stage.EXPERIMENT))
            found.append(
                {
                    "learner": name,
                    "E": error,
                    "visits": visits,
                    "plans": check.trials,
                    "below": check.failures,
                    "promise": check.verdict,
                    "below_cap": check.active_share or 0.0,
                    "above": float(np.mean(learner.optimistic(counts).q - best)),
                }
            )
    return found


def optimism(
    plans: Annotated[int, typer.Option(help="for every row")] = 1_000,
    seed: Annotated[int, typer.Option(help="of the counts")] = 1,
    out: Annotated[Path, typer.Option(help="folder; optimism.json is written there")] = Path("figures"),
) -> None:
    """Share of plans with some Q below Q*, what the promise says at beta = .05, and the mean of Q - Q*."""
    found = draw_optimism(plans, seed)
    line = "{:<24} {:>4} {:>7} {:>9} {:<13} {:>9} {:>9}".format
    typer.echo(line("learner", "E", "visits", "below Q*", "promise", "below cap", "Q - Q*"))
    for each in found:
        cells = (
            f"{each['E']:g}",
            f"{each['visits']:.0e}",
            f"{each['below'] / each['plans']:.3f}",
            each["promise"],
            f"{each['below_cap']:.0%}",
            f"{each['above']:.2g}",
        )
        typer.echo(line(each["learner"], *cells))
    command = f"python -m algorithms.experiments optimism --plans {plans} --seed {seed}"
    write_numbers(out / "optimism.json", {"command": command, "beta": BETA, "runs": found})
    typer.echo(f"wrote {out / 'optimism.json'}")
