"""`dpverify trace`: what the code of a release does with its random numbers, on each pair."""

from typing import Annotated, Any

import typer

from dpverify.cli.options import DEFAULT_SEED, HELP, RelationName
from dpverify.errors import EXIT_FAILED, EXIT_OK, EXIT_UNEXPECTED, UsageError
from dpverify.report.files import Outputs

CODES = {"CONTRADICTED": EXIT_UNEXPECTED, "NOT_TRACED": EXIT_FAILED}


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

    Exit code: 0 traced and nothing contradicted, 1 the claim or the ledger is contradicted, 2 usage, 3 not traced, or
    the run failed.
    """
    from dpverify.cli import isolated_command

    arguments = {"spec": subject, "pairs": pairs, "claim": claim, "ledger": ledger, "relation": relation.value,
                 "transcripts": transcripts, "seed": seed, "timeout": timeout}  # fmt: skip
    name = "dpverify.cli.trace_command:traced_in_child"
    raise typer.Exit(isolated_command.show(name, arguments, Outputs(json), missing="trace", seconds=timeout))


def traced_in_child(
    *, spec: str, pairs: str, claim: str | None, ledger: str | None, relation: str, **settings: Any
) -> dict[str, Any]:
    """The traces in lines, as a document, and their exit codes; runs in the child."""
    from dpverify.auditing.pairs import as_pairs
    from dpverify.claims.neighbours import Relation
    from dpverify.claims.parsing import parse_claim
    from dpverify.cli import loading
    from dpverify.execution.isolated import emit
    from dpverify.ledger.events import Ledger
    from dpverify.tape.tracer import trace as traced

    between = Relation.REPLACE_ONE if relation == RelationName.replace_one.value else Relation.ADD_OR_REMOVE_ONE
    stated = None if claim is None else parse_claim(claim, relation=between)
    declared = None if ledger is None else loading.load_object(ledger)
    if declared is not None and not isinstance(declared, Ledger):
        raise UsageError(f"{ledger}: a {type(declared).__name__}, not a Ledger")
    target = loading.load_subject(spec)
    found = []
    for number, pair in enumerate(as_pairs(loading.load_object(pairs))):
        emit({"pair": number})
        found.append(traced(target, pair=pair.checked(between), claim=stated, ledger=declared, **settings))
    return {
        "lines": [line for number, each in enumerate(found, 1) for line in _lines(number, each)],
        "document": {"traces": [each.to_dict() for each in found]},
        "codes": [CODES.get(each.status, EXIT_OK) for each in found],
    }


def _lines(number: int, found: Any) -> list[str]:
    """A table of draws by site, then the word with its reasons, then what it proves."""
    lines = [f"pair {number}: {found.name}"]
    for row in found.draws:
        what = (
            f"  {row.site}  {row.family}({row.scale:g})"
            if row.moved and row.scale > 0
            else f"  {row.site}  {row.family}"
        )
        moved = f"{row.moved} move, by {row.shift_max:g} at most, l1 {row.shift_l1:g}" if row.moved else "none moves"
        lines.append(f"{what}  {row.count} drawn, {moved}")
    word = found.status.replace("_", " ")
    lines.append(f"{word}: {found.transcripts} transcripts in each order, {found.bad} bad")
    lines += [f"  {each}" for each in (*found.reasons, *found.notes)]
    if found.traced and (eps := found.eps()) is not None:
        lines.append(f"  eps on this pair, as the code adds its noise: {eps:g}")
    if (certified := found.certified()) is not None:
        bound = f"({certified.eps:g}, {certified.delta_total:.3g}) at {certified.confidence:.0%}"
        lines.append(f"  by runs alone: {bound} ({certified.fact}), on this pair")
    return lines
