import numpy as np

rng = np.random.default_rng()


def count_then_mean(x, epsilon=1.0, upper=100.0, least=10):
    size = len(x) + rng.laplace(0, 2 / epsilon)
    if size < least:
        return size, None
    total = np.clip(x, 0, upper).sum() + rng.laplace(0, 2 * upper / epsilon)
    return size, total / size


def count_then_mean_true(x, epsilon=1.0, upper=100.0, least=10):
    size = len(x) + rng.laplace(0, 2 / epsilon)
    if len(x) < least:
        return size, None
    total = np.clip(x, 0, upper).sum() + rng.laplace(0, 2 * upper / epsilon)
    return size, total / size


def recentred_mean(x, epsilon=1.0, low=0.0, high=100.0, width=10.0):
    n = len(x)
    rough = np.clip(x, low, high).mean() + rng.laplace(0, 2 * (high - low) / n / epsilon)
    near = np.clip(x, rough - width, rough + width)
    return near.mean() + rng.laplace(0, 2 * 2 * width / n / epsilon)


def recentred_mean_true(x, epsilon=1.0, low=0.0, high=100.0, width=10.0):
    n = len(x)
    rough = np.clip(x, low, high).mean()
    near = np.clip(x, rough - width, rough + width)
    return near.mean() + rng.laplace(0, 2 * width / n / epsilon)


def first_above(x, epsilon=1.0, threshold=10):
    bar = threshold + rng.laplace(0, 2 / epsilon)
    for at, total in enumerate(x.sum(axis=0)):
        if total + rng.laplace(0, 4 / epsilon) >= bar:
            return at
    return None


def first_above_fixed(x, epsilon=1.0, threshold=10):
    for at, total in enumerate(x.sum(axis=0)):
        if total + rng.laplace(0, 1 / epsilon) >= threshold:
            return at
    return None


def first_above_bar_only(x, epsilon=1.0, threshold=10):
    bar = threshold + rng.laplace(0, 1 / epsilon)
    return [bool(total >= bar) for total in x.sum(axis=0)]


def adaptive_clip_sum(x, epsilon=1.0):
    bounds = np.array([1.0, 10.0, 100.0])
    inside = np.array([(x <= bound).sum() for bound in bounds])
    score = -np.abs(inside - 0.9 * len(x))
    weights = np.exp(epsilon / 4 * (score - score.max()))
    bound = rng.choice(bounds, p=weights / weights.sum())
    return np.clip(x, 0, bound).mean() + rng.laplace(0, 2 * bound / len(x) / epsilon)


def adaptive_clip_percentile(x, epsilon=1.0):
    bound = max(np.percentile(x, 90), 1.0)
    return np.clip(x, 0, bound).mean() + rng.laplace(0, bound / len(x) / epsilon)


def nearest(points, centers):
    return np.argmin(((points[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2), axis=1)


def kmeans_step(points, epsilon=1.0):
    centers = np.array([[-0.5, -0.5], [0.5, 0.5], [0.5, -0.5]])
    labels = nearest(points, centers)
    moved = []
    for k in range(3):
        mine = points[labels == k]
        count = len(mine) + rng.laplace(0, 2 / epsilon)
        total = mine.sum(axis=0) + rng.laplace(0, 2 * 2 / epsilon, size=2)
        moved.append(total / max(count, 1.0))
    return np.array(moved)


def kmeans_step_true_count(points, epsilon=1.0):
    centers = np.array([[-0.5, -0.5], [0.5, 0.5], [0.5, -0.5]])
    labels = nearest(points, centers)
    moved = []
    for k in range(3):
        mine = points[labels == k]
        total = mine.sum(axis=0) + rng.laplace(0, 2 / epsilon, size=2)
        moved.append(total / max(len(mine), 1.0))
    return np.array(moved)


def kmeans_rounds(points, epsilon=1.0, rounds=3):
    centers = np.array([[-0.5, 0.0], [0.5, 0.0]])
    share = epsilon / rounds
    history = []
    for _ in range(rounds):
        labels = nearest(points, centers)
        counts = np.array([(labels == k).sum() for k in range(2)]) + rng.laplace(0, 2 / share, 2)
        sums = np.array([points[labels == k].sum(axis=0) for k in range(2)]) + rng.laplace(0, 4 / share, (2, 2))
        history.append((counts, sums))
        centers = np.clip(sums / np.maximum(counts, 1.0)[:, None], -1, 1)
    return history


def kmeans_rounds_full(points, epsilon=1.0, rounds=3):
    centers = np.array([[-0.5, 0.0], [0.5, 0.0]])
    history = []
    for _ in range(rounds):
        labels = nearest(points, centers)
        counts = np.array([(labels == k).sum() for k in range(2)]) + rng.laplace(0, 2 / epsilon, 2)
        sums = np.array([points[labels == k].sum(axis=0) for k in range(2)]) + rng.laplace(0, 4 / epsilon, (2, 2))
        history.append((counts, sums))
        centers = np.clip(sums / np.maximum(counts, 1.0)[:, None], -1, 1)
    return history


def descend(x, rho=0.5, steps=10, lr=0.1, clip=0.5):
    theta = 0.5
    sigma = 2 * clip / len(x) * np.sqrt(steps / (2 * rho))
    path = []
    for _ in range(steps):
        gradient = np.clip(theta - x, -clip, clip).mean() + rng.normal(0, sigma)
        theta = theta - lr * gradient
        path.append(float(theta))
    return path


def descend_once(x, rho=0.5, steps=10, lr=0.1, clip=0.5):
    theta = 0.5
    sigma = 2 * clip / len(x) * np.sqrt(1 / (2 * rho))
    path = []
    for _ in range(steps):
        gradient = np.clip(theta - x, -clip, clip).mean() + rng.normal(0, sigma)
        theta = theta - lr * gradient
        path.append(float(theta))
    return path


def until_low(bits, epsilon=1.0, rounds=5, low=5):
    seen = []
    for _ in range(rounds):
        noisy = float(bits.sum() + rng.laplace(0, rounds / epsilon))
        seen.append(noisy)
        if noisy < low:
            break
    return seen


def until_low_full(bits, epsilon=1.0, rounds=5, low=5):
    seen = []
    for _ in range(rounds):
        noisy = float(bits.sum() + rng.laplace(0, 1 / epsilon))
        seen.append(noisy)
        if noisy < low:
            break
    return seen


def until_low_break_true(bits, epsilon=1.0, rounds=5, low=5):
    seen = []
    for _ in range(rounds):
        noisy = float(bits.sum() + rng.laplace(0, rounds / epsilon))
        seen.append(noisy)
        if bits.sum() < low:
            break
    return seen


def drill_down(ages, epsilon=1.0):
    ages = np.asarray(ages)
    low, high = 0, 128
    for _ in range(4):
        middle = (low + high) // 2
        below = np.sum(ages < middle) - np.sum(ages >= middle) + np.random.laplace(0, 4 / epsilon)
        if below > 0:
            high = middle
        else:
            low = middle
    return low, high


def drill_down_full(ages, epsilon=1.0):
    ages = np.asarray(ages)
    low, high = 0, 128
    for _ in range(4):
        middle = (low + high) // 2
        below = np.sum(ages < middle) - np.sum(ages >= middle) + np.random.laplace(0, 1 / epsilon)
        if below > 0:
            high = middle
        else:
            low = middle
    return low, high
