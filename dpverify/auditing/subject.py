"""A subject of an audit suite: a target, its claim, the pairs on which it is tried, and what is expected.

A planted twin is the same subject with a bug in it. Its claim is false, so it must be REFUTED: a suite is
red when it is not, because then the audit could not have seen the bug in the real subject either.
"""

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dpverify.auditing.statuses import Accept
from dpverify.base import require
from dpverify.claims.claim import Claim
from dpverify.claims.neighbours import Pair, Unit
from dpverify.errors import ParameterError, UsageError
from dpverify.ledger.events import Ledger
from dpverify.trials.outcomes import check_answers
from dpverify.trials.target import name_of, Target

REFUTED = "REFUTED"
NOT_REFUTED = "NOT_REFUTED"


@dataclass(frozen=True, kw_only=True)
class Subject:
    """One row of an audit table: what is audited, on which pairs, and with which answer.

    Parameters
    ----------
    name : str
        Is unique in its file. Reports call the subject `stem/name`.
    target : object or callable
        What is audited, see `dpverify.trials.target`. Its `ledger` is accounted, if it has one.
    claim : Claim
        What is claimed.
    pairs : tuple of Pair
        Neighbouring datasets. Each is audited with an equal share of the significance.
    trials : int
        Number of trials for each pair, on both datasets together.
    score : str
        What attacks look at, see `audit`.
    expected : {"REFUTED", "NOT_REFUTED"}
        REFUTED for a false claim, NOT_REFUTED for a true one.
    accounted : bool, optional
        What the ledger must say: True if it meets the claim, False if it does not. None if there is no ledger, or
        nobody asks.
    accept : {"", "ledger", "conforms", "proof"}
        The least evidence that is as expected, see `statuses.Accept`: "conforms" asks that the subject is CERTIFIED,
        "ledger" that it is ACCOUNTED at least, "proof" that it is proved from its code. "" accepts what is not refuted.
    planted : bool
        True for a bug that was put in on purpose.
    ledger : Ledger, optional
        Used in place of the target's own.
    outcomes : tuple of exception classes
        Exceptions that are answers of the mechanism, see `audit`.
    paper, statement : str
        Where a published claim comes from. The scorecard prints them.
    notes : tuple of str
        Are added to the notes of its records.
    schema : str
        What the data look like, e.g. "vector: real 0..1, rows 5..50", as for `prove`. The claim is then proved from the
        code as well, for all neighbouring datasets of this schema. "" proves nothing.
    blind : str
        Why the trials of a view cannot see less noise, where the target asks for `twins`.
    file : str
        The audit file that declares it. Discovery fills this in.
    line : int
        The line in this file. Discovery fills this in.

    Raises
    ------
    ParameterError
        For pairs that are no tuple of Pair, trials that are no positive whole number, another `expected`, and "proof"
        that is asked for without a schema.
    """

    name: str
    target: Any
    claim: Claim
    pairs: tuple[Pair, ...]
    trials: int = 100_000
    score: str = "auto"
    expected: str = NOT_REFUTED
    accounted: bool | None = None
    accept: str = ""
    planted: bool = False
    ledger: Ledger | None = None
    outcomes: tuple[type[BaseException], ...] = ()
    paper: str = ""
    statement: str = ""
    notes: tuple[str, ...] = field(default=())
    schema: str = ""
    blind: str = ""
    file: str = ""  # the audit file that declares it, and the line; filled by discovery
    line: int = 0

    def __post_init__(self) -> None:
        require.integer(at_least=1, trials=self.trials)
        if isinstance(self.pairs, Pair) or not isinstance(self.pairs, Sequence) or not self.pairs:
            raise ParameterError("pairs", self.pairs, "a non-empty tuple of Pair")
        check_answers(self.outcomes)
        if self.expected not in (REFUTED, NOT_REFUTED):
            raise ParameterError("expected", self.expected, f"{REFUTED} or {NOT_REFUTED}")
        if self.accept not in ("", *Accept):
            raise ParameterError("accept", self.accept, '"", ' + " or ".join(Accept))
        if self.accept == Accept.PROOF and not self.schema:
            raise ParameterError("schema", self.schema, "what the data look like, where a proof is asked for")

    def found(self, name: str, file: str, line: int) -> "Subject":
        """The same subject under its full name, with the place that declares it."""
        told = f"blind to noise: {self.blind}"
        notes = (*self.notes, told) if self.blind and told not in self.notes else self.notes
        named = copy.copy(self)  # what it declares has been checked
        for field_, value in (("name", name), ("file", file), ("line", line), ("notes", notes)):
            object.__setattr__(named, field_, value)
        return named


