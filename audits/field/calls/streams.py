"""Prefix sums of 8 bits by dpcrpy: a binary tree with Laplace noise for its L1 sensitivity."""

from dpcrpy.framework.noiMech import LapNoiMech
from dpcrpy.treeMethods.binMech import BinMech
from dpcrpy.treeMethods.honaker import Honaker


def prefix_sums(data, epsilon=1.0, honaker=False):
    counter = Honaker(kOrder=3) if honaker else BinMech(kOrder=3)
    counter.setNoiMech(LapNoiMech(epsilon=epsilon))
    counter.noiMech.setSens(counter.getL1Sens())
    return [float(counter.dpRelease(bit)[0]) for bit in data]
