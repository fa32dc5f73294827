"""Accounts of random ledgers against oracles that share no code with them: `benchmarks.tightness.contour`, `binned`.

All families and the newer events, heterogeneous, both relations, stated and open directions, groups and filters; deltas
from 1e-2 to 1e-20, and 0. At eps_upper(delta) the oracle, itself a lower bound (up to 1e-4 of eps for old events, some
1e-3 for those that are put into bins), must not exceed delta; at eps_upper/1.01 it must: none below, none 1 % above.
"""

import math

import numpy as np
import pytest

from benchmarks.tightness.contour import contours
from dpverify.accounting.accountant import delta_upper, eps_upper
from dpverify.claims.neighbours import Relation
from dpverify.ledger.events import Ledger
from oracles.random_ledgers import random_ledger, random_new_ledger, SEED

ROUNDING = 1e-7  # of the oracle


def judged(ledger: Ledger, plain: Ledger, relation: Relation, delta: float) -> tuple[float, float]:
    """Oracle over delta at eps_upper (must be <= 1) and at eps_upper/1.01 (must be > 1); `plain` is for the oracle."""
    eps = eps_upper(ledger, delta=delta, relation=relation)
    if delta == 0:
        laws = [each.coordinates for each in contours(plain, relation, min(eps, 1000.0))]
        most = max(sum(c.count * (math.inf if c.infinite else c.largest) for c in law) for law in laws)
        if eps == math.inf and any("Normal" in repr(e) or "GaussianNoise" in repr(e) for e, _ in plain.counted):
            return 0.0, math.inf  # bins of unbounded losses have bounded ones
        return (0.0 if eps >= most * (1 - 1e-9) else math.inf), (
            math.inf if eps <= 1.02 * most else 0.0
        )  # c of a range: to 1/64
    if eps == math.inf:  # the infinite mass exceeds delta
        return 0.0, max(each.delta_from_below(600.0) for each in contours(plain, relation, 600.0)) / delta
    if eps == 0:  # nothing is exceeded
        return max(each.delta_from_below(1e-6) for each in contours(plain, relation, 1.0)) / delta, math.inf
    assert delta_upper(ledger, eps=eps, relation=relation) <= delta
    orders = contours(plain, relation, eps)
    here, lower = (max(each.delta_from_below(at) for each in orders) / delta for at in (eps, eps / 1.01))
    return here, lower


def check(seeds: range, *, new: bool) -> None:
    wrong = []
    for seed in seeds:
        rng = np.random.Generator(np.random.PCG64([SEED, *([1] if new else []), seed]))
        if new:
            found = judged(*random_new_ledger(rng))
        else:
            ledger, relation, delta = random_ledger(rng)
            found = judged(ledger, ledger, relation, delta)
        if not (found[0] <= 1 + ROUNDING and found[1] > 1):
            wrong.append((seed, found))
    assert not wrong, wrong


@pytest.mark.parametrize(("new", "seeds"), [(False, range(3)), (True, range(12))], ids=("old", "new"))
def test_random_ledgers(new: bool, seeds: range) -> None:
    check(seeds, new=new)


@pytest.mark.parametrize("seed", [59, 189, 296, 310, 430, 590, 696, 737])
def test_ledgers_that_found_something(seed: int) -> None:
    """59, 296: a tilt used for deltas far below its own; 189: open noise bits beside others; 310: near the pure end;
    590, 696: far below e^-700, and between two modes, delta(eps) rose again; 430, 737: moments of the tail alone.
    """
    check(range(seed, seed + 1), new=True)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_two_thousand_random_ledgers(part: int) -> None:
    """A thousand of the old events, a thousand with new ones."""
    check(range(50 * part, 50 * part + 50), new=False)
    check(range(50 * part, 50 * part + 50), new=True)
