"""Any output as flat fields, nothing dropped: `encode(value) -> {path: number or text}`.

    number, bool            path, path:type
    array, list, tuple      path# = length or shape, path:type, path[i][j]
    dict                    path.keys = keys in their order, path['key']
    frame, series           path.columns, path.index (where it is not 0, 1, ...), path.name and path.attrs (where it has
                            any), path# = rows, path['column'][i]
    fitted model            every public attribute that ends in _
    torch module, tensor    its state, its numbers
    text, bytes, category   path
    None, NaN, +-inf        "None"; the numbers themselves: symbols of their own, never 0
    anything else           repr without addresses, with a note

Paths read like Python: `coef_[0]`, `output['age'][3]`.
"""

from __future__ import annotations

import re
from typing import Any

ROOT = "output"
MOST = 20_000  # fields of one release
DEEPEST = 12
EXACT = 2**53  # whole numbers beyond are no floats
ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


class TooMuch(ValueError):
    """An output of more fields than can be compared."""


def encode(value: Any) -> dict[str, float | str]:
    """The fields of one output; TooMuch beyond 20,000."""
    return encoded(value)[0]


def encoded(value: Any) -> tuple[dict[str, float | str], list[str]]:
    """The fields, and names of types that were encoded by their repr."""
    found: dict[str, Any] = {}
    notes: list[str] = []
    _walk(value, ROOT, found, notes, DEEPEST)
    return found, notes


def raised(error: BaseException) -> dict[str, float | str]:
    """An exception as an output: its type, and its message with numbers masked."""
    found: dict[str, float | str] = {"!" + type(error).__name__: 1.0}
    try:
        found["!message"] = NUMBER.sub("N", str(error))[:200]
    except Exception:  # foreign code
        found["!message"] = "(no text)"
    return found


def _walk(value: Any, path: str, found: dict[str, Any], notes: list[str], depth: int) -> None:
    kind = type(value)
    if len(found) > MOST:
        raise TooMuch(f"more than {MOST} numbers in one release")
    if value is None:
        found[path] = "None"
    elif kind in (bool, int, float, complex):
        _number(value, path, found, kind.__name__)
    elif kind is str or kind is bytes:
        found[path] = value if kind is str else repr(value)
    elif depth == 0:
        _by_repr(value, path, found, notes)
    elif kind in (list, tuple):
        found[path + ":type"] = kind.__name__
        found[path + "#"] = float(len(value))
        for at, each in enumerate(value):
            _walk(each, f"{path}[{at}]", found, notes, depth - 1)
    elif isinstance(value, dict):
        _mapping(value, path, found, notes, depth)
    elif kind in (set, frozenset):
        _walk(sorted(map(repr, value)), path, found, notes, depth)
    elif hasattr(value, "detach") and hasattr(value, "cpu"):  # a tensor
        _walk(value.detach().cpu().numpy(), path, found, notes, depth)
    elif hasattr(value, "dtype") and hasattr(value, "tolist") and hasattr(value, "shape"):
        _array(value, path, found, notes, depth)
    elif hasattr(value, "fit") and hasattr(value, "get_params"):
        for name in fitted(value):
            _walk(getattr(value, name), name if path == ROOT else f"{path}.{name}", found, notes, depth - 1)
    elif hasattr(value, "columns") and hasattr(value, "iloc"):
        _frame(value, path, found, notes, depth)
    elif callable(getattr(value, "state_dict", None)):
        _mapping(dict(value.state_dict()), path, found, notes, depth)
    elif callable(getattr(value, "toarray", None)):
        _walk(value.toarray(), path, found, notes, depth - 1)
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        _mapping(dict(zip(value._fields, value)), path, found, notes, depth)  # noqa: B905
    elif hasattr(kind, "__dataclass_fields__"):
        _mapping({name: getattr(value, name) for name in kind.__dataclass_fields__}, path, found, notes, depth)
    elif isinstance(value, (int, float, str)):  # a subclass
        _walk(
            (int if isinstance(value, int) else float if isinstance(value, float) else str)(value),
            path,
            found,
            notes,
            depth - 1,
        )
        found[path + ":type"] = kind.__name__
    elif hasattr(value, "__array__") and getattr(value.__array__(), "shape", None) == ():  # a number of another library
        _walk(value.__array__().tolist(), path, found, notes, depth - 1)
    elif isinstance(value, (list, tuple)):
        _walk(list(value), path, found, notes, depth - 1)
        found[path + ":type"] = kind.__name__
    else:
        _by_repr(value, path, found, notes)


def fitted(model: Any) -> list[str]:
    """Public attributes that end in _, sorted: what a fitted model releases, noised or not."""
    names = {*vars(model), *(name for kind in type(model).__mro__ for name in vars(kind))}
    return sorted(each for each in names if each.endswith("_") and not each.startswith("_") and _has(model, each))


