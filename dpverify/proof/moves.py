"""How far a neighbour moves sums over rows, and what events cost on one pair of neighbours.

Replace-one: a row x of one cell becomes a row x' of another (or the same) one, so a sum of g moves by g(x') - g(x).
Add-or-remove-one: it moves by g(x) or by -g(x). Several sums of the same rows move together: the cost of all events is
summed for each pair of cells before the largest is taken.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.proof import intervals
from dpverify.proof.relative import centre, in_proportion
from dpverify.proof.rows import Cells, cells_of, MOST_NUMBERS, Node
from dpverify.proof.run import Event, Run
from dpverify.proof.terms import Aggregate, largest, Rows, Sum, times

Array = npt.NDArray[np.float64]


@dataclass(eq=False)
class Pairs:
    """All pairs of cells that two neighbouring datasets can differ by.

    `free`: both rows of a pair have places and coins of their own, so these say nothing of the other row.
    """

    cells: Cells
    replaces: bool
    free: bool = False

    @classmethod
    def of(cls, run: Run, nodes: Sequence[Node]) -> "Pairs":
        """Pairs of the cells that these expressions cut the domain into."""
        return cls(cells_of(run.domain, nodes), run.replaces)

    def moves(self, node: Node) -> tuple[Array, Array]:
        """Interval of the move of a sum of `node`, with shape (pairs, *shape)."""
        if self.replaces:
            node = centre(self.cells.domain, node)
        low, high = self.cells.value(node)
        if not self.replaces:
            return np.concatenate([low, -high]), np.concatenate([high, -low])
        count = self.cells.count
        shape = (count * count, *node.shape)
        if count * count * max(1, math.prod(node.shape)) > MOST_NUMBERS:
            low, high = low.min(axis=0, keepdims=True), high.max(axis=0, keepdims=True)
            least, most = intervals.subtract((low, high), (low, high))
            return np.broadcast_to(least, shape), np.broadcast_to(most, shape)
        least, most = intervals.subtract((low[None], high[None]), (low[:, None], high[:, None]))
        least, most = least.reshape(shape), most.reshape(shape)
        apart = self.apart
        if apart.any():
            least[apart], most[apart] = 0.0, 0.0
        return least, most

    @functools.cached_property
    def apart(self) -> npt.NDArray[np.bool_]:
        """Pairs of cells that no two rows at one place have: their public axes differ."""
        count = self.cells.count
        found = np.zeros((count, count), bool)
        for name, (low, high) in () if self.free else self.cells.pieces.items():
            if isinstance(name, Node) and name.op in ("public_axis", "place"):
                found |= (low[:, None] != low[None]) | (high[:, None] != high[None])
        return found.reshape(-1)

    @property
    def count(self) -> int:
        """Number of pairs."""
        return self.cells.count**2 if self.replaces else 2 * self.cells.count


def norm_cap(node: Node, order: float, replaces: bool) -> float:
    """Bound of a norm of the move by a bound of that norm of a row's value (twice it where a row is replaced)."""
    bounds = [node.norms.get(order, math.inf)]
    if order == 2:  # |v|_2 <= |v|_1
        bounds.append(node.norms.get(1, math.inf))
    if order == 1 and 2 in node.norms:
        bounds.append(float(np.nextafter(node.norms[2] * math.sqrt(max(1, math.prod(node.shape))), np.inf)))
    return min(bounds) * (2 if replaces else 1)


def aggregate_of(run: Run, data: Any) -> Aggregate:
    """A sum as a function of the dataset with range and moves."""
    if isinstance(data, Aggregate):
        return data
    node = data.node
    low, high = run.domain.bounds(node)
    count = (run.rows, run.rows) if run.rows is not None else (run.fewest, run.most)
    if data.powers == ((run.number_of_rows, -1),):
        sums = (low, high)
    elif data.powers:
        sums = (np.full(node.shape, -np.inf), np.full(node.shape, np.inf))
    else:
        with np.errstate(all="ignore"):
            ends = [np.where(each == 0, 0.0, each * rows) for each in (low, high) for rows in count]
        lowest, highest = np.minimum.reduce(ends), np.maximum.reduce(ends)
        sums = (  # nothing is rounded in a product with 0
            np.where(lowest == 0, 0.0, np.nextafter(lowest, -np.inf)),
            np.where(highest == 0, 0.0, np.nextafter(highest, np.inf)),
        )
        if node.kind in "bi":
            sums = (np.ceil(sums[0]), np.floor(sums[1]))
    if data.offset is None:
        sums = (np.full(node.shape, -np.inf), np.full(node.shape, np.inf))
    else:
        sums = intervals.add(sums, data.offset)
    return Aggregate(
        np.broadcast_to(sums[0], node.shape),
        np.broadcast_to(sums[1], node.shape),
        *_sizes_of_moves(Pairs.of(run, [node]), node),
        data.powers,
        node.kind in "bi" and not data.powers and _is_one_whole_number(data.offset),
    )


