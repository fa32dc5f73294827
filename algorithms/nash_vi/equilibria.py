"""Coarse correlated equilibria of small games with two payoff tables, for batches of cells.

A joint distribution pi on A x B is a CCE of (upper, lower), tables (..., A, B), when neither player gains by
leaving it for a fixed action of her own:

    E_pi upper >= max_a' E_{b ~ pi} upper(a', b)        (player 1 maximises upper)
    E_pi lower <= min_b' E_{a ~ pi} lower(a, b')        (player 2 minimises lower)                     (CCE)

Every Nash equilibrium of the bimatrix game (upper, -lower) is one; CCEs form a polytope. It is not unique.
Our rule reads nothing but the two tables:

    1. the first pure equilibrium (a, b) in C order: upper(a,b) largest in its column, lower(a,b) smallest in its row;
    2. 2 x 2 without one: both players mix, each making the other indifferent (closed form; no pure equilibrium
       means strict cycling, hence positive denominators and probabilities inside (0, 1));
    3. otherwise, up to 5 actions each, the first mixed equilibrium with supports of equal size (below);
    4. for what is left, a vertex of the polytope from HiGHS: all open cells of a call in one block-diagonal programme.

`reference` poses the same programme cell by cell through cvxpy: slow, and shares nothing with the fast path.
Tables are shifted and scaled to [0, 1] before a solver sees them. What is returned satisfies (CCE) to
TOLERANCE in the tables' own units, or RunError is raised: it is checked, not assumed.
Source: Algorithm 1, line 14 of "Differentially private RL with self-play" (Qiao, Wang 2024).
"""

from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.optimize import linprog

from dpverify.errors import ParameterError, RunError

# ----------------------------------------------------------------------------------------------------------------------
# Mixed Nash equilibria of batches of small bimatrix games by support enumeration; every one of them is a CCE.
#
# Player 1 maximises `upper`, player 2 minimises `lower`, tables (cells, A, B). For rows I and columns J of equal size
# k = 2, 3, .., in lexicographic order, the mixtures x on I and y on J that make the other player indifferent solve
#
#     sum_j upper[i, j] y_j = v  (i in I),  sum y = 1;      sum_i x_i lower[i, j] = w  (j in J),  sum x = 1
#
# and are an equilibrium when both are non-negative and no action outside of I or J does better. Both systems of all
# open cells are solved at once, and a cell leaves with its first equilibrium, so that no cell depends on another. A
# non-degenerate game has an equilibrium with supports of equal size (von Stengel 2002, "Computing equilibria for
# two-person games", Algorithm 3.4), so only degenerate or badly scaled cells are left.


Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

LARGEST = 5  # actions of a player: 251 pairs of supports; their number grows like 4^A
SINGULAR = 1e-12  # determinants, of tables in [0, 1], from which a system is solved
NEGATIVE = 1e-13  # what rounding may leave of a probability 0


def mixed_equilibria(upper: Array, lower: Array, *, tolerance: float) -> tuple[Array, Mask]:
    """Products x y' (cells, A, B) and where one was found; `tolerance` for tables in [0, 1]."""
    cells, first, second = upper.shape
    joint, found = np.zeros(upper.shape), np.zeros(cells, dtype=bool)
    for size in range(2, min(first, second) + 1):
        for rows in combinations(range(first), size):
            for columns in combinations(range(second), size):
                left = np.flatnonzero(~found)
                if not len(left):
                    return joint, found
                at, mixtures = _on(upper[left], lower[left], rows, columns, tolerance)
                joint[left[at]], found[left[at]] = mixtures, True
    return joint, found


def _on(
    upper: Array, lower: Array, rows: tuple[int, ...], columns: tuple[int, ...], tolerance: float
) -> tuple[npt.NDArray[np.intp], Array]:
    """Cells with an equilibrium on these supports, and the equilibria."""
    at, second = _indifferent(upper[:, rows][:, :, columns])
    also, first = _indifferent(np.swapaxes(lower[at][:, rows][:, :, columns], 1, 2))
    at, second = at[also], second[also]
    x, y = np.zeros((len(at), upper.shape[1])), np.zeros((len(at), upper.shape[2]))
    x[:, rows], y[:, columns] = first, second
    own, other = (upper[at] @ y[:, :, None])[..., 0], (x[:, None, :] @ lower[at])[:, 0, :]
    gain = np.maximum(own.max(axis=1) - (x * own).sum(axis=1), (other * y).sum(axis=1) - other.min(axis=1))
    best = gain <= tolerance
    return at[best], x[best][:, :, None] * y[best][:, None, :]


