import numpy as np
import pytest
from scipy import stats

from dpverify import loop_trials, Pair
from dpverify.base.errors import ParameterError, TargetError
from dpverify.base.seeding import Stage
from dpverify.evidence.tally import Tally
from dpverify.trials.collect import estimate, Experiment, select
from dpverify.trials.outcomes import Outcomes
from dpverify.trials.target import as_target

PAIR = Pair(0.0, 1.0)


def normal(data, *, rng, size):
    return data + rng.standard_normal(size)


def experiment(function, pair=PAIR, seed=3):
    return Experiment.of(as_target(function), pair, seed)


def count_by_arm(first, second):
    return Tally.of(len(first), len(second), len(first) + len(second))


def checksum(first, second):
    return [float(first.values.sum()), float(second.values.sum())]


def test_each_trial_tosses_a_fair_coin_of_its_own():
    """Level 1e-6, exact: heads ~ Bin(200,000, 1/2); a coin of bias 0.51 is seen with probability > 0.9999."""
    probe = select(experiment(normal), 200_000)
    assert len(probe) == 200_000
    assert stats.binomtest(int(probe.first.sum()), 200_000).pvalue > 1e-6


def test_the_coin_says_which_dataset_was_used():
    probe = select(experiment(lambda data, *, rng, size: np.full(size, data)), 1000)
    assert (probe.outcomes.values == np.where(probe.first, 0.0, 1.0)).all()


def test_selection_and_estimation_use_different_trials():
    e = experiment(normal)
    first, _ = e.run_block(Stage.SELECT, 0, 1000)
    again, _ = e.run_block(Stage.ESTIMATE, 0, 1000)
    assert not np.isin(first.values, again.values).any()


def test_equal_seeds_equal_trials_for_any_number_of_workers():
    e = experiment(normal)
    one = list(estimate(e, 150_000, checksum))
    two = list(estimate(e, 150_000, checksum, jobs=2))
    assert one == two
    assert sum(size for size, _ in one) == 150_000
    assert one != list(estimate(experiment(normal, seed=4), 150_000, checksum))


def test_twice_the_trials_keep_the_first_half():
    e = experiment(normal)
    half, whole = list(estimate(e, 2 * e.block, checksum)), list(estimate(e, 4 * e.block, checksum))
    assert whole[:2] == half


def test_large_outputs_come_in_smaller_blocks_and_a_target_may_say_so_itself():
    wide = experiment(lambda data, *, rng, size: np.zeros((size, 1 << 16)))
    assert wide.block == 64
    assert experiment(normal).block == 1 << 16

    class Heavy:
        trials_per_block = 10

        def release(self, data, *, rng, size):
            assert size <= 10
            return np.zeros(size)

    assert sum(size for size, _ in estimate(experiment(Heavy()), 35, count_by_arm)) == 35


def test_wrong_shapes_and_types_are_refused_with_what_came_and_what_is_wanted():
    for wrong, said in [
        (lambda data, *, rng, size: np.zeros(size + 1), r"\(2,\), must be \(1, \.\.\.\)"),
        (lambda data, *, rng, size: 0.0, r"shape \(\), must be \(1, \.\.\.\)"),
        (lambda data, *, rng, size: np.array([object()] * size), "dtype object"),
    ]:
        with pytest.raises(TargetError, match=said):
            experiment(wrong)
    grows = experiment(lambda data, *, rng, size: np.zeros((size, size)))
    with pytest.raises(TargetError, match="one release before had shape"):
        select(grows, 100)


def test_what_is_no_target_is_refused():
    for wrong in (3, "target", None, float, dict):
        with pytest.raises(ParameterError, match="target"):
            as_target(wrong)


def test_exceptions_are_outcomes_with_a_name():
    def fragile(data, *, rng, size):
        values = data + rng.standard_normal(size)
        if (values > 2).any():
            raise OverflowError
        return values

    probe = select(experiment(fragile), 2000)
    assert set(np.unique(probe.outcomes.failures)) == {"", "OverflowError"}
    # Pr[N(1,1) > 2] = 0.159, Pr[N(0,1) > 2] = 0.023; exact test at level 1e-6
    second = probe.outcomes.failed[~probe.first]
    assert stats.binomtest(int(second.sum()), len(second), stats.norm.sf(1.0)).pvalue > 1e-6


def test_a_target_that_never_answers_has_no_outcomes():
    def broken(data, *, rng, size):
        raise RuntimeError("no model loaded")

    with pytest.raises(TargetError, match="RuntimeError on both datasets: no model loaded"):
        experiment(broken)


def test_looped_trials_are_stacked_on_the_leading_axis():
    target = loop_trials(lambda data, *, rng: [data, rng.random()])
    values = target.release(5.0, rng=np.random.Generator(np.random.PCG64(0)), size=4)
    assert values.shape == (4, 2)
    assert len(np.unique(values[:, 1])) == 4


def test_booleans_are_integers_and_strings_are_kept():
    assert experiment(lambda data, *, rng, size: rng.random(size) < 0.5).form.kind == "i"
    assert experiment(lambda data, *, rng, size: np.full(size, "yes")).form.kind == "U"


def test_finite_rows_are_those_with_ordinary_numbers_only():
    values = np.array([[1.0, 2.0], [np.nan, 0.0], [np.inf, 0.0], [0.0, 0.0]])
    outcomes = Outcomes(values, np.array(["", "", "", "ValueError"]))
    assert outcomes.finite.tolist() == [True, False, False, False]


@pytest.mark.parametrize("shape", [(0,), (0, 2), (0, 2, 3), (4,), (4, 2, 3), (4, 0)])
def test_rows_know_their_coordinates_whatever_the_number_of_trials(shape):
    outcomes = Outcomes(np.zeros(shape))
    assert outcomes.rows.shape == (shape[0], int(np.prod(shape[1:])))
    assert outcomes.finite.shape == (shape[0],)
