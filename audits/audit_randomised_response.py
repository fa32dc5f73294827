"""Randomised response: one report, binary and 5-ary, and one report among three."""

from audits.planted.randomised_response import BinaryTruth, LiesThatAreTrue
from dpverify import Pair, planted, PureDP, Subject, View
from mechanisms.releases.randomised_response import RandomisedResponse

binary = Subject(
    name="binary",
    target=RandomisedResponse(eps=1.0),
    claim=PureDP(1.0, view=View.LOCAL),
    pairs=(Pair(0, 1, name="no and yes"),),
    accounted=True,
    accept="proof",
    schema="value: category 0|1",
)
kary = Subject(
    name="5-ary",
    target=RandomisedResponse(eps=1.0, k=5),
    claim=PureDP(1.0, view=View.LOCAL),
    pairs=(Pair(0, 1, name="0 and 1"), Pair(4, 2, name="4 and 2")),
    accounted=True,
    accept="proof",
    schema="value: category 0|1|2|3|4",
)
reports = Subject(
    name="three-reports",
    target=RandomisedResponse(eps=1.0, k=3),
    claim=PureDP(1.0, view=View.LOCAL),
    pairs=(Pair([0, 1, 2], [0, 2, 2], name="the second user"),),
    accounted=True,
)

subjects = [
    binary,
    kary,
    reports,
    planted(binary, "lies-that-are-true", LiesThatAreTrue(1.0, 2)),
    planted(kary, "lies-that-are-true", LiesThatAreTrue(1.0, 5)),
    planted(kary, "binary-truth", BinaryTruth(1.0, 5)),
]
