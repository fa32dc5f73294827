"""Logistic regression whose ridge penalties are learned: one precision for each group of columns.

Newton's method on the penalised log likelihood. At every step the precisions are re-estimated on the quadratic
approximation by the evidence (MacKay 1992): lambda = gamma/|w|^2, gamma the number of well-determined weights.
So a coordinate that says nothing costs nothing, and a thousand weights are learned only where there are
trials enough. Folds are fitted from the same pass over the trials: their gradients and Hessians are sums, and
what a fold must not see is left out; two steps with the fold's own gradient follow.
"""

from dataclasses import dataclass
from functools import reduce
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy import linalg, special

from dpverify.evidence.scores.coordinates import CHUNK, Design, Float32, IntArray
from dpverify.evidence.scores.score import FloatArray, log_odds

# ----------------------------------------------------------------------------------------------------------------------
# Hessians of a logistic loss, as sums of products or as the rows that they are made of.
#
# With fewer trials than columns, H = A'A of a matrix A with a row for each trial, and by Woodbury's identity
#
#     (A'A + D)^-1 = D^-1 - D^-1 A' (I + A D^-1 A')^-1 A D^-1,    D the diagonal of penalties,
#
# a system has the size of the trials: `Rows` solves what `Dense` solves, in (n/width)^2 of the time.


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


def hessian_total(parts: list[Hessian]) -> Hessian:
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


# ----------------------------------------------------------------------------------------------------------------------


STEPS = 12  # Newton steps at most
CLOSE = 1e-3  # root mean square change of the log odds at which they stop
EVIDENCE_STEPS = 40  # at most, or until no precision changes by more than SETTLED of itself
SETTLED = 0.01
LEAST, MOST = 0.01, 1e8  # learned precision of a weight per standard deviation of its column
MAIN_MOST = 100.0  # of the main group: a violation is looked for, so log odds of 0.1 are never ruled out beforehand
SPARSE = 1.0  # prior weights of zero in each group: three weights of pure noise stay unless their chi-square is above 9
RIDGE = 1.0  # precision of a weight in any case: a value seen three times shows at most so much
FOLD_STEPS = 2
EVIDENCE_WIDTH = 640  # with more columns the precisions stay at LEAST


