"""Learners that plan from the pooled counts of finished batches: one policy a batch, no forgetting.

    batches of n = ceil(K / B) users;  total N := 0
    for m = 1..B:  pi_m := plan from N;  the users of batch m play pi_m;  N := N + released counts of the batch
    (nothing is released of the last one: nobody would read it)

Released counts are all that a plan is made from, so policies are post-processing. A user is in exactly one batch, by
the time of her arrival: parallel composition (McSherry 2009, Theorem 4).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from algorithms.batch_transcripts import RatedBatches
from algorithms.batches import Batches
from algorithms.counting import total_counts
from algorithms.deployment import Deployment, Mixture, Observe
from algorithms.transcripts import users_of
from algorithms.users import play, Users
from dpverify.accounting.ledger import Ledger
from dpverify.base.errors import ParameterError
from dpverify.claims.neighbours import Pair, Records
from mechanisms.datasets.visit_counts import CountLayout

Array = npt.NDArray[Any]


class PooledBatches(Batches, Protocol):
    """Batches whose noise adds up: `variance` of one counter's noise, a sum of centred bits, or 0."""

    def variance(self, layout: CountLayout, users: int) -> float:
        """Of one counter of a batch."""
        ...


class RatedPooledBatches(PooledBatches, RatedBatches, Protocol):
    """Those with an exact likelihood ratio and a ledger."""


class PooledRun(NamedTuple):
    """Policies (..., K, H, S) that were played, one a batch; number of `deployments`."""

    policies: npt.NDArray[np.int8]
    deployments: int


class PooledLearner(Protocol):
    """What plans from pooled counts."""

    @property
    def layout(self) -> CountLayout:
        """Sizes of the counted space."""
        ...

    @property
    def episodes(self) -> int:
        """K, the number of users."""
        ...

    @property
    def deployments(self) -> int:
        """B: at most so many batches."""
        ...

    def plan(self, counts: Array, batches: Any, pooled: int) -> npt.NDArray[np.int64]:
        """Policies (..., H, S) from the summed counts (..., cells) of `pooled` batches: a function of them."""
        ...


def batch_size(learner: PooledLearner) -> int:
    """Users n of every batch but perhaps the last."""
    return -(-learner.episodes // learner.deployments)


def sections(learner: PooledLearner) -> list[range]:
    """Users of every batch, in order; the last one's counts are not released."""
    size = batch_size(learner)
    return [range(i, min(i + size, learner.episodes)) for i in range(0, learner.episodes, size)]


def run_pooled(
    learner: PooledLearner,
    users: Users,
    batches: Batches,
    *,
    rng: np.random.Generator,
    lead: tuple[int, ...] = (),
    observe: Observe | None = None,
) -> PooledRun:
    """All users in order, in as many runs side by side as `lead` says."""
    if len(users) != learner.episodes:
        raise ParameterError("len(users)", len(users), f"{learner.episodes} users")
    field = Deployment(users, batches, learner.layout, lead, rng, observe)
    counts, parts = np.zeros((*lead, learner.layout.cells)), sections(learner)
    for pooled, who in enumerate(parts):
        policy = learner.plan(counts, batches, pooled)
        field.deploy(Mixture(policy[..., None, :, :]), len(who))
        if pooled + 1 < len(parts):
            counts = counts + field.release(len(who), learner.layout)
    return PooledRun(field.played, field.mixtures)


@dataclass(frozen=True, kw_only=True)
class PooledTranscript:
    """As an audit target: the raw counts of every released batch, (size, B - 1, cells); policies follow from them."""

    learner: PooledLearner
    batches: RatedPooledBatches
    name: str = "transcript"

    @property
    def ledger(self) -> Ledger:
        """Parallel composition over the batches."""
        learner = self.learner
        return self.batches.ledger([(learner.layout, len(who)) for who in sections(learner)[:-1]])

    def release(self, data: Records, *, rng: np.random.Generator, size: int) -> Array:
        """`size` full runs."""
        seen: list[Array] = []

        def keep(who: range, policies: Array, counts: Array) -> None:
            seen.append(counts)

        run_pooled(self.learner, users_of(data), self.batches, rng=rng, lead=(size,), observe=keep)
        return np.stack(seen, axis=1)

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """Exact: given the counts the policies are known, and only the replaced user's batch tells the worlds apart."""
        worlds, layout = [users_of(data) for data in pair], self.learner.layout
        total, counts = np.zeros(len(outputs)), np.zeros((len(outputs), layout.cells))
        for pooled, who in enumerate(sections(self.learner)[:-1]):
            policy = self.learner.plan(counts, self.batches, pooled)
            shape = (len(outputs), len(who), *policy.shape[-2:])
            policies = np.broadcast_to(policy[:, None], shape)
            first, second = (
                total_counts(play(users, np.asarray(who), policies, actions=layout.A), layout) for users in worlds
            )
            if (first != second).any():
                total += self.batches.log_ratio(outputs[:, pooled], first, second, layout, len(who))
            counts = counts + outputs[:, pooled]
        return total
