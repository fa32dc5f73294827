"""Mixed Nash equilibria of batches of small bimatrix games by support enumeration; every one of them is a CCE.

Player 1 maximises `upper`, player 2 minimises `lower`, tables (cells, A, B). For rows I and columns J of equal size
k = 2, 3, .., in lexicographic order, the mixtures x on I and y on J that make the other player indifferent solve

    sum_j upper[i, j] y_j = v  (i in I),  sum y = 1;      sum_i x_i lower[i, j] = w  (j in J),  sum x = 1

and are an equilibrium when both are non-negative and no action outside of I or J does better. Both systems of all open
cells are solved at once, and a cell leaves with its first equilibrium, so that no cell depends on another.
A non-degenerate game has an equilibrium with supports of equal size (von Stengel 2002, "Computing equilibria for
two-person games", Algorithm 3.4), so only degenerate or badly scaled cells are left.
"""

from itertools import combinations

import numpy as np
import numpy.typing as npt

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
