"""DP-APVI, Theorem 3.4: rho-zCDP with Gaussian and eps-DP with Laplace noise. True, and tight for the counts.

White box: all noisy counts, from which the policy is computed. Black box: the policy alone.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from algorithms.core.environments import random_environment
from algorithms.offline.apvi import APVI, DPAPVI
from algorithms.offline.learners import PolicyView
from algorithms.offline.pessimism_promises import apvi_promise, batch_counts, Counts, dense_counts, fan
from algorithms.offline.suboptimality_promises import apvi_best_promise, apvi_bound, fork, near_tie, rarely
from algorithms.tabular import Model
from audits.papers import OFFLINE, unnamed
from audits.planted.apvi import DataFree, FreeUnknown, Louder, OneNoiseForAllSteps, PlaysDataFree, Uninformed
from dpverify import Pair, planted, Subject
from dpverify.promises import all_of, BROKEN, Promise
from mechanisms.datasets.pairs import constant, worst_replacement
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.privatizers.offline_tabular import OfflineTabularGaussian, OfflineTabularLaplace

TRIALS = 50_000

layout = CountLayout(H=2, S=2, A=2)
rewards = np.array([[[0.4, 0.5], [0.8, 0.9]], [[0.3, 0.5], [0.9, 1.0]]])
gauss = OfflineTabularGaussian(layout=layout, rho=2.0)
laplace = OfflineTabularLaplace(layout=layout, eps=2.5)
pairs = (worst_replacement(constant(layout, 5), 0),)
first_action = constant(layout, 5).actions.copy()
first_action[0, 0] = 1
one_change = (
    Pair(constant(layout, 5), replace(constant(layout, 5), actions=first_action), name="action 1 in the first step"),
)
few = (worst_replacement(constant(layout, 2), 0),)


def learner(privatizer: OfflineTabularGaussian | OfflineTabularLaplace | None, error: float | None = None) -> DPAPVI:
    return DPAPVI(layout=layout, rewards=rewards, privatizer=privatizer, error=error, delta=0.5)


gaussian = Subject(
    name="gaussian",
    target=learner(gauss),
    claim=gauss.claim,
    pairs=pairs,
    trials=TRIALS,
    accounted=True,
    paper=OFFLINE,
    statement="Theorem 3.4: DP-APVI is rho-zCDP (white box)",
)
pure = replace(
    gaussian,
    name="laplace",
    target=learner(laplace),
    claim=laplace.claim,
    statement="Section 3: DP-APVI with Laplace noise is eps-DP (white box)",
)
policy = replace(
    gaussian,
    name="gaussian-policy",  # E = 1/1000 (tuned): with the provable E all policies on two users are alike
    target=PolicyView(learner(gauss, 1e-3)),
    pairs=few,
    statement="Theorem 3.4: DP-APVI is rho-zCDP (black box: the policy)",
)

subjects = [
    gaussian,
    pure,
    policy,
    replace(
        policy,
        name="laplace-policy",
        target=PolicyView(learner(laplace, 1e-3)),
        claim=laplace.claim,
        statement="Section 3: DP-APVI with Laplace noise is eps-DP (black box: the policy)",
    ),
    planted(
        gaussian,
        "budget-per-family",  # sigma^2 = H/rho: true 2 rho
        learner(OfflineTabularGaussian(layout=layout, rho=4.0)),
        accounted=False,
    ),
    planted(pure, "add-remove-scale", learner(OfflineTabularLaplace(layout=layout, eps=5.0)), accounted=False),
    planted(gaussian, "one-noise-for-all-steps", OneNoiseForAllSteps(learner(gauss)), trials=2_000, pairs=one_change),
    planted(policy, "exact-counts", PolicyView(learner(None)), trials=2_000),
]

# Dense counts: 10^8 visits of every cell and E = 10^5, so that 16 S H E iota/N~ is a sixth of H and the empirical
# Bernstein term far below E/N~. Fan: n users a state; the values of the next step know who arrived (a test says why).
# Fork: only a state pays, the chances of coming there differ by .02, and the rewards say nothing about the actions.
# Unplayed: nobody plays action 1 in step 1, so the unknown cells are those where the mean of a uniform law is too high.
# Coin: without noise, the first step's value is the share of users who come to state 1.
DELTA = 0.1
VISITS, ERROR, PER_STATE, MANY = 10**8, 1e5, 150, 10**6
known = random_environment(0, 2, 2, 2).model
coin = Model(np.full((2, 2, 2, 2), 0.5), np.array([[[0.0, 0.0]] * 2, [[0.0, 0.0], [1.0, 1.0]]]), np.full(2, 0.5))
trap = replace(coin, transitions=np.array([[[[0.5, 0.5], [1.0, 0.0]]] * 2, [[[0.5, 0.5]] * 2] * 2]))
PESSIMISM = "Lemma C.10 and Theorem 3.4: V~ <= V^pi of a plan from 1e8 visits a cell, E = 1e5"
EXACT = "no noise, and 7/3, a constant of ours, for what it would cost: V~ <= V^pi of a plan from 1e6 users"
INDEPENDENCE = "backups below the truth, exact counts, 7/3 H iota/n for the E term: a constant of ours, in no paper"
BEST = (
    "Theorem 3.4: v* - v^pi, constants of (31) and (35); 1e8 users, rho = 1; the better action in 1 of 10, "
    "and a fork and its mirror"
)
SHARP = "; on a fork and its mirror also V* - V~, at most the bound of Theorem 3.4"


def pessimism(name: str, **constants: Any) -> Promise:
    """The planner's own constants, or others."""
    planner = APVI(layout=layout, rewards=known.rewards, error=ERROR, delta=DELTA, **constants)
    counts = dense_counts(known, VISITS, ERROR)
    options: dict[str, Any] = {"statement": PESSIMISM, "trials": 300, "paper": OFFLINE}
    if constants:
        options |= {"statement": PESSIMISM + "; 14/3 instead of 16 S E", "expected": BROKEN}
    return apvi_promise(known, planner, counts, name=name, **options)


