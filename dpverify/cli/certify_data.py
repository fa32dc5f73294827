"""`dpverify certify --data`: pairs made from what data look like, traces of the code on them, then trials."""

import shlex
import sys
import time
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from inspect import isfunction
from typing import Any, TYPE_CHECKING

import typer

from dpverify.base.plain_values import decoded
from dpverify.base.text import clean
from dpverify.errors import EXIT_OK, RunError, TargetError, UsageError

if TYPE_CHECKING:
    from dpverify.wild.record import TryRecord
    from dpverify.wild.schema import Schema

SIGNIFICANCE = 0.01
SLOW = 0.01  # seconds of a release, from which on the command says what it is about to do
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
        words += ([] if self.tape else ["--no-tape"]) + (["--allow-open"] if self.allow_open else [])
        return shlex.join([*words, "--seed", str(given["seed"])])


def sketched(path: str | None) -> None:
    """`--sketch CSV`: prints a schema for the file, and stops."""
    if path is not None:
        from dpverify.wild.schema import sketch

        print(sketch(path), end="")
        raise typer.Exit(EXIT_OK)


def certify_data(wanted: Wanted, *, json: str | None, quiet: bool, explain: bool, dry_run: bool) -> int:
    """Traces the code on pairs made from the schema, makes trials of them, shows all of it; the exit code."""
    from dpverify.base.text import arguments
    from dpverify.claims.curves import parse_claim
    from dpverify.claims.neighbours import View
    from dpverify.cli import isolated_command
    from dpverify.report import files, screen
    from dpverify.report.json_file import strict
    from dpverify.wild.datasets import call_in_words
    from dpverify.wild.one_line import data_schema
    from dpverify.wild.record import lines
    from dpverify.wild.schema import limit_rows, MOST_PUBLIC
    from dpverify.wild.trying import Options, planned

    started = time.monotonic()
    unlimited = data_schema(wanted.data, most=MOST_PUBLIC)
    schema = limit_rows(unlimited)
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
    Options(**options)  # refused here, before anything is started
    if dry_run:
        planned(wanted.target, say=say, **given, **options)
        return EXIT_OK
    outputs = files.Outputs(json)
    files.check_writable(outputs)
    files.drop(outputs)
    try:
        record = _judge(wanted, unlimited, given, options, say if explain else None)
    except TargetError:
        say(f"{'FAILED':<11} {wanted.target.rpartition(':')[2]} was not judged: {wanted.claim}")
        raise
    seconds = time.monotonic() - started  # of the command: proof, search for pairs, traces and trials
    record = replace(record, again=wanted.again, seconds=seconds, called_with=call_in_words(schema))
    shown = screen.proved if record.verdict == "CERTIFIED" and not record.matrix else screen.tried
    told = [*lines(record), *_derived(record)] if explain else []
    for line in [] if quiet else [*shown(record), *told]:
        say(line)
    isolated_command.write_file(outputs.json, strict(record.to_dict()))
    return EXIT_OK if record.verdict == "NOT_REFUTED" and wanted.allow_open else record.exit_code


def _judge(wanted: Wanted, schema: "Schema", given: dict[str, Any], options: dict[str, Any], told: Any) -> "TryRecord":
    """The record: of a proof alone, of the pair that the proof names, or of traces and trials."""
    from dpverify.wild.fields import Narrowed
    from dpverify.wild.trying import grids, relations, release_seconds, searched_pairs, source_of, try_out

    started = time.monotonic()
    asked, tried = options.get("relation"), given["schema"]
    listed = relations(tried, asked)
    proof = {} if wanted.python else _prove(wanted, list(map(str, listed)))
    if wanted.options["trials"] is None and _is_proved(proof, asked):
        return _record_without_trials(wanted, schema, proof, time.monotonic() - started)
    code: dict[str, Any] = {}
    named = {each: _named_by_proof(proof.get(str(each), {}), tried, each) for each in listed}
    asked_for_more = any(wanted.options[each] for each in ("trials", "repro", "out", "public", "minutes"))
    if wanted.tape and not asked_for_more and all(named.values()):
        code = _trace(wanted, named, options)
        if all(each.refutes for each in code.values()):
            return _record_without_trials(wanted, schema, proof, time.monotonic() - started, code=code)
    with closing(source_of(wanted.target, **{name: given[name] for name in SOURCE}, cwd=None)) as source:
        seen = Narrowed(source, options["out"], options["public"])
        once = release_seconds(seen, tried, grids(tried, asked, options["seed"]))
        if once > SLOW and told is None:
            announce(
                f"{1000 * once:.0f} ms a release: first pairs are searched for and traced, which takes a minute or two"
            )
            told = announce
        inside = searched_pairs(seen, tried, asked, options["seed"], once)
        for relation, found in inside.items():
            found[:0] = named.get(relation, [])
        if wanted.tape and not wanted.python:
            code = _trace(wanted, inside, options, once)
        record = try_out(source, code=code, inside=inside, say=told, **given, **options)
    return with_proof(record, proof, asked)


