"""What is done when a module is imported: noise drawn, seeds set, errors chosen."""

import numpy as np

Z = np.random.default_rng().laplace(scale=10.0)
RNG = np.random.default_rng(11)
FRESH = np.random.default_rng()


def noise_of_the_import(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; a"""
    return x.sum() + Z


def seeded_at_import(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 seeds; a"""
    return x.sum() + RNG.laplace(scale=10.0)


def generator_of_the_module(x):
    """vector: real 0..10, rows 5..50; replace; 1; 3 seeds; a; exact"""
    return x.sum() + FRESH.laplace(scale=10.0)
