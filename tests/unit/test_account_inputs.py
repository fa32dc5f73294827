"""Whatever stands where a number, a law or a sensitivity belongs: an account, or one line that says what is allowed."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dpverify.accounting.accountant import eps_upper
from dpverify.accounting.events import (
    BoundedRange,
    DominatingPair,
    Filtered,
    FixedSizeSampled,
    MatrixGaussian,
    PoissonSampled,
    Shuffled,
)
from dpverify.accounting.laws import LaplaceLaw, Mixture, Normal, PiecewiseConstant, Truncated
from dpverify.accounting.ledger import (
    BinomialNoise,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Disjoint,
    FiniteLaws,
    GaussianNoise,
    KaryResponse,
    LaplaceNoise,
    Ledger,
    OneOf,
    PureStep,
    Sensitivity,
    Shift,
)
from dpverify.base.errors import DpverifyError
from dpverify.claims.claim import GaussianDP, PureDP, ZCDP
from dpverify.claims.neighbours import Relation

ONE = Sensitivity(replace=1, add_remove=1)
REPLACE = Relation.REPLACE_ONE
INSIDE = Ledger(LaplaceNoise(scale=1.0, sensitivity=ONE))
NORMAL = Normal(0.0, 1.0)

VALUES = {
    "nothing": None,
    "true": True,
    "numpy's true": np.bool_(True),
    "text": "1",
    "no text": "",
    "bytes": b"1",
    "nan": math.nan,
    "inf": math.inf,
    "minus inf": -math.inf,
    "minus one": -1,
    "minus zero": -0.0,
    "zero": 0,
    "half": 0.5,
    "two": 2,
    "subnormal": 5e-324,
    "the largest float": 1.7976931348623157e308,
    "beyond floats": 10**400,
    "beyond digits": 10**5000,
    "below floats": -(10**400),
    "third": Fraction(1, 3),
    "a fraction beyond floats": Fraction(10**400),
    "a tiny fraction": Fraction(1, 10**400),
    "a decimal": Decimal("0.5"),
    "not a decimal": Decimal("NaN"),
    "complex": 1j,
    "half a float": np.float16(0.5),
    "long": np.longdouble("0.1"),
    "too long": np.longdouble("1e4000"),
    "unsigned": np.uint64(2**63),
    "zero dimensions": np.array(1.0),
    "an array": np.array([1.0, 2.0]),
    "a list": [1],
    "a tuple": (1,),
    "a dict": {},
    "a class": int,
    "a relation": REPLACE,
}


def _both(x):
    return Sensitivity(replace=x, add_remove=x)


def _laws(**changed):
    return FiniteLaws(**{"pairs": (((0.5, 0.5), (0.4, 0.6)),), "relation": REPLACE, **changed})


def _pair(**changed):
    return DominatingPair(**{"p": Normal(1.0, 1.0), "q": NORMAL, "relation": REPLACE, **changed})


def _matrix(**changed):
    return MatrixGaussian(**{"strategy": ((1.0, 0.0), (1.0, 1.0)), "sigma": 1.0, "movement": ONE, **changed})


PLACES = {
    "size": lambda x: LaplaceNoise(scale=1.0, sensitivity=_both(x)),
    "one of the shifts": lambda x: LaplaceNoise(scale=1.0, sensitivity=_both([x])),
    "size of a shift": lambda x: GaussianNoise(sigma=1.0, sensitivity=_both(Shift(x))),
    "count of a shift": lambda x: LaplaceNoise(scale=1.0, sensitivity=_both(Shift(1, x))),
    "direction": lambda x: LaplaceNoise(scale=1.0, sensitivity=_both(Shift(1, 1, x))),
    "whole size": lambda x: DiscreteLaplaceNoise(scale=1.0, sensitivity=_both(x)),
    "what": lambda x: LaplaceNoise(scale=1.0, sensitivity=ONE, what=x),
    **{
        f"{name} of {made.__name__}": lambda x, made=made, name=name, others=others: made(**{name: x, **others})
        for made, name, others in (
            (LaplaceNoise, "scale", {"sensitivity": ONE}),
            (LaplaceNoise, "sensitivity", {"scale": 1.0}),
            (GaussianNoise, "sigma", {"sensitivity": ONE}),
            (DiscreteLaplaceNoise, "scale", {"sensitivity": ONE}),
            (DiscreteLaplaceNoise, "sensitivity", {"scale": 1.0}),
            (DiscreteGaussianNoise, "sigma", {"sensitivity": ONE}),
            (BinomialNoise, "trials", {"probability": 0.5, "sensitivity": ONE}),
            (BinomialNoise, "probability", {"trials": 9, "sensitivity": ONE}),
            (BinomialNoise, "sensitivity", {"trials": 9, "probability": 0.5}),
            (KaryResponse, "k", {"eps": 1.0, "reports": ONE}),
            (KaryResponse, "eps", {"k": 3, "reports": ONE}),
            (KaryResponse, "reports", {"k": 3, "eps": 1.0}),
            (PureStep, "eps", {"uses": ONE}),
            (PureStep, "uses", {"eps": 1.0}),
            (BoundedRange, "eps", {"uses": ONE}),
            (BoundedRange, "uses", {"eps": 1.0}),
            (Shuffled, "local_eps", {"users": 9}),
            (Shuffled, "users", {"local_eps": 1.0}),
            (PoissonSampled, "rate", {"inside": INSIDE}),
            (PoissonSampled, "inside", {"rate": 0.5}),
            (FixedSizeSampled, "sampled", {"of": 9, "inside": INSIDE}),
            (FixedSizeSampled, "of", {"sampled": 1, "inside": INSIDE}),
            (FixedSizeSampled, "inside", {"sampled": 1, "of": 9}),
            (OneOf, "branches", {}),
            (Disjoint, "branches", {}),
            (Disjoint, "assigned", {"branches": (Ledger(), Ledger())}),
            (Filtered, "budget", {}),
        )
    },
    "a branch": lambda x: OneOf(branches=(x,)),
    "pairs of laws": lambda x: _laws(pairs=x),
    "a pair of laws": lambda x: _laws(pairs=(x,)),
    "a listed law": lambda x: _laws(pairs=((x, (0.5, 0.5)),)),
    "a weight": lambda x: _laws(pairs=(((x, 0.5), (0.5, 0.5)),)),
    "relation of laws": lambda x: _laws(relation=x),
    "directed": lambda x: _laws(directed=x),
    "p": lambda x: _pair(p=x),
    "relation of a pair": lambda x: _pair(relation=x),
    "mean": lambda x: _pair(p=Normal(x, 1.0)),
    "sigma": lambda x: _pair(p=Normal(1.0, x)),
    "scale": lambda x: _pair(p=LaplaceLaw(1.0, x)),
    "a weight of a mixture": lambda x: _pair(p=Mixture((x, 1.0), (NORMAL, NORMAL))),
    "weights of a mixture": lambda x: _pair(p=Mixture(x, (NORMAL,))),
    "laws of a mixture": lambda x: _pair(p=Mixture((1.0,), x)),
    "an end": lambda x: _pair(p=Truncated(NORMAL, x, 9.0)),
    "a truncated law": lambda x: _pair(p=Truncated(x, -9.0, 9.0)),
    "an edge": lambda x: _pair(p=PiecewiseConstant((-9.0, x, 9.0), (1.0, 1.0))),
    "a height": lambda x: _pair(p=PiecewiseConstant((-9.0, 0.0, 9.0), (1.0, x))),
    "edges": lambda x: _pair(p=PiecewiseConstant(x, (1.0,))),
    "strategy": lambda x: _matrix(strategy=x),
    "a row": lambda x: _matrix(strategy=(x,)),
    "an entry": lambda x: _matrix(strategy=((x,),)),
    "movement": lambda x: _matrix(movement=x),
    "participations": lambda x: _matrix(participations=x),
    "separation": lambda x: _matrix(separation=x),
    "a pure budget": lambda x: Filtered(budget=PureDP(x)),
    "a zCDP budget": lambda x: Filtered(budget=ZCDP(x)),
    "a GDP budget": lambda x: Filtered(budget=GaussianDP(x)),
    "times": lambda x: INSIDE * x,
    "an event": lambda x: x,
}


def _tried(place, value, relation):
    try:
        found = PLACES[place](value)
        return eps_upper(found if isinstance(found, Ledger) else Ledger(found), delta=0.0, relation=relation)
    except DpverifyError as error:
        return str(error)


@pytest.mark.parametrize("place", PLACES)
def test_every_place_of_every_event(place):
    """At delta = 0, which is quick; what is computed beyond it has numbers of the same kinds only."""
    for name, value in VALUES.items():
        for relation in Relation:
            found = _tried(place, value, relation)
            if isinstance(found, str):
                assert "\n" not in found, name
                assert len(found) < 600, name
            else:
                assert found >= 0, name
