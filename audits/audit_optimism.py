"""Optimism, Q >= Q*: DP-UCBVI's bonus as printed breaks it, as corrected keeps it, and so do UCBVI's.

A plan from dense counts, whose errors are as large as the theory allows: in runs that can be simulated the bonus of the
theory keeps every bound at its cap. Others' optimism and pessimism stand beside their privacy: PUCB in audit_pucb, both
values of DP-Nash-VI in audit_nash_vi, DP-APVI, DP-VAPVI and lean in audit_apvi, audit_vapvi and audit_lean.
`python -m algorithms.experiments optimism` prints the table over visits and errors.
"""

from dataclasses import replace
from typing import Any

from algorithms.baselines.ucbvi import UCBVI
from algorithms.beyond.shuffled_optimism import ShuffledOptimism
from algorithms.core.counting import layout_of
from algorithms.core.environments import random_environment
from algorithms.core.optimism import optimism_of_plan, Optimistic
from algorithms.dp_ucbvi.learner import DPUCBVI
from algorithms.sdp_pe.batches import ShuffledBatches
from audits.papers import DP_UCBVI
from dpverify import Subject
from dpverify.promises import BROKEN, Promise

BETA, MANY = 0.05, 10**6

small = random_environment(0, 2, 2, 2)
layout = layout_of(small.model)


def of_plan(name: str, learner: Optimistic, *, visits: int = MANY, error: float = 0.0, **options: Any) -> Promise:
    """`error` = E of the post-processed counts: a quarter of it on every raw count."""
    settings: dict[str, Any] = {"failure_probability": BETA, **options}
    return optimism_of_plan(small, learner, visits, noise=error / 4, name=name, **settings)


def dp_ucbvi(name: str, *, error: float, visits: int = MANY, **options: Any) -> Promise:
    of_learner = {key: options.pop(key) for key in ("bonus", "bonus_scale") if key in options}
    learner = DPUCBVI(layout=layout, episodes=visits, error=error, beta=BETA, **of_learner)
    return of_plan(f"dp-ucbvi, {name}", learner, visits=visits, error=error, paper=DP_UCBVI, **options)


def ucbvi(name: str, **options: Any) -> Promise:
    return of_plan(f"ucbvi, {name}", UCBVI(layout=layout, episodes=MANY, delta=BETA, **options))


USERS, DEPLOYMENTS = 40 * 10**5, 40
shuffled = ShuffledOptimism(layout=layout, episodes=USERS, deployments=DEPLOYMENTS, beta=BETA)
batches = ShuffledBatches(layout=layout, eps=3.0, beta=1e-3, budget="calibrated")
last = shuffled.planner(batches, DEPLOYMENTS - 1)  # the last plan, from the most counts and the largest E

subjects: list[
    Subject
] = []  # what is private about these learners stands in audit_dp_ucbvi and audit_shuffled_optimism
promises = [
    dp_ucbvi("corrected", error=4.0),
    dp_ucbvi("corrected, E = 40", error=40.0),
    dp_ucbvi("corrected, no noise", error=0.0),
    dp_ucbvi("corrected, 1e8 visits", error=4.0, visits=10**8),
    dp_ucbvi("corrected, C2 = .1", error=0.0, bonus_scale=0.1, expected=BROKEN),  # what tuned constants give up
    dp_ucbvi("as printed", error=4.0, bonus="printed", expected=BROKEN),
    dp_ucbvi("as printed, no noise", error=0.0, bonus="printed", expected=BROKEN),
    dp_ucbvi(
        "as printed, no noise, C2 = 5", error=0.0, bonus="printed", bonus_scale=5.0, visits=10**8, expected=BROKEN
    ),
    ucbvi("bernstein"),
    ucbvi("hoeffding", bonus="hoeffding"),
    replace(ucbvi("bernstein, bonus scaled by .001", bonus_scale=1e-3), expected=BROKEN),
    of_plan("shuffled optimism, its last plan", last, error=last.error),
    of_plan("shuffled optimism, printed bonus, no noise", replace(last, bonus="printed", error=0.0), expected=BROKEN),
]
