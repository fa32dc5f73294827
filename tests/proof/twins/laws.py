"""Coins whose chance is data, and programs whose laws are enumerated: what a law may not depend on."""

import collections
import functools
import itertools
import os
import random
import secrets
import time
import uuid

import numpy as np

BAG = [random.Random()]
OWN = np.random.default_rng()
SEEDED = np.random.default_rng(7)
LEGACY = np.random.RandomState()
KEPT = {"coins": itertools.cycle([True, False])}
COUNT = collections.Counter()
PLACE = {"yes", "no", "perhaps"}


class Sampler:
    """A generator as an attribute."""

    def __init__(self):
        self.rng = np.random.default_rng()
        self.asked = 0

    def toss(self, chance):
        """True with this chance."""
        return self.rng.random() < chance

    def toss_and_count(self, chance):
        """The first coin is fair."""
        self.asked += 1
        return self.rng.random() < (0.5 if self.asked == 1 else chance)


SAMPLER = Sampler()


# ----------------------------------------------------------------------------------------------------------------------
# One coin whose chance is data


def vote(x):
    """vector: real 0..1, rows 5..50; replace; log(1.4); N15; later; exact"""
    return int(random.random() < 0.25 + 0.5 * np.mean(x))


def vote_turned_round(x):
    """vector: real 0..1, rows 5..50; replace; log(1.4); N15; later; exact"""
    return 0.25 + 0.5 * np.mean(x) >= random.random()


def vote_of_the_mean_itself(x):
    """vector: real 0..1, rows 5..50; replace; inf; N15; later"""
    return int(random.random() < np.mean(x))


def vote_and_its_number(x):
    """vector: real 0..1, rows 5..50; replace; inf; N15; later"""
    u = random.random()
    return u < 0.25 + 0.5 * np.mean(x), u


def vote_twice_with_one_number(x):
    """vector: real 0..1, rows 5..50; replace; inf; N15; later"""
    u = random.random()
    return u < 0.25 + 0.5 * np.mean(x), u < 0.5


def vote_of_two_chances(x):
    """vector: real 0..1, rows 5..50; replace; inf; N15; later"""
    u = random.random()
    return u < 0.25 + 0.5 * np.mean(x), u < 0.2 + 0.5 * np.mean(x)


def vote_after_the_number(x):
    """vector: real 0..1, rows 5..50; replace; inf; N15; later"""
    u = random.random()
    told = u + 1
    return told, u < 0.25 + 0.5 * np.mean(x)


def vote_with_a_wide_number(x):
    """vector: real 0..1, rows 5..50; replace; log(1.4); N15; later"""
    return random.uniform(0, 2) < 0.5 + np.mean(x)


def vote_of_two_coins(x):
    """vector: real 0..1, rows 5..50; replace; 2*log(1.4); N15; later; exact"""
    chance = 0.25 + 0.5 * np.mean(x)
    return random.random() < chance, random.random() < chance


def bit_of_a_number(x, epsilon=1.0):
    """value: real -1..1; replace; 1; N15; later; exact"""
    slope = np.tanh(epsilon / 2)
    return 1 if random.random() < 0.5 + 0.5 * x * slope else -1


def bit_of_a_number_without_slope(x):
    """value: real -1..1; replace; inf; N15; later"""
    return 1 if random.random() < 0.5 + 0.5 * x else -1


# ----------------------------------------------------------------------------------------------------------------------
# Laws of all datasets


def told(answer):
    """value: category yes|no; replace; log(3); 3 laws; later; exact"""
    return answer if random.random() < 0.75 else "no" if answer == "yes" else "yes"


def told_by_a_generator_of_the_module(bit):
    """value: category 0|1; replace; log(3); 3 laws; later; exact"""
    return bit if OWN.random() < 0.75 else 1 - bit


def told_by_a_legacy_generator(bit):
    """value: category 0|1; replace; log(3); 3 laws; later; exact"""
    return bit if LEGACY.random_sample() < 0.75 else 1 - bit


def told_by_an_object(bit):
    """value: category 0|1; replace; log(3); 3 laws; later; exact"""
    return bit if SAMPLER.toss(0.75) else 1 - bit


def told_by_a_default(bit, rng=np.random.default_rng()):  # noqa: B008
    """value: category 0|1; replace; log(3); 3 laws; later; exact"""
    return bit if rng.random() < 0.75 else 1 - bit


def told_by_secrets(bit):
    """value: category 0|1; replace; log(3); 3 laws; later; exact"""
    return bit if secrets.randbelow(4) < 3 else 1 - bit


