"""One pair in the race: releases on both datasets, a rule that is settled before each block, and its wealth.

A first sample on both datasets fixes the coordinates and the first rule and certifies nothing. Then every trial is a
coin, a release on the dataset that it picks, and a guess by the rule as it stood before the block: the wealth is a test
martingale (`evidence.betting`), and the pair may be dropped, taken up again or stopped whenever one likes.
"""

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.base.seeding import Stage, stream
from dpverify.claims.claim import Claim
from dpverify.errors import TargetError
from dpverify.evidence.attack import Attack
from dpverify.evidence.betting import EProcess, FOLLOWING_LEARNED
from dpverify.evidence.bettor import Bettor, judged_by
from dpverify.evidence.scores.model_selection import fit_score
from dpverify.trials.collect import Grain, SelectionTrials
from dpverify.trials.outcomes import Outcomes
from dpverify.wild import datasets
from dpverify.wild.datasets import Candidate
from dpverify.wild.fields import Codebook, Fields
from dpverify.wild.local import ReleaseSource
from dpverify.wild.schema import Schema

FIRST_BLOCK, LATER = 24, 4  # trials of the first block; later ones are this part of all before
REFIT, MOST_FITTED = 2.0, 20_000
POWER = 0.95
FEWEST = 24  # releases of a first sample on each dataset
LARGEST_BLOCK = 65_536
Clock = Callable[[], float]  # seconds; or releases made so far, where a budget is a number of releases


