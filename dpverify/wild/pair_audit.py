"""One pair in the race: releases on both datasets, a rule that is settled before each block, and its wealth.

A first sample on both datasets fixes the coordinates and the first rule and certifies nothing. Then every trial is a
coin, a release on the dataset that it picks, and a guess by the rule as it stood before the block: the wealth is a test
martingale (`evidence.betting`), and the pair may be dropped, taken up again or stopped whenever one likes.
"""

import math
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.base.seeding import Stage, stream
from dpverify.claims.claim import Claim
from dpverify.evidence import betting_plan
from dpverify.evidence.betting import EProcess
from dpverify.evidence.betting_plan import informative_fraction, LEVELS, no_guesses, ranked_levels
from dpverify.evidence.certifying_blocks import Evidence, judged
from dpverify.evidence.scores.model_selection import fit_score
from dpverify.trials.collect import Grain, past_trials, SelectionTrials
from dpverify.trials.outcomes import Outcomes
from dpverify.wild.datasets import Candidate
from dpverify.wild.fields import Codebook, Fields
from dpverify.wild.local import ReleaseSource

FIRST_BLOCK, LATER = 24, 4  # trials of the first block; later ones are this part of all before
REFIT, MOST_FITTED = 2.0, 20_000
FOLLOWING = 0.6  # share of the capital that follows predictions
POWER = 0.95
FEWEST = 24  # releases of a first sample on each dataset
LARGEST_BLOCK = 65_536


class Contender:
    """A pair, its trials so far and what they say against the claim at the pair's share of the significance."""

    def __init__(
        self, candidate: Candidate, data: tuple[bytes, bytes], source: ReleaseSource, claim: Claim, *, share: float,
        seed: int, index: int, block: int,
    ) -> None:  # fmt: skip
        self.candidate, self.data, self.claim, self.share = candidate, data, claim, share
        self.index, self.block = index, block
        self._source, self._seed, self._calls = source, seed, 0
        self.process = EProcess(claim_eps=claim.eps, delta=claim.delta, levels=LEVELS, predictive=FOLLOWING)
        self.codebook: Codebook | None = None
        self.changes, self.notes = False, set[str]()
        self.raised = [0, 0], [0, 0]  # (releases, exceptions) on each dataset
        self.samples: tuple[list[Fields], list[Fields]] = ([], [])
        self._held: list[Grain] = []
        self._evidence = Evidence()
        self._seen = no_guesses()
        self._fitted = self._grains = 0
        self._keeps = True
        self.seconds = 0.0  # of one release, measured by the sample
        self.learning = 0.0  # seconds that the last rule took

    # releases

    def releases(self, arm: int, size: int, stage: Stage = Stage.ESTIMATE) -> list[Fields]:
        """Fresh releases on one dataset, in blocks."""
        found: list[Fields] = []
        while len(found) < size:
            now = min(self.block, size - len(found))
            rng = stream(self._seed, stage, self.index, self._calls)
            self._calls += 1
            answer = self._source.fields(self.data[arm], rng.integers(0, 2**62, size=now).tolist())
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
        started = time.monotonic()
        parts = [self.releases(arm, FEWEST, Stage.SELECT) for arm in (0, 1)]
        each = max(time.monotonic() - started, 1e-6) / FEWEST
        more = int(min(size - FEWEST, max(0.0, seconds / each - FEWEST)))
        one, two = (part + self.releases(arm, more, Stage.SELECT) for arm, part in enumerate(parts))
        self.samples, size, self.seconds = (one, two), FEWEST + more, each / 2
        self.codebook = Codebook.of(self.samples[0] + self.samples[1])
        first = np.repeat([True, False], size)
        mixed = stream(self._seed, Stage.SELECT, self.index, 1 << 30).permutation(2 * size)
        rows = self.codebook.rows(self.samples[0] + self.samples[1])
        self._held.append(Grain(-1, Outcomes(rows[mixed]), first[mixed]))

    def run(self, trials: int, seconds: float = math.inf) -> None:
        """So many trials more, or fewer where the claim falls before, or what comes next would not end in time."""
        assert self.codebook is not None
        left, ends = trials, time.monotonic() + seconds
        while left > 0 and not self.refuted:
            if self._due:
                if time.monotonic() + REFIT * self.learning > ends:
                    return
                self._learn()
            fits = (ends - time.monotonic()) / self.seconds
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
        part = judged(self._rule.attack, grain)
        self._evidence.add(part, self._rule)
        self.process.update(part.tally, predicted=self._rule.updated(self._seen, self.claim.eps))
        self._seen = self._seen + part.tally
        if self._keeps:
            self._held.append(grain)

    @property
    def _due(self) -> bool:
        """Whether the next block deserves a new rule; it is learned only when there is a next block."""
        return self._keeps and sum(len(grain) for grain in self._held) >= REFIT * self._fitted

    def _learn(self) -> None:
        started = time.monotonic()
        past = past_trials(self._held)
        held = len(past)
        self._fitted, self._keeps = held, held < MOST_FITTED
        self._rule = ranked_levels(fit_rule(past), past.first, max(held, 300))
        self._seen = no_guesses()
        self.learning = time.monotonic() - started

    # what is known

    def check(self) -> None:
        """InvalidTrials where the trials were not independent."""
        self._evidence.check()

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
        if not self.process.trials:
            return math.inf
        fraction = informative_fraction(self._rule.attack.expected, self.claim.delta) or 1.0
        return betting_plan.sequential_detectable_eps(
            trials=self.process.trials, guess_fraction=fraction, claim_eps=self.claim.eps, delta=self.claim.delta,
            significance=self.share, power=POWER,
        )  # fmt: skip


def fit_rule(trials: SelectionTrials) -> Any:
    """A score of these trials; what is learned never changes what is valid."""
    return fit_score("auto", None, None, trials)  # type: ignore[arg-type]
