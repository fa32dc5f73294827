"""What every test of `evidence.bounds` promises, by summing over every outcome: Pr[p <= a] <= a, and the rest.

The classes are found, not listed: a test class or a kind of claim without subjects here is an error. Larger
numbers of trials are behind the marker `slow`.
"""

import itertools
import math
import pkgutil
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from dpverify.claims.claim import ApproxDP, Claim, GaussianDP, PureDP, WholeProfile, ZCDP
from dpverify.claims.curves import RenyiDP, TradeOff
from dpverify.evidence import bounds
from dpverify.evidence.bounds import (
    BinomialTest,
    BonferroniTest,
    choose_test,
    CurveTest,
    TwoStepTest,
    UnconditionalTest,
    WeightedTest,
)
from dpverify.evidence.tally import Tally
from oracles.enumeration import (
    claim_laws,
    fixed_point,
    least_right,
    outcomes,
    probabilities,
    probability_of,
    response_laws,
    tally,
    two_levels,
    worst_ratio,
)

LEVEL = 1 + 1e-9  # Pr[p <= a]/a, for every attained a: the rounding of the enumeration itself

CLAIMS: list[Claim] = [
    PureDP(0.1),
    PureDP(1.0),
    PureDP(4.0),
    ApproxDP(0.5, 0.05),
    ApproxDP(0.0, 0.1),
    ApproxDP(2.0, 1e-3),
    GaussianDP(0.338),
    GaussianDP(0.527),
    GaussianDP(2.0),
    ZCDP(0.02),
    ZCDP(0.185),
    ZCDP(1.5),
    RenyiDP(curve=((2.0, 0.3), (8.0, 1.0))),
    TradeOff(points=((0.0, 0.95), (0.4, 0.4), (0.95, 0.0))),
]


@dataclass(frozen=True)
class Subject:
    """A test against H0(eps, delta) or, with eps None, against its own claim."""

    test: Any
    trials: int
    eps: float | None = None
    delta: float = 0.0
    levels: int = 1
    one_sided: bool = False

    def p_value(self, seen: Tally) -> float:
        if self.eps is None:
            return float(self.test.claim_p_value(seen))
        return float(self.test.p_value(seen, eps=self.eps, delta=self.delta))

    @property
    def laws(self) -> np.ndarray:
        if self.eps is None and not self.test.abstains:
            w = fixed_point(self.test.claim)
            return np.array([[1 - w, w], [0.5, 0.5]])
        if self.eps is None:
            return claim_laws(self.test.claim, one_sided=self.one_sided)
        if not getattr(self.test, "abstains", True):
            w = (1 - self.delta) / (1 + math.exp(self.eps))
            return np.array([[1 - w, w]])
        if self.levels == 2:
            return two_levels(self.eps, self.delta)
        return response_laws(self.eps, self.delta, one_sided=self.one_sided)

    def ratio(self) -> float:
        counts = outcomes(self.trials, self.levels, abstains=getattr(self.test, "abstains", True))
        p = np.array([self.p_value(tally(each, self.trials, one_sided=self.one_sided)) for each in counts])
        assert ((p > 0) & (p <= 1)).all()
        return worst_ratio(p, probabilities(counts, self.trials, self.laws))

    def __str__(self) -> str:
        what = f"eps {self.eps} delta {self.delta}" if self.eps is not None else str(self.test.claim)
        side = " one-sided" if self.one_sided else ""
        return f"{type(self.test).__name__} {what} n {self.trials}{side}".replace("_", " ")


PURE = [(0.1, 0.0), (1.0, 0.0), (4.0, 0.0)]
SLACK = [(0.1, 0.05), (1.0, 0.02), (3.0, 0.1)]


