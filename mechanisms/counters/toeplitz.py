"""The square-root factorisation counter: correlated Gaussian noise instead of a tree.

Mechanism   A = lower triangular ones (R x R) = B B, B the Toeplitz matrix with r_k = C(2k, k)/4^k on its k-th
            lower diagonal (the coefficients of (1 - x)^{-1/2}). Release B (B x + z), z ~ N(0, sigma^2 I):
                output(t) = sum_{i <= t} x_i + sum_{k < t} r_k z_{t-k}.
Claim       one changed item in one cell moves B x by column 1 of B at most (later columns are cut shorter):
            l2^2 = sum_{k < R} r_k^2 ~ (ln R)/pi + 1.07. With D changed cells: (D l2^2/(2 sigma^2))-zCDP, which is
            mu-GDP with mu^2 = 2 rho. Exact for item 1.
Why         B is invertible, so the outputs are B x + z in other coordinates: one Gaussian release.
Error       output(t) has deviation sigma (sum_{k < t} r_k^2)^{1/2}: at most D^{1/2} l2^2/(2 rho)^{1/2} at equal rho,
            (ln R)/pi + 1.07 where the binary tree has about log2 R + 1.
Laplace     is not offered: the l1 norm of the column is sum_{k < R} r_k ~ 2 (R/pi)^{1/2}, far above log2 R + 1.
Memory      the noise depends on R only through what is cut off, never on data, so a stream draws all of it when
            it is opened: R x runs x cells numbers. The trees and `buffered` need some log R instead of R.
Source      Bennett 1977; Fichtenberger, Henzinger, Upadhyay 2023, Theorem 1; Henzinger, Upadhyay, Upadhyay 2023;
            Dvijotham, McMahan, Pillutla, Steinke, Thakurta 2024.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.base.rounding import sqrt_up
from dpverify.claims import Pair, Relation
from dpverify.errors import ParameterError, UsageError
from dpverify.ledger import Ledger, Sensitivity, Shift
from mechanisms.counters.dyadic_counter import changed_cells, checked_values
from mechanisms.counters.stream import Stream
from mechanisms.toolbox.noise_laws import GaussianNoiseLaw

Array = npt.NDArray[Any]


def coefficients(releases: int) -> npt.NDArray[np.float64]:
    """r_k = C(2k, k)/4^k for k < R, by r_k = r_{k-1} (2k - 1)/(2k): relative error at most k 2^-52."""
    k = np.arange(1, releases)
    return np.concatenate([[1.0], np.cumprod((2 * k - 1) / (2 * k))])


def column_norm(releases: int) -> float:
    """(sum_{k < R} r_k^2)^{1/2}, rounded up: the most that a change of 1 moves B x in l2."""
    require.integer(at_least=1, releases=releases)
    total = Fraction(math.fsum(coefficients(releases) ** 2))
    return sqrt_up(total * (1 + Fraction(releases, 2**50)) if releases > 1 else total)


@dataclass(frozen=True, kw_only=True)
class ToeplitzCounter:
    """Square-root counter for `releases` time steps; the output is (size, R, *cells)."""

    releases: int
    noise: GaussianNoiseLaw
    cells: tuple[int, ...] = ()
    touches: int = 1

    def __post_init__(self) -> None:
        require.own_numbers(self)
        require.integer(at_least=1, releases=self.releases)
        if not isinstance(self.noise, GaussianNoiseLaw):
            raise ParameterError("noise", self.noise, "Gaussian: see the module on Laplace")
        changed_cells(self.touches, self.cells)

    @classmethod
    def calibrated(
        cls,
        releases: int,
        *,
        rho: float,
        relation: Relation = Relation.REPLACE_ONE,
        cells: tuple[int, ...] = (),
        touches: int = 1,
    ) -> Self:
        """The smallest sigma with D l2^2/(2 sigma^2) <= rho, rounded up."""
        require.positive(rho=rho)
        (shift,) = changed_cells(touches, cells).under(relation)
        variance = shift.count * Fraction(cls.column_norm(releases)) ** 2 / (2 * Fraction(rho))
        return cls(releases=releases, noise=GaussianNoiseLaw(sqrt_up(variance)), cells=cells, touches=touches)

    @staticmethod
    def column_norm(releases: int) -> float:
        """Most that a change of 1 moves the encoded stream in l2, rounded up."""
        return column_norm(releases)

    @cached_property
    def coefficients(self) -> npt.NDArray[np.float64]:
        """First column of the decoder B, A = B C."""
        return coefficients(self.releases)

    @cached_property
    def encoder(self) -> npt.NDArray[np.float64]:
        """First column of the encoder C; here C = B."""
        return self.coefficients

    def with_noise(self, factor: float) -> Self:
        """The same counter with `factor` > 0 times its noise: what measured power is measured on."""
        return replace(self, noise=self.noise.with_noise(factor))

    @property
    def ledger(self) -> Ledger:
        """One Gaussian release of C x: every changed cell moves it by the column norm."""
        norm, changed = self.column_norm(self.releases), changed_cells(self.touches, self.cells)
        moved = {
            name: tuple(Shift(norm, shift.count) for shift in shifts or ())
            for name, shifts in (("replace", changed.replace), ("add_remove", changed.add_remove))
        }
        return Ledger(self.noise.event("C x, the encoded stream", Sensitivity(**moved)))

    @property
    def weights(self) -> tuple[Array, Array]:
        """l2 and sup norm of the noise coefficients of each prefix, both (R,)."""
        return np.sqrt(np.cumsum(self.coefficients**2)), np.ones(self.releases)

    def release(self, data: Stream, *, rng: np.random.Generator, size: int) -> Array:
        """`size` independent runs over the stream, (size, R, *cells)."""
        exact = np.cumsum(checked_values(data, self), axis=0)
        outputs = exact[:, None] + self.correlated(self.noise.draw(self.releases, (size, *self.cells), rng=rng))
        return np.ascontiguousarray(np.moveaxis(outputs, 0, 1))

    def counts(self, released: Array) -> Array:
        """The outputs are the counts."""
        return released

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """<y - A (x + x')/2, w>/sigma^2 with w = B^-T C (x - x'): one inner product a trial."""
        first, second = (checked_values(data, self) for data in pair)
        return self.transcript_log_ratio(outputs, first[None], second[None])

    def transcript_log_ratio(self, outputs: Array, first: Array, second: Array) -> Array:
        """Log likelihood ratio given the exact increments, (runs or 1, R, *cells); see `binary`."""
        moved = _convolve(self.encoder, np.moveaxis(first - second, 1, 0))
        inverse = np.diff(self.encoder, prepend=0.0)  # B^-1 = C A^-1
        along = _convolve(inverse, moved[::-1])[::-1]  # B^-T is B^-1 with time reversed
        middle = np.cumsum((first + second) / 2, axis=1)
        ratio = (outputs - middle) * np.moveaxis(along, 0, 1)
        total: Array = ratio.reshape(len(ratio), -1).sum(axis=1) / self.noise.variance
        return total

    def correlated(self, draws: Array) -> Array:
        """B z along axis 0."""
        return _convolve(self.coefficients, draws)

    def stream(self, runs: int, *, rng: np.random.Generator) -> "ToeplitzStream":
        """The same mechanism one item at a time, for `runs` runs at once."""
        require.integer(at_least=1, runs=runs)
        return ToeplitzStream(self, runs, rng)


class ToeplitzStream:
    """Running sums plus the noise that was drawn in advance; bit for bit what `release` gives."""

    def __init__(self, counter: ToeplitzCounter, runs: int, rng: np.random.Generator) -> None:
        shape = (runs, *counter.cells)
        self._noise = counter.correlated(counter.noise.draw(counter.releases, shape, rng=rng))
        self._begin(counter, shape)

    def _begin(self, counter: ToeplitzCounter, shape: tuple[int, ...]) -> None:
        self.counter = counter
        self.time = 0
        self._sum: Array = np.zeros(shape)

    def _noise_now(self) -> Array:
        now: Array = self._noise[self.time]
        return now

    def feed(self, increments: Array) -> Array:
        """Item of time t in, noisy prefix count of items 1..t out; both (runs, *cells)."""
        if self.time == self.counter.releases:
            raise UsageError(f"the counter is made for {self.counter.releases} items and has seen them all")
        increments = np.asarray(increments)
        if increments.shape != self._sum.shape:
            raise ParameterError("increments", increments.shape, f"of shape {self._sum.shape}")
        self._sum = self._sum + increments
        noisy: Array = self._sum + self._noise_now()
        self.time += 1
        return noisy


def _convolve(column: Array, along_time: Array) -> Array:
    """Lower triangular Toeplitz matrix with first column `column`, times an array with time on axis 0."""
    length = len(column)
    shaped = column.reshape(-1, *[1] * (along_time.ndim - 1))
    if length > 64:
        from scipy import signal  # slow to load, and declaring a counter does not need it

        full: Array = signal.fftconvolve(shaped, along_time, axes=0)[:length]
        return full
    matrix = np.tril(column[np.abs(np.subtract.outer(np.arange(length), np.arange(length)))])
    return np.tensordot(matrix, along_time, axes=1)
