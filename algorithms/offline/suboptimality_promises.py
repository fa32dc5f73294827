"""How far from best the policies of DP-APVI and DP-VAPVI are (Qiao, Wang 2023), as `Promise`s. A trial is one dataset.

d = occupancy of the behaviour policy, d* of a best policy that it covers, m the least d > 0, V* the best values:

    apvi_bound    Theorem 3.4 with the constants of its proof, (31) with (35) for the spread of V~, in each cell:
                      d* [4 sqrt(2 iota/(n d)) s + 256 S H E iota/(3 n d)]
                      s = sqrt(Var_P V*) + 9 sqrt(iota/(n m)) H^2 + (256/3) S H^2 E iota/(n m)
                          + 4 sqrt(8/3) H sqrt(S E/(n m))
                  The last is Lemma C.5 with N~ >= n - E >= 3 n/4 >= 3 n m/8; the text that was read has lost constants
    vapvi_bound   Theorem 4.1, second part, in each step: 8 sqrt 2 C sqrt d E_{pi*} |phi|_{Lambda*^-1} + 4 D/K, where
                  8 = 2 (Lemma D.3) 2 (Lemma D.11) 2 (Lemma D.18), 4 = 2 (Lemma D.3) 2 (Remark D.14), and sqrt 2 is for
                  the mean Lambda*. C is the learner's, and so is D, that of `extra_pessimism`

Conditions, without which there is no bound (ParameterError):

    Theorem 3.4   some best policy is covered (Assumption 2.1); n m >= iota max(H^2, 8), where Lemma C.7 is Chernoff's
                  bound, and n m >= 8 E (Remark C.8); S E >= 1, which Lemma C.6 uses twice; the printed penalty at an E
                  that the noise keeps
    Theorem 4.1   kappa > 0 (Assumption 2.2); K above max(H^12 d^3, H^14 d)/kappa^5, with 1 for what O~ hides;
                  two halves

The Gram of the users is at least half of its mean but with probability sum_h d exp(-n (1 - ln 2)/(2 L_h)), L_h the
largest |phi|^2_{M_h^-1}/sigma2 with M_h the mean of one user (Tropp 2012, Theorem 1.1): it is added to what the theorem
allows.

A bound is active below what uniform actions lose. `near_tie` is where a correct learner loses: the better action is
rarely played, and a penalty hides that it is better.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from algorithms.offline.apvi import DPAPVI
from algorithms.offline.pessimism_promises import batch_counts, halves_of, require_halves, ROUNDING
from algorithms.offline.vapvi import VAPVI
from algorithms.pucb.regret_promises import regret_promise
from algorithms.tabular import backward_induction, expected_return, Model, occupancy
from dpverify.errors import ParameterError
from dpverify.promises import Promise
from mechanisms.privatizers.offline_tabular import OfflineTabularGaussian

Array = npt.NDArray[Any]
UNCOVERED = 1e6  # a cell's price that no best policy pays


def apvi_best_promise(
    model: Model, learner: DPAPVI, policy: Array, users: int, *, played: DPAPVI | None = None, **options: Any
) -> Promise:
    """v* - v^pi of the policy from `users` users of `policy` and the privatizer's own noise is at most `apvi_bound`.

    `played` runs instead of `learner`, which the bound is of: a planted bug.
    """
    runs, planner, counts = learner if played is None else played, learner.planner, batch_counts(model, policy, users)
    if not isinstance(learner.privatizer, OfflineTabularGaussian):
        raise ParameterError("learner.privatizer", learner.privatizer, "Gaussian noise")
    if not planner.error >= learner.privatizer.error_bound(learner.delta):
        raise ParameterError("learner.error", learner.error, "an E that the noise keeps, or None")
    if learner.penalty != "bernstein":
        raise ParameterError("learner.penalty", learner.penalty, "'bernstein': Theorem 3.4 is about no other")

    def play(rng: np.random.Generator, size: int) -> Array:
        return runs.plan(runs.source.noisy(counts(rng, size), rng=rng))[None]

    bound = apvi_bound(model, policy, users, error=planner.error, iota=planner.log_term)
    return regret_promise([model], 1, play, bound, failure_probability=4 * learner.delta, **options)


def vapvi_best_promise(
    model: Model, learner: VAPVI, policy: Array, users: int, *, played: Any = None, **options: Any
) -> Promise:
    """v* - v^pi of the policy from two batches of `users` users is at most the bound; `played` runs instead."""
    require_halves(learner)
    bound = vapvi_bound(model, learner, policy, users)
    missed = lengths_of(model, learner.features, learner.ridge, policy, users, weighted=learner.weighted).missed
    runs = learner if played is None else played
    return halves_promise(model, runs, policy, users, bound, failure_probability=learner.delta + missed, **options)


def halves_promise(model: Model, learner: Any, policy: Array, users: int, bound: float, **options: Any) -> Promise:
    """v* - v^pi of what `learner` learns from two batches is at most `bound`."""

    def play(rng: np.random.Generator, size: int) -> Array:
        found: Array = learner.learn(halves_of(model, policy, users, size, rng=rng), rng=rng, size=size).policy
        return found[None]

    return regret_promise([model], 1, play, bound, **options)


def apvi_bound(model: Model, policy: Array, users: int, *, error: float, iota: float) -> float:
    """Theorem 3.4; see the module."""
    horizon, states = model.horizon, model.states
    if not states * error >= 1:
        raise ParameterError("error", error, "at least 1/S, as Lemma C.6 has it")
    seen = occupancy(policy, model.transitions, model.initial)
    best, spread = _best_covered(model, seen), _spread(model)
    rare = users * float(seen[seen > 0].min())
    least = max(iota * max(horizon**2, 8), 8 * error)
    if not rare >= least:
        raise ParameterError("users", users, f"enough for {least:.3g} visits of a cell")
    deviation = np.sqrt(spread) + 9 * math.sqrt(iota / rare) * horizon**2
    deviation += 4 * math.sqrt(8 / 3) * horizon * math.sqrt(states * error / rare)
    deviation += 256 / 3 * states * horizon**2 * error * iota / rare
    visits = np.where(seen > 0, users * seen, 1.0)
    lost = 4 * np.sqrt(2 * iota / visits) * deviation + 256 * states * horizon * error * iota / (3 * visits)
    return float((best * lost).sum())


def vapvi_bound(model: Model, learner: VAPVI, policy: Array, users: int) -> float:
    """Theorem 4.1 with C sqrt d = `learner.penalty` and D = `learner.penalty_over_k`; see the module."""
    found = lengths_of(model, learner.features, learner.ridge, policy, users, weighted=learner.weighted)
    horizon, d = model.horizon, learner.features.shape[2]
    least = max(horizon**12 * d**3, horizon**14 * d) / found.kappa**5
    if not users > least:
        raise ParameterError("users", users, f"more than {least:.3g} for Theorem 4.1")
    return 8 * math.sqrt(2) * learner.penalty * found.expected + 4 * horizon * learner.penalty_over_k / users


class Lengths(NamedTuple):
    """sum_h E_{pi*} |phi|_{M_h^-1}; probability that some Gram is below half of its mean; kappa of Assumption 2.2."""

    expected: float
    missed: float
    kappa: float


def lengths_of(
    model: Model, features: Array, ridge: float, policy: Array, users: int, *, weighted: bool = False
) -> Lengths:
    """Of `users` users' mean Gram plus `ridge`; `weighted`: users count 1/max(1, Var_P V*)."""
    seen = occupancy(policy, model.transitions, model.initial)
    best = occupancy(backward_induction(model.transitions, model.rewards).policy, model.transitions, model.initial)
    weights = 1 / np.maximum(_spread(model), 1.0) if weighted else np.ones(seen.shape)
    expected, missed, kappa = 0.0, 0.0, math.inf
    for h in range(model.horizon):
        kappa = min(kappa, float(np.linalg.eigvalsh(_gram(seen[h], features))[0]))
        if not kappa > ROUNDING:
            raise ParameterError("policy", kappa, "a kappa above 0 (Assumption 2.2)")
        mean = _gram(seen[h] * weights[h], features)
        single = _squares(features, mean) * weights[h]
        longest = float(single[seen[h] > 0].max())
        missed += features.shape[2] * math.exp(-users * (1 - math.log(2)) / (2 * longest))
        whole = _squares(features, users * mean + ridge * np.eye(features.shape[2]))
        expected += float((best[h] * np.sqrt(whole)).sum())
    return Lengths(expected, missed, kappa)


