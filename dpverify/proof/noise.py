"""Sources of randomness that programs draw from, and the draws that are noise to the proof.

A draw without a seed is fresh. Everything that fixes or repeats a stream (a seed, a copied or set state) ends the
proof: what is drawn then is a number, and no noise.
"""

import math
import random
import secrets
from collections.abc import Callable
from typing import Any

import numpy as np

from dpverify.proof.arithmetic import apply, holds_symbols, key_of, multiple, weights_of
from dpverify.proof.ending import OutsideOfTheCall
from dpverify.proof.functions import chosen_of
from dpverify.proof.laws import mix_poisson, quantile_of_draw
from dpverify.proof.run import Event, Run
from dpverify.proof.structure import stack, term_of
from dpverify.proof.terms import Aggregate, Noise, Noisy, Public, Rows, Source, Sum, Symbol, Weights


def draw_from(run: Run, source: Source, name: str, *args: Any, **kwargs: Any) -> Any:
    """A method of a generator."""
    if source.seeded:
        raise run.ends(
            f"noise is drawn from {source.seeded}",
            "draw from np.random.default_rng() without a seed",
            kind=OutsideOfTheCall,
        )
    python = issubclass(source.kind, random.Random)
    table = PYTHON if python else NUMPY
    if name == "spawn":
        return [Source(run, source.kind) for _ in range(*args)]
    if name not in table:
        raise run.ends(f"{name} of a generator of random numbers")
    if holds_symbols(kwargs) or holds_symbols(args):
        args = tuple(each if name in ("choice", "choices", "poisson") else _public(run, each) for each in args)
    return table[name](run, *args, **kwargs)


def _public(run: Run, value: Any) -> Any:
    if isinstance(value, Symbol) and isinstance(value.term, Noise | Noisy):
        run.make_public(value)
    return value


# ----------------------------------------------------------------------------------------------------------------------
# Shapes and scales


def _shape(run: Run, size: Any, *parameters: Any) -> tuple[tuple[int, ...], bool]:
    """Shape of a draw, and whether its first axis is that of the rows."""
    if size is None:
        shapes = []
        for each in parameters:
            term = term_of(each)
            if isinstance(term, Rows) and term.scope is None:
                return term.node.shape, True
            shapes.append(
                term.node.shape if isinstance(term, Rows) else term.shape if hasattr(term, "shape") else np.shape(each)
            )
        return np.broadcast_shapes(*shapes), False
    parts = tuple(size) if isinstance(size, list | tuple) else (size,)
    by_row = False
    if parts and isinstance(parts[0], Symbol):
        term = run.make_public(parts[0]).term
        if (
            isinstance(term, Sum)
            and term.node is run.domain.constant(1)
            and not term.powers
            and not np.any(term.offset)
        ):
            return tuple(int(each) for each in parts[1:]), True
        if isinstance(term, Sum | Aggregate | Rows):
            raise run.ends("the number of draws depends on the rows", "draw a public number of values")
        if not (isinstance(term, Public) and term.coefficient == 1.0 and term.powers == ((run.number_of_rows, 1),)):
            raise run.ends("the number of draws is a released value")
        by_row, parts = True, parts[1:]
    if holds_symbols(parts):
        raise run.needs_rows("a size of draws")
    return tuple(int(each) for each in parts), by_row


def _scale(run: Run, value: Any) -> tuple[Any, Any]:
    """A public positive scale as a multiple of unknowns."""
    value = stack(run, value) if isinstance(value, list | tuple) else value
    term = term_of(value)
    if isinstance(term, Noise | Noisy):
        term = run.make_public(value).term
    if isinstance(term, Sum | Aggregate | Rows | Weights):
        raise run.ends("the scale of noise depends on the rows", "use a public scale, from the bounds of the data")
    if isinstance(term, Public):
        coefficient, powers = multiple(run, value)
        if not coefficient > 0:
            raise run.ends("the scale of noise is not a positive number")
        return coefficient, powers
    scale = np.asarray(term, float)
    if not np.isfinite(scale).all() or not (scale > 0).all():
        raise run.ends("the scale of noise is not a positive number")
    return scale, ()


def _draw_located(run: Run, law: str, loc: Any, scale: Any, size: Any) -> Any:
    """loc + scale * standard noise."""
    shape, by_row = _shape(run, size, loc, scale)
    factor, powers = _scale(run, scale)
    noise = run.draw(law, shape, factor, powers, by_row=by_row)
    symbol = run.symbol(noise, "array" if shape or by_row else "number")
    if isinstance(loc, list | tuple):
        loc = stack(run, loc)
    if not isinstance(loc, Symbol) and not np.any(loc):
        return symbol
    return apply(run, "add", loc, symbol)


