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
    if node.op in LINEAR or (node.op in ("add", "subtract") and all(each.shape == node.shape for each in node.args)):
        args = [centre(domain, each) for each in node.args]
    elif node.op == "divide" or (node.op == "multiply" and any(each.op == "constant" for each in node.args)):
        if node.op == "divide" and node.args[1].op != "constant":
            return node
        args = [centre(domain, each) for each in node.args]
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
