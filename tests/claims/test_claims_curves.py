"""Claims that are curves: what they allow, how they are written, what is refused, and audits in their own unit."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from dpverify import ApproxDP, audit, Pair, PureDP, RenyiDP, TradeOff
from dpverify.auditing.record import AuditRecord
from dpverify.claims.curves import parse_claim
from dpverify.errors import ParameterError, UsageError
from dpverify.report import words
from dpverify.report.plots import figures, plotted_claim

RDP = RenyiDP(((2, 0.5), (8, 1.1)))
E = math.e
RESPONSE = TradeOff(((0, 1), (1 / (1 + E), 1 / (1 + E)), (1, 0)))  # that of 1-DP


def gaussian_curve(mu):
    """Tangents of the curve of mu-GDP: D(x) <= delta(x) at these x; mu-GDP meets it and nothing is to spare."""
    lines = []  # slope and intercept
    for x in np.linspace(3, -3, 25) * min(mu, 1.0):
        delta = float(stats.norm.cdf(mu / 2 - x / mu) - math.exp(x) * stats.norm.cdf(-mu / 2 - x / mu))
        lines.append((-math.exp(x), 1 - delta))
    meets = [((b - d) / (c - a)) for (a, b), (c, d) in itertools.pairwise(lines)]
    inner = [(x, a * x + b) for x, (a, b) in zip(meets, lines, strict=False)]
    return ((0.0, lines[0][1]), *inner, (-lines[-1][1] / lines[-1][0], 0.0))


# --- what they allow ---------------------------------------------------------------------------------------


def test_renyi_conversion_is_the_best_of_the_listed_orders():
    for eps in (0.5, 1.0, 3.0, 9.0):
        by_hand = [math.exp((a - 1) * (r - eps)) * (1 - 1 / a) ** a / (a - 1) for a, r in ((2.0, 0.5), (8.0, 1.1))]
        assert RDP.delta_at(eps) == pytest.approx(min(1, *by_hand), rel=1e-12)
        assert RDP.delta_at(eps) >= min(1, *by_hand) * (1 - 1e-15)
    assert RDP.delta_at(RDP.eps) <= RDP.delta * (1 + 1e-9)


@pytest.mark.parametrize("eps", [0.2, 1.0, 3.0])
def test_the_curve_of_randomised_response_is_the_pure_claim(eps):
    corner = 1 / (1 + math.exp(eps))
    claim, pure = TradeOff(((0, 1), (corner, corner), (1, 0))), PureDP(eps)
    for x in (0.0, 0.1, 1.0, 2.5, 4.0):
        assert claim.delta_at(x) == pytest.approx(pure.delta_at(x), abs=1e-15)
    for w in (1e-9, 1e-3, 0.1, 0.4):
        assert claim.accuracy_limit(w) == pytest.approx(pure.accuracy_limit(w))
    assert len(claim.segments()) == 2
    for ratio, missing in claim.segments():
        assert (float(ratio), float(missing)) == pytest.approx((math.exp(eps), 0.0), abs=1e-12)


def test_the_curve_of_an_approximate_claim():
    """Dong, Roth, Su 2022, Proposition 2.5: f = max(0, 1 - d - e^eps a, e^-eps (1 - d - a))."""
    eps, d = 0.7, 0.05
    corner = (1 - d) / (1 + math.exp(eps))
    claim, approx = TradeOff(((0, 1 - d), (corner, corner), (1 - d, 0))), ApproxDP(eps, d)
    for x in (0.0, 0.3, 0.7, 1.5):
        assert claim.delta_at(x) == pytest.approx(approx.delta_at(x), abs=1e-15)
    assert claim.delta > d
    assert math.isfinite(claim.eps)
    for ratio, missing in claim.segments():
        assert (float(ratio), float(missing)) == pytest.approx((math.exp(eps), d))


@pytest.mark.parametrize("claim", [RDP, RESPONSE, TradeOff(gaussian_curve(1.0))], ids=["rdp", "response", "gdp"])
def test_a_larger_factor_is_a_weaker_claim(claim):
    assert claim.number == 1
    assert claim.with_number(2.0).number == 2
    weaker, stronger = claim.with_number(1.5), claim.with_number(0.5)
    for w in (1e-6, 1e-3, 0.1, 0.3):
        limits = [each.accuracy_limit(w) for each in (stronger, claim, weaker)]
        assert limits == sorted(limits)
    for eps in (0.0, 0.5, 2.0):
        deltas = [each.delta_at(eps) for each in (stronger, claim, weaker)]
        assert deltas == sorted(deltas)
    c, w = np.array([0.3, 0.5]), np.array([0.01, 0.2])
    for number, right, wrong in zip(claim.number_at(c, w), c, w, strict=True):
        assert claim.with_number(number * 1.001).accuracy_limit(wrong) >= right
        assert claim.with_number(number * 0.999).accuracy_limit(wrong) < right


# --- how they are written, and what is refused --------------------------------------------------------------


def test_curves_are_read_from_text_and_files(tmp_path):
    assert parse_claim("rdp:2,0.5;8,1.1") == RDP
    assert parse_claim(str(RESPONSE)) == RESPONSE
    assert parse_claim(str(TradeOff(gaussian_curve(1.0)))) == TradeOff(gaussian_curve(1.0))
    file = tmp_path / "curve.csv"
    for head in ("", "type_I,type_II\n"):
        file.write_text(head + "0,1\n\n0.25,0.25\n1,0\n")
        assert parse_claim(f"tradeoff:{file}") == TradeOff(((0, 1), (0.25, 0.25), (1, 0)))
    for text, message in (
        ("0,1\n0.25\n1,0\n", r"curve.csv, line 2: '0.25' must be TYPE_I,TYPE_II"),
        ("0,1\nx,y\n1,0\n", r"line 2: 'x,y' must be"),
        ("type_I,type_II\n", "holds no line"),
    ):
        file.write_text(text)
        with pytest.raises(UsageError, match=message):
            parse_claim(f"tradeoff:{file}")
    with pytest.raises(UsageError, match="cannot read the file"):
        parse_claim(f"tradeoff:{tmp_path / 'none.csv'}")
    for bad in ("rdp", "rdp:", "rdp:2", "rdp:2,1,3", "rdp:2;0.5", "rdp:two,1", "tradeoff:0,1;1", "tradeoff:"):
        with pytest.raises(UsageError, match=r"claim .*must look like|cannot read"):
            parse_claim(bad)


@pytest.mark.parametrize("text", ["pure:1_0", "pure:\uff11", "gdp:\u0662", "rdp:2_0,1", "approx:1,1_0e-9"])
def test_numbers_of_a_claim_are_plain_digits(text):
    with pytest.raises(UsageError, match="must look like"):
        parse_claim(text)


@pytest.mark.parametrize(
    ("content", "at"),
    [
        ("0,O.9\n0,0.5\n1,0\n", "line 1"),  # not names: a broken row, without which another curve is claimed
        ("0.0,type\n0,1\n1,0\n", "line 1"),
        ("0,1\0\n0,1\n1,0\n", "line 1"),
        ("a,b\nc,d\n0,1\n1,0\n", "line 2"),
        ("0,1\n\u0661,\u0660\n", "line 2"),
        ("0,1\n0.5,0.5,0.5\n1,0\n", "line 2"),
        ("a" * 200_000 + ",b\n0,1\n1,0\n", "cannot read"),
        ("a,b\n", "holds no line"),
    ],
)
def test_a_broken_row_of_a_curve_is_refused_with_its_line(tmp_path, content, at):
    file = tmp_path / "curve.csv"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match=at):
        parse_claim(f"tradeoff:{file}")


@pytest.mark.parametrize(
    ("curve", "message"),
    [
        ((), "curve"),
        (((1.0, 0.5),), "orders > 1"),
        (((2, 0.5), (2, 0.6)), "orders > 1 that increase"),
        (((8, 1.1), (2, 0.5)), "alpha = 2 after 8"),
        (((2, 0.5), (8, 0.4)), r"eps = 0\.4 at alpha = 8 after 0\.5"),
        (((2, 0),), "eps"),
        (((2, math.nan),), "finite"),
        (((math.nan, 1),), "finite"),
        (((math.inf, 1),), "finite"),
        (((2, math.inf),), "finite"),
        (((2, -1),), "eps"),
        ("2,0.5", "curve"),
        ((2, 0.5), "a pair"),
        (((2, 0.5, 1),), "a pair"),
        (((2, "1"),), "finite"),
    ],
)
def test_impossible_renyi_curves_are_one_clear_line(curve, message):
    with pytest.raises(ParameterError, match=message) as caught:
        RenyiDP(curve)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ((), "points"),
        (((0, 1),), "two or more"),
        (((0.1, 0.9), (1, 0)), "first with type I = 0"),
        (((0, 1), (1, 0.1)), "last type II = 0"),
        (((0, 1), (0.5, 0.2), (0.4, 0.1), (1, 0)), r"\(0\.4, 0\.1\) after \(0\.5, 0\.2\)"),
        (((0, 1), (0.5, 0.2), (0.6, 0.3), (1, 0)), "errors that fall"),
        (((0, 1), (0.5, 0.2), (0.5, 0.1), (1, 0)), "errors that grow"),
        (((0, 1), (0.2, 0.9), (0.4, 0.1), (1, 0)), "convex: at most"),
        (((0, 1), (0.5, 0.6), (1, 0)), "convex"),  # above the diagonal
        (((0, math.nan), (1, 0)), "finite"),
        (((0, 1), (math.nan, 0)), "finite"),
        (((0, 1.1), (1, 0)), "type_II"),
        (((0, 1), (1.1, 0)), "type_I"),
        (((0, 1), (1, -0.1)), "type_II"),
        (((0, 0), (1, 0)), "errors that fall"),
        ("0,1;1,0", "points"),
    ],
)
def test_impossible_trade_off_curves_are_one_clear_line(points, message):
    with pytest.raises(ParameterError, match=message) as caught:
        TradeOff(points)
    assert "\n" not in str(caught.value)


def test_factors_are_positive_and_finite():
    for bad in (0, -1, math.nan, math.inf):
        for claim in (RDP, RESPONSE):
            with pytest.raises(ParameterError, match="factor"):
                claim.with_number(bad)
    with pytest.raises(ParameterError, match="delta"):
        RenyiDP(((2, 1),), delta=math.nan)


# --- audits -------------------------------------------------------------------------------------------------


class Gaussian:
    """N(data, sigma^2)."""

    name = "gaussian"

    def __init__(self, sigma):
        self.sigma = sigma

    def release(self, data, *, rng, size):
        return data + rng.normal(scale=self.sigma, size=size)

    def log_ratio(self, outputs, pair):
        first, second = ((outputs - each) ** 2 for each in pair)
        return (second - first) / (2 * self.sigma**2)


CURVES = {  # N(0,1) against N(1,1) has D_alpha = alpha/2
    "rdp": RenyiDP(((2, 1.0), (8, 4.0))),
    "tradeoff": TradeOff(gaussian_curve(1.0)),
}


@pytest.mark.parametrize("notion", CURVES)
def test_a_false_curve_is_refuted_and_a_true_one_is_not(notion):
    """The truth is on the curve; half the noise breaks it. Each refutation is certain to 1 in 1000, seeds are fixed."""
    claim, pair = CURVES[notion], Pair(0.0, 1.0)
    true = audit(Gaussian(1.0), claim=claim, pair=pair, trials=40_000, significance=0.001, seed=5)
    false = audit(Gaussian(0.5), claim=claim, pair=pair, trials=40_000, significance=0.001, seed=5)
    assert (true.verdict, false.verdict) == ("NOT_REFUTED", "REFUTED")
    assert (true.notion, true.claimed, true.test) == (notion, 1.0, "curve")
    assert true.number_lower <= 1 < false.number_lower
    # twice the mu: D_alpha is four times as large
    assert false.number_lower <= (4 if notion == "rdp" else 25)
    assert false.p_value < 0.001
    back = plotted_claim(AuditRecord.from_dict(false.to_dict()))
    assert back == claim
    assert words.SYMBOLS[notion] in words.sentence(false)
    assert len(words.claim(false)) < 120
    assert len(figures(false)) == 3


def test_a_sequential_audit_speaks_of_factors_too():
    for claim in CURVES.values():
        record = audit(
            Gaussian(0.25), claim=claim, pair=Pair(0.0, 1.0), trials=40_000, significance=0.01, seed=3, sequential=True
        )
        assert record.verdict == "REFUTED"
        assert 1 < record.number_lower < 1000
