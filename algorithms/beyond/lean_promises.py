"""What `lean` promises, as `Promise`s that trials can break.

    shift_promise      with probability 1 - beta, |Z_h| <= shift_h in all steps: Lambda is at least the Gram plus lambda
    pessimism_promise  with probability 1 - 2 beta, V~_h(s) <= V^pi_h(s), every h and s, at C >= `proved_penalty`.
                       Active: where it can fail (`offline.pessimism_promises`)
    best_promise       then v* - v^pi is at most 2 sum_h E_{pi*} C |phi|_{Lambda^-1}, and 2 sqrt 2 for the mean Gram:
                       that of the users is at least half of it but with the probability that `lengths_of` adds.
                       Active: below what uniform actions lose

Assumption  Rewards and transitions are linear in the features: r_h + P_h V = <phi, w*>, and |w*| <= t sqrt d for every
            V in [0, t - 1]^S. Both promises compute the shortest w* from the model, at the corners of the box, where
            the norm is largest, and refuse models and features where this is false (`require_linear`).

Derivation of C. Let t be the steps left, y = r + V~ in [0, t] with mean <phi, w*>, and
A = Z + (lambda + shift) I, so that 0 <= A <= Lambda and |A| <= lambda + 2 shift where the first promise holds. Then
w - w* = Lambda^-1 [sum phi (y - <phi, w*>) + z - A w*], and |<phi, w - w*>| is at most |phi|_{Lambda^-1} times

    |sum phi (y - <phi, w*>)|_{(G + lambda)^-1}   (t/2) sqrt(2 ln(det^(1/2)/p)) + 2/sqrt lambda: a self-normalised bound
                                                  for each V of a net of [0, t]^S at distance 1/n, (tn + 1)^S of them,
                                                  for V~ comes from the same users; det <= (1 + n/(d lambda))^d
    |z|_{Lambda^-1}                               s_h (sqrt d + sqrt(2 ln(1/p)))/sqrt lambda
    |A w*|_{Lambda^-1} <= |A^(1/2) w*|            t sqrt(d (lambda + 2 shift))

each in all steps with probability 1 - beta/2, p = beta/(2H) and over the net.
"""

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.beyond.lean import Lean
from algorithms.offline.pessimism_promises import halves_of, pessimistic_values, ROUNDING
from algorithms.offline.suboptimality_promises import halves_promise, lengths_of
from algorithms.tabular import Model
from dpverify.base import require
from dpverify.errors import ParameterError
from dpverify.promises import Outcomes, Promise

Array = npt.NDArray[Any]
MOST_STATES = 12  # for the corners of [0, t - 1]^S


def proved_penalty(learner: Lean, users: int) -> float:
    """C of the derivation for `users` users; the largest of all steps. `learner.penalty` is not looked at."""
    require.integer(at_least=1, users=users)
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


def pessimism_promise(
    model: Model,
    learner: Lean,
    policy: Array,
    users: int,
    *,
    played: Any = None,
    sharp: bool = False,
    **options: Any,
) -> Promise:
    """V~ <= V^pi, and `sharp`: V* - V~ at most the bound of `best_promise`; from `users` fresh users of `policy`.

    `played` runs instead of `learner`: a planted bug.
    """
    _require_proved(model, learner, users)
    runs = learner if played is None else played
    most, chance = _suboptimality(model, learner, policy, users) if sharp else (None, 2 * learner.beta)

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        plan = runs.learn(halves_of(model, policy, users, size, rng=rng), rng=rng, size=size)
        return pessimistic_values(plan, model, most)

    return Promise(draw=draw, bound=ROUNDING, failure_probability=chance, **options)


def best_promise(
    model: Model, learner: Lean, policy: Array, users: int, *, played: Any = None, **options: Any
) -> Promise:
    """v* - v^pi from `users` fresh users of `policy`; `played` runs instead of `learner`: a planted bug."""
    _require_proved(model, learner, users)
    bound, chance = _suboptimality(model, learner, policy, users)
    runs = learner if played is None else played
    return halves_promise(model, runs, policy, users, bound, failure_probability=chance, **options)


def require_linear(model: Model, features: Array) -> None:
    """ParameterError unless the model is linear in `features` (S, A, d) with |w*| <= t sqrt d; see the module."""
    table, d = features.reshape(-1, features.shape[2]), features.shape[2]
    if model.states > MOST_STATES:
        raise ParameterError("model.states", model.states, f"at most {MOST_STATES}")
    for h in range(model.horizon):
        left = model.horizon - h
        wanted = np.column_stack([model.rewards[h].reshape(-1), model.transitions[h].reshape(len(table), -1)])
        weights = np.linalg.pinv(table) @ wanted
        off = float(np.abs(table @ weights - wanted).max())
        if not off <= ROUNDING:
            raise ParameterError("features", off, "linear: rewards and transitions of the model are <phi, .>")
        corners = np.array(list(itertools.product((0.0, left - 1.0), repeat=model.states)))
        longest = float(np.linalg.norm(weights[:, :1] + weights[:, 1:] @ corners.T, axis=0).max())
        if not longest <= left * math.sqrt(d) * (1 + ROUNDING):
            raise ParameterError("features", longest, f"|w*| <= {left} sqrt {d}")


def _suboptimality(model: Model, learner: Lean, policy: Array, users: int) -> tuple[float, float]:
    """The bound on v* - V~ and with which probability it may fail."""
    found = lengths_of(model, learner.features, learner.ridge, policy, users)
    return 2 * math.sqrt(2) * learner.penalty * found.expected, 2 * learner.beta + found.missed


def _require_proved(model: Model, learner: Lean, users: int) -> None:
    require_linear(model, learner.features)
    least = proved_penalty(learner, users)
    if not learner.penalty >= least:
        raise ParameterError("learner.penalty", learner.penalty, f"at least {least:.6g}, which is proved")
