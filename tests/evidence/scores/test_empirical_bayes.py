"""What selection trials leave open about outputs that repeat: the posterior of their log odds."""

import numpy as np
import pytest

from dpverify.evidence.scores.histogram import NormalMixture, OddsPosterior


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


def test_a_flat_ratio_is_recognised():
    """Twenty cells, half at +0.4 and half at -0.4 with errors of 0.1: shrunk towards that, not towards zero."""
    rng = np.random.default_rng(5)
    truth = np.repeat([0.4, -0.4], 10)
    belief = NormalMixture.of(truth + 0.1 * rng.standard_normal(20), np.full(20, 0.01))
    assert np.abs(belief.mean - truth).mean() < 0.04  # 0.08 without shrinking, 0.077 with one normal scale
    assert (np.sign(belief.mean) == np.sign(truth)).all()


def test_accuracy_of_cells_counts_what_is_guessed():
    first, second = np.array([300.0, 100.0, 50.0]), np.array([100.0, 300.0, 50.0])
    cells = OddsPosterior.of(first, second)
    assert cells.odds[0] == pytest.approx(np.log(3), abs=0.15)
    one, both = cells.accuracy(np.abs(cells.odds) > 0.5, np.array([400, 800])).mean(axis=0)
    assert one == pytest.approx(0.75, abs=0.02)
    assert both == pytest.approx(0.75, abs=0.02)