def exact(name: str, model: Model, played: float, kind: type[APVI] = APVI, **options: Any) -> Promise:
    """`MANY` users, who play action 1 in step 1 with chance `played`; `kind` of planner."""
    constants: dict[str, Any] = {"c1": 0.0} if options.pop("bare", False) else {}
    planner = kind(layout=layout, rewards=model.rewards, delta=DELTA, c3=7 / 3, **constants)
    counts = batch_counts(model, rarely(played), MANY)
    settings: dict[str, Any] = {"statement": EXACT, "trials": 300, **options}
    return apvi_promise(model, planner, counts, name=name, **settings)


def fanned(states: int, **options: Any) -> Promise:
    """Exact counts, penalty with 7/3 for what noise would cost, which is ours; Lemma C.10's has 16 S E, and E > 0."""
    model = fan(states)
    planner = APVI(layout=CountLayout(H=2, S=states, A=1), rewards=model.rewards, delta=DELTA, c3=7 / 3)
    counts = batch_counts(model, np.ones((2, states, 1)), PER_STATE * states)
    settings: dict[str, Any] = {"block": 20, **options}
    settings |= {"name": f"penalty without E, {states} states", "statement": f"{INDEPENDENCE}; {states} states"}
    return apvi_promise(model, planner, counts, what="backups", **settings)


tied, forked, alike = near_tie(1e-3), fork(0.01), np.full((2, 2, 2), 0.5)
RISK = 0.02


def stated(model: Model, kind: Callable[..., DPAPVI] = DPAPVI, **options: Any) -> DPAPVI:
    """rho = 1 with the rewards of `model`."""
    noise = {"privatizer": OfflineTabularGaussian(layout=layout, rho=1.0), **options}
    return kind(layout=layout, rewards=model.rewards, delta=RISK, **noise)


