"""Local privatizer of DP-Nash-VI, Lemma 5.4: false as printed (2 eps), true as corrected and in special cases."""

from dataclasses import replace

from audits.papers import GARBLED, NASH_VI, unnamed
from audits.planted.local import BareVisits, SharedNoise, SparseNoise
from dpverify import Pair, planted, PureDP, Relation, Subject, Unit, View
from dpverify.promises import BROKEN
from mechanisms.datasets.pairs import absence, constant, worst_replacement
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.privatizers.error_bounds import assumption_promise, raw_promise, tight_noise_bound
from mechanisms.privatizers.local import Local

EPS = 1.0
TRIALS = 200_000
STATEMENT = "Lemma 5.4: the Local privatizer is eps-LDP"

one_step = CountLayout(H=1, S=1, A=2, B=1)
two_steps = CountLayout(H=2, S=1, A=2, B=1)
two_states = CountLayout(H=1, S=2, A=2, B=1)
single_action = CountLayout(H=1, S=2, A=1, B=1)


def worst(layout: CountLayout, *, fixed_start: bool = False) -> tuple[Pair, ...]:
    return (worst_replacement(constant(layout, 1), 0, fixed_start=fixed_start),)


printed = Subject(
    name="as-printed",  # true: 2 eps
    target=Local.as_printed(EPS, one_step),
    claim=Local.as_printed(EPS, one_step).claim,
    pairs=worst(one_step),
    trials=TRIALS,
    expected="REFUTED",
    accounted=False,
    paper=NASH_VI,
    statement=STATEMENT,
)
corrected = replace(
    printed,
    name="corrected",
    target=Local.corrected(EPS, one_step),
    expected="NOT_REFUTED",
    accounted=True,
    statement=STATEMENT + ", with the scale (D1 + D2)/eps = 4H/eps",
)
corrected_two_states = replace(
    corrected, name="corrected-two-states", target=Local.corrected(EPS, two_states), pairs=worst(two_states)
)
fair = Local.corrected(EPS, two_states)

subjects = [
    printed,
    replace(printed, name="as-printed-two-steps", target=Local.as_printed(EPS, two_steps), pairs=worst(two_steps)),
    replace(printed, name="as-printed-discrete", target=Local.as_printed(EPS, one_step, discrete=True)),
    replace(
        corrected,
        name="as-printed-single-action",  # true: eps
        target=Local.as_printed(EPS, single_action, fixed_start=True),
        pairs=worst(single_action, fixed_start=True),
        statement=STATEMENT + ", where it is right: AB = 1, fixed first state, H = 1",
    ),
    replace(
        corrected,
        name="as-printed-absent-user",  # true: eps
        target=Local.as_printed(EPS, one_step),
        claim=PureDP(EPS, relation=Relation.ADD_OR_REMOVE_ONE, unit=Unit.TRAJECTORY, view=View.LOCAL),
        pairs=(absence(constant(one_step, 1), 0),),
        statement=STATEMENT + ", against an absent user only",
    ),
    corrected,
    corrected_two_states,
    replace(corrected, name="corrected-two-steps", target=Local.corrected(EPS, two_steps), pairs=worst(two_steps)),
    replace(corrected, name="corrected-discrete", target=Local.corrected(EPS, one_step, discrete=True)),
    planted(corrected, "half-the-noise", replace(Local.corrected(EPS, one_step), scale=2.0 / EPS), accounted=False),
    planted(corrected_two_states, "shared-noise", SharedNoise(fair)),
    planted(corrected_two_states, "bare-visits", BareVisits(fair)),
    planted(corrected_two_states, "sparse-noise", SparseNoise(fair)),
]

BETA, USERS = 0.05, 200
crowd = constant(two_steps, USERS)
summed = Local.corrected(EPS, two_steps).with_users(USERS)
TIGHT = "E/4 is at most 4 times the exact quantile of the noise"
promises = [
    raw_promise(summed, crowd, BETA, name="raw counts", trials=20_000),
    assumption_promise(
        summed,
        crowd,
        BETA,
        name="post-processed",
        trials=20_000,
        paper=NASH_VI,
        statement="Lemma 5.4: Assumption 3.1 holds, with an explicit E",
    ),
    replace(
        raw_promise(summed, crowd, BETA, name="E of the paper with constant 1", trials=5_000, expected=BROKEN),
        bound=summed.paper_error_bound(BETA) / 4,
        paper=NASH_VI,
        statement="Lemma 5.4: E = O((H/eps) sqrt(K log)), with 1 for what O hides" + GARBLED,
    ),
    tight_noise_bound(summed, crowd, BETA, name="tightness-E", trials=250, statement=TIGHT),
    tight_noise_bound(
        summed, crowd, BETA, times=100, name="tightness-E, 100 E", trials=250, expected=BROKEN, statement=TIGHT
    ),
]

promises = unnamed(promises)
