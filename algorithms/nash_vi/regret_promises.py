"""Regret and output of DP-Nash-VI (Qiao, Wang 2024), as `Promise`s that trials can break.

    selfplay_promise   a trial is a run. Theorem 4.1 as (49), with the powers of iota of (46) and (48) and 1 for all
                       constants: regret of K episodes at most
                           sqrt(H^3 S A B K) iota + (H^3 S^2 A B + H^2 S^2 A B E) iota^2
                       and Theorem 4.2 as (50): K times the gap of the output is at most that. Theorems 5.2 and 5.5 are
                       these at the E of `Central` and `Local`. Active: below K times the gap of the worst pair
    rate_promise       a trial is plans from N visits of every cell, K = N A B S, at three sizes: the slope of
                       ln(width/iota^2) over ln K is at most -1/2, the rate of Theorem 4.2, whatever its constants.
                       Active: the share of the sizes at which the width is below H

With H = S = A = B = 2 and E = 0 the first says nothing below K of about 42,000: at K = 2,000 it is 42,000 where H K is
4,000, and the regret of 8 runs grows as K^.83 from 500 to 2,000. So runs are those of a matrix game, and the rate is
asked of plans, which says nothing about how users come to every cell.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.core.users import TapeUsers
from algorithms.nash_vi.learner import NashVI, self_play
from algorithms.nash_vi.markov_games import MarkovGame
from algorithms.nash_vi.promises import dense_game_counts
from algorithms.tabular import backward_induction
from dpverify.promises import Outcomes, Promise
from mechanisms.datasets.visit_counts import PrivateCounts
from mechanisms.privatizers.protocol import OnlinePrivatizer

Array = npt.NDArray[Any]
ROUNDING = 1e-9


def regret_bound(learner: NashVI) -> float:
    """(49), see the module."""
    size, iota = learner.layout, learner.log_term
    main = math.sqrt(size.H**2 * size.tuples * learner.episodes) * iota
    return main + size.H * size.S * size.tuples * (size.H + learner.error) * iota**2


def largest_gap(game: MarkovGame) -> float:
    """The worst pair's: one player's reply is best for a second who helps, the other's for a first who does."""
    size = game.layout
    law = game.transitions.reshape(size.H, size.S, size.choices, size.S)
    rewards = game.rewards.reshape(size.H, size.S, size.choices)
    most, least = (sign * backward_induction(law, sign * rewards).values[0, game.start] for sign in (1, -1))
    return float(most - least)


def selfplay_promise(
    game: MarkovGame, learner: NashVI, privatizer: OnlinePrivatizer, *, output: bool = False, **options: Any
) -> Promise:
    """Runs of `learner.episodes` users of their own; `output`: Theorem 4.2 instead of 4.1."""
    episodes, bound = learner.episodes, regret_bound(learner)
    active = float(bound < episodes * largest_gap(game))

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        users = TapeUsers(game.environment, rng.random((size, episodes, game.environment.tape_width)))
        run = self_play(users, learner, privatizer, start=game.start, runs=size, rng=rng)
        found = episodes * run.output_gap(game) if output else run.regret(game)[-1]
        return Outcomes(errors=np.maximum(found, 0.0), active=np.full(size, active))

    return Promise(draw=draw, bound=bound, failure_probability=learner.beta, **options)


def rate_promise(
    game: MarkovGame, planner: Callable[[int], NashVI], visits: tuple[int, int, int], **options: Any
) -> Promise:
    """`planner(K)` for each K; counts are exact. The error is the least-squares slope plus 1/2, at least 0."""
    cells = game.layout.tuples // game.layout.H
    sizes = np.log([each * cells for each in visits])
    planners = [planner(each * cells) for each in visits]

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        widths = []
        for each, learner in zip(visits, planners, strict=True):
            plan = learner.plan(PrivateCounts(*dense_game_counts(game, each, size, rng=rng)))
            widths.append(plan.width(game.start))
        scaled = np.log([width / learner.log_term**2 for width, learner in zip(widths, planners, strict=True)])
        slope = (sizes - sizes.mean()) @ scaled / ((sizes - sizes.mean()) ** 2).sum()
        active = (np.array(widths) < game.layout.H - ROUNDING).mean(axis=0)
        return Outcomes(errors=np.maximum(slope + 0.5, 0.0), active=active)

    return Promise(draw=draw, bound=ROUNDING, failure_probability=planners[0].beta, **options)
