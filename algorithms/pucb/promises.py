"""What PUCB and SDP-PE promise along a whole run, as `Promise`s that trials can break. A trial is a run.

PUCB (Vietri et al. 2020), Lemma 13; what it is for is `core.optimism`:
    counters_promise   with probability 1 - beta/4, after every user, in every cell:  |n~ - n| <= E, so for m, r
SDP-PE:
    assumption_promise   Assumption 4 in every batch of a run: all counts within E, pair counts never below the
                         truth; on every path counts > 0 and pair count = sum of next-state counts
    survival_promise     with probability 1 - failure_probability no optimal policy is eliminated, and with `sharp`
                         every policy that is left is at most two thresholds of the last stage worse than the best: with
                         estimates within half a threshold, a policy that is worse was eliminated. On every path
                         the number of switches between deployed mixtures is at most (H+2) B

The other fail events of Lemma 13 (the sampling errors of r and P) are not checked alone, only through optimism.
The users of a trial are her own: fresh tapes, so failure is over users and noise together.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.core.counting import CountSource, total_counts
from algorithms.core.environments import Environment
from algorithms.core.online import run_online
from algorithms.core.protocol import Served
from algorithms.core.users import Episodes, SideBySide, TapeUsers
from algorithms.pucb.learner import PUCB
from algorithms.sdp_pe.batches import Batches
from algorithms.sdp_pe.elimination import SDPPE, StagedRun
from algorithms.sdp_pe.policy_sets import ExplicitSet
from algorithms.tabular import all_policies, backward_induction, expected_return
from dpverify.errors import ParameterError
from dpverify.promises import Outcomes, Promise
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.privatizers.consistency import never_underestimating

Array = npt.NDArray[Any]
ROUNDING = 1e-9


def counters_promise(environment: Environment, learner: PUCB, source: CountSource, **options: Any) -> Promise:
    """All counters within `source.error` of the true counts after each of the R = T - 1 users that are fed."""

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        true, worst = np.zeros((size, source.layout.cells)), np.zeros(size)

        def compare(served: Served) -> None:
            if served.counts is not None:  # the last user is not fed
                true[...] += served.step.exact(served.episodes)
                np.maximum(worst, np.abs(served.counts - true).max(axis=1), out=worst)

        users = _users(environment, size, learner.episodes, rng)
        run_online(users, learner, source, runs=size, rng=rng, observe=compare)
        return Outcomes(errors=worst)

    return Promise(draw=draw, bound=source.error, failure_probability=learner.beta / 4, **options)


def run_assumption_promise(
    environment: Environment, learner: SDPPE, batches: Batches, *, failure_probability: float, **options: Any
) -> Promise:
    """Assumption 4 in all batches of a run; the error of a run is its largest count error over that batch's E.

    `failure_probability` is the whole run's: by a union bound the number of batches times that of one.
    Needs noise: E = 0 leaves nothing to post-process (ParameterError).
    """

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        watched = Assumption(batches, size)
        staged_run([environment], learner, watched, size, rng=rng)
        invariants = {"counts > 0": watched.positive, "pair count is the sum of next-state counts": watched.sums}
        return Outcomes(errors=watched.worst, failed=watched.below, invariants=invariants)

    return Promise(draw=draw, bound=1.0, failure_probability=failure_probability, **options)


def survival_promise(
    environment: Environment, learner: SDPPE, batches: Batches, *, sharp: bool = False, **options: Any
) -> Promise:
    """Every optimal policy is left at the end, hence was at every stage; error = best value - best value left.

    The failure probability is nine times the learner's delta (journal version, Lemmas 19 and 20). With B stages (H+2) B
    mixtures are deployed and, where users are left over, one more: at most (H+2) B switches either way.
    """
    model = environment.model
    best = backward_induction(model.transitions, model.rewards).values[0] @ model.initial
    most = (learner.layout.H + 2) * len(learner.plan)
    last = learner.plan[-1]
    # the theory's, whatever a planted learner has in its place
    threshold = SDPPE.gap(learner, last.length, batches.error(learner.layout, sum(last.fine)))
    every = expected_return(
        all_policies(learner.layout.H, learner.layout.S, learner.layout.A),
        model.transitions,
        model.rewards,
        model.initial,
    )
    if sharp and not 2 * threshold < best - every.min():
        raise ParameterError("episodes", learner.episodes, "so many that some policy is to be eliminated")

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        done, _ = staged_run([environment], learner, batches, size, rng=rng)
        phi = done.remaining
        assert isinstance(phi, ExplicitSet)
        values = expected_return(phi.policies, model.transitions, model.rewards, model.initial)
        left = np.where(phi.alive, values, -np.inf).max(axis=-1)
        lost = _anywhere(~phi.alive[:, values >= best - ROUNDING])
        lost |= sharp & _anywhere(phi.alive[:, values < best - 2 * threshold])
        switches = np.full(size, done.deployments - 1 <= most)
        eliminated: Array = np.asarray(
            (~phi.alive).any(axis=-1), dtype=np.float64
        )  # where nothing is, nothing can be lost
        invariants = {"N_switch <= (H+2) B": switches}
        return Outcomes(errors=np.maximum(best - left, 0.0), failed=lost, invariants=invariants, active=eliminated)

    return Promise(draw=draw, bound=ROUNDING, failure_probability=9 * learner.delta, **options)


def staged_run(
    environments: Sequence[Environment], learner: SDPPE, batches: Batches, size: int, *, rng: np.random.Generator
) -> tuple[StagedRun, list[Array]]:
    """`size` runs in each environment from the set of all deterministic policies, each with users of its own.

    The environments have one law of the first state. The places of each environment's runs come with the runs.
    """
    layout, initial, lead = learner.layout, environments[0].model.initial, (size * len(environments),)
    phi = ExplicitSet.full(all_policies(layout.H, layout.S, layout.A), initial, layout.A, lead)
    users = SideBySide(environments, size, learner.episodes, rng=rng)
    return learner.run(users, batches, phi, initial, rng=rng, lead=lead), users.where


def _users(environment: Environment, size: int, episodes: int, rng: np.random.Generator) -> TapeUsers:
    return TapeUsers(environment, rng.random((size, episodes, environment.tape_width)))


@dataclass(eq=False)
class Assumption:
    """`batches`, and what was seen of Assumption 4 in `size` runs; each field is (size,)."""

    batches: Batches
    size: int
    worst: Array = field(init=False)
    below: Array = field(init=False)
    positive: Array = field(init=False)
    sums: Array = field(init=False)

    def __post_init__(self) -> None:
        self.worst, self.below = np.zeros(self.size), np.zeros(self.size, dtype=bool)
        self.positive, self.sums = np.ones(self.size, dtype=bool), np.ones(self.size, dtype=bool)

    def error(self, layout: CountLayout, users: int) -> float:
        return self.batches.error(layout, users)

    def release(self, episodes: Episodes, layout: CountLayout, *, rng: np.random.Generator) -> Array:
        counts = self.batches.release(episodes, layout, rng=rng)
        self.compare(counts, total_counts(episodes, layout), self.error(layout, episodes.actions.shape[-2]), layout)
        return counts

    def compare(self, counts: Array, exact_counts: Array, bound: float, layout: CountLayout) -> None:
        """What post-processing at E = `bound` makes of released counts (size, cells), against the exact ones."""
        raw, true = layout.unpack(counts), layout.unpack(exact_counts)
        done = never_underestimating(raw.transitions, raw.visits, bound)
        gaps = [(done.pair_counts, true.visits), (done.next_counts, true.transitions)]
        if raw.rewards is not None and true.rewards is not None:
            gaps.append((raw.rewards, true.rewards))
        for found, exact in gaps:
            np.maximum(self.worst, np.abs(found - exact).reshape(self.size, -1).max(axis=1) / bound, out=self.worst)
        self.below |= _anywhere(done.pair_counts < true.visits)
        self.positive &= ~_anywhere(~(done.next_counts > 0))
        self.sums &= ~_anywhere(done.pair_counts != done.next_counts.sum(axis=-1))


def _anywhere(holds: Array) -> Array:
    return np.asarray(holds.reshape(len(holds), -1).any(axis=1))
