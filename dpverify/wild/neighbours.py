"""Whether two datasets are neighbours, by looking at them: rows as tuples, in order, NaN equal to NaN.

Replace-one: same length, one row differs. Add-or-remove: one is the other with one row deleted, found by the longest
common prefix and suffix. Types count: 1 and 1.0 are different cells.
"""

import math
from collections.abc import Sequence
from typing import Any

from dpverify.claims.neighbours import Difference


def _cell(value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return "nan", "float"
    if isinstance(value, dict):
        return tuple((key, _cell(each)) for key, each in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(_cell, value))
    return type(value).__name__, value


def counted(first: Sequence[Any], second: Sequence[Any]) -> Difference:
    """Rows replaced in place, or added or removed between the longest common prefix and suffix."""
    if len(first) == len(second):
        return Difference(replaced=sum(a != b for a, b in zip(first, second, strict=True)))
    head, tail = _ends(first, second)
    left, right = len(first) - head - tail, len(second) - head - tail
    both = min(left, right)
    return Difference(replaced=both, added=right - both, removed=left - both)


def gap(first: Sequence[Any], second: Sequence[Any]) -> set[int]:
    """Places in `first` that the other dataset does not have."""
    if len(first) == len(second):
        return {at for at, (a, b) in enumerate(zip(first, second, strict=True)) if _cell(a) != _cell(b)}
    ours, theirs = [_cell(each) for each in first], [_cell(each) for each in second]
    head, tail = _ends(ours, theirs)
    return set(range(head, len(first) - tail))


def _ends(first: Sequence[Any], second: Sequence[Any]) -> tuple[int, int]:
    shorter = min(len(first), len(second))
    head = next((at for at in range(shorter) if first[at] != second[at]), shorter)
    tail = next((at for at in range(shorter - head) if first[-1 - at] != second[-1 - at]), shorter - head)
    return head, tail