def best(name: str, played: Callable[[Model], DPAPVI] | None = None, **options: Any) -> Promise:
    """Theorem 3.4 in three instances at once: where the penalty hides which action is better, a fork and its mirror.

    `played` instead of DP-APVI.
    """
    parts = [
        apvi_best_promise(
            model, stated(model), policy, 10**8, name=where, played=None if played is None else played(model)
        )
        for where, model, policy in (
            ("near tie", tied, rarely(0.1)),
            ("fork", forked, alike),
            ("fork, mirrored", forked.mirrored, alike),
        )
    ]
    settings: dict[str, Any] = {"statement": BEST, "trials": 60, "paper": OFFLINE, **options}
    return all_of(parts, name=name, **settings)


def sharp(name: str, base: Promise, played: Callable[[Model], APVI] | None = None, **options: Any) -> Promise:
    """`base`; and on a fork and its mirror V~ <= V^pi and V* - V~ at most the bound of Theorem 3.4, rho = 1."""
    planner, source = stated(forked).planner, stated(forked).source
    bound = apvi_bound(forked, alike, 10**8, error=planner.error, iota=planner.log_term)

    def noisy(model: Model) -> Counts:
        exact = batch_counts(model, alike, 10**8)
        return lambda rng, size: source.noisy(exact(rng, size), rng=rng)

    parts = [
        apvi_promise(
            model,
            planner if played is None else played(model),
            noisy(model),
            sharp=bound,
            name=where,
            failure_probability=4 * RISK,
        )
        for where, model in (("fork", forked), ("fork, mirrored", forked.mirrored))
    ]
    return all_of([base, *parts], name=name, **{"statement": base.statement + SHARP, **options})


def without_data(model: Model, slack: float) -> DataFree:
    """Plans in the fork and in its mirror as in the fork, with values that are lower by `slack`."""
    return DataFree(layout=layout, rewards=model.rewards, error=1.0, delta=RISK, known=forked, slack=slack)


promises = [
    best("suboptimality-apvi"),
    best(
        "suboptimality-apvi, rewards as costs",
        lambda model: replace(stated(model), rewards=1 - model.rewards),
        expected=BROKEN,
    ),
    best(
        "suboptimality-apvi, louder noise",
        lambda model: stated(model, privatizer=Louder(layout=layout, rho=1.0)),
        expected=BROKEN,
    ),
    best("suboptimality-apvi, nothing learnt", lambda model: stated(model, Uninformed), expected=BROKEN),
    best(
        "suboptimality-apvi, reads no data",
        lambda model: stated(model, PlaysDataFree, known=tied if model is tied else forked),
        expected=BROKEN,
    ),
    sharp("pessimism-apvi", pessimism("dense counts"), trials=120),
    *(
        sharp(
            f"pessimism-apvi, {what}",
            pessimism("dense counts"),
            partial(without_data, slack=slack),
            trials=20,
            expected=BROKEN,
        )
        for what, slack in (("reads no data", 0.002), ("nothing is worth anything", 2.0))
    ),
    pessimism("pessimism-apvi, 14/3 instead of the E term", c2=0.0, c3=14 / 3),
    sharp("pessimism-apvi, an unplayed action", exact("unplayed action", trap, 0.0), trials=120),
    exact("pessimism-apvi, an unplayed action without penalty", trap, 0.0, FreeUnknown, expected=BROKEN),
    sharp("pessimism-apvi, exact counts", exact("exact counts", coin, 0.5), trials=120),
    exact("pessimism-apvi, exact counts without spread", coin, 0.5, bare=True, expected=BROKEN),
    fanned(10, trials=120),
    fanned(300, trials=20, expected=BROKEN),  # V~ and P^ are not conditionally independent (atlas, N2)
]

promises = unnamed(promises)
