import math

import numpy as np
import pytest
from scipy import special

from dpverify import ApproxDP, PureDP
from dpverify.evidence.attack import Attack, Side
from dpverify.evidence.predicted_bound import bounded_by, calibrate, objective_for
from dpverify.evidence.scores.model_selection import Calibrated, Fitted
from dpverify.evidence.selection import choose_event
from dpverify.evidence.tally import Tally
from dpverify.trials.outcomes import Outcomes


class Identity:
    """The output is its own score."""

    name = "identity"

    def __call__(self, outcomes):
        return outcomes.values.astype(float)


def laplace_ratios(rng, n, eps=1.0):
    first = rng.random(n) < 0.5
    output = rng.laplace(size=n) + np.where(first, 0.0, eps)
    return np.abs(output - eps) - np.abs(output), first


def chosen(scores, first, claim, trials=100_000):
    return choose_event(
        Fitted(Identity(), scores, calibrated=Calibrated.KNOWN), first, trials, objective_for(claim, 0.05)
    )


def learned(scores, first, claim, trials=100_000, coordinates=1):
    return choose_event(Fitted(Identity(), scores), first, trials, objective_for(claim, 0.05, coordinates=coordinates))


def generator(seed=0):
    return np.random.Generator(np.random.PCG64(seed))


def test_levels_count_each_guess_once_on_its_side():
    attack = Attack(Identity(), np.array([3.0, 1.0]), 1, Side.BOTH, 1, Tally.of(0, 0, 1))
    first, second = Outcomes(np.array([5.0, 2.0, 0.5, -1.0, -4.0])), Outcomes(np.array([-3.0, -1.5, 1.0, 0.0]))
    tally = attack.tally(first, second)
    assert tally.right.tolist() == [2, 2]  # 5 and -3; 2 and -1.5
    assert tally.wrong.tolist() == [1, 2]  # -4; -1 of the first and 1 of the second
    assert tally.trials == 9
    assert tally.guesses == 7


def test_orientation_is_settled_by_the_selection_trials():
    scores, first = laplace_ratios(generator(), 5000)
    straight, turned = chosen(scores, first, PureDP(1.0)), chosen(-scores, first, PureDP(1.0))
    assert (straight.orientation, turned.orientation) == (1, -1)
    outcomes = Outcomes(scores[first]), Outcomes(scores[~first])
    mirrored = Outcomes(-scores[first]), Outcomes(-scores[~first])
    assert straight.tally(*outcomes).right.sum() == turned.tally(*mirrored).right.sum()


def test_atoms_are_kept_whole_and_cuts_stay_away_from_rounding():
    """Laplace(1): half of the mass has |log ratio| = 1 up to rounding; the cut must lie clearly below 1."""
    scores, first = laplace_ratios(generator(), 65_536)
    attack = chosen(scores, first, PureDP(1.0), trials=10**7)
    assert attack.cuts[attack.event - 1] < 1 - 1e-9
    reached = np.abs(scores) >= 1 - 1e-9
    assert (np.abs(scores[reached]) >= attack.cuts[attack.event - 1]).all()


def test_infinite_scores_are_the_most_confident_ones():
    rng = generator()
    first = rng.random(20_000) < 0.5
    scores = np.where(first & (rng.random(20_000) < 0.01), np.inf, 0.01 * rng.standard_normal(20_000))
    attack = chosen(scores, first, PureDP(1.0))
    assert attack.cuts[attack.event - 1] > 1
    assert 0.003 < attack.guess_fraction() < 0.008
    tally = attack.tally(Outcomes(np.array([np.inf, 0.0])), Outcomes(np.array([0.0])))
    assert (tally.right.sum(), tally.wrong.sum()) == (1, 0)


@pytest.mark.parametrize(("slope", "cap"), [(1.0, math.inf), (0.5, math.inf), (1.0, 1.5)])
def test_calibration_recovers_slope_and_cap(slope, cap):
    """Mean predicted accuracy beyond every tail within three standard errors of the true one."""
    rng = generator(5)
    confidence = rng.exponential(1.0, 50_000)
    truth = special.expit(slope * np.minimum(confidence, cap))
    correct = rng.random(50_000) < truth
    curves = calibrate(confidence, correct, bounded_by(1.0))
    assert curves.weights.sum() == pytest.approx(1.0)
    for share in (1.0, 0.3, 0.05, 0.01):
        tail = confidence >= np.quantile(confidence, 1 - share)
        predicted = curves.weights @ curves.right(confidence[tail]).mean(axis=1)
        spread = math.sqrt(truth[tail].mean() * (1 - truth[tail].mean()) / tail.sum())
        assert abs(predicted - truth[tail].mean()) < 3 * spread + 1e-3


