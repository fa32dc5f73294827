"""SDP-PE, both versions, as whole adaptive runs: (eps, beta)-SDP with separate bits is true, and mended tight.

White box: all batches' shuffled sums and the deployed policies. The printed noise has slack (the constant 96),
which hides that a replaced user moves 6H counters and not 3H; `calibrated` spends exactly (eps, beta).
What integer messages would leak is audited with the privatizer (`audit_shuffle`).
"""

from dataclasses import replace
from typing import Literal

from algorithms.batch_transcripts import BatchTranscript
from algorithms.batches import ShuffledBatches
from algorithms.sdp_pe import SDPPE
from algorithms.transcripts import replaced
from algorithms.users import Tree
from audits.papers import SDP_PE_JOURNAL
from audits.planted.batches import LostConstant, SharedBits
from dpverify import ApproxDP, planted, Subject, Unit, View
from mechanisms.counts import CountLayout

EPS, BETA = 0.9, 1e-3
USERS = 18  # two stages: 2 + 4 and 4 + 8 users
TRIALS = 40_000

layout = CountLayout(H=1, S=2, A=2, rewards=True)
stays, moves = Tree.steady((0, 0), (0.0,), 2), Tree.steady((1, 1), (1.0,), 2)
crude_user = replaced([stays] * USERS, 0, moves, "a user of the first crude batch")
fine_user = replaced([stays] * USERS, 3, moves, "a user of the first fine batch")


def run(batches: ShuffledBatches, version: Literal["journal", "conference"] = "journal") -> BatchTranscript:
    learner = SDPPE(layout=layout, episodes=USERS, version=version, threshold_scale=0.1, privacy_scale=0.0)
    return BatchTranscript(learner=learner, batches=batches, initial=(0.5, 0.5))


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
    statement="with the least noise that the exact account allows",
)
one_pair = replace(calibrated, pairs=(fine_user,))

subjects = [
    printed,
    conference,
    calibrated,
    planted(one_pair, "lost-constant", run(LostConstant(layout=layout, eps=EPS, beta=BETA)), accounted=False),
    planted(one_pair, "bits-shared-by-counters", run(SharedBits(layout=layout, eps=EPS, beta=BETA)), trials=2_000),
]
