"""How far from best the policies of DP-APVI and DP-VAPVI are (Qiao, Wang 2023), as `Promise`s. A trial is one dataset.

d = occupancy of the behaviour policy, d* of the best policy, m the least d > 0, C the cells with d > 0, V* the values:

    apvi_bound    Theorem 3.4 with the constants of its proof, (31) with (35) for the spread of V~, in each cell of C:
                      d* [4 sqrt(2 iota/(n d)) s + 256 S H E iota/(3 n d)]
                      s = sqrt(Var_P V*) + 9 sqrt(iota/(n m)) H^2 + (256/3) S H^2 E iota/(n m) + 4 H sqrt(S E/(n m))
                  where the text that was read has lost constants (of the last two of s), these are ours
    vapvi_bound   Theorem 4.1, second part, in each step: 4 C sqrt d E_{pi*} |phi|_{Lambda*^-1} + 2 D/K, with the 2 of
                  Lemma D.3 and that of Lemma D.18, C as the learner's and D the learner's, that of `extra_pessimism`

Conditions of Theorem 3.4 in numbers: n m >= iota H^2 and n m >= 8 E (Remark C.8); where they fail there is no bound
(ParameterError). Those of Theorem 4.1 have unknown
constants: the audit has K above H^12 d^3/kappa^5, its largest. A bound is active below what the worst policy loses.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.offline.apvi import DPAPVI
from algorithms.offline.pessimism_promises import batch_counts, halves_of
from algorithms.offline.vapvi import VAPVI
from algorithms.pucb.regret_promises import regret_promise
from algorithms.tabular import backward_induction, Model, occupancy
from dpverify.errors import ParameterError
from dpverify.promises import Promise
from mechanisms.datasets.visit_counts import PrivateCounts
from mechanisms.privatizers.offline_tabular import OfflineTabularGaussian

Array = npt.NDArray[Any]


def apvi_best_promise(model: Model, learner: DPAPVI, policy: Array, users: int, **options: Any) -> Promise:
    """v* - v^pi of the policy from `users` users of `policy` and the learner's own noise is at most `apvi_bound`."""
    privatizer, counts = learner.privatizer, batch_counts(model, policy, users)
    if not isinstance(privatizer, OfflineTabularGaussian):
        raise ParameterError("learner.privatizer", privatizer, "Gaussian noise")

    def play(rng: np.random.Generator, size: int) -> Array:
        exact = counts(rng, size)
        families = (exact.visits, exact.transitions)
        noisy = (each + rng.normal(scale=privatizer.sigma, size=each.shape) for each in families)
        return learner.plan(PrivateCounts(*(np.maximum(each, 0.0) for each in noisy)))[None]

    bound = apvi_bound(model, policy, users, error=learner.planner.error, iota=learner.planner.log_term)
    return regret_promise(model, 1, play, bound, failure_probability=4 * learner.delta, **options)


def vapvi_best_promise(
    model: Model, learner: VAPVI, policy: Array, users: int, *, told: Model | None = None, **options: Any
) -> Promise:
    """v* - v^pi of the policy from two batches of `users` users, of `told` instead of `model`, is at most the bound."""
    bound = vapvi_bound(model, learner, policy, users)
    return halves_promise(model, learner, policy, users, bound, told=told, failure_probability=learner.delta, **options)


def halves_promise(
    model: Model, learner: Any, policy: Array, users: int, bound: float, *, told: Model | None = None, **options: Any
) -> Promise:
    """v* - v^pi of what `learner` learns from two batches, of `told` instead of `model`, is at most `bound`."""
    source = model if told is None else told

    def play(rng: np.random.Generator, size: int) -> Array:
        found: Array = learner.learn(halves_of(source, policy, users, size, rng=rng), rng=rng, size=size).policy
        return found[None]

    return regret_promise(model, 1, play, bound, **options)


def apvi_bound(model: Model, policy: Array, users: int, *, error: float, iota: float) -> float:
    """Theorem 3.4; see the module."""
    horizon, states = model.horizon, model.states
    seen, best, spread = _theory(model, policy)
    rare = users * float(seen[seen > 0].min())
    if not rare >= max(iota * horizon**2, 8 * error):
        raise ParameterError("users", users, f"enough for {max(iota * horizon**2, 8 * error):.3g} visits of a cell")
    deviation = (
        np.sqrt(spread) + 9 * math.sqrt(iota / rare) * horizon**2 + 4 * horizon * math.sqrt(states * error / rare)
    )
    deviation += 256 / 3 * states * horizon**2 * error * iota / rare
    visits = np.where(seen > 0, users * seen, 1.0)
    lost = 4 * np.sqrt(2 * iota / visits) * deviation + 256 * states * horizon * error * iota / (3 * visits)
    return float((np.where(seen > 0, best, 0.0) * lost).sum())


def vapvi_bound(model: Model, learner: VAPVI, policy: Array, users: int) -> float:
    """Theorem 4.1 with C sqrt d = `learner.penalty` and D = `learner.penalty_over_k`; see the module."""
    seen, best, spread = _theory(model, policy)
    features = learner.features
    lost = 2 * model.horizon * learner.penalty_over_k / users
    for h in range(model.horizon):
        weights = users * seen[h] / (np.maximum(spread[h], 1.0) if learner.weighted else 1.0)
        gram = np.einsum("sa,sai,saj->ij", weights, features, features) + learner.ridge * np.eye(features.shape[2])
        lengths = np.sqrt(np.einsum("sai,ij,saj->sa", features, np.linalg.inv(gram), features))
        lost += 4 * learner.penalty * float((best[h] * lengths).sum())
    return lost


def _theory(model: Model, policy: Array) -> tuple[Array, Array, Array]:
    """(d, d*, Var_P V*), each (H, S, A)."""
    best = backward_induction(model.transitions, model.rewards)
    following = best.values[1:, None, None, :]
    mean = (model.transitions * following).sum(axis=-1, keepdims=True)
    spread = (model.transitions * (following - mean) ** 2).sum(axis=-1)
    seen, wanted = (occupancy(each, model.transitions, model.initial) for each in (policy, best.policy))
    return seen, wanted, spread