def distance_of_values(run: Run, node: Node) -> tuple[Array, float, float, float]:
    """Largest distances of the values of two rows of any two datasets: entry by entry, in both norms, and the spread.

    A coin of one row says nothing of the coin of the other one.
    """
    return _sizes_of_moves(Pairs(cells_of(run.domain, [node]), replaces=True, free=True), node)


def _sizes_of_moves(pairs: Pairs, node: Node) -> tuple[Array, float, float, float]:
    """Largest moves of a sum over pairs: entry by entry, in both norms, and the spread."""
    least, most = pairs.moves(node)
    sizes = np.maximum(np.abs(least), np.abs(most))
    axes = tuple(range(1, sizes.ndim))
    down, up = least.min(axis=axes, initial=np.inf), most.max(axis=axes, initial=-np.inf)
    return (
        sizes.max(axis=0),
        min(float(total_up(sizes, axes).max()), norm_cap(node, 1, pairs.replaces)),
        min(root_of_squares(sizes, axes), norm_cap(node, 2, pairs.replaces)),
        float((up - down).max()) if node.shape else 0.0,
    )


def _is_one_whole_number(offset: Any) -> bool:
    """Whether the public numbers of a sum are known and whole; between 0 and 1 there are others."""
    return offset is not None and bool((offset[0] == offset[1]).all()) and not np.any(offset[0] % 1)


def total_up(sizes: Array, axes: tuple[int, ...]) -> Array:
    """Sums over axes, rounded up where they are not exact."""
    if not axes:
        return sizes
    found = sizes.reshape(sizes.shape[0], -1)
    total = np.zeros(found.shape[0])
    if found.shape[1] > 4096:
        return np.asarray(found.sum(axis=1) * (1 + 2.3e-16 * found.shape[1]))
    for at in range(found.shape[1]):
        total = intervals.sum_of(total, found[:, at])[1]
    return total


def root_of_squares(sizes: Array, axes: tuple[int, ...]) -> float:
    """Largest Euclidean norm over pairs, rounded up where it is not exact."""
    if not axes:
        return float(sizes.max())
    return root_up(float(total_up(intervals.product_of(sizes, sizes)[1], axes).max()))


def root_up(square: float) -> float:
    """Square root, rounded up where it is not exact."""
    return float(roots_up(np.asarray(square)))


def roots_up(squares: Array) -> Array:
    """Square roots, rounded up where they are not whole numbers whose squares these are."""
    roots = np.sqrt(squares)
    exact = (roots * roots == squares) & (roots == np.rint(roots))
    return np.where(exact, roots, np.nextafter(roots, np.inf))


# ----------------------------------------------------------------------------------------------------------------------
# Costs


@dataclass(frozen=True)
class Cost:
    """What one run costs at most on a pair of neighbours.

    Parameters
    ----------
    eps : float
        Pure eps of all events together; infinite where one of them has none.
    rho : float
        zCDP of all events together.
    mu : float
        Gaussian DP of all events together; infinite where one of them is not Gaussian.
    each : tuple of (kind, number)
        For each event: ("laplace", eps) of Laplace noise, ("gaussian", mu), ("joint", eps) where it shares noise with
        others, or ("pure", eps) of all others, each with its own worst pair.
    """

    eps: float
    rho: float
    mu: float
    each: tuple[tuple[str, float], ...]

    def __post_init__(self) -> None:
        for name in ("eps", "rho", "mu"):  # a comparison with NaN is False, so that max() over paths would lose it
            if math.isnan(getattr(self, name)):
                object.__setattr__(self, name, math.inf)


def cost_of(run: Run) -> Cost:
    """The cost of the events of a run: their sum for each pair of cells, then the largest over pairs.

    Notes
    -----
    Conditional on the released values the events are those of one pair (x, x') of rows, so pure losses add up for
    that pair; zCDP and Gaussian DP of adaptive compositions add up in rho and mu^2 in the same way.
    """
    nodes = [each.data.node for each in run.events if isinstance(each.data, Sum | Rows)]
    pairs = Pairs.of(run, nodes)
    if pairs.cells.coarse:  # every event has cells of its own: only the largest losses can be added up
        parts = [_event_cost(Pairs.of(run, _nodes(each)), run, each) for each in run.events]
        return _add_losses([(kind, np.array([loss.max()])) for kind, loss in parts])
    return _add_losses([_event_cost(pairs, run, each) for each in run.events])


def _nodes(event: Event) -> list[Node]:
    return [event.data.node] if isinstance(event.data, Sum | Rows) else []


