"""`dpverify certify`: one mechanism or privatizer, its code, ledger and trials, and a certificate."""

import shlex
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any

import typer

from dpverify.base.plain_values import decoded
from dpverify.cli import try_command
from dpverify.cli.audit_command import Html, Ladder, Memory, NoTape, RequireTape, tapeless, Timeout
from dpverify.cli.options import DEFAULT_SEED, DEFAULT_TIMEOUT, HELP
from dpverify.cli.try_command import Neighbours
from dpverify.errors import EXIT_FAILED, EXIT_OK, UsageError

MOST_EACH = 2_000  # trials of a pair that was made from --data, on average
TRACED, ONE_RELEASE = 120.0, 10.0  # seconds: for all traces of --data, for a release of its trials


class ViewName(str, Enum):  # noqa: UP042
    """What the adversary sees."""

    central = "central"
    joint = "joint"
    local = "local"
    shuffle = "shuffle"


def certify(
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
    data: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="What data look like, in a line or a TOML file; pairs are made from it: "
            "'list: real 0..100, rows 5..50'.",
        ),
    ] = None,
    relation: Annotated[
        Neighbours | None,
        typer.Option(help="Which datasets are neighbours; default: replace, with --data both are tried."),
    ] = None,
    view: Annotated[ViewName, typer.Option(help="What the adversary sees of a release.")] = ViewName.central,
    trials: Annotated[
        int | None, typer.Option(metavar="N", help="Trials per pair; default: 100,000, with --data 2,000 on average.")
    ] = None,
    significance: Annotated[float, typer.Option(metavar="A", help="Error of the whole certificate.")] = 0.01,
    seed: Annotated[int, typer.Option(metavar="S", help=HELP["seed"])] = DEFAULT_SEED,
    jobs: Annotated[int | None, typer.Option(metavar="J", help=HELP["jobs"])] = None,
    ladder: Ladder = False,
    json: Annotated[str | None, typer.Option("--json", metavar="F", help="Write the certificate as JSON.")] = None,
    html: Html = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing where it is certified.")] = False,
    timeout: Timeout = DEFAULT_TIMEOUT,
    memory: Memory = None,
    no_tape: NoTape = False,
    require_tape: RequireTape = False,
    allow_open: Annotated[
        bool, typer.Option("--allow-open", help="Exit code 0 also where the claim is OPEN: not refuted, not proved.")
    ] = False,
    call: try_command.CallOption = try_command.CallShape.auto,
    arg: try_command.Arg = None,
    python: try_command.Python = "",
    explain: Annotated[bool, typer.Option("--explain", help="Everything that is known, at any length.")] = False,
) -> None:
    """Trace, account, audit and check one mechanism or privatizer, and write its certificate.

    Exit code: 0 CERTIFIED, with --allow-open also OPEN, 1 the claim, its ledger or a promise is refuted, 2 usage,
    3 everything else: OPEN, INCONCLUSIVE, INVALID, FAILED.
    """
    from dpverify.cli.options import CERTIFIED
    from dpverify.execution.isolated import Limits, start_server

    start_server(CERTIFIED)  # it loads while this process does
    from dpverify.claims.curves import parse_claim
    from dpverify.claims.neighbours import View
    from dpverify.execution.executors import usable_processors

    tape = not tapeless(no_tape, require_tape)
    stated = parse_claim(claim, view=View(view.value))  # refused here, before anything is started
    if data is not None:
        if pairs is not None:
            raise UsageError("--pairs and --data: one of them says which datasets are compared")
        if view not in (ViewName.central, ViewName.local) or ladder or html is not None or jobs is not None:
            raise UsageError("--data: takes no --ladder, --html, --jobs and no --view but central and local")
        tried = {"relation": None if relation is None else relation.value, "seed": seed, "significance": significance,
                 "trials": MOST_EACH if trials is None else trials}  # fmt: skip
        wanted = Wanted(subject, stated, data, call.value, tuple(arg or ()), python, timeout, tape, require_tape)
        raise typer.Exit(
            _tried(wanted, tried, local=view is ViewName.local, json=json, quiet=quiet, explain=explain,
                   allow_open=allow_open)
        )  # fmt: skip
    if relation is Neighbours.both:
        raise UsageError("--relation both: only with --data; pairs are of one relation")
    relation, trials = relation or Neighbours.replace_one, 100_000 if trials is None else trials
    words = ["dpverify", "certify", subject, "--claim", claim, *(["--pairs", pairs] if pairs else [])]
    words += ["--relation", relation.value, "--view", view.value, "--trials", str(trials)]
    words += ["--significance", repr(significance), "--seed", str(seed), *(["--ladder"] if ladder else [])]
    words += ([] if tape else ["--no-tape"]) + (["--require-tape"] if require_tape else [])
    words += ["--allow-open"] if allow_open else []
    words += [] if call is try_command.CallShape.auto else ["--call", call.value]
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
        "require_tape": require_tape,
        "call": call.value,
        "arg": list(arg or []),
        "python": python,
    }
    from dpverify.auditing.certificate import Certificate, Word
    from dpverify.base.text import clean
    from dpverify.cli import console, isolated_command
    from dpverify.errors import RunError
    from dpverify.report import files, html_page

    outputs = files.Outputs(json, html)
    files.check_writable(outputs)
    files.drop(outputs)  # there is no certificate of a run that failed
    try:
        made = isolated_command.answer(
            "dpverify.cli.certify_command:certified_in_child", arguments, Limits(timeout, memory), missing="certificate"
        )
    except RunError:
        print(clean(f"{Word.FAILED} {subject.rpartition(':')[2]}: {claim}"))
        raise
    certificate = Certificate.from_dict(made)
    isolated_command.write_file(outputs.json, html_page.certificate_json(certificate))
    isolated_command.write_file(outputs.html, html_page.render_certificate(certificate))
    if not (quiet and certificate.certified):
        console.show_certificate(certificate)
    raise typer.Exit(certificate.exit_code_allowing(open_claims=allow_open))


