"""What keeps an opaque array opaque: sums and products with plain numbers, comparisons of uniforms, moving elements.

Where two opaque elements meet, the second one is made a number first, and is a public coin or a released value from
then on; the first stays opaque. Everything that is not listed is done by NumPy, with numbers.
"""

import contextlib
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.tape import composition
from dpverify.tape.opaque import has_opaque, KEPT, materialised, Memory, MOST_KEPT, Opaque, OpaqueScalar
from dpverify.tape.randomness import Arena, Met

Array = npt.NDArray[Any]

LINEAR = (np.add, np.subtract, np.multiply, np.divide, np.negative, np.positive, np.matmul)
LINEAR_FUNCTIONS = frozenset(
    (
        np.dot,
        np.vdot,
        np.inner,
        np.outer,
        np.tensordot,
        np.einsum,
        np.cumsum,
        np.sum,
        np.mean,
        np.convolve,
        np.diff,
        np.kron,
        np.average,
        np.trace,
        np.concatenate,
        np.stack,
        np.vstack,
        np.hstack,
        np.column_stack,
        np.append,
        np.insert,
        np.pad,
        np.split,
        np.array_split,
        np.ravel,
        np.reshape,
        np.fft.fft,
        np.fft.ifft,
        np.fft.rfft,
        np.fft.irfft,
        np.linalg.solve,
    )
)
_LESS = {np.less: False, np.greater: True, np.less_equal: False, np.greater_equal: True}  # value: operands swapped


def ufunc(arena: Arena, act: Any, method: str, inputs: Any, out: Any, kwargs: dict[str, Any]) -> Any:
    """`__array_ufunc__` of opaque arrays."""
    targets = out if isinstance(out, tuple) else (out,)
    simple = method == "__call__" and not kwargs and len(targets) == 1
    if simple and targets[0] is None:
        found = kept(arena, act, inputs)
        if found is not NotImplemented:
            return found
    elif simple and isinstance(targets[0], Opaque):
        found = kept(arena, act, inputs)
        if isinstance(found, Opaque) and _fits(found, targets[0]):
            targets[0][...] = found
            return targets[0]
        if found is not NotImplemented:
            inputs = (found,)
            act = np.positive  # the numbers of the result, with NumPy's own errors where they do not fit
    if method == "reduce" and act is np.add:
        found = _sum(inputs[0], kwargs) if out is None else NotImplemented
        if found is not NotImplemented:
            return found
    with _linear_use(arena, act in LINEAR), _followed(arena, act in _LESS or act in (np.equal, np.not_equal)):
        given = tuple(_operand(each) for each in inputs)
    if out is not None:
        kwargs = {**kwargs, "out": tuple(_buffer(each) for each in targets)}
    result = getattr(act, method)(
        *given,
        **{k: materialised(value) for k, value in kwargs.items() if k != "out"},
        **({"out": kwargs["out"]} if "out" in kwargs else {}),
    )
    if out is not None:
        return targets[0] if len(targets) == 1 else targets
    return result


def _operand(each: Any) -> Any:
    return each.numbers() if isinstance(each, Opaque) else each


def _buffer(each: Any) -> Any:
    """The plain memory of an output: its opaque elements become numbers, as they are overwritten or kept."""
    return each.numbers() if isinstance(each, Opaque) else each


def _fits(found: Opaque, target: Opaque) -> bool:
    if isinstance(target, OpaqueScalar) or found.dtype != target.dtype:
        return False
    try:
        return np.broadcast_shapes(found.shape, target.shape) == target.shape
    except ValueError:
        return False


