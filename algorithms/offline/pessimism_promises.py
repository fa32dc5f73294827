"""Pessimism of DP-APVI and DP-VAPVI (Qiao, Wang 2023), as `Promise`s that trials can break. A trial is one plan.

    values    V~_h(s) <= V^pi_h(s) for the plan's own policy, every h and s
    backups   Q_h(s,a) <= r_h(s,a) + (P_h V~_{h+1})(s,a), every h, s and a: xi >= 0 of Lemma C.10, from which the
              first follows (Lemma C.9)

    sharpness V* - V~ <= `sharp` at the start, where a promise is given it: the suboptimality bound of the same
              theorem, whose proof bounds V* - V~. V~ = 0 is always pessimistic and never sharp

A bound is active where it can fail: the pessimistic value is above 0, as rewards are not negative, and the true one is
below the steps that are left, as no value exceeds them.

    apvi_promise   from counts: `dense_counts` (as many visits in every cell, noise of +-E/2, the largest that E allows
                   before post-processing) or those of a batch of users
    vapvi_promise  from a batch of users and Gaussian noise

The proof of Lemma C.6 takes V~_{h+1} and P^_h for conditionally independent (atlas, N2). They are not: where more
users arrive, the penalty of step h + 1 is smaller and P^_h larger. `fan` is where it shows, with exact counts and a
penalty of ours, c H iota/n for the 16 S H E iota/n of Lemma C.10, which is about E > 0: V~_2(s') is 1 - c H iota/n(s'),
and sum (P^ - P) V~_2 is about (c H iota/n) S/n(s'), more than the penalty from S a little above n(s') on. Of the lemma
itself this says nothing.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from algorithms.offline.apvi import APVI
from algorithms.offline.data import sample_counts
from algorithms.offline.vapvi import Halves, LinearPlan, VAPVI
from algorithms.tabular import backward_induction, evaluate, Model, Plan
from algorithms.tabular.planning import backup
from dpverify.base import require
from dpverify.errors import ParameterError
from dpverify.promises import Outcomes, Promise
from mechanisms.datasets.visit_counts import ExactCounts, PrivateCounts
from mechanisms.privatizers.linear_noise import LinearNoise

Array = npt.NDArray[Any]
Counts = Callable[[np.random.Generator, int], PrivateCounts]
ROUNDING = 1e-9


def apvi_promise(
    model: Model,
    planner: APVI,
    counts: Counts,
    *,
    what: Literal["values", "backups"] = "values",
    sharp: float | None = None,
    **options: Any,
) -> Promise:
    """The error of a trial is the largest amount by which a bound was missed; failure probability = `planner.delta`."""

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        plan = planner.plan(counts(rng, size))
        if what == "values":
            return pessimistic_values(plan, model, sharp)
        return pessimism(plan.q, backup(model.transitions, model.rewards, plan.values[:, 1:]))

    return Promise(draw=draw, bound=ROUNDING, **{"failure_probability": planner.delta, **options})


def vapvi_promise(
    model: Model,
    learner: VAPVI,
    policy: Array,
    users: int,
    *,
    played: Any = None,
    sharp: float | None = None,
    **options: Any,
) -> Promise:
    """V~ <= V^pi from two fresh batches of `users` users of `policy` (H, S, A); rewards are their means.

    `played` runs instead of `learner`: a planted bug.
    """
    require_halves(learner)
    runs = learner if played is None else played

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        plan = runs.learn(halves_of(model, policy, users, size, rng=rng), rng=rng, size=size)
        return pessimistic_values(plan, model, sharp)

    return Promise(draw=draw, bound=ROUNDING, **{"failure_probability": learner.delta, **options})


def halves_of(model: Model, policy: Array, users: int, size: int, *, rng: np.random.Generator) -> Halves:
    """`size` times two fresh batches of `users` users."""
    require.integer(at_least=1, users=users)
    first, second = (_stacked([sample_counts(model, policy, users, rng=rng) for _ in range(size)]) for _ in range(2))
    return Halves(first, second, users)


def require_halves(learner: VAPVI) -> None:
    """Theorem 4.1 has two independent halves: ParameterError where the learner uses everybody twice."""
    if not learner.split:
        raise ParameterError("learner.split", False, "True: Theorem 4.1 is about two independent halves")


def pessimistic_values(plan: Plan | LinearPlan, model: Model, sharp: float | None) -> Outcomes:
    """By how much a value is above that of the plan's policy, or at the start further than `sharp` below the best."""
    found = pessimism(plan.values[:, :-1], evaluate(plan.policy, model.transitions, model.rewards)[:, :-1])
    if sharp is None:
        return found
    best = backward_induction(model.transitions, model.rewards).values[0] @ model.initial
    return replace(found, errors=np.maximum(found.errors, best - plan.values[:, 0] @ model.initial - sharp))


