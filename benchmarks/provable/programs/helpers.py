import math
import random
from functools import partial

import numpy as np


class Laplace:
    def __init__(self, epsilon, sensitivity):
        self.scale = sensitivity / epsilon

    def add(self, value):
        return value + np.random.laplace(0.0, self.scale)


def mechanism_sum(values, epsilon=1.0):
    mechanism = Laplace(epsilon, sensitivity=50.0)
    return mechanism.add(sum(min(max(value, 0.0), 50.0) for value in values))


def mechanism_sum_swapped(values, epsilon=1.0):
    mechanism = Laplace(50.0, epsilon)
    return mechanism.add(sum(min(max(value, 0.0), 50.0) for value in values))


def mechanism_sum_default(values, epsilon=1.0):
    mechanism = Laplace(epsilon, sensitivity=1.0)
    return mechanism.add(sum(min(max(value, 0.0), 50.0) for value in values))


class Budget:
    def __init__(self, epsilon):
        self.left = epsilon

    def spend(self, epsilon):
        if epsilon > self.left + 1e-9:
            raise ValueError("budget exhausted")
        self.left -= epsilon
        return epsilon


class LooseBudget:
    def __init__(self, epsilon):
        self.left = epsilon

    def spend(self, epsilon):
        if epsilon > self.left + 1e-9:
            raise ValueError("budget exhausted")
        return epsilon


def budgeted(values, epsilon=1.0):
    budget = Budget(epsilon)
    count = len(values) + np.random.laplace(0, 1 / budget.spend(0.25 * epsilon))
    total = np.clip(values, 0, 50).sum() + np.random.laplace(0, 50 / budget.spend(0.75 * epsilon))
    return count, total


def budgeted_loose(values, epsilon=1.0):
    budget = LooseBudget(epsilon)
    count = len(values) + np.random.laplace(0, 1 / budget.spend(epsilon))
    total = np.clip(values, 0, 50).sum() + np.random.laplace(0, 50 / budget.spend(epsilon))
    return count, total


class PrivateMean:
    def __init__(self, epsilon=1.0, low=0.0, high=50.0):
        self.epsilon, self.low, self.high = epsilon, low, high

    def fit(self, values):
        bounded = np.clip(values, self.low, self.high)
        self.mean_ = bounded.mean() + np.random.laplace(0, (self.high - self.low) / len(values) / self.epsilon)
        return self


class PrivateMeanWithRange(PrivateMean):
    def fit(self, values):
        self.low, self.high = float(np.min(values)), float(np.max(values))
        return super().fit(values)


def fitted_mean(values, epsilon=1.0):
    return PrivateMean(epsilon).fit(values).mean_


def fitted_mean_range(values, epsilon=1.0):
    return PrivateMeanWithRange(epsilon).fit(values).mean_


def noisy_items(items, scale):
    for item in items:
        yield item + random.expovariate(1 / scale) - random.expovariate(1 / scale)


def generated(values, epsilon=1.0):
    counts = [sum(value >= cut for value in values) for cut in (10, 20, 30)]
    return list(noisy_items(counts, len(counts) / epsilon))


def generated_full(values, epsilon=1.0):
    counts = [sum(value >= cut for value in values) for cut in (10, 20, 30)]
    return list(noisy_items(counts, 1 / epsilon))


def make_noise(scale):
    return lambda value: value + np.random.laplace(0, scale)


def make_frozen_noise(scale):
    noise = np.random.laplace(0, scale)
    return lambda value: value + noise


def closures(values, epsilon=1.0):
    add = make_noise(2 / epsilon)
    return add(sum(value > 25 for value in values)), add(sum(value > 40 for value in values))


def closures_frozen(values, epsilon=1.0):
    add = make_frozen_noise(2 / epsilon)
    return add(sum(value > 25 for value in values)), add(sum(value > 40 for value in values))


def partial_noise(values, epsilon=1.0):
    draw = partial(np.random.default_rng().laplace, 0.0, 50.0 / epsilon)
    return float(np.clip(values, 0.0, 50.0).sum() + draw())


def partial_noise_slipped(values, epsilon=1.0):
    draw = partial(np.random.default_rng().laplace, 50.0 / epsilon)
    return float(np.clip(values, 0.0, 50.0).sum() + draw())


def clamp(value, low, high):
    return max(low, min(high, value))


def clamp_above(value, low, high):
    return value if value > low and value < 2 * high else low


def centered_total(values, epsilon=1.0):
    return math.fsum(clamp(value - 25, -25, 25) for value in values) + np.random.laplace(0, 25 / epsilon)


def centered_total_above(values, epsilon=1.0):
    return math.fsum(clamp_above(value - 25, -25, 25) for value in values) + np.random.laplace(0, 25 / epsilon)
