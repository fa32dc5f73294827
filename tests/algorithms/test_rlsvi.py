"""RLSVI without a privatizer: laws of transcripts are exact, and what is certified is below them."""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from algorithms.beyond import rlsvi
from algorithms.beyond.rlsvi import (
    Agreement,
    formula,
    LogRatio,
    noise_variance,
    paid_or_not,
    policy_law,
    RLSVI,
    told_to_others,
    transcript_laws,
)
from algorithms.core.counting import ExactSource
from algorithms.experiments.rlsvi import DELTA, measure, SIZES
from algorithms.study import steady_pair
from dpverify import ApproxDP, audit, Unit, View
from dpverify.errors import ParameterError
from mechanisms.datasets.visit_counts import CountLayout

ROOT = Path(__file__).parents[2]
STORED = json.loads((ROOT / "docs/images/figures/rlsvi.json").read_text(encoding="utf-8"))["rows"]
LINE = CountLayout(H=2, S=1, A=2, rewards=True)


def test_one_step_has_the_closed_form():
    """With one step and two actions the difference of the values is normal: Phi of its mean over its deviation."""
    layout = CountLayout(H=1, S=1, A=2, rewards=True)
    visits, paid = np.array([[3.0, 1.0]]), np.array([[2.0, 0.0]])
    beta = noise_variance(layout, 5)
    first = stats.norm.cdf((2 / 4 - 0 / 2) / math.sqrt(beta / 4 + beta / 2))
    assert policy_law(layout, visits, paid, 5) == pytest.approx([first, 1 - first], abs=1e-12)


def test_a_finer_quadrature_gives_the_same_law(monkeypatch):
    visits, paid = np.array([[3.0, 1.0], [0.0, 4.0]]), np.array([[2.0, 0.0], [0.0, 4.0]])
    law = policy_law(LINE, visits, paid, 5)
    monkeypatch.setattr(rlsvi, "FINE", 2 * rlsvi.FINE)
    monkeypatch.setattr(rlsvi, "REACH", 1.2 * rlsvi.REACH)
    assert policy_law(LINE, visits, paid, 5) == pytest.approx(law, abs=1e-12)
    assert math.fsum(law) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("world", [0, 1])
def test_runs_follow_the_law(world):
    """Chi-square at level 1e-4; a law with the noise of another episode is refused (power above .999)."""
    layout, pair, runs = LINE, paid_or_not(LINE, 3), 200_000
    seen = told_to_others(layout, 0).release(pair[world], rng=np.random.default_rng(5), size=runs)
    cells = np.bincount(seen[:, :4].astype(int) @ [8, 4, 2, 1], minlength=16)
    laws = transcript_laws(layout, pair)
    assert stats.chisquare(cells, runs * laws[world]).pvalue > 1e-4
    wrong = np.roll(laws[world], 1)
    assert stats.chisquare(cells, runs * wrong).pvalue < 1e-4


def test_the_noise_is_that_of_russo():
    assert noise_variance(CountLayout(H=2, S=3, A=4), 5) == pytest.approx(3 * 8 * math.log(2 * 2 * 3 * 4 * 5) / 2)
    source = ExactSource(LINE)
    counts = LINE.unpack(np.zeros((100_000, LINE.cells)))
    counts.rewards[:, 1, 0, 0] = 1.0
    counts.visits[:, 1, 0, 0] = 1.0
    assert source.error == 0
    policies = RLSVI(LINE).plan(counts, rng=np.random.default_rng(1))
    visits, paid = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 0.0]])
    cells = np.bincount(policies[:, :, 0] @ [2, 1], minlength=4)
    assert stats.chisquare(cells, len(policies) * policy_law(LINE, visits, paid, 1)).pvalue > 1e-4


def test_several_states_have_no_law_here():
    layout = CountLayout(H=1, S=2, A=2, rewards=True)
    with pytest.raises(ParameterError, match=r"layout\.S"):
        transcript_laws(layout, steady_pair(layout, 2, 0))


def test_the_formula_is_the_abstracts():
    rho = 2 * 2 * 8 / (40**2 * math.log(2 * 40 * 2 * 2))
    stated = formula(CountLayout(H=40, S=2, A=2), 8, 1e-3)
    assert stated == pytest.approx(rho + 2 * math.sqrt(rho * math.log(1e3)))


def test_what_the_page_says_holds_for_the_stored_numbers():
    assert len(STORED) == len(SIZES) == 3
    for row, size in zip(STORED, SIZES, strict=True):
        assert row["formula"] == pytest.approx(formula(size.layout, size.users, DELTA))
        assert row["exact"] is None or 0 < row["lower"] <= row["exact"] < row["formula"]
    assert [row["exact"] is None for row in STORED] == [False, False, True]
    assert STORED[2]["lower"] > 10 * STORED[2]["formula"]  # what the paragraph says


def test_the_smallest_size_is_measured_as_stored():
    found = measure(SIZES[0], SIZES[0].trials)
    assert {key: STORED[0][key] for key in found} == pytest.approx(found)


def test_what_agrees_tells_where_the_hidden_user_was():
    """At H = 20 and 8 users eps is certified above the formula, at confidence 0.95 and with a fixed seed."""
    layout = CountLayout(H=20, S=2, A=2, rewards=True)
    claim = ApproxDP(formula(layout, 8, DELTA), DELTA, unit=Unit.TRAJECTORY, view=View.JOINT)
    record = audit(Agreement(layout), claim=claim, pair=steady_pair(layout, 8, 0), trials=5_000, seed=1)
    assert record.verdict == "REFUTED"


def test_the_log_ratio_is_that_of_the_listed_transcript():
    pair = paid_or_not(LINE, 3)
    laws = transcript_laws(LINE, pair)
    seen = told_to_others(LINE, 0).release(pair[0], rng=np.random.default_rng(2), size=50)
    ratios = LogRatio(LINE, laws).release(pair[0], rng=np.random.default_rng(2), size=50)
    listed = list(itertools.product((0, 1), repeat=4))
    for row, ratio in zip(seen, ratios[:, 0], strict=True):
        place = listed.index(tuple(row[:4].astype(int)))
        assert ratio == pytest.approx(math.log(laws[0][place] / laws[1][place]))
