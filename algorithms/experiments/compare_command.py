"""`python -m algorithms.experiments compare --agent soft:Soft --privatizer algorithms.dp_ucbvi.learner:central`.

Exit code: 0 compared, 1 the code or its ledger contradicts the claim (nothing is drawn), 2 usage, 3 nothing could be
compared.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from algorithms.core.environments import Environment
from algorithms.experiments.compare import compare, Comparison, table
from algorithms.experiments.constants import SEARCH_SEED
from dpverify.cli.isolated_command import load_object
from dpverify.errors import DpverifyError, ParameterError, RunError, UsageError
from dpverify.report import files

OUT, ERR = Console(), Console(stderr=True)


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
        return _said(words() if words else f"{type(error).__name__}: {error}", 2 if words else 3)
    return int(done or 0)  # what typer.Exit was raised with


def _said(error: Any, code: int) -> int:
    ERR.print(f"compare: {error}", highlight=False, markup=False, soft_wrap=True)
    return code


def _command(
    agent: Annotated[
        str, typer.Option(metavar="M:O", help="object with plan(counts), or (privatizer, users) -> agent")
    ],
    env: Annotated[
        str, typer.Option(metavar="M:O", help="an Environment, or what makes one without arguments")
    ] = "algorithms.core.environments:river_swim",
    privatizer: Annotated[
        str, typer.Option(metavar="M:O", help="(layout, users, eps) -> privatizer; with --delta (..., delta)")
    ] = "algorithms.dp_ucbvi.learner:central",
    eps: Annotated[float, typer.Option(help="what everybody spends")] = 1.0,
    delta: Annotated[float, typer.Option(help="0: pure eps")] = 0.0,
    users: Annotated[int, typer.Option(help="K, one episode each")] = 2_000,
    runs: Annotated[int, typer.Option(help="of every agent at the point that was found")] = 8,
    points: Annotated[int, typer.Option(help="of the search, for every agent with a `space`")] = 4,
    seed: Annotated[int, typer.Option(help="users and noise of the table")] = 1,
    search_seed: Annotated[int, typer.Option(help="of the search: another one")] = SEARCH_SEED,
    out: Annotated[Path | None, typer.Option("--json", metavar="F", help="all of it, as JSON")] = None,
) -> None:
    """An agent of your own beside DP-UCBVI on the same private counts: checks first, then regret."""
    if out is not None and not out.resolve().parent.is_dir():
        raise ParameterError("--json", out, "a file in a folder that exists")
    found = compare(
        load_object(agent),
        name=agent.rpartition(":")[2],
        environment=_environment(env),
        privatizer=load_object(privatizer),
        eps=eps,
        delta=delta,
        users=users,
        runs=runs,
        points=points,
        seed=seed,
        search_seed=search_seed,
    )
    if out is not None:
        _write(out, json.dumps(found.to_dict(), indent=1) + "\n")
    _show(found)
    raise typer.Exit(0 if found.drawn else 1 if found.refuted else 3)


def _write(out: Path, text: str) -> None:
    """The whole file, or what was there before."""
    try:
        files.replace(out, text)
    except OSError as error:
        raise RunError(f"{out}: could not be written ({error.strerror})") from error


def _environment(spec: str) -> Environment:
    found = load_object(spec)
    made = found if isinstance(found, Environment) else found() if callable(found) else found
    if not isinstance(made, Environment):
        raise ParameterError("--env", spec, "an algorithms.core.environments.Environment, or what makes one")
    return made


def _show(found: Comparison) -> None:
    privacy = found.privacy
    spent = f"{privacy['notion']} with eps {privacy['eps']:g}" + (
        f", delta {privacy['delta']:g}" if privacy["delta"] else ""
    )
    OUT.print(f"{found.environment}, {found.users} users, {spent}, {privacy['view']} view; ledger {found.upper:.4g}")
    OUT.print(f"code and ledger at {found.tape['users']} users: {found.tape['word']}", highlight=False)
    if found.witness is not None:
        law = "fits" if found.witness["tap"] else "DOES NOT FIT"
        OUT.print(
            f"one run of all users: {found.witness['unit']} at least {found.witness['lower']:.4g} by a "
            f"{found.witness['kind']}, of {found.witness['bounds']}; the law of its noise {law}"
        )
    else:
        OUT.print("one run of all users: no witness (the noise is neither Laplace nor Gaussian)")
    kept = found.promise
    OUT.print(f"counts are as near as the agent is told ({kept['users']} users): {kept['verdict']}", highlight=False)
    for each in found.objections:
        OUT.print(f"NOT DRAWN  {each}", markup=False, highlight=False, soft_wrap=True)
    if not found.drawn:
        return
    rows = Table("agent", "privacy", "regret", "search", "")
    for row in table(found):
        rows.add_row(*row)
    OUT.print(rows)
    blind = next(each.regret for each in found.rows if each.privacy == "none spent")
    if not any(each.regret < blind for each in found.rows if each.privacy == "equal"):
        OUT.print("nothing was learnt: no private agent is below the one that never looks; more users, or a larger eps")
    OUT.print(f"regret: mean of {found.runs} runs and its standard error, seed {found.seed}; searched on other seeds")