def pessimism(pessimistic: Array, truth: Array) -> Outcomes:
    """Both (size, H, ...): by how much a value is too high at most, and which bounds can fail."""
    trials, horizon = truth.shape[:2]
    left = np.arange(horizon, 0, -1.0).reshape(-1, *[1] * (truth.ndim - 2))
    active = (pessimistic > ROUNDING) & (truth < left - ROUNDING)
    return Outcomes(
        errors=np.maximum((pessimistic - truth).reshape(trials, -1).max(axis=1), 0.0),
        active=active.reshape(trials, -1).mean(axis=1),
    )


def extra_pessimism(noise: LinearNoise, kappa: float, delta: float) -> float:
    """D = H^2 L/kappa + H^4 E sqrt d/kappa^1.5 + H^3 sqrt d of Theorem 4.1, with 1 for what O~ hides.

    L and E are the bounds of Lemma D.2, at delta/(5H) for each of the 5H draws: |phi_3| <= L and |W + shift I| <= E
    with the learner's shift, the bound on |W| of its 2H draws together.
    """
    share, horizon, root = delta / (5 * noise.H), noise.H, math.sqrt(noise.d)
    length = noise.vector_sigmas[2] * (root + math.sqrt(2 * math.log(1 / share)))
    gram = noise.gram_operator_bound(share) + noise.gram_operator_bound(delta / (2 * horizon))
    return float(horizon**2 * length / kappa + horizon**4 * gram * root / kappa**1.5 + horizon**3 * root)


def fan(states: int) -> Model:
    """H = 2, one action: everybody starts in state 0 and goes anywhere alike; the second step pays 1."""
    rewards, initial = np.zeros((2, states, 1)), np.zeros(states)
    rewards[1], initial[0] = 1.0, 1.0
    return Model(np.full((2, states, 1, states), 1 / states), rewards, initial)


def dense_counts(model: Model, visits: int, error: float) -> Counts:
    """`visits` of every cell, next states drawn from the model's law, +-`error`/2 on every count."""
    law = model.transitions / model.transitions.sum(axis=-1, keepdims=True)

    def counts(rng: np.random.Generator, size: int) -> PrivateCounts:
        onward = rng.multinomial(visits, law, size=(size, *law.shape[:-1])).astype(np.float64)
        exact = (np.full(onward.shape[:-1], float(visits)), onward)
        return PrivateCounts(*(each + error / 2 * (2 * rng.integers(2, size=each.shape) - 1) for each in exact))

    return counts


def batch_counts(model: Model, policy: Array, users: int) -> Counts:
    """Exact counts of `users` fresh users of `policy`."""
    require.integer(at_least=1, users=users)

    def counts(rng: np.random.Generator, size: int) -> PrivateCounts:
        drawn = _stacked([sample_counts(model, policy, users, rng=rng) for _ in range(size)])
        return PrivateCounts(drawn.visits, drawn.transitions)

    return counts


def _stacked(each: list[ExactCounts]) -> ExactCounts:
    rewards = [counts.rewards for counts in each if counts.rewards is not None]
    parts = [counts.visits for counts in each], [counts.transitions for counts in each], rewards
    return ExactCounts(*(np.concatenate(part) for part in parts))
