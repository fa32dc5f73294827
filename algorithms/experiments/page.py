"""`python -m algorithms.experiments page [--check] [--runs DIR]`: the tables of docs/figures.md from the stored runs.

A table stands on the page between `<!-- table NAME -->` and `<!-- end -->`, and is made by TABLES[NAME] from
docs/images/figures/NAME.json, which is what an experiment wrote as OUT/NAME/numbers.json. `consistency`, `optimism` and
`rlsvi` write OUT/NAME.json, and `offline-2` is `offline` with `--seed 2`. `--runs OUT` first takes these files, and the
pictures of PICTURES, from there. `users-needed` has no runs and is computed.

Every cell is a mean over runs with common users and half of Student's interval at 95 %, in brackets the difference from
another row, paired by run (`intervals`).
"""

import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from algorithms.experiments import users_needed
from algorithms.experiments.consistency import as_markdown, summarise
from algorithms.experiments.intervals import as_told
from algorithms.experiments.rlsvi import table_of_sizes
from dpverify.errors import UsageError
from dpverify.evidence.bounds.binomial_tails import clopper_pearson_lower, clopper_pearson_upper

DOCS = Path(__file__).parents[2] / "docs"
STORED = DOCS / "images" / "figures"
PICTURES = {
    "riverswim-regret-eps1.png": "riverswim/figure-6-regret-eps1.png",
    "riverswim-regret-eps3.png": "riverswim/figure-6-regret-eps3.png",
    "offline-figure-1b-scaled.png": "offline/figure-1b-scaled.png",
    "selfplay-gap-jdp.png": "selfplay/gap-jdp.png",
}
RIVERSWIM = (  # learner, what the page calls it, the same without privacy; the first is the basis of differences
    ("UCBVI-JDP-gaussian", "UCBVI-JDP, Gaussian trees (joint)", "UCBVI"),
    ("shuffled-optimism", "shuffled optimism (shuffle)", "batched-optimism"),
    ("UCBVI-JDP-gaussian-known-bonus", "UCBVI-JDP with the bonus for known rewards (joint)", None),
    ("SDP-PE", "SDP-PE (shuffle)", "PE"),
    ("UCBVI-LDP-gaussian", "UCBVI-LDP, Gaussian messages (local)", "UCBVI"),
)
FREE = ("uniform actions", "random deterministic policies", "best constant action")  # offline, without data
Stored = Mapping[str, Any]


def load(name: str) -> dict[str, Any]:
    """Runs that are stored beside the page."""
    stored: dict[str, Any] = json.loads((STORED / f"{name}.json").read_text(encoding="utf-8"))
    return stored


def curve(stored: Stored, **wanted: Any) -> dict[str, Any]:
    """The one record that has these values."""
    (found,) = (each for each in stored["curves"] if all(each[key] == value for key, value in wanted.items()))
    return dict(found)


