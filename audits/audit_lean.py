"""`lean`: rho-zCDP by the exact joint cost of a step is true, and attained up to the rewards that a pair has.

White box: both noisy statistics of every step of an adaptive run. The learner is no paper's; it stands beside DP-VAPVI
in the figure of the offline paper.
"""

from dataclasses import replace

import numpy as np

from algorithms.beyond.lean import Lean
from algorithms.beyond.lean_transcripts import LeanView
from audits.audit_vapvi import swap, two_features
from audits.papers import RELEASE
from audits.planted.lean import BareLastGram, OneBudget
from dpverify import planted, Subject, ZCDP

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
