"""The constants of the learning curves. They are tuned; the theory's learn nothing at K = 20,000.

Tuned by hand on seed 99, which the figures do not use, by looking at final regrets of a few runs. Scales
multiply the theory's value (bonus, E), or replace a constant (C, C1). They change what is learned, never
the noise: every private curve spends exactly its eps under replace-one, and the accountant does not see them.
No theorem covers a curve drawn with them.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Optimistic:
    """UCB-VI's bonus scale; with privacy C2 of DP-UCBVI and the scale of E."""

    bonus: float
    error: float = 1.0


@dataclass(frozen=True)
class Elimination:
    """SDP-PE: C on the sampling term, C on the E term, C1, and the scale of E; PE uses the first alone."""

    threshold: float
    privacy: float
    infrequent: float
    error: float


Constants = Optimistic | Elimination

_STAGED = {"riverswim": Elimination(0.003, 3e-7, 5e-4, 0.03), "bandit": Elimination(0.2, 0.003, 1e-3, 0.03)}
_PLAIN = {"riverswim": Optimistic(0.02), "bandit": Optimistic(0.1)}
_NOISY = {"riverswim": Optimistic(0.001, 0.001), "bandit": Optimistic(0.01, 0.01)}

TUNED: dict[tuple[str, str], Constants] = {
    (environment, learner): table[environment]
    for environment in ("riverswim", "bandit")
    for learner, table in (
        ("UCBVI", _PLAIN),
        ("UCBVI-JDP", _NOISY),
        ("UCBVI-LDP", _NOISY),
        ("PE", _STAGED),
        ("SDP-PE", _STAGED),
    )
}
TOLERANCE = 0.5  # of SDP-PE's exploration design: excess at most half of the optimal value J
BETA = 1e-3  # the beta (delta) of SDP-PE's (eps, beta); the paper gives no number
