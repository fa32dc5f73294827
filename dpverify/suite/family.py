"""The verdicts of a suite taken together: which claims fall when the error of the whole family is limited.

    bonferroni   a claim falls where its own bound, at an equal share of the significance, exceeds it: all bounds
                 of the suite hold at once. What a suite does by itself.
    holm         further claims fall, in the order of their p-values, each passing its share on to the rest. The
                 probability that any claim is refuted wrongly stays <= the family-wise error. Refutes whatever
                 bonferroni does.
    e-bh         sequential suites: further claims fall by their e-values. The expected share of wrong refutations
                 among the refuted claims stays <= the family-wise error: a weaker statement.

All three hold however the audits depend on each other. Choose one before looking at results. Bounds stay
what they are, at their own share: only verdicts change. A subject with several pairs is one claim whose weight is
the number of its pairs; promises and failed subjects keep their weight and pass nothing on.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from dpverify.auditing.ladder import with_twins
from dpverify.auditing.record import AuditRecord
from dpverify.auditing.verdict import Verdict
from dpverify.base import require
from dpverify.errors import ParameterError, UsageError
from dpverify.suite.result import SuiteResult

# ----------------------------------------------------------------------------------------------------------------------
# Several claims in one suite: which of them fall when the error of the whole family is limited.


_TINY = 1e-250  # a p-value below is judged by its logarithm
BoolArray = npt.NDArray[np.bool_]


def holm(
    p_values: Sequence[float] | npt.NDArray[np.float64],
    significance: float,
    *,
    log10_p_values: Sequence[float] | npt.NDArray[np.float64] | None = None,
    weights: Sequence[int] | npt.NDArray[np.int64] | None = None,
    reserved: int = 0,
) -> BoolArray:
    """Which hypotheses Holm's step-down rejects; shape of `p_values`, a vector.

    Pr[any true hypothesis is rejected] <= significance, whatever the dependence (Holm 1979).
    The smallest p/weight is compared with significance/(weight that is left) until one fails; a rejected one's
    weight is passed on. `weights` are 1 by default. `reserved` is the weight of hypotheses that are decided
    elsewhere, each at significance * weight/(total weight): they are part of the family, and never passed on.
    `log10_p_values` decide where p-values are below 1e-250: their order, and whether they fail.
    """
    require.open_unit(significance=significance)
    require.integer(at_least=0, reserved=reserved)
    p = _vector("p_values", p_values, upper=1.0)
    share = np.ones(p.size, np.int64) if weights is None else np.asarray(weights)
    if share.shape != p.shape or not (share >= 1).all():
        raise ParameterError("weights", weights, f"{p.size} whole numbers >= 1")
    with np.errstate(divide="ignore"):
        logs = np.log10(p) if log10_p_values is None else _vector("log10_p_values", log10_p_values, upper=0.0)
    if logs.shape != p.shape:
        raise ParameterError("log10_p_values", log10_p_values, f"{p.size} logarithms")
    tiny = p < _TINY
    order = np.lexsort((logs - np.log10(share), np.where(tiny, 0.0, p) / share))
    left = reserved + np.cumsum(share[order][::-1])[::-1]
    # products and no quotients, so that equality is decided by the p-value's own rounding
    fails = p[order] * left > significance * share[order]
    deep = logs[order] + np.log10(left) > math.log10(significance) + np.log10(share[order])
    fails = np.where(tiny[order], deep, fails)
    rejected = np.zeros(p.size, dtype=bool)
    rejected[order[: int(np.argmax(fails)) if fails.any() else p.size]] = True
    return rejected


def e_benjamini_hochberg(
    log_wealth: Sequence[float] | npt.NDArray[np.float64], rate: float, *, count: int | None = None
) -> BoolArray:
    """Which hypotheses e-BH rejects, from log e-values; shape of `log_wealth`, a vector.

    E[share of true hypotheses among the rejected] <= rate, whatever the dependence (Wang, Ramdas 2022,
    Theorem 5.1): the largest k is rejected for which the k largest e-values are all >= count/(rate k).
    `count` is the number of hypotheses by default. Their weighted form (ibid.): e-values may have means
    other than 1 under their hypotheses, if these means add up to at most `count`.
    Take wealth at a stopping time, not its running maximum: the latter is no e-value.
    """
    require.open_unit(rate=rate)
    e = _vector("log_wealth", log_wealth, upper=np.inf)
    order = np.argsort(-e, kind="stable")
    total = e.size if count is None else count
    require.integer(at_least=e.size, count=total)
    if e.size == 0:
        return np.zeros(0, dtype=bool)
    enough = e[order] >= np.log(total / rate) - np.log(np.arange(1, e.size + 1))
    rejected = np.zeros(e.size, dtype=bool)
    rejected[order[: int(np.flatnonzero(enough)[-1]) + 1 if enough.any() else 0]] = True
    return rejected


def _vector(name: str, values: Sequence[float] | npt.NDArray[np.float64], upper: float) -> npt.NDArray[np.float64]:
    """At least -inf (0 for p-values, whose `upper` is 1) and at most `upper`; NaN fails."""
    vector = np.asarray(values, dtype=float)
    lower = 0.0 if upper == 1.0 else -np.inf
    if vector.ndim != 1 or not ((vector >= lower) & (vector <= upper)).all():
        raise ParameterError(name, values, f"a vector of numbers in [{lower}, {upper}]")
    return vector


# ----------------------------------------------------------------------------------------------------------------------
# The verdicts of a suite taken together: which claims fall when the error of the whole family is limited.


BONFERRONI, HOLM, E_BH = "bonferroni", "holm", "e-bh"
FAMILIES = (BONFERRONI, HOLM, E_BH)


def judged_together(result: SuiteResult, family: str) -> SuiteResult:
    """The suite with the verdicts of the family procedure; its bounds, promises and failures unchanged.

    ParameterError for an unknown procedure, UsageError where a record lacks what it needs.
    """
    if family not in FAMILIES:
        raise ParameterError("family", family, "one of " + ", ".join(FAMILIES))
    if family == BONFERRONI or not result.records:
        return replace(result, family=family)
    wanted = "p_value" if family == HOLM else "e_value"
    without = [record.subject for record in result.records if getattr(record, wanted) is None]
    if without:
        needed = "--sequential" if family == E_BH else "records written by this version"
        raise UsageError(f"family {family!r}: {without[0]} has no {wanted.replace('_', '-')}; needs {needed}")
    fallen = (_holm if family == HOLM else _e_bh)(result)
    records = tuple(
        _refuted(record, family, result.family_wise_error) if falls and record.verdict != Verdict.REFUTED else record
        for record, falls in zip(result.records, fallen, strict=True)
    )
    return replace(result, records=with_twins(records), family=family)


def _holm(result: SuiteResult) -> list[bool]:
    p_values = [record.p_value for record in result.records if record.p_value is not None]
    logs = [_log10(record) for record in result.records]
    weights = [record.pairs for record in result.records]
    rejected: list[bool] = holm(
        p_values,
        result.family_wise_error,
        log10_p_values=logs,
        weights=weights,
        reserved=_statements(result) - sum(weights),
    ).tolist()
    return rejected


def _log10(record: AuditRecord) -> float:
    """The logarithm of a record's p-value; files of older versions have the p-value alone, which may read 0."""
    if record.log10_p_value is not None:
        return record.log10_p_value
    return math.log10(record.p_value) if record.p_value else -math.inf


def _e_bh(result: SuiteResult) -> list[bool]:
    # the sum of a claim's e-values has mean <= its number of pairs: these add up to at most all statements
    with np.errstate(divide="ignore"):
        logs = np.log([record.pairs * (record.e_value or 0.0) for record in result.records])
    rejected: list[bool] = e_benjamini_hochberg(logs, result.family_wise_error, count=_statements(result)).tolist()
    return rejected


def _statements(result: SuiteResult) -> int:
    """Pairs and promises among which the suite shared its significance, failed ones included."""
    return round(result.family_wise_error / result.records[0].significance)


def _refuted(record: AuditRecord, family: str, level: float) -> AuditRecord:
    evidence = f"p = {record.p_text}" if family == HOLM else f"e = {record.e_value:.4g}"
    error = "family-wise error" if family == HOLM else "false discovery rate"
    note = f"refuted by {family} over the whole suite ({evidence}, {error} {level:g}); its own bound alone does not"
    return replace(record, verdict=Verdict.REFUTED, refuted_by=family, notes=(*record.notes, note))
