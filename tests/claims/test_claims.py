import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from dpverify import ApproxDP, GaussianDP, Pair, PureDP, Records, Relation, RenyiDP, Unit, View, ZCDP
from dpverify.claims.curves import parse_claim
from dpverify.claims.neighbours import sequence_difference
from dpverify.errors import NeighbourError, ParameterError, UsageError

ADD_REMOVE = Relation.ADD_OR_REMOVE_ONE
CLAIMS = [PureDP(1.0), ApproxDP(1.0, 1e-3), ZCDP(0.5), GaussianDP(1.0)]


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, "1", True])
def test_claimed_numbers_are_positive_and_finite(bad):
    for kind in (PureDP, ZCDP, GaussianDP):
        with pytest.raises(ParameterError):
            kind(bad)
    with pytest.raises(ParameterError):
        ApproxDP(bad, 0.0)


@pytest.mark.parametrize("bad", [-0.1, 1.0, math.nan])
def test_delta_lies_in_the_half_open_unit_interval(bad):
    for make in (lambda d: ApproxDP(1.0, d), lambda d: ZCDP(1.0, d), lambda d: GaussianDP(1.0, d)):
        with pytest.raises(ParameterError, match="delta"):
            make(bad)


def test_a_claim_is_a_statement_about_a_relation_a_unit_and_a_view():
    claim = PureDP(1.0, relation=ADD_REMOVE, unit=Unit.TRAJECTORY, view=View.JOINT, source="Theorem 1")
    assert claim.with_number(2.0) == PureDP(
        2.0, relation=ADD_REMOVE, unit=Unit.TRAJECTORY, view=View.JOINT, source="Theorem 1"
    )
    for field in ("relation", "unit", "view"):
        with pytest.raises(ParameterError, match=field):
            PureDP(1.0, **{field: "something else"})


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_profiles_and_their_inverses_agree(claim):
    for delta in (1e-2, 5e-3):
        eps = claim.eps_at(delta)
        assert claim.delta_at(eps) <= delta * (1 + 1e-9)
        if eps > 1e-3:
            assert claim.delta_at(eps - 1e-3) > delta
    eps = np.linspace(0, 3, 31)
    values = [claim.delta_at(e) for e in eps]
    assert (np.diff(values) <= 0).all()
    assert claim.eps == pytest.approx(claim.eps_at(claim.delta))


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_accuracy_limit_is_the_envelope_of_the_profile(claim):
    """c <= e^eps w + delta(eps) for every eps, with equality for some eps unless c + w reaches 1."""
    for w in (1e-6, 1e-3, 0.05, 0.3):
        c = claim.accuracy_limit(w)
        eps = np.linspace(0, 25, 5001)
        envelope = min(math.exp(e) * w + claim.delta_at(e) for e in eps)
        assert c <= 1 - w
        assert c <= envelope * (1 + 5e-4)  # zCDP: a finite set of orders, from above
        if not isinstance(claim, ZCDP):  # zCDP restricts c by more than its conversion to (eps, delta)
            assert c >= min(envelope, 1 - w) * (1 - 1e-4)


def test_gaussian_profile_against_quadrature():
    mu, eps = 1.2, 0.8

    def excess(x):
        return max(0.0, stats.norm.pdf(x, mu) - math.exp(eps) * stats.norm.pdf(x))

    assert GaussianDP(mu).delta_at(eps) == pytest.approx(integrate.quad(excess, -10, 12, points=[eps / mu + mu / 2])[0])


def test_zcdp_contains_the_gaussian_mechanism():
    rho = 0.5  # N(0,1), shift sqrt(2 rho) = 1
    for eps in (0.1, 1.0, 3.0, 6.0):
        assert ZCDP(rho).delta_at(eps) >= GaussianDP(1.0).delta_at(eps)
    for w in (1e-8, 1e-4, 0.01, 0.2):
        assert ZCDP(rho).accuracy_limit(w) >= GaussianDP(1.0).accuracy_limit(w)