def _indifferent(tables: Array) -> tuple[npt.NDArray[np.intp], Array]:
    """Cells with a law y >= 0 for which all rows of their table (k, k) are worth the same, and the laws."""
    cells, size = tables.shape[:2]
    system = np.zeros((cells, size + 1, size + 1))
    system[:, :size, :size], system[:, :size, size], system[:, size, :size] = tables, -1.0, 1.0
    regular = np.flatnonzero(np.abs(np.linalg.det(system)) > SINGULAR)
    right = np.zeros((len(regular), size + 1, 1))
    right[:, size] = 1.0
    laws = np.linalg.solve(system[regular], right)[:, :size, 0]
    proper = (laws >= -NEGATIVE).all(axis=1)
    positive = np.maximum(laws[proper], 0.0)
    return regular[proper], positive / positive.sum(axis=1, keepdims=True)


# ----------------------------------------------------------------------------------------------------------------------


TOLERANCE = 1e-9
SOLVER = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
BLOCK = 512  # cells in one programme


def violation(joint: Array, upper: Array, lower: Array) -> Array:
    """How much the better-off deviation gains, (...): max of the two sides of (CCE), negative where both are strict."""
    best = (upper @ joint.sum(axis=-2)[..., None])[..., 0].max(axis=-1)
    least = (joint.sum(axis=-1)[..., None, :] @ lower)[..., 0, :].min(axis=-1)
    return np.asarray(np.maximum(best - (joint * upper).sum(axis=(-2, -1)), (joint * lower).sum(axis=(-2, -1)) - least))


def cce(upper: npt.ArrayLike, lower: npt.ArrayLike) -> Array:
    """A CCE (..., A, B) of every cell by the rule above."""
    high, low = _tables(upper, lower)
    shape = high.shape
    high, low = high.reshape(-1, *shape[-2:]), low.reshape(-1, *shape[-2:])
    joint, open_cells = _pure(high, low)
    if open_cells.any():
        solve = _two_by_two if shape[-2:] == (2, 2) else _mixed
        mixed = solve(high[open_cells], low[open_cells])
        worst = violation(mixed, high[open_cells], low[open_cells]).max()
        if not worst <= TOLERANCE:
            raise RunError(f"CCE found only to {worst:.2e}; tables of very different sizes?")
        joint[open_cells] = mixed
    return joint.reshape(shape)


def nash(payoff: npt.ArrayLike) -> tuple[Array, Array]:
    """Optimal mixed strategies (..., A), (..., B) of zero-sum matrix games (..., A, B): marginals of a CCE.

    With one table both sides of (CCE) are tight, and the marginals guarantee the value to each player.
    """
    table = np.asarray(payoff, dtype=np.float64)
    joint = cce(table, table)
    return joint.sum(axis=-1), joint.sum(axis=-2)


def reference(upper: npt.ArrayLike, lower: npt.ArrayLike) -> Array:
    """A CCE (A, B) of one cell from cvxpy and HiGHS, for tests."""
    import cvxpy

    cp: Any = cvxpy  # untyped

    high, low = _tables(upper, lower)
    high, low = _unit(high), _unit(low)
    joint = cp.Variable(high.shape, nonneg=True)
    own = cp.sum(cp.multiply(joint, high))
    other = cp.sum(cp.multiply(joint, low))
    constraints = [cp.sum(joint) == 1, high @ cp.sum(joint, axis=0) <= own, other <= cp.sum(joint, axis=1) @ low]
    problem = cp.Problem(cp.Minimize(0), constraints)
    problem.solve(solver=cp.HIGHS, **SOLVER)
    if joint.value is None:
        raise RunError(f"reference CCE: {problem.status}")
    return _clean(np.asarray(joint.value))


