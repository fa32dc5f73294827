"""`dpverify trace`: what the code of a release does with its random numbers, on each pair; `--exact`: its exact eps."""

from typing import Annotated, Any

import typer

from dpverify.cli import library_options
from dpverify.cli.audit_command import Profile
from dpverify.cli.options import DEFAULT_SEED, HELP, RelationName
from dpverify.errors import EXIT_FAILED, EXIT_OK, EXIT_UNEXPECTED, UsageError
from dpverify.report.files import Outputs

TRANSCRIPTS, PATHS = 64, 2**21
EQUAL = 1 + 1e-9  # a claim below the exact eps by less is one of that eps, written with fewer digits
CODES = {"CONTRADICTED": EXIT_UNEXPECTED, "NOT_TRACED": EXIT_FAILED, "UNDECIDED": EXIT_FAILED}


def trace(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:OBJECT", help="A function, or an object with release(data, *, rng, size), or its class."
        ),
    ],
    pairs: Annotated[str, typer.Option(metavar="MODULE:NAME", help="Neighbouring pairs.", show_default=False)],
    claim: Annotated[str | None, typer.Option(metavar="CLAIM", help=HELP["claim"])] = None,
    ledger: Annotated[
        str | None, typer.Option(metavar="MODULE:NAME", help="What the code is compared with; default: its own.")
    ] = None,
    relation: Annotated[RelationName, typer.Option(help="Which datasets are neighbours.")] = RelationName.replace_one,
    transcripts: Annotated[
        int | None, typer.Option(metavar="N", help=f"Transcripts in each order of each pair; default: {TRANSCRIPTS}.")
    ] = None,
    exact: Annotated[
        bool,
        typer.Option("--exact", help="Enumerate all values of the draws: exact eps of finitely many outcomes."),
    ] = False,
    delta: Annotated[
        float | None, typer.Option(metavar="D", help="With --exact: the delta at which eps is wanted, without a claim.")
    ] = None,
    paths: Annotated[
        int | None, typer.Option(metavar="N", help=f"With --exact: most paths on each dataset; default: {PATHS}.")
    ] = None,
    call: library_options.CallOption = library_options.CallShape.auto,
    arg: library_options.Arg = None,
    profile: Profile = None,
    seed: Annotated[int, typer.Option(metavar="S", help=HELP["seed"])] = DEFAULT_SEED,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", help="For each pair; --exact: for each dataset.")] = 60.0,
    json: Annotated[str | None, typer.Option("--json", metavar="F", help="Write the traces as JSON.")] = None,
) -> None:
    """Run the code on both datasets with the same random values, and say what it adds to what, by line.

    Exit code: 0 traced (--exact: enumerated) and nothing contradicted, 1 the claim or the ledger is contradicted,
    2 usage, 3 undecided, not traced, not exact, or the run failed.
    """
    from dpverify.cli import isolated_command

    for name, given, fits in (
        ("--ledger", ledger, not exact),
        ("--transcripts", transcripts, not exact),
        ("--delta", delta, exact),
        ("--paths", paths, exact),
    ):
        if given is not None and not fits:
            raise UsageError(f"{name} goes with{'out' if exact else ''} --exact")
    shared = {
        "spec": subject,
        "pairs": pairs,
        "claim": claim,
        "relation": relation.value,
        "call": call.value,
        "arg": arg or [],
        "seed": seed,
        "timeout": timeout,
    }
    if exact:
        more: dict[str, Any] = {"delta": 0.0 if delta is None else delta, "paths": PATHS if paths is None else paths}
        function, missing, seconds = "enumerated_in_child", "law", 2 * timeout
    else:
        more = {"ledger": ledger, "transcripts": TRANSCRIPTS if transcripts is None else transcripts}
        function, missing, seconds = "traced_in_child", "trace", timeout
    name = f"dpverify.cli.trace_command:{function}"
    raise typer.Exit(isolated_command.show(name, shared | more, Outputs(json), missing=missing, seconds=seconds))


