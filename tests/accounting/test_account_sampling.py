"""Sampling: against a contour integral that shares no code, against dp-accounting, and what is refused.

delta(eps) = E_P[(1 - e^(eps-L))^+] = (1/pi) int_0^inf Re M(z)^n e^(-z eps)/(z (z+1)) dw, z = t + i w,
M(z) = E_P[e^(zL)]: all moments by Gauss-Legendre quadrature over the noise, the integral by the trapezoid rule.
"""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import optimize

from dpverify import Relation
from dpverify.accounting.accountant import delta_upper, eps_upper, meets, mu_upper, pure_eps, renyi_upper, rho_upper
from dpverify.claims.claim import ApproxDP
from dpverify.errors import AccountingError, ParameterError
from dpverify.ledger.compound_events import DominatingPair, FixedSizeSampled, PoissonSampled
from dpverify.ledger.events import (
    GaussianNoise,
    KaryResponse,
    LaplaceNoise,
    Ledger,
    OneOf,
    Sensitivity,
)
from dpverify.ledger.laws import Mixture, Normal

A, R = Relation.ADD_OR_REMOVE_ONE, Relation.REPLACE_ONE
ONE = Sensitivity(add_remove=1, replace=1)
MARGIN = 1.005
POINTS = 1500  # on the line


def gauss(sigma):
    return Ledger(GaussianNoise(sigma=sigma, sensitivity=ONE))


def laplace(scale):
    return Ledger(LaplaceNoise(scale=scale, sensitivity=ONE))


class Contour:
    """n steps whose loss has atoms and densities given as nodes: (P-weight, loss) of each; several kinds of steps."""

    def __init__(self, *steps):
        self.steps = steps  # (weights, losses, count)

    def log_moment(self, z):
        """Sum of n log M at a vector of z."""
        total = np.zeros(len(z), dtype=complex)
        for weights, losses, count in self.steps:
            exponents = np.multiply.outer(z, losses)
            top = exponents.real.max(axis=1)
            total += count * (top + np.log((weights * np.exp(exponents - top[:, None])).sum(axis=1)))
        return total

    def line(self, near):
        """A function delta(eps), good around eps = `near`: the moments on one line are computed once."""

        def saddle(log_t):
            t = math.exp(log_t)
            return self.log_moment(np.array([t + 0j]))[0].real - t * near - math.log(t) - math.log1p(t)

        t = math.exp(optimize.minimize_scalar(saddle, bounds=(-8, 8), method="bounded").x)
        spread = math.sqrt(sum(count * self._variance(w, losses, t) for w, losses, count in self.steps) + 1 / t**2)
        w = np.arange(POINTS) * min(0.1 / spread, 0.1 * t)
        z = t + 1j * w
        logs = np.concatenate([self.log_moment(part) for part in np.array_split(z, 8)]) - np.log(z * (z + 1))

        def delta(eps):
            top = logs[0].real - t * eps
            return math.exp(top) * np.trapezoid(np.exp(logs - z * eps - top).real, w) / math.pi

        return delta

    def _variance(self, weights, losses, t):
        tilted = weights * np.exp(t * (losses - losses.max()))
        mean = (tilted * losses).sum() / tilted.sum()
        return (tilted * (losses - mean) ** 2).sum() / tilted.sum()

    def eps(self, delta, near):
        line = self.line(near)
        return optimize.brentq(lambda eps: math.log(max(line(eps), 1e-300) / delta), 0.98 * near, 1.01 * near)


def nodes(edges, per=24):
    x, weight = np.polynomial.legendre.leggauss(per)
    low, width = np.asarray(edges[:-1]), np.diff(edges)
    return (low[:, None] + width[:, None] * (x + 1) / 2).ravel(), (width[:, None] * weight / 2).ravel()


def gaussian_inside(sigma):
    """Q-weights and log ratios of N(1, sigma^2) against N(0, sigma^2)."""
    z, weight = nodes(np.linspace(-14, 14 + 10 / sigma, 41))
    return weight * np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi), z / sigma - 1 / (2 * sigma**2)


def laplace_inside(scale):
    """The middle by nodes, the two flat parts as atoms."""
    x, weight = nodes([0.0, 0.5, 1.0])
    density = np.exp(-x / scale) / (2 * scale)
    ends = [(0.5, -1 / scale), (math.exp(-1 / scale) / 2, 1 / scale)]
    q = np.append(weight * density, [mass for mass, _ in ends])
    return q, np.append((2 * x - 1) / scale, [loss for _, loss in ends])


