"""Accounts of whatever is a number: fractions, NumPy scalars, long floats, subnormal and huge noise, long laws.

None is a crash, a NaN or below the truth; and properties that hold for every ledger: accounts fall with the noise, rise
with the count and the shift, and delta(eps(delta)) <= delta.
"""

import itertools
import math
import time
from fractions import Fraction

import numpy as np
import pytest

from dpverify.accounting import describe, integer_losses
from dpverify.accounting.accountant import account, delta_upper, eps_upper, meets, mu_upper, renyi_upper, rho_upper
from dpverify.accounting.events import (
    BoundedRange,
    DominatingPair,
    Filtered,
    FixedSizeSampled,
    MatrixGaussian,
    PoissonSampled,
    Shuffled,
)
from dpverify.accounting.integer_losses import DiscreteGaussianLoss, DiscreteLaplaceLoss
from dpverify.accounting.laws import LaplaceLaw, Mixture, Normal, PiecewiseConstant, Truncated
from dpverify.accounting.ledger import (
    BinomialNoise,
    Direction,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Exposed,
    FiniteLaws,
    GaussianNoise,
    KaryResponse,
    LaplaceNoise,
    Ledger,
    PureStep,
    Sensitivity,
)
from dpverify.base.errors import AccountingError, ParameterError
from dpverify.base.rounding import as_fraction
from dpverify.claims.claim import ApproxDP, GaussianDP, PureDP, ZCDP
from dpverify.claims.curves import RenyiDP, TradeOff
from dpverify.claims.neighbours import Relation

R, A = Relation.REPLACE_ONE, Relation.ADD_OR_REMOVE_ONE
DELTAS = (0.0, 1e-20, 1e-5, 0.5)
NUMBERS = (Fraction(1, 3), np.float32(0.3), np.float16(0.3), np.longdouble(1) / 3, np.float64(0.3), 1, np.int8(1))


def moves(size=1):
    return Sensitivity(replace=size, add_remove=size)


def laplace(scale, size=1):
    return Ledger(LaplaceNoise(scale=scale, sensitivity=moves(size)))


def gauss(sigma, size=1):
    return Ledger(GaussianNoise(sigma=sigma, sensitivity=moves(size)))


@pytest.mark.parametrize("number", NUMBERS, ids=lambda each: type(each).__name__)
def test_every_number_is_a_number(number):
    three = laplace(1.0) * 3
    exact = as_fraction(number)
    assert meets(PureDP(number), laplace(1 / exact))
    assert not meets(PureDP(number), laplace(1 / exact, 1 + 1e-12))
    assert meets(ZCDP(number), gauss(1.0, Fraction(1, 2)))
    assert meets(GaussianDP(number), gauss(4))
    assert not meets(GaussianDP(number), gauss(0.99))
    assert not meets(ApproxDP(number, np.float32(1e-5)), three)
    assert meets(ApproxDP(number, np.float32(0.9)), three)
    assert delta_upper(three, eps=number, relation=R) >= delta_upper(
        three, eps=math.nextafter(float(exact), 2), relation=R
    )
    if number < 1:
        at = eps_upper(three, delta=number, relation=R)
        assert at >= eps_upper(three, delta=math.nextafter(float(exact), 1), relation=R)
    assert renyi_upper(three, alpha=number + 1, relation=R) > 0
    noisy = LaplaceNoise(scale=number, sensitivity=moves(number))
    assert eps_upper(Ledger(noisy), delta=0, relation=R) == 1
    assert len(describe.rows(Ledger(noisy), R)) == 1


