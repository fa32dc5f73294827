"""Features of numeric outputs for a linear score: what a log-likelihood ratio is usually made of.

For every coordinate: its rank among the selection trials (bounded, insensitive to the scale of the noise),
its standardised value clipped to the bulk, and markers for NaN, +inf and -inf. For vectors also the sums
over coordinates of rank, sign and clipped value: noise is often shared out over exchangeable coordinates,
and three shared weights are learned from far fewer trials than three weights a coordinate.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpverify.evidence.scores.score import FloatArray
from dpverify.trials.outcomes import Outcomes

KNOTS = 1024  # resolution of the empirical distribution function
CLIP = 0.005  # share of selection trials beyond the clipped bulk on each side, where there are few
CLIPPED = 20  # about so many trials lie beyond it where there are many: rare events live in the tails


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """Frozen transformation (size, ...) -> (size, features), fitted on selection trials without their bits."""

    knots: FloatArray  # (coordinates, knots), sorted
    centre: FloatArray  # (coordinates,)
    spread: FloatArray
    low: FloatArray
    high: FloatArray
    marked: bool = False  # some selection trial was NaN or infinite
    shared_only: bool = False
    bends: FloatArray | None = None  # ranks at which a piecewise linear score may bend
    increments: bool = False  # differences along the first axis of an output instead of its values

    @classmethod
    def fit(
        cls,
        outcomes: Outcomes,
        *,
        shared_only: bool = False,
        bends: FloatArray | None = None,
        increments: bool = False,
    ) -> "FeatureMap":
        """Quantiles, centre and spread of every coordinate; coordinates without variation map to 0."""
        flat = _numbers(outcomes, increments)
        finite = np.where(np.isfinite(flat), flat, np.nan)
        empty = np.isnan(finite).all(axis=0)
        finite[:, empty] = 0.0
        levels = np.linspace(0, 1, min(KNOTS, max(2, len(flat))))
        knots = np.nanquantile(finite, levels, axis=0).T
        clip = CLIP if len(flat) < 10_000 else max(CLIPPED / len(flat), 1e-4)
        low, centre, high = np.nanquantile(finite, [clip, 0.5, 1 - clip], axis=0)
        spread = np.where(high > low, (high - low) / 2, 1.0)
        marked = not bool(np.isfinite(flat).all())
        return cls(knots, centre, spread, low, high, marked, shared_only, bends, increments)

    def __call__(self, outcomes: Outcomes) -> FloatArray:
        flat = _numbers(outcomes, self.increments)
        value = np.where(np.isfinite(flat), flat, self.centre)
        rank = np.stack([_rank(knots, column) for knots, column in zip(self.knots, value.T, strict=True)], axis=1)
        clipped = (np.clip(value, self.low, self.high) - self.centre) / self.spread
        parts = [] if self.shared_only else [rank, clipped]
        if self.marked:
            parts += [mark(flat).astype(float) for mark in (np.isnan, np.isposinf, np.isneginf)]
        if self.bends is not None:
            parts += [np.maximum(rank - bend, 0.0) for bend in self.bends]
        if flat.shape[1] > 1:
            sums = [part.sum(axis=1, keepdims=True) for part in (rank, np.sign(rank), clipped)]
            parts += [total / np.sqrt(flat.shape[1]) for total in sums]
        return np.concatenate(parts, axis=1)


def _rank(knots: FloatArray, column: FloatArray) -> FloatArray:
    """Middle of the empirical distribution function at each value, in [-1/2, 1/2]."""
    left = np.searchsorted(knots, column, side="left")
    right = np.searchsorted(knots, column, side="right")
    return (left + right) / (2 * len(knots)) - 0.5


def _numbers(outcomes: Outcomes, increments: bool) -> FloatArray:
    values = outcomes.values.astype(float)
    if increments and values.ndim > 1:  # running sums hide fresh noise in every later value
        with np.errstate(invalid="ignore"):  # inf - inf is a NaN, which is a symbol
            values = np.diff(values, axis=1, prepend=0.0)
    flat: npt.NDArray[np.float64] = values.reshape(len(outcomes), -1)
    return flat
