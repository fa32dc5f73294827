"""Suites of 50 audits, half of them true claims at their boundary: errors and power of the family procedures.

Randomised response against a claimed eps = 1 at a family-wise error of 0.05; violations have a true eps of 1.2 and
2000 trials an audit, where single shares of the error catch most but not all.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy import special, stats

from dpverify import Pair, PureDP
from dpverify.auditing.pipeline import audit
from dpverify.auditing.statuses import Verdict
from dpverify.evidence.betting import EProcess
from dpverify.evidence.bounds import BinomialTest
from dpverify.evidence.tally import Tally
from dpverify.suite.result import BONFERRONI, E_BH, HOLM, judged_together, SuiteResult
from mechanisms.releases.randomised_response import RandomisedResponse

CLAIMS, TRUE, TRIALS, ALPHA = 50, 25, 2000, 0.05
EPS = np.where(np.arange(CLAIMS) < TRUE, 1.0, 1.2)


@pytest.fixture(scope="module")
def template():
    record = audit(RandomisedResponse(eps=1.0), claim=PureDP(1.0), pair=Pair(0, 1), trials=100, seed=0)
    return replace(record, significance=ALPHA / CLAIMS)


def suites(template, runs, evidence, family, seed):
    """Number of wrongly and of rightly refuted claims in each suite, shape (runs, 2)."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(runs):
        rights = rng.binomial(TRIALS, special.expit(EPS))
        records = tuple(replace(template, subject=str(i), **evidence(int(v))) for i, v in enumerate(rights))
        result = SuiteResult(records=records, failures=(), seed=0, family_wise_error=ALPHA, environment={})
        fallen = [record.verdict is Verdict.REFUTED for record in judged_together(result, family).records]
        found.append((sum(fallen[:TRUE]), sum(fallen[TRUE:])))
    return np.array(found)


def by_p_value(right):
    p = BinomialTest().p_value(Tally.of(right, TRIALS - right, TRIALS), eps=1.0, delta=0.0)
    return {"p_value": p, "verdict": Verdict.REFUTED if p <= ALPHA / CLAIMS else Verdict.NOT_REFUTED}


def by_wealth(right):
    process = EProcess(claim_eps=1.0, delta=0.0, grid=[1.0])
    half = right // 2  # two looks: the second block is bet on with what the first showed
    process.update(Tally.of(half, TRIALS // 2 - half, TRIALS // 2))
    process.update(Tally.of(right - half, TRIALS // 2 - (right - half), TRIALS // 2))
    fallen = process.refuted(ALPHA / CLAIMS)
    values = {"p_value": process.p_value, "e_value": process.e_value, "sequential": True}
    return {**values, "verdict": Verdict.REFUTED if fallen else Verdict.NOT_REFUTED}


def test_holm_holds_the_family_wise_error_and_catches_more(template):
    runs = 400
    plain = suites(template, runs, by_p_value, BONFERRONI, seed=31)
    holm = suites(template, runs, by_p_value, HOLM, seed=31)  # the same suites
    errors = int((holm[:, 0] > 0).sum())
    print(f"family-wise error {errors / runs}, power {holm[:, 1].mean() / (CLAIMS - TRUE)} (Holm)")
    print(f"family-wise error {(plain[:, 0] > 0).mean()}, power {plain[:, 1].mean() / (CLAIMS - TRUE)} (Bonferroni)")
    # with error 0.05 more than 35 of 400 suites have probability below 1e-3
    assert stats.binom.sf(35, runs, ALPHA) < 1e-3
    assert errors <= 35
    assert (holm >= plain).all()
    # measured: error .033 and .023, power .82 and .77
    assert holm[:, 1].sum() > 1.04 * plain[:, 1].sum()


def test_e_bh_holds_the_false_discovery_rate_and_catches_more(template):
    runs = 60
    plain = suites(template, runs, by_wealth, BONFERRONI, seed=32)
    bh = suites(template, runs, by_wealth, E_BH, seed=32)
    share = bh[:, 0] / np.maximum(1, bh.sum(axis=1))
    print(f"false discoveries {share.mean()}, power {bh[:, 1].mean() / (CLAIMS - TRUE)} (e-BH)")
    print(f"power {plain[:, 1].mean() / (CLAIMS - TRUE)} (Bonferroni on wealth)")
    # e-values are cautious: measured 0 false discoveries, power .60 against .32
    assert share.mean() <= ALPHA
    assert (bh >= plain).all()
    assert bh[:, 1].sum() > 1.2 * plain[:, 1].sum()
