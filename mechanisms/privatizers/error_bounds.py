"""The papers' assumption on private counts, as promises that trials can check.

Assumption (DP-Nash-VI 3.1, SDP-PE 4): with probability >= 1 - beta, for all (h, s, a, s') at once,
  1  |N~(s,a,s') - N(s,a,s')| <= E,  |N~(s,a) - N(s,a)| <= E,  |R~(s,a) - R(s,a)| <= E
  2  N~(s,a) = sum over s' of N~(s,a,s')  and  N~(s,a) >= N(s,a)
  3  N~(s,a,s') > 0
Of these 2 (the sum) and 3 hold on every path by construction: they are invariants. The rest is statistical.

A bound that is too large keeps every promise and says nothing. `tightness_promise`: it is at most 4 times the
(1 - beta)-quantile of the error, for in more than a share beta of the trials the error exceeds a quarter of it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.errors import ParameterError
from dpverify.promises import Outcomes, Promise
from mechanisms.datasets.trajectories import Trajectories
from mechanisms.datasets.visit_counts import Counts, ExactCounts
from mechanisms.privatizers.consistency import consistent, never_underestimating, ProcessedCounts
from mechanisms.privatizers.protocol import BatchPrivatizer

Array = npt.NDArray[Any]

CERTIFIED_TRIALS = 20_000  # tells a failure rate of 0.05 from 0.06 with 95 % power


def raw_promise(privatizer: BatchPrivatizer, data: Trajectories, beta: float, **options: Any) -> Promise:
    """Every raw count is within `noise_bound(beta)` of the true one; `options` go to Promise."""
    exact = data.counts(rewards=privatizer.layout.rewards)

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        raw = privatizer.private_counts(data, rng=rng, size=size)
        return Outcomes(_largest_error(raw, exact))

    return _promise(privatizer, "raw counts", draw, privatizer.noise_bound(beta), beta, options)


def tightness_promise(
    errors: Callable[[np.random.Generator, int], Array], bound: float, beta: float, **options: Any
) -> Promise:
    """`errors(rng, size)` of the trials, `bound` at failure probability `beta`."""

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        return Outcomes(errors=np.where(errors(rng, size) > bound / 4, 0.0, 1.0))

    given = {"block": 256, **options}
    return Promise(draw=draw, bound=0.5, failure_probability=1 - beta, **given)


def tight_noise_bound(
    privatizer: BatchPrivatizer, data: Trajectories, beta: float, *, times: float = 1.0, **options: Any
) -> Promise:
    """`noise_bound(beta)`, of which E is a multiple, is at most 4 times the exact quantile. Break: `times` as large."""
    exact = data.counts(rewards=privatizer.layout.rewards)

    def errors(rng: np.random.Generator, size: int) -> Array:
        return _largest_error(privatizer.private_counts(data, rng=rng, size=size), exact)

    return tightness_promise(errors, times * privatizer.noise_bound(beta), beta, **options)


def assumption_promise(
    privatizer: BatchPrivatizer, data: Trajectories, beta: float, *, offline: bool = False, **options: Any
) -> Promise:
    """The whole assumption after post-processing with E = `error_bound(beta)`.

    `offline` takes the offline form: no shift, so only >= 0 instead of > 0, and no claim not to underestimate.
    Raises ParameterError without final states: then the last step has visits and no transitions, and the two
    cannot be consistent.
    """
    if data.final_states is None:
        raise ParameterError("data.final_states", None, "present: every visit needs its transition")
    exact, bound = data.counts(rewards=privatizer.layout.rewards), privatizer.error_bound(beta)
    process: Callable[..., ProcessedCounts] = consistent if offline else never_underestimating

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        raw = privatizer.private_counts(data, rng=rng, size=size)
        done = process(raw.transitions, raw.visits, bound)
        errors = _largest_error(Counts(done.pair_counts, done.next_counts, raw.rewards), exact)
        sums = _everywhere(done.pair_counts == done.next_counts.sum(axis=-1))
        if offline:
            return Outcomes(
                errors,
                invariants={
                    "pair count is the sum of next-state counts": sums,
                    "counts >= 0": _everywhere(done.next_counts >= 0),
                },
            )
        return Outcomes(
            errors,
            failed=~_everywhere(done.pair_counts >= exact.visits),
            invariants={
                "pair count is the sum of next-state counts": sums,
                "counts > 0": _everywhere(done.next_counts > 0),
            },
        )

    return _promise(privatizer, "assumption on counts", draw, bound, beta, options)


def promises_of(
    privatizer: BatchPrivatizer, data: Trajectories, beta: float, *, offline: bool = False
) -> list[Promise]:
    """Both promises, the second where the data have the transitions that it is about."""
    raw = raw_promise(privatizer, data, beta, trials=CERTIFIED_TRIALS)
    if data.final_states is None:
        return [raw]
    return [raw, assumption_promise(privatizer, data, beta, offline=offline, trials=CERTIFIED_TRIALS)]


def _promise(
    privatizer: BatchPrivatizer, what: str, draw: Callable[..., Outcomes], bound: float, beta: float, options: Any
) -> Promise:
    settings = {
        "name": f"{type(privatizer).__name__}: {what}",
        "block": max(1, 4_000_000 // privatizer.layout.cells),  # 32 MB an array
        **options,
    }
    return Promise(draw=draw, bound=bound, failure_probability=beta, **settings)


def _largest_error(counts: Counts, exact: ExactCounts) -> Array:
    """(trials,) largest deviation over all counts."""
    parts = [(counts.visits, exact.visits), (counts.transitions, exact.transitions)]
    if counts.rewards is not None and exact.rewards is not None:
        parts.append((counts.rewards, exact.rewards))
    return np.asarray(
        np.maximum.reduce([np.abs(noisy - true).reshape(len(noisy), -1).max(axis=1) for noisy, true in parts])
    )


def _everywhere(holds: Array) -> Array:
    return np.asarray(holds.reshape(len(holds), -1).all(axis=1))
