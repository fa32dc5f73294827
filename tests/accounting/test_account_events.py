"""Pairs of laws, bounded range, shuffling, matrix noise, filters, groups: each against an oracle of its own."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from dpverify import GaussianDP, PureDP, Relation, RenyiDP, TradeOff, ZCDP
from dpverify.accounting.accountant import (
    account,
    delta_upper,
    eps_upper,
    factor_upper,
    meets,
    mu_upper,
    pure_eps,
    renyi_upper,
    rho_upper,
)
from dpverify.accounting.groups import group_of, odometer_eps
from dpverify.errors import AccountingError, ParameterError
from dpverify.ledger.compound_events import (
    BoundedRange,
    DominatingPair,
    Filtered,
    largest_norm,
    MatrixGaussian,
    PoissonSampled,
    Shuffled,
)
from dpverify.ledger.events import (
    BinomialNoise,
    DiscreteLaplaceNoise,
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

A, R = Relation.ADD_OR_REMOVE_ONE, Relation.REPLACE_ONE
ONE = Sensitivity(add_remove=1, replace=1)


def rng():
    return np.random.Generator(np.random.PCG64(11))


# --- laws ---------------------------------------------------------------------------------------------------

LAWS = {
    "normal": Normal(0.5, 2.0),
    "laplace": LaplaceLaw(-1.0, 0.7),
    "steps": PiecewiseConstant((-2.0, -0.5, 1.0, 3.0), (1.0, 0.0, 2.5)),
    "mixture": Mixture((1.0, 3.0), (Normal(0.0, 1.0), Normal(2.0, 0.5))),
    "truncated": Truncated(LaplaceLaw(0.0, 1.0), -2.0, 5.0),
    "mixed": Mixture((0.5, 0.5), (Truncated(Normal(0.0, 1.0), -1.0, 1.0), LaplaceLaw(0.0, 1.0))),
}


@pytest.mark.parametrize("name", LAWS)
def test_masses_are_integrals_of_densities(name):
    law = LAWS[name]
    low, high = law.spread(1e-9)
    edges = np.unique(np.concatenate([np.linspace(low, high, 40), [k for k in law.knots if low < k < high]]))
    x, weight = np.polynomial.legendre.leggauss(30)
    with np.errstate(under="ignore"):
        nodes = edges[:-1, None] + np.diff(edges)[:, None] * (x + 1) / 2
        density = np.exp(law.log_density(nodes.ravel())).reshape(nodes.shape)
    quadrature = (density * weight / 2).sum(axis=1) * np.diff(edges)
    masses = law.masses(edges)
    assert masses == pytest.approx(quadrature, rel=1e-10, abs=1e-300)
    assert masses.sum() + law.outside(float(edges[0]), float(edges[-1])) == pytest.approx(1, abs=1e-8)
    draws = law.sample(rng=rng(), size=20_000)
    seen = np.histogram(draws, edges)[0]
    # a false alarm has probability 1e-9 (chi-square over cells with at least 5 expected)
    expected = masses * 20_000
    told = expected >= 5
    assert ((seen - expected)[told] ** 2 / expected[told]).sum() < stats.chi2.isf(1e-9, told.sum())


@pytest.mark.parametrize("name", LAWS)
def test_slopes_and_curvatures_bound_the_log_density(name):
    law = LAWS[name]
    low, high = law.spread(1e-6)
    edges = np.unique(np.concatenate([np.linspace(low, high, 300), [k for k in law.knots if low < k < high]]))
    start, end = edges[:-1], edges[1:]
    width = end - start
    inner = [law.log_density(start + width * share) for share in (0.2, 0.5, 0.8)]
    live = np.isfinite(inner).all(axis=0)
    with np.errstate(invalid="ignore"):
        slope = (inner[2] - inner[0]) / (0.6 * width)
        bend = (inner[0] - 2 * inner[1] + inner[2]) / (0.3 * width) ** 2
    least, largest = law.slope(start, end)
    assert (slope[live] >= least[live] - 1e-9).all()
    assert (slope[live] <= largest[live] + 1e-9).all()
    least, largest = law.curvature(start, end)
    assert (bend[live] >= least[live] - 1e-6).all()
    assert (bend[live] <= largest[live] + 1e-6).all()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Normal(math.nan, 1.0),
        lambda: Normal(0.0, 0.0),
        lambda: LaplaceLaw(0.0, -1.0),
        lambda: PiecewiseConstant((0.0, 1.0), (1.0, 1.0)),
        lambda: PiecewiseConstant((1.0, 0.0), (1.0,)),
        lambda: PiecewiseConstant((0.0, 1.0), (0.0,)),
        lambda: PiecewiseConstant((0.0, 1.0), (math.nan,)),
        lambda: Mixture((1.0,), (Normal(0.0, 1.0), Normal(1.0, 1.0))),
        lambda: Mixture((0.0,), (Normal(0.0, 1.0),)),
        lambda: Mixture((), ()),
        lambda: Truncated(Normal(0.0, 1.0), 1.0, 1.0),
        lambda: Truncated(Normal(0.0, 1.0), 0.0, math.nan),
        lambda: Truncated("normal", 0.0, 1.0),
        lambda: DominatingPair(p="normal", q=Normal(0.0, 1.0), relation=R),
        lambda: DominatingPair(p=Normal(0.0, 1.0), q=Normal(0.0, 1.0), relation="replace-one"),
    ],
)
def test_impossible_laws(make):
    with pytest.raises(ParameterError):
        make()


# --- pairs of laws ------------------------------------------------------------------------------------------


def pair(p, q, directed=False, relation=R):
    return Ledger(DominatingPair(p=p, q=q, relation=relation, directed=directed))


def divergence(p, q, eps, points=200_001):
    """max of the two orders by midpoints; good to some 1e-5."""
    ends = [end for law in (p, q) for end in law.spread(1e-14)]
    edges = np.unique(np.concatenate([np.linspace(min(ends), max(ends), points), p.knots, q.knots]))
    first, second = p.masses(edges), q.masses(edges)
    return max(np.maximum(a - math.exp(eps) * b, 0).sum() for a, b in ((first, second), (second, first)))


PAIRS = {
    "normal": (Normal(0.0, 1.0), Normal(1.0, 1.5)),
    "laplace": (LaplaceLaw(0.0, 1.0), LaplaceLaw(1.0, 1.0)),
    "laplaces": (LaplaceLaw(0.0, 1.0), LaplaceLaw(0.0, 2.0)),
    "truncated": (Truncated(LaplaceLaw(0.0, 1.0), -6.0, 6.0), Truncated(LaplaceLaw(1.0, 1.0), -5.0, 7.0)),
    "staircase": (
        PiecewiseConstant((-2.0, -1.0, 1.0, 2.0), (1.0, 3.0, 1.0)),
        PiecewiseConstant((-2.0, 0.0, 2.0), (1.0, 3.0)),
    ),
    "group": (
        Mixture((0.81, 0.18, 0.01), (Normal(0.0, 1.0), Normal(1.0, 1.0), Normal(2.0, 1.0))),
        Normal(0.0, 1.0),
    ),
    "hill": (Mixture((0.5, 0.5), (Normal(-1.0, 1.0), Normal(1.0, 1.0))), Normal(0.0, 1.0)),  # not monotone
}


@pytest.mark.parametrize("name", PAIRS)
def test_the_divergence_of_a_pair(name):
    p, q = PAIRS[name]
    for eps in (0.0, 0.3, 1.0, 2.5):
        truth = divergence(p, q, eps)
        found = delta_upper(pair(p, q), eps=eps, relation=R)
        # sums over cells lie below the truth, by less than 1e-3 of it here
        assert truth * (1 - 1e-9) - 1e-12 <= found <= truth * (1 + 1e-3) + 1e-9


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30])
@pytest.mark.parametrize("far", [0.0, 1e8, -1e11, 1e12, 1e13, -1e14, 1e15])
def test_laws_far_from_zero_keep_their_kinks(far, scale):
    """There floats are few: a cell of the pair must not have a kink inside, whatever it costs in width."""
    p, q = (LaplaceLaw((far + at) * scale, scale) for at in (0.0, 1.0))
    for eps in (0.0, 0.5, 0.99, 1 - 1e-6):
        with mpmath.workdps(40):
            first, second, width = (mpmath.mpf(each) for each in (p.mean, q.mean, p.scale))
            truth = max(mpmath.mpf(0), -mpmath.expm1((mpmath.mpf(eps) - (second - first) / width) / 2))
        found = delta_upper(pair(p, q), eps=eps, relation=R)
        assert truth <= found
        if abs(far) <= 1e12:
            assert found <= truth * (1 + 1e-3) + 1e-5
    near, wide = (Truncated(LaplaceLaw(far * scale, k * scale), (far - 9) * scale, (far + 9) * scale) for k in (1, 2))
    with mpmath.workdps(
        40
    ):  # of width 1 against width 2, cut at +-9: eps of both orders are at the middle and the ends
        cut = [
            -mpmath.expm1(-(mpmath.mpf(near.high) - mpmath.mpf(near.low)) / 2 / (k * mpmath.mpf(scale))) for k in (1, 2)
        ]
        truth = mpmath.log(2 * cut[1] / cut[0])
    if scale == 1.0:  # other widths are not those numbers
        assert truth * (1 - mpmath.mpf(10) ** -15) <= pure_eps(pair(near, wide), relation=R)


def test_pairs_that_are_events_already():
    """Normal, Laplace and finite laws cost what the events of old cost, alone and composed."""
    steps = (
        PiecewiseConstant((0.0, 1.0, 2.0, 3.0), (0.5, 0.3, 0.2)),
        PiecewiseConstant((0.0, 1.0, 2.0, 3.0), (0.4, 0.25, 0.35)),
    )
    finite = FiniteLaws(pairs=(((0.5, 0.3, 0.2), (0.4, 0.25, 0.35)),), relation=R, directed=True)
    same = [
        (pair(LaplaceLaw(3.0, 2.0), LaplaceLaw(4.0, 2.0)), Ledger(LaplaceNoise(scale=2.0, sensitivity=ONE)), 1e-4),
        (pair(*steps, directed=True), Ledger(finite), 1e-4),
    ]
    for new, old, close in same:
        for count, delta in ((1, 0.0), (1, 1e-3), (20, 1e-3), (20, 1e-9)):
            found, truth = (eps_upper(each * count, delta=delta, relation=R) for each in (new, old))
            assert truth * (1 - 1e-9) <= found <= truth * (1 + close) + 1e-12
    assert pair(Normal(0.0, 2.0), Normal(1.0, 2.0)) != Ledger(GaussianNoise(sigma=2.0, sensitivity=ONE))
    assert mu_upper(pair(Normal(0.0, 2.0), Normal(1.0, 2.0)), relation=R) == 0.5


def test_a_truncated_laplace_is_pure_but_for_its_ends():
    """delta = mass of the ends, (e^(1/b) - 1)/(2 (e^(r/b) - 1)) for range r; eps = 1/b elsewhere (Geng et al. 2020)."""
    for scale, reach in ((1.0, 10.0), (2.0, 40.0)):
        p, q = (Truncated(LaplaceLaw(at, scale), at - reach, at + reach) for at in (0.0, 1.0))
        ends = math.expm1(1 / scale) / (2 * math.expm1(reach / scale))
        found = delta_upper(pair(p, q), eps=1 / scale, relation=R)
        assert ends * (1 - 1e-9) <= found <= ends * (1 + 1e-4) + 1e-12
        assert pure_eps(pair(p, q), relation=R) == math.inf
    same = PiecewiseConstant((0.0, 1.0, 2.0), (1.0, 2.0)), PiecewiseConstant((0.0, 1.0, 2.0), (2.0, 1.0))
    assert math.log(2) <= pure_eps(pair(*same), relation=R) <= math.log(2) + 1e-12
    truth = mpmath.log(mpmath.mpf(1) / 3 * 2**-2 + mpmath.mpf(2) / 3 * 2**2) / 2  # D_3, order 2 for v = p/q
    assert truth * (1 - 1e-12) <= renyi_upper(pair(*same), alpha=3.0, relation=R) <= truth * (1 + 1e-6)


def test_pairs_are_stated_under_a_relation():
    with pytest.raises(AccountingError, match="stated under replace-one, not add-or-remove-one"):
        eps_upper(pair(*PAIRS["laplace"]), delta=0.1, relation=A)


# --- bounded range ------------------------------------------------------------------------------------------

RANGES = [  # eps, uses, delta, exact adaptive composition
    (0.1, 100, 1e-3, 1.35603),
    (0.1, 100, 1e-6, 2.25077),
    (0.1, 100, 1e-10, 3.07805),
    (1.0, 10, 1e-3, 5.5153),
    (1.0, 10, 1e-6, 7.7163),
    (1.0, 10, 1e-10, 9.0677),
    (0.4, 25, 1e-3, 3.14908),
    (0.4, 25, 1e-6, 4.81007),
    (0.4, 25, 1e-10, 6.28019),
]


def ranged(eps, uses=1):
    return Ledger(BoundedRange(eps=eps, uses=ONE)) * uses


@pytest.mark.parametrize(("eps", "uses", "delta", "truth"), RANGES)
def test_bounded_range_composes_as_its_worst_adaptive_sequence(eps, uses, delta, truth):
    assert truth * (1 - 1e-5) <= account(ranged(eps, uses), delta=delta) <= 1.01 * truth


@pytest.mark.parametrize("eps", [1e-3, 0.1, 1.0, 6.0, 30.0])
def test_divergences_of_a_bounded_range_are_those_of_its_worst_pair(eps):
    ledger, c = ranged(eps, 1), np.linspace(0, eps, 20_001)[1:-1]
    p, rest = np.expm1(c - eps) / math.expm1(-eps), np.expm1(c) * math.exp(-eps) / -math.expm1(-eps)
    for order in (1.01, 1.5, 2.0, 9.0, 100.0):
        b = order - 1
        if b * eps < 1:
            found = np.log1p(p * np.expm1(b * c) + rest * np.expm1(b * (c - eps))) / b
        else:
            found = np.logaddexp(np.log(p) + b * c, np.log(rest) + b * (c - eps)) / b
        truth = float(found.max())
        assert truth * (1 - 1e-9) <= renyi_upper(ledger, alpha=order, relation=R) <= truth * (1 + 1e-3)
    least = float((-special.ndtri(rest) - special.ndtri(p * np.exp(-c))).max())
    assert least * (1 - 1e-9) <= mu_upper(ledger, relation=R) <= least * 1.01


def test_fixed_pairs_and_enumerated_strategies_cost_no_more():
    """Brute force over strategies of three steps that look at what came before."""
    eps, choices = 1.0, np.linspace(0, 1.0, 9)

    def worst(steps, x):
        if not steps:
            return max(0.0, -math.expm1(x))
        values = []
        for c in choices:
            p = -math.expm1(c - eps) / -math.expm1(-eps)
            values.append(p * worst(steps - 1, x - c) + (1 - p) * worst(steps - 1, x - c + eps))
        return max(values)

    for x in (0.0, 0.5, 1.5, 2.5):
        truth = worst(3, x)
        assert truth <= delta_upper(ranged(eps, 3), eps=x, relation=R) <= 1.02 * truth


# --- shuffling ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("local", [1e-12, 1e-8, 1e-4, 0.5, 1.0, 3.0, 30.0])
@pytest.mark.parametrize("users", [2, 5])
def test_the_clone_pair_by_enumeration(local, users):
    """Also where eps0 is small and next to the largest loss: there a rounded loss is all that is left of delta."""
    with mpmath.workdps(60):
        grown = mpmath.exp(mpmath.mpf(local))
        laws = {}, {}
        for clones in range(users):
            chance = mpmath.binomial(users - 1, clones) * grown**-clones * (1 - 1 / grown) ** (users - 1 - clones)
            for a in range(clones + 1):
                for b, told in ((1, grown / (1 + grown)), (0, 1 / (1 + grown))):
                    mass = chance * mpmath.binomial(clones, a) / mpmath.mpf(2) ** clones * told
                    outputs = (a + b, clones - a + 1 - b), (a + 1 - b, clones - a + b)
                    for law, output in zip(laws, outputs, strict=True):
                        law[output] = law.get(output, mpmath.mpf(0)) + mass
        for share in (0.0, 0.1, 0.4, 0.9, 1 - 1e-6, 1 - 1e-11, 1 - 1e-15):
            eps = share * local
            factor = mpmath.exp(mpmath.mpf(eps))
            truth = mpmath.fsum(max(mpmath.mpf(0), p - factor * laws[1].get(at, 0)) for at, p in laws[0].items())
            found = delta_upper(Ledger(Shuffled(local_eps=local, users=users)), eps=eps, relation=R)
            assert truth <= found <= truth * (1 + 1e-3) + 1e-3 * local * (1 - share) + 1e-9 * local


@pytest.mark.parametrize(("local", "users"), [(1.0, 50), (0.3, 12), (3.0, 20)])
def test_divergences_and_mu_of_shuffled_reports_are_those_of_the_clone_pair(local, users):
    told = 1 / (1 + math.exp(-local))
    losses, masses = [], []
    for clones in range(users):
        i = np.arange(clones + 2)
        ways = stats.binom.pmf(np.arange(-1, clones + 2), clones, 0.5)
        masses.append(stats.binom.pmf(clones, users - 1, math.exp(-local)) * (told * ways[:-1] + (1 - told) * ways[1:]))
        losses.append(np.log((math.exp(local) * i + clones + 1 - i) / (i + math.exp(local) * (clones + 1 - i))))
    loss, p = np.concatenate(losses), np.concatenate(masses)
    p, loss = p[np.argsort(loss)], np.sort(loss)
    ledger = Ledger(Shuffled(local_eps=local, users=users))
    orders = [1 + 1e-4, 1.5, 2.0, 5.0, 30.0, 300.0]
    truth = [float(special.logsumexp((a - 1) * loss, b=p)) / (a - 1) for a in orders]
    found = [renyi_upper(ledger, alpha=a, relation=R) for a in orders]
    assert all(a * (1 - 1e-8) <= b <= a * (1 + 1e-3) for a, b in zip(truth, found, strict=True))
    assert found == sorted(found)
    mesh = 1 + np.geomspace(1e-3, 1e4, 400)
    rho = max(float(special.logsumexp((a - 1) * loss, b=p)) / (a - 1) / a for a in mesh)
    assert rho * (1 - 1e-6) <= rho_upper(ledger, relation=R) <= rho * (1 + 2e-3)
    below, above = np.cumsum(p)[:-1], np.cumsum(p[::-1])[::-1][1:]
    power = np.where(above < 0.5, special.ndtri(above), -special.ndtri(below))
    q = np.cumsum((p * np.exp(-loss))[::-1])[::-1][1:]
    mu = float((power - special.ndtri(q))[q <= below].max())
    assert mu * (1 - 1e-6) <= mu_upper(ledger, relation=R) <= mu * (1 + 2e-3)


# --- matrix noise -------------------------------------------------------------------------------------------


def toeplitz(coefficients):
    n = len(coefficients)
    return tuple(tuple(coefficients[i - j] if j <= i else 0.0 for j in range(n)) for i in range(n))


def enumerated(strategy, participations, separation):
    gram = np.abs(np.array(strategy).T @ np.array(strategy))
    best = 0.0
    for size in range(1, participations + 1):
        for steps in itertools.combinations(range(len(strategy)), size):
            if all(b - a >= separation for a, b in itertools.pairwise(steps)):
                best = max(best, gram[np.ix_(steps, steps)].sum())
    return math.sqrt(best)


def test_the_prefix_matrix_of_four_steps():
    event = MatrixGaussian(
        strategy=toeplitz((1.0, 0.5, 0.375, 0.3125)), sigma=2.0, movement=ONE, participations=2, separation=2
    )
    assert float(event.sensitivity(R)) ** 2 == pytest.approx(3.80078125, rel=1e-12)
    assert mu_upper(Ledger(event), relation=R) == pytest.approx(math.sqrt(3.80078125) / 2, rel=1e-12)
    twice = Sensitivity.doubled(add_remove=1.0)
    doubled = MatrixGaussian(strategy=((1.0,),), sigma=1.0, movement=twice)
    assert mu_upper(Ledger(doubled), relation=A) == pytest.approx(1.0)
    assert mu_upper(Ledger(doubled), relation=R) == pytest.approx(2.0)


@given(
    st.integers(2, 8),
    st.integers(1, 4),
    st.integers(1, 4),
    st.integers(0, 2**32),
    st.sampled_from(["any", "banded", "falling"]),
)
def test_sensitivity_is_the_largest_norm(n, participations, separation, seed, kind):
    random = np.random.Generator(np.random.PCG64(seed))
    strategy = np.tril(random.normal(size=(n, n)))
    if kind == "banded":
        strategy *= np.subtract.outer(np.arange(n), np.arange(n)) < separation
    if kind == "falling":
        strategy = np.array(toeplitz(tuple(np.sort(random.random(n))[::-1])))
    rows = tuple(map(tuple, strategy.tolist()))
    truth = enumerated(rows, participations, separation)
    assert truth * (1 - 1e-12) <= largest_norm(rows, participations, separation) <= truth * (1 + 1e-8) + 1e-12


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"strategy": ((1.0, 1.0), (0.0, 1.0))}, "lower triangular"),
        ({"strategy": ((1.0,), (0.0, 1.0))}, "lower triangular"),
        ({"strategy": ()}, "at least one row"),
        ({"strategy": ((math.nan,),)}, "strategy"),
        ({"sigma": 0.0}, "sigma"),
        ({"participations": 0}, "participations"),
        ({"separation": 1.5}, "separation"),
    ],
)
def test_impossible_matrices(changed, message):
    with pytest.raises(ParameterError, match=message):
        MatrixGaussian(**{"strategy": ((1.0,),), "sigma": 1.0, "movement": ONE, **changed})
    with pytest.raises(AccountingError, match="one l2 distance"):
        account(Ledger(MatrixGaussian(strategy=((1.0,),), sigma=1.0, movement=Sensitivity(replace=Shift(1, 2)))))


# --- filters ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [ZCDP(0.5), GaussianDP(1.0), PureDP(1.0)], ids=str)
def test_a_filter_costs_its_budget(budget):
    ledger = Ledger(Filtered(budget=budget))
    assert meets(budget, ledger)
    assert not meets(budget.with_number(0.999 * budget.number), ledger)
    assert account(ledger, delta=1e-6) == pytest.approx(budget.eps_at(1e-6), rel=1e-6)
    composed = account(ledger + Ledger(GaussianNoise(sigma=1.0, sensitivity=ONE)), delta=1e-6)
    assert math.isfinite(composed)
    with pytest.raises(AccountingError, match="stated under replace-one"):
        eps_upper(ledger, delta=1e-6, relation=A)
    with pytest.raises(ParameterError, match="budget"):
        Filtered(budget=RenyiDP(((2, 1),)))


def test_an_odometer_rounds_up_to_filters():
    base, delta = ZCDP(0.5), 1e-6
    steps = [odometer_eps(spent, base=base, delta=delta) for spent in (0.0, 0.5, 0.500001, 1.0, 1.1, 3.9)]
    assert steps == sorted(steps)
    assert steps[0] == steps[1] < steps[2] == steps[3] < steps[4]
    # each filter at a share of delta, and the shares add up to no more than delta
    for j, spent in ((0, 0.5), (1, 1.0), (3, 4.0)):
        share = 6 * delta / (math.pi * (j + 1)) ** 2
        assert odometer_eps(spent, base=base, delta=delta) == pytest.approx(ZCDP(0.5 * 2**j).eps_at(share), rel=1e-6)
    assert sum(6 / (math.pi * (j + 1)) ** 2 for j in range(10**5)) <= 1
    assert odometer_eps(1.0, base=GaussianDP(1.0), delta=delta) < odometer_eps(1.01, base=GaussianDP(1.0), delta=delta)


# --- groups -------------------------------------------------------------------------------------------------


def test_groups_of_additive_noise_move_further():
    moves = Sensitivity(add_remove=Shift(1, 2), replace=Shift(2, 2))
    for noise in (LaplaceNoise(scale=3.0, sensitivity=moves), GaussianNoise(sigma=3.0, sensitivity=moves)):
        grouped = group_of(Ledger(noise) * 4, 3)
        ((event, times),) = grouped.counted
        assert (event.sensitivity, times) == (Sensitivity(add_remove=Shift(3, 2), replace=Shift(6, 2)), 4)
    discrete = DiscreteLaplaceNoise(scale=3.0, sensitivity=moves)
    assert group_of(Ledger(discrete), 2).events[0].sensitivity.add_remove == (Shift(2, 2),)
    assert group_of(Ledger(discrete), 3).events[0].sensitivity.add_remove == (Shift(3, 3),)
    assert group_of(Ledger(discrete), 1) == Ledger(discrete)


@settings(max_examples=12)
@given(st.integers(2, 3), st.integers(1, 2), st.integers(0, 10**6))
def test_no_way_to_move_a_group_costs_more(k, count, seed):
    """Random numbers m_i <= k of moves of coordinate i, k count in all, against the account of the group."""
    random = np.random.Generator(np.random.PCG64(seed))
    moves = []
    left = k * count
    while left:
        moves.append(int(random.integers(1, min(k, left) + 1)))
        left -= moves[-1]
    shifts = Sensitivity(replace=tuple(Shift(m) for m in moves))
    once = Sensitivity(replace=Shift(1, count))
    for make in (
        lambda s: LaplaceNoise(scale=2.0, sensitivity=s),
        lambda s: DiscreteLaplaceNoise(scale=2.0, sensitivity=s),
        lambda s: BinomialNoise(trials=400, probability=0.5, sensitivity=s),
    ):
        for delta in (1e-3,):
            one, group = (
                account(Ledger(make(shifts)), delta=delta),
                account(group_of(Ledger(make(once)), k), delta=delta),
            )
            assert one <= group * (1 + 2e-3)
    steps = Ledger(*(PureStep(eps=0.3 * m, uses=ONE) for m in moves))
    group = group_of(Ledger(PureStep(eps=0.3, uses=Sensitivity(replace=Shift(1, count)))), k)
    assert account(steps, delta=1e-3) <= account(group, delta=1e-3) * (1 + 2e-3)


def test_groups_of_other_events():
    response = Ledger(KaryResponse(k=3, eps=1.0, reports=ONE))
    assert group_of(response, 4) == Ledger(
        KaryResponse(k=3, eps=1.0, reports=Sensitivity(add_remove=Shift(1, 4), replace=Shift(1, 4)))
    )
    laws = FiniteLaws(pairs=(((0.6, 0.4), (0.4, 0.6)),), relation=R)
    assert account(group_of(Ledger(laws), 2)) == pytest.approx(2 * math.log(1.5))
    assert meets(ZCDP(2.0), group_of(Ledger(Filtered(budget=ZCDP(0.5))), 2))
    assert meets(GaussianDP(3.0), group_of(Ledger(Filtered(budget=GaussianDP(1.0))), 3))
    matrix = MatrixGaussian(strategy=((1.0,),), sigma=1.0, movement=ONE)
    assert mu_upper(group_of(Ledger(matrix), 3), relation=R) == pytest.approx(3.0)
    skew = BinomialNoise(trials=10, probability=0.3, sensitivity=ONE)
    sampled = PoissonSampled(rate=0.1, inside=Ledger(GaussianNoise(sigma=1.0, sensitivity=ONE)))
    for unknown in (skew, sampled, OneOf(branches=(response,))):
        with pytest.raises(AccountingError, match="no account of a group"):
            group_of(Ledger(unknown), 2)
    with pytest.raises(ParameterError, match="k"):
        group_of(response, 0)


# --- claims that are curves ---------------------------------------------------------------------------------


def gauss(sigma):
    return Ledger(GaussianNoise(sigma=sigma, sensitivity=ONE))


def test_renyi_claims_are_met_at_every_order():
    claim = RenyiDP(((2, 1.0), (8, 4.0)))
    assert meets(claim, gauss(1.0))
    assert not meets(claim, gauss(0.9999))
    assert not meets(RenyiDP(((2, 1.0), (8, 3.9))), gauss(1.0))
    assert factor_upper(claim, gauss(0.5)) == pytest.approx(4.0, rel=1e-12)
    assert factor_upper(claim, gauss(0.5)) >= 4
    laplace = Ledger(LaplaceNoise(scale=1.0, sensitivity=ONE))
    for alpha in (1.001, 2.0, 4.0, 32.0):
        with mpmath.workdps(40):
            a = mpmath.mpf(alpha)
            truth = mpmath.log(a / (2 * a - 1) * mpmath.exp(a - 1) + (a - 1) / (2 * a - 1) * mpmath.exp(-a)) / (a - 1)
        assert truth <= renyi_upper(laplace, alpha=alpha, relation=R) <= truth * (1 + mpmath.mpf(10) ** -6)
        assert renyi_upper(laplace * 7, alpha=alpha, relation=R) == pytest.approx(7 * float(truth), rel=1e-6)
    revealed = Ledger(FiniteLaws(pairs=(((1.0, 0.0), (0.0, 1.0)),), relation=R))
    assert not meets(claim, revealed)
    assert factor_upper(claim, revealed) == math.inf
    for bad in (1.0, 0.5, math.inf, math.nan):
        with pytest.raises(ParameterError, match="alpha"):
            renyi_upper(laplace, alpha=bad, relation=R)


def tangents(mu, exponents):
    lines = [
        (-math.exp(x), 1 - float(stats.norm.cdf(mu / 2 - x / mu) - math.exp(x) * stats.norm.cdf(-mu / 2 - x / mu)))
        for x in exponents
    ]
    meet = [(b - d) / (c - a) for (a, b), (c, d) in itertools.pairwise(lines)]
    inner = [(x, a * x + b) for x, (a, b) in zip(meet, lines, strict=False)]
    return TradeOff(((0.0, lines[0][1]), *inner, (-lines[-1][1] / lines[-1][0], 0.0)))


def test_trade_off_claims_are_met_on_every_segment():
    claim = tangents(1.0, (2.0, 1.0, 0.0, -1.0, -2.0))
    assert meets(claim, gauss(1 / 0.9999))
    assert not meets(claim, gauss(1 / 1.0001))
    assert 1.0 <= factor_upper(claim, gauss(1 / 1.2)) <= 1.5
    assert factor_upper(claim, gauss(1 / 0.5)) < 1
    revealed = Ledger(FiniteLaws(pairs=(((1.0, 0.0), (0.0, 1.0)),), relation=R))
    assert factor_upper(claim, revealed) == pytest.approx(1 / (1 - claim.points[0][1]), rel=2e-3)
    # an asymmetric curve: steep on one side only
    half = TradeOff(((0.0, 1.0), (0.2, 0.3), (0.8, 0.0)))
    assert meets(half, Ledger(LaplaceNoise(scale=5.0, sensitivity=ONE)))
    assert not meets(half, Ledger(LaplaceNoise(scale=0.5, sensitivity=ONE)))
    assert not meets(half, gauss(5.0))  # f(0) = 1 with a finite slope is a pure claim
    assert meets(TradeOff(((0.0, 0.99), (0.2, 0.3), (0.8, 0.0))), gauss(5.0))
    assert factor_upper(half, revealed) == math.inf


def test_vertices_are_not_enough_for_a_trade_off_claim():
    """Chords of the curve of mu-GDP: the Gaussian meets every vertex and no segment."""
    sizes = (0.0, 0.1, 0.3, 0.6, 1.0)
    points = [(a, float(stats.norm.cdf(stats.norm.ppf(1 - a) - 1))) if 0 < a < 1 else (a, 1 - a) for a in sizes]
    assert not meets(TradeOff(points), gauss(1.0))
