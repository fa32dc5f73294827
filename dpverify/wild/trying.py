"""`try`: trials on many generated pairs of a function that somebody else wrote.

schema -> pairs -> a first pass of sequential audits -> rounds for the best -> witness -> a script without dpverify.
"""

from pathlib import Path
from typing import Any

from dpverify.claims.claim import Claim
from dpverify.wild.options import Options, source_of
from dpverify.wild.record import TryRecord
from dpverify.wild.schema import as_schema, Schema
from dpverify.wild.trial import Say, Trial


def try_out(
    target: Any,
    *,
    claim: Claim,
    schema: Schema | dict[str, Any] | str | Path,
    call: str = "auto",
    arguments: dict[str, Any] | None = None,
    encode: Any = None,
    python: str = "",
    cwd: str | None = None,
    timeout_s: float = 10.0,
    say: Say | None = None,
    **options: Any,
) -> TryRecord:
    """Tries a claim on pairs made from a schema.

    Raises UsageError for a request that is not allowed, TargetError for a target that fails; neither is a verdict.

    Parameters
    ----------
    target
        A function, a class with `fit` or an object with `release`, called in this process; or a text MODULE:OBJECT,
        which runs in an interpreter of its own (`python`, default this one), watched.
    claim, schema
        What is promised, and what data look like: a TOML file, its content, or a `Schema`.
    call, arguments, encode
        How it is called (see `remote.calling`), with which arguments, and a function output -> fields.
    options
        Fields of `Options`.
    """
    asked = Options(**options)
    found = as_schema(schema)
    source = source_of(target, call=call, arguments=arguments, encode=encode, python=python, cwd=cwd,
                       timeout_s=timeout_s)  # fmt: skip
    try:
        return Trial(source, claim, found, asked, arguments or {}, say or (lambda line: None), cwd).run()
    finally:
        source.close()


def planned(
    target: Any, *, claim: Claim, schema: Any, say: Say, python: str = "", cwd: str | None = None,
    timeout_s: float = 10.0, call: str = "auto", arguments: dict[str, Any] | None = None, encode: Any = None,
    **options: Any,
) -> None:  # fmt: skip
    """Says which pairs there would be, and how long they would take."""
    source = source_of(target, call=call, arguments=arguments, encode=encode, python=python, cwd=cwd,
                       timeout_s=timeout_s)  # fmt: skip
    try:
        trial = Trial(source, claim, as_schema(schema), Options(**options), arguments or {}, say, cwd)
        for group in (*trial.inside.values(), trial.outside):
            for each in group:
                say(f"{each.relation}: {each.name}" + ("" if each.domain == "in" else " (outside of the domain)"))
        trial.forecast()
    finally:
        source.close()
