"""Noisy maxima over column sums; sums and histograms over counts per day."""

import numpy as np


def noisy_max(x, rng, epsilon=1.0):
    queries = x.sum(axis=0)
    best = 0
    largest = 0.0
    for i in range(len(queries)):
        noisy = queries[i] + rng.laplace(scale=2 / epsilon)
        if i == 0 or noisy > largest:
            best = i
            largest = noisy
    return best


def noisy_max_from_below(x, rng, epsilon=1.0):
    best, largest = None, -np.inf
    for i, query in enumerate(x.sum(axis=0)):
        noisy = query + rng.laplace(scale=2 / epsilon)
        if noisy > largest:
            best, largest = i, noisy
    return best


def bad_noisy_max(x, rng, epsilon=1.0):
    queries = x.sum(axis=0)
    largest = 0.0
    for i in range(len(queries)):
        noisy = queries[i] + rng.laplace(scale=2 / epsilon)
        if i == 0 or noisy > largest:
            largest = noisy
    return largest


def noisy_max_v1a(x, rng, epsilon=1.0):
    queries = x.sum(axis=0)
    return (queries + rng.laplace(scale=2.0 / epsilon, size=len(queries))).argmax()


def noisy_max_v1b(x, rng, epsilon=1.0):
    queries = x.sum(axis=0)
    return (queries + rng.laplace(scale=2.0 / epsilon, size=len(queries))).max()


def noisy_max_v2a(x, rng, epsilon=1.0):
    queries = x.sum(axis=0)
    return (queries + rng.exponential(scale=2.0 / epsilon, size=len(queries))).argmax()


def noisy_max_v2b(x, rng, epsilon=1.0):
    queries = x.sum(axis=0)
    return (queries + rng.exponential(scale=2.0 / epsilon, size=len(queries))).max()


def partial_sum(days, rng, epsilon=1.0):
    total = 0
    for count in np.bincount(days, minlength=5):
        total += count
    return total + rng.laplace(scale=1 / epsilon)


def bad_partial_sum(days, rng, epsilon=1.0):
    total = 0
    for count in np.bincount(days, minlength=5):
        total += count
    return total + rng.laplace(scale=1 / (2 * epsilon))


def prefix_sum(days, rng, epsilon=1.0):
    out = []
    following = 0.0
    for count in np.bincount(days, minlength=5):
        following = following + count + rng.laplace(scale=1 / epsilon)
        out.append(following)
    return out


def smart_sum(days, rng, epsilon=1.0, block=2):
    out = []
    before = 0.0
    following = 0.0
    total = 0
    for i, count in enumerate(np.bincount(days, minlength=5)):
        if (i + 1) % block == 0:
            before = before + total + count + rng.laplace(scale=1 / epsilon)
            following = before
            total = 0
        else:
            following = following + count + rng.laplace(scale=1 / epsilon)
            total += count
        out.append(following)
    return out


def bad_smart_sum(days, rng, epsilon=1.0, block=2):
    out = []
    before = 0.0
    following = 0.0
    total = 0
    for i, count in enumerate(np.bincount(days, minlength=5)):
        if (i + 1) % block == 0:
            before = before + total + count
            following = before
            total = 0
        else:
            following = following + count + rng.laplace(scale=1 / epsilon)
            total += count
        out.append(following)
    return out


def histogram(days, rng, epsilon=0.5):
    counts = np.bincount(days, minlength=5)
    return counts + rng.laplace(scale=1.0 / epsilon, size=len(counts))


def histogram_eps(days, rng, epsilon=0.5):
    counts = np.bincount(days, minlength=5)
    return counts + rng.laplace(scale=epsilon, size=len(counts))


def prefix_sum_of_noisy(days, rng, epsilon=1.0):
    out = []
    following = 0.0
    for count in np.bincount(days, minlength=5):
        following += count + rng.laplace(scale=1 / epsilon)
        out.append(following)
    return out


def smart_sum_of_noisy(days, rng, epsilon=1.0, block=2):
    out = []
    before = 0.0
    following = 0.0
    total = 0
    for i, count in enumerate(np.bincount(days, minlength=5)):
        if (i + 1) % block == 0:
            before += total + count + rng.laplace(scale=1 / epsilon)
            following = before
            total = 0
        else:
            following += count + rng.laplace(scale=1 / epsilon)
            total += count
        out.append(following)
    return out
