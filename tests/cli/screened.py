"""Targets whose certificates have one word each; `tests/cli/screens` holds what the terminal shows of them."""

import numpy as np

from dpverify import Pair
from dpverify.ledger.events import LaplaceNoise, Ledger, Sensitivity, Shift

PAIRS = [Pair(np.array([0.0, 3.0, 7.0]), np.array([9.0, 3.0, 7.0]), name="0 and 9")]


class Certified:
    """A mean of three numbers in [0, 9] with noise for what one of them moves."""

    pairs = PAIRS
    scale = 3.0
    ledger = Ledger(LaplaceNoise(scale=3.0, sensitivity=Sensitivity(replace=Shift(3.0, 1))))

    def release(self, data, *, rng, size):
        return np.clip(data, 0, 9).mean() + rng.laplace(scale=self.scale, size=size)


class Refuted(Certified):
    """With the noise of nine numbers."""

    scale = 1.0


class Open(Certified):
    """Says nothing of its noise."""

    ledger = None


class Invalid(Certified):
    """Keeps its first noise."""

    ledger = None
    kept = None

    def release(self, data, *, rng, size):
        if self.kept is None:
            self.kept = rng.laplace(scale=3.0)
        return data.mean() + self.kept + rng.laplace(scale=1e-3, size=size)


class Failed(Certified):
    """Raises."""

    def release(self, data, *, rng, size):
        raise ValueError("no mean today")


def trimmed_mean(data):
    """The middle one of three numbers: no rule of the proof reads rows by their rank."""
    return np.sort(np.clip(data, 0, 9))[1] + np.random.laplace(scale=9.0)  # noqa: NPY002


def mean(values: np.ndarray):
    """As somebody writes it."""
    return np.clip(values, 0, 9).mean() + np.random.laplace(scale=9 / len(values))  # noqa: NPY002


def wrong_mean(values: np.ndarray):
    """Forgets that a mean of few moves by more."""
    return np.clip(values, 0, 9).mean() + np.random.laplace(scale=1.0)  # noqa: NPY002


def raising(values: np.ndarray):
    """No data will do."""
    raise ValueError("no mean today")
