"""What data look like: columns with public bounds, the container that the library takes, how many rows.

Read from TOML. Every error names the column and the key; unknown keys are refused.

    [data]                       as: the container; rows: fewest and most; features, label: for `args`
    [columns.NAME]               kind real | integer | category | weight | text | id | unit; low, high; values, open;
                                 missing; all_present = true: every dataset has a record of each value
                                 of a unit, whose rows are added, removed or replaced together: most, its most rows
                                 (default: all); hidden = true: the code does not get this column
    [public]                     size = true: the number of records is public
"""

import csv
import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dpverify.base.text import clean
from dpverify.claims.claim import Claim
from dpverify.claims.neighbours import Unit, View
from dpverify.errors import UsageError

CONTAINERS = ("columns", "keywords", "frame", "array", "vector", "list", "args", "records", "value")
KINDS = ("real", "integer", "category", "weight", "text", "id", "unit")
NUMERIC = ("real", "integer", "weight")
KEYS = {
    "data": ("as", "rows", "features", "label"),
    "column": ("kind", "low", "high", "values", "open", "missing", "all_present", "most", "hidden"),
    "public": ("size",),
}
TEXTS = ("a", "b", "c", "ab", "x y", "")  # of a text column without `values`
MOST_ROWS = 10_000  # of a dataset that is made for trials
MOST_PUBLIC = 10**9  # of a schema that only a proof reads


@dataclass(frozen=True)
class Column:
    """One column: numbers in [low, high], or one of `values`.

    `missing`: None is a legal value. `open`: values never seen before are legal. `all_present`: each of `values` occurs
    in every dataset, which everybody may know: what a classifier demands of its labels.
    """

    name: str
    kind: str
    low: float = 0.0
    high: float = 1.0
    values: tuple[Any, ...] = ()
    open: bool = False
    missing: bool = False
    all_present: bool = False
    most: int = 0
    hidden: bool = False

    @property
    def names(self) -> bool:
        """Names a row or a user: no value by itself."""
        return self.kind in ("id", "unit")

    @property
    def numeric(self) -> bool:
        """Numbers with bounds."""
        return self.kind in NUMERIC

    @property
    def whole(self) -> bool:
        """Whole numbers."""
        return self.kind == "integer" or self.names

    def extremes(self) -> tuple[Any, Any]:
        """The two values that lie farthest apart."""
        if self.numeric:
            return self.number(self.low), self.number(self.high)
        if self.names:
            return 0, 10**6
        return self.values[0], self.values[-1]

    def number(self, value: float) -> Any:
        """In the column's own type."""
        return round(value) if self.whole else float(value)


@dataclass(frozen=True)
class Schema:
    """Columns in their order, the container, and the numbers of rows that are legal."""

    container: str
    columns: tuple[Column, ...]
    rows: tuple[int, int] = (4, 20)
    features: tuple[str, ...] = ()
    label: str = ""
    public_size: bool = False
    source: str = field(default="", compare=False)

    @property
    def local(self) -> bool:
        """One record is the whole dataset: the local view."""
        return self.container == "value"

    @property
    def unit(self) -> int | None:
        """The place of the column that says whose row it is, where a user has many rows."""
        return next((at for at, each in enumerate(self.columns) if each.kind == "unit"), None)

    def column(self, name: str) -> Column:
        """The column of this name."""
        return next(each for each in self.columns if each.name == name)


