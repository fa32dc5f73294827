"""Calls of diffprivlib as a user writes them; run in the library's own interpreter."""

from diffprivlib import tools


def counts(data, epsilon=1.0):
    return tools.histogram(data, epsilon=epsilon, bins=4, range=(0, 10))[0]


def weighted(data, epsilon=1.0):
    return tools.histogram(data["x"], epsilon=epsilon, bins=4, range=(0, 10), weights=data["w"])[0]


def median(data, epsilon=1.0):
    return tools.quantile(data, 0.5, epsilon=epsilon, bounds=(0, 10))