def poisson(inside, rate, count):
    """The worse of the two orders."""
    q, y = inside
    ratio = 1 - rate + rate * np.exp(y)
    return [Contour((q * ratio, np.log(ratio), count)), Contour((q, -np.log(ratio), count))]


def fixed_size(inside, rate, count):
    q, y = inside
    ratio = 1 - rate + rate * np.exp(y)
    up = y > 0
    p, back = (q * ratio)[up], q[up]
    weights = np.concatenate([p, back, [1 - p.sum() - back.sum()]])
    return [Contour((weights, np.concatenate([np.log(ratio[up]), -np.log(ratio[up]), [0.0]]), count))]


def check(ledger, relation, delta, contours):
    found = eps_upper(ledger, delta=delta, relation=relation)
    worst = max(contours, key=lambda each: each.line(found)(found))
    truth = worst.eps(delta, found)
    assert truth * (1 - 1e-6) <= found <= MARGIN * truth
    return truth


SGD = [  # rate, sigma, steps, delta, truth as computed elsewhere
    (0.01, 1.0, 1000, 1e-5, 1.828239),
    (0.01, 1.0, 1000, 1e-10, 3.29014),
    (0.256, 0.8, 60, 1e-5, 21.12294),
    (0.256, 0.8, 60, 1e-10, 32.1818),
    (0.004, 0.6, 10_000, 1e-5, 8.494),
]


@pytest.mark.parametrize(("rate", "sigma", "steps", "delta", "stated"), SGD)
def test_dp_sgd(rate, sigma, steps, delta, stated):
    ledger = Ledger(PoissonSampled(rate=rate, inside=gauss(sigma))) * steps
    truth = check(ledger, A, delta, poisson(gaussian_inside(sigma), rate, steps))
    assert truth == pytest.approx(stated, rel=2e-4)


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
def test_poisson_sampled_laplace_noise(delta):
    ledger = Ledger(PoissonSampled(rate=0.1, inside=laplace(1.0))) * 50
    truth = check(ledger, A, delta, poisson(laplace_inside(1.0), 0.1, 50))
    if delta == 1e-6:
        assert truth == pytest.approx(3.2019, abs=1e-4)


@pytest.mark.parametrize(
    ("sampled", "of", "sigma", "steps", "delta", "stated"),
    [(5, 100, 1.5, 200, 1e-6, 3.01303), (10, 100, 2.0, 100, 1e-5, 2.54086), (3, 10, 1.0, 20, 1e-12, None)],
)
def test_samples_of_fixed_size(sampled, of, sigma, steps, delta, stated):
    ledger = Ledger(FixedSizeSampled(sampled=sampled, of=of, inside=gauss(sigma))) * steps
    truth = check(ledger, R, delta, fixed_size(gaussian_inside(sigma), sampled / of, steps))
    if stated:
        assert truth == pytest.approx(stated, rel=1e-4)


# --- one step, in mpmath ------------------------------------------------------------------------------------


def single_poisson(x, rate, mu):
    """max of the two orders of one sampled Gaussian step, 60 digits."""
    with mpmath.workdps(60):
        q, mu, x = mpmath.mpf(rate), mpmath.mpf(mu), mpmath.mpf(x)

        def tails(y):  # P and Q masses of a loss above y
            return mpmath.ncdf(mu / 2 - y / mu), mpmath.ncdf(-mu / 2 - y / mu)

        found = []
        for sign in (1, -1):
            ratio = mpmath.exp(sign * x)
            inner = 1 + (ratio - 1) / q
            if inner <= 0:
                found.append(mpmath.mpf(0) if sign < 0 else 1 - mpmath.exp(x))
                continue
            p, other = tails(mpmath.log(inner))
            mixed = (1 - q) * other + q * p  # mass of the mixture above
            if sign > 0:
                found.append(mixed - ratio * other)
            else:  # (Q, M): losses of M against Q below -x
                found.append((1 - other) - mpmath.exp(x) * (1 - mixed))
        return max(found)


@pytest.mark.parametrize(("rate", "sigma"), [(0.01, 1.0), (0.3, 0.7), (0.9, 2.0), (1e-5, 0.5)])
def test_a_single_step_is_exact(rate, sigma):
    ledger = Ledger(PoissonSampled(rate=rate, inside=gauss(sigma)))
    for eps in (0.0, 1e-4, 0.01, 0.3, 2.0, 9.0, 30.0):
        truth = single_poisson(eps, rate, 1 / mpmath.mpf(sigma))
        found = delta_upper(ledger, eps=eps, relation=A)
        assert truth <= found <= truth * (1 + 1e-4) + 1e-299  # no positive delta is rounded below 1e-300


