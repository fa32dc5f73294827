"""One run: the bounds are those of all mechanisms of a few coins (linear programmes), and of the extremal ones."""

import itertools
import math

import numpy as np
import pytest
import scipy

from dpverify import ApproxDP, GaussianDP, TradeOff, ZCDP
from dpverify.evidence.bounds.tradeoff_curve import CurveTest
from dpverify.evidence.single_run import (
    _tail_of_curve,
    counted,
    guess_counts,
    impossible,
    least_wrong,
    log_tail,
    OneRunCurveTest,
    OneRunTest,
)
from dpverify.evidence.tally import Tally

CURVE = TradeOff(((0.0, 0.96), (0.1, 0.6), (0.4, 0.2), (0.96, 0.0)))


def largest_chance(m: int, r: int, v: int, halves: list[tuple[float, float]]) -> float:
    """max Pr[V >= v] over all mechanisms of m coins that guess r of them; D(log rho) <= d for each (rho, d)."""
    coins = list(itertools.product((-1, 1), repeat=m))
    outputs = [t for t in itertools.product((-1, 0, 1), repeat=m) if sum(map(abs, t)) == r]
    n, k = len(coins), len(outputs)
    goal = np.array([[sum(a * b > 0 for a, b in zip(s, t, strict=True)) >= v for t in outputs] for s in coins]) / n
    neighbours = [
        (a, coins.index(tuple(-c if j == i else c for j, c in enumerate(s))))
        for a, s in enumerate(coins)
        for i in range(m)
    ]
    pairs = [(a, b, rho, d) for a, b in neighbours for rho, d in halves]
    excess = n * k  # the first of the excesses, k for each pair and half
    rows, columns, values, upper = [], [], [], []
    for p, (a, b, rho, d) in enumerate(pairs):
        for t in range(k):
            rows += [len(upper)] * 3
            columns += [a * k + t, b * k + t, excess + p * k + t]
            values += [1.0, -rho, -1.0]
            upper.append(0.0)
        rows += [len(upper)] * k
        columns += [excess + p * k + t for t in range(k)]
        values += [1.0] * k
        upper.append(d)
    size = excess + len(pairs) * k
    below = scipy.sparse.coo_matrix((values, (rows, columns)), shape=(len(upper), size))
    sums = scipy.sparse.kron(scipy.sparse.eye(n), np.ones((1, k)))
    equal = scipy.sparse.hstack([sums, scipy.sparse.coo_matrix((n, size - n * k))])
    cost = np.concatenate([-goal.ravel(), np.zeros(size - n * k)])
    found = scipy.optimize.linprog(cost, A_ub=below.tocsr(), b_ub=upper, A_eq=equal.tocsr(), b_eq=np.ones(n))
    assert found.status == 0
    return float(-found.fun)


@pytest.mark.parametrize(("m", "r"), [(2, 2), (3, 3), (4, 4), (3, 1), (3, 2)])
@pytest.mark.parametrize(("eps", "delta"), [(0.7, 0.0), (0.7, 0.02), (2.0, 0.001)])
def test_no_mechanism_guesses_more_than_the_bound_and_where_all_is_guessed_one_reaches_it(
    m: int, r: int, eps: float, delta: float
) -> None:
    for v in range(1, r + 1):
        bound = math.exp(log_tail(v, r - v, m, eps, delta))
        reached = largest_chance(m, r, v, [(math.exp(eps), delta)])
        assert reached <= bound * (1 + 1e-7)
        if r == m:
            assert reached == pytest.approx(bound, rel=1e-6)


@pytest.mark.parametrize(("m", "r"), [(2, 2), (3, 3), (3, 2)])
def test_no_mechanism_of_a_curve_guesses_more_than_the_recursion_says(m: int, r: int) -> None:
    least = least_wrong(CURVE)
    halves = [(float(rho), float(d)) for rho, d in CURVE.segments()]
    for v in range(1, r + 1):
        bound, reached = _tail_of_curve(v, r - v, m, least), largest_chance(m, r, v, halves)
        assert reached <= bound * (1 + 1e-7)
        if v == r == m:  # the recursion knows upper sets of V alone: below r it gives something away
            assert bound <= reached * 1.1


