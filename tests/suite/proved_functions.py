"""Functions of one vector with noise, of which some are proved from their code."""

import numpy as np


def noisy_sum(data, *, rng, size=1):
    return np.clip(data, 0, 1).sum() + rng.laplace(scale=1.0, size=size)


def normal_sum(data, *, rng, size=1):
    return np.clip(data, 0, 1).sum() + rng.normal(scale=1.0, size=size)


def half_the_noise(data, *, rng, size=1):
    return np.clip(data, 0, 1).sum() + rng.laplace(scale=0.5, size=size)


def plain_sum(data, *, rng, size=1):
    return data.sum() + rng.laplace(scale=1.0, size=size)


def unknown_steps(data, *, rng, size=1):
    return np.fft.fft(np.clip(data, 0, 1)).real[0] + rng.laplace(scale=1.0, size=size)
