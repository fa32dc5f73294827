"""Laws of standard noise: log mass, lattice or not, symmetric or not, and the ledger event of a moved coordinate.

A draw of the tape is off + coef * z, with z of one of these laws. Log masses are up to a constant that does not
depend on z or the parameters (it cancels in every ratio), and -inf outside the support and for NaN. Parameters are
those of the law that neither a shift nor a scale expresses.
"""

import functools
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.errors import ParameterError
from dpverify.ledger.events import (
    BinomialNoise,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    GaussianNoise,
    LaplaceNoise,
    Sensitivity,
)

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Family:
    """`log_mass(z, *parameters)` elementwise; `lattice` laws live on the integers.

    `event(scale, parameters, shifts)` is the ledger event of coordinates that move, None where the ledger has none.
    `skew(parameters)`: moving up costs another amount than moving down, and events say which.
    """

    name: str
    log_mass: Callable[..., Array]
    lattice: bool = False
    symmetric: bool = False
    event: Callable[[float, tuple[float, ...], Sensitivity], Event | None] = lambda scale, parameters, moves: None
    skew: Callable[[tuple[float, ...]], bool] = lambda parameters: False


def _inside(value: Array, inside: Array) -> Array:
    return np.where(inside, value, -np.inf)


def _uniform(z: Array) -> Array:
    return _inside(np.zeros_like(z), (z >= 0) & (z < 1))


def _normal(z: Array) -> Array:
    return np.where(np.isnan(z), -np.inf, -z * z / 2)


def _laplace(z: Array) -> Array:
    return np.where(np.isnan(z), -np.inf, -np.abs(z))


def _exponential(z: Array) -> Array:
    return _inside(-z, z >= 0)


def _gumbel(z: Array) -> Array:
    with np.errstate(over="ignore"):
        return np.where(np.isnan(z), -np.inf, -z - np.exp(-z))


def _logistic(z: Array) -> Array:
    return np.where(np.isnan(z), -np.inf, -np.abs(z) - 2 * np.log1p(np.exp(-np.abs(z))))


def _gamma(z: Array, shape: Array) -> Array:
    return _inside(special.xlogy(shape - 1, z) - z - special.gammaln(shape), z > 0)


def _beta(z: Array, a: Array, b: Array) -> Array:
    return _inside(special.xlogy(a - 1, z) + special.xlog1py(b - 1, -z) - special.betaln(a, b), (z > 0) & (z < 1))


def _student(z: Array, df: Array) -> Array:
    constant = special.gammaln((df + 1) / 2) - special.gammaln(df / 2) - np.log(df) / 2
    return np.where(np.isnan(z), -np.inf, constant - (df + 1) / 2 * np.log1p(z * z / df))


def _laplace_sum(z: Array, terms: Array) -> Array:
    """Difference of two Gamma(terms, 1): |x|^(v) K_v(|x|) / Gamma(terms) / 2^v, v = terms - 1/2, but for a constant."""
    order, far = terms - 0.5, np.maximum(np.abs(z), 1e-300)
    scaled = special.kve(order, far)
    with np.errstate(invalid="ignore"):
        log = order * np.log(far / 2) + np.log(scaled) - far
    log = np.where(np.isinf(scaled), special.gammaln(order) - math.log(2), log)  # the limit (z/2)^v K_v(z) at 0
    return np.where(np.isnan(z), -np.inf, log - special.gammaln(terms))


def _sign(z: Array) -> Array:
    return _inside(np.full_like(z, -math.log(2)), np.abs(z) == 1)


def _normal_product(z: Array) -> Array:
    """Of two independent standard normals: K_0(|z|)/pi."""
    with np.errstate(divide="ignore"):
        log = np.log(special.kve(0, np.abs(z))) - np.abs(z) - math.log(math.pi)
    return np.where(np.isnan(z), -np.inf, log)


def _root_exponential(z: Array) -> Array:
    return _inside(special.xlogy(1.0, 2 * z) - z * z, z > 0)


def _arcsine(z: Array) -> Array:
    """Cosine of a uniform angle."""
    return _inside(-math.log(math.pi) - special.xlog1py(0.5, -z * z), np.abs(z) < 1)


def _whole(z: Array) -> Array:
    return np.asarray(np.isfinite(z) & (z == np.rint(z)))


def _integers(z: Array, low: Array, high: Array) -> Array:
    return _inside(-np.log(high - low), _whole(z) & (z >= low) & (z < high))


def _binomial(z: Array, n: Array, p: Array) -> Array:
    choose = special.gammaln(n + 1) - special.gammaln(z + 1) - special.gammaln(n - z + 1)
    return _inside(choose + special.xlogy(z, p) + special.xlog1py(n - z, -p), _whole(z) & (z >= 0) & (z <= n))


def _poisson(z: Array, mean: Array) -> Array:
    return _inside(special.xlogy(z, mean) - mean - special.gammaln(z + 1), _whole(z) & (z >= 0))


def _geometric(z: Array, p: Array) -> Array:
    return _inside(special.xlog1py(z - 1, -p) + np.log(p), _whole(z) & (z >= 1))


def _negative_binomial(z: Array, n: Array, p: Array) -> Array:
    choose = special.gammaln(z + n) - special.gammaln(n) - special.gammaln(z + 1)
    return _inside(choose + n * np.log(p) + special.xlog1py(z, -p), _whole(z) & (z >= 0))


