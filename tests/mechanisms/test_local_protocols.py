"""Local protocols: laws by enumeration, exact eps against the claim, unbiased estimates, draws against the law."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

from audits.audit_local_protocols import subjects
from dpverify import account, exact, Pair
from dpverify.base.seeding import Stage, stream
from dpverify.errors import ParameterError, TargetError
from mechanisms.releases.fake_data import FakeData
from mechanisms.releases.local_hashing import LocalHashing
from mechanisms.releases.randomised_response import RandomisedResponse
from mechanisms.releases.rappor import Rappor
from mechanisms.releases.subset_selection import SubsetSelection
from mechanisms.releases.unary_encoding import UnaryEncoding

K = 4
LEVEL = 1e-6  # of every chi-square test below; 20,000 reports
EPSILONS = (0.05, 1.0, 3.0, 8.0)
Law = dict[tuple[int, ...], float]


def unary(m: UnaryEncoding, value: int) -> Law:
    """Independent bits, by their definition."""
    law = {}
    for bits in itertools.product((0, 1), repeat=m.k):
        chances = [m.p if i == value else m.q for i in range(m.k)]
        law[bits] = math.prod(c if bit else 1 - c for bit, c in zip(bits, chances, strict=True))
    return law


def subset(m: SubsetSelection, value: int) -> Law:
    law = {}
    for members in itertools.combinations(range(m.k), m.w):
        chance = m.p / math.comb(m.k - 1, m.w - 1) if value in members else (1 - m.p) / math.comb(m.k - 1, m.w)
        law[tuple(int(i in members) for i in range(m.k))] = chance
    return law


def hashing(m: LocalHashing, value: int) -> Law:
    law, lie = {}, m.response.lie
    for hashes in itertools.product(range(m.g), repeat=m.k):
        for sent in range(m.g):
            law[(*hashes, sent)] = (1 - lie if sent == hashes[value] else lie / (m.g - 1)) / m.g**m.k
    return law


def rappor(m: Rappor, value: int) -> Law:
    """Over permanent bits first, then over reports."""
    law: Law = {}
    filled = [int(i // m.hashes == value) for i in range(m.k * m.hashes)]
    for counts in itertools.product(range(m.reports + 1), repeat=len(filled)):
        law[counts] = math.prod(
            sum(
                (1 - m.flip if permanent == bit else m.flip)
                * stats.binom.pmf(count, m.reports, m.one if permanent else m.zero)
                for permanent in (0, 1)
            )
            for bit, count in zip(filled, counts, strict=True)
        )
    return law


def fake(m: FakeData, record: Any) -> Law:
    """Over the picked attribute."""
    law = {}
    for reports in itertools.product(*map(range, m.sizes)):
        total = 0.0
        for j, response in enumerate(m.responses):
            own = 1 - response.lie if reports[j] == record[j] else response.lie / (response.k - 1)
            total += own / math.prod(k for other, k in enumerate(m.sizes) if other != j)
        law[reports] = total / len(m.sizes)
    return law


def protocols(eps: float) -> list[tuple[Any, Any]]:
    return [
        (UnaryEncoding.symmetric(eps, K), unary),
        (UnaryEncoding.optimised(eps, K), unary),
        (UnaryEncoding.thresholded(eps, K), unary),
        (SubsetSelection(eps=eps, k=K), subset),
        (SubsetSelection(eps=eps, k=7), subset),
        (LocalHashing.binary(eps, K), hashing),
        (LocalHashing(eps=eps, k=3, g=4), hashing),
    ]


def largest_ratio(first: Law, second: Law) -> float:
    return max(abs(math.log(first[o] / second[o])) for o in first)


@pytest.mark.parametrize("eps", EPSILONS)
def test_exact_eps_equals_the_claim_and_is_never_above_it(eps: float) -> None:
    """By the law of every report, for all pairs of values; the thresholded histogram alone has slack."""
    for mechanism, law in protocols(eps):
        laws = [law(mechanism, value) for value in range(mechanism.k)]
        assert all(math.fsum(each.values()) == pytest.approx(1, abs=1e-12) for each in laws)
        worst = max(largest_ratio(a, b) for a, b in itertools.permutations(laws, 2))
        assert worst <= eps * (1 + 1e-12)
        if mechanism != UnaryEncoding.thresholded(eps, K):
            assert worst == pytest.approx(eps, rel=1e-9)
        assert account(mechanism.ledger) <= mechanism.claim.eps
        assert account(mechanism.ledger) == pytest.approx(worst, rel=1e-9)


def test_the_slack_of_thresholded_histograms() -> None:
    """theta = 0.67, eps = 1: p and q by the Laplace law itself, and eps by the bits."""
    mechanism = UnaryEncoding.thresholded(1.0, K)
    noise = stats.laplace(scale=2.0)
    assert mechanism.p == pytest.approx(noise.sf(0.67 - 1), rel=1e-12)
    assert mechanism.q == pytest.approx(noise.sf(0.67), rel=1e-12)
    assert mechanism.exact_eps == pytest.approx(special.logit(noise.sf(-0.33)) - special.logit(noise.sf(0.67)))
    assert 0.8 < mechanism.exact_eps < 1.0


@pytest.mark.parametrize(("reports", "hashes"), [(1, 1), (3, 1), (1, 2)])
def test_rappor_law_and_claim(reports: int, hashes: int) -> None:
    mechanism = Rappor(k=2, hashes=hashes, reports=reports)
    laws = [rappor(mechanism, value) for value in (0, 1)]
    assert largest_ratio(*laws) == pytest.approx(mechanism.exact_eps, rel=1e-9)
    assert account(mechanism.ledger) == pytest.approx(mechanism.exact_eps, rel=1e-9)
    assert mechanism.exact_eps < mechanism.claim.eps == pytest.approx(2 * hashes * math.log(3))
    if reports == hashes == 1:  # equation of the paper: h ln(q*(1 - p*)/(p*(1 - q*)))
        p, q = 0.25 * 0.75 + 0.75 * 0.5, 0.25 * 0.5 + 0.75 * 0.75
        assert mechanism.exact_eps == pytest.approx(math.log(q * (1 - p) / (p * (1 - q))))


@pytest.mark.parametrize("sizes", [(2, 2), (3, 3, 3), (2, 5), (10, 2)])
def test_fake_data_amplifies_for_one_attribute_of_equal_sizes_alone(sizes: tuple[int, ...]) -> None:
    """All pairs of records by enumeration: eps for one attribute, the inner eps for whole records."""
    one = FakeData(eps=1.0, sizes=sizes)
    whole = FakeData(eps=1.0, sizes=sizes, whole=True)
    laws = {record: fake(one, record) for record in itertools.product(*map(range, sizes))}
    assert math.fsum(next(iter(laws.values())).values()) == pytest.approx(1, abs=1e-12)
    pairs = list(itertools.combinations(laws, 2))
    single = [pair for pair in pairs if sum(a != b for a, b in zip(*pair, strict=True)) == 1]
    largest = [max(largest_ratio(laws[a], laws[b]) for a, b in some) for some in (single, pairs)]
    assert largest == pytest.approx([one.exact_eps, whole.exact_eps], rel=1e-9)
    assert [account(one.ledger), account(whole.ledger)] == pytest.approx(largest, rel=1e-9)
    assert account(one.ledger) <= one.claim.eps
    assert whole.exact_eps == pytest.approx(math.log(len(sizes) * (math.e - 1) + 1))
    if len(set(sizes)) == 1:
        assert one.exact_eps == pytest.approx(1.0, rel=1e-9)
    else:
        assert one.exact_eps > 1.05  # the published amplification needs equal sizes


def test_dpverify_enumerates_the_release_itself() -> None:
    """Finite draws: the code of the release, not a formula, has the claimed eps on these pairs."""
    for mechanism, pair in [
        (UnaryEncoding.optimised(1.0, 3), Pair(0, 2)),
        (LocalHashing.binary(1.0, 2), Pair(0, 1)),
        (FakeData(eps=1.0, sizes=(2, 2)), Pair([0, 1], [1, 1])),
    ]:
        found = exact(mechanism, pair=pair)
        assert found.status == "EXACT"
        assert found.eps_lower == pytest.approx(1.0, rel=1e-9)
        assert found.eps_upper == pytest.approx(1.0, rel=1e-9)


def estimators() -> list[tuple[Any, Any, Any]]:
    return [
        *((m, law, m.estimate) for m, law in protocols(1.0)),
        *((m, rappor, m.estimate) for m in [Rappor(k=2, reports=2)]),
    ]


def test_estimates_are_unbiased() -> None:
    """Expectation over the exact law of one report: 1 for the true value, 0 for the others."""
    for mechanism, law, estimate in estimators():
        for value in range(mechanism.k):
            mean = sum(chance * estimate(np.array([report])) for report, chance in law(mechanism, value).items())
            assert mean == pytest.approx(np.eye(mechanism.k)[value], abs=1e-9)
    for response in (RandomisedResponse(eps=0.7), RandomisedResponse(eps=1.0, k=5)):
        for value, law in enumerate(response.law):
            mean = sum(chance * response.estimate(np.array([report])) for report, chance in enumerate(law))
            assert mean == pytest.approx(np.eye(response.k)[value], abs=1e-9)
    mechanism = FakeData(eps=1.0, sizes=(2, 5))
    for attribute, k in enumerate(mechanism.sizes):
        mean = sum(c * mechanism.estimate(np.array([r]), attribute) for r, c in fake(mechanism, (1, 3)).items())
        assert mean == pytest.approx(np.eye(k)[(1, 3)[attribute]], abs=1e-9)


@pytest.mark.parametrize("number", range(8))
def test_draws_follow_the_law(number: int) -> None:
    """Chi-square over all reports, level 1e-6; halving or doubling e^eps of a protocol is caught with power > 0.999."""
    cases = [
        *protocols(1.0)[:4],
        *protocols(1.0)[5:],
        (Rappor(k=2, reports=2), rappor),
        (FakeData(eps=1.0, sizes=(2, 3)), fake),
    ]
    mechanism, law = cases[number]
    value: Any = (1, 2) if isinstance(mechanism, FakeData) else 1
    outputs = mechanism.release(np.array(value), rng=stream(number, Stage.SHAPE), size=20_000)
    expected = law(mechanism, value)
    seen, counts = np.unique(outputs.reshape(20_000, -1), axis=0, return_counts=True)
    observed = dict(zip(map(tuple, seen.tolist()), counts.tolist(), strict=True))
    assert set(observed) <= set(expected)
    large = [o for o in expected if expected[o] * 20_000 >= 5]
    rest = 1 - math.fsum(expected[o] for o in large)
    f_obs = [observed.get(o, 0) for o in large]
    f_exp = [20_000 * expected[o] for o in large]
    if rest > 1e-9:
        f_obs, f_exp = [*f_obs, 20_000 - sum(f_obs)], [*f_exp, 20_000 * rest]
    total = sum(f_exp)
    assert stats.chisquare(f_obs, [each * 20_000 / total for each in f_exp]).pvalue > LEVEL


def test_log_ratios_are_those_of_the_law() -> None:
    for mechanism, law in [*protocols(1.0), (Rappor(k=2, reports=2), rappor)]:
        first, second = law(mechanism, 0), law(mechanism, 1)
        reports = np.array(list(first))
        assert mechanism.log_ratio(reports, Pair(0, 1)) == pytest.approx(
            [math.log(first[o] / second[o]) for o in first]
        )
    mechanism = FakeData(eps=1.0, sizes=(2, 3))
    first, second = fake(mechanism, (0, 2)), fake(mechanism, (1, 0))
    found = mechanism.log_ratio(np.array(list(first)), Pair([0, 2], [1, 0]))
    assert found == pytest.approx([math.log(first[o] / second[o]) for o in first])


def test_wrong_input_is_refused_in_words() -> None:
    for make in (
        lambda: UnaryEncoding.symmetric(31.0, K),
        lambda: UnaryEncoding.thresholded(1.0, K, theta=0.5),
        lambda: UnaryEncoding(k=K, eps=1.0, p=0.2, q=0.3),
        lambda: SubsetSelection(eps=math.nan, k=K),
        lambda: LocalHashing(eps=1.0, k=K, g=1),
        lambda: Rappor(k=2, one=0.5, zero=0.5),
        lambda: FakeData(eps=1.0, sizes=(3,)),
        lambda: UnaryEncoding.symmetric(1.0, K).release(K, rng=stream(0, Stage.SHAPE), size=1),
        lambda: FakeData(eps=1.0, sizes=(2, 2)).release([0, 2], rng=stream(0, Stage.SHAPE), size=1),
    ):
        with pytest.raises(ParameterError):
            make()
    with pytest.raises(TargetError):
        UnaryEncoding.symmetric(1.0, K).log_ratio(np.zeros((3, K + 1), dtype=int), Pair(0, 1))


def test_all_nine_are_audited() -> None:
    """With the k-ary response of audit_randomised_response; each has a twin, or is one formula with one that has."""
    names = {subject.name for subject in subjects if not subject.planted}
    wanted = {"sue", "oue", "the", "subset-selection", "binary-local-hashing", "optimised-local-hashing"}
    assert wanted | {"rappor-20-reports", "fake-data-one-attribute"} <= names
    assert sum(subject.planted for subject in subjects) >= 7
