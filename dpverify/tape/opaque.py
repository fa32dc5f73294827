"""Opaque arrays: off + coef * z[place], elementwise, in place of the numbers that a generator would return.

A plain class with `__array_ufunc__` and `__array_function__`, not a subclass of ndarray: compiled code reads the
numbers of a subclass without asking, an opaque array has none to read. Sums with plain numbers, products with them,
indexing, reshaping, stacking and `where` keep it opaque; **everything else makes its numbers** (`numbers`), never
fails and never guesses. The dtype is float64 or int64; any other result is made of numbers.

Views (slices, reshapes, transposes) share the buffers `off`, `coef`, `place`, as NumPy's views share memory. Where
numbers are made, they are written into `off`, with place -1, so that every view has them, and `off` is then the array
that NumPy code gets. From then on an opaque value that is written into the same memory is made a number first.
"""

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.mixins import NDArrayOperatorsMixin

from dpverify.tape.randomness import Arena

Array = npt.NDArray[Any]

MOST_KEPT = 4096  # elements of an array that is still known to be noise when its numbers have been made
KEPT = (np.dtype(np.float64), np.dtype(np.int64))


class Memory:
    """What views of one array share: whether NumPy code has been given the buffer, whether something was added."""

    def __init__(self, *, added: bool = False) -> None:
        self.shown = False
        self.added = added


