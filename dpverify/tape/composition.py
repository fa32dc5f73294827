"""Noise that is made of several draws: the law of the whole is known, and the whole is one variable of the tape.

    E - E', G(a) - G(a'), sums of them     Laplace, and sums of Laplace variables (shares)
    geometric - geometric                  discrete Laplace
    +-1 times an exponential               Laplace
    log u, log(1 - u)                      minus an exponential
    sign(u - 1/2), |u - 1/2|               a fair sign and a uniform, independent
    N + N'                                 normal
    N N' +- N'' N''', sqrt(E) N            Laplace (Kotz, Kozubowski, Podgorski 2001, section 2.2)
    sqrt(E) cos 2 pi u, sqrt(E) sin 2 pi u two independent normals (Box, Muller 1958)
    argmax of shifted Gumbel variables     one choice with softmax chances (Gumbel 1954)

A rule takes standard variables of which nothing is known yet, each of them once, and gives new ones of a known law that
are independent of all others; from then on the parts may not be used (`Arena.derive`: a second use ends the run). So
F1 holds for the new variables. In a forced run parts are found that make up the value that the whole must have
(`undo`), for the replay with plain numbers; which ones does not matter, since nothing else depends on them.

A factor that is only nearly the same, or data in a parameter, is another law: the rule then does not apply, or the two
datasets have other parameters, and the log ratio says so.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.tape.randomness import Arena

Array = npt.NDArray[Any]
NEAR = 1e-12  # shapes that are so near to one another, or to 1, are equal: sums of 1/k, in floats


@dataclass(frozen=True)
class Side:
    """off + coef * z of one law, elementwise; flat arrays."""

    family: str
    parameters: tuple[Array, ...]
    off: Array
    coef: Array
    place: Array
    z: Array

    @property
    def centred(self) -> bool:
        """Whether nothing is added to the variable."""
        return not self.off.any()


@dataclass(frozen=True)
class Whole:
    """A new variable: its law, the factor that it has here, and its value."""

    family: str
    parameters: tuple[Array, ...]
    coef: Array
    z: Array
    undo: Callable[[Array, list[Array]], list[Array]]  # (z', parts) -> parts that make up z'


def side(arena: Arena, value: Any) -> Side | None:
    """What an opaque array consists of; None where it is no fresh variables of one law."""
    if not value.size:
        return None
    place = value._place.ravel()
    if not arena.fresh(place):
        return None
    families, _ = arena.families_of(place)
    if len(families) != 1:
        return None
    off, coef = (np.asarray(each.ravel(), dtype=np.float64) for each in (value._off, value._coef))
    if not (np.isfinite(coef).all() and coef.all() and np.isfinite(off).all()):
        return None
    found = Side(families[0], arena.parameters_of(place), off, coef, place, arena.z_of(place))
    return _sign(found)


def _sign(found: Side) -> Side:
    """2 b - 1 for a fair coin b is a sign."""
    low_high = [np.unique(each).tolist() for each in found.parameters]
    coin = (found.family, low_high) in (("integers", [[0.0], [2.0]]), ("binomial", [[1.0], [0.5]]))
    if not coin or not (found.off == -found.coef / 2).all():
        return found
    return Side("coin sign", (), np.zeros_like(found.off), found.coef / 2, found.place, 2 * found.z - 1)


# Two opaque arrays.


def sums(arena: Arena, left: Any, right: Any, way: int) -> tuple[Array, Array] | None:
    """(coef, place) of left + way * right, but for the offsets; None where no law is known."""
    one, two = side(arena, left), side(arena, right)
    if one is None or two is None or np.shape(left) != np.shape(right) or np.isin(one.place, two.place).any():
        return None
    coef, turned = one.coef, way * two.coef
    found = _normals(one, two, turned) or _gammas(one, two, turned) or _others(one, two, turned)
    return None if found is None else _derived(arena, found, coef.shape, [one, two])


def products(arena: Arena, left: Any, right: Any) -> tuple[Array, Array] | None:
    """(coef, place) of left * right, both without an offset; None where no law is known."""
    if np.shape(left) != np.shape(right):
        return None
    if (found := _polar(arena, left, right)) is not None:
        return found
    one, two = side(arena, left), side(arena, right)
    if one is None or two is None or np.isin(one.place, two.place).any() or not (one.centred and two.centred):
        return None
    if two.family in ("sign", "coin sign") or one.family == "normal":
        one, two = two, one
    coef = one.coef * two.coef
    z = one.z * two.z
    coin = one.family == "coin sign"
    if one.family in ("sign", "coin sign") and two.family == "exponential":

        def signed(w: Array, parts: list[Array]) -> list[Array]:
            sign = np.where(w < 0, -1.0, 1.0)
            return [(sign + 1) / 2 if coin else sign, np.abs(w)]

        return _derived(arena, Whole("laplace", (), coef, z, signed), coef.shape, [one, two])
    if (one.family, two.family) == ("normal", "normal"):
        whole = Whole("normal_product", (), coef, z, lambda w, parts: [w / parts[1], parts[1]])
        return _derived(arena, whole, coef.shape, [one, two])
    if (one.family, two.family) == ("root_exponential", "normal"):
        whole = Whole(
            "laplace",
            (),
            coef / math.sqrt(2),
            z * math.sqrt(2),
            lambda w, parts: [parts[0], w / math.sqrt(2) / parts[0]],
        )
        return _derived(arena, whole, coef.shape, [one, two])
    return None


def _derived(arena: Arena, whole: Whole, shape: tuple[int, ...], sides: list[Side]) -> tuple[Array, Array]:
    parts = [each.place for each in sides]
    (place,) = arena.derive(
        [(whole.family, whole.z, whole.parameters)], parts, lambda made, old: whole.undo(made[0], old)
    )
    return whole.coef, place


def _normals(one: Side, two: Side, turned: Array) -> Whole | None:
    if (one.family, two.family) != ("normal", "normal"):
        return None
    coef = np.hypot(one.coef, turned)
    z = (one.coef * one.z + turned * two.z) / coef
    return Whole("normal", (), coef, z, lambda w, parts: [(coef * w - turned * parts[1]) / one.coef, parts[1]])


def _shape(each: Side) -> Array | None:
    """a of a Gamma(a) variable."""
    return (
        np.ones_like(each.z) if each.family == "exponential" else each.parameters[0] if each.family == "gamma" else None
    )


def _terms(each: Side) -> Array | None:
    """a of the difference of two Gamma(a) variables: 1 is a Laplace variable."""
    if each.family == "laplace":
        return np.ones_like(each.z)
    return each.parameters[0] if each.family == "laplace_sum" else None


def _near(one: Array, two: Array) -> bool:
    return bool((np.abs(one - two) <= NEAR * np.maximum(np.abs(one), np.abs(two))).all())


def _gammas(one: Side, two: Side, turned: Array) -> Whole | None:
    """Sums and differences of gamma variables, and of their differences."""
    shapes = _shape(one), _shape(two)
    if shapes[0] is not None and shapes[1] is not None:
        if (one.coef == turned).all():
            z = one.z + two.z
            return Whole(
                "gamma",
                (shapes[0] + shapes[1],),
                one.coef,
                z,
                lambda w, parts: [each * w / (parts[0] + parts[1]) for each in parts],
            )
        if (one.coef == -turned).all() and _near(shapes[0], shapes[1]):
            return _laplace(shapes[0], one.coef, one.z - two.z, _apart)
        return None
    terms = _terms(one), _terms(two)
    if terms[0] is None or terms[1] is None or not (np.abs(one.coef) == np.abs(turned)).all():
        return None
    way = np.sign(turned) * np.sign(one.coef)
    return _laplace(terms[0] + terms[1], one.coef, one.z + way * two.z, lambda w, parts: [w - way * parts[1], parts[1]])


def _apart(w: Array, parts: list[Array]) -> list[Array]:
    """Two positive parts with the difference w."""
    more = w - (parts[0] - parts[1])
    return [parts[0] + np.maximum(more, 0), parts[1] + np.maximum(-more, 0)]


def _laplace(terms: Array, coef: Array, z: Array, undo: Callable[[Array, list[Array]], list[Array]]) -> Whole:
    if _near(terms, np.ones_like(terms)):
        return Whole("laplace", (), coef, z, undo)
    return Whole("laplace_sum", (terms,), coef, z, undo)


def _others(one: Side, two: Side, turned: Array) -> Whole | None:
    if (one.family, two.family) == ("normal_product", "normal_product") and (np.abs(one.coef) == np.abs(turned)).all():
        way = np.sign(turned) * np.sign(one.coef)
        return Whole("laplace", (), one.coef, one.z + way * two.z, lambda w, parts: [w - way * parts[1], parts[1]])
    if (one.family, two.family) == ("geometric", "geometric") and (one.coef == -turned).all():
        chance = one.parameters[0]
        if not (chance == two.parameters[0]).all() or not ((chance > 0) & (chance < 1)).all():
            return None
        return Whole("discrete_laplace", (-1 / np.log1p(-chance),), one.coef, one.z - two.z, _apart)
    return None


def _polar(arena: Arena, left: Any, right: Any) -> tuple[Array, Array] | None:
    """sqrt(E) times the cosine or the sine of a uniform angle: both products are normal, and independent."""
    places = [np.ravel(each._place) for each in (left, right)]
    if any((place < 0).any() for place in places) or left._off.any() or right._off.any():
        return None
    laws = [arena.families_of(place)[0] for place in places]
    if laws[1] == ("root_exponential",):
        places, laws = places[::-1], laws[::-1]
    if laws[0] != ("root_exponential",) or laws[1] not in (("cosine",), ("sine",)):
        return None
    twins = arena.derived("angle", places[1])
    if twins is None:
        return None
    normals = arena.derived("polar", np.concatenate([places[0], twins[0]]))
    if normals is None:
        parts = [places[0], *twins]
        if not arena.fresh(np.concatenate(parts)):
            return None
        radius = math.sqrt(2) * arena.z_of(places[0])
        laws_made = [("normal", radius * arena.z_of(each), ()) for each in twins]

        def undo(made: list[Array], old: list[Array]) -> list[Array]:
            length = np.hypot(*made)
            return [length / math.sqrt(2), made[0] / length, made[1] / length]

        normals = arena.derive(laws_made, parts, undo)
        arena.remember("polar", np.concatenate(parts[:2]), normals)
    coef = np.ravel(np.asarray(left._coef * right._coef, dtype=np.float64))
    return coef / math.sqrt(2), normals[0 if laws[1] == ("cosine",) else 1]


# One opaque array.


def function(arena: Arena, name: str, value: Any) -> tuple[Array, Array, Array] | None:
    """(off, coef, place) of a function of an opaque array, flat; None where no law is known."""
    if name in ("sign", "absolute") and (split := _halves(arena, value)) is not None:
        return split[0 if name == "sign" else 1]
    if name in ("cos", "sin") and (turned := _angle(arena, value)) is not None:
        return turned[0 if name == "cos" else 1]
    found = side(arena, value)
    if found is None:
        return None
    if name in ("log", "log1p") and found.family == "uniform":
        off = found.off + (name == "log1p")
        below, above = (off == 0) & (found.coef > 0), off == -found.coef
        if not (below.all() or (above.all() and (off > 0).all())):
            return None
        rising = bool(below.all())
        with np.errstate(divide="ignore"):
            z = -np.log(found.z) if rising else -np.log1p(-found.z)
        if not np.isfinite(z).all():
            return None

        def undo(made: list[Array], parts: list[Array]) -> list[Array]:
            return [np.exp(-made[0]) if rising else -np.expm1(-made[0])]

        (place,) = arena.derive([("exponential", z, ())], [found.place], undo)
        return np.log(np.abs(found.coef)), np.full(len(z), -1.0), place
    if name == "sqrt" and found.family == "exponential" and found.centred and (found.coef > 0).all():
        (place,) = arena.derive(
            [("root_exponential", np.sqrt(found.z), ())], [found.place], lambda made, parts: [made[0] ** 2]
        )
        return np.zeros(len(place)), np.sqrt(found.coef), place
    return None


def _halves(arena: Arena, value: Any) -> tuple[tuple[Array, Array, Array], tuple[Array, Array, Array]] | None:
    """Sign and size of a uniform around 0: a fair sign and a uniform, independent."""
    place, coef = value._place.ravel(), np.asarray(value._coef.ravel(), dtype=np.float64)
    if not (np.asarray(value._off.ravel(), dtype=np.float64) == -coef / 2).all() or not coef.all():
        return None
    known = arena.derived("halves", place)
    if known is None:
        found = side(arena, value)
        if found is None or found.family != "uniform":
            return None
        sign, size = np.where(found.z < 0.5, -1.0, 1.0), np.abs(2 * found.z - 1)

        def undo(made: list[Array], parts: list[Array]) -> list[Array]:
            return [(1 + made[0] * made[1]) / 2]

        known = arena.derive([("sign", sign, ()), ("uniform", size, ())], [place], undo)
        arena.remember("halves", place, known)
    nothing = np.zeros(len(place))
    return (nothing, np.sign(coef), known[0]), (nothing, np.abs(coef) / 2, known[1])


def _angle(arena: Arena, value: Any) -> tuple[tuple[Array, Array, Array], tuple[Array, Array, Array]] | None:
    """Cosine and sine of a uniform angle."""
    if not (np.abs(value._coef) == 2 * math.pi).all() or value._off.any():
        return None
    place = value._place.ravel()
    known = arena.derived("turned", place)
    if known is None:
        found = side(arena, value)
        if found is None or found.family != "uniform":
            return None

        def undo(made: list[Array], parts: list[Array]) -> list[Array]:
            return [np.minimum((np.arctan2(made[1], made[0]) / (2 * math.pi)) % 1.0, np.nextafter(1.0, 0.0))]

        angle = 2 * math.pi * found.z
        laws = [("cosine", np.cos(angle), ()), ("sine", np.sin(angle), ())]
        known = arena.derive(laws, [place], undo)
        arena.remember("turned", place, known)
        for each in known:
            arena.remember("angle", each, known)
    nothing = np.zeros(len(place))
    way = np.sign(np.asarray(value._coef.ravel(), dtype=np.float64))
    return (nothing, np.ones(len(place)), known[0]), (nothing, way, known[1])


# Gumbel maxima.


def gumbel_maximum(arena: Arena, value: Any) -> Array | None:
    """Index of the largest element of each row of a (rows, k) array of shifted Gumbel variables of one scale."""
    found = side(arena, value)
    if found is None or found.family != "gumbel" or value.ndim != 2:
        return None
    off, coef, place = (each.reshape(value.shape) for each in (found.off, found.coef, found.place))
    if not (coef > 0).all() or not (coef == coef[:, :1]).all():
        return None
    score = off / coef
    score = score - score.max(axis=1, keepdims=True)
    chances = score - np.log(np.exp(score).sum(axis=1, keepdims=True))

    def undo(index: Array, z: Array) -> Array:
        """The winner's noise is raised until it wins."""
        shown = off + coef * z
        rows = np.arange(len(index))
        rest = shown.copy()
        rest[rows, index] = -np.inf
        short = rest.max(axis=1) - shown[rows, index]
        wins = np.argmax(shown, axis=1) == index
        z = z.copy()
        z[rows, index] += np.where(
            wins, 0.0, short / coef[rows, index] + 1e-3 * (1 + np.abs(short) / coef[rows, index])
        )
        return z

    return arena.maximum(np.argmax(off + coef * found.z.reshape(value.shape), axis=1), chances, place, undo)
