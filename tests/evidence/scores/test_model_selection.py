import pickle

import numpy as np
import pytest

from dpverify import Pair
from dpverify.errors import ParameterError, TargetError
from dpverify.evidence.scores.histogram import HistogramFamily
from dpverify.evidence.scores.known import LikelihoodFamily
from dpverify.evidence.scores.learned import BoostedFamily, LogisticFamily
from dpverify.evidence.scores.model_selection import fit_score, log_loss
from dpverify.evidence.scores.score import cross_fit, symbols
from dpverify.trials.collect import Experiment, select, SelectionTrials
from dpverify.trials.outcomes import Outcomes
from dpverify.trials.target import as_target


def trials_of(function, n=4000, seed=1):
    return select(Experiment.of(as_target(function), Pair(0.0, 1.0), seed), n)


def normal(data, *, rng, size):
    return data + rng.standard_normal(size)


class Gauss:
    """N(data, 1) with its exact log ratio; NaN outputs have none."""

    def release(self, data, *, rng, size):
        values = data + rng.standard_normal(size)
        return np.where(values > 2.5, np.nan, values)

    def log_ratio(self, outputs, pair):
        return ((outputs - pair.second) ** 2 - (outputs - pair.first) ** 2) / 2


def test_histogram_scores_are_log_odds_where_much_was_seen_and_zero_where_nothing():
    outcomes = Outcomes(np.repeat([1, 2, 3], [4000, 4000, 4]))
    first = np.r_[np.arange(4000) < 3000, np.arange(4000) < 1000, np.full(4, True)]
    score = HistogramFamily().fit(SelectionTrials(outcomes, first))
    often, less_often, rare, unseen = score(Outcomes(np.array([1, 2, 3, 9])))
    assert [often, less_often] == pytest.approx([np.log(3), -np.log(3)], rel=0.01)
    assert 0 < rare < often  # seen four times, always on the first: odds of nine, but by luck rather than not
    assert unseen == 0


def test_exact_scores_are_the_targets_own_and_symbols_are_counted():
    target = as_target(Gauss())
    trials = trials_of(target)
    score = LikelihoodFamily(target, Pair(0.0, 1.0)).fit(trials)
    assert score(Outcomes(np.array([0.3]))) == pytest.approx([0.2])
    nan = score(Outcomes(np.array([np.nan])))[0]
    # Pr[NaN] = 0.0062 and 0.0668: a log ratio of -2.4, counted in 4,000 trials
    assert -3.5 < nan < -1.5


def test_a_nan_ratio_of_an_ordinary_output_is_an_error_not_an_abstention():
    class Wrong(Gauss):
        def log_ratio(self, outputs, pair):
            return np.full(len(outputs), np.nan)

    class Short(Gauss):
        def log_ratio(self, outputs, pair):
            return np.zeros(3)

    for target, said in [(Wrong(), "NaN"), (Short(), "shape")]:
        with pytest.raises(TargetError, match=said):
            fit_score("exact", as_target(target), Pair(0.0, 1.0), trials_of(target))


def test_symbols_name_the_failure_or_the_pattern():
    outcomes = Outcomes(np.array([[np.nan, 1], [1, np.inf], [-np.inf, 2], [0, 0]]), np.array(["", "", "", "OSError"]))
    assert symbols(outcomes).tolist() == ["?.", ".+", "-.", "OSError"]


@pytest.mark.parametrize(
    "family", [LogisticFamily(), LogisticFamily(name="piecewise", bends=True), BoostedFamily()], ids=lambda f: f.name
)
def test_learned_scores_approach_the_likelihood_ratio(family):
    """Mean excess log loss over the true log ratio of N(0,1) against N(1,1): below 0.02 nats a trial."""
    trials = trials_of(normal, 8000)
    score = family.fit(trials)
    fresh = trials_of(normal, 20_000, seed=2)
    truth = 0.5 - fresh.outcomes.values
    excess = (log_loss(score(fresh.outcomes), fresh.first) - log_loss(truth, fresh.first)).mean()
    assert excess < 0.02
    again = pickle.loads(pickle.dumps(score))
    assert (again(fresh.outcomes) == score(fresh.outcomes)).all()


def test_a_fit_is_a_function_of_its_trials():
    trials, probe = trials_of(normal), Outcomes(np.linspace(-3, 3, 50))
    for family in (LogisticFamily(), BoostedFamily(), HistogramFamily()):
        assert (family.fit(trials)(probe) == family.fit(trials)(probe)).all()


def test_cross_fitted_scores_of_noise_are_no_better_than_chance():
    """A score fitted and read on the same trials would look informative; held-out loss is >= log 2 on average.

    The average is over sixteen samples: a single one may lie on either side.
    """
    loss, seen = [], []
    for seed in range(16):
        same = trials_of(lambda data, *, rng, size: rng.integers(0, 300, size), 3000, seed)
        loss.append(log_loss(cross_fit(HistogramFamily(), same), same.first).mean())
        seen.append(log_loss(HistogramFamily().fit(same)(same.outcomes), same.first).mean())
    assert max(seen) < np.log(2) < np.mean(loss)


def test_non_finite_numbers_are_features():
    def leaks_nan(data, *, rng, size):
        values = rng.standard_normal((size, 2))
        values[rng.random(size) < 0.05 * (1 + data), 0] = np.nan
        return values

    score = LogisticFamily().fit(trials_of(leaks_nan, 20_000))
    plain, nan = score(Outcomes(np.array([[0.0, 0.0], [np.nan, 0.0]])))
    assert nan < plain  # NaN is twice as likely on the second dataset


def test_auto_takes_the_exact_score_then_counts_what_repeats_then_learns():
    pair = Pair(0.0, 1.0)
    kinds = {}
    for name, function in [
        ("likelihood", Gauss()),
        ("histogram", lambda data, *, rng, size: rng.integers(0, 3 + int(data), size)),
        ("text", lambda data, *, rng, size: np.where(rng.random(size) < 0.3 + 0.2 * data, "yes", "no")),
        ("learned", normal),
    ]:
        target = as_target(function)
        kinds[name] = fit_score("auto", target, pair, trials_of(target)).score.name
    assert kinds["likelihood"] == "likelihood"
    assert kinds["histogram"] == kinds["text"] == "histogram"
    assert "logistic" in kinds["learned"]


def test_scores_that_do_not_exist_are_refused():
    target, trials = as_target(normal), trials_of(normal)
    with pytest.raises(ParameterError, match="auto, exact, histogram, classifier"):
        fit_score("neural", target, Pair(0, 1), trials)
    with pytest.raises(ParameterError, match="no log_ratio"):
        fit_score("exact", target, Pair(0, 1), trials)
