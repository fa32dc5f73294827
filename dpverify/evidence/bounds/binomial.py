"""delta = 0: the conditional binomial test, exact for every rule that looks at outputs only.

Given all outputs the coins are independent, and the posterior of each lies in [1 - r, r] under eps-DP.
So each guess is right with probability at most r, and v given m is stochastically below Bin(m, r).
"""

import math
from dataclasses import dataclass
from typing import ClassVar

from scipy import special

from dpverify.base.errors import ParameterError
from dpverify.evidence.bounds import clopper_pearson, root_finding
from dpverify.evidence.bounds.log_tails import log10_up, log_at_most, SMALLEST
from dpverify.evidence.bounds.protocol import check_hypothesis, check_level, pooled
from dpverify.evidence.tally import Tally


@dataclass(frozen=True)
class BinomialTest:
    """p(eps) = Pr[Bin(m, r) >= v]; eps_lower = logit of the Clopper-Pearson lower limit of v/m.

    Only for delta = 0 (ParameterError otherwise). The first `levels` levels are pooled, None pools all.
    """

    levels: int | None = None
    name: ClassVar[str] = "binomial"

    def p_value(self, tally: Tally, *, eps: float, delta: float) -> float:
        check_hypothesis(eps, delta)
        _check_pure(delta)
        return binomial_tail(*pooled(tally, self.levels), eps)

    def log10_p_value(self, tally: Tally, *, eps: float, delta: float) -> float:
        check_hypothesis(eps, delta)
        _check_pure(delta)
        return log10_up(log_binomial_tail(*pooled(tally, self.levels), eps))

    def eps_lower(self, tally: Tally, *, delta: float, significance: float) -> float:
        check_level(delta, significance)
        _check_pure(delta)
        right, wrong = pooled(tally, self.levels)
        # 1 - theta from above, not theta from below: nothing is lost where theta is close to 1
        rest = clopper_pearson.upper(wrong, right + wrong, significance)
        if not rest < 0.5:
            return 0.0
        closed = math.log((1 - rest) / rest)
        return root_finding.step_down(lambda eps: binomial_tail(right, wrong, eps), significance, closed)


def binomial_tail(right: int, wrong: int, eps: float) -> float:
    """Pr[Bin(right + wrong, e^eps/(1 + e^eps)) >= right], through the small probability 1/(1 + e^eps); never 0."""
    if right == 0:
        return 1.0
    return max(float(special.betaincc(wrong + 1, right, special.expit(-eps))), SMALLEST)


def log_binomial_tail(right: int, wrong: int, eps: float) -> float:
    """Natural logarithm of `binomial_tail`, from above."""
    return float(log_at_most(wrong, right + wrong, float(special.expit(-eps))))


def _check_pure(delta: float) -> None:
    if delta != 0:
        raise ParameterError("delta", delta, "0 for the conditional binomial test")
