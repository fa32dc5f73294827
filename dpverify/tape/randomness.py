"""The randomness of one run: every standard variable that was drawn, and what of it the transcript has seen.

The rule. A draw is off + coef * z, and z is not known to the program. When a number is needed for the first time, the
value o = off + coef * z goes into the transcript. A forced run is given the same o, so that its noise is
z' = (o - off')/coef'. Whatever uses the draw later uses z on one dataset and z' on the other. There is no list of
allowed operations: a second use that would make outputs differ makes them differ.
"""

import bisect
import copy
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.base.sites import INSTALLED, Site, site_text
from dpverify.tape.decisions import Decisions, Support
from dpverify.tape.families import FAMILIES
from dpverify.tape.returned import is_returned
from dpverify.tape.transcript import Draw, Reason, same_kind, Transcript, TranscriptEntry

Array = npt.NDArray[Any]

_COLUMNS = ("z", "o", "off", "coef", "low", "high")
DYADIC_BITS = 10
MANY = 64  # outcomes of a draw: as many are not expected to be seen
USED_ALIKE = 1e-9  # of the noise's scale: numbers of used noise that are nearer differ by rounding
THRESHOLD, QUERY = 1, 2
GUMBEL_MAXIMUM = "gumbel_maximum"  # an atom that is made of draws
_HERE = __file__.rpartition("/")[0] + "/"
_EDGE = _HERE + "running.py"
_ABOVE = (_HERE, np.__file__.rpartition("/")[0] + "/")
_OURS = _HERE.removesuffix("tape/")
_NOT_OF_USERS = (_OURS, *INSTALLED)


@dataclass(frozen=True, eq=False)
class Alignment:
    """The rule z -> z' where first use is not what works, fixed on pilots.

    `coins` are sites whose values are public as they are drawn. With `tracked`, arrays that the target's own modules
    allocate are opaque as well, so that noise written into them stays opaque. With `unscaled`, the transcript has a
    noisy sum itself where a multiple of it is used, so that other uses of the sum are equal in bits; with `summed`,
    where anything is computed from it, so that a step of a difference costs what the sum does. `shifts` (by
    place) are learned: on the other dataset the program uses the value of the transcript plus its shift. With
    `compared`, noises that are compared with one another never become numbers, see `comparisons`. With `composed`,
    draws that make up noise of a known law are one variable, see `composition`.
    """

    name: str = "value"
    coins: frozenset[str] = frozenset()
    tracked: bool = False
    unscaled: bool = False
    shifts: Array | None = None
    compared: bool = False
    composed: bool = False
    summed: bool = False


@dataclass(frozen=True)
class Met:
    """A difference of a noisy sum with a number: 0 where the sum is `zero`; `left` is what it has besides noise."""

    place: int
    zero: float
    left: float
    site: Site


def _line_of_user(frame: Any) -> Site:
    """The innermost line around a frame that is neither of a library nor of this one; nothing where there is none."""
    while frame is not None and frame.f_code.co_filename != _EDGE:
        if not frame.f_code.co_filename.startswith(_NOT_OF_USERS):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return "", 0


class Diverged(BaseException):
    """The forced run asked for something that the transcript does not have. Not an Exception: programs catch those."""


