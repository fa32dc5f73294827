"""A count and a sum by diffpriv-pure; `data` is a list of numbers."""

from diffpriv_pure import private_count, private_sum


def count(data, epsilon=1.0):
    return private_count(condition_count=len(data), epsilon=epsilon)


def total(data, epsilon=1.0):
    return private_sum(values=data, bounds=(0.0, 10.0), epsilon=epsilon)
