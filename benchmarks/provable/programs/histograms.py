from collections import Counter

import numpy as np

COLORS = ["red", "green", "blue", "black"]


def histogram(cells, epsilon=1.0, k=5, rng=None):
    if rng is None:
        rng = np.random.default_rng()
    return np.bincount(cells, minlength=k) + rng.laplace(scale=2 / epsilon, size=k)


def histogram_one_cell(cells, epsilon=1.0, k=5, rng=None):
    if rng is None:
        rng = np.random.default_rng()
    return np.bincount(cells, minlength=k) + rng.laplace(scale=1 / epsilon, size=k)


def histogram_same_noise(cells, epsilon=1.0, k=5, rng=None):
    if rng is None:
        rng = np.random.default_rng()
    return np.bincount(cells, minlength=k) + rng.laplace(scale=2 / epsilon)


def color_counts(colors, epsilon=1.0):
    return {color: colors.count(color) + np.random.laplace(scale=1 / epsilon) for color in COLORS}


def color_counts_seen(colors, epsilon=1.0):
    return {color: n + np.random.laplace(scale=1 / epsilon) for color, n in Counter(colors).items()}


def color_counts_nonzero(colors, epsilon=1.0):
    noisy = {}
    for color in COLORS:
        count = colors.count(color)
        if count > 0:
            noisy[color] = count + np.random.laplace(scale=1 / epsilon)
    return noisy


def color_counts_and_all(colors, epsilon=1.0):
    result = {"all": len(colors) + np.random.laplace(scale=1 / epsilon)}
    for color in COLORS:
        result[color] = colors.count(color) + np.random.laplace(scale=1 / epsilon)
    return result


def frequent_colors(colors, epsilon=1.0, threshold=3.0):
    noisy = {color: colors.count(color) + np.random.laplace(scale=1 / epsilon) for color in COLORS}
    return {color: value for color, value in noisy.items() if value > threshold}


def frequent_colors_true(colors, epsilon=1.0, threshold=3.0):
    counts = {color: colors.count(color) for color in COLORS}
    return {color: c + np.random.laplace(scale=1 / epsilon) for color, c in counts.items() if c > threshold}


def stable_histogram(colors, epsilon=1.0, delta=1e-6):
    cut = 1 + np.log(1 / (2 * delta)) / epsilon
    released = {}
    for color, count in sorted(Counter(colors).items()):
        noisy = count + np.random.laplace(scale=1 / epsilon)
        if noisy > cut:
            released[color] = noisy
    return released


def stable_histogram_low(colors, epsilon=1.0, delta=1e-6):
    cut = 1 + 1 / epsilon
    released = {}
    for color, count in sorted(Counter(colors).items()):
        noisy = count + np.random.laplace(scale=1 / epsilon)
        if noisy > cut:
            released[color] = noisy
    return released


def binned(x, epsilon=1.0, bins=10, low=0.0, high=100.0):
    counts, _ = np.histogram(x, bins=bins, range=(low, high))
    return counts + np.random.laplace(0, 1 / epsilon, bins)


def binned_auto(x, epsilon=1.0, bins=10):
    counts, _ = np.histogram(x, bins=bins)
    return counts + np.random.laplace(0, 1 / epsilon, bins)


def binned_with_edges(x, epsilon=1.0, bins=10):
    counts, edges = np.histogram(x, bins=bins)
    return counts + np.random.laplace(0, bins / epsilon, bins), edges


def proportions(cells, epsilon=1.0, k=5):
    rng = np.random.default_rng()
    n = len(cells)
    shares = np.array([np.count_nonzero(cells == each) for each in range(k)]) / n
    return shares + rng.laplace(0, 2 / (n * epsilon), k)


def proportions_one(cells, epsilon=1.0, k=5):
    rng = np.random.default_rng()
    n = len(cells)
    shares = np.array([np.count_nonzero(cells == each) for each in range(k)]) / n
    return shares + rng.laplace(0, 1 / (n * epsilon), k)


def normalized(cells, epsilon=1.0, k=5):
    noisy = np.bincount(cells, minlength=k) + np.random.laplace(0, 2 / epsilon, k)
    noisy = np.maximum(noisy, 0)
    return noisy / max(noisy.sum(), 1e-9)


def normalized_first(cells, epsilon=1.0, k=5):
    counts = np.bincount(cells, minlength=k)
    return counts / counts.sum() + np.random.laplace(0, 0.01 / epsilon, k)


def contingency(table, epsilon=1.0):
    edges = np.arange(-0.5, 3.5)
    counts, _, _ = np.histogram2d(table[:, 0], table[:, 1], bins=[edges, edges])
    return counts + np.random.laplace(scale=1 / epsilon, size=counts.shape)


def marginals(table, epsilon=1.0):
    first = np.array([(table[:, 0] == v).sum() for v in range(3)])
    second = np.array([(table[:, 1] == v).sum() for v in range(3)])
    return np.concatenate([first, second]) + np.random.laplace(scale=1 / epsilon, size=6)


def cumulative(cells, epsilon=1.0, k=5):
    noisy = np.bincount(cells, minlength=k) + np.random.laplace(0, 1 / epsilon, size=k)
    return np.cumsum(noisy)


def cumulative_counts(cells, epsilon=1.0, k=5):
    below = np.cumsum(np.bincount(cells, minlength=k))
    return below + np.random.laplace(0, 1 / epsilon, size=k)
