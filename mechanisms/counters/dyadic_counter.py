"""What the two tree counters have in common: noise on sums of dyadic intervals, L of which hold the worst item.

Which intervals are noised, and how prefixes follow from them, is the counter's own (`tree`, `honaker`).
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.claims import Relation
from dpverify.errors import ParameterError
from dpverify.ledger import Ledger, Sensitivity, Shift
from mechanisms.counters import dyadic
from mechanisms.counters.stream import Stream
from mechanisms.toolbox.noise_laws import calibrated, DiscreteGaussianNoiseLaw, DiscreteLaplaceNoiseLaw, Noise

Array = npt.NDArray[Any]


def changed_cells(touches: int, cells: tuple[int, ...]) -> Sensitivity:
    """Cells that one user changes by at most 1, when an item touches at most `touches` of them.

    Removed: `touches`. Replaced: what she leaves and what she enters, 2 touches, but never more than there are.
    """
    require.integer(at_least=1, touches=touches)
    there = int(np.prod(cells, dtype=np.int64))
    if touches > there:
        raise ParameterError("touches", touches, f"at most the {there} cells")
    return Sensitivity(replace=Shift(1, min(2 * touches, there)), add_remove=Shift(1, touches))


@dataclass(frozen=True, kw_only=True)
class DyadicCounter:
    """`releases` time steps, the law put on every node, and the `cells` counted side by side.

    An item touches at most `touches` of the cells; `nodes` is what the ledger calls the noisy sums.
    """

    releases: int
    noise: Noise
    cells: tuple[int, ...] = ()
    touches: int = 1
    nodes: ClassVar[str] = "nodes"

    def __post_init__(self) -> None:
        require.own_numbers(self)
        require.integer(at_least=1, releases=self.releases)
        changed_cells(self.touches, self.cells)

    @classmethod
    def calibrated(
        cls,
        releases: int,
        eps: float | None = None,
        *,
        rho: float | None = None,
        relation: Relation = Relation.REPLACE_ONE,
        discrete: bool = False,
        cells: tuple[int, ...] = (),
        touches: int = 1,
        **shape: Any,
    ) -> Self:
        """The smallest noise for eps-DP, b = D L / eps, or for rho-zCDP, sigma^2 = D L / (2 rho); rounded up.

        D = cells x size by which a changed user's item moves, L = `nodes_per_item`; `shape` holds the counter's own
        fields.
        """
        (shift,) = changed_cells(touches, cells).under(relation)
        noise = calibrated(shift.count * dyadic.levels(releases), eps=eps, rho=rho, discrete=discrete)
        return cls(releases=releases, noise=noise, cells=cells, touches=touches, **shape)

    @property
    def nodes_per_item(self) -> int:
        """L = floor(log2 R) + 1: noisy nodes that contain the worst item."""
        return dyadic.levels(self.releases)

    def with_noise(self, factor: float) -> Self:
        """The same counter with `factor` > 0 times its noise: what measured power is measured on."""
        return replace(self, noise=self.noise.with_noise(factor))

    @property
    def ledger(self) -> Ledger:
        """L noisy nodes for every changed cell."""
        changed = changed_cells(self.touches, self.cells)
        return Ledger(self.noise.event(self.nodes, times(changed, self.nodes_per_item)))


def times(changed: Sensitivity, nodes: int) -> Sensitivity:
    """`changed` coordinates, each of them noised in `nodes` nodes."""

    def in_all(shifts: tuple[Shift, ...] | None) -> tuple[Shift, ...] | None:
        return None if shifts is None else tuple(replace(each, count=each.count * nodes) for each in shifts)

    return Sensitivity(replace=in_all(changed.replace), add_remove=in_all(changed.add_remove))


def checked_values(data: Any, counter: Any) -> Array:
    """The stream's values, when the counter's ledger is about such streams; ParameterError otherwise."""
    if not isinstance(data, Stream):
        raise ParameterError("data", type(data).__name__, "a mechanisms.counters Stream")
    if data.values.shape != (counter.releases, *counter.cells):
        raise ParameterError("data", data.values.shape, f"of shape {(counter.releases, *counter.cells)}")
    if data.touches > counter.touches:
        raise ParameterError("data", data.touches, f"items that touch at most {counter.touches} cells")
    if isinstance(counter.noise, DiscreteLaplaceNoiseLaw | DiscreteGaussianNoiseLaw):
        whole = data.values.astype(np.int64)
        if (whole != data.values).any():
            raise ParameterError("data", data.values, "whole numbers, as the noise is")
        return whole
    return data.values