@dataclass(frozen=True, eq=False)
class Trials:
    """Codes and clipped values (coordinates, size), bits, and the fold of every trial."""

    codes: npt.NDArray[np.int32]
    clipped: Float32
    first: npt.NDArray[np.bool_]
    fold: IntArray

    @property
    def one_sided(self) -> bool:
        """True where all trials are of one dataset."""
        return bool(self.first.all() or not self.first.any())

    def chunks(self, fold: int) -> list[tuple[npt.NDArray[np.int32], Float32, npt.NDArray[np.bool_]]]:
        """The trials of one fold, a few thousand at a time."""
        rows = np.nonzero(self.fold == fold)[0]
        parts = np.array_split(rows, max(1, -(-len(rows) // CHUNK)))
        return [(self.codes[:, part], self.clipped[:, part], self.first[part]) for part in parts if len(part)]


@dataclass(frozen=True, eq=False)
class Quadratic:
    """Loss (negative log likelihood), its gradient and Hessian at some weights."""

    loss: float
    gradient: FloatArray
    hessian: Hessian


def fit(design: Design, trials: Trials, folds: int) -> tuple[FloatArray, list[FloatArray]]:
    """Weights learned from all trials, and for each fold weights learned from the others."""
    if trials.one_sided:  # nothing to compare with: only the intercept says so
        nothing = np.zeros(design.width)
        nothing[-1] = float(log_odds(trials.first.sum(), (~trials.first).sum()))
        return nothing, [nothing] * folds
    variance = design.scale**2
    weights = np.zeros(design.width)
    precision = np.full(design.width, LEAST)
    parts = _passes(design, trials, folds, weights)
    for _ in range(STEPS):
        total = _sum(parts)
        new, precision = _step(total, weights, precision, variance, design)
        moved = new - weights
        change = np.sqrt(max(0.0, float(moved @ (total.hessian @ moved))) / max(1, len(trials.first)))
        parts, weights = _descend(design, trials, folds, total, weights, new, _penalty(precision, variance))
        if change < CLOSE:
            break
    others = []
    for fold in range(folds):
        rest = _sum(parts[:fold] + parts[fold + 1 :])
        # from the start again: the precisions of all trials know the bits of this fold
        apart, own = _step(rest, weights, np.full(design.width, LEAST), variance, design)
        for _ in range(FOLD_STEPS):
            gradient = np.zeros(design.width)
            for other in range(folds):
                if other != fold:
                    gradient += _gradient(design, trials, other, apart)
            penalty = _penalty(own, variance)
            apart = apart - rest.hessian.solve(penalty, gradient + penalty * apart)
        others.append(apart)
    return weights, others


def _sum(parts: list[Quadratic]) -> Quadratic:
    hessian = hessian_total([part.hessian for part in parts])
    return Quadratic(sum(part.loss for part in parts), np.sum([part.gradient for part in parts], axis=0), hessian)


def _descend(
    design: Design,
    trials: Trials,
    folds: int,
    total: Quadratic,
    old: FloatArray,
    new: FloatArray,
    penalty: FloatArray,
) -> tuple[list[Quadratic], FloatArray]:
    """Quadratics at the new weights, or nearer to the old ones where the step was too long."""
    before = total.loss + (penalty * old * old).sum() / 2
    for _ in range(8):
        parts = _passes(design, trials, folds, new)
        after = sum(part.loss for part in parts) + (penalty * new * new).sum() / 2
        if after <= before + 1e-6 * abs(before):
            break
        new = (old + new) / 2
    return parts, new


def _step(
    at: Quadratic, weights: FloatArray, precision: FloatArray, variance: FloatArray, design: Design
) -> tuple[FloatArray, FloatArray]:
    """Newton's step with the precisions that the evidence of the quadratic approximation prefers."""
    groups, main = design.groups, slice(design.main, design.main + 1)
    pull = at.hessian @ weights - at.gradient
    new = at.hessian.solve(_penalty(precision, variance), pull)
    if len(precision) > EVIDENCE_WIDTH or len(groups) == 0:
        return new, precision
    for _ in range(EVIDENCE_STEPS):
        spread = at.hessian.variances(_penalty(precision, variance))[:-1]
        unsure = np.bincount(groups, precision[:-1] * variance[:-1] * spread)
        gamma = np.bincount(groups, variance[:-1] > 0) - unsure
        size = np.bincount(groups, variance[:-1] * new[:-1] ** 2)
        each = np.clip((np.maximum(gamma, 0.0) + SPARSE) / np.maximum(size, 1e-12), LEAST, MOST)
        each[main] = np.minimum(each[main], MAIN_MOST)
        old, precision = precision, np.r_[each[groups], LEAST]
        new = at.hessian.solve(_penalty(precision, variance), pull)
        if np.abs(np.log(precision / old)).max() < SETTLED:
            break
    return new, precision


def _penalty(precision: FloatArray, variance: FloatArray) -> FloatArray:
    """Of every weight; the intercept's is next to nothing."""
    penalty = precision * variance + RIDGE
    penalty[-1] = 1e-6
    return penalty


def _passes(design: Design, trials: Trials, folds: int, weights: FloatArray) -> list[Quadratic]:
    """The quadratic approximation of each fold's loss."""
    return [_quadratic(design, trials, fold, weights) for fold in range(folds)]


def _quadratic(design: Design, trials: Trials, fold: int, weights: FloatArray) -> Quadratic:
    few = FEWER * len(trials.first) <= design.width
    loss, gradient, hessian = 0.0, np.zeros(design.width), zero(design.width, few)
    single = weights.astype(np.float32)
    for codes, clipped, first in trials.chunks(fold):
        matrix = design.columns(codes, clipped)
        odds = (matrix @ single).astype(float)
        right = special.expit(odds)
        loss += float(np.logaddexp(0.0, np.where(first, -odds, odds)).sum())
        gradient += (right - first).astype(np.float32) @ matrix
        matrix *= np.sqrt(right * (1 - right)).astype(np.float32)[:, None]
        hessian = hessian.with_rows(matrix)
    return Quadratic(loss, gradient, hessian)


def _gradient(design: Design, trials: Trials, fold: int, weights: FloatArray) -> FloatArray:
    gradient = np.zeros(design.width)
    single = weights.astype(np.float32)
    for codes, clipped, first in trials.chunks(fold):
        matrix = design.columns(codes, clipped)
        right = special.expit((matrix @ single).astype(float))
        gradient += (right - first).astype(np.float32) @ matrix
    return gradient