def row(*cells: Any) -> str:
    """A line of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def head(*cells: str) -> list[str]:
    """The first two lines of a table."""
    return [row(*cells), "|" + "---|" * len(cells)]


def told_of_runs(stored: Stored) -> list[str]:
    """How the runs were made, above the table."""
    search = stored["search"]
    if search["points"]:
        runs = {each["runs"] for each in search["learners"].values()}
        budget = "rho" if "rho" in search else "eps"
        chosen = (
            f"searched for each learner with {search['points']} points and {min(runs)} runs on seed {search['seed']}, "
            f"at {budget} = {search[budget]:g}"
        )
    else:
        chosen = search["constants"]
    return [f"`{stored['command']}`", f"(constants: {chosen})", ""]


def online_table(stored: Stored, rows: Sequence[tuple[str, str, str | None]], digits: int) -> list[str]:
    """Final regret by eps, and how many policies were deployed."""
    budgets = sorted({each["eps"] for each in stored["curves"] if each["eps"] is not None})
    columns = [f"({eps:g}, {stored['constants']['delta']:g})" for eps in budgets]
    lines = head("learner (what the noise hides a user from)", *columns, "without privacy", "policies")
    for learner, name, plain in rows:
        cells, policies = [], list[int]()
        for eps in budgets:
            mine, basis = (curve(stored, learner=each, eps=eps) for each in (learner, rows[0][0]))
            other = None if learner == rows[0][0] else basis["final_regret"]
            cells.append(as_told(mine["final_regret"], other, digits))
            policies += mine["deployments"]
        exact = "" if plain is None else as_told(curve(stored, learner=plain)["final_regret"], digits=digits)
        cells.append(exact and f"{exact} ({plain})")
        low, high = min(policies), max(policies)
        lines.append(row(name, *cells, f"{low:,}" if low == high else f"{low:,} to {high:,}"))
    return lines


def riverswim(stored: Stored) -> list[str]:
    """Differences are from UCBVI-JDP at the same eps."""
    return told_of_runs(stored) + online_table(stored, RIVERSWIM, 0)


def bandit(stored: Stored) -> list[str]:
    """SDP-PE beside PE; the difference is the price of privacy."""
    lines = head("learner", "regret", "policies")
    private, plain = curve(stored, learner="SDP-PE", eps=1.0), curve(stored, learner="PE")
    lines.append(row("PE, no privacy", as_told(plain["final_regret"], digits=0), plain["deployments"][0]))
    told = as_told(private["final_regret"], plain["final_regret"], 0)
    name = f"SDP-PE, ({private['eps']:g}, {stored['constants']['delta']:g})"
    return [*told_of_runs(stored), *lines, row(name, told, private["deployments"][0])]


def three(values: Any, basis: Any = None) -> str:
    """A cell with three digits."""
    return as_told(values, basis, 3)


def offline(stored: Stored) -> list[str]:
    """`lean` beside DP-VAPVI at the largest K of both grids, on scaled features, and what has no privacy or no data."""
    rhos = sorted({each["rho"] for each in stored["curves"] if each["rho"] is not None})
    near, far = (next(each["users"] for each in stored["curves"] if each["grid"] == grid) for grid in ("paper", "long"))
    lines, blank = head("K", "learner", *(f"rho = {rho:g}" for rho in rhos), "no privacy"), [""] * len(rhos)
    for grid, users in (("paper", near), ("long", far)):
        same = {"grid": grid, "variant": "scaled"}
        basis = [curve(stored, learner="DP-VAPVI", rho=rho, **same)["gap"] for rho in rhos]
        lean = [curve(stored, learner="lean", rho=rho, **same)["gap"] for rho in rhos]
        lines.append(row(f"{users:,}", "DP-VAPVI", *map(three, basis), ""))
        lines.append(row(f"{users:,}", "lean", *map(three, lean, basis), ""))
        for learner in ("VAPVI", "PEVI"):
            lines.append(row(f"{users:,}", learner, *blank, three(curve(stored, learner=learner, **same)["gap"])))
    for name in FREE:
        gap = curve(stored, learner=f"no data: {name}", grid="paper", variant="scaled")["gap"][0]
        lines.append(row("0", name, *blank, f"{gap:.3f}"))
    return told_of_runs(stored) + lines


def selfplay(stored: Stored) -> list[str]:
    """Exact Nash gap of what is played after the last episode."""
    lines = head("learner", "eps", "Nash gap of the output")
    plain = next(each for each in stored["curves"] if each["eps"] is None)
    for each in stored["curves"]:
        eps = "no privacy" if each["eps"] is None else f"{each['eps']:g}"
        told = as_told(each["output_gap"], None if each is plain else plain["output_gap"], 4)  # some are near 0
        lines.append(row(each["learner"], eps, told))
    lines += [row(f"no data: {name}", "", f"{gap:.3f}") for name, gap in stored["without_data"].items()]
    return told_of_runs(stored) + lines


def optimism(stored: Stored) -> list[str]:
    """Share of plans with some Q below Q*, and its interval of Clopper and Pearson at 95 %."""
    runs = [each for each in stored["runs"] if not each["learner"].startswith("UCBVI")]
    visits = sorted({each["visits"] for each in runs})
    lines = head("bonus for, rewards", "E", *(f"{each:.0e} visits" for each in visits))
    for learner, error in dict.fromkeys((each["learner"], each["E"]) for each in runs):
        cells = []
        for each in runs:
            if (each["learner"], each["E"]) == (learner, error):
                below, plans = each["below"], each["plans"]
                low, high = clopper_pearson_lower(below, plans, 0.025), clopper_pearson_upper(below, plans, 0.025)
                cells.append(f"{below / plans:.3f} ({low:.3f} to {high:.3f})")
        made, rewards = (part.split()[0] for part in learner.split(", "))
        lines.append(row(f"{made}, {rewards}", f"{error:g}", *cells))
    return [f"`{stored['command']}`:", "", *lines]


def needed(_: Stored) -> list[str]:
    """Computed."""
    return [*head("theorem", "instance", "privacy", "users"), *(row(*each) for each in users_needed.rows())]


TABLES: dict[str, Callable[[Stored], list[str]]] = {
    "riverswim": riverswim,
    "bandit": bandit,
    "offline": offline,
    "offline-2": offline,
    "selfplay": selfplay,
    "optimism": optimism,
    "users-needed": needed,
    "consistency": lambda stored: as_markdown(summarise(stored["runs"])),
    "rlsvi": lambda stored: table_of_sizes(stored["rows"]),
}
COMPUTED = ("users-needed",)


def with_tables(text: str) -> str:
    """The page with every table made again. UsageError for a name that no table has."""

    def made(found: re.Match[str]) -> str:
        name = found[1]
        if name not in TABLES:
            raise UsageError(f"table {name}: no such table, but {', '.join(TABLES)}")
        lines = TABLES[name]({} if name in COMPUTED else load(name))
        return "\n".join([f"<!-- table {name} -->", "", *lines, "", "<!-- end -->"])

    return re.sub(r"<!-- table (\S+) -->\n.*?<!-- end -->", made, text, flags=re.DOTALL)


def take(runs: Path) -> list[Path]:
    """Copies the numbers and pictures that experiments wrote to a folder; gives what was copied."""
    wanted = [(f"{name}.json", source) for name in TABLES for source in (f"{name}/numbers.json", f"{name}.json")]
    wanted += PICTURES.items()
    found = [(runs / source, STORED / target) for target, source in wanted if (runs / source).exists()]
    return [Path(shutil.copyfile(source, target)) for source, target in found]


def page(
    check: Annotated[bool, typer.Option(help="write nothing; exit code 1 where the page has other tables")] = False,
    runs: Annotated[
        Path | None, typer.Option(help="folder of experiments, whose numbers and pictures go first")
    ] = None,
) -> None:
    """Writes the tables of docs/figures.md from the stored runs."""
    for path in take(runs) if runs and not check else []:
        typer.echo(f"wrote {path}")
    path = DOCS / "figures.md"
    text = path.read_text(encoding="utf-8")
    made = with_tables(text)
    if check:
        typer.echo("as stored" if made == text else "docs/figures.md has other tables than the stored runs")
        raise typer.Exit(int(made != text))
    path.write_text(made, encoding="utf-8")
    typer.echo(f"wrote {path}")
