"""Which neighbouring pair shows most: patterns first, then small changes of the best one.

The search has streams of its own (`Stage.SEARCH`) and never sees a certifying trial. So the pair it returns is
fixed before the audit, and the audit needs no correction for the pairs that were tried.

A pair is valued by half of its trials choosing an attack and the other half being counted: the value is the
bound that these counts certify at a loose level, so it is neither the luck of a score nor of an event.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpverify.base import require
from dpverify.base.seeding import derive, Stage, stream
from dpverify.claims import Claim, Pair
from dpverify.errors import ParameterError
from dpverify.evidence.bounds.binomial import BinomialTest
from dpverify.evidence.bounds.two_step import TwoStepTest
from dpverify.evidence.predicted_bound import objective_for
from dpverify.evidence.scores.model_selection import fit_score
from dpverify.evidence.selection import choose_event
from dpverify.trials.collect import Experiment, select, SelectionTrials
from dpverify.trials.target import as_target

LOOSE = 0.3  # significance at which values are compared: nothing is certified here
KEPT = 3  # a third of the pairs stays after each round
VALUATIONS = 100  # in local search at most: three for each step
Move = Callable[[Pair, np.random.Generator], Pair]


@dataclass(frozen=True)
class Valued:
    """A pair and what it showed each time; `value` is an eps at the claim's delta."""

    pair: Pair
    values: tuple[float, ...]

    @property
    def value(self) -> float:
        """Mean of what it showed."""
        return float(np.mean(self.values))


def worst_pair(
    target: Any,
    *,
    claim: Claim,
    pairs: Iterable[Pair],
    trials: int = 100_000,
    seed: int = 0,
    move: Move | None = None,
    score: str = "auto",
) -> Pair:
    """The most telling of `pairs`, and of pairs that `move` makes of it; spends about `trials` trials in all.

    Half of the trials goes to rounds in which the better third of the pairs stays and gets more trials each,
    half to local search, where a change stays if it is worth more twice in a row: first than the pair that it
    would replace has been on average, which is valued again for that, then with a second value of its own.
    Without `move` all goes to the rounds.
    Raises ParameterError for no pairs, NeighbourError for a pair (or a move) that the claim's relation refuses.
    """
    require.integer(at_least=100, trials=trials)
    left = [claim.check(pair) for pair in pairs]
    if not left:
        raise ParameterError("pairs", left, "at least one pair")
    value = _Valuer(target, claim, seed, score)
    rounds = 1 + int(np.ceil(np.log(len(left)) / np.log(KEPT)))
    share = trials / (rounds if move is None else 2 * rounds)
    best = Valued(left[0], (0.0,))
    for _ in range(rounds):
        valued = [Valued(pair, (value(pair, int(share / len(left))),)) for pair in left]
        valued.sort(key=lambda each: -each.value)
        best = valued[0]
        left = [each.pair for each in valued[: max(1, len(left) // KEPT)]]
    if move is not None:
        best = _climb(best.pair, move, claim, value, stream(seed, Stage.SEARCH), trials // 2)
    return best.pair


def _climb(start: Pair, move: Move, claim: Claim, value: "_Valuer", rng: np.random.Generator, trials: int) -> Valued:
    """Local search. A pair that was lucky once would otherwise stay for ever, however little it shows."""
    each = max(200, trials // VALUATIONS)
    best = Valued(start, (value(start, each),))
    for _ in range(trials // each // 3):
        changed = claim.check(move(best.pair, rng))
        best = Valued(best.pair, (*best.values, value(best.pair, each)))
        found = Valued(changed, (value(changed, each),))
        if found.value > best.value:
            found = Valued(changed, (*found.values, value(changed, each)))
            if found.value > best.value:
                best = found
    return best


class _Valuer:
    """Values pairs, each on trials of its own."""

    def __init__(self, target: Any, claim: Claim, seed: int, score: str) -> None:
        self._target = as_target(target)
        self._claim = claim
        self._seed = seed
        self._score = score
        self._asked = 0

    def __call__(self, pair: Pair, trials: int) -> float:
        self._asked += 1
        experiment = Experiment.of(self._target, pair, derive(self._seed, f"search/{self._asked}"))
        seen = select(experiment, max(40, trials), stage=Stage.SEARCH)
        half = np.arange(len(seen)) % 2 == 0
        learn, count = (SelectionTrials(seen.outcomes.take(rows), seen.first[rows]) for rows in (half, ~half))
        if learn.first.all() or not learn.first.any():
            return 0.0
        fitted = fit_score(self._score, self._target, pair, learn)
        objective = objective_for(self._claim, LOOSE, coordinates=experiment.form.items)
        attack = choose_event(fitted, learn.first, len(count), objective)
        tally = attack.tally(count.outcomes.take(count.first), count.outcomes.take(~count.first))
        test = TwoStepTest(attack.event) if self._claim.delta > 0 else BinomialTest(attack.event)
        return test.eps_lower(tally, delta=self._claim.delta, significance=LOOSE)
