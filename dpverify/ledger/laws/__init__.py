"""Laws of noise on the line: log density, masses of intervals, draws. `DominatingPair` makes an event of any two.

The events of `ledger.events` (`LaplaceNoise`, ...) are not made of them: their losses are closed forms, in
`accounting.noise_losses`.
"""

from dpverify.ledger.laws.mixed import Mixture, Truncated
from dpverify.ledger.laws.standard import LaplaceLaw, Law, Normal, PiecewiseConstant

__all__ = ["LaplaceLaw", "Law", "Mixture", "Normal", "PiecewiseConstant", "Truncated"]