@dataclass(frozen=True)
class Wanted:
    """A target whose pairs are made from what its data look like."""

    target: str
    claim: Any
    data: str
    call: str
    arg: tuple[str, ...]
    python: str
    timeout: float
    tape: bool
    require_tape: bool


def _tried(
    wanted: Wanted, tried: dict[str, Any], *, local: bool, json: str | None, quiet: bool, explain: bool,
    allow_open: bool,
) -> int:  # fmt: skip
    """Traces the code on pairs made from the schema, makes trials of them, shows all of it; the exit code."""
    from dpverify.auditing.tape_record import Taped
    from dpverify.base.text import arguments, clean
    from dpverify.cli import isolated_command
    from dpverify.execution.isolated import Limits
    from dpverify.report import files, screen
    from dpverify.report.json_file import strict
    from dpverify.wild.one_line import data_schema
    from dpverify.wild.record import lines
    from dpverify.wild.trying import try_out

    schema = data_schema(wanted.data)
    if local and not schema.local:
        raise UsageError("--view local: one record is the whole dataset; --data must begin with value:")
    outputs = files.Outputs(json)
    files.check_writable(outputs)
    files.drop(outputs)
    code: dict[str, Taped] = {}
    if wanted.tape and not wanted.python:
        limit = min(wanted.timeout, TRACED)
        asked = {"spec": wanted.target, "claim": str(wanted.claim), "data": wanted.data, "call": wanted.call,
                 "arg": list(wanted.arg), "relation": tried["relation"], "seed": tried["seed"],
                 "trials": tried["trials"]}  # fmt: skip
        name = "dpverify.cli.certify_command:traced_in_child"
        found = isolated_command.answer(name, asked, Limits(limit), missing="trace")
        code = {relation: decoded(Taped, each) for relation, each in found.items()}
    record = try_out(wanted.target, claim=wanted.claim, schema=schema, call=wanted.call, python=wanted.python,
                     arguments=arguments(list(wanted.arg)), timeout_s=min(wanted.timeout, ONE_RELEASE),
                     out_of_domain="report", code=code, **tried)  # fmt: skip
    for line in [] if quiet else [*screen.tried(record, _again(wanted, tried)), *(lines(record) if explain else ())]:
        print(clean(line), flush=True)
    isolated_command.write_file(outputs.json, strict(record.to_dict()))
    if record.verdict == "NOT_REFUTED":
        untraced = wanted.require_tape and not (code and all(each.traced for each in code.values()))
        return EXIT_OK if allow_open and not untraced else EXIT_FAILED
    return record.exit_code


