"""`one_run`: what may be believed of a file of canaries, planted violations, and the checker on its records."""

import copy
import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpverify import ApproxDP, AuditRecord, check, GaussianDP, one_run, PureDP, Relation, TradeOff, ZCDP
from dpverify.base.seeding import derive
from dpverify.claims.claim import Claim
from dpverify.errors import ParameterError
from dpverify.report import json_file
from dpverify.suite.result import SuiteResult

M = 1000
CLAIM = ApproxDP(1.0, 1e-5)


def coins(m: int = M, seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).random(m) < 0.5


def scored(included: np.ndarray, sigma: float, seed: int = 4) -> np.ndarray:
    return included + np.random.default_rng(seed).normal(scale=sigma, size=included.size)


def document(record: AuditRecord) -> dict[str, Any]:
    seeded = replace(record, seed=derive(5, f"{record.subject}#0"))
    result = SuiteResult.of([seeded], seed=5, family_wise_error=record.significance)
    return dict(json.loads(json_file.render(result)))


def test_a_gaussian_run_keeps_its_claim_and_half_its_noise_does_not() -> None:
    included = coins(10_000)
    true = GaussianDP(0.5)
    for claim in (true, ApproxDP(true.eps, true.delta)):
        kept = one_run(included, scored(included, 2.0), claim=claim)
        assert (str(kept.verdict), str(kept.status)) == ("NOT_REFUTED", "OPEN")
        assert 0.3 * claim.number < kept.number_lower <= claim.number
        assert str(one_run(included, scored(included, 0.5), claim=claim).verdict) == "REFUTED"
    assert kept.trials == kept.budget == 10_000
    assert kept.score == "one run"
    assert kept.relation == str(Relation.ADD_OR_REMOVE_ONE)


def test_planted_violations_are_refuted() -> None:
    included = coins(10_000)
    noisy = scored(included, 2.0)
    leaking, forgotten = noisy.copy(), included + 0.0
    leaking[:500] = np.where(included[:500], 100.0, -100.0)
    for scores in (leaking, forgotten, scored(included, 1.0)):
        for claim in (GaussianDP(0.5), ApproxDP(GaussianDP(0.5).eps, 1e-5)):
            found = one_run(included, scores, claim=claim)
            assert str(found.verdict) == "REFUTED"
            assert (found.p_value or 1.0) <= 0.05


def test_a_million_canaries() -> None:
    included = coins(1_000_000)
    found = one_run(included, scored(included, 1.0), claim=ApproxDP(1.0, 1e-7))
    assert str(found.verdict) == "REFUTED"
    assert 0 < found.seconds < 10


@pytest.mark.parametrize(
    ("included", "scores", "verdict", "why"),
    [
        (np.arange(15) % 2, np.arange(15.0), "INCONCLUSIVE", "15 canaries"),
        (np.zeros(18), np.arange(18.0), "INVALID", "all 18 canaries are out"),
        (np.ones(M), np.arange(1.0 * M), "INVALID", "all 1000 canaries are in"),
        (np.arange(M) < 590, np.arange(1.0 * M), "INVALID", "590 of 1000 canaries are in: fair coins"),
        (coins(), np.where(np.arange(M) < 11, np.nan, np.arange(M)), "INVALID", "11 of 1000 scores are no finite"),
        (coins(), np.where(np.arange(M) < 11, np.inf, np.arange(M)), "INVALID", "11 of 1000 scores are no finite"),
        (coins(), np.full(M, 7.0), "INCONCLUSIVE", "all 1000 scores are equal"),
        (np.tile(coins()[:200], 5), np.arange(1.0 * M), "INVALID", "the coins of 1000 canaries repeat 200 of them"),
        (np.repeat(coins()[:200], 5), np.arange(1.0 * M), "INVALID", "the coins of 1000 canaries repeat 200 of them"),
        (np.arange(M) % 2, np.arange(1.0 * M), "INVALID", "the coins of 1000 canaries repeat 2 of them"),
        (coins(), np.ma.masked_array(coins(), np.arange(M) < 11), "INVALID", "11 of 1000 scores are no finite"),
    ],
)
def test_what_may_not_be_believed_has_no_bound(included: Any, scores: Any, verdict: str, why: str) -> None:
    found = one_run(included, scores, claim=CLAIM)
    assert str(found.verdict) == verdict
    assert why in " ".join([found.invalid, *found.notes])
    assert (found.eps_lower, found.number_lower, found.trials) == (0.0, 0.0, 0)
    assert check.check(document(found))[0] == []


def test_a_few_missing_scores_abstain_and_say_so() -> None:
    included = coins()
    scores = scored(included, 0.3)
    scores[[1, 5]] = np.nan, -np.inf
    found = one_run(included, scores, claim=CLAIM)
    assert str(found.verdict) == "REFUTED"
    assert any(note.startswith("2 scores are no finite") for note in found.notes)


