"""What `lean` promises, as `Promise`s that trials can break.

    shift_promise      with probability 1 - beta, |Z_h| <= shift_h in all steps: Lambda is at least the Gram plus lambda
    pessimism_promise  with probability 1 - 2 beta, V~_h(s) <= V^pi_h(s), every h and s, at C >= `proved_penalty`.
                       Active: the share of V~ above 0
    best_promise       then v* - v^pi is at most 2 sum_h E_{pi*} C |phi|_{Lambda^-1}, and `vapvi_bound` has a 4 for the
                       Gram, which is at least half of its mean. Active: below what the worst policy loses

Derivation of C. Let t be the steps left, y = r + V~ in [0, t] with mean <phi, w*>, |w*| <= t sqrt d, and
A = Z + (lambda + shift) I, so that 0 <= A <= Lambda and |A| <= lambda + 2 shift where the first promise holds. Then
w - w* = Lambda^-1 [sum phi (y - <phi, w*>) + z - A w*], and |<phi, w - w*>| is at most |phi|_{Lambda^-1} times

    |sum phi (y - <phi, w*>)|_{(G + lambda)^-1}   (t/2) sqrt(2 ln(det^(1/2)/p)) + 2/sqrt lambda: a self-normalised bound
                                                  for each V of a net of [0, t]^S at distance 1/n, (tn + 1)^S of them,
                                                  for V~ comes from the same users; det <= (1 + n/(d lambda))^d
    |z|_{Lambda^-1}                               s_h (sqrt d + sqrt(2 ln(1/p)))/sqrt lambda
    |A w*|_{Lambda^-1} <= |A^(1/2) w*|            t sqrt(d (lambda + 2 shift))

each in all steps with probability 1 - beta/2, p = beta/(2H) and over the net.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.beyond.lean import Lean
from algorithms.offline.pessimism_promises import halves_of
from algorithms.offline.suboptimality_promises import halves_promise, vapvi_bound
from algorithms.offline.vapvi import VAPVI
from algorithms.tabular import evaluate, Model
from dpverify.promises import Outcomes, Promise

Array = npt.NDArray[Any]
ROUNDING = 1e-9


def proved_penalty(learner: Lean, users: int) -> float:
    """C of the derivation for `users` users; the largest of all steps. `learner.penalty` is not looked at."""
    d, ridge, states = learner.dimension, learner.ridge, learner.features.shape[0]
    tail = math.log(2 * learner.horizon / learner.beta)
    found = 0.0
    for h in range(learner.horizon):
        left = learner.horizon - h
        net = states * math.log(left * users + 1)
        sampling = left / 2 * math.sqrt(d * math.log1p(users / (d * ridge)) + 2 * (net + tail)) + 2 / math.sqrt(ridge)
        target = float(learner.sigmas[h, 0]) * (math.sqrt(d) + math.sqrt(2 * tail)) / math.sqrt(ridge)
        bias = left * math.sqrt(d * (ridge + 2 * learner.shift(h)))
        found = max(found, sampling + target + bias)
    return found


def shift_promise(learner: Lean, *, told: Lean | None = None, **options: Any) -> Promise:
    """Errors are the largest |Z_h|/shift_h; `told`: whose shifts."""
    stated = learner if told is None else told

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        drawn = (np.linalg.eigvalsh(learner.draw(h, size, rng=rng)[1]) for h in range(learner.horizon))
        over = [np.abs(each).max(axis=-1) / stated.shift(h) for h, each in enumerate(drawn)]
        return Outcomes(errors=np.max(over, axis=0))

    return Promise(draw=draw, bound=1.0, failure_probability=learner.beta, **options)


def pessimism_promise(model: Model, learner: Lean, policy: Array, users: int, **options: Any) -> Promise:
    """V~ <= V^pi from `users` fresh users of `policy`."""

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        plan = learner.learn(halves_of(model, policy, users, size, rng=rng), rng=rng, size=size)
        missed = (plan.values - evaluate(plan.policy, model.transitions, model.rewards))[:, :-1]
        above = (plan.values[:, :-1] > ROUNDING).mean(axis=(1, 2))
        return Outcomes(errors=np.maximum(missed.max(axis=(1, 2)), 0.0), active=above)

    return Promise(draw=draw, bound=ROUNDING, failure_probability=2 * learner.beta, **options)


def best_promise(
    model: Model, learner: Lean, policy: Array, users: int, *, told: Model | None = None, **options: Any
) -> Promise:
    """v* - v^pi from `users` fresh users of `policy`, in `told` instead of `model`."""
    like = VAPVI(
        features=learner.features, horizon=learner.horizon, penalty=learner.penalty, ridge=learner.ridge, weighted=False
    )
    bound = vapvi_bound(model, like, policy, users)
    chance = 2 * learner.beta
    return halves_promise(model, learner, policy, users, bound, told=told, failure_probability=chance, **options)
