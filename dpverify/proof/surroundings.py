"""What a program may call and read beside itself: functions of their arguments, and constants.

Everything else in Python and its libraries may be another one tomorrow, on another machine, or after an earlier call:
files, clocks, the environment, settings, filters of warnings. What is here is known to depend on its arguments alone
and to change nothing else; what is not here ends the proof.
"""

import abc
import array
import base64
import binascii
import bisect
import builtins
import cmath
import collections
import collections.abc
import contextlib
import copy
import dataclasses
import datetime
import enum
import fractions
import functools
import hashlib
import heapq
import io
import itertools
import json
import logging
import math
import numbers
import operator
import random
import re
import secrets
import statistics
import string
import struct
import sys
import textwrap
import types
import typing
import warnings
import zlib
from typing import Any

import numpy as np
import pandas as pd
import scipy.special

from dpverify.proof.ending import OutsideOfTheCall, ProofEnds
from dpverify.proof.memory import is_of_library, MADE_BY_PROGRAMS, Memory
from dpverify.proof.run import Run
from dpverify.proof.terms import Draw, Opaque

REMEDY = "leave it out of the function, or hand it over as a public argument"
DEEPEST = 8
OF_LIBRARIES = (np.ndarray, np.generic, pd.DataFrame, pd.Series, pd.Index)

# ----------------------------------------------------------------------------------------------------------------------
# Functions of their arguments

MODULES = (  # all of whose functions and classes are
    *(math, cmath, operator, itertools, statistics, fractions, heapq, bisect, string, textwrap, copy, numbers),
    *(base64, binascii, struct, dataclasses, collections, collections.abc, typing, abc),
)
NAMES: dict[Any, str] = {
    builtins: """abs all any ascii bin bool bytearray bytes callable chr classmethod complex dict divmod enumerate
        filter float format frozenset getattr hasattr hash hex int isinstance issubclass iter len list map max
        memoryview min next object oct ord pow print property range repr reversed round set setattr slice sorted
        staticmethod str sum super tuple type zip""",
    functools: "cache cached_property cmp_to_key lru_cache partial partialmethod reduce total_ordering wraps",
    contextlib: "contextmanager nullcontext suppress",
    datetime: "date datetime time timedelta timezone",
    enum: "Enum IntEnum Flag IntFlag StrEnum auto",
    hashlib: "blake2b blake2s md5 sha1 sha224 sha256 sha384 sha512 sha3_224 sha3_256 sha3_384 sha3_512",
    io: "BytesIO StringIO",
    json: "dumps loads",
    logging: "critical debug error exception getLogger info log warning",
    re: "compile escape findall finditer fullmatch match search split sub subn",
    types: "MappingProxyType SimpleNamespace",
    warnings: "catch_warnings filterwarnings simplefilter warn",
    zlib: "adler32 compress crc32 decompress",
    np: """all allclose amax amin angle any append apply_along_axis apply_over_axes arange argmax argmin argpartition
        argsort argwhere around array array_equal array_equiv array_split asanyarray asarray asarray_chkfinite
        ascontiguousarray asfortranarray astype atleast_1d atleast_2d atleast_3d average bartlett base_repr binary_repr
        bincount blackman block bool broadcast broadcast_arrays broadcast_shapes broadcast_to can_cast choose clip
        column_stack common_type compress concat concatenate convolve copy copyto corrcoef correlate count_nonzero cov
        cross cumprod cumsum cumulative_prod cumulative_sum delete diag diag_indices diag_indices_from diagflat diagonal
        diff digitize dot dsplit dstack dtype ediff1d einsum einsum_path empty_like errstate expand_dims extract eye
        fill_diagonal finfo fix flatnonzero flip fliplr flipud frombuffer fromfunction fromiter full full_like geomspace
        gradient hamming hanning histogram histogram2d histogram_bin_edges histogramdd hsplit hstack i0 identity iinfo
        imag indices inner insert interp intersect1d isclose iscomplex iscomplexobj isfortran isin isneginf isposinf
        isreal isrealobj isscalar issubdtype iterable ix_ kaiser kron lexsort linspace logspace mask_indices
        matrix_transpose max may_share_memory mean median meshgrid min min_scalar_type moveaxis nan_to_num nanargmax
        nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanpercentile nanprod nanquantile nanstd nansum
        nanvar ndenumerate ndim ndindex nonzero ones ones_like outer packbits pad partition percentile permute_dims
        piecewise place poly poly1d polyadd polyder polydiv polyfit polyint polymul polysub polyval prod promote_types
        ptp put put_along_axis putmask quantile ravel ravel_multi_index real real_if_close repeat require reshape resize
        result_type roll rollaxis roots rot90 round row_stack searchsorted select setdiff1d setxor1d shape shares_memory
        sinc size sort sort_complex split squeeze stack std sum swapaxes take take_along_axis tensordot tile trace
        transpose trapezoid trapz tri tril tril_indices tril_indices_from trim_zeros triu triu_indices triu_indices_from
        union1d unique unique_all unique_counts unique_inverse unique_values unpackbits unravel_index unstack unwrap
        vander var vdot vectorize vsplit vstack where zeros zeros_like ndarray empty""",
    np.linalg: """cholesky cond cross det diagonal eig eigh eigvals eigvalsh inv lstsq matmul matrix_norm matrix_power
        matrix_rank matrix_transpose multi_dot norm outer pinv qr slogdet solve svd svdvals tensordot tensorinv
        tensorsolve trace vecdot vector_norm LinAlgError""",
    np.fft: "fft fft2 fftfreq fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft rfft rfftfreq",
    np.lib.stride_tricks: "as_strided broadcast_to sliding_window_view",
    pd: """Categorical CategoricalDtype CategoricalIndex DataFrame Index Interval IntervalIndex MultiIndex NamedAgg
        RangeIndex Series Timedelta concat crosstab cut factorize get_dummies interval_range isna isnull lreshape melt
        merge merge_asof merge_ordered notna notnull pivot pivot_table qcut to_numeric unique value_counts
        wide_to_long""",
}
SCIPY = tuple(  # scipy.special.seterr and the like are in none of these lists
    f"scipy.{each}" for each in "special stats linalg optimize integrate interpolate signal sparse spatial".split()
)
SETTINGS_OF_SCIPY = ("seterr", "geterr", "errstate", "show_config", "test")
RANDOM = ("numpy.random", "random", "secrets")  # whose draws are noise, by rules of their own
CONSTANTS: dict[str, Any] = {
    "numpy": "pi e inf nan euler_gamma newaxis s_ index_exp r_ c_ mgrid ogrid True_ False_".split(),
    "sys": ["float_info", "maxsize"],
    "logging": "CRITICAL DEBUG ERROR FATAL INFO NOTSET WARN WARNING".split(),
    "pandas": ["NA", "IndexSlice"],
}
ALL_CONSTANTS = ("math", "cmath", "string", "re", "scipy.constants")  # of their numbers and texts

