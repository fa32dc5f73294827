"""The dataset of a continual counter: one item a time step, for many counters at once."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.claims import Difference
from dpverify.errors import ParameterError


@dataclass(frozen=True, init=False, eq=False)
class Stream:
    """`values` of shape (T, *cells) in [0, 1]: item t adds values[t - 1, c] to counter c.

    An item is one user's data. `present`, shape (T,), says which items are there; an absent item feeds
    zeros at its time and nobody else moves ("the null user"). So time steps are fixed, and
        replace-one        = one item has other values,
        add-or-remove-one  = one item is present in only one of the two streams.

    >>> Stream([1, 0, 1]).differences(Stream([1, 1, 1]))
    Difference(replaced=1, added=0, removed=0)
    >>> Stream([1, 0, 1], present=[True, False, True]).differences(Stream([1, 0, 1]))
    Difference(replaced=0, added=1, removed=0)
    """

    values: npt.NDArray[np.float64]
    present: npt.NDArray[np.bool_]

    def __init__(self, values: Any, present: Any = None) -> None:
        array = np.array(values, dtype=np.float64)
        if array.ndim < 1 or not len(array):
            raise ParameterError("values", values, "an array of shape (T, *cells) with T >= 1")
        if not ((array >= 0) & (array <= 1)).all():
            raise ParameterError("values", values, "in [0, 1]")
        there = np.ones(len(array), dtype=bool) if present is None else np.array(present, dtype=bool)
        if there.shape != (len(array),):
            raise ParameterError("present", present, f"one truth value for each of {len(array)} items")
        if array[~there].any():
            raise ParameterError("values", values, "0 where an item is absent")
        array.flags.writeable = there.flags.writeable = False
        object.__setattr__(self, "values", array)
        object.__setattr__(self, "present", there)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def cells(self) -> tuple[int, ...]:
        """Shape of one item; () for a single counter."""
        return self.values.shape[1:]

    @property
    def touches(self) -> int:
        """The most cells that one item changes."""
        return int(np.count_nonzero(self.values.reshape(len(self), -1), axis=1).max())

    def differences(self, other: "Stream", /) -> Difference:
        """Item by item; streams of other lengths or shapes count every item as replaced and are refused."""
        if self.values.shape != other.values.shape:
            return Difference(replaced=max(len(self), len(other)) + 1)
        both = self.present & other.present
        unequal = (self.values != other.values).reshape(len(self), -1).any(axis=1)
        return Difference(
            replaced=int((both & unequal).sum()),
            added=int((other.present & ~self.present).sum()),
            removed=int((self.present & ~other.present).sum()),
        )
