"""A module that turns warnings into errors."""

import warnings

import numpy as np

warnings.simplefilter("error", append=True)
rng = np.random.default_rng()


def of_rows_that_overflow(x):
    """vector: integer 0..1000, rows 5..50; replace; inf; 1.22; b"""
    return np.minimum(np.exp(x), 5).sum() + rng.laplace(scale=5.0)