# ----------------------------------------------------------------------------------------------------------------------
# Objects that are their values

OF_ARRAYS = {"tofile", "dump", "dumps", "setflags", "ctypes"}
OF_PANDAS = frozenset(
    """T abs add add_prefix add_suffix agg aggregate align all any append apply argmax argmin argsort array asfreq asof
    assign astype at axes between bfill case_when cat categories clip closed codes columns combine combine_first compare
    convert_dtypes copy corr corrwith count cov cumcount cummax cummin cumprod cumsum delete describe diff difference
    div divide divmod dot drop drop_duplicates droplevel dropna dtype dtypes duplicated empty eq equals ewm expanding
    explode factorize ffill fillna filter first first_valid_index floordiv from_arrays from_breaks from_codes
    from_dict from_product from_records from_tuples ge get get_group get_indexer get_level_values get_loc groupby groups
    gt has_duplicates hasnans head iat identical idxmax idxmin iloc index indices infer_objects inferred_type insert
    interpolate intersection is_monotonic_decreasing is_monotonic_increasing is_unique isetitem isin isna isnull item
    items iterrows itertuples join keys kurt kurtosis last last_valid_index le left length levels loc lt map mask max
    mean median melt merge mid min mod mode mul multiply name names nbytes ndim ne ngroup ngroups nlargest nlevels
    notna notnull nsmallest nth nunique ordered overlaps pct_change pipe pivot pivot_table pop pow prod product quantile
    radd rank ravel rdiv rdivmod reindex reindex_like rename rename_axis reorder_levels repeat replace reset_index
    rfloordiv right rmod rmul rolling round rpow rsub rtruediv searchsorted select_dtypes sem set_axis set_index
    set_names shape shift size skew sort_index sort_values sortlevel squeeze stack std str sub subtract sum swaplevel
    symmetric_difference tail take to_dict to_flat_index to_frame to_list to_numpy to_records to_series tolist transform
    transpose truediv truncate union unique unstack update value_counts values var view where xs total_seconds
    capitalize contains endswith extract find findall fullmatch len lower lstrip match pad removeprefix removesuffix
    rstrip slice split startswith strip title upper zfill""".split()
)
ANY = None
OBJECTS: dict[type, frozenset[str] | None] = {  # names of what may be read of objects of a class, and of the class
    **dict.fromkeys(
        (
            *(bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, range, slice),
            *(type(None), type(...), type(NotImplemented), memoryview, types.MappingProxyType, types.SimpleNamespace),
            *(type({}.keys()), type({}.values()), type({}.items()), property, classmethod, staticmethod),
            *(collections.OrderedDict, collections.Counter, collections.deque, collections.defaultdict),
            *(collections.ChainMap, collections.UserDict, collections.UserList, collections.UserString),
            *(fractions.Fraction, re.Pattern, re.Match, io.StringIO, io.BytesIO, struct.Struct),
            *(np.poly1d, np.finfo, np.iinfo, np.dtype, np.vectorize, np.ndindex, np.ndenumerate, type(np.add)),
            *(type(iter([])), functools.partial, functools.cached_property, statistics.NormalDist, enum.Enum),
            *(operator.itemgetter, operator.attrgetter, operator.methodcaller, functools.partialmethod),
            *(np.flatiter, np.broadcast, type(np.s_), type(np.r_), type(np.c_), type(np.mgrid), types.UnionType),
            *(types.GenericAlias, types.MethodWrapperType, type(sys.float_info), dataclasses.Field, re.RegexFlag),
            *(contextlib.nullcontext, contextlib.suppress, np.errstate, type(hashlib.sha256()), type(hashlib.md5())),
            *(collections.abc.Mapping, collections.abc.MutableMapping, collections.abc.Sequence, collections.abc.Set),
            *(type(hashlib.blake2b()), type(hashlib.blake2s()), type(hashlib.sha3_256()), type(hashlib.sha512())),
            *(type(itertools.count()), type(itertools.chain()), type(itertools.product()), enum.EnumType),
        ),
        ANY,
    ),
    **{
        kind: frozenset({name for name in dir(kind) if not name.startswith("__")} - OF_ARRAYS)
        for kind in (np.ndarray, np.generic, array.array)
    },
    object: frozenset(),
    type: frozenset(["mro"]),
    BaseException: frozenset(["args", "add_note"]),
    types.GeneratorType: frozenset(["close", "send", "throw"]),
    types.FunctionType: frozenset(),
    types.BuiltinFunctionType: frozenset(["__self__"]),
    types.MethodType: frozenset(["__self__", "__func__"]),
    datetime.date: frozenset(["year", "month", "day", "min", "max", "toordinal", "weekday"]),
    datetime.time: frozenset(["hour", "minute", "second", "microsecond"]),
    datetime.timedelta: frozenset(["days", "seconds", "microseconds", "total_seconds"]),
    logging.Logger: frozenset("critical debug error exception info log warning".split()),
    warnings.catch_warnings: frozenset(),
    pd.Interval: OF_PANDAS,
    pd.Timedelta: OF_PANDAS,
}
ARE_VALUES = (  # of which the operators, `len` and the like are functions as well
    *(kind for kind in OBJECTS if kind not in (object, logging.Logger, warnings.catch_warnings)),
    *(types.ModuleType, types.CodeType),
)
SPECIAL = frozenset(  # names with two underlines that say nothing of where a program runs
    """__name__ __qualname__ __class__ __dict__ __slots__ __self__ __func__ __wrapped__ __args__ __origin__ __members__
    __cause__ __annotations__ __match_args__ __dataclass_fields__ __bases__ __mro__ __enter__ __exit__""".split()
)
OF_MACHINE = frozenset(  # dunder methods that show the memory, the file or the module
    "__hash__ __repr__ __str__ __format__ __reduce__ __reduce_ex__ __sizeof__ __subclasses__ __dir__ __getstate__"
    " __getattribute__ __setattr__ __delattr__ __subclasshook__ __init_subclass__".split()
)
FOR_DATA = (
    "__setattr__",
    "__init_subclass__",
    "__repr__",
    "__str__",
    "__format__",
    "__hash__",
)  # of super() and object
TEXTS = (str, repr, ascii, format)
OF_SETS = (len, sorted, min, max, any, all, bool, isinstance, set, frozenset, type, hash, print, callable, sum)
ONLY_CALLED = (getattr, hasattr, setattr, hash, warnings.simplefilter, warnings.filterwarnings)  # not handed over
OF_THE_PROCESS = (" at 0x", "<class '", "<module '", "<function ")  # in texts of objects
OF_TEMPLATES = re.compile(r"n\}|\{[^{}:!]*[.\[]")  # by the language that is set; attributes that are read
CLOCKS = ("now", "today")  # texts that NumPy and pandas read as the time at which they do


