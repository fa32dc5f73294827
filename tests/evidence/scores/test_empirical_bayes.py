"""What selection trials leave open about outputs that repeat: the posterior of their log odds."""

import numpy as np
import pytest

from dpverify.evidence.scores.histogram import NormalMixture


@pytest.mark.parametrize("shape", ["normal", "flat"])
def test_draws_of_cells_cover_the_truth_and_have_its_mean(shape):
    """400 cells of either shape: nine of ten truths in the central 90 % of the draws.

    Binomial(400, 0.9) is outside [335, 383] with probability 2e-4.
    """
    rng = np.random.default_rng(4)
    truth = 0.3 * (
        rng.standard_normal(400) if shape == "normal" else rng.choice([-1.0, 1.0, 0.0], 400, p=[0.4, 0.4, 0.2])
    )
    variances = rng.choice([0.02, 0.1], 400)
    belief = NormalMixture.of(truth + np.sqrt(variances) * rng.standard_normal(400), variances)
    drawn = belief.draws(2000)
    low, high = np.quantile(drawn, [0.05, 0.95], axis=0)
    # a quantile of a draw with atoms at the flat values is one of them, up to their width
    assert (shape == "flat" and ((low - 0.05 <= truth) & (truth <= high + 0.05)).sum() >= 335) or (
        335 <= ((low <= truth) & (truth <= high)).sum() <= 383
    )
    assert np.abs(drawn.mean(axis=0) - belief.mean).max() < 0.04  # 4 standard errors of 2000 draws
