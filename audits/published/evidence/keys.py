"""C7: a chain of keys in which both loops advance by the first child; keys are their distance from the first one."""

import hashlib
from collections import Counter
from collections.abc import Callable

Key = int | str


def _calls(iterations: int, sparsity: int, episodes: int, first: Key, child: Callable[..., Key]) -> list[Key]:
    """The keys of all noise calls: `iterations` of `sparsity` + 1 calls, in each of `episodes` episodes."""
    used, start = list[Key](), first
    for _ in range(episodes):
        outer = start
        for _ in range(iterations):
            inner = outer
            for _ in range(sparsity):
                used.append(inner)  # noise of the selection
                inner = child(inner)
            used.append(inner)  # noise of the selected values
            outer = child(outer)
        start = child(start)
    return used


def distinct(iterations: int, sparsity: int, episodes: int = 1) -> float:
    """Different keys among the calls, by following a hash chain."""

    def child(key: object) -> str:
        return hashlib.sha256(str(key).encode()).hexdigest()

    return float(len(set(_calls(iterations, sparsity, episodes, "seed", child))))


def distinct_by_formula(iterations: int, sparsity: int, episodes: int = 1) -> float:
    """M + s + (E - 1): iteration m of episode e uses keys e + m .. e + m + s."""
    return float(iterations + sparsity + episodes - 1)


def calls(iterations: int, sparsity: int) -> float:
    """M (s + 1)."""
    return float(len(_calls(iterations, sparsity, 1, 0, lambda key: int(key) + 1)))


def most_used(iterations: int, sparsity: int, episodes: int) -> float:
    """How often the most used key is used."""
    return float(max(Counter(_calls(iterations, sparsity, episodes, 0, lambda key: int(key) + 1)).values()))
