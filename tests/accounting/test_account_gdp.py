"""GDP and zCDP parameters of responses and of shuffled reports against 50 digits: never below, at most 1 in 1000 above.

Tail masses such as e^-a/(1 + e^-a) must keep their digits, and so must the distance of laws that are nearly equal.
"""

import math

import mpmath
import numpy as np
import pytest

from dpverify.accounting.accountant import meets, mu_upper, renyi_upper, rho_upper
from dpverify.claims.claim import GaussianDP, ZCDP
from dpverify.claims.neighbours import Relation
from dpverify.ledger.compound_events import MatrixGaussian, Shuffled
from dpverify.ledger.events import FiniteLaws, GaussianNoise, KaryResponse, LaplaceNoise, Ledger, PureStep, Sensitivity

R = Relation.REPLACE_ONE
ONCE = Sensitivity(replace=1)


def quantile(p):
    """Phi^-1(p) of 0 < p < 1/2 in the digits that are set; Newton's steps on the logarithm."""
    z = -mpmath.sqrt(-2 * mpmath.log(2 * p))
    for _ in range(100):
        below = mpmath.ncdf(z)
        step = (mpmath.log(below) - mpmath.log(p)) * below / mpmath.npdf(z)
        z -= step
        if abs(step) < mpmath.mpf(10) ** -40:
            return z
    raise AssertionError(p)


def mu_by_vertices(outputs):
    """The largest Phi^-1(P_k) - Phi^-1(Q_k) of a list of (p, q), all positive, from the side of small tails."""

    def at(head, tail):
        if head + tail == 2 * head:
            return mpmath.mpf(0)
        return quantile(head) if head < tail else -quantile(tail)

    outputs = sorted(outputs, key=lambda output: -output[0] / output[1])
    found = []
    for k in range(1, len(outputs)):
        ends = [[mpmath.fsum(each[law] for each in part) for part in (outputs[:k], outputs[k:])] for law in (0, 1)]
        found.append(at(*ends[0]) - at(*ends[1]))
    return max(found)


def clones(local, users):
    """The clone pair by enumeration."""
    lie = mpmath.exp(-mpmath.mpf(local))
    found = {}
    for others in range(users):
        chance = mpmath.binomial(users - 1, others) * lie**others * (1 - lie) ** (users - 1 - others)
        for a in range(others + 1):
            mass = chance * mpmath.binomial(others, a) / mpmath.mpf(2) ** others / (1 + lie)
            for output, p, q in (((a + 1, others - a), 1, lie), ((a, others - a + 1), lie, 1)):
                pair = found.setdefault(output, [mpmath.mpf(0), mpmath.mpf(0)])
                pair[0] += mass * p
                pair[1] += mass * q
    return list(found.values())


def tight(ledger, truth, share=1e-3):
    found = mu_upper(ledger, relation=R)
    assert truth <= found <= truth * (1 + share), (ledger, float(truth), found)


@pytest.mark.parametrize("a", [1e-14, 1e-9, 1e-4, 0.3, 2.0, *np.arange(15.0, 41.0, 0.7).tolist()])
def test_one_shuffled_report_is_a_response(a):
    with mpmath.workdps(50):
        truth = 2 * mpmath.sqrt(2) * mpmath.erfinv(mpmath.tanh(mpmath.mpf(a) / 2))
        if a > 10:
            truth = -2 * quantile(1 / (1 + mpmath.exp(mpmath.mpf(a))))
        for ledger in (
            Ledger(Shuffled(local_eps=a, users=1)),
            Ledger(KaryResponse(k=2, eps=a, reports=ONCE)),
            Ledger(PureStep(eps=a, uses=ONCE)),
        ):
            tight(ledger, truth)
            assert not meets(GaussianDP(float(truth) * (1 - 1e-9)), ledger)


@pytest.mark.parametrize("a", [300.0, 301.0, 700.0, 1e4])
def test_huge_responses(a):
    """Masses that are no floats any more; log Phi(-z) is its asymptotic series."""
    with mpmath.workdps(50):

        def log_below(z):
            series = 1 - 1 / z**2 + 3 / z**4 - 15 / z**6 + 105 / z**8
            return -z * z / 2 - mpmath.log(z * mpmath.sqrt(2 * mpmath.pi)) + mpmath.log(series)

        z = mpmath.findroot(lambda z: log_below(z) + mpmath.mpf(a), mpmath.sqrt(2 * mpmath.mpf(a)))
        for event in (Shuffled(local_eps=a, users=1), PureStep(eps=a, uses=ONCE)):
            tight(Ledger(event), 2 * z * (1 - mpmath.mpf(10) ** -11), 0.01)


@pytest.mark.parametrize(
    ("local", "users"),
    [(1e-9, 3), (1e-6, 2), (1e-4, 3), (0.01, 5), (2.0, 6), (17.0, 2), (25.0, 14), (30.0, 5), (35.6, 14), (36.435, 11)],
)
def test_few_shuffled_reports(local, users):
    with mpmath.workdps(50):
        tight(Ledger(Shuffled(local_eps=local, users=users)), mu_by_vertices(clones(local, users)))


@pytest.mark.parametrize("eps", [1e-9, 1e-4, 0.3, 8.0, 40.0])
@pytest.mark.parametrize("k", [3, 100, 10**10, 2**63 + 5])
def test_responses_of_many_values(eps, k):
    with mpmath.workdps(70):
        grown = mpmath.exp(mpmath.mpf(eps))
        outputs = [(grown, 1), (k - 2, k - 2), (1, grown)]
        truth = mu_by_vertices([(p / (grown + k - 1), q / (grown + k - 1)) for p, q in outputs])
        tight(Ledger(KaryResponse(k=k, eps=eps, reports=ONCE)), truth)


