"""Functions of a row that follow a released value: their moves as multiples of it, or beside it."""

from collections.abc import Callable
from fractions import Fraction
from math import isfinite
from typing import Any

from dpverify.proof import intervals
from dpverify.proof.rows import Domain, Node
from dpverify.proof.terms import Public, Sum, times, Unknown

LINEAR = ("reshape", "stack", "sum_axis", "negative", "cumulative")
EXTREMES = ("minimum", "maximum")


def move_by_public(public: Public, other: Any, sign: int, found: Public) -> None:
    """Notes that `found` is `public` plus (sign 1) or minus (-1) a plain number."""
    if public.shape == () == found.shape and not public.by_row and isinstance(other, int | float) and isfinite(other):
        anchor, so_far = public.anchor or (public, Fraction(0))
        found.anchor = (anchor, so_far + sign * Fraction(other))


def centre(domain: Domain, node: Node) -> Node:
    """A function of a row minus one that is the same for all rows, where a released value is known to cancel.

    Notes
    -----
    Replace-one: a sum of g(x) - c with a public c moves by g(x') - g(x). min and max of values all of which have c
    taken off are min and max minus c, so clip(x, c - w, c + w) - c = clip(x - c, -w, w).
    """
    centred: dict[int, Node] = {}  # parts of an expression are shared: an array that is written entry by entry

    def of(part: Node) -> Node:
        if id(part) not in centred:
            centred[id(part)] = _centre(domain, part, of)
        return centred[id(part)]

    return of(node)


def _centre(domain: Domain, node: Node, centred: Callable[[Node], Node]) -> Node:
    if node.op in LINEAR or (node.op in ("add", "subtract") and all(each.shape == node.shape for each in node.args)):
        args = [centred(each) for each in node.args]
    elif node.op == "divide" or (node.op == "multiply" and any(each.op == "constant" for each in node.args)):
        if node.op == "divide" and node.args[1].op != "constant":
            return node
        args = [centred(each) for each in node.args]
    elif node.op in EXTREMES:
        anchors = {id(each): each for each in _anchors(node)}
        if len(anchors) != 1:
            return node
        (anchor,) = anchors.values()
        return _minus(domain, node, anchor)
    else:
        return node
    return node if all(a is b for a, b in zip(args, node.args, strict=True)) else _with_args(domain, node, args)


def _with_args(domain: Domain, node: Node, args: list[Node]) -> Node:
    """The same operation on other arguments; no facts of the old value are kept."""
    key = ("of others", id(node), *(id(each) for each in args))
    return domain.node(node.op, args, shape=node.shape, kind="f", extra=node.extra, key=key)


def _anchors(node: Node) -> list[Public]:
    """The released values that the ends of a clipped value are computed from."""
    if node.op in EXTREMES:
        return [anchor for each in node.args for anchor in _anchors(each)]
    if node.op == "public" and node.public is not None and node.public.shape == ():
        return [node.public.anchor[0] if node.public.anchor else node.public]
    return []


def _minus(domain: Domain, node: Node, anchor: Public) -> Node:
    if node.op in EXTREMES:
        return _with_args(domain, node, [_minus(domain, each, anchor) for each in node.args])
    if _anchors(node) == [anchor]:
        beside = node.public.anchor[1] if node.public.anchor else Fraction(0)
        error = _error(beside)
        ends = float(intervals.sum_of(float(beside), -error)[0]), float(intervals.sum_of(float(beside), error)[1])
        return domain.node("public", shape=node.shape, kind="f", extra=ends, key=("beside", beside))
    free = domain.node("public", shape=(), kind="f", extra=(anchor.low, anchor.high), key=("public", id(anchor)))
    free.public = anchor
    return domain.node("subtract", [node, free], shape=node.shape, kind="f")


def _error(number: Fraction) -> float:
    """A bound of |number - float(number)|; 0 where the float holds it."""
    gap = abs(number - Fraction(float(number)))
    return 0.0 if gap == 0 else float(gap) * (1 + 1e-15)


def part_of(node: Node) -> frozenset[Node]:
    """The one part of the rows, by its mask, outside of which a function of a row is 0; empty where none is known."""
    while node.op in ("number", "negative", "reshape") or (
        node.op in ("multiply", "divide") and node.args[1].op == "constant"
    ):
        node = node.args[0]
    if node.op == "where" and node.args[2].op == "constant" and not node.args[2].extra.any():
        return part_of_mask(node.args[0])
    return part_of_mask(node)


def part_of_mask(mask: Node) -> frozenset[Node]:
    """The part, by its public places, that all rows of a mask are in."""
    while mask.op == "reshape":
        mask = mask.args[0]
    if mask.op == "and":
        return part_of_mask(mask.args[0]) or part_of_mask(mask.args[1])
    return frozenset([mask]) if mask.op == "public_axis" else frozenset()


def are_disjoint(slices: dict[Any, tuple[Any, Any, Any]], first: frozenset[Any], second: frozenset[Any]) -> bool:
    """Whether no row is in a part of both: parts x[a::k] of different a below k, or x[a:b] one after the other."""
    return bool(first and second) and all(
        a in slices and b in slices and _apart(slices[a], slices[b]) for a in first for b in second
    )


def _apart(first: tuple[Any, Any, Any], second: tuple[Any, Any, Any]) -> bool:
    (a, b, step), (c, d, other) = ((start or 0, stop, step or 1) for start, stop, step in (first, second))
    if not all(type(each) is int and each >= 0 for each in (a, c)) or step != other or step < 1:
        return False
    if step > 1:
        return b is d is None and a != c and max(a, c) < step
    return (type(b) is int and 0 <= b <= c) or (type(d) is int and 0 <= d <= a)


def in_proportion(domain: Domain, data: Any, unknown: Unknown) -> Sum | None:
    """A sum over rows as a multiple of a positive public unknown c: c times the sum of g/c.

    Notes
    -----
    min, max and sums are homogeneous: clip(x, 0, c)/c = clip(x/c, 0, 1) for c > 0. So noise of scale b c sees a move of
    clip(x/c, 0, 1), whatever c is. None where c is in none of the expressions.
    """
    if not isinstance(data, Sum) or not unknown.low > 0:
        return None
    found: list[Node] = []
    node = _divided(domain, data.node, unknown, found.append)
    return Sum(node, times(data.powers, ((unknown, 1),)), None) if found else None


def _divided(domain: Domain, node: Node, unknown: Unknown, seen: Callable[[Node], None]) -> Node:
    if node.op in (*LINEAR, *EXTREMES, "add", "subtract"):
        return _with_args(domain, node, [_divided(domain, each, unknown, seen) for each in node.args])
    if node.op in ("multiply", "divide") and node.args[1].op == "constant":
        return _with_args(domain, node, [_divided(domain, node.args[0], unknown, seen), node.args[1]])
    if node.op == "multiply" and node.args[0].op == "constant":
        return _with_args(domain, node, [node.args[0], _divided(domain, node.args[1], unknown, seen)])
    if node.op == "where":
        condition, *values = node.args
        return _with_args(domain, node, [condition, *(_divided(domain, each, unknown, seen) for each in values)])
    if node.op == "public" and node.public is not None and node.public.powers == ((unknown, 1),):
        seen(node)
        return domain.constant(float(node.public.coefficient))
    if node.op == "constant" and not node.extra.any():
        return domain.constant(node.extra)
    divisor = domain.node(
        "public", shape=(), kind="f", extra=(unknown.low, unknown.high), key=("unknown", id(unknown), unknown)
    )
    return domain.node("divide", [node, divisor], shape=node.shape, kind="f")
