import random
from collections import Counter

import numpy as np

generator = np.random.default_rng()


def laplace(scale):
    return random.choice((-1, 1)) * random.expovariate(1 / scale)


def count_adults(ages, epsilon=0.5):
    return sum(1 for age in ages if age >= 18) + np.random.laplace(0, 1 / epsilon)


def count_adults_eps(ages, epsilon=0.5):
    return sum(1 for age in ages if age >= 18) + np.random.laplace(0, epsilon)


def count_adults_seeded(ages, epsilon=0.5):
    rng = np.random.default_rng(42)
    return sum(1 for age in ages if age >= 18) + rng.laplace(0, 1 / epsilon)


def two_counts(ages, epsilon=1.0):
    half = epsilon / 2
    adults = len([a for a in ages if a >= 18]) + laplace(1 / half)
    seniors = len([a for a in ages if a >= 65]) + laplace(1 / half)
    return adults, seniors


def two_counts_full(ages, epsilon=1.0):
    adults = len([a for a in ages if a >= 18]) + laplace(1 / epsilon)
    seniors = len([a for a in ages if a >= 65]) + laplace(1 / epsilon)
    return adults, seniors


def two_counts_one_noise(ages, epsilon=1.0):
    noise = laplace(2 / epsilon)
    adults = len([a for a in ages if a >= 18]) + noise
    seniors = len([a for a in ages if a >= 65]) + noise
    return adults, seniors


def nonnegative_count(ages, epsilon=1.0):
    noisy = sum(age >= 65 for age in ages) + generator.laplace(scale=1 / epsilon)
    return max(0.0, noisy)


def count_or_zero(ages, epsilon=1.0):
    count = sum(age >= 65 for age in ages)
    if count == 0:
        return 0.0
    return max(0.0, count + generator.laplace(scale=1 / epsilon))


def count_redrawn(ages, epsilon=1.0):
    count = sum(age >= 65 for age in ages)
    noisy = count + generator.laplace(scale=1 / epsilon)
    while noisy < 0:
        noisy = count + generator.laplace(scale=1 / epsilon)
    return noisy


def age_bands(ages, epsilon=1.0):
    children = sum(1 for a in ages if a < 18)
    adults = sum(1 for a in ages if 18 <= a < 65)
    seniors = sum(1 for a in ages if a >= 65)
    return [count + laplace(1 / epsilon) for count in (children, adults, seniors)]


def age_bands_nested(ages, epsilon=1.0):
    everybody = len(ages)
    adults = sum(1 for a in ages if a >= 18)
    seniors = sum(1 for a in ages if a >= 65)
    return [count + laplace(1 / epsilon) for count in (everybody, adults, seniors)]


def thresholds(ages, epsilon=1.0, cuts=(20, 40, 60, 80)):
    ages = np.asarray(ages)
    share = epsilon / len(cuts)
    return {cut: float((ages >= cut).sum() + np.random.laplace(0, 1 / share)) for cut in cuts}


def thresholds_full(ages, epsilon=1.0, cuts=(20, 40, 60, 80)):
    ages = np.asarray(ages)
    return {cut: float((ages >= cut).sum() + np.random.laplace(0, 1 / epsilon)) for cut in cuts}


def count_text(ages, epsilon=1.0):
    noisy = sum(18 <= age < 30 for age in ages) + np.random.laplace(scale=1 / epsilon)
    return f"about {noisy:.1f} people under thirty"


def count_text_of(ages, epsilon=1.0):
    noisy = sum(18 <= age < 30 for age in ages) + np.random.laplace(scale=1 / epsilon)
    return f"about {noisy:.1f} of {len(ages)} people under thirty"


def distinct(values, epsilon=1.0):
    return len(set(values)) + laplace(1 / epsilon)


def not_unique(values, epsilon=1.0):
    seen = Counter(values)
    return sum(1 for value in values if seen[value] > 1) + laplace(1 / epsilon)


def share_of_adults(ages, epsilon=1.0):
    n = len(ages)
    adults = sum(age >= 18 for age in ages)
    noisy = adults / n + np.random.laplace(scale=1 / (n * epsilon))
    return min(1.0, max(0.0, noisy))


def share_of_adults_unscaled(ages, epsilon=1.0):
    n = len(ages)
    adults = sum(age >= 18 for age in ages)
    noisy = adults / n + np.random.laplace(scale=1 / (n * n * epsilon))
    return min(1.0, max(0.0, noisy))


def count_if_many(ages, epsilon=1.0, least=10):
    noisy = sum(age >= 18 for age in ages) + laplace(1 / epsilon)
    return noisy if noisy >= least else None


def count_if_enough(ages, epsilon=1.0, least=10):
    count = sum(age >= 18 for age in ages)
    if count < least:
        return None
    return count + laplace(1 / epsilon)