def kept(arena: Arena, act: Any, inputs: Any) -> Any:
    """The result of an operation that needs no numbers, or NotImplemented."""
    if arena.align.composed and (found := _composed(arena, act, inputs)) is not NotImplemented:
        return found
    if act in (np.negative, np.positive):
        (only,) = inputs
        sign = -1 if act is np.negative else 1
        return _make(arena, act(only._off), sign * only._coef, only._place.copy(), added=only._memory.added)
    if act in _LESS:
        found = _compared(arena, act, inputs)
        if found is NotImplemented:
            _look(arena, "less", inputs)
        return found
    if act in _LOOKS:
        _look(arena, _LOOKS[act], inputs)
        return NotImplemented
    if act not in (np.add, np.subtract, np.multiply, np.divide) or len(inputs) != 2:
        return NotImplemented
    left, right = inputs
    if any(isinstance(each, Opaque) and each._memory.added for each in inputs):
        arena.resumed = True
        _met(arena, act, left, right)
        if arena.align.summed:
            return NotImplemented  # the first sum is the value that the transcript has, and nothing that is made of it
    if isinstance(left, Opaque) and isinstance(right, Opaque):
        with _followed(arena, act is np.multiply):
            right = right.numbers() if act in (np.multiply, np.divide) else _numbers_where_both(left, right)
    sides = (left, right)
    if not all(isinstance(each, Opaque) or _is_number(each) for each in sides) or not has_opaque(list(sides)):
        return NotImplemented
    if act is np.divide and isinstance(right, Opaque):
        return NotImplemented
    if _result_type(act, left, right) not in KEPT:
        return NotImplemented
    if (
        act in (np.multiply, np.divide)
        and arena.align.unscaled
        and any(isinstance(each, Opaque) and each._memory.added for each in sides)
    ):
        return NotImplemented  # the sum is the value that the transcript has, and not a multiple of it
    try:
        return _linear(arena, act, left, right)
    except (TypeError, ValueError):
        return NotImplemented  # NumPy says it better


MOST_MET = 1024  # differences of a run that are remembered


def _met(arena: Arena, act: Any, left: Any, right: Any) -> None:
    """Remembers where the sum or difference of a noisy sum and a number is 0, as a value of the noisy sum."""
    value, number = (left, right) if isinstance(left, Opaque) else (right, left)
    if act not in (np.add, np.subtract) or not _is_number(number) or len(arena.met) >= MOST_MET:
        return
    sign = 1.0 if act is np.subtract else -1.0
    off, _, place = value.terms
    try:
        places, zeros, offs = np.broadcast_arrays(place, sign * np.asarray(number, dtype=np.float64), off)
    except ValueError:
        return
    live = (places >= 0) & np.isfinite(zeros)
    if not arena.align.summed and arena.align.name != "learned":  # what is still opaque is followed by its own rule
        live &= np.broadcast_to(value._place < 0, live.shape)
    rows = zip(places[live].tolist(), zeros[live].tolist(), offs[live].tolist(), strict=True)
    site = arena.site()
    arena.met += [Met(at, zero, off - zero, site) for at, zero, off in rows][: MOST_MET - len(arena.met)]


def _weak(found: Any, like: Any) -> Any:
    """A number of Python, where a function of `math` has one."""
    return number_of(found) if isinstance(like, OpaqueNumber) and isinstance(found, OpaqueScalar) else found


_FUNCTIONS = {
    np.log: "log",
    np.log1p: "log1p",
    np.sqrt: "sqrt",
    np.sign: "sign",
    np.absolute: "absolute",
    np.fabs: "absolute",
    np.cos: "cos",
    np.sin: "sin",
}


def _composed(arena: Arena, act: Any, inputs: Any) -> Any:
    """Noise of a known law that is made of fresh draws (`composition`), or NotImplemented."""
    if len(inputs) == 1:
        (value,) = inputs
        if act not in _FUNCTIONS or value.dtype != np.float64:
            return NotImplemented
        made = composition.function(arena, _FUNCTIONS[act], value)
        if made is None:
            return NotImplemented
        off, coef, place = (each.reshape(value.shape) for each in made)
        return _weak(_make(arena, off, coef, place, added=False), value)
    left, right = inputs
    if act is np.copysign and isinstance(right, Opaque) and type(left) in (int, float, np.float64):
        sign = _composed(arena, np.sign, (right,))
        return sign if sign is NotImplemented else sign * abs(left)
    if act not in (np.add, np.subtract, np.multiply) or not (isinstance(left, Opaque) and isinstance(right, Opaque)):
        return NotImplemented
    if left.shape != right.shape or _result_type(act, left, right) not in KEPT:
        return NotImplemented
    if act is np.multiply:
        whole = composition.products(arena, left, right)
    else:
        whole = composition.sums(arena, left, right, 1 if act is np.add else -1)
    if whole is None:
        return NotImplemented
    coef, place = (each.reshape(left.shape) for each in whole)
    return _make(arena, act(left._off, right._off), coef, place, added=act is not np.multiply)


