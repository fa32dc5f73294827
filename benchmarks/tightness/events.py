"""Events that no audited subject uses: ledgers with an exact eps that was computed elsewhere.

Sampling by contour integrals over quadratures, shuffling by enumeration, bounded range by the recursion at ever finer
grids, matrix noise in closed form; each to the digits that are given.
"""

import math
from dataclasses import dataclass

from dpverify import Relation
from dpverify.accounting.groups import group_of
from dpverify.ledger import (
    BoundedRange,
    DominatingPair,
    FixedSizeSampled,
    GaussianNoise,
    LaplaceLaw,
    LaplaceNoise,
    Ledger,
    MatrixGaussian,
    Mixture,
    Normal,
    PoissonSampled,
    Sensitivity,
    Shuffled,
    Truncated,
)

A, R = Relation.ADD_OR_REMOVE_ONE, Relation.REPLACE_ONE
ONE = Sensitivity(add_remove=1, replace=1)
DIGITS = 1e-5  # relative: what rounding the exact eps may have taken


@dataclass(frozen=True)
class Known:
    """A ledger whose exact eps at `delta` is known."""

    name: str
    ledger: Ledger
    relation: Relation
    delta: float
    exact: float


def known() -> list[Known]:
    """One row for each ledger and delta."""
    sgd = [(0.01, 1.0, 1000, 1e-5, 1.82824), (0.01, 1.0, 1000, 1e-10, 3.29014), (0.256, 0.8, 60, 1e-5, 21.12294)]
    found = [
        Known(f"Poisson({q:g}) Gauss({s:g}) x {n}", Ledger(PoissonSampled(rate=q, inside=_gauss(s))) * n, A, d, eps)
        for q, s, n, d, eps in [*sgd, (0.256, 0.8, 60, 1e-10, 32.1818), (0.004, 0.6, 10_000, 1e-5, 8.49401)]
    ]
    laplace = Ledger(LaplaceNoise(scale=1.0, sensitivity=ONE))
    found.append(
        Known("Poisson(.1) Laplace(1) x 50", Ledger(PoissonSampled(rate=0.1, inside=laplace)) * 50, A, 1e-6, 3.2019)
    )
    for m, s, n, d, eps in ((5, 1.5, 200, 1e-6, 3.01303), (10, 2.0, 100, 1e-5, 2.54086)):
        step = FixedSizeSampled(sampled=m, of=100, inside=_gauss(s))
        found.append(Known(f"{m} of 100, Gauss({s:g}) x {n}", Ledger(step) * n, R, d, eps))
    for local, users, rounds, d, eps in (
        (1, 1000, 1, 1e-6, 0.182412),
        (2, 10_000, 1, 1e-8, 0.196624),
        (1, 1000, 10, 1e-6, 0.62333),
    ):
        name = f"Shuffled({local}, {users}) x {rounds}"
        found.append(Known(name, Ledger(Shuffled(local_eps=local, users=users)) * rounds, R, d, eps))
    for e, n, d, eps in ((0.1, 100, 1e-6, 2.25077), (1.0, 10, 1e-10, 9.0677), (0.4, 25, 1e-3, 3.14908)):
        found.append(Known(f"BoundedRange({e:g}) x {n}", Ledger(BoundedRange(eps=e, uses=ONE)) * n, R, d, eps))
    square_root = (1.0, 0.5, 0.375, 0.3125)
    rows = tuple(tuple(square_root[i - j] if j <= i else 0.0 for j in range(4)) for i in range(4))
    matrix = MatrixGaussian(strategy=rows, sigma=2.0, movement=ONE, participations=2, separation=2)
    same = Ledger(GaussianNoise(sigma=2 / math.sqrt(3.80078125), sensitivity=ONE))
    found.append(Known("square-root prefix sums", Ledger(matrix), R, 1e-6, _gauss_eps(same)))
    mixture = DominatingPair(
        p=Mixture((0.99, 0.01), (Normal(0.0, 1.0), Normal(1.0, 1.0))), q=Normal(0.0, 1.0), relation=A, directed=True
    )
    found.append(Known("mixture of two normals x 1000", Ledger(mixture) * 1000, A, 1e-5, 1.82824))
    p, q = (Truncated(LaplaceLaw(at, 2.0), at - 40.0, at + 40.0) for at in (0.0, 1.0))
    # the ends have mass 1e-9: but for them it is Laplace noise, D(x) = 1 - e^((x - 1/2)/2)
    truncated = DominatingPair(p=p, q=q, relation=R)
    found.append(Known("truncated Laplace(2)", Ledger(truncated), R, 1e-3, 0.5 + 2 * math.log1p(-1e-3)))
    found.append(Known("group of 3, Gauss(3)", group_of(_gauss(3.0), 3), R, 1e-6, _gauss_eps(_gauss(1.0))))
    return found


def _gauss(sigma: float) -> Ledger:
    return Ledger(GaussianNoise(sigma=sigma, sensitivity=ONE))


def _gauss_eps(ledger: Ledger) -> float:
    """By bisection over the two tails of a normal, in double precision."""
    from scipy import optimize, stats

    (event,) = ledger.events
    assert isinstance(event, GaussianNoise)
    mu = 1 / event.sigma

    def excess(eps: float) -> float:
        return float(stats.norm.cdf(mu / 2 - eps / mu) - math.exp(eps) * stats.norm.cdf(-mu / 2 - eps / mu)) - 1e-6

    return float(optimize.brentq(excess, 0.0, 60.0, xtol=1e-12))
