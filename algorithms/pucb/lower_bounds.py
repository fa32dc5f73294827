"""PUCB's lower bound (Vietri et al. 2020, Lemmas 7 to 11, Theorem 5), as `Promise`s. A trial is a run of a learner.

The instances are the paper's (Figure 2): users start in one of n states, an action leads for good to a state that pays
every step, with chance 1/2, 1/2 + gap/2 (action 0) or 1/2 + gap (the best, where that is not 0), or to one that never
pays. By Lemmas 9 and 11 the first actions that an eps-JDP learner plays from one start are those of an eps-DP bandit
learner.

    pulls_promise     the bound in the proof of Lemma 8, for one start and arm: a learner that is right with probability
                      1 - beta both on the instance and where that arm alone is changed so that it is the best, which
                      moves its law by `distance` in total variation, has
                          Pr[pulls of the arm <= 4 t] <= 1/2,    t = ln((1/2 - beta)/beta)/(24 eps distance)
    success_promise   what that assumes, on all instances of `neighbourhood`: each start's last choice is its best arm

1/2: with A = {pulls <= 4 t}, Lemma 7 gives Pr[A, right] <= e^(24 eps t distance) Pr'[A, that choice] <= 1/2 - beta, for
that choice is wrong after the change. The paper is content with a contradiction to 3/4, which makes the mean above t.

The printed proof exchanges the laws of the arm and of the best one. Lemma 7 is for a change of one arm, so it does not
apply, and in the class of Figure 2 the bound is false as printed: `InOrder` is eps-DP and right on all of the class,
and hardly plays the arms behind the best one. What holds there, and is all that Lemma 10 needs, is the bound at
best = 0, for arms a >= 1 and distance = gap: best = a differs from it in arm a alone.

A bound of less than one pull says nothing, and none is active. Theorem 5 itself, `pac_lower`, adds up Lemma 8's means
with constants that say less: on the instance of the audit (n = 2, A = 3, gap .4, eps .005) 24 pulls, where a learner
without privacy needs 120; and trials cannot certify a mean of pulls that may be anything up to T. Theorem 6 has no
constant.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.errors import ParameterError
from dpverify.promises import Outcomes, Promise

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class HardInstance:
    """Figure 2: `best` (n,) is every start's best action; it wins with 1/2 + `gap`, action 0 with 1/2 + gap/2."""

    best: tuple[int, ...]
    actions: int
    gap: float

    def __post_init__(self) -> None:
        require.integer(at_least=2, actions=self.actions)
        if not 0 < self.gap < 0.5:
            raise ParameterError("gap", self.gap, "in (0, 1/2)")
        if not self.best or not all(0 <= each < self.actions for each in self.best):
            raise ParameterError("best", self.best, f"one action of 0 to {self.actions - 1} for each start")

    @property
    def chances(self) -> Array:
        """Of the state that pays, (n, A)."""
        found = np.full((len(self.best), self.actions), 0.5)
        starts, best = np.arange(len(self.best)), np.array(self.best)
        found[starts, best] += self.gap
        found[:, 0] = 0.5 + self.gap / 2
        return found

    @property
    def losses(self) -> Array:
        """By how much each action wins less often than the best, (n, A)."""
        chances = self.chances
        return np.asarray(chances.max(axis=1, keepdims=True) - chances)


def neighbourhood(starts: int, actions: int, gap: float) -> list[HardInstance]:
    """best = 0 in all starts, and all that differ from it in one arm of one start."""
    found = [(0,) * starts]
    for start in range(starts):
        found += [tuple(arm if each == start else 0 for each in range(starts)) for arm in range(1, actions)]
    return [HardInstance(best, actions, gap) for best in found]


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


@dataclass(frozen=True, kw_only=True)
class InOrder:
    """Tests arms 1, 2, ... by one sum of `each` users with Lap(1/eps) noise; the first that wins often is kept, else 0.

    eps-JDP where starts are public: every user is in at most one sum. Right on all instances of Figure 2, and plays no
    arm behind the one that it keeps: the printed Lemma 8 is false of it.
    """

    users: int
    each: int
    eps: float

    def __call__(self, instance: HardInstance, *, rng: np.random.Generator, size: int) -> tuple[Array, Array]:
        starts, arms = instance.chances.shape
        left = rng.multinomial(self.users, np.full(starts, 1 / starts), size=size)
        pulls, last = np.zeros((size, starts, arms), dtype=np.int64), np.zeros((size, starts), dtype=np.int64)
        for arm in range(1, arms):
            tested = np.where(last > 0, 0, np.minimum(self.each, left))
            pulls[..., arm], left = tested, left - tested
            won = rng.binomial(tested, instance.chances[:, arm]) + rng.laplace(size=tested.shape) / self.eps
            last[(tested > 0) & (won > (0.5 + 0.75 * instance.gap) * tested)] = arm
        return pulls + left[..., None] * (np.arange(arms) == last[..., None]), last


def pulls_needed(distance: float, eps: float, beta: float) -> float:
    """4 t of Lemma 8 for an arm whose law `distance` makes the best."""
    require.positive(distance=distance, eps=eps)
    if not 0 < beta < 0.25:
        raise ParameterError("beta", beta, "in (0, 1/4)")
    return math.log((0.5 - beta) / beta) / (6 * eps * distance)


def pac_lower(starts: int, actions: int, gap: float, eps: float, beta: float) -> float:
    """Theorem 5 with the constants of Lemma 10: H n (A-1)/(336 eps alpha) ln(7/(4 + 24 beta)), alpha = H gap/14."""
    return starts * (actions - 1) / (24 * eps * gap) * math.log(7 / (4 + 24 * beta))


def pulls_promise(
    instance: HardInstance,
    learner: Bandit,
    *,
    start: int,
    arm: int,
    distance: float,
    eps: float,
    beta: float,
    **options: Any,
) -> Promise:
    """Lemma 8 for one start and arm; the error is how many pulls are missing."""
    needed = pulls_needed(distance, eps, beta)
    if not instance.losses[start, arm] > 0:
        raise ParameterError("arm", arm, f"one that is not the best of start {start}")

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        played = learner(instance, rng=rng, size=size)[0][:, start, arm]
        errors, active = np.maximum(needed - played, 0.0), np.full(size, float(needed >= 1))
        return Outcomes(errors=errors, failed=played <= needed, active=active)

    return Promise(draw=draw, bound=needed, failure_probability=0.5, **options)


def success_promise(instances: Sequence[HardInstance], learner: Bandit, *, beta: float, **options: Any) -> Promise:
    """What Lemma 8 assumes; a trial is a run on each instance, and fails where one start of one run has a worse arm.

    So it is kept only where the learner is right with 1 - `beta` on each of them. The error is the largest loss.
    """

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        worst = np.zeros(size)
        for instance in instances:
            _, last = learner(instance, rng=rng, size=size)
            lost = np.take_along_axis(instance.losses[None], last[..., None], axis=-1)
            worst = np.maximum(worst, lost.max(axis=(1, 2)))
        return Outcomes(errors=worst)

    return Promise(draw=draw, bound=1e-9, failure_probability=beta, **options)
