"""What a command line asks for, as plain values; imports no command line, so that other interpreters can answer it."""

import ast
from pathlib import Path
from typing import Any

from dpverify.base import search_path
from dpverify.errors import UsageError


def arguments(texts: list[str]) -> dict[str, Any]:
    """{name: value} of NAME=VALUE, each value as Python writes it; UsageError for anything else."""
    found: dict[str, Any] = {}
    for each in texts:
        name, sign, value = each.partition("=")
        if not sign or not name.isidentifier():
            raise UsageError(f"--arg {each!r}: must look like NAME=VALUE")
        try:
            found[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            raise UsageError(f"--arg {each!r}: the value must be a number, tuple, ... as Python writes it; a text "
                             f"in quotes: --arg \"{name}='{value}'\"") from None  # fmt: skip
    return found


def replayed(
    *, target: str, claim: str, schema: str, arg: list[str], out: list[str], public: list[str], **settings: Any
) -> dict[str, Any]:
    """Lines, document and exit code of a replay in this process."""
    from dpverify.claims.parsing import parse_claim
    from dpverify.wild.record import lines
    from dpverify.wild.replaying import replay

    search_path.add(str(Path.cwd()))
    record = replay(target, claim=parse_claim(claim), schema=schema, arguments=arguments(arg), out=tuple(out),
                    public=tuple(public), **settings)  # fmt: skip
    return {"lines": lines(record), "document": record.to_dict(), "code": record.exit_code}
