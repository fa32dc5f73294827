"""PUCB's counters, by Algorithms 2 and 5: what is fed, what comes out (A3, A5); its tuples (N8); the tree of C10."""

import math

import numpy as np

from dpverify.base.seeding import Stage, stream


class Tree:
    """Algorithm 5 with Lap(scale) on each closed node; `feed` returns the noisy prefix sum."""

    def __init__(self, scale: float, rng: np.random.Generator) -> None:
        self.scale, self.rng, self.t = scale, rng, 0
        self.sums, self.noisy = [0.0] * 40, [0.0] * 40

    def feed(self, item: float) -> float:
        """One step of the stream."""
        self.t += 1
        i = (self.t & -self.t).bit_length() - 1
        self.sums[i] = sum(self.sums[:i]) + item
        self.sums[:i] = self.noisy[:i] = [0.0] * i
        self.noisy[i] = self.sums[i] + self.rng.laplace(scale=self.scale)
        return sum(self.noisy[j] for j in range(40) if self.t >> j & 1)


def unfed_unchanged(visited: bool, runs: int = 200, seed: int = 3) -> float:
    """Share of runs in which a reward counter shows the same value before and after the first user (A3).

    As the pseudo-code of Algorithm 2 reads, a reward counter is fed where the user was, and nothing elsewhere.
    """
    rng, same = stream(seed, Stage.EXPERIMENT), 0
    for _ in range(runs):
        tree, before = Tree(3.0, rng), 0.0
        after = tree.feed(0.0) if visited else before  # a visit with reward 0 still draws noise
        same += after == before
    return same / runs


def unfed_log_ratio() -> float:
    """log P/Q of {unchanged}: certain where the user was not, of probability 0 where she was (A3)."""
    stays, moves = 1.0, 0.0  # continuous noise never repeats a value
    return math.inf if moves == 0.0 < stays else math.log(stays / moves)


def decreases(runs: int = 4_000, seed: int = 5) -> float:
    """Share of runs with B(3) < B(2) on a stream of zeros (A5)."""
    rng, fell = stream(seed, Stage.EXPERIMENT), 0
    for _ in range(runs):
        tree = Tree(1.0, rng)
        tree.feed(0.0)
        second = tree.feed(0.0)
        fell += tree.feed(0.0) < second
    return fell / runs


def fresh_noises(t: int) -> int:
    """Nodes of t that are no nodes of t - 1, where all nodes of t - 1 stay: then B(t) - B(t-1) is item + noise (A5)."""

    def of(x: int) -> set[tuple[int, int]]:
        found = set()
        while x:
            found.add((x - (x & -x), x))
            x -= x & -x
        return found

    return len(of(t) - of(t - 1)) if of(t - 1) <= of(t) else -1


def levels_multiple(steps: int) -> float:
    """eps_true/eps of a tree with Lap(ceil(log2 T)/eps) on each node; all prefixes, one item moved by 1 (C10)."""
    levels = math.ceil(math.log2(steps))
    return (math.floor(math.log2(steps)) + 1) / levels


def worst_levels(largest: int) -> float:
    """The largest of these over T = 3..largest that are no powers of 2 (C10)."""
    return max(levels_multiple(t) for t in range(3, largest + 1) if t & (t - 1))


def last_step_fits(steps: int) -> bool:
    """Whether the index of the last closed node lies in the list of ceil(log2 T) levels (C10)."""
    return (steps & -steps).bit_length() - 1 < math.ceil(math.log2(steps))


def short_episodes(horizon: int, actions: int, visits: int, states: int = 1) -> float:
    """Episodes with a tuple that was met fewer than `visits` times, over `visits` SA, counted along one run (N8).

    One step explores at a time: all others play action 0 meanwhile.
    """
    seen, short = np.zeros((horizon, actions), dtype=np.int64), 0
    plays = [np.zeros(horizon, dtype=np.int64)]
    plays += [np.eye(horizon, dtype=np.int64)[step] * action for step in range(horizon) for action in range(1, actions)]
    for play in plays:
        for _ in range(2 * visits):
            met = seen[np.arange(horizon), play]
            short += int(met.min() < visits)
            seen[np.arange(horizon), play] += 1
    return short / (visits * states * actions)


def short_episodes_by_hand(horizon: int, actions: int) -> float:
    """Every tuple but those of action 0 has `visits` episodes of its own: (1 + H (A - 1))/A, towards H (N8)."""
    return (1 + horizon * (actions - 1)) / actions
