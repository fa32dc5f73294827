"""Full-tree counter: nodes by brute force, best linear estimate, streaming, ledger."""

import numpy as np
import pytest

from dpverify.claims.neighbours import Pair
from dpverify.errors import UsageError
from mechanisms.counters.honaker import HonakerCounter, variance_shares
from mechanisms.counters.stream import Stream
from mechanisms.toolbox.noise_laws import (
    DiscreteGaussianNoiseLaw,
    DiscreteLaplaceNoiseLaw,
    GaussianNoiseLaw,
    LaplaceNoiseLaw,
    NoNoise,
)

NOISES = [LaplaceNoiseLaw(1.5), DiscreteLaplaceNoiseLaw(1.5), GaussianNoiseLaw(2.0), DiscreteGaussianNoiseLaw(2.0)]


def brute_nodes(releases):
    return [(t - 2**i, t) for t in range(1, releases + 1) for i in range(20) if t % 2**i == 0]


@pytest.mark.parametrize("releases", range(1, 71))
def test_nodes_and_prefixes_match_direct_sums(releases):
    values = np.random.default_rng(releases).integers(0, 2, size=releases).astype(float)
    counter = HonakerCounter(releases=releases, noise=NoNoise())
    seen = counter.release(Stream(values), rng=np.random.default_rng(0), size=2)
    direct = [values[start:end].sum() for start, end in brute_nodes(releases)]
    assert np.array_equal(seen, [direct, direct])
    assert len(direct) == 2 * releases - bin(releases).count("1")
    assert np.allclose(counter.counts(seen), values.cumsum(), rtol=0, atol=1e-9)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("releases", [1, 2, 3, 8, 21])
def test_streaming_equals_whole_stream_bit_for_bit(noise, releases):
    values = np.random.default_rng(1).integers(0, 2, size=(releases, 3)).astype(float)
    counter = HonakerCounter(releases=releases, noise=noise, cells=(3,), touches=3)
    whole = counter.counts(counter.release(Stream(values), rng=np.random.default_rng(7), size=4))
    stream = counter.stream(4, rng=np.random.default_rng(7))
    for t in range(releases):
        assert np.array_equal(stream.feed(np.broadcast_to(values[t], (4, 3))), whole[:, t])
    with pytest.raises(UsageError):
        stream.feed(np.zeros((4, 3)))


@pytest.mark.parametrize("releases", [1, 2, 3, 7, 8, 13, 16])
def test_weights_are_those_of_the_linear_map(releases):
    """The estimator is applied to the unit vectors: its matrix has the stated norms and is unbiased."""
    counter = HonakerCounter(releases=releases, noise=LaplaceNoiseLaw(1.0))
    nodes = brute_nodes(releases)
    matrix = counter.counts(np.eye(len(nodes))).T  # (R, nodes)
    l2, sup = counter.weights
    assert np.allclose(np.linalg.norm(matrix, axis=1), l2, atol=1e-12)
    assert np.allclose(np.abs(matrix).max(axis=1), sup, atol=1e-12)
    holds = np.array([[start < item <= end for item in range(1, releases + 1)] for start, end in nodes], dtype=float)
    assert np.allclose(matrix @ holds, np.tri(releases), atol=1e-12)


@pytest.mark.parametrize("releases", [4, 8, 16])
def test_estimate_of_the_whole_tree_is_the_least_squares_one(releases):
    """At t = 2^k the estimate from below uses every node: it is the best linear unbiased one (Gauss-Markov)."""
    nodes = brute_nodes(releases)
    holds = np.array([[start < item <= end for item in range(1, releases + 1)] for start, end in nodes], dtype=float)
    best = np.ones(releases) @ np.linalg.inv(holds.T @ holds) @ holds.T
    mine = HonakerCounter(releases=releases, noise=LaplaceNoiseLaw(1.0)).counts(np.eye(len(nodes)))[:, -1]
    assert np.allclose(mine, best, atol=1e-12)
    assert best @ best == pytest.approx(variance_shares(5)[releases.bit_length() - 1])


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("item", [0, 3, 4])
def test_likelihood_ratio_is_that_of_the_independent_nodes(noise, item):
    values = np.array([1.0, 0, 1, 1, 0])
    changed = values.copy()
    changed[item] = 1 - changed[item]
    counter = HonakerCounter(releases=5, noise=noise)
    seen = counter.release(Stream(values), rng=np.random.default_rng(0), size=30)
    first, second = (np.array([v[s:e].sum() for s, e in brute_nodes(5)]) for v in (values, changed))
    direct = noise.log_ratio(seen, first[None], second[None])
    assert np.allclose(counter.log_ratio(seen, Pair(Stream(values), Stream(changed))), direct, atol=1e-12)
