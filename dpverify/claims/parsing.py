"""Claims as they are written in reports and on the command line."""

import csv
from pathlib import Path
from typing import Any

from dpverify.claims.claim import ApproxDP, Claim, GaussianDP, PureDP, ZCDP
from dpverify.claims.curves import RenyiDP, TradeOff
from dpverify.errors import ParameterError, UsageError

_NUMBERS: dict[str, tuple[type[Claim], str]] = {
    "pure": (PureDP, "pure:EPS"),
    "approx": (ApproxDP, "approx:EPS,DELTA"),
    "zcdp": (ZCDP, "zcdp:RHO"),
    "gdp": (GaussianDP, "gdp:MU"),
}
_CURVES: dict[str, tuple[type[RenyiDP] | type[TradeOff], str]] = {
    "rdp": (RenyiDP, "rdp:ALPHA,EPS;ALPHA,EPS;..."),
    "tradeoff": (TradeOff, "tradeoff:FILE.csv or tradeoff:TYPE_I,TYPE_II;TYPE_I,TYPE_II;..."),
}
NOTIONS = (*_NUMBERS, *_CURVES)
FORMS = tuple(form for _, form in (*_NUMBERS.values(), *_CURVES.values()))


def parse_claim(text: str, **carried: Any) -> Claim:
    """Claim of a text: `pure:1.0`, `approx:1,1e-6`, `zcdp:0.5`, `gdp:1`, `rdp:2,0.5;8,1.1`, `tradeoff:FILE.csv`.

    The file has two columns, type I and type II errors, with or without a line of names. Numbers are in plain digits.
    `carried` is handed on (relation, view, ...). UsageError names what is allowed.
    """
    if not isinstance(text, str):
        raise ParameterError("claim", text, "a text such as 'pure:1.0'")
    notion, _, rest = text.partition(":")
    if notion in _CURVES:
        curve, form = _CURVES[notion]
        is_file = notion == "tradeoff" and "," not in rest
        rows = _rows(text, rest) if is_file else [pair.split(",") for pair in rest.split(";")]
        return curve(_pairs(text, form, rows), **carried)
    if notion not in _NUMBERS:
        raise UsageError(f"claim {text!r}: must be one of " + " | ".join(FORMS))
    kind, form = _NUMBERS[notion]
    values = _floats(text, form, rest.split(","))
    if len(values) != form.count(",") + 1:
        raise UsageError(f"claim {text!r}: must look like {form}")
    return kind(*values, **carried)


def _floats(text: str, form: str, parts: list[str]) -> list[float]:
    try:
        return [_number(part) for part in parts]
    except ValueError:
        raise UsageError(f"claim {text!r}: must look like {form}") from None


def _number(text: str) -> float:
    """A float; ValueError for digits of other scripts and for underscores, which `float` lets through."""
    if not text.isascii() or "_" in text:
        raise ValueError(text)
    return float(text)


def _pairs(text: str, form: str, rows: list[list[str]]) -> tuple[tuple[float, float], ...]:
    if any(len(row) != 2 for row in rows):
        raise UsageError(f"claim {text!r}: must look like {form}")
    return tuple((first, second) for first, second in (_floats(text, form, row) for row in rows))


def _rows(text: str, name: str) -> list[list[str]]:
    """The rows of a file of two columns. Names of columns are words: a line with one number is a broken row."""
    try:
        rows = list(csv.reader(Path(name).read_text(encoding="utf-8-sig").splitlines()))
    except (OSError, ValueError, csv.Error) as error:  # ValueError: names and bytes that are no text
        raise UsageError(f"claim {text!r}: cannot read the file {name!r} ({error})") from None
    found: list[list[str]] = []
    for number, row in enumerate(rows, start=1):
        cells = [cell for cell in row if _is_number(cell)]
        if not row or (number == 1 and not cells):
            continue
        if len(row) != 2 or len(cells) != 2:
            raise UsageError(f"{name}, line {number}: {','.join(row)!r} must be TYPE_I,TYPE_II")
        found.append(cells)
    if not found:
        raise UsageError(f"{name}: holds no line TYPE_I,TYPE_II")
    return found


def _is_number(text: str) -> bool:
    try:
        _number(text)
    except ValueError:
        return False
    return True
