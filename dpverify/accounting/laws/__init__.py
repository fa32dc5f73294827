"""Laws of noise on the line, each in one place: log density, masses of intervals, draws."""

from dpverify.accounting.laws.law import Law
from dpverify.accounting.laws.mixed import Mixture, Truncated
from dpverify.accounting.laws.named import LaplaceLaw, Normal, PiecewiseConstant

__all__ = ["LaplaceLaw", "Law", "Mixture", "Normal", "PiecewiseConstant", "Truncated"]
