"""Several claims in one suite: which of them fall when the error of the whole family is limited."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.base.errors import ParameterError

BoolArray = npt.NDArray[np.bool_]


def holm(p_values: Sequence[float] | npt.NDArray[np.float64], significance: float) -> BoolArray:
    """Which hypotheses Holm's step-down rejects; shape of `p_values`, a vector.

    Pr[any true hypothesis is rejected] <= significance, whatever the dependence (Holm 1979).
    The k-th smallest p-value is compared with significance/(count - k + 1) until one fails.
    """
    require.open_unit(significance=significance)
    p = _vector("p_values", p_values, upper=1.0)
    order = np.argsort(p, kind="stable")
    # a product and not a quotient, so that equality is decided by the p-value's own rounding
    fails = p[order] * np.arange(p.size, 0, -1) > significance
    rejected = np.zeros(p.size, dtype=bool)
    rejected[order[: int(np.argmax(fails)) if fails.any() else p.size]] = True
    return rejected


def e_benjamini_hochberg(log_wealth: Sequence[float] | npt.NDArray[np.float64], rate: float) -> BoolArray:
    """Which hypotheses e-BH rejects, from log e-values; shape of `log_wealth`, a vector.

    E[share of true hypotheses among the rejected] <= rate, whatever the dependence (Wang, Ramdas 2022,
    Theorem 5.1): the largest k is rejected for which the k largest e-values are all >= count/(rate k).
    Take wealth at a stopping time, not its running maximum: the latter is no e-value.
    """
    require.open_unit(rate=rate)
    e = _vector("log_wealth", log_wealth, upper=np.inf)
    order = np.argsort(-e, kind="stable")
    enough = e[order] >= np.log(e.size / rate) - np.log(np.arange(1, e.size + 1))
    rejected = np.zeros(e.size, dtype=bool)
    rejected[order[: int(np.flatnonzero(enough)[-1]) + 1 if enough.any() else 0]] = True
    return rejected


def _vector(name: str, values: Sequence[float] | npt.NDArray[np.float64], upper: float) -> npt.NDArray[np.float64]:
    """At least -inf (0 for p-values) and at most `upper`; NaN fails."""
    vector = np.asarray(values, dtype=float)
    lower = 0.0 if upper == 1.0 else -np.inf
    if vector.ndim != 1 or not ((vector >= lower) & (vector <= upper)).all():
        raise ParameterError(name, values, f"a vector of numbers in [{lower}, {upper}]")
    return vector
