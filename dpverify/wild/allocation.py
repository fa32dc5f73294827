"""Many pairs, one budget: a first pass over all of them, then rounds for those whose wealth has grown most.

Significance: half of it is shared equally by the pairs of the grid, whose number is fixed before the first trial; the
k-th random pair gets alpha/(2 k (k + 1)), which adds up to the other half. So the probability that any true claim is
refuted on any pair is at most alpha (Bonferroni), whenever the race stops.
"""

import time
from collections.abc import Callable, Iterator

from dpverify.claims.claim import Claim
from dpverify.errors import TargetError
from dpverify.wild import datasets
from dpverify.wild.datasets import Candidate
from dpverify.wild.local import ReleaseSource
from dpverify.wild.pair_audit import Contender, FEWEST
from dpverify.wild.schema import Schema

SAMPLE, PASS = 100, 150  # releases on each dataset that fix the coordinates; trials of the first pass
SAMPLE_SHARE, PASS_SHARE = 0.25, 0.6  # of the budget, by the end of the samples, of the first pass
AT_MOST, SAMPLE_OF = 3.0, 0.4  # shares of a pair that one pair may take; what part of it for its first sample
ENOUGH = 0.25  # of the time, after which no more pairs are tried for a claim that has fallen
FEWEST_TRIALS = 48
MOST_EACH = 2_000  # trials a pair, on average
RANDOM_EACH = 300
Clock = Callable[[], float]


class Budget:
    """Seconds that are left, and what a release takes."""

    def __init__(self, seconds: float, release: float, clock: Clock = time.monotonic) -> None:
        self.seconds, self.release, self._clock = seconds, max(release, 1e-6), clock
        self._started = clock()

    @property
    def spent(self) -> float:
        """Seconds so far."""
        return self._clock() - self._started

    @property
    def left(self) -> float:
        """Seconds that are left; negative when they are spent."""
        return self.seconds - self.spent

    def sizes(self, pairs: int) -> tuple[int, int]:
        """(first sample on each dataset, trials of the first pass) for so many pairs."""
        fit = self.seconds / (self.release * max(1, pairs))
        sample = int(min(SAMPLE, max(FEWEST, SAMPLE_SHARE * fit / 2)))
        return sample, int(min(PASS, max(FEWEST_TRIALS, PASS_SHARE * fit - 2 * sample)))

    def predicted(self, pairs: int, most_each: int = MOST_EACH) -> tuple[int, float]:
        """(most releases, seconds) of the grid's pairs; random pairs come on top, within the same seconds."""
        sample, first = self.sizes(pairs)
        most = pairs * (2 * sample + max(first, most_each))
        return most, min(self.seconds, most * self.release)


class Race:
    """Contenders of one relation, or of those out of the domain."""

    def __init__(
        self, source: ReleaseSource, schema: Schema, claim: Claim, *, alpha: float, planned: int, seed: int, block: int,
        first_index: int, most_each: int = MOST_EACH,
    ) -> None:  # fmt: skip
        self.most_each = most_each
        self.source, self.schema, self.claim = source, schema, claim
        self.alpha, self.planned, self.seed, self.block = alpha, planned, seed, block
        self.contenders: list[Contender] = []
        self._index, self._random = first_index, 0

    def entered(self, candidate: Candidate, share: float) -> Contender:
        """A contender, not yet started."""
        data = datasets.wire(self.schema, candidate.first), datasets.wire(self.schema, candidate.second)
        self._index += 1
        return Contender(candidate, data, self.source, self.claim, share=share, seed=self.seed, index=self._index,
                         block=self.block)  # fmt: skip

    def first_pass(self, candidates: list[Candidate], budget: Budget, pairs: int) -> None:
        """Every pair of the grid, as far as time goes; of those that it does not reach nothing is known.

        Where the claim has fallen on a pair, what is left of them is worth a part of the time only.
        """
        sample, trials = budget.sizes(pairs)
        for candidate in candidates:
            if budget.left < 2 * FEWEST * budget.release or (self.refuted and budget.spent > ENOUGH * budget.seconds):
                return
            self._tried(self.entered(candidate, self.alpha / 2 / max(1, self.planned)), sample, trials, budget)

    def rounds(self, more: Iterator[Candidate], budget: Budget) -> None:
        """Doubles the trials of the better half and tries random pairs in turn, until something falls or time is up."""
        limit = self.most_each * max(1, len(self.contenders))
        while self.contenders and budget.left > 0 and not self.refuted and self.trials < limit:
            standing = sorted((each for each in self.contenders if each.process.trials),
                              key=lambda each: -each.process.log_wealth)  # fmt: skip
            for each in standing[: max(1, len(standing) // 2)]:
                if budget.left <= 0 or self.refuted:
                    return
                each.run(min(each.process.trials, max(FEWEST_TRIALS, int(budget.left / budget.release))), budget.left)
            if budget.left > 0 and not self.refuted and (candidate := next(more, None)) is not None:
                self._random += 1
                share = self.alpha / (2 * self._random * (self._random + 1))
                self._tried(self.entered(candidate, share), *self._small(budget), budget)

    def _small(self, budget: Budget) -> tuple[int, int]:
        sample, trials = budget.sizes(max(1, self.planned))
        return sample, min(trials, RANDOM_EACH)

    def _tried(self, contender: Contender, sample: int, trials: int, budget: Budget) -> None:
        """One more pair; where releases on it are slow, no more than a few pairs' share of the time."""
        seconds = min(budget.left, AT_MOST * budget.seconds / max(1, self.planned))
        contender.sample(sample, SAMPLE_OF * seconds)
        self.contenders.append(contender)
        if not contender.failing:
            contender.run(trials, (1 - SAMPLE_OF) * seconds)

    @property
    def trials(self) -> int:
        """Of all pairs together."""
        return sum(each.process.trials for each in self.contenders)

    @property
    def refuted(self) -> list[Contender]:
        """Pairs on which the claim has fallen, the largest bound first."""
        return sorted((each for each in self.contenders if each.refuted), key=lambda each: -each.eps_lower)

    @property
    def failing(self) -> bool:
        """No pair on which releases mostly succeed."""
        return bool(self.contenders) and all(each.failing for each in self.contenders)


def timed(source: ReleaseSource, data: tuple[bytes, bytes], releases: int, clock: Clock = time.perf_counter) -> float:
    """Seconds a release, the slower dataset; the first call of each is not counted."""
    worst = 0.0
    for each in data:
        source.fields(each, [1])
        started = clock()
        source.fields(each, list(range(2, 2 + releases)))
        worst = max(worst, (clock() - started) / releases)
    if not worst > 0:
        raise TargetError(f"{source.name}: a release takes no time")
    return worst
