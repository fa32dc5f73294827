"""delta > 0, one threshold: two Clopper-Pearson limits, one for how often and one for how well it guesses.

With c = Pr[right], w = Pr[wrong], tau = c + w: c <= rho (tau - c) + d gives
theta = c/tau <= r + (1 - r) d/tau. tau enters weakly, so almost all of alpha is spent on theta.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

from dpverify.evidence.bounds import clopper_pearson
from dpverify.evidence.bounds.protocol import check_hypothesis, check_level, pooled, slack
from dpverify.evidence.tally import Tally

RATE_SHARE = 0.05  # share of alpha that goes to tau; fixed in advance for everybody, never tuned on data
_LOG_SMALLEST = -690.0  # p-values are resolved down to e^-690


@dataclass(frozen=True)
class ThresholdTest:
    """eps_lower = logit((theta_L - kappa)/(1 - kappa)), kappa = d/tau_L.

    theta_L is the lower limit of v/m at 19 alpha/20, tau_L that of m/n at alpha/20; the error is at most
    their sum. Needs a fixed rule (independent trials), not the m most confident outputs of a batch.
    Rejections are nested in alpha, so the p-value is the smallest alpha that rejects.
    The first `levels` levels are pooled, None pools all.
    """

    levels: int | None = None
    name: ClassVar[str] = "threshold"

    def p_value(self, tally: Tally, *, eps: float, delta: float) -> float:
        check_hypothesis(eps, delta)
        low, high = _LOG_SMALLEST, 0.0
        if not self._log_ratio(tally, delta, math.nextafter(1.0, 0.0)) >= eps:
            return 1.0
        if self._log_ratio(tally, delta, math.exp(low)) >= eps:
            return math.exp(low)
        while high - low > 1e-13 * max(1.0, -high):
            middle = (low + high) / 2
            rejected = self._log_ratio(tally, delta, math.exp(middle)) >= eps
            low, high = (low, middle) if rejected else (middle, high)
        return math.exp(high)

    def eps_lower(self, tally: Tally, *, delta: float, significance: float) -> float:
        check_level(delta, significance)
        bound = self._log_ratio(tally, delta, significance)
        return bound if bound > 0 else 0.0

    def _log_ratio(self, tally: Tally, delta: float, significance: float) -> float:
        """The bound before it is cut at 0; -inf where not even a ratio of 0 can be excluded."""
        right, wrong = pooled(tally, self.levels)
        guesses = right + wrong
        rate = clopper_pearson.lower(guesses, tally.trials, RATE_SHARE * significance)
        slack_a_trial = slack(tally, delta)
        if not slack_a_trial < rate:
            return -math.inf
        kappa = slack_a_trial / rate
        rest = clopper_pearson.upper(wrong, guesses, (1 - RATE_SHARE) * significance)  # 1 - theta_L
        return math.log((1 - kappa - rest) / rest) if 1 - kappa - rest > 0 else -math.inf
