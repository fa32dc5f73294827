"""Private counts of DP-APVI: both claims are true, exactly, under replacement of one trajectory."""

from dataclasses import replace
from typing import Any

import numpy as np

from audits.papers import GARBLED, OFFLINE, unnamed
from audits.planted.offline_tabular import AddRemoveScale, SummedTransitions, VisitsOnlyBudget
from dpverify import planted, Subject
from dpverify.promises import BROKEN, Promise
from dpverify.trials.target import Array
from mechanisms.datasets.pairs import constant, worst_replacement
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.privatizers.error_bounds import assumption_promise, raw_promise, tightness_promise
from mechanisms.privatizers.offline_tabular import OfflineTabularGaussian, OfflineTabularLaplace

TRIALS = 200_000

one_step = CountLayout(H=1, S=1, A=2)
episode = CountLayout(H=3, S=2, A=2)
pairs = (worst_replacement(constant(one_step, 5), 0),)
gauss = OfflineTabularGaussian(layout=one_step, rho=1.0)
laplace = OfflineTabularLaplace(layout=one_step, eps=1.0)

gaussian = Subject(
    name="gaussian",
    target=gauss,
    claim=gauss.claim,
    pairs=pairs,
    trials=TRIALS,
    accounted=True,
    paper=OFFLINE,
    statement="Lemma C.1: N(0, 2H/rho) on all counts is rho-zCDP",
)
pure = replace(
    gaussian,
    name="laplace",
    target=laplace,
    claim=laplace.claim,
    statement="Section 3: Lap(4H/eps) on all counts is eps-DP",
)
longer = (worst_replacement(constant(episode, 5), 2),)

subjects = [
    gaussian,
    replace(gaussian, name="gaussian-episode", target=replace(gauss, layout=episode), pairs=longer),
    replace(gaussian, name="gaussian-discrete", target=replace(gauss, discrete=True)),
    pure,
    replace(pure, name="laplace-discrete", target=replace(laplace, discrete=True)),
    replace(pure, name="laplace-episode", target=replace(laplace, layout=episode), pairs=longer),
    planted(gaussian, "budget-per-family", VisitsOnlyBudget(layout=one_step, rho=1.0), accounted=False),
    planted(gaussian, "exact-sums", SummedTransitions(gauss)),
    planted(pure, "add-remove-scale", AddRemoveScale(layout=one_step, eps=1.0), accounted=False),
]

BETA = 0.05
wide = CountLayout(H=5, S=2, A=4)
counted = constant(wide, 20)
noisy = OfflineTabularGaussian(layout=wide, rho=1.0)


def tight(name: str, of: OfflineTabularGaussian | OfflineTabularLaplace, *, times: int = 1, **options: Any) -> Promise:
    """The largest error of a raw count exceeds E/4 in more than a share BETA of the releases."""
    exact = wide.pack(counted.counts())

    def errors(rng: np.random.Generator, size: int) -> Array:
        return np.asarray(np.abs(of.release(counted, rng=rng, size=size) - exact).max(axis=1))

    bound = times * of.error_bound(BETA)
    statement = "E is at most 4 times the exact quantile"
    return tightness_promise(errors, bound, BETA, name=name, trials=2_000, statement=statement, **options)


promises = [
    raw_promise(noisy, counted, BETA, name="gaussian, exact quantile", trials=100_000),
    replace(
        raw_promise(noisy, counted, BETA, name="E_rho with constant 4", trials=20_000),
        bound=noisy.paper_error_bound(BETA) / 2,
        paper=OFFLINE,
        statement="Lemma C.2: |n' - n| <= E_rho/2, with E_rho = 4 sqrt(H log(4 H S^2 A/delta)/rho)",
    ),
    replace(
        raw_promise(noisy, counted, BETA, name="E_rho with constant 2", trials=20_000, expected=BROKEN),
        bound=noisy.paper_error_bound(BETA, constant=2.0) / 2,
        statement="Lemma C.2 as it reads in the text: constant 2" + GARBLED,
    ),
    assumption_promise(noisy, counted, BETA, offline=True, name="gaussian, post-processed", trials=20_000),
    tight("tightness-E, gaussian", noisy),
    tight("tightness-E, laplace", OfflineTabularLaplace(layout=wide, eps=1.0)),
    tight("tightness-E, E times 100", noisy, times=100, expected=BROKEN),
    raw_promise(
        OfflineTabularLaplace(layout=wide, eps=1.0), counted, BETA, name="laplace, exact quantile", trials=100_000
    ),
]

promises = unnamed(promises)