@functools.lru_cache(maxsize=1)
def _known() -> dict[int, Any]:
    """The functions and classes of the lists above, by their place."""
    found: list[Any] = []
    for module in MODULES:
        found += [each for name, each in vars(module).items() if callable(each) and not name.startswith("__")]
    for module, names in NAMES.items():
        found += [getattr(module, each) for each in names.split() if hasattr(module, each)]
    return {id(each): each for each in found}


def _home(value: Any) -> str:
    found = getattr(value, "__module__", None)
    return found if isinstance(found, str) else ""


def _name_of(value: Any) -> str:
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None) or type(value).__name__
    home = _home(value)
    owner = getattr(value, "__self__", None)
    if isinstance(owner, types.ModuleType):
        home = owner.__name__
    elif not home and owner is not None:
        home = type(owner).__module__
    return f"{home}.{name}" if home and home != "builtins" else str(name)


def outside(run: Run, what: str) -> ProofEnds:
    """The end of a proof at what is not known to be a function of its arguments."""
    of_system = any(each in what for each in ("urandom", "getrandom", "SystemRandom", "secrets"))
    remedy = "draw with numpy.random or random" if of_system else REMEDY
    return run.ends(f"{what} may depend on or change what is outside of the program", remedy, kind=OutsideOfTheCall)


