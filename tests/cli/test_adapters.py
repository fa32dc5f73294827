"""Adapters: right laws and claims, clear refusals, nothing imported before it is needed."""

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from dpverify import ApproxDP, audit, Pair, PureDP, Relation, ZCDP
from dpverify.accounting.accountant import account, meets
from dpverify.adapters import dp_accounting as events
from dpverify.adapters.functions import needed, Unseeded
from dpverify.errors import AccountingError, UsageError
from dpverify.ledger.events import Ledger

ADD_REMOVE, REPLACE = Relation.ADD_OR_REMOVE_ONE, Relation.REPLACE_ONE


def _rng():
    return np.random.Generator(np.random.PCG64(3))


def test_missing_package_is_one_clear_line():
    with pytest.raises(UsageError, match=r"needs the package 'no-such': pip install no-such \(No module"):
        needed("no_such_module", "no-such")


@pytest.mark.process
def test_adapters_import_no_foreign_package():
    code = (
        "import sys, dpverify.adapters.opendp, dpverify.adapters.diffprivlib;"
        "import dpverify.adapters.dp_accounting;"
        "assert not {'opendp', 'diffprivlib', 'dp_accounting'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_events_become_ledgers():
    dp, _ = _peer()
    event = dp.ComposedDpEvent(
        [dp.LaplaceDpEvent(2.0), dp.SelfComposedDpEvent(dp.LaplaceDpEvent(4.0), 3), dp.NoOpDpEvent()]
    )
    ledger = events.ledger_of(event)
    assert account(ledger, relation=ADD_REMOVE) == 0.5 + 3 * 0.25
    assert account(ledger, relation=REPLACE) == 2 * (0.5 + 3 * 0.25)  # a replaced record leaves and another one enters
    response = events.ledger_of(dp.RandomizedResponseDpEvent(0.25, 4))
    assert math.log(13) <= account(response) <= math.log(13) * (1 + 1e-15)
    with pytest.raises(AccountingError, match="states no sensitivity under add-or-remove-one"):
        account(response, relation=ADD_REMOVE)
    for revealed in (dp.NonPrivateDpEvent(), dp.GaussianDpEvent(0.0), dp.RandomizedResponseDpEvent(0.0, 2)):
        assert account(events.ledger_of(revealed), delta=0.5) == math.inf
    assert events.ledger_of(dp.RandomizedResponseDpEvent(1.0, 2)) == Ledger()


def _peer():
    """The module of events, and the accountant with the relations."""
    import dp_accounting as dp
    from dp_accounting import dp_event
    from dp_accounting.pld import PLDAccountant

    kinds = {REPLACE: dp.NeighboringRelation.REPLACE_ONE, ADD_REMOVE: dp.NeighboringRelation.ADD_OR_REMOVE_ONE}
    return dp_event, lambda relation: PLDAccountant(kinds[relation])


PEERS = {
    "gaussian": (lambda dp: dp.GaussianDpEvent(1.1), (ADD_REMOVE, REPLACE)),
    "gaussian-30": (lambda dp: dp.SelfComposedDpEvent(dp.GaussianDpEvent(7.0), 30), (ADD_REMOVE, REPLACE)),
    "laplace": (lambda dp: dp.LaplaceDpEvent(1.5), (ADD_REMOVE,)),
    "laplace-20": (lambda dp: dp.SelfComposedDpEvent(dp.LaplaceDpEvent(5.0), 20), (ADD_REMOVE,)),
    "discrete-laplace": (lambda dp: dp.SelfComposedDpEvent(dp.DiscreteLaplaceDpEvent(0.5, 2), 5), (ADD_REMOVE,)),
    "response": (lambda dp: dp.SelfComposedDpEvent(dp.RandomizedResponseDpEvent(0.5, 5), 1), (REPLACE,)),
    "mixed": (
        lambda dp: dp.ComposedDpEvent([dp.GaussianDpEvent(3.0), dp.LaplaceDpEvent(2.0)]),
        (ADD_REMOVE,),
    ),
}


@pytest.mark.parametrize(
    ("name", "relation"), [(name, relation) for name, (_, known) in PEERS.items() for relation in known]
)
def test_every_event_costs_what_its_own_library_says(name, relation):
    """Its PLD accountant, for every relation that this one knows for the event; the two agree to 1 in 1000."""
    dp, accountant = _peer()
    event = PEERS[name][0](dp)
    peer = accountant(relation).compose(event)
    for delta in (1e-2, 1e-6):
        assert account(events.ledger_of(event), delta=delta, relation=relation) == pytest.approx(
            peer.get_epsilon(delta), rel=1e-3
        )


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.longdouble, Fraction])
def test_numbers_of_events_may_be_of_any_real_kind(kind):
    dp, _ = _peer()
    half = kind(1) / kind(2)
    for make in (
        dp.GaussianDpEvent,
        dp.LaplaceDpEvent,
        lambda x: dp.DiscreteLaplaceDpEvent(x, 1),
        lambda x: dp.RandomizedResponseDpEvent(x, 4),
        lambda x: dp.PoissonSampledDpEvent(x, dp.GaussianDpEvent(1.0)),
        lambda x: dp.MixtureOfGaussiansDpEvent(x, [x, x + x], [x, x]),
    ):
        for relation in (ADD_REMOVE, REPLACE):
            try:
                found, wanted = (account(events.ledger_of(make(x)), delta=1e-3, relation=relation) for x in (half, 0.5))
            except AccountingError:
                continue
            assert found == wanted