def fit_claim(claim: Claim, schema: Schema) -> Claim:
    """State the claim about what the schema protects: its view, and its unit.

    Parameters
    ----------
    claim : Claim
        About records, unless it says otherwise.
    schema : Schema
        A column of kind "unit" says that users are protected; a single value, that it is the local view.

    Returns
    -------
    Claim
        The same number with the view and the unit of the schema.

    Raises
    ------
    UsageError
        For a claim about users or trajectories where a row is all that the schema knows of them.

    Examples
    --------
    >>> from dpverify import PureDP
    >>> from dpverify.wild.one_line import data_schema
    >>> fit_claim(PureDP(1), data_schema("value: category yes|no")).view
    <View.LOCAL: 'local'>
    """
    if claim.unit is not Unit.RECORD and schema.unit is None:
        whose = "users" if claim.unit is Unit.USER else "trajectories"
        raise UsageError(
            f'{schema.source}: the claim is about {whose} with many rows; the schema needs a column of kind = "unit" '
            f"(most = 1 where each has one row)"
        )
    view = View.LOCAL if schema.local else claim.view
    return replace(claim, view=view, unit=Unit.RECORD if schema.unit is None else Unit.USER)


def read_schema(path: str | Path, *, most: int = MOST_ROWS) -> Schema:
    """The schema of a TOML file; UsageError with file, column and key."""
    try:
        with Path(path).open("rb") as file:
            return parse(tomllib.load(file), str(path), most=most)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: no TOML ({clean(error)})") from None


def limit_rows(schema: Schema) -> Schema:
    """The same schema with the numbers of rows of which datasets are made; UsageError where it has none."""
    fewest, most = schema.rows
    if fewest > MOST_ROWS:
        raise UsageError(f"{schema.source}: no datasets of {fewest} rows are made, at most {MOST_ROWS}")
    return replace(schema, rows=(fewest, min(most, MOST_ROWS)))


def parse(document: Mapping[str, Any], source: str = "schema", *, most: int = MOST_ROWS) -> Schema:
    """The schema of a document; UsageError for every key that is not as above, and for more than `most` rows."""
    _known(document, ("data", "columns", "public"), source)
    data, public = _table(document, "data", source), _table(document, "public", source)
    columns = _table(document, "columns", source)
    _known(data, KEYS["data"], f"{source} [data]")
    _known(public, KEYS["public"], f"{source} [public]")
    container = data.get("as", "columns")
    if container not in CONTAINERS:
        raise UsageError(f"{source} [data] as = {container!r}: must be one of " + ", ".join(CONTAINERS))
    if not columns:
        raise UsageError(f"{source}: needs a table [columns.NAME] for each column")
    found = tuple(_column(name, table, source) for name, table in columns.items())
    rows = data.get("rows", [1, 1] if container == "value" else [4, 20])
    whole = isinstance(rows, list) and len(rows) == 2 and all(type(each) is int for each in rows)
    if not whole or not 0 <= rows[0] <= rows[1] <= most:
        raise UsageError(f"{source} [data] rows = {rows!r}: must be [fewest, most] with 0 <= fewest <= most <= {most}")
    size = public.get("size", False)
    _is(bool, size, f"{source} [public] size")
    units = [each.name for each in found if each.kind == "unit"]
    if len(units) > 1:
        raise UsageError(f"{source}: one column may be of kind unit; here are " + ", ".join(units))
    found = tuple(_of_data(each, rows[1], container) for each in found)
    schema = Schema(container, found, (rows[0], rows[1]), *_roles(data, found, container, source), size, source)
    _fits(schema)
    return schema


def _of_data(column: Column, rows: int, container: str) -> Column:
    """A unit may have all rows where `most` is not given; a vector or list of one column has no room for it."""
    if column.kind != "unit":
        return column
    return replace(column, most=column.most or max(1, rows), hidden=column.hidden or container in ("vector", "list"))


def as_schema(schema: Any) -> Schema:
    """A schema from what a caller has: a schema, the content of a file, or its name."""
    if isinstance(schema, Schema):
        return schema
    return parse(schema) if isinstance(schema, dict) else read_schema(schema)