def law(name: str, m: int, eps: float, delta: float) -> np.ndarray:
    """Pr[V = k] of mechanisms at the edge of (eps, delta), all canaries guessed."""
    right = 1 / (1 + math.exp(-eps))
    ordinary = scipy.stats.binom.pmf(np.arange(m + 1), m, right)
    certain = np.eye(m + 1)[m]
    if name == "all coins with probability delta":
        return (1 - delta) * ordinary + delta * certain
    if name == "some coins, exactly":  # i = m/4 of them with probability 4 delta, drawn at random
        some = np.concatenate([np.zeros(m // 4), scipy.stats.binom.pmf(np.arange(m - m // 4 + 1), m - m // 4, right)])
        return (1 - 4 * delta) * ordinary + 4 * delta * some
    count = scipy.stats.binom.pmf(np.arange(m + 1), m, 0.5)  # all are guessed as the majority is said to be
    majority = np.array([max(k, m - k) for k in range(m + 1)])
    found = np.zeros(m + 1)
    np.add.at(found, majority, count * right)
    np.add.at(found, m - majority, count * (1 - right))
    return found


@pytest.mark.parametrize(
    "name", ["all coins with probability delta", "some coins, exactly", "the majority, by response"]
)
@pytest.mark.parametrize("eps", [0.5, 3.0])
def test_extremal_mechanisms_keep_the_bound(name: str, eps: float) -> None:
    m, delta = 61, 1e-3
    chances = np.cumsum(law(name, m, eps, delta)[::-1])[::-1]
    bounds = [math.exp(log_tail(v, m - v, m, eps, delta)) for v in range(m + 1)]
    assert (chances <= np.array(bounds) * (1 + 1e-9)).all()
    if "majority" not in name:  # without the excess it would not hold
        assert (chances > [math.exp(log_tail(v, m - v, m, eps, 0.0)) * (1 + 1e-9) for v in range(m + 1)]).any()


def test_a_correction_that_is_forgotten_for_the_canaries_that_abstain_is_caught() -> None:
    # 4 guesses of 40: each run gives away other canaries, m delta/r of the runs
    bound = math.exp(log_tail(4, 0, 40, 0.1, 1e-3))
    chance = scipy.stats.binom.sf(3, 4, 1 / (1 + math.exp(-0.1)))
    reached = chance + (1 - chance) * 40 * 1e-3 / 4
    assert math.exp(log_tail(4, 0, 4, 0.1, 1e-3)) < reached <= bound * (1 + 1e-9)


def test_the_excess_is_within_that_of_the_published_theorem() -> None:
    for right, wrong, m, eps, delta in [
        (70, 30, 1000, 0.5, 1e-5),
        (600, 25, 10_000, 2.0, 1e-5),
        (16, 0, 64, 1.0, 1e-3),
    ]:
        r, q = right + wrong, 1 / (1 + math.exp(-eps))
        below = scipy.stats.binom.cdf(right - 1, r, q)
        lost = max((below - scipy.stats.binom.cdf(right - i - 1, r, q)) / i for i in range(1, right + 1))
        published = scipy.stats.binom.sf(right - 1, r, q) + 2 * m * delta * lost
        assert (
            math.exp(log_tail(right, wrong, m, eps, 0.0)) < math.exp(log_tail(right, wrong, m, eps, delta)) <= published
        )


def test_the_curve_of_a_mechanism_that_guesses_once_is_its_power() -> None:
    claim = GaussianDP(0.8)
    # one canary, guessed: right with at most the fixed point of the curve, as the sign test of many runs has it
    once = _tail_of_curve(1, 0, 1, least_wrong(claim))
    assert once == pytest.approx(scipy.stats.norm.cdf(0.4), rel=1e-3)
    assert once >= CurveTest(claim, abstains=False).claim_p_value(Tally.of(1, 0, 1)) * (1 - 1e-9)


@pytest.mark.parametrize("claim", [GaussianDP(0.8), ZCDP(0.3), CURVE, GaussianDP(3.0)])
def test_the_inverse_is_below_and_close(claim: GaussianDP | ZCDP | TradeOff) -> None:
    least = least_wrong(claim)
    for wrong in np.geomspace(1e-8, 0.04, 25).tolist():
        right = claim.accuracy_limit(wrong)
        assert least(right) <= wrong
        assert least(right) >= 0.97 * wrong


def test_p_values_and_bounds_agree_and_grow() -> None:
    tally = Tally(2000, np.array([60, 90, 150]), np.array([2, 8, 40]))
    events = ((1, 0.5), (2, 0.3), (3, 0.2))
    test = OneRunTest(events)
    for delta in (0.0, 1e-5, 1e-3):
        low = test.eps_lower(tally, delta=delta, significance=0.05)
        assert (
            test.p_value(tally, eps=low, delta=delta)
            <= 0.05 * (1 + 1e-9)
            < test.p_value(tally, eps=low + 1e-6, delta=delta)
        )
        values = [test.p_value(tally, eps=x, delta=delta) for x in np.linspace(0, 6, 30)]
        assert values == sorted(values)
        assert test.log10_p_value(tally, eps=1.0, delta=delta) == pytest.approx(
            math.log10(test.p_value(tally, eps=1.0, delta=delta)), abs=1e-9
        )
    curve = OneRunCurveTest(GaussianDP(0.5), events)
    mu = curve.number_lower(tally, significance=0.05)
    around = [OneRunCurveTest(GaussianDP(mu * x), events).claim_p_value(tally) for x in (1.0, 1 + 1e-5)]
    assert around[0] <= 0.05 * (1 + 1e-5)
    assert around[1] > 0.05 * (1 - 1e-5)
    assert curve.claim_p_value(tally) < 0.05 < OneRunCurveTest(GaussianDP(2.5), events).claim_p_value(tally)


def test_the_recursion_is_above_the_binomial_tail_where_both_can_be_asked() -> None:
    steep = ApproxDP(1.0, 1e-12)  # g(w) = e w, but for nothing
    for right, wrong, more in [(20, 0, 1e-6), (30, 5, 0.12), (200, 60, 0.25)]:
        found = _tail_of_curve(right, wrong, 400, least_wrong(steep))
        assert 1 <= found / math.exp(log_tail(right, wrong, 400, 1.0, 0.0)) <= 1 + more
    assert not impossible(0, 30, 400, 0.5, least_wrong(steep))


@pytest.mark.parametrize("m", [16, 31, 32, 33, 1000, 10_000, 1_000_001])
def test_numbers_of_guesses_are_fixed_by_the_number_of_canaries(m: int) -> None:
    shares = guess_counts(m)
    assert math.fsum(shares.values()) == pytest.approx(1.0)
    assert min(shares.values()) > 0
    assert all(16 <= r <= m and r % 2 == 0 for r in shares)
    assert list(shares) == sorted(shares)


def test_ties_are_broken_without_a_look_at_the_coins() -> None:
    rng = np.random.default_rng(5)
    for _ in range(40):
        included, scores = rng.random(64) < 0.5, rng.integers(0, 6, 64).astype(float)
        tally, turned = (counted(each, scores, guess_counts(64)) for each in (included, ~included))
        assert tally.right.tolist() == turned.wrong.tolist()  # whom is guessed does not hang on the coins
        for k, r in enumerate(guess_counts(64), start=1):
            assert int(tally.right[:k].sum()) + int(tally.wrong[:k].sum()) == r
    sure = counted(included, included.astype(float), guess_counts(64))
    assert sure.wrong.sum() == 0  # whoever is tied with the rest is right as well
    told = scores + rng.random(64) / 2  # no ties: nothing is drawn
    order = np.argsort(told)
    last = max(guess_counts(64)) // 2
    assert (
        counted(included, told, guess_counts(64)).right.sum()
        == included[order[-last:]].sum() + (~included[order[:last]]).sum()
    )


def test_rows_that_are_sorted_by_their_coins_say_nothing() -> None:
    """All scores are equal, so that ties alone decide, and the rows come as "out" first or "in" first."""
    for included in (np.arange(4000) < 2000, np.arange(4000) >= 2000):
        tally = counted(included, np.zeros(4000), guess_counts(4000))
        share = tally.right.sum() / (tally.right.sum() + tally.wrong.sum())
        assert abs(share - 0.5) < 4 / math.sqrt(max(guess_counts(4000)))