@pytest.mark.parametrize("seed", range(6))
def test_listed_laws(seed):
    """Skew ones; the last ones nearly equal."""
    rng = np.random.Generator(np.random.PCG64(seed))
    p = rng.random(4) + 0.01
    q = rng.random(4) + 0.01 if seed < 3 else p * (1 + 1e-4 * rng.standard_normal(4))
    p, q = p / p.sum(), q / q.sum()
    with mpmath.workdps(50):
        exact = [[mpmath.mpf(float(x)) for x in law] for law in (p, q)]
        first, second = ([x / mpmath.fsum(law) for x in law] for law in exact)
        truth = max(mu_by_vertices(list(zip(a, b, strict=True))) for a, b in ((first, second), (second, first)))
        tight(Ledger(FiniteLaws(pairs=((tuple(p.tolist()), tuple(q.tolist())),), relation=R)), truth)


@pytest.mark.parametrize(
    ("eps", "k"), [(1e-4, 2), (3e-4, 100), (0.5, 10), (1.0, 50), (6.0, 50)], ids=lambda each: f"{each:g}"
)
def test_rho_of_responses_of_any_size(eps, k):
    """Small losses have their supremum at orders of some 1/eps, and a flat one for k = 2."""
    found = float(rho_upper(Ledger(KaryResponse(k=k, eps=eps, reports=ONCE)), relation=R))
    with mpmath.workdps(40):
        grown = mpmath.exp(mpmath.mpf(eps))
        truth = (grown - 1) * mpmath.mpf(eps) / (grown + k - 1)  # at order 1
        for power in np.arange(-3.0, 7.0, 0.02):
            t = mpmath.mpf(10) ** float(power)
            moment = (grown ** (1 + t) + k - 2 + grown**-t) / (grown + k - 1)
            truth = max(truth, mpmath.log(moment) / t / (1 + t))
    assert truth <= found <= truth * (1 + 5e-4)


@pytest.mark.parametrize("eps", [1e-200, 1e-14, 1e-9, 1e-4, 1.0, 30.0, 600.0])
@pytest.mark.parametrize("t", [1e-9, 1.0, 40.0, 1e9, 1e20])
def test_divergences_of_any_size_and_order(eps, t):
    """Responses and Laplace noise; nothing cancels where eps is tiny."""
    alpha = 1 + t
    with mpmath.workdps(900):
        order, a = mpmath.mpf(alpha), mpmath.mpf(eps)
        c, grown = order - 1, mpmath.exp(a)
        responses = [
            (k, mpmath.log((grown**order + k - 2 + grown**-c) / (grown + k - 1)) / c) for k in (2, 1000, 2**63)
        ]
        moment = order * mpmath.exp(c * a) + c * mpmath.exp(-order * a)
        noise = mpmath.log(moment / (order + c)) / c
    for k, truth in responses:
        found = renyi_upper(Ledger(KaryResponse(k=k, eps=eps, reports=ONCE)), alpha=alpha, relation=R)
        assert truth <= found <= max(truth * (1 + 1e-9), 1e-300)
    found = renyi_upper(Ledger(LaplaceNoise(scale=1.0, sensitivity=Sensitivity(replace=eps))), alpha=alpha, relation=R)
    assert noise <= found <= max(noise * (1 + 1e-6), 1e-300)


def matrix(n, sigma_scale=1.0):
    """The square root of the prefix sums of n steps, with the noise of 1-GDP times `sigma_scale`."""
    falling = [1.0]
    for k in range(1, n):
        falling.append(falling[-1] * (2 * k - 1) / (2 * k))
    rows = tuple(tuple(falling[i - j] if j <= i else 0.0 for j in range(n)) for i in range(n))
    sigma = math.sqrt(math.fsum(each * each for each in falling)) * sigma_scale
    return Ledger(MatrixGaussian(strategy=rows, sigma=sigma, movement=Sensitivity(replace=1.0)))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 16, 65])
def test_a_claim_that_is_the_closed_form_is_met_and_one_below_it_is_not(n):
    assert meets(GaussianDP(1.0), matrix(n))
    assert meets(ZCDP(0.5), matrix(n))
    assert not meets(GaussianDP(1.0), matrix(n, 1 - 1e-9))
    assert not meets(ZCDP(0.5), matrix(n, 1 - 1e-9))
    assert not meets(GaussianDP(1 - 1e-9), matrix(n))
    assert not meets(GaussianDP(1.0), matrix(n, 1 - 1e-14))
    assert mu_upper(matrix(n), relation=Relation.REPLACE_ONE) <= 1 + 2**-51


@pytest.mark.parametrize("count", [2, 3, 5, 6, 7])
def test_roots_that_are_no_floats_meet_their_closed_form(count):
    ledger = Ledger.of((GaussianNoise(sigma=math.sqrt(count), sensitivity=Sensitivity(replace=1.0)), count))
    assert meets(GaussianDP(1.0), ledger)
    assert meets(ZCDP(0.5), ledger)
    less = GaussianNoise(sigma=math.sqrt(count) * (1 - 1e-9), sensitivity=Sensitivity(replace=1.0))
    assert not meets(GaussianDP(1.0), Ledger.of((less, count)))