def _is_number(each: Any) -> bool:
    if isinstance(each, np.ndarray):
        return type(each) is np.ndarray and each.dtype.kind in "biuf"
    return isinstance(each, (bool, int, float, np.bool, np.integer, np.floating))


def _result_type(act: Any, left: Any, right: Any) -> Any:
    def kind(each: Any) -> Any:
        if isinstance(each, Opaque):
            return each.dtype if not each.weak else int if each.dtype.kind == "i" else float
        return type(each) if type(each) in (int, float) else np.asarray(each).dtype

    types = [bool if type(each) is bool else kind(each) for each in (left, right)]
    try:
        return act.resolve_dtypes((*(np.dtype(bool) if each is bool else each for each in types), None))[-1]
    except TypeError:
        return None


def _numbers_where_both(left: Opaque, right: Opaque) -> Opaque:
    """`right`, with numbers in the elements that meet an opaque element of `left`."""
    try:
        np.broadcast_shapes(left.shape, right.shape)
    except ValueError:
        return right
    if not (left._place >= 0).any():
        return right
    with _linear_use(right._arena, True), _followed(right._arena, True):
        right.numbers()
    return right


def _linear(arena: Arena, act: Any, left: Any, right: Any) -> Any:
    """off and coef of a sum or product; numbers have coef 0."""
    offs = [each._off if isinstance(each, Opaque) else each for each in (left, right)]
    off = act(*offs)
    shape = np.shape(off)
    coefs: list[Any] = []
    places: list[Any] = []
    for each in (left, right):
        if isinstance(each, Opaque):
            coefs.append(each._coef)
            places.append(np.broadcast_to(each._place, shape))
        else:
            coefs.append(0)
            places.append(None)
    if act in (np.add, np.subtract):
        first = np.broadcast_to(coefs[0], shape)
        second = np.broadcast_to(coefs[1], shape)
        coef = (first + second if act is np.add else first - second).astype(off.dtype)
        if places[0] is None or places[1] is None:
            place = np.array(places[0] if places[1] is None else places[1])
        else:
            place = np.where(places[0] >= 0, places[0], places[1])
        return _make(arena, off, coef, place, added=True)
    if isinstance(left, Opaque):
        coef, place = act(coefs[0], offs[1]), places[0]
    else:
        coef, place = act(offs[0], coefs[1]), places[1]
    assert place is not None
    coef, place = np.array(np.broadcast_to(coef, shape), dtype=off.dtype), np.array(place)
    if ((coef == 0) & (place >= 0)).any() or not np.isfinite(coef).all():
        return NotImplemented  # 0 * z has the sign of z, inf * z as well: numbers
    added = any(isinstance(each, Opaque) and each._memory.added for each in (left, right))
    return _make(arena, off, coef, place, added=added)


def _make(arena: Arena, off: Any, coef: Any, place: Array, *, added: bool) -> Any:
    off = np.asarray(off)
    scalar = not off.ndim
    coef = np.asarray(coef, dtype=off.dtype)
    if scalar and place < 0:
        return off[()]
    kind = OpaqueScalar if scalar else Opaque
    return kind(arena, np.array(off), np.array(coef), np.array(place), Memory(added=added))


def _compared(arena: Arena, act: Any, inputs: Any) -> Any:
    """u < t for uniforms that are not known: a decision."""
    left, right = inputs
    if isinstance(left, Opaque) and isinstance(right, Opaque):
        if arena.align.compared and (known := _between(arena, act, left, right)) is not NotImplemented:
            return known
        with _followed(arena, True):
            right = right.numbers()
    swap = _LESS[act] != (not isinstance(left, Opaque))
    uniform, threshold = (left, right) if isinstance(left, Opaque) else (right, left)
    if not _is_number(threshold):
        return NotImplemented
    place = uniform._place.ravel()
    live = place[place >= 0]
    if not len(live) or arena._known[live].any() or not arena.is_uniform(live):
        return NotImplemented
    try:
        shape = np.broadcast_shapes(uniform.shape, np.shape(threshold))
    except ValueError:
        return NotImplemented
    off, coef, where = (np.broadcast_to(each, shape).ravel() for each in (uniform._off, uniform._coef, uniform._place))
    limit = np.broadcast_to(np.asarray(threshold, dtype=np.float64), shape).ravel()
    found = np.asarray(act(off, limit) if isinstance(left, Opaque) else act(limit, off))
    rows = np.flatnonzero(where >= 0)
    with np.errstate(invalid="ignore"):
        cut = (limit[rows] - off[rows]) / coef[rows]
    if np.isnan(cut).any():
        return NotImplemented
    greater = swap != (coef[rows] < 0)  # off + coef z > t, up to the boundary, which has no mass in the ideal law
    closed = np.asarray((act in (np.less_equal, np.greater_equal)) != greater)  # z <= cut: mass, where there is a grid
    below = arena.decide(cut, where[rows], closed, (off[rows] == 0) & (coef[rows] == 1))
    found[rows] = below != greater
    found = found.reshape(shape)
    return found if found.ndim else found[()]