def test_a_replaced_record_moves_a_gaussian_sum_by_twice_its_norm():
    dp, _ = _peer()
    ledger = events.ledger_of(dp.GaussianDpEvent(1.1))
    assert account(ledger, delta=1e-6) == pytest.approx(9.80622386599, rel=1e-8)  # mu = 2/1.1
    assert not meets(ApproxDP(5.0, 1e-6), ledger)
    assert meets(ApproxDP(4.386, 1e-6, relation=ADD_REMOVE), ledger)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda dp: dp.RepeatAndSelectDpEvent(dp.GaussianDpEvent(1.0), 1.0, 1.0), "RepeatAndSelectDpEvent: no ledger"),
        (lambda dp: dp.UnsupportedDpEvent(), "UnsupportedDpEvent: no ledger event says the same"),
        (lambda dp: dp.GaussianDpEvent(float("nan")), "noise_multiplier"),
        (lambda dp: dp.LaplaceDpEvent(-1.0), "noise_multiplier"),
        (lambda dp: dp.DiscreteLaplaceDpEvent(0.0, 1), "noise_parameter"),
        (lambda dp: dp.MixtureOfGaussiansDpEvent(1.0, [1j], [1.0]), "mean"),
        (lambda dp: dp.RandomizedResponseDpEvent(1.5, 2), "noise_parameter"),
    ],
)
def test_unknown_events_and_impossible_noise_are_refused(wrong, message):
    dp, _ = _peer()
    with pytest.raises(UsageError, match=message):
        events.ledger_of(wrong(dp))


def test_any_callable_is_a_target():
    target = Unseeded(lambda data: [data, data + 1])
    assert target.release(2, rng=_rng(), size=3).tolist() == [[2, 3]] * 3
    assert (
        "cannot be seeded"
        in audit(Unseeded(lambda data: data), claim=PureDP(1.0), pair=Pair(0, 1), trials=200, seed=1).notes[0]
    )


def test_opendp_batches_are_releases():
    from dpverify.adapters.opendp import Batched, claim_of, OneByOne

    dp = needed("opendp.prelude", "opendp")
    dp.enable_features("contrib")
    laplace = dp.m.make_laplace(
        dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float), scale=2.0
    )
    released = Batched(laplace).release([10.0, -10.0], rng=_rng(), size=500)
    assert released.shape == (500, 2)
    # a false alarm needs the mean of 500 noises of standard deviation 2.83 to be off by 7.9 standard errors
    assert np.abs(released.mean(axis=0) - [10.0, -10.0]).max() < 1.0
    assert Batched(laplace).release(0.0, rng=_rng(), size=4).shape == (4,)
    assert claim_of(laplace, 1.0, relation=ADD_REMOVE) == PureDP(0.5, relation=ADD_REMOVE)
    gaussian = dp.m.make_gaussian(
        dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l2_distance(T=float), scale=1.0
    )
    assert claim_of(gaussian, 1.0) == ZCDP(0.5)
    approximate = dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(gaussian), 1e-5)
    assert isinstance(claim_of(approximate, 1.0), ApproxDP)
    bit = dp.m.make_randomized_response_bool(0.75)
    assert set(OneByOne(bit).release(True, rng=_rng(), size=100).tolist()) <= {True, False}
    assert claim_of(bit, 1).eps == pytest.approx(np.log(3))


def test_diffprivlib_mechanisms_are_seeded_by_the_stream():
    from dpverify.adapters.diffprivlib import Mechanism

    laplace = Mechanism("Laplace", epsilon=1.0, sensitivity=1.0)
    first, second = (laplace.release(0.0, rng=_rng(), size=5) for _ in range(2))
    assert first.tolist() == second.tolist()
    chosen = Mechanism("Exponential", vary="utility", epsilon=1.0, sensitivity=1.0)
    assert set(chosen.release([0.0, 1.0], rng=_rng(), size=50).tolist()) == {0, 1}
    with pytest.raises(UsageError, match="no mechanism 'Lapalce'"):
        Mechanism("Lapalce")


def test_every_event_that_the_adapter_names_is_in_the_installed_version():
    """The range has no upper end: a version that renames an event is seen here, not in a user's ledger."""
    import inspect
    import re

    from dp_accounting import dp_event

    named = set(re.findall(r"\bdp\.(\w+)\(", inspect.getsource(events)))
    assert len(named) >= 8
    assert [name for name in sorted(named) if not hasattr(dp_event, name)] == []
