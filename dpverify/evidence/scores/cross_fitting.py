"""Scores of selection trials by fits that have not seen them: events are chosen from these, not from the fit's own."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpverify.evidence.scores.score import Family, FloatArray, Score
from dpverify.trials.collect import SelectionTrials

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


def cross_fit(family: Family, trials: SelectionTrials) -> FloatArray:
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