class Arena:
    """All draws of one run. Without `forced`, it records; with the transcript of another run, it follows it.

    On a `dyadic` tape a value is a multiple of 2^-10 times the power of two
    below its noise's scale: sums, and products with short dyadic numbers, are exact. `shifts` are those of the
    alignment in the run on the other dataset, None elsewhere. `above` makes all comparisons positive. `notes` are
    findings that make a trace impossible; `bad` why this transcript is bad.
    """

    def __init__(
        self,
        forced: Transcript | None = None,
        align: Alignment | None = None,
        *,
        shifts: Array | None = None,
        dyadic: bool = False,
        above: bool = False,
    ) -> None:
        self.forced = forced
        self.above = above
        self.align = align or Alignment()
        self.dyadic = dyadic
        self._shifts = shifts
        self.transcript = Transcript()
        self.notes: list[Reason] = []
        self.bad: Reason | None = None
        self.size = 0
        self.called: Site | None = None  # an instrument's: the line that its draws belong to
        self.splits: dict[int, float] = {}  # values of noise that a comparison with data tells the datasets apart by
        self.followed = False  # whether the numbers that are made now are looked at in a way that is recorded
        self.uncovered: dict[str, None] = {}  # what the program may do with noise that no run shows, with its line
        self.outcomes: dict[tuple[Site, str], tuple[int, set[bytes]]] = {}  # of draws whole: how many, and those seen
        self.resumed = False  # whether something was computed from a noisy sum
        self.met: list[Met] = []
        self.linear = False  # whether the numbers that are made now go into a linear function alone
        self.calls: list[Any] = []  # of instruments, see `instruments.calls`
        self.spends: list[Any] = []
        self.steps: list[Any] = []
        self._columns = {name: np.zeros(64) for name in _COLUMNS}
        self._known = np.zeros(64, dtype=bool)
        self._touched = np.zeros(64, dtype=bool)
        self._role = np.zeros(64, dtype=np.int64)  # of noise that was compared: THRESHOLD or QUERY
        self._partner = np.zeros(64, dtype=np.int64)
        self._used = np.zeros(64, dtype=bool)  # parts of other variables, see `composition`
        self._lines: dict[Site, Site] = {}  # of lines in libraries and of this one: the user's line that led there
        self.decisions = Decisions()
        self.bare_use: Site | None = None  # where a number of used noise differs from that of the other dataset
        self._undoing: list[Callable[[], None]] = []
        self._derived: dict[tuple[str, bytes], list[Array]] = {}
        self._starts: list[int] = []

    # draws

    def site(self) -> Site:
        """The line that is at work: the innermost frame outside of the tape, of NumPy and of primitives."""
        if self.called is not None:
            return self.called
        frame: Any = sys._getframe(1)
        while frame is not None:
            file = frame.f_code.co_filename
            if file == _EDGE:
                break  # nobody's line: the output is looked at
            if not file.startswith(_ABOVE) and "__tape_primitive__" not in frame.f_globals:
                site = file, frame.f_lineno
                if file.startswith(_NOT_OF_USERS) and site not in self._lines:
                    self._lines[site] = _line_of_user(frame)
                return site
            frame = frame.f_back
        return "", 0

    def named(self, site: Site) -> str:
        """The place in words: the user's line where it lies in a library that he called, nothing where it is ours."""
        line = self._lines.get(site, ("", 0))
        return site_text(line if line[0] else ("", 0) if site[0].startswith(_OURS) else site)

    def draw(self, family: str, z: Array, parameters: tuple[Any, ...] = (), *, made: bool = False) -> Array:
        """Places of new variables with the values z (of this run's own generator), shape of z."""
        flat = np.asarray(z, dtype=np.float64).ravel()
        start, self.size = self.size, self.size + len(flat)
        if self.size > len(self._known):
            self._grow(max(self.size, 2 * len(self._known)) - len(self._known))
        rows = slice(start, self.size)
        self._columns["z"][rows] = flat
        self._columns["low"][rows], self._columns["high"][rows] = 0.0, 1.0
        shaped = tuple(self._shaped(each, np.shape(z)) for each in parameters)
        leading = np.shape(z)[0] if np.ndim(z) else 0
        self.transcript.draws.append(Draw(family, start, len(flat), shaped, self.site(), leading, made))
        self._starts.append(start)
        return np.arange(start, self.size).reshape(np.shape(z))

    @staticmethod
    def _shaped(parameter: Any, shape: tuple[int, ...]) -> Array:
        given = np.asarray(parameter, dtype=np.float64)
        return given if given.ndim == 0 else np.broadcast_to(given, shape).ravel()

    def _grow(self, more: int) -> None:
        for name in _COLUMNS:
            self._columns[name] = np.concatenate([self._columns[name], np.zeros(more)])
        for name in ("_used", "_touched", "_role", "_partner", "_known"):
            held = getattr(self, name)
            setattr(self, name, np.concatenate([held, np.zeros(more, dtype=held.dtype)]))

    def draws_of(self, place: Array) -> Array:
        """Index of the draw of each place."""
        if len(place) == 1:  # programs that draw number by number have as many draws as values
            return np.array([bisect.bisect_right(self._starts, place[0]) - 1])
        return np.searchsorted(np.asarray(self._starts), place, side="right") - 1

    def families_of(self, place: Array) -> tuple[tuple[str, ...], Array]:
        """Distinct families, in the order of first use, and which of them each place is of."""
        which = self.draws_of(place)
        if len(which) and (which == which[0]).all():
            return (self.transcript.draws[which[0]].family,), np.zeros(len(which), dtype=np.int64)
        names: list[str] = []
        codes = np.zeros(len(place), dtype=np.int64)
        distinct, first, inverse = np.unique(which, return_index=True, return_inverse=True)
        of_draw = np.zeros(len(distinct), dtype=np.int64)
        for at in np.argsort(first):
            family = self.transcript.draws[distinct[at]].family
            if family not in names:
                names.append(family)
            of_draw[at] = names.index(family)
        codes[:] = of_draw[inverse]
        return tuple(names), codes

    def is_uniform(self, place: Array) -> bool:
        """Whether all places are uniforms."""
        return len(place) > 0 and self.families_of(place)[0] == ("uniform",)

    def values(self, start: int, count: int) -> Array:
        """z of a draw, as far as it is known now; what a plain generator returns in a replay."""
        return self._columns["z"][start : start + count]

    @property
    def smallest_noise(self) -> float:
        """The smallest scale of a value of the transcript; 0 where there is none."""
        scales = [
            np.abs(entry.coef).min() for entry in self.transcript.entries if entry.kind == "value" and entry.count
        ]
        return float(min(scales, default=0.0))

    @property
    def largest(self) -> float:
        """The largest term of the values of the transcript: noise, what it was added to, and their sum."""
        found = (
            each
            for entry in self.transcript.entries
            if entry.kind == "value" and entry.count
            for each in (entry.forced, entry.off, entry.coef * entry.z)
        )
        with np.errstate(all="ignore"):
            sizes = [float(np.abs(np.asarray(each, dtype=np.float64)).max()) for each in found]
        return max((each for each in sizes if math.isfinite(each)), default=0.0)

    # materialisation

    def resolve(self, off: Array, coef: Array, place: Array) -> Array:
        """Numbers of elements (flat arrays of one length; place < 0 is a plain number). They are known from now on."""
        found = off.copy()
        if len(place) == 1 and place[0] >= 0:
            return self._one(off, coef, place)
        live = np.flatnonzero(place >= 0)
        if not len(live):
            return found
        fresh = live[~self._known[place[live]]]
        if len(fresh):
            if not (np.diff(place[fresh]) > 0).all():  # each of them once
                _, first = np.unique(place[fresh], return_index=True)
                fresh = fresh[np.sort(first)]
            if self._role[place[fresh]].any():
                self._diverge("COMPARED", self.site(), "noise that was compared with noise is used for something else")
            touched = self._touched[place[fresh]]
            for positions, group in ((False, fresh[~touched]), (True, fresh[touched])):
                if len(group):
                    act = self._position if positions else self._value
                    found[group] = act(off[group], coef[group], place[group])
            rest = np.ones(len(found), dtype=bool)
            rest[fresh] = False
            later = live[rest[live]]
        else:
            later = live
        if len(later):
            found[later] = self._used_again(off[later], coef[later], place[later])
        return found

    def _one(self, off: Array, coef: Array, place: Array) -> Array:
        at = place[0]
        if self._known[at]:
            return self._used_again(off, coef, place)
        if self._role[at]:
            self._diverge("COMPARED", self.site(), "noise that was compared with noise is used for something else")
        return self._position(off, coef, place) if self._touched[at] else self._value(off, coef, place)

    def _used_again(self, off: Array, coef: Array, place: Array) -> Array:
        """`_again`, and whether the program gets the same numbers of known variables on both datasets.

        Where it does not, a number depends on the data and nothing hides it: `x + n` is released, and `n > 0` is looked
        at. What is only looked at when the run has ended is compared as an output.
        """
        found = self._again(off, coef, place)
        site = self.site()
        if not site[0] or self._shifts is not None:
            return found
        index = len(self.transcript.uses)
        self.transcript.uses.append((site, found))
        if self.forced is not None and self.bare_use is None and index < len(self.forced.uses):
            there = self.forced.uses[index][1]
            with np.errstate(all="ignore"):
                near = USED_ALIKE * (np.abs(coef) + np.abs(found.astype(np.float64)) * 2.0**-20)
                apart = np.abs(found - there) > near if found.shape == there.shape else np.array([True])
            if apart.any():
                self.bare_use = site
        return found

    def _again(self, off: Array, coef: Array, place: Array) -> Array:
        """A later use of known variables: from o where the factor is the same, so that sums telescope in bits."""
        with np.errstate(invalid="ignore", over="ignore"):
            from_o = self._columns["o"][place] + (off - self._columns["off"][place])
            plain = off + coef * self._columns["z"][place]
        same = (coef == self._columns["coef"][place]) & np.isfinite(from_o)
        return np.asarray(np.where(same, from_o, plain).astype(off.dtype))

    def _value(self, off: Array, coef: Array, place: Array) -> Array:
        shift = self._shift(off, place)
        if shift is not None and shift.any() and not self.linear and self.site()[0]:
            self._diverge(
                "OUTPUTS_DIFFER",
                self.site(),
                "noise that must have another value on the other dataset is "
                "compared, cast or handed on, which is no linear use: nothing hides it",
            )
        o = self._first_use(off - shift if shift is not None else off, coef, place)
        return o if shift is None else o + shift

    @property
    def shifted(self) -> bool:
        """Whether values of this run are those of the transcript plus learned shifts."""
        return self._shifts is not None

    def _shift(self, off: Array, place: Array) -> Array | None:
        """Learned shifts of these places; elements beyond those that were learned have none."""
        if self._shifts is None:
            return None
        known = place < len(self._shifts)
        return np.where(known, self._shifts[np.where(known, place, 0)], 0.0).astype(off.dtype)

    def _first_use(self, off: Array, coef: Array, place: Array) -> Array:
        z = self._columns["z"][place]
        entry = self._entry("value", place, np.empty(len(place), dtype=off.dtype), off, coef)
        if self.forced is None:
            o = _compute(off, coef, z)
            if self.dyadic and o.dtype.kind == "f":
                with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                    grid = np.exp2(np.floor(np.log2(np.abs(coef))) - DYADIC_BITS)
                    o = np.rint(o / grid) * grid
                    z = np.asarray((o - off) / coef, dtype=np.float64)
        else:
            other = self._next(entry)
            if self.align.composed and not self._alike(entry, other):
                self._diverge("OTHER_DRAWS", entry.site, "noise is made of other draws on the other dataset")
            o = other.forced
            if o.dtype != off.dtype:
                self._diverge("DTYPE", entry.site, f"a draw is {other.forced.dtype} on one dataset, {off.dtype} here")
            z = self._aligned(o, off, coef, other.z, place)
        entry.forced, entry.z = o, z
        self._keep(entry, o)
        return o

    def _alike(self, entry: TranscriptEntry, other: TranscriptEntry) -> bool:
        """Whether values that are made of several draws have the same laws on both datasets."""
        assert self.forced is not None
        draws = self.forced.draws
        starts = np.array([draw.start for draw in draws])
        sides = []
        for made, first, place in (
            (self.transcript.draws, np.asarray(self._starts), entry.place),
            (draws, starts, other.place),
        ):
            which = np.searchsorted(first, place, side="right") - 1
            whole = np.array([draw.made for draw in made])[which]
            sides.append((whole, _each_parameters(made, which[whole], place[whole])))
        return np.array_equal(sides[0][0], sides[1][0]) and sides[0][1] == sides[1][1]

    def _aligned(self, o: Array, off: Array, coef: Array, candidate: Array, place: Array) -> Array:
        """z' with off' + coef' z' = o: the other run's z where that gives o in bits, else (o - off')/coef'."""
        same = _bits(_compute(off, coef, candidate)) == _bits(o)
        if same.all():
            return candidate
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            z = np.asarray((o - off) / coef, dtype=np.float64)
            names, codes = self.families_of(place)
            lattice = np.array([FAMILIES[name].lattice for name in names])[codes]
            if lattice.any():
                nearest = np.rint(z)
                met = _bits(_compute(off, coef, np.where(np.isfinite(nearest), nearest, 0.0))) == _bits(o)
                z = np.where(lattice, np.where(met & np.isfinite(nearest), nearest, np.nan), z)
            return np.where(same, candidate, z)

    def _position(self, off: Array, coef: Array, place: Array) -> Array:
        """A compared uniform becomes a number: its relative place in (low, high) is in the transcript."""
        low, high = self._columns["low"][place], self._columns["high"][place]
        entry = self._entry("position", place, np.empty(len(place)), off, coef)
        if self.forced is None:
            entry.forced = (self._columns["z"][place] - low) / (high - low)
            z = self._columns["z"][place]
        else:
            entry.forced = self._next(entry).forced
            z = within(low, high, entry.forced)
        entry.z = z
        entry.log_mass = np.zeros(len(place))
        o = _compute(off, coef, z)
        self._keep(entry, o)
        return o

    def decide(self, below: Array, place: Array, closed: Array, plain: Array) -> Array:
        """Outcomes of z < below for uniforms that are not known; the interval of each narrows.

        `closed` (z <= below) and `plain` (the program compares z itself) matter where u is j/2^53, in `finite`.
        """
        if not len(place):
            return np.zeros(0, dtype=bool)
        outcomes = np.zeros(len(place), dtype=bool)
        order = np.argsort(place, kind="stable")
        ranks = np.zeros(len(place), dtype=np.int64)
        ordered = place[order]
        starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        ranks[order] = np.arange(len(place)) - np.repeat(starts, np.diff(np.r_[starts, len(place)]))
        for rank in range(int(ranks.max()) + 1):  # thresholds of one variable, one after the other
            now = np.flatnonzero(ranks == rank)
            outcomes[now] = self._decide(below[now], place[now])
        return outcomes

    def _decide(self, below: Array, place: Array) -> Array:
        low, high = self._columns["low"][place], self._columns["high"][place]
        chance = np.clip((below - low) / (high - low), 0.0, 1.0)
        entry = self._entry("decision", place, np.zeros(len(place), dtype=bool), below, np.ones(len(place)))
        if self.forced is None:
            entry.forced = np.asarray(self._columns["z"][place] < below)
        else:
            other = self._next(entry)
            entry.forced = other.forced
            self._partner[place] = other.place
        if (site := entry.site)[0]:
            self.decisions.add(
                site, "less", below, below, entry.forced, place, Support(self._family_at, self._given_at)
            )
        with np.errstate(divide="ignore"):
            entry.log_mass = np.log(np.where(entry.forced, chance, 1 - chance))
        cut = np.clip(below, low, high)
        self._columns["low"][place] = np.where(entry.forced, low, cut)
        self._columns["high"][place] = np.where(entry.forced, cut, high)
        self._touched[place] = True
        self.transcript.entries.append(entry)
        return entry.forced

    def looked_at(self, act: str, limit: Array, off: Array, coef: Array, place: Array) -> None:
        """off + coef z was compared with `limit` (flat arrays of one length): see `decisions`."""
        rows = np.flatnonzero((place >= 0) & (coef != 0))
        site = self.site()
        if not len(rows) or not site[0]:
            return
        with np.errstate(all="ignore"):
            cut = (limit[rows] - off[rows]) / coef[rows]
        rows, cut = rows[np.isfinite(cut)], cut[np.isfinite(cut)]
        z = self._columns["z"][place[rows]]
        below = z == cut if act == "equal" else z < cut
        index = len(self.transcript.limits)
        self.transcript.limits.append((limit[rows], off[rows], coef[rows]))
        if self.forced is not None and index < len(self.forced.limits):
            there, other_off, other_coef = self.forced.limits[index]
            if there.shape == rows.shape and len(self.splits) < MANY:
                with np.errstate(all="ignore"):
                    apart = np.flatnonzero(np.abs(there - limit[rows]) > USED_ALIKE * np.abs(coef[rows]))[:4]
                    middle = (there[apart] + limit[rows][apart]) / 2
                    values = (middle - other_off[apart]) / other_coef[apart]  # in the run that is forced
                apart, values = apart[np.isfinite(values)], values[np.isfinite(values)]
                self.splits.update(zip(place[rows][apart].tolist(), values.tolist(), strict=True))
        self.decisions.add(site, act, limit[rows], cut, below, place[rows], Support(self._family_at, self._given_at))

    def _family_at(self, place: int) -> str:
        return self.transcript.draws[bisect.bisect_right(self._starts, place) - 1].family

    def _given_at(self, place: int) -> list[float]:
        draw = self.transcript.draws[bisect.bisect_right(self._starts, place) - 1]
        return [float(given if given.ndim == 0 else given[place - draw.start]) for given in draw.parameters]

    def comparable(self, place: Array) -> bool:
        """Whether all of these are Laplace noise of which no number is known."""
        unknown = not (self._known[place] | self._used[place]).any()
        return len(place) > 0 and unknown and self.families_of(place)[0] == ("laplace",)

    def compare(self, act: Any, left: tuple[Array, Array, Array], right: tuple[Array, Array, Array]) -> Array:
        """Outcomes of act(left, right), each side given by off, coef and place; only they are in the transcript.

        What was drawn first is the threshold of all that is compared with it.
        """
        roles = [self._role[side[2]] for side in (left, right)]
        swapped = (roles[0] == THRESHOLD) | ((roles[1] != THRESHOLD) & (left[2] < right[2]))  # the threshold is left
        query, bar = (
            tuple(np.where(each, one, other) for one, other in zip(sides[0], sides[1], strict=True))
            for each, sides in ((swapped, (right, left)), (swapped, (left, right)))
        )
        if (
            (query[2] == bar[2]).any()
            or self._role[query[2]].any()
            or (self._role[bar[2]] == QUERY).any()
            or len(set(query[2])) < len(query[2])
        ):
            self._diverge("COMPARED", self.site(), "noise of a query is compared twice")
        entry = self._entry("comparison", query[2], np.zeros(len(query[2]), dtype=bool), query[0], query[1])
        entry.against = bar[2].copy(), bar[0].copy(), bar[1].copy()
        opposite = swapped ^ (act not in (np.greater, np.greater_equal))
        if self.forced is None:
            gap = query[0] + query[1] * entry.z - (bar[0] + bar[1] * self._columns["z"][bar[2]])
            if self.above:
                self._columns["z"][query[2]] += np.where(gap < 0, 1 - gap / np.abs(query[1]), 0) * np.sign(query[1])
                entry.z = self._columns["z"][query[2]]
            values = [off + coef * self._columns["z"][place] for off, coef, place in (left, right)]
            entry.forced = np.asarray(act(*values)) ^ opposite
        else:
            other = self._next(entry)
            assert other.against is not None
            entry.forced = other.forced
            same = (
                (entry.place, other.place),
                (entry.coef, other.coef),
                (bar[2], other.against[0]),
                (bar[1], other.against[2]),
            )
            if not all(np.array_equal(ours, theirs) for ours, theirs in same):
                self._diverge("OTHER_DRAWS", entry.site, "other noise is compared, or of another scale")
        self._role[query[2]], self._role[bar[2]] = QUERY, THRESHOLD
        self.transcript.entries.append(entry)
        return np.asarray(entry.forced ^ opposite)

    def tell_outcome(self, site: Site, family: str, value: Any, support: Any) -> None:
        """A value that was drawn whole, and how many there are: see `outcomes`."""
        if not site[0]:
            return
        key = site, family
        if key not in self.outcomes:
            try:
                count = len(support.law().values) if support is not None else MANY
            except Exception:  # a law without an end
                count = MANY
            self.outcomes[key] = count if count < MANY else MANY, set()
        single = support is not None and support.outer
        self.outcomes[key][1].update(
            each.tobytes() for each in (np.ravel(value)[:MANY] if single else [np.asarray(value)])
        )

    def atom(self, family: str, value: Any, log_mass: Array | None, key: bytes, site: Site, given: Any = None) -> Any:
        """A value that is drawn whole; `log_mass(value)` is recomputed by `mass_of` in a forced run, see generator."""
        none = np.zeros(0, dtype=np.int64)
        nothing = np.zeros(0)
        entry = TranscriptEntry(
            "atom", (family,), none, none, nothing, site, nothing, nothing, nothing, log_mass, value, key, given
        )
        if self.forced is not None:
            other = self._next(entry)
            entry.value = other.value
            if other.key != key:
                self._diverge(
                    "UNKNOWN_LAW",
                    site,
                    f"{family} is called with other arguments on the other dataset, and "
                    "its law is not known to the tape",
                )
        self.transcript.entries.append(entry)
        return entry

    # variables that are made of others, see `composition`

    def fresh(self, place: Array) -> bool:
        """Whether these are variables, each of them once, of which nothing is known and that are part of nothing."""
        if not len(place) or (place < 0).any() or len(np.unique(place)) < len(place):
            return False
        return not (self._known[place] | self._touched[place] | self._used[place] | (self._role[place] != 0)).any()

    def z_of(self, place: Array) -> Array:
        """Values of variables in this run."""
        return np.asarray(self._columns["z"][place])

    def parameters_of(self, place: Array) -> tuple[Array, ...]:
        """Parameters of the laws of variables of one family, each of the shape of `place`."""
        return _parameters(self.transcript.draws, self.draws_of(place), place)

    def derive(
        self,
        laws: Sequence[tuple[str, Array, tuple[Array, ...]]],
        parts: Sequence[Array],
        undo: Callable[[list[Array], list[Array]], list[Array]],
    ) -> list[Array]:
        """Places of new variables (family, z, parameters) that are made of `parts`, which may not be used again.

        `undo` gives values of the parts that make up other values of the new ones.
        """
        for part in parts:
            self._used[part] = True
        made = [self.draw(family, z, parameters, made=True) for family, z, parameters in laws]
        before = [z.copy() for _, z, _ in laws]

        def undone() -> None:
            now, old = [self.z_of(each) for each in made], [self.z_of(each) for each in parts]
            changed = np.any([one != two for one, two in zip(now, before, strict=True)], axis=0)
            if changed.any():
                with np.errstate(all="ignore"):
                    found = undo(now, old)
                for part, values, kept in zip(parts, found, old, strict=True):
                    self._columns["z"][part] = np.where(changed, values, kept)

        self._undoing.append(undone)
        return made

    def derived(self, key: str, place: Array) -> list[Array] | None:
        """What was made of these variables under this key."""
        return self._derived.get((key, place.tobytes()))

    def remember(self, key: str, place: Array, made: list[Array]) -> None:
        """For `derived`."""
        self._derived[key, place.tobytes()] = made

    def maximum(self, index: Array, chances: Array, place: Array, undo: Callable[[Array, Array], Array]) -> Array:
        """Index of the largest of each row (of shifted Gumbel variables): one choice, with the log masses `chances`."""
        self._used[place.ravel()] = True
        entry = self.atom(GUMBEL_MAXIMUM, index, None, str(chances.shape).encode(), self.site())
        entry.log_mass = chances[np.arange(len(index)), entry.value]

        def undone() -> None:
            self._columns["z"][place] = undo(entry.value, self.z_of(place))

        self._undoing.append(undone)
        return np.array(entry.value)

    def take_apart(self) -> None:
        """Values of all parts, for a plain replay: those that make up the values that the wholes have."""
        for undone in reversed(self._undoing):
            undone()

    # the transcript

    def _entry(self, kind: str, place: Array, forced: Array, off: Array, coef: Array) -> TranscriptEntry:
        if self._used[place].any():
            self._diverge("COMPOSED", self.site(), "a draw that is part of other noise is used again")
        names, codes = self.families_of(place)
        z = self._columns["z"][place]
        if kind in ("value", "position"):
            self._look_where_it_goes()
        return TranscriptEntry(kind, names, codes, place.copy(), forced, self.site(), off.copy(), coef.copy(), z)

    def _look_where_it_goes(self) -> None:
        """Notes the line of the program where a number is made that it does not return as it is."""
        site = self.site()
        if self.followed or not site[0] or self.forced is not None:
            return
        line = f"{site_text(site)}: a noisy number goes where it is not followed"
        if line not in self.uncovered and not is_returned(sys._getframe(1), _EDGE, _ABOVE):
            self.uncovered[line] = None

    def _keep(self, entry: TranscriptEntry, o: Array) -> None:
        place = entry.place
        self._columns["z"][place], self._columns["o"][place] = entry.z, o
        self._columns["off"][place], self._columns["coef"][place] = entry.off, entry.coef
        self._known[place] = True
        self.transcript.entries.append(entry)

    def _next(self, entry: TranscriptEntry) -> TranscriptEntry:
        assert self.forced is not None
        at = len(self.transcript.entries)
        if at >= len(self.forced.entries):
            self._diverge("MORE_DRAWS", entry.site, "one dataset needs more random numbers than the other")
        other = self.forced.entries[at]
        if not same_kind(entry, other):
            self._diverge(
                "OTHER_DRAWS",
                entry.site,
                f"{entry.count} {'/'.join(entry.families)} ({entry.kind}) where the other dataset has {other.count} "
                f"{'/'.join(other.families)} ({', '.join(filter(None, (other.kind, self.named(other.site))))}) "
                "although all values are the same",
            )
        return other

    def _diverge(self, code: str, site: Site, text: str) -> None:
        if self.bad is None:
            self.bad = Reason(code, self.named(site), text)
        raise Diverged

    def finish(self) -> None:
        """After the run: a forced run must have used the whole transcript."""
        left = len(self.forced.entries) - len(self.transcript.entries) if self.forced is not None else 0
        if left > 0 and self.bad is None:
            assert self.forced is not None
            missing = self.forced.entries[len(self.transcript.entries)]
            self.bad = Reason("FEWER_DRAWS", self.named(missing.site), "one dataset needs more random numbers")

    def finished(self) -> "Arena":
        """What there is to say of a run, without the numbers that it needed.

        Those stay where they are for arrays that a program has kept beyond its run.
        """
        self.transcript.uses.clear()
        self.transcript.limits.clear()
        found = copy.copy(self)
        found._columns, found._known = {}, self._known[:0].copy()
        found._touched = found._used = found._role = found._partner = found._known
        found._undoing, found._derived = [], {}
        return found

    def settle_as(self, place: Array, z: Array) -> None:
        """Values for a plain replay of noise that has no number here."""
        self._columns["z"][place] = z

    def settle(self, other: "Arena | None") -> None:
        """Values for a plain replay: uniforms that were only compared go to their relative place in their interval."""
        rows = np.flatnonzero(self._touched[: self.size] & ~self._known[: self.size])
        if other is None or not len(rows):
            return
        theirs = {name: other._columns[name][self._partner[rows]] for name in ("z", "low", "high")}
        ratio = (theirs["z"] - theirs["low"]) / (theirs["high"] - theirs["low"])
        self._columns["z"][rows] = within(self._columns["low"][rows], self._columns["high"][rows], ratio)


