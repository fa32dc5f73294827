"""F5 on programs with leaks of known probability; the whole table is `benchmarks.tape_leaks`."""

import math

import numpy as np
import pytest
from scipy import stats

from benchmarks import tape_leaks as table

RUNS, LEVEL = 300, 1e-6


@pytest.mark.parametrize("kind", table.KINDS, ids=lambda kind: kind.__name__)
def test_what_is_certified_is_below_the_truth_as_rarely_as_it_says(kind) -> None:
    """300 runs, exact test at level 1e-6 against 5 %."""
    _, below = table.count(kind(0.1), RUNS, 0)
    assert stats.binom.sf(below - 1, RUNS, 0.05) > LEVEL


def test_half_of_the_transcripts_are_too_few() -> None:
    """Planted: delta_k of twice as many. 16 % of the runs miss the leak; power above 0.99 at level 1e-6."""
    _, below = table.count(table.on_one_dataset(0.1), RUNS, 0, share=0.5)
    assert stats.binom.sf(below - 1, RUNS, 0.05) < LEVEL


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("eps", [0.02, 0.09, 0.3])
def test_the_closed_forms_are_the_integrals(order: int, eps: float) -> None:
    """True deltas of tails by numerical integration of the densities: the leak, and (p - e^eps q)+ below the bound."""
    for kind, laws in ((table.tail_of_laplace, table.LAPLACE), (table.tail_of_normal, table.NORMAL)):
        bound = float(laws[0].isf(0.1))
        grid = np.linspace(-300.0, bound, 1_000_001)
        p, q = laws[order], laws[1 - order]
        smooth = np.trapezoid(np.maximum(0.0, p.pdf(grid) - math.exp(eps) * q.pdf(grid)), grid)
        assert kind(0.1).delta(eps, order) == pytest.approx(p.sf(bound) + smooth, abs=1e-7)
