"""Second derivations: short calculations by NumPy and SciPy alone, that share no code with our accountant."""

import math

import numpy as np
from scipy import signal, stats

from dpverify.base.seeding import Stage, stream


def log_of(base: str, x: float) -> float:
    """The logarithm to base 2 or e."""
    return math.log(x) if base == "e" else math.log2(x)


def corner(changed: int, scale: float) -> float:
    """log P(E)/Q(E) for E = {every changed coordinate lies beyond its larger mean}: Lap(scale), shifts by 1 (A1)."""
    beyond = stats.laplace(scale=scale)
    return changed * math.log(beyond.sf(0.0) / beyond.sf(1.0))


def laplace_delta(changed: int, scale: float, eps: float) -> float:
    """delta(eps) of `changed` coordinates shifted by 1 under Lap(scale): its log ratios convolved on a grid (A1)."""
    a, cells = 1 / scale, 4001
    at = np.linspace(-a, a, cells)
    law = np.diff(np.concatenate([[-a], (at[:-1] + at[1:]) / 2, [a]]))  # widths around the grid points
    law = law * np.exp(at / 2 - a / 2) / 4  # density of the ratio between its atoms
    law[0] += math.exp(-a) / 2
    law[-1] += 0.5
    total = law / law.sum()
    for _ in range(changed - 1):
        total = signal.fftconvolve(total, law / law.sum())
    ratios = np.linspace(-changed * a, changed * a, len(total))
    return float((total * np.maximum(0.0, -np.expm1(eps - ratios))).sum())


def nodes(releases: int) -> int:
    """Nodes of the binary mechanism that hold item 1 and are used by one of the prefixes 1..releases (A2, A6, C10)."""
    used = set()
    for t in range(1, releases + 1):
        right = t
        while right:
            width = right & -right
            used.add((right - width, right))
            right -= width
    return sum(left < 1 <= right for left, right in used)


def tree_multiple(episodes: int, log: str, releases: int, moved: float, power: int = 1) -> float:
    """eps_true/eps where each of 1 item's nodes has Lap(log(T)^power/(eps/3H)), `moved` times 3H or 2H (A2, A6)."""
    return moved * nodes(releases) / log_of(log, episodes) ** power


def prefix_failure(episodes: int, log: str, counters: float, beta: float) -> float:
    """P(some prefix 1..T-1 of one PUCB counter leaves E_eps) over the allotted beta/counters: from below (A4).

    The worst single prefix, a sum of popcount(t) Laplace noises; exact at T = 2, where only prefix 1 is used.
    """
    width, allotted = log_of(log, episodes), beta / counters
    limit = math.log(1 / allotted) * width**2.5 / width  # E_eps in units of the noise scale 3H log(T)/eps
    return max(laplace_tail(t.bit_count(), limit) for t in range(1, episodes)) / allotted


def prefix_failure_at_most(episodes: int, log: str, counters: float, beta: float) -> float:
    """The same from above: the sum over all these prefixes (A4)."""
    width, allotted = log_of(log, episodes), beta / counters
    limit = math.log(1 / allotted) * width**1.5
    return sum(laplace_tail(t.bit_count(), limit) for t in range(1, episodes)) / allotted


def prefix_failure_drawn(episodes: int, log: str, counters: float, beta: float, draws: int = 10**6) -> float:
    """The same at T = 2 by drawing the one noise that prefix 1 has, the difference of two exponentials (A4)."""
    width, allotted = log_of(log, episodes), beta / counters
    limit = math.log(1 / allotted) * width**2.5  # in units of 3H/eps
    rng = stream(4, Stage.EXPERIMENT)
    noise = width * (rng.exponential(size=draws) - rng.exponential(size=draws))
    return float(np.mean(np.abs(noise) > limit)) / allotted


def laplace_tail(terms: int, x: float) -> float:
    """P(|sum of independent Lap(1)| > x): a difference of two Gamma(terms) variables, by their convolution."""
    if terms == 1:
        return math.exp(-x)
    y = np.linspace(0.0, 60.0, 60_001)
    weights = stats.gamma.pdf(y, terms) * (y[1] - y[0])
    weights[0] /= 2
    return float(2 * (weights * stats.gamma.sf(x + y, terms)).sum())


def theorem_over_used(horizon: float = 1.0) -> float:
    """Theorem 12 at eps/(3H), constant 4 * 3H/eps, over the constant 3H/eps of E_eps (A4)."""
    return (4 * 3 * horizon) / (3 * horizon)


def integers_delta(users: int, eps: float, beta: float, constant: float = 96.0) -> float:
    """1 - tau/(2n): where all others hold 1 and n > tau, a message 0 shows that the target's bit is 0 (A7)."""
    tau = constant * math.log(2 / beta) / eps**2
    return 1 - tau / (2 * users) if users > tau else 2.0 ** -math.ceil(tau / users)