def test_calibration_does_not_believe_a_lucky_tail():
    """Scores of pure noise: 20 lucky guesses at the top must not promise more than a few per cent."""
    rng = generator(1)
    confidence = np.sort(rng.exponential(1.0, 4000))
    correct = rng.random(4000) < 0.5
    correct[-8:] = True
    curves = calibrate(confidence, correct, bounded_by(1.0))
    assert curves.weights @ curves.right(confidence[-8:]).mean(axis=1) < 0.75


def test_tallies_add_and_refuse_impossible_counts():
    a = Tally(10, np.array([1, 2]), np.array([0, 3]))
    assert (a + a).trials == 20
    assert (a + a).right.tolist() == [2, 4]
    assert a.pooled(1).guesses == 1
    for right, wrong in [([5], [6]), ([-1], [0])]:
        with pytest.raises(ValueError, match="counts"):
            Tally(10, np.array(right), np.array(wrong))
    with pytest.raises(ValueError, match="one vector"):
        Tally(10, np.array([1, 2]), np.array([1]))
    with pytest.raises(ValueError, match="two different rules"):
        a + Tally(10, np.array([1, 2]), np.array([0, 3]), one_sided=True)


@pytest.mark.parametrize("eps", [0.1, 1.0])
def test_guesses_near_the_zero_of_a_flat_ratio_are_abstained_from(eps):
    """Laplace noise: the ratio is eps but for a stretch of the shift's width, where it passes through zero.

    Guessing everywhere would be right just as often beyond it, so the best cut abstains in the stretch: a share
    1 - exp(-eps/2) of the outputs. The chosen one must certify 0.985 of what the best cut does in the mean of 8 runs.
    """
    promised = []
    for seed in range(8):
        scores, first = laplace_ratios(generator(20 + seed), 40_000, eps)
        objective = objective_for(PureDP(eps), 0.05)
        attack = learned(scores, first, PureDP(eps), trials=200_000)
        fraction = attack.guess_fraction()
        ends = np.unique(np.append(np.linspace(0.2, 1.0, 81), fraction))
        stretch = 1 - np.exp(-eps / 2)
        # share x of the most confident guesses: log odds eps, and in the stretch a ramp down to 0
        confidence = np.minimum(1.0, (1 - np.arange(4000) / 4000 - 1 / 8000) / stretch) * eps
        confidence = confidence[np.argsort(-confidence)]
        right = np.cumsum(special.expit(confidence)) / np.arange(1, 4001)
        guesses = ends * 200_000
        rate = right[np.ceil(ends * 4000).astype(int) - 1]
        gains = objective.mean_bound(rate * guesses, (1 - rate) * guesses, 200_000, Side.BOTH)
        promised.append(gains[np.searchsorted(ends, fraction)] / gains.max())
    assert np.mean(promised) > 0.985


@pytest.mark.parametrize("one_leaks", [False, True])
def test_guesses_of_one_dataset_are_given_up_only_where_the_sides_differ(one_leaks):
    rng = generator(9)
    first = rng.random(40_000) < 0.5
    leak = rng.random(40_000) < 0.02
    scores = np.where(
        leak & first, 5.0, np.where(leak & ~first & (not one_leaks), -5.0, 0.2 * rng.standard_normal(40_000))
    )
    # at delta = 0.01 the slack of a second side costs half of the bound, and that side has no event
    assert learned(scores, first, ApproxDP(1.0, 0.009)).one_sided == one_leaks


def test_counted_scores_promise_what_their_few_counts_allow():
    """Three values of the first dataset alone: more is to be expected of them than of weak guesses, not infinity."""
    first = np.arange(2000) % 2 == 0
    rare = np.where(np.isin(np.arange(2000), [0, 2, 4]), 2.0, 0.0)  # three in 2000, 27 in 18000
    weak = np.where(first, 0.1, -0.1) * np.where(generator(10).random(2000) < 0.53, 1, -1)
    challengers = (Fitted(Identity(), rare, calibrated=Calibrated.COUNTED),)
    attack = choose_event(
        Fitted(Identity(), weak, challengers=challengers), first, 18_000, objective_for(PureDP(0.1), 0.05)
    )
    right, wrong = int(attack.expected.right.sum()), int(attack.expected.wrong.sum())
    assert 26 <= right + wrong <= 27
    assert wrong >= 3  # Beta(3.5, 0.5) does not say never
