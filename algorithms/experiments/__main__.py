"""Command line: `python -m algorithms.experiments riverswim --runs 20 --out figures`, `compare`, `full-size`."""

import sys
from dataclasses import asdict
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from algorithms.experiments import compare_command, full_size_command, offline, selfplay
from algorithms.experiments.consistency import consistency
from algorithms.experiments.constants import BY_HAND, PLAIN, SEARCH_EPS, SEARCH_SEED
from algorithms.experiments.curves import CurveSettings, PRIVATE, staged
from algorithms.experiments.figures import write_all
from algorithms.experiments.more_figures import write_offline, write_selfplay
from algorithms.experiments.optimism import optimism
from algorithms.experiments.page import page
from algorithms.experiments.rlsvi import rlsvi
from algorithms.experiments.store import finish, finish_online, load_curve
from algorithms.experiments.tuning import tune, with_found
from algorithms.experiments.users_needed import users_needed
from dpverify.base import require
from dpverify.errors import ParameterError
from dpverify.execution.executors import ordered_map

console = Console(stderr=True)


class SearchBudget(Enum):
    """How SDP-PE's shuffle noise is chosen; all of them meet (eps, beta)."""

    CALIBRATED = "calibrated"
    JOURNAL = "journal"
    CONFERENCE = "conference"


class ExperimentName(Enum):
    """The two environments of the journal paper, the offline paper's figure 1, and self-play."""

    RIVERSWIM = "riverswim"
    BANDIT = "bandit"
    OFFLINE = "offline"
    SELFPLAY = "selfplay"


DEFAULT_EPS = {
    "riverswim": (0.1, 0.3, 1.0, 3.0, 10.0),
    "bandit": (1.0,),
    "offline": offline.RHOS,
    "selfplay": selfplay.EPS,
}
DEFAULT_EPISODES = {"riverswim": 20_000, "bandit": 20_000, "offline": 1_000, "selfplay": 5_000}


def plan(name: str, runs: int, episodes: int, eps: tuple[float, ...], seed: int, budget: str) -> list[CurveSettings]:
    """All curves of an experiment, the learners in batches first."""
    private = [CurveSettings(name, learner, each, runs, episodes, seed, budget) for learner in PRIVATE for each in eps]
    plain = [CurveSettings(name, learner, None, runs, episodes, seed) for learner in PLAIN]
    return sorted(private + plain, key=lambda each: not staged(each.learner))


def command_of(name: str, **options: Any) -> str:
    """What makes the same numbers again; options that are None or 0 are left out, a tuple is repeated."""
    given = []
    for option, value in options.items():
        for each in value if isinstance(value, tuple) else (value,):
            told = f"{each:g}" if isinstance(each, float) else each
            given += [f"--{option.replace('_', '-')} {told}"] if each else []
    return " ".join(["python -m algorithms.experiments", name, *given])


def offline_figures(
    folder: Path,
    runs: int,
    episodes: int,
    rhos: tuple[float, ...],
    seed: int,
    command: str,
    points: int,
    search_seed: int,
) -> list[Path]:
    """Figure 1 of the offline paper at K = 5..episodes, and at K up to 10^6."""
    c, told = offline.CONSTANTS, BY_HAND
    if points:
        c, told = offline.tuned(episodes, points, search_seed)
    near, far = (
        [curve for variant in offline.VARIANTS for curve in offline.draw_offline(variant, users, rhos, runs, seed, c)]
        for users in (offline.settings_grid(episodes), offline.long_grid())
    )
    return write_offline(
        folder, near, far, {"command": command, "runs": runs, "seed": seed, "search": told, "constants": asdict(c)}
    )


def selfplay_figures(
    folder: Path, runs: int, episodes: int, eps: tuple[float, ...], seed: int, command: str
) -> list[Path]:
    """Regret of DP-Nash-VI; it needs minutes at the default size."""
    curves = selfplay.draw_all(eps, episodes, runs, seed)
    about = {"command": command, "runs": runs, "episodes": episodes, "seed": seed, "search": BY_HAND}
    return write_selfplay(folder, curves, about)


