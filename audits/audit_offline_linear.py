"""DP-VAPVI: the lemma about its Gram noise is false, its theorem true for unit features and c = 1/sqrt 2."""

from dataclasses import replace

import numpy as np

from audits.papers import GARBLED, OFFLINE
from audits.planted.offline_linear import OneDraw
from dpverify import Pair, planted, Subject
from dpverify.trials.target import Array
from mechanisms.datasets.pairs import constant, worst_replacement
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.privatizers.linear_costs import appendix_features, StepCost
from mechanisms.privatizers.linear_noise import LinearNoise
from mechanisms.privatizers.offline_linear import OfflineLinear, Statistic

THEOREM = "Theorem 4.1: DP-VAPVI is rho-zCDP"
LEMMA = "Lemma D.1: each Gram statistic is rho_0-zCDP"
GRAM = (Statistic.GRAM2,)
FIVE_RHO0 = 5.0  # H = 1: rho_0 = 1


def two_features(cosine: float) -> Array:
    """(1, 2, 2): two unit features with this inner product."""
    return np.array([[[1.0, 0.0], [cosine, np.sqrt(1 - cosine**2)]]])


def worst_features(noise: LinearNoise, *, split: bool) -> Array:
    """Two unit features at which step 1 of H = 1 costs most."""
    grams = [noise.gram_sigma] * (1 if split else 2)
    return two_features(StepCost.of([(1, noise.vector_sigmas[2])], grams).worst_cosine())


def one_step(noise: LinearNoise, features: Array, *, split: bool = False, **options: object) -> OfflineLinear:
    return OfflineLinear(noise=noise, features=features, values=np.zeros((1, 1)), split=split, **options)  # type: ignore[arg-type]


def swap(A: int = 2) -> Pair:
    """One of three users takes action 1 instead of 0; rewards stay 1."""
    data = constant(CountLayout(H=1, S=1, A=A), 3, reward=1.0)
    other = data.actions.copy()
    other[0] = 1
    return Pair(data, replace(data, actions=other), name="action 1 instead of 0")


printed, half = LinearNoise.as_printed(1.0, 1, 2), LinearNoise.as_printed(1.0, 1, 2, half=True)
gram = one_step(LinearNoise.as_printed(FIVE_RHO0, 1, 2), two_features(0.0), statistics=GRAM)
fixed = one_step(LinearNoise.corrected(FIVE_RHO0, 1, 2), two_features(0.0), statistics=GRAM)
whole = one_step(printed, worst_features(printed, split=False))

gram_alone = Subject(
    name="gram-alone-as-printed",  # true: 2 rho_0
    target=gram,
    claim=gram.claim.with_number(1.0),
    pairs=(swap(),),
    trials=100_000,
    expected="REFUTED",
    accounted=False,
    paper=OFFLINE,
    statement=LEMMA,
)
gram_corrected = replace(
    gram_alone,
    name="gram-alone-corrected",
    target=fixed,
    expected="NOT_REFUTED",
    accounted=True,
    statement=LEMMA + ", with Z_ij ~ N(0, 1/(2 rho_0))",
)
unsplit = Subject(
    name="unsplit",  # true: 0.903 rho
    target=whole,
    claim=whole.claim,
    pairs=(swap(),),
    trials=200_000,
    accounted=True,
    paper=OFFLINE,
    statement=THEOREM,
)


def appendix(H: int, features: Array, *, unit_ball: bool) -> OfflineLinear:
    """The un-split statistics of Appendix F, with V = H - h everywhere: the worst there is."""
    values = np.tile(np.arange(H - 1, -1, -1.0)[:, None], (1, 2))
    noise = LinearNoise.as_printed(1.0, H, features.shape[-1])
    return OfflineLinear(noise=noise, features=features, values=values, unit_ball=unit_ball)


def actions_of(first: int, second: int, H: int) -> Pair:
    """One user takes `second` instead of `first` in every step; everybody is in state 0."""
    data = constant(CountLayout(H=H, S=2, A=100), 3, reward=1.0)
    left, right = data.actions.copy(), data.actions.copy()
    left[0], right[0] = first, second
    return Pair(replace(data, actions=left), replace(data, actions=right), name=f"{second} not {first}")


two_steps = OfflineLinear(
    noise=LinearNoise.as_printed(1.0, 2, 2), features=two_features(0.0), values=np.array([[1.0], [0.0]])
)

both_steps = replace(
    unsplit,
    name="two-steps",
    target=two_steps,
    pairs=(worst_replacement(constant(CountLayout(H=2, S=1, A=2), 3), 0),),
)

subjects = [
    gram_alone,
    gram_corrected,
    unsplit,
    replace(
        unsplit,
        name="split",  # true: 0.506 rho
        target=one_step(printed, worst_features(printed, split=True), split=True),
    ),
    replace(
        unsplit,
        name="unsplit-half",  # true: 1.70 rho
        target=one_step(half, worst_features(half, split=False)),
        trials=400_000,
        expected="REFUTED",
        accounted=False,
        paper="",
        statement=THEOREM + ", with the Gram noise read as (Z + Z^T)/2" + GARBLED,
    ),
    replace(
        unsplit,
        name="appendix-features",  # true: 23.1 rho
        target=appendix(20, appendix_features(), unit_ball=False),
        pairs=(actions_of(63, 64, 20),),
        trials=2_000,
        expected="REFUTED",
        accounted=False,
        statement="Appendix F as simulated: rho-zCDP with features of squared length up to 7, un-split",
    ),
    replace(
        unsplit,
        name="appendix-features-scaled",
        target=appendix(3, appendix_features() / np.sqrt(7), unit_ball=True),
        pairs=(actions_of(63, 64, 3),),
        trials=100_000,
        statement="Appendix F with features divided by sqrt 7",
    ),
    planted(
        gram_corrected,
        "halved-symmetrisation",
        one_step(replace(fixed.noise, c_squared=half.c_squared), two_features(0.0), statistics=GRAM),
        accounted=False,
    ),
    both_steps,
    planted(both_steps, "one-draw", OneDraw(two_steps)),
]
