"""A schema from a CSV file, to be edited: kinds and observed ranges, which are no public bounds."""

import csv
import json
import math
from pathlib import Path

from dpverify.base.errors import UsageError
from dpverify.base.text import clean

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
    if len(rows) < 2 or any(len(row) != len(rows[0]) for row in rows) or len(set(rows[0])) != len(rows[0]):
        raise UsageError(f"{path}: must have a line of different names and lines of as many cells")
    most = min(20, len(rows) - 1)
    parts = [WARNING, f'[data]\nas = "frame"\nrows = [{min(4, most)}, {most}]\n']
    for at, name in enumerate(rows[0]):
        parts.append(_column(name, [row[at].strip() for row in rows[1:]]))
    return "\n".join(parts)


def _column(name: str, cells: list[str]) -> str:
    held = [each for each in cells if each.lower() not in MISSING]
    lines = [f"[columns.{json.dumps(name)}]"]
    numbers = _numbers(held)
    if numbers is not None:
        whole = all(each.is_integer() for each in numbers)
        low, high = min(numbers), max(numbers)
        high = high if high > low else low + 1
        lines += [f'kind = "{"integer" if whole else "real"}"', f"low = {low:g}", f"high = {high:g}"]
    elif 0 < len(set(held)) <= FEW:
        values = sorted({*held, *(["other"] if len(set(held)) == 1 else [])})
        lines += ['kind = "category"', "values = " + json.dumps(values)]
    else:
        lines += ['kind = "text"']
    if len(held) < len(cells):
        lines.append("missing = true")
    return "\n".join(lines) + "\n"


def _numbers(cells: list[str]) -> list[float] | None:
    try:
        found = [float(each) for each in cells]
    except ValueError:
        return None
    return found if found and all(map(math.isfinite, found)) else None
