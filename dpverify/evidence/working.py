"""What a bound was computed from, as plain numbers: enough to compute it again without dpverify.

    binomial, threshold        right and wrong guesses on the first `pooled` levels
    shared binomial            `events`: each pools its first levels at its share of the significance
    unconditional, curve       as threshold, with the two levels that were fixed in advance
    weighted                   one whole number for each level
    betting                    `bets`: before each block what was predicted, and what came

`levels` has right and wrong guesses of the certifying trials by level of confidence, most confident first. `blocks` has
the same trials by grain, (index, trials, right, wrong) over all levels: a sample of them can be run again alone.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from dpverify.evidence.tally import Tally


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

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> "Working":
        """Inverse of `asdict`, also after a trip through JSON."""
        given = {each.name: plain[each.name] for each in fields(cls) if each.name in plain}
        for name in ("levels", "events", "blocks"):
            given[name] = tuple(tuple(row) for row in given.get(name, ()))
        for name in ("weights", "grid"):
            given[name] = tuple(given.get(name, ()))
        given["bets"] = tuple(
            Bet(each["trials"], *(tuple(each[name]) for name in ("predicted", "right", "wrong")))
            for each in given.get("bets", ())
        )
        return cls(**given)