def _add_losses(parts: list[tuple[str, Array]]) -> Cost:
    if not parts:
        return Cost(0.0, 0.0, 0.0, ())
    # a loss that is not a number (infinity less infinity, for a pair whose moves are not bounded) bounds nothing
    parts = [(kind, np.where(np.isnan(loss), np.inf, loss)) for kind, loss in parts]
    pure = mu_square = rho = np.zeros(len(parts[0][1]))
    gaussian = any(kind == "gaussian" for kind, _ in parts)
    for kind, loss in parts:
        rho = intervals.sum_of(rho, zcdp_of(kind, loss))[1]
        if kind == "gaussian":
            mu_square = intervals.sum_of(mu_square, intervals.product_of(loss, loss)[1])[1]
        else:
            pure = intervals.sum_of(pure, loss)[1]
    only_gaussian = all(kind == "gaussian" for kind, _ in parts)
    each = tuple((kind, float(loss.max())) for kind, loss in parts)
    quiet = max(number for _, number in each) == 0
    return Cost(
        math.inf if gaussian and not quiet else float(pure.max()),
        float(rho.max()),
        root_up(float(mu_square.max())) if only_gaussian else (0.0 if quiet else math.inf),
        each,
    )


def zcdp_of(kind: str, loss: Array) -> Array:
    """Bounds of the zCDP parameter of releases of these losses, rounded up.

    Parameters
    ----------
    kind : str
        "gaussian", "laplace", "pure" or "joint", as in `Cost.each`.
    loss : array
        The distance in standard deviations of a Gaussian, of all others eps (of Laplace noise the l1 distance over its
        scale); 0 <= loss <= inf.

    Returns
    -------
    array
        rho for each loss; infinite where "joint" moves at all, since what shares noise does not add up.

    Notes
    -----
    Gaussian: mu^2/2 (Bun, Steinke 2016). Laplace: eps - 1 + e^-eps (proof: `LaplaceLoss.rho`); several coordinates
    with the distances a_i sum to eps, and since a - 1 + e^-a is convex and 0 at 0, their rho to at most that of eps.

    Pure: eps tanh(eps/2), the KL divergence of randomised response, which dominates every eps-DP step (Kairouz, Oh,
    Viswanath 2015). With c = alpha - 1, E_P[e^(cL)] is cosh((c + 1/2) eps)/cosh(eps/2). log cosh(eps sqrt(w)) is
    concave in w. Its tangent at w = 1/4 is at w = (c + 1/2)^2 = 1/4 + c (1 + c) by c (1 + c) eps tanh(eps/2) higher,
    so log E <= c (1 + c) eps tanh(eps/2). Both numbers are KL divergences, so that no smaller ones are true.

    Examples
    --------
    >>> import numpy as np
    >>> zcdp_of("laplace", np.array([1.0])).round(4), zcdp_of("pure", np.array([1.0])).round(4)
    (array([0.3679]), array([0.4621]))
    """
    half_of_square = intervals.product_of(intervals.product_of(loss, loss)[1], 0.5)[1]
    if kind == "joint":
        return np.where(loss > 0, np.inf, 0.0)
    if kind == "laplace":  # the sum of two numbers of at most `loss`, each right to a few floats
        return np.minimum(half_of_square, (loss + np.expm1(-loss)) + loss * 2.0**-50)
    if kind == "pure":
        divergence = np.nextafter(loss * np.tanh(loss / 2) * (1 + 2.0**-50), np.where(loss > 0, np.inf, 0.0))
        return np.minimum(half_of_square, divergence)
    return half_of_square


def _event_cost(pairs: Pairs, run: Run, event: Event) -> tuple[str, Array]:
    """("pure", "laplace", "joint" or "gaussian", loss for each pair): eps, or the distance in standard deviations."""
    kind, loss = _cost_as_it_is(pairs, run, event)
    kind = "joint" if event.joint else kind
    for unknown, power in event.powers:
        scaled = in_proportion(run.domain, event.data, unknown) if power == -1 else None
        if scaled is not None:  # both are bounds
            other = replace(event, data=scaled, powers=times(event.powers, ((unknown, 1),)))
            loss = np.minimum(loss, _event_cost(pairs, run, other)[1])
    return kind, loss


