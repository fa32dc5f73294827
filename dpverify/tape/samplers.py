"""Are batches those of independent sampling? Exact tests, at levels that hold whatever the rate."""

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special, stats

Array = npt.NDArray[Any]


def _apart(batches: Sequence[Array]) -> bool:
    rows = np.concatenate(list(batches))
    return len(np.unique(rows)) == len(rows)


def sampler_levels(drawn: Sequence[Sequence[Array]], users: int, *, poisson: bool) -> dict[str, float]:
    """Levels at which the batches of several runs reject independent sampling, one a test; 1 where it does not look.

    Given their sizes, batches of Poisson and of fixed-size sampling are independent and uniform sets of so many rows,
    whatever the rate: three tests are exact given the sizes. Given their sum, the sizes of Poisson samples are
    multivariate hypergeometric: "fixed", that the most frequent size is so frequent, is bounded by a union over it.
    """
    sizes = [len(each) for run in drawn for each in run]
    number, total, common = len(sizes), sum(sizes), 0
    law, apart_log, epoch = np.ones(1), 0.0, max(1, users * number // max(total, 1))
    for run in drawn:
        taken = 0
        for each in run[:epoch]:
            apart_log += _choose(users - taken, len(each)) - _choose(users, len(each))
            taken += len(each)
        for a, b in itertools.pairwise(run):
            common += len(np.intersect1d(a, b))
            law = np.convolve(law, stats.hypergeom.pmf(np.arange(min(len(a), len(b)) + 1), users, len(a), len(b)))
    same = len(drawn) > 1 and not any(parted(run, drawn[0]) for run in drawn)
    apart = epoch > 1 and min(map(len, drawn)) > 1 and all(_apart(run[:epoch]) for run in drawn)
    levels = {
        "in order": math.exp(-sum(_choose(users, len(each)) for run in drawn[1:] for each in run)) if same else 1.0,
        "shuffled": math.exp(apart_log) if apart else 1.0,
        "again": min(1.0, float(law[common:].sum())) if common else 1.0,
    }
    if poisson:
        often = max(Counter(sizes).values())
        alike = [
            _choose(number, often)
            + often * _choose(users, size)
            + _choose(users * (number - often), total - often * size)
            - _choose(users * number, total)
            for size in range(min(users, total // often) + 1)
            if total - often * size <= users * (number - often)
        ]
        levels["fixed"] = math.exp(min(0.0, float(special.logsumexp(alike))))
    return levels


def _choose(n: int, m: int) -> float:
    """log of the binomial coefficient; -inf where there is none."""
    return float(special.gammaln(n + 1) - special.gammaln(m + 1) - special.gammaln(n - m + 1)) if m <= n else -math.inf


def parted(one: Sequence[Array], other: Sequence[Array]) -> bool:
    """Whether two lists of arrays differ."""
    return len(one) != len(other) or not all(map(np.array_equal, one, other))
