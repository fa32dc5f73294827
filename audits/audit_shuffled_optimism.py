"""Shuffled optimism as whole adaptive runs: (eps, beta)-SDP by parallel composition is true; its error bound is kept.

White box: all released batches' shuffled sums, of which the deployed policies are a function. The batches and their
planted mistakes are those of SDP-PE.
"""

from dataclasses import replace

from algorithms.beyond.pooled_promises import pooled_promise
from algorithms.beyond.shuffled_optimism import ShuffledOptimism
from algorithms.core.counting import layout_of
from algorithms.core.environments import random_environment
from algorithms.core.transcripts import replaced, RunTranscript
from algorithms.core.users import Tree
from algorithms.sdp_pe.batches import ShuffledBatches
from audits.papers import RELEASE
from audits.planted.batches import LostConstant, SharedBits
from dpverify import ApproxDP, planted, Subject, Unit, View
from dpverify.promises import BROKEN
from mechanisms.datasets.visit_counts import CountLayout

EPS, BETA = 0.9, 1e-3
USERS, DEPLOYMENTS = 6, 3  # batches of two users; the last one's counts are not released
TRIALS = 20_000

layout = CountLayout(H=1, S=2, A=2, rewards=True)
stays, moves = Tree.steady((0, 0), (0.0,), 2), Tree.steady((1, 1), (1.0,), 2)
first_batch = replaced([stays] * USERS, 0, moves, "a user of the first batch")
second_batch = replaced([stays] * USERS, 2, moves, "a user of the second batch")


def run(batches: ShuffledBatches) -> RunTranscript:
    learner = ShuffledOptimism(layout=layout, episodes=USERS, deployments=DEPLOYMENTS, error_scale=0.1)
    return RunTranscript(agent=learner, privatizer=batches)


calibrated = Subject(
    name="calibrated",
    target=run(ShuffledBatches(layout=layout, eps=EPS, beta=BETA, budget="calibrated")),
    claim=ApproxDP(EPS, BETA, unit=Unit.TRAJECTORY, view=View.SHUFFLE, source="parallel composition over batches"),
    pairs=(first_batch, second_batch),
    trials=TRIALS,
    accounted=True,
    paper=RELEASE,
    statement="all batches together are (eps, beta)-SDP, with the least noise that the exact account allows",
)
one_pair = replace(calibrated, pairs=(second_batch,))

subjects = [
    calibrated,
    planted(one_pair, "lost-constant", run(LostConstant(layout=layout, eps=EPS, beta=BETA)), accounted=False),
    planted(one_pair, "bits-shared-by-counters", run(SharedBits(layout=layout, eps=EPS, beta=BETA)), trials=2_000),
]

small = random_environment(0, 2, 2, 2)
learner = ShuffledOptimism(layout=layout_of(small.model), episodes=160, deployments=40)
noisy = ShuffledBatches(layout=learner.layout, eps=3.0, beta=BETA, budget="calibrated")
STATEMENT = "Assumption 4 on the pooled counts, after every batch of a run"
promises = [
    pooled_promise(small, learner, noisy, trials=1_000, name="pooled-assumption", statement=STATEMENT, paper=RELEASE),
    pooled_promise(
        small,
        learner,
        noisy,
        bound=lambda pooled: learner.error(noisy, 1),
        trials=200,
        name="pooled-assumption-one-batch",
        expected=BROKEN,
        statement=STATEMENT + "; E of one batch, as if noise did not add up",
        paper=RELEASE,
    ),
]