@pytest.mark.parametrize("number", [Fraction(1, 3), np.longdouble(1) / 3], ids=("fraction", "longdouble"))
def test_a_law_of_other_numbers_than_floats_is_refused(number):
    for law in (
        lambda: Normal(number, 1.0),
        lambda: Normal(0.0, number),
        lambda: LaplaceLaw(number, 1.0),
        lambda: PiecewiseConstant((0, number, 1), (1, 2)),
        lambda: PiecewiseConstant((0, 0.5, 1), (1, number)),
        lambda: Mixture((number, 1), (Normal(0, 1), Normal(1, 1))),
        lambda: Truncated(Normal(0, 1), -1, number),
    ):
        with pytest.raises(ParameterError, match="that a float holds"):
            law()
    nearly = Fraction(1, 2) + Fraction(1, 10**17)  # its float says eps = 0
    pairs = (((nearly, 1 - nearly), (1 - nearly, nearly)),)
    with pytest.raises(ParameterError, match="that a float holds"):
        meets(PureDP(1e-18), Ledger(FiniteLaws(pairs=pairs, relation=R)))
    halves = (((Fraction(1, 4), 0.75), (Fraction(3, 4), 0.25)),)
    assert eps_upper(Ledger(FiniteLaws(pairs=halves, relation=R)), delta=0, relation=R) >= math.log(3)


