"""Counts of right and wrong guesses -> a certified lower bound on eps: exact or conservative tests only.

All tests answer the same two questions (`protocol.BoundTest`). Which of them is asked is decided by
`choose.choose_test` from predicted counts, before the certifying trials exist.

Notation of every module: n trials, v right and w wrong guesses, m = v + w; rho = e^eps,
r = rho/(1 + rho); d is the claim's slack a trial (`protocol.slack`).
"""

from dpverify.evidence.bounds.binomial import BinomialTest
from dpverify.evidence.bounds.choose import choose_test
from dpverify.evidence.bounds.convolution import ConvolutionTest
from dpverify.evidence.bounds.curve import CurveTest
from dpverify.evidence.bounds.protocol import BoundTest
from dpverify.evidence.bounds.shared import SharedTest
from dpverify.evidence.bounds.threshold import ThresholdTest
from dpverify.evidence.bounds.unconditional import UnconditionalTest
from dpverify.evidence.bounds.weighted import WeightedTest

__all__ = [
    "BinomialTest",
    "BoundTest",
    "ConvolutionTest",
    "CurveTest",
    "SharedTest",
    "ThresholdTest",
    "UnconditionalTest",
    "WeightedTest",
    "choose_test",
]
