"""All counters at the same privacy for the same stream, side by side.

One counter, replace-one, everything calibrated so that its ledger spends `eps` (Laplace trees) or `rho` (Gaussian
noise) and nothing is left. Errors are exact variances and provable bounds, no simulation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from mechanisms.counters import error_bounds as errors
from mechanisms.counters.buffered import BufferedCounter
from mechanisms.counters.honaker import HonakerCounter
from mechanisms.counters.toeplitz import ToeplitzCounter
from mechanisms.counters.tree import BinaryCounter


@dataclass(frozen=True)
class CounterError:
    """How far a counter's outputs lie from the truth.

    root_mean_square   over the R outputs
    worst_deviation    largest standard deviation of an output
    bound              all R outputs are within it, but with probability beta
    """

    root_mean_square: float
    worst_deviation: float
    bound: float


def at_equal_eps(releases: int, eps: float, *, beta: float = 0.05) -> Mapping[str, CounterError]:
    """The two trees with Laplace and with discrete Laplace noise, all eps-DP."""
    counters: dict[str, errors.Weighted] = {
        "binary": BinaryCounter.calibrated(releases, eps),
        "binary, integers": BinaryCounter.calibrated(releases, eps, discrete=True),
        "honaker": HonakerCounter.calibrated(releases, eps),
        "honaker, integers": HonakerCounter.calibrated(releases, eps, discrete=True),
    }
    return _compared(counters, beta)


def at_equal_rho(releases: int, rho: float, *, beta: float = 0.05) -> Mapping[str, CounterError]:
    """The two trees and the square-root factorisations with Gaussian noise, all rho-zCDP."""
    counters: dict[str, errors.Weighted] = {
        "binary": BinaryCounter.calibrated(releases, rho=rho),
        "honaker": HonakerCounter.calibrated(releases, rho=rho),
        "toeplitz": ToeplitzCounter.calibrated(releases, rho=rho),
        "buffered": BufferedCounter.calibrated(releases, rho=rho),
    }
    return _compared(counters, beta)


def _compared(counters: Mapping[str, errors.Weighted], beta: float) -> Mapping[str, CounterError]:
    return MappingProxyType({name: _error(counter, beta) for name, counter in counters.items()})


def _error(counter: errors.Weighted, beta: float) -> CounterError:
    return CounterError(
        errors.mean_square_error(counter) ** 0.5,
        errors.worst_deviation(counter),
        errors.provable_bound(counter, beta),
    )
