"""Steps of DP-Nash-VI's proofs on small instances (A13, N3, N4, N5)."""

import math

import numpy as np
import numpy.typing as npt

from dpverify.base.seeding import Stage, stream
from mechanisms.privatizers.consistency import never_underestimating

Array = npt.NDArray[np.float64]


def zero_counts_defined(states: int = 2) -> bool:
    """Whether P~ = N~(s')/N~ is a law where both counts are 0, as line 2 starts them (A13)."""
    with np.errstate(invalid="ignore"):
        law = np.zeros(states) / np.zeros(1)
    return bool(np.isfinite(law).all())


def underestimated(error: float = 1.0) -> float:
    """The printed N~ = 0 minus E/2, what the Privatizer of section 5.3 itself gives for N^ = 0 (A13)."""
    return 0.0 - error / 2


def mended_start(states: int = 3, error: float = 4.0) -> float:
    """Sum of P~ at k = 1 where section 5.3 is run on N^ = 0 (A13)."""
    counts = never_underestimating(np.zeros((1, states)), np.zeros(1), error)
    return float((counts.next_counts / counts.pair_counts[..., None]).sum())


IOTA = math.log(30 * 10 * 2 * 2 * 2 * 12 / 0.05)  # ln(30 H S A B K/beta) at H = 10, S = A = B = 2, K = 12, beta = .05


def single_visit(horizon: float, error: float, least: float = 0.0, what: str = "over") -> float:
    """Deviation minus bound (16) for N = 1, P = (1/2, 1/2), V = (0, H), the smaller of both outcomes (N3).

    N~ is what section 5.3 gives; P^ is before noise. `least` is put under E, which is the fix.
    """
    law, values, found = np.array([0.5, 0.5]), np.array([0.0, horizon]), []
    for empirical in np.eye(2):
        counts = never_underestimating(empirical[None], np.ones(1), error)
        visits = counts.pair_counts[0]
        deviation = abs((counts.next_counts[0] / visits - law) @ values)
        spread = min(_variance(law, values), _variance(empirical, values))
        bound = math.sqrt(2 * spread * IOTA / visits) + 2 * horizon * 2 * max(error, least) * IOTA / visits
        found.append({"over": deviation - bound, "deviation": deviation, "bound": bound}[what])
    return float(min(found))


def single_visit_by_hand(horizon: float, error: float) -> float:
    """The same without arrays: N~ = 1 + E/2, P~ = (1 + E/4, E/4)/N~, P^ has no variance (N3)."""
    visits = 1 + error / 2
    return horizon * (1 + error / 4) / visits - horizon / 2 - 4 * horizon * error * IOTA / visits


def _variance(law: Array, values: Array) -> float:
    return float(law @ values**2 - (law @ values) ** 2)


def dropped_over_kept(horizon: float, error: float, states: float = 2, actions: float = 4) -> float:
    """H^3 S^2 AB over the terms of Theorem 4.1 at T = 2 H^3 S^2 AB, where the bound T is not smaller (N4)."""
    dropped = horizon**3 * states**2 * actions
    steps = 2 * dropped
    return dropped / (math.sqrt(horizon**2 * states * actions * steps) + horizon**2 * states**2 * actions * error)


def dropped_growth(error: float = 1.0) -> float:
    """Exponent of H in that ratio, between H = 1e8 and 1e10: above 0, no constant or logarithm makes up (N4)."""
    return math.log(dropped_over_kept(1e10, error) / dropped_over_kept(1e8, error)) / math.log(100)


def second_inequality(states: int, draws: int, seed: int, gap: float = 1.0, lemma: bool = False) -> float:
    """Draws that break (34)'s second inequality or, with `lemma`, what its terms (i) to (iv) add up to (N5).

    P~, P uniform on the simplex; V uniform in [0, 1], lower and upper up to `gap` below and above it, in [0, 1]. In the
    lemma's conclusion |(P~ - P) W^2| <= ||P~ - P||_1 and |(P~ L)^2 - (P L)^2| <= 2 ||P~ - P||_1 for values in [0, 1].
    """
    rng = stream(seed, Stage.EXPERIMENT)
    estimate, law = (rng.dirichlet(np.ones(states), draws) for _ in range(2))
    value, below, above = (rng.random((draws, states)) for _ in range(3))
    low, high = np.maximum(0.0, value - gap * below), np.minimum(1.0, value + gap * above)
    left, right = _sides(estimate, law, low, value, high)
    if lemma:
        right = 4 * (law * (high - low)).sum(axis=1) + 3 * abs(estimate - law).sum(axis=1)
    return float((left > right * (1 + 1e-12)).sum())


def one_instance() -> float:
    """Left minus right side for P~ = (1, 0), P = (1/2, 1/2), lower = (0, .9), V = (0, 1), upper = (.1, 1) (N5)."""
    rows = ([1.0, 0.0], [0.5, 0.5], [0.0, 0.9], [0.0, 1.0], [0.1, 1.0])
    left, right = _sides(*(np.array([row]) for row in rows))
    return float((left - right)[0])


def one_instance_by_hand() -> float:
    """1/4 - |1/100 - 81/200 + 121/400|, in integers over 400 (N5)."""
    return (100 - abs(4 - 162 + 121)) / 400


def _sides(estimate: Array, law: Array, low: Array, value: Array, high: Array) -> tuple[Array, Array]:
    def mean(p: Array, v: Array) -> Array:
        return np.asarray((p * v).sum(axis=1))

    middle = (low + high) / 2
    left = abs(mean(estimate, middle**2) - mean(law, value**2) - mean(estimate, middle) ** 2 + mean(law, value) ** 2)
    right = abs(mean(estimate, high**2) - mean(law, low**2) - mean(estimate, low) ** 2 + mean(law, high) ** 2)
    return left, right
