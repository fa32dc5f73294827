"""NumPy's narrow numbers wrap: no account, layout or noise may be computed in them (a pixel is a uint8)."""

import numpy as np
import pytest

from dpverify import Relation
from dpverify.accounting.accountant import account, delta_upper, eps_upper
from dpverify.accounting.events import FixedSizeSampled, MatrixGaussian, PoissonSampled, Shuffled
from dpverify.accounting.groups import group_of
from dpverify.accounting.ledger import (
    BinomialNoise,
    DiscreteLaplaceNoise,
    GaussianNoise,
    KaryResponse,
    LaplaceNoise,
    Ledger,
    PureStep,
    Sensitivity,
    Shift,
)
from dpverify.claims.claim import ApproxDP, PureDP, ZCDP
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.privatizers.central import Central

WHOLE = [np.int8, np.uint8, np.int16, np.uint16, np.int64]
R, A = Relation.REPLACE_ONE, Relation.ADD_OR_REMOVE_ONE


def ledgers(n):
    """Name -> (ledger, relation) with whole numbers up to 127 made by `n`."""
    one = Sensitivity(replace=Shift(1, n(1)), add_remove=Shift(1, n(1)))
    laplace = LaplaceNoise(scale=n(100), sensitivity=Sensitivity.doubled(add_remove=Shift(n(127), n(100))))
    step = Ledger(LaplaceNoise(scale=1.0, sensitivity=one))
    return {
        "doubled": (Ledger(laplace), R),
        "times": (Ledger(laplace) * n(100) * n(100), R),
        "integer noise": (
            Ledger(DiscreteLaplaceNoise(scale=n(50), sensitivity=Sensitivity(replace=Shift(n(100), n(9))))),
            R,
        ),
        "gauss": (Ledger(GaussianNoise(sigma=n(90), sensitivity=Sensitivity(replace=Shift(n(120), n(50))))), R),
        "binomial": (Ledger(BinomialNoise(trials=n(120), probability=0.5, sensitivity=one)) * n(3), R),
        "response": (Ledger(KaryResponse(k=n(100), eps=0.01, reports=Sensitivity(replace=Shift(1, n(100))))), R),
        "pure": (Ledger(PureStep(eps=n(2), uses=Sensitivity(replace=Shift(1, n(100))))), R),
        "sampled": (Ledger(PoissonSampled(rate=0.5, inside=step)) * n(100), A),
        "fixed size": (Ledger(FixedSizeSampled(sampled=n(60), of=n(100), inside=step)) * n(100), R),
        "shuffled": (Ledger(Shuffled(local_eps=n(1), users=n(120))), R),
        "matrix": (
            Ledger(MatrixGaussian(sigma=n(100), strategy=[[n(100), 0], [n(100), n(100)]], movement=one,
                                  participations=n(2), separation=n(1))),
            R,
        ),
    }  # fmt: skip


PLAIN = ledgers(int)


@pytest.mark.parametrize("kind", WHOLE)
@pytest.mark.parametrize("name", PLAIN)
def test_an_account_is_that_of_python_s_numbers(name, kind):
    plain, narrow = PLAIN[name], ledgers(kind)[name]
    assert plain == narrow
    ledger, relation = narrow
    assert eps_upper(ledger, delta=1e-6, relation=relation) == eps_upper(plain[0], delta=1e-6, relation=relation)
    for k in (3, kind(3)):
        if name not in ("matrix", "fixed size", "shuffled", "sampled"):
            found, known = (delta_upper(group_of(each, k), eps=1.0, relation=relation) for each in (ledger, plain[0]))
            assert found == known


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_narrow_floats_do_not_overflow(kind):
    wide = Sensitivity.doubled(add_remove=Shift(kind(40000)))
    assert wide.replace[0].size == 80000
    assert eps_upper(Ledger(LaplaceNoise(scale=kind(2), sensitivity=wide)), delta=0.0, relation=R) == 40000


@pytest.mark.parametrize("kind", WHOLE)
def test_layouts_and_privatizers_are_those_of_python_s_numbers(kind):
    plain, narrow = (CountLayout(H=n(60), S=n(4), A=n(2), rewards=True) for n in (int, kind))
    assert plain == narrow
    assert plain.cells == narrow.cells
    both = [Central.corrected(1.0, layout, n(100), releases=n(99)) for layout, n in ((plain, int), (narrow, kind))]
    assert both[0].counter.noise == both[1].counter.noise
    assert account(both[1]) == account(both[0])


def test_claims_hold_python_s_numbers():
    for claim in (PureDP(np.float32(0.5)), ApproxDP(np.float16(0.5), np.float32(0.25)), ZCDP(np.int8(100))):
        assert type(claim.number) is float
        assert all(type(value).__module__ != "numpy" for value in vars(claim).values())
