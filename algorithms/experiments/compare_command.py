"""`python -m algorithms.experiments compare --agent soft:Soft --agent soft:Bold --eps 1 --eps 3 --out DIR`.

Exit code: 0 compared, 1 the code or its ledger contradicts the claim (nothing is drawn), 2 usage, 3 nothing could be
compared.
"""

import json
import sys
import tempfile
import traceback
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from algorithms.core.environments import Environment, NUMBERED
from algorithms.core.model_files import load_environment
from algorithms.experiments.compare import compare, Comparison, table
from algorithms.experiments.compare_terms import check_numbers
from algorithms.experiments.constants import SEARCH_SEED
from algorithms.experiments.figures import write_comparison
from algorithms.experiments.intervals import CONFIDENCE
from algorithms.gym_users import estimated_environment, gymnasium_maker
from algorithms.nash_vi.markov_games import MarkovGame
from algorithms.offline.logs import load_trajectories
from dpverify.base import require, search_path
from dpverify.base.sites import INSTALLED, site_text
from dpverify.cli.isolated_command import load_object
from dpverify.errors import DpverifyError, ParameterError, RunError, UsageError
from dpverify.report import files

OUT, ERR = Console(), Console(stderr=True)
RIVER_SWIM, GAME = "algorithms.core.environments:river_swim", "algorithms.experiments.compare_families:game"
MOST_DIGITS, USERS = 9, 2_000  # of deepsea:N; of a comparison where none are given
PRIVATIZERS = {
    "online": "algorithms.bernstein_vi.learner:central",
    **{each: f"algorithms.experiments.compare_families:{each}" for each in ("batches", "games", "offline")},
}


class FamilyName(Enum):
    """What is compared, one of them in a call."""

    ONLINE = "online"
    BATCHES = "batches"
    GAMES = "games"
    OFFLINE = "offline"


def run_compare(arguments: Sequence[str]) -> int:
    """The command on these arguments; gives the exit code."""
    app = typer.Typer(add_completion=False)
    app.command()(_command)
    try:
        done = app(list(arguments), prog_name="python -m algorithms.experiments compare", standalone_mode=False)
    except UsageError as error:
        return _said(error, 2)
    except DpverifyError as error:
        return _said(error, 3)
    except (Exception, SystemExit) as error:  # whatever the agent raises, its exit among it, and typer's own words
        words = getattr(error, "format_message", None)
        return _said(words() if words else f"{type(error).__name__}: {error}{_place(error)}", 2 if words else 3)
    return int(done or 0)  # what typer.Exit was raised with


def _place(error: BaseException) -> str:
    """The last line of a file that is nobody's installed package: the agent's, where that raised."""
    lines = [each for each in traceback.extract_tb(error.__traceback__) if not each.filename.startswith(INSTALLED)]
    return f" ({site_text((lines[-1].filename, lines[-1].lineno or 0))})" if lines else ""


def _said(error: Any, code: int) -> int:
    ERR.print(f"compare: {' '.join(str(error).split())}", highlight=False, markup=False, soft_wrap=True)
    return code


