"""RLSVI, our implementation, beside the formula of an abstract: no noise is added to counts, so there is no ledger.

The claim is the formula at H = 3 steps, one state, 2 actions and K = 4 users; eps on this pair is 0.05 at delta =
0.001, computed from the laws of all transcripts (docs/figures.md). The paper behind the abstract was not read, and
nothing is said about it (`algorithms.beyond.rlsvi`).
"""

from algorithms.beyond.rlsvi import formula, paid_or_not, told_to_others
from dpverify import ApproxDP, planted, Subject, Unit, View
from mechanisms.datasets.visit_counts import CountLayout

USERS, DELTA = 4, 1e-3

layout = CountLayout(H=3, S=1, A=2, rewards=True)
told = Subject(
    name="others-policies",
    target=told_to_others(layout, hidden=0),
    claim=ApproxDP(formula(layout, USERS, DELTA), DELTA, unit=Unit.TRAJECTORY, view=View.JOINT),
    pairs=(paid_or_not(layout, USERS),),
    trials=20_000,
    statement="RLSVI, our implementation, the abstract's formula: eps of what all other users are told",
)

subjects = [
    told,
    planted(told, "exact-counts", told_to_others(layout, hidden=0, noise=1e-9)),
    planted(told, "noise-1000", told_to_others(layout, hidden=0, noise=1e-3)),
]
