"""Exponential mechanism: one score rises while all others fall."""

from audits.planted.exponential import NoFactorTwo, NoSensitivity
from dpverify import Pair, planted, PureDP, Subject
from dpverify.ledger import Sensitivity
from mechanisms.releases.exponential import Exponential

one = Sensitivity(replace=1, add_remove=1)
three = Sensitivity(replace=3)

unit = Subject(
    name="unit-scores",
    target=Exponential(eps=1.0, sensitivity=one),
    claim=PureDP(1.0),
    pairs=(Pair([1.0, *[0.0] * 9], [0.0, *[1.0] * 9], name="one up, nine down"),),
    accounted=True,
)
wide = Subject(
    name="wide-scores",
    target=Exponential(eps=1.0, sensitivity=three),
    claim=PureDP(1.0),
    pairs=(Pair([3.0, *[0.0] * 9], [0.0, *[3.0] * 9], name="one up, nine down"),),
    accounted=True,
)

subjects = [
    unit,
    wide,
    planted(unit, "no-factor-two", NoFactorTwo(eps=1.0, sensitivity=one)),
    planted(wide, "no-sensitivity", NoSensitivity(eps=1.0, sensitivity=three)),
]
