"""Verdicts of a whole suite: Holm refutes what Bonferroni does and more, e-BH by wealth; bounds stay what they are."""

import math
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
from in_process import run_suite

from dpverify import Pair, PureDP, Subject
from dpverify.auditing.pipeline import audit
from dpverify.auditing.statuses import Verdict
from dpverify.promises import Outcomes, Promise
from dpverify.report import html_page, markdown, words
from dpverify.suite.result import BONFERRONI, E_BH, Failure, HOLM, judged_together, Settings

PAIRS = (Pair(0, 1), Pair(1, 0))


class Geometric:
    """x + two-sided geometric noise: true eps exactly `eps`."""

    def __init__(self, eps):
        self.eps = eps

    def release(self, data, *, rng, size):
        p = -math.expm1(-self.eps)
        return data + rng.geometric(p, size) - rng.geometric(p, size)

    def log_ratio(self, outputs, pair):
        return self.eps * (np.abs(outputs - pair.second) - np.abs(outputs - pair.first))


def subject(name, eps, pairs=PAIRS[:1], trials=3000):
    return Subject(name=name, target=Geometric(eps), claim=PureDP(1.0), pairs=pairs, trials=trials)


def suite(*subjects, promises=(), **settings):
    return run_suite(subjects, Settings(seed=5, **settings), promises=promises)


def with_values(result, **values):
    """The suite with other p- or e-values; a p-value alone, as in files of older versions."""
    if "p_value" in values:
        values["log10_p_value"] = values.get("log10_p_value", [None] * len(values["p_value"]))
    lists = zip(*values.values(), strict=True)
    records = [
        replace(record, verdict=Verdict.NOT_REFUTED, **dict(zip(values, each, strict=True)))
        for record, each in zip(result.records, lists, strict=True)
    ]
    return replace(result, records=tuple(records))


def refuted(result):
    return [record.verdict is Verdict.REFUTED for record in result.records]


@pytest.fixture(scope="module")
def three():
    return suite(subject("a", 1.0), subject("b", 1.0), subject("c", 1.0, PAIRS))  # four statements: shares of 0.0125


@pytest.mark.parametrize(
    ("p_values", "expected"),
    [
        ((0.012, 0.016, 0.05), (True, True, True)),  # .05/4, then .05/3, then two pairs are left: .05
        ((0.012, 0.017, 0.05), (True, False, False)),
        ((0.013, 0.0, 0.02), (True, True, True)),
        ((0.026, 0.2, 0.02), (False, False, True)),  # two pairs: .02 <= 2 * .05/4, then .05/2
        ((0.013, 0.2, 0.026), (False, False, False)),
    ],
)
def test_holm_passes_shares_on_by_weight(three, p_values, expected):
    assert refuted(judged_together(with_values(three, p_value=p_values), HOLM)) == list(expected)


def test_holm_orders_and_decides_by_logarithms_where_p_values_underflow(three):
    least = math.ulp(0.0)
    logs = [-4000.0, -330.0, -325.0]  # 1/4, 1/3 and 2/2 of the error: all fall
    judged = judged_together(with_values(three, p_value=[least] * 3, log10_p_value=logs), HOLM)
    assert refuted(judged) == [True, True, True]
    assert "10^-4000.0" in judged.records[0].notes[-1]


@pytest.mark.parametrize(
    ("e_values", "expected"),
    [
        ((80.1, 1.0, 1.0), (True, False, False)),  # 4/(0.05 * 1)
        ((40.1, 40.1, 0.0), (True, True, False)),  # 4/(0.05 * 2)
        ((79.0, 39.0, 1.0), (False, False, False)),
        ((27.0, 27.0, 13.5), (True, True, True)),  # two pairs: their e-values add up
    ],
)
def test_e_bh_adds_up_pairs(three, e_values, expected):
    assert refuted(judged_together(with_values(three, e_value=e_values), E_BH)) == list(expected)


def test_promises_and_failures_keep_their_shares():
    promise = Promise(
        name="p", draw=lambda *, rng, size: Outcomes(rng.random(size)), bound=0.95, failure_probability=0.1, trials=1000
    )
    broken = Subject(name="broken", target=lambda data, *, rng, size: 0.0, claim=PureDP(1.0), pairs=PAIRS[:1])
    result = suite(subject("a", 1.0), subject("b", 1.0), broken, promises=(promise,))
    assert len(result.records) == 2
    assert isinstance(result.failures[0], Failure)
    # four statements, of which two are never passed on: .05/4, then .05/3
    assert refuted(judged_together(with_values(result, p_value=(0.012, 0.017)), HOLM)) == [True, False]
    assert refuted(judged_together(with_values(result, p_value=(0.012, 0.016)), HOLM)) == [True, True]


@pytest.mark.parametrize(("family", "sequential"), [(HOLM, False), (HOLM, True), (E_BH, True)])
def test_families_refute_whatever_the_bounds_do(family, sequential):
    plain = suite(subject("a", 2.0, PAIRS), subject("b", 1.0), subject("c", 1.6), sequential=sequential)
    assert Verdict.REFUTED in [record.verdict for record in plain.records]
    together = judged_together(plain, family)
    assert all(now or not before for before, now in zip(refuted(plain), refuted(together), strict=True))
    assert [record.number_lower for record in together.records] == [record.number_lower for record in plain.records]
    assert together.family == family
    assert plain.family == BONFERRONI


@pytest.mark.parametrize("eps", [1.0, 1.3])
@pytest.mark.parametrize("sequential", [False, True])
def test_the_p_value_says_what_the_bound_says(eps, sequential):
    for seed in range(12):
        record = audit(
            Geometric(eps),
            claim=PureDP(1.0),
            pair=PAIRS[0],
            trials=400,
            seed=seed,
            sequential=sequential,
            score="exact",
        )
        assert (record.p_value <= 0.05) == (record.verdict is Verdict.REFUTED)
        assert (record.e_value is None) is not sequential
        if sequential:
            assert record.e_value <= 1 / record.p_value * (1 + 1e-9)  # the wealth now is not the largest wealth


def test_further_refutations_are_told_in_every_report(three):
    result = judged_together(with_values(three, p_value=(0.012, 0.016, 0.9)), HOLM)
    record = result.records[1]
    assert record.refuted_by == HOLM
    assert record.number_lower <= record.claimed
    assert "refuted by Holm's step-down" in words.sentence(record)
    assert "does not contradict the claim" in words.sentence(record)
    assert result.exit_code == 1  # both claims were expected to stand
    said = "any claim is refuted wrongly with probability <= 0.05; 2 refuted, 2 of them not by their own bounds: a, b"
    assert said in words.family(result)
    assert said in markdown.render(result)
    assert said in unescape(html_page.render(result))
    assert "p-value of the claim 0.016" in "".join(html_page.unpack_details(html_page.render(result)))
