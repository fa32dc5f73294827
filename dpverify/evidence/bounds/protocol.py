"""What every test of H0(eps, delta) answers, and the two numbers that all of them start from.

H0(eps, delta): P(E) <= e^eps Q(E) + delta and Q(E) <= e^eps P(E) + delta for every event E, where P and Q
are the laws of the output on the two datasets.
"""

from typing import Any, Protocol

from dpverify.base import require
from dpverify.evidence.tally import Tally


class BoundTest(Protocol):
    """A test of H0(eps, delta) on a `Tally`; frozen before the tally was collected.

    For every mechanism that satisfies H0(eps, delta): Pr[p_value <= a] <= a and
    Pr[eps_lower > eps] <= significance.
    """

    @property
    def name(self) -> str:
        """How records call the test."""

    @property
    def working(self) -> dict[str, Any]:
        """Fields of `tally.Working` that its bound is computed from, beside the counts."""

    def p_value(self, tally: Tally, *, eps: float, delta: float) -> float:
        """In (0, 1]; never smaller than an exact p-value of H0(eps, delta), and increasing in eps."""

    def log10_p_value(self, tally: Tally, *, eps: float, delta: float) -> float:
        """At most 0 and finite: the decimal logarithm of the p-value, from above, also where `p_value` underflows."""

    def eps_lower(self, tally: Tally, *, delta: float, significance: float) -> float:
        """sup{eps >= 0 : H0(eps, delta) is rejected}, from below; 0.0 where eps = 0 is not rejected. Finite."""


def slack(tally: Tally, delta: float) -> float:
    """d in Pr[right] <= e^eps Pr[wrong] + d: delta, and delta/2 for a rule that only guesses one dataset.

    Two-sided rule, guess 1 on E and 0 on F: (P(E) + Q(F))/2 <= e^eps (Q(E) + P(F))/2 + delta.
    One-sided rule: P(E)/2 <= e^eps Q(E)/2 + delta/2.
    """
    return delta / 2 if tally.one_sided else delta


def pooled(tally: Tally, levels: int | None) -> tuple[int, int]:
    """Right and wrong guesses on the first `levels` levels (all of them for None); the rest abstains."""
    return int(tally.right[:levels].sum()), int(tally.wrong[:levels].sum())


def check_hypothesis(eps: float, delta: float) -> None:
    """ParameterError unless 0 <= eps < inf and 0 <= delta < 1 (NaN fails)."""
    require.non_negative(eps=eps)
    require.delta(delta=delta)


def check_level(delta: float, significance: float) -> None:
    """ParameterError unless 0 <= delta < 1 and 0 < significance < 1 (NaN fails)."""
    require.delta(delta=delta)
    require.open_unit(significance=significance)