def _command(
    agent: Annotated[
        list[str],
        typer.Option(metavar="M:O", help="object with plan(counts), or (privatizer, users) -> agent; repeat"),
    ],
    opponent: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="PUCB (online): beside yours on the same counts and search")
    ] = None,
    family: Annotated[
        FamilyName, typer.Option(help="one user a plan; batches; two-player games; one release of a dataset")
    ] = FamilyName.ONLINE,
    deployments: Annotated[
        int | None, typer.Option(help="batches: how often an agent of yours is asked (default 20)")
    ] = None,
    env: Annotated[
        str | None,
        typer.Option(
            metavar="F.npz|NAME:N|gym:NAME|M:O",
            help="a file with P, r, p0; deepsea:N, chain:N (states), random:SEED; an Environment, what makes one, or "
            "Gymnasium's interface; a game",
        ),
    ] = None,
    horizon: Annotated[
        int | None, typer.Option(help="H, where the environment has none: Gymnasium's interface (default 10), a file")
    ] = None,
    logs: Annotated[
        Path | None,
        typer.Option(metavar="F.csv", help="offline: logged users; --env is what policies are evaluated on"),
    ] = None,
    privatizer: Annotated[
        str | None, typer.Option(metavar="M:O", help="(layout, users, eps) -> privatizer; with --delta (..., delta)")
    ] = None,
    eps: Annotated[list[float] | None, typer.Option(help="what everybody spends; repeat (default 1)")] = None,
    delta: Annotated[float, typer.Option(help="0: pure eps")] = 0.0,
    users: Annotated[
        int | None, typer.Option(help="K, one episode each (default 2,000; with --logs all of them)")
    ] = None,
    runs: Annotated[
        int,
        typer.Option(
            "--seeds", "--runs", help="common to all agents, each a run of its own at the point that was found"
        ),
    ] = 8,
    points: Annotated[int, typer.Option(help="of the search, for every agent with a `space`")] = 4,
    seed: Annotated[int, typer.Option(help="users and noise of the table")] = 1,
    search_seed: Annotated[int, typer.Option(help="of the search: another one")] = SEARCH_SEED,
    jobs: Annotated[int, typer.Option(help="processes; what is found does not depend on it")] = 1,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="figures (PNG, SVG), CSV, JSON, and finished cells")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="take finished cells of the same settings from DIR")] = False,
    json_file: Annotated[Path | None, typer.Option("--json", metavar="F", help="all of it, as JSON")] = None,
) -> None:
    """Agents of your own beside Bernstein-VI on the same private counts: checks first, then regret at each eps."""
    if json_file is not None and not json_file.resolve().parent.is_dir():
        raise ParameterError("--json", str(json_file), "a file in a folder that exists")
    files.check_writable(files.Outputs(json=None if json_file is None else str(json_file)))
    _check_folder(out)
    if resume and out is None:
        raise ParameterError("--resume", resume, "with --out DIR, where finished cells are kept")
    require.integer(at_least=1, jobs=jobs)
    if deployments is not None and family is not FamilyName.BATCHES:
        raise ParameterError(
            "--deployments", deployments, "with --family batches: others ask before every user, or once"
        )
    if logs is not None and (family is not FamilyName.OFFLINE or env is None):
        raise ParameterError(
            "--logs", str(logs), "with --family offline, and --env: rewards are known, and policies evaluated there"
        )
    numbers: dict[str, Any] = {
        "users": USERS if users is None else users,
        "runs": runs,
        "points": points,
        "seed": seed,
        "search_seed": search_seed,
        "delta": delta,
    }
    check_numbers(**numbers)  # before 1e6 steps of an environment
    for each in eps or ():
        require.positive(eps=each)
    agents, playing = _named(agent), family is FamilyName.GAMES
    environment = _environment(env or (GAME if playing else RIVER_SWIM), horizon, jobs)
    more: dict[str, Any] = {} if deployments is None else {"deployments": deployments}
    if logs is not None and isinstance(environment, Environment):
        model = environment.model
        more["logged"] = load_trajectories(logs, states=model.states, actions=model.actions, horizon=model.horizon)
        numbers["users"] = len(more["logged"]) if users is None else users
    found = compare(
        agents,
        family=family.value,
        environment=environment,
        privatizer=_loaded(privatizer or PRIVATIZERS[family.value]),
        **more,
        opponents=tuple(opponent or ()),
        eps=tuple(eps or [1.0]),
        **numbers,
        jobs=jobs,
        folder=out,
        resume=resume,
    )
    if json_file is not None:
        _write(json_file, found)
    if out is not None:
        _write(out / "comparison.json", found)
    _show(found)
    if out is not None and found.drawn:
        OUT.print(*(f"wrote {path}" for path in write_comparison(out, found)), sep="\n", soft_wrap=True)
    raise typer.Exit(0 if found.drawn else 1 if found.refuted else 3)


def _check_folder(out: Path | None) -> None:
    """Made, where it is not there: hours of runs are not for a place that cannot be written."""
    if out is None:
        return
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise ParameterError("--out", str(out), f"a folder to write to ({error.strerror})") from error


def _write(out: Path, found: Comparison) -> None:
    """The whole file, or what was there before."""
    try:
        files.replace(out, json.dumps(found.to_dict(), indent=1) + "\n")
    except OSError as error:
        raise RunError(f"{out}: could not be written ({error.strerror})") from error


def _named(specs: Sequence[str]) -> dict[str, Any]:
    """Agents by the name of their object, by all of M:O where two are alike."""
    short = [each.rpartition(":")[2] for each in specs]
    names = [spec if short.count(name) > 1 else name for spec, name in zip(specs, short, strict=True)]
    if len(set(names)) < len(names):
        raise ParameterError("--agent", list(specs), "each once")
    return {name: _loaded(spec) for name, spec in zip(names, specs, strict=True)}


def _loaded(spec: str) -> Any:
    """The object, of a file that is loaded once; its folder is searched by the processes of --jobs as well."""
    place, _, name = spec.rpartition(":")
    file = Path(place).resolve()
    if file.suffix == ".py":
        search_path.add(str(file.parent))
        known = getattr(sys.modules.get(file.stem), "__file__", None)
        if known is not None and Path(known).resolve() == file:
            return load_object(f"{file.stem}:{name}")
    return load_object(spec)


