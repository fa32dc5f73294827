import math
import random

import numpy as np

rng = np.random.default_rng()
FRUITS = ["apple", "banana", "cherry", "date"]


def coin_twice(answer):
    if random.random() < 0.5:
        return answer
    return random.choice(["yes", "no"])


def coin_twice_often(answer):
    if random.random() < 0.75:
        return answer
    return random.choice(["yes", "no"])


def flip_bit(bit, epsilon=1.0):
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    return bit if rng.random() < keep else 1 - bit


def flip_bit_or_coin(bit, epsilon=1.0):
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    return bit if rng.random() < keep else int(rng.integers(0, 2))


def flip_bit_one_way(bit, epsilon=1.0):
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    if bit == 1:
        return 1 if rng.random() < keep else 0
    return 0


def k_ary(fruit, epsilon=1.0):
    k = len(FRUITS)
    keep = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
    if random.random() < keep:
        return fruit
    return random.choice([other for other in FRUITS if other != fruit])


def k_ary_binary_keep(fruit, epsilon=1.0):
    keep = math.exp(epsilon) / (math.exp(epsilon) + 1)
    if random.random() < keep:
        return fruit
    return random.choice([other for other in FRUITS if other != fruit])


def k_ary_any(fruit, epsilon=1.0):
    k = len(FRUITS)
    keep = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
    if random.random() < keep:
        return fruit
    return random.choice(FRUITS)


def unary(fruit, epsilon=1.0):
    keep = math.exp(epsilon / 2) / (1 + math.exp(epsilon / 2))
    bits = np.array([fruit == each for each in FRUITS], dtype=int)
    flips = rng.random(len(FRUITS)) >= keep
    return np.where(flips, 1 - bits, bits)


def unary_full(fruit, epsilon=1.0):
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    bits = np.array([fruit == each for each in FRUITS], dtype=int)
    flips = rng.random(len(FRUITS)) >= keep
    return np.where(flips, 1 - bits, bits)


def unary_one_draw(fruit, epsilon=1.0):
    keep = math.exp(epsilon / 2) / (1 + math.exp(epsilon / 2))
    bits = np.array([fruit == each for each in FRUITS], dtype=int)
    flips = rng.random() >= keep
    return np.where(flips, 1 - bits, bits)


def optimized_unary(fruit, epsilon=1.0):
    q = 1 / (1 + math.exp(epsilon))
    report = []
    for each in FRUITS:
        p = 0.5 if each == fruit else q
        report.append(1 if random.random() < p else 0)
    return report


def optimized_unary_high(fruit, epsilon=1.0):
    q = 1 / (1 + math.exp(epsilon))
    report = []
    for each in FRUITS:
        p = 0.75 if each == fruit else q
        report.append(1 if random.random() < p else 0)
    return report


def local_number(x, epsilon=1.0, low=0.0, high=10.0):
    return min(max(x, low), high) + random.choice([-1, 1]) * random.expovariate(epsilon / (high - low))


def local_number_clipped(x, epsilon=1.0, low=0.0, high=10.0):
    noisy = min(max(x, low), high) + random.choice([-1, 1]) * random.expovariate(epsilon)
    return min(max(noisy, low), high)


def one_bit_mean(x, epsilon=1.0):
    slope = (math.exp(epsilon) - 1) / (math.exp(epsilon) + 1)
    return 1 if random.random() < 0.5 + 0.5 * x * slope else -1


def one_bit_mean_plain(x):
    return 1 if random.random() < 0.5 + 0.5 * x else -1


def two_answers(person, epsilon=1.0):
    keep = math.exp(epsilon / 2) / (1 + math.exp(epsilon / 2))
    report = {}
    for question in ("smokes", "drinks"):
        truth = person[question]
        report[question] = truth if random.random() < keep else 1 - truth
    return report


def two_answers_full(person, epsilon=1.0):
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    report = {}
    for question in ("smokes", "drinks"):
        truth = person[question]
        report[question] = truth if random.random() < keep else 1 - truth
    return report


def one_in_ten_is_dropped(value):
    return 0.5 if random.random() < 0.1 else value + np.random.laplace(scale=0.5)


def one_in_ten_passes(value):
    return value if random.random() < 0.1 else value + np.random.laplace(scale=0.5)


def one_in_ten_passes_clipped(value):
    return value if random.random() < 0.1 else min(1.0, max(0.0, value + np.random.laplace(scale=0.5)))


def redraw_until_inside(value, epsilon=1.0):
    while True:
        noisy = value + np.random.laplace(scale=1 / epsilon)
        if 0.0 <= noisy <= 1.0:
            return noisy


def redraw_until_positive(value, epsilon=1.0):
    while True:
        noisy = value + np.random.laplace(scale=1 / epsilon)
        if noisy >= 0.0:
            return noisy


def sampled_question(person, epsilon=1.0):
    question = random.choice(["smokes", "drinks"])
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    truth = person[question]
    return question, truth if random.random() < keep else 1 - truth


def sampled_question_if_yes(person, epsilon=1.0):
    question = "smokes" if person["smokes"] else "drinks"
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    truth = person[question]
    return question, truth if random.random() < keep else 1 - truth