def pooled_subjects(trials):
    """One level of confidence, with and without slack, rules for one dataset and for both."""
    yield from (Subject(BinomialTest(), trials, *at, one_sided=side) for at in PURE for side in (False, True))
    for test in (TwoStepTest(), WeightedTest((1,)), UnconditionalTest(), UnconditionalTest(None, 1e-2, 0.2)):
        # equal weights are for few revealed trials; they keep their level with many, too
        yield from (Subject(test, trials, *at, one_sided=side) for at in SLACK for side in (False, True))
        yield Subject(test, trials, 0.5, 0.0)
    for kind in (GaussianDP(1.0), PureDP(1.0)):  # a bound on eps by the order of another notion
        yield Subject(CurveTest(kind), trials, 1.0, 0.05)
        yield Subject(CurveTest(kind, abstains=False), trials, 1.0, 0.05)


def levelled_subjects(trials):
    """Two levels: weighted sums, events that share the significance, and the first level alone."""
    for eps, delta in [(0.1, 0.0), (0.8, 0.0), (3.0, 0.0), (0.8, 0.03)]:
        for weights in ((3, 1), (8, 5), (2, 2), (0, 1)):
            yield Subject(WeightedTest(weights), trials, eps, delta, levels=2)
        if delta == 0:
            for events in (((1, 0.5), (2, 0.5)), ((2, 0.7), (1, 0.3)), ((2, 0.9), (1, 0.1)), ((1, 0.9),)):
                yield Subject(BonferroniTest(events), trials, eps, delta, levels=2)
        pool = (BinomialTest, TwoStepTest) if delta == 0 else (TwoStepTest, UnconditionalTest)
        yield from (Subject(test(levels), trials, eps, delta, levels=2) for test in pool for levels in (1, None))