def _roles(data: Mapping[str, Any], columns: tuple[Column, ...], container: str, source: str) -> tuple[Any, str]:
    names = [each.name for each in columns if each.kind != "unit"]
    features, label = data.get("features"), data.get("label")
    if container != "args":
        if features is not None or label is not None:
            raise UsageError(f'{source} [data] features, label: only where as = "args"')
        return (), ""
    if label is None:
        label = names[-1] if features is None and len(names) > 1 else ""
    if features is None:
        features = [each for each in names if each != label]
    if not isinstance(features, list) or not features or not all(each in names for each in features):
        raise UsageError(f"{source} [data] features = {features!r}: must be a list of columns: " + ", ".join(names))
    if label and label not in names:
        raise UsageError(f"{source} [data] label = {label!r}: must be one of " + ", ".join(names))
    return tuple(features), label


def _fits(schema: Schema) -> None:
    numbers = all(each.numeric or _numbers(each.values) for each in schema.columns)
    where = f"{schema.source} [data] as = {schema.container!r}"
    shown = [each for each in schema.columns if not each.hidden]
    if schema.container in ("vector", "list") and len(shown) != 1:
        raise UsageError(f"{where}: has one column, here are {len(shown)}")
    if not shown or (schema.local and schema.unit is not None):
        raise UsageError(
            f"{where}: needs a column beside the unit's"
            if not shown
            else f"{where}: one record is the whole dataset, a unit has no more rows"
        )
    if schema.container == "array" and not numbers:
        raise UsageError(f"{where}: an array has columns of numbers only")
    for each in schema.columns:
        least = len(each.values) + 1
        if each.all_present and schema.rows[0] < least:
            raise UsageError(
                f"{schema.source} [columns.{each.name}] all_present: needs rows = [{least}, ...] or more "
                f"in [data], one more than the values; here the fewest are {schema.rows[0]}"
            )
    if schema.container == "args" and not all(
        schema.column(each).numeric or _numbers(schema.column(each).values) for each in schema.features
    ):
        raise UsageError(f"{where}: features are columns of numbers")


def _numbers(values: tuple[Any, ...]) -> bool:
    return bool(values) and all(type(each) in (int, float) for each in values)


def _column(name: str, table: Any, source: str) -> Column:
    where = f"{source} [columns.{name}]"
    if not isinstance(table, dict):
        raise UsageError(f"{where}: must be a table")
    _known(table, KEYS["column"], where)
    kind = table.get("kind")
    if kind not in KINDS:
        raise UsageError(f"{where} kind = {kind!r}: must be one of " + ", ".join(KINDS))
    for key in ("open", "missing", "all_present"):
        _is(bool, table.get(key, False), f"{where} {key}")
    if kind == "unit":
        return _unit(name, table, where)
    for key in ("most", "hidden"):
        if key in table:
            raise UsageError(f"{where} {key}: only for a column of kind unit")
    if kind in NUMERIC:
        if any(key in table for key in ("values", "open", "all_present")):
            raise UsageError(f"{where}: values, open, all_present: only for categories and texts")
        low, high = (_bound(table, key, where) for key in ("low", "high"))
        if not low <= high:
            raise UsageError(f"{where} low = {low:g}, high = {high:g}: low must not be above high")
        if kind == "integer":
            whole = float(math.ceil(low)), float(math.floor(high))
            if not whole[0] <= whole[1]:
                raise UsageError(f"{where} low = {low:g}, high = {high:g}: there is no whole number between them")
            low, high = whole
        return Column(name, kind, low, high, missing=table.get("missing", False))
    if "low" in table or "high" in table:
        raise UsageError(f"{where}: low, high: only for numbers")
    values = table.get("values", list(TEXTS) if kind == "text" else list(range(8)) if kind == "id" else None)
    if not isinstance(values, list) or not values or len({repr(each) for each in values}) != len(values):
        raise UsageError(f"{where} values = {values!r}: must be a list of different values, at least one")
    if not all(type(each) in (int, float, str, bool) for each in values):
        raise UsageError(f"{where} values = {values!r}: must be numbers, texts or booleans")
    flags = {key: table.get(key, False) for key in ("open", "missing", "all_present")}
    if flags["all_present"] and kind == "id":
        raise UsageError(f"{where} all_present: only for categories and texts")
    return Column(name, kind, values=tuple(values), **flags)


