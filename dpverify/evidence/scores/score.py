"""A score estimates log P(o)/Q(o) for an output o, P the law on the first dataset, Q on the second.

A guess is "first" where the score is positive. Scores may be wrong: that costs power, never validity, since
they are frozen before the certifying trials. Outputs that no formula reads (exceptions, NaN) are symbols,
and symbols are scored by how often each dataset produced them in the selection trials.
"""

import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dpverify.trials.collect import SelectionTrials
from dpverify.trials.outcomes import Outcomes

FloatArray = npt.NDArray[np.float64]


class Score(Protocol):
    """A frozen function of outcomes; picklable."""

    @property
    def name(self) -> str:
        """How records call the score."""

    def __call__(self, outcomes: Outcomes, /) -> FloatArray:
        """Estimated log-likelihood ratio of every trial, shape (size,); never NaN."""
        ...


class ScoreFamily(Protocol):
    """A way to make a score from selection trials."""

    def fit(self, trials: SelectionTrials, /) -> Score:
        """A score learned from these trials, and nothing else."""
        ...


def log_odds(first: npt.ArrayLike, second: npt.ArrayLike) -> FloatArray:
    """Smoothed log of a ratio of counts: log (a + 1/2)/(b + 1/2)."""
    return np.log((np.asarray(first, float) + 0.5) / (np.asarray(second, float) + 0.5))


def log_odds_variance(first: FloatArray, second: FloatArray) -> FloatArray:
    """About the variance of `log_odds` for independent counts: 1/(a + 1/2) + 1/(b + 1/2)."""
    return np.asarray(1 / (first + 0.5) + 1 / (second + 0.5))


@dataclass(frozen=True, eq=False)
class SymbolTable:
    """Scores of outcomes that are not numbers: {symbol: log odds}; a symbol never seen before scores 0."""

    scores: Mapping[str, float]

    @classmethod
    def fit(cls, trials: SelectionTrials, rows: npt.NDArray[np.bool_]) -> "SymbolTable":
        """Counts the symbols of the given rows on both datasets."""
        names = symbols(trials.outcomes.take(rows))
        seen, index = np.unique(names, return_inverse=True)
        first = np.bincount(index, weights=trials.first[rows], minlength=len(seen))
        second = np.bincount(index, weights=~trials.first[rows], minlength=len(seen))
        return cls(dict(zip(seen.tolist(), log_odds(first, second).tolist(), strict=True)))

    def __call__(self, outcomes: Outcomes) -> FloatArray:
        seen, index = np.unique(symbols(outcomes), return_inverse=True)
        return np.array([self.scores.get(str(name), 0.0) for name in seen], dtype=float)[index]


def symbols(outcomes: Outcomes) -> npt.NDArray[np.str_]:
    """Names of outcomes that are not ordinary values: the exception's, or which coordinates are not finite."""
    if len(outcomes) == 0:
        return np.array([], dtype="U1")
    flat = outcomes.rows
    if flat.dtype.kind == "f":
        # one character a coordinate: number, NaN, +inf, -inf
        marks = np.select([np.isnan(flat), np.isposinf(flat), np.isneginf(flat)], ["?", "+", "-"], ".")
    else:
        marks = np.full(flat.shape, ".")
    patterns, index = np.unique(marks, axis=0, return_inverse=True)
    names = np.array(["".join(row) for row in patterns])[index.reshape(-1)]
    return names if outcomes.failures is None else np.where(outcomes.failed, outcomes.failures, names)


def with_symbols(outcomes: Outcomes, odds: Callable[[Outcomes], FloatArray], symbols: SymbolTable) -> FloatArray:
    """Log odds of the trials that have a value; failures are scored as symbols."""
    failed = outcomes.failed
    if not failed.any():
        return odds(outcomes)
    scores = np.empty(len(outcomes))
    scores[failed] = symbols(outcomes.take(failed))
    if not failed.all():
        scores[~failed] = odds(outcomes.take(~failed))
    return scores


# ----------------------------------------------------------------------------------------------------------------------
# Numerical libraries on one thread: sums in one order whatever the machine, and no fight with the workers.


def one_thread() -> AbstractContextManager[Any]:
    """A context in which BLAS and OpenMP use one thread."""
    limits: AbstractContextManager[Any] = _libraries(len(sys.modules)).limit(limits=1)
    return limits


@lru_cache(maxsize=1)
def _libraries(modules: int) -> Any:
    """The libraries that are loaded, looked for again only where more modules are: a search takes 10 ms."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


# ----------------------------------------------------------------------------------------------------------------------
# Scores of selection trials by fits that have not seen them: events are chosen from these, not from the fit's own.


FOLDS = 3


@dataclass(frozen=True, eq=False)
class Trained:
    """A score of all trials, held-out values, and the score's own values on the same trials.

    `own` is None where the score fits its own trials too closely to be compared with the held-out values.
    """

    score: Score
    values: FloatArray
    own: FloatArray | None


def folds_of(trials: int) -> npt.NDArray[np.int64]:
    """The fold of every trial: a shuffle, since trials come sorted by dataset."""
    folds: npt.NDArray[np.int64] = np.random.Generator(np.random.PCG64(0)).permutation(trials) % FOLDS
    return folds


def cross_fit(family: ScoreFamily, trials: SelectionTrials) -> FloatArray:
    """Scores of the trials, each by a fit that has not seen it."""
    fold = folds_of(len(trials))
    scores = np.zeros(len(trials))
    for held_out in range(FOLDS):
        rows = fold != held_out
        part = SelectionTrials(trials.outcomes.take(rows), trials.first[rows])
        if part.first.all() or not part.first.any():  # one arm only: too few trials to learn from
            continue
        scores[~rows] = family.fit(part)(trials.outcomes.take(~rows))
    return scores
