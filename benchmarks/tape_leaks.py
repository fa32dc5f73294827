"""Does F5 hold? Programs that leak with a known probability, and the (eps, delta) that transcripts certify for them.

    python -m benchmarks.tape_leaks [--runs 1000] [--probabilities P ...] [-k EXPR] [--seed 0] [--planted]

Five kinds of leak at each probability p. The number of transcripts is the smallest one whose delta_k is below p, so a
run that happens to see no leak states less than the truth: at fewer transcripts nothing could be false, at more of them
hardly anything is seen. Of the certified (eps, delta_k), both orders, at 95 %, the true delta at that eps is computed
in closed form. "below" are the runs that certify less than the truth: at most 5 % and three standard errors are
allowed; where the leak shows in one order only, 2.5 % are expected.

A run is what `trace` certifies without its pilots and its wide transcripts, which would see more, and ends at the first
bad transcript: nothing is certified after it. Transcripts are the rows of calls, as `trace` makes many of them. With
`--planted` only half of the transcripts are looked at: the rows of one order must have too many. Exit code 1 where a
row of the table has too many.
"""

import argparse
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from dpverify.base.errors import RunError
from dpverify.base.seeding import derive as seeded
from dpverify.claims.neighbours import Pair
from dpverify.tape import derive
from dpverify.tape.forced import log_ratio, Pairing
from dpverify.trials.target import as_target

Array = npt.NDArray[Any]

SCALE, NARROW, CONFIDENCE = 10.0, 0.01, 0.95
ROWS = 20_000  # of a call
PAIR = Pair(1.0, 0.0)
PROBABILITIES = (0.1, 0.01, 0.001, 0.0001)
Law = Any  # a frozen distribution of scipy

LAPLACE = stats.laplace(1.0, SCALE), stats.laplace(0.0, SCALE)
NORMAL = stats.norm(1.0, SCALE), stats.norm(0.0, SCALE)


def _delta(p: Law, q: Law, eps: float, start: float, end: float) -> float:
    """P - e^eps Q of the outputs between `start` and `end`, which are those with a loss above eps."""
    if start >= end:
        return 0.0
    return float(p.cdf(end) - p.cdf(start) - math.exp(eps) * (q.cdf(end) - q.cdf(start)))


def _noise(laws: tuple[Law, Law], eps: float, order: int, below: float = math.inf) -> float:
    """What additive noise alone shows: delta at eps of one unit of shift, of outputs below a bound.

    The loss grows with the output (falls, in the other order), from -1/b to 1/b where it is Laplace noise of scale b.
    """
    width = laws[0].std() / math.sqrt(2 if laws is not NORMAL else 1)
    gap = width**2 * eps if laws is NORMAL else width * eps / 2
    if laws is not NORMAL and abs(width * eps) >= 1 - 1e-9:
        return 0.0 if eps > 0 else 1 - math.exp(eps)
    if order == 0:
        return _delta(laws[0], laws[1], eps, 0.5 + gap, below)
    return _delta(laws[1], laws[0], eps, -math.inf, min(0.5 - gap, below))


@dataclass(frozen=True)
class Program:
    """A release, and its true delta at eps in an order."""

    name: str
    probability: float
    release: Callable[..., Any]
    delta: Callable[[float, int], float]

    @property
    def transcripts(self) -> int:
        """The fewest whose delta_k is below the probability of the leak, in each order."""
        return math.floor(math.log((1 - CONFIDENCE) / 2) / math.log1p(-self.probability)) + 1


def _tail(name: str, laws: tuple[Law, Law], draw: str, p: float) -> Program:
    """The exact value, where the noisy one is large; seen in both orders."""
    bound = float(laws[0].isf(p))

    def release(data: Any, *, rng: Any, size: int) -> Any:
        noisy = np.asarray(data + getattr(rng, draw)(0.0, SCALE, size))
        return np.where(noisy > bound, data, noisy)

    return Program(name, p, release, lambda eps, order: float(laws[order].sf(bound)) + _noise(laws, eps, order, bound))


def tail_of_laplace(p: float) -> Program:
    """The exact value, where the noisy one is large."""
    return _tail("tail of Laplace noise", LAPLACE, "laplace", p)


def tail_of_normal(p: float) -> Program:
    """The exact value, where the noisy one is large."""
    return _tail("tail of normal noise", NORMAL, "normal", p)


def by_a_coin(p: float) -> Program:
    """The exact value, where a coin says so; seen in both orders."""

    def release(data: Any, *, rng: Any, size: int) -> Any:
        shown = rng.random(size) < p
        return np.where(shown, data, data + rng.laplace(0.0, SCALE, size))

    return Program("exact by a coin", p, release, lambda eps, order: p + (1 - p) * _noise(LAPLACE, eps, order))


