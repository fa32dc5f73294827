"""What one run certifies on the idealised Gaussian game. Run: python -m benchmarks.one_run

Each of m canaries is a coordinate of its own, with noise for the true eps at delta = 1e-5; 95 %, mean over `RUNS` runs.
"any": the bound about (eps, delta)-DP; "curve": the bound on mu of the Gaussian claim, as eps at the same delta. Beside
them what others reach on the same game (smaller and larger figure; the larger of a curve is at a fixed share of the
surest guesses and is not corrected for the choice of that share).
"""

import numpy as np
import scipy

from dpverify import ApproxDP, GaussianDP, one_run
from dpverify.base.seeding import Stage, stream
from dpverify.claims.profiles import gaussian_delta

DELTA, RUNS = 1e-5, 20
OTHERS = {  # (eps, canaries): any mechanism, then given a Gaussian curve
    (1, 1_000): (0.19, 0.25, 0.34),
    (1, 10_000): (0.30, 0.43, 0.73),
    (4, 1_000): (1.02, 1.35, 1.77),
    (4, 10_000): (1.02, 1.97, 2.95),
    (8, 1_000): (2.20, 3.05, 4.27),
    (8, 10_000): (1.79, 3.75, 5.09),
}


def certified(eps: float, canaries: int, run: int) -> tuple[float, float]:
    """The two bounds of one run."""
    mu = scipy.optimize.brentq(lambda x: gaussian_delta(x, eps) - DELTA, 1e-3, 50.0)
    rng = stream(run, Stage.EXPERIMENT, canaries)
    included = rng.random(canaries) < 0.5
    scores = included + rng.normal(scale=1 / mu, size=canaries)
    found = one_run(included, scores, claim=GaussianDP(mu)).number_lower
    curve = GaussianDP(found).eps_at(DELTA) if found else 0.0
    return one_run(included, scores, claim=ApproxDP(eps, DELTA)).eps_lower, curve


def main() -> None:
    """Prints the table."""
    print("| true eps | canaries | any | others | curve | others |\n|---|---|---|---|---|---|")
    for (eps, canaries), (plain, low, high) in OTHERS.items():
        ours = np.mean([certified(eps, canaries, run) for run in range(RUNS)], axis=0)
        print(f"| {eps} | {canaries:,} | {ours[0]:.2f} | {plain} | {ours[1]:.2f} | {low} to {high} |", flush=True)


if __name__ == "__main__":
    main()