_LOOKS = {
    np.equal: "equal",
    np.not_equal: "equal",
    np.minimum: "less",
    np.maximum: "less",
    np.fmin: "less",
    np.fmax: "less",
    np.sign: "less",
    np.absolute: "less",
}


def _look(arena: Arena, act: str, inputs: Any) -> None:
    """Tells the arena that noise is compared with numbers; for one input, with 0."""
    values = [each for each in inputs if isinstance(each, Opaque)]
    limits = [each for each in inputs if not isinstance(each, Opaque)] or ([0.0] if len(inputs) == 1 else [])
    if len(values) != 1 or len(limits) != 1 or not _is_number(limits[0]) or values[0].size > MOST_KEPT:
        return
    try:
        shape = np.broadcast_shapes(values[0].shape, np.shape(limits[0]))
    except ValueError:
        return
    off, coef, place = (np.broadcast_to(each, shape).ravel() for each in values[0].terms)
    limit = np.broadcast_to(np.asarray(limits[0], dtype=np.float64), shape).ravel()
    arena.looked_at(act, limit, off.astype(np.float64), coef.astype(np.float64), place)


def _clipped(array: Any, *limits: Any, **named: Any) -> Any:
    """`np.clip` compares with its limits."""
    if isinstance(array, Opaque):
        for limit in (*limits[:2], *named.values()):
            if _is_number(limit):
                _look(array._arena, "less", (array, limit))
    return NotImplemented


def _between(arena: Arena, act: Any, left: Opaque, right: Opaque) -> Any:
    """Outcomes of comparing noise with noise, which stays unknown; NotImplemented where a side has anything else."""
    try:
        shape = np.broadcast_shapes(left.shape, right.shape)
    except ValueError:
        return NotImplemented
    first, second = (
        (
            np.broadcast_to(side._off, shape).ravel(),
            np.broadcast_to(side._coef, shape).ravel(),
            np.broadcast_to(side._place, shape).ravel(),
        )
        for side in (left, right)
    )
    for off, coef, place in (first, second):
        if (place < 0).any() or not (arena.comparable(place) and np.isfinite(off).all() and coef.all()):
            return NotImplemented
    found = arena.compare(act, first, second).reshape(shape)
    return found if found.ndim else found[()]