def _threshold_loss(pairs: Pairs, run: Run, event: Event) -> Array:
    """Loss of one path of comparisons with a noisy threshold: the least over three shifts (see `compare_with_bar`)."""
    least, most, *_ = _moves_of(pairs, run, event)
    below = np.array([each for _, each in event.queries])
    fall, rise = np.maximum(0.0, -least[:, ~below]), np.maximum(0.0, most[:, below])
    scales = event.scale[~below][None], event.scale[below][None]

    def charge(shift: Array, moved: Array, scale: Array) -> Array:
        parts = intervals.quotient_of(np.maximum(0.0, moved), scale)[1]
        return intervals.sum_of(intervals.quotient_of(shift, abs(event.bar))[1], total_up(parts, (1,)))[1]

    up, down = rise.max(axis=1, initial=0.0), fall.max(axis=1, initial=0.0)
    nothing = np.zeros(len(least))
    stays = intervals.sum_of(charge(nothing, fall, scales[0]), charge(nothing, rise, scales[1]))[1]
    rises = charge(up, intervals.sum_of(up[:, None], -least[:, ~below])[1], scales[0])
    falls = charge(down, intervals.sum_of(down[:, None], most[:, below])[1], scales[1])
    return np.minimum(stays, np.minimum(rises, falls))


def _cost_as_it_is(pairs: Pairs, run: Run, event: Event) -> tuple[str, Array]:
    if event.kind == "threshold":
        return "joint", _threshold_loss(pairs, run, event)
    factor = largest(event.powers)
    least, most, l1, l2, spread = _moves_of(pairs, run, event)
    scale = np.broadcast_to(event.scale, least.shape[1:])
    axes = tuple(range(1, least.ndim))
    sizes = np.maximum(np.abs(least), np.abs(most))
    even = scale.size <= 1 or (scale == scale.flat[0]).all()
    if not scale.size:
        return "pure", np.zeros(pairs.count)
    first = float(scale.flat[0])
    parts = intervals.quotient_of(sizes, scale[None])[1]
    if event.kind == "coin":
        return "pure", coin_losses(_scale_losses(sizes, factor), *certain_range(run, event.data))
    if event.kind == "gaussian":
        distance = roots_up(total_up(intervals.product_of(parts, parts)[1], axes)) if axes else parts
        if even:
            distance = np.minimum(distance, intervals.quotient_of(l2, first)[1])
        return "gaussian", _scale_losses(distance, factor)
    loss = total_up(parts, axes)
    if even:
        loss = np.minimum(loss, intervals.quotient_of(l1, first)[1])
    if event.kind == "choice":
        wide = intervals.sum_of(most.max(axis=axes), -least.min(axis=axes))[1] if axes else np.zeros(len(least))
        by_range = intervals.quotient_of(np.minimum(wide, spread), float(scale.min()))[1]
        # the range never exceeds the L1 norm; with scales of their own the L1 bound is that of Laplace noise alone
        loss = np.minimum(loss, by_range) if even or event.text == "laplace" else by_range
    return "laplace" if event.kind == "laplace" else "pure", _scale_losses(loss, factor)


def coin_losses(moves: Array, low: float, high: float) -> Array:
    """Losses of one coin whose chance lies in [low, high] and moves by at most these numbers.

    The chance p of one dataset and p' of the other satisfy p'/p <= min(p + m, high)/p <= min(low + m, high)/low, and
    1 - p, which lies in [1 - high, 1 - low], does alike. A chance that may be 0 or 1 has no finite loss.
    """
    if not (0 < low and high < 1):
        return np.where(moves == 0, 0.0, np.inf)
    sizes = np.minimum(moves, intervals.sum_of(high, -low)[1])
    with np.errstate(all="ignore"):
        heads, tails = np.log1p(sizes / low), np.log1p(sizes / (1 - high))
    return np.maximum(heads, tails) * (1 + 2.0**-50)


def certain_range(run: Run, data: Any) -> tuple[float, float]:
    """Range of what depends on data, over all datasets and entries."""
    if isinstance(data, Rows) and data.powers:
        return -math.inf, math.inf
    if isinstance(data, Rows):
        low, high = run.domain.bounds(data.node)
    else:
        found = aggregate_of(run, data)
        low, high = found.low, found.high
    return float(np.min(low)), float(np.max(high))


def _scale_losses(loss: Array, factor: tuple[float, float]) -> Array:
    """The loss times the supremum of the unknowns that it is a multiple of; infinite where that has no bound."""
    top, bottom = factor
    if bottom == 0 or math.isinf(top):
        return np.where(loss == 0, 0.0, np.inf)
    found = loss if top == 1 else intervals.product_of(loss, top)[1]
    return found if bottom == 1 else intervals.quotient_of(found, bottom)[1]


def _moves_of(pairs: Pairs, run: Run, event: Event) -> tuple[Array, Array, float, float, float]:
    """Interval of the move for each pair, and bounds of its norms and of its spread over all pairs."""
    data = event.data
    if isinstance(data, Sum | Rows):
        least, most = pairs.moves(data.node)
        norms = norm_cap(data.node, 1, run.replaces), norm_cap(data.node, 2, run.replaces)
        return least, most, *norms, math.inf
    move = np.broadcast_to(data.move, (pairs.count, *data.move.shape))
    return -move, move, data.l1, data.l2, data.spread
