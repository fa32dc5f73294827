"""`lean`: rho-zCDP by the exact joint cost of a step is true, and attained up to the rewards that a pair has.

White box: both noisy statistics of every step of an adaptive run. The learner is no paper's; it stands beside DP-VAPVI
in the figure of the offline paper. Its shift, its pessimism and its suboptimality are proved in `lean_promises`.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from algorithms.beyond.lean import Lean
from algorithms.beyond.lean_promises import best_promise, pessimism_promise, proved_penalty, shift_promise
from algorithms.beyond.lean_transcripts import LeanView
from algorithms.core.environments import random_environment
from algorithms.offline.suboptimality_promises import fork, near_tie, rarely
from algorithms.tabular import Model
from audits.audit_vapvi import coin, swap, two_features
from audits.papers import RELEASE
from audits.planted.lean import BareLastGram, OneBudget
from audits.planted.vapvi import DataFree, RewardsAsCosts, Uninformed
from dpverify import planted, Subject, ZCDP
from dpverify.promises import all_of, BROKEN, Promise

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
MANY, FREE = 10**6, 1e8
free = replace(bare, rho=FREE)
free = replace(free, penalty=proved_penalty(free, MANY))  # of which users who differ need a thirtieth at most
tied, forked = near_tie(1e-3), fork(0.01)
PROVED = "V~ <= V^pi at the C that is proved, 1e10 users, rho = 1"
FREELY = "V~ <= V^pi at the C that is proved, 1e6 users, rho = 1e8, the last reward is known"
BEST = (
    "v* - v^pi at most 2 sqrt 2 sum C |phi|, 1e10 users, rho = 1; "
    "the better action in 1 of 10, and a fork and its mirror"
)
SHARP = "; on a fork and its mirror also V* - V~, at most the bound on v* - v^pi"


def pessimism(name: str, played: Lean | None = None, **options: Any) -> Promise:
    settings: dict[str, Any] = {"trials": 200, "paper": RELEASE, "statement": PROVED, **options}
    return pessimism_promise(tabular, proved, everywhere, USERS, played=played, name=name, **settings)


def freely(name: str, share: float = 1.0, **options: Any) -> Promise:
    """`share` of the C that is proved."""
    settings: dict[str, Any] = {"trials": 200, "paper": RELEASE, "statement": FREELY, **options}
    played = replace(free, penalty=share * free.penalty)
    return pessimism_promise(coin, free, everywhere, MANY, played=played, name=name, **settings)


def sharp(name: str, base: Promise, played: Callable[[Model], Any] | None = None, **options: Any) -> Promise:
    """`base`; and on a fork and its mirror also V* - V~ at most the bound on v* - v^pi."""
    parts = [
        pessimism_promise(
            model,
            proved,
            everywhere,
            USERS,
            sharp=True,
            name=where,
            played=None if played is None else played(model),
        )
        for where, model in (("fork", forked), ("fork, mirrored", forked.mirrored))
    ]
    settings: dict[str, Any] = {"trials": 60, "statement": base.statement + SHARP, **options}
    return all_of([base, *parts], name=name, **settings)


def best(name: str, played: Callable[[Model], Any] | None = None, **options: Any) -> Promise:
    """Where the penalty hides which action is better, and on a fork and its mirror; `played` instead of `lean`."""
    parts = [
        best_promise(model, proved, policy, USERS, name=where, played=None if played is None else played(model))
        for where, model, policy in (
            ("near tie", tied, rarely(0.1)),
            ("fork", forked, everywhere),
            ("fork, mirrored", forked.mirrored, everywhere),
        )
    ]
    settings: dict[str, Any] = {"trials": 40, "paper": RELEASE, "statement": BEST, **options}
    return all_of(parts, name=name, **settings)


def without_data(model: Model, slack: float) -> DataFree:
    """Plans in the fork and in its mirror as in the fork, with values that are lower by `slack`."""
    return DataFree(forked, slack)


promises = [
    shift_promise(bare, name="shift", trials=4_000, statement="|Z| <= shift in all steps"),
    shift_promise(bare.with_noise(2.0), told=bare, name="shift, of half the noise", trials=2_000, expected=BROKEN),
    sharp("pessimism-lean", pessimism("uneven")),
    *(
        sharp(
            f"pessimism-lean, {what}",
            pessimism("uneven"),
            partial(without_data, slack=slack),
            trials=20,
            expected=BROKEN,
        )
        for what, slack in (("reads no data", 0.003), ("nothing is worth anything", 2.0))
    ),
    pessimism("pessimism-lean, C = 0", bare, expected=BROKEN, statement=PROVED + "; C = 0"),
    sharp("pessimism-lean, rho = 1e8", freely("rho = 1e8")),
    freely("pessimism-lean, rho = 1e8, C/30", 0.03, trials=4_000, expected=BROKEN, statement=FREELY + "; .03 of it"),
    freely("pessimism-lean, rho = 1e8, C/100", 0.01, expected=BROKEN, statement=FREELY + "; .01 of it"),
    best("suboptimality-lean"),
    best("suboptimality-lean, rewards as costs", lambda model: RewardsAsCosts(proved), expected=BROKEN),
    best("suboptimality-lean, nothing learnt", lambda model: Uninformed(proved), expected=BROKEN),
    best(
        "suboptimality-lean, reads no data",
        lambda model: DataFree(tied if model is tied else forked),
        expected=BROKEN,
    ),
]
