"""The global generators without a seed."""

import random

import numpy as np


def global_numpy(x):
    """vector: real 0..10, rows 5..50; replace; 1; 3 seeds; a; exact"""
    return x.sum() + np.random.laplace(scale=10.0)  # noqa: NPY002


def global_random(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 seeds; a; mu=1; rho=.5; exact"""
    return x.sum() + random.gauss(0, 10)
