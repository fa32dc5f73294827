"""Random private programs with the eps that they have: how many does one transcript refute? None may be.

    python -m benchmarks.tape_random [--programs 1000] [--transcripts 10] [--seed 0] [--planted]

A program is one to four steps over the registered families (Laplace noise in four spellings, discrete Laplace noise,
responses by a uniform, choices with probabilities, geometric differences): noisy sums, thresholds on a noisy sum that
decide what is asked next, loops that end on a noisy sum. What a step gives is shown, rounded, clipped, shown as a sign,
replaced by a public draw where it is out of range, or hidden. Data are multiples of 0.1, so sums round. The claim is
the sum of what the steps may cost at most. With `--planted` the claim is 0.9 of it: then some must fall, of the
programs that show everything. Exit code 1 where a true claim falls, or none of the planted ones does.
"""

import argparse
import math
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from dpverify.base.seeding import Stage, stream
from dpverify.claims.claim import PureDP
from dpverify.claims.neighbours import Pair
from dpverify.tape.trace import trace
from mechanisms.toolbox.samplers import discrete_laplace

Release = Callable[..., Any]
FIRST = np.array([1.3, 0.2, 2.1, 4.7])
PAIR = Pair(FIRST, FIRST + np.array([0.0, 0.0, 1.0, 0.0]))  # a part or a sum moves by 1 at most
NOISES = ("laplace", "location", "scaled", "differences", "whole", "geometric")
STEPS = ("sum", "sum", "threshold", "loop", "response", "choice")
SHOWN = ("shown", "shown", "shown", "rounded", "clipped", "sign", "replaced", "hidden")
LONGEST = 4  # of a loop


def noisy(value: float, scale: float, kind: str, rng: Any) -> Any:
    """`value` and noise: 1/scale-private where it moves by 1."""
    if kind == "laplace":
        return value + rng.laplace(0.0, scale)
    if kind == "location":
        return rng.laplace(value, scale)
    if kind == "scaled":
        return scale * (value / scale + rng.laplace())
    if kind == "differences":  # of exponential variables
        return value + scale * (rng.exponential() - rng.exponential())
    if kind == "whole":
        return math.floor(value) + discrete_laplace(rng, 1, scale)[0]
    stop = -math.expm1(-1 / scale)
    return math.floor(value) + (rng.geometric(stop) - rng.geometric(stop))


def viewed(value: Any, how: str, rng: Any) -> list[Any]:
    """What is released of a value: post-processing."""
    match how:
        case "shown":
            return [value]
        case "rounded":
            return [np.round(value)]
        case "clipped":
            return [np.clip(value, 0.0, 10.0)]
        case "sign":
            return [np.sign(value)]
        case "replaced":
            return [value if -5 < value < 15 else rng.uniform(-5, 15)]
    return []


def program(seed: int) -> tuple[Release, float, bool]:
    """A release, the eps that it has at most, and whether it shows all that it draws and may reach it."""
    r = stream(seed, Stage.TAPE, 51)
    steps = [(str(r.choice(STEPS)), int(r.integers(4)), float(r.uniform(2, 9)), str(r.choice(NOISES)),
              str(r.choice(SHOWN)), float(r.uniform(0, 8))) for _ in range(int(r.integers(1, 5)))]  # fmt: skip

    def release(data: Any, *, rng: Any, size: int) -> Any:
        seen: list[Any] = []
        last: Any = 0.0
        for step, column, scale, kind, how, bound in steps:
            value = float(data[column] if last < 5 else data.sum())
            match step:
                case "sum":
                    last = noisy(value, scale, kind, rng)
                case "threshold":
                    above = noisy(value, 2 * scale, kind, rng) > bound
                    seen.append(float(above))
                    last = noisy(float(data.sum()) if above else value, 2 * scale, kind, rng)
                case "loop":
                    for _ in range(LONGEST):
                        last = noisy(value, LONGEST * scale, kind, rng)
                        seen += viewed(last, how, rng)
                        if last > bound:
                            break
                    continue
                case "response":
                    chance = 1 / (1 + math.exp(1 / scale))
                    last = float(rng.random() < (chance if value > bound else 1 - chance))
                case _:
                    weights = np.exp(-np.abs(np.arange(6) - min(max(value, 0.0), 5.0)) / (2 * scale))
                    last = float(rng.choice(6, p=weights / weights.sum()))
            seen += viewed(last, how, rng)
        return np.array([np.array([float(each) for each in seen])])

    tight = all(step == "sum" and how == "shown" and kind in NOISES[:3] and column == 2
                for step, column, _, kind, how, _ in steps)  # fmt: skip
    return release, sum(1 / scale for _, _, scale, *_ in steps) * (1 + 1e-12), tight


def main() -> int:
    """Prints the counts."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--programs", type=int, default=1000)
    options.add_argument("--transcripts", type=int, default=10)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--planted", action="store_true")
    given = options.parse_args()
    words, fallen, tight, start = Counter[str](), list[int](), 0, time.process_time()
    for seed in range(given.seed, given.seed + given.programs):
        release, eps, whole = program(seed)
        if given.planted and not whole:
            continue
        tight += whole
        claim = PureDP(eps * (0.9 if given.planted else 1.0))
        found = trace(release, pair=PAIR, claim=claim, transcripts=given.transcripts, timeout=600.0)
        words[found.status] += 1
        if any(reason.code == "WITNESS" for reason in found.reasons):
            fallen.append(seed)
            if not given.planted:
                print(f"refuted: program {seed}, claim {eps:.6g}: {found.reasons[0]}", flush=True)
    print(f"{words.total()} programs ({tight} show all): {dict(words)}; refuted {len(fallen)};",
          f"cpu {time.process_time() - start:.0f} s")  # fmt: skip
    return int(not fallen if given.planted else bool(fallen))


if __name__ == "__main__":
    raise SystemExit(main())
