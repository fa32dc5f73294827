"""The planted bugs are what their docstrings say: true parameters from their ledgers, bare differences."""

from fractions import Fraction

import numpy as np
import pytest

from audits.planted import central as bad_central
from audits.planted.counters import half_noise, LastColumn, NoiseReusedBetweenLevels, OneNodeTooFew, ZerosNotFed
from dpverify.accounting.accountant import pure_eps, rho_upper
from dpverify.claims.neighbours import Relation
from mechanisms.counters import BinaryCounter, HonakerCounter, Stream
from mechanisms.counters.toeplitz import column_norm
from mechanisms.datasets.pairs import uniform
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.privatizers.central import Central

REPLACE = Relation.REPLACE_ONE
RNG = np.random.default_rng


@pytest.mark.parametrize("counter", [BinaryCounter.calibrated(4, 1.0), HonakerCounter.calibrated(4, 1.0)])
def test_half_noise_spends_twice(counter):
    assert pure_eps(half_noise(counter).ledger, relation=REPLACE) == 2


def test_one_node_too_few():
    assert pure_eps(OneNodeTooFew.for_claim(1.0, 4).ledger, relation=REPLACE) == Fraction(3, 2)


def test_last_column():
    spent = rho_upper(LastColumn.for_claim(0.5, 16).ledger, relation=REPLACE)
    assert float(spent) == pytest.approx(0.5 * column_norm(16) ** 2)
    assert spent > Fraction(9, 10)


def test_noise_reused_between_levels_shows_item_two_bare():
    counter = NoiseReusedBetweenLevels(BinaryCounter.calibrated(4, 1.0))
    for item in (0, 1):
        seen = counter.release(Stream([0, item, 0, 0]), rng=RNG(0), size=50)
        assert np.allclose(seen[:, 1] - seen[:, 0], item)


def test_count_stands_still_exactly_where_zero_was_not_fed():
    counter = ZerosNotFed(BinaryCounter.calibrated(4, 1.0))
    seen = counter.release(Stream([1, 0, 1, 0]), rng=RNG(0), size=50)
    assert np.array_equal(np.diff(seen, axis=1) == 0, np.tile([True, False, True], (50, 1)))
    assert (counter.release(Stream([0, 0, 0, 0]), rng=RNG(0), size=3) == 0).all()


def test_central_scales():
    central = Central.corrected(1.0, CountLayout(H=1, S=1, A=2), 2)
    for bad in (bad_central.half_noise(central), bad_central.add_remove_scale(central)):
        assert pure_eps(bad.ledger, relation=REPLACE) == 2


def test_central_bare_cells():
    layout = CountLayout(H=2, S=2, A=2)
    central = Central.corrected(1.0, layout, 3)
    data = uniform(layout, 3, rng=RNG(1))
    exact = layout.pack(data.per_user()).cumsum(axis=0)
    summed = bad_central.SummedVisits(central).release(data, rng=RNG(0), size=4)
    assert np.array_equal(summed[..., : layout.tuples], np.broadcast_to(exact[:, : layout.tuples], (4, 3, 8)))
    assert not np.isclose(summed[..., layout.tuples :], exact[:, layout.tuples :]).any()
    shared = bad_central.SharedNoise(central).release(data, rng=RNG(0), size=4)
    assert np.allclose(np.diff(shared, axis=2), np.diff(exact, axis=1))
