"""Calls that are made more than once, and whether they gave the same."""

import numpy as np

from dpverify.base.seeding import Stage, stream
from dpverify.trials.collect import Experiment
from dpverify.trials.failing import one_call
from dpverify.trials.outcomes import Outcomes

CALLS = 100  # keys of the sentinel's streams: away from that of the form
SAME = 1e-9  # differences of this share of the largest number are rounding (threaded sums)
Seen = Outcomes | str  # what a call gave, or the name of what it raised


def call(experiment: Experiment, arm: int, key: int, size: int) -> Seen:
    """`size` releases of the target in one call, from the stream that the key names."""
    rng = stream(experiment.seed, Stage.SHAPE, CALLS + key, arm)
    seen = one_call(experiment.target, experiment.pair[arm], experiment.form, rng, size, experiment.answers)
    # a copy: the target may use its buffer again
    return seen if isinstance(seen, str) else Outcomes(np.array(seen.values), seen.failures)


def alike(one: Seen, other: Seen) -> bool:
    """Equal but for rounding; two calls that raised are alike where the names are."""
    if isinstance(one, str) or isinstance(other, str):
        return isinstance(one, str) and isinstance(other, str) and one == other
    if one.values.dtype.kind != "f" or _names(one) != _names(other):
        return keys(one) == keys(other)
    a, b = one.rows.astype(float), other.rows.astype(float)
    with np.errstate(invalid="ignore"):  # inf - inf
        near = SAME * np.abs(np.where(np.isfinite(a), a, 0.0)).max(axis=0, initial=0.0)
        alike = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= near)
    return bool(alike.all())


def _names(outcomes: Outcomes) -> list[str]:
    return [] if outcomes.failures is None else outcomes.failures.tolist()


def keys(outcomes: Outcomes) -> list[bytes]:
    """One for each outcome, equal where they are."""
    rows, names = np.ascontiguousarray(outcomes.rows), outcomes.failures
    return [row.tobytes() if names is None else row.tobytes() + str(names[i]).encode() for i, row in enumerate(rows)]