def main(
    experiment: ExperimentName,
    runs: Annotated[int, typer.Option(help="independent runs of every learner")] = 20,
    episodes: Annotated[int | None, typer.Option(help="K, the number of users")] = None,
    eps: Annotated[list[float] | None, typer.Option(help="privacy budget (offline: rho); repeat for several")] = None,
    seed: Annotated[int, typer.Option(help="users and noise are functions of it")] = 1,
    out: Annotated[Path, typer.Option(help="folder for pictures, numbers and finished curves")] = Path("figures"),
    jobs: Annotated[int, typer.Option(help="worker processes; results do not depend on it")] = 1,
    budget: Annotated[SearchBudget, typer.Option(help="SDP-PE's noise")] = SearchBudget.CALIBRATED,
    learner: Annotated[list[str] | None, typer.Option(help="bandit, riverswim: only these; repeat for several")] = None,
    search: Annotated[int, typer.Option(help="riverswim, offline: points for each learner; 0: as chosen")] = 0,
    search_seed: Annotated[int, typer.Option(help="of the search: never the figure's users")] = SEARCH_SEED,
) -> None:
    """Draws the learning curves and writes figures (PNG, SVG) and numbers (CSV, JSON) to OUT.

    `compare` instead of an experiment: an agent of your own beside Bernstein-VI; `full-size`: lower bound and ledger of
    every learner side by side; `optimism`: whose plans are optimistic; `consistency`: what post-processing of counts
    brings; `users-needed`: from how many users on a theorem says anything; `rlsvi`: what exploration noise hides;
    `page`: the tables of docs/figures.md. `compare --help`, `full-size --help`.

    Finished curves are kept in OUT/curves; a run that was stopped goes on where it was.
    """
    episodes = DEFAULT_EPISODES[experiment.value] if episodes is None else episodes
    require.integer(at_least=1, runs=runs, episodes=episodes, jobs=jobs)
    require.integer(at_least=0, search=search, search_seed=search_seed)
    if search and experiment not in (ExperimentName.RIVERSWIM, ExperimentName.OFFLINE):
        raise ParameterError(
            "search", search, "0: only riverswim and offline have a search, other constants are by hand"
        )
    if search and seed == search_seed:
        raise ParameterError(
            "search_seed", search_seed, "another seed than the figure's: nothing is tuned on its users"
        )
    budgets = tuple(eps) if eps else DEFAULT_EPS[experiment.value]
    for budget_eps in budgets:
        require.positive(eps=budget_eps)
    folder = out / experiment.value
    asked = {"runs": runs, "episodes": episodes, "eps": budgets, "seed": seed, "search": search}
    command = command_of(
        experiment.value,
        **asked,
        search_seed=search_seed if search else None,
        budget=budget.value if budget is not SearchBudget.CALIBRATED else None,
        learner=tuple(learner or ()),
    )
    if experiment in (ExperimentName.OFFLINE, ExperimentName.SELFPLAY):
        write: Any = selfplay_figures
        if experiment is ExperimentName.OFFLINE:
            write = partial(offline_figures, points=search, search_seed=search_seed)
        for path in write(folder, runs, episodes, budgets, seed, command):
            console.print(f"wrote {path}")
        return
    todo = plan(experiment.value, runs, episodes, budgets, seed, budget.value)
    names = tuple(learner) if learner else (*PLAIN, *PRIVATE)
    for each in names:
        if each not in (*PLAIN, *PRIVATE):
            raise ParameterError("learner", each, ", ".join((*PLAIN, *PRIVATE)))
    todo = [each for each in todo if each.learner in names]
    record: dict[str, Any] | None = None
    if search:
        options: dict[str, Any] = {"episodes": episodes, "eps": SEARCH_EPS, "points": search, "seed": search_seed}
        found = tune(experiment.value, names, keep=folder / "search.json", **options)
        todo = [with_found(each, found) for each in todo]
        record = {**options, "learners": {name: each.record for name, each in found.items()}}
    missing = [settings for settings in todo if load_curve(folder, settings) is None]
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("curves", total=len(todo), completed=len(todo) - len(missing))
        for _ in ordered_map(partial(finish, folder), [each for each in missing if staged(each.learner)], jobs=jobs):
            progress.advance(task)
        online = [each for each in missing if not staged(each.learner)]
        for group in ([each for each in online if (each.eps is None) == plain] for plain in (False, True)):
            finish_online(folder, group)
            progress.advance(task, len(group))
    for path in write_all(folder, {settings: finish(folder, settings) for settings in todo}, record, command):
        console.print(f"wrote {path}")


OTHERS: dict[str, Any] = {
    "consistency": consistency,
    "optimism": optimism,
    "page": page,
    "rlsvi": rlsvi,
    "users-needed": users_needed,
}

if __name__ == "__main__":
    if sys.argv[1:2] == ["compare"]:
        sys.exit(compare_command.run_compare(sys.argv[2:]))
    if sys.argv[1:2] == ["full-size"]:
        sys.exit(full_size_command.run_full_size(sys.argv[2:]))
    if sys.argv[1:2] and sys.argv[1] in OTHERS:
        typer.run(OTHERS[sys.argv.pop(1)])
    typer.run(main)