def _environment(spec: str, horizon: int | None, jobs: int) -> Environment | MarkovGame:
    """As it is, or estimated where all that it has is Gymnasium's interface."""
    if spec.endswith(".npz"):
        return load_environment(spec, horizon=horizon)
    steps = 10 if horizon is None else horizon
    if spec.startswith("gym:"):
        name = spec.removeprefix("gym:")
        return estimated_environment(gymnasium_maker(name), name=name, horizon=steps, jobs=jobs)
    kind, _, number = spec.partition(":")
    found: Any
    if kind in NUMBERED:
        found = _numbered(kind, number)
    else:
        found = _loaded(spec)
    made = found if isinstance(found, Environment | MarkovGame) else found() if callable(found) else found
    if callable(found) and callable(getattr(made, "reset", None)) and callable(getattr(made, "step", None)):
        return estimated_environment(found, name=spec.rpartition(":")[2], horizon=steps, jobs=jobs)
    if horizon is not None:
        raise ParameterError("--horizon", horizon, f"left out: {spec} has an H of its own")
    if not isinstance(made, Environment | MarkovGame):
        wanted = "an algorithms.core.environments.Environment, or a MarkovGame, what makes one, or has reset and step"
        raise ParameterError("--env", spec, wanted)
    return made


def _numbered(kind: str, number: str) -> Environment:
    """`deepsea:5`, say."""
    if not (number.isascii() and number.isdigit() and len(number) <= MOST_DIGITS):
        raise ParameterError(
            "--env", f"{kind}:{number}", f"{kind}:N with a whole number N of at most {MOST_DIGITS} digits"
        )
    return NUMBERED[kind](int(number))


def _show(found: Comparison) -> None:
    for check in found.checks:
        _show_check(check, found)
    for each in found.objections:
        OUT.print(f"NOT DRAWN  {each}", markup=False, highlight=False, soft_wrap=True)
    if not found.drawn:
        return
    rows = Table("agent", "privacy", "tuned", *(f"{found.measure} at eps {eps:g}" for eps in found.eps))
    for row in table(found):
        rows.add_row(*row)
    OUT.print(rows)
    for each in found.refused:
        OUT.print(each, markup=False, highlight=False, soft_wrap=True)
    private = [each for each in found.lines if each.privacy is not None]
    for eps in found.eps:
        free = min(found.data_free, key=lambda name: found.at(name, eps).regret)
        if not any(found.at(each.agent, eps).regret < found.at(free, eps).regret for each in private):
            OUT.print(
                f"eps {eps:g}: nothing was learnt: no private agent is below {free}, which look at "
                "nothing; more users, or a larger eps",
                soft_wrap=True,
            )
    searched = max((each.search.get("runs", 0) for each in private), default=0)
    OUT.print(
        f"{found.measure} relative to {found.relative_to}: {found.unit}; {found.data}\n"
        f"mean of {found.runs} seeds (functions of seed {private[0].seed}) and its {CONFIDENCE:.0%} interval "
        f"(Student's t); below it what the agent has more than {found.basis}, seed by seed, with its interval\n"
        f"an interval holds by itself, at the point that was found; {searched} runs of search for each agent with a "
        "space at each eps, on other seeds",
        highlight=False,
        soft_wrap=True,
    )


def _show_check(check: dict[str, Any], found: Comparison) -> None:
    """What was checked of the privatizer with one agent at one eps."""
    privacy, tape, witness, kept = (check[name] for name in ("privacy", "tape", "witness", "promise"))
    spent = f"{privacy['notion']} with eps {privacy['eps']:g}"
    spent += f", delta {privacy['delta']:g}" if privacy["delta"] else ""
    OUT.print(
        f"{check['agent']}: {found.environment}, {found.users} users, {spent}, {privacy['view']} view; "
        f"ledger {check['upper']:.4g}",
        soft_wrap=True,
    )
    OUT.print(f"  code and ledger at {tape['users']} users: {tape['word']}", highlight=False)
    if witness is not None:
        law = "fits" if witness["tap"] else "DOES NOT FIT"
        OUT.print(
            f"  one run of all users: {witness['unit']} at least {witness['lower']:.4g} by a {witness['method']}, "
            f"of {witness['view']} ({witness['kind']}; {witness['read']}); the law of its noise {law}",
            soft_wrap=True,
        )
    else:
        why = "one release" if found.family == "offline" else "the noise is neither Laplace nor Gaussian"
        OUT.print(f"  one run of all users: no witness ({why})")
    users = f" ({kept['users']} users)" if kept["users"] else ""
    OUT.print(f"  counts are as near as the agent is told{users}: {kept['verdict']}", highlight=False, soft_wrap=True)
