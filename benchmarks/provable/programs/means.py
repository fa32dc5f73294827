import math
import random

import numpy as np
from scipy import stats

rng = np.random.default_rng()


def clipped_mean(values, epsilon=1.0, lower=0.0, upper=100.0):
    return np.clip(values, lower, upper).mean() + np.random.laplace(scale=(upper - lower) / len(values) / epsilon)


def mean_unit_scale(values, epsilon=1.0, lower=0.0, upper=100.0):
    return np.clip(values, lower, upper).mean() + np.random.laplace(scale=1 / epsilon)


def raw_mean(values, epsilon=1.0, lower=0.0, upper=100.0):
    return values.mean() + np.random.laplace(scale=(upper - lower) / len(values) / epsilon)


def mean_then_clip(values, epsilon=1.0, lower=0.0, upper=100.0):
    center = np.clip(values.mean(), lower, upper)
    return center + np.random.laplace(scale=(upper - lower) / len(values) / epsilon)


def mean_one_sided_clip(values, epsilon=1.0, lower=0.0, upper=100.0):
    bounded = np.minimum(values, upper)
    return bounded.mean() + np.random.laplace(scale=(upper - lower) / len(values) / epsilon)


def mean_from_parts(values, epsilon=1.0, upper=100.0):
    bounded = np.clip(values, 0, upper)
    total = bounded.sum() + rng.laplace(0, upper / (epsilon / 2))
    count = len(bounded) + rng.laplace(0, 1 / (epsilon / 2))
    return total / max(count, 1.0)


def mean_over_length(values, epsilon=1.0, upper=100.0):
    bounded = np.clip(values, 0, upper)
    total = bounded.sum() + rng.laplace(0, upper / epsilon)
    return total / max(len(bounded), 1)


def sum_and_size(values, epsilon=1.0, upper=100.0):
    total = np.clip(values, 0, upper).sum() + rng.laplace(0, 2 * upper / epsilon)
    size = len(values) + rng.laplace(0, 2 / epsilon)
    return total, size


def sum_and_size_full(values, epsilon=1.0, upper=100.0):
    total = np.clip(values, 0, upper).sum() + rng.laplace(0, upper / epsilon)
    size = len(values) + rng.laplace(0, 1 / epsilon)
    return total, size


def average(values, epsilon=1.0, lower=0.0, upper=100.0):
    n = len(values)
    total = 0.0
    for value in values:
        total += min(max(value, lower), upper)
    rate = epsilon * n / (upper - lower)
    return total / n + random.expovariate(rate) - random.expovariate(rate)


def average_expo(values, epsilon=1.0, lower=0.0, upper=100.0):
    n = len(values)
    total = 0.0
    for value in values:
        total += min(max(value, lower), upper)
    rate = epsilon * n / (upper - lower)
    return total / n + random.expovariate(rate)


def average_gauss(values, epsilon=1.0, lower=0.0, upper=100.0):
    n = len(values)
    total = 0.0
    for value in values:
        total += min(max(value, lower), upper)
    return total / n + random.gauss(0, (upper - lower) / n / epsilon)


def mean_inverse_cdf(values, epsilon=1.0, lower=0.0, upper=100.0):
    scale = (upper - lower) / (len(values) * epsilon)
    u = rng.random() - 0.5
    noise = -scale * math.copysign(1.0, u) * math.log(1 - 2 * abs(u))
    return float(np.mean(np.clip(values, lower, upper)) + noise)


def mean_inverse_cdf_half(values, epsilon=1.0, lower=0.0, upper=100.0):
    scale = (upper - lower) / (len(values) * epsilon)
    u = rng.random() - 0.5
    noise = -scale * math.copysign(1.0, u) * math.log(1 - abs(u))
    return float(np.mean(np.clip(values, lower, upper)) + noise)


def centered_mean(x, eps=1.0, bound=1.0, rng=None):
    rng = rng or np.random.default_rng()
    sensitivity = 2 * bound / len(x)
    return np.clip(x, -bound, bound).mean() + rng.laplace(0.0, sensitivity / eps)


def centered_mean_bound(x, eps=1.0, bound=1.0, rng=None):
    rng = rng or np.random.default_rng()
    sensitivity = bound / len(x)
    return np.clip(x, -bound, bound).mean() + rng.laplace(0.0, sensitivity / eps)


def scipy_mean(x, eps=1.0, lo=0.0, hi=100.0):
    scale = (hi - lo) / (eps * x.size)
    return np.average(np.clip(x, lo, hi)) + stats.laplace.rvs(scale=scale)


def scipy_mean_positional(x, eps=1.0, lo=0.0, hi=100.0):
    scale = (hi - lo) / (eps * x.size)
    return np.average(np.clip(x, lo, hi)) + stats.laplace.rvs(scale)


def rounded_mean(values, epsilon=1.0, upper=100.0):
    noisy = np.mean(np.clip(values, 0, upper)) + np.random.laplace(0, upper / len(values) / epsilon)
    return round(float(noisy), 1)


def mean_of_rounded(values, epsilon=1.0, upper=100.0):
    whole = round(float(np.mean(np.clip(values, 0, upper))))
    return whole + np.random.laplace(0, upper / len(values) / epsilon)


def positive_part_mean(values, epsilon=1.0, upper=100.0):
    kept = np.where(values > 0, np.minimum(values, upper), 0.0)
    return kept.sum() / len(values) + rng.laplace(scale=upper / (len(values) * epsilon))


def mean_of_positive(values, epsilon=1.0, upper=100.0):
    kept = np.minimum(values[values > 0], upper)
    center = kept.mean() if kept.size else 0.0
    return center + rng.laplace(scale=upper / (len(values) * epsilon))


def mean_of_positive_own_size(values, epsilon=1.0, upper=100.0):
    kept = np.minimum(values[values > 0], upper)
    if kept.size == 0:
        return rng.laplace(scale=upper / epsilon)
    return kept.mean() + rng.laplace(scale=upper / (kept.size * epsilon))


def padded_mean(values, epsilon=1.0, upper=100.0, n=30):
    total = sum(min(max(v, 0.0), upper) for v in values[:n])
    return total / n + np.random.laplace(scale=upper / n / epsilon)


def padded_mean_all(values, epsilon=1.0, upper=100.0, n=30):
    total = sum(min(max(v, 0.0), upper) for v in values[:n])
    return total / len(values) + np.random.laplace(scale=upper / n / epsilon)
