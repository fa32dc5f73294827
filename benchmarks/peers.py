"""Certified eps against DP-Sniper's and Delta-Siege's, at a share of their samples.

    python -m benchmarks.peers --seeds 3 --jobs 2 --most-trials 1e6
    python -m benchmarks.peers --rows            # what would be run, and with how many trials

DP-Sniper (Bichsel et al. 2021, eth-sri/dp-sniper at ee087b2): logistic regression, error 0.1, each figure its
eps_lcb (negative: nothing certified), the better of two seeds where two were run. "default" is its shipped
budget, run once (Laplace, noisy-hist-2, report noisy max 3) or its own log; about 6e8 samples for scalars and
1.3e9 for 16 input pairs. Its budget also searches 4 to 16 pairs: we are given the pair that it found.
Delta-Siege (eth-sri/Delta-Siege at 358377f): error 0.1, one seed, the pair and the privacy curve given by hand.
Ours: error 0.1 as theirs, black box. "fewer": the peer's samples over ours, 1x for the same number, 10x for a tenth
(60x for the default budget).
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from benchmarks.reference import BlackBox, gaussian, laplace, Reference
from benchmarks.zoo import maxima, simple, sparse_vector
from benchmarks.zoo.subject import Animal
from dpverify import ApproxDP, Claim, PureDP
from dpverify.auditing.pipeline import audit
from dpverify.execution.executors import ordered_map

# DP-Sniper's certified eps with 1e6 and 1e7 samples and with its default budget; None: not run
SNIPER: dict[str, tuple[float | None, float | None, float | None]] = {
    "laplace": (-0.0086, 0.0660, 0.0977),
    "laplace-1": (0.9098, 0.9812, None),
    "noisy-hist-1": (0.0206, 0.0682, 0.0978),
    "noisy-hist-2 (scale eps)": (4.6893, 4.6019, 4.6063),
    "one-time rappor": (0.4425, 0.5811, 0.5978),
    "rappor": (0.1740, 0.2851, 0.2930),
    "prefix sums": (0.4028, 0.4869, 0.5040),
    "truncated geometric": (0.0186, 0.0863, 0.1156),
    "report noisy max 1": (-0.0096, 0.0583, 0.0923),
    "report noisy max 2": (-0.0039, 0.0655, 0.0975),
    "report noisy max 3": (0.1855, 0.2260, 0.2470),
    "report noisy max 4": (0.2873, 0.3315, 0.3463),
    "sparse vector 1": (-0.0431, 0.0234, 0.0858),
    "sparse vector 2": (-0.0350, 0.0075, 0.0859),
    "sparse vector 3": (0.0153, 0.1437, 0.1716),
    "sparse vector 4": (0.0416, 0.1283, 0.1687),
    "sparse vector 5": (1.7074, 1.7411, 1.7612),
    "sparse vector 6": (0.1951, 0.2306, 0.2720),
    "numerical sparse vector": (-0.0726, -0.0001, 0.0343),
}
ERROR = 0.1  # of every tool's bound
SPENT = (1_000_000, 10_000_000, 600_000_000)  # samples behind the three columns; the last one at least
TENTH = (100_000, 1_000_000, 10_000_000)  # the default is compared with a sixtieth of it

SIGMA = float(np.sqrt(2 * np.log(1.25 / 1e-3)))  # the classic Gaussian for (1, 1e-3)

# Delta-Siege: subject, claim, score, {samples: certified eps}
SIEGE: tuple[tuple[str, Reference, Claim, str, dict[int, float]], ...] = (
    ("Laplace, claim 0.1", laplace(0.1), PureDP(0.1), "auto", {800_000: 0.0825, 8_000_000: 0.0941}),
    ("Laplace, claim 1", laplace(1.0), PureDP(1.0), "auto", {800_000: 0.9733, 8_000_000: 0.9878}),
    ("Laplace, half noise, claim 1, truth 2", laplace(2.0), PureDP(1.0), "auto", {800_000: 1.9675}),
    (
        "classic Gaussian, claim (1, 1e-3), truth 0.634",
        gaussian(1 / SIGMA, 0.634, 1e-3),
        ApproxDP(1.0, 1e-3),
        "auto",
        {800_000: 0.5041, 8_000_000: 0.5975},
    ),
    (
        "Gaussian, half noise, truth 1.449",
        gaussian(2 / SIGMA, 1.449, 1e-3),
        ApproxDP(1.0, 1e-3),
        "auto",
        {800_000: 1.2461, 8_000_000: 1.3865},
    ),
    ("float64 Laplace, claim 1, low bits", laplace(1.0), PureDP(1.0), "bits", {800_000: 8.17}),
)


@dataclass(frozen=True)
class Row:
    """One comparison: our trials against a peer's samples and certified eps."""

    peer: str
    subject: str
    samples: int
    theirs: float
    trials: int


