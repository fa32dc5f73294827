"""Bookkeeping of the binary mechanism's nodes: which sums are noised, and how prefixes are made of them.

At time t the mechanism closes exactly one dyadic interval, (t - lowbit(t), t], lowbit(t) = largest power
of two that divides t. So nodes are numbered by the time at which they end, R releases make R nodes, and

    prefix(t) = node(t) + prefix(t - lowbit(t)),    prefix(0) = 0                            (*)

which is popcount(t) nodes. (*) is unit-triangular: node(t) = prefix(t) - prefix(t - lowbit(t)), so whoever
sees all prefixes sees all nodes, and neither view tells more than the other.

Item i lies in the nodes i, i + lowbit(i), ... up to R: at most floor(log2 R) + 1 of them, reached by item 1.

Arrays have time on axis 0; row t - 1 belongs to time t.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.base import require

Array = npt.NDArray[Any]


def levels(releases: int) -> int:
    """floor(log2 R) + 1: the most released nodes that contain one item, exactly (no logarithm is taken)."""
    require.integer(at_least=1, releases=releases)
    return int(releases).bit_length()


def nodes_containing(item: int, releases: int) -> list[int]:
    """End times of the released nodes that contain `item` (items and times count from 1)."""
    require.integer(at_least=1, item=item, releases=releases)
    found = []
    while item <= releases:
        found.append(item)
        item += item & -item
    return found


def parents(releases: int) -> npt.NDArray[np.int64]:
    """t - lowbit(t) for t = 1..R: where the rest of the prefix ends, 0 for none."""
    times = np.arange(1, releases + 1, dtype=np.int64)
    return times & (times - 1)


def widths(releases: int) -> npt.NDArray[np.int64]:
    """popcount(t) for t = 1..R: how many noisy nodes prefix t adds up."""
    return np.bitwise_count(np.arange(1, releases + 1, dtype=np.int64)).astype(np.int64)


def node_sums(values: Array) -> Array:
    """Exact sums of the nodes of a stream: row t - 1 is values[t - lowbit(t):t].sum(axis=0).

    Children are added pairwise, as a streaming counter does, so that both round alike.
    """
    sums = np.array(values)
    half = 1
    while 2 * half <= len(sums):
        ends = np.arange(2 * half, len(sums) + 1, 2 * half)
        sums[ends - 1] = sums[ends - 1 - half] + sums[ends - 1]
        half *= 2
    return sums


def prefixes(nodes: Array) -> Array:
    """Prefix counts from nodes, by (*)."""
    counts = np.array(nodes)
    up = parents(len(counts))
    ones = widths(len(counts))
    for width in range(2, int(ones.max(initial=0)) + 1):
        rows = np.flatnonzero(ones == width)
        counts[rows] = counts[rows] + counts[up[rows] - 1]
    return counts


def nodes(prefix_counts: Array) -> Array:
    """Nodes from prefix counts: the inverse of `prefixes`."""
    found = np.array(prefix_counts)
    up = parents(len(found))
    rows = np.flatnonzero(up)
    found[rows] = prefix_counts[rows] - prefix_counts[up[rows] - 1]
    return found
