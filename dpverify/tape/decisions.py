"""Decisions that a program makes on noise, and values of the noise under which it decides otherwise.

A release may compare noise, or a noisy value, with a number: `if noisy > 9`, `np.minimum(noise, 12)`,
`np.where(rng.random(n) < 1e-4, data, noisy)`. In most runs one side is all that is seen, and what the program does on
the other side decides whether a claim holds. The values of a transcript are ours to choose, so the other side is run
too: a comparison of `off + coef * z` with `limit` has its cut at z = (limit - off)/coef, and a value of z beyond it is
put in the place of the one that was drawn.

What is seen: comparisons by operators and by `np.less` and its kin, `np.minimum`, `np.maximum` and `np.clip`, of values
that are still on the tape, and of the built-in `min` and `max`, which compare. What is not: comparisons of numbers that
have left the tape (`float(noisy) > 9`). For those all noise is drawn far out (`far_out`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.base.sites import Site
from dpverify.tape.families import FAMILIES

Array = npt.NDArray[Any]

BEYOND = 0.25  # how far beyond a cut a forced value lies, in standard variables
BETWEEN = 16  # values between cuts, at most
JOINED = 5  # decisions whose other sides are taken in pairs
NEAR_END = 2.0**-30  # of uniforms, from 0 or 1
FAR = 40.0  # standard variables: how far out noise is drawn where numbers have left the tape
KINDS_OF_A_LINE = 8  # different limits that are told apart on one line; the others count as one decision
Change = Callable[[str, Array, int], Array]  # as in `sources`
Key = tuple[Site, str, float]


@dataclass
class Decision:
    """One comparison on a line: which outcomes were seen, and how another one is reached.

    Attributes
    ----------
    outcomes
        The outcomes of the comparison that were seen, among True and False.
    flips
        Outcome that was seen -> (place of a variable, value of it) under which it is the other one. None where the
        other outcome is impossible.
    """

    outcomes: set[bool] = field(default_factory=set)
    flips: dict[bool, tuple[int, float] | None] = field(default_factory=dict)
    others: list[tuple[bool, int, float]] = field(default_factory=list)  # outcome, place and value of each use, a few

    @property
    def missing(self) -> bool:
        """Whether one outcome was never seen although it is possible."""
        return len(self.outcomes) == 1 and any(each is not None for each in self.flips.values())


class Decisions:
    """All decisions of one run."""

    def __init__(self) -> None:
        self.found: dict[Key, Decision] = {}
        self._cuts: dict[int, set[float]] = {}  # of each variable, a few
        self._limits: dict[tuple[Site, str], set[float]] = {}

    def add(
        self, site: Site, act: str, limit: Array, cut: Array, below: Array, place: Array, support: "Support"
    ) -> None:
        """Elements that were compared: `below` says whether z < cut (for "equal": z == cut), one for each place."""
        for at, value in zip(place[:KINDS_OF_A_LINE].tolist(), cut[:KINDS_OF_A_LINE].tolist(), strict=True):
            known = self._cuts.setdefault(at, set())
            if len(known) < KINDS_OF_A_LINE:
                known.add(value)
        for each in np.unique(limit)[:KINDS_OF_A_LINE]:
            rows = np.flatnonzero(limit == each)
            decision = self.found.setdefault(self._key(site, act, float(each)), Decision())
            for outcome in (True, False):
                at = rows[below[rows] == outcome]
                if not len(at):
                    continue
                decision.outcomes.add(outcome)
                one = int(at[0])
                if decision.flips.get(outcome) is None or len(decision.others) < JOINED:
                    value = support.other_side(int(place[one]), float(cut[one]), act, below=outcome, row=one)
                    flip = None if value is None else (int(place[one]), value)
                    if decision.flips.setdefault(outcome, flip) is None:
                        decision.flips[outcome] = flip
                    if flip is not None:
                        decision.others.append((outcome, *flip))

    def between(self) -> list[dict[int, float]]:
        """Values of single variables between two neighbouring cuts: `x > .5 and x < .5001` is true there alone."""
        found = []
        for place, cuts in self._cuts.items():
            ordered = sorted(cuts)
            found += [{place: (one + two) / 2} for one, two in pairwise(ordered) if one < (one + two) / 2 < two]
        return found[:BETWEEN]

    def _key(self, site: Site, act: str, limit: float) -> Key:
        known = self._limits.setdefault((site, act), set())
        if limit not in known and len(known) >= KINDS_OF_A_LINE:
            return site, act, float("nan")
        known.add(limit)
        return site, act, float(f"{limit:.9g}")


@dataclass(frozen=True)
class Support:
    """The laws of the variables of a run: family and parameters by place."""

    families: Callable[[int], str]
    parameters: Callable[[int], list[float]]
    left: tuple[Array, Array] | None = None  # of uniforms: the intervals that earlier decisions have left

    def other_side(self, place: int, cut: float, act: str, *, below: bool, row: int = 0) -> float | None:
        """A possible value of the variable on the other side of the cut; None where there is none."""
        family = FAMILIES[self.families(place)]
        if self.left is not None:
            low, high = float(self.left[0][row]), float(self.left[1][row])
            value = (max(cut, low) + high) / 2 if below else (low + min(cut, high)) / 2
            return value if low <= value < high and (value >= cut if below else value < cut) else None
        if act == "equal":
            values = [cut] if not below else [cut + 1, cut - 1]
        elif family.lattice:
            values = [np.ceil(cut), np.floor(cut) + 1] if below else [np.ceil(cut) - 1]
        elif family.name == "uniform":
            values = [(cut + 1) / 2 if below else cut / 2]
        else:
            values = [cut + BEYOND, cut + BEYOND / 64] if below else [cut - BEYOND, cut - BEYOND / 64, cut / 2]
        given = tuple(np.array([each]) for each in self.parameters(place))
        for value in values:
            crosses = (
                value == cut
                if act == "equal" and not below
                else value != cut
                if act == "equal"
                else (value >= cut if below else value < cut)
            )
            with np.errstate(all="ignore"):
                possible = np.isfinite(value) and np.isfinite(family.log_mass(np.array([value]), *given)).all()
            if crosses and possible:
                return float(value)
        return None


def together(flips: list[dict[int, float]]) -> list[dict[int, float]]:
    """All flips at once, and pairs of the first few: a rare side may need two rare outcomes."""
    if len(flips) < 2:
        return []
    every = {place: value for each in flips for place, value in each.items()}
    return [every, *({**one, **two} for one, two in combinations(flips[:JOINED], 2))]


def forced(values: dict[int, float], before: Change | None = None) -> Change:
    """Values of single variables, by their places, in the stead of those that were drawn or that `before` chose."""

    def change(family: str, z: Array, start: int) -> Array:
        z = z if before is None else before(family, z, start)
        inside = {at: value for at, value in values.items() if start <= at < start + z.size}
        if not inside:
            return z
        found = np.array(z, dtype=np.float64)
        flat = found.reshape(-1)
        for at, value in inside.items():
            flat[at - start] = value
        return found

    return change


def far_out(sign: float, most: int) -> Change:
    """The first `most` variables far from their middle, towards `sign`; 0 for signs that alternate.

    Uniforms come near 0 or 1. Whole numbers stay as they are. Later variables stay as well: a program that draws again
    until a value lies in an interval would not end.
    """

    def change(family: str, z: Array, start: int) -> Array:
        law = FAMILIES[family]
        places = (np.arange(z.size) + start).reshape(z.shape)
        signs = np.full(z.shape, sign) if sign else 1.0 - 2.0 * (places % 2)
        if family == "uniform":
            moved = np.where(signs > 0, 1 - NEAR_END, NEAR_END)
        elif law.lattice or family in ("beta", "cosine", "sine"):
            return z
        else:
            size = FAR * (1 + np.abs(z) / (1 + np.abs(z)))
            moved = size * (signs if law.symmetric or family == "gumbel" else 1.0)
        return np.asarray(np.where(places < most, moved, z))

    return change
