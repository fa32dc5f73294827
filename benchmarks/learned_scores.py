"""How much of the exact score's certificate a learned score reaches.

    python -m benchmarks.learned_scores --trials 1000 10000 --repetitions 20 --only Laplace

prints, for each subject and n: mean certified eps with the exact and with the learned score, their ratio,
the share of runs above the truth (at most the significance, but for chance), the scores that were chosen.
The exact score knows the likelihood ratio and certifies with all n trials; the learned one pays its
selection trials out of n. Seeds 0, 1, ... for both.
"""

import argparse
import os
import time
from collections import Counter

import numpy as np

from benchmarks.reference import ALL, BlackBox, Reference
from dpverify.verdicts.audit import audit

FLOORS = {  # mean certified/oracle that the recipe must reach, at n = 1e3, 1e4, 1e5, 1e6
    "Laplace(0.1)": (0.60, 0.80, 0.92, 0.99),
    "Laplace(1)": (0.93, 0.98, 0.99, 0.995),
    "Laplace(4)": (0.93, 0.98, 0.99, 0.995),
    "RR(1)": (0.93, 0.98, 0.99, 0.995),
    "Geometric(1)": (0.93, 0.98, 0.99, 0.995),
    "Gaussian(1, 1e-05)": (None, 0.90, 0.93, 0.95),
    "Binomial(1000, 1e-05)": (None, 0.60, 0.93, 0.90),
    "rare event 0.001": (None, None, 0.90, 0.98),
    "Laplace(0.0833) x24": (0.70, 0.90, 0.96, 0.94),
}


def measure(subject: Reference, trials: int, repetitions: int) -> str:
    """One line of the table."""
    started = time.perf_counter()
    exact = [_bound(subject, subject, trials, seed)[0] for seed in range(repetitions)]
    between = time.perf_counter()
    learned = [_bound(BlackBox(subject), subject, trials, seed) for seed in range(repetitions)]
    ended = time.perf_counter()
    bounds = np.array([bound for bound, _ in learned])
    reached = bounds.mean() / max(np.mean(exact), 1e-300)
    error = bounds.std() / np.sqrt(repetitions) / max(np.mean(exact), 1e-300)
    floor = FLOORS[subject.name][round(np.log10(trials)) - 3] if trials in (10**3, 10**4, 10**5, 10**6) else None
    false = np.mean(bounds > subject.truth)
    names = ", ".join(f"{name} {count}" for name, count in Counter(name for _, name in learned).most_common(3))
    return (
        f"{subject.name:22s} n={trials:<8d} exact {np.mean(exact):.4f}  learned {bounds.mean():.4f}  "
        f"ratio {reached:.3f} +- {error:.3f} (floor {floor})  above truth {false:.3f}  "
        f"{(between - started) / repetitions:.2f} s, {(ended - between) / repetitions:.2f} s  [{names}]"
    )


def _bound(target: object, subject: Reference, trials: int, seed: int) -> tuple[float, str]:
    record = audit(target, claim=subject.claim, pair=subject.pair, trials=trials, seed=seed)
    return record.eps_lower, f"{record.score}/{record.test}"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for trials in arguments.trials:
        for subject in ALL:
            if arguments.only in subject.name:
                print(measure(subject, trials, arguments.repetitions), flush=True)


if __name__ == "__main__":
    main()
