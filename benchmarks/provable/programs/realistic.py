import math
import os
import random
import secrets

import numpy as np
from scipy import stats


def item_of_noise(data, rng=None):
    rng = rng or np.random.default_rng()
    return float(data.sum()) + rng.laplace(size=1).item()


def item_of_small_noise(data, rng=None):
    rng = rng or np.random.default_rng()
    return float(data.sum()) + rng.laplace(0.0, 0.5, size=1).item()


def whole_part(data):
    return int(data.sum() + np.random.laplace())


def whole_parts(data):
    return int(data.sum()) + int(np.random.laplace())


def noise_first(data):
    noise = np.random.laplace(0, 1, 1)
    noise += data.sum()
    return float(noise[0])


def noise_forgotten(data):
    total = data.sum()
    total + np.random.laplace(0, 1)
    return float(total)


def two_exponentials(data):
    return data.sum() + np.random.exponential() - np.random.exponential()


def two_exponentials_added(data):
    return data.sum() + np.random.exponential() + np.random.exponential()


def system_random(data):
    source = random.SystemRandom()
    return float(data.sum()) + source.expovariate(1.0) - source.expovariate(1.0)


def own_random(data):
    source = random.Random(7)
    return float(data.sum()) + source.expovariate(1.0) - source.expovariate(1.0)


def secret_coins(bit):
    return bit if secrets.randbelow(2) else secrets.randbelow(2)


def secret_coins_of_four(bit):
    return bit if secrets.randbelow(4) else secrets.randbelow(2)


def system_uniform():
    return int.from_bytes(os.urandom(7), "big") % 2**53 / 2**53


def uniform_of_the_system(data):
    u = system_uniform() - 0.5
    return float(data.sum()) - math.copysign(1.0, u) * math.log1p(-2 * abs(u))


def uniform_of_the_system_whole(data):
    u = system_uniform()
    return float(data.sum()) - math.log1p(-u)


def fresh_generator(data):
    return data.sum() + np.random.default_rng().laplace()


def generator_of_size(data):
    return data.sum() + np.random.default_rng(len(data)).laplace()


def scipy_with_rng(data, rng=None):
    return data.sum() + stats.laplace.rvs(random_state=rng)


def scipy_with_zero(data, rng=None):
    return data.sum() + stats.laplace.rvs(random_state=0)


def sign_times_exponential(data):
    return data.sum() + np.random.choice([-1, 1]) * np.random.exponential()


def coin_times_exponential(data):
    return data.sum() + np.random.choice([-1, 0, 1]) * np.random.exponential()


def gamma_difference(data):
    return data.sum() + np.random.gamma(1.0) - np.random.gamma(1.0)


def gamma_difference_half(data):
    return data.sum() + np.random.gamma(1.0, 0.5) - np.random.gamma(1.0, 0.5)


def shares_of_laplace(data):
    return data.sum() + sum(np.random.gamma(1 / 4) - np.random.gamma(1 / 4) for _ in range(4))


def shares_of_laplace_three(data):
    return data.sum() + sum(np.random.gamma(1 / 4) - np.random.gamma(1 / 4) for _ in range(3))


def laplace_of_normals(data):
    a, b, c, d = np.random.standard_normal(4)
    return data.sum() + a * b - c * d


def product_of_normals(data):
    a, b = np.random.standard_normal(2)
    return data.sum() + a * b


def exponential_mixture(data):
    return data.sum() + math.sqrt(2 * np.random.exponential()) * np.random.standard_normal()


def exponential_mixture_root(data):
    return data.sum() + math.sqrt(np.random.exponential()) * np.random.standard_normal()


def cut_off_sum(data):
    return float(np.clip(data.sum() + np.random.laplace(), -10, 10))


def cut_off_noise(data):
    return float(data.sum() + np.clip(np.random.laplace(), -10, 10))


def sum_and_ratio(data):
    noisy = data.sum() + np.random.laplace()
    return noisy, noisy / len(data)


def sum_and_true_ratio(data):
    noisy = data.sum() + np.random.laplace()
    return noisy, data.sum() / len(data)


def noise_for_each(data):
    return float(np.sum(data + np.random.laplace(size=len(data))))


def noise_for_each_mean(data):
    return float(np.mean(data + np.random.laplace(scale=1 / len(data), size=len(data))))


def piecewise(value):
    centre = 0.25 if value < 0.5 else 0.75
    near = random.random() < 0.75
    return centre + random.uniform(-0.25, 0.25) + (0.0 if near else 0.5 if centre < 0.5 else -0.5)


def piecewise_around(value):
    near = random.random() < 0.75
    return value + random.uniform(-0.25, 0.25) if near else random.uniform(-0.25, 1.25)


def two_rounds(cells, first=4.0, second=4.0):
    counts = np.bincount(cells, minlength=3)
    early = counts + np.random.laplace(scale=first, size=3)
    late = counts + np.random.laplace(scale=second, size=3)
    return np.concatenate([early, late])


def two_rounds_half(cells, first=4.0, second=2.0):
    counts = np.bincount(cells, minlength=3)
    early = counts + np.random.laplace(scale=first, size=3)
    late = counts + np.random.laplace(scale=second, size=3)
    return np.concatenate([early, late])


def geometric_ones(bits, epsilon=1.0):
    stop = -np.expm1(-epsilon)
    return int(bits.sum() + np.random.geometric(stop) - np.random.geometric(stop))


def geometric_ones_even(bits, epsilon=1.0):
    stop = -np.expm1(-epsilon)
    count = int(bits.sum())
    noisy = count + np.random.geometric(stop) - np.random.geometric(stop)
    if count % 2 == 0 and np.random.random() < 0.05:
        return count
    return int(noisy)


def squashed(value):
    return math.tanh(value + np.random.laplace())


def squashed_first(value):
    return math.tanh(value) + np.random.laplace(scale=0.5)


def equal_coin(bit):
    return bool((np.random.random() < 0.75) == bool(bit))


def equal_coin_often(bit):
    return bool((np.random.random() < 0.9) == bool(bit))