def _derived(record: "TryRecord") -> list[str]:
    """The derivation of what was proved, a rule a line."""
    from dpverify.proof.derivation import explain

    found: list[str] = []
    for relation, each in record.proof.items():
        lines = explain(each.get("derivation", {}))
        found += [f"proof ({relation}):", *(f"  {line}" for line in lines)] if lines else []
    return found


def say(line: str) -> None:
    """One line, now."""
    print(clean(line), flush=True)


def announce(line: str) -> None:
    """What is about to take long, on standard error: the screen stays what it is."""
    print(f"dpverify: {clean(line)}", file=sys.stderr, flush=True)


def traced_in_child(
    *,
    spec: str,
    claim: str,
    data: str,
    call: str,
    arg: list[str],
    inside: dict[str, list[Any]],
    seed: int,
    trials: int,
    once: float,
) -> dict[str, Any]:
    """What the tape says under each relation, as plain values; runs in the child."""
    from dataclasses import asdict

    from dpverify.base.text import arguments
    from dpverify.claims.claim import PureDP
    from dpverify.claims.curves import parse_claim
    from dpverify.cli import isolated_command
    from dpverify.proof import prove
    from dpverify.wild.datasets import read
    from dpverify.wild.one_line import data_schema
    from dpverify.wild.schema import limit_rows, MOST_PUBLIC
    from dpverify.wild.trying import traced_grid

    schema = limit_rows(data_schema(data, most=MOST_PUBLIC))
    target, stated, pairs = isolated_command.load_object(spec), parse_claim(claim), read(inside, schema)
    known_law = False
    if _is_provable(target, call) and not isinstance(stated, PureDP):
        with suppress(UsageError):
            known_law = prove(target, data=schema, relation=next(iter(pairs)), arguments=arguments(arg)).alone
    code = traced_grid(
        target,
        claim=stated,
        schema=schema,
        inside=pairs,
        call=call,
        arguments=arguments(arg),
        name=spec.rpartition(":")[2],
        seed=seed,
        trials=trials,
        known_law=known_law,
        once=once,
    )
    return {name: asdict(each) for name, each in code.items()}


# ----------------------------------------------------------------------------------------------------------------------
# The proof: before anything is traced or tried

PROVED_WITHIN = 60.0  # seconds; a proof takes milliseconds


def _prove(wanted: Wanted, relations: list[str]) -> dict[str, dict[str, Any]]:
    """What is proved of the code under each relation, as plain values; why nothing is, where the run ended."""
    from dpverify.cli import isolated_command
    from dpverify.execution.isolated import Limits

    asked = {
        "spec": wanted.target,
        "claim": wanted.claim,
        "data": wanted.data,
        "view": wanted.view,
        "call": wanted.call,
        "arg": list(wanted.arg),
        "relation": wanted.options.get("relation"),
    }
    name = "dpverify.cli.certify_data:proved_in_child"
    limits = Limits(min(wanted.timeout, PROVED_WITHIN), wanted.memory)
    try:
        found: dict[str, dict[str, Any]] = isolated_command.answer(name, asked, limits, missing="proof")
    except RunError as error:
        return {each: {"problem": str(error)} for each in relations}
    return found


