"""Local protocols of the standard libraries: unary encodings, subsets, hashing, RAPPOR, and RS+FD as published."""

from dataclasses import replace

from audits.planted.local_protocols import (
    BinaryResponse,
    HalfTheNoise,
    LouderTruth,
    NoFakes,
    NotPermanent,
    ResponseProbability,
    WholeBudgetABit,
)
from dpverify import Pair, planted, PureDP, Subject, View
from mechanisms.releases.fake_data import FakeData
from mechanisms.releases.local_hashing import LocalHashing
from mechanisms.releases.rappor import Rappor
from mechanisms.releases.subset_selection import SubsetSelection
from mechanisms.releases.unary_encoding import UnaryEncoding

EPS, K, TRIALS = 1.0, 4, 6_000

sue = Subject(
    name="sue",
    target=UnaryEncoding.symmetric(EPS, K),
    claim=PureDP(EPS, view=View.LOCAL),
    pairs=(Pair(0, 3, name="0 and 3"),),
    trials=TRIALS,
    accounted=True,
)
oue = replace(sue, name="oue", target=UnaryEncoding.optimised(EPS, K))
the = replace(sue, name="the", target=UnaryEncoding.thresholded(EPS, K))
subsets = replace(sue, name="subset-selection", target=SubsetSelection(eps=EPS, k=K))
binary = replace(sue, name="binary-local-hashing", target=LocalHashing.binary(EPS, K))
optimised = replace(sue, name="optimised-local-hashing", target=LocalHashing.optimised(EPS, K))
rappor = Rappor(k=K, hashes=2, reports=20)
often = replace(sue, name="rappor-20-reports", target=rappor, claim=rappor.claim)

one = FakeData(eps=EPS, sizes=(4, 4, 4))
attribute = replace(
    sue, name="fake-data-one-attribute", target=one, pairs=(Pair([0, 1, 2], [3, 1, 2], name="the first attribute"),)
)
published = replace(
    attribute,
    name="fake-data-whole-record",  # true: ln(3 (e - 1) + 1) = 1.82
    target=replace(one, whole=True),
    pairs=(Pair([0, 1, 2], [3, 2, 0], name="all attributes"),),
    expected="REFUTED",
    accounted=False,
)

subjects = [
    sue,
    oue,
    the,
    subsets,
    binary,
    optimised,
    often,
    attribute,
    published,
    replace(
        published,
        name="fake-data-whole-record-plain-response",  # the same eps for the one response: nothing is amplified
        target=replace(one, amplified=False, whole=True),
        expected="NOT_REFUTED",
        accounted=True,
    ),
    planted(sue, "whole-budget-a-bit", WholeBudgetABit.symmetric(EPS, K)),
    planted(oue, "louder-truth", LouderTruth.optimised(EPS, K)),
    planted(the, "half-the-noise", HalfTheNoise.thresholded(EPS, K)),
    planted(subsets, "response-probability", ResponseProbability(eps=EPS, k=K)),
    planted(optimised, "binary-response", BinaryResponse(eps=EPS, k=K, g=optimised.target.g)),
    # a claim of 4.4 at the share of a suite: 6,000 trials certify 4.2 at most
    replace(planted(often, "not-permanent", NotPermanent(k=K, hashes=2, reports=20)), trials=30_000),
    planted(attribute, "no-fakes", NoFakes(eps=EPS, sizes=one.sizes)),
]
