"""Steps whose pair is chosen on the way, beside other losses: against every order and every choice, enumerated."""

import math

import numpy as np
import pytest

from dpverify.accounting import adaptive, bounded_range
from dpverify.accounting.accountant import account, delta_upper, LooseAccountWarning
from dpverify.accounting.adaptive import chosen_as_runs
from dpverify.accounting.composition import composed
from dpverify.accounting.loss_laws import GridProfile
from dpverify.accounting.losses_of_ledger import alternatives
from dpverify.claims.claim import GaussianDP, ZCDP
from dpverify.claims.neighbours import Relation
from dpverify.ledger.compound_events import BoundedRange
from dpverify.ledger.events import (
    BinomialNoise,
    Direction,
    FiniteLaws,
    GaussianNoise,
    LaplaceNoise,
    Ledger,
    Sensitivity,
    Shift,
)

R = Relation.REPLACE_ONE
ONE = Sensitivity(replace=1)
SKEW = ((0.5, 0.3, 0.2), (0.2, 0.5, 0.3))
FIXED = ((0.6, 0.3, 0.1), (0.4, 0.35, 0.25))


def steps(laws, *, directed=False):
    return Ledger(FiniteLaws(pairs=(laws,), relation=R, directed=directed))


def worst(fixed, chosen, x, mirrored=False):
    """Largest delta over all orders of the steps and all choices: `fixed` of FIXED, `chosen` lists of pairs."""
    if not fixed and not chosen:
        return max(0.0, -math.expm1(x))
    found = []
    options = [([FIXED[::-1] if mirrored else FIXED], (fixed - 1, chosen))] if fixed else []
    for i in range(len(chosen)):
        if chosen[i] not in chosen[:i]:
            options.append(([chosen[i], chosen[i][::-1]], (fixed, chosen[:i] + chosen[i + 1 :])))
    for pairs, rest in options:
        for p, q in pairs:
            found.append(
                sum(a * worst(*rest, x - math.log(a / b), mirrored) for a, b in zip(p, q, strict=True) if a > 0)
            )
    return max(found)


@pytest.mark.parametrize(("fixed", "chosen"), [(0, 3), (1, 2), (2, 2), (1, 3)])
def test_open_steps_beside_fixed_ones_cost_their_worst_order(fixed, chosen):
    ledger = steps(FIXED, directed=True) * fixed + steps(SKEW) * chosen
    for x in (0.0, 0.4, 1.1, 2.0):
        truth = max(worst(fixed, (SKEW,) * chosen, x, mirrored) for mirrored in (False, True))
        found = delta_upper(ledger, eps=x, relation=R)
        assert truth * (1 - 1e-12) <= found <= truth * (1 + 2e-3)


@pytest.mark.parametrize("few", [True, False], ids=["one run", "a run for each kind"])
def test_several_kinds_of_open_steps_are_not_below_any_interleaving(few, monkeypatch):
    other = ((0.7, 0.2, 0.1), (0.55, 0.15, 0.3))
    if not few:
        monkeypatch.setattr(adaptive, "MOST_VECTORS", 1)
    for fixed in (0, 1):
        ledger = steps(FIXED, directed=True) * fixed + steps(SKEW) * 2 + steps(other) * (2 - fixed)
        for x in (0.0, 0.5, 1.5):
            chosen = (SKEW, SKEW, other, other)[: 4 - fixed]
            truth = max(worst(fixed, chosen, x, mirrored) for mirrored in (False, True))
            found = max(composed(chosen_as_runs(losses)).delta_at(x) for losses in alternatives(ledger, R))
            assert truth * (1 - 1e-12) <= found <= truth * (1.001 if few else 1.2)
            apart = composed(alternatives(ledger, R)[0])
            assert found <= apart.delta_at(x) * (1 + 1e-9)


def test_blocks_of_steps(monkeypatch):
    """More steps than a recursion is for: above the enumeration, and below the maximum of the profiles."""
    truth = [worst(0, (SKEW,) * 4, x) for x in (0.0, 0.8, 2.0)]
    for most, close in ((4, 1.002), (2, 1.1)):
        monkeypatch.setattr(adaptive, "MOST_APPLICATIONS", 2 * most)
        found = [delta_upper(steps(SKEW) * 4, eps=x, relation=R) for x in (0.0, 0.8, 2.0)]
        assert all(a * (1 - 1e-12) <= b <= close * a for a, b in zip(truth, found, strict=True))
    whole = [account(Ledger(BoundedRange(eps=0.3, uses=ONE)) * 30, delta=d) for d in (1e-3, 1e-8)]
    monkeypatch.setattr(bounded_range, "MOST_STEPS", 7)
    parts = [account(Ledger(BoundedRange(eps=0.3, uses=ONE)) * 30, delta=d) for d in (1e-3, 1e-8)]
    assert all(a * (1 - 1e-3) <= b <= 1.05 * a for a, b in zip(whole, parts, strict=True))


