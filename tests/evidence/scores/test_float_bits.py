"""The score of reachable floating-point numbers: textbook noise leaks through it, discrete noise does not."""

import numpy as np

from dpverify import Pair, PureDP
from dpverify.auditing.pipeline import audit
from dpverify.ledger.events import Sensitivity
from mechanisms.releases.discrete_laplace import DiscreteLaplace

PAIR = Pair(0, 1)


def textbook_laplace(data, *, rng, size):
    return data + rng.laplace(0.0, 1.0, size)


def on_a_grid(data, *, rng, size):
    """The same noise rounded to multiples of 2^-20 before it is added: the true answers are on the grid."""
    return data + np.round(rng.laplace(0.0, 1.0, size) * 2**20) / 2**20


def run(target, **more):
    return audit(target, claim=PureDP(1.0), pair=PAIR, trials=20_000, seed=4, **{"score": "bits", **more})


def test_textbook_laplace_leaks_through_its_low_bits():
    record = run(textbook_laplace)
    assert record.verdict == "REFUTED"
    assert record.eps_lower > 4  # far beyond the claim: some numbers are reachable from one dataset only
    assert record.score == "bits"
    assert run(textbook_laplace, score="auto").verdict == "NOT_REFUTED"  # only who asks is told


def test_noise_on_a_grid_and_discrete_noise_do_not():
    assert run(on_a_grid).verdict == "NOT_REFUTED"
    assert run(DiscreteLaplace.for_claim(1.0, sensitivity=Sensitivity(replace=1))).verdict == "NOT_REFUTED"