def narrow_by_a_coin(p: float) -> Program:
    """A hundredth of the noise, where a coin says so that is released: no bad transcript, a large loss."""
    narrow = stats.laplace(1.0, SCALE * NARROW), stats.laplace(0.0, SCALE * NARROW)

    def release(data: Any, *, rng: Any, size: int) -> Any:
        coin = rng.random(size) < p
        return np.stack([data + rng.laplace(size=size) * np.where(coin, SCALE * NARROW, SCALE), coin], axis=1)

    def delta(eps: float, order: int) -> float:
        return p * _noise(narrow, eps, order) + (1 - p) * _noise(LAPLACE, eps, order)

    return Program("narrow by a coin", p, release, delta)


def on_one_dataset(p: float) -> Program:
    """A mark that only the first dataset can set: seen in one order."""

    def release(data: Any, *, rng: Any, size: int) -> Any:
        mark = rng.random(size) < p * data
        return np.stack([data + rng.laplace(0.0, SCALE, size), mark], axis=1)

    def delta(eps: float, order: int) -> float:
        if order == 0:
            return p + max(0.0, (1 - p) * _noise(LAPLACE, eps - math.log1p(-p), 0))
        return _noise(LAPLACE, eps + math.log1p(-p), 1)

    return Program("mark of one dataset", p, release, delta)


KINDS = (tail_of_laplace, tail_of_normal, by_a_coin, narrow_by_a_coin, on_one_dataset)


class Transcripts:
    """Losses of transcripts in one order, one after the other: the rows of calls, inf where a row is bad."""

    def __init__(self, release: Any, order: int, seed: int) -> None:
        both = (PAIR.second, PAIR.first) if order else (PAIR.first, PAIR.second)
        self._pairing = Pairing(as_target(release), *both, seed=seed, order=order)
        self._pairing.size = ROWS
        self._calls = 0
        self._left = np.zeros(0)

    def take(self, count: int) -> Array:
        """The next `count` of them, or those up to the first bad one."""
        taken: list[Array] = []
        while count:
            if not len(self._left):
                self._left = self._call()
            bad = np.flatnonzero(np.isinf(self._left[:count]))
            stop = int(bad[0]) + 1 if len(bad) else min(count, len(self._left))
            taken.append(self._left[:stop])
            self._left, count = self._left[stop:], 0 if len(bad) else count - stop
        return np.concatenate(taken)

    def _call(self) -> Array:
        whole = self._pairing.transcript(self._calls)
        self._calls += 1
        if not whole.trusted or whole.second.bad is not None:
            raise RunError(f"a transcript is not to be trusted: {whole.bad}")
        losses = np.zeros(ROWS)
        for moved in log_ratio(whole.first, whole.second)[1]:  # every draw of these programs has one element a row
            losses += np.bincount(moved.place % ROWS, moved.terms, ROWS)
        here, there = (np.ascontiguousarray(each[1]).reshape(ROWS, -1) for each in (whole.output, whole.other_output))
        return np.where((here.view(np.uint8) != there.view(np.uint8)).any(axis=1), math.inf, losses)


def certified(streams: Sequence[Transcripts], transcripts: int, looked: int) -> tuple[float, float] | None:
    """(eps, delta_k) of F5 in both orders, as `Trace.certified` has it; None where one of those looked at is bad."""
    losses = []
    for each in streams:
        losses.append(derive.largest(each.take(looked).tolist()))
        if math.isinf(losses[-1]):
            return None
    return max(losses), derive.failure_mass(transcripts, (1 - CONFIDENCE) / 2)


def count(program: Program, runs: int, seed: int, *, share: float = 1.0) -> tuple[int, int]:
    """Of `runs`: how many certify something, and how many of those less than the truth.

    `share` of the transcripts are looked at; less than 1 is a bug.
    """
    own = seeded(seed, f"{program.name}/{program.probability:g}")
    streams = [Transcripts(program.release, order, own) for order in (0, 1)]
    some = below = 0
    for _ in range(runs):
        found = certified(streams, program.transcripts, round(share * program.transcripts))
        if found is not None:
            eps, delta = found
            some += 1
            below += delta < max(program.delta(eps, order) for order in (0, 1))
    return some, below


def allowed(runs: int) -> float:
    """5 % and three standard errors."""
    level = 1 - CONFIDENCE
    return level + 3 * math.sqrt(level * (1 - level) / runs)


def main() -> int:
    """Prints the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=1000)
    options.add_argument("--probabilities", type=float, nargs="+", default=PROBABILITIES)
    options.add_argument("-k", dest="expression", default="")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--planted", action="store_true")
    given = options.parse_args()
    print("| leak | p | transcripts | runs | certified | below the truth | CPU s |\n|---|---|---|---|---|---|---|")
    wrong = 0
    for kind in KINDS:
        for p in given.probabilities:
            program = kind(p)
            if given.expression not in program.name:
                continue
            start = time.process_time()
            some, below = count(program, given.runs, given.seed, share=0.5 if given.planted else 1.0)
            wrong += below > allowed(given.runs) * given.runs
            spent = time.process_time() - start
            print(f"| {program.name} | {p:g} | {program.transcripts} | {given.runs} | {some} | {below} | {spent:.0f} |",
                  flush=True)  # fmt: skip
    print(f"allowed: {allowed(given.runs):.4f} of the runs; rows above it: {wrong}")
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
