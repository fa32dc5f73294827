"""Compositions with known eps: by ball arithmetic, to the digits that are written."""

from dpverify.claims import Relation
from dpverify.ledger import (
    BinomialNoise,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    FiniteLaws,
    GaussianNoise,
    KaryResponse,
    LaplaceNoise,
    Ledger,
    Sensitivity,
)

R = Relation.REPLACE_ONE
DELTAS = (1e-3, 1e-6, 1e-10, 1e-15, 1e-20)
ONE = Sensitivity(replace=1)


def laplace(scale: float) -> Ledger:
    """One Laplace release."""
    return Ledger(LaplaceNoise(scale=scale, sensitivity=ONE))


def response(k: int, eps: float) -> Ledger:
    """One k-ary response."""
    return Ledger(KaryResponse(k=k, eps=eps, reports=ONE))


def gaussian(sigma: float) -> Ledger:
    """One Gaussian release."""
    return Ledger(GaussianNoise(sigma=sigma, sensitivity=ONE))


SKEW = FiniteLaws(pairs=(((0.5, 0.3, 0.2), (0.4, 0.25, 0.35)),), relation=R, directed=True)
TABLE: dict[str, tuple[Ledger, tuple[float, ...]]] = {
    "laplace x 100": (laplace(5) * 100, (7.167526, 10.276480, 13.093957, 15.630615, 17.516206)),
    "laplace x 1000": (laplace(10) * 1000, (13.734415, 18.950287, 23.944425, 28.805977, 32.833794)),
    "50-ary x 200": (response(50, 1) * 200, (18.019128, 25.611601, 32.977880, 40.930598, 47.882398)),
    "10-ary x 100": (response(10, 0.5) * 100, (10.103314, 14.429288, 18.637034, 22.839146, 26.327523)),
    "response x 100": (response(2, 0.2) * 100, (7.475030, 10.676577, 13.546320, 16.133199, 17.989014)),
    "laplace + gauss": (laplace(1) + gaussian(2), (2.246504, 3.183887, 4.046559, 4.874818, 5.558823)),
    "discrete gauss x 50": (
        Ledger(DiscreteGaussianNoise(sigma=4, sensitivity=ONE)) * 50,
        (6.452490, 9.482479, 12.384520, 15.223169, 17.587855),
    ),
    "discrete laplace x 80": (
        Ledger(DiscreteLaplaceNoise(scale=3, sensitivity=ONE)) * 80,
        (12.586999, 17.149569, 21.126751, 24.487964, 26.605669),
    ),
    "binomial x 15": (
        Ledger(BinomialNoise(trials=200, probability=0.5, sensitivity=ONE)) * 15,
        (1.50962, 2.49667, 3.42748, 4.33391, 5.09044),
    ),
    "three kinds": (
        laplace(2.5) * 8 + response(4, 0.6) * 12 + gaussian(4),
        (6.79438172, 9.31156197, 10.92076936, 11.64908066, 12.11742624),
    ),
    "skew laws x 40": (Ledger(SKEW) * 40, (9.19564, 13.18798, 16.96701, 20.11201, 22.36721)),
    "laplace x 1e5": (laplace(316) * 10**5, (3.139393, 4.887524, 6.549063, 8.166798, 9.512138)),
    "laplace x 1e6": (laplace(1000) * 10**6, (3.138021, 4.885617, 6.546702, 8.164069, 9.509177)),
    "laplace x 1e7": (laplace(10**3.5) * 10**7, (3.138466, 4.886260, 6.547543, 8.165112, 9.510396)),
    "laplace x 1e8": (laplace(1e4) * 10**8, (3.138606, 4.886461, 6.547804, 8.165433, 9.510767)),
    "laplace x 1e9": (laplace(10**4.5) * 10**9, (3.138650, 4.886525, 6.547886, 8.165533, 9.510883)),
}
LAST_DIGITS = {"laplace + gauss": 2e-6, "binomial x 15": 1e-4}
