"""The Central privatizer of DP-Nash-VI: its four readings as printed, and the corrected scale.

Ratios in comments are true eps over claimed eps, D L / (scale eps). Pairs replace user 1, whose episode lies in
the most nodes. Where the first state is fixed there is one joint action, so that her first visit cell stays.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from audits.papers import NASH_VI, unnamed
from audits.planted.central import add_remove_scale, half_noise, SharedNoise, SummedVisits
from dpverify import Pair, planted, Relation, Subject
from dpverify.base.seeding import Stage, stream
from dpverify.promises import BROKEN, INCONCLUSIVE, Promise
from dpverify.trials.target import Array
from mechanisms.counters import LogBase
from mechanisms.datasets.pairs import absence, constant, uniform, worst_replacement
from mechanisms.datasets.trajectories import Trajectories
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.privatizers.central import Central, Reading
from mechanisms.privatizers.central_promises import central_promise
from mechanisms.privatizers.error_bounds import tightness_promise

STATEMENT = "Lemma 5.1: the released counters are eps-DP, hence the Central privatizer is eps-JDP"
TRIALS = 60_000

two_actions = CountLayout(H=1, S=1, A=2, B=1)  # the smallest instance with D = 4H
one_step = CountLayout(H=1, S=2, A=1, B=1)  # with a fixed start only the transition changes: D = 2
two_steps = CountLayout(H=2, S=2, A=1, B=1)


def pairs(central: Central) -> tuple[Pair, ...]:
    data = constant(central.layout, central.episodes)
    return (worst_replacement(data, 0, fixed_start=central.fixed_start),)


def subject(name: str, central: Central, *, refuted: bool = False, statement: str = "") -> Subject:
    return Subject(
        name=name,
        target=central,
        claim=central.claim,
        pairs=pairs(central),
        trials=TRIALS,
        expected="REFUTED" if refuted else "NOT_REFUTED",
        accounted=not refuted,
        paper=NASH_VI,
        statement=f"{STATEMENT} ({statement})" if statement else STATEMENT,
    )


def printed(
    name: str,
    layout: CountLayout,
    eps: float,
    episodes: int,
    releases: int,
    reading: Reading,
    log: LogBase,
    *,
    fixed: bool = False,
    refuted: bool = False,
) -> Subject:
    central = Central.as_printed(eps, layout, episodes, reading=reading, log=log, releases=releases, fixed_start=fixed)
    where = f"{reading.name} reading, {log}, K = {episodes}, {releases} releases, H = {layout.H}"
    return subject(name, central, refuted=refuted, statement=where)


right = Central.corrected(1.0, two_actions, 2)
fair = subject("corrected", right, statement="scale D L / eps")
absent_claim = replace(fair.claim, relation=Relation.ADD_OR_REMOVE_ONE)

TREE, NODE, LOG2, LN = Reading.TREE, Reading.NODE, LogBase.TWO, LogBase.E

subjects = [
    printed("node-log2-K2", two_actions, 2.0, 2, 1, NODE, LOG2, refuted=True),  # 2
    printed("node-ln-K2", two_actions, 2.0, 2, 1, NODE, LN, refuted=True),  # 2.885
    printed("node-log2-K8", two_actions, 2.0, 8, 7, NODE, LOG2, refuted=True),  # 2
    printed("node-log2-K2-fixed-R2", one_step, 2.5, 2, 2, NODE, LOG2, fixed=True, refuted=True),  # 2
    printed("node-log2-K2-fixed-H2", two_steps, 2.75, 2, 1, NODE, LOG2, fixed=True, refuted=True),  # 1.5
    printed("node-log2-K2-fixed-H2-R2", two_steps, 2.75, 2, 2, NODE, LOG2, fixed=True, refuted=True),  # 3
    printed("tree-log2-K2", two_actions, 2.0, 2, 1, TREE, LOG2, refuted=True),  # 2
    printed("tree-ln-K4", two_actions, 2.0, 4, 3, TREE, LN, refuted=True),  # 2.081
    printed("node-log2-K2-fixed-H1", one_step, 2.5, 2, 1, NODE, LOG2, fixed=True),  # 1
    printed("node-log2-K8-fixed-H1", one_step, 1.0, 8, 7, NODE, LOG2, fixed=True),  # 1
    printed("tree-log2-K4", two_actions, 1.0, 4, 3, TREE, LOG2),  # 1
    printed("tree-log2-K32", two_actions, 1.0, 32, 31, TREE, LOG2),  # 0.4
    printed("tree-ln-K24", two_actions, 1.0, 24, 23, TREE, LN),  # 0.990
    fair,
    subject("corrected-K8", Central.corrected(1.0, two_actions, 8)),
    subject("corrected-fixed-H2", Central.corrected(1.0, two_steps, 2, fixed_start=True)),
    subject("corrected-discrete", Central.corrected(1.0, two_actions, 2, discrete=True)),
    subject("corrected-rewards", Central.corrected(1.0, replace(two_actions, rewards=True), 2)),
    replace(
        fair,
        name="corrected-absent-user",  # 0.5
        claim=absent_claim.with_number(0.5),
        pairs=(absence(constant(two_actions, 2), 0),),
        statement=STATEMENT + " (scale D L / eps; against an absent user half of eps)",
    ),
    planted(fair, "half-noise", half_noise(right)),
    planted(fair, "add-remove-scale", add_remove_scale(right)),
    planted(fair, "summed-visits", SummedVisits(right), trials=10_000),
    planted(fair, "shared-noise", SharedNoise(right), trials=10_000),
]

# 64 users spread over a game with 16 cells a step. At eps = 1 E is 100 times what they could count, and nothing can be
# underestimated; at eps = 1000 a sixth of the true counts lie above E/2 (a test asserts both).
BETA = 0.05
wide = CountLayout(H=4, S=4, A=2, B=2)
ASSUMPTION = "Lemma 5.1: Assumption 3.1 after every episode, with E four times the exact quantile of the noise"


def crowd_of(users: int) -> Trajectories:
    return uniform(wide, users, rng=stream(0, Stage.EXPERIMENT))


crowd = crowd_of(64)


def assumption(name: str, eps: float = 1000.0, trials: int = 50, **options: Any) -> Promise:
    """63 releases, for none is used after the last episode."""
    private = Central.corrected(eps, wide, 64, releases=63)
    settings: dict[str, Any] = {"statement": ASSUMPTION, "paper": NASH_VI, "trials": trials, **options}
    return central_promise(private, crowd, BETA, name=name, **settings)


def tight(name: str, *, times: float = 1.0, **options: Any) -> Promise:
    """The closed form, which the learners are told; 16 users, any eps: all scales with 1/eps."""
    private, users = Central.corrected(1.0, wide, 16), crowd_of(16)
    exact = np.cumsum(wide.pack(users.per_user()), axis=0)

    def errors(rng: np.random.Generator, size: int) -> Array:
        return np.asarray(np.abs(private.release(users, rng=rng, size=size) - exact).max(axis=(1, 2)))

    statement = "E/4 is at most 4 times the exact quantile of the noise"
    bound = times * private.noise_bound(BETA)
    return tightness_promise(errors, bound, BETA, name=name, trials=250, statement=statement, **options)


promises = [
    assumption("assumption-3.1-central", trials=220),
    assumption("assumption-3.1-central, eps = 1", eps=1.0, expected=INCONCLUSIVE, statement=ASSUMPTION + "; eps = 1"),
    assumption("assumption-3.1-central, E/4", error_scale=0.25, expected=BROKEN, statement=ASSUMPTION + "; E/4"),
    assumption("assumption-3.1-central, no shift", shift=False, expected=BROKEN, statement=ASSUMPTION + "; no shift"),
    tight("tightness-E"),
    tight("tightness-E, 100 E", times=100, expected=BROKEN),
]

promises = unnamed(promises)