SCALES = (5e-324, 1e-300, 1e-20, 1e-3, 1e20, 1e300, 1.7e308)
FAMILIES = {
    "laplace": lambda s: (LaplaceNoise(scale=s, sensitivity=moves()), R),
    "gauss": lambda s: (GaussianNoise(sigma=s, sensitivity=moves()), R),
    "discrete laplace": lambda s: (DiscreteLaplaceNoise(scale=s, sensitivity=moves(2)), R),
    "discrete gauss": lambda s: (DiscreteGaussianNoise(sigma=s, sensitivity=moves(2)), R),
    "binomial": lambda s: (BinomialNoise(trials=100, probability=min(s, 0.5), sensitivity=moves()), R),
    "pure": lambda s: (PureStep(eps=s, uses=moves()), R),
    "response": lambda s: (KaryResponse(k=10**9, eps=s, reports=moves()), R),
    "range": lambda s: (BoundedRange(eps=s, uses=moves()), R),
    "shuffled": lambda s: (Shuffled(local_eps=s, users=100), R),
    "filter": lambda s: (Filtered(budget=ZCDP(s)), R),
    "matrix": lambda s: (MatrixGaussian(strategy=((1, 0), (-s, 1)), sigma=s, movement=moves(), participations=2), R),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_extreme_noise_has_an_account(family, monkeypatch):
    monkeypatch.setattr(integer_losses, "BLOCKS", 2**12)
    for scale in SCALES:
        event, relation = FAMILIES[family](scale)
        ledger = Ledger(event) * 2
        try:
            found = [eps_upper(ledger, delta=delta, relation=relation) for delta in DELTAS]
        except AccountingError:  # one clear line
            assert family == "matrix"
            continue
        assert all(a >= b >= 0 for a, b in itertools.pairwise(found)), (scale, found)
        others = [rho_upper(ledger, relation=relation), mu_upper(ledger, relation=relation)]
        others.append(renyi_upper(ledger, alpha=2.5, relation=relation))
        assert all(each >= 0 for each in others), (scale, others)  # NaN is not


def test_a_strategy_of_tiny_numbers_moves_as_far():
    def event(unit):
        strategy = ((unit, 0.0), (-unit, unit))
        return MatrixGaussian(strategy=strategy, sigma=unit, movement=moves(), participations=2)

    one = mu_upper(Ledger(event(1.0)), relation=R)
    assert one >= math.sqrt(5)  # squares 2 and 1, and twice the absolute product of the columns
    for power in (-1000, -540, 500):
        assert mu_upper(Ledger(event(2.0**power)), relation=R) == pytest.approx(one, rel=1e-12)


@pytest.mark.parametrize(
    "event",
    [
        DiscreteLaplaceNoise(scale=2.0**40, sensitivity=moves(2**40)),
        DiscreteGaussianNoise(sigma=2.0**40, sensitivity=moves(2**40)),
        BinomialNoise(trials=2**60, probability=0.5, sensitivity=moves(2**20)),
    ],
    ids=lambda each: type(each).__name__,
)
def test_laws_that_are_too_long_to_list_have_accounts(event, monkeypatch):
    monkeypatch.setattr(integer_losses, "BLOCKS", 2**12)
    monkeypatch.setattr(integer_losses, "MOST_FLIPS", 10**7)
    sampled = Ledger(PoissonSampled(rate=0.1, inside=Ledger(event)))
    fixed = Ledger(FixedSizeSampled(sampled=1, of=10, inside=Ledger(event)))
    for ledger, relation in ((Ledger(event), R), (sampled * 3, A), (fixed * 3, R)):
        found = [
            eps_upper(ledger, delta=1e-6, relation=relation),
            renyi_upper(ledger, alpha=3.0, relation=relation),
            rho_upper(ledger, relation=relation),
            mu_upper(ledger, relation=relation),
        ]
        assert all(each > 0 for each in found)
    assert eps_upper(Ledger(event), delta=1e-6, relation=R) < math.inf


@pytest.mark.parametrize("moved", [0.05, 1.0])
def test_noise_on_integers_of_a_large_scale_costs_what_continuous_noise_costs(moved):
    """Outputs are put into blocks: above the law with fewer outputs, and a few 1e-5 above the continuous one."""
    pairs = [(DiscreteGaussianNoise, GaussianNoise, "sigma"), (DiscreteLaplaceNoise, LaplaceNoise, "scale")]
    for listed, continuous, name in pairs:
        size = 2**26
        noise, move = {name: size / moved}, moves(size)
        if listed is DiscreteGaussianNoise:
            noise, move = {name: float(size)}, moves(int(size * moved))
        for count in (1, 20):
            truth = Ledger(continuous(**noise, sensitivity=move)) * count
            found = Ledger(listed(**noise, sensitivity=move)) * count
            for delta in (1e-3, 1e-10):
                wanted = account(truth, delta=delta)
                assert wanted * (1 - 1e-8) <= account(found, delta=delta) <= wanted * (1 + 1e-4)


def test_blocks_of_outputs_are_above_all_outputs(monkeypatch):
    monkeypatch.setattr(integer_losses, "BLOCKS", 3000)
    for loss in (DiscreteLaplaceLoss(Fraction(15_000), 21_000), DiscreteGaussianLoss(Fraction(20_000), 20_000)):
        (order,), whole = loss._blocks()[Direction.UP], loss.orders()[Direction.UP][0]
        assert len(order.loss) < len(whole.loss) / 2
        for eps in np.linspace(-1, 1.3, 26):
            assert whole.delta(eps) <= order.delta(eps) <= whole.delta(eps) * (1 + 1e-3) + 1e-6


def test_large_responses_are_close_to_their_sum_and_are_not_composed():
    """The search took minutes: losses of 700 on a lattice, whose sums do not decay in frequency."""
    started = time.process_time()
    for eps, k, count in ((700.0, 2, 1000), (700.0, 700, 1000), (100.0, 2, 1000)):
        found = account(Ledger(KaryResponse(eps=eps, k=k, reports=moves())) * count, delta=1e-5)
        assert eps * count - 1.1e-5 <= found <= eps * count  # all are true but for e^-95
    assert time.process_time() - started < 20


def test_more_bits_than_are_listed_hide_no_less():
    few, many = (
        account(Ledger(BinomialNoise(trials=n, probability=0.5, sensitivity=moves(10**4))), delta=1e-5)
        for n in (10**10, 10**15)
    )
    assert 0 < many <= few


def test_divergences_of_samples_without_any_are_infinite():
    inside = Ledger(BinomialNoise(trials=50, probability=0.5, sensitivity=moves()))
    assert renyi_upper(Ledger(FixedSizeSampled(sampled=1, of=10, inside=inside)), alpha=3.0, relation=R) == math.inf


def test_rates_that_floats_do_not_tell_from_0_or_1():
    inside = laplace(1.0)
    for rate in (Fraction(1, 10**400), 5e-324, 1e-20):
        assert 0 < eps_upper(Ledger(PoissonSampled(rate=rate, inside=inside)), delta=0, relation=A) < 1e-14
    for rate in (1 - Fraction(1, 10**30), 1 - 2.0**-53):
        assert eps_upper(Ledger(PoissonSampled(rate=rate, inside=inside)), delta=0, relation=A) == 1


FALLING = {  # with the noise
    "laplace": lambda s: (LaplaceNoise(scale=s, sensitivity=moves()), R),
    "gauss": lambda s: (GaussianNoise(sigma=s, sensitivity=moves()), R),
    "discrete laplace": lambda s: (DiscreteLaplaceNoise(scale=s, sensitivity=moves(2)), R),
    "discrete gauss": lambda s: (DiscreteGaussianNoise(sigma=s, sensitivity=moves()), R),
    "response": lambda s: (KaryResponse(k=4, eps=1 / s, reports=moves()), R),
    "range": lambda s: (BoundedRange(eps=1 / s, uses=moves()), R),
    "shuffled": lambda s: (Shuffled(local_eps=1 / s, users=60), R),
    "poisson": lambda s: (PoissonSampled(rate=0.2, inside=gauss(s)), A),
    "fixed size": lambda s: (FixedSizeSampled(sampled=1, of=5, inside=gauss(s)), R),
}
LOOSE = 1 + 2e-3  # bounds, not values: each is within about 1e-3 of the truth


@pytest.mark.parametrize("family", FALLING)
def test_accounts_fall_with_the_noise_and_rise_with_the_count(family):
    """And delta(eps(delta)) <= delta, without any slack."""
    for count, delta in itertools.product((1, 4), (1e-3, 1e-9)):
        last = math.inf
        for scale in (0.8, 1.3, 3.0):
            event, relation = FALLING[family](scale)
            ledger = Ledger(event) * count
            eps = eps_upper(ledger, delta=delta, relation=relation)
            assert delta_upper(ledger, eps=eps, relation=relation) <= delta
            assert eps <= last * LOOSE
            assert eps <= eps_upper(ledger * 2, delta=delta, relation=relation) * LOOSE
            last = eps


SIZES = (1, 2, 3, 7)


@pytest.mark.parametrize("noise", [LaplaceNoise, DiscreteLaplaceNoise], ids=lambda each: each.__name__)
def test_accounts_rise_with_the_shift(noise):
    found = [eps_upper(Ledger(noise(scale=3.0, sensitivity=moves(size))) * 5, delta=1e-6, relation=R) for size in SIZES]
    assert all(a < b for a, b in itertools.pairwise(found))


def test_the_divergence_of_a_long_list_of_outcomes():
    """A Laplace pair as a pair of laws has 10^5 outcomes; its rho is that of Laplace noise, and found in time."""
    pair = DominatingPair(p=LaplaceLaw(0.0, 1.0), q=LaplaceLaw(1.0, 1.0), relation=R)
    truth = rho_upper(laplace(1.0), relation=R)
    assert truth * (1 - 1e-5) <= rho_upper(Ledger(pair), relation=R) <= truth * (1 + 1e-3)


@pytest.mark.parametrize(
    "claim",
    [
        PureDP(1.0),
        ApproxDP(1.0, 1e-6),
        ZCDP(1.0),
        GaussianDP(1.0),
        RenyiDP(curve=((2.0, 1.0), (8.0, 2.0))),
        TradeOff(points=((0.0, 0.9), (0.5, 0.2), (1.0, 0.0))),
    ],
    ids=lambda claim: type(claim).__name__,
)
def test_a_ledger_without_any_finite_eps_meets_no_claim_and_breaks_nothing(claim):
    assert not meets(claim, Ledger(Exposed(what="counts")))


@pytest.mark.parametrize("order", ["2", None, 1j, math.nan, 1.0, math.inf, True, -2])
def test_an_impossible_order_is_refused(order):
    with pytest.raises(ParameterError, match="alpha"):
        renyi_upper(laplace(1.0), alpha=order, relation=R)
