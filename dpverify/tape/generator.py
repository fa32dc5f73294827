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
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.base.sites import site_text
from dpverify.tape import supports
from dpverify.tape.opaque import materialised, Opaque
from dpverify.tape.randomness import Arena
from dpverify.tape.sources import Change, key_of, Source, Whole
from dpverify.tape.transcript import Reason

# ----------------------------------------------------------------------------------------------------------------------
# The methods that NumPy's Generator and RandomState have in common, with their draws on the tape.


Array = npt.NDArray[Any]


MOST_WHOLE = 2**53  # whole numbers that a float64 holds


class Sampler:
    """The methods that Generator and RandomState have in common; `_real` draws, `_source` hands out."""

    _real: Any
    _source: Source

    def _note(self, code: str, text: str) -> None:
        arena = self._source.arena
        arena.notes.append(Reason(code, site_text(arena.site()), text))

    def _state(self) -> Any:
        raise NotImplementedError

    def _set_state(self, state: Any) -> None:
        raise NotImplementedError

    def _checked(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """What the real method returns, with its state put back: its errors are the program's errors."""
        state = self._state()
        value = getattr(self._real, name)(*args, **kwargs)
        self._set_state(state)
        return value

    def _moved(self, name: str, family: str, loc: Any, scale: Any, size: Any) -> Any:
        """loc + scale * z for a law with both arguments."""
        loc, scale = materialised(loc), materialised(scale)
        if type(loc) in (int, float) and type(scale) in (int, float) and math.isfinite(loc) and 0 < scale < math.inf:
            z = getattr(self._real, name)(0.0, 1.0, size)
        else:
            like = self._checked(name, loc, scale, size)
            z = getattr(self._real, name)(0.0, 1.0, np.shape(like) or None)
        return self._linear(self._source.variables(family, z, (), np.float64), loc, scale)

    @staticmethod
    def _linear(z: Any, loc: Any, scale: Any) -> Any:
        if type(scale) not in (int, float) or scale != 1:
            z = _times(z, scale)
        if type(loc) not in (int, float) or loc != 0:
            z = z + (loc if np.ndim(loc) else float(loc))
        return z

    def _direct(self, name: str, family: str, parameters: tuple[Any, ...], args: tuple[Any, ...], size: Any) -> Any:
        """A law of whole numbers, or one without shift: what the real method returns is z."""
        z = getattr(self._real, name)(*args, size)
        whole = np.asarray(z).dtype.kind in "iu"
        if (
            whole
            and np.size(z)
            and (np.abs(np.asarray(z, dtype=object)).max() if np.asarray(z).dtype.kind == "u" else np.abs(z).max())
            >= MOST_WHOLE
        ):
            return self._atom(name, z, (args, size))
        return self._source.variables(family, z, parameters, np.int64 if whole else np.float64)

    def _atom(self, name: str, value: Any, key: Any, law: Any = None, support: Whole | None = None) -> Any:
        return self._source.atom(name, value, law, key_of(key), support)

    def _unknown(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """A law that is not registered: the value is forced where the arguments are equal on both datasets."""
        args, kwargs = materialised(args), materialised(kwargs)
        out = kwargs.pop("out", None)
        value = getattr(self._real, name)(*args, **kwargs)
        if out is not None:
            value = getattr(value, "astype", lambda dtype: value)(out.dtype)
        found = self._atom(name, value, (args, sorted(kwargs.items()), out is not None))
        if out is not None:
            out[...] = found
            return out
        return found.copy() if isinstance(found, np.ndarray) else found

    # laws with shift and scale

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._moved("normal", "normal", loc, scale, size)

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._moved("laplace", "laplace", loc, scale, size)

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._moved("gumbel", "gumbel", loc, scale, size)

    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._moved("logistic", "logistic", loc, scale, size)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        low, high = materialised(low), materialised(high)
        like = self._checked("uniform", low, high, size)
        z = self._real.uniform(0.0, 1.0, np.shape(like) or None)
        width = high - low if type(low) in (int, float) and type(high) in (int, float) else np.subtract(high, low)
        return self._linear(self._source.variables("uniform", z, (), np.float64), low, width)

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        scale = materialised(scale)
        like = self._checked("exponential", scale, size)
        z = self._real.exponential(1.0, np.shape(like) or None)
        return self._linear(self._source.variables("exponential", z, (), np.float64), 0.0, scale)

    def gamma(self, shape: Any, scale: Any = 1.0, size: Any = None) -> Any:
        shape, scale = materialised(shape), materialised(scale)
        like = self._checked("gamma", shape, scale, size)
        z = self._real.standard_gamma(shape, np.shape(like) or None)
        return self._linear(self._source.variables("gamma", z, (shape,), np.float64), 0.0, scale)

    def chisquare(self, df: Any, size: Any = None) -> Any:
        df = materialised(df)
        z = self._real.chisquare(df, size)
        return self._source.variables("gamma", z / 2, (np.asarray(df) / 2,), np.float64) * 2.0

    def beta(self, a: Any, b: Any, size: Any = None) -> Any:
        a, b = materialised(a), materialised(b)
        return self._direct("beta", "beta", (a, b), (a, b), size)

    def standard_t(self, df: Any, size: Any = None) -> Any:
        df = materialised(df)
        return self._direct("standard_t", "student", (df,), (df,), size)

    def standard_cauchy(self, size: Any = None) -> Any:
        return self._direct("standard_cauchy", "student", (1.0,), (), size)

    # whole numbers

    def binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        n, p = materialised(n), materialised(p)
        return self._direct("binomial", "binomial", (_whole(n), p), (n, p), size)

    def poisson(self, lam: Any = 1.0, size: Any = None) -> Any:
        lam = materialised(lam)
        return self._direct("poisson", "poisson", (lam,), (lam,), size)

    def geometric(self, p: Any, size: Any = None) -> Any:
        p = materialised(p)
        return self._direct("geometric", "geometric", (p,), (p,), size)

    def negative_binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        n, p = materialised(n), materialised(p)
        return self._direct("negative_binomial", "negative_binomial", (n, p), (n, p), size)

    # whole values

    def multinomial(self, n: Any, pvals: Any, size: Any = None) -> Any:
        n, pvals = materialised(n), materialised(pvals)
        value = self._real.multinomial(n, pvals, size)
        n = _whole(n)
        chances = np.asarray(pvals, dtype=np.float64).copy()
        chances[..., -1] = np.maximum(1 - chances[..., :-1].sum(axis=-1), 0.0)  # what NumPy draws

        def law(found: Array) -> Array:
            if found.shape != value.shape:
                return np.array(-np.inf)
            terms = special.gammaln(found.sum(axis=-1) + 1) + (
                special.xlogy(found, chances) - special.gammaln(found + 1)
            ).sum(axis=-1)
            return np.where(found.sum(axis=-1) == n, terms, -np.inf)

        support = None
        if np.ndim(n) == 0 and chances.ndim == 1:
            support = Whole(value.shape[:-1], functools.partial(supports.multinomial, int(n), chances))
        return self._atom("multinomial", value, (), law, support).copy()

    def dirichlet(self, alpha: Any, size: Any = None) -> Any:
        alpha = materialised(alpha)
        value = self._real.dirichlet(alpha, size)
        a = np.asarray(alpha, dtype=np.float64)

        def law(found: Array) -> Array:
            if found.shape != value.shape:
                return np.array(-np.inf)
            constant = special.gammaln(a.sum()) - special.gammaln(a).sum()
            return np.asarray(constant + special.xlogy(a - 1, found).sum(axis=-1))

        return self._atom("dirichlet", value, (), law).copy()

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None, *args: Any, **kwargs: Any) -> Any:
        a, size, p = materialised(a), materialised(size), materialised(p)
        like = self._checked("choice", a, size, replace, p, *args, **kwargs)
        axis = kwargs.get("axis", args[0] if args else 0)
        pool = None if isinstance(a, int | np.integer) else np.asarray(a)
        count = int(a) if pool is None else pool.shape[axis]
        rest = {"shuffle": kwargs.get("shuffle", args[1] if len(args) > 1 else True)} if args or kwargs else {}
        index = self._real.choice(count, size, replace, p, **rest)
        if getattr(self._source, "composes", False) and pool is not None and _is_sign(pool, size, replace, p):
            signs = pool.take(index)
            found = self._source.variables("sign", signs, (), pool.dtype)
            return found if isinstance(found, Opaque) or np.ndim(found) else type(signs)(found)
        chances = None if p is None else np.asarray(p, dtype=np.float64) / np.sum(p)

        def law(found: Any) -> Array:
            if np.shape(found) != np.shape(index):
                return np.array(-np.inf)
            if not replace and size is not None:
                return np.zeros(())
            inside = np.asarray(found) < count
            masses = np.full(count, 1 / count) if chances is None else chances
            with np.errstate(divide="ignore"):
                return np.where(inside, np.log(masses[np.minimum(found, count - 1)]), -np.inf)

        key = (count, size, p, rest) if not replace and size is not None else ()
        support = None
        if replace or size is None:
            support = Whole(np.shape(index), functools.partial(supports.choice, count, chances))
        elif p is None and rest.get("shuffle", True):
            support = Whole((), functools.partial(supports.arrangements, count, np.size(index)))
        found = self._atom("choice", index, key_items(key), law, support)
        if np.max(found, initial=-1) >= count:
            self._source.arena._diverge("IMPOSSIBLE", self._source.arena.site(), "a choice that this dataset lacks")
        if pool is None:
            return found.copy() if isinstance(found, np.ndarray) else type(like)(found)
        return np.take(pool, found, axis=axis) if np.ndim(found) else pool.take(found, axis=axis)

    def permutation(self, x: Any, axis: int = 0) -> Any:
        if not isinstance(x, np.ndarray | Opaque):
            self._checked("permutation", x)
        count = int(x) if isinstance(x, int | np.integer) else len(x) if axis == 0 else np.shape(x)[axis]
        support = Whole((), functools.partial(supports.permutations, count))
        order = self._atom("permutation", self._real.permutation(count), (count,), None, support)
        if isinstance(x, int | np.integer):
            return order.copy()
        return x[order] if isinstance(x, Opaque) and axis == 0 else np.take(np.asarray(x), order, axis=axis)

    def shuffle(self, x: Any, axis: int = 0) -> None:
        count = len(x) if axis == 0 else np.shape(x)[axis]
        places = np.arange(count)
        self._real.shuffle(places)
        support = Whole((), functools.partial(supports.permutations, count))
        order = self._atom("shuffle", places, (count,), None, support)
        if isinstance(x, np.ndarray | Opaque):
            x[...] = x[order] if axis == 0 else np.take(x, order, axis=axis)
        else:
            x[:] = [x[index] for index in order]

    def bytes(self, length: int) -> Any:
        return self._unknown("bytes", length)


def _is_sign(pool: Array, size: Any, replace: bool, p: Any) -> bool:
    """Whether a choice is that of fair and independent signs."""
    fair = p is None or np.array_equal(p, [0.5, 0.5])
    known = pool.dtype in (np.int64, np.float64) and pool.shape == (2,) and sorted(pool.tolist()) == [-1, 1]
    return fair and known and (replace or size is None)


def _whole(argument: Any) -> Array:
    """A number that a law of whole numbers is called with: NumPy cuts off what is behind the point."""
    return np.trunc(np.asarray(argument, dtype=np.float64))


def _times(z: Any, scale: Any) -> Any:
    return z * (np.asarray(scale, dtype=np.float64) if np.ndim(scale) else float(scale))


def key_items(key: Any) -> Any:
    """A key without dicts."""
    return tuple(sorted(each.items()) if isinstance(each, dict) else each for each in key)


# ----------------------------------------------------------------------------------------------------------------------


_GENERATOR, _STATE = np.random.Generator, np.random.RandomState  # a run leads their names elsewhere
_DECOY, _LEGACY_DECOY = np.random.PCG64(), np.random.MT19937()  # who draws from them unseen cannot repeat that


class TapeGenerator(Sampler, np.random.Generator):
    """`numpy.random.Generator` on the tape."""

    def __init__(self, real: np.random.Generator, source: Source) -> None:
        _GENERATOR.__init__(self, _DECOY)
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
        return _GENERATOR.bit_generator.__get__(self)

    def __reduce__(self) -> Any:
        self._note("FOREIGN", "copies the state of the generator")
        return _GENERATOR.__reduce__(self)

    def __deepcopy__(self, memo: Any) -> Any:
        self._note("FOREIGN", "copies the generator")
        return self

    __copy__ = None

    def spawn(self, n_children: int) -> Any:
        return [TapeGenerator(child, self._source) for child in self._real.spawn(n_children)]

    def draw(self, family: str, size: Any, z: Any, *parameters: Any) -> Any:
        """Variables of a registered primitive, drawn as z; see `families`."""
        whole = np.asarray(z).dtype.kind == "i"
        return self._source.variables(family, z, parameters, np.int64 if whole else np.float64)

    def _standard(self, name: str, family: str, size: Any, dtype: Any, out: Any, *more: Any, **kwargs: Any) -> Any:
        if np.dtype(dtype) != np.float64 or (out is not None and getattr(out, "dtype", None) != np.float64):
            return self._unknown(name, *more, size=size, dtype=dtype, out=out, **kwargs)
        if out is not None:
            if size is not None and np.broadcast_to(0, size).shape != out.shape:  # NumPy's own error
                getattr(self._real, name)(*more, size=size, out=np.empty(out.shape), **kwargs)
            out[...] = self._standard(name, family, out.shape, dtype, None, *more, **kwargs)
            return out
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
        return self._standard("standard_gamma", "gamma", size, dtype, out, materialised(shape))

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64, endpoint: bool = False
    ) -> Any:
        low, high = materialised(low), materialised(high)
        z = self._real.integers(low, high, size, dtype, endpoint)
        first, last = (_whole(each) for each in ((0, low) if high is None else (low, high)))
        end = last + bool(endpoint)
        if np.asarray(z).dtype != np.int64 or not (np.size(z) and np.abs(z).max() < MOST_WHOLE):

            def law(found: Any) -> Array:
                drawn = np.asarray(found, dtype=np.float64)
                if np.shape(found) != np.shape(z):
                    return np.array(-np.inf)
                inside = (drawn >= first) & ((drawn < end) | (end >= MOST_WHOLE))
                return np.where(inside, -np.log(end - first), -np.inf)

            key = ((low, high, endpoint),) if np.max(np.abs(end), initial=0) >= MOST_WHOLE else ()
            support = None
            if np.ndim(low) == 0 and np.ndim(high) == 0:
                bounds = (float(first), float(end))
                support = Whole(np.shape(z), functools.partial(supports.of_family, "integers", bounds))
            found = self._atom("integers", z, (str(np.dtype(dtype)), *key), law, support)
            return found.copy() if isinstance(found, np.ndarray) else found
        return self._source.variables("integers", z, (first, end), np.int64)

    def permuted(self, x: Any, *, axis: Any = None, out: Any = None) -> Any:
        x = materialised(x)
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
        _STATE.__init__(self, _LEGACY_DECOY)
        self._given = real
        self._source = source

    @functools.cached_property
    def _real(self) -> np.random.RandomState:
        return self._given if isinstance(self._given, _STATE) else self._given()

    def _state(self) -> Any:
        return self._real.get_state(legacy=False)

    def _set_state(self, state: Any) -> None:
        self._real.set_state(state)

    def seed(self, *args: Any, **kwargs: Any) -> None:
        self._note("FOREIGN", "sets the seed of a generator")

    def get_state(self, *args: Any, **kwargs: Any) -> Any:
        self._note("FOREIGN", "reads the state of a generator")
        return _STATE.get_state(self, *args, **kwargs)

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
        shape = materialised(shape)
        return self._source.variables("gamma", self._real.standard_gamma(shape, size), (shape,), np.float64)

    def randint(self, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Any:
        low, high = materialised(low), materialised(high)
        z = self._real.randint(low, high, size, dtype)
        first, last = (_whole(each) for each in ((0, low) if high is None else (low, high)))
        if np.asarray(z).dtype != np.int64 or not (np.size(z) and np.abs(z).max() < MOST_WHOLE):
            return self._atom("randint", z, (low, high, size))
        return self._source.variables("integers", z, (first, last), np.int64)


def _fail_closed(kind: Any, base: Any) -> None:
    """Every public method of `base` that is not registered: the values are forced where arguments are equal.

    Names that NumPy has and this file does not know are noted.
    """
    known = {
        "f",
        "hypergeometric",
        "lognormal",
        "logseries",
        "multivariate_hypergeometric",
        "multivariate_normal",
        "noncentral_chisquare",
        "noncentral_f",
        "pareto",
        "power",
        "rayleigh",
        "triangular",
        "vonmises",
        "wald",
        "weibull",
        "zipf",
        "random_integers",
        "tomaxint",
    }
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


# ----------------------------------------------------------------------------------------------------------------------
# The tape of a run that is too long to be kept: draws are counted and may be chosen, nothing is recorded.
#
# A `Trace` holds every draw of a run, so it is for programs of some thousand draws. A learner with 20,000 users makes
# millions. `streaming` gives its code the same generator (primitives and NumPy's methods go through it alike) over a
# source that hands out plain numbers, as the program would draw them itself or as `change` chooses them.
#
# Values may be chosen for a lower bound (see `witness`, F2 and F3): the transcript that comes out is a possible one,
# and its density ratio does not depend on how it was found.


class Streamed:
    """A source of numbers; `drawn` variables so far, the latest with `parameters`. `notes`: what left the tape."""

    def __init__(self, change: Change | None = None) -> None:
        self.arena = Arena()
        self.drawn = 0
        self.parameters: tuple[Any, ...] = ()
        self._change = change

    def variables(self, family: str, z: Any, parameters: tuple[Any, ...], dtype: Any) -> Any:
        """The values z, or those that `change` puts in their place."""
        start, self.drawn, self.parameters = self.drawn, self.drawn + int(np.size(z)), parameters
        if self._change is None:
            return z
        chosen = np.asarray(self._change(family, np.asarray(z, dtype=np.float64), start)).astype(dtype, copy=False)
        return chosen if np.ndim(z) else dtype(chosen)

    def atom(
        self,
        family: str,
        value: Any,
        law: Callable[[Any], Array] | None,
        key: bytes,
        support: Whole | None = None,
        *,
        given: Any = None,
    ) -> Any:
        """The value itself: what is drawn whole is never chosen."""
        return value

    @property
    def notes(self) -> tuple[str, ...]:
        """What left the tape, one line each; a witness must have none."""
        return tuple(f"{note.code} {note.text}" for note in self.arena.notes)


def streaming(rng: np.random.Generator, change: Change | None = None) -> tuple[TapeGenerator, Streamed]:
    """A generator that draws from `rng` through the tape, and its source."""
    source = Streamed(change)
    return TapeGenerator(rng, source), source