def _again(wanted: Wanted, tried: dict[str, Any]) -> str:
    """The command that does the same once more, without what is default."""
    words = ["dpverify", "certify", wanted.target, "--claim", str(wanted.claim), "--data", wanted.data]
    words += [] if tried["relation"] is None else ["--relation", tried["relation"]]
    words += [] if wanted.call == "auto" else ["--call", wanted.call]
    words += [word for each in wanted.arg for word in ("--arg", each)]
    words += ["--python", wanted.python] if wanted.python else []
    words += [] if tried["trials"] == MOST_EACH else ["--trials", str(tried["trials"])]
    return shlex.join([*words, "--seed", str(tried["seed"])])


def traced_in_child(
    *, spec: str, claim: str, data: str, call: str, arg: list[str], relation: str | None, seed: int, trials: int
) -> dict[str, Any]:
    """What the tape says under each relation, as plain values; runs in the child."""
    from dataclasses import asdict

    from dpverify.base.text import arguments
    from dpverify.claims.curves import parse_claim
    from dpverify.cli import isolated_command
    from dpverify.wild.one_line import data_schema
    from dpverify.wild.trying import traced_grid

    code = traced_grid(isolated_command.load_object(spec), claim=parse_claim(claim), schema=data_schema(data),
                       relation=relation, call=call, arguments=arguments(arg), name=spec.rpartition(":")[2],
                       seed=seed, trials=trials)  # fmt: skip
    return {name: asdict(each) for name, each in code.items()}


def certified_in_child(
    *, spec: str, claim: str, relation: str, view: str, pairs: str | None, call: str = "auto",
    arg: list[str] | None = None, python: str = "", **settings: Any,
) -> dict[str, Any]:  # fmt: skip
    """The certificate as plain values; runs in the child."""
    from dpverify.auditing.certificate import certify
    from dpverify.auditing.subject import as_pairs, for_units, own_pairs
    from dpverify.claims.curves import parse_claim
    from dpverify.claims.neighbours import Relation, View
    from dpverify.cli import isolated_command
    from dpverify.wild.one_line import EXAMPLES, guessed

    neighbours = Relation.REPLACE_ONE if relation == "replace" else Relation.ADD_OR_REMOVE_ONE
    stated = parse_claim(claim, relation=neighbours, view=View(view))
    subject = named_subject(spec, call, arg or [], python)
    own = None if pairs is None else as_pairs(isolated_command.load_object(pairs))
    if own is None and own_pairs(subject, stated) is None:
        data = EXAMPLES["list"] if python else guessed(isolated_command.load_object(spec))
        example = shlex.join(["dpverify", "certify", spec, "--claim", claim, "--data", data])
        raise UsageError(f"{spec}: on which datasets? Give --pairs MODULE:NAME, or say what its data look like, as in: "
                         f"{example}")  # fmt: skip
    stated = for_units(stated, subject, own)
    return certify(subject, claim=stated, pairs=own, name=spec.rpartition(":")[2], **settings).to_dict()


def named_subject(spec: str, call: str, arg: list[str], python: str) -> Any:
    """A subject, or a library's function or class as one (`wild.local`), here or in an interpreter of its own."""
    from dpverify.base.text import arguments
    from dpverify.cli import isolated_command

    given = arguments(arg)
    if python:
        from dpverify.wild.interpreter import Elsewhere

        return Elsewhere(python, spec, call=call, arguments=given)
    from dpverify.wild.local import is_shaped, shaped

    found = isolated_command.load_object(spec)
    if call != "auto" or given or is_shaped(found):
        return shaped(found, call=call, arguments=given, name=spec.rpartition(":")[2])
    return isolated_command.subject_of(found, spec)
