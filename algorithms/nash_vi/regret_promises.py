"""Regret and output of DP-Nash-VI (Qiao, Wang 2024), as `Promise`s that trials can break.

    selfplay_promise   a trial is a run. Theorem 4.1 as (49), with the powers of iota of (46) and (48) and 1 for all
                       constants: regret of K episodes at most
                           sqrt(H^3 S A B K) iota + (H^3 S^2 A B + H^2 S^2 A B E) iota^2
                       and Theorem 4.2 as (50): K times the gap of the output is at most that. Theorems 5.2 and 5.5 are
                       these at the E of `Central` and `Local`. Active: below K times the gap of uniform play, so that
                       uniform play breaks it. Rewards are known, and in a matrix game nothing else is to be learnt: a
                       planner that reads no count keeps it. It breaks the rate, which needs transitions
    rate_promise       a trial is plans from N visits of every cell, K = N A B S, at three sizes, with noise of +-E/4 on
                       every count: the slope of ln(width/iota^p) over ln K is at most -1/2, over all sizes and over the
                       last two, and the exact gap of the plan is at most its width, which is at most H. That is the
                       rate of Theorem 4.2, whatever its constants; p is the power of iota in the part of such widths
                       that is the largest, 1/2 for sqrt(Var iota/N). Active: the share of the sizes at which the width
                       is below H

With H = S = A = B = 2, E = 0 and beta = .1 the first is above H K up to K = 38,000, and in random_game(0..5) above what
uniform play loses up to K = 210,000 to 550,000. So runs are those of matrix games; what a plan of several steps may get
wrong is found by the rate and by `plan_promise`, which say nothing about how users come to every cell.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from algorithms.core.users import SideBySide
from algorithms.nash_vi.learner import NashVI, self_play
from algorithms.nash_vi.markov_games import marginals, MarkovGame
from algorithms.nash_vi.promises import dense_game_counts
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


def uniform_gap(game: MarkovGame) -> float:
    """The Nash gap of uniform play."""
    size = game.layout
    return float(game.gap(*marginals(np.full(size.visits_shape, 1 / size.choices))))


def selfplay_promise(
    games: Sequence[MarkovGame],
    learner: NashVI,
    privatizer: OnlinePrivatizer,
    *,
    what: Literal["regret", "output", "both"] = "regret",
    **options: Any,
) -> Promise:
    """Runs of `learner.episodes` users of their own in each game: Theorem 4.1, 4.2 or both, which have one bound."""
    episodes, bound = learner.episodes, regret_bound(learner)
    active = float(all(bound < episodes * uniform_gap(game) for game in games))

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        users = SideBySide([game.environment for game in games], size, episodes, rng=rng)
        run = self_play(users, learner, privatizer, start=games[0].start, runs=size * len(games), rng=rng)
        found = np.zeros(size)
        for where, game in zip(users.where, games, strict=True):
            mine = run.of(where)
            if what != "output":
                found = np.maximum(found, mine.regret(game)[-1])
            if what != "regret":
                found = np.maximum(found, episodes * mine.output_gap(game))
        laws = np.concatenate([run.out_first.sum(axis=-1), run.out_second.sum(axis=-1)], axis=1)
        held = (np.abs(laws - 1) <= ROUNDING).all(axis=(1, 2)).reshape(len(games), size).all(axis=0)
        return Outcomes(
            errors=np.maximum(found, 0.0), active=np.full(size, active), invariants={"the output is a policy": held}
        )

    return Promise(draw=draw, bound=bound, failure_probability=learner.beta * len(games), **options)


def rate_promise(
    game: MarkovGame,
    planner: Callable[[int], NashVI],
    visits: tuple[int, int, int],
    *,
    power: float = 0.5,
    **options: Any,
) -> Promise:
    """`planner(K)` for each K. The error is the largest of slopes plus 1/2, gaps less widths, and widths less H."""
    cells = game.layout.tuples // game.layout.H
    sizes = np.log([each * cells for each in visits])
    planners = [planner(each * cells) for each in visits]

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        widths, over = [], np.zeros(size)
        for each, learner in zip(visits, planners, strict=True):
            plan = learner.plan(PrivateCounts(*dense_game_counts(game, each, size, noise=learner.error / 4, rng=rng)))
            widths.append(plan.width(game.start))
            over = np.maximum(over, game.gap(*marginals(plan.joint)) - widths[-1])
            over = np.maximum(over, widths[-1] - game.layout.H)
        scaled = np.log([width / learner.log_term**power for width, learner in zip(widths, planners, strict=True)])
        slope = (sizes - sizes.mean()) @ scaled / ((sizes - sizes.mean()) ** 2).sum()
        last = (scaled[-1] - scaled[-2]) / (sizes[-1] - sizes[-2])
        active = (np.array(widths) < game.layout.H - ROUNDING).mean(axis=0)
        return Outcomes(errors=np.max([over, slope + 0.5, last + 0.5], axis=0), active=active)

    return Promise(draw=draw, bound=ROUNDING, failure_probability=planners[0].beta, **options)