POSITIVE = st.floats(1e-300, 1e300)
UNIT_INTERVAL = st.floats(0, 1, exclude_max=True)


@given(POSITIVE, UNIT_INTERVAL)
def test_claims_are_shown_without_loss(number, delta):
    """What a report shows is the claim that was judged: it reads back as itself."""
    for claim in (PureDP(number), ApproxDP(number, delta), ZCDP(number), GaussianDP(number), RenyiDP(((2, number),))):
        assert parse_claim(str(claim)) == claim
    assert str(PureDP(1.0000004)) == "pure:1.0000004"
    assert (str(PureDP(Fraction(1, 3))), str(PureDP(np.float32(0.5)))) == ("pure:1/3", "pure:0.5")


@pytest.mark.parametrize("bad", [None, 5, "tradeoff:a\0b", "tradeoff:\ud800", "tradeoff:/", "pure:" + "9" * 5000])
def test_what_is_no_claim_is_one_line(bad):
    with pytest.raises(UsageError) as refused:
        parse_claim(bad)
    assert "\n" not in str(refused.value)


def test_claims_are_read_from_text():
    assert parse_claim("pure:1.0") == PureDP(1.0)
    assert parse_claim("approx:1,1e-6", relation=ADD_REMOVE) == ApproxDP(1, 1e-6, relation=ADD_REMOVE)
    assert parse_claim("zcdp:0.5") == ZCDP(0.5)
    assert parse_claim("gdp:2") == GaussianDP(2)
    for bad in ("pure", "pure:", "pure:1,2", "approx:1", "renyi:2", "", "pure:one"):
        with pytest.raises(UsageError, match="must"):
            parse_claim(bad)
    for bad in ("pure:nan", "pure:-1", "approx:1,1"):
        with pytest.raises(ParameterError):
            parse_claim(bad)


def test_typed_pairs_are_checked_and_plain_ones_declared():
    claim = PureDP(1.0)
    assert claim.check(Pair(Records([1, 2, 3]), Records([1, 9, 3]))).verified
    assert not claim.check(Pair(0.0, 1.0)).verified
    for second in ([1, 9, 9], [1, 2], [1, 2, 3, 4]):
        with pytest.raises(NeighbourError, match="replace-one"):
            claim.check(Pair(Records([1, 2, 3]), Records(second)))
    with pytest.raises(NeighbourError, match="compared"):
        claim.check(Pair(Records([1]), [1]))
    with pytest.raises(NeighbourError, match="declared"):
        claim.check(Pair(0, 1, ADD_REMOVE))
    with pytest.raises(ParameterError, match="pair"):
        claim.check((0, 1))


def test_add_or_remove_is_another_relation():
    claim = PureDP(1.0, relation=ADD_REMOVE)
    assert claim.check(Pair(Records([1, 2, 3]), Records([1, 3]))).verified
    assert claim.check(Pair(Records([]), Records([5]))).verified
    with pytest.raises(NeighbourError):
        claim.check(Pair(Records([1, 2, 3]), Records([1, 9, 3])))


@given(st.lists(st.integers(0, 3), max_size=8), st.integers(0, 7), st.integers(0, 3))
def test_one_change_is_seen_as_one_change(rows, position, value):
    position = min(position, len(rows))
    longer = [*rows[:position], value, *rows[position:]]
    grown, shrunk = sequence_difference(rows, longer), sequence_difference(longer, rows)
    assert (grown.replaced, grown.added, grown.removed) == (0, 1, 0)
    assert (shrunk.replaced, shrunk.added, shrunk.removed) == (0, 0, 1)
    if position < len(rows):
        changed = [*rows[:position], value, *rows[position + 1 :]]
        assert sequence_difference(rows, changed).replaced == (rows[position] != value)
    assert not sequence_difference(rows, list(rows)).replaced
