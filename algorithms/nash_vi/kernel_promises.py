"""Lemma B.3 of DP-Nash-VI (Qiao, Wang 2024), inequality (16), as a `Promise` that trials can break.

With probability 1 - 2 beta/15, in every (h, s, a, b), V* the value of the game, iota = ln(30 H S A B K/beta):

    |(P~ - P) V*_{h+1}| <= min(sqrt(2 Var_P(V*) iota/N~), sqrt(2 Var_{P^}(V*) iota/N~)) + 2 H S E iota/N~

With a small E > 0 the right side is close to 0 as soon as all visits of a cell had one outcome: N visits of a cell
with two equally likely outcomes do so with probability 2^(1-N). Some lower-order term is needed, `least_error` = 1
under E is one. A trial is one set of exact counts with N visits in every cell, post-processed at E; P^ is before that.
A bound is active where it is below what P^ V* could miss, given the outcomes that are possible.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.baselines.ucbvi import next_value_variance
from algorithms.nash_vi.learner import NashVI
from algorithms.nash_vi.markov_games import MarkovGame
from algorithms.nash_vi.promises import dense_game_counts
from dpverify.base import require
from dpverify.promises import Outcomes, Promise
from mechanisms.datasets.visit_counts import PrivateCounts

Array = npt.NDArray[Any]
ROUNDING = 1e-9


def lemma_b3_promise(
    game: MarkovGame,
    visits: int,
    *,
    error: float = 1e-3,
    beta: float = 0.05,
    least_error: float = 0.0,
    **options: Any,
) -> Promise:
    """(16) with max(`error`, `least_error`) for E, `visits` exact visits a cell; errors are above the right side."""
    size = game.layout
    require.positive(error=error)
    learner = NashVI(layout=size, rewards=game.rewards, episodes=visits, error=error, beta=beta)
    exact = NashVI(layout=size, rewards=game.rewards, episodes=visits, error=0.0, beta=beta)
    private = visits + error / 2  # N~
    iota = learner.log_term
    values, law = game.nash().values, game.transitions
    mean = np.stack([law[h] @ values[h + 1] for h in range(size.H)])
    following = values[1:, None, None, None, :]
    reach = np.where(law > 0, np.abs(following - mean[..., None]), 0.0).max(axis=-1)
    spread = _variances(law, values)
    lower_order = 2 * size.H * size.S * max(error, least_error) * iota / private

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        counts = PrivateCounts(*dense_game_counts(game, visits, size, noise=0.0, rng=rng))
        missed = np.abs((learner.kernel(counts) * following).sum(axis=-1) - mean)
        least = np.minimum(spread, _variances(exact.kernel(counts), values))
        right = np.sqrt(2 * least * iota / private) + lower_order
        return Outcomes(
            errors=np.maximum((missed - right).reshape(size, -1).max(axis=1), 0.0),
            active=(right < reach - ROUNDING).reshape(size, -1).mean(axis=1),
        )

    given = {"name": "lemma-b3", **options}
    return Promise(draw=draw, bound=ROUNDING, failure_probability=2 * beta / 15, **given)


def fork(chance: float) -> MarkovGame:
    """H = 2, one joint action: from the start to state 1 with probability `chance`; the second step pays 1 there."""
    law, rewards = np.zeros((2, 2, 1, 1, 2)), np.zeros((2, 2, 1, 1))
    law[0, 0, 0, 0] = 1 - chance, chance
    law[0, 1, 0, 0, 1] = 1.0
    law[1, 0, 0, 0, 0] = law[1, 1, 0, 0, 1] = 1.0
    rewards[1, 1] = 1.0
    return MarkovGame("fork", law, rewards)


def _variances(law: Array, values: Array) -> Array:
    """Var of V_{h+1} under `law` (..., H, S, A, B, S), by steps."""
    steps = [next_value_variance(law[..., h, :, :, :, :], values[h + 1]) for h in range(law.shape[-5])]
    return np.stack(steps, axis=-4)