def test_sampled_responses_by_enumeration():
    """k-ary response inside: the laws of one release are finite, three of them are enumerated."""
    from dpverify.ledger.events import FiniteLaws

    k, eps, rate = 4, 1.0, 0.2
    told = math.exp(eps) / (math.exp(eps) + k - 1)
    other = (1 - told) / (k - 1)
    with_user, without = [told] + [other] * (k - 1), [other, told] + [other] * (k - 2)
    mixed = [rate * a + (1 - rate) * b for a, b in zip(with_user, without, strict=True)]
    laws = FiniteLaws(pairs=((tuple(mixed), tuple(without)),), relation=A, directed=True)
    ledger = Ledger(PoissonSampled(rate=rate, inside=Ledger(KaryResponse(k=k, eps=eps, reports=ONE))))
    for count in (1, 3, 12):
        for delta in (0.0, 1e-6, 1e-2):
            truth = eps_upper(Ledger(laws) * count, delta=delta, relation=A)
            found = eps_upper(ledger * count, delta=delta, relation=A)
            assert truth * (1 - 1e-4) - 1e-12 <= found <= truth * 1.002 + 1e-9


# --- what runs on one subset --------------------------------------------------------------------------------


def test_all_of_inside_runs_on_one_subset():
    """Two Gaussians inside are one; two samples of one each cost less than one sample of both."""
    both = Ledger(PoissonSampled(rate=0.1, inside=gauss(2.0) * 2))
    one = Ledger(PoissonSampled(rate=0.1, inside=gauss(math.sqrt(2))))
    assert eps_upper(both, delta=1e-6, relation=A) == pytest.approx(eps_upper(one, delta=1e-6, relation=A), rel=1e-9)
    apart = Ledger(PoissonSampled(rate=0.1, inside=gauss(2.0))) * 2
    assert eps_upper(apart, delta=1e-6, relation=A) < eps_upper(both, delta=1e-6, relation=A)
    # a convolution inside: Laplace noise twice, against 2-d quadrature
    inside = laplace(2.0) * 2
    q, y = laplace_inside(2.0)
    q2, y2 = np.multiply.outer(q, q).ravel(), np.add.outer(y, y).ravel()
    ledger = Ledger(PoissonSampled(rate=0.1, inside=inside)) * 20
    check(ledger, A, 1e-6, poisson((q2, y2), 0.1, 20))


def test_sampling_never_costs_more_than_all():
    """By rate, noise and count; and the parameters that a mixture inherits."""
    for delta in (1e-9, 1e-3):
        for inside in (gauss(1.0), laplace(1.0), gauss(1.0) + laplace(3.0)):
            found = [
                eps_upper(Ledger(PoissonSampled(rate=rate, inside=inside)) * 5, delta=delta, relation=A)
                for rate in (0.01, 0.1, 0.5, 1.0)
            ]
            assert found == sorted(found)
    sampled = Ledger(PoissonSampled(rate=0.3, inside=gauss(1.0)))
    assert rho_upper(sampled, relation=A) == Fraction(1, 2)
    assert mu_upper(sampled, relation=A) == 1
    pure = pure_eps(Ledger(PoissonSampled(rate=0.25, inside=laplace(1.0))), relation=A)
    assert math.log1p(0.25 * math.expm1(1)) <= pure <= math.log1p(0.25 * math.expm1(1)) * (1 + 1e-14)
    assert meets(ApproxDP(1.8301, 1e-5, relation=A), Ledger(PoissonSampled(rate=0.01, inside=gauss(1.0))) * 1000)
    assert not meets(ApproxDP(1.82, 1e-5, relation=A), Ledger(PoissonSampled(rate=0.01, inside=gauss(1.0))) * 1000)


def test_mixtures_are_sampled_gaussians():
    """The dominating pair of a Poisson-sampled Gaussian, written as a mixture, in the ledger's order."""
    pair = DominatingPair(
        p=Mixture((0.9, 0.1), (Normal(0.0, 1.0), Normal(1.0, 1.0))), q=Normal(0.0, 1.0), relation=A, directed=True
    )
    for count, delta in ((1, 1e-6), (30, 1e-6), (30, 1e-2)):
        truth = eps_upper(Ledger(PoissonSampled(rate=0.1, inside=gauss(1.0))) * count, delta=delta, relation=A)
        assert eps_upper(Ledger(pair) * count, delta=delta, relation=A) == pytest.approx(truth, rel=1e-3)


# --- orders and directions ----------------------------------------------------------------------------------