def _has(model: Any, name: str) -> bool:
    try:
        return not callable(getattr(model, name))
    except Exception:  # a property that this model does not have
        return False


def _number(value: Any, path: str, found: dict[str, Any], kind: str) -> None:
    found[path + ":type"] = kind
    if isinstance(value, complex):
        found[path + ".real"], found[path + ".imag"] = value.real, value.imag
    elif isinstance(value, int) and abs(value) > EXACT:
        found[path] = str(value) if abs(value) < 1 << 4096 else hex(value)
    else:
        found[path] = float(value)


def _mapping(value: Any, path: str, found: dict[str, Any], notes: list[str], depth: int) -> None:
    found[path + ".keys"] = ", ".join(map(_key, value))  # in their order, which may be that of the data
    for key in value:
        _walk(value[key], f"{path}[{_key(key)}]", found, notes, depth - 1)


def _key(key: Any) -> str:
    return ADDRESS.sub("0x", repr(key))


def _array(value: Any, path: str, found: dict[str, Any], notes: list[str], depth: int) -> None:
    """NumPy's arrays and scalars, and series of pandas."""
    if hasattr(value, "index") and hasattr(value, "iloc"):
        _index(value, path, found, notes, depth)
    shape = tuple(value.shape)
    found[path + ":type"] = _dtype(value)
    size = 1
    for each in shape:
        size *= each
    if size > MOST:
        raise TooMuch(f"an array of {size} numbers; more than {MOST} cannot be compared")
    if shape:
        found[path + "#"] = float(shape[0]) if len(shape) == 1 else "x".join(map(str, shape))
    mask = getattr(value, "mask", None)
    if mask is not None and not callable(mask) and hasattr(value, "filled"):
        _walk(mask, path + ".mask", found, notes, depth - 1)
    cells = value.tolist()
    _cells(cells, path, len(shape), found, notes, depth)


def _cells(cells: Any, path: str, left: int, found: dict[str, Any], notes: list[str], depth: int) -> None:
    if left:
        for at, each in enumerate(cells):
            _cells(each, f"{path}[{at}]", left - 1, found, notes, depth)
    elif type(cells) is float or type(cells) is bool:
        found[path] = float(cells)
    elif type(cells) is int:
        found[path] = float(cells) if abs(cells) <= EXACT else str(cells)
    else:
        _cell(cells, path, found, notes, depth)


def _cell(value: Any, path: str, found: dict[str, Any], notes: list[str], depth: int) -> None:
    """A cell of an array of objects, dates or complex numbers."""
    if hasattr(value, "isoformat"):
        found[path] = str(value)
    else:
        _walk(value, path, found, notes, depth - 1)


def _frame(value: Any, path: str, found: dict[str, Any], notes: list[str], depth: int) -> None:
    names = list(value.columns)
    found[path + ".columns"] = ", ".join(f"{_key(name)}: {_dtype(value.iloc[:, at])}" for at, name in enumerate(names))
    found[path + "#"] = float(len(value))
    _index(value, path, found, notes, depth)
    if len(names) * len(value) > MOST:
        raise TooMuch(f"a table of {len(names) * len(value)} cells; more than {MOST} cannot be compared")
    for at, name in enumerate(names):
        column = value.iloc[:, at]
        for row, (each, gone) in enumerate(zip(column.tolist(), column.isna().tolist())):  # noqa: B905
            place = f"{path}[{_key(name)}][{row}]"
            if gone and each is not None:
                found[place] = float("nan")
            else:
                _cells(each, place, 0, found, notes, depth)


def _dtype(value: Any) -> str:
    """With the categories, of which some may not occur."""
    categories = getattr(value.dtype, "categories", None)
    return str(value.dtype) + ("" if categories is None else f" {categories.tolist()} {value.dtype.ordered}")


def _index(value: Any, path: str, found: dict[str, Any], notes: list[str], depth: int) -> None:
    names = [getattr(value, "name", None), value.index.name, getattr(getattr(value, "columns", None), "name", None)]
    if any(each is not None for each in names):
        found[path + ".name"] = ", ".join(map(_key, names))
    if type(value.index).__name__ != "RangeIndex" or value.index.start != 0 or value.index.step != 1:
        found[path + ".index"] = ", ".join(map(_key, value.index.tolist()))
    if getattr(value, "attrs", None):
        _walk(value.attrs, path + ".attrs", found, notes, depth - 1)


def _by_repr(value: Any, path: str, found: dict[str, Any], notes: list[str]) -> None:
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    if hasattr(value, "name") and hasattr(value, "value") and hasattr(type(value), "__members__"):
        found[path] = str(value)  # an enumeration
        return
    notes.append(name)
    try:
        found[path] = ADDRESS.sub("0x", repr(value))
    except Exception as error:  # foreign code
        found[path] = f"a {name} whose repr raises {type(error).__name__}"