def _discrete_laplace(z: Array, scale: Array) -> Array:
    return _inside(-np.abs(z) / scale + np.log(np.tanh(1 / (2 * scale))), _whole(z))


def _discrete_gaussian(z: Array, sigma: Array) -> Array:
    totals = {float(each): _gauss_total(float(each)) for each in np.unique(sigma)}
    constant = np.array([-math.log(totals[float(each)]) for each in np.ravel(sigma)]).reshape(np.shape(sigma))
    return _inside(constant - z * z / (2 * sigma * sigma), _whole(z))


def _gauss_total(sigma: float) -> float:
    """Sum of exp(-k^2/(2 sigma^2)) over the integers; beyond sigma = 10 it is the integral to all digits (Poisson)."""
    if sigma > 10:
        return math.sqrt(2 * math.pi) * sigma
    reach = np.arange(1, math.ceil(40 * sigma) + 2)
    return 1 + 2 * math.fsum(np.exp(-reach * reach / (2 * sigma * sigma)))


# Also of a sum of at least one Laplace variable: it is one with fresh noise added, which is post-processing
def _laplace_event(scale: float, parameters: tuple[float, ...], moves: Sensitivity) -> Event | None:
    if parameters and parameters[0] < 1:
        return None
    return LaplaceNoise(what="code", scale=scale, sensitivity=moves)


def _normal_event(scale: float, parameters: tuple[float, ...], moves: Sensitivity) -> Event:
    return GaussianNoise(what="code", sigma=scale, sensitivity=moves)


def _discrete_laplace_event(scale: float, parameters: tuple[float, ...], moves: Sensitivity) -> Event | None:
    return DiscreteLaplaceNoise(what="code", scale=parameters[0], sensitivity=moves) if scale == 1 else None


def _binomial_event(scale: float, parameters: tuple[float, ...], moves: Sensitivity) -> Event | None:
    trials, chance = parameters
    if scale != 1 or trials < 1 or not 0 < chance < 1:
        return None
    return BinomialNoise(what="code", trials=int(trials), probability=chance, sensitivity=moves)


def _discrete_gaussian_event(scale: float, parameters: tuple[float, ...], moves: Sensitivity) -> Event | None:
    return DiscreteGaussianNoise(what="code", sigma=parameters[0], sensitivity=moves) if scale == 1 else None


FAMILIES = {
    family.name: family
    for family in (
        Family("uniform", _uniform),
        Family("normal", _normal, symmetric=True, event=_normal_event),
        Family("laplace", _laplace, symmetric=True, event=_laplace_event),
        Family("exponential", _exponential),
        Family("gumbel", _gumbel),
        Family("logistic", _logistic, symmetric=True),
        Family("gamma", _gamma),
        Family("beta", _beta),
        Family("student", _student, symmetric=True),
        Family("laplace_sum", _laplace_sum, symmetric=True, event=_laplace_event),
        Family("sign", _sign, lattice=True, symmetric=True),
        Family("normal_product", _normal_product, symmetric=True),
        Family("root_exponential", _root_exponential),
        Family("cosine", _arcsine, symmetric=True),
        Family("sine", _arcsine, symmetric=True),
        Family("integers", _integers, lattice=True),
        Family("binomial", _binomial, lattice=True, event=_binomial_event, skew=lambda given: given[1] != 0.5),
        Family("poisson", _poisson, lattice=True),
        Family("geometric", _geometric, lattice=True),
        Family("negative_binomial", _negative_binomial, lattice=True),
        Family("discrete_laplace", _discrete_laplace, lattice=True, symmetric=True, event=_discrete_laplace_event),
        Family("discrete_gaussian", _discrete_gaussian, lattice=True, symmetric=True, event=_discrete_gaussian_event),
    )
}


# ----------------------------------------------------------------------------------------------------------------------
# Samplers of a whole law: the function says which law, and a tape takes the draw as one variable of it.
#
#     @primitive("laplace")
#     def laplace(rng, shape): ...
#
# A primitive is called with its generator, which is either a plain one (the function runs as it is) or a tape's: then
# the function draws from the generator below the tape, and the tape hands out variables of the family. `parameters`
# says what of the function's arguments the law has. Registered functions are trusted to have their law; the tests of
# their samplers say that they do.


P = ParamSpec("P")
R = TypeVar("R")

NAMES = ("laplace", "discrete_laplace", "discrete_gaussian", "laplace_sum")


def primitive(family: str, **parameters: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator of a sampler with an argument `rng`; `parameters` in the law's order: law's name = argument's name."""
    if family not in NAMES:
        raise ParameterError("family", family, "one of " + ", ".join(NAMES))

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        place = list(signature.parameters).index("rng")

        @functools.wraps(function)
        def sampler(*args: P.args, **kwargs: P.kwargs) -> R:
            if not hasattr(args[place] if place < len(args) else kwargs.get("rng"), "_source"):
                return function(*args, **kwargs)
            bound = signature.bind(*args, **kwargs)
            rng = bound.arguments["rng"]
            real = {**bound.arguments, "rng": rng._real}
            z = function(**real)  # type: ignore[call-arg]
            given = tuple(bound.arguments[name] for name in parameters.values())
            found: R = rng.draw(family, None, z, *given)
            return found

        return sampler

    return decorated


__tape_primitive__ = True  # call sites are those of the callers
