"""Several events with one significance: against having chosen the wrong one.

Every event gets a share of the significance and the largest of their bounds counts (Bonferroni). A share that is given
away costs the first event little, since bounds move with the square root of its logarithm; where the selection trials
leave open which event is best, the others promise more than that.
"""

import numpy as np

from dpverify.evidence.attack import Side
from dpverify.evidence.scores.score import FloatArray
from dpverify.evidence.selection.predicted_bound import Objective

PARTS = 10  # the significance is shared in tenths
WORTH_IT = 0.03  # relative gain in the mean of the largest bound


def bounds_of_parts(
    right: FloatArray, guesses: FloatArray, trials: int, side: Side, objective: Objective
) -> FloatArray:
    """What every event would certify with so many tenths of the significance, shape (draws, events, PARTS + 1).

    right     expected right guesses under equally likely draws, shape (draws, events); events are nested, the
              smallest first
    guesses   right and wrong ones, shape (events,)
    """
    counts = _noisy(right, guesses)
    bounds = np.zeros((*counts.shape, PARTS + 1))
    for part in range(1, PARTS + 1):
        bounds[..., part] = objective.bound(
            counts, guesses - counts, trials, side, objective.significance * part / PARTS
        )
    return bounds


def regret(bounds: FloatArray, main: int) -> float:
    """Mean share of what the best event would certify that `main` does not, over draws where one certifies."""
    relative = _of_the_best(bounds)
    return 1 - float(relative[:, main, PARTS].mean()) if len(relative) else 0.0


def shared(bounds: FloatArray, main: int, *, least_regret: bool) -> FloatArray:
    """Shares of the significance, shape (events,): all for `main`, unless more is promised with some for others.

    Tenths are moved from `main` to others one by one, each to where the mean of the largest bound gains most; for
    least regret bounds count as shares of the best one under the same belief.
    """
    events = np.arange(bounds.shape[1])
    relative = _of_the_best(bounds)
    if least_regret and len(relative):
        bounds = relative

    def worth(parts: np.ndarray[tuple[int], np.dtype[np.int64]]) -> float:
        return float(bounds[:, events, parts].max(axis=1).mean())

    parts = np.zeros(len(events), np.int64)
    parts[main] = PARTS
    best, reached = parts, (1 + WORTH_IT) * worth(parts)
    for _ in range(PARTS - 1):
        moves = [parts + (events == other) - (events == main) for other in events if other != main]
        if not moves:
            break
        parts = max(moves, key=worth)
        if worth(parts) > reached:
            best, reached = parts, worth(parts)
    return best / PARTS


def _of_the_best(bounds: FloatArray) -> FloatArray:
    """Bounds as shares of the best event's, under draws where that certifies something."""
    most = bounds[..., PARTS].max(axis=1)
    return np.asarray(bounds[most > 0] / most[most > 0, None, None])


def _noisy(right: FloatArray, guesses: FloatArray) -> FloatArray:
    """Right guesses as certifying trials may show them: events share the noise of what they have in common."""
    rng = np.random.Generator(np.random.PCG64(0))
    level, size = np.diff(right, prepend=0.0), np.diff(guesses, prepend=0.0)
    spread = np.sqrt(np.maximum(level * (size - level), 0.0) / np.maximum(size, 1e-9))
    found = np.cumsum(np.clip(level + spread * rng.standard_normal(level.shape), 0.0, size), axis=1)
    return np.asarray(found)
