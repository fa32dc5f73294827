"""The noisy conditional distributions of DataSynthesizer's PrivBayes, for a network that is given."""

from DataSynthesizer.lib.PrivBayes import construct_noisy_conditional_distributions


def distributions(data, epsilon=1.0):
    return construct_noisy_conditional_distributions([("b", ["a"])], data, epsilon=epsilon)