def lacking(subjects: Sequence[Subject]) -> list[str]:
    """What subjects lack whose targets ask for planted twins with `twins`, a tuple of what their names begin with.

    A view that may see nothing (the actions of the others) says nothing by a verdict alone: a twin that is caught does.
    `exact-counts` is asked of every subject; a rung of less noise is not asked of one that is declared `blind`.
    """
    found = []
    for subject in subjects:
        twins = getattr(subject.target, "twins", ())
        if not twins or subject.planted or subject.expected == REFUTED:
            continue
        own = [each.name.partition("!")[2] for each in subjects if each.name.startswith(f"{subject.name}!")]
        for twin in twins:
            spared = subject.blind and twin != "exact-counts"
            if not spared and not any(name.startswith(twin) for name in own):
                found.append(f"{subject.name} has no planted twin {twin}")
    return found


def planted(subject: Subject, name: str, target: Any, **changes: Any) -> Subject:
    """Make the twin of a subject whose target has a bug: it has the same claim and must be REFUTED.

    Parameters
    ----------
    subject : Subject
        The subject with the right target.
    name : str
        Name of the bug. The twin is called `subject.name!name`.
    target : object or callable
        The target with the bug.
    **changes : fields of `Subject`
        What else differs from the subject. The twin has no ledger unless one is given here.

    Returns
    -------
    Subject
        The twin; `planted` is True.

    Examples
    --------
    >>> from dpverify import Pair, planted, PureDP, Subject
    >>> def count(data, *, rng, size):
    ...     return sum(data) + rng.laplace(scale=1.0, size=size)
    >>> def half_the_noise(data, *, rng, size):
    ...     return sum(data) + rng.laplace(scale=0.5, size=size)
    >>> right = Subject(name="count", target=count, claim=PureDP(1.0), pairs=(Pair([0], [1]),))
    >>> twin = planted(right, "half-noise", half_the_noise)
    >>> twin.name, twin.expected
    ('count!half-noise', 'REFUTED')
    """
    changed = {"accounted": None, "accept": "", "ledger": None, **changes}
    return replace(subject, name=f"{subject.name}!{name}", target=target, expected=REFUTED, planted=True, **changed)


# ----------------------------------------------------------------------------------------------------------------------
# Neighbouring pairs for a subject that somebody else wrote: given, or its own.
#
# In this order, and never assumed:
#     given      a Pair, (first, second) tuples, or a list of them
#     its own    `subject.pairs`, or `subject.neighbours(claim)`, or `subject.neighbours()`


def pairs_for(subject: Any, target: Target, claim: Claim, given: Any = None) -> tuple[Pair, ...]:
    """Checked pairs; UsageError where there are none."""
    found = given if given is not None else own_pairs(subject, claim)
    if found is None:
        raise UsageError(
            f"{name_of(target)}: no neighbouring pairs: give --pairs MODULE:NAME (pairs=), or the object an attribute "
            "`pairs` or a method `neighbours()`"
        )
    return tuple(claim.check(pair) for pair in as_pairs(found))


def for_units(claim: Claim, subject: Any, given: Any = None) -> Claim:
    """The claim about users where pairs are of users: a claim in words names no unit."""
    found = given if given is not None else own_pairs(subject, claim)
    users = found is not None and any(each.of_users for each in as_pairs(found))
    return replace(claim, unit=Unit.USER) if users else claim


def as_pairs(found: Any) -> list[Pair]:
    """A list of pairs from a Pair, a tuple of two datasets, an iterable of either, or a function that makes them."""
    if isinstance(found, Pair):
        return [found]
    if callable(found):
        return as_pairs(found())
    if not isinstance(found, Iterable):
        raise ParameterError("pairs", found, "a Pair, a tuple (first, second), or a sequence of them")
    listed = list(found)
    if isinstance(found, tuple) and len(listed) == 2 and not any(isinstance(each, Pair) for each in listed):
        return [Pair(*listed)]
    pairs = [each if isinstance(each, Pair) else _pair(each) for each in listed]
    if not pairs:
        raise ParameterError("pairs", found, "at least one pair")
    return pairs


def _pair(each: Any) -> Pair:
    if isinstance(each, Sequence) and len(each) == 2:
        return Pair(each[0], each[1])
    raise ParameterError("pairs", each, "a Pair or a tuple (first, second)")


def own_pairs(subject: Any, claim: Claim) -> Any:
    """What the subject itself offers; None for nothing."""
    if getattr(subject, "pairs", None) is not None:
        return subject.pairs
    neighbours = getattr(subject, "neighbours", None)
    if neighbours is None:
        return None
    try:
        return neighbours(claim)
    except TypeError:
        return neighbours()
