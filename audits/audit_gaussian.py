"""Gaussian noise under its three accounts: (eps, delta), mu-GDP and rho-zCDP."""

from audits.planted.gaussian import LargestCoordinate, RootOfSigma
from dpverify import ApproxDP, GaussianDP, Pair, planted, Subject, ZCDP
from dpverify.ledger import Sensitivity, Shift
from mechanisms.releases.gaussian import Gaussian

one = Sensitivity(replace=1, add_remove=1)
four = Sensitivity(replace=Shift(1, 4))  # four coordinates move by one each: l2 distance 2

analytic = Subject(
    name="analytic",
    target=Gaussian.for_approx(1.0, 1e-5, sensitivity=one),
    claim=ApproxDP(1.0, 1e-5),
    pairs=(Pair(0.0, 1.0, name="one more"),),
    accounted=True,
)
gdp = Subject(
    name="gdp",
    target=Gaussian.for_gdp(1.0, sensitivity=four),
    claim=GaussianDP(1.0),
    pairs=(Pair([1.0, 1.0, 0.0, 0.0, 5.0], [0.0, 0.0, 1.0, 1.0, 5.0], name="four moved"),),
    accounted=True,
)
zcdp = Subject(
    name="zcdp",
    target=Gaussian.for_zcdp(0.5, sensitivity=four),
    claim=ZCDP(0.5),
    pairs=(Pair([1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0], name="four moved"),),
    accounted=True,
)

subjects = [
    analytic,
    gdp,
    zcdp,
    planted(analytic, "root-of-sigma", RootOfSigma.for_approx(1.0, 1e-5, sensitivity=one)),
    planted(gdp, "largest-coordinate", LargestCoordinate.for_gdp(1.0, sensitivity=four)),
    planted(zcdp, "largest-coordinate", LargestCoordinate.for_zcdp(0.5, sensitivity=four)),
]
