"""The subjects on which Delta-Siege was measured, at its number of samples.

python -m benchmarks.peers --trials 800000 --repetitions 3
"""

import argparse
import time

import numpy as np

from benchmarks.reference import BlackBox, gaussian, laplace, Reference
from dpverify import ApproxDP, Claim, PureDP
from dpverify.verdicts.audit import audit

SIGMA = float(np.sqrt(2 * np.log(1.25 / 1e-3)))  # the classic Gaussian for (1, 1e-3)

ROWS: tuple[tuple[str, Reference, Claim, str], ...] = (
    ("Laplace, claim 0.1", laplace(0.1), PureDP(0.1), "auto"),
    ("Laplace, claim 1", laplace(1.0), PureDP(1.0), "auto"),
    ("Laplace with half of the noise, claim 1, truth 2", laplace(2.0), PureDP(1.0), "auto"),
    ("classic Gaussian, claim (1, 1e-3), truth 0.634", gaussian(1 / SIGMA, 0.634, 1e-3), ApproxDP(1.0, 1e-3), "auto"),
    ("Gaussian with half of the noise, truth 1.449", gaussian(2 / SIGMA, 1.449, 1e-3), ApproxDP(1.0, 1e-3), "auto"),
    ("float64 Laplace, claim 1, low bits", laplace(1.0), PureDP(1.0), "bits"),
)


def main() -> None:
    """Prints the mean and the least certified eps of each row over seeds 0, 1, ..."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=800_000)
    parser.add_argument("--repetitions", type=int, default=3)
    arguments = parser.parse_args()
    for name, subject, claim, score in ROWS:
        started = time.perf_counter()
        found = [
            audit(
                BlackBox(subject), claim=claim, pair=subject.pair, trials=arguments.trials, seed=seed, score=score
            ).eps_lower
            for seed in range(arguments.repetitions)
        ]
        seconds = (time.perf_counter() - started) / arguments.repetitions
        print(f"| {name} | {arguments.trials} | {np.mean(found):.4f} | {min(found):.4f} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