# ----------------------------------------------------------------------------------------------------------------------
# Calls


def check_call(run: Run, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Ends the proof at a call that may read or change what is outside of the program."""
    if not run.running_release:
        return
    if isinstance(function, functools.partial):
        check_call(run, function.func, (*function.args, *args), {**function.keywords, **kwargs})
        return
    if not is_function_of_arguments(run, function):
        raise outside(run, f"{_name_of(function)}()")
    if not any(function is each for each in OF_SETS) or "key" in kwargs:
        for each in args:
            spread(run, each)
    if getattr(function, "__name__", "") in ("pop", "__iter__"):
        spread(run, getattr(function, "__self__", None))
    if any(function is each for each in (getattr, hasattr, setattr)):
        _check_named(run, function, args)
        args = args[1:]
    elif isinstance(function, operator.attrgetter | operator.methodcaller):
        _check_getter(run, function, args)
    elif function is hash and not all(isinstance(each, numbers.Number | Opaque) for each in args):
        raise outside(run, "hash() of what is no number")
    elif getattr(function, "__name__", "") in ("__setattr__", "__delattr__"):
        _check_named(run, setattr, args)
    _check_warnings(run, function, args, kwargs)
    if any(each is text for text in TEXTS for each in (function, *args, *kwargs.values())) or (
        isinstance(getattr(function, "__self__", None), str) and function.__name__ in ("format", "format_map")
    ):
        for each in (getattr(function, "__self__", None), *args[1:], *kwargs.values()):
            if isinstance(each, str) and OF_TEMPLATES.search(each if "{" in each else f"{{:{each}}}"):
                raise outside(run, f"the format {each!r}")
        check_text(run, *args, *kwargs.values())
    for each in (*args, *kwargs.values()):
        _check_argument(run, each)
    owner = getattr(function, "__self__", None)
    if any(_home(each).split(".")[0] in ("numpy", "pandas") for each in (function, type(function), type(owner))):
        check_clocks(run, owner, *args, *kwargs.values())


def _check_argument(run: Run, value: Any, depth: int = 0) -> None:
    """What a function gets, it may call, read or change."""
    if isinstance(value, types.ModuleType):
        raise outside(run, f"the module {value.__name__} as an argument")
    kind = type(value)
    if kind in (list, tuple, set, frozenset, dict) and depth < DEEPEST:
        for each in value.values() if kind is dict else value:
            if type(each) not in (int, float, str, bool):
                _check_argument(run, each, depth + 1)
    elif isinstance(value, functools.partial):
        check_call(run, value.func, value.args, value.keywords)
    elif callable(value) and not isinstance(value, Opaque | type):
        if any(value is each for each in ONLY_CALLED) or not is_function_of_arguments(run, value):
            raise outside(run, f"{_name_of(value)}")
    else:
        check_operand(run, value)


def _check_named(run: Run, function: Any, args: tuple[Any, ...]) -> None:
    """`getattr`, `hasattr` and `setattr` of an object."""
    if len(args) < 2 or isinstance(args[0], Opaque) or not isinstance(args[1], str):
        return
    owner, name = args[:2]
    if function is setattr:
        if type(owner).__module__ not in run.modules and not _is_of_program(run, type(owner)):
            raise run.ends(f"attribute {name} of an object that is not the program's own is set", kind=OutsideOfTheCall)
        return
    found = _is_of_program(run, owner) or _is_of_program(run, type(owner))
    if (
        not found
        and (isinstance(owner, types.ModuleType | type) or callable(owner))
        and len(args) + (function is hasattr) > 2
    ):
        raise outside(run, f"whether {getattr(owner, '__name__', type(owner).__name__)} has the attribute {name}")
    elif not found and type(owner).__flags__ & MADE_BY_PROGRAMS and not hasattr(owner, name):
        raise outside(run, f"whether an object of type {type(owner).__name__} has the attribute {name}")
    check_attribute(run, owner, name)


def _check_getter(run: Run, getter: Any, args: tuple[Any, ...]) -> None:
    names = getter.__reduce__()[1][: None if isinstance(getter, operator.attrgetter) else 1]
    for owner in args:
        for name in names:
            found = owner
            for part in name.split("."):
                if isinstance(found, Opaque):
                    break
                check_attribute(run, found, part)
                found = getattr(found, part)
            if isinstance(getter, operator.methodcaller) and not isinstance(found, Opaque):
                if not is_function_of_arguments(run, found):
                    raise outside(run, f"{_name_of(found)}()")


def _check_warnings(run: Run, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Warnings may be ignored: who records them, or makes them errors, sees which rows raise them."""
    if function is warnings.simplefilter or function is warnings.filterwarnings:
        action = args[0] if args else kwargs.get("action")
        if not (isinstance(action, str) and action == "ignore"):
            raise _of_warnings(run)
    elif function is warnings.catch_warnings:
        if kwargs.get("record") or kwargs.get("module") or kwargs.get("action") not in (None, "ignore"):
            raise _of_warnings(run)


def _of_warnings(run: Run) -> ProofEnds:
    return run.ends(
        "warnings are recorded, shown or turned into errors, so which rows raise them is seen",
        'write warnings.simplefilter("ignore") or nothing',
        kind=OutsideOfTheCall,
    )


def check_clocks(run: Run, *values: Any, beside: bool = False) -> None:
    """Ends the proof where NumPy or pandas may read a text as the time of the call; `beside`: if one is there."""
    if not run.running_release or (beside and not any(isinstance(each, OF_LIBRARIES) for each in values)):
        return
    for each in values:
        texts: Any = ()
        if isinstance(each, str | bytes):
            texts = (each,)
        elif isinstance(each, slice):
            check_clocks(run, each.start, each.stop)
        elif isinstance(each, list | tuple | set | dict) and len(each) < 10_000:
            check_clocks(run, *(each.values() if isinstance(each, dict) else each))
        elif isinstance(each, np.ndarray) and each.dtype.kind in "USO":
            texts = [part for part in each.flat if isinstance(part, str | bytes)]
        elif isinstance(each, pd.Series | pd.Index) and each.dtype.kind not in "biufc":
            texts = [part for part in each if isinstance(part, str | bytes)]
        elif isinstance(each, pd.DataFrame):
            check_clocks(run, *(each[name] for name in each.columns))
        for part in texts:
            said = part.decode("latin-1") if isinstance(part, bytes) else str(part)
            if said.strip().lower() in CLOCKS:
                raise outside(run, f'the text "{said}", which may stand for the time of the call,')


def check_text(run: Run, *values: Any, depth: int = 0) -> None:
    """Ends the proof where an array or a frame is made a text, which settings of its library say how to do."""
    for each in values if run.running_release else ():
        if isinstance(each, np.ndarray | pd.DataFrame | pd.Series | pd.Index):
            raise outside(run, "the text of an array or a frame")
        spread(run, each)
        if type(each) in (list, tuple, dict, set) and depth < DEEPEST:
            check_text(run, *(each.values() if isinstance(each, dict) else each), depth=depth + 1)


def spread(run: Run, value: Any) -> Any:
    """A value whose entries are read in their order: of a set of texts it is another one in every process."""
    check_operand(run, value)
    if run.running_release and isinstance(value, set | frozenset):
        if not all(isinstance(each, numbers.Number) for each in value):
            raise run.ends("the order of a set is used", "sort it")
    return value


def is_function_of_arguments(run: Run, function: Any) -> bool:
    """Whether a function depends on its arguments alone and changes nothing else than them."""
    if isinstance(function, Opaque | Draw) or id(function) in _known():
        return True
    if isinstance(function, type):
        return _is_class(run, function)
    if isinstance(function, np.ufunc):
        return any(vars(each).get(function.__name__) is function for each in (np, scipy.special))
    if isinstance(function, functools.partial):
        return is_function_of_arguments(run, function.func)
    if isinstance(function, np.vectorize):
        return is_function_of_arguments(run, function.pyfunc)
    if isinstance(function, types.FunctionType):
        return _is_python_function(run, function)
    owner = getattr(function, "__self__", None)
    wrapped = vars(function).get("__wrapped__") if type(function) is LRU else None
    if wrapped is not None:
        return is_function_of_arguments(run, wrapped)
    if isinstance(function, types.MethodType):
        own = function.__func__
        if isinstance(own, types.FunctionType) and _is_python_function(run, own):
            return True
        return _may_be_read(run, owner, getattr(own, "__name__", ""))
    if isinstance(owner, types.ModuleType):
        return False  # a function of a module of C that is in no list
    if owner is not None:
        return _may_be_read(run, owner, getattr(function, "__name__", ""))
    kind = getattr(function, "__objclass__", None)
    if kind is not None:
        return _may_be_read(run, kind, getattr(function, "__name__", ""))
    if not isinstance(function, types.BuiltinFunctionType) and (
        type(function) in OBJECTS or _is_of_program(run, type(function))
    ):
        return True
    return _home(function).startswith(SCIPY) or _home(type(function)).startswith(SCIPY) or _is_random(function)


LRU = type(functools.lru_cache(lambda: None))
WRAPPERS = (contextlib.__file__, functools.__file__)  # of decorators, around a function of the program
GENERATED = ("_replace", "_make", "_asdict", "__init__", "__repr__", "__eq__", "__replace__")


def _is_python_function(run: Run, function: types.FunctionType) -> bool:
    code = function.__code__
    if code.co_filename in run.files:
        return True
    if code.co_filename in WRAPPERS:
        inner = getattr(function, "__wrapped__", None)
        return inner is not None and is_function_of_arguments(run, inner)
    if function.__name__ in GENERATED and not is_of_library(run, function):
        return True
    home = _home(function)
    if home.startswith(SCIPY) or _is_random(function):
        return is_of_library(run, function) and function.__name__ not in SETTINGS_OF_SCIPY
    return home.startswith("dpverify.tape") or home.startswith("dpverify.proof")


def _is_random(function: Any) -> bool:
    owner = getattr(function, "__self__", None)
    homes = (_home(function), _home(type(owner)) if owner is not None else "", _home(type(function)))
    return any(each == home or each.startswith(f"{home}.") for home in RANDOM for each in homes)


def _is_class(run: Run, kind: type) -> bool:
    if kind in OBJECTS or issubclass(kind, BaseException | np.generic) or _is_of_program(run, kind):
        return True
    home = _home(kind)
    if home.startswith(("dpverify.tape", "dpverify.proof")) or home in ("itertools", "fractions", "collections"):
        return True
    return (
        (home.startswith(SCIPY) and kind.__name__ not in SETTINGS_OF_SCIPY)
        or home.partition(".")[0] in RANDOM
        or (home.startswith("numpy.random"))
    )


def _is_known_class(run: Run, kind: type) -> bool:
    """Whether what a class of the program has got from others (`__contains__ = os.path.exists`) is known."""
    if kind in run.known_classes or not kind.__flags__ & MADE_BY_PROGRAMS or is_of_library(run, kind):
        return True
    for part in kind.__mro__:
        if part.__flags__ & MADE_BY_PROGRAMS and not is_of_library(run, part):
            if not all(_is_known_member(run, each) for each in list(vars(part).values())):
                return False
    run.known_classes.add(kind)
    return True


def _is_known_member(run: Run, value: Any) -> bool:
    if isinstance(value, property):
        return all(_is_known_member(run, each) for each in (value.fget, value.fset, value.fdel))
    if isinstance(value, staticmethod | classmethod):
        return _is_known_member(run, value.__func__)
    if isinstance(value, functools.cached_property | functools.partialmethod | functools.partial):
        return _is_known_member(run, value.func)
    if isinstance(value, types.FunctionType):
        made = value.__code__.co_filename in OF_CLASSES
        return made or value.__code__.co_filename == "<string>" or is_function_of_arguments(run, value)
    if isinstance(value, type | Opaque) or not callable(value):
        return True
    if isinstance(value, types.WrapperDescriptorType | types.MethodDescriptorType):
        return value.__objclass__ in OBJECTS
    owner = getattr(value, "__self__", None)
    return isinstance(owner, type) or is_function_of_arguments(run, value)


OF_CLASSES = tuple(each.__file__ for each in (collections, dataclasses, enum, typing, abc, functools))


def _is_of_program(run: Run, kind: Any) -> bool:
    """Whether a class is made by the program (a class, a named tuple)."""
    if not isinstance(kind, type) or not kind.__flags__ & MADE_BY_PROGRAMS:
        return False
    made = kind.__module__.startswith("dpverify.proof.") and not is_of_library(run, kind)  # by `type` or `namedtuple`
    return kind.__module__ in run.modules or made


# ----------------------------------------------------------------------------------------------------------------------
# Attributes


def check_attribute(run: Run, owner: Any, name: str) -> None:
    """Ends the proof where an attribute is read that says where, when or how the program runs."""
    if not run.running_release or isinstance(owner, Opaque):
        return
    if isinstance(owner, types.ModuleType):
        _check_name_of_module(run, owner, name)
    elif not _is_known_class(run, owner if isinstance(owner, type) else type(owner)):
        raise outside(run, f"a method or property of {type(owner).__qualname__}")
    elif not _may_be_read(run, owner, name):
        what = owner.__qualname__ if isinstance(owner, type) else type(owner).__qualname__
        raise outside(run, f"attribute {name} of {what}")


def _check_name_of_module(run: Run, module: types.ModuleType, name: str) -> None:
    if any(module is each for each in run.loaded.values()) and not name.startswith("__"):
        return
    home = module.__name__
    if name.startswith("__") or not hasattr(module, name):
        raise outside(run, f"{home}.{name}")
    value = getattr(module, name)
    if isinstance(value, types.ModuleType):
        return
    if callable(value) and (is_function_of_arguments(run, value) or home.startswith(RANDOM)):
        return
    if name in CONSTANTS.get(home, ()) or any(value is each for each in PROVED_OTHERWISE):
        return
    if home in ALL_CONSTANTS and isinstance(value, int | float | complex | str):
        return
    raise outside(run, f"{home}.{name}")


PROVED_OTHERWISE = (random.SystemRandom, secrets.SystemRandom)


def _may_be_read(run: Run, owner: Any, name: str) -> bool:
    """Whether an attribute of an object, or of a class, is known to be a part of its value."""
    is_class = isinstance(owner, type)
    kinds = owner.__mro__ if is_class else type(owner).__mro__
    if name.startswith("__") and name.endswith("__"):
        if name in OF_MACHINE:
            return name in FOR_DATA and (is_class or isinstance(owner, super) or _is_of_program(run, type(owner)))
        if name == "__dict__":
            return _is_of_program(run, owner if is_class else type(owner))
        if name not in SPECIAL:
            found = next((vars(each)[name] for each in kinds if name in vars(each)), None)
            if not callable(found):
                return False
    elif isinstance(owner, types.GeneratorType | types.FrameType | types.TracebackType | types.CodeType):
        return name in ("close", "send", "throw")
    if isinstance(owner, super) or _is_special(run, owner) or name in SPECIAL:
        return True
    for each in kinds:
        if name in vars(each):
            return _is_of_program(run, each) or _is_listed(each, name)
    if is_class and name == "mro":
        return True
    return _is_of_program(run, type(owner)) or is_value(run, owner)  # an attribute of the object itself


def _is_listed(kind: type, name: str) -> bool:
    home = kind.__module__
    if kind in OBJECTS:
        names = OBJECTS[kind]
        return names is None or name in names or (name.startswith("__") and kind is not logging.Logger)
    if home.partition(".")[0] == "pandas":
        return (name in OF_PANDAS or name.startswith("__")) and "datetime" not in home and "timestamp" not in home
    if home.startswith(SCIPY) or home.startswith(RANDOM) or home.startswith("dpverify."):
        return True
    if issubclass(kind, np.generic):
        return name not in OF_ARRAYS
    return home in (
        "itertools",
        "builtins",
        "collections",
        "typing",
        "abc",
        "enum",
        "_operator",
        "collections.abc",
    ) and (kind not in (types.FrameType, types.TracebackType, types.CodeType, types.ModuleType))


def _is_special(run: Run, owner: Any) -> bool:
    """Attributes of functions of the program."""
    return isinstance(owner, types.FunctionType) and owner.__code__.co_filename in run.files


def is_value(run: Run, value: Any) -> bool:
    """Whether an object is nothing but its value: no file, no setting, no part of the interpreter."""
    kind = type(value)
    if not _is_known_class(run, kind):
        return False
    if kind in ARE_VALUES or isinstance(value, Opaque) or issubclass(kind, type):
        return True
    if isinstance(value, ARE_VALUES):
        return (
            not isinstance(value, collections.abc.MutableMapping)
            or isinstance(value, dict | collections.UserDict)
            or (_is_of_program(run, kind))
        )
    if _is_of_program(run, kind) or kind.__module__ in ("itertools", "typing", "builtins", "collections", "re", "enum"):
        return not isinstance(value, types.FrameType | types.TracebackType)
    home = kind.__module__
    if home.partition(".")[0] == "pandas":
        return True
    if home.startswith((*SCIPY, *RANDOM, "numpy", "dpverify.", "weakref", "_weakref", "functools", "contextlib")):
        return True
    return callable(value) and is_function_of_arguments(run, value)


def check_operand(run: Run, *values: Any) -> None:
    """Ends the proof where an operation meets an object that is more than its value."""
    if not run.running_release:
        return
    for each in values:
        if isinstance(each, str):
            if any(part in each for part in OF_THE_PROCESS):
                raise outside(run, "the text of an object or class, with its place or its module,")
            continue
        if type(each) in QUICK or is_value(run, each):
            continue
        raise outside(run, f"an object of type {type(each).__module__}.{type(each).__qualname__}")


QUICK = frozenset((int, float, bool, type(None), list, tuple, dict, np.ndarray, np.float64))


def check_import(run: Run, module: Any, names: Any) -> None:
    """Ends the proof at an import within the release that may fail, or that brings what no attribute may be."""
    if not run.running_release:
        return
    if run.tries:
        raise outside(run, "an import within try or with")
    for name in names or ():
        check_attribute(run, module, name)


def own_name(run: Run, name: str, value: Any) -> Any:
    """A name that Python gives a module (`__name__`, `__file__`): constant where it is loaded, and no longer."""
    if run.running_release:
        raise run.ends(
            f"{name} is read by the function, and is another one where it is run in another way",
            "leave it out of the function",
            kind=OutsideOfTheCall,
        )
    return value


def unknown_name(run: Run, name: str, value: Any) -> Any:
    """A name that neither the module nor Python has: whether it is there depends on what others have done."""
    if run.running_release:
        raise outside(run, f"the name {name}, which nothing in the module assigns,")
    return value()


def check_subject(run: Run, value: Any) -> None:
    """What a statement takes apart by itself: a value, and not in the order of a set of texts."""
    if run.running_release:
        spread(run, value)
        _check_argument(run, value)


def logger_of(run: Run, function: Any, name: str) -> Any:
    """`logging.getLogger(__name__)`, whose name nobody reads."""
    if function is not logging.getLogger and run.running_release:
        own_name(run, "__name__", name)
    return function(name)


# ----------------------------------------------------------------------------------------------------------------------
# What the module has set, and what it keeps


def check_settings(run: Run) -> None:
    """Ends the proof where the module has set how NumPy and Python deal with warnings, other than by ignoring them."""
    errors = any(each not in ("ignore", "warn") for each in np.geterr().values())
    turned = any(each[0] == "error" for each in warnings.filters)
    if errors or turned or warnings.showwarning is not getattr(warnings, "_showwarning_orig", _SHOWN):
        raise run.ends(
            "the module turns warnings into errors or shows them in its own way, so which rows raise them is seen",
            'leave them as they are, or write warnings.simplefilter("ignore")',
            kind=OutsideOfTheCall,
        )


_SHOWN = warnings.showwarning


def check_kept(run: Run, names: set[str], given: Any) -> None:
    """Ends the proof where names that the program reads reach a list, dict or set of a library (`sys.argv`)."""
    found = Memory(run)
    found.add("", given)
    for module in run.loaded.values():
        for name in names & vars(module).keys():
            found.add(name, vars(module)[name])
    name = _kept_of_libraries(run, found.objects)
    if name:
        raise outside(run, f"{name}, which the module keeps a name of,")


def _kept_of_libraries(run: Run, objects: dict[int, Any]) -> str:
    """The name of a list, dict or set of a library (`sys.argv`, `os.environ`) that is among the objects; else ''."""
    kinds = (list, dict, set, collections.deque, collections.abc.MutableMapping)
    candidates = {key: each for key, each in objects.items() if isinstance(each, kinds)}
    own = {id(each) for each in run.loaded.values()}
    if not candidates:
        return ""
    for name, module in list(sys.modules.items()):
        if not isinstance(module, types.ModuleType) or id(module) in own or name in run.modules or name == "__main__":
            continue
        space = vars(module)
        if id(space) in candidates:
            return f"{name}.__dict__"
        if getattr(module, "__file__", None) in run.files:
            continue
        for key, value in list(space.items()):
            if id(value) in candidates and key != "__builtins__":
                return f"{name}.{key}"
    return ""