def shuffled_delta(eps: float, users: int, tau: float, shifts: int) -> float:
    """delta(eps) of `shifts` noisy sums of fair bits, half moved up by 1 and half down; rounded up on a grid (A8)."""
    total, grid = users * math.ceil(tau / users), 1e-5
    k = np.arange(total + 1)
    mass = stats.binom.pmf(k, total, 0.5)
    with np.errstate(divide="ignore"):
        up = np.log(k) - np.log(total - k + 1)  # log P(k + shift 1)/P(k)
    keep = (mass > 1e-25) & np.isfinite(up)
    lost = shifts * float(mass[~keep].sum())
    law = {}
    for sign in (1, -1):
        cell = np.ceil(sign * up[keep] / grid).astype(int)
        lowest = int(cell.min())
        law[sign] = (lowest, np.bincount(cell - lowest, weights=mass[keep]))
    low, dense = 0, np.ones(1)
    for number in range(shifts):
        start, each = law[1 if number % 2 else -1]
        low, dense = low + start, np.maximum(0.0, signal.fftconvolve(dense, each))
    ratios = (low + np.arange(len(dense))) * grid
    return lost + float((dense * np.maximum(0.0, -np.expm1(eps - ratios))).sum())


def shuffled_batch(share: float, eps: float, beta: float, horizon: int, tuples: int, users: int) -> float:
    """delta(share * eps) over beta for the 6H counters of a batch with the noise as printed (A8)."""
    own_eps, own_beta = eps / (3 * horizon), beta / (horizon * tuples)
    tau = 96 * math.log(2 / own_beta) / own_eps**2
    return shuffled_delta(share * eps, users, tau, 6 * horizon) / beta


def stage_lengths(first: int, last: int, include_own: bool) -> float:
    """Share of K in first..last for which the last stage of Algorithm 1 has a positive length (A9)."""
    positive = 0
    for users in range(first, last + 1):
        done, b = 0, 1
        while 3 * (done + 2**b) <= users:  # stages of 2^b users, three sub-stages each, while they fit
            done, b = done + 2**b, b + 1
        positive += users - 3 * (done + (2**b if include_own else 0)) > 0
    return positive / (last - first + 1)


def longest_formula(users: int) -> float:
    """K - 3 (2^(B+1) - 2) for the smallest B with 3 (2^(B+1) - 2) > K: what the formula sums, in closed form (A9)."""
    b = 1
    while 3 * (2 ** (b + 1) - 2) <= users:
        b += 1
    return float(users - 3 * (2 ** (b + 1) - 2))


def gaussian_rho(moved: float, variance: float) -> float:
    """||shift||^2/(2 sigma^2) (A10)."""
    return moved / (2 * variance)


def error_constant(horizon: int, states: int, actions: int, delta: float) -> float:
    """The constant c for which N(0, 2H/rho) on all counts stays within c/2 sqrt(H log(4HS^2A/delta)/rho) (A10)."""
    counts = horizon * states * actions * (1 + states)
    quantile = stats.norm.isf(delta / (2 * counts))
    return float(2 * quantile * math.sqrt(2) / math.sqrt(math.log(4 * horizon * states**2 * actions / delta)))


def error_failure(constant: float, horizon: int, states: int, actions: int, delta: float) -> float:
    """P(some count leaves constant/2 sqrt(H log(.)/rho)) over delta, independent counts (A10)."""
    counts = horizon * states * actions * (1 + states)
    limit = constant / 2 * math.sqrt(math.log(4 * horizon * states**2 * actions / delta) / 2)
    return -math.expm1(counts * math.log1p(-2 * stats.norm.sf(limit))) / delta


def gram_movement(dimension: int = 3, draws: int = 20_000, seed: int = 1) -> float:
    """Largest ||phi phi^T - psi psi^T||_F^2 over random unit vectors, orthogonal ones among them (A11)."""
    angle = np.linspace(0, math.pi, draws)
    phi = np.zeros((draws, dimension))
    phi[:, 0], phi[:, 1] = np.cos(angle), np.sin(angle)
    moved = np.einsum("ni,nj->nij", phi, phi)
    moved[:, 0, 0] -= 1.0
    return float((moved**2).sum(axis=(1, 2)).max())


def gram_cost(half: bool = False) -> float:
    """rho/rho_0 of c (Z + Z^T), Z_ij ~ N(0, 1/(4 rho_0)): the movement against its own covariance (A11)."""
    moved, c = np.array([[1.0, 0.0], [0.0, -1.0]]), (0.5 if half else math.sqrt(0.5))
    off, diagonal = 2 * c**2 / 4, 4 * c**2 / 4
    return float((moved.diagonal() ** 2).sum() / (2 * diagonal) + moved[0, 1] ** 2 / (2 * off))


def longest_feature() -> float:
    """Largest squared length of the features of Appendix F: ones of an action below 100 in binary, plus 1 (A12)."""
    return max(action.bit_count() for action in range(100)) + 1


def appendix_cost(horizon: int = 20) -> float:
    """Cost over rho for two actions of squared length 7 and their inner product, un-split: all pairs by loops (A12)."""
    rows = [[action >> i & 1 for i in range(8)] + [one, 1 - one] for action in range(100) for one in (0, 1)]
    table = np.array(rows, dtype=float)
    inner = table @ table.T
    p, q = np.diag(inner)[:, None], np.diag(inner)[None, :]
    worst, rho_0 = 0.0, 1 / (5 * horizon)
    per_pair = np.zeros_like(inner)
    for left in range(horizon):
        alpha = rho_0 * (left**4 / (2 * horizon**4) + (left**2 + (left + 1) ** 2) / (2 * horizon**2))
        vectors = np.maximum(p + q - 2 * inner, np.maximum(p, q))
        per_pair = alpha / 2 * vectors + 2 * rho_0 * (p**2 + q**2 - 2 * inner**2)
        worst += float(per_pair.max())
    return worst