def proved_in_child(
    *, spec: str, claim: str, data: str, view: str, call: str, arg: list[str], relation: str | None
) -> dict[str, Any]:
    """What is proved under each relation, as plain values; runs in the child."""
    from dpverify.base.text import arguments
    from dpverify.claims.curves import parse_claim
    from dpverify.claims.neighbours import View
    from dpverify.cli import isolated_command
    from dpverify.proof import prove
    from dpverify.wild.one_line import data_schema
    from dpverify.wild.schema import MOST_PUBLIC
    from dpverify.wild.trying import relations

    target = isolated_command.load_object(spec)
    schema = data_schema(data, most=MOST_PUBLIC)
    found: dict[str, Any] = {}
    for each in relations(schema, relation):
        if not _is_provable(target, call):
            found[str(each)] = {"problem": "only functions of the data and objects with `release` are proved"}
            continue
        try:
            stated = parse_claim(claim, relation=each, view=View(view))
            proof = prove(target, data=schema, relation=each, claim=stated, arguments=arguments(arg))
        except UsageError as error:
            found[str(each)] = {"problem": str(error)}
            continue
        found[str(each)] = {**proof.to_dict(), "seconds": proof.seconds}
    return found


def _is_provable(target: Any, call: str) -> bool:
    """Whether this is a function of the data or has `release`, and is called as such."""
    return (isfunction(target) or hasattr(target, "release")) and call in ("auto", "data", "target")


def _trace(wanted: Wanted, inside: Any, options: dict[str, Any], once: float = 0.0) -> dict[str, Any]:
    """What the tape says of pairs, by relation; nothing of code that does not come to an end in time."""
    from dpverify.auditing.tape_record import Taped
    from dpverify.cli import isolated_command
    from dpverify.execution.isolated import Limits
    from dpverify.wild.datasets import written

    asked = {
        "spec": wanted.target,
        "claim": wanted.claim,
        "data": wanted.data,
        "call": wanted.call,
        "arg": list(wanted.arg),
        "inside": written(inside),
        "seed": options["seed"],
        "trials": options["trials"],
        "once": once,
    }
    name = "dpverify.cli.certify_data:traced_in_child"
    limits = Limits(min(wanted.timeout, TRACED), wanted.memory)
    try:
        found = isolated_command.answer(name, asked, limits, missing="trace")
    except RunError as error:
        ended = "TIMEOUT" if "no answer within" in str(error) else "CRASH"
        return {grid[0].said: Taped.lost(ended, str(error), options["seed"]) for grid in inside.values() if grid}
    return {relation: decoded(Taped, each) for relation, each in found.items()}


def _is_proved(proof: dict[str, dict[str, Any]], relation: str | None) -> bool:
    """Whether the claim is proved: under all relations that were named, or under one of both where none was."""
    holds = [each.get("holds", False) for each in proof.values()]
    return bool(holds) and (any(holds) if relation is None else all(holds))


def _named_by_proof(proof: dict[str, Any], schema: Any, relation: Any) -> list[Any]:
    """The pair for which the proof's bound is meant to be attained, where datasets of its size are made."""
    from dpverify.wild.datasets import Candidate

    pair = proof.get("pair")
    if proof.get("holds") or not pair or any(not schema.rows[0] <= len(each) <= schema.rows[1] for each in pair):
        return []
    first, second = (tuple(tuple(row) for row in rows) for rows in pair)
    return [] if first == second else [Candidate("named by the proof", relation, first, second, "in", schema.unit)]


def _record_without_trials(
    wanted: Wanted, schema: Any, proof: dict[str, dict[str, Any]], seconds: float, *, code: dict[str, Any] | None = None
) -> "TryRecord":
    """The record of a claim that is proved, or refuted by the pair that the proof has named, without trials."""
    import platform

    from dpverify.wild.record import TryRecord

    shown = [relation for relation, each in proof.items() if each.get("holds") or code]
    fewest, most = schema.rows
    return TryRecord(
        command="certify",
        target=wanted.target,
        claim=wanted.claim,
        relation=" and ".join(shown),
        verdict="REFUTED" if code else "CERTIFIED",
        versions={"python": platform.python_version()},
        predicted_seconds=0.0,
        seconds=seconds,
        seed=wanted.options["seed"],
        notes=(f"for {fewest} to {most} rows" if not schema.local else "for every value of the record",),
        proof=proof,
        code=code or {},
    )


def with_proof(record: "TryRecord", proof: dict[str, dict[str, Any]], relation: str | None) -> "TryRecord":
    """A record of trials with what was proved; a claim that is proved and refuted is neither: one of both is wrong."""
    if not _is_proved(proof, relation):
        return replace(record, proof=proof)
    if record.verdict == "REFUTED":
        why = "proved from the code and refuted by trials or tape: one of them is wrong; please report it"
        return replace(record, proof=proof, verdict="INVALID", notes=(why, *record.notes))
    return replace(record, proof=proof, verdict="CERTIFIED")
