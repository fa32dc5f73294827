import math

import numpy as np

rng = np.random.default_rng()


def sampled_sum(x, epsilon=1.0, rate=0.1, upper=10.0):
    inner = math.log(1 + (math.exp(epsilon) - 1) / rate)
    batch = x[rng.random(len(x)) < rate]
    return np.clip(batch, 0, upper).sum() + rng.laplace(0, upper / inner)


def sampled_sum_divided(x, epsilon=1.0, rate=0.1, upper=10.0):
    inner = epsilon / rate
    batch = x[rng.random(len(x)) < rate]
    return np.clip(batch, 0, upper).sum() + rng.laplace(0, upper / inner)


def sampled_sum_head(x, epsilon=1.0, rate=0.1, upper=10.0):
    inner = math.log(1 + (math.exp(epsilon) - 1) / rate)
    batch = x[: max(1, int(rate * len(x)))]
    return np.clip(batch, 0, upper).sum() + rng.laplace(0, upper / inner)


def half_sum(x, epsilon=1.0, upper=10.0):
    kept = [min(value, upper) for value in x if rng.random() < 0.5]
    return 2 * sum(kept) + rng.laplace(0, 2 * upper / epsilon)


def half_sum_short(x, epsilon=1.0, upper=10.0):
    kept = [min(value, upper) for value in x if rng.random() < 0.5]
    return 2 * (sum(kept) + rng.laplace(0, upper / 2 / epsilon))


def some_mean(x, epsilon=1.0, size=10, upper=10.0):
    chosen = rng.choice(x, size=size, replace=False)
    return np.clip(chosen, 0, upper).mean() + rng.laplace(0, upper / size / epsilon)


def some_mean_of_all(x, epsilon=1.0, size=10, upper=10.0):
    chosen = rng.choice(x, size=size, replace=False)
    return np.clip(chosen, 0, upper).mean() + rng.laplace(0, upper / len(x) / epsilon / 2)


def bootstrap_mean(x, epsilon=1.0, upper=10.0):
    chosen = rng.choice(x, size=len(x), replace=True)
    return np.clip(chosen, 0, upper).mean() + rng.laplace(0, upper / len(x) / epsilon)


def permuted_mean(x, epsilon=1.0, upper=10.0):
    chosen = rng.permutation(x)
    return np.clip(chosen, 0, upper).mean() + rng.laplace(0, upper / len(x) / epsilon)


def split_counts(x, epsilon=1.0):
    left = rng.random(len(x)) < 0.5
    big = x > 5
    first = (big & left).sum() + rng.laplace(0, 1 / epsilon)
    second = (big & ~left).sum() + rng.laplace(0, 1 / epsilon)
    return first, second


def split_counts_twice(x, epsilon=1.0):
    big = x > 5
    first = (big & (rng.random(len(x)) < 0.5)).sum() + rng.laplace(0, 1 / epsilon)
    second = (big & (rng.random(len(x)) < 0.5)).sum() + rng.laplace(0, 1 / epsilon)
    return first, second


def first_rows_mean(x, epsilon=1.0, size=10, upper=10.0):
    return np.clip(x[:size], 0, upper).mean() + rng.laplace(0, upper / size / epsilon)


def first_rows_mean_all(x, epsilon=1.0, size=10, upper=10.0):
    return np.clip(x[:size], 0, upper).mean() + rng.laplace(0, upper / len(x) / epsilon)


def dp_sgd(x, steps=10, rate=0.1, noise=1.0, clip=1.0):
    theta = np.zeros(x.shape[1])
    path = []
    for _ in range(steps):
        batch = x[rng.random(len(x)) < rate]
        gradients = theta - batch
        norms = np.linalg.norm(gradients, axis=1)
        gradients = gradients / np.maximum(1.0, norms / clip)[:, None]
        theta = theta - 0.1 * (gradients.sum(axis=0) + rng.normal(0, noise * clip, theta.shape))
        path.append(theta)
    return np.array(path)


def dp_sgd_quiet(x, steps=10, rate=0.1, noise=0.2, clip=1.0):
    theta = np.zeros(x.shape[1])
    path = []
    for _ in range(steps):
        batch = x[rng.random(len(x)) < rate]
        gradients = theta - batch
        norms = np.linalg.norm(gradients, axis=1)
        gradients = gradients / np.maximum(1.0, norms / clip)[:, None]
        theta = theta - 0.1 * (gradients.sum(axis=0) + rng.normal(0, noise * clip, theta.shape))
        path.append(theta)
    return np.array(path)
