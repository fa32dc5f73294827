"""What the zoo keeps about a subject."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpverify import Claim, Pair, PureDP

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Release:
    """A vectorised draw(data, rng, size) as a target."""

    name: str
    draw: Callable[[Array, np.random.Generator, int], Array]

    def release(self, data: Array, *, rng: np.random.Generator, size: int) -> Array:
        """`size` outputs."""
        return self.draw(data, rng, size)


@dataclass(frozen=True)
class Known(Release):
    """With its exact log-likelihood ratio on the zoo's pair, for the oracle."""

    ratio: Callable[[Array], Array]

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """log P/Q."""
        return self.ratio(outputs)


@dataclass(frozen=True)
class Animal:
    """A subject: `claimed` is the eps that its definition promises, `truth` the real one on `pair`.

    `truth` is a formula or a quadrature; where it is only a bound `exact_truth` is False.
    """

    name: str
    draw: Callable[[Array, np.random.Generator, int], Array]
    first: Any
    second: Any
    claimed: Claim
    truth: float
    source: str
    exact_truth: bool = True
    ratio: Callable[[Array], Array] | None = None

    @property
    def pair(self) -> Pair:
        """Its two datasets: vectors of query answers, declared neighbouring."""
        return Pair(np.asarray(self.first, float), np.asarray(self.second, float), name=self.name)

    @property
    def black_box(self) -> Release:
        """The target without its likelihood ratio."""
        return Release(self.name, self.draw)

    @property
    def oracle(self) -> Known | None:
        """The target with it, where it is known."""
        return None if self.ratio is None else Known(self.name, self.draw, self.ratio)


def pure(eps: float) -> Claim:
    """eps-DP."""
    return PureDP(eps)
