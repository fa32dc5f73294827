"""Whatever the scale, the order, eps and delta: a number, inf, or one line of ours; and 0 only where it is proved.

Warnings are errors in all tests: a float that overflows on the way fails here.
"""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpverify.accounting.accountant import delta_upper, eps_upper, meets, mu_upper, pure_eps, renyi_upper, rho_upper
from dpverify.accounting.events import (
    BoundedRange,
    DominatingPair,
    Filtered,
    FixedSizeSampled,
    MatrixGaussian,
    PoissonSampled,
    Shuffled,
)
from dpverify.accounting.laws import LaplaceLaw, Normal
from dpverify.accounting.ledger import (
    BinomialNoise,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    Exposed,
    FiniteLaws,
    GaussianNoise,
    KaryResponse,
    LaplaceNoise,
    Ledger,
    PureStep,
    Sensitivity,
)
from dpverify.base.errors import DpverifyError
from dpverify.claims.claim import ApproxDP, Claim, GaussianDP, PureDP, ZCDP
from dpverify.claims.curves import RenyiDP, TradeOff
from dpverify.claims.neighbours import Relation

R, A = Relation.REPLACE_ONE, Relation.ADD_OR_REMOVE_ONE
SIZES = (5e-324, 1e-300, 1e-16, 1.0, 1e16, 1e308)
EPS = (0.0, 5e-324, 1e-16, 40.0, 1.7e308)
DELTAS = (0.0, 5e-324, 1e-300, 1e-16, 0.5, 1 - 2.0**-53)
ORDERS = (1 + 2.0**-52, 1 + 1e-9, 2.0, 1e16, 1.7e308)
UNPROVED = Fraction(1, 10**400)


def moves(size=1.0):
    return Sensitivity(replace=size, add_remove=size)


FAMILIES: dict[str, Callable[[float], Event]] = {
    "laplace": lambda s: LaplaceNoise(scale=s, sensitivity=moves()),
    "laplace, moved": lambda s: LaplaceNoise(scale=1.0, sensitivity=moves(s)),
    "gauss": lambda s: GaussianNoise(sigma=s, sensitivity=moves()),
    "discrete laplace": lambda s: DiscreteLaplaceNoise(scale=s, sensitivity=moves(2)),
    "discrete gauss": lambda s: DiscreteGaussianNoise(sigma=s, sensitivity=moves(2)),
    "binomial": lambda s: BinomialNoise(trials=100, probability=min(s, 0.5), sensitivity=moves()),
    "pure": lambda s: PureStep(eps=s, uses=moves(1)),
    "response": lambda s: KaryResponse(k=10**9, eps=s, reports=moves(1)),
    "range": lambda s: BoundedRange(eps=s, uses=moves(1)),
    "shuffled": lambda s: Shuffled(local_eps=s, users=5),
    "laws": lambda s: FiniteLaws(pairs=(((min(s, 0.4), 1 - min(s, 0.4)), (0.5, 0.5)),), relation=R),
    "filter, zcdp": lambda s: Filtered(budget=ZCDP(s)),
    "filter, gdp": lambda s: Filtered(budget=GaussianDP(s)),
    "filter, pure": lambda s: Filtered(budget=PureDP(s)),
    "matrix": lambda s: MatrixGaussian(strategy=((1, 0), (-s, 1)), sigma=s, movement=moves(), participations=2),
    "pair": lambda s: DominatingPair(p=Normal(0.0, s), q=Normal(1.0, s), relation=R),
    "exposed": lambda s: Exposed(what="counts"),
}


def number(ask: Callable[[], float]) -> float:
    found = ask()
    assert found >= 0  # NaN is not
    return found


def refused(ask: Callable[[], object]) -> bool:
    """Whether it is, in one line."""
    lines = []
    try:
        ask()
    except DpverifyError as error:
        lines = str(error).split("\n")
    assert len(lines) < 2
    return bool(lines)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("count", [1, 3])
def test_every_size_has_an_account(family, count):
    for size in SIZES:
        if refused(lambda size=size: pure_eps(Ledger(FAMILIES[family](size)), relation=R)):
            assert family in ("matrix", "pair")
            continue
        ledger = Ledger(FAMILIES[family](size)) * count
        pure = pure_eps(ledger, relation=R)
        for eps in EPS:
            delta = number(lambda ledger=ledger, eps=eps: delta_upper(ledger, eps=eps, relation=R))
            assert (delta == 0) == (pure <= Fraction(eps)), (size, eps, delta)
            assert meets(ApproxDP(Fraction(eps), UNPROVED), ledger) == (pure <= Fraction(eps))
        at = [number(lambda ledger=ledger, d=d: eps_upper(ledger, delta=d, relation=R)) for d in DELTAS]
        assert all(a >= b for a, b in itertools.pairwise(at)), (size, at)
        of = [number(lambda ledger=ledger, a=a: renyi_upper(ledger, alpha=a, relation=R)) for a in ORDERS]
        assert all(0 < a <= b * (1 + 1e-9) for a, b in itertools.pairwise(of)), (size, of)  # grow with the order
        for parameter in (rho_upper, mu_upper):
            assert number(lambda ledger=ledger, parameter=parameter: parameter(ledger, relation=R)) > 0


