"""What the users' number and the flow between steps add to post-processing: errors of counts, and the time of a solve.

    python -m benchmarks.flow_counts [--repeats 12] [--seed 1]

RiverSwim, H = 6, S = 4, A = 2, uniform actions, n users, Gaussian noise of deviation sd on every counter. Root mean
square errors against the exact counts; the papers' programme cell by cell has the slack of 2.5 sd.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from algorithms.environments import river_swim
from dpverify.base.seeding import Stage, stream
from mechanisms.datasets.visit_counts import CountLayout, PrivateCounts
from mechanisms.flow import FlowConsistent
from mechanisms.privatizers.consistency import solve_cells

LAYOUT = CountLayout(H=6, S=4, A=2)
CASES = ((2_000, 60.0), (20_000, 60.0), (20_000, 240.0), (20_000, 764.0))
Array = np.ndarray[Any, np.dtype[Any]]


def exact(users: int, rng: np.random.Generator) -> Array:
    """Transitions (H, S, A, S) of users who choose at random, all from the first state."""
    law = np.asarray(river_swim().model.transitions)
    counts, states = np.zeros(LAYOUT.transitions_shape), np.zeros(users, dtype=int)
    for h in range(LAYOUT.H):
        actions = rng.integers(LAYOUT.A, size=users)
        after = (np.cumsum(law[h, states, actions], axis=1) > rng.random((users, 1))).argmax(axis=1)
        np.add.at(counts, (h, states, actions, after), 1.0)
        states = after
    return counts


def papers(counts: PrivateCounts, slack: float) -> PrivateCounts:
    """Cell by cell, as printed."""
    done = solve_cells(counts.transitions, counts.visits, slack).counts
    return PrivateCounts(done.sum(axis=-1), done)


def ways(users: int, sd: float) -> dict[str, Callable[[PrivateCounts], PrivateCounts]]:
    """All kinds of post-processing."""
    return {
        "raw": lambda counts: counts,
        "the papers', cell by cell": lambda counts: papers(counts, 2.5 * sd),
        "l2, cells": FlowConsistent(LAYOUT, users, coupling="cells").solve,
        "l2, step totals": FlowConsistent(LAYOUT, users, coupling="step totals").solve,
        "l2, flow": FlowConsistent(LAYOUT, users).solve,
        "chebyshev, flow": FlowConsistent(LAYOUT, users, "chebyshev").solve,
    }


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    print("| n, sd | post-processing | transitions | visits | ms a solve (first) |\n|---|---|---|---|---|")
    for users, sd in CASES:
        rng = stream(given.seed, Stage.EXPERIMENT, users, int(sd))
        truth = exact(users, rng)
        visits = truth.sum(axis=-1)
        noisy = [
            PrivateCounts(visits + rng.normal(0, sd, visits.shape), truth + rng.normal(0, sd, truth.shape))
            for _ in range(given.repeats)
        ]
        for name, solve in ways(users, sd).items():
            seconds, squares = [], []
            for counts in noisy:
                start = time.process_time()
                done = solve(counts)
                seconds.append(time.process_time() - start)
                squares.append((((done.transitions - truth) ** 2).mean(), ((done.visits - visits) ** 2).mean()))
            errors = np.sqrt(np.mean(squares, axis=0))
            print(f"| {users:,}, {sd:g} | {name} | {errors[0]:.1f} | {errors[1]:.1f} ", end="")
            print(f"| {1e3 * np.median(seconds):.2f} ({1e3 * seconds[0]:.0f}) |", flush=True)


if __name__ == "__main__":
    main()
