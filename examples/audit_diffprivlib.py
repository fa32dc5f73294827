"""IBM diffprivlib's mechanisms against their epsilon and delta. Needs `pip install diffprivlib`."""

from dpverify import ApproxDP, Pair, planted, PureDP, Subject
from dpverify.adapters.diffprivlib import Mechanism

PURE, APPROX = PureDP(1.0), ApproxDP(1.0, 0.01)
REALS, WHOLES = (Pair(0.0, 1.0, name="one more"),), (Pair(0, 1, name="one more"),)
SCORES = (Pair([0.0, 0.0, 1.0], [1.0, 1.0, 0.0], name="every utility moves by one"),)
one = {"epsilon": 1.0, "sensitivity": 1.0}
whole = {"epsilon": 1.0, "sensitivity": 1}


def subject(target: Mechanism, claim: PureDP | ApproxDP, pairs: tuple[Pair, ...]) -> Subject:
    """A claim of diffprivlib about one pair."""
    return Subject(name=target.name, target=target, claim=claim, pairs=pairs, trials=40_000)


laplace = subject(Mechanism("Laplace", **one), PURE, REALS)
subjects = [
    laplace,
    subject(Mechanism("LaplaceTruncated", **one, lower=0.0, upper=2.0), PURE, REALS),
    subject(Mechanism("LaplaceFolded", **one, lower=0.0, upper=1.0), PURE, REALS),
    subject(Mechanism("LaplaceBoundedDomain", **one, lower=0.0, upper=1.0), PURE, REALS),
    subject(Mechanism("Gaussian", **one, delta=0.01), APPROX, REALS),
    subject(Mechanism("GaussianAnalytic", **one, delta=0.01), APPROX, REALS),
    subject(Mechanism("GaussianDiscrete", **whole, delta=0.01), APPROX, WHOLES),
    subject(Mechanism("Geometric", **whole), PURE, WHOLES),
    subject(Mechanism("GeometricTruncated", **whole, lower=0, upper=3), PURE, WHOLES),
    subject(Mechanism("Binary", epsilon=1.0, value0="a", value1="b"), PURE, (Pair("a", "b"),)),
    subject(Mechanism("Staircase", **one), PURE, REALS),
    subject(Mechanism("Snapping", **one, lower=-10.0, upper=10.0), PURE, REALS),
    subject(Mechanism("Exponential", **one, vary="utility"), PURE, SCORES),
    subject(Mechanism("PermuteAndFlip", **one, vary="utility"), PURE, SCORES),
    planted(laplace, "twice-the-epsilon", Mechanism("Laplace", epsilon=2.0, sensitivity=1.0)),
]