class Opaque(NDArrayOperatorsMixin):
    """An array whose numbers do not exist yet."""

    weak = False  # numbers of Python take the dtype of the array that they meet

    def __init__(self, arena: Arena, off: Array, coef: Array, place: Array, memory: Memory | None = None) -> None:
        self._arena, self._off, self._coef, self._place = arena, off, coef, place
        self._memory = memory or Memory()
        self._before: tuple[Array, Array, Array] | None = None

    # numbers

    def numbers(self) -> Array:
        """The numbers, in the array's own memory."""
        live = self._place >= 0
        if live.any():
            if self._off.size <= MOST_KEPT:
                self._before = self._off.copy(), self._coef.copy(), self._place.copy()
            found = self._arena.resolve(self._off.ravel(), self._coef.ravel(), self._place.ravel())
            self._off[...] = found.reshape(self._off.shape)
            self._place[...] = -1
            self._coef[...] = 0
        self._memory.shown = True
        return self._off

    @property
    def terms(self) -> tuple[Array, Array, Array]:
        """`off`, `coef` and `place`, as they were before numbers were made, where the array is not too large."""
        return self._before or (self._off, self._coef, self._place)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        found: Array = self._stored(dtype)
        if dtype is not None and np.dtype(dtype) != found.dtype:
            if copy is False:
                raise ValueError("Unable to avoid copy while creating an array as requested.")
            return found.astype(dtype)
        return found.copy() if copy else found

    def _stored(self, dtype: Any) -> Any:
        """The numbers, for somebody who keeps them as they are: that is a linear use."""
        before = self._arena.linear
        self._arena.linear = before or dtype is None or np.dtype(dtype).kind == "f"
        try:
            return self.numbers()
        finally:
            self._arena.linear = before

    # shape

    @property
    def shape(self) -> tuple[int, ...]:
        return self._off.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        self.numbers().shape = shape
        self._coef, self._place = self._coef.reshape(self._off.shape), self._place.reshape(self._off.shape)

    ndim = property(lambda self: self._off.ndim)
    size = property(lambda self: self._off.size)
    dtype = property(lambda self: self._off.dtype)
    itemsize = property(lambda self: self._off.itemsize)
    nbytes = property(lambda self: self._off.nbytes)

    def _same(self, act: Callable[[Array], Array]) -> "Opaque":
        """A view or a copy, whichever `act` makes of the three buffers."""
        off, coef, place = act(self._off), act(self._coef), act(self._place)
        shares = np.may_share_memory(off, self._off)
        if shares and not (np.may_share_memory(coef, self._coef) and np.may_share_memory(place, self._place)):
            coef, place, off = coef.copy(), place.copy(), off.copy()  # never: the three have one layout
        return Opaque(self._arena, off, coef, place, self._memory if shares else Memory(added=self._memory.added))

    def reshape(self, *shape: Any, order: Any = "C", copy: Any = None) -> "Opaque":
        return self._same(lambda buffer: buffer.reshape(*shape, order=order))

    def transpose(self, *axes: Any) -> "Opaque":
        return self._same(lambda buffer: buffer.transpose(*axes))

    def swapaxes(self, first: int, second: int) -> "Opaque":
        return self._same(lambda buffer: buffer.swapaxes(first, second))

    def squeeze(self, axis: Any = None) -> "Opaque":
        return self._same(lambda buffer: buffer.squeeze(axis))

    def ravel(self, order: Any = "C") -> "Opaque":
        return self._same(lambda buffer: buffer.ravel(order))

    def flatten(self, order: Any = "C") -> "Opaque":
        return self._same(lambda buffer: buffer.flatten(order))

    def copy(self, order: Any = "C") -> "Opaque":
        return self._same(lambda buffer: buffer.copy(order))

    @property
    def T(self) -> "Opaque":
        return self.transpose()

    def __copy__(self) -> "Opaque":
        return self._same(lambda buffer: buffer.copy())

    def __deepcopy__(self, memo: Any) -> Array:
        return self.numbers().copy()

    def __reduce__(self) -> Any:
        return np.array(self.numbers()).__reduce__()

    def __len__(self) -> int:
        return len(self._off)

    def __iter__(self) -> Iterator[Any]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[index] for index in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        return value in self.numbers()

    # elements

    def __getitem__(self, key: Any) -> Any:
        key = materialised(key)
        off = self._off[key]
        if isinstance(off, np.ndarray):
            return self._same(lambda buffer: buffer[key])
        if self._place[key] < 0:
            return off
        memory = Memory(added=self._memory.added)
        return OpaqueScalar(self._arena, np.array(off), np.array(self._coef[key]), np.array(self._place[key]), memory)

    def __setitem__(self, key: Any, value: Any) -> None:
        key = materialised(key)
        if not isinstance(value, Opaque) or value.dtype != self.dtype or self._memory.shown:
            value = materialised(value)
            self._off[key] = value
            self._coef[key], self._place[key] = 0, -1
            return
        self._memory.added |= value._memory.added
        sources = value._off.copy(), value._coef.copy(), value._place.copy()
        self._off[key], self._coef[key], self._place[key] = sources

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """Stays opaque for its own dtype and from whole numbers to floats, which is exact below 2^53."""
        wanted = np.dtype(dtype)
        if wanted not in KEPT or (wanted != self.dtype and wanted.kind == "i") or args or kwargs.keys() - {"copy"}:
            return self._stored(wanted).astype(dtype, *args, **kwargs)
        if wanted == self.dtype and kwargs.get("copy") is False:
            return self
        memory = Memory(added=self._memory.added)
        return Opaque(self._arena, self._off.astype(wanted), self._coef.astype(wanted), self._place.copy(), memory)

    def sum(self, axis: Any = None, **kwargs: Any) -> Any:
        return np.sum(self, axis=axis, **kwargs)

    def mean(self, axis: Any = None, **kwargs: Any) -> Any:
        return np.mean(self, axis=axis, **kwargs)

    def argmax(self, axis: Any = None, **kwargs: Any) -> Any:
        return np.argmax(self, axis=axis, **kwargs)

    def item(self, *args: Any) -> Any:
        return self._stored(np.float64).item(*args)

    def __float__(self) -> float:
        return float(self._stored(np.float64))

    def __int__(self) -> int:
        return int(self._stored(np.float64) if self.dtype.kind == "i" else self.numbers())

    def __complex__(self) -> complex:
        return complex(self.numbers())

    def __index__(self) -> int:
        return operator.index(self.numbers())

    def __bool__(self) -> bool:
        return bool(self.numbers())

    def __repr__(self) -> str:
        return repr(self.numbers())

    def __str__(self) -> str:
        return str(self.numbers())

    def __format__(self, spec: str) -> str:
        return format(self.numbers(), spec)

    def __getattr__(self, name: str) -> Any:
        """Everything else is the plain array's."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._stored(np.float64) if name == "tolist" else self.numbers(), name)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        from dpverify.tape import arithmetic

        return arithmetic.ufunc(self._arena, ufunc, method, inputs, out, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from dpverify.tape import arithmetic

        return arithmetic.function(func, args, kwargs)


class OpaqueScalar(Opaque):
    """A number that does not exist yet: of shape (), never changed in place, hashed and shown as a number."""

    def numbers(self) -> Any:
        """The number."""
        found: Array = super().numbers()
        return found[()]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self._stored(dtype), dtype=dtype)

    def __hash__(self) -> int:
        return hash(self.numbers())

    def __reduce__(self) -> Any:
        return self.numbers().__reduce__()

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __copy__(self) -> Any:
        return self

    def __len__(self) -> int:
        raise TypeError("object of type 'float' has no len()")

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError("'float' object does not support item assignment")

    def __round__(self, digits: int | None = None) -> Any:
        return round(self.numbers(), digits)

    def __floor__(self) -> Any:
        return self.numbers().__floor__() if hasattr(self.numbers(), "__floor__") else int(np.floor(self.numbers()))

    def __ceil__(self) -> Any:
        return int(np.ceil(self.numbers()))

    def __trunc__(self) -> Any:
        return int(self.numbers())

    def __iadd__(self, other: Any) -> Any:
        return self + other

    def __isub__(self, other: Any) -> Any:
        return self - other

    def __imul__(self, other: Any) -> Any:
        return self * other

    def __itruediv__(self, other: Any) -> Any:
        return self / other

    def __ifloordiv__(self, other: Any) -> Any:
        return self // other

    def __imod__(self, other: Any) -> Any:
        return self % other

    def __ipow__(self, other: Any) -> Any:
        return self**other

    def __iand__(self, other: Any) -> Any:
        return self & other

    def __ior__(self, other: Any) -> Any:
        return self | other

    def __ixor__(self, other: Any) -> Any:
        return self ^ other

    def __ilshift__(self, other: Any) -> Any:
        return self << other

    def __irshift__(self, other: Any) -> Any:
        return self >> other


def materialised(value: Any) -> Any:
    """The value with every opaque array in it (also in tuples, lists and dicts) made of numbers."""
    if isinstance(value, Opaque):
        return value.numbers()
    if type(value) in (tuple, list):
        return type(value)(materialised(each) for each in value) if has_opaque(value) else value
    if type(value) is dict:
        return {key: materialised(each) for key, each in value.items()} if has_opaque(value) else value
    return value


def has_opaque(value: Any) -> bool:
    """Whether there is an opaque array in it."""
    if isinstance(value, Opaque):
        return True
    if type(value) in (tuple, list):
        return any(has_opaque(each) for each in value)
    return type(value) is dict and any(has_opaque(each) for each in value.values())


def made(arena: Arena, place: Array, dtype: Any = np.float64, *, like: Any = None) -> Any:
    """The bare variables at `place` as an opaque array, or a scalar for shape (): one of Python where `like` is."""
    from dpverify.tape.arithmetic import OpaqueNumber

    kind = Opaque if place.ndim else OpaqueNumber if type(like) in (int, float) else OpaqueScalar
    coef = np.ones(place.shape, dtype=dtype)
    return kind(arena, np.zeros(place.shape, dtype=dtype), coef, place.copy())
