"""Laws of shuffled counts: binomials, moved up and down by what the two datasets really count."""

import math
from collections.abc import Sequence

import numpy as np
from scipy import stats

from algorithms.batch_transcripts import BatchTranscript
from algorithms.counting import total_counts
from algorithms.deployment import one_step
from algorithms.pooled import PooledTranscript
from algorithms.users import play, Tree, TreeUsers
from benchmarks.tightness.laws import Impossible, Law, listed
from dpverify import Pair
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.privatizers.shuffle import Messages, Shuffle
from mechanisms.shuffling.bits import NoiseBits


def sums(noise: NoiseBits, users: int, up: int, down: int) -> Law:
    """`up` counters that rise by 1 and `down` that fall by 1, each by its own noise bits."""
    if not noise.per_user:
        return Impossible(1.0)
    trials, p = users * noise.per_user, noise.probability
    reach = 14 * math.sqrt(trials * p * (1 - p)) + 60
    k = np.arange(max(0, math.floor(trials * p - reach)), min(trials + 1, math.ceil(trials * p + reach)) + 1)
    still, moved = stats.binom.pmf(k, trials, p), stats.binom.pmf(k - 1, trials, p)
    return listed((still, moved, up), (moved, still, down))


def integers(noise: NoiseBits) -> Law:
    """Everybody else holds 1: a message 0 says that the target holds 0, and shows with probability (1 - p)^m."""
    return Impossible((1 - noise.probability) ** noise.per_user)


def batch(target: Shuffle, pair: Pair) -> Law:
    """The counters that differ between the two datasets."""
    if target.messages is Messages.INTEGERS:
        return integers(target.noise)
    rewards = target.layout.rewards
    first, second = (target.layout.pack(each.counts(rewards=rewards)) for each in pair)
    return sums(target.noise, target.users, int((second > first).sum()), int((second < first).sum()))


def run(target: BatchTranscript | PooledTranscript) -> list[Law]:
    """Every batch, with one of its users replaced: another state and action in every step, always paid."""
    size = target.learner.layout
    steps = (size.H + 1,)
    trees = [Tree.steady(steps[0] * (state,), size.H * (1.0,), size.A) for state in (0, size.S - 1)]
    found = []
    sections: Sequence[tuple[range, CountLayout, int | None]]
    if isinstance(target, BatchTranscript):
        sections = target.sections
    else:  # the last batch's counts are not released
        sections = [(who, size, None) for who in target.learner.sections[:-1]]
    for who, layout, step in sections:
        noise = target.batches.noise(layout, len(who))  # type: ignore[attr-defined]
        policies = np.zeros((1, len(who), size.H, size.S), dtype=np.int64)
        counts = []
        for tree in trees:
            users = TreeUsers((tree, *[trees[0]] * (len(who) - 1)))
            episodes = play(users, np.arange(len(who)), policies, actions=size.A)
            counts.append(total_counts(episodes if step is None else one_step(episodes, step), layout)[0])
        first, second = counts
        found.append(sums(noise, len(who), int((second > first).sum()), int((second < first).sum())))
    return found
