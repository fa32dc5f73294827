"""Calls of python-dp as a user writes them."""

from pydp.algorithms.laplacian import BoundedMean, BoundedSum, Count, Median


def count(data, epsilon=1.0):
    return Count(epsilon=epsilon, dtype="float").quick_result(list(data))


def total(data, epsilon=1.0):
    return BoundedSum(epsilon=epsilon, lower_bound=0, upper_bound=10, dtype="float").quick_result(list(data))


def mean(data, epsilon=1.0):
    return BoundedMean(epsilon=epsilon, lower_bound=0, upper_bound=10, dtype="float").quick_result(list(data))


def median(data, epsilon=1.0):
    return Median(epsilon=epsilon, lower_bound=0, upper_bound=10, dtype="float").quick_result(list(data))