def _draws(
    law: str, default: tuple[float, float] = (0.0, 1.0), names: tuple[str, str] = ("loc", "scale")
) -> Callable[..., Any]:
    def draw(run: Run, *args: Any, **kwargs: Any) -> Any:
        given = dict(zip((*names, "size"), args, strict=False)) | kwargs
        if set(given) - {*names, "size", "random_state"} or len(args) > 3:
            raise run.ends(f"arguments of {law} noise: {sorted(set(given) - {*names, 'size'})}")
        return _draw_located(
            run, law, given.get(names[0], default[0]), given.get(names[1], default[1]), given.get("size")
        )

    return draw


def _standard(law: str) -> Callable[..., Any]:
    def draw(run: Run, size: Any = None, **kwargs: Any) -> Any:
        if kwargs:
            raise run.ends(f"arguments of {law} noise: {sorted(kwargs)}")
        return _draw_located(run, law, 0.0, 1.0, size)

    return draw


def _exponential(run: Run, scale: Any = 1.0, size: Any = None) -> Any:
    return _draw_located(run, "exponential", 0.0, scale, size)


def _expovariate(run: Run, lambd: Any = 1.0) -> Any:
    return _draw_located(
        run, "exponential", 0.0, apply(run, "divide", 1.0, lambd) if isinstance(lambd, Symbol) else 1.0 / lambd, None
    )


def _geometric(run: Run, p: Any, size: Any = None) -> Any:
    if holds_symbols(p) or np.ndim(p):
        raise run.ends("geometric noise whose parameter is not one public number")
    p = float(p)
    if not 0 < p < 1:
        raise run.ends("geometric noise whose parameter is not in (0, 1)")
    shape, by_row = _shape(run, size)
    noise = run.draw("geometric", shape, 1.0, parameter=-1.0 / math.log1p(-p), by_row=by_row)
    return run.symbol(noise, "array" if shape or by_row else "number")


def _gamma(run: Run, shape: Any, scale: Any = 1.0, size: Any = None) -> Any:
    """Gamma noise of a public shape; shape 1 is exponential."""
    if holds_symbols(shape) or np.ndim(shape) or not 0 < float(shape) < math.inf:
        raise run.ends("gamma noise whose shape is not one public number")
    found = _draw_located(run, "exponential" if shape == 1 else "gamma", 0.0, scale, size)
    found.term.parameter = 0.0 if shape == 1 else float(shape)
    return found


def _poisson(run: Run, lam: Any = 1.0, size: Any = None) -> Any:
    """A Poisson number whose rate is an exponential draw is geometric."""
    noise = term_of(lam)
    made = mix_poisson(run, noise) if isinstance(noise, Noise) and size is None else None
    if made is None:
        raise run.ends("poisson noise: no rule bounds its privacy loss", "use geometric noise")
    return run.symbol(made, "array" if made.shape else "number")


def discrete_laplace(run: Run, rate: Any, size: Any = None, **kwargs: Any) -> Any:
    """scipy.stats.dlaplace: masses proportional to exp(-rate |k|)."""
    if holds_symbols(rate) or np.ndim(rate) or not float(rate) > 0 or set(kwargs) - {"random_state"}:
        raise run.ends("discrete Laplace noise whose parameter is not one public number")
    shape, by_row = _shape(run, size)
    noise = run.draw("discrete laplace", shape, 1.0, parameter=1.0 / float(rate), by_row=by_row)
    return run.symbol(noise, "array" if shape or by_row else "number")


