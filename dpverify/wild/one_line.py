"""What data look like, in one line: `list: real 0..100, rows 5..50`; for everything else there is the TOML file.

SHAPE: COLUMN, COLUMN, ..., rows FEWEST..MOST
COLUMN     [NAME] KIND LOW..HIGH  or  [NAME] category A|B|C  or  [NAME] text  or  [NAME] id
followed by `missing` where None or NaN is legal, by `open` where a category may have values that were never seen, by
`all_present` where each of them occurs in every dataset; `x N` for N columns alike. Values of a category are whole
numbers, numbers, True|False or texts, all of one kind.
SHAPE      a container of `schema.CONTAINERS`
"""

import inspect
import re
from collections.abc import Callable
from typing import Any

from dpverify.errors import UsageError
from dpverify.wild.schema import CONTAINERS, KINDS, MOST_ROWS, NUMERIC, parse, read_schema, Schema

EXAMPLES = {
    "list": "list: real 0..100, rows 5..50",
    "vector": "vector: real 0..100, rows 5..50",
    "array": "array: real -1..1 x 10, rows 100",
    "frame": "frame: age integer 0..120, income real 0..1e5, rows 20",
    "records": "records: age integer 0..120, income real 0..1e5, rows 20",
    "value": "value: category a|b|c",
    "args": "args: real -1..1 x 3, label category 0|1, rows 50",
}
FLAGS = ("missing", "open", "all_present")
_GUESSES = (  # parts of an annotation or a name, and the shape that they mean
    ("DataFrame", "frame"),
    ("dict", "records"),
    ("list", "list"),
    ("Sequence", "list"),
    ("ndarray", "vector"),
    ("str", "value"),
    ("bool", "value"),
    ("int", "value"),
    ("float", "value"),
)


def data_schema(spec: str, *, most: int = MOST_ROWS) -> Schema:
    """The schema of one line, or of the TOML file of that name; UsageError for what is neither.

    `most` is the largest number of rows: that of datasets which are made; a proof takes more.
    """
    shape, colon, rest = spec.partition(":")
    if not colon or shape.strip() not in CONTAINERS:
        if spec.endswith(".toml"):
            return read_schema(spec, most=most)
        known = f"SHAPE: COLUMNS, rows A..B with a shape of {', '.join(CONTAINERS)}, e.g. {EXAMPLES['list']!r}"
        raise UsageError(f"--data {spec!r}: neither a TOML file nor {known}")
    where, rows = f"--data {spec!r}", None
    columns: dict[str, dict[str, Any]] = {}
    for part in rest.split(","):
        words = part.split()
        if words[:1] == ["rows"]:
            rows = _range(words[1:], where, whole=True)
        elif words:
            columns.update(_columns(words, where, len(columns)))
    label = "label" if shape.strip() == "args" and "label" in columns else None
    data = {"as": shape.strip(), **({} if rows is None else {"rows": rows}), **({"label": label} if label else {})}
    return parse({"data": data, "columns": columns}, where, most=most)


def _columns(words: list[str], where: str, before: int) -> dict[str, dict[str, Any]]:
    at = next((place for place, word in enumerate(words[:2]) if word in KINDS), None)
    if at is None:
        raise UsageError(f"{where}: {' '.join(words)!r} has no kind; one of " + ", ".join(KINDS))
    kind, rest = words[at], words[at + 1 :]
    table: dict[str, Any] = {"kind": kind}
    alike = 1
    if len(rest) >= 2 and rest[-2] == "x" and rest[-1].isdigit():
        alike, rest = int(rest[-1]), rest[:-2]
    while rest[-1:] and rest[-1] in FLAGS:
        table[rest[-1]], rest = True, rest[:-1]
    if kind in NUMERIC:
        table["low"], table["high"] = _range(rest, where)
    elif kind == "unit":
        if rest:
            table["most"] = _range(rest, where, whole=True)[1]
    elif rest:
        table["values"] = _values(" ".join(rest).split("|"), where)
    name = words[0] if at else f"x{before}" if before else "x"
    return {name if alike == 1 else f"{name}_{number}": dict(table) for number in range(alike)} if alike else {}


def _range(words: list[str], where: str, *, whole: bool = False) -> list[Any]:
    low, dots, high = "".join(words).partition("..")
    kind: Callable[[str], Any] = int if whole else float
    try:
        return [kind(low), kind(high if dots else low)]
    except ValueError:
        need = "rows need FEWEST..MOST, whole numbers" if whole else "a column of numbers needs LOW..HIGH"
        raise UsageError(f"{where}: {need}, here {' '.join(words) or 'nothing'!r}") from None


def _values(texts: list[str], where: str) -> list[int | float | str | bool]:
    """The values of a category, as numbers, booleans or texts; UsageError where they are of several kinds."""
    values = [_value(each.strip()) for each in texts]
    kinds = {type(each) for each in values} - ({int} if any(type(each) is float for each in values) else set())
    if len(kinds) > 1:
        raise UsageError(f"{where}: the values {'|'.join(texts)} are of several kinds; a TOML file can have them")
    return values


def _value(text: str) -> int | float | str | bool:
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if re.fullmatch(r"-?\d*\.\d+|-?\d+\.", text):
        return float(text)
    return {"True": True, "False": False}.get(text, text)


def guessed(function: Any) -> str:
    """An example of a line for the first parameter of a function, by its annotation or else its default shape."""
    try:
        first = next(iter(inspect.signature(function).parameters.values()))
    except (TypeError, ValueError, StopIteration):
        return EXAMPLES["list"]
    note = "" if first.annotation is first.empty else getattr(first.annotation, "__name__", "") + str(first.annotation)
    return EXAMPLES[next((shape for part, shape in _GUESSES if part in note), "vector")]
