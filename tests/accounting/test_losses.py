"""Losses against 60-digit arithmetic: nothing below the truth, down to 1e-60; a mutation of each rounding is seen."""

import math
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpverify.accounting import discrete_losses, loss_laws, noise_losses
from dpverify.accounting.accountant import delta_upper, eps_upper, meets
from dpverify.accounting.discrete_losses import (
    AtomicLoss,
    KaryLoss,
    LawsLoss,
)
from dpverify.accounting.loss_laws import GridLaw, Loss, of_atoms, worst_of
from dpverify.accounting.noise_losses import (
    BinomialLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    LaplaceLoss,
)
from dpverify.claims import profiles
from dpverify.claims.claim import ApproxDP
from dpverify.claims.neighbours import Relation
from dpverify.errors import ParameterError
from dpverify.ledger import events
from dpverify.ledger.events import (
    Direction,
    FiniteLaws,
    GaussianNoise,
    Ledger,
    max_log_ratio,
    Sensitivity,
)
from oracles.finite_laws import delta_at, eps_at

R = Relation.REPLACE_ONE


def mp(x: Fraction | float) -> mpmath.mpf:
    x = Fraction(x)
    return mpmath.mpf(x.numerator) / x.denominator


def gaussian_delta(mu: mpmath.mpf, eps: mpmath.mpf) -> mpmath.mpf:
    return mpmath.ncdf(mu / 2 - eps / mu) - mpmath.exp(eps) * mpmath.ncdf(-mu / 2 - eps / mu)


def laplace_delta(a: mpmath.mpf, eps: mpmath.mpf) -> mpmath.mpf:
    if eps >= a:
        return mpmath.mpf(0)
    return -mpmath.expm1(eps) if eps <= -a else -mpmath.expm1((eps - a) / 2)


def from_laws(p: list[mpmath.mpf], q: list[mpmath.mpf]) -> Callable[[mpmath.mpf], mpmath.mpf]:
    total_p, total_q = mpmath.fsum(p), mpmath.fsum(q)

    def delta(eps: mpmath.mpf) -> mpmath.mpf:
        terms = [a / total_p - mpmath.exp(eps) * b / total_q for a, b in zip(p, q, strict=True)]
        return mpmath.fsum(term for term in terms if term > 0)

    return delta


def truth(loss: Loss) -> Callable[[mpmath.mpf], mpmath.mpf]:
    match loss:
        case LaplaceLoss():
            return lambda eps: laplace_delta(mp(loss.eps), eps)
        case GaussianLoss():
            return lambda eps: gaussian_delta(mpmath.sqrt(mp(loss.square)), eps)
        case KaryLoss():
            e = mpmath.exp(mp(loss.eps))
            return from_laws(
                [e, mpmath.mpf(1), *[mpmath.mpf(1)] * (loss.k - 2)], [mpmath.mpf(1), e, *[mpmath.mpf(1)] * (loss.k - 2)]
            )
        case DiscreteLaplaceLoss():
            x = range(-math.ceil(50 * loss.scale), math.ceil(50 * loss.scale) + loss.shift + 1)
            p, q = ([mpmath.exp(-abs(i - s) / mp(loss.scale)) for i in x] for s in (0, loss.shift))
            return from_laws(p, q)
        case DiscreteGaussianLoss():
            x = range(-math.ceil(20 * loss.sigma), math.ceil(20 * loss.sigma) + loss.shift + 1)
            p, q = ([mpmath.exp(-((i - s) ** 2) / (2 * mp(loss.sigma) ** 2)) for i in x] for s in (0, loss.shift))
            return from_laws(p, q)
        case BinomialLoss():
            n, c = loss.trials, mp(loss.probability)
            mass = [mpmath.binomial(n, i) * c**i * (1 - c) ** (n - i) for i in range(n + 1)]
            nothing = [mpmath.mpf(0)] * loss.shift
            both = mass + nothing, nothing + mass
            return from_laws(*(both if loss.direction is Direction.UP else both[::-1]))
        case LawsLoss():
            ((p, q),) = loss.pairs
            return from_laws([mp(x) for x in p], [mp(x) for x in q])
    raise NotImplementedError


LOSSES: list[Loss] = [
    *[LaplaceLoss(eps) for eps in (Fraction(1, 3), Fraction(1e-9), Fraction(40))],
    *[
        GaussianLoss(mu * mu)
        for mu in (Fraction(1, 3), Fraction(1, 10**7), Fraction(1, 10**12), Fraction(5), Fraction(30))
    ],
    KaryLoss(Fraction(1, 3), 2),
    KaryLoss(Fraction(7, 3), 11),
    DiscreteLaplaceLoss(Fraction(3), 1),
    DiscreteLaplaceLoss(Fraction(7, 3), 4),
    DiscreteGaussianLoss(Fraction(7, 3), 2),
    BinomialLoss(60, Fraction(1, 2), 1, direction=Direction.UP),
    BinomialLoss(40, Fraction(1, 7), 2, direction=Direction.UP),
    BinomialLoss(40, Fraction(1, 7), 2, direction=Direction.DOWN),
    LawsLoss((((0.75, 0.25), (0.25, 0.75)),), direction=Direction.UP),
    LawsLoss((((0.7, 0.2, 0.1 - 1e-17, 1e-17), (0.1, 0.2, 0.7 - 1e-12, 1e-12)),), direction=Direction.UP),
]
NAMES = [f"{type(loss).__name__}-{i}" for i, loss in enumerate(LOSSES)]


