"""Sparse vector: the six published algorithms of Lyu, Su, Li 2017, Figure 1. Two are correct, four are planted bugs."""

from audits.planted.sparse_vector import Algorithm3, Algorithm4, Algorithm5, Algorithm6
from dpverify import Pair, planted, PureDP, Subject
from dpverify.ledger import Sensitivity
from mechanisms.releases.sparse_vector import SparseVector

one = Sensitivity(replace=1, add_remove=1)
# BELOWs that rise and ABOVEs that fall, by one each: the direction in which every step of the proof is used
eleven = Pair([*[0.0] * 10, 1.0], [*[1.0] * 10, 0.0], name="ten up, one down")
eight = Pair([*[0.0] * 5, *[1.0] * 3], [*[1.0] * 5, *[0.0] * 3], name="five up, three down")
ten = Pair([*[0.0] * 5, *[1.0] * 5], [*[1.0] * 5, *[0.0] * 5], name="five up, five down")
seven = Pair([*[0.0] * 6, 1.0], [*[1.0] * 6, 0.0], name="six up, one down")
two = Pair([0.0, 1.0], [1.0, 0.0], name="crossed")

first = Subject(
    name="first-above",
    target=SparseVector(eps=1.0, sensitivity=one),
    claim=PureDP(1.0),
    pairs=(eleven,),
    accounted=True,
)
three = Subject(
    name="three-above",
    target=SparseVector(eps=1.0, sensitivity=one, threshold=0.5, cutoff=3),
    claim=PureDP(1.0),
    pairs=(eight,),
    accounted=True,
)

fresh = Subject(
    name="three-above-fresh",
    target=SparseVector(eps=1.0, sensitivity=one, threshold=0.5, cutoff=3, fresh=True),
    claim=PureDP(1.0),
    pairs=(eight,),
    accounted=True,
)

subjects = [
    first,
    three,
    fresh,
    planted(fresh, "no-query-noise", Algorithm5(1.0), pairs=(two,)),
    planted(first, "algorithm-3", Algorithm3(2.0), claim=PureDP(2.0), pairs=(seven,)),
    planted(three, "algorithm-4", Algorithm4(eps=1.0, sensitivity=one, threshold=0.5, cutoff=3)),
    planted(first, "algorithm-5", Algorithm5(1.0), pairs=(two,)),
    planted(first, "algorithm-6", Algorithm6(eps=1.0, sensitivity=one, cutoff=10), pairs=(ten,)),
]
