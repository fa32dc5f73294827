"""OpenDP's noisy max under zCDP on counts of four categories: one record more moves one count by 1."""

import opendp.prelude as dp

dp.enable_features("contrib")
SPACE = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int)


def winner(data, scale=1.0):
    counts = [sum(each == value for each in data) for value in range(4)]
    return dp.m.make_noisy_max(*SPACE, dp.zero_concentrated_divergence(), scale=scale)(counts)
