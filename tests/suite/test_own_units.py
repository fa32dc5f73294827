"""One currency: whatever is drawn and written of a refuted claim lies above it in its own unit, in every face."""

from dataclasses import replace

import own_units
import pytest
from in_process import run_suite

from dpverify import ApproxDP, GaussianDP, Pair, PureDP, RenyiDP, Subject, TradeOff, ZCDP
from dpverify.auditing.sequential import in_own_unit
from dpverify.claims.claim import REPORTING_DELTA
from dpverify.errors import ParameterError
from dpverify.report import plots, words
from dpverify.suite.result import Settings, SuiteResult

CLAIMS = {
    "pure": PureDP(1.0),
    "approx": ApproxDP(1.0, 1e-3),
    "zcdp": ZCDP(0.5),
    "gdp": GaussianDP(1.0),
    "rdp": RenyiDP(((2, 1.0), (8, 4.0))),
    "tradeoff": TradeOff(((0.0, 1.0), (0.1, 0.5), (0.5, 0.1), (1.0, 0.0))),
}


class Release:
    """A number with Gaussian noise of the given size, and its exact log ratio."""

    def __init__(self, sigma):
        self.sigma = sigma

    def release(self, data, *, rng, size):
        return rng.normal(data, self.sigma, size)

    def log_ratio(self, outputs, pair):
        return (pair.first - pair.second) * (2 * outputs - pair.first - pair.second) / (2 * self.sigma**2)


def suite(sequential: bool) -> SuiteResult:
    subjects = []
    for kind, claim in CLAIMS.items():
        for name, sigma, planted in ((kind, 0.5, False), (f"{kind}!bug", 0.4, True)):
            subjects.append(
                Subject(
                    name=f"u/{name}",
                    target=Release(sigma),
                    claim=claim,
                    pairs=(Pair(0.0, 1.0),),
                    planted=planted,
                    expected="REFUTED",
                )
            )
    return run_suite(subjects, Settings(seed=5, trials=4_000, sequential=sequential, tape=False))


@pytest.fixture(scope="module")
def result() -> SuiteResult:
    return suite(sequential=False)


def test_refuted_claims_of_every_kind_look_refuted_in_every_face(result):
    assert {record.notion for record in own_units.refuted(result)} == set(CLAIMS)
    assert len(own_units.refuted(result)) == 2 * len(CLAIMS)
    assert own_units.problems(result) == []


def test_sequential_refutations_are_written_with_the_figures_that_they_need():
    """They stop just above the claim: 1.000001 must not read 1."""
    found = suite(sequential=True)
    near = [record for record in own_units.refuted(found) if record.number_lower < 1.0001 * record.claimed]
    assert near
    assert own_units.problems(found) == []


def test_eps_beside_another_unit_would_be_seen(result):
    """What used to be shown: the eps that is certified at one delta, beside the eps that the claim implies there."""
    swapped = [
        replace(
            record,
            number_lower=record.eps_lower,
            claimed=record.claimed_eps,
            number_course=record.course,
        )
        for record in result.records
    ]
    wrong = [record for record in swapped if not record.number_lower > record.claimed]
    assert len({record.notion for record in wrong}) >= 2  # refuted, and the eps at 1e-5 does not show it
    seen = own_units.problems(replace(result, records=tuple(swapped)))
    assert {each.partition(":")[0] for each in seen} >= {record.subject for record in wrong}


@pytest.mark.parametrize("kind", CLAIMS)
def test_the_view_of_eps_is_marked_with_its_delta_and_has_no_part_in_the_verdict(result, kind):
    record = next(each for each in result.records if each.subject == f"u/{kind}")
    view = words.eps_view(record)
    titles = [figure.title for figure in plots.figures(record)]
    assert titles[:2] == ["Convergence", "Trade-off"]
    if kind in ("pure", "approx"):
        assert view == ""
        assert titles[2] == "Privacy profile"
        assert ("at delta = 0.001" in words.sentence(record)) == (kind == "approx")
    else:
        assert view.startswith(f"at delta = {REPORTING_DELTA:g}: eps >= ")
        assert titles[2] == f"Second view: eps and delta (the claim is about {words.unit(record)})"
        assert "eps" not in words.sentence(record).replace("f-DP", "")
    assert record.trials_lower is not None
    assert plots.course_plot(record)[-1][1] == record.trials_lower


@pytest.mark.parametrize(
    ("value", "limit", "written"),
    [
        (0.61239, 0.5, "0.6123"),  # rounded down, against ourselves
        (1.0000008, 1.0, "1.000000"),
        (1.99999999999, 1.0, "2"),
        (0.99999, 1.0, "0.9999"),
        (float("inf"), 1.0, "inf"),
        (0.0, 1.0, "0"),
        (-0.2, 1.0, "-0.2"),
    ],
)
def test_lower_bounds_are_rounded_down_and_never_onto_the_claim(value, limit, written):
    text = words.at_least_words(value, limit)
    assert text.startswith(written)
    assert float(text) <= value + 1e-9 * abs(value)
    assert (float(text) > limit) == (value > limit)


def test_a_renyi_claim_of_few_orders_has_a_number_for_any_eps():
    """Its eps at 1e-5 is 1.6 however small the factor: below that nothing is certified, and nothing breaks."""
    claim = RenyiDP(((2, 0.5), (8, 1.1)))
    with pytest.raises(ParameterError):
        claim.with_number(0.0)
    assert in_own_unit(claim, 0.7) == 0.0
    assert 0 < in_own_unit(claim, 1.9) < 1