def _each_parameters(draws: list[Draw], which: Array, place: Array) -> list[list[float]]:
    """Of every variable by itself: laws have different numbers of parameters."""
    return [
        [float(given if given.ndim == 0 else given[at - draws[each].start]) for given in draws[each].parameters]
        for each, at in zip(which.tolist(), place.tolist(), strict=True)
    ]


def _parameters(draws: list[Draw], which: Array, place: Array) -> tuple[Array, ...]:
    found = tuple(np.zeros(len(place)) for _ in draws[which[0]].parameters)
    for each in np.unique(which) if found else ():
        draw, rows = draws[each], np.flatnonzero(which == each)
        for column, given in zip(found, draw.parameters, strict=True):
            column[rows] = given if given.ndim == 0 else given[place[rows] - draw.start]
    return found


def within(low: Array, high: Array, ratio: Array) -> Array:
    """low + ratio (high - low), kept below `high`."""
    return np.asarray(np.minimum(low + ratio * (high - low), np.maximum(np.nextafter(high, low), low)))


def _compute(off: Array, coef: Array, z: Array) -> Array:
    """off + coef * z in the dtype of off; for whole numbers exactly."""
    with np.errstate(invalid="ignore", over="ignore"):
        if off.dtype.kind == "i":
            return np.asarray(off + coef * z.astype(np.int64))
        return np.asarray(off + coef * z)


def _bits(numbers: Array) -> Array:
    return np.ascontiguousarray(numbers).view(np.int64)
