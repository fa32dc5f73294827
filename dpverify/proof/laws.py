"""Laws of functions of draws: what a sum, a product or a function of fresh draws is distributed as.

Every function here is exact and takes each draw once: the draws of a sum or product are used up, so that whoever uses
one of them elsewhere ends the proof. A function of one draw keeps its number, so that both cannot be used.
"""

import math
from typing import Any

import numpy as np

from dpverify.proof.run import FRESH, JOINED, Run, WHOLE
from dpverify.proof.terms import Noise, Powers, Symbol, times

ROUNDING = 2.0**-48  # of programs that compute shares such as 1/10 in floats
POSITIVE = ("exponential", "gamma", "rayleigh")  # laws of positive numbers, times their scale
Law = tuple[str, Any, float]  # name, scale, parameter


def are_fresh(run: Run, *parts: Noise) -> bool:
    """Whether no variable of these draws was used, and none of them is there twice."""
    names = [each for noise in parts for each in run.variables_of(noise)]
    return len(set(names)) == len(names) and all(run.state[each] == FRESH for each in names)


def compose_draws(run: Run, parts: tuple[Noise, Noise], law: Law, powers: Powers, *, shift: float | None = None) -> Any:
    """Noise of a new variable for several draws, which are used up."""
    for each in parts:
        run.take(each, JOINED)
    name, scale, parameter = law
    noise = run.draw(name, parts[0].shape, scale, powers, parameter=parameter, by_row=parts[0].by_row)
    noise.shift = shift
    for made, origin in zip(np.ravel(noise.ids), np.ravel(parts[0].ids), strict=True):
        run.drawn_at[int(made)] = run.drawn_at[int(origin)]
    return run.symbol(noise, "array" if noise.shape or noise.by_row else "number")


# ----------------------------------------------------------------------------------------------------------------------
# Sums and products


def sum_law(first: Noise, second: Noise) -> Law | None:
    """Law of the sum of two independent draws, up to a public number where both have one.

    Notes
    -----
    By characteristic functions, with s the scale. Gamma of shape k: (1 - ist)^-k, so shapes of equal scale add up, and
    shape 1 is exponential. A gamma minus another one is "symmetric gamma": (1 + s^2 t^2)^-k, whose shapes add up, too;
    k = 1/2 is a product of two normals, k = 1 is Laplace. The difference of two geometrics of one ratio is discrete
    Laplace: P(k) = sum over j of (1-q)^2 q^(2j + |k|).
    """
    if first.shape != second.shape or first.powers != second.powers or first.by_row != second.by_row:
        return None
    opposite, equal = bool((first.scale == -second.scale).all()), bool((first.scale == second.scale).all())
    laws, size = {first.law, second.law}, np.abs(first.scale)
    if laws == {"geometric"} and opposite and first.parameter == second.parameter and (size == 1).all():
        return "discrete laplace", size, first.parameter
    if laws <= {"exponential", "gamma"} and (opposite or equal):
        shapes = [1.0 if each.law == "exponential" else each.parameter for each in (first, second)]
        if equal:
            return _gamma_law(sum(shapes), first.scale)
        return _symmetric_law(shapes[0], size) if shapes[0] == shapes[1] else None
    if laws == {"symmetric gamma"} and bool((size == np.abs(second.scale)).all()):
        return _symmetric_law(first.parameter + second.parameter, size)
    return None


def _gamma_law(shape: float, scale: Any) -> Law:
    return ("exponential", scale, 0.0) if abs(shape - 1) <= ROUNDING else ("gamma", scale, shape)


def _symmetric_law(shape: float, scale: Any) -> Law:
    return ("laplace", scale, 0.0) if abs(shape - 1) <= ROUNDING else ("symmetric gamma", scale, shape)


def multiply_draws(run: Run, first: Noise, second: Noise) -> Symbol | None:
    """The product of two independent draws, where its law is known.

    Notes
    -----
    A fair sign times an exponential number is Laplace. With R = sqrt(2 E): R cos(angle) is normal (Box, Muller 1958),
    and R times a normal N has E exp(-t^2 E) = 1/(1 + t^2), which is Laplace. A product of two normals has
    E exp(-t^2 N^2/2) = (1 + t^2)^(-1/2). Normal factors must have mean 0 exactly, so no public number was added.
    """
    same = first.shape == second.shape and first.by_row == second.by_row
    if not same or not are_fresh(run, first, second) or first.shift != 0 or second.shift != 0:
        return None
    law = {
        ("exponential", "sign"): ("laplace", 0.0),
        ("arcsine", "rayleigh"): ("normal", 0.0),
        ("normal", "rayleigh"): ("laplace", 0.0),
        ("normal", "normal"): ("symmetric gamma", 0.5),
    }.get((min(first.law, second.law), max(first.law, second.law)))
    if law is None:
        return None
    scale = np.abs(first.scale * second.scale)
    found: Symbol = compose_draws(
        run, (first, second), (law[0], scale, law[1]), times(first.powers, second.powers), shift=0.0
    )
    return found


