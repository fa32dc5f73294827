"""What certifying trials leave behind: counts of right and wrong guesses, by level of confidence.

In trial i a fair coin b_i picks the dataset, the output picks a guess and a level through a rule that was
frozen before. Level 0 is the most confident one; outputs on no level are abstentions. Everything that a
bound needs is in these counts, so memory does not grow with the number of trials, and tallies of blocks add.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Tally:
    """Guesses of `trials` independent trials; `right` and `wrong` have shape (levels,).

    `one_sided` says that the rule only ever guesses one of the two datasets: an event E instead of a
    pair of events, for which the claim's slack is delta/2 a trial instead of delta.
    """

    trials: int
    right: IntArray
    wrong: IntArray
    one_sided: bool = False

    def __post_init__(self) -> None:
        if self.right.shape != self.wrong.shape or self.right.ndim != 1:
            raise ValueError(f"right {self.right.shape} and wrong {self.wrong.shape} must be one vector each")
        if self.right.min(initial=0) < 0 or self.wrong.min(initial=0) < 0 or self.guesses > self.trials:
            raise ValueError("counts must be non-negative and at most `trials` in total")

    @classmethod
    def of(cls, right: int, wrong: int, trials: int, *, one_sided: bool = False) -> "Tally":
        """A tally with a single level."""
        return cls(trials, np.array([right]), np.array([wrong]), one_sided)

    @property
    def guesses(self) -> int:
        """Trials in which the rule did not abstain."""
        return int(self.right.sum() + self.wrong.sum())

    def pooled(self, levels: int) -> "Tally":
        """The guesses of the first `levels` levels as one level; the others become abstentions."""
        return Tally.of(
            int(self.right[:levels].sum()), int(self.wrong[:levels].sum()), self.trials, one_sided=self.one_sided
        )

    def __add__(self, other: "Tally") -> "Tally":
        if self.one_sided != other.one_sided:
            raise ValueError("tallies of two different rules")
        return Tally(self.trials + other.trials, self.right + other.right, self.wrong + other.wrong, self.one_sided)

    def to_plain(self) -> dict[str, Any]:
        """Plain values, for a checkpoint."""
        return {
            "trials": self.trials,
            "right": self.right.tolist(),
            "wrong": self.wrong.tolist(),
            "one_sided": self.one_sided,
        }

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> "Tally":
        """Inverse of `to_plain`."""
        right, wrong = np.array(plain["right"], np.int64), np.array(plain["wrong"], np.int64)
        return cls(plain["trials"], right, wrong, plain["one_sided"])


# ----------------------------------------------------------------------------------------------------------------------
# What a bound was computed from, as plain numbers: enough to compute it again without dpverify.
#
#     binomial, threshold        right and wrong guesses on the first `pooled` levels
#     shared binomial            `events`: each pools its first levels at its share of the significance
#     unconditional, curve       as threshold, with the two levels that were fixed in advance
#     weighted                   one whole number for each level
#     betting                    `bets`: before each block what was predicted, and what came
#
# `levels` has right and wrong guesses of the certifying trials by level of confidence, most confident first. `blocks`
# has the same trials by grain, (index, trials, right, wrong) over all levels: a sample of them can be run again alone.


@dataclass(frozen=True)
class Bet:
    """A block of a wager: `predicted` was settled before; `right` and `wrong` came; one number for each level."""

    trials: int
    predicted: tuple[float, ...]
    right: tuple[int, ...]
    wrong: tuple[int, ...]

    @classmethod
    def of(cls, block: Tally, predicted: Iterable[float]) -> "Bet":
        """From a tally and the prediction that it was played with."""
        told = tuple(float(each) for each in predicted)
        return cls(block.trials, told, tuple(block.right.tolist()), tuple(block.wrong.tolist()))


@dataclass(frozen=True, kw_only=True)
class Working:
    """See the module. `nuisance`, `order`: levels of tests that have them; `grid` and `following` are a wager's."""

    trials: int
    levels: tuple[tuple[int, int], ...]
    pooled: int
    events: tuple[tuple[int, float], ...] = ()
    weights: tuple[int, ...] = ()
    nuisance: float | None = None
    order: float | None = None
    abstains: bool = True
    grid: tuple[float, ...] = ()
    following: float | None = None
    bets: tuple[Bet, ...] = ()
    blocks: tuple[tuple[int, int, int, int], ...] = ()

    @classmethod
    def of(cls, tally: Tally, **rest: Any) -> "Working":
        """From the certifying trials."""
        levels = tuple(zip(tally.right.tolist(), tally.wrong.tolist(), strict=True))
        return cls(trials=tally.trials, levels=levels, **{"pooled": len(levels), **rest})
