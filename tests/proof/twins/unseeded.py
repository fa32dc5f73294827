"""The global generators without a seed."""

import random

import numpy as np


def global_numpy(x):
    """vector: real 0..10, rows 5..50; replace; 1; 3 seeds; a; exact"""
    return x.sum() + np.random.laplace(scale=10.0)  # noqa: NPY002


def global_random(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 seeds; a; mu=1; rho=.5; exact"""
    return x.sum() + random.gauss(0, 10)


FIRST = random.random()


def coin_of_the_module(bit):
    """value: category 0|1; replace; inf; 3 laws; later"""
    return bit if FIRST < 0.75 else 1 - bit


def vote_with_a_number_of_the_module(x):
    """vector: real 0..1, rows 5..50; replace; inf; N15; later"""
    return FIRST < 0.25 + 0.5 * np.mean(x)
