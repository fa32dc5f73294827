"""Prints the zoo's table.

python -m benchmarks.zoo.run --trials 1000000 --seed 0 --only "sparse"
"""

import argparse
import time

from benchmarks.zoo import maxima, simple, sparse_vector
from benchmarks.zoo.subject import Animal
from dpverify.auditing.pipeline import audit


def row(animal: Animal, trials: int, seed: int) -> str:
    """Certified and true eps of one subject; the oracle knows the likelihood ratio and spends no trial on learning."""
    started, spent = time.perf_counter(), time.process_time()
    claim, pair = animal.claimed, animal.pair
    record = audit(animal.black_box, claim=claim, pair=pair, trials=trials, seed=seed)
    seconds, cpu = time.perf_counter() - started, time.process_time() - spent
    efficiency = "-"
    if animal.oracle is not None:
        best = audit(animal.oracle, claim=claim, pair=pair, trials=trials, seed=seed).eps_lower
        efficiency = f"{record.eps_lower / best:.3f}" if best > 0 else "0/0"
    truth = f"{animal.truth:.4f}" + ("" if animal.exact_truth else " (bound)")
    return (
        f"| {animal.name} | {animal.claimed.eps:.4g} | {truth} | {record.eps_lower:.4f} | {record.verdict} | "
        f"{trials} | {seconds:.1f} | {cpu:.1f} | {efficiency} | {record.score}, {record.test} |"
    )


def main() -> None:
    """Runs the asked subjects one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    print("| subject | claimed | true | certified | verdict | trials | seconds | cpu s | of oracle | score, test |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for animal in [*simple.animals(), *maxima.animals(), *sparse_vector.animals()]:
        if arguments.only in animal.name:
            print(row(animal, arguments.trials, arguments.seed), flush=True)


if __name__ == "__main__":
    main()
