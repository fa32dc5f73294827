"""Laws of noise on the line, each in one place: log density, masses of intervals, draws."""

from dpverify.ledger.laws.mixed import Mixture, Truncated
from dpverify.ledger.laws.standard import LaplaceLaw, Law, Normal, PiecewiseConstant

__all__ = ["LaplaceLaw", "Law", "Mixture", "Normal", "PiecewiseConstant", "Truncated"]