def near_tie(gap: float) -> Model:
    """H = S = A = 2, states drawn anew: action 1 is better by `gap` in step 1, and by 1/2 or 1 in step 2."""
    rewards = np.array([[[0.5, 0.5 + gap]] * 2, [[0.0, 0.5], [0.0, 1.0]]])
    return Model(np.full((2, 2, 2, 2), 0.5), rewards, np.full(2, 0.5))


def fork(gap: float) -> Model:
    """H = S = A = 2: only state 1 of step 2 pays, and action 1 leads there with 1/2 + `gap`, action 0 with 1/2 - `gap`.

    The rewards, which are known, say nothing about the actions: who reads no data loses here or on the mirror image.
    """
    law = np.full((2, 2, 2, 2), 0.5)
    law[0, :, 0], law[0, :, 1] = (0.5 + gap, 0.5 - gap), (0.5 - gap, 0.5 + gap)
    rewards = np.zeros((2, 2, 2))
    rewards[1, 1] = 1.0
    return Model(law, rewards, np.full(2, 0.5))


def rarely(chance: float) -> Array:
    """A behaviour policy for `near_tie`: action 1 with `chance` in step 1, both alike in step 2."""
    return np.array([[[1 - chance, chance]] * 2, [[0.5, 0.5]] * 2])


def _gram(weights: Array, features: Array) -> Array:
    return np.asarray(np.einsum("sa,sai,saj->ij", weights, features, features))


def _squares(features: Array, gram: Array) -> Array:
    """|phi|^2_{gram^-1}, (S, A)."""
    return np.asarray(np.einsum("sai,ij,saj->sa", features, np.linalg.inv(gram), features))


def _spread(model: Model) -> Array:
    """Var_P V*, (H, S, A)."""
    following = backward_induction(model.transitions, model.rewards).values[1:, None, None, :]
    mean = (model.transitions * following).sum(axis=-1, keepdims=True)
    return np.asarray((model.transitions * (following - mean) ** 2).sum(axis=-1))


def _best_covered(model: Model, seen: Array) -> Array:
    """d* of a best policy that stays where d = `seen` is above 0; ParameterError where there is none."""
    priced = model.rewards - UNCOVERED * (seen == 0)
    policy = backward_induction(model.transitions, priced).policy
    wanted = occupancy(policy, model.transitions, model.initial)
    best = backward_induction(model.transitions, model.rewards).values[0] @ model.initial
    lost = best - expected_return(policy, model.transitions, model.rewards, model.initial)
    if (wanted[seen == 0] > 0).any() or not lost <= ROUNDING:
        raise ParameterError("policy", float(lost), "one that covers a best policy (Assumption 2.1)")
    return wanted
