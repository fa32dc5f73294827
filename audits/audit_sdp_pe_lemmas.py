"""SDP-PE, journal version: its regret bound and the lemmas under it, each on an instance where it says something.

    Theorem 6   two arms, 450,000 users, eps = 300; and two steps, where what pays first leads away from what pays most,
                1,800,000 users without noise. Each together with its mirror image: the bound is below what is lost by
                half of the users, so a learner that never eliminates breaks it, and one who reads no data. The part of
                the bound that E makes is in the statement: it cannot break for want of noise, which costs regret and
                saves none
    Lemma 14    exact counts, told E = 1: a tuple outside W was then seen 24 iota = 369 times. At E = .001 W holds only
                what was never seen, and the lemma is false (atlas, N9), as it is with W empty
    Lemma 17    a lock of eight steps, where all policies alike go to the end with probability 1/256
    Lemma 8     exact counts, told E = 1e-6, 16 policies: (16) gives 96 (6 E X H^2 + 1) ..., and (17) writes 672 E ...,
                which is false for small E (atlas, N10)
    Lemma 15    as Lemma 14, from which it follows path by path
    Lemma 16    as Lemma 8, which it implies
    Lemma 18    exact counts of the fine mixture alone, which no batch releases; false with 1 for 1/2

C = 1 stands for the universal constant.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from algorithms.core.counting import layout_of
from algorithms.core.environments import Environment, random_environment
from algorithms.pucb.regret_promises import regret_promise, staged_play
from algorithms.sdp_pe.batches import Batches, ExactBatches, ShuffledBatches
from algorithms.sdp_pe.elimination import SDPPE
from algorithms.sdp_pe.promises import (
    bias_promise,
    counts_promise,
    coverage_promise,
    kernel_promise,
    regret_bound,
    visiting_promise,
)
from audits.papers import SDP_PE_JOURNAL, unnamed
from audits.planted.elimination import (
    DataFree,
    LeftInW,
    Mirrored,
    Myopic,
    NeverEliminates,
    OnePolicy,
    RewardsAsCosts,
    UniformDesign,
)
from dpverify import Subject
from dpverify.promises import BROKEN, Promise
from mechanisms.datasets.visit_counts import CountLayout

STEPS, LITTLE = 8, 1e-6


@dataclass(frozen=True)
class Told(ExactBatches):
    """Exact counts with an E > 0 told: Assumption 4 holds, and post-processing shifts by E/2."""

    told: float = 1.0

    def error(self, layout: CountLayout, users: int) -> float:
        return self.told


def lock() -> tuple[Environment, Any]:
    """Action 0 stays in state 0, action 1 leaves it for ever; the 2^H policies that differ in state 0."""
    law = np.zeros((STEPS, 2, 2, 2))
    law[:, 0, 0, 0] = law[:, 0, 1, 1] = law[:, 1, :, 1] = 1.0
    policies = np.zeros((2**STEPS, STEPS, 2), dtype=np.int64)
    policies[:, :, 0] = np.arange(2**STEPS)[:, None] >> np.arange(STEPS) & 1
    return Environment("lock", law, np.zeros((STEPS, 2, 2)), np.array([1.0, 0.0])), policies


def detour() -> Environment:
    """From state 0 action 0 pays 0.02 and stays, action 1 pays nothing and leads to state 1, where action 1 pays 1."""
    law, rewards = np.zeros((2, 2, 2, 2)), np.zeros((2, 2, 2))
    law[0, :, 0, 0] = law[0, :, 1, 1] = law[1, :, :, 0] = 1.0
    rewards[0, 0, 0], rewards[1, 1, 1] = 0.02, 1.0
    return Environment("detour", law, rewards, np.array([1.0, 0.0]))


arms = Environment("two arms", np.ones((1, 1, 2, 1)), np.array([[[0.1, 0.9]]]), np.ones(1))
small, two_steps = random_environment(0, 2, 2, 2), detour()
locked, ways = lock()


def learner(
    environment: Environment, users: int, delta: float, kind: Callable[..., SDPPE] = SDPPE, **scales: float
) -> SDPPE:
    return kind(layout=layout_of(environment.model), episodes=users, delta=delta, **scales)


def regret(name: str, kind: Callable[..., SDPPE] = SDPPE, *, delta: float = 0.002, **options: Any) -> Promise:
    """Theorem 6 on two arms and on their mirror image, with noise."""
    playing = learner(arms, 450_000, delta, kind)
    batches = ShuffledBatches(layout=playing.layout, eps=300.0, beta=1e-3, delta=0.01)
    return theorem(name, arms, playing, batches, "eps = 300", block=8, **options)


def detoured(name: str, kind: Callable[..., SDPPE] = SDPPE, *, delta: float = 0.002, **options: Any) -> Promise:
    """Theorem 6 on two steps and on their mirror image, without noise."""
    playing = learner(two_steps, 1_800_000, delta, kind)
    return theorem(name, two_steps, playing, ExactBatches(), "no noise", block=2, **options)


def theorem(
    name: str, environment: Environment, playing: SDPPE, batches: Batches, noise: str, **options: Any
) -> Promise:
    """Theorem 6, in one trial on `environment` and on its mirror image."""
    bound = regret_bound(playing, batches)
    private = 1 - regret_bound(playing, ExactBatches()) / bound
    statement = f"Theorem 6, the last sum of its proof with C = 1; {playing.episodes:,} users, {noise}; and mirrored"
    both = (environment, environment.mirrored)
    settings: dict[str, Any] = {
        "failure_probability": 9 * playing.delta * len(both),
        "statement": f"{statement}; E makes {private:.0%} of the bound",
        "paper": SDP_PE_JOURNAL,
        **options,
    }
    play, models = staged_play(both, playing, batches), [each.model for each in both]
    return regret_promise(models, playing.episodes, play, bound, name=name, **settings)


def kernel(
    name: str,
    batches: Batches,
    kind: type[SDPPE] = SDPPE,
    *,
    users: int = 60_000,
    scale: float = 6.0,
    **options: Any,
) -> Promise:
    """Lemma 14."""
    playing = learner(small, users, 0.1, kind, infrequent_scale=scale)
    return kernel_promise(small, playing, batches, name=name, paper=SDP_PE_JOURNAL, **options)


def coverage(name: str, kind: type[SDPPE] = SDPPE, *, users: int = 378, **options: Any) -> Promise:
    """Lemma 17."""
    playing = learner(locked, users, 0.1, kind)
    settings: dict[str, Any] = {
        "statement": "Lemma 17, on which Lemma 9 rests: coverage at most 12 X A H in every stage",
        "paper": SDP_PE_JOURNAL,
        **options,
    }
    return coverage_promise(locked, playing, ExactBatches(), policies=ways, name=name, **settings)


def visiting(name: str, *, users: int = 60_000, scale: float = 6.0, **options: Any) -> Promise:
    """Lemma 15."""
    playing = learner(small, users, 0.1, infrequent_scale=scale)
    settings: dict[str, Any] = {"paper": SDP_PE_JOURNAL, "statement": VISITING, "trials": 24, **options}
    return visiting_promise(small, playing, Told(), name=name, **settings)


def counts(name: str, *, trials: int, **options: Any) -> Promise:
    """Lemma 18."""
    settings: dict[str, Any] = {"paper": SDP_PE_JOURNAL, "trials": trials, **options}
    return counts_promise(small, learner(small, 6_000, 0.05), ExactBatches(), name=name, **settings)


def bias(name: str, kind: type[SDPPE] = SDPPE, *, users: int = 786_426, **options: Any) -> Promise:
    """Lemma 8 at E = 1e-6; `meeting`: Lemma 16.

    With two stages fewer no bound is below 1, and with one fewer none is broken.
    """
    playing = learner(small, users, 0.07, kind)
    settings: dict[str, Any] = {"paper": SDP_PE_JOURNAL, "trials": 16, "block": 4, **options}
    return bias_promise(small, playing, Told(LITTLE), name=name, **settings)


KERNEL = "Lemma 14: (1 - 1/H) P~ <= P' <= (1 + 1/H) P~ in every stage"
BIAS = "Lemma 8, E = 1e-6: V^pi(P) - V^pi(P') at most"
MEETING = "Lemma 16, E = 1e-6: Pr_pi[meets W] at most"
VISITING = "Lemma 15: V(P~)/4 <= V(P') <= 3 V(P~) in every stage, for every policy and (h, x, a); E = 1"
COUNTS = "Lemma 18: N >= L V/2 - iota for the fine mixture in every stage"
subjects: list[Subject] = []  # what is private about SDP-PE stands in audit_sdp_pe
promises = [
    regret("regret-sdp-pe", delta=0.02, trials=24),
    regret("regret-sdp-pe, rewards as costs", RewardsAsCosts, trials=4, expected=BROKEN),
    regret("regret-sdp-pe, never eliminates", NeverEliminates, trials=4, expected=BROKEN),
    regret("regret-sdp-pe, reads no data", partial(DataFree, known=arms.model), trials=4, expected=BROKEN),
    detoured("regret-sdp-pe, two steps", delta=0.03, trials=16),
    detoured("regret-sdp-pe, two steps, never eliminates", NeverEliminates, trials=4, expected=BROKEN),
    detoured("regret-sdp-pe, two steps, first rewards alone", Myopic, trials=4, expected=BROKEN),
    detoured("regret-sdp-pe, two steps, next states mirrored", Mirrored, trials=4, expected=BROKEN),
    detoured(
        "regret-sdp-pe, two steps, reads no data", partial(DataFree, known=two_steps.model), trials=4, expected=BROKEN
    ),
    kernel("lemma-14", Told(), trials=24, statement=KERNEL + "; E = 1"),
    kernel("lemma-14, W empty", Told(), users=450, scale=0.0, trials=24, expected=BROKEN, statement=KERNEL),
    kernel("lemma-14, small E", Told(1e-3), users=450, trials=24, expected=BROKEN, statement=KERNEL + "; E = .001"),
    kernel("lemma-14, P~ left in W", Told(), LeftInW, users=450, trials=12, expected=BROKEN, statement=KERNEL),
    visiting("lemma-15"),
    visiting("lemma-15, W empty", users=450, scale=0.0, expected=BROKEN),
    coverage("lemma-17", trials=20),
    coverage("lemma-17, uniform design", UniformDesign, users=1_530, trials=12, expected=BROKEN),
    bias("lemma-8", statement=BIAS + " 96 (6 E X H^2 + 1) X^2 A H^3 iota/L"),
    bias("lemma-8, 672 E", users=450, printed=True, expected=BROKEN, statement=BIAS + " 672 E X^3 A H^5 iota/L"),
    bias("lemma-16", meeting=True, statement=MEETING + " 96 (6 E X H^2 + 1) X^2 A H^2 iota/L"),
    bias(
        "lemma-16, 672 E",
        users=450,
        printed=True,
        meeting=True,
        expected=BROKEN,
        statement=MEETING + " 672 E X^3 A H^4 iota/L",
    ),
    bias("lemma-16, one policy explores", OnePolicy, meeting=True, expected=BROKEN, statement=MEETING),
    counts("lemma-18", trials=56, statement=COUNTS),
    counts("lemma-18, 1 for 1/2", trials=24, share=1.0, expected=BROKEN, statement=COUNTS + ", 1 for 1/2"),
]

promises = unnamed(promises, errata=("lemma-14, small E", "lemma-8, 672 E", "lemma-16, 672 E"))
