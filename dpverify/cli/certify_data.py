"""`dpverify certify --data`: pairs made from what data look like, traces of the code on them, then trials."""

import shlex
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import typer

from dpverify.base.plain_values import decoded
from dpverify.base.text import clean
from dpverify.errors import EXIT_FAILED, EXIT_OK, TargetError, UsageError

SIGNIFICANCE = 0.01
MOST_EACH = 2_000  # trials of a pair, on average
SOURCE = ("call", "arguments", "encode", "python", "timeout_s", "memory")  # what a source of releases is made of
TRACED, ONE_RELEASE = 120.0, 10.0  # seconds: for all traces, for a release of the trials


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A target, its claim and what its data look like; `options` are those of `wild.trying.Options` that were given."""

    target: str
    claim: str
    data: str
    view: str
    call: str
    arg: tuple[str, ...]
    python: str
    encode: str
    timeout: float
    memory: int | None
    tape: bool
    require_tape: bool
    allow_open: bool
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def again(self) -> str:
        """The command that does the same once more, without what is default."""
        given = self.options
        words = ["dpverify", "certify", self.target, "--claim", self.claim, "--data", self.data]
        words += [] if self.view == "central" else ["--view", self.view]
        words += [] if self.call == "auto" else ["--call", self.call]
        for name, values in (("--arg", self.arg), ("--out", given["out"]), ("--public", given["public"])):
            words += [word for each in values for word in (name, each)]
        options = [("--python", self.python), ("--encode", self.encode)]
        options += [
            (f"--{name.replace('_', '-')}", given[name])
            for name in ("relation", "trials", "minutes", "out_of_domain", "repro")
        ]
        if given["significance"] != SIGNIFICANCE:
            options.append(("--significance", given["significance"]))
        words += [word for name, value in options if value not in (None, "") for word in (name, str(value))]
        words += ([] if self.tape else ["--no-tape"]) + (["--require-tape"] if self.require_tape else [])
        return shlex.join([*words, "--seed", str(given["seed"])])


def sketched(path: str | None) -> None:
    """`--sketch CSV`: prints a schema for the file, and stops."""
    if path is not None:
        from dpverify.wild.schema import sketch

        print(sketch(path), end="")
        raise typer.Exit(EXIT_OK)


def certify_data(wanted: Wanted, *, json: str | None, quiet: bool, explain: bool, dry_run: bool) -> int:
    """Traces the code on pairs made from the schema, makes trials of them, shows all of it; the exit code."""
    from dpverify.auditing.tape_record import Taped
    from dpverify.base.text import arguments
    from dpverify.claims.curves import parse_claim
    from dpverify.claims.neighbours import View
    from dpverify.cli import isolated_command
    from dpverify.execution.isolated import Limits
    from dpverify.report import files, screen
    from dpverify.report.json_file import strict
    from dpverify.wild.datasets import written
    from dpverify.wild.fields import Narrowed
    from dpverify.wild.one_line import data_schema
    from dpverify.wild.record import lines
    from dpverify.wild.trying import planned, searched_pairs, source_of, try_out

    schema = data_schema(wanted.data)
    if wanted.view == "local" and not schema.local:
        raise UsageError("--view local: one record is the whole dataset; --data must begin with value:")
    given: dict[str, Any] = {
        "claim": parse_claim(wanted.claim, view=View(wanted.view)),
        "schema": schema,
        "call": wanted.call,
        "arguments": arguments(list(wanted.arg)),
        "python": wanted.python,
        "encode": wanted.encode,
        "timeout_s": min(wanted.timeout, ONE_RELEASE),
        "memory": wanted.memory,
    }
    options = {"trials": MOST_EACH, **{name: value for name, value in wanted.options.items() if value is not None}}
    if dry_run:
        planned(wanted.target, say=say, **given, **options)
        return EXIT_OK
    outputs = files.Outputs(json)
    files.check_writable(outputs)
    files.drop(outputs)
    code: dict[str, Taped] = {}
    try:
        with closing(source_of(wanted.target, **{name: given[name] for name in SOURCE}, cwd=None)) as source:
            seen = Narrowed(source, options["out"], options["public"])
            inside = searched_pairs(seen, schema, options.get("relation"), options["seed"])
            if wanted.tape and not wanted.python:
                asked = {
                    "spec": wanted.target,
                    "claim": wanted.claim,
                    "data": wanted.data,
                    "call": wanted.call,
                    "arg": list(wanted.arg),
                    "inside": written(inside),
                    "seed": options["seed"],
                    "trials": options["trials"],
                }
                name, limits = (
                    "dpverify.cli.certify_data:traced_in_child",
                    Limits(min(wanted.timeout, TRACED), wanted.memory),
                )
                found = isolated_command.answer(name, asked, limits, missing="trace")
                code = {relation: decoded(Taped, each) for relation, each in found.items()}
            record = try_out(source, code=code, inside=inside, say=say if explain else None, **given, **options)
    except TargetError:
        say(f"{'FAILED':<11} {wanted.target.rpartition(':')[2]} was not judged: {wanted.claim}")
        raise
    for line in [] if quiet else [*screen.tried(record, wanted.again), *(lines(record) if explain else ())]:
        say(line)
    isolated_command.write_file(outputs.json, strict(record.to_dict()))
    if record.verdict == "NOT_REFUTED" and wanted.allow_open:
        untraced = wanted.require_tape and not (code and all(each.traced for each in code.values()))
        return EXIT_FAILED if untraced else EXIT_OK
    return record.exit_code


def say(line: str) -> None:
    """One line, now."""
    print(clean(line), flush=True)


def traced_in_child(
    *, spec: str, claim: str, data: str, call: str, arg: list[str], inside: dict[str, list[Any]], seed: int, trials: int
) -> dict[str, Any]:
    """What the tape says under each relation, as plain values; runs in the child."""
    from dataclasses import asdict

    from dpverify.base.text import arguments
    from dpverify.claims.curves import parse_claim
    from dpverify.cli import isolated_command
    from dpverify.wild.datasets import read
    from dpverify.wild.one_line import data_schema
    from dpverify.wild.trying import traced_grid

    schema = data_schema(data)
    code = traced_grid(
        isolated_command.load_object(spec),
        claim=parse_claim(claim),
        schema=schema,
        inside=read(inside, schema),
        call=call,
        arguments=arguments(arg),
        name=spec.rpartition(":")[2],
        seed=seed,
        trials=trials,
    )
    return {name: asdict(each) for name, each in code.items()}
