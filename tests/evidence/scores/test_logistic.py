"""The linear model over codes: its columns, its fit is the optimum, and folds see no held-out bit."""

import numpy as np
import pytest
from scipy import linalg, special

from dpverify import Pair
from dpverify.evidence.scores import ridge
from dpverify.evidence.scores.coordinates import Coordinate, Design, FeatureMap
from dpverify.evidence.scores.learned import LogisticFamily
from dpverify.evidence.scores.model_selection import fit_score, log_loss
from dpverify.evidence.scores.ridge import Dense, hessian_total, Rows, zero
from dpverify.evidence.scores.score import FOLDS, folds_of
from dpverify.trials.collect import SelectionTrials
from dpverify.trials.outcomes import Outcomes
from dpverify.trials.target import as_target


def trials_of(values, first):
    return SelectionTrials(Outcomes(np.asarray(values)), np.asarray(first, bool))


def noisy(n, d, shift, seed=0):
    """n normal vectors of d coordinates, shifted by `shift` in the trials of the second dataset."""
    rng = np.random.default_rng(seed)
    first = rng.random(n) < 0.5
    return trials_of(rng.standard_normal((n, d)) + np.where(first, 0.0, 1.0)[:, None] * np.asarray(shift), first)


def test_ranks_are_the_middle_of_the_empirical_distribution_function():
    column = np.repeat([1.0, 2.0, 4.0], [2, 6, 2])
    coordinate = Coordinate.fit(column)
    # shares below and at: 1 -> (0 + .2)/2, 2 -> (.2 + .8)/2, 4 -> (.8 + 1)/2; between two values the share below
    probe = np.array([0.0, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0])
    ranks = coordinate.ranks[coordinate.codes(probe)]
    assert ranks == pytest.approx([-0.5, -0.4, -0.3, 0.0, 0.3, 0.4, 0.5])
    assert coordinate.categorical
    smooth = Coordinate.fit(np.arange(100_000.0))
    assert not smooth.atomic
    middle = smooth.ranks[smooth.codes(np.array([25_000.0, 99_990.0]))]
    assert middle == pytest.approx([-0.25, 0.4999], abs=2e-3)
    assert smooth.ranks.max() > 0.4998  # the tail is told apart to a few trials in 100,000


def test_nan_and_infinities_have_codes_of_their_own():
    coordinate = Coordinate.fit(np.r_[np.linspace(0, 1, 50), np.nan, np.inf])
    codes = coordinate.codes(np.array([np.nan, np.inf, -np.inf, 0.5]))
    assert len(set(codes.tolist())) == 4
    assert coordinate.common[codes].tolist() == [True, True, False, True]
    assert (coordinate.ranks[codes[:3]] == 0).all()
    assert (coordinate.clipped(np.array([np.nan, np.inf, -np.inf])) == 0).all()


def test_the_fit_is_the_optimum_of_its_penalised_likelihood():
    """The gradient at the weights is the pull of some ridge: zero for the intercept, and no descent is left."""
    trials = noisy(4000, 3, [0.5, 0.0, -0.2])
    features = FeatureMap.fit(trials.outcomes)
    codes, clipped = features.read(trials.outcomes)
    design = Design.of(features, (codes, clipped), bends=False)
    data = ridge.Trials(codes, clipped, trials.first, folds_of(4000))
    weights, _ = ridge.fit(design, data, FOLDS)
    residual = special.expit(design.columns(codes, clipped) @ weights) - trials.first
    gradient = design.columns(codes, clipped).T.astype(float) @ residual
    assert abs(gradient[-1]) < 1.0  # 4,000 trials: the arms are predicted in their shares
    assert (gradient[:-1] * weights[:-1] <= 1e-2 * np.abs(gradient).max() + 0.5).all()  # a ridge pulls towards zero


def test_held_out_values_do_not_know_their_bits():
    """Bits that say nothing: held-out loss is above log 2, the fit's own below."""
    trials = noisy(3000, 8, 0.0)
    trained = LogisticFamily(bends=True, products=True).train(trials)
    own, held_out = (log_loss(values, trials.first).mean() for values in (trained.own, trained.values))
    assert own <= held_out
    assert held_out > np.log(2) - 1e-4
    # turning the bits of one fold changes nothing about what the others say of it
    fold = folds_of(3000)
    turned = SelectionTrials(trials.outcomes, np.where(fold == 0, ~trials.first, trials.first))
    again = LogisticFamily().train(turned)
    before = LogisticFamily().train(trials)
    assert again.values[fold == 0] == pytest.approx(before.values[fold == 0], abs=2e-3)


def test_a_product_that_leaks_is_found():
    rng = np.random.default_rng(3)
    first = rng.random(20_000) < 0.5
    x, z = rng.standard_normal((2, 20_000))
    values = np.stack([x, np.where(first, 1, -1) * 0.3 * x + z], axis=1)
    target = as_target(lambda data, *, rng, size: np.zeros((size, 2)))
    fitted = fit_score("classifier", target, Pair(0, 1), trials_of(values, first))
    assert fitted.score.name == "quadratic logistic"


def test_a_hessian_that_rounding_made_indefinite_is_solved():
    """Collinear columns in single precision: eigenvalues of -3e-7 of the largest, below the penalty's 1."""
    rng = np.random.default_rng(4)
    columns = rng.standard_normal((50, 4))
    hessian = 1e6 * columns @ columns.T / 50
    hessian -= 3.0 * np.eye(50)
    penalty = np.ones(50)
    right = hessian @ np.ones(50)
    with pytest.raises(linalg.LinAlgError):
        linalg.cho_factor(hessian + np.diag(penalty))
    found = Dense(hessian).solve(penalty, right)
    along = columns.T @ found  # what the trials know: the rest is the penalty's
    assert along == pytest.approx(columns.T @ np.ones(50), rel=1e-3)


def test_rows_solve_what_the_dense_hessian_solves():
    """Woodbury's identity, at penalties from the intercept's 1e-6 to the largest."""
    rng = np.random.default_rng(6)
    rows = rng.standard_normal((20, 70)).astype(np.float32)
    penalty = np.r_[np.geomspace(1e-2, 1e8, 69), 1e-6]
    few = hessian_total([zero(70, few=True).with_rows(rows[:9]), zero(70, few=True).with_rows(rows[9:])])
    dense = Dense(rows.T.astype(float) @ rows)
    right = rng.standard_normal(70)
    assert isinstance(few, Rows)
    assert few @ right == pytest.approx(dense @ right)
    assert few.solve(penalty, right) == pytest.approx(dense.solve(penalty, right), rel=1e-6, abs=1e-9)
    assert few.variances(penalty) == pytest.approx(dense.variances(penalty), rel=1e-6)
