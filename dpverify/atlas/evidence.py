"""`[[evidence]]` of an entry: a function of the folder, or a run of `try` or `replay` in a library's interpreter."""

import re
from typing import Any

from dpverify.atlas.entry import Evidence, METHODS, Run, RUNS
from dpverify.atlas.fields import Table

FORMS = ("equals", "near", "between", "at_least", "at_most", "one_of")
WORDS = {"try": ("REFUTED", "NOT_REFUTED", "INCONCLUSIVE"), "replay": ("KEPT", "OVER", "UNDECIDED", "REFUTED")}
BOTH = ("relation", "public", "out", "call")
OPTIONS = {  # of the command; the rest has its defaults
    "try": (*BOTH, "minutes", "out_of_domain", "encode"),
    "replay": (*BOTH, "pairs", "calls", "confirm"),
}


def read_evidence(table: Table) -> Evidence:
    """One table; UsageError where it is none."""
    by = table.choice("by", METHODS)
    form, bounds = _stated(table, WORDS.get(by, ()))
    run, call = (_run(table, by), "") if by in RUNS else (None, _call(table))
    found = Evidence(
        by=by,
        what=table.text("what"),
        call=call,
        arguments=table.mapping("arguments"),
        form=form,
        bounds=bounds,
        reading=table.text("reading", ""),
        false_above=table.optional("false_above"),
        false_below=table.optional("false_below"),
        false_if=_false_if(table, WORDS.get(by, ())),
        slow=table.flag("slow"),
        run=run,
        planted=table.flag("planted"),
        repeated=table.text("repeated", ""),
    )
    table.done()
    return found


def _stated(table: Table, words: tuple[str, ...]) -> tuple[str, tuple[float | bool | str, ...]]:
    given = [form for form in FORMS if form in table]
    if len(given) != 1:
        raise table.wrong("equals", "given, or near, between, at_least or at_most; exactly one of them")
    form = given[0]
    value = table.any(form)
    bounds = tuple(value) if isinstance(value, list) else (value,)
    if words or form == "one_of":
        if form not in ("equals", "one_of") or not bounds or not all(each in words for each in bounds):
            raise table.wrong(form, "of " + ", ".join(words) if words else "left out: it is for try and replay")
        return form, bounds
    wanted = 2 if form in ("near", "between") else 1
    truth = form == "equals" and isinstance(value, bool)
    numbers = all(isinstance(each, int | float) and not isinstance(each, bool) and each == each for each in bounds)
    if len(bounds) != wanted or not (truth or numbers):
        raise table.wrong(form, "two numbers" if wanted == 2 else "a number (or, for equals, true or false)")
    return form, bounds


def _false_if(table: Table, words: tuple[str, ...]) -> bool | str | None:
    if "false_if" not in table:
        return None
    return table.choice("false_if", words) if words else table.flag("false_if")


def _call(table: Table) -> str:
    call = table.text("call")
    if not re.fullmatch(r"[\w/.-]+\.py:\w+", call) or ".." in call or call.startswith("/"):
        raise table.wrong("call", "FILE.py:FUNCTION, in the folder of the entries")
    return call


def _run(table: Table, by: str) -> Run:
    target, schema = table.text("target"), table.text("schema")
    if not re.fullmatch(r"[\w/.-]+:[\w.]+", target) or ".." in target or target.startswith("/"):
        raise table.wrong("target", "MODULE:OBJECT, or FILE.py:OBJECT in the folder of the entries")
    if not re.fullmatch(r"[\w/.-]+\.toml", schema) or ".." in schema or schema.startswith("/"):
        raise table.wrong("schema", "FILE.toml, in the folder of the entries")
    options: dict[str, Any] = {name: table.any(name) for name in OPTIONS[by] if name in table}
    return Run(target=target, claim=table.text("claim"), schema=schema, options=options)
