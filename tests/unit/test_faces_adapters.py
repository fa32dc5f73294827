"""Adapters: right laws and claims, clear refusals, nothing imported before it is needed."""

import subprocess
import sys

import numpy as np
import pytest

from dpverify import ApproxDP, audit, Pair, PureDP, Relation, ZCDP
from dpverify.accounting.accountant import account
from dpverify.base.errors import UsageError
from dpverify.faces.adapters import dp_accounting as events
from dpverify.faces.adapters.functions import Unseeded
from dpverify.faces.adapters.needs import needed

ADD_REMOVE = Relation.ADD_OR_REMOVE_ONE


def _rng():
    return np.random.Generator(np.random.PCG64(3))


def test_missing_package_is_one_clear_line():
    with pytest.raises(UsageError, match=r"needs the package 'no-such': pip install no-such \(No module"):
        needed("no_such_module", "no-such")


def test_adapters_import_no_foreign_package():
    code = (
        "import sys, dpverify.faces.adapters.opendp, dpverify.faces.adapters.diffprivlib;"
        "import dpverify.faces.adapters.dp_accounting;"
        "assert not {'opendp', 'diffprivlib', 'dp_accounting'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_events_become_ledgers():
    dp = pytest.importorskip("dp_accounting")
    event = dp.ComposedDpEvent(
        [dp.LaplaceDpEvent(2.0), dp.SelfComposedDpEvent(dp.LaplaceDpEvent(4.0), 3), dp.NoOpDpEvent()]
    )
    ledger = events.ledger_of(event, relation=ADD_REMOVE)
    assert len(ledger.events) == 4
    assert account(ledger, relation=ADD_REMOVE) == 0.5 + 3 * 0.25
    with pytest.raises(Exception, match="states no sensitivity under replace-one"):
        account(ledger)
    gaussian = events.ledger_of(dp.GaussianDpEvent(1.0), relation=Relation.REPLACE_ONE)
    assert account(gaussian, delta=1e-5) == pytest.approx(4.3767, abs=1e-3)  # mu = 1


def test_sampled_events_are_refused():
    dp = pytest.importorskip("dp_accounting")
    sampled = dp.PoissonSampledDpEvent(0.1, dp.GaussianDpEvent(1.0))
    with pytest.raises(UsageError, match="PoissonSampledDpEvent: only Gaussian and Laplace"):
        events.ledger_of(sampled, relation=ADD_REMOVE)
    with pytest.raises(UsageError, match="more than 100000"):
        events.ledger_of(dp.SelfComposedDpEvent(dp.GaussianDpEvent(1.0), 10**9), relation=ADD_REMOVE)


def test_any_callable_is_a_target():
    target = Unseeded(lambda data: [data, data + 1])
    assert target.release(2, rng=_rng(), size=3).tolist() == [[2, 3]] * 3
    assert (
        "cannot be seeded"
        in audit(Unseeded(lambda data: data), claim=PureDP(1.0), pair=Pair(0, 0), trials=200, seed=1).notes[0]
    )


def test_opendp_batches_are_releases():
    pytest.importorskip("opendp")
    from dpverify.faces.adapters.opendp import Batched, claim_of, OneByOne

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
    pytest.importorskip("sklearn")
    if not _installed("diffprivlib"):
        pytest.skip("diffprivlib is not installed")
    from dpverify.faces.adapters.diffprivlib import Mechanism

    laplace = Mechanism("Laplace", epsilon=1.0, sensitivity=1.0)
    first, second = (laplace.release(0.0, rng=_rng(), size=5) for _ in range(2))
    assert first.tolist() == second.tolist()
    chosen = Mechanism("Exponential", vary="utility", epsilon=1.0, sensitivity=1.0)
    assert set(chosen.release([0.0, 1.0], rng=_rng(), size=50).tolist()) == {0, 1}
    with pytest.raises(UsageError, match="no mechanism 'Lapalce'"):
        Mechanism("Lapalce")


def _installed(name: str) -> bool:
    import importlib.util

    return importlib.util.find_spec(name) is not None
