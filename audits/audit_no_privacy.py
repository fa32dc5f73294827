"""The non-private baseline that pretends to be private: the least that an auditor must see."""

from dpverify import Subject
from mechanisms.datasets.pairs import constant, worst_replacement
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.privatizers.no_privacy import NoPrivacy

layout = CountLayout(H=2, S=2, A=2)
baseline = NoPrivacy(layout=layout, pretended_eps=5.0)

subjects = [
    Subject(
        name="exact-counts",
        target=baseline,
        claim=baseline.claim,
        pairs=(worst_replacement(constant(layout, 3), 1),),
        trials=2_000,
        expected="REFUTED",
        accounted=False,
        statement="nobody's claim: exact counts are 5-DP",
    )
]
