"""The learner of every sequential run: trials are bet on by a rule, and then join those that later rules learn from.

Nothing is held back for learning. A rule is settled before the block that it bets on; whatever the rule, and whenever
one stops, a true claim is refuted with probability at most the significance (`evidence.betting`).
"""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from dpverify.claims.claim import Claim
from dpverify.evidence.attack import Attack, Evidence, Failed, failures, Judged, score_block
from dpverify.evidence.betting import (
    EProcess,
    FIRST_FIT,
    informative_fraction,
    LEVELS,
    no_guesses,
    ranked_levels,
    RankedLevels,
    sequential_detectable_eps,
)
from dpverify.evidence.scores.model_selection import Fitted
from dpverify.evidence.scores.score import FloatArray
from dpverify.evidence.tally import Bet
from dpverify.trials.collect import Grain, past_trials, SelectionTrials

Unjudged = tuple[tuple[int, int], Failed, frozenset[str]]  # sizes, failures and their protocol, before there is a rule


class Bettor:
    """Wealth against a claim, and the rule that it is bet by.

    fit        the score that past trials recommend
    following  share of the capital that follows predictions
    refit      a new rule is due when past trials have grown by this factor
    most       trials that are learned from; more teach little and have to be held in memory. 0: `settle` gives the rule
    horizon    trials that a rule is made for, at least: no fewer than it is learned from
    grid       see `EProcess`
    """

    def __init__(
        self,
        claim: Claim,
        *,
        fit: Callable[[SelectionTrials], Fitted],
        following: float,
        refit: float,
        most: int,
        horizon: int = 300,
        grid: FloatArray | None = None,
    ) -> None:
        self.claim, self._fit, self._refit, self._most, self._horizon = claim, fit, refit, most, horizon
        self.process = EProcess(claim_eps=claim.eps, delta=claim.delta, levels=LEVELS, predictive=following, grid=grid)
        self.evidence = Evidence()
        self.rule: RankedLevels | None = None
        self.seen = no_guesses()  # guesses of the rule as it is
        self.total = no_guesses()
        self.bets: list[Bet] = []
        self._past: list[Grain] = []
        self._fitted = 0  # trials that the rule was learned from

    @property
    def attack(self) -> Attack | None:
        """What a block is to be judged by; None before there is a rule."""
        return None if self.rule is None else self.rule.attack

    @property
    def keeps(self) -> bool:
        """Whether trials are still learned from."""
        return self._fitted < self._most

    def keep(self, trials: Grain) -> None:
        """Trials to learn from that are never bet on."""
        self._past.append(trials)

    def bet(self, size: int, part: Judged | Unjudged, trials: Grain | None) -> None:
        """Settles the bets on a block of `size` trials, judged by `self.attack` as it stands; learns from `trials`."""
        if isinstance(part, Judged):
            self.evidence.add(part, self.rule)
            tally = part.tally
        else:
            self.evidence.count(*part)
            tally = no_guesses(size)
        # without a rule, too few trials to say anything: no guess, no stake
        predicted = np.full(LEVELS, 0.5) if self.rule is None else self.rule.updated(self.seen, self.claim.eps)
        self.process.update(tally, predicted=predicted)
        self.bets.append(Bet.of(tally, predicted))
        self.seen, self.total = self.seen + tally, self.total + tally
        if trials is not None and self.keeps:
            self._past.append(trials)

    @property
    def due(self) -> bool:
        """Whether past trials have grown enough for a new rule."""
        return self.keeps and sum(map(len, self._past)) >= max(FIRST_FIT, self._refit * self._fitted)

    def learn(self) -> None:
        """A new rule from all past trials, where it is due; it is for later blocks."""
        if not self.due:
            return
        past = past_trials(self._past)
        self._fitted = len(past)
        if not past.first.all() and past.first.any():
            self.settle(self._fit(past), past.first)
        if not self.keeps:
            self._past = []

    def settle(self, fitted: Fitted, first: npt.NDArray[np.bool_]) -> None:
        """The rule that a score and its values recommend; `first` says which of them are of the first dataset."""
        self.rule = ranked_levels(fitted, first, max(len(first), self._horizon))
        self.seen = no_guesses()

    def detectable_eps(self, significance: float, power: float, *, exact: bool = False) -> float:
        """The smallest true eps that so many trials refute with about the power; inf before there is a rule.

        Where the rule expects no guess to tell anything, all guesses count.
        """
        if self.rule is None:
            return math.inf
        return sequential_detectable_eps(
            trials=self.process.trials,
            guess_fraction=informative_fraction(self.rule.attack.expected, self.claim.delta) or 1.0,
            claim_eps=self.claim.eps,
            delta=self.claim.delta,
            significance=significance,
            power=power,
            exact=exact,
        )


def judged_by(attack: Attack | None, grain: Grain) -> Judged | Unjudged:
    """Score a block with the attack. Without an attack, only count its trials and failures."""
    if attack is not None:
        return score_block(attack, grain)
    heads = int(np.count_nonzero(grain.first))
    return (heads, len(grain) - heads), failures(grain), grain.failing
