"""Noise that is compared with noise and never becomes a number: the coupling of the sparse vector technique.

Under the alignment "compared" the transcript has the outcome of q + nu >= t + rho, for Laplace noises nu and rho, and
neither of them. A noise that is then used for anything else ends the run: all that is released is a function of the
outcomes and of the other entries. Let d be what the gap q - t gains from D to D'. On D' the threshold's noise moves by
m, the largest d of negative outcomes (0 where none is above 0), the noise of each positive outcome by the part of
m - d that is above 0, and all others stay: every outcome is then the same on D'. Given the transcript that is a
translation, so what it costs, the sum of movements over scales, is an upper bound of the log ratio in F1 and F5, of
which a witness has no use. (Lyu, Su, Li 2017, proof of Theorem 2.) The replay with plain numbers has the moved noises.

F7: outcomes of one threshold are those of a run of `AboveThreshold` where gaps move by no more over each scale and
there are no more positive ones.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.base.sites import Site
from dpverify.tape.randomness import Arena

Array = npt.NDArray[Any]
ERROR = 32 * 2.0**-53  # of a movement, relative to what is compared


@dataclass(frozen=True)
class Comparisons:
    """All that were made with one threshold, in order."""

    entry: int  # of the first of them
    site: Site
    threshold: int  # its place
    threshold_factor: float
    place: Array  # of the queries
    factor: Array
    gained: Array  # d
    above: Array
    error: float  # of each d

    @property
    def moved(self) -> bool:
        """Whether any outcome has another chance."""
        return bool(self.gained.any())

    @property
    def shifts(self) -> tuple[float, Array]:
        """Of the threshold's noise and of those of the queries, on D'."""
        shift = max(0.0, float(self.gained[~self.above].max(initial=0.0)))
        return shift, np.where(self.above, np.maximum(shift - self.gained, 0.0), 0.0)

    @property
    def largest_loss(self) -> float:
        """Of the coupling, rounded up."""
        shift, shifts = self.shifts
        moving = shifts > 0
        if not self.threshold_factor:
            return math.inf
        cost = (shift + self.error) / abs(self.threshold_factor)
        return float((cost + ((shifts + 2 * self.error) / np.abs(self.factor))[moving].sum()) * (1 + 1e-12))


def comparisons(first: Arena, second: Arena) -> Iterator[Comparisons]:
    """By threshold, in the order of their first use; `second` was forced to the transcript of `first`."""
    rows: dict[int, list[tuple[int, Site, float, int, float, float, bool, float]]] = {}
    for index, (here, there) in enumerate(zip(first.transcript.entries, second.transcript.entries, strict=True)):
        if here.against is None or there.against is None:
            continue
        gained = (there.off - here.off) - (there.against[1] - here.against[1])
        size = max(float(np.abs(each).max()) for each in (here.off, there.off, here.against[1], there.against[1]))
        for at, threshold in enumerate(here.against[0].tolist()):
            row = (
                index,
                here.site,
                float(here.against[2][at]),
                int(here.place[at]),
                float(here.coef[at]),
                float(gained[at]),
                bool(here.forced[at]),
                ERROR * size,
            )
            rows.setdefault(threshold, []).append(row)
    for threshold, found in rows.items():
        entry, sites, factors, place, factor, gained, above, error = zip(*found, strict=True)
        # a noise that has another factor for other queries is no threshold: it costs infinitely much
        whole = factors[0] if len(set(factors)) == 1 else 0.0
        yield Comparisons(
            entry[0],
            sites[0],
            threshold,
            whole,
            np.array(place),
            np.array(factor),
            np.array(gained),
            np.array(above),
            max(error),
        )


def settle(first: Arena, second: Arena) -> None:
    """Noises of the second run under which its outcomes are those of the first one, for its plain replay."""
    for each in comparisons(first, second):
        shift, shifts = each.shifts
        before = first.values(0, first.size)
        second.settle_as(np.array([each.threshold]), before[[each.threshold]] + shift / each.threshold_factor)
        second.settle_as(each.place, before[each.place] + shifts / each.factor)
