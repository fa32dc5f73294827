"""PUCB's lower bound (Vietri et al. 2020, Lemmas 7 to 11, Theorem 5), as `Promise`s. A trial is a run of a learner.

The instance is the paper's (Figure 2): users start in one of n states, an action leads for good to a state that pays
every step, with chance 1/2, 1/2 + gap/2 (action 0) or 1/2 + gap (the best), or to one that never pays. By Lemmas 9 and
11 the first actions that an eps-JDP learner plays from one start are those of an eps-DP bandit learner.

    pulls_promise     what the proof of Lemma 8 shows, and Markov's inequality makes its mean of: for a learner that is
                      right with probability 1 - beta, and an arm that is worse by alpha,
                          Pr[pulls <= 4 t] < 3/4,    t = ln((1/2 - beta)/beta)/(24 eps alpha)
                      in every start and arm, so for the share of all of them on average
    success_promise   what that assumes: each start's last choice is its best arm, but with probability beta

A bound of less than one pull says nothing, and none is active. Theorem 5 itself, `pac_lower`, adds up Lemma 8's means
with constants that say less: on the instance of the audit (n = 2, A = 3, gap .4, eps .01) 12 pulls, where a learner
without privacy needs 240; and trials cannot certify a mean of pulls that may be anything up to T. Theorem 6 has no
constant.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.promises import Outcomes, Promise

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class HardInstance:
    """Figure 2: `best` (n,) is every start's best action, none of them 0; the best one wins with 1/2 + `gap`."""

    best: tuple[int, ...]
    actions: int
    gap: float

    @property
    def chances(self) -> Array:
        """Of the state that pays, (n, A)."""
        found = np.full((len(self.best), self.actions), 0.5)
        found[:, 0] += self.gap / 2
        found[np.arange(len(self.best)), list(self.best)] = 0.5 + self.gap
        return found

    @property
    def losses(self) -> Array:
        """By how much each action wins less often than the best, (n, A)."""
        return np.asarray(0.5 + self.gap - self.chances)


Bandit = Callable[..., tuple[Array, Array]]  # (instance, rng=, size=) -> pulls (size, n, A), last choices (size, n)


@dataclass(frozen=True, kw_only=True)
class ExploreThenCommit:
    """`users` users, evenly over starts and at random; in each the actions in turn until all had `each`, then the best.

    eps-JDP where starts are public: a user moves one of the sums, which have Lap(1/eps) noise and are released once.
    eps = infinity has no noise.
    """

    users: int
    each: int
    eps: float

    def __post_init__(self) -> None:
        require.integer(at_least=1, users=self.users, each=self.each)

    def __call__(self, instance: HardInstance, *, rng: np.random.Generator, size: int) -> tuple[Array, Array]:
        starts, arms = instance.chances.shape
        here = rng.multinomial(self.users, np.full(starts, 1 / starts), size=size)[..., None]
        pulls = np.clip((here + arms - 1 - np.arange(arms)) // arms, 0, self.each)  # in turn, so this many by then
        sums = rng.binomial(pulls, instance.chances) + rng.laplace(size=pulls.shape) / self.eps
        last = (sums / np.maximum(pulls, 1)).argmax(axis=-1)
        rest = np.maximum(here - arms * self.each, 0)
        return pulls + rest * (np.arange(arms) == last[..., None]), last


def pulls_needed(alpha: Array, eps: float, beta: float) -> Array:
    """4 t of Lemma 8 for arms that are worse by `alpha` > 0."""
    return np.asarray(math.log((0.5 - beta) / beta) / (6 * eps * alpha))


def pac_lower(starts: int, actions: int, gap: float, eps: float, beta: float) -> float:
    """Theorem 5 with the constants of Lemma 10: H n (A-1)/(336 eps alpha) ln(7/(4 + 24 beta)), alpha = H gap/14."""
    return starts * (actions - 1) / (24 * eps * gap) * math.log(7 / (4 + 24 * beta))


def pulls_promise(instance: HardInstance, learner: Bandit, *, eps: float, beta: float, **options: Any) -> Promise:
    """Lemma 8 for one start and arm of a trial, drawn at random; the error is how many pulls are missing."""
    worse = instance.losses > 0
    least = np.where(worse, pulls_needed(np.where(worse, instance.losses, 1.0), eps, beta), 0.0)

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        pulls, _ = learner(instance, rng=rng, size=size)
        one = rng.choice(np.flatnonzero(worse), size=size)
        played, needed = pulls.reshape(size, -1)[np.arange(size), one], least.ravel()[one]
        return Outcomes(
            errors=np.maximum(needed - played, 0.0), failed=played <= needed, active=(needed >= 1).astype(np.float64)
        )

    return Promise(draw=draw, bound=float(least.max()), failure_probability=0.75, **options)


def success_promise(instance: HardInstance, learner: Bandit, *, beta: float, **options: Any) -> Promise:
    """What Lemma 8 assumes, for one start of a trial; the error is by how much the last choice is worse."""

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        _, last = learner(instance, rng=rng, size=size)
        start = rng.integers(len(instance.best), size=size)
        return Outcomes(errors=instance.losses[start, last[np.arange(size), start]])

    return Promise(draw=draw, bound=1e-9, failure_probability=beta, **options)
