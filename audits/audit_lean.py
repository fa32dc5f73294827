"""`lean`: rho-zCDP by the exact joint cost of a step is true, and attained up to the rewards that a pair has.

White box: both noisy statistics of every step of an adaptive run. The learner is no paper's; it stands beside DP-VAPVI
in the figure of the offline paper. Its shift, its pessimism and its suboptimality are proved in `lean_promises`.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from algorithms.beyond.lean import Lean
from algorithms.beyond.lean_promises import best_promise, pessimism_promise, proved_penalty, shift_promise
from algorithms.beyond.lean_transcripts import LeanView
from algorithms.core.environments import random_environment
from audits.audit_vapvi import swap, two_features
from audits.papers import RELEASE
from audits.planted.lean import BareLastGram, OneBudget
from dpverify import planted, Subject, ZCDP
from dpverify.promises import BROKEN, Promise

HORIZON, RHO = 2, 1.0
TRIALS = 50_000


def view(cosine: float) -> LeanView:
    return LeanView(Lean(features=two_features(cosine), horizon=HORIZON, rho=RHO, penalty=0.1))


worst = view(view(0.0).learner.step_cost(0).worst_cosine())
statistics = Subject(
    name="statistics",
    target=worst,
    claim=ZCDP(RHO, source="the joint worst case of each step"),
    pairs=(swap(HORIZON),),
    trials=TRIALS,
    accounted=True,
    paper=RELEASE,
    statement="all statistics of a run are rho-zCDP, with the least noise that the exact cost of a step allows",
)

subjects = [
    statistics,
    planted(statistics, "half-noise", worst.with_noise(0.5), accounted=False),
    planted(statistics, "bare-last-gram", BareLastGram(worst.learner), trials=2_000),
    planted(
        replace(statistics, pairs=(swap(4),)),
        "budget-as-if-one-step",
        OneBudget(Lean(features=np.asarray(worst.learner.features), horizon=4, rho=RHO, penalty=0.1)),
        accounted=False,
    ),
]

USERS = 10**10
tabular = random_environment(0, 2, 2, 2).model
everywhere = np.full((2, 2, 2), 0.5)
bare = Lean(features=np.eye(4).reshape(2, 2, 4), horizon=HORIZON, rho=RHO, penalty=0.0)
proved = replace(bare, penalty=proved_penalty(bare, USERS))
PROVED = "V~ <= V^pi at the C that is proved, 1e10 users, rho = 1"
BEST = "v* - v^pi at most 4 sum C |phi|, 1e10 users, rho = 1"


def pessimism(name: str, learner: Lean, **options: Any) -> Promise:
    settings: dict[str, Any] = {"trials": 200, "paper": RELEASE, "statement": PROVED, **options}
    return pessimism_promise(tabular, learner, everywhere, USERS, name=name, **settings)


def best(name: str, *, costs: bool = False, **options: Any) -> Promise:
    """`costs`: rewards are taken for costs."""
    told = replace(tabular, rewards=1 - tabular.rewards) if costs else None
    settings: dict[str, Any] = {"trials": 100, "paper": RELEASE, "statement": BEST, "told": told, **options}
    return best_promise(tabular, proved, everywhere, USERS, name=name, **settings)


promises = [
    shift_promise(bare, name="shift", trials=4_000, statement="|Z| <= shift in all steps"),
    shift_promise(bare.with_noise(2.0), told=bare, name="shift, of half the noise", trials=2_000, expected=BROKEN),
    pessimism("pessimism-lean", proved),
    pessimism("pessimism-lean, C = 0", bare, expected=BROKEN, statement=PROVED + "; C = 0"),
    best("suboptimality-lean"),
    best("suboptimality-lean, rewards as costs", costs=True, expected=BROKEN),
]
