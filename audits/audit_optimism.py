"""Optimism, Q >= Q*: of our bonus for learned rewards, of DP-Nash-VI's at B = 1 for known ones, and of UCBVI's two.

A plan from dense counts, whose errors are as large as the theory allows: in runs that can be simulated the bonus of the
theory keeps every bound at its cap. Each term of a bonus has an instance where nothing else pays for what it pays for,
and a learner without it that is BROKEN there. Our bonus is no paper's, and what is BROKEN names none. Others' optimism
and pessimism stand beside their privacy: PUCB in audit_pucb, both values of DP-Nash-VI in audit_nash_vi, DP-APVI,
DP-VAPVI and lean in audit_apvi, audit_vapvi and audit_lean.
`python -m algorithms.experiments optimism` prints the table over visits and errors.
"""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.baselines.ucbvi import UCBVI
from algorithms.bernstein_vi.learner import BernsteinVI
from algorithms.beyond.shuffled_optimism import ShuffledOptimism
from algorithms.core.counting import layout_of
from algorithms.core.environments import Environment, random_environment
from algorithms.core.optimism import optimism_of_plan, Optimistic
from algorithms.sdp_pe.batches import ShuffledBatches
from audits.papers import NASH_VI
from audits.planted.optimism import NoErrorTerms, NoLowerOrder, NoRewardError, NoThird, NoVariance
from dpverify import Subject
from dpverify.promises import BROKEN, Outcomes, Promise

BETA, MANY = 0.05, 10**6
LINE_9 = (
    "Algorithm 1, line 9, at B = 1 with C2 = 1, rewards known: Q >= Q* in every cell of a plan from 1e6 visits a cell"
)
BIG = 1e6  # an E that exceeds the sampling error of 10^8 visits

small = random_environment(0, 2, 2, 2)
layout = layout_of(small.model)


def fair(name: str, rewards: npt.ArrayLike) -> Environment:
    """Two steps, states and actions, next states by a fair coin; mean rewards (H, S, A), or what broadcasts to it."""
    means = np.broadcast_to(np.asarray(rewards, dtype=np.float64), (2, 2, 2))
    return Environment(name, np.full((2, 2, 2, 2), 0.5), means, np.array([0.5, 0.5]))


coins = fair("coins", 0.5)
uneven = fair("uneven", [[0.02], [0.9]])
sure = fair("sure", [[[0.0], [0.0]], [[0.0], [1.0]]])  # the first step learns next states alone
rare = fair("rare", 1e-4)


def of_plan(
    name: str,
    learner: Optimistic,
    *,
    visits: int = MANY,
    error: float = 0.0,
    environment: Environment = small,
    **options: Any,
) -> Promise:
    """`error` = E of the post-processed counts: a quarter of it on every raw count."""
    settings: dict[str, Any] = {"failure_probability": BETA, **options}
    return optimism_of_plan(environment, learner, visits, noise=error / 4, name=name, **settings)


def bernstein_vi(
    name: str, *, error: float, visits: int = MANY, kind: type[BernsteinVI] = BernsteinVI, **options: Any
) -> Promise:
    of_learner = {key: options.pop(key) for key in ("bonus", "bonus_scale", "rewards") if key in options}
    learner = kind(layout=layout, episodes=visits, error=error, beta=BETA, **of_learner)
    return of_plan(name, learner, visits=visits, error=error, **options)


def learned(name: str, *, error: float, **options: Any) -> Promise:
    """Our bonus, which pays for learned rewards; no paper's."""
    return bernstein_vi(f"learned rewards, {name}", error=error, **options)


def known(name: str, *, error: float, **options: Any) -> Promise:
    """DP-Nash-VI's bonus at B = 1 where rewards are known, as its paper assumes."""
    settings: dict[str, Any] = {"bonus": "known", "rewards": small.model.rewards, **options}
    return bernstein_vi(f"known rewards, {name}", error=error, **settings)