def _uniform(run: Run, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
    if holds_symbols((low, high)):
        raise run.ends("a uniform draw between values that are not plain numbers")
    shape, by_row = _shape(run, size, low, high)
    width = np.asarray(high, float) - np.asarray(low, float)
    if not (width > 0).all():
        raise run.ends("a uniform draw from an empty range")
    noise = run.draw("uniform", shape, width, by_row=by_row)
    symbol = run.symbol(noise, "array" if shape or by_row else "number")
    return symbol if not np.any(low) else apply(run, "add", symbol, low)


def _random(run: Run, size: Any = None) -> Any:
    return _uniform(run, size=size)


def _integers(run: Run, low: Any, high: Any = None, size: Any = None, *, endpoint: bool = False, **kwargs: Any) -> Any:
    if holds_symbols((low, high)):
        for each in (low, high):
            if isinstance(term_of(each), Sum | Aggregate | Rows):
                raise run.ends("a draw from a range that depends on the rows")
    shape, by_row = _shape(run, size)
    least, most = (0.0, low) if high is None else (low, high)
    known = not holds_symbols((least, most))
    plain = all(isinstance(each, int | np.integer) for each in (low, high) if each is not None)
    if plain and known and not kwargs and not by_row and most - least + endpoint >= 1:
        noise = run.draw("uniform integers", shape, 1.0, parameter=float(most - least + endpoint))
        noise.shift = float(least)
        return run.symbol(noise, "array" if shape else "number")
    return run.symbol(
        Public(
            shape,
            float(least) if known else -math.inf,
            float(most) if known else math.inf,
            True,
            by_row=by_row,
            defined=not kwargs,
            finite=not kwargs,
        ),
        "array" if shape or by_row else "number",
    )


def _reorder(run: Run, value: Symbol) -> Rows:
    """All rows in another order: they meet no values of rows in the old one."""
    if value.term.mask is not None:
        raise run.ends("chosen rows are put in a random order")
    mask = run.domain.node("reordered", shape=(), kind="b", key=("reordered", len(run.state), len(run.reordered)))
    run.reordered.append(mask)
    return Rows(value.term.node, value.term.powers, mask)


def _permutation(run: Run, value: Any, **kwargs: Any) -> Any:
    if isinstance(term_of(value), Rows) and term_of(value).scope is None and not kwargs:
        return run.symbol(_reorder(run, value), value.guise)
    if isinstance(term_of(value), Sum | Aggregate | Rows):
        raise run.ends("rows are put in a random order", "use sums, which do not depend on the order")
    return run.public(None)


def _shuffle(run: Run, value: Any, axis: Any = 0, **kwargs: Any) -> None:
    if axis != 0 or kwargs:
        raise run.ends("a shuffle along another axis than that of the rows")
    if isinstance(term_of(value), Rows) and term_of(value).scope is None and len(value.shared) == 1:
        value.term = _reorder(run, value)
        return
    if isinstance(value, Symbol) or holds_symbols(value):
        raise run.ends("data are shuffled in place")
    raise run.ends("a list is shuffled in place", "use permutation")


# ----------------------------------------------------------------------------------------------------------------------
# Choices


def _choice(
    run: Run, items: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0, shuffle: bool = True
) -> Any:
    """One of several public values with given chances; `size` of them, with or without replacement."""
    if isinstance(term_of(items), Rows | Sum | Aggregate) or (
        isinstance(items, Symbol) and not isinstance(term_of(items), Public)
    ):
        raise run.ends("a random one of the rows is taken", "release sums or a choice among public values")
    if holds_symbols(items) and not isinstance(items, Symbol):
        raise run.ends("a random one of several data values is taken")
    count = 1
    if size is not None:
        shape, by_row = _shape(run, size)
        if by_row:
            raise run.ends("one choice for each row")
        count = math.prod(shape)
    if p is not None and holds_symbols(p):
        p = stack(run, p) if isinstance(p, list | tuple) else p
        _charge_choice(run, p, count, form="share")
    names = (
        list(range(items))
        if isinstance(items, int | np.integer)
        else None
        if isinstance(items, Symbol)
        else list(items)
    )
    if size is not None:
        return (
            run.symbol(Public(shape if shape else None), "array")
            if names is None or not all(isinstance(each, int | float) for each in names)
            else run.symbol(
                Public(
                    shape,
                    float(min(names)),
                    float(max(names)),
                    all(isinstance(each, int) for each in names),
                    defined=all(map(math.isfinite, names)),
                    truth=all(isinstance(each, bool) for each in names),
                ),
                "array",
            )
        )
    return run.public(None) if names is None else chosen_of(run, names)


def _charge_choice(run: Run, p: Symbol, count: int, *, form: str) -> None:
    """An exponential mechanism: its scores' range of the move over a pair, for each draw.

    Notes
    -----
    p_i = e^(s_i)/sum_j e^(s_j): moving s by m changes log p_i by m_i - log(mean of e^(m_j) under p), which lies between
    min m and max m. So the loss is at most max m - min m; without replacement each further draw is one of the same
    kind on the values that are left.
    """
    run.make_public(p)
    term = p.term
    if isinstance(term, Public):
        return
    if not isinstance(term, Weights) or term.form != form or (form == "share" and term.key[0] in ("some", "part")):
        raise run.ends(
            "a choice with chances that depend on the rows in a way that is not followed",
            "write chances as exp(scores) divided by their sum",
        )
    if len(term.shape) != 1:
        raise run.ends("chances of several axes")
    for _ in range(count):
        run.events.append(Event("choice", term.scores, np.ones(term.shape), term.scores.powers, run.line(), "softmax"))


def _choices(run: Run, population: Any, weights: Any = None, *, cum_weights: Any = None, k: int = 1) -> Any:
    """random.choices: a list of k values."""
    if cum_weights is not None or holds_symbols(population):
        raise run.ends("random.choices with cumulative weights or with data")
    if weights is not None and holds_symbols(weights):
        weights = stack(run, weights) if isinstance(weights, list | tuple) else weights
        if isinstance(weights.term, Weights):
            _charge_choice(run, weights, k, form=weights.term.form)
        else:
            raise run.ends("a choice with weights that depend on the rows", "write weights as exp(scores)")
    return [chosen_of(run, list(population)) for _ in range(k)]


def softmax(run: Run, value: Any, axis: Any = None) -> Any:
    """scipy.special.softmax: shares of exp(scores)."""
    value = stack(run, value) if isinstance(value, list | tuple) else value
    term = term_of(value)
    if not isinstance(term, Sum | Aggregate):
        return (
            apply(run, "exp", value)
            if isinstance(term, Rows)
            else run.public(run.make_public(value).term.shape, low=0.0, high=1.0)
        )
    if len(term.shape) != 1:
        raise run.ends("softmax of several axes")
    weights = weights_of(run, term)
    return run.symbol(Weights(weights.scores, "share", key_of(weights.scores)), "array")


# ----------------------------------------------------------------------------------------------------------------------
# Tables of laws


def _sign_or_choice(run: Run, items: Any, *args: Any, **kwargs: Any) -> Any:
    """A fair choice of -1 and 1 is a sign, which makes Laplace noise of exponential one."""
    if not args and not kwargs and isinstance(items, list | tuple | np.ndarray) and not holds_symbols(list(items)):
        if sorted(items) == [-1, 1]:
            return run.symbol(run.draw("sign", (), 1.0), "number")
    return _choice(run, items, *args, **kwargs)


def _multivariate_normal(run: Run, mean: Any, cov: Any, size: Any = None, **kwargs: Any) -> Any:
    """Independent normal noise where the covariance is a public diagonal."""
    if size is not None or kwargs or holds_symbols(cov):
        raise run.ends("multivariate normal noise in this form", "use normal noise for each entry")
    matrix = np.asarray(cov, float)
    if matrix.ndim != 2 or (matrix != np.diag(np.diag(matrix))).any():
        raise run.ends("multivariate normal noise with correlations")
    return _draw_located(run, "normal", mean, np.sqrt(np.diag(matrix)) * (1 - 1e-15), (len(matrix),))


NUMPY: dict[str, Callable[..., Any]] = {
    "laplace": _draws("laplace"),
    "normal": _draws("normal"),
    "gumbel": _draws("gumbel"),
    "logistic": _draws("logistic"),
    "standard_normal": _standard("normal"),
    "randn": lambda run, *size: _draw_located(run, "normal", 0.0, 1.0, size or None),
    "exponential": _exponential,
    "standard_exponential": _standard("exponential"),
    "geometric": _geometric,
    "gamma": _gamma,
    "standard_gamma": lambda run, shape, size=None: _gamma(run, shape, 1.0, size),
    "poisson": _poisson,
    "uniform": _uniform,
    "random": _random,
    "random_sample": _random,
    "rand": lambda run, *size: _uniform(run, size=size or None),
    "integers": _integers,
    "randint": _integers,
    "choice": _sign_or_choice,
    "multivariate_normal": _multivariate_normal,
    "permutation": _permutation,
    "shuffle": _shuffle,
}
PYTHON: dict[str, Callable[..., Any]] = {
    "gauss": _draws("normal", names=("mu", "sigma")),
    "normalvariate": _draws("normal", names=("mu", "sigma")),
    "expovariate": _expovariate,
    "gammavariate": lambda run, alpha, beta: _gamma(run, alpha, beta),
    "uniform": lambda run, a, b: _uniform(run, a, b),
    "random": _random,
    "randint": lambda run, a, b: _integers(run, a, b, endpoint=True),
    "randrange": lambda run, a, b=None: _integers(run, a, b),
    "getrandbits": lambda run, k: run.public((), low=0.0, high=float(2**k), whole=True, defined=True),
    "choice": _sign_or_choice,
    "choices": _choices,
    "shuffle": _shuffle,
    "randbelow": lambda run, n: _integers(run, n),
}


def source_of(run: Run, function: Any) -> tuple[Source, str] | None:
    """The shared generator that a function of NumPy, random or secrets draws from, and the name of the draw."""
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__name__", "")
    if owner is getattr(np.random.mtrand, "_rand", None):
        return Source(run, np.random.RandomState), name
    if owner is getattr(random, "_inst", None):
        return Source(run, random.Random), name
    if function in (secrets.randbelow, secrets.choice, secrets.randbits):
        return Source(run, random.SystemRandom), {"randbits": "getrandbits"}.get(name, name)
    return None


def make_source(run: Run, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Source | None:
    """The generator that a constructor makes; None where the function is no such constructor."""
    if function is np.random.default_rng or function in (np.random.RandomState, random.Random):
        given = [each for each in (*args, *kwargs.values()) if each is not None]
        kind = {np.random.default_rng: np.random.Generator}.get(function, function)
        if given and isinstance(given[0], Source):
            return given[0]
        return Source(run, kind, "a generator with a seed" if given else "")
    if function is random.SystemRandom or function is secrets.SystemRandom:
        return Source(run, random.SystemRandom)
    if function in (np.random.Generator,):
        (bits,) = args
        return bits if isinstance(bits, Source) else Source(run, np.random.Generator, "a generator with a seed")
    if isinstance(function, type) and issubclass(function, np.random.BitGenerator):
        given = [each for each in (*args, *kwargs.values()) if each is not None]
        return Source(run, np.random.Generator, "a generator with a seed" if given else "")
    return None


SCIPY = {"laplace": "laplace", "norm": "normal", "gumbel_r": "gumbel", "expon": "exponential"}


def _quantile(run: Run, name: str, *args: Any, **kwargs: Any) -> Any:
    """`scipy.stats.LAW.ppf(u)` of a uniform draw; NotImplemented for other values."""
    if name not in ("laplace", "norm", "expon") or set(kwargs) - {"loc", "scale"} or not 1 <= len(args) <= 3:
        return NotImplemented
    found = quantile_of_draw(run, SCIPY[name], *args, **kwargs)
    return NotImplemented if found is None else found


def scipy_draw(run: Run, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`scipy.stats.LAW.rvs(...)`; NotImplemented for other functions."""
    owner: Any = getattr(function, "__self__", None)
    name = getattr(function, "__name__", "")
    module = type(owner).__module__
    if name == "ppf" and module.startswith("scipy.stats") and not hasattr(owner, "dist"):
        return _quantile(run, owner.name, *args, **kwargs)
    if name != "rvs" or not module.startswith("scipy.stats"):
        return NotImplemented
    state = kwargs.pop("random_state", None)
    if state is not None:
        if not isinstance(state, Source):
            raise run.ends("noise is drawn with a random_state", "leave it out, or hand over an unseeded generator")
        if state.seeded:
            raise run.ends(f"noise is drawn from {state.seeded}", "draw without a seed")
    if hasattr(owner, "dist"):  # frozen parameters
        args, kwargs = (*owner.args, *args), {**owner.kwds, **kwargs}
        law = owner.dist.name
        if len(args) > len(owner.args) + 1:
            raise run.ends("noise is drawn with a random_state", "leave it out, or hand over an unseeded generator")
        if len(args) > len(owner.args):
            kwargs["size"], args = args[len(owner.args)], args[: len(owner.args)]
    else:
        law = owner.name
    if law == "dlaplace" and len(args) > 1:
        raise run.ends("arguments of discrete noise by their places", "name them")
    if law == "dlaplace":
        return discrete_laplace(run, *args, **kwargs)
    if law == "uniform":
        given = dict(zip(("loc", "scale", "size"), args, strict=False)) | kwargs
        return apply(run, "add", _uniform(run, 0.0, given.get("scale", 1.0), given.get("size")), given.get("loc", 0.0))
    if law not in SCIPY:
        raise run.ends(f"noise of scipy.stats.{law}")
    return _draws(SCIPY[law])(run, *args, **kwargs)