def claim_subjects(claims, trials, *, quick):
    for claim in claims:
        # the limit of a zCDP claim costs a hundred times more than the others
        n = trials // 2 if quick and isinstance(claim, ZCDP) else trials
        yield Subject(CurveTest(claim), n)
        yield Subject(CurveTest(claim, nuisance_level=0.01, order_level=0.05), n)
        yield Subject(CurveTest(claim, order_level=0.05), n // 2, one_sided=True)
        yield Subject(CurveTest(claim, abstains=False), trials)


def chosen_subjects(trials):
    """Whatever `choose_test` takes, from counts that were predicted."""
    for right, wrong, delta in [(8, 2, 0.0), (7, 3, 0.01), (6, 0, 0.001)]:
        test = choose_test(trials=trials, delta=delta, expected_right=right, expected_wrong=wrong)
        yield Subject(test, trials, 0.7, delta, levels=2)


QUICK = [
    *pooled_subjects(20),
    *levelled_subjects(10),
    *claim_subjects(CLAIMS, 20, quick=True),
    *chosen_subjects(10),
    *(Subject(test, n, 1.0, 0.0) for test in (BinomialTest(), TwoStepTest()) for n in (1, 2, 3, 7)),
    *(Subject(CurveTest(GaussianDP(1.0)), n) for n in (1, 2, 5)),
    *(Subject(test, 40, 1.0, 0.02) for test in (TwoStepTest(), WeightedTest((1,)), UnconditionalTest())),
    *(Subject(CurveTest(claim), 40) for claim in (GaussianDP(0.338), ApproxDP(1.0, 0.02))),
    Subject(BinomialTest(), 40, 1.0, 0.0),
]


@pytest.mark.parametrize("subject", QUICK, ids=str)
def test_no_true_claim_is_refuted_more_often_than_stated(subject):
    assert subject.ratio() <= LEVEL


def more():
    """Other numbers, drawn once: up to 140 trials."""
    rng = np.random.default_rng(11)
    yield from pooled_subjects(40)
    yield from pooled_subjects(80)
    yield from pooled_subjects(140)
    yield from levelled_subjects(22)
    drawn = [kind(float(rng.uniform(0.1, 2.5))) for kind in (PureDP, GaussianDP) for _ in range(3)]
    drawn += [ApproxDP(float(rng.uniform(0, 2)), float(rng.uniform(0.001, 0.1))) for _ in range(3)]
    yield from claim_subjects([*CLAIMS, *drawn, ZCDP(float(rng.uniform(0.01, 1)))], 60, quick=False)
    for claim in [GaussianDP(0.338), ApproxDP(1.0, 0.02), PureDP(0.7)]:
        yield Subject(CurveTest(claim), 140)
        yield Subject(CurveTest(claim, order_level=0.05), 120)
    yield Subject(CurveTest(ZCDP(0.185)), 83)


@pytest.mark.slow
@pytest.mark.parametrize("subject", list(more()), ids=str)
def test_no_true_claim_is_refuted_more_often_than_stated_with_more_trials(subject):
    assert subject.ratio() <= LEVEL


def found_classes():
    """All classes of evidence.bounds that bound eps."""
    modules = [import_module(f"{bounds.__name__}.{each.name}") for each in pkgutil.iter_modules(bounds.__path__)]
    classes = {each for module in modules for each in vars(module).values() if isinstance(each, type)}
    return {
        each
        for each in classes
        if hasattr(each, "p_value") and hasattr(each, "eps_lower") and not getattr(each, "_is_protocol", False)
    }


def concrete(kind):
    """The kinds of claim that people make."""
    below = [each for sub in kind.__subclasses__() for each in concrete(sub)]
    private = (
        kind.__name__.startswith("_") or kind in (Claim, WholeProfile) or not kind.__module__.startswith("dpverify.")
    )
    return below if private else [kind, *below]


def test_every_test_and_every_kind_of_claim_has_subjects():
    assert found_classes() == {type(subject.test) for subject in QUICK}
    assert len(found_classes()) >= 6
    assert set(concrete(Claim)) == {type(claim) for claim in CLAIMS}
    assert {type(s.test.claim) for s in QUICK if isinstance(s.test, CurveTest)} == set(concrete(Claim))


def test_the_enumeration_sees_a_test_that_exceeds_its_level():
    """A binomial test that forgets the slack, and one whose p-values are 1 % too small."""
    assert Subject(_Forgetful(), 40, 1.0, 0.02).ratio() > 1.2
    assert Subject(_Short(), 40, 1.0, 0.0).ratio() > 1.005


class _Forgetful:
    def p_value(self, seen, *, eps, delta):
        return BinomialTest().p_value(seen, eps=eps, delta=0.0)


class _Short:
    def p_value(self, seen, *, eps, delta):
        return 0.99 * BinomialTest().p_value(seen, eps=eps, delta=delta)


# an earlier order, by chords above the claim's curve, gave .0504885 at .05 and .09929 at .096515
def test_regions_of_the_curve_test_are_nested_at_120_trials():
    test = CurveTest(GaussianDP(0.338), order_level=0.05, nuisance_level=0.001)
    start = least_right(test.claim_p_value, 120, 0.05)
    assert probability_of(start, 120, 0.5537504360106522, 0.419623246492986) <= 0.05
    assert max(probability_of(start, 120, *law) for law in claim_laws(test.claim, points=100)) <= 0.05


def test_regions_of_the_curve_test_are_nested_at_80_trials():
    test = CurveTest(GaussianDP(0.527), order_level=0.05, nuisance_level=0.001)
    start = least_right(test.claim_p_value, 80, 0.096515)
    assert max(probability_of(start, 80, *law) for law in claim_laws(test.claim, points=200)) <= 0.096515


def test_a_region_holds_every_outcome_that_is_ordered_above_its_own():
    """The lemma of `curve`: T(y) >= T(o) puts y into R(o), for the T that limits at `order_level` certify."""
    n = 30
    for claim in (GaussianDP(0.338), ZCDP(0.185), ApproxDP(0.5, 0.05), PureDP(1.0)):
        boxes = {}
        for right, wrong in outcomes(n)[::3].tolist():
            boxes[right, wrong] = CurveTest(claim, order_level=0.05)._prepared(Tally.of(right, wrong, n))
        numbers = {key: box._ordering_claim.number for key, box in boxes.items() if box._ordering_claim is not None}
        for key in list(numbers)[::4]:
            region = boxes[key]._region
            for (right, wrong), number in numbers.items():
                if number >= numbers[key] * (1 + 1e-5):  # numbers are found to 1e-6 of themselves
                    block = np.searchsorted(region.wrong, wrong, side="right") - 1
                    outside = wrong < region.wrong[0] or wrong >= region.end  # counted as inside
                    assert outside or right >= region.least_right[block]


GRID = (0.0, 0.2, 1.0, 3.0, 20.0)
CONTRACT = [
    (BinomialTest(), 0.0, 1e-9),
    (TwoStepTest(), 0.0, 1e-9),
    (TwoStepTest(), 0.01, 1e-9),
    (WeightedTest((1,)), 0.001, 1e-9),
    (BonferroniTest(((1, 0.6), (1, 0.4))), 0.0, 1e-9),
    (CurveTest(GaussianDP(1.0), abstains=False), 0.01, 1e-5),
    (UnconditionalTest(), 0.01, 0.02),  # upper bounds that are tight to about 1 %
    *((CurveTest(kind), 0.01, 0.02) for kind in (PureDP(1.0), ApproxDP(1.0, 0.01), GaussianDP(1.0), ZCDP(0.2))),
]


def contract_id(value):
    return f"{value.name}-{getattr(value, 'claim', '')}" if hasattr(value, "name") else str(value)


def tallies(test):
    every = outcomes(3) if getattr(test, "abstains", True) else outcomes(6, abstains=False)
    yield from (Tally.of(*map(int, each), 3 if getattr(test, "abstains", True) else 6) for each in every)
    for right, wrong, trials in ((60, 4, 100), (30, 0, 40), (0, 2000, 2000), (9000, 10, 10_000)):
        if getattr(test, "abstains", True):
            yield Tally.of(right, wrong, trials)
        yield Tally.of(right, wrong, right + wrong)


def test_the_contract_is_asked_of_every_test():
    assert {type(test) for test, *_ in CONTRACT} == found_classes()


@pytest.mark.parametrize(("test", "delta", "slack"), CONTRACT, ids=contract_id)
def test_bound_test_contract(test, delta, slack):
    """Never NaN; increasing in eps, nested in alpha; bound and p-value say the same; the logarithm too."""
    for seen in tallies(test):
        p = [test.p_value(seen, eps=eps, delta=delta) for eps in GRID]
        assert all(0 < each <= 1 for each in p)
        assert all(low <= high * (1 + slack) for low, high in itertools.pairwise(p))
        log = test.log10_p_value(seen, eps=0.2, delta=delta)
        assert math.isfinite(log)
        assert log <= min(0.0, math.log10(p[1]) + 1e-6)
        assert log >= math.log10(p[1]) - 1e-12 or p[1] <= 1e-299  # what a double cannot hold
        lower = [test.eps_lower(seen, delta=delta, significance=a) for a in (0.002, 0.1)]
        assert all(0 <= each < math.inf for each in lower)
        assert all(low <= high + 2 * slack for low, high in itertools.pairwise(lower))
        for a, bound in zip((0.002, 0.1), lower, strict=True):
            for eps, at in zip(GRID, p, strict=True):
                if bound > eps:
                    assert at <= a * (1 + slack)
                if at <= a / (1 + slack):
                    assert bound >= eps - 1e-5


@pytest.mark.parametrize(
    "claim", [PureDP(1.0), ApproxDP(0.5, 0.05), ApproxDP(0.0, 0.1), GaussianDP(0.5), ZCDP(0.2)], ids=str
)
@pytest.mark.parametrize("one_sided", [False, True])
def test_certified_numbers_refute_what_the_p_value_of_the_claim_refutes(claim, one_sided):
    test = CurveTest(claim)
    for right, wrong, trials in ((9, 2, 30), (20, 1, 60), (14, 0, 30), (3, 3, 30)):
        seen = Tally.of(right, wrong, trials, one_sided=one_sided)
        p, number = test.claim_p_value(seen), test.number_lower(seen, significance=0.05)
        assert 0 <= number < math.inf
        assert 10 ** test.claim_log10_p_value(seen) == pytest.approx(p)
        if number > claim.number * (1 + 1e-5):
            assert p <= 0.05 * 1.02
        if p <= 0.05 / 1.02:
            assert number >= claim.number * (1 - 1e-5)