# ----------------------------------------------------------------------------------------------------------------------
# Functions of one draw


def function_of_draw(run: Run, op: str, noise: Noise) -> Noise | None:
    """A function of a draw whose law is known; None for others.

    Notes
    -----
    U uniform on (0, 1): -log U is exponential. U uniform on (-h, h): |U| is uniform on (0, h) and independent of the
    sign, so each of them is a variable of its own, and U is both. sqrt of 2 s^2 times an exponential is s times R; the
    cosine or sine of a uniform angle of the whole circle is "arcsine". |s| times a positive draw is its absolute value.
    """
    if noise.powers:
        return None
    uniform = noise.law in ("uniform", "shifted uniform") and noise.shift is not None
    low, high = (np.minimum(0, noise.scale), np.maximum(0, noise.scale))
    shift = noise.shift if noise.shift is not None else math.nan
    low, high = low + shift, high + shift
    if op == "log1p" and uniform:
        op, low, high = "log", low + 1, high + 1
    match op:
        case "log" if uniform and (low == 0).all() and (high == 1).all():
            return _same_draw(noise, "exponential", -np.ones(noise.shape))
        case "absolute" if uniform and (low == -high).all():
            return Noise("uniform", _part(run, noise, 1), high, (), 0.0, noise.by_row, 0.0)
        case "sign" if uniform and (low == -high).all():
            return Noise("sign", _part(run, noise, 0), np.ones(noise.shape), (), 0.0, noise.by_row, 0.0)
        case "sqrt" if noise.law == "exponential" and (noise.scale > 0).all():
            return _same_draw(noise, "rayleigh", np.sqrt(noise.scale / 2))
        case "cos" | "sin" if uniform and (np.abs(noise.scale) == math.tau).all():
            return _same_draw(noise, "arcsine", np.ones(noise.shape))
        case "absolute" if noise.law in POSITIVE:
            return _same_draw(noise, noise.law, np.abs(noise.scale), noise.parameter)
    return None


def _same_draw(noise: Noise, law: str, scale: Any, parameter: float = 0.0) -> Noise:
    return Noise(law, noise.ids, scale, (), parameter, noise.by_row, 0.0)


def _part(run: Run, noise: Noise, at: int) -> Any:
    """Numbers of the signs (0) or sizes (1) of symmetric draws."""
    return np.array([run.parts_of(int(each))[at] for each in np.ravel(noise.ids)], int).reshape(noise.shape)


def quantile_of_draw(run: Run, law: str, value: Any, loc: Any = 0, scale: Any = 1) -> Symbol | None:
    """The quantile function of a law at a uniform draw on (0, 1): a draw of that law (inverse transform)."""
    noise = value.term if isinstance(value, Symbol) else None
    if not isinstance(noise, Noise) or noise.law not in ("uniform", "shifted uniform") or noise.powers:
        return None
    if noise.shift is None or not (np.minimum(0, noise.scale) + noise.shift == 0).all():
        return None
    if not (np.maximum(0, noise.scale) + noise.shift == 1).all():
        return None
    if any(isinstance(each, Symbol) or np.ndim(each) for each in (loc, scale)) or loc != 0 or not scale > 0:
        return None
    return run.symbol(_same_draw(noise, law, np.full(noise.shape, float(scale))), value.guise)


def round_draw(noise: Noise, op: str) -> Noise | None:
    """A draw rounded to a whole number, which whole data are added to.

    Notes
    -----
    round(z + k) = round(z) + k for whole k, where no z is a tie (chance 0), and so for floor and ceil: whole data plus
    rounded noise are a function of data plus noise. Not so for trunc, nor where the scale would be lost.
    """
    if noise.law in WHOLE and (np.abs(noise.scale) == 1).all() and not noise.powers:
        return noise
    known = op in ("rint", "floor", "ceil") and noise.law in ("laplace", "normal") and not noise.powers
    sizes = np.unique(np.abs(noise.scale))
    if not known or len(sizes) != 1:
        return None
    law = f"rounded {noise.law}"
    return Noise(law, noise.ids, np.ones(noise.shape), (), float(sizes[0]), noise.by_row, None)


def mix_poisson(run: Run, rate: Noise) -> Noise | None:
    """A Poisson number whose rate is exponential of mean s: P(k) = (1/(1 + s)) (s/(1 + s))^k, which is geometric."""
    plain = rate.law == "exponential" and not rate.powers and not rate.by_row
    if not plain or not are_fresh(run, rate) or len(set(np.ravel(rate.scale))) != 1 or not rate.scale.flat[0] > 0:
        return None
    run.take(rate, JOINED)
    return run.draw("geometric", rate.shape, 1.0, parameter=1.0 / math.log1p(1.0 / float(rate.scale.flat[0])))