def test_many_steps_of_bounded_range_cost_half_a_percent_more_than_their_limit():
    """n steps of eps come to mu = sqrt(n) eps/2 (variances of at most eps^2/4 each)."""
    for count in (300, 3000, 10**5, 10**8):
        steps = Ledger(BoundedRange(eps=1 / math.sqrt(count), uses=ONE)) * count
        for delta in (1e-3, 1e-6, 1e-10):
            limit = GaussianDP(0.5).eps_at(delta)
            assert limit * (1 - 2e-3) <= account(steps, delta=delta) <= 1.005 * limit


def test_bounded_range_beside_noise_by_recursion():
    """One Gaussian after k steps that are chosen on a grid of c: a lower bound that comes near."""
    eps, k, mu = 0.5, 4, 0.5
    z = np.linspace(-9, 9, 1201)
    edges = np.concatenate([[-np.inf], (z[1:] + z[:-1]) / 2, [np.inf]])
    mass = np.diff([0.5 * (1 + math.erf((e - mu) / math.sqrt(2))) for e in edges])
    base = np.diff([0.5 * (1 + math.erf(e / math.sqrt(2))) for e in edges])
    live = (mass > 1e-15) & (base > 1e-15)
    choices = np.linspace(0, eps, 9)

    def later(x, steps):  # profile of the remaining steps, all arguments at once
        if not steps:
            return np.maximum(-np.expm1(x), 0.0)
        values = []
        for c in choices:
            p = math.expm1(c - eps) / math.expm1(-eps)
            values.append(p * later(x - c, steps - 1) + (1 - p) * later(x - c + eps, steps - 1))
        return np.max(values, axis=0)

    ledger = Ledger(BoundedRange(eps=eps, uses=ONE)) * k + Ledger(GaussianNoise(sigma=1 / mu, sensitivity=ONE))
    for x in (0.0, 1.0):
        truth = float((mass[live] * later(x - np.log(mass[live] / base[live]), k)).sum())
        assert truth * (1 - 1e-9) <= delta_upper(ledger, eps=x, relation=R) <= 1.02 * truth


def test_open_directions_beside_noise_cost_no_more_than_the_larger_profiles_and_no_less_than_a_stated_one():
    noise = Ledger(LaplaceNoise(scale=3.0, sensitivity=ONE)) * 3

    def skew(way):
        shift = Sensitivity(replace=Shift(1, 4, way))
        return Ledger(BinomialNoise(trials=40, probability=0.2, sensitivity=shift)) + noise

    for eps in (0.3, 1.0, 2.5):
        stated, unknown = (delta_upper(skew(way), eps=eps, relation=R) for way in (Direction.UP, None))
        apart = composed(alternatives(skew(None), R)[0]).delta_at(eps)
        assert stated * (1 - 1e-3) <= unknown < apart


def test_a_profile_on_a_grid_is_above_its_values_and_falls():
    eps = np.array([-5.0, -1.0, -0.25, 0.0, 0.1, 0.25, 0.7, 1.0, 3.0])
    step = 0.25
    truth = lambda x: np.where(x < 0.9, -np.expm1((np.minimum(x, 0.9) - 0.9) / 2), 0.0)  # noqa: E731
    grid = GridProfile(step, truth(np.arange(-4, 5) * step))
    found = grid.at(eps)
    assert (found >= truth(eps)).all()
    assert (np.diff(found) <= 0).all()
    assert found[0] == 1
    assert grid.beyond(0.0) == 1.0


def test_so_many_coordinates_that_floating_point_counts_are_said_to_be():
    """Where rounding is more than 1/1000 of delta: a warning, and no more than the zCDP account."""
    for power in (13, 16, 20):
        ledger = Ledger(LaplaceNoise(scale=10 ** (power / 2), sensitivity=ONE)) * 10**power
        with pytest.warns(LooseAccountWarning, match="so many coordinates"):
            found = [account(ledger, delta=delta) for delta in (1e-3, 1e-10, 1e-20)]
        limits = [GaussianDP(1.0).eps_at(delta) for delta in (1e-3, 1e-10, 1e-20)]
        most = [ZCDP(0.5).eps_at(delta) * (1 + 1e-3) for delta in (1e-3, 1e-10, 1e-20)]
        assert all(a * (1 - 1e-6) <= b <= c for a, b, c in zip(limits, found, most, strict=True))
