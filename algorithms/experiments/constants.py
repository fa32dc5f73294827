"""The constants of the learning curves. They are tuned; the theory's learn nothing at K = 20,000.

Tuned by hand on seed 99, which the figures do not use, by looking at final regrets of a few runs. Scales
multiply the theory's value (bonus, E), or replace a constant (C, C1). They change what is learned, never
the noise: every private curve spends exactly its eps under replace-one, and the accountant does not see them.
No theorem covers a curve drawn with them.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Constants:
    """UCB-VI's bonus scale; DP-UCBVI's C2 and scale of E; SDP-PE's C, C on the E term, C1, scale of E."""

    ucbvi_bonus: float
    private_bonus: float
    private_error: float
    threshold: float
    privacy: float
    infrequent: float
    error: float


TUNED = {
    "riverswim": Constants(0.02, 0.001, 0.001, 0.0025, 1e-7, 1e-3, 0.1),
    "bandit": Constants(0.1, 0.01, 0.01, 0.05, 0.01, 1e-3, 0.1),
}
TOLERANCE = 0.5  # of SDP-PE's exploration design: excess at most half of the optimal value J
BETA = 1e-3  # the beta (delta) of SDP-PE's (eps, beta); the paper gives no number
