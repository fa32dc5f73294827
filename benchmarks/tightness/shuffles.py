"""Laws of shuffled counts: binomials, moved up and down by what the two datasets really count."""

import math

import numpy as np
from scipy import stats

from algorithms.core.transcripts import RunTranscript
from algorithms.core.users import play, Tree, TreeUsers
from benchmarks.tightness.laws import Impossible, Law, listed
from dpverify import Pair
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


def run(target: RunTranscript) -> list[Law]:
    """Every batch, with one of its users replaced: another state and action in every step, always paid."""
    every = target.agent.steps()
    size = every[-1].layout
    trees = [Tree.steady((size.H + 1) * (state,), size.H * (1.0,), size.A) for state in (0, size.S - 1)]
    found = []
    for step in every:
        if not step.releases:
            continue
        noise = target.privatizer.noise(step.layout, step.users)
        policies = np.zeros((1, step.users, size.H, size.S), dtype=np.int64)
        counts = []
        for tree in trees:
            users = TreeUsers((tree, *[trees[0]] * (step.users - 1)))
            counts.append(step.exact(play(users, np.arange(step.users), policies, actions=size.A))[0])
        first, second = counts
        found.append(sums(noise, step.users, int((second > first).sum()), int((second < first).sum())))
    return found
