"""The facts of the tape: each test would fail if the fact's implementation were wrong."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from dpverify.base.seeding import Stage, stream
from dpverify.claims.claim import ApproxDP, GaussianDP, PureDP, ZCDP
from dpverify.claims.curves import RenyiDP
from dpverify.claims.neighbours import Pair, Relation
from dpverify.errors import ParameterError
from dpverify.ledger.events import (
    DiscreteLaplaceNoise,
    GaussianNoise,
    LaplaceNoise,
    Ledger,
    PureStep,
    Sensitivity,
    Shift,
)
from dpverify.suite.discovery import load_audits
from dpverify.tape import trace_result, witness
from dpverify.tape.forced import Moved, Pairing
from dpverify.tape.ledger_matching import conforms
from dpverify.tape.tracer import trace
from mechanisms.counters.stream import Stream
from mechanisms.counters.tree import BinaryCounter
from mechanisms.releases.discrete_gaussian import DiscreteGaussian
from mechanisms.releases.discrete_laplace import DiscreteLaplace
from mechanisms.releases.gaussian import Gaussian
from mechanisms.releases.laplace import Laplace
from mechanisms.releases.noisy_max import NoisyMax
from mechanisms.toolbox.noise_laws import DiscreteGaussianNoiseLaw as DiscreteGaussianNoiseLaw

AUDITS = Path(__file__).parents[2] / "audits"
ONE = Sensitivity(replace=Shift(1, 3))
STREAMS = Pair(Stream([1, 0, 1, 1, 0, 1]), Stream([1, 0, 0, 1, 0, 1]))
VECTORS = Pair(np.array([1.0, 2.0, 3.0]), np.array([2.0, 1.5, 3.0]))
WHOLE = Pair(np.array([1, 2, 3]), np.array([2, 1, 3]))
EXACT = {
    "laplace": (Laplace(scale=2.0, sensitivity=ONE), VECTORS),
    "gaussian": (Gaussian(sigma=2.0, sensitivity=ONE), VECTORS),
    "discrete laplace": (DiscreteLaplace(scale=2.0, sensitivity=ONE), WHOLE),
    "discrete gaussian": (DiscreteGaussian(sigma=2.0, sensitivity=ONE), WHOLE),
    "tree": (BinaryCounter.calibrated(6, 1.0), STREAMS),
    "tree nodes": (BinaryCounter.calibrated(6, 1.0, view="nodes"), STREAMS),
    "integer tree": (BinaryCounter(releases=6, noise=DiscreteGaussianNoiseLaw(2.0)), STREAMS),
}


@pytest.mark.parametrize("name", EXACT)
def test_f1_log_ratios_are_those_that_the_mechanism_knows(name: str) -> None:
    """Sum over materialisations = log density ratio of the output, written down independently, both orders."""
    target, pair = EXACT[name]
    for order, (one, two) in enumerate([(pair.first, pair.second), (pair.second, pair.first)]):
        for index in range(5):
            run = Pairing(target, one, two, seed=11, order=order).transcript(index)
            assert run.bad is None, run.bad
            output = np.asarray(run.output[1])
            assert run.log_ratio == pytest.approx(float(target.log_ratio(output, Pair(one, two))[0]), abs=1e-9)


def test_f5_failure_mass_is_the_exact_bound() -> None:
    for k in (1, 7, 64, 1000):
        for beta in (0.5, 0.05, 1e-6):
            found = trace_result.failure_mass(k, beta)
            assert (1 - found) ** k <= beta * (1 + 1e-9)
            assert (1 - found * (1 - 1e-6)) ** k >= beta
            assert found == pytest.approx(stats.beta.ppf(1 - beta, 1, k), rel=1e-9)


def test_f5_holds_for_laws_with_and_without_atoms() -> None:
    """Misses of P[L > largest] <= delta_k in 4,000 runs of k = 20 at beta = 0.1: exact test, level 1e-6, each law.

    Power: with delta_k for k = 40 instead, a quarter of the runs of the continuous law would miss.
    """
    rng = stream(5, Stage.TAPE, 0)
    delta = trace_result.failure_mass(20, 0.1)
    for draw, tail in (
        (lambda size: rng.exponential(size=size), lambda top: math.exp(-top)),
        (lambda size: rng.geometric(0.12, size=size).astype(float), lambda top: 0.88**top),
        (lambda size: np.where(rng.random(size) < 0.11, 3.0, 0.5), lambda top: 0.11 if top < 3 else 0.0),
    ):
        misses = sum(tail(trace_result.largest(each)) > delta for each in draw((4000, 20)).tolist())
        assert stats.binom.sf(misses - 1, 4000, 0.1) > 1e-6
    half = trace_result.failure_mass(40, 0.1)
    missed = sum(math.exp(-trace_result.largest(each)) > half for each in rng.exponential(size=(4000, 20)).tolist())
    assert stats.binom.sf(missed - 1, 4000, 0.1) < 1e-6


def test_f5_a_bad_transcript_leaves_nothing() -> None:
    assert trace_result.largest([0.1, math.inf]) == math.inf
    assert trace_result.largest([0.1, math.nan]) == math.inf
    assert trace_result.largest([]) == math.inf


def test_f6_covers_the_profile_of_gaussian_noise() -> None:
    """Truth from the closed form; 2,000 runs of k = 100 at beta = 0.1, exact test, level 1e-6; not loose."""
    rng, mu, eps = stream(6, Stage.TAPE, 0), 0.5, 0.3
    truth = stats.norm.cdf(mu / 2 - eps / mu) - math.exp(eps) * stats.norm.cdf(-mu / 2 - eps / mu)
    losses = rng.normal(mu * mu / 2, mu, (2000, 100))
    bounds = np.array([trace_result.loss_profile(each.tolist(), eps, 0.1) for each in losses])
    assert stats.binom.sf(int((bounds < truth).sum()) - 1, 2000, 0.1) > 1e-6
    assert np.median(bounds) < truth + 0.1
    assert trace_result.loss_profile([math.inf] * 5, eps, 0.1) == 1.0


def many_cells(data, *, rng, size):
    return data + rng.laplace(0.0, 10.0, (size, len(data)))


CROWD = Pair(np.zeros(40), np.ones(40))


def test_f3_chosen_signs_reach_the_ledger_where_samples_do_not() -> None:
    """40 coordinates with eps 0.1 each: the ledger says 4, samples have a mean of about 0.2."""
    pairing = Pairing(type("Crowd", (), {"release": staticmethod(many_cells)})(), *CROWD, seed=3, order=0)
    seen = pairing.transcript(0)
    assert seen.log_ratio < 2
    chosen = pairing.transcript(0, change=witness.signs(seen))
    assert chosen.log_ratio == pytest.approx(4.0, rel=1e-12)
    found = trace(many_cells, pair=CROWD, claim=PureDP(3.999), transcripts=10)
    assert found.status == "CONTRADICTED"
    assert found.witness is not None
    assert found.witness.kind == "signs"
    assert 3.999 < found.witness.log_ratio <= 4.0


def test_f2_a_true_claim_at_its_own_eps_stands() -> None:
    """Strict side: a transcript whose log ratio equals the claim refutes nothing."""
    assert trace(many_cells, pair=CROWD, claim=PureDP(4.0), transcripts=10).status == "DERIVED"


def beside(data, *, rng, size):
    return np.array([[np.sum(data) + rng.normal(), np.sum(data)]])


@pytest.mark.parametrize(
    ("claim", "falls"),
    [
        (PureDP(100.0), True),
        (ZCDP(100.0), True),
        (GaussianDP(100.0), True),
        (ApproxDP(1.0, 0.01), True),
        (RenyiDP(((2.0, 100.0),)), True),
    ],
)
def test_f4_exact_values_beside_shown_ones_are_infinite(claim, falls) -> None:
    found = trace(beside, pair=Pair(np.zeros(1), np.ones(1)), claim=claim, transcripts=12)
    assert found.status == "CONTRADICTED"
    assert found.witness is not None
    assert math.isinf(found.witness.log_ratio)
    assert found.eps() == math.inf


def test_f9_a_selection_is_not_refuted_by_its_own_noise() -> None:
    """Noisy max releases an index: its transcript has eps 5 and more, the claim 1 is true."""
    target = NoisyMax(eps=1.0, sensitivity=Sensitivity(replace=1))
    pair = Pair(np.zeros(5), np.ones(5))
    found = trace(target, pair=pair, claim=PureDP(1.0), transcripts=10)
    assert found.status == "DERIVED"
    assert found.eps() is not None
    assert found.eps() > 2
    assert found.witness is None


def moved(family="laplace", shifts=(1.0,), scale=2.0, other=None, kind="value", parameters=()) -> tuple[Moved, ...]:
    shift = np.array(shifts, dtype=float)
    scales = np.full(len(shift), scale)
    given = tuple(np.full(len(shift), each) for each in parameters)
    return (
        Moved(
            0,
            "x.py:93",
            family,
            kind,
            shift,
            scales,
            scales if other is None else np.full(len(shift), other),
            given,
            given,
            shift,
            np.sign(shift),
        ),
    )


def sense(*shifts: Shift) -> Sensitivity:
    return Sensitivity(replace=shifts)


LAPLACE = Ledger(LaplaceNoise(scale=2.0, sensitivity=sense(Shift(1, 3))))
NORMAL = Ledger(GaussianNoise(sigma=2.0, sensitivity=sense(Shift(2.0))))
DISCRETE = Ledger(DiscreteLaplaceNoise(scale=2.0, sensitivity=sense(Shift(1, 1), Shift(2, 1))))


@pytest.mark.parametrize(
    ("ledger", "seen", "word"),
    [
        (LAPLACE, moved(), "CONFORMS"),
        (LAPLACE, moved(shifts=(1, -1, 1)), "CONFORMS"),
        (LAPLACE, moved(shifts=(1, 1, 1, 1)), "UNMATCHED"),  # one more than declared
        (LAPLACE, moved(shifts=(1.001,)), "UNMATCHED"),  # farther
        (LAPLACE, moved(scale=1.999), "UNMATCHED"),  # less noise
        (LAPLACE, moved(scale=3.0), "CONFORMS"),
        (LAPLACE, moved(other=2.1), "UNMATCHED"),  # a scale that depends on the data
        (LAPLACE, moved(family="normal"), "UNMATCHED"),
        (LAPLACE, moved(kind="decision", parameters=(0.6,)), "UNMATCHED"),
        (LAPLACE, (*moved(shifts=(1, 1)), *moved(shifts=(1, 1))), "UNMATCHED"),  # used once each
        (LAPLACE, moved(shifts=(1, 1, 1, 1e-13)), "CONFORMS"),  # the rounding of a sum
        (LAPLACE, moved(shifts=(1, 1, 1, 1e-11)), "UNMATCHED"),
        (NORMAL, moved("normal", (2.0,)), "CONFORMS"),
        (NORMAL, moved("normal", (1.0, 1.0, 1.0, 1.0)), "CONFORMS"),  # l2
        (NORMAL, moved("normal", (1.0, 1.0, 1.0, 1.1)), "UNMATCHED"),
        (NORMAL, moved("normal", (2.0,), scale=1.9), "UNMATCHED"),
        (
            DISCRETE,
            moved("discrete_laplace", (2, 1), 1.0, parameters=(2.0,)),
            "CONFORMS",
        ),  # best fit, in this order too
        (DISCRETE, moved("discrete_laplace", (1, 2), 1.0, parameters=(2.0,)), "CONFORMS"),
        (DISCRETE, moved("discrete_laplace", (2, 2), 1.0, parameters=(2.0,)), "UNMATCHED"),
        (DISCRETE, moved("discrete_laplace", (1,), 1.0, parameters=(1.9,)), "UNMATCHED"),
        (DISCRETE, moved("discrete_laplace", (1,), 2.0, parameters=(2.0,)), "UNMATCHED"),
        (Ledger(), moved(), "UNMATCHED"),
        (Ledger(), (), "CONFORMS"),
        (Ledger(PureStep(eps=1.0, uses=sense(Shift(1)))), moved(), "UNDECIDED"),
        (Ledger(PureStep(eps=1.0, uses=sense(Shift(1)))), (), "CONFORMS"),
    ],
)
def test_f7_matching(ledger: Ledger, seen, word: str) -> None:
    found = conforms([(), seen], ledger, Relation.REPLACE_ONE)
    assert found.status == word
    assert bool(found.unmatched_draws) == (word != "CONFORMS")
    if word != "CONFORMS":
        assert found.unmatched_draws[0].site == "x.py:93"


def test_f7_domination_is_true_of_the_profiles() -> None:
    """What the matching accepts has a smaller profile than the event that it is matched with, by the accountant."""
    from dpverify.accounting.accountant import delta_upper

    for eps in (0.05, 0.2, 0.45):
        declared = delta_upper(LAPLACE, eps=eps, relation=Relation.REPLACE_ONE)
        for shift, scale in ((0.5, 1.0), (1.0, 2.0), (1.0, 5.0), (3.0, 6.0)):
            one = Ledger(LaplaceNoise(scale=scale, sensitivity=sense(Shift(shift, 3))))
            assert (
                conforms([moved(shifts=(shift,) * 3, scale=scale)], LAPLACE, Relation.REPLACE_ONE).status == "CONFORMS"
            )
            assert delta_upper(one, eps=eps, relation=Relation.REPLACE_ONE) <= declared * (1 + 1e-9)


def test_f8_the_envelope_is_that_of_the_costliest_transcript_whatever_its_units() -> None:
    seen = [moved(shifts=(1, 1)), moved(shifts=(1, 2)), moved(shifts=(2,), scale=4.0)]
    found = trace_result.envelope(seen)
    assert found is not None
    sizes = {(event.scale, event.sensitivity.replace[0].size): times for event, times in found.counted}
    assert sizes == {(2.0, 1.0): 1, (2.0, 2.0): 1}
    assert trace_result.envelope([moved(other=3.0)]) is None
    assert trace_result.envelope([moved("gumbel")]) is None


@pytest.mark.parametrize("name", EXACT)
def test_half_the_noise_under_the_same_ledger_is_contradicted_with_its_line(name: str) -> None:
    target, pair = EXACT[name]
    assert trace(target, pair=pair, transcripts=10).status == "CONFORMS"
    found = trace(target.with_noise(0.5), pair=pair, ledger=target.ledger, transcripts=10)
    assert found.status in ("CONTRADICTED", "UNDECIDED")  # by a witness where this pair loses more than the ledger
    assert any("noise_laws.py:" in reason.site for reason in found.reasons)


@pytest.mark.parametrize("name", ["laplace", "gaussian", "discrete_laplace"])
def test_planted_twins_are_never_fine_under_the_honest_ledger(name: str) -> None:
    subjects = {each.name: each for each in load_audits(AUDITS / f"audit_{name}.py")[0]}
    twins = [each for each in subjects.values() if each.planted]
    assert twins
    for twin in twins:
        honest = subjects[twin.name.rpartition("!")[0]].target.ledger
        found = [trace(twin.target, pair=twin.claim.check(pair), ledger=honest, transcripts=8) for pair in twin.pairs]
        assert {each.status for each in found} & {"CONTRADICTED", "UNDECIDED", "NOT_TRACED"}, twin.name


def test_a_target_that_changes_its_data_is_noted_and_traced() -> None:
    def spoils(data, *, rng, size):
        data[0] += 1
        return data.sum() + rng.laplace(0.0, 2.0, size)

    found = trace(spoils, pair=Pair(np.zeros(3), np.array([0.0, 1.0, 0.0])), transcripts=5)
    assert found.status == "DERIVED"
    assert any("MUTATED" in note for note in found.notes)


@pytest.mark.parametrize(
    "wrong",
    [
        {"transcripts": 0},
        {"confidence": 1.0},
        {"confidence": math.nan},
        {"seed": -1},
        {"timeout": 0.0},
        {"pair": (1, 2)},
    ],
)
def test_wrong_arguments_are_refused(wrong) -> None:
    with pytest.raises(ParameterError):
        trace(many_cells, **{"pair": CROWD, **wrong})


def private_program(seed: int):
    """A random program: noisy sums of random parts, adaptive branches, loops; private with the returned eps."""
    r = stream(seed, Stage.TAPE, 50)
    steps = [(int(r.integers(4)), float(r.uniform(3, 9)), int(r.integers(3))) for _ in range(int(r.integers(1, 5)))]

    def release(data, *, rng, size):
        seen = [0.0]
        for column, scale, kind in steps:
            value = data[column] if seen[-1] < 5 else data.sum()
            if kind == 0:
                seen.append(value + rng.laplace(0.0, scale))
            elif kind == 1:
                seen.append(float(rng.laplace(value, scale)))
            else:
                seen.append(float(np.mean(seen)) * 0 + float(scale * (value / scale + rng.laplace())))
        return np.array([seen])

    return release, sum(1 / scale for _, scale, _ in steps)


@pytest.mark.parametrize("seed", range(16))
def test_random_private_programs_are_not_refuted(seed: int) -> None:
    """Claim: the exact sum; the pair moves every part by at most 1 and the sum by 1."""
    release, eps = private_program(seed)
    found = trace(
        release, pair=Pair(np.array([1.0, 2, 3, 4]), np.array([1.0, 2, 2, 4])), claim=PureDP(eps), transcripts=10
    )
    assert found.status in ("DERIVED", "CONFORMS"), found.reasons
    assert max(each for order in found.log_ratio for each in order) <= eps * (1 + 1e-9)
