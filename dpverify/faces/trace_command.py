"""`dpverify trace`: what the code of a release does with its random numbers, on each pair."""

import json as json_module
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from dpverify.base.errors import EXIT_FAILED, EXIT_OK, EXIT_UNEXPECTED, RunError, UsageError
from dpverify.faces.options import DEFAULT_SEED, HELP


class RelationName(str, Enum):  # noqa: UP042 - typer shows the values of a plain str enum
    """Which datasets are neighbours."""

    replace_one = "replace"
    add_remove = "add-remove"


def trace(
    subject: Annotated[
        str, typer.Argument(metavar="MODULE:OBJECT", help="An object with release(data, *, rng, size), or its class.")
    ],
    pairs: Annotated[str, typer.Option(metavar="MODULE:NAME", help="Neighbouring pairs.", show_default=False)],
    claim: Annotated[str | None, typer.Option(metavar="CLAIM", help=HELP["claim"])] = None,
    ledger: Annotated[
        str | None, typer.Option(metavar="MODULE:NAME", help="What the code is compared with; default: its own.")
    ] = None,
    relation: Annotated[RelationName, typer.Option(help="Which datasets are neighbours.")] = RelationName.replace_one,
    transcripts: Annotated[int, typer.Option(metavar="N", help="Transcripts in each order of each pair.")] = 64,
    seed: Annotated[int, typer.Option(metavar="S", help=HELP["seed"])] = DEFAULT_SEED,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", help="For each pair.")] = 60.0,
    json: Annotated[str | None, typer.Option("--json", metavar="F", help="Write the traces as JSON.")] = None,
) -> None:
    """Run the code on both datasets with the same random values, and say what it adds to what, by line.

    Exit code: 0 traced and nothing contradicted, 1 the claim or the ledger is contradicted, 2 usage, 3 not traced.
    """
    from dpverify.accounting.ledger import Ledger
    from dpverify.claims.neighbours import Relation
    from dpverify.claims.parse import parse_claim
    from dpverify.faces import loading
    from dpverify.tape.trace import trace as traced
    from dpverify.verdicts.pairs import as_pairs

    between = Relation.REPLACE_ONE if relation is RelationName.replace_one else Relation.ADD_OR_REMOVE_ONE
    stated = None if claim is None else parse_claim(claim, relation=between)
    declared = None if ledger is None else loading.load(ledger)
    if declared is not None and not isinstance(declared, Ledger):
        raise UsageError(f"{ledger}: a {type(declared).__name__}, not a Ledger")
    target = loading.load_subject(subject)
    found = [
        traced(target, pair=pair.checked(between), claim=stated, ledger=declared, transcripts=transcripts, seed=seed,
               timeout=timeout)
        for pair in as_pairs(loading.load(pairs))
    ]  # fmt: skip
    for number, each in enumerate(found, 1):
        _show(number, each)
    if json is not None:
        try:
            Path(json).write_text(json_module.dumps({"traces": [each.to_dict() for each in found]}, indent=1))
        except OSError as error:
            raise RunError(f"{json}: could not be written ({error.strerror})") from error
    words = {each.status for each in found}
    code = EXIT_UNEXPECTED if "CONTRADICTED" in words else EXIT_FAILED if "NOT_TRACED" in words else EXIT_OK
    raise typer.Exit(code)


def _show(number: int, found: Any) -> None:
    """A table of draws by site, then the word with its reasons, then what it proves."""
    from dpverify.base.text import clean

    print(f"pair {number}: {clean(found.name)}")
    for row in found.draws:
        what = (
            f"  {row.site}  {row.family}({row.scale:g})"
            if row.moved and row.scale > 0
            else f"  {row.site}  {row.family}"
        )
        moved = f"{row.moved} move, by {row.shift_max:g} at most, l1 {row.shift_l1:g}" if row.moved else "none moves"
        print(clean(f"{what}  {row.count} drawn, {moved}"))
    print(f"{found.status.replace('_', ' ')}: {found.transcripts} transcripts in each order, {found.bad} bad")
    for reason in found.reasons:
        print(clean(f"  {reason}"))
    for note in found.notes:
        print(clean(f"  {note}"))
    if found.traced and (eps := found.eps()) is not None:
        print(f"  eps on this pair, as the code adds its noise: {eps:g}")
    if (certified := found.certified()) is not None:
        print(f"  by runs alone: ({certified.eps:g}, {certified.delta_total:.3g}) at {certified.confidence:.0%} "
              f"({certified.fact}), on this pair")  # fmt: skip