def traced_in_child(
    *,
    spec: str,
    pairs: str,
    claim: str | None,
    ledger: str | None,
    relation: str,
    call: str,
    arg: list[str],
    **settings: Any,
) -> dict[str, Any]:
    """The traces in lines, as a document, and their exit codes; runs in the child."""
    from dpverify.auditing.subject import as_pairs, for_units
    from dpverify.claims.curves import parse_claim
    from dpverify.claims.neighbours import Relation
    from dpverify.cli import isolated_command
    from dpverify.execution.isolated import emit
    from dpverify.ledger.events import Ledger
    from dpverify.tape.tracer import trace as traced

    between = Relation.REPLACE_ONE if relation == RelationName.replace_one.value else Relation.ADD_OR_REMOVE_ONE
    stated = None if claim is None else parse_claim(claim, relation=between)
    declared = None if ledger is None else isolated_command.load_object(ledger)
    if declared is not None and not isinstance(declared, Ledger):
        raise UsageError(f"{ledger}: a {type(declared).__name__}, not a Ledger")
    target = isolated_command.named_subject(spec, call, arg, "")
    found = []
    for number, pair in enumerate(as_pairs(isolated_command.load_object(pairs))):
        emit({"pair": number})
        about = None if stated is None else for_units(stated, target, pair)
        found.append(traced(target, pair=pair.checked(between), claim=about, ledger=declared, **settings))
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


def enumerated_in_child(
    *,
    spec: str,
    pairs: str,
    claim: str | None,
    relation: str,
    delta: float,
    call: str,
    arg: list[str],
    **settings: Any,
) -> dict[str, Any]:
    """The results in lines, as a document, and their exit codes; runs in the child."""
    from dpverify.auditing.subject import as_pairs
    from dpverify.claims.claim import ApproxDP, PureDP
    from dpverify.claims.curves import parse_claim
    from dpverify.claims.neighbours import Relation
    from dpverify.cli import isolated_command
    from dpverify.execution.isolated import emit
    from dpverify.tape.enumeration import exact as enumerated

    between = Relation.REPLACE_ONE if relation == RelationName.replace_one.value else Relation.ADD_OR_REMOVE_ONE
    stated = None if claim is None else parse_claim(claim, relation=between)
    if stated is not None and not isinstance(stated, PureDP | ApproxDP):
        raise UsageError(f"--claim {claim}: an exact law is compared with pure:EPS or approx:EPS,DELTA")
    if stated is not None and delta:
        raise UsageError("--delta is that of --claim; give one of them")
    at = delta if stated is None else stated.delta
    target = isolated_command.named_subject(spec, call, arg, "")
    found = []
    for number, pair in enumerate(as_pairs(isolated_command.load_object(pairs))):
        emit({"pair": number})
        found.append(enumerated(target, pair=pair.checked(between), delta=at, **settings))
    judged = [_judged(each, None if stated is None else stated.eps) for each in found]
    return {
        "lines": [
            line
            for number, (each, (last, _)) in enumerate(zip(found, judged, strict=True), 1)
            for line in (f"pair {number}: {each.name}", *_exact_lines(each), *last)
        ],
        "document": {"exact": [each.to_dict() for each in found]},
        "codes": [code for _, code in judged],
    }


def _exact_lines(found: Any) -> list[str]:
    """What was found, and the event that shows it."""
    from dpverify.base.rounding import digits_up
    from dpverify.tape.enumeration import TAIL

    if found.status != "EXACT":
        return [f"{found.status.replace('_', ' ')}: {found.reason}"]
    lines = [f"EXACT: eps in [{found.eps_lower:.12g}, {found.eps_upper:.12g}] at delta {found.delta:g}, on this pair"]
    if found.tail_eps is not None:
        upper = f"<= {found.tail_eps:.12g} at delta {digits_up(TAIL * found.lost_mass, 3):g}"
        lines = [f"EXACT: eps >= {found.eps_lower:.12g} at delta 0, {upper}, on this pair"]
    lines.append(f"  {found.paths} paths, {found.outcomes} outcomes, mass left out {found.lost_mass:.3g}")
    if (event := found.event) is not None:
        lines.append(f"  largest ratio: {event.outcome} has probability {event.first:.6g} against {event.second:.6g}")
    lines.append(f"  {found.fit.releases} ordinary releases on each dataset fit the law (p = {found.fit.p_value:.2g})")
    return lines


def _judged(found: Any, claimed: float | None) -> tuple[list[str], int]:
    """What it means for the claim, and the exit code. Claims are decimals: EQUAL is no contradiction, and is said."""
    if found.status != "EXACT":
        return [], EXIT_FAILED
    if claimed is None:
        return [], EXIT_OK
    if found.eps_upper <= claimed:
        return [f"the claim of {claimed:g} holds on this pair"], EXIT_OK
    if found.eps_lower > claimed * EQUAL:
        return [f"CONTRADICTED: claimed {claimed:g}"], EXIT_UNEXPECTED
    if found.eps_upper <= claimed * EQUAL:
        return [f"the claim of {claimed!r} holds on this pair up to its last digits (1e-9)"], EXIT_OK
    return [f"UNDECIDED: claimed {claimed:g}"], EXIT_FAILED
