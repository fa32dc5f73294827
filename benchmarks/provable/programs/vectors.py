import numpy as np


def l1_clipped_sum(x, epsilon=1.0, clip=1.0):
    norms = np.abs(x).sum(axis=1, keepdims=True)
    clipped = x * np.minimum(1.0, clip / np.maximum(norms, 1e-12))
    return clipped.sum(axis=0) + np.random.laplace(scale=2 * clip / epsilon, size=x.shape[1])


def l2_clipped_sum_laplace(x, epsilon=1.0, clip=1.0):
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    clipped = x * np.minimum(1.0, clip / np.maximum(norms, 1e-12))
    return clipped.sum(axis=0) + np.random.laplace(scale=2 * clip / epsilon, size=x.shape[1])


def l1_clipped_sum_once(x, epsilon=1.0, clip=1.0):
    norms = np.abs(x).sum(axis=1, keepdims=True)
    clipped = x * np.minimum(1.0, clip / np.maximum(norms, 1e-12))
    return clipped.sum(axis=0) + np.random.laplace(scale=clip / epsilon, size=x.shape[1])


def l2_clipped_sum(x, sigma=2.0, clip=1.0, rng=None):
    rng = np.random.default_rng() if rng is None else rng
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    clipped = x / np.maximum(1.0, norms / clip)
    return clipped.sum(axis=0) + rng.normal(0.0, sigma * clip, x.shape[1])


def l2_clipped_sum_small(x, sigma=1.0, clip=1.0, rng=None):
    rng = np.random.default_rng() if rng is None else rng
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    clipped = x / np.maximum(1.0, norms / clip)
    return clipped.sum(axis=0) + rng.normal(0.0, sigma * clip, x.shape[1])


def whole_norm_clipped_sum(x, sigma=2.0, clip=1.0, rng=None):
    rng = np.random.default_rng() if rng is None else rng
    norms = np.linalg.norm(x)
    clipped = x / np.maximum(1.0, norms / clip)
    return clipped.sum(axis=0) + rng.normal(0.0, sigma * clip, x.shape[1])


def coordinate_sum(x, epsilon=1.0):
    d = x.shape[1]
    return np.clip(x, -1, 1).sum(axis=0) + np.random.laplace(0, 2 * d / epsilon, size=d)


def coordinate_sum_one(x, epsilon=1.0):
    d = x.shape[1]
    return np.clip(x, -1, 1).sum(axis=0) + np.random.laplace(0, 2 / epsilon, size=d)


def gradient_step(features, labels, sigma=1.0, clip=0.5, lr=0.1):
    weights = np.zeros(features.shape[1])
    predicted = 1 / (1 + np.exp(-features @ weights))
    gradients = (predicted - labels)[:, None] * features
    norms = np.linalg.norm(gradients, axis=1)
    gradients = gradients * np.minimum(1, clip / np.maximum(norms, 1e-12))[:, None]
    noisy = gradients.sum(axis=0) + np.random.normal(0, sigma * clip, size=weights.shape)
    return weights - lr * noisy


def gradient_step_late_clip(features, labels, sigma=1.0, clip=0.5, lr=0.1):
    weights = np.zeros(features.shape[1])
    predicted = 1 / (1 + np.exp(-features @ weights))
    gradient = ((predicted - labels)[:, None] * features).sum(axis=0)
    gradient = gradient * min(1, clip / max(np.linalg.norm(gradient), 1e-12))
    noisy = gradient + np.random.normal(0, sigma * clip, size=weights.shape)
    return weights - lr * noisy


def gradient_step_unclipped(features, labels, sigma=1.0, clip=0.5, lr=0.1):
    weights = np.zeros(features.shape[1])
    predicted = 1 / (1 + np.exp(-features @ weights))
    gradients = (predicted - labels)[:, None] * features
    noisy = gradients.sum(axis=0) + np.random.normal(0, sigma * clip, size=weights.shape)
    return weights - lr * noisy


def second_moment(x, sigma=1.0):
    rows = x / np.maximum(1.0, np.linalg.norm(x, axis=1))[:, None]
    return rows.T @ rows + np.random.normal(scale=sigma, size=(x.shape[1], x.shape[1]))


def second_moment_raw(x, sigma=1.0):
    return x.T @ x + np.random.normal(scale=sigma, size=(x.shape[1], x.shape[1]))


HIERARCHY = np.array(
    [
        [1, 1, 1, 1],
        [1, 1, 0, 0],
        [0, 0, 1, 1],
        [1, 0, 0, 0],
        [0, 1, 0, 0],
        [0, 0, 1, 0],
        [0, 0, 0, 1],
    ]
)


def hierarchical_counts(cells, epsilon=1.0):
    counts = np.bincount(cells, minlength=4)
    return HIERARCHY @ counts + np.random.laplace(scale=3 / epsilon, size=7)


def hierarchical_counts_one(cells, epsilon=1.0):
    counts = np.bincount(cells, minlength=4)
    return HIERARCHY @ counts + np.random.laplace(scale=1 / epsilon, size=7)


def hierarchical_fit(cells, epsilon=1.0):
    counts = np.bincount(cells, minlength=4)
    answers = HIERARCHY @ counts + np.random.laplace(scale=3 / epsilon, size=7)
    return np.linalg.lstsq(HIERARCHY, answers, rcond=None)[0]


def hierarchical_fit_exact_total(cells, epsilon=1.0):
    counts = np.bincount(cells, minlength=4)
    answers = HIERARCHY @ counts + np.random.laplace(scale=3 / epsilon, size=7)
    answers[0] = counts.sum()
    estimate = np.linalg.lstsq(HIERARCHY, answers, rcond=None)[0]
    return estimate * counts.sum() / estimate.sum()


def _tree(values, scale):
    nodes = {}
    found = []
    for end in range(1, len(values) + 1):
        total, start = 0.0, 0
        for size in (8, 4, 2, 1):
            if end & size:
                if (start, size) not in nodes:
                    nodes[start, size] = sum(values[start : start + size]) + np.random.laplace(scale=scale)
                total, start = total + nodes[start, size], start + size
        found.append(total)
    return found


def prefix_sums(values):
    return _tree(values, 4.0)


def prefix_sums_three(values):
    return _tree(values, 3.0)


def normalized_rows_mean(x, epsilon=1.0):
    rows = []
    for row in x:
        size = sum(abs(v) for v in row)
        rows.append(row / size if size > 1 else row)
    n, d = x.shape
    return np.mean(rows, axis=0) + np.random.laplace(0, 2 / n / epsilon, d)


def normalized_mean(x, epsilon=1.0):
    n, d = x.shape
    center = x.mean(axis=0)
    size = np.abs(center).sum()
    if size > 1:
        center = center / size
    return center + np.random.laplace(0, 2 / n / epsilon, d)
