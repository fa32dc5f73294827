"""Log masses of the tape's families: those of SciPy, -inf outside of the support and for NaN."""

import numpy as np
import pytest
from scipy import stats

from dpverify.tape.families import FAMILIES

CASES = [
    ("uniform", (), stats.uniform()),
    ("normal", (), stats.norm()),
    ("laplace", (), stats.laplace()),
    ("exponential", (), stats.expon()),
    ("gumbel", (), stats.gumbel_r()),
    ("root_exponential", (), stats.rayleigh(scale=0.5**0.5)),
    ("cosine", (), stats.arcsine(-1.0, 2.0)),
    ("sine", (), stats.arcsine(-1.0, 2.0)),
    ("logistic", (), stats.logistic()),
    ("gamma", (2.5,), stats.gamma(2.5)),
    ("gamma", (0.3,), stats.gamma(0.3)),
    ("beta", (2.0, 0.7), stats.beta(2.0, 0.7)),
    ("student", (3.0,), stats.t(3.0)),
    ("student", (1.0,), stats.cauchy()),
    ("integers", (-3.0, 9.0), stats.randint(-3, 9)),
    ("binomial", (12.0, 0.3), stats.binom(12, 0.3)),
    ("poisson", (4.5,), stats.poisson(4.5)),
    ("geometric", (0.2,), stats.geom(0.2)),
    ("negative_binomial", (3.0, 0.4), stats.nbinom(3, 0.4)),
    ("discrete_laplace", (2.0,), stats.dlaplace(0.5)),
]


def masses(name: str, z: np.ndarray, parameters: tuple[float, ...]) -> np.ndarray:
    return FAMILIES[name].log_mass(z, *(np.full(len(z), each) for each in parameters))


@pytest.mark.parametrize(("name", "parameters", "law"), CASES)
def test_ratios_are_those_of_scipy(name: str, parameters: tuple[float, ...], law) -> None:
    z = law.rvs(200, random_state=np.random.Generator(np.random.PCG64(5))).astype(np.float64)
    want = (law.logpmf if FAMILIES[name].lattice else law.logpdf)(z)
    found = masses(name, z, parameters)
    np.testing.assert_allclose(found - found[0], want - want[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "other", "law", "change"),
    [
        ("gamma", (2.5,), stats.gamma, (3.0,)),
        ("beta", (2.0, 0.7), stats.beta, (1.0, 1.0)),
        ("binomial", (12.0, 0.3), stats.binom, (13.0, 0.4)),
        ("poisson", (4.5,), stats.poisson, (5.5,)),
        ("geometric", (0.2,), stats.geom, (0.3,)),
        ("negative_binomial", (3.0, 0.4), stats.nbinom, (4.0, 0.3)),
        ("student", (3.0,), stats.t, (4.0,)),
    ],
)
def test_ratios_between_parameters_are_those_of_scipy(name, other, law, change) -> None:
    """Constants that depend on a parameter may not be dropped: the parameter may depend on the data."""
    z = np.array([1.0, 2.0, 3.0]) if FAMILIES[name].lattice else np.array([0.2, 0.5, 0.9])
    log = "logpmf" if FAMILIES[name].lattice else "logpdf"
    want = getattr(law(*other), log)(z) - getattr(law(*change), log)(z)
    np.testing.assert_allclose(masses(name, z, other) - masses(name, z, change), want, rtol=1e-9)


def test_a_sum_of_laplace_variables_has_the_law_of_the_convolution() -> None:
    """Three terms: density (3 + 3|x| + x^2) exp(-|x|)/16, by partial fractions of (1 + t^2)^-3."""
    z = np.linspace(-6, 6, 25)
    want = np.log(3 + 3 * np.abs(z) + z * z) - np.abs(z)
    found = masses("laplace_sum", z, (3.0,))
    np.testing.assert_allclose(found - found[0], want - want[0], rtol=1e-9, atol=1e-9)


OUTSIDE = {
    "uniform": (-0.1, 1.0, 1.5),
    "exponential": (-1e-9,),
    "gamma": (-1.0,),
    "beta": (-0.1, 1.1),
    "integers": (-4.0, 9.0, 0.5),
    "binomial": (-1.0, 13.0, 0.5),
    "poisson": (-1.0, 0.5),
    "geometric": (0.0, 1.5),
    "negative_binomial": (-1.0, 0.5),
    "discrete_laplace": (0.5,),
    "discrete_gaussian": (0.5,),
    "sign": (0.0, 2.0),
    "root_exponential": (-0.5,),
    "cosine": (1.5,),
    "sine": (-1.5,),
}
PARAMETERS = {name: parameters for name, parameters, _ in CASES} | {
    "laplace_sum": (2.0,),
    "discrete_gaussian": (1.5,),
    "sign": (),
    "normal_product": (),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_nothing_outside_of_the_support(name: str) -> None:
    z = np.array([*OUTSIDE.get(name, ()), np.nan])
    with np.errstate(all="ignore"):
        assert (masses(name, z, PARAMETERS[name]) == -np.inf).all()


def test_every_family_is_tested() -> None:
    assert set(PARAMETERS) == set(FAMILIES)