def _unit(name: str, table: Mapping[str, Any], where: str) -> Column:
    for key in table:
        if key not in ("kind", "most", "hidden"):
            raise UsageError(f"{where} {key}: not for a column of kind unit")
    most, hidden = table.get("most", MOST_ROWS), table.get("hidden", False)
    if type(most) is not int or not 1 <= most <= MOST_ROWS:
        raise UsageError(f"{where} most = {most!r}: must be a whole number of rows, 1 to {MOST_ROWS}")
    _is(bool, hidden, f"{where} hidden")
    return Column(name, "unit", values=tuple(range(8)), most=most if "most" in table else 0, hidden=hidden)


def _bound(table: Mapping[str, Any], key: str, where: str) -> float:
    if key not in table:
        raise UsageError(f"{where}: needs {key}, the public bound of the column")
    value = table[key]
    if type(value) not in (int, float) or not math.isfinite(value):
        raise UsageError(f"{where} {key} = {value!r}: must be a finite number")
    return float(value)


def _table(document: Mapping[str, Any], name: str, source: str) -> Mapping[str, Any]:
    table = document.get(name, {})
    if not isinstance(table, dict):
        raise UsageError(f"{source} [{name}]: must be a table")
    return table


def _known(table: Mapping[str, Any], allowed: tuple[str, ...], where: str) -> None:
    for key in table:
        if key not in allowed:
            raise UsageError(f"{where}: unknown key {key!r}; allowed: " + ", ".join(allowed))


def _is(kind: type, value: Any, where: str) -> None:
    if type(value) is not kind:
        raise UsageError(f"{where} = {value!r}: must be true or false")


# ----------------------------------------------------------------------------------------------------------------------
# A schema from a CSV file, to be edited: kinds and observed ranges, which are no public bounds.


WARNING = """\
# Ranges and values below were OBSERVED in the file. They are no public bounds: replace them by what is known of
# the data without looking at them.
"""
FEW = 20  # different texts that are a category
MISSING = ("", "na", "nan", "null", "none")


def sketch(path: str | Path) -> str:
    """The text of a schema; UsageError for a file that is no table."""
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.reader(file))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{path}: no CSV ({clean(error)})") from None
    if not rows or any(len(row) != len(rows[0]) for row in rows) or len(set(rows[0])) != len(rows[0]):
        raise UsageError(f"{path}: must have a line of different names and lines of as many cells")
    most = min(20, len(rows) - 1)
    parts = [WARNING, f'[data]\nas = "frame"\nrows = [{max(0, min(4, most - 1))}, {most}]\n']
    for at, name in enumerate(rows[0]):
        parts.append(_sketched(name, [row[at].strip() for row in rows[1:]]))
    return "\n".join(parts)


def _sketched(name: str, cells: list[str]) -> str:
    held = [each for each in cells if each.lower() not in MISSING]
    lines = [f"[columns.{json.dumps(name)}]"]
    numbers = _as_numbers(held)
    if numbers is not None:
        whole = all(each.is_integer() for each in numbers)
        low, high = min(numbers), max(numbers)
        lines += [f'kind = "{"integer" if whole else "real"}"', f"low = {low!r}", f"high = {high!r}"]
    elif 0 < len(set(held)) <= FEW:
        lines += ['kind = "category"', "values = " + json.dumps(sorted(set(held)))]
    else:
        lines += ['kind = "text"']
    if len(held) < len(cells):
        lines.append("missing = true")
    return "\n".join(lines) + "\n"


def _as_numbers(cells: list[str]) -> list[float] | None:
    try:
        found = [float(each) for each in cells]
    except ValueError:
        return None
    return found if found and all(map(math.isfinite, found)) else None
