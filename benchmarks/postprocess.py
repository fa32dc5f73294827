"""Time of the exact batched post-processing against one compiled cvxpy solve for each cell.

    python benchmarks/postprocess.py [--cells 100000] [--states 4] [--sample 200] [--seed 0]

cvxpy is timed on the first `sample` cells after one warm-up solve (compilation is not counted) and quoted
per cell; on those cells both answers are compared.
"""

import argparse
import time

import numpy as np

from dpverify.base.seeding import Stage, stream
from mechanisms.privatizers.consistency import solve_cells
from mechanisms.privatizers.consistency_reference import ReferenceProgramme


def main() -> None:
    """Prints per-cell times, their ratio, and the largest difference of the objectives."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("cells", 100_000), ("states", 4), ("sample", 200), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()

    rng = stream(options.seed, Stage.EXPERIMENT)
    true = rng.integers(0, 50, size=(options.cells, options.states))
    noisy = true + rng.laplace(scale=20.0, size=true.shape)
    total = true.sum(axis=-1) + rng.laplace(scale=20.0, size=options.cells)
    slack = 60.0
    total = np.maximum(total, -slack)  # the reference has no answer for an infeasible cell

    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        ours = solve_cells(noisy, total, slack)
        seconds.append(time.perf_counter() - start)
    fast = min(seconds) / options.cells

    reference = ReferenceProgramme(options.states)
    reference.solve(noisy[0], total[0], slack)
    start = time.perf_counter()
    radii = [reference.solve(noisy[i], total[i], slack)[1] for i in range(options.sample)]
    slow = (time.perf_counter() - start) / options.sample

    print(f"exact, batched: {fast * 1e9:10.1f} ns a cell ({min(seconds) * 1e3:.1f} ms for {options.cells} cells)")
    print(f"cvxpy:          {slow * 1e9:10.1f} ns a cell (measured on {options.sample} cells)")
    print(f"ratio:          {slow / fast:10.0f}")
    print(f"largest difference of the optimal t: {np.abs(ours.radius[: options.sample] - radii).max():.1e}")


if __name__ == "__main__":
    main()
