"""The accountant against closed forms, enumeration, high precision and dp-accounting's own accountants."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpverify import Pair, Subject
from dpverify.accounting.accountant import account, delta_upper, eps_upper, meets, mu_upper, pure_eps, rho_upper
from dpverify.base.rounding import sqrt_up
from dpverify.claims.claim import ApproxDP, GaussianDP, PureDP, ZCDP
from dpverify.claims.neighbours import Relation
from dpverify.errors import AccountingError, ParameterError, UsageError
from dpverify.ledger.description import rows
from dpverify.ledger.events import (
    Assigned,
    BinomialNoise,
    Direction,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Disjoint,
    Event,
    Exposed,
    FiniteLaws,
    GaussianNoise,
    KaryResponse,
    LaplaceNoise,
    Ledger,
    OneOf,
    PureStep,
    Sensitivity,
    Shift,
)
from oracles.finite_laws import delta_at, eps_at

R = Relation.REPLACE_ONE
A = Relation.ADD_OR_REMOVE_ONE


BY_POSITION = Assigned.BY_POSITION


def moved(size: float = 1, count: int = 1) -> Sensitivity:
    return Sensitivity(replace=Shift(size, count))


def laplace(scale: float, size: float = 1, count: int = 1) -> LaplaceNoise:
    return LaplaceNoise(scale=scale, sensitivity=moved(size, count))


def gaussian(sigma: float, size: float = 1, count: int = 1) -> GaussianNoise:
    return GaussianNoise(sigma=sigma, sensitivity=moved(size, count))


def binomial(trials: int, probability: float, count: int = 1) -> BinomialNoise:
    return BinomialNoise(trials=trials, probability=probability, sensitivity=moved(1, count))


def gaussian_delta(mu: float, eps: float) -> mpmath.mpf:
    with mpmath.workdps(50):
        mu, eps = mpmath.mpf(mu), mpmath.mpf(eps)
        return mpmath.ncdf(mu / 2 - eps / mu) - mpmath.exp(eps) * mpmath.ncdf(-mu / 2 - eps / mu)


def product(laws: list[np.ndarray]) -> np.ndarray:
    law = np.ones(1)
    for each in laws:
        law = np.outer(law, each).ravel()
    return law


def assert_upper_and_within_one_percent(ledger: Ledger, p: np.ndarray, q: np.ndarray, deltas=(1e-6, 1e-3, 0.05)):
    for delta in deltas:
        exact = eps_at(p / math.fsum(p), q / math.fsum(q), delta)
        assert exact - 1e-9 <= eps_upper(ledger, delta=delta, relation=R) <= 1.01 * exact + 1e-9


# --- closed forms -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "scale"), [(1, 2.0), (2, 1.0), (3, 0.1), (1, 1000.0)])
def test_one_laplace(size, scale):
    ledger, a = Ledger(laplace(scale, size)), size / scale
    assert pure_eps(ledger, relation=R) == Fraction(size) / Fraction(scale)
    for eps in (0.0, a / 3, 0.9 * a):
        assert delta_upper(ledger, eps=eps, relation=R) == pytest.approx(-math.expm1((eps - a) / 2), rel=1e-8)
    delta = -math.expm1(-a / 4)
    assert eps_upper(ledger, delta=delta, relation=R) == pytest.approx(a / 2, rel=1e-6)


@pytest.mark.parametrize("mu", [0.01, 0.3, 1.0, 2.0, 12.0])
def test_gaussians_are_one_gaussian_to_1e_6(mu):
    # three events with mu^2 = mu^2 (1/4 + 2/4 + 1/4)
    ledger = Ledger(gaussian(2 / mu), gaussian(2 / mu, count=2), gaussian(4 / mu, size=2))
    assert mu_upper(ledger, relation=R) == pytest.approx(mu, rel=1e-14)
    for eps in (0.0, mu, mu + mu**2):
        exact = gaussian_delta(mu_upper(ledger, relation=R), eps)
        assert exact <= delta_upper(ledger, eps=eps, relation=R) <= exact * (1 + 1e-6)
    for delta in (1e-9, 1e-5, 1e-2):
        eps = eps_upper(ledger, delta=delta, relation=R)
        assert eps == 0 or gaussian_delta(mu, eps) == pytest.approx(delta, rel=1e-6)


def test_pure_sums_are_exact_and_reached():
    ledger = Ledger(*[laplace(10.0)] * 10)
    assert pure_eps(ledger, relation=R) == 1
    assert account(ledger) == 1.0
    assert meets(PureDP(1.0), ledger)
    assert not meets(PureDP(math.nextafter(1.0, 0)), ledger)


def test_laplace_of_a_third_is_not_met_by_the_rounded_down_scale():
    third = 1 / 3  # the float lies below 1/3, so noise of this scale costs more than 3
    assert Fraction(third) < Fraction(1, 3)
    assert not meets(PureDP(3.0), Ledger(laplace(third)))
    assert meets(PureDP(3.0), Ledger(laplace(math.nextafter(third, 1))))
    assert account(Ledger(laplace(third))) > 3.0


# --- compositions that can be enumerated ------------------------------------------------------------------


@pytest.mark.parametrize("eps", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("times", [2, 6, 13])
def test_composed_responses(eps, times):
    ledger = Ledger(KaryResponse(k=2, eps=eps, reports=moved(1, times)))
    k = np.arange(times + 1)
    p = stats.binom.pmf(k, times, 1 / (1 + math.exp(-eps)))  # the number of true answers is sufficient
    assert_upper_and_within_one_percent(ledger, p, p[::-1])


def test_composed_discrete_laplace_and_response():
    ledger = Ledger(
        DiscreteLaplaceNoise(scale=2.0, sensitivity=moved(1, 2)),
        KaryResponse(k=3, eps=1.0, reports=moved(1)),
    )
    k = np.arange(-60, 62)
    p, q = np.exp(-np.abs(k) / 2), np.exp(-np.abs(k - 1) / 2)
    e = math.e
    assert_upper_and_within_one_percent(ledger, product([p, p, [e, 1, 1]]), product([q, q, [1, e, 1]]))


def test_composed_discrete_gaussians():
    ledger = Ledger(DiscreteGaussianNoise(sigma=1.5, sensitivity=moved(1, 2)))
    k = np.arange(-30, 32)
    p, q = np.exp(-(k**2) / 4.5), np.exp(-((k - 1) ** 2) / 4.5)
    assert_upper_and_within_one_percent(ledger, product([p, p]), product([q, q]))


@pytest.mark.parametrize(("trials", "probability"), [(25, 0.1), (30, 0.3), (12, 0.8)])
def test_skew_binomials_bound_every_pattern_of_directions(trials, probability):
    """One coordinate: exact. Three: at least the worst of the eight patterns of up and down, at every eps."""
    k = np.arange(trials + 2)
    up = stats.binom.pmf(k - 1, trials, probability), stats.binom.pmf(k, trials, probability)
    one = Ledger(binomial(trials, probability))
    for eps in (0.0, 0.2, 1.0):
        assert delta_upper(one, eps=eps, relation=R) == pytest.approx(delta_at(*up, eps), rel=1e-8)
    three = Ledger(binomial(trials, probability, 3))
    for eps in (0.0, 0.2, 1.0):
        worst = 0.0
        for pattern in itertools.product((0, 1), repeat=3):
            p, q = product([up[way] for way in pattern]), product([up[1 - way] for way in pattern])
            worst = max(worst, delta_at(p / p.sum(), q / q.sum(), eps))
        assert worst - 1e-12 <= delta_upper(three, eps=eps, relation=R) <= 1.25 * worst


PATTERNS = [("up",), ("up", "down"), ("up", "up", "up"), ("up", "down", "down")]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize(("trials", "probability"), [(25, 0.1), (30, 0.3), (12, 0.8)])
def test_skew_binomials_with_directions_are_their_enumerated_laws(trials, probability, pattern):
    """Both orders of the pair of datasets, and no more than the stated pattern of directions."""
    k = np.arange(trials + 2)
    low, high = stats.binom.pmf(k, trials, probability), stats.binom.pmf(k - 1, trials, probability)
    p = product([low if way == "up" else high for way in pattern])
    q = product([high if way == "up" else low for way in pattern])
    events = [
        BinomialNoise(
            trials=trials, probability=probability, sensitivity=Sensitivity(replace=Shift(1, 1, Direction(way)))
        )
        for way in pattern
    ]
    assert_upper_and_within_one_percent(Ledger(*events), p, q, deltas=(0.01, 0.05, 0.3))


def test_directions_are_common_to_the_ledger_and_inside_a_branch():
    """Two events that are both UP are not one up and one down; a branch is mirrored with what it is composed with."""

    def skew(way):
        return BinomialNoise(trials=60, probability=0.1, sensitivity=Sensitivity(replace=Shift(1, 1, way)))

    up, down = skew(Direction.UP), skew(Direction.DOWN)
    same, opposed = account(Ledger(up, up), delta=0.01), account(Ledger(up, down), delta=0.01)
    assert same > 1.05 * opposed
    assert account(Ledger(up, Disjoint(branches=(Ledger(up), Ledger(down)), assigned=BY_POSITION)), delta=0.01) == same
    assert account(Ledger(up, Disjoint(branches=(Ledger(down),))), delta=0.01) == opposed


def test_neighbours_meet_one_of_several_patterns():
    """The worst pattern, in either order; fewer words than the worse direction of each coordinate, and less."""

    def skew(up):
        shifts = Shift(1, up, Direction.UP), Shift(1, 3 - up, Direction.DOWN)
        return Ledger(BinomialNoise(trials=60, probability=0.1, sensitivity=Sensitivity(replace=shifts)))

    each = [account(skew(up), delta=0.01) for up in range(4)]
    patterns = Ledger(OneOf(branches=tuple(skew(up) for up in range(4))))
    assert account(patterns, delta=0.01) == max(each) == each[0] == each[3] > each[1] == each[2]
    assert account(patterns, delta=0.01) <= account(Ledger(binomial(60, 0.1, 3)), delta=0.01)
    assert [row[1] for row in rows(patterns, R)] == ["BinomialNoise (in one of 4 patterns)"] * 4
    with pytest.raises(ParameterError, match="branches"):
        OneOf(branches=())


def test_laws_with_a_direction_are_enumerated():
    """The same two laws three times, the first always those of the same dataset."""
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.5, 0.3])
    law = FiniteLaws(pairs=((tuple(p), tuple(q)),), relation=R, directed=True)
    assert_upper_and_within_one_percent(Ledger(law, law, law), product([p] * 3), product([q] * 3))
    back = FiniteLaws(pairs=((tuple(q), tuple(p)),), relation=R, directed=True)
    assert_upper_and_within_one_percent(Ledger(law, back, law), product([p, q, p]), product([q, p, q]))


def recursion(pairs, steps, eps):
    """Worst delta over every way to choose a pair and its order after each output, by enumeration."""
    if not steps:
        return max(0.0, -math.expm1(eps))
    return max(
        sum(
            a * (recursion(pairs, steps - 1, eps - math.log(a / b)) if b > 0 else 1.0)
            for a, b in zip(p, q, strict=True)
            if a > 0
        )
        for first, second in pairs
        for p, q in ((first, second), (second, first))
    )


PAIRS = {
    "skew": (((0.5, 0.3, 0.2), (0.2, 0.5, 0.3)),),
    "two pairs": (((0.9, 0.09, 0.01), (0.7, 0.1, 0.2)), ((0.6, 0.4, 0.0), (0.5, 0.4, 0.1))),
    "rare": (((0.98, 0.01, 0.01), (0.9, 0.05, 0.05)),),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("steps", [2, 4])
def test_laws_without_a_direction_are_the_worst_adaptive_choice(name, steps):
    ledger = Ledger(*[FiniteLaws(pairs=PAIRS[name], relation=R)] * steps)
    for eps in (0.0, 0.4, 1.5):
        exact = recursion(PAIRS[name], steps, eps)
        assert exact - 1e-12 <= delta_upper(ledger, eps=eps, relation=R) <= 1.001 * exact + 1e-9


@pytest.mark.parametrize(("trials", "probability"), [(9, 0.2), (60, 0.1)])  # shifted one by one, and by FFT
def test_skew_binomials_without_a_direction_are_the_worst_adaptive_choice(trials, probability):
    k = np.arange(trials + 2)
    pair = stats.binom.pmf(k, trials, probability), stats.binom.pmf(k - 1, trials, probability)
    ledger = Ledger(binomial(trials, probability, 2))
    for eps in (0.0, 0.3, 1.0):
        exact = recursion([pair], 2, eps)
        assert exact - 1e-12 <= delta_upper(ledger, eps=eps, relation=R) <= 1.001 * exact


def test_composed_laplace_against_the_known_law():
    """Two Laplace losses: the exact delta by integrating one over the other."""
    a, eps = 0.6, 0.5

    def one(x):
        return 0 if x >= a else (1 - mpmath.exp(x) if x <= -a else 1 - mpmath.exp((x - a) / 2))

    # loss of one coordinate under P: mass 1/2 at a, e^-a/2 at -a, density e^((l-a)/2)/4 between
    exact = one(eps - a) / 2 + mpmath.exp(-a) / 2 * one(eps + a)
    exact += mpmath.quad(lambda x: mpmath.exp((x - a) / 2) / 4 * one(eps - x), [-a, eps - a, a])
    got = delta_upper(Ledger(laplace(1 / a, count=2)), eps=eps, relation=R)
    assert exact <= got <= exact * mpmath.mpf("1.0001")


def test_gaussian_through_distributions_agrees_with_the_closed_form():
    """A response of negligible eps forces the way through privacy-loss distributions."""
    crumb = KaryResponse(k=2, eps=1e-6, reports=moved(1))
    for delta in (1e-8, 1e-5, 1e-2):
        exact = account(Ledger(gaussian(2.0)), delta=delta)
        assert exact <= account(Ledger(gaussian(2.0), crumb), delta=delta) <= 1.001 * exact


# --- relations --------------------------------------------------------------------------------------------


def test_a_relation_that_is_not_stated_is_an_error():
    with pytest.raises(AccountingError, match="add-or-remove-one"):
        account(Ledger(laplace(1.0)), relation=A)
    law = FiniteLaws(pairs=(((1.0, 0.0), (0.0, 1.0)),), relation=A)
    with pytest.raises(AccountingError, match="replace-one"):
        account(Ledger(law))


# --- zCDP, GDP and claims ---------------------------------------------------------------------------------


def test_rho_is_exact_for_gaussians():
    sigma = sqrt_up(Fraction(12))  # 2H = 12 coordinates at rho = 1/2
    ledger = Ledger(gaussian(sigma, 1, 12))
    assert rho_upper(ledger, relation=R) == 12 / (2 * Fraction(sigma) ** 2)
    assert meets(ZCDP(0.5), ledger)
    assert not meets(ZCDP(0.5 * (1 - 1e-15)), ledger)
    assert meets(GaussianDP(1.0), ledger)
    assert not meets(GaussianDP(0.999), ledger)
    both = Ledger(gaussian(4.0), laplace(2.0))  # a loss of 1/2 costs KL = 1/2 + e^-1/2 - 1 and mu = .5617643232
    assert rho_upper(both, relation=R) == pytest.approx(1 / 32 + math.exp(-0.5) - 0.5, rel=2e-5)
    assert mu_upper(both, relation=R) == pytest.approx(math.hypot(0.25, 0.5617643232), rel=1e-9)
    discrete = Ledger(DiscreteGaussianNoise(sigma=2.0, sensitivity=moved(1, 4)))
    assert rho_upper(discrete, relation=R) == Fraction(1, 2)
    assert mu_upper(discrete, relation=R) == math.inf
    assert rho_upper(Ledger(binomial(10, 0.5)), relation=R) == math.inf


def test_approximate_claims():
    ledger = Ledger(gaussian(2.0))
    eps = account(ledger, delta=1e-5)
    assert meets(ApproxDP(eps * (1 + 1e-9), 1e-5), ledger)
    assert not meets(ApproxDP(eps * 0.999, 1e-5), ledger)
    assert not meets(ApproxDP(100.0, 0.0), ledger)
    assert meets(ApproxDP(0.5, 0.0), Ledger(laplace(2.0)))
    assert meets(ApproxDP(0.0, 0.5), Ledger(laplace(2.0)))
    assert not meets(PureDP(100.0), ledger)


def test_nothing_and_everything():
    nothing = Ledger()
    assert account(nothing) == 0.0
    assert account(nothing, delta=1e-5) == 0.0
    assert delta_upper(nothing, eps=0.0, relation=R) == 0.0
    assert mu_upper(nothing, relation=R) == rho_upper(nothing, relation=R) == pure_eps(nothing, relation=R) == 0
    assert account(Ledger(gaussian(1.0, 0))) == 0.0  # nothing moves
    for revealing in (Exposed(), binomial(5, 0.0), FiniteLaws(pairs=(((1.0, 0.0), (0.0, 1.0)),), relation=R)):
        ledger = Ledger(laplace(1.0), revealing, revealing)
        assert account(ledger, delta=0.5) == math.inf
        assert delta_upper(ledger, eps=10.0, relation=R) == 1.0
        assert not meets(ApproxDP(10.0, 0.99), ledger)


def test_a_changed_user_is_in_one_branch():
    weak, strong = Ledger(laplace(4.0), gaussian(9.0)), Ledger(laplace(1.0))
    ledger = Ledger(split(weak, strong), laplace(2.0))
    assert pure_eps(Ledger(split(strong, strong)), relation=R) == 1
    for delta in (1e-5, 1e-2):
        branches = [account(branch + Ledger(laplace(2.0)), delta=delta) for branch in (weak, strong)]
        assert account(ledger, delta=delta) == max(branches)
    nested = Ledger(split(Ledger(split(strong, Ledger())), Ledger(laplace(0.5))))
    assert pure_eps(nested, relation=R) == 2
    several = [split(Ledger(laplace(1.0 + i)), Ledger(laplace(50.0 + i))) for i in range(9)]
    with pytest.raises(AccountingError, match="combinations"):
        account(Ledger(*several), delta=1e-3)


def split(*branches, assigned=BY_POSITION):
    return Disjoint(branches=branches, assigned=assigned)


CELL = Ledger(LaplaceNoise(scale=1.0, sensitivity=Sensitivity(add_remove=1, replace=1)))  # a record stays in its cell


def test_a_replaced_user_who_is_assigned_by_data_meets_two_branches():
    histogram = [CELL] * 4
    by_data = Ledger(split(*histogram, assigned=Assigned.BY_DATA))
    assert account(by_data) == 2 == account(CELL * 2)
    assert account(by_data, delta=1e-3) == account(CELL * 2, delta=1e-3)
    for assigned in (None, *Assigned):  # who is added or removed is in one branch, whatever says in which
        assert account(Ledger(split(*histogram, assigned=assigned)), relation=Relation.ADD_OR_REMOVE_ONE) == 1
    assert account(Ledger(split(*histogram))) == 1
    assert account(Ledger(split(CELL, assigned=None))) == 1  # nowhere else to go
    with pytest.raises(AccountingError, match=r"BY_POSITION\) or BY_DATA"):
        account(Ledger(split(*histogram, assigned=None)))
    with pytest.raises(ParameterError, match="by position, by data"):
        split(CELL, assigned="by data")
    only_replace = Ledger(laplace(1.0))
    with pytest.raises(AccountingError, match="no sensitivity under add-or-remove-one"):
        account(Ledger(split(only_replace, only_replace, assigned=Assigned.BY_DATA)))


def test_leaving_one_branch_and_entering_another_mirrors_it():
    """The worst over ordered pairs of branches by hand: i as it is with j mirrored."""

    def skew(trials, way):
        moves = Sensitivity(replace=Shift(0), add_remove=Shift(1, 1, way))
        return Ledger(BinomialNoise(trials=trials, probability=0.1, sensitivity=moves))

    def replaced(trials, way):
        return BinomialNoise(trials=trials, probability=0.1, sensitivity=Sensitivity(replace=Shift(1, 1, way)))

    up, down = Direction.UP, Direction.DOWN
    for ways, crossing in (((up, up), (up, down)), ((up, down), (up, up))):
        ledger = Ledger(split(skew(60, ways[0]), skew(90, ways[1]), assigned=Assigned.BY_DATA))
        by_hand = Ledger(replaced(60, crossing[0]), replaced(90, crossing[1]))
        assert account(ledger, delta=0.01) == account(by_hand, delta=0.01)


def test_a_replacement_is_a_removal_and_an_addition():
    moves = Sensitivity.doubled(add_remove=Shift(1, 3, Direction.UP))
    assert moves.under(Relation.REPLACE_ONE) == (Shift(2, 3),)
    assert moves.under(Relation.ADD_OR_REMOVE_ONE) == (Shift(1, 3, Direction.UP),)
    assert moves == Sensitivity(replace=Shift(2, 3), add_remove=Shift(1, 3, Direction.UP))
    BinomialNoise(trials=9, probability=0.5, sensitivity=moves)
    with pytest.raises(ParameterError, match="skew"):
        BinomialNoise(trials=9, probability=0.4, sensitivity=moves)
    # three pairs of different coordinates by 1 each, and every mixture with common ones, cost no more
    for noise, event in ((LaplaceNoise, "scale"), (GaussianNoise, "sigma"), (DiscreteLaplaceNoise, "scale")):
        worst = Ledger(noise(**{event: 3.0}, sensitivity=moves))
        for common in range(4):
            apart = [Shift(2, common), Shift(1, 2 * (3 - common))]
            other = Ledger(noise(**{event: 3.0}, sensitivity=Sensitivity(replace=apart)))
            for delta in (0.0, 1e-6, 1e-2):
                assert account(other, delta=delta) <= account(worst, delta=delta) * (1 + 1e-3)


# --- properties -------------------------------------------------------------------------------------------

EVENTS = st.lists(
    st.sampled_from(
        [
            laplace(3.0),
            laplace(5.0, 1, 4),
            gaussian(4.0, 1, 2),
            DiscreteLaplaceNoise(scale=4.0, sensitivity=moved(2)),
            DiscreteGaussianNoise(sigma=3.0, sensitivity=moved(1, 2)),
            binomial(300, 0.4, 2),
            KaryResponse(k=4, eps=0.3, reports=moved(1, 2)),
            PureStep(eps=0.2, uses=moved(1)),
        ]
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=10, deadline=None)
@given(EVENTS, st.randoms(use_true_random=False))
def test_order_does_not_matter(events: list[Event], random):
    shuffled = events[:]
    random.shuffle(shuffled)
    for delta in (0.0, 1e-6):
        assert account(Ledger(*events), delta=delta) == account(Ledger(*shuffled), delta=delta)


# --- what is refused --------------------------------------------------------------------------------------


def test_numbers_out_of_range_are_refused():
    ledger = Ledger(laplace(1.0))
    for delta in (math.nan, -1e-9, 1.0, "0"):
        with pytest.raises(ParameterError):
            account(ledger, delta=delta)
    for eps in (math.nan, -1.0, math.inf):
        with pytest.raises(ParameterError):
            delta_upper(ledger, eps=eps, relation=R)
    with pytest.raises(ParameterError):
        account(ledger, relation="replace-one")
    with pytest.raises(ParameterError):
        pure_eps(laplace(1.0), relation=R)
    with pytest.raises(ParameterError):
        meets("pure:1", ledger)


def test_what_has_no_ledger_is_refused_in_one_line():
    for subject, error in (
        (lambda data, *, rng, size: data, UsageError),
        (SimpleNamespace(ledger="none"), UsageError),
        (SimpleNamespace(ledger=None), AccountingError),
        (Ledger, UsageError),
    ):
        with pytest.raises(error, match="ledger") as caught:
            account(subject)
        assert "\n" not in str(caught.value)
    assert account(SimpleNamespace(ledger=Ledger(laplace(2.0)))) == 0.5


def test_the_ledger_of_a_subject_is_its_own_or_that_of_its_target():
    target = SimpleNamespace(ledger=Ledger(laplace(2.0)), release=None)
    subject = Subject(name="s", target=target, claim=PureDP(1.0), pairs=(Pair(0, 1),))
    assert account(subject) == 0.5
    assert account(replace(subject, ledger=Ledger(laplace(4.0)))) == 0.25
    with pytest.raises(AccountingError, match="no ledger"):
        account(replace(subject, target=print))


def test_events_that_cannot_be_accounted():
    class Unknown(Event):
        pass

    with pytest.raises(AccountingError, match="Unknown"):
        account(Ledger(Unknown()))
    with pytest.raises(AccountingError, match="size must be 1"):
        account(Ledger(PureStep(eps=1.0, uses=moved(2))))
    with pytest.raises(AccountingError, match="no direction"):
        account(Ledger(KaryResponse(k=2, eps=1.0, reports=Sensitivity(replace=Shift(1, 1, Direction.UP)))))
    with pytest.raises(ParameterError, match="direction"):
        Shift(1, 1, "up")
    with pytest.raises(ParameterError, match="tuples"):
        account(Ledger(FiniteLaws(pairs=(([0.5, 0.5], [0.4, 0.6]),), relation=R)))
    with pytest.raises(ParameterError):
        FiniteLaws(pairs=(((0.5, 0.6), (0.5, 0.5)),), relation=R)