@pytest.mark.parametrize(
    ("event", "relation"),
    [
        (PoissonSampled(rate=1e-16, inside=Ledger(GaussianNoise(sigma=1.0, sensitivity=moves()))), A),
        (PoissonSampled(rate=0.5, inside=Ledger(LaplaceNoise(scale=1e16, sensitivity=moves()))), A),
        (FixedSizeSampled(sampled=1, of=10, inside=Ledger(LaplaceNoise(scale=1e-16, sensitivity=moves()))), R),
        (DominatingPair(p=Normal(0.0, 1e-16), q=Normal(1e-16, 2e-16), relation=R), R),
        (DominatingPair(p=LaplaceLaw(0.0, 1e-16), q=LaplaceLaw(1.0, 1e-16), relation=R), R),
    ],
    ids=["rare", "little inside", "much inside", "two scales", "far apart"],
)
def test_samples_and_pairs_at_extreme_orders_and_eps(event, relation):
    ledger = Ledger(event) * 2
    pure = pure_eps(ledger, relation=relation)
    for eps in EPS:
        delta = number(lambda eps=eps: delta_upper(ledger, eps=eps, relation=relation))
        assert (delta == 0) == (pure <= Fraction(eps))
    for order in (1 + 2.0**-52, 2.0, 1.7e308):
        assert number(lambda order=order: renyi_upper(ledger, alpha=order, relation=relation)) > 0
    for delta in (5e-324, 1e-300, 0.5):
        number(lambda delta=delta: eps_upper(ledger, delta=delta, relation=relation))


CLAIMS: dict[str, Callable[[float], Claim]] = {
    "pure": PureDP,
    "approximate": lambda s: ApproxDP(s, 1e-6),
    "zcdp": ZCDP,
    "gdp": GaussianDP,
    "rdp": lambda s: RenyiDP(curve=((1 + 1e-9, s), (2.0, s), (1e300, s))),
}


@pytest.mark.parametrize("kind", CLAIMS)
def test_claims_of_every_size_have_profiles(kind):
    """No notion but the pure ones says delta = 0 anywhere."""
    for size, eps in itertools.product(SIZES, EPS):
        claim = CLAIMS[kind](size)
        delta = claim.delta_at(eps)
        assert 0 <= delta <= 1
        assert delta > 0 or (kind == "pure" and eps >= size)
    for size, delta in itertools.product(SIZES, (5e-324, 1e-300, 1e-16, 0.5)):
        assert CLAIMS[kind](size).eps_at(delta) >= 0


@pytest.mark.parametrize(("rho", "eps"), [(0.5, 30.0), (1e-12, 1e-5), (1e-100, 1e-49), (1e6, 1.2e6), (3.0, 5e-324)])
def test_the_conversion_of_zcdp_is_the_best_order(rho, eps):
    """Against the infimum over a mesh of orders in 40 digits; and where it is no float it is not 0."""
    with mpmath.workdps(40):
        best = mpmath.mpf(0)
        center = math.log(max(eps / 2, 1e-300)) - math.log(rho)
        for log in np.concatenate([np.linspace(center - 3, center + 3, 1200), np.linspace(-14, 14, 1200)]):
            t = mpmath.exp(float(log))
            bound = t * ((1 + t) * rho - eps) - (1 + t) * mpmath.log1p(1 / t) - mpmath.log(t)
            best = min(best, bound)
        assert ZCDP(rho).delta_at(eps) == pytest.approx(float(mpmath.exp(best)), rel=1e-3)
    assert 0 < ZCDP(rho).delta_at(eps * 1e3 + 1e9 * math.sqrt(rho) + 1e9 * rho) <= 1e-299


def test_a_claim_below_all_floats_is_not_proved():
    ledgers = [
        Ledger(Filtered(budget=ZCDP(0.5))),
        Ledger(GaussianNoise(sigma=1.0, sensitivity=moves())),
        Ledger(DiscreteGaussianNoise(sigma=3.0, sensitivity=moves(1))) * 3,
        Ledger(LaplaceNoise(scale=0.02, sensitivity=moves())) * 2,
    ]
    for ledger in ledgers:
        assert not meets(ApproxDP(Fraction(40), UNPROVED), ledger)
        assert not meets(ApproxDP(40.0, 5e-324), ledger)
    less = Ledger(LaplaceNoise(scale=1.0, sensitivity=moves(1e-161)))  # D_2 = 1e-322, rho = 5e-323
    assert not meets(RenyiDP(curve=((2, 5e-324),)), less)
    assert not meets(ZCDP(5e-324), less)
    least = Ledger(LaplaceNoise(scale=1.0, sensitivity=moves(1e-310)))  # mu = 1.25e-310
    assert not meets(GaussianDP(1e-310), least)
    assert not meets(TradeOff(points=((0.0, 1.0), (1.0, 0.0))), least)
    assert meets(PureDP(1e-310), least)
