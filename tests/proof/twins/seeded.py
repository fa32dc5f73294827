"""A module that seeds the global generators when it is imported."""

import random

import numpy as np

np.random.seed(0)  # noqa: NPY002
random.seed(0)


def global_numpy(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 seeds; a"""
    return x.sum() + np.random.laplace(scale=10.0)  # noqa: NPY002


def global_random(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 seeds; a"""
    return x.sum() + random.gauss(0, 10)
