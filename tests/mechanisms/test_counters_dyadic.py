"""Node bookkeeping against brute force, and the prefix <-> node bijection."""

import numpy as np
import pytest

from dpverify.errors import ParameterError
from mechanisms.counters import dyadic


def brute_nodes(releases: int) -> list[tuple[int, int]]:
    """(start, end] of the node closed at each time, from the largest power of two that divides it."""
    found = []
    for end in range(1, releases + 1):
        size = max(2**j for j in range(20) if end % 2**j == 0)
        found.append((end - size, end))
    return found


def test_nodes_containing_every_item_match_brute_force():
    for releases in range(1, 71):
        nodes = brute_nodes(releases)
        for item in range(1, releases + 1):
            assert dyadic.nodes_containing(item, releases) == [end for start, end in nodes if start < item <= end]


def test_levels_is_the_exhaustive_maximum_and_item_one_reaches_it():
    for releases in range(1, 300):
        counts = [len(dyadic.nodes_containing(item, releases)) for item in range(1, releases + 1)]
        assert dyadic.levels(releases) == max(counts) == counts[0], releases


def test_levels_next_to_powers_of_two_is_exact_where_floating_logarithms_are_not():
    for power in (10, 29, 49, 60):
        assert [dyadic.levels(2**power + shift) for shift in (-1, 0, 1)] == [power, power + 1, power + 1]


def test_sums_and_prefixes_match_direct_sums():
    for releases in range(1, 71):
        values = np.random.default_rng(releases).integers(0, 2, size=(releases, 3)).astype(float)
        sums = dyadic.node_sums(values)
        for (start, end), row in zip(brute_nodes(releases), sums, strict=True):
            assert np.array_equal(row, values[start:end].sum(axis=0))
        counts = dyadic.prefixes(sums)
        assert np.array_equal(counts, values.cumsum(axis=0))
        assert np.array_equal(dyadic.nodes(counts), sums)
        assert list(dyadic.widths(releases)) == [bin(t).count("1") for t in range(1, releases + 1)]


def test_inputs_are_not_changed():
    values = np.ones((8, 2))
    dyadic.prefixes(values)
    dyadic.nodes(values)
    dyadic.node_sums(values)
    assert (values == 1).all()


@pytest.mark.parametrize("bad", [0, -1, 2.0, True, float("nan")])
def test_levels_refuses_what_is_not_a_count(bad):
    with pytest.raises(ParameterError):
        dyadic.levels(bad)
