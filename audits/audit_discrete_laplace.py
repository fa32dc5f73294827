"""Discrete Laplace noise on a count and on a histogram."""

from audits.planted.discrete_laplace import clipped_at_the_truth, HalfTheNoise
from dpverify import Pair, planted, PureDP, Subject
from dpverify.ledger import Sensitivity, Shift
from mechanisms.releases.discrete_laplace import DiscreteLaplace

one = Sensitivity(replace=1, add_remove=1)
cells = Sensitivity(replace=Shift(1, 2), add_remove=1)

count = Subject(
    name="count",
    target=DiscreteLaplace.for_claim(1.0, sensitivity=one),
    claim=PureDP(1.0),
    pairs=(Pair(10, 11, name="one more"),),
    accounted=True,
)
histogram = Subject(
    name="histogram",
    target=DiscreteLaplace.for_claim(0.7, sensitivity=cells),
    claim=PureDP(0.7),
    pairs=(Pair([4, 2, 7], [3, 3, 7], name="moved"),),
    accounted=True,
)

subjects = [
    count,
    histogram,
    planted(count, "half-the-noise", HalfTheNoise.for_claim(1.0, sensitivity=one)),
    planted(count, "clipped-at-the-truth", clipped_at_the_truth),
]
