"""PUCB, Theorems 3 and 4, with the constants that their proofs state: kept; broken by a learner that never explores.

A bandit of two arms is the smallest instance on which the constants say something: its regret bound needs 4,500 users
to fall below what the worse arm alone would cost. `PUCB` with a bonus of one hundredth is no break there: such a run is
stuck with the worse arm in less than a tenth of the cases (measured), as often as the theorems allow.
"""

from typing import Any

import numpy as np

from algorithms.core.counting import layout_of, TreeCounts
from algorithms.core.environments import Environment
from algorithms.pucb.learner import corrected_counters, printed_error, PUCB
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


subjects: list[Subject] = []  # what is private about PUCB stands in audit_pucb
promises = [
    regret("regret-pucb", trials=100),
    regret("regret-pucb, never curious", NeverCurious, trials=12, expected=BROKEN),
    pac("pac-pucb", trials=100),
    pac("pac-pucb, never curious", NeverCurious, trials=12, expected=BROKEN),
]