def test_the_orders_are_alternatives_for_the_whole_ledger():
    """Two different sampled events: the worse order of both together, not of each."""
    first, second = PoissonSampled(rate=0.4, inside=gauss(1.0)), PoissonSampled(rate=0.05, inside=gauss(0.4))
    found = eps_upper(Ledger(first, second) * 20, delta=1e-6, relation=A)
    orders = zip(poisson(gaussian_inside(1.0), 0.4, 20), poisson(gaussian_inside(0.4), 0.05, 20), strict=True)
    truth = [Contour(*one.steps, *other.steps).line(found)(found) for one, other in orders]
    assert max(truth) <= 1e-6 * (1 + 1e-6)
    assert max(truth) >= 0.97e-6
    assert max(truth) > 2 * min(truth)


def test_the_wrong_relation_is_refused_with_the_reason():
    step = Ledger(PoissonSampled(rate=0.1, inside=gauss(1.0)))
    with pytest.raises(AccountingError, match=r"add-or-remove-one only.*Lebeda"):
        eps_upper(step, delta=1e-5, relation=R)
    fixed = Ledger(FixedSizeSampled(sampled=1, of=10, inside=gauss(1.0)))
    with pytest.raises(AccountingError, match=r"replace-one only.*number of users"):
        eps_upper(fixed, delta=1e-5, relation=A)
    silent = Ledger(
        PoissonSampled(rate=0.1, inside=Ledger(GaussianNoise(sigma=1.0, sensitivity=Sensitivity(replace=1))))
    )
    with pytest.raises(AccountingError, match="no sensitivity under add-or-remove-one"):
        eps_upper(silent, delta=1e-5, relation=A)
    branches = Ledger(FixedSizeSampled(sampled=1, of=10, inside=Ledger(OneOf(branches=(gauss(1.0), laplace(1.0))))))
    with pytest.raises(AccountingError, match="three datasets"):
        eps_upper(branches, delta=1e-5, relation=R)
    either = Ledger(PoissonSampled(rate=0.1, inside=Ledger(OneOf(branches=(gauss(1.0), laplace(1.0))))))
    worst = max(
        eps_upper(Ledger(PoissonSampled(rate=0.1, inside=inside)), delta=1e-4, relation=A)
        for inside in (gauss(1.0), laplace(1.0))
    )
    assert eps_upper(either, delta=1e-4, relation=A) == worst


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan, "1"])
def test_impossible_samples(bad):
    with pytest.raises(ParameterError, match="rate"):
        PoissonSampled(rate=bad, inside=gauss(1.0))
    with pytest.raises(ParameterError, match="inside"):
        PoissonSampled(rate=0.1, inside=GaussianNoise(sigma=1.0, sensitivity=ONE))
    for sampled, of in ((11, 10), (-1, 10), (1, 0), (1.0, 10)):
        with pytest.raises(ParameterError):
            FixedSizeSampled(sampled=sampled, of=of, inside=gauss(1.0))


# --- Renyi --------------------------------------------------------------------------------------------------


def quadrature_renyi(alpha, rate, sigma, added):
    with mpmath.workdps(30):
        q, mu = mpmath.mpf(rate), 1 / mpmath.mpf(sigma)

        def term(z):
            ratio = 1 - q + q * mpmath.exp(mu * z - mu**2 / 2)
            return mpmath.npdf(z) * ratio ** ((1 - alpha) if added else alpha)

        edges = [-20, -10, -5, 0, 2, 5, 10, 15, 20, 30, 45, 60]
        return mpmath.log(mpmath.quad(term, edges)) / (mpmath.mpf(alpha) - 1)


@pytest.mark.parametrize("alpha", [1.01, 1.5, 2.0, 4.0, 7.3, 16.0, 24.5])
def test_renyi_divergences_of_a_sampled_gaussian(alpha):
    for rate, sigma in ((0.01, 1.0), (0.3, 2.0)):
        truth = max(quadrature_renyi(alpha, rate, sigma, added) for added in (False, True))
        found = renyi_upper(Ledger(PoissonSampled(rate=rate, inside=gauss(sigma))), alpha=alpha, relation=A)
        assert truth * (1 - mpmath.mpf(10) ** -12) <= found <= truth * 1.005
    if alpha > 10:  # beyond the nodes
        return
    fixed = Ledger(FixedSizeSampled(sampled=1, of=10, inside=gauss(1.0)))
    q, y = gaussian_inside(1.0)
    (contour,) = fixed_size((q, y), 0.1, 1)
    truth = contour.log_moment(np.array([alpha - 1 + 0j]))[0].real / (alpha - 1)
    assert truth * (1 - 1e-7) <= renyi_upper(fixed, alpha=alpha, relation=R) <= truth * 1.005
