"""One person's answer by multi-freq-ldpy; `data` is her value."""

from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client

DOMAIN = 4


def response(data, epsilon=1.0):
    return GRR_Client(data, DOMAIN, epsilon)


def unary(data, epsilon=1.0, optimal=True):
    return UE_Client(data, DOMAIN, epsilon, optimal)


def subset(data, epsilon=1.0):
    return sorted(SS_Client(data, DOMAIN, epsilon))
