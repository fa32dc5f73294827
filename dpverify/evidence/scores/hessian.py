"""Hessians of a logistic loss, as sums of products or as the rows that they are made of.

With fewer trials than columns, H = A'A of a matrix A with a row for each trial, and by Woodbury's identity

    (A'A + D)^-1 = D^-1 - D^-1 A' (I + A D^-1 A')^-1 A D^-1,    D the diagonal of penalties,

a system has the size of the trials: `Rows` solves what `Dense` solves, in (n/width)^2 of the time.
"""

from dataclasses import dataclass
from functools import reduce
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy import linalg

from dpverify.evidence.scores.score import FloatArray

ROUNDINGS = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3)  # of the diagonal; single precision rounds to 6e-8
FEWER = 2  # columns for each trial, from where on rows are the smaller system


class Hessian(Protocol):
    """A positive semidefinite matrix H, (width, width)."""

    def __matmul__(self, vector: FloatArray) -> FloatArray: ...

    def with_rows(self, rows: npt.NDArray[np.float32]) -> "Hessian":
        """H + rows' rows."""
        ...

    def solve(self, penalty: FloatArray, right: FloatArray) -> FloatArray:
        """(H + diag(penalty))^-1 right."""
        ...

    def variances(self, penalty: FloatArray) -> FloatArray:
        """The diagonal of (H + diag(penalty))^-1."""
        ...


@dataclass(frozen=True, eq=False)
class Dense:
    """H itself."""

    matrix: FloatArray

    def __matmul__(self, vector: FloatArray) -> FloatArray:
        return np.asarray(self.matrix @ vector)

    def with_rows(self, rows: npt.NDArray[np.float32]) -> "Dense":
        """As the protocol says; products in single precision."""
        return Dense(self.matrix + rows.T @ rows)

    def solve(self, penalty: FloatArray, right: FloatArray) -> FloatArray:
        """As the protocol says."""
        return np.asarray(linalg.cho_solve(_factor(self.matrix, penalty), right, check_finite=False))

    def variances(self, penalty: FloatArray) -> FloatArray:
        """As the protocol says."""
        return np.diag(self.solve(penalty, np.eye(len(penalty))))


@dataclass(frozen=True, eq=False)
class Rows:
    """H = A'A: A is (trials, width)."""

    rows: FloatArray

    def __matmul__(self, vector: FloatArray) -> FloatArray:
        return np.asarray((self.rows @ vector) @ self.rows)

    def with_rows(self, rows: npt.NDArray[np.float32]) -> "Rows":
        """As the protocol says."""
        return Rows(np.concatenate([self.rows, rows]))

    def solve(self, penalty: FloatArray, right: FloatArray) -> FloatArray:
        """As the protocol says."""
        apart = right / penalty
        inner = linalg.cho_solve(self._inner(penalty), self.rows @ apart, check_finite=False)
        return np.asarray(apart - (inner @ self.rows) / penalty)

    def variances(self, penalty: FloatArray) -> FloatArray:
        """As the protocol says."""
        factor, lower = self._inner(penalty)
        seen = linalg.solve_triangular(factor, self.rows, trans=0 if lower else 1, lower=lower, check_finite=False)
        return np.asarray(1 / penalty - (seen**2).sum(axis=0) / penalty**2)

    def _inner(self, penalty: FloatArray) -> tuple[FloatArray, bool]:
        return _factor((self.rows / penalty) @ self.rows.T, np.ones(len(self.rows)))


def total(parts: list[Hessian]) -> Hessian:
    """Their sum; all of one kind."""
    if all(isinstance(each, Rows) for each in parts):
        return Rows(np.concatenate([each.rows for each in parts if isinstance(each, Rows)]))
    return Dense(reduce(np.add, [each.matrix for each in parts if isinstance(each, Dense)]))


def zero(width: int, few: bool) -> Hessian:
    """H = 0, to be made of rows or, where trials are many, of their products."""
    return Rows(np.zeros((0, width))) if few else Dense(np.zeros((width, width)))


def _factor(hessian: FloatArray, penalty: FloatArray) -> tuple[FloatArray, bool]:
    """Cholesky factor of hessian + penalty.

    Sums of products in single precision can leave the Hessian of collinear columns not quite positive: what is lost
    to rounding is then put onto the diagonal, tenfold at a time.
    """
    for rounding in (0.0, *ROUNDINGS):
        try:
            diagonal = penalty + rounding * np.abs(np.diag(hessian))
            factor, lower = linalg.cho_factor(hessian + np.diag(diagonal), check_finite=False)
        except linalg.LinAlgError:
            continue
        return np.asarray(factor), bool(lower)
    raise FloatingPointError("the Hessian of the selection trials is not positive by far more than rounding")