def _sum(array: Any, kwargs: dict[str, Any]) -> Any:
    """A sum over axes: one element of each stays opaque, the others become numbers."""
    if not isinstance(array, Opaque) or kwargs.keys() - {"axis", "keepdims"} or array.dtype not in KEPT:
        return NotImplemented
    axis = kwargs.get("axis", 0)
    axes = tuple(range(array.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if not all(isinstance(each, (int, np.integer)) and -array.ndim <= each < array.ndim for each in axes):
        return NotImplemented
    axes = tuple(int(each) % array.ndim for each in axes)
    if not axes or array.size == 0:
        return NotImplemented
    last = range(array.ndim - len(axes), array.ndim)
    moved = array._same(lambda buffer: np.moveaxis(buffer, axes, last))
    kept = moved.shape[: array.ndim - len(axes)]
    flat = moved.reshape(*kept, -1)
    if array._arena.align.composed and (whole := _whole_sum(flat)) is not None:
        return (
            np.reshape(whole, tuple(1 if i in axes else n for i, n in enumerate(array.shape)))
            if kwargs.get("keepdims")
            else whole
        )
    with _linear_use(array._arena, True), _followed(array._arena, True):
        rest = flat[..., 1:].copy().numbers()
    if array._memory.shown or len(set(axes)) != len(axes):
        return NotImplemented
    total = flat[..., 0].copy() if kept else flat[0]
    total = total + rest.sum(axis=-1)
    if kwargs.get("keepdims"):
        total = np.reshape(total, tuple(1 if i in axes else n for i, n in enumerate(array.shape)))
    return total


MOST_SUMMED = 256


def _whole_sum(flat: Any) -> Any:
    """The sum over the last axis, where it is noise of a known law; None else."""
    count = flat.shape[-1]
    if not 1 < count <= MOST_SUMMED or composition.side(flat._arena, flat) is None:
        return None
    total = flat[..., 0]
    for at in range(1, count):
        total = _composed(flat._arena, np.add, (total, flat[..., at]))
        if total is NotImplemented:
            return None
    return total


def _largest(array: Any, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
    """`argmax` of Gumbel variables of one scale."""
    if not isinstance(array, Opaque) or args or kwargs or not array._arena.align.composed or array.ndim not in (1, 2):
        return NotImplemented
    if axis not in ((None, 0, -1) if array.ndim == 1 else (1, -1)):
        return NotImplemented
    found = composition.gumbel_maximum(array._arena, array.reshape(-1, array.shape[-1]))
    if found is None:
        return NotImplemented
    return found if array.ndim == 2 else found[0]


def function(act: Any, args: Any, kwargs: Any) -> Any:
    """`__array_function__` of opaque arrays: moving elements keeps them opaque, all else has numbers."""
    rule = _RULES.get(act)
    if rule is not None:
        found = rule(*args, **kwargs)
        if found is not NotImplemented:
            return found
    arena = _arena_of([*args, *kwargs.values()])
    with _linear_use(arena, act in LINEAR_FUNCTIONS) if arena is not None else contextlib.nullcontext():
        plain = materialised(tuple(args)), materialised(dict(kwargs))
    return act(*plain[0], **plain[1])


def _arena_of(values: Any) -> Arena | None:
    """The arena of the first opaque array in these containers."""
    for each in values:
        if isinstance(each, Opaque):
            return each._arena
        if type(each) in (list, tuple) and (found := _arena_of(each)) is not None:
            return found
    return None


@contextlib.contextmanager
def _followed(arena: Arena, followed: bool) -> Iterator[None]:
    """Inside, numbers are made for a comparison that is recorded, or for a sum that stays on the tape."""
    before, arena.followed = arena.followed, arena.followed or followed
    try:
        yield
    finally:
        arena.followed = before


@contextlib.contextmanager
def _linear_use(arena: Arena, linear: bool) -> Iterator[None]:
    """Inside, numbers are made for a linear function, where `linear`."""
    before, arena.linear = arena.linear, linear
    try:
        yield
    finally:
        arena.linear = before


def _layout(act: Any) -> Any:
    """A function of one array that only moves elements."""

    def rule(array: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(array, Opaque) or has_opaque([list(args), kwargs]):
            return NotImplemented
        found = array._same(lambda buffer: act(buffer, *args, **kwargs))
        return found

    return rule


def _joined(act: Any) -> Any:
    """A function of a sequence of arrays that puts them together."""

    def rule(arrays: Any, *args: Any, **kwargs: Any) -> Any:
        parts = list(arrays)
        if kwargs.keys() - {"axis"} or not parts:
            return NotImplemented
        if not all(isinstance(each, Opaque) or _is_number(each) for each in parts):
            return NotImplemented
        dtypes = {each.dtype if isinstance(each, Opaque) else np.asarray(each).dtype for each in parts}
        if np.result_type(*dtypes) not in KEPT:
            return NotImplemented
        if len(dtypes) > 1:
            parts = [each if not isinstance(each, Opaque) else each.astype(np.result_type(*dtypes)) for each in parts]
        arena = next(each._arena for each in parts if isinstance(each, Opaque))
        buffers = [
            (each._off, each._coef, each._place)
            if isinstance(each, Opaque)
            else (np.asarray(each), np.zeros(np.shape(each)), np.full(np.shape(each), -1))
            for each in parts
        ]
        off, coef, place = (act([each[i] for each in buffers], *args, **kwargs) for i in range(3))
        added = any(isinstance(each, Opaque) and each._memory.added for each in parts)
        return Opaque(arena, off, coef.astype(off.dtype), place, Memory(added=added))

    return rule


def _where(condition: Any, *choices: Any) -> Any:
    if len(choices) != 2 or has_opaque([condition]):
        return NotImplemented
    if not all(isinstance(each, Opaque) or _is_number(each) for each in choices):
        return NotImplemented
    kinds = [
        each.dtype if isinstance(each, Opaque) else type(each) if type(each) in (int, float) else np.asarray(each).dtype
        for each in choices
    ]
    weak: dict[Any, Any] = {int: np.dtype(np.int64), float: np.dtype(np.float64)}
    dtype = np.result_type(*(weak.get(kind, kind) for kind in kinds))
    if dtype not in KEPT:
        return NotImplemented
    arena = next(each._arena for each in choices if isinstance(each, Opaque))
    parts = [(each._off, each._coef, each._place) if isinstance(each, Opaque) else (each, 0, -1) for each in choices]
    off, coef, place = (np.where(condition, parts[0][i], parts[1][i]) for i in range(3))
    added = any(isinstance(each, Opaque) and each._memory.added for each in choices)
    return Opaque(arena, off.astype(dtype), coef.astype(dtype), place, Memory(added=added))


def _summed(array: Any, axis: Any = None, **kwargs: Any) -> Any:
    if kwargs.keys() - {"keepdims"} or not isinstance(array, Opaque):
        return NotImplemented
    return _sum(array, {"axis": axis, **kwargs})


def _averaged(array: Any, axis: Any = None, **kwargs: Any) -> Any:
    total = _summed(array, axis, **kwargs)
    if total is NotImplemented:
        return NotImplemented
    return total / (array.size / max(np.size(total) if not isinstance(total, Opaque) else total.size, 1))


def _searched(sorted_: Any, value: Any, side: str = "left", sorter: Any = None) -> Any:
    """The number of thresholds below a uniform: comparisons one after the other."""
    if type(sorted_) in (list, tuple) and all(type(each) in (int, float) for each in sorted_):
        sorted_ = np.array(sorted_)
    if not isinstance(value, Opaque) or not _is_number(sorted_) or sorter is not None or side not in ("left", "right"):
        return NotImplemented
    if (
        not isinstance(sorted_, np.ndarray)
        or sorted_.ndim != 1
        or not value._arena.is_uniform(value._place[value._place >= 0].ravel())
    ):
        return NotImplemented
    wide = value._same(lambda buffer: buffer[..., None].copy())
    found = wide > sorted_ if side == "left" else wide >= sorted_
    counted = np.asarray(found).sum(axis=-1)
    return counted if value.ndim else counted[()]


def _broadcast(array: Any, shape: Any, subok: bool = False) -> Any:
    if not isinstance(array, Opaque):
        return NotImplemented
    return array._same(lambda buffer: np.broadcast_to(buffer, shape).copy())


_MOVES = (
    *(np.reshape, np.ravel, np.transpose, np.moveaxis, np.swapaxes, np.expand_dims, np.squeeze, np.copy, np.rollaxis),
    *(np.flip, np.fliplr, np.flipud, np.repeat, np.tile, np.take, np.delete, np.diagonal, np.atleast_1d, np.roll),
    np.take_along_axis,
)
_RULES: dict[Any, Any] = {
    np.where: _where,
    np.sum: _summed,
    np.mean: _averaged,
    np.searchsorted: _searched,
    np.argmax: _largest,
    np.clip: _clipped,
    np.shape: lambda array: array.shape,
    np.ndim: lambda array: array.ndim,
    np.size: lambda array, axis=None: array.size if axis is None else array.shape[axis],
    np.broadcast_to: _broadcast,
    np.zeros_like: lambda array, *args, **kwargs: np.zeros_like(array._off, *args, **kwargs),
    np.ones_like: lambda array, *args, **kwargs: np.ones_like(array._off, *args, **kwargs),
    np.empty_like: lambda array, *args, **kwargs: np.empty_like(array._off, *args, **kwargs),
    **{act: _layout(act) for act in _MOVES},
    **{act: _joined(act) for act in (np.concatenate, np.stack, np.vstack, np.hstack, np.column_stack)},
}


# ----------------------------------------------------------------------------------------------------------------------
# A draw without `size`: NumPy hands out a `float` or `int` of Python, and what it becomes is one as well.
#
# `rng.laplace()` is a float, `2.0 + rng.laplace()` is a float, `np.add(2.0, rng.laplace())` is a `numpy.float64`. An
# opaque number keeps that apart: operators between it and numbers of Python give another `OpaqueNumber`, or what Python
# gives for the numbers (division by zero raises, comparisons are `bool`, whole numbers have no limit); everything that
# NumPy has a part in goes the way of an `OpaqueScalar`.


MOST_WHOLE = 2**53  # whole numbers that a float64 holds


class OpaqueNumber(OpaqueScalar):
    """A `float` or `int` of Python that does not exist yet."""

    weak = True

    def numbers(self) -> Any:
        """The number."""
        return super().numbers().item()

    def __reduce__(self) -> Any:
        return type(self.numbers()), (self.numbers(),)

    def __floor__(self) -> int:
        found: int = math.floor(self.numbers())
        return found

    def __ceil__(self) -> int:
        found: int = math.ceil(self.numbers())
        return found


def number_of(value: OpaqueScalar) -> OpaqueNumber:
    """The same number, as one of Python."""
    return OpaqueNumber(value._arena, value._off, value._coef, value._place, value._memory)


def _is_numpy(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic | Opaque) and not isinstance(value, OpaqueNumber)


def _fits_python(value: Any) -> bool:
    return type(value) in (bool, float) or (type(value) is int and abs(value) < MOST_WHOLE)


def _plain(value: Any) -> Any:
    return value.numbers() if isinstance(value, Opaque) else value


def _python(act: Any, python: Callable[..., Any], *sides: Any) -> Any:
    """The operator on numbers of Python: opaque where that needs no number, else Python's own."""
    if act is np.divide:
        sides = sides[0], _plain(sides[1])
    divides = act is np.divide and sides[1] == 0
    fits = all(isinstance(each, OpaqueNumber) or _fits_python(each) for each in sides)
    arena = next((each._arena for each in sides if isinstance(each, Opaque)), None)
    if act is not None and arena is not None and fits and not divides:
        found = kept(arena, act, sides)
        if isinstance(found, OpaqueScalar):
            return number_of(found)
        if found is not NotImplemented:
            return found.item()
    if arena is None:
        return python(*sides)
    with _followed(arena, act in _LESS or act in (np.equal, np.not_equal)):
        plain = [_plain(each) for each in sides]
    return python(*plain)


def _operator(name: str, act: Any) -> None:
    """`__name__` and its reflection."""
    python = getattr(operator, f"__{name}__") if name != "divmod" else divmod
    inherited = getattr(OpaqueScalar, f"__{name}__", None), getattr(OpaqueScalar, f"__r{name}__", None)

    def forward(self: OpaqueNumber, other: Any) -> Any:
        if inherited[0] is not None and _is_numpy(other):
            return inherited[0](self, other)
        return _python(act, python, self, other)

    def reflected(self: OpaqueNumber, other: Any) -> Any:
        if inherited[1] is not None and _is_numpy(other):
            return inherited[1](self, other)
        return _python(act, python, other, self)

    setattr(OpaqueNumber, f"__{name}__", forward)
    if inherited[1] is not None:
        setattr(OpaqueNumber, f"__r{name}__", reflected)


def _signed(name: str, act: Any) -> None:
    python = getattr(operator, f"__{name}__")
    setattr(OpaqueNumber, f"__{name}__", lambda self: _python(act, python, self))


for _name, _act in (
    *(("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("truediv", np.divide)),
    *(("lt", np.less), ("le", np.less_equal), ("gt", np.greater), ("ge", np.greater_equal), ("eq", None), ("ne", None)),
    *((name, None) for name in ("floordiv", "mod", "divmod", "pow", "and", "or", "xor", "lshift", "rshift")),
):
    _operator(_name, _act)
_signed("neg", np.negative)
_signed("pos", np.positive)
_signed("abs", np.absolute)
_signed("invert", None)
OpaqueNumber.__hash__ = OpaqueScalar.__hash__  # type: ignore[method-assign]