@pytest.mark.parametrize(
    ("included", "scores", "more"),
    [
        (coins(), np.zeros(M - 1), {}),
        (np.full(M, 0.5), np.zeros(M), {}),
        (np.full(M, np.nan), np.zeros(M), {}),
        (coins(), ["a"] * M, {}),
        ([], [], {}),
        (coins(), np.zeros((M, 2)), {}),
        (coins(), np.zeros(M), {"second": np.zeros(3)}),
        (coins(), [0.5], {"second": np.zeros(M)}),
        (coins(), np.zeros(3), {"second": np.zeros(M)}),
        (coins(), [10**400] * M, {}),
        (np.ma.masked_array(coins(), np.arange(M) < 1), np.zeros(M), {}),
        (coins(), np.zeros(M), {"groups": ["a"]}),
        (coins(), np.zeros(M), {"significance": math.nan}),
        (coins(), np.zeros(M), {"claim": "approx:1,1e-5"}),
    ],
)
def test_what_cannot_be_read_is_refused(included: Any, scores: Any, more: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        one_run(included, scores, **{"claim": CLAIM, **more})


def test_the_order_of_the_rows_says_nothing() -> None:
    """Ties are broken by coins that do not know the rows: files that are sorted by their coins show no more."""
    included = coins()
    scores = np.round(scored(included, 1.0), 1)
    orders = (np.arange(M), np.argsort(included), np.argsort(~included))
    bounds = [one_run(included[rows], scores[rows], claim=CLAIM).eps_lower for rows in orders]
    assert max(bounds) - min(bounds) < 0.2 * min(bounds)
    assert one_run(included, scores, claim=CLAIM).eps_lower == bounds[0]  # and the same file shows the same
    blind = [one_run(included[rows], np.arange(M) % 2, claim=CLAIM) for rows in orders[1:]]
    assert [found.eps_lower for found in blind] == [0.0, 0.0]


def test_pairs_of_canaries_are_about_replacing_one() -> None:
    first_used = coins()
    first, second = scored(first_used, 0.7), scored(~first_used, 0.7, seed=8)
    found = one_run(first_used, first, second=second, claim=CLAIM)
    assert found.relation == str(Relation.REPLACE_ONE)
    assert found.number_lower > one_run(first_used, first, claim=CLAIM).number_lower


def test_groups_share_the_significance_and_the_most_telling_one_is_recorded() -> None:
    included = np.tile(coins(), 2)
    scores = np.concatenate([np.random.default_rng(9).normal(size=M), scored(coins(), 0.5)])
    names = ["early"] * M + ["late"] * M
    alone = one_run(included[M:], scores[M:], claim=CLAIM, significance=0.025)
    found = one_run(included, scores, claim=CLAIM, groups=names)
    assert found.number_lower == pytest.approx(alone.number_lower, rel=1e-9)
    assert found.trials == M
    assert any("record is that of late" in note for note in found.notes)
    assert sum(share for _, share in found.working.events) == pytest.approx(0.5)  # type: ignore[union-attr]
    assert check.check(document(found))[0] == []


CURVE = TradeOff(((0.0, 0.9999), (0.01, 0.94), (0.1, 0.7), (0.7, 0.1), (0.94, 0.01), (0.9999, 0.0)))


@pytest.mark.parametrize("claim", [PureDP(1.0), CLAIM, GaussianDP(0.5), ZCDP(0.1), CURVE, ApproxDP(6.0, 1e-5)])
def test_the_checker_computes_it_again_and_rejects_other_numbers(claim: Claim) -> None:
    included = coins()
    found = document(one_run(included, scored(included, 0.6), claim=claim))
    assert check.check(found)[0] == []
    record = found["records"][0]
    changes: list[dict[str, Any]] = [
        {"eps_lower": record["eps_lower"] * 1.05, "number_lower": record["number_lower"] * 1.05},
        {"eps_lower": record["eps_lower"] * 0.95},
        {"number_lower": record["number_lower"] * 0.95},
        {"right": record["right"] + 1, "wrong": record["wrong"] - 1},
        {"log10_p_value": record["log10_p_value"] - 1, "p_value": record["p_value"] / 10},
        {"working": {**record["working"], "trials": record["working"]["trials"] - 100}},
        {"working": {**record["working"], "events": [[k, 2 * share] for k, share in record["working"]["events"]]}},
    ]
    for change in changes[1:4] if isinstance(claim, ZCDP) else changes:  # each takes the checker seconds
        forged = copy.deepcopy(found)
        forged["records"][0].update(change)
        assert check.check(forged)[0], change


def test_scores_of_two_values_have_power() -> None:
    """715 of 1,000 binary guesses are right: randomised response of eps 0.92 shows 0.6, and never above the truth."""
    rng = np.random.default_rng(5)
    included = rng.random(1000) < 0.5
    right = rng.permutation(1000) < 715
    found = one_run(included, np.where(right, included, ~included).astype(float), claim=PureDP(0.3))
    assert str(found.verdict) == "REFUTED"
    assert 0.5 < found.eps_lower < math.log(715 / 285)
    assert any("coins of the audit's own" in note for note in found.notes)


@pytest.mark.parametrize("rows", [2, 5])
@pytest.mark.parametrize("shuffled", [True, False])
def test_several_rows_of_a_canary_need_ids(rows: int, shuffled: bool) -> None:
    rng = np.random.default_rng(6)
    included, scores = np.repeat(rng.random(200) < 0.5, rows), np.repeat(rng.normal(size=200), rows)
    order = rng.permutation(200 * rows) if shuffled else np.arange(200 * rows)
    found = one_run(included[order], scores[order], claim=CLAIM)
    assert str(found.verdict) == "INVALID"
    if shuffled:
        assert "Without ids of the canaries they cannot be told apart" in found.invalid
    told = one_run(rng.random(200) < 0.5, np.round(rng.normal(size=200), 1), claim=CLAIM)
    assert str(told.verdict) == "NOT_REFUTED"  # equal scores of distinct canaries are fine
