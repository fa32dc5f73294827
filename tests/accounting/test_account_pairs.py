"""Pairs of laws on the line: knots that are neighbouring floats, and mixtures of laws far apart or of other widths."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import optimize, stats

from dpverify import Relation
from dpverify.accounting import dominating_pairs
from dpverify.accounting.accountant import delta_upper, eps_upper, meets, pure_eps
from dpverify.claims.claim import PureDP
from dpverify.errors import ParameterError
from dpverify.ledger.compound_events import DominatingPair
from dpverify.ledger.events import Ledger
from dpverify.ledger.laws import LaplaceLaw, Mixture, Normal, PiecewiseConstant, Truncated

R = Relation.REPLACE_ONE


@pytest.fixture
def few_cells(monkeypatch):
    """For laws whose accounts are exact with any number of cells."""
    dominating_pairs._table.cache_clear()
    monkeypatch.setattr(dominating_pairs, "CELLS", 8)
    yield
    dominating_pairs._table.cache_clear()


def ledger(p, q, *, directed=False):
    return Ledger(DominatingPair(p=p, q=q, relation=R, directed=directed))


def up(x, steps=1):
    for _ in range(steps):
        x = math.nextafter(x, math.inf)
    return x


def exact_cells(p, q):
    """Exact P- and Q-masses of the cells between all knots of two piecewise constant laws."""
    knots = sorted({*map(Fraction, p.edges), *map(Fraction, q.edges)})

    def masses(law):
        edges, heights = [Fraction(edge) for edge in law.edges], [Fraction(height) for height in law.heights]
        areas = [h * (b - a) for h, a, b in zip(heights, edges, edges[1:], strict=False)]
        found = []
        for low, high in itertools.pairwise(knots):
            parts = (
                max(Fraction(0), min(b, high) - max(a, low)) * h
                for h, a, b in zip(heights, edges, edges[1:], strict=False)
            )
            found.append(sum(parts, Fraction(0)) / sum(areas))
        return found

    return list(zip(masses(p), masses(q), strict=True))


def exact_delta(cells, eps):
    with mpmath.workdps(60):
        grown = mpmath.exp(mpmath.mpf(eps))
        number = lambda x: mpmath.mpf(x.numerator) / x.denominator  # noqa: E731
        one, other = (
            mpmath.fsum(max(mpmath.mpf(0), number(a) - grown * number(b)) for a, b in pairs)
            for pairs in (cells, [(b, a) for a, b in cells])
        )
        return max(one, other)


def close_pairs():
    """Random laws with knots that are 1 to 3 floats apart, at sizes from 1e-9 to 2^53, with pieces of any mass."""
    rng = np.random.default_rng(1)
    for _ in range(60):
        size = float(rng.choice([1e-9, 0.3, 1.0, 7.0, 2.0**53]))
        middle = up(size * float(rng.choice([1.0, 1 + 1e-9, 4 / 3])), int(rng.integers(4)))
        knots = [middle]
        for _ in range(int(rng.integers(1, 4))):
            knots.append(up(knots[-1], int(rng.integers(1, 4))))
        ends = [float(rng.choice([0.0, -size])), 4 * size]
        pair, same = [], rng.random() < 0.4
        for _ in range(2):
            inner = [knot for knot in knots if rng.random() < 0.7] or [middle]
            first, last = (
                ([ends[0]] if same or rng.random() < 0.7 else []),
                ([ends[1]] if same or rng.random() < 0.5 else []),
            )
            edges = [*first, *inner, *last]
            if len(edges) < 2:
                edges = [ends[0], *inner]
            heights = rng.choice([float(not same), 1.0, 1.0, 3.0, 10.0, 3e16], size=len(edges) - 1)
            heights[int(rng.integers(len(heights)))] = 1.0
            pair.append(PiecewiseConstant(tuple(edges), tuple(heights)))
        yield tuple(pair)


class TestNeighbouringFloats:
    def test_piecewise_constant_laws_have_their_exact_account(self, few_cells):
        """A cell between neighbouring floats has no point inside: it was dead in both laws, or had another's height."""
        narrow = unbounded = 0
        for p, q in close_pairs():
            cells = exact_cells(p, q)
            lacking = any((a > 0) != (b > 0) for a, b in cells)
            given = pure_eps(ledger(p, q), relation=R)
            unbounded += lacking
            assert (given == math.inf) == lacking
            if not lacking:
                narrow += 1
                truth = max(abs(mpmath.log(mpmath.mpf((a / b).numerator) / (a / b).denominator)) for a, b in cells if a)
                assert truth <= mpmath.mpf(given.numerator) / given.denominator <= truth + 1e-11
            assert not (lacking and meets(PureDP(700.0), ledger(p, q)))
            for eps in (0.0, 0.5, 2.0, 5.0):
                truth = exact_delta(cells, eps)
                assert truth <= delta_upper(ledger(p, q), eps=eps, relation=R) <= float(truth) * (1 + 1e-9) + 1e-11
        assert min(narrow, unbounded) > 15

    @pytest.mark.parametrize("end", [0.3, up(0.3), 0.7, up(0.7), 1.0, up(1.0), 5.0, up(5.0)])
    def test_a_support_that_is_one_float_longer_has_infinite_losses(self, few_cells, end):
        longer = up(end)
        for law in (
            LaplaceLaw(0.0, 1.0),
            Normal(0.0, 1.0),
            Mixture((1.0, 2.0), (Normal(0.0, 1.0), LaplaceLaw(1.0, 0.5))),
        ):
            for low, high in ((-4.0, True), (6.0, False)):
                cut = [Truncated(law, min(low, at), max(low, at)) for at in (end, longer)]
                p, q = cut if high else cut[::-1]
                for pair in ((p, q), (q, p), (Mixture((1.0,), (p,)), q)):
                    assert pure_eps(ledger(*pair), relation=R) == math.inf
                wide, short = (cut[1], cut[0]) if high else (cut[0], cut[1])
                missing = float(wide.masses(np.array([end, longer]))[0])
                found = delta_upper(ledger(wide, short), eps=20.0, relation=R)
                assert missing * (1 - 1e-10) <= found <= missing * (1 + 1e-9) + 1e-290

    def test_the_sum_of_tenths_is_not_three_tenths(self, few_cells):
        p, q = (PiecewiseConstant((0.0, end), (1.0,)) for end in (0.1 + 0.2, 0.3))
        missing = (Fraction(0.1 + 0.2) - Fraction(0.3)) / Fraction(0.1 + 0.2)
        assert Fraction(delta_upper(ledger(p, q), eps=5.0, relation=R)) >= missing
        assert not meets(PureDP(5.0), ledger(p, q))
        tall = PiecewiseConstant((0.0, 0.3, up(0.3)), (1.0, 3e16))
        assert delta_upper(ledger(tall, q), eps=5.0, relation=R) == pytest.approx(0.8473542318818444, rel=1e-12)

    def test_a_cut_that_leaves_no_mass_that_floats_hold_is_refused(self):
        with pytest.raises(ParameterError, match="with mass of the law"):
            Truncated(Normal(0.0, 1.0), 37.5, 37.8)

    def test_masses_of_narrow_intervals_are_no_differences_of_distances(self):
        law = LaplaceLaw(-1e6, 1e6)
        low = 0.3
        for steps in range(1, 6):
            high = up(low, steps)
            truth = (Fraction(high) - Fraction(low)) / Fraction(2e6) / Fraction(math.e)
            assert law.masses(np.array([low, high]))[0] == pytest.approx(float(truth), rel=1e-6, abs=0)

    @pytest.mark.parametrize(
        "edges", [(-1e308, 1e308), (0.0, 5e-324), (0.0, 1.0, 1e300), (0.0, 1e-120, 1.0), (1.0, 2.0, 2.0)]
    )
    def test_sizes_whose_areas_are_no_floats_are_refused(self, edges):
        with pytest.raises(ParameterError, match="edges"):
            PiecewiseConstant(edges, (1.0,) * (len(edges) - 1))

    @pytest.mark.parametrize("law", [Normal, LaplaceLaw])
    @pytest.mark.parametrize("mean", [1e101, -1.7e308])
    def test_places_whose_squares_are_no_floats_are_refused(self, law, mean):
        with pytest.raises(ParameterError, match="rescale"):
            law(mean, 1.0)


