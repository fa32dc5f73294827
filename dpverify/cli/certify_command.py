"""`dpverify certify`: one mechanism or privatizer, its code, ledger and trials, and a certificate."""

import shlex
import time
from enum import Enum
from typing import Annotated, Any

import typer

from dpverify.auditing.statuses import Accept
from dpverify.cli import certify_data, library_options
from dpverify.cli.audit_command import (
    Html,
    Json,
    Ladder,
    Memory,
    MUCH,
    NoTape,
    OUTPUTS,
    Profile,
    RUNNING,
    Timeout,
)
from dpverify.cli.library_options import CallShape, Neighbours
from dpverify.cli.options import DEFAULT_SEED, DEFAULT_TIMEOUT, HELP
from dpverify.errors import EXIT_OK, UsageError


class ViewName(str, Enum):  # noqa: UP042
    """What the adversary sees."""

    central = "central"
    joint = "joint"
    local = "local"
    shuffle = "shuffle"


# parameter -> option, of those that mean nothing beside the other; where settings name them they are not heeded
DATA_ALONE = {
    "encode": "--encode",
    "out": "--out",
    "public": "--public",
    "minutes": "--minutes",
    "out_of_domain": "--out-of-domain",
    "repro": "--repro",
    "dry_run": "--dry-run",
}
PAIRS_ALONE = {"ladder": "--ladder", "html": "--html", "jobs": "--jobs"}


