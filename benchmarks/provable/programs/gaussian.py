import math
import random

import numpy as np
from scipy import stats

rng = np.random.default_rng()


def zcdp_mean(x, rho=0.1):
    sensitivity = 1 / len(x)
    sigma = sensitivity / math.sqrt(2 * rho)
    return np.clip(x, 0, 1).mean() + rng.normal(0, sigma)


def zcdp_mean_variance(x, rho=0.1):
    sensitivity = 1 / len(x)
    variance = sensitivity**2 / (2 * rho)
    return np.clip(x, 0, 1).mean() + rng.normal(0, variance)


def zcdp_mean_no_root(x, rho=0.1):
    sensitivity = 1 / len(x)
    sigma = sensitivity * 2 * rho
    return np.clip(x, 0, 1).mean() + rng.normal(0, sigma)


def classical_sum(x, epsilon=1.0, delta=1e-5, upper=100.0):
    sigma = upper * math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    return np.clip(x, 0, upper).sum() + np.random.normal(0, sigma)


def classical_sum_unit(x, epsilon=1.0, delta=1e-5, upper=100.0):
    sigma = math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    return np.clip(x, 0, upper).sum() + np.random.normal(0, sigma)


def classical_sum_no_delta(x, epsilon=1.0, delta=1e-5, upper=100.0):
    sigma = upper / epsilon
    return np.clip(x, 0, upper).sum() + np.random.normal(0, sigma)


def gaussian_histogram(cells, mu=1.0, k=5):
    sigma = math.sqrt(2) / mu
    return np.bincount(cells, minlength=k) + np.random.normal(0, sigma, k)


def gaussian_histogram_one(cells, mu=1.0, k=5):
    sigma = 1 / mu
    return np.bincount(cells, minlength=k) + np.random.normal(0, sigma, k)


def gauss_count(ages, sigma=2.0):
    return sum(age >= 18 for age in ages) + random.gauss(0, sigma)


def gauss_count_root(ages, sigma=2.0):
    return sum(age >= 18 for age in ages) + random.gauss(0, math.sqrt(sigma))


def gauss_three(ages, mu=1.0):
    sigma = math.sqrt(3) / mu
    return [sum(age >= cut for age in ages) + random.gauss(0, sigma) for cut in (18, 40, 65)]


def gauss_three_full(ages, mu=1.0):
    sigma = 1 / mu
    return [sum(age >= cut for age in ages) + random.gauss(0, sigma) for cut in (18, 40, 65)]


def multivariate(x):
    d = x.shape[1]
    std = math.sqrt(d)
    return rng.multivariate_normal(x.sum(axis=0), std**2 * np.eye(d))


def multivariate_std(x):
    d = x.shape[1]
    std = math.sqrt(d)
    return rng.multivariate_normal(x.sum(axis=0), std * np.eye(d))


def box_muller_sum(x, sigma=1.0):
    u, v = 1 - rng.random(), rng.random()
    z = math.sqrt(-2 * math.log(u)) * math.cos(2 * math.pi * v)
    return float(np.clip(x, 0, 1).sum()) + sigma * z


def box_muller_sum_half(x, sigma=1.0):
    u, v = 1 - rng.random(), rng.random()
    z = math.sqrt(-math.log(u)) * math.cos(2 * math.pi * v)
    return float(np.clip(x, 0, 1).sum()) + sigma * z


def scipy_normal_sum(x, sigma=100.0):
    return np.clip(x, 0, 100).sum() + stats.norm.rvs(scale=sigma)


def scipy_normal_sum_positional(x, sigma=100.0):
    return np.clip(x, 0, 100).sum() + stats.norm.rvs(sigma)


def quantile_normal_sum(x, sigma=1.0):
    return np.clip(x, 0, 1).sum() + sigma * stats.norm.ppf(np.random.random())


def quantile_normal_sum_abs(x, sigma=1.0):
    return np.clip(x, 0, 1).sum() + sigma * abs(stats.norm.ppf(np.random.random()))


def averaged_noise(x, sigma=1.0, times=4):
    total = np.clip(x, 0, 1).sum()
    answers = [total + rng.normal(0, 2 * sigma) for _ in range(times)]
    return sum(answers) / times


def averaged_noise_plain(x, sigma=1.0, times=4):
    total = np.clip(x, 0, 1).sum()
    answers = [total + rng.normal(0, sigma) for _ in range(times)]
    return sum(answers) / times
