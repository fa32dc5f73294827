"""`python -m algorithms.experiments full-size [--only NAME]... [--out DIR]`: the table, and DIR/full-size/numbers.json.

Exit code: 0 every row as expected and written, 1 a row is not as expected, 2 usage, 3 a row failed or was not written.
"""

import json
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Annotated, Any

import typer

from algorithms.core.freshness import LEVEL
from algorithms.core.noise_tap import SIGNIFICANCE
from algorithms.experiments.full_size import as_json, heading, line, one_by_one, row
from algorithms.instances import NAMES
from dpverify.errors import DpverifyError, UsageError


def _measured(name: str, seed: int, users: int | None) -> Any:
    return row(name, seed, users=users)


def run_full_size(arguments: Sequence[str]) -> int:
    """The command on these arguments; gives the exit code."""
    app = typer.Typer(add_completion=False)
    app.command()(_command)
    try:
        done = app(list(arguments), prog_name="python -m algorithms.experiments full-size", standalone_mode=False)
    except UsageError as error:
        return _said(str(error), 2)
    except (DpverifyError, OSError, BrokenProcessPool, MemoryError) as error:
        return _said(f"{type(error).__name__}: {error}", 3)
    except Exception as error:  # typer's own words; anything else is ours
        if not hasattr(error, "format_message"):
            raise
        return _said(error.format_message(), 2)
    return int(done or 0)  # what typer.Exit was raised with


def _said(what: str, code: int) -> int:
    typer.echo(f"full-size: {what}", err=True)
    return code


def _command(
    only: Annotated[list[str] | None, typer.Option(help=f"only these: {', '.join(NAMES)}; repeat for several")] = None,
    seed: Annotated[int, typer.Option(min=0, help="of all noise")] = 1,
    users: Annotated[int | None, typer.Option(min=2, help="fewer users than the experiments have")] = None,
    out: Annotated[Path, typer.Option(help="folder; full-size/numbers.json is written there")] = Path("figures"),
) -> None:
    """Lower bound and ledger of every learner side by side, from one run at the size of its experiment."""
    unknown = sorted(set(only or ()) - set(NAMES))
    if unknown:
        raise UsageError(f"--only {unknown[0]}: must be one of {', '.join(NAMES)}")
    done = []
    typer.echo(heading())
    for each in one_by_one(_measured, [(name, seed, users) for name in only or NAMES]):
        done.append(each)
        typer.echo(line(each))
    typer.echo(
        f"view: never actions or the output policy, which may tell less; exact given laws, which are tested on the "
        f"draws shown, at significance {SIGNIFICANCE:g} a row, freshness at {LEVEL:g}"
    )
    file = out / "full-size" / "numbers.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(as_json(done, seed), indent=1) + "\n", encoding="utf-8")
    typer.echo(f"wrote {file}")
    raise typer.Exit(0 if all(each.as_expected for each in done) else 1)