def told_by_a_system_generator(bit):
    """value: category 0|1; replace; log(3); 3 laws; later; exact"""
    return bit if secrets.SystemRandom().random() < 0.75 else 1 - bit


def told_with_a_rare_path(bit):
    """value: category 0|1; replace; inf; 3 laws; later"""
    return 2 if bit and OWN.random() < 1e-12 else 0


def never_told_from_one_side(bit):
    """value: category 0|1; replace; inf; 3 laws; later"""
    return int(bit == 1 and OWN.random() < 0.75)


def never_told_by_a_bag(bit):
    """value: category 0|1; replace; inf; 3 laws; later"""
    return int(bit == 1 and BAG[0].random() < 0.75)


def never_told_by_a_bag_of_arrays(bit):
    """value: category 0|1; replace; inf; 3 laws; later"""
    return int(bit == 1 and BAG[0].choice([0, 1]))


def told_with_a_seed(bit):
    """value: category 0|1; replace; inf; 3 laws; later"""
    return bit if SEEDED.random() < 0.75 else 1 - bit


def told_with_a_seed_that_is_set(bit):
    """value: category 0|1; replace; inf; 3 laws; later"""
    random.seed(3)
    return bit if random.random() < 0.75 else 1 - bit


def told_in_turns(bit):
    """value: category 0|1; replace; inf; 3 laws; later"""
    return bit if next(KEPT["coins"]) else 1 - bit


def told_after_the_first(bit):
    """value: category 0|1; replace; inf; 3 laws; later"""
    COUNT["asked"] += 1
    return bit if COUNT["asked"] > 1 else int(random.random() < 0.5)


def told_after_the_first_toss(bit):
    """value: category 0|1; replace; inf; 3 laws; later"""
    return SAMPLER.toss_and_count(float(bit))


@functools.lru_cache
def _toss(bit):
    return random.random() < 0.75


def told_once_and_kept(bit):
    """value: category 0|1; replace; inf; 3 laws; later"""
    return bit if _toss(bit) else 1 - bit


def told_by_the_clock(bit):
    """value: category 0|1; replace; inf; 3 laws; later"""
    return bit if time.time_ns() % 4 < 3 else 1 - bit


def told_by_an_address(bit):
    """value: category 0|1; replace; inf; 3 laws; later"""
    return bit if id(object()) % 64 < 32 else 1 - bit


def told_by_a_hash(bit):
    """value: category 0|1; replace; inf; 3 laws; later"""
    return bit if hash("salt") % 4 < 3 else 1 - bit


def told_by_the_order_of_a_set(bit):
    """value: category 0|1; replace; inf; 3 laws; later"""
    return bit if list(PLACE)[-1] != "no" else 1 - bit


def told_by_the_first_of_a_set(bit):
    """value: category 0|1; replace; inf; 3 laws; later"""
    for each in PLACE:
        return bit if each != "no" else 1 - bit


def told_by_memory_that_was_not_written(bit):
    """value: category 0|1; replace; inf; 3 laws; later"""
    return bit if np.empty(1)[0] >= 0 else 1 - bit


def told_by_a_name(bit):
    """value: category 0|1; replace; inf; 3 laws; later"""
    return bit if uuid.uuid4().int % 4 < 3 else 1 - bit


def told_by_the_process(bit):
    """value: category 0|1; replace; inf; 3 laws; later"""
    return bit if os.getpid() % 4 < 3 else 1 - bit


def told_on_the_screen(bit):
    """value: category 0|1; replace; inf; 3 laws; later"""
    print(bit)
    return bit if random.random() < 0.75 else 1 - bit


def told_by_an_error(bit):
    """value: category 0|1; replace; inf; 3 laws; later"""
    if bit:
        raise ValueError("one")
    return int(random.random() < 0.5)


def told_with_its_number(bit):
    """value: category 0|1; replace; inf; 3 laws; later"""
    u = random.random()
    return (bit if u < 0.75 else 1 - bit), u


def told_by_the_kind_of_a_number(bit):
    """value: category 0|1; replace; inf; 3 laws; later"""
    return 1.0 if bit else 1


def told_by_the_sign_of_zero(bit):
    """value: category 0|1; replace; inf; 3 laws; later"""
    return -0.0 if bit else 0.0


def told_in_an_attribute(bit):
    """value: category 0|1; replace; inf; 3 laws; later"""
    found = Sampler()
    found.rng, found.bit = None, bit
    return found


def told_in_a_file(bit):
    """value: category 0|1; replace; inf; 3 laws; later"""
    with open(os.devnull, "w") as file:
        file.write(str(bit))
    return int(random.random() < 0.5)