class Contender:
    """A pair, its trials so far and what they say against the claim at the pair's share of the significance."""

    def __init__(
        self,
        candidate: Candidate,
        data: tuple[bytes, bytes],
        source: ReleaseSource,
        claim: Claim,
        *,
        share: float,
        seed: int,
        index: int,
        block: int,
        clock: Clock = time.monotonic,
    ) -> None:
        self.clock = clock
        self.candidate, self.data, self.claim, self.share = candidate, data, claim, share
        self.index, self.block = index, block
        self._source, self._seed, self._calls = source, seed, 0
        self.bettor = Bettor(claim, fit=fit_rule, following=FOLLOWING_LEARNED, refit=REFIT, most=MOST_FITTED)
        self.codebook: Codebook | None = None
        self.changes, self.notes = False, set[str]()
        self.raised = [0, 0], [0, 0]  # (releases, exceptions) on each dataset
        self.samples: tuple[list[Fields], list[Fields]] = ([], [])
        self._grains = 0
        self.seconds = 0.0  # of one release by the clock, measured by the sample
        self.learning = 0.0  # seconds of the clock that the last rule took

    # releases

    def releases(self, arm: int, size: int, stage: Stage = Stage.ESTIMATE) -> list[Fields]:
        """Fresh releases on one dataset; how many are asked for at once makes no difference to them."""
        found: list[Fields] = []
        seeds = stream(self._seed, stage, self.index, self._calls).integers(0, 2**62, size=size).tolist()
        self._calls += 1
        for at in range(0, size, self.block):
            answer = self._source.fields(self.data[arm], seeds[at : at + self.block])
            found += answer["fields"]
            self.changes |= answer["changed"]
            self.notes |= set(answer["notes"])
        counts = self.raised[arm]
        counts[0] += len(found)
        counts[1] += sum(any(name[0] == "!" for name in each) for each in found)
        return found

    @property
    def still(self) -> bool:
        """All of the first releases on both datasets were one and the same output."""
        one, two = self.samples
        return bool(one) and all(repr(sorted(each.items())) == repr(sorted(one[0].items())) for each in one + two)

    @property
    def failing(self) -> bool:
        """Most releases on both datasets ended in an exception."""
        return all(made and 2 * raised >= made for made, raised in self.raised)

    # trials

    def sample(self, size: int, seconds: float = math.inf) -> None:
        """The first releases on both datasets: they fix the coordinates. At least FEWEST, then as time allows."""
        size = max(size, FEWEST)
        started = self.clock()
        parts = [self.releases(arm, FEWEST, Stage.SELECT) for arm in (0, 1)]
        each = max(self.clock() - started, 1e-6) / FEWEST
        more = int(min(size - FEWEST, max(0.0, seconds / each - FEWEST)))
        one, two = (part + self.releases(arm, more, Stage.SELECT) for arm, part in enumerate(parts))
        self.samples, size, self.seconds = (one, two), FEWEST + more, each / 2
        self.codebook = Codebook.of(self.samples[0] + self.samples[1])
        first = np.repeat([True, False], size)
        mixed = stream(self._seed, Stage.SELECT, self.index, 1 << 30).permutation(2 * size)
        rows = self.codebook.rows(self.samples[0] + self.samples[1])
        self.bettor.keep(Grain(-1, Outcomes(rows[mixed]), first[mixed]))

    def run(self, trials: int, seconds: float = math.inf) -> None:
        """So many trials more, or fewer where the claim falls before, or what comes next would not end in time."""
        assert self.codebook is not None
        left, ends = trials, self.clock() + seconds
        while left > 0 and not self.refuted:
            if self.bettor.due:
                if self.clock() + REFIT * self.learning > ends:
                    return
                started = self.clock()
                self.bettor.learn()
                self.learning = self.clock() - started
            fits = (ends - self.clock()) / self.seconds
            size = int(min(left, max(FIRST_BLOCK, self.process.trials // LATER), LARGEST_BLOCK, fits))
            if size < 1:
                return
            left -= size
            self._block(size)

    def _block(self, size: int) -> None:
        assert self.codebook is not None
        coins = stream(self._seed, Stage.ESTIMATE, self.index, 1 << 30, self._grains)
        first = coins.integers(0, 2, size=size).astype(bool)
        values: npt.NDArray[Any] = np.zeros((size, len(self.codebook.labels)))
        arms = (True, False) if coins.integers(2) else (False, True)
        for arm in arms:
            rows = first == arm
            if rows.any():
                values[rows] = self.codebook.rows(self.releases(0 if arm else 1, int(rows.sum())))
        grain = Grain(self._grains, Outcomes(values), first)
        self._grains += 1
        self.bettor.bet(size, judged_by(self.bettor.attack, grain), grain)

    # what is known

    def check(self) -> None:
        """InvalidTrials where the trials were not independent."""
        self.bettor.evidence.check()

    @property
    def process(self) -> EProcess:
        """The wealth."""
        return self.bettor.process

    @property
    def attack(self) -> Attack:
        """The rule that comes next."""
        assert self.bettor.attack is not None
        return self.bettor.attack

    @property
    def refuted(self) -> bool:
        """The claim has fallen on this pair."""
        return self.process.trials > 0 and self.process.refuted(self.share)

    @property
    def eps_lower(self) -> float:
        """The certified lower bound on eps at the claim's delta."""
        return self.process.eps_lower(self.share) if self.process.trials else 0.0

    @property
    def detectable(self) -> float:
        """The most favourable violation that these trials would have caught."""
        return self.bettor.detectable_eps(self.share, POWER) if self.process.trials else math.inf


def fit_rule(trials: SelectionTrials) -> Any:
    """A score of these trials; what is learned never changes what is valid."""
    return fit_score("auto", None, None, trials)  # type: ignore[arg-type]


# ----------------------------------------------------------------------------------------------------------------------
# Many pairs, one budget: a first pass over all of them, then rounds for those whose wealth has grown most.
#
# Significance: half of it is shared equally by the pairs of the grid, whose number is fixed before the first trial; the
# k-th random pair of each of r relations gets alpha/(2 r k (k + 1)), which adds up to the other half. So the
# probability that any true claim is refuted on any pair is at most alpha (Bonferroni), whenever the race stops.


SAMPLE, PASS = 100, 150  # releases on each dataset that fix the coordinates; trials of the first pass
SAMPLE_SHARE, PASS_SHARE = 0.25, 0.6  # of the budget, by the end of the samples, of the first pass
AT_MOST, SAMPLE_OF = 3.0, 0.4  # shares of a pair that one pair may take; what part of it for its first sample
ENOUGH = 0.25  # of the time, after which no more pairs are tried for a claim that has fallen
FEWEST_TRIALS = 48
MOST_EACH = 2_000  # trials a pair, on average
RANDOM_EACH = 300


class Budget:
    """Seconds that are left, and what a release takes.

    With a clock that counts releases, of which each takes 1, all of it is in releases: no time decides anything.
    """

    def __init__(self, seconds: float, release: float, clock: Clock = time.monotonic) -> None:
        self.seconds, self.release, self.clock = seconds, max(release, 1e-6), clock
        self._started = clock()

    def part(self, seconds: float) -> "Budget":
        """So much from now on, by the same clock."""
        return Budget(seconds, self.release, self.clock)

    @property
    def spent(self) -> float:
        """Seconds so far."""
        return self.clock() - self._started

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
        self,
        source: ReleaseSource,
        schema: Schema,
        claim: Claim,
        *,
        alpha: float,
        planned: int,
        seed: int,
        block: int,
        first_index: int,
        most_each: int = MOST_EACH,
        relations: int = 1,
        clock: Clock = time.monotonic,
    ) -> None:
        self.clock, self.most_each = clock, most_each
        self.source, self.schema, self.claim = source, schema, claim
        self.alpha, self.planned, self.seed, self.block = alpha, planned, seed, block
        self.relations = relations
        self.contenders: list[Contender] = []
        self._index, self._random = first_index, 0

    def entered(self, candidate: Candidate, share: float) -> Contender:
        """A contender, not yet started."""
        data = datasets.wire(self.schema, candidate.first), datasets.wire(self.schema, candidate.second)
        self._index += 1
        return Contender(
            candidate,
            data,
            self.source,
            self.claim,
            share=share,
            seed=self.seed,
            index=self._index,
            block=self.block,
            clock=self.clock,
        )

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
            standing = sorted(
                (each for each in self.contenders if each.process.trials), key=lambda each: -each.process.log_wealth
            )
            for each in standing[: max(1, len(standing) // 2)]:
                size = min(each.process.trials, limit - self.trials)
                if budget.left <= 0 or self.refuted or size <= 0:
                    return
                each.run(min(size, max(FEWEST_TRIALS, int(budget.left / budget.release))), budget.left)
            if budget.left > 0 and not self.refuted and (candidate := next(more, None)) is not None:
                self._random += 1
                self._tried(self.entered(candidate, self.random_share(self._random)), *self._small(budget), budget)

    def random_share(self, k: int) -> float:
        """Of the significance, for the k-th random pair."""
        return self.alpha / (2 * self.relations * k * (k + 1))

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
