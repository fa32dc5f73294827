"""Samplers of a whole law: the function says which law, and a tape takes the draw as one variable of it.

    @primitive("laplace")
    def laplace(rng, shape): ...

A primitive is called with its generator, which is either a plain one (the function runs as it is) or a tape's: then
the function draws from the generator below the tape, and the tape hands out variables of the family. `parameters`
says what of the function's arguments the law has. Registered functions are trusted to have their law; the tests of
their samplers say that they do.
"""

import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from dpverify.base.errors import ParameterError

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