def _tables(upper: npt.ArrayLike, lower: npt.ArrayLike) -> tuple[Array, Array]:
    high, low = np.asarray(upper, dtype=np.float64), np.asarray(lower, dtype=np.float64)
    if high.ndim < 2 or high.shape != low.shape or 0 in high.shape[-2:]:
        raise ParameterError("shapes", (high.shape, low.shape), "two equal shapes (..., A, B)")
    for name, table in (("upper", high), ("lower", low)):
        if not np.isfinite(table).all():
            raise ParameterError(name, table, "finite")
    return high, low


def _pure(high: Array, low: Array) -> tuple[Array, Mask]:
    """First pure equilibria as unit tables, and where there is none."""
    stays = (high == high.max(axis=-2, keepdims=True)) & (low == low.min(axis=-1, keepdims=True))
    flat = stays.reshape(len(high), -1)
    joint = np.zeros(flat.shape)
    found = flat.any(axis=-1)
    joint[np.flatnonzero(found), flat.argmax(axis=-1)[found]] = 1.0
    return joint.reshape(high.shape), ~found


def _two_by_two(high: Array, low: Array) -> Array:
    """Both mix: player 1 equalises the columns of lower, player 2 the rows of upper."""
    turn = (low[:, 1, 1] - low[:, 1, 0]) / (low[:, 0, 0] - low[:, 0, 1] + low[:, 1, 1] - low[:, 1, 0])
    left = (high[:, 1, 1] - high[:, 0, 1]) / (high[:, 0, 0] - high[:, 1, 0] + high[:, 1, 1] - high[:, 0, 1])
    first, second = np.stack([turn, 1 - turn], axis=-1), np.stack([left, 1 - left], axis=-1)
    return np.asarray(first[:, :, None] * second[:, None, :])


def _mixed(high: Array, low: Array) -> Array:
    """Support enumeration, and the programme for what it leaves: degenerate, large or badly scaled cells."""
    joint, found = np.zeros(high.shape), np.zeros(len(high), dtype=bool)
    if max(high.shape[1:]) <= LARGEST:
        joint, found = mixed_equilibria(_unit(high), _unit(low), tolerance=TOLERANCE / 10)
        found &= violation(joint, high, low) <= TOLERANCE
    if not found.all():
        joint[~found] = _programme(high[~found], low[~found])
    return joint


def _programme(high: Array, low: Array) -> Array:
    parts = [_block(high[i : i + BLOCK], low[i : i + BLOCK]) for i in range(0, len(high), BLOCK)]
    return np.concatenate(parts)


def _block(high: Array, low: Array) -> Array:
    """Feasible points of all cells at once: rows of gains <= 0, one sum for each cell."""
    cells, first, second = high.shape
    high, low = _unit(high), _unit(low)
    gains = np.concatenate(
        [  # (cells, deviation, a, b): what (a, b) adds to the gain of a deviation
            high[:, :, None, :] - high[:, None, :, :],
            low[:, None, :, :] - np.swapaxes(low, 1, 2)[:, :, :, None],
        ],
        axis=1,
    )
    blocks = gains.reshape(cells, first + second, first * second)
    matrix = sparse.block_diag(list(blocks), format="csr")
    sums = sparse.kron(sparse.eye(cells), np.ones((1, first * second)), format="csr")
    solve: Any = linprog  # its stubs know no sparse matrices
    done = solve(
        np.zeros(cells * first * second),
        A_ub=matrix,
        b_ub=np.zeros(matrix.shape[0]),
        A_eq=sums,
        b_eq=np.ones(cells),
        method="highs",
        options=SOLVER,
    )
    if done.x is None:
        raise RunError(f"CCE programme: {done.message}")
    return _clean(done.x.reshape(cells, first, second))


def _unit(table: Array) -> Array:
    """The table moved and scaled to [0, 1], cell by cell; equilibria stay what they are."""
    least = table.min(axis=(-2, -1), keepdims=True)
    width = table.max(axis=(-2, -1), keepdims=True) - least
    return np.asarray((table - least) / np.where(width > 0, width, 1.0))


def _clean(joint: Array) -> Array:
    positive = np.maximum(joint, 0.0)
    return np.asarray(positive / positive.sum(axis=(-2, -1), keepdims=True))
