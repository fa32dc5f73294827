"""OpenDP measurements against their own privacy maps. Needs `pip install opendp`; run `dpverify audit examples`."""

from dpverify import Pair, planted, Subject
from dpverify.adapters.functions import needed
from dpverify.adapters.opendp import Batched, claim_of, OneByOne

dp = needed("opendp.prelude", "opendp")
dp.enable_features("contrib")

numbers = dp.vector_domain(dp.atom_domain(T=float, nan=False))
wholes = dp.vector_domain(dp.atom_domain(T=int))
laplace = dp.m.make_laplace(numbers, dp.l1_distance(T=float), scale=1.0)
half = dp.m.make_laplace(numbers, dp.l1_distance(T=float), scale=0.5)
gaussian = dp.m.make_gaussian(numbers, dp.l2_distance(T=float), scale=1.0)
whole = dp.m.make_laplace(wholes, dp.l1_distance(T=int), scale=1.0)
bit = dp.m.make_randomized_response_bool(0.75)

one = (Pair(0.0, 1.0, name="one more"),)
count = Subject(name="laplace", target=Batched(laplace), claim=claim_of(laplace, 1.0), pairs=one, trials=60_000)

subjects = [
    count,
    Subject(name="gaussian", target=Batched(gaussian), claim=claim_of(gaussian, 1.0), pairs=one, trials=40_000),
    Subject(name="integers", target=Batched(whole), claim=claim_of(whole, 1), pairs=(Pair(0, 1),), trials=60_000),
    Subject(name="bit", target=OneByOne(bit), claim=claim_of(bit, 1), pairs=(Pair(False, True),), trials=20_000),
    planted(count, "half-the-noise", Batched(half)),
]
