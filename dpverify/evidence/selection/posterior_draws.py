"""A calibrated curve has a shape that may be wrong: by how much, level by level.

Model: the log odds of a right guess on level l, from the least confident level to the most confident one, are those of
the curve plus a random walk whose steps have variance tau^2 for each e-fold by which the tail beyond gets rarer. tau is
averaged over TAUS by how well it explains the held-out guesses. What many guesses show in the bulk says little about a
tail far out, and the draws say so; a curve alone would extrapolate.
"""

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.evidence.scores.score import FloatArray, log_odds, log_odds_variance

TAUS = np.geomspace(0.01, 1.0, 9)  # equally likely beforehand
DRAWS = 200
LEAST_STEP = 0.05  # in e-folds


def draws_of_right(ends: npt.NDArray[np.int64], hits: npt.NDArray[np.int64], right: FloatArray) -> FloatArray:
    """Equally likely numbers of right ones among the `ends` most confident guesses, shape (draws, levels).

    ends   increasing numbers of selection trials, shape (levels,)
    hits   how many of these were guessed rightly by a score that had not seen them
    right  how many the calibrated curve expects
    """
    sizes, seen = np.diff(ends, prepend=0).astype(float), np.diff(hits, prepend=0).astype(float)
    expected = np.clip(np.diff(right, prepend=0.0) / sizes, 1e-6, 1 - 1e-6)
    estimates = log_odds(seen, sizes - seen) - special.logit(expected)
    variances = log_odds_variance(seen, sizes - seen)

    steps = np.maximum(np.diff(np.log(ends)), LEAST_STEP)
    walked = np.cumsum(np.r_[1.0, steps[::-1]])[::-1]  # from the least confident level
    walk = np.minimum.outer(walked, walked)
    means, roots, fits = [], [], []
    for tau in TAUS:
        prior = tau**2 * walk
        factor = np.linalg.cholesky(prior + np.diag(variances))
        whitened = np.linalg.solve(factor, np.column_stack([estimates, prior]))
        fits.append(-0.5 * whitened[:, 0] @ whitened[:, 0] - np.log(np.diag(factor)).sum())
        means.append(whitened[:, 1:].T @ whitened[:, 0])
        spread, axes = np.linalg.eigh(prior - whitened[:, 1:].T @ whitened[:, 1:])
        roots.append(axes * np.sqrt(np.maximum(spread, 0.0)))

    rng = np.random.Generator(np.random.PCG64(0))
    drawn = np.empty((DRAWS, len(ends)))
    for row, place in enumerate(rng.choice(len(TAUS), DRAWS, p=special.softmax(fits))):
        drawn[row] = means[place] + roots[place] @ rng.standard_normal(len(ends))
    return np.asarray(np.cumsum(special.expit(special.logit(expected) + drawn) * sizes, axis=1))
