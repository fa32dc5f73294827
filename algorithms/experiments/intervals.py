"""The convention of tables and pictures: mean over seeds and Student's interval at 95 %; differences are paired.

Seeds are common to all rows of a table, so a difference is taken seed by seed before its interval is computed. Every
interval holds by itself: nothing is corrected for the number of rows.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

CONFIDENCE = 0.95


def mean_and_half_width(values: npt.ArrayLike) -> tuple[Any, Any]:
    """Compute the mean over seeds and half of its interval at `CONFIDENCE`.

    Parameters
    ----------
    values : array of float, (..., seeds)
        One number a seed, two seeds at least.

    Returns
    -------
    tuple of float or array, (...)
        The mean, and t times the standard error, with seeds - 1 degrees of freedom.

    Examples
    --------
    >>> mean, half_width = mean_and_half_width([1.0, 2.0, 3.0])
    >>> print(mean, round(half_width, 3))
    2.0 2.484
    """
    from scipy import stats  # slow to load

    numbers = np.asarray(values, dtype=np.float64)
    reach = stats.t.ppf((1 + CONFIDENCE) / 2, numbers.shape[-1] - 1)
    moved = numbers - numbers[..., :1]  # exactly 0 where all seeds agree
    return numbers.mean(axis=-1), reach * stats.sem(moved, axis=-1)


def half_widths(values: Array) -> Array:
    """Half-widths of the means over axis 0, (seeds, ...) -> (...); 0 where there is one seed, which has no interval."""
    if len(values) < 2:
        return np.zeros(values.shape[1:])
    return np.asarray(mean_and_half_width(np.moveaxis(values, 0, -1))[1])


def as_told(values: npt.ArrayLike, basis: npt.ArrayLike | None = None, digits: int = 2) -> str:
    """Mean and half-width for a cell of a table; in brackets the difference from `basis`, paired by seed."""
    apart = None if basis is None else mean_and_half_width(np.asarray(values) - np.asarray(basis))
    return write_cell(mean_and_half_width(values), apart, digits)


def write_cell(own: tuple[float, float], apart: tuple[float, float] | None, digits: int) -> str:
    """A cell of a table from mean and half-width, and from those of the difference."""
    told = f"{own[0]:.{digits}f} ± {own[1]:.{digits}f}"
    return told if apart is None else f"{told} ({apart[0]:+.{digits}f} ± {apart[1]:.{digits}f})"
