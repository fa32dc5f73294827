"""Privacy-loss distributions: the only module that talks to dp-accounting.

Each loss is turned into a pessimistic distribution on a grid of losses by connecting the dots of its profile
(Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022), then distributions are convolved. The library's relation
switch is never used: in 0.6.0 its PLDs know no Laplace noise under replace-one and its RDP accountant
forgets the factor of two. The ledger states how far coordinates move under each relation; that is all the
library is told.

What is lost, always upwards:
- the grid: an error of order step^2 for each coordinate; the step is chosen so that the whole composition
  spans at least 2^15 steps and each loss that matters at least 64 (as far as 2^20 steps in all allow);
- tails: TAIL for each law and 1e-15 for each self-composition are counted as infinite loss;
- the FFT: its rounding error is bounded (`_fft_error`) and added to delta.

The floor: no delta below `Composed.floor` comes out, typically 1e-13 to 1e-10. Below it `accountant` uses its
other bounds, which are coarser.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from dpverify.accounting.divergence import UNIT
from dpverify.accounting.expand import Losses
from dpverify.accounting.losses import Loss

SPAN_STEPS = 2**15
LOSS_STEPS = 64
MOST_STEPS = 2**20
CRUMB = 1e-5
MOST_REACH = 300.0  # a loss above this is charged as infinite: e^loss must stay a float


@dataclass(frozen=True, eq=False)
class Composed:
    """A composed privacy-loss distribution and what its arithmetic may have lost."""

    pmf: Any
    floor: float

    def delta_at(self, eps: float) -> float:
        """delta(eps), an upper bound."""
        return min(1.0, float(self.pmf.get_delta_for_epsilon(eps)) + self.floor)


@lru_cache(maxsize=128)
def composed(losses: Losses) -> Composed:
    """Adaptive composition of all losses, `count` times each; `losses` must not be empty."""
    from dp_accounting.pld import pld_pmf  # takes more than a second to import

    step = _step(losses)
    total, error = None, 0.0
    for loss, count in losses:
        pmf = _discretised(loss, step)
        if float(pmf.get_delta_for_epsilon(math.inf)) >= 1:
            return Composed(pmf, 0.0)  # revealed: nothing that is composed with it can help
        if count > 1:
            pmf = pmf.self_compose(count)
            error += _fft_error(pmf.size, count)
        if total is None:
            total = pmf
        else:
            total = pld_pmf.compose_pmfs(total, pmf)
            error += _fft_error(total.size, 1)
    return Composed(total, error)


@lru_cache(maxsize=256)
def _discretised(loss: Loss, step: float) -> Any:
    from dp_accounting.pld import pld_pmf

    steps = math.ceil(min(loss.reach(), MOST_REACH) / step)
    grid = np.arange(-steps, steps + 1, dtype=np.float64) * step
    deltas = np.clip(np.maximum.accumulate(loss.profile(grid)[::-1])[::-1], 0.0, 1.0)
    return pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(step, -steps, steps, deltas)


def _step(losses: Losses) -> float:
    """A power of two, so that grid points are exact and equal ledgers share their distributions."""
    reaches = [(min(loss.reach(), MOST_REACH), count) for loss, count in losses]
    squares = sum(count * reach**2 for reach, count in reaches)
    if not squares:
        return 1.0
    span = min(sum(count * reach for reach, count in reaches), 12 * math.sqrt(squares) + squares / 2)
    # on a grid coarser than itself a loss r gains a variance of about r step: allowed where that is a crumb of all
    fine = (max(r / LOSS_STEPS, CRUMB * squares / (count * r)) for r, count in reaches if r)
    wanted = min(span / SPAN_STEPS, *fine)
    return float(2.0 ** math.floor(math.log2(max(wanted, span / MOST_STEPS))))


def _fft_error(size: int, folds: int) -> float:
    """Bound on the 1-norm of the rounding error of a `folds`-fold convolution of laws by FFT.

    An FFT of N numbers errs by at most 8 u log2(N) in relative 2-norm (Higham 2002, Theorem 24.2). The
    transform of a law is at most 1 in modulus, so its powers pass an error on `folds` times at most; the
    transforms back and forth of laws of 2-norm at most 1 and Cauchy-Schwarz give the rest.
    """
    return 8 * UNIT * math.log2(size + 2) * math.sqrt(2 * size) * (folds + 2)
