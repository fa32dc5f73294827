"""Two versions of the code on the same subjects and seeds: what is certified, and the CPU seconds that it takes.

    python -m benchmarks.paired run old.jsonl --trials 100000 --seeds 20 36     # in one checkout
    python -m benchmarks.paired run new.jsonl --trials 100000 --seeds 20 36     # in the other one
    python -m benchmarks.paired compare old.jsonl new.jsonl                     # ratios new/old with 95 % intervals

All subjects of the zoo, as black boxes. A line of a file is one audit; what a file already holds is not run again,
seeds come before subjects, so that a run can be stopped and compared at any time. `--only TEXT` takes the subjects
whose name holds it.
"""

import argparse
import json
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.zoo import maxima, simple, sparse_vector
from dpverify import Claim, Pair
from dpverify.auditing.pipeline import audit

Key = tuple[str, int]  # of a row in the table: subject and trials
DRAWS, LEVEL = 10_000, 0.95


def subjects() -> dict[str, tuple[Any, Claim, Pair]]:
    """Target, claim and pair by name."""
    animals = [*simple.animals(), *maxima.animals(), *sparse_vector.animals()]
    return {each.name: (each.black_box, each.claimed, each.pair) for each in animals}


def read(file: Path) -> list[dict[str, Any]]:
    """Rows of a file, none where it does not exist; a line that was cut off is left out."""
    lines = file.read_text().split("\n")[:-1] if file.exists() else []
    return [json.loads(line) for line in lines]


def run(file: Path, trials: int, seeds: range, only: str) -> None:
    """Adds the audits that the file does not hold yet."""
    done = {(row["subject"], row["trials"], row["seed"]) for row in read(file)}
    with file.open("a") as out:
        for seed in seeds:
            for name, (target, claim, pair) in subjects().items():
                if only not in name or (name, trials, seed) in done:
                    continue
                started = time.process_time()
                record = audit(target, claim=claim, pair=pair, trials=trials, seed=seed)
                cpu = time.process_time() - started
                row = {"subject": name, "trials": trials, "seed": seed, "eps": record.eps_lower, "cpu": round(cpu, 3)}
                row |= {"score": record.score, "test": record.test, "right": record.right, "wrong": record.wrong}
                print(json.dumps(row), file=out, flush=True)


def paired(old: Path, new: Path) -> dict[Key, np.ndarray]:
    """Per subject and trials: columns old eps, new eps, old CPU, new CPU, a row for each common seed."""
    sides = [{(row["subject"], row["trials"], row["seed"]): row for row in read(file)} for file in (old, new)]
    found: dict[Key, list[list[float]]] = defaultdict(list)
    for subject, trials, seed in sides[0].keys() & sides[1].keys():
        rows = [side[subject, trials, seed] for side in sides]
        found[subject, trials].append([*(row["eps"] for row in rows), *(row["cpu"] for row in rows)])
    return {
        key: np.array(sorted(rows)) for key, rows in sorted(found.items(), key=lambda each: (each[0][1], each[0][0]))
    }


def ratio(rows: np.ndarray) -> tuple[float, float, float]:
    """Ratio of the mean certified eps, new/old, and its 95 % interval: percentiles over resampled seeds."""
    means = rows[:, :2].mean(axis=0)
    if not means[0] > 0:
        return (1.0, 1.0, 1.0) if not means[1] > 0 else (np.inf, np.inf, np.inf)
    picks = np.random.Generator(np.random.PCG64(0)).integers(0, len(rows), (DRAWS, len(rows)))
    again = rows[picks][:, :, :2].mean(axis=1)
    some = again[:, 0] > 0  # seeds of which the old version certifies nothing have no ratio
    ratios = again[some, 1] / again[some, 0]
    low, high = np.quantile(ratios, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(means[1] / means[0]), float(low), float(high)


def compare(old: Path, new: Path) -> None:
    """Prints a row for each subject and, for each number of trials, median and mean ratio and the CPU seconds."""
    table = paired(old, new)
    print("| subject | trials | seeds | old | new | ratio | 95 % | old cpu s | new cpu s |\n" + "|---" * 9 + "|")
    for trials in sorted({trials for _, trials in table}):
        rows = {subject: each for (subject, n), each in table.items() if n == trials}
        found = {subject: ratio(each) for subject, each in rows.items()}
        for subject, each in rows.items():
            (a, b, s, t), (middle, low, high) = each.mean(axis=0), found[subject]
            print(
                f"| {subject} | {trials} | {len(each)} | {a:.4f} | {b:.4f} | {middle:.3f} | "
                f"{low:.3f} to {high:.3f} | {s:.2f} | {t:.2f} |"
            )
        ratios = np.array([middle for middle, _, _ in found.values() if np.isfinite(middle)])
        equal = sum(int((each[:, 0] == each[:, 1]).sum()) for each in rows.values())
        seconds = np.sum([each[:, 2:].sum(axis=0) for each in rows.values()], axis=0)
        print(
            f"trials {trials}: {len(ratios)} subjects, median ratio {np.median(ratios):.3f}, mean {ratios.mean():.3f}, "
            f"least {ratios.min():.3f}; {equal} of {sum(map(len, rows.values()))} audits equal; "
            f"CPU seconds {seconds[0]:.0f} -> {seconds[1]:.0f}"
        )


def main() -> None:
    """Runs or compares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run")
    runs.add_argument("file", type=Path)
    runs.add_argument("--trials", type=int, default=100_000)
    runs.add_argument("--seeds", type=int, nargs=2, default=(20, 36), help="first, and one after the last")
    runs.add_argument("--only", default="")
    both = commands.add_parser("compare")
    both.add_argument("old", type=Path)
    both.add_argument("new", type=Path)
    options = parser.parse_args()
    if options.command == "run":
        run(options.file, options.trials, range(*options.seeds), options.only)
    else:
        compare(options.old, options.new)


if __name__ == "__main__":
    main()
