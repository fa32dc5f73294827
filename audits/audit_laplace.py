"""Laplace noise on a count, on a histogram, and on a histogram under add/remove."""

from audits.planted.laplace import AddRemoveNoise, HalfTheNoise, LargestCoordinate
from dpverify import Pair, planted, PureDP, Relation, Subject
from dpverify.ledger import Sensitivity, Shift
from mechanisms.releases.laplace import Laplace

ADD_REMOVE = Relation.ADD_OR_REMOVE_ONE

one = Sensitivity(replace=1, add_remove=1)
cells = Sensitivity(replace=Shift(1, 2), add_remove=1)  # a histogram: one cell down and one up, or one cell

count = Subject(
    name="count",
    target=Laplace.for_claim(1.0, sensitivity=one),
    claim=PureDP(1.0),
    pairs=(Pair(10.0, 11.0, name="one more"),),
    accounted=True,
)
histogram = Subject(
    name="histogram",
    target=Laplace.for_claim(1.0, sensitivity=cells),
    claim=PureDP(1.0),
    pairs=(Pair([4.0, 2.0, 7.0], [3.0, 3.0, 7.0], name="moved"),),
    accounted=True,
)
added = Subject(
    name="histogram-add-remove",
    target=Laplace.for_claim(1.0, sensitivity=cells, relation=ADD_REMOVE),
    claim=PureDP(1.0, relation=ADD_REMOVE),
    pairs=(Pair([4.0, 2.0, 7.0], [5.0, 2.0, 7.0], name="added"),),
    accounted=True,
)

subjects = [
    count,
    histogram,
    added,
    planted(count, "half-the-noise", HalfTheNoise.for_claim(1.0, sensitivity=one)),
    planted(histogram, "add-remove-noise", AddRemoveNoise.for_claim(1.0, sensitivity=cells)),
    planted(histogram, "largest-coordinate", LargestCoordinate.for_claim(1.0, sensitivity=cells)),
]
