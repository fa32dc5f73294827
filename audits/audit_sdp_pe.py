"""SDP-PE, both versions, as whole adaptive runs: (eps, beta)-SDP with separate bits is true, and mended tight.

White box: all batches' shuffled sums and the deployed policies. The printed noise has slack (the constant 96),
which hides that a replaced user moves 6H counters and not 3H; `calibrated` spends exactly (eps, beta).
What integer messages would leak is audited with the privatizer (`audit_shuffle`).
"""

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from algorithms.core.counting import layout_of
from algorithms.core.environments import Environment, random_environment
from algorithms.core.transcripts import Actions, replaced, RunTranscript
from algorithms.core.users import Tree
from algorithms.pucb.promises import run_assumption_promise, survival_promise
from algorithms.sdp_pe.batches import Batches, ExactBatches, ShuffledBatches
from algorithms.sdp_pe.elimination import SDPPE, Staged
from audits.papers import SDP_PE_JOURNAL, unnamed
from audits.planted.batches import LostConstant, SharedBits
from audits.planted.elimination import DataFree
from dpverify import ApproxDP, planted, Subject, Unit, View
from dpverify.promises import all_of, BROKEN, INCONCLUSIVE, Promise
from mechanisms.datasets.visit_counts import CountLayout

EPS, BETA = 0.9, 1e-3
USERS = 18  # two stages: 2 + 4 and 4 + 8 users
TRIALS = 40_000

layout = CountLayout(H=1, S=2, A=2, rewards=True)
stays, moves = Tree.steady((0, 0), (0.0,), 2), Tree.steady((1, 1), (1.0,), 2)
crude_user = replaced([stays] * USERS, 0, moves, "a user of the first crude batch")
fine_user = replaced([stays] * USERS, 3, moves, "a user of the first fine batch")


def run(batches: ShuffledBatches, version: Literal["journal", "conference"] = "journal") -> RunTranscript:
    learner = SDPPE(layout=layout, episodes=USERS, version=version, threshold_scale=0.1, privacy_scale=0.0)
    return RunTranscript(agent=Staged(learner=learner, initial=(0.5, 0.5)), privatizer=batches)


printed = Subject(
    name="journal-as-printed",
    target=run(ShuffledBatches(layout=layout, eps=EPS, beta=BETA)),
    claim=ApproxDP(EPS, BETA, unit=Unit.TRAJECTORY, view=View.SHUFFLE, source="SDP-PE journal, Corollary 11"),
    pairs=(fine_user, crude_user),
    trials=TRIALS,
    accounted=True,
    paper=SDP_PE_JOURNAL,
    statement="Lemma 10 and Corollary 11: all batches together are (eps, beta)-SDP",
)
conference = replace(
    printed,
    name="conference-as-printed",
    target=run(ShuffledBatches(layout=layout, eps=EPS, beta=BETA, budget="conference"), "conference"),
    pairs=(fine_user,),
)
calibrated = replace(
    printed,
    name="calibrated",
    target=run(ShuffledBatches(layout=layout, eps=EPS, beta=BETA, budget="calibrated")),
    statement="Corollary 11: (eps, beta)-SDP with the least noise that the exact account allows",
)
one_pair = replace(calibrated, pairs=(fine_user,))

# What users are told, and that view's own users: (state, rewards of both actions), found by search on exact counts. The
# noise of a batch, 6H counters' worth, hides every decision: only exact counts are seen.
LIVES = "001 011 001 111 011 000 001 111 111 011 001 110 001 001 110 111 001 111"
TOLD = 3  # the hidden user


def life(code: str) -> Tree:
    """One step from a state, two actions with their rewards."""
    state, first, second = map(int, code)
    return Tree(((state,), (0, 0)), ((float(first), float(second)),), 2)


def told(batches: Batches) -> Actions:
    learner = SDPPE(layout=layout, episodes=USERS, threshold_scale=0.003, privacy_scale=0.0)
    return Actions(agent=Staged(learner=learner, initial=(0.5, 0.5)), privatizer=batches, hidden=TOLD)


actions = replace(
    calibrated,
    name="calibrated-actions",
    target=told(ShuffledBatches(layout=layout, eps=EPS, beta=BETA, budget="calibrated")),
    claim=ApproxDP(EPS, BETA, unit=Unit.TRAJECTORY, view=View.JOINT, source="shuffle privacy implies joint privacy"),
    pairs=(replaced([life(each) for each in LIVES.split()], TOLD, life("000"), "a user of the first fine batch"),),
    trials=4_000,
    statement="Corollary 11, (eps, beta)-JDP in the black-box view: the policies that all other users are given",
    blind="stage noise hides every decision of so few users; only exact counts are seen in this view",
)