def rows() -> Iterator[Row]:
    """All comparisons, cheap ones first."""
    for place in range(3):
        for name, figures in SNIPER.items():
            theirs = figures[place]
            if theirs is not None:
                yield Row("DP-Sniper", name, SPENT[place], theirs, TENTH[place])
                if SPENT[place] in TENTH:
                    yield Row("DP-Sniper", name, SPENT[place], theirs, SPENT[place])
    for name, *_, figures in SIEGE:
        for samples, theirs in figures.items():
            for trials in (samples, samples // 2):
                yield Row("Delta-Siege", name, samples, theirs, trials)


def certified(seed: int, peer: str, name: str, trials: int) -> float:
    """Our bound on a peer's subject with one seed."""
    if peer == "DP-Sniper":
        animal = _animals()[name]
        target, claim, pair, score = animal.black_box, animal.claimed, animal.pair, "auto"
        return audit(
            target, claim=claim, pair=pair, trials=trials, seed=seed, score=score, significance=ERROR
        ).eps_lower
    subject, claim, score = next((s, c, k) for each, s, c, k, _ in SIEGE if each == name)
    return audit(
        BlackBox(subject), claim=claim, pair=subject.pair, trials=trials, seed=seed, score=score, significance=ERROR
    ).eps_lower


def _animals() -> dict[str, Animal]:
    return {each.name: each for each in [*simple.animals(), *maxima.animals(), *sparse_vector.animals()]}


def compare(row: Row, seeds: int, jobs: int) -> str:
    """A line of the table: did the mean over seeds reach the peer's figure, and did every seed?"""
    found, seconds = _measured(row.peer, row.subject, row.trials, seeds, jobs)
    said = "yes" if found.mean() >= row.theirs else "no"
    every = "yes" if found.min() >= row.theirs else "no"
    return (
        f"| {row.peer} | {row.subject} | {row.samples:.0e} | {row.theirs:.4f} | {row.trials:.0e} | "
        f"{row.samples / row.trials:.0f}x | {found.mean():.4f} | {found.min():.4f} | {said} | {every} | {seconds:.1f} |"
    )


@cache
def _measured(
    peer: str, subject: str, trials: int, seeds: int, jobs: int
) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], float]:
    """Our bounds and the seconds of one; several rows may ask for the same run."""
    started = time.perf_counter()
    run = partial(certified, peer=peer, name=subject, trials=trials)
    found = list(ordered_map(run, range(seeds), jobs=jobs, backend="loky"))
    return np.array(found), (time.perf_counter() - started) / seeds


def main() -> None:
    """Prints the table, then how many rows were reached."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1, help="seeds that run side by side")
    parser.add_argument("--most-trials", type=float, default=1e6, help="leave out rows on which we spend more")
    parser.add_argument("--least-trials", type=float, default=0, help="leave out rows on which we spend less")
    parser.add_argument("--only", default="", help="part of the peer's or the subject's name")
    parser.add_argument("--rows", action="store_true", help="list the rows and stop")
    options = parser.parse_args()
    asked = [
        row
        for row in rows()
        if options.least_trials <= row.trials <= options.most_trials and options.only in f"{row.peer} {row.subject}"
    ]
    if options.rows:
        for row in asked:
            print(row)
        return
    print(
        "| peer | subject | its samples | its eps | our trials | fewer | ours, mean | ours, least | mean | every | s |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    lines = list(map(partial(_shown, seeds=options.seeds, jobs=options.jobs), asked))
    for share in sorted({(row.peer, row.samples // row.trials) for row in asked}):
        chosen = [
            line for row, line in zip(asked, lines, strict=True) if (row.peer, row.samples // row.trials) == share
        ]
        reached = sum(line.split("|")[9].strip() == "yes" for line in chosen)
        print(f"{share[0]}, {share[1]}x fewer samples: {reached} of {len(chosen)} rows reached in the mean")


def _shown(row: Row, seeds: int, jobs: int) -> str:
    line = compare(row, seeds, jobs)
    print(line, flush=True)
    return line


if __name__ == "__main__":
    main()
