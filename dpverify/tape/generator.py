"""Generators whose draws are on the tape: `numpy.random.Generator`, `RandomState` and the module's own functions.

Four rules. (1) Only an unseeded `default_rng()` made during a run joins the tape; a seed is noted (FOREIGN).
(2) Reading or writing a bit generator or a state is noted. (3) Every call is made by the real method first, so its
errors are the program's errors; what it returned is not used. (4) Arguments are compared bit for bit, never by repr.
A method that is not registered here is noted (UNKNOWN_METHOD): fail closed.

The classes inherit from NumPy's, so that `isinstance` holds; the bit generator that they inherit is a decoy, seeded
by the operating system: what draws from it without asking gives other values in every run and is caught there.
Seeded `RandomState` and `Generator(PCG64(seed))` are deterministic functions to the tape: equal on both datasets.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.tape import supports
from dpverify.tape.opaque import plain
from dpverify.tape.sampler import MOST_WHOLE, Sampler
from dpverify.tape.sources import Source, Whole

Array = npt.NDArray[Any]


_DECOY, _LEGACY_DECOY = np.random.PCG64(), np.random.MT19937()  # who draws from them unseen cannot repeat that


class TapeGenerator(Sampler, np.random.Generator):
    """`numpy.random.Generator` on the tape."""

    def __init__(self, real: np.random.Generator, source: Source) -> None:
        np.random.Generator.__init__(self, _DECOY)
        self._real = real
        self._source = source

    def _state(self) -> Any:
        return self._real.bit_generator.state

    def _set_state(self, state: Any) -> None:
        self._real.bit_generator.state = state

    @property
    def bit_generator(self) -> Any:
        """Noted: its state is outside of the tape."""
        self._note("FOREIGN", "reads the bit generator, whose state is outside of the tape")
        return np.random.Generator.bit_generator.__get__(self)

    def __reduce__(self) -> Any:
        self._note("FOREIGN", "copies the state of the generator")
        return np.random.Generator.__reduce__(self)

    def __deepcopy__(self, memo: Any) -> Any:
        self._note("FOREIGN", "copies the generator")
        return self

    __copy__ = None

    def spawn(self, n_children: int) -> Any:
        return [TapeGenerator(child, self._source) for child in self._real.spawn(n_children)]

    def draw(self, family: str, size: Any, z: Any, *parameters: Any) -> Any:
        """Variables of a registered primitive, drawn as z; see `primitives`."""
        whole = np.asarray(z).dtype.kind == "i"
        return self._source.variables(family, z, parameters, np.int64 if whole else np.float64)

    def _standard(self, name: str, family: str, size: Any, dtype: Any, out: Any, *more: Any, **kwargs: Any) -> Any:
        if out is not None or np.dtype(dtype) != np.float64:
            return self._unknown(name, *more, size=size, dtype=dtype, out=out, **kwargs)
        z = getattr(self._real, name)(*more, size=size, dtype=dtype, **kwargs)
        return self._source.variables(family, z, more, np.float64)

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        return self._standard("random", "uniform", size, dtype, out)

    def standard_normal(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        return self._standard("standard_normal", "normal", size, dtype, out)

    def standard_exponential(
        self, size: Any = None, dtype: Any = np.float64, method: Any = "zig", out: Any = None
    ) -> Any:
        return self._standard("standard_exponential", "exponential", size, dtype, out, method=method)

    def standard_gamma(self, shape: Any, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        return self._standard("standard_gamma", "gamma", size, dtype, out, plain(shape))

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64, endpoint: bool = False
    ) -> Any:
        low, high = plain(low), plain(high)
        z = self._real.integers(low, high, size, dtype, endpoint)
        first, last = (0, low) if high is None else (low, high)
        end = np.asarray(last, dtype=np.float64) + bool(endpoint)
        if np.asarray(z).dtype != np.int64 or not (np.size(z) and np.abs(z).max() < MOST_WHOLE):

            def law(found: Any) -> Array:
                drawn = np.asarray(found, dtype=np.float64)
                if np.shape(found) != np.shape(z):
                    return np.array(-np.inf)
                inside = (drawn >= first) & ((drawn < end) | (end >= MOST_WHOLE))
                return np.where(inside, -np.log(end - np.asarray(first, dtype=np.float64)), -np.inf)

            key = ((low, high, endpoint),) if np.max(np.abs(end), initial=0) >= MOST_WHOLE else ()
            support = None
            if np.ndim(low) == 0 and np.ndim(high) == 0:
                bounds = (float(first), float(end))
                support = Whole(np.shape(z), functools.partial(supports.of_family, "integers", bounds))
            found = self._atom("integers", z, (str(np.dtype(dtype)), *key), law, support)
            return found.copy() if isinstance(found, np.ndarray) else found
        return self._source.variables("integers", z, (first, end), np.int64)

    def permuted(self, x: Any, *, axis: Any = None, out: Any = None) -> Any:
        x = plain(x)
        given = np.asarray(x)
        where = self._real.permuted(np.arange(given.size).reshape(given.shape), axis=axis)
        support = Whole((), functools.partial(supports.permutations, given.size)) if given.ndim == 1 else None
        order = self._atom("permuted", where, (given.shape, axis), None, support)
        found = given.ravel()[order]
        if out is None:
            return found
        out[...] = found
        return out


class TapeRandomState(Sampler, np.random.RandomState):
    """`numpy.random.RandomState` on the tape, and the functions of `numpy.random`."""

    def __init__(self, real: np.random.RandomState | Callable[[], np.random.RandomState], source: Source) -> None:
        np.random.RandomState.__init__(self, _LEGACY_DECOY)
        self._given = real
        self._source = source

    @functools.cached_property
    def _real(self) -> np.random.RandomState:
        return self._given if isinstance(self._given, np.random.RandomState) else self._given()

    def _state(self) -> Any:
        return self._real.get_state(legacy=False)

    def _set_state(self, state: Any) -> None:
        self._real.set_state(state)

    def seed(self, *args: Any, **kwargs: Any) -> None:
        self._note("FOREIGN", "sets the seed of a generator")

    def get_state(self, *args: Any, **kwargs: Any) -> Any:
        self._note("FOREIGN", "reads the state of a generator")
        return np.random.RandomState.get_state(self, *args, **kwargs)

    def set_state(self, *args: Any, **kwargs: Any) -> None:
        self._note("FOREIGN", "sets the state of a generator")

    def random_sample(self, size: Any = None) -> Any:
        return self._source.variables("uniform", self._real.random_sample(size), (), np.float64)

    random = ranf = sample = random_sample

    def rand(self, *shape: Any) -> Any:
        return self._source.variables("uniform", self._real.rand(*shape), (), np.float64)

    def randn(self, *shape: Any) -> Any:
        return self._source.variables("normal", self._real.randn(*shape), (), np.float64)

    def standard_normal(self, size: Any = None) -> Any:
        return self._source.variables("normal", self._real.standard_normal(size), (), np.float64)

    def standard_exponential(self, size: Any = None) -> Any:
        return self._source.variables("exponential", self._real.standard_exponential(size), (), np.float64)

    def standard_gamma(self, shape: Any, size: Any = None) -> Any:
        shape = plain(shape)
        return self._source.variables("gamma", self._real.standard_gamma(shape, size), (shape,), np.float64)

    def randint(self, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Any:
        low, high = plain(low), plain(high)
        z = self._real.randint(low, high, size, dtype)
        first, last = (0, low) if high is None else (low, high)
        if np.asarray(z).dtype != np.int64 or not (np.size(z) and np.abs(z).max() < MOST_WHOLE):
            return self._atom("randint", z, (low, high, size))
        return self._source.variables("integers", z, (first, last), np.int64)


def _fail_closed(kind: Any, base: Any) -> None:
    """Every public method of `base` that is not registered: the values are forced where arguments are equal.

    Names that NumPy has and this file does not know are noted.
    """
    known = {"f", "hypergeometric", "lognormal", "logseries", "multivariate_hypergeometric", "multivariate_normal",
             "noncentral_chisquare", "noncentral_f", "pareto", "power", "rayleigh", "triangular", "vonmises", "wald",
             "weibull", "zipf", "random_integers", "tomaxint"}  # fmt: skip
    mine = {name for each in (kind, Sampler) for name in vars(each)}
    for name in dir(base):
        if not name.startswith("_") and name not in mine:
            setattr(kind, name, _refused(name, noted=name not in known))


def _refused(name: str, *, noted: bool) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if noted:
            self._note("UNKNOWN_METHOD", f"{name} of this NumPy is not known to the tape")
        return self._unknown(name, *args, **kwargs)

    method.__name__ = name
    return method


_fail_closed(TapeGenerator, np.random.Generator)
_fail_closed(TapeRandomState, np.random.RandomState)
