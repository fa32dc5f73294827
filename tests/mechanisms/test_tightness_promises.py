"""E is neither too small nor said with a bound that says nothing: at most 4 times the exact quantile."""

import numpy as np
import pytest

from audits import audit_central, audit_local, audit_shuffle
from dpverify.promises import BROKEN, check_promise, KEPT
from mechanisms.privatizers.error_bounds import tightness_promise

CASES = [
    each
    for audit in (audit_central, audit_local, audit_shuffle)
    for each in audit.promises
    if each.name.startswith("tightness")
]


@pytest.mark.parametrize("promise", CASES, ids=lambda each: each.name)
def test_at_another_seed_than_the_suites(promise):
    """At the significance that a suite of 500 statements leaves to one."""
    assert check_promise(promise, seed=31, significance=1e-4).verdict == (BROKEN if "100" in promise.name else KEPT)


@pytest.mark.parametrize(("times", "expected"), [(0.9, KEPT), (3.6, KEPT), (4.2, BROKEN)])
def test_the_factor_is_four(times, expected):
    """Uniform errors on [0, 1]: the .95-quantile is .95, and a quarter of 4.2 times it lies above 95 % of them."""

    def errors(rng: np.random.Generator, size: int) -> np.ndarray:
        return rng.random(size)

    promise = tightness_promise(errors, times * 0.95, 0.05, name="uniform", trials=20_000)
    assert check_promise(promise, seed=32, significance=1e-4).verdict == expected
