"""The Gaussian mechanism of eeprivacy on a sum of numbers between 0 and 1."""

from eeprivacy.mechanisms import GaussianMechanism


def total(data, epsilon=10.0, delta=0.1):
    return GaussianMechanism.execute(value=sum(data), epsilon=epsilon, delta=delta, sensitivity=1.0)
