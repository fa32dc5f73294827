import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from dpverify import Pair
from dpverify.base.seeding import Stage
from dpverify.errors import TargetError
from dpverify.evidence.tally import Tally
from dpverify.trials import collect
from dpverify.trials.collect import estimate, Experiment, select
from dpverify.trials.outcomes import Outcomes
from dpverify.trials.target import as_target

PAIR = Pair(0.0, 1.0)


def normal(data, *, rng, size):
    return data + rng.standard_normal(size)


def experiment(function, pair=PAIR, seed=3):
    return Experiment.of(as_target(function), pair, seed)


def count_by_arm(grain):
    first = int(grain.first.sum())
    return Tally.of(first, len(grain) - first, len(grain))


def checksum(grain):
    return [float(grain.outcomes.values[arm].sum()) for arm in (grain.first, ~grain.first)]


def test_each_trial_tosses_a_fair_coin_of_its_own():
    """Level 1e-6, exact: heads ~ Bin(200,000, 1/2); a coin of bias 0.51 is seen with probability > 0.9999."""
    probe = select(experiment(normal), 200_000)
    assert len(probe) == 200_000
    assert stats.binomtest(int(probe.first.sum()), 200_000).pvalue > 1e-6


def test_selection_and_estimation_use_different_trials():
    e = experiment(normal)
    first = e.run_grain(Stage.SELECT, 0, 1000)
    again = e.run_grain(Stage.ESTIMATE, 0, 1000)
    assert not np.isin(first.outcomes.values, again.outcomes.values).any()


@pytest.mark.process
def test_equal_seeds_equal_trials_for_any_number_of_workers():
    e = replace(experiment(normal), seconds=1.0)  # slow enough for workers
    one = list(estimate(e, 150_000, checksum))
    two = list(estimate(e, 150_000, checksum, jobs=2))
    assert one == two
    assert sum(size for size, _ in one) == 150_000
    assert one != list(estimate(experiment(normal, seed=4), 150_000, checksum))


def test_twice_the_trials_keep_the_first_half():
    e = experiment(normal)
    full = sum(size for _, size in list(e.grains(10**6))[:20])
    half, whole = list(estimate(e, full, checksum)), list(estimate(e, 4 * full, checksum))
    assert len(half) == 20
    assert whole[:20] == half


def test_large_outputs_come_in_smaller_blocks_and_a_target_may_say_so_itself():
    wide = experiment(lambda data, *, rng, size: np.zeros((size, 1 << 16)))
    assert wide.largest == 64
    assert experiment(normal).largest == 1 << 16

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


@pytest.mark.parametrize("shape", [(0,), (0, 2), (0, 2, 3), (4,), (4, 2, 3), (4, 0)])
def test_rows_know_their_coordinates_whatever_the_number_of_trials(shape):
    outcomes = Outcomes(np.zeros(shape))
    assert outcomes.rows.shape == (shape[0], int(np.prod(shape[1:])))
    assert outcomes.finite.shape == (shape[0],)


def test_grains_depend_on_neither_budget_nor_time():
    sizes = [list(collect.grains(trials, 1 << 16)) for trials in (2000, 10_000, 100_000, 10**6, 10**7)]
    assert [len(each) for each in sizes] == [8, 19, 34, 52, 189]  # at least 30 at 1e5, hardly more than 153 at 1e7
    for few, many in pairwise(sizes):
        assert many[: len(few) - 1] == few[:-1]
    for each, trials in zip(sizes, (2000, 10_000, 100_000, 10**6, 10**7), strict=True):
        assert sum(size for _, size in each) == trials
        assert [index for index, _ in each] == list(range(len(each)))


@pytest.mark.parametrize("seconds", [0.0, 1e-6, 2e-3, 10.0])
@pytest.mark.parametrize("jobs", [1, 2, 8])
def test_tasks_hold_every_grain_once_and_a_slow_target_fills_all_workers(seconds, jobs):
    blocks = list(collect.grains(20_000, 1 << 16))
    found = list(collect.tasks(iter(blocks), 20_000, seconds, jobs))
    assert [block for task in found for block in task] == blocks
    if seconds >= 2e-3:
        assert len(found) >= 2 * jobs
        assert collect.workers(20_000, seconds, jobs, "loky") == jobs
    assert collect.workers(20_000, 1e-6, jobs, "loky") == 1
    assert collect.workers(20_000, 1e-6, jobs, "dask") == jobs


def test_measured_time_changes_no_trial_and_no_key():
    quick = experiment(normal)
    slow = replace(quick, seconds=2.0)
    assert pickle.dumps(quick.__getstate__()["seconds"]) == pickle.dumps(slow.__getstate__()["seconds"])
    first, again = (e.run_grain(Stage.ESTIMATE, 3, 100) for e in (quick, slow))
    assert (first.outcomes.values == again.outcomes.values).all()
    assert (first.first == again.first).all()


def test_the_order_of_the_arms_is_drawn_for_each_grain():
    """800 grains: Bin(800, 1/2), exact test at 1e-6."""
    order = []

    def noted(data, *, rng, size):
        order.append(data)
        return data + rng.standard_normal(size)

    e = experiment(noted)
    order.clear()
    for index in range(800):
        e.run_grain(Stage.ESTIMATE, index, 64)
    assert len(order) == 1600
    assert stats.binomtest(int(sum(order[0::2])), 800).pvalue > 1e-6
