"""The largest of several noisy values, found one after the other: `if value > best: best, chosen = value, label`."""

import math
from collections.abc import Callable
from typing import Any

from dpverify.proof.functions import chosen_of, chosen_place
from dpverify.proof.run import Run
from dpverify.proof.structure import stack
from dpverify.proof.terms import Aggregate, Leader, Noisy, Pick, Sum, Symbol


class Contest:
    """A branch on whether a noisy value is larger than the largest one so far."""

    def __init__(self, run: Run, sign: str, left: Any, right: Any, new: Callable[[], Any], old: Callable[[], Any]):
        self.run, self.sign, self.left, self.right = run, sign, left, right
        self.entries: list[Any] = []
        challenger, leader = (left, right) if sign in (">", ">=") else (right, left)
        if run.scope is not None or not _can_win(challenger) or not (_can_win(leader) or _leads(leader)):
            return
        try:
            pairs = list(zip(new(), old(), strict=True))
        except NameError:  # a name that has no value yet
            return
        leads = [a is challenger and b is leader for a, b in pairs]
        others = [pair for pair, own in zip(pairs, leads, strict=True) if not own]
        before = leader.term.entries if _leads(leader) else [leader]
        if sum(leads) == 1 and all(_is_plain(a) and _is_item(b, before) for a, b in others):
            self.pairs, self.leads, self.entries, self.before = pairs, leads, [*before, challenger], before

    @property
    def open(self) -> bool:
        """Whether nobody has to see the outcome."""
        return bool(self.entries)

    def compare(self) -> Any:
        """The comparison as it stands."""
        return self.run.hooks.compare(self.sign, self.left, self.right)

    def settle(self) -> tuple[Any, ...]:
        """The values of all names after the branch: functions of which of the entries is the largest.

        Notes
        -----
        A name has the item of the largest of the entries: an old plain value is the item of all entries before. So
        all that is ever seen is the place of the largest of them, which costs what `chosen_place` says.
        """
        found = []
        for (new, old), leads in zip(self.pairs, self.leads, strict=True):
            if leads:
                found.append(self.run.symbol(Leader(self.entries), "number"))
            else:
                items = old.term.items if isinstance(old, Symbol) else [old] * len(self.before)
                found.append(self.run.symbol(Pick(self.entries, [*items, new]), "any"))
        return tuple(found)


def _can_win(value: Any) -> bool:
    if not isinstance(value, Symbol) or not isinstance(value.term, Noisy):
        return False
    term, release = value.term, value.term.release.last()
    seen = release.booked or release.spent or release.data is not term.data or term.noise.by_row
    upward = term.shape == () and float(term.noise.scale) > 0
    return not seen and upward and term.noise.law in ("laplace", "gumbel", "exponential")


def _leads(value: Any) -> bool:
    return isinstance(value, Symbol) and isinstance(value.term, Leader)


def _is_plain(value: Any) -> bool:
    return value is None or type(value) in (str, int, float, bool)


def _is_item(value: Any, entries: list[Any]) -> bool:
    if isinstance(value, Symbol):
        return isinstance(value.term, Pick) and value.term.entries is entries
    return _is_plain(value)


def release_pick(run: Run, pick: Pick) -> Any:
    """The item of the largest entry: a choice, charged once for all names that hang on it."""
    entries = pick.entries
    if not run.contests.get(id(entries)):
        run.contests[id(entries)] = entries
        values = stack(run, entries)
        if isinstance(values.term, Noisy):
            chosen_place(run, values, least=False)
    return chosen_of(run, pick.items).term


def release_leader(run: Run, leader: Leader) -> Any:
    """The largest of the entries as a number: all of them are released."""
    values = run.make_public(stack(run, leader.entries))
    return run.public((), low=values.term.low, high=values.term.high, **values.term.facts).term


def compare_with_infinity(sign: str, first: Any, second: Any) -> bool | None:
    """A noisy number against plus or minus infinity, which is known; None for others."""
    for own, other in ((first, second), (second, first)):
        if not isinstance(own, Symbol) or not isinstance(own.term, Noisy) or own.term.noise.by_row:
            continue
        if own.term.shape == () and isinstance(own.term.data, Sum | Aggregate):
            if isinstance(other, float) and math.isinf(other) and sign in ("<", "<=", ">", ">="):
                return (other < 0) == ((own is first) == (sign in (">", ">=")))
    return None