def mixture_eps(p, q, delta):
    """eps of two mixtures of (weight, mean, sigma), by quadrature around each mean."""
    ends = sorted({mean + k * sigma for _, mean, sigma in (*p, *q) for k in (-40, -12, -6, -3, -1, 0, 1, 3, 6, 12, 40)})

    def density(law, x):
        return sum(weight * stats.norm.pdf(x, mean, sigma) for weight, mean, sigma in law)

    x, w = np.polynomial.legendre.leggauss(8)
    edges = np.concatenate([np.linspace(low, high, 256) for low, high in itertools.pairwise(ends)])
    low, width = edges[:-1], np.diff(edges)
    at = (low[:, None] + width[:, None] * (x + 1) / 2).ravel()
    weights = (width[:, None] * w / 2).ravel()
    here, there = density(p, at), density(q, at)

    def excess(eps):
        return max((weights * np.maximum(a - math.exp(eps) * b, 0.0)).sum() for a, b in ((here, there), (there, here)))

    return optimize.brentq(lambda eps: excess(eps) - delta, 0.0, 60.0, xtol=1e-12)


def as_law(parts):
    return Mixture(tuple(weight for weight, _, _ in parts), tuple(Normal(mean, sigma) for _, mean, sigma in parts))


class TestMixtures:
    @pytest.mark.parametrize("gap", [10.0, 1e3, 1e6])
    def test_laws_far_apart(self, gap):
        p, q = [(0.5, 0.0, 1.0), (0.5, gap, 1.0)], [(0.5, 0.5, 1.0), (0.5, gap + 0.5, 1.0)]
        truth = mixture_eps(p, q, 1e-5)
        found = eps_upper(ledger(as_law(p), as_law(q)), delta=1e-5, relation=R)
        assert truth * (1 - 1e-6) <= found <= truth * 1.0001

    @pytest.mark.parametrize(("share", "sigma"), [(0.5, 1e-2), (0.5, 1e-6), (1e-3, 1e-3)])
    def test_a_law_much_narrower_than_the_other(self, share, sigma):
        p, q = ([(share, mean, sigma), (1 - share, 0.0, 1.0)] for mean in (0.0, sigma))
        truth = mixture_eps(p, q, 1e-5)
        found = eps_upper(ledger(as_law(p), as_law(q)), delta=1e-5, relation=R)
        assert truth * (1 - 1e-4) <= found <= truth * 1.001

    def test_slopes_and_curvatures_of_cells_bound_those_of_points(self):
        """Cells of all widths, next to and far from components of all widths."""
        rng = np.random.default_rng(2)
        for _ in range(20):
            count = int(rng.integers(1, 5))
            means, sigmas = rng.normal(0, 10.0, count), 10.0 ** rng.uniform(-3, 1, count)
            weights = 10.0 ** rng.uniform(-6, 0, count)
            law = Mixture(tuple(weights), tuple(map(Normal, means.tolist(), sigmas.tolist())))
            low = np.concatenate(
                [means[:, None] + sigmas[:, None] * rng.normal(0, 5, (count, 40)), rng.normal(0, 20, (1, 40))]
            )
            low = low.ravel()
            high = low + 10.0 ** rng.uniform(-6, 0, len(low)) * rng.choice(sigmas, len(low))
            slope, bend = law.slope(low, high), law.curvature(low, high)
            for share in (0.0, 0.3, 1.0):
                z = low + share * (high - low)
                logs = np.stack(
                    [stats.norm.logpdf(z, m, s) + math.log(w) for m, s, w in zip(means, sigmas, weights, strict=True)]
                )
                posterior = np.exp(logs - logs.max(axis=0))
                posterior /= posterior.sum(axis=0)
                slopes = np.stack([(m - z) / s**2 for m, s in zip(means, sigmas, strict=True)])
                first = (posterior * slopes).sum(axis=0)
                second = (posterior * ((slopes - first) ** 2 - 1 / sigmas[:, None] ** 2)).sum(axis=0)
                size = 1e-9 * (np.abs(slopes).max(axis=0) + 1 / sigmas.min()) + 1e-9
                assert (np.maximum(slope[0] - first, first - slope[1]) <= size).all()
                size = 1e-9 * ((slopes**2).max(axis=0) + 1 / sigmas.min() ** 2)
                assert (np.maximum(bend[0] - second, second - bend[1]) <= size).all()
