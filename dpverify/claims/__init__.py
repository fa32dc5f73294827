"""What is promised, about which neighbours."""

from dpverify.claims.claim import ApproxDP, Claim, GaussianDP, PureDP, ZCDP
from dpverify.claims.curves import parse_claim, RenyiDP, TradeOff
from dpverify.claims.neighbours import Difference, Pair, Records, Relation, Unit, View

__all__ = [
    "ZCDP",
    "ApproxDP",
    "Claim",
    "Difference",
    "GaussianDP",
    "Pair",
    "PureDP",
    "Records",
    "Relation",
    "RenyiDP",
    "TradeOff",
    "Unit",
    "View",
    "parse_claim",
]
