"""PUCB, Theorems 3 and 4, with the constants that their proofs state: kept; broken by a learner that never explores.

Lemma 8, the lower bound under Theorem 5, on the paper's instance: kept by an eps-JDP learner; broken by one that is as
often right but not private, with a third of the pulls that eps = .01 needs.

A bandit of two arms is the smallest instance on which the constants say something: its regret bound needs 4,500 users
to fall below what the worse arm alone would cost. `PUCB` with a bonus of one hundredth is no break there: such a run is
stuck with the worse arm in less than a tenth of the cases (measured), as often as the theorems allow.
"""

import math
from typing import Any

import numpy as np

from algorithms.core.counting import layout_of, TreeCounts
from algorithms.core.environments import Environment
from algorithms.pucb.learner import corrected_counters, printed_error, PUCB
from algorithms.pucb.lower_bounds import ExploreThenCommit, HardInstance, pulls_promise, success_promise
from algorithms.pucb.regret_promises import online_play, pac_promise, Play, pucb_regret, pucb_suboptimal, regret_promise
from audits.papers import PUCB as PAPER
from audits.planted.online import NeverCurious
from dpverify import Subject
from dpverify.promises import BROKEN, Promise

BETA, ALPHA = 0.1, 0.5
arms = Environment("two arms", np.ones((1, 1, 2, 1)), np.array([[[0.1, 0.9]]]), np.ones(1))
layout = layout_of(arms.model)


def learner(users: int, eps: float, kind: type[PUCB] = PUCB) -> PUCB:
    return kind(layout=layout, episodes=users, error=printed_error(layout, users, eps, BETA), beta=BETA)


def runs(of: PUCB, eps: float) -> Play:
    """With the corrected noise."""
    return online_play(arms, of, TreeCounts(layout, corrected_counters(layout, of.episodes - 1, eps), of.error))


def regret(name: str, kind: type[PUCB] = PUCB, *, users: int = 4_500, eps: float = 2_000.0, **options: Any) -> Promise:
    """Theorem 4."""
    playing = learner(users, eps, kind)
    settings: dict[str, Any] = {
        "statement": f"Theorem 4: regret of {users:,} users, eps = {eps:g}; constants of (15), (17), (22), (25)",
        "failure_probability": BETA,
        "paper": PAPER,
        **options,
    }
    return regret_promise(arms.model, users, runs(playing, eps), pucb_regret(playing), name=name, **settings)


def pac(name: str, kind: type[PUCB] = PUCB, *, users: int = 2_500, eps: float = 1e5, **options: Any) -> Promise:
    """Theorem 3."""
    playing = learner(users, eps, kind)
    bound = pucb_suboptimal(playing, ALPHA, eps)
    settings: dict[str, Any] = {
        "statement": f"Theorem 3: episodes worse than {ALPHA} of {users:,}, eps = {eps:g}; "
        "constants of (7), (9), (10) and one logarithm",
        "failure_probability": BETA,
        "paper": PAPER,
        **options,
    }
    return pac_promise(arms.model, users, runs(playing, eps), bound, ALPHA, name=name, **settings)


hard, LOWER_EPS, RIGHT = HardInstance((1, 2), 3, 0.4), 0.01, 0.05
private = ExploreThenCommit(users=16_000, each=2_500, eps=LOWER_EPS)
public = ExploreThenCommit(users=16_000, each=60, eps=math.inf)


def lower(name: str, of: ExploreThenCommit, **options: Any) -> Promise:
    """Lemma 8."""
    statement = "Lemma 8: Pr[n_a <= 4 t_a] < 3/4 for every eps-DP learner that is right; the instance of Figure 2"
    settings: dict[str, Any] = {"statement": statement, "paper": PAPER, "trials": 1_000, **options}
    return pulls_promise(hard, of, eps=LOWER_EPS, beta=RIGHT, name=name, **settings)


def right(name: str, of: ExploreThenCommit, **options: Any) -> Promise:
    """What Lemma 8 assumes."""
    statement = "what Lemma 8 assumes: the best arm in the end, but with probability 1/20"
    return success_promise(hard, of, beta=RIGHT, name=name, statement=statement, trials=2_000, **options)


subjects: list[Subject] = []  # what is private about PUCB stands in audit_pucb
promises = [
    regret("regret-pucb", trials=100),
    regret("regret-pucb, never curious", NeverCurious, trials=12, expected=BROKEN),
    pac("pac-pucb", trials=100),
    pac("pac-pucb, never curious", NeverCurious, trials=12, expected=BROKEN),
    lower("lemma-8, explore then commit", private),
    right("success, explore then commit", private),
    lower("lemma-8, without noise", public, expected=BROKEN),
    right("success, without noise", public),  # so what is wrong with it is privacy
]
