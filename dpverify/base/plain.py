"""Plain values against the types of dataclass fields: what comes from a child or a file is looked at before use."""

import math
import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints, Union


def check_fields(kind: type, plain: Any) -> None:
    """ValueError, which names the field, where a field of `kind` is not of its type or holds NaN somewhere.

    `plain` is what JSON makes of the dataclass: lists for tuples, strings for enumerations. Fields that are not there
    and names that are none are not looked at.
    """
    if not isinstance(plain, Mapping):
        raise ValueError(f"{kind.__name__} is {type(plain).__name__}, must be fields by name")
    for name, hint in _hints(kind).items():
        if name in plain and not _fits(plain[name], hint):
            raise ValueError(
                f"{name} is {str(plain[name])[:60]!r}, must be {getattr(hint, '__name__', hint)}, without NaN"
            )


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {each.name: hints[each.name] for each in fields(kind)}


_ATOMS: dict[type, Callable[[Any], bool]] = {
    str: lambda value: isinstance(value, str),
    bool: lambda value: isinstance(value, bool),
    int: lambda value: isinstance(value, int) and not isinstance(value, bool),
    float: lambda value: isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value),
    type(None): lambda value: value is None,
}


def _fits(value: Any, hint: Any) -> bool:
    if hint in _ATOMS:
        return _ATOMS[hint](value)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return value in [each.value for each in hint]
    if is_dataclass(hint) and isinstance(hint, type):
        return isinstance(value, Mapping) and all(
            name in value and _fits(value[name], inside) for name, inside in _hints(hint).items()
        )
    origin, inside = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, each) for each in inside)
    if origin is tuple:
        return isinstance(value, list | tuple) and _all_fit(value, inside)
    if origin is dict:
        return isinstance(value, Mapping) and all(_fits(k, inside[0]) and _fits(v, inside[1]) for k, v in value.items())
    return _without_nan(value)


def _all_fit(values: Any, inside: tuple[Any, ...]) -> bool:
    if inside[-1] is Ellipsis:
        return all(_fits(each, inside[0]) for each in values)
    return len(values) == len(inside) and all(_fits(each, hint) for each, hint in zip(values, inside, strict=True))


def _without_nan(value: Any) -> bool:
    """Any: whatever JSON can hold, without NaN."""
    if isinstance(value, Mapping):
        return all(map(_without_nan, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_without_nan, value))
    return not (isinstance(value, float) and math.isnan(value))
