"""Post-processed counts keep the claim of the raw ones; post-processing that reads the data again loses it."""

from dataclasses import replace

from audits import audit_local
from audits.papers import SDP_PE_JOURNAL
from audits.planted.postprocess import LiftedToTruth, SlackFromData
from audits.shuffle_pairs import BETA, EPS, worst
from dpverify import planted, Subject
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.privatizers.consistent import Processed
from mechanisms.privatizers.shuffle import Shuffle
from mechanisms.shuffling.bits import NoiseBits

PROMISED = 0.1  # failure probability for which E is made

bandit = CountLayout(H=1, S=1, A=2)
USERS = 100
corrected_local = audit_local.corrected.target
calibrated = Shuffle.calibrated(EPS, BETA, bandit, USERS)

shuffled = Subject(
    name="shuffled-counts",
    target=Processed(calibrated, PROMISED),
    claim=calibrated.claim,
    pairs=worst(bandit, USERS),
    trials=100_000,
    accounted=True,
    paper=SDP_PE_JOURNAL,
    statement="Section V, post-processing: the post-processed counts are a function of the private ones",
)
subjects = [
    shuffled,
    replace(
        shuffled,
        name="local-counts",
        target=Processed(corrected_local, PROMISED),
        claim=corrected_local.claim,
        pairs=audit_local.worst(audit_local.one_step),
    ),
    planted(shuffled, "lifted-to-truth", LiftedToTruth(calibrated, PROMISED)),
    planted(shuffled, "slack-from-data", SlackFromData(calibrated, PROMISED)),
    planted(
        shuffled,
        "too-little-noise",
        Processed(replace(calibrated, noise=NoiseBits(1, 0.05)), PROMISED),
        accounted=False,
    ),
]
