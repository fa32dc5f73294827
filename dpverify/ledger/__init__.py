"""What was really done, as a ledger of noise events; and what groups and adaptive filters make of it."""

from dpverify.ledger.compound_events import (
    AboveThreshold,
    BoundedRange,
    DominatingPair,
    Filtered,
    FixedSizeSampled,
    MatrixGaussian,
    PoissonSampled,
    Selected,
    Shuffled,
)
from dpverify.ledger.events import (
    Assigned,
    BinomialNoise,
    Direction,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Disjoint,
    Event,
    Exposed,
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
from dpverify.ledger.everyday import composed, dp_sgd, gaussian, laplace
from dpverify.ledger.laws import LaplaceLaw, Law, Mixture, Normal, PiecewiseConstant, Truncated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dpverify.accounting.groups import group_of, odometer_eps, private_selection

__all__ = [
    "AboveThreshold",
    "Assigned",
    "BinomialNoise",
    "BoundedRange",
    "Direction",
    "DiscreteGaussianNoise",
    "DiscreteLaplaceNoise",
    "Disjoint",
    "DominatingPair",
    "Event",
    "Exposed",
    "Filtered",
    "FiniteLaws",
    "FixedSizeSampled",
    "GaussianNoise",
    "KaryResponse",
    "LaplaceLaw",
    "LaplaceNoise",
    "Law",
    "Ledger",
    "MatrixGaussian",
    "Mixture",
    "Normal",
    "OneOf",
    "PiecewiseConstant",
    "PoissonSampled",
    "PureStep",
    "Selected",
    "Sensitivity",
    "Shift",
    "Shuffled",
    "Truncated",
    "composed",
    "dp_sgd",
    "gaussian",
    "group_of",
    "laplace",
    "odometer_eps",
    "private_selection",
]


def __getattr__(name: str) -> object:
    if name not in ("group_of", "odometer_eps", "private_selection"):
        raise AttributeError(f"module 'dpverify.ledger' has no attribute {name!r}")
    from dpverify.accounting import groups  # which imports this package

    return getattr(groups, name)