subjects = [
    printed,
    actions,
    planted(actions, "exact-counts", told(ExactBatches())),
    conference,
    calibrated,
    planted(one_pair, "lost-constant", run(LostConstant(layout=layout, eps=EPS, beta=BETA)), accounted=False),
    planted(one_pair, "bits-shared-by-counters", run(SharedBits(layout=layout, eps=EPS, beta=BETA)), trials=2_000),
]

# Utility, in runs on small instances. With C = 1 nothing can be eliminated from `small` by 18 users, so there the
# survival of the optimal policy says nothing. Two arms are told apart by 1501 users without noise and by 12001 users
# at eps = 100 (a test asserts all three); with four and two times as many the theory promises it: two thresholds of the
# last stage are below 0.8. Each of 301, 6001, 24001 leaves a user over: one more deployment.
# At EPS a pair count is never underestimated because E/2 exceeds all users of a batch; at eps = 100 it does not.
# C is universal and unnamed in the papers: KEPT and BROKEN are about the C that is written here.
DELTA = 0.01  # of one batch
small = random_environment(0, 2, 2, 2)
two_arms = Environment("two arms", np.ones((1, 1, 2, 1)), np.array([[[0.1, 0.9]]]), np.ones(1))


def learner_for(environment: Environment, users: int, **scales: float) -> SDPPE:
    return SDPPE(layout=layout_of(environment.model), episodes=users, **scales)  # type: ignore[arg-type]


def shuffled(environment: Environment, eps: float, budget: Literal["journal", "calibrated"]) -> ShuffledBatches:
    return ShuffledBatches(layout=layout_of(environment.model), eps=eps, beta=BETA, budget=budget, delta=DELTA)


def risk(learner: SDPPE) -> float:
    """Of a whole run: the number of batches with users, times DELTA."""
    return DELTA * sum(sum(number > 0 for number in stage.layers) + 1 for stage in learner.plan)


def survival_mirrored(name: str, learner: SDPPE, batches: Batches, **options: Any) -> Promise:
    """Of two arms and of their mirror image in one trial: there who reads no data eliminates the better arm."""
    parts = [
        survival_promise(where, learner, batches, sharp=True, name=where.name)
        for where in (two_arms, two_arms.mirrored)
    ]
    return all_of(parts, name=name, **{**common, **options})


common: dict[str, Any] = {"paper": SDP_PE_JOURNAL}
ASSUMPTION = "Assumption 4 in every batch of a run"
SURVIVAL = "Lemma 20 and Theorem 6: no optimal policy is eliminated, N_switch <= (H+2) B"
short = learner_for(small, 42)
brief, longer = learner_for(small, 18), learner_for(small, 300)
calibrated_small = shuffled(small, EPS, "calibrated")
promises = [
    run_assumption_promise(
        small,
        short,
        shuffled(small, EPS, "journal"),
        failure_probability=risk(short),
        trials=2000,
        name="run-assumption-journal",
        statement=ASSUMPTION + ", noise as printed",
        **common,
    ),
    run_assumption_promise(
        small,
        brief,
        calibrated_small,
        failure_probability=risk(brief),
        trials=2000,
        name="run-assumption-calibrated",
        statement=ASSUMPTION + ", calibrated noise",
        **common,
    ),
    run_assumption_promise(
        small,
        longer,
        shuffled(small, 100.0, "journal"),
        failure_probability=risk(longer),
        trials=500,
        name="run-assumption-low-noise",
        statement=ASSUMPTION + ", noise as printed at eps = 100",
        **common,
    ),
    survival_promise(
        small,
        brief,
        calibrated_small,
        trials=1000,
        name="survival-nothing-eliminated",
        expected=INCONCLUSIVE,
        statement=SURVIVAL + "; C = 1, too few users to eliminate anything",
        **common,
    ),
    survival_mirrored(
        "survival-two-arms-no-privacy",
        learner_for(two_arms, 6001, delta=0.02),
        ExactBatches(),
        trials=60,
        statement=SURVIVAL + "; C = 1, no noise, the worse arm is eliminated; two arms and mirrored",
    ),
    survival_mirrored(
        "survival-two-arms",
        learner_for(two_arms, 24001, delta=0.02),
        shuffled(two_arms, 100.0, "journal"),
        trials=24,
        statement=SURVIVAL + "; C = 1, eps = 100, the worse arm is eliminated; two arms and mirrored",
    ),
    survival_mirrored(
        "survival-two-arms, reads no data",
        DataFree(layout=layout_of(two_arms.model), episodes=6001, delta=0.01, known=two_arms.model),
        ExactBatches(),
        trials=24,
        expected=BROKEN,
        statement=SURVIVAL + "; C = 1, no noise, two arms and mirrored",
    ),
    survival_promise(
        small,
        learner_for(small, 301, threshold_scale=0.03, privacy_scale=0.0),
        ExactBatches(),
        trials=400,
        name="survival-threshold-too-small",
        expected=BROKEN,
        statement=SURVIVAL + "; C = 0.03",
        **common,
    ),
]

promises = unnamed(promises)
