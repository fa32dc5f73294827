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
from dataclasses import replace

import numpy as np

from dpverify.base.errors import ParameterError, UsageError
from dpverify.evidence.multiple_testing import e_benjamini_hochberg, holm
from dpverify.verdicts.ladder import with_twins
from dpverify.verdicts.record import AuditRecord
from dpverify.verdicts.suite_result import SuiteResult
from dpverify.verdicts.verdict import Verdict

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
