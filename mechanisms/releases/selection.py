"""What mechanisms that choose one of several candidates have in common: exponential mechanism and noisy maximum."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpverify import Pair, Relation
from dpverify.base import require
from dpverify.base.rounding import float_up
from dpverify.errors import ParameterError, TargetError
from dpverify.ledger import Sensitivity
from mechanisms.toolbox import query_values as queries
from mechanisms.toolbox.query_values import FloatArray


@dataclass(frozen=True, kw_only=True)
class Selection(ABC):
    """A choice by scores: `eps`, and the `sensitivity` that states s, the largest movement of any single score.

    Raises ParameterError for eps outside (0, inf), s = 0 or more than one shift (each score is one number).
    """

    eps: float
    sensitivity: Sensitivity
    relation: Relation = Relation.REPLACE_ONE

    def __post_init__(self) -> None:
        require.own_numbers(self)
        require.positive(eps=self.eps)
        queries.checked_sensitivity(self.sensitivity, self.relation)
        score_movement(self.sensitivity, self.relation)

    @abstractmethod
    def log_law(self, data: Any) -> FloatArray:
        """log Pr[M(D) = i], shape (c,)."""

    def log_ratio(self, outputs: Any, pair: Pair) -> FloatArray:
        """Difference of `log_law` at the chosen candidates."""
        return selected(self.log_law(pair.first) - self.log_law(pair.second), outputs)


def scores(data: Any) -> FloatArray:
    """`data` as one non-empty vector of finite scores; ParameterError otherwise."""
    values = queries.reals(data)
    if values.ndim != 1 or not values.size:
        raise ParameterError("data", data, "one non-empty vector of scores")
    return values


def score_movement(sensitivity: Sensitivity, relation: Relation) -> float:
    """The s of a score: one positive number under `relation`."""
    shifts = sensitivity.under(relation)
    if len(shifts) != 1 or shifts[0].count != 1 or not shifts[0].size > 0:
        raise ParameterError(
            "sensitivity", sensitivity, "one shift of one number > 0: the movement of any single score"
        )
    return float_up(queries.l1(sensitivity, relation))


def selected(per_candidate: FloatArray, outputs: Any) -> FloatArray:
    """The entries at the chosen candidates; TargetError for an output that is no candidate."""
    picks = np.asarray(outputs)
    if picks.dtype.kind not in "iu" or picks.ndim != 1 or np.any((picks < 0) | (picks >= len(per_candidate))):
        raise TargetError(f"outputs must be candidates 0..{len(per_candidate) - 1}, shape (size,)")
    entries: FloatArray = per_candidate[picks]
    return entries