def certify(
    context: typer.Context,
    subject: Annotated[
        str,
        typer.Argument(metavar="MODULE:OBJECT", help="An object with release(data, *, rng, size), or its class."),
    ],
    claim: Annotated[
        str,
        typer.Option(
            metavar="CLAIM",
            help=HELP["claim"],
        ),
    ],
    pairs: Annotated[
        str | None, typer.Option(metavar="MODULE:NAME", help="Neighbouring pairs; default: the object's own.")
    ] = None,
    data: library_options.Data = None,
    relation: Annotated[
        Neighbours | None,
        typer.Option(help="Which datasets are neighbours; default: replace, with --data both are tried."),
    ] = None,
    view: Annotated[ViewName, typer.Option(help="What the adversary sees of a release.")] = ViewName.central,
    profile: Profile = None,
    trials: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Trials per pair; default: 100,000, with --data 2,000 on average.",
            rich_help_panel=MUCH,
        ),
    ] = None,
    significance: Annotated[
        float, typer.Option(metavar="A", help="Error of the whole certificate.", rich_help_panel=MUCH)
    ] = certify_data.SIGNIFICANCE,
    seed: Annotated[int, typer.Option(metavar="S", help=HELP["seed"], rich_help_panel=MUCH)] = DEFAULT_SEED,
    jobs: Annotated[int | None, typer.Option(metavar="J", help=HELP["jobs"], rich_help_panel=RUNNING)] = None,
    ladder: Ladder = False,
    json: Json = None,
    html: Html = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing where the exit code is 0.", rich_help_panel=OUTPUTS)
    ] = False,
    timeout: Timeout = DEFAULT_TIMEOUT,
    memory: Memory = None,
    no_tape: NoTape = False,
    accept: Annotated[
        Accept,
        typer.Option(help="Exit code 0 from: ledger meets the claim; code conforms to it; proved from the code."),
    ] = Accept.CONFORMS,
    allow_open: Annotated[
        bool, typer.Option("--allow-open", help="Exit code 0 also where the claim is OPEN: not refuted, not proved.")
    ] = False,
    call: library_options.CallOption = CallShape.auto,
    arg: library_options.Arg = None,
    python: library_options.Python = "",
    encode: library_options.Encode = "",
    out: library_options.Out = None,
    public: library_options.Public = None,
    out_of_domain: library_options.OutsideOption = None,
    minutes: library_options.Minutes = None,
    repro: library_options.Repro = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --data: show the pairs and the time, and stop.")
    ] = False,
    sketch: Annotated[
        str | None,
        typer.Option(
            metavar="CSV", help="Print a TOML file for --data, and stop.", is_eager=True, callback=certify_data.sketched
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Everything that is known, at any length.", rich_help_panel=OUTPUTS)
    ] = False,
) -> None:
    """Trace, account, audit and check one mechanism or privatizer, and write its certificate.

    Exit code: 0 CERTIFIED, with --accept ledger also ACCOUNTED, with --allow-open also OPEN; 1 the claim, its ledger or
    a promise is refuted; 2 usage; 3 everything else: ACCOUNTED, OPEN, INCONCLUSIVE, INVALID, FAILED.
    """
    from dpverify.cli.options import CERTIFIED
    from dpverify.execution.isolated import Limits, start_server

    start_server(CERTIFIED)  # it loads while this process does
    from dpverify.claims.curves import parse_claim
    from dpverify.claims.neighbours import View
    from dpverify.execution.executors import usable_processors

    tape = not no_tape
    parse_claim(claim, view=View(view.value))  # refused here, before anything is started
    other = PAIRS_ALONE if data is not None else DATA_ALONE
    typed = [name for name in other if getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"]
    if pairs is not None and data is not None:
        raise UsageError("--pairs and --data: one of them says which datasets are compared")
    if typed:
        said = "only without --data" if data is not None else "only with --data; pairs are looked at as they are"
        raise UsageError(f"{other[typed[0]]}: {said}")
    if data is not None:
        if view not in (ViewName.central, ViewName.local):
            raise UsageError(f"--view {view.value}: not with --data, which knows central and local")
        options: dict[str, Any] = {
            "relation": None if relation is None else relation.value,
            "seed": seed,
            "significance": significance,
            "trials": trials,
            "minutes": minutes,
            "out": tuple(out or ()),
            "public": tuple(public or ()),
            "out_of_domain": None if out_of_domain is None else out_of_domain.value,
            "repro": repro,
        }
        wanted = certify_data.Wanted(
            target=subject,
            claim=claim,
            data=data,
            view=view.value,
            call=call.value,
            arg=tuple(arg or ()),
            python=python,
            encode=encode,
            timeout=timeout,
            memory=memory,
            tape=tape,
            allow_open=allow_open,
            options=options,
        )
        raise typer.Exit(certify_data.certify_data(wanted, json=json, quiet=quiet, explain=explain, dry_run=dry_run))
    if relation is Neighbours.both:
        raise UsageError("--relation both: only with --data; pairs are of one relation")
    relation, trials = relation or Neighbours.replace_one, 100_000 if trials is None else trials
    words = ["dpverify", "certify", subject, "--claim", claim, *(["--pairs", pairs] if pairs else [])]
    words += ["--relation", relation.value, "--view", view.value, "--trials", str(trials)]
    words += ["--significance", repr(significance), "--seed", str(seed), *(["--ladder"] if ladder else [])]
    words += ([] if tape else ["--no-tape"]) + (["--accept", accept.value] if accept is not Accept.CONFORMS else [])
    words += ["--allow-open"] if allow_open else []
    words += [] if call is CallShape.auto else ["--call", call.value]
    words += [word for each in arg or [] for word in ("--arg", each)] + (["--python", python] if python else [])
    arguments = {
        "spec": subject,
        "claim": claim,
        "relation": relation.value,
        "view": view.value,
        "pairs": pairs,
        "trials": trials,
        "significance": significance,
        "seed": seed,
        "jobs": usable_processors() if jobs is None else jobs,
        "ladder": ladder,
        "command": shlex.join(words),
        "tape": tape,
        "accept": accept.value,
        "call": call.value,
        "arg": list(arg or []),
        "python": python,
    }
    code = _certify_pairs(
        arguments, Limits(timeout, memory), json=json, html=html, quiet=quiet, explain=explain, allow_open=allow_open
    )
    raise typer.Exit(code)


def _certify_pairs(
    arguments: dict[str, Any],
    limits: Any,
    *,
    json: str | None,
    html: str | None,
    quiet: bool,
    explain: bool,
    allow_open: bool,
) -> int:
    """Makes the certificate in a child, writes and shows it; the exit code."""
    from dpverify.auditing.certificate import Certificate
    from dpverify.auditing.statuses import Status
    from dpverify.base.text import clean
    from dpverify.cli import console, isolated_command
    from dpverify.errors import RunError
    from dpverify.report import files, html_page

    started = time.monotonic()
    outputs = files.Outputs(json, html)
    files.check_writable(outputs)
    files.drop(outputs)  # there is no certificate of a run that failed
    try:
        made = isolated_command.answer(
            "dpverify.cli.certify_command:certified_in_child", arguments, limits, missing="certificate"
        )
    except RunError:
        print(clean(f"{Status.FAILED:<11} {arguments['spec'].rpartition(':')[2]} was not judged: {arguments['claim']}"))
        raise
    certificate = Certificate.from_dict(made)
    isolated_command.write_file(outputs.json, html_page.certificate_json(certificate))
    isolated_command.write_file(outputs.html, html_page.render_certificate(certificate))
    code = certificate.exit_code_allowing(open_claims=allow_open)
    if not (quiet and code == EXIT_OK):
        console.show_certificate(certificate, explain=explain, seconds=time.monotonic() - started)
    return code


def certified_in_child(
    *,
    spec: str,
    claim: str,
    relation: str,
    view: str,
    pairs: str | None,
    call: str = "auto",
    arg: list[str] | None = None,
    python: str = "",
    **settings: Any,
) -> dict[str, Any]:
    """The certificate as plain values; runs in the child."""
    from dpverify.auditing.certificate import certify
    from dpverify.auditing.subject import as_pairs, for_units, own_pairs
    from dpverify.claims.curves import parse_claim
    from dpverify.claims.neighbours import Relation, View
    from dpverify.cli import isolated_command
    from dpverify.wild.one_line import EXAMPLES, guessed

    neighbours = Relation.REPLACE_ONE if relation == "replace" else Relation.ADD_OR_REMOVE_ONE
    stated = parse_claim(claim, relation=neighbours, view=View(view))
    subject = isolated_command.named_subject(spec, call, arg or [], python)
    own = None if pairs is None else as_pairs(isolated_command.load_object(pairs))
    if own is None and own_pairs(subject, stated) is None:
        data = EXAMPLES["list"] if python else guessed(isolated_command.load_object(spec))
        example = shlex.join(["dpverify", "certify", spec, "--claim", claim, "--data", data])
        raise UsageError(
            f"{spec}: on which datasets? Give --pairs MODULE:NAME, or say what its data look like, as in: {example}"
        )
    stated = for_units(stated, subject, own)
    return certify(subject, claim=stated, pairs=own, name=spec.rpartition(":")[2], **settings).to_dict()
