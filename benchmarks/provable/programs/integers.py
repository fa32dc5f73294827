import math
import random

import numpy as np

rng = np.random.default_rng()


def geometric_count(ages, epsilon=0.5):
    p = 1 - math.exp(-epsilon)
    return sum(1 for age in ages if age >= 18) + int(rng.geometric(p)) - int(rng.geometric(p))


def geometric_count_inverse(ages, epsilon=0.5):
    p = 1 - math.exp(-1 / epsilon)
    return sum(1 for age in ages if age >= 18) + int(rng.geometric(p)) - int(rng.geometric(p))


def geometric_count_one(ages, epsilon=0.5):
    p = 1 - math.exp(-epsilon)
    return sum(1 for age in ages if age >= 18) + int(rng.geometric(p)) - 1


def uniform_count(ages, width=10):
    return sum(1 for age in ages if age >= 18) + int(rng.integers(-width, width + 1))


def geometric_sum(x, epsilon=1.0, upper=10):
    p = -math.expm1(-epsilon / upper)
    return int(np.clip(x, 0, upper).sum() + np.random.geometric(p) - np.random.geometric(p))


def geometric_sum_unit(x, epsilon=1.0, upper=10):
    p = -math.expm1(-epsilon)
    return int(np.clip(x, 0, upper).sum() + np.random.geometric(p) - np.random.geometric(p))


def discrete_laplace(epsilon):
    while True:
        magnitude = 0
        while random.random() < math.exp(-epsilon):
            magnitude += 1
        negative = random.random() < 0.5
        if negative and magnitude == 0:
            continue
        return -magnitude if negative else magnitude


def discrete_laplace_any(epsilon):
    magnitude = 0
    while random.random() < math.exp(-epsilon):
        magnitude += 1
    negative = random.random() < 0.5
    return -magnitude if negative else magnitude


def looped_count(ages, epsilon=1.0):
    return sum(age >= 65 for age in ages) + discrete_laplace(epsilon)


def looped_count_any(ages, epsilon=1.0):
    return sum(age >= 65 for age in ages) + discrete_laplace_any(epsilon)


def rounded_noise_count(ages, epsilon=1.0):
    return sum(age >= 65 for age in ages) + round(np.random.laplace(0, 1 / epsilon))


def rounded_noise_share(ages, epsilon=1.0):
    return sum(age / 120 for age in ages) + round(np.random.laplace(0, 1 / epsilon))


def masked_count(ages, modulus=1000):
    return (sum(age >= 65 for age in ages) + int(rng.integers(0, modulus))) % modulus


def masked_count_small(ages, modulus=1000):
    return (sum(age >= 65 for age in ages) + int(rng.integers(0, modulus // 2))) % modulus


def cut_off_count(bits, epsilon=1.0):
    p = 1 - math.exp(-epsilon)
    noisy = int(bits.sum()) + rng.geometric(p) - rng.geometric(p)
    return int(min(max(noisy, 0), len(bits)))


def cut_off_count_before(bits, epsilon=1.0, most=5):
    p = 1 - math.exp(-epsilon)
    count = int(bits.sum())
    room = rng.geometric(p) - rng.geometric(p)
    return count + int(min(max(room, -most), most))


def integer_histogram(cells, epsilon=1.0, k=4):
    p = 1 - math.exp(-epsilon / 2)
    return np.bincount(cells, minlength=k) + rng.geometric(p, k) - rng.geometric(p, k)


def integer_histogram_shared(cells, epsilon=1.0, k=4):
    p = 1 - math.exp(-epsilon / 2)
    first = rng.geometric(p, k)
    return np.bincount(cells, minlength=k) + first - first[::-1]


def integer_histogram_full(cells, epsilon=1.0, k=4):
    p = 1 - math.exp(-epsilon)
    return np.bincount(cells, minlength=k) + rng.geometric(p, k) - rng.geometric(p, k)


def poisson_of_exponential(ages, epsilon=1.0):
    scale = 1 / math.expm1(epsilon)
    up = rng.poisson(rng.exponential(scale))
    down = rng.poisson(rng.exponential(scale))
    return sum(age < 18 for age in ages) + int(up) - int(down)


def poisson_noise(ages, epsilon=1.0):
    rate = 1 / math.expm1(epsilon)
    return sum(age < 18 for age in ages) + int(rng.poisson(rate)) - int(rng.poisson(rate))
