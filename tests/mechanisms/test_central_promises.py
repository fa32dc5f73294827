"""Assumption 3.1 along a stream of the Central privatizer: kept; broken by a smaller E or without the shift."""

from dataclasses import replace

import numpy as np
import pytest

from audits.audit_central import assumption, BETA, crowd, wide
from dpverify.base.seeding import Stage, stream
from dpverify.errors import ParameterError
from dpverify.promises import BROKEN, check_promise, INCONCLUSIVE, KEPT
from mechanisms.privatizers.central import Central
from mechanisms.privatizers.central_promises import central_promise


def check(**options):
    """Another seed than the suite's; 64 trials without a failure certify a rate of .046 at 5 %."""
    return check_promise(assumption("assumption", trials=64, **options), seed=5)


def test_it_bites_where_e_is_below_the_counts():
    found = check()
    assert found.verdict == KEPT
    assert found.active_share > 0.05
    assert 0.5 < found.tightness <= 1  # the largest errors come near E


def test_it_says_nothing_where_e_exceeds_all_users():
    found = check(eps=1.0)
    assert (found.verdict, found.active_share) == (INCONCLUSIVE, 0.0)


@pytest.mark.parametrize("options", [{"error_scale": 0.25}, {"shift": False}])
def test_breaks_are_seen(options):
    assert check(**options).verdict == BROKEN


def test_e_is_four_times_the_quantile_of_the_noise():
    """The largest raw error exceeds E/4 with probability at most beta, and not with a tenth of it."""
    private = Central.corrected(1000.0, wide, 64, releases=63)
    promise = central_promise(private, crowd, BETA, name="assumption")
    exact = np.cumsum(wide.pack(crowd.per_user())[:63], axis=0)
    raw = private.release(crowd, rng=stream(6, Stage.EXPERIMENT), size=200)
    missed = int((np.abs(raw - exact).reshape(200, -1).max(axis=1) > promise.bound / 4).sum())
    assert 2 <= missed <= 20  # Bin(200, .05): outside with probability .003; at a rate of .005 below 2 with .74


def test_it_needs_final_states():
    private = Central.corrected(1000.0, wide, 64, releases=63)
    with pytest.raises(ParameterError, match="final_states"):
        central_promise(private, replace(crowd, final_states=None), BETA, name="assumption")
