"""Counts of right and wrong guesses -> a certified lower bound on eps: exact or conservative tests only.

All tests give a p-value and a bound (`protocol.BoundTest`). Which one is asked is settled before the certifying trials
exist (`lower_bound`): weighted where weights were frozen, Bonferroni where shares were, a curve where the claim is one,
and else what `choice.choose_test` says of predicted counts.

Notation of every module: n trials, v right and w wrong guesses, m = v + w; rho = e^eps,
r = rho/(1 + rho); d is the claim's slack a trial (`protocol.slack`).
"""

from dpverify.evidence.bounds.binomial import BinomialTest, BonferroniTest
from dpverify.evidence.bounds.choice import choose_test
from dpverify.evidence.bounds.protocol import BoundTest
from dpverify.evidence.bounds.tradeoff_curve import CurveTest
from dpverify.evidence.bounds.two_step import TwoStepTest, UnconditionalTest
from dpverify.evidence.bounds.weighted import WeightedTest

__all__ = [
    "BinomialTest",
    "BonferroniTest",
    "BoundTest",
    "CurveTest",
    "TwoStepTest",
    "UnconditionalTest",
    "WeightedTest",
    "choose_test",
]
