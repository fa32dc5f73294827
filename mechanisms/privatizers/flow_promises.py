"""What `FlowConsistent` promises, as promises that trials can check.

On every path: transitions >= 0, what leaves a state is what came into it, n users in the first step. Where the exact
counts satisfy all constraints, also on every path, up to ACCURACY of n:

    loss "chebyshev"   the largest error is at most twice that of the noisy counts
    loss "l2"          the l2 distance to the exact counts is at most that of the noisy counts

These are invariants. With w = `noise_bound(beta)` they give the statistical part, with probability >= 1 - beta: errors
are at most 2w, and the l2 distance of M counts is at most sqrt(M) w.
"""

import math
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dpverify.errors import ParameterError
from dpverify.promises import Outcomes, Promise
from mechanisms.datasets.trajectories import Trajectories
from mechanisms.datasets.visit_counts import CountLayout, Counts, ExactCounts, PrivateCounts
from mechanisms.privatizers.flow import ACCURACY
from mechanisms.privatizers.protocol import BatchPrivatizer

Array = npt.NDArray[Any]

REACH = 10  # times ACCURACY: the second step of "chebyshev" may use a little more than the first one found


class Flow(Protocol):
    """A `FlowConsistent`, or what an audit puts in its place."""

    @property
    def loss(self) -> str:
        """Is "l2" or "chebyshev"."""
        ...

    def solve(self, counts: PrivateCounts) -> PrivateCounts:
        """Counts made consistent."""
        ...


def flow_promise(
    privatizer: BatchPrivatizer, flow: Flow, data: Trajectories, beta: float, *, name: str, **options: Any
) -> Promise:
    """The promise of `flow` on the counts of `privatizer`; `options` go to Promise.

    ParameterError without final states: then the exact counts of the last step do not satisfy the constraints.
    """
    if data.final_states is None:
        raise ParameterError("data.final_states", None, "present: every visit needs its transition")
    exact, within, size = data.counts(), privatizer.noise_bound(beta), privatizer.layout
    slack, spread = REACH * ACCURACY * len(data), flow.loss == "chebyshev"
    measure, times = (_find_largest_error, 2.0) if spread else (_find_distance, 1.0)
    what = "errors at most twice those of the noisy counts" if spread else "no farther than the noisy counts"

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        raw = privatizer.private_counts(data, rng=rng, size=size)
        done = flow.solve(raw)
        before, after = measure(raw, exact), measure(done, exact)
        missed = find_missed_flow(done, privatizer.layout, len(data))
        return Outcomes(
            after,
            invariants={
                "counts >= 0": np.asarray(done.transitions.reshape(size, -1).min(axis=1) >= 0),
                "flow and total": missed <= slack,
                what: after <= times * before + slack,
            },
        )

    bound = 2 * within if spread else math.sqrt(size.tuples * (1 + size.S)) * within
    return Promise(name=name, draw=draw, bound=bound, failure_probability=beta, **options)


def find_missed_flow(counts: Counts, layout: CountLayout, users: int) -> Array:
    """By how much counts (trials, ...) miss the flow, the total, or their own sums: (trials,)."""
    x = counts.transitions.reshape(-1, layout.H, layout.S, layout.choices, layout.S)
    visits = counts.visits.reshape(x.shape[:-1])
    gaps = [
        visits - x.sum(axis=-1),
        x[:, :-1].sum(axis=(2, 3)) - x[:, 1:].sum(axis=(3, 4)),
        x[:, :1].sum(axis=(2, 3, 4)) - users,
    ]
    return np.asarray(np.max([np.abs(each).reshape(len(x), -1).max(axis=1, initial=0.0) for each in gaps], axis=0))


def _find_largest_error(counts: Counts, exact: ExactCounts) -> Array:
    return np.asarray(np.abs(_find_deviations(counts, exact)).max(axis=1))


def _find_distance(counts: Counts, exact: ExactCounts) -> Array:
    return np.asarray(np.sqrt((_find_deviations(counts, exact) ** 2).sum(axis=1)))


def _find_deviations(counts: Counts, exact: ExactCounts) -> Array:
    """(trials, cells) of visits and transitions."""
    parts = [(counts.visits, exact.visits), (counts.transitions, exact.transitions)]
    return np.concatenate([(noisy - true).reshape(len(noisy), -1) for noisy, true in parts], axis=1)
