import numpy as np

GRID = np.linspace(0, 1, 11)


def variance(x, epsilon=1.0):
    bounded = np.clip(x, 0, 1)
    return np.var(bounded) + np.random.laplace(0, 1 / len(x) / epsilon)


def deviation(x, epsilon=1.0):
    bounded = np.clip(x, 0, 1)
    return np.std(bounded) + np.random.laplace(0, 1 / len(x) / epsilon)


def moments(x, epsilon=1.0):
    n = len(x)
    first = x.sum() + np.random.laplace(0, 2 / epsilon)
    second = (x**2).sum() + np.random.laplace(0, 2 / epsilon)
    mean = first / n
    return mean, second / n - mean**2


def moments_full(x, epsilon=1.0):
    n = len(x)
    first = x.sum() + np.random.laplace(0, 1 / epsilon)
    second = (x**2).sum() + np.random.laplace(0, 1 / epsilon)
    mean = first / n
    return mean, second / n - mean**2


def median_on_grid(x, epsilon=1.0):
    below = (x[:, None] <= GRID).sum(axis=0)
    score = -np.abs(below - len(x) / 2)
    weights = np.exp(epsilon / 2 * (score - score.max()))
    return float(np.random.choice(GRID, p=weights / weights.sum()))


def median_on_grid_full(x, epsilon=1.0):
    below = (x[:, None] <= GRID).sum(axis=0)
    score = -np.abs(below - len(x) / 2)
    weights = np.exp(epsilon * (score - score.max()))
    return float(np.random.choice(GRID, p=weights / weights.sum()))


def median_on_data(x, epsilon=1.0):
    grid = np.unique(x)
    below = (x[:, None] <= grid).sum(axis=0)
    score = -np.abs(below - len(x) / 2)
    weights = np.exp(epsilon / 2 * (score - score.max()))
    return float(np.random.choice(grid, p=weights / weights.sum()))


def noisy_median(x, epsilon=1.0):
    return np.median(x) + np.random.laplace(0, 1 / len(x) / epsilon)


def wide_median(x, epsilon=1.0):
    return np.median(x) + np.random.laplace(0, 1 / epsilon)


def trimmed_mean(x, epsilon=1.0, k=2):
    kept = np.sort(np.clip(x, 0, 1))[k:-k]
    return kept.mean() + np.random.laplace(0, 1 / (len(x) - 2 * k) / epsilon)


def trimmed_mean_all(x, epsilon=1.0, k=2):
    kept = np.sort(np.clip(x, 0, 1))[k:-k]
    return kept.mean() + np.random.laplace(0, 1 / len(x) / epsilon)


def product_mean(xy, epsilon=1.0):
    products = xy[:, 0] * xy[:, 1]
    return products.mean() + np.random.laplace(0, 2 / len(xy) / epsilon)


def correlation(xy, epsilon=1.0):
    r = np.corrcoef(xy[:, 0], xy[:, 1])[0, 1]
    return r + np.random.laplace(0, 2 / len(xy) / epsilon)


def mean_of_logs(x, epsilon=1.0, high=100.0):
    logs = np.log(np.clip(x, 1.0, high))
    return np.exp(logs.mean() + np.random.laplace(0, np.log(high) / len(x) / epsilon))


def log_of_mean(x, epsilon=1.0, high=100.0):
    log = np.log(np.clip(x, 1.0, high).mean())
    return np.exp(log + np.random.laplace(0, np.log(high) / len(x) / epsilon))


def regression_sums(features, target, epsilon=1.0):
    xx = float(features[:, 0] @ features[:, 0]) + np.random.laplace(0, 2 / epsilon)
    xy = float(features[:, 0] @ target) + np.random.laplace(0, 2 / epsilon)
    return xy / max(xx, 1.0)


def regression_slope(features, target, epsilon=1.0):
    xx = float(features[:, 0] @ features[:, 0])
    xy = float(features[:, 0] @ target)
    return xy / max(xx, 1e-6) + np.random.laplace(0, 2 / len(target) / epsilon)


def share_above(x, epsilon=1.0, cut=0.5):
    share = np.mean(x > cut) + np.random.laplace(0, 1 / len(x) / epsilon)
    share = np.clip(share, 0.01, 0.99)
    return np.log(share / (1 - share))


def share_above_odds(x, epsilon=1.0, cut=0.5):
    share = np.clip(np.mean(x > cut), 0.01, 0.99)
    return np.log(share / (1 - share)) + np.random.laplace(0, 1 / len(x) / epsilon)


def standardized_sum(x, epsilon=1.0):
    z = np.clip((x - 0.5) / 0.25, -2, 2)
    return z.sum() + np.random.laplace(0, 2 / epsilon)


def standardized_sum_own(x, epsilon=1.0):
    z = np.clip((x - x.mean()) / max(x.std(), 1e-6), -2, 2)
    return z[: len(x) // 2].sum() + np.random.laplace(0, 2 / epsilon)
