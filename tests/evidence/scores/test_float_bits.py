"""The score of reachable floating-point numbers: textbook noise leaks through it, discrete noise does not."""

import numpy as np
import pytest

from dpverify import Pair, PureDP
from dpverify.auditing.pipeline import audit
from dpverify.errors import ParameterError
from dpverify.evidence.scores.known import FINEST, grid_symbols, SYMBOLS
from dpverify.ledger.events import Sensitivity
from dpverify.trials.outcomes import Outcomes
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


def test_symbols_tell_lowest_bits_apart():
    values = np.array([1.0, 1.5, -1.0, 0.75, 1 + 2.0**-52, 0.0, -0.0, np.nan, np.inf, 5e-324, 2.0**900])
    found = grid_symbols(Outcomes(values))[:, 0]
    assert found.shape == (11,)
    assert ((0 <= found) & (found < SYMBOLS)).all()
    assert found[5] == found[6]  # two zeros are one number
    assert found[7] == found[8] == SYMBOLS - 1
    assert len(set(found[:6].tolist())) == 6
    # 0.3 and the nearest multiple of 2^-20: equal sign and exponent, other grid
    a, b = grid_symbols(Outcomes(np.array([0.3, round(0.3 * 2**20) / 2**20])))[:, 0]
    assert a != b
    assert FINEST < -53


def test_vectors_are_scored_by_coordinate():
    def both(data, *, rng, size):
        return np.stack([rng.laplace(0.0, 1.0, size), data + rng.laplace(0.0, 1.0, size)], axis=1)

    assert run(both).eps_lower > 3


def test_text_has_no_bits():
    def text(data, *, rng, size):
        return np.where(rng.random(size) < 0.5, "a", "b")

    with pytest.raises(ParameterError, match="score"):
        run(text)