def ucbvi(name: str, *, visits: int = MANY, kind: type[UCBVI] = UCBVI, **options: Any) -> Promise:
    of_plan_options = {key: options.pop(key) for key in ("environment", "expected") if key in options}
    learner = kind(layout=layout, episodes=visits, delta=BETA, **options)
    return of_plan(f"ucbvi, {name}", learner, visits=visits, **of_plan_options)


USERS, DEPLOYMENTS = 40 * 10**5, 40
shuffled = ShuffledOptimism(layout=layout, episodes=USERS, deployments=DEPLOYMENTS, beta=BETA)
batches = ShuffledBatches(layout=layout, eps=3.0, beta=1e-3, budget="calibrated")


@cache
def last_planner() -> BernsteinVI:
    """Return who makes the last plan, from the most counts and the largest E; calibrating its noise takes a while."""
    return shuffled.planner(batches, DEPLOYMENTS - 1)


def of_last_plan(name: str, *, changes: dict[str, Any], **options: Any) -> Promise:
    """Make the promise about the last plan. Its planner is made with the first trials: most promises need none."""

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        learner = replace(last_planner(), **changes)
        return of_plan(name, learner, error=learner.error, **options).draw(rng=rng, size=size)

    return replace(of_plan(name, BernsteinVI(layout=layout, episodes=USERS, error=0.0), **options), draw=draw)


subjects: list[
    Subject
] = []  # what is private about these learners stands in audit_bernstein_vi and audit_shuffled_optimism
promises = [
    learned("E = 4", error=4.0),
    learned("E = 40", error=40.0),
    learned("no noise", error=0.0),
    learned("1e8 visits", error=4.0, visits=10**8),
    learned("C2 = .1", error=0.0, bonus_scale=0.1, expected=BROKEN),  # what tuned constants give up
    # with the rewards known, as the paper of this bonus assumes, no plan of 1,000 fails
    known("E = 4", error=4.0, paper=NASH_VI, statement=LINE_9),
    known("no noise", error=0.0, paper=NASH_VI, statement=LINE_9),
    known("no noise, C2 = .01", error=0.0, bonus_scale=0.01, expected=BROKEN),
    # planted: the bonus for known rewards beside rewards that are learned, which nothing pays for then
    known("but learned", error=4.0, rewards=None, expected=BROKEN),
    known("but learned, no noise", error=0.0, rewards=None, expected=BROKEN),
    known("but learned, no noise, C2 = 5", error=0.0, rewards=None, bonus_scale=5.0, visits=10**8, expected=BROKEN),
    learned("coins", error=BIG, visits=10**8, environment=coins),
    learned("no E, coins", error=BIG, visits=10**8, environment=coins, kind=NoErrorTerms, expected=BROKEN),
    learned("no E for rewards, coins", error=BIG, visits=10**8, environment=coins, kind=NoRewardError, expected=BROKEN),
    learned("uneven", error=BIG, visits=10**8, environment=uneven),
    learned("C2 = .5, uneven", error=BIG, visits=10**8, environment=uneven, bonus_scale=0.5, expected=BROKEN),
    learned("sure", error=0.0, environment=sure),
    learned("no variance, sure", error=0.0, environment=sure, kind=NoVariance, expected=BROKEN),
    learned("rare", error=0.0, visits=3_000, environment=rare),
    learned("no lower order, rare", error=0.0, visits=3_000, environment=rare, kind=NoLowerOrder, expected=BROKEN),
    ucbvi("bernstein"),
    ucbvi("hoeffding", bonus="hoeffding"),
    ucbvi("bernstein, bonus scaled by .001", bonus_scale=1e-3, expected=BROKEN),
    ucbvi("bernstein, rare", visits=3_000, environment=rare),
    ucbvi("no 14/3, rare", visits=3_000, environment=rare, kind=NoThird, expected=BROKEN),
    of_last_plan("shuffled optimism, its last plan", changes={}),
    of_last_plan(
        "shuffled optimism, known rewards' bonus, no noise", changes={"bonus": "known", "error": 0.0}, expected=BROKEN
    ),
]
