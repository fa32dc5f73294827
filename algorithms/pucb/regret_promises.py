"""Regret and PAC guarantees of whole runs, as `Promise`s that trials can break. A trial is a run.

PUCB (Vietri et al. 2020), with the constants of its proofs, M = SAH, beta' = beta/4, Lambda = ln T + 1:
    Theorem 4  regret up to T is at most                                    (15) + (17) + (22) + (25)
                   H^2 sqrt(T ln(T/beta)/2) + 3 E M H^2 + (H+1) sqrt(2 ln(T/beta') T H M Lambda) + 5 (1+SH) E M Lambda
               (17) as printed has a factor H less: tuples that are short of 3 E visits are SAH, not SA
    Theorem 3  episodes that are worse than alpha are at most                                    (7) + (9) + (10)
                   (240 (1+SH) E M/alpha + 18 M H^3/alpha^2) polylog + 12 S M H^2 (ln(M/beta') + 2 E)/alpha
               with ln(T/beta') for the polylog, which the paper does not write out. (7) as printed has lost the 1 + SH
               of (6); (10) is 120 S M H^3/(alpha eps) polylog, without the part that is there without noise: here the
               episodes that are not nice, counted. For (9) Lemma 21 would give two logarithms and 8 (H+1)^2 2 9
               instead of 18: above every T that can be simulated

A bound is active where it is below what uniform actions lose, so that whoever learns nothing breaks it. A trial is a
run on each of several models, an instance and its mirror image for example: one of two losses that add up to all is
at least half of it, so that who reads no data breaks it as well.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.core.counting import CountSource
from algorithms.core.environments import Environment
from algorithms.core.online import run_online
from algorithms.core.users import SideBySide
from algorithms.pucb.learner import PUCB
from algorithms.pucb.promises import staged_run
from algorithms.sdp_pe.batches import Batches
from algorithms.sdp_pe.elimination import SDPPE
from algorithms.tabular import all_policies, backward_induction, expected_return, Model, uniform_policy
from dpverify.promises import Outcomes, Promise

Array = npt.NDArray[Any]
Play = Callable[[np.random.Generator, int], Array]  # (rng, runs) -> policies (T, runs, H, S)


def gaps_played(policies: Array, model: Model) -> Array:
    """V* - V^pi of deterministic policies (..., H, S), by a table of all A^(HS) of them: shape (...)."""
    table = all_policies(model.horizon, model.states, model.actions)
    cells = model.horizon * model.states
    weights = model.actions ** np.arange(cells)
    values = np.empty(len(table))
    values[table.reshape(-1, cells) @ weights] = expected_return(table, model.transitions, model.rewards, model.initial)
    flat = policies.reshape(*policies.shape[:-2], cells)
    code = np.zeros(flat.shape[:-1], dtype=np.int64)
    for cell in range(cells):
        code += weights[cell] * flat[..., cell]
    return np.asarray((values.max() - values)[code])


def regret_promise(models: Sequence[Model], episodes: int, play: Play, bound: float, **options: Any) -> Promise:
    """The regret of all episodes of a run is at most `bound`, in a run of each model.

    Parameters
    ----------
    models
        What is played: an instance and its mirror image, for example. A trial is a run in each.
    episodes
        Of a run.
    play
        (rng, size) -> policies (episodes, size * len(models), H, S), the runs of one model after each other.
    bound
        On the regret of a run; the error of a trial is the largest one.
    options
        Of `Promise`; at least `name` and `failure_probability`, which is that of all runs of a trial.
    """
    active = float(all(bound < episodes * uniform_gap(model) for model in models))

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        gaps = _gaps_of_each(play(rng, size), models)
        return Outcomes(errors=np.max([each.sum(axis=0) for each in gaps], axis=0), active=np.full(size, active))

    return Promise(draw=draw, bound=bound, **{"block": 256, **options})


def pac_promise(
    models: Sequence[Model], episodes: int, play: Play, bound: float, alpha: float, **options: Any
) -> Promise:
    """At most `bound` episodes of a run have a policy that is worse than the best by more than `alpha`.

    Arguments are those of `regret_promise`.
    """
    every = [all_policies(model.horizon, model.states, model.actions) for model in models]
    worse_of_all = [(gaps_played(each, model) > alpha).mean() for each, model in zip(every, models, strict=True)]
    active = float(bound < episodes * min(worse_of_all))

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        worse = [(each > alpha).sum(axis=0) for each in _gaps_of_each(play(rng, size), models)]
        return Outcomes(errors=np.max(worse, axis=0).astype(np.float64), active=np.full(size, active))

    return Promise(draw=draw, bound=bound, **{"block": 256, **options})


def _gaps_of_each(policies: Array, models: Sequence[Model]) -> list[Array]:
    """V* - V^pi of the policies that were played in each model, (episodes, size)."""
    parts = np.split(policies, len(models), axis=1)
    return [gaps_played(part, model) for part, model in zip(parts, models, strict=True)]


def online_play(environments: Sequence[Environment], learner: PUCB, source: CountSource) -> Play:
    """Runs of an online learner in each environment, each with users of its own."""

    def play(rng: np.random.Generator, size: int) -> Array:
        users = SideBySide(environments, size, learner.episodes, rng=rng)
        policies: Array = run_online(users, learner, source, runs=size * len(environments), rng=rng).policies
        return policies[:, np.concatenate(users.where)]

    return play


def staged_play(environments: Sequence[Environment], learner: SDPPE, batches: Batches) -> Play:
    """Runs of SDP-PE in each environment from all deterministic policies, each with users of its own."""

    def play(rng: np.random.Generator, size: int) -> Array:
        done, where = staged_run(environments, learner, batches, size, rng=rng)
        return np.moveaxis(done.policies[np.concatenate(where)], 0, 1)

    return play


def pucb_regret(learner: PUCB) -> float:
    """Theorem 4 with the constants of its proof, at E = `learner.error`."""
    size, episodes, error = learner.layout, learner.episodes, learner.error
    horizon, cells, harmonic = size.H, size.tuples, math.log(episodes) + 1
    martingale = horizon**2 * math.sqrt(episodes * math.log(episodes / learner.beta) / 2)
    sampling = (horizon + 1) * math.sqrt(2 * _log(learner) * episodes * horizon * cells * harmonic)
    private = 3 * error * cells * horizon**2 + 5 * (1 + size.S * horizon) * error * cells * harmonic
    return martingale + sampling + private


def pucb_suboptimal(learner: PUCB, alpha: float) -> float:
    """Theorem 3 with the constants of its proof and one logarithm, at E = `learner.error`; see the module."""
    size, cells, error = learner.layout, learner.layout.tuples, learner.error
    private = 240 * (1 + size.S * size.H) * error * cells / alpha
    rare = 12 * size.S * cells * size.H**2 * (math.log(4 * cells / learner.beta) + 2 * error) / alpha
    return (private + 18 * cells * size.H**3 / alpha**2) * _log(learner) + rare


def uniform_gap(model: Model) -> float:
    """V* - V of uniform actions, from the first state's law."""
    best = backward_induction(model.transitions, model.rewards).values[0] @ model.initial
    uniform = uniform_policy(model.horizon, model.states, model.actions)
    return float(best - expected_return(uniform, model.transitions, model.rewards, model.initial))


def _log(learner: PUCB) -> float:
    return math.log(4 * learner.episodes / learner.beta)
