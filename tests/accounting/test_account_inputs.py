"""Whatever stands where a number, a law or a sensitivity belongs: an account, inf, or one line that says what is meant.

Wrong kinds of values; scales, orders, eps and delta at the ends of the floats, where 0 is said only if it is proved;
fractions and NumPy's numbers, long laws; narrow numbers that wrap (a pixel is a uint8). Warnings are errors in all
tests: a float that overflows on the way fails here. And properties that hold for every ledger: accounts fall with the
noise, rise with the count and the shift, and delta(eps(delta)) <= delta.
"""

import itertools
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpverify.accounting import noise_losses
from dpverify.accounting.accountant import (
    account,
    delta_upper,
    eps_upper,
    meets,
    mu_upper,
    pure_eps,
    renyi_upper,
    rho_upper,
)
from dpverify.accounting.groups import group_of
from dpverify.accounting.noise_losses import DiscreteGaussianLoss, DiscreteLaplaceLoss
from dpverify.base.rounding import as_fraction
from dpverify.claims.claim import ApproxDP, Claim, GaussianDP, PureDP, ZCDP
from dpverify.claims.curves import RenyiDP, TradeOff
from dpverify.claims.neighbours import Relation
from dpverify.errors import DpverifyError, ParameterError
from dpverify.ledger import description
from dpverify.ledger.compound_events import (
    AboveThreshold,
    BoundedRange,
    DominatingPair,
    Filtered,
    FixedSizeSampled,
    MatrixGaussian,
    PoissonSampled,
    Shuffled,
)
from dpverify.ledger.events import (
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
from dpverify.ledger.laws import LaplaceLaw, Mixture, Normal, PiecewiseConstant, Truncated

R, A = Relation.REPLACE_ONE, Relation.ADD_OR_REMOVE_ONE


def moves(size=1):
    return Sensitivity(replace=size, add_remove=size)


ONE = moves()
INSIDE = Ledger(LaplaceNoise(scale=1.0, sensitivity=ONE))
NORMAL = Normal(0.0, 1.0)

VALUES = {
    "nothing": None,
    "true": True,
    "numpy's true": np.bool_(True),
    "text": "1",
    "no text": "",
    "bytes": b"1",
    "nan": math.nan,
    "inf": math.inf,
    "minus inf": -math.inf,
    "minus one": -1,
    "minus zero": -0.0,
    "zero": 0,
    "half": 0.5,
    "two": 2,
    "subnormal": 5e-324,
    "the largest float": 1.7976931348623157e308,
    "beyond floats": 10**400,
    "beyond digits": 10**5000,
    "below floats": -(10**400),
    "third": Fraction(1, 3),
    "a fraction beyond floats": Fraction(10**400),
    "a tiny fraction": Fraction(1, 10**400),
    "a decimal": Decimal("0.5"),
    "not a decimal": Decimal("NaN"),
    "complex": 1j,
    "half a float": np.float16(0.5),
    "long": np.longdouble("0.1"),
    "too long": np.longdouble("1e4000"),
    "unsigned": np.uint64(2**63),
    "zero dimensions": np.array(1.0),
    "an array": np.array([1.0, 2.0]),
    "a list": [1],
    "a tuple": (1,),
    "a dict": {},
    "a class": int,
    "a relation": R,
}


def _laws(**changed):
    return FiniteLaws(**{"pairs": (((0.5, 0.5), (0.4, 0.6)),), "relation": R, **changed})


def _pair(**changed):
    return DominatingPair(**{"p": Normal(1.0, 1.0), "q": NORMAL, "relation": R, **changed})


def _matrix(**changed):
    return MatrixGaussian(**{"strategy": ((1.0, 0.0), (1.0, 1.0)), "sigma": 1.0, "movement": ONE, **changed})


VECTOR = {"threshold_scale": 1.0, "query_scale": 1.0, "sensitivity": ONE}
PLACES = {
    "size": lambda x: LaplaceNoise(scale=1.0, sensitivity=moves(x)),
    "one of the shifts": lambda x: LaplaceNoise(scale=1.0, sensitivity=moves([x])),
    "size of a shift": lambda x: GaussianNoise(sigma=1.0, sensitivity=moves(Shift(x))),
    "count of a shift": lambda x: LaplaceNoise(scale=1.0, sensitivity=moves(Shift(1, x))),
    "direction": lambda x: LaplaceNoise(scale=1.0, sensitivity=moves(Shift(1, 1, x))),
    "whole size": lambda x: DiscreteLaplaceNoise(scale=1.0, sensitivity=moves(x)),
    "what": lambda x: LaplaceNoise(scale=1.0, sensitivity=ONE, what=x),
    **{
        f"{name} of {made.__name__}": lambda x, made=made, name=name, others=others: made(**{name: x, **others})
        for made, name, others in (
            (LaplaceNoise, "scale", {"sensitivity": ONE}),
            (LaplaceNoise, "sensitivity", {"scale": 1.0}),
            (GaussianNoise, "sigma", {"sensitivity": ONE}),
            (DiscreteLaplaceNoise, "scale", {"sensitivity": ONE}),
            (DiscreteLaplaceNoise, "sensitivity", {"scale": 1.0}),
            (DiscreteGaussianNoise, "sigma", {"sensitivity": ONE}),
            (BinomialNoise, "trials", {"probability": 0.5, "sensitivity": ONE}),
            (BinomialNoise, "probability", {"trials": 9, "sensitivity": ONE}),
            (BinomialNoise, "sensitivity", {"trials": 9, "probability": 0.5}),
            (KaryResponse, "k", {"eps": 1.0, "reports": ONE}),
            (KaryResponse, "eps", {"k": 3, "reports": ONE}),
            (KaryResponse, "reports", {"k": 3, "eps": 1.0}),
            (PureStep, "eps", {"uses": ONE}),
            (PureStep, "uses", {"eps": 1.0}),
            *((AboveThreshold, name, {k: v for k, v in VECTOR.items() if k != name}) for name in VECTOR),
            *((AboveThreshold, name, VECTOR) for name in ("count", "monotone", "fresh", "value_scale")),
            (BoundedRange, "eps", {"uses": ONE}),
            (BoundedRange, "uses", {"eps": 1.0}),
            (Shuffled, "local_eps", {"users": 9}),
            (Shuffled, "users", {"local_eps": 1.0}),
            (PoissonSampled, "rate", {"inside": INSIDE}),
            (PoissonSampled, "inside", {"rate": 0.5}),
            (FixedSizeSampled, "sampled", {"of": 9, "inside": INSIDE}),
            (FixedSizeSampled, "of", {"sampled": 1, "inside": INSIDE}),
            (FixedSizeSampled, "inside", {"sampled": 1, "of": 9}),
            (OneOf, "branches", {}),
            (Disjoint, "branches", {}),
            (Disjoint, "assigned", {"branches": (Ledger(), Ledger())}),
            (Filtered, "budget", {}),
        )
    },
    "a branch": lambda x: OneOf(branches=(x,)),
    "pairs of laws": lambda x: _laws(pairs=x),
    "a pair of laws": lambda x: _laws(pairs=(x,)),
    "a listed law": lambda x: _laws(pairs=((x, (0.5, 0.5)),)),
    "a weight": lambda x: _laws(pairs=(((x, 0.5), (0.5, 0.5)),)),
    "relation of laws": lambda x: _laws(relation=x),
    "directed": lambda x: _laws(directed=x),
    "p": lambda x: _pair(p=x),
    "relation of a pair": lambda x: _pair(relation=x),
    "mean": lambda x: _pair(p=Normal(x, 1.0)),
    "sigma": lambda x: _pair(p=Normal(1.0, x)),
    "scale": lambda x: _pair(p=LaplaceLaw(1.0, x)),
    "a weight of a mixture": lambda x: _pair(p=Mixture((x, 1.0), (NORMAL, NORMAL))),
    "weights of a mixture": lambda x: _pair(p=Mixture(x, (NORMAL,))),
    "laws of a mixture": lambda x: _pair(p=Mixture((1.0,), x)),
    "an end": lambda x: _pair(p=Truncated(NORMAL, x, 9.0)),
    "a truncated law": lambda x: _pair(p=Truncated(x, -9.0, 9.0)),
    "an edge": lambda x: _pair(p=PiecewiseConstant((-9.0, x, 9.0), (1.0, 1.0))),
    "a height": lambda x: _pair(p=PiecewiseConstant((-9.0, 0.0, 9.0), (1.0, x))),
    "edges": lambda x: _pair(p=PiecewiseConstant(x, (1.0,))),
    "strategy": lambda x: _matrix(strategy=x),
    "a row": lambda x: _matrix(strategy=(x,)),
    "an entry": lambda x: _matrix(strategy=((x,),)),
    "movement": lambda x: _matrix(movement=x),
    "participations": lambda x: _matrix(participations=x),
    "separation": lambda x: _matrix(separation=x),
    "a pure budget": lambda x: Filtered(budget=PureDP(x)),
    "a zCDP budget": lambda x: Filtered(budget=ZCDP(x)),
    "a GDP budget": lambda x: Filtered(budget=GaussianDP(x)),
    "times": lambda x: INSIDE * x,
    "an event": lambda x: x,
}


def _tried(place, value, relation):
    try:
        found = PLACES[place](value)
        return eps_upper(found if isinstance(found, Ledger) else Ledger(found), delta=0.0, relation=relation)
    except DpverifyError as error:
        return str(error)


@pytest.mark.parametrize("place", PLACES)
def test_every_place_of_every_event(place):
    """At delta = 0, which is quick; what is computed beyond it has numbers of the same kinds only."""
    for name, value in VALUES.items():
        for relation in Relation:
            found = _tried(place, value, relation)
            if isinstance(found, str):
                assert "\n" not in found, name
                assert len(found) < 600, name
            else:
                assert found >= 0, name


# --- the ends of the floats

SIZES = (5e-324, 1e-300, 1e-16, 1e-3, 1.0, 1e16, 1e308)
EPS = (0.0, 5e-324, 1e-16, 40.0, 1.7e308)
DELTAS = (0.0, 5e-324, 1e-300, 1e-16, 0.5, 1 - 2.0**-53)
ORDERS = (1 + 2.0**-52, 1 + 1e-9, 2.0, 1e16, 1.7e308)
UNPROVED = Fraction(1, 10**400)


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
    "sparse vector": lambda s: AboveThreshold(threshold_scale=s, query_scale=s, value_scale=s, sensitivity=moves()),
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


# --- fractions and NumPy's numbers

NUMBERS = (Fraction(1, 3), np.float32(0.3), np.float16(0.3), np.longdouble(1) / 3, np.float64(0.3), 1, np.int8(1))


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
    assert len(description.rows(Ledger(noisy), R)) == 1


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
    monkeypatch.setattr(noise_losses, "BLOCKS", 2**12)
    monkeypatch.setattr(noise_losses, "MOST_FLIPS", 10**7)
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
    monkeypatch.setattr(noise_losses, "BLOCKS", 3000)
    for loss in (DiscreteLaplaceLoss(Fraction(15_000), 21_000), DiscreteGaussianLoss(Fraction(20_000), 20_000)):
        (order,), whole = loss._blocks()[Direction.UP], loss.orders()[Direction.UP][0]
        assert len(order.loss) < len(whole.loss) / 2
        for eps in np.linspace(-1, 1.3, 26):
            assert whole.delta(eps) <= order.delta(eps) <= whole.delta(eps) * (1 + 1e-3) + 1e-6


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


@pytest.mark.parametrize("order", ["2", None, 1j, math.nan, 1.0, math.inf, True, -2])
def test_an_impossible_order_is_refused(order):
    with pytest.raises(ParameterError, match="alpha"):
        renyi_upper(laplace(1.0), alpha=order, relation=R)


# --- narrow numbers

WHOLE = [np.int8, np.uint8]


def ledgers(n):
    """Name -> (ledger, relation) with whole numbers up to 127 made by `n`."""
    one = Sensitivity(replace=Shift(1, n(1)), add_remove=Shift(1, n(1)))
    laplace = LaplaceNoise(scale=n(100), sensitivity=Sensitivity.doubled(add_remove=Shift(n(127), n(100))))
    step = Ledger(LaplaceNoise(scale=1.0, sensitivity=one))
    return {
        "doubled": (Ledger(laplace), R),
        "times": (Ledger(laplace) * n(100) * n(100), R),
        "integer noise": (
            Ledger(DiscreteLaplaceNoise(scale=n(50), sensitivity=Sensitivity(replace=Shift(n(100), n(9))))),
            R,
        ),
        "gauss": (Ledger(GaussianNoise(sigma=n(90), sensitivity=Sensitivity(replace=Shift(n(120), n(50))))), R),
        "binomial": (Ledger(BinomialNoise(trials=n(120), probability=0.5, sensitivity=one)) * n(3), R),
        "response": (Ledger(KaryResponse(k=n(100), eps=0.01, reports=Sensitivity(replace=Shift(1, n(100))))), R),
        "pure": (Ledger(PureStep(eps=n(2), uses=Sensitivity(replace=Shift(1, n(100))))), R),
        "sampled": (Ledger(PoissonSampled(rate=0.5, inside=step)) * n(100), A),
        "fixed size": (Ledger(FixedSizeSampled(sampled=n(60), of=n(100), inside=step)) * n(100), R),
        "shuffled": (Ledger(Shuffled(local_eps=n(1), users=n(120))), R),
        "matrix": (
            Ledger(
                MatrixGaussian(
                    sigma=n(100),
                    strategy=[[n(100), 0], [n(100), n(100)]],
                    movement=one,
                    participations=n(2),
                    separation=n(1),
                )
            ),
            R,
        ),
    }


PLAIN = ledgers(int)


def asked(ledger, relation, k=None):
    """eps at 1e-6, or delta at 1 of a group of k."""
    if k is None:
        return eps_upper(ledger, delta=1e-6, relation=relation)
    return delta_upper(group_of(ledger, k), eps=1.0, relation=relation)


@pytest.mark.parametrize("name", PLAIN)
def test_an_account_is_that_of_python_s_numbers(name):
    plain, relation = PLAIN[name]
    grouped = name not in ("matrix", "fixed size", "shuffled", "sampled")
    known = asked(plain, relation), asked(plain, relation, 3) if grouped else None
    for kind in WHOLE:
        narrow, same = ledgers(kind)[name]
        assert (narrow, same) == (plain, relation)
        assert asked(narrow, relation) == known[0]
        for k in (3, kind(3)) if grouped else ():
            assert asked(narrow, relation, k) == known[1]
