"""Values as builtins and back: what travels between two interpreters.

A pickled array of NumPy 2 cannot be read by NumPy 1, and `numpy.float64` is a float that is pickled as NumPy's. So only
exact builtins are pickled, and everything else has a tag: every tuple on the wire is (tag, ...).
"""

from __future__ import annotations

import io
import pickle
from typing import Any

PROTOCOL = 4  # Python 3.7 reads it
ATOMS = (type(None), bool, int, float, complex, str, bytes)


class Unsendable(TypeError):
    """A value that has no form on the wire."""


class _Builtins(pickle.Unpickler):
    """Reads no class and no function: what comes from foreign code runs nothing here."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name} on the wire")


def packed(value: Any) -> bytes:
    """Builtins as bytes."""
    return pickle.dumps(value, PROTOCOL)


def unpacked(data: bytes) -> Any:
    """Inverse of `packed`; UnpicklingError for anything but builtins."""
    return _Builtins(io.BytesIO(data)).load()


def plain(value: Any) -> Any:
    """A value as builtins and tags; Unsendable for what is none of those below."""
    kind = type(value)
    if kind in ATOMS:
        return value
    if kind is list:
        return [plain(each) for each in value]
    if kind is tuple:
        return ("tuple", [plain(each) for each in value])
    if kind is dict:
        return ("dict", [[plain(key), plain(each)] for key, each in value.items()])
    if kind in (set, frozenset):
        return ("set", sorted((plain(each) for each in value), key=repr))
    family = kind.__module__.partition(".")[0]
    if family == "numpy":
        return _of_numpy(value)
    if family == "pandas" and kind.__name__ == "DataFrame":
        columns = [[plain(name), _column(value.iloc[:, at])] for at, name in enumerate(value.columns)]
        return ("frame", columns, _index(value))
    if family == "pandas" and kind.__name__ == "Series":
        return ("series", _column(value), plain(value.name), _index(value))
    raise Unsendable(f"a {kind.__module__}.{kind.__qualname__}")


def restored(value: Any) -> Any:
    """Inverse of `plain`; arrays and frames by the libraries that this interpreter has."""
    kind = type(value)
    if kind is list:
        return [restored(each) for each in value]
    if kind is not tuple:
        return value
    made: Any = _RESTORE[value[0]]
    return made(*value[1:])


def _of_numpy(value: Any) -> Any:
    dtype = getattr(value, "dtype", None)
    if dtype is None or dtype.names or not hasattr(value, "tobytes"):
        raise Unsendable(f"a {type(value).__name__}")
    if hasattr(value, "mask"):
        raise Unsendable("a masked array")
    if dtype.kind == "O":
        return ("objects", list(value.shape), [plain(each) for each in value.ravel().tolist()])
    return (
        "array" if hasattr(value, "setflags") and type(value).__name__ == "ndarray" else "scalar",
        dtype.str,
        list(value.shape),
        value.tobytes(),
    )


def _array(dtype: str, shape: list[int], data: bytes) -> Any:
    import numpy

    return numpy.frombuffer(data, dtype=dtype).reshape(shape).copy()


def _scalar(dtype: str, shape: list[int], data: bytes) -> Any:
    import numpy

    return numpy.frombuffer(data, dtype=dtype)[0]


def _objects(shape: list[int], cells: list[Any]) -> Any:
    import numpy

    found = numpy.empty(len(cells), dtype=object)
    for at, each in enumerate(cells):
        found[at] = restored(each)
    return found.reshape(shape)


def _column(series: Any) -> Any:
    if hasattr(series.dtype, "str") and series.dtype.kind not in "OV":
        return _of_numpy(series.to_numpy())
    missing = series.isna().tolist()
    cells = [None if gone else plain(each) for each, gone in zip(series.tolist(), missing)]  # noqa: B905
    return ("typed", str(series.dtype), cells)


def _index(value: Any) -> Any:
    return None if type(value.index).__name__ == "RangeIndex" else plain(value.index.tolist())


def _cells(column: Any) -> Any:
    if type(column) is tuple and column[0] == "typed":
        import pandas

        try:
            return pandas.Series(restored(column[2]), dtype=column[1])
        except TypeError:  # a kind of text that this release does not know
            return pandas.Series(restored(column[2]))
    return restored(column)


def _frame(columns: list[Any], index: Any) -> Any:
    import pandas

    names = [restored(name) for name, _ in columns]
    found = pandas.DataFrame({at: _cells(column) for at, (_, column) in enumerate(columns)})
    found.columns = names
    return found if index is None else found.set_axis(restored(index), axis=0)


def _series(column: Any, name: Any, index: Any) -> Any:
    import pandas

    found = pandas.Series(_cells(column), name=restored(name))
    return found if index is None else found.set_axis(restored(index), axis=0)


_RESTORE = {
    "tuple": lambda cells: tuple(restored(each) for each in cells),
    "dict": lambda pairs: {restored(key): restored(each) for key, each in pairs},
    "set": lambda cells: {restored(each) for each in cells},
    "array": _array,
    "scalar": _scalar,
    "objects": _objects,
    "frame": _frame,
    "series": _series,
}
