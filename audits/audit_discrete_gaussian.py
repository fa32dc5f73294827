"""Discrete Gaussian noise on a histogram and on a signed count, under zCDP."""

from audits.planted.discrete_gaussian import AddRemoveNoise, SigmaForVariance
from dpverify import Pair, planted, Subject, ZCDP
from dpverify.ledger import Sensitivity, Shift
from mechanisms.releases.discrete_gaussian import DiscreteGaussian

cells = Sensitivity(replace=Shift(1, 2), add_remove=1)
signed = Sensitivity(replace=2, add_remove=1)  # a sum of votes -1, +1

histogram = Subject(
    name="histogram",
    target=DiscreteGaussian.for_claim(0.125, sensitivity=cells),
    claim=ZCDP(0.125),
    pairs=(Pair([4, 2, 7], [3, 3, 7], name="moved"),),
    accounted=True,
)
votes = Subject(
    name="signed-votes",
    target=DiscreteGaussian.for_claim(0.5, sensitivity=signed),
    claim=ZCDP(0.5),
    pairs=(Pair(5, 3, name="changed vote"),),
    accounted=True,
)

subjects = [
    histogram,
    votes,
    planted(histogram, "sigma-for-variance", SigmaForVariance.for_claim(0.125, sensitivity=cells)),
    planted(votes, "add-remove-noise", AddRemoveNoise.for_claim(0.5, sensitivity=signed)),
]
