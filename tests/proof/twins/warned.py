"""A module in which NumPy raises where it would warn."""

import numpy as np

np.seterr(all="raise")


def inverses_that_are_dropped(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.22; a"""
    return np.where(x > 1, 1 / x, 0).sum() + np.random.default_rng().laplace()
