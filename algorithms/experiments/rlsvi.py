"""`python -m algorithms.experiments rlsvi [--out DIR]`: what RLSVI's own noise hides, beside a published formula.

Three sizes, K users, delta = 0.001. The first user is replaced, and all others are told their policies. At the first
two sizes the laws of all transcripts are computed, so eps on that pair is known; at all three an audit certifies a
lower bound. The noise is Russo's (2019); of the paper with the formula only the abstract was read
(`algorithms.beyond.rlsvi`).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from algorithms.beyond.rlsvi import Agreement, formula, LogRatio, paid_or_not, transcript_laws
from algorithms.experiments.store import write_numbers
from algorithms.study import steady_pair
from dpverify import account, ApproxDP, audit, Relation, Unit, View
from dpverify.ledger import FiniteLaws, Ledger
from mechanisms.datasets.visit_counts import CountLayout

DELTA, SEED = 1e-3, 1


@dataclass(frozen=True)
class Size:
    """H steps, S states, 2 actions, K users; `trials` of the audit."""

    horizon: int
    states: int
    users: int
    trials: int

    @property
    def layout(self) -> CountLayout:
        """Of the counts."""
        return CountLayout(H=self.horizon, S=self.states, A=2, rewards=True)


SIZES = (Size(1, 1, 6, 400_000), Size(3, 1, 4, 400_000), Size(40, 2, 8, 20_000))


def measure(size: Size, trials: int) -> dict[str, Any]:
    """Compute the formula, eps on the pair and its certified lower bound at one size.

    Parameters
    ----------
    size : Size
        A row of the table.
    trials : int
        Of the audit, in both worlds together.

    Returns
    -------
    dict
        "formula", "exact" (None with several states, whose laws are not computed), "lower" (confidence 0.95).
    """
    layout = size.layout
    stated, exact = formula(layout, size.users, DELTA), None
    target: Agreement | LogRatio = Agreement(layout)
    pair = steady_pair(layout, size.users, 0) if size.states > 1 else paid_or_not(layout, size.users)
    if size.states == 1:
        laws = transcript_laws(layout, pair)
        target = LogRatio(layout, laws)
        listed = (tuple(laws[0].tolist()), tuple(laws[1].tolist()))
        told = FiniteLaws(what="policies of the others", pairs=(listed,), relation=Relation.REPLACE_ONE)
        exact = float(account(Ledger(told), delta=DELTA))
    claim = ApproxDP(stated, DELTA, unit=Unit.TRAJECTORY, view=View.JOINT)
    record = audit(target, claim=claim, pair=pair, trials=trials, seed=SEED)
    return {"formula": stated, "exact": exact, "lower": record.eps_lower}


def table_of_sizes(found: Sequence[dict[str, Any]]) -> list[str]:
    """Lines of the table: a row for each of SIZES."""
    lines = ["| H, S, K | formula | eps on the pair | certified |", "|---|---|---|---|"]
    for size, row in zip(SIZES, found, strict=True):
        exact = "not computed" if row["exact"] is None else f"{row['exact']:.3f}"
        sizes = f"{size.horizon}, {size.states}, {size.users}"
        lines.append(f"| {sizes} | {row['formula']:.3f} | {exact} | {row['lower']:.3f} |")
    return lines


def rlsvi(
    out: Annotated[Path, typer.Option(help="folder; rlsvi.json is written there")] = Path("figures"),
) -> None:
    """Prints the table; see the module."""
    found = [{**asdict(size), "delta": DELTA, "seed": SEED, **measure(size, size.trials)} for size in SIZES]
    write_numbers(out / "rlsvi.json", {"command": "python -m algorithms.experiments rlsvi", "rows": found})
    typer.echo("\n".join(table_of_sizes(found)))
    typer.echo(f"wrote {out / 'rlsvi.json'}")