def borders(loss: Loss) -> list[float]:
    """Where a comparison can go wrong: next to the losses themselves; and between, up to deltas of 1e-60."""
    if isinstance(loss, AtomicLoss):
        at = np.unique(loss.chosen[0].loss)
        at = at[:: max(1, len(at) // 12)]
        return [
            float(x) for each in at for x in (each, *(np.nextafter(each, way) for way in (-np.inf, np.inf)), each / 3)
        ]
    if isinstance(loss, LaplaceLoss):
        a = float(loss.eps)
        return [-a * 1.5, -a, -a / 3, 0.0, a / 7, math.nextafter(a, 0), a, math.nextafter(a, math.inf)]
    mu = loss.mu
    return [mu * mu / 2 + k * mu for k in (-12, -6, -1, 0, 1, 3, 5, 9, 15, 30)] + [0.0]


@pytest.mark.parametrize("loss", LOSSES, ids=NAMES)
def test_profiles_are_above_the_truth_and_tight(loss: Loss) -> None:
    with mpmath.workdps(90):
        delta = truth(loss)
        for eps in borders(loss):
            exact, found = delta(mp(eps)), float(loss.profile(np.array([eps]))[0])
            assert found >= exact
            near = 1e-13 if isinstance(loss, AtomicLoss) else 2.0**-52  # an ulp of a loss, some of a logarithm
            if exact > 1e-290:
                size = abs(eps) if loss.mu < 1e-6 else max(abs(eps), 1)
                assert found <= exact * (1 + 2e-6) + 2e-33 + near * size


def points_of(loss: Loss) -> np.ndarray:
    low, high = loss.window(1e-25)
    size = 401 if isinstance(loss, GaussianLoss) else 41  # of a Gaussian a tenth of its deviation: narrow cells
    return np.linspace(low - 0.1 * (high - low), high + 0.1 * (high - low), size)


def law_delta(law: GridLaw, eps: mpmath.mpf) -> mpmath.mpf:
    return mp(law.infinite) + mpmath.fsum(
        mp(float(m)) * -mpmath.expm1(eps - mp(float(x)))
        for m, x in zip(law.masses, law.points, strict=True)
        if m and x > eps
    )


@pytest.mark.parametrize("loss", LOSSES, ids=NAMES)
def test_laws_on_points_are_above_the_loss(loss: Loss) -> None:
    """At the points, where the law above and the loss would be equal without rounding, and between them."""
    points = points_of(loss)
    with mpmath.workdps(90):
        delta, law = truth(loss), loss.on_points(points)
        each = max(1, len(points) // 40)
        for eps in (*points[::each], *(points[:-1:each] + np.diff(points)[::each] / 3)):
            assert law_delta(law, mp(float(eps))) >= delta(mp(float(eps)))
        middle = mp(float(points[len(points) // 2]))
        assert law_delta(law, middle) <= delta(middle) * (1 + mpmath.mpf("1e-6")) + mpmath.mpf("1e-32")


def test_atoms_are_moved_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """`of_atoms`: above the law of the atoms at each of them; a mutation with unit roundoff 0 is not."""

    def below() -> int:
        rng, found = np.random.Generator(np.random.PCG64(4)), 0
        for _ in range(20):
            points = np.linspace(-2.0, 2.0, 33)
            loss, p = np.sort(rng.uniform(-2, 2, 12)), rng.dirichlet(np.ones(12))
            law = of_atoms(points, loss, p, 0.0)
            for eps in points:
                here = GridLaw(loss, p, 0.0)
                found += law_delta(law, mp(float(eps))) < law_delta(here, mp(float(eps)))
        return found

    with mpmath.workdps(60):
        assert below() == 0
        monkeypatch.setattr(loss_laws, "UNIT", 0.0)
        assert below() > 0


@pytest.mark.parametrize("modules", [(loss_laws, noise_losses), (discrete_losses, noise_losses)])
def test_without_rounding_up_something_falls_below(modules: tuple[object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutations: unit roundoff 0 where losses of a kind are made and moved."""
    for module in modules:
        monkeypatch.setattr(module, "UNIT", 0.0)
    monkeypatch.setattr(discrete_losses, "_orders", discrete_losses._orders.__wrapped__)
    below = 0
    with mpmath.workdps(90):
        for loss in LOSSES:
            if isinstance(loss, DiscreteLaplaceLoss | DiscreteGaussianLoss | GaussianLoss) or below > 3:
                continue
            delta, points = truth(loss), points_of(loss)
            law = loss.on_points(points)
            below += any(law_delta(law, mp(float(eps))) < delta(mp(float(eps))) for eps in points)
            below += any(float(loss.profile(np.array([eps]))[0]) < delta(mp(eps)) for eps in borders(loss))
    assert below


@pytest.mark.parametrize("mu", [1e-9, 0.03, 1.0, 7.0, 300.0])
def test_gaussian_cells_have_their_relative_error(mu: float) -> None:
    loss = GaussianLoss(Fraction(mu) ** 2)
    with mpmath.workdps(60):
        m = mpmath.mpf(mu)
        for width in (1e-3, 0.02, 0.12, 0.13, 0.7):
            for start in (-25.0, -3.0, -width / 3, 0.4, 6.0, 30.0):
                edges = np.array([start, start + width]) * mu + mu * mu / 2
                found = loss.cells(edges)
                for shift, mass in ((-m / 2, found.p), (m / 2, found.q)):
                    z = [mp(float(x)) / m + shift for x in edges]
                    exact = (
                        mpmath.ncdf(-z[0]) - mpmath.ncdf(-z[1]) if start > 0 else mpmath.ncdf(z[1]) - mpmath.ncdf(z[0])
                    )
                    if exact > 1e-280:
                        assert abs(float(mass[0]) - exact) <= loss.eta * exact


def test_the_larger_of_several_laws() -> None:
    """`worst_of`: above both everywhere, equal to the larger at the points up to 1e-5."""
    rng = np.random.Generator(np.random.PCG64(2))
    points = np.linspace(-3, 3, 121)
    laws = [GridLaw(points, rng.dirichlet(np.full(121, 0.2)), 1e-9 * k) for k in range(3)]
    worst = worst_of(laws)
    with mpmath.workdps(60):
        for eps in (-5.0, -3.5, *points[::7], *(points[:-1:5] + 0.02), 3.5):
            each = max(law_delta(law, mp(float(eps))) for law in laws)
            assert each <= law_delta(worst, mp(float(eps)))
            if eps in points:
                assert law_delta(worst, mp(float(eps))) <= each * (1 + mpmath.mpf("1e-5")) + mpmath.mpf("1e-16")


# --- the five defects -------------------------------------------------------------------------------------------


def gaussian(sigma: float) -> Ledger:
    return Ledger(GaussianNoise(sigma=sigma, sensitivity=Sensitivity(replace=1)))


@pytest.mark.parametrize(
    ("sigma", "delta", "eps"),
    [(1e16, 1e-17, 9.0234634751e-17), (1e8, 1e-12, 3.363015330289e-8), (1e12, 1e-20, 5.304507915248e-12)],
)
def test_a_gaussian_of_tiny_mu(sigma: float, delta: float, eps: float) -> None:
    assert eps * (1 - 1e-10) <= eps_upper(gaussian(sigma), delta=delta, relation=R) <= 1.000002 * eps


def test_a_gaussian_far_in_the_tail() -> None:
    found = delta_upper(gaussian(1e12), eps=15e-12, relation=R)
    assert 2.42602508755e-64 * (1 - 1e-11) <= found <= 2.42602508755e-64 * 1.000002
    assert profiles.gaussian_delta(1e-12, 15e-12) == pytest.approx(found, rel=1e-12)


def test_discrete_laws_at_the_border_are_not_nothing() -> None:
    laws = Ledger(FiniteLaws(pairs=(((0.75, 0.25), (0.25, 0.75)),), relation=R))
    for eps in (1.0986122886681096, 1.0986122886682):  # log 3 is between
        with mpmath.workdps(40):
            exact = (3 - mpmath.exp(mpmath.mpf(eps))) / 4
        assert exact <= delta_upper(laws, eps=eps, relation=R) <= 1e-15
        assert meets(ApproxDP(eps, 1e-300), laws) is bool(exact <= 0)
        assert (delta_at((0.75, 0.25), (0.25, 0.75), eps) == 0) is bool(exact <= 0)


def test_the_largest_log_ratio_of_near_ties_is_exact() -> None:
    """Laws whose ratios differ in the last bits: never low, and at most 1e-15 (relative) high."""
    rng = np.random.Generator(np.random.PCG64(9))
    with mpmath.workdps(50):
        for _ in range(300):
            ratio = 1 + 10.0 ** -rng.uniform(0, 13)
            q = rng.dirichlet(np.ones(6))
            p = q * ratio * (1 + 2.0**-52 * rng.integers(-3, 4, size=6))
            p[0] = q[0] / 3
            p, q = p / math.fsum(p), q / math.fsum(q)
            total = mpmath.fsum(map(mp, map(float, q))) / mpmath.fsum(map(mp, map(float, p)))
            exact = max(mpmath.log(mp(float(a)) / mp(float(b)) * total) for a, b in zip(p, q, strict=True))
            found = max_log_ratio(p, q)
            assert exact <= found <= exact * (1 + mpmath.mpf("4e-15"))


def test_a_law_may_not_lack_mass() -> None:
    """An escape of 9e-10 is no rounding: such a law is refused, not taken for eps = 9e-10."""
    with pytest.raises(ParameterError):
        eps_at((0.5, 0.5 - 9e-10), (0.5, 0.5), 0.0)
    with pytest.raises(ParameterError):
        delta_at((0.5, 0.5 - 9e-10), (0.5, 0.5), 0.0)
    assert events.MASS_TOLERANCE == 1e-12
