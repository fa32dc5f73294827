"""Report noisy max: one score rises while all others fall."""

from audits.planted.noisy_max import NoFactorTwo, WinningValue
from dpverify import Pair, planted, PureDP, Subject
from dpverify.ledger import Sensitivity
from mechanisms.releases.noisy_max import NoisyMax

one = Sensitivity(replace=1, add_remove=1)

apart = Subject(
    name="apart",
    target=NoisyMax(eps=1.0, sensitivity=one),
    claim=PureDP(1.0),
    pairs=(Pair([1.0, *[0.0] * 9], [0.0, *[1.0] * 9], name="one up, nine down"),),
)  # no account: the tape follows ten released numbers and not their place, so nothing shows the theorem's event

subjects = [
    apart,
    planted(apart, "no-factor-two", NoFactorTwo(eps=1.0, sensitivity=one)),
    planted(apart, "winning-value", WinningValue(1.0), pairs=(Pair([0.0] * 10, [1.0] * 10, name="all up"),)),
]
