"""Neighbouring pairs for a subject that somebody else wrote: given, its own, or tried out.

In this order:
    given      a Pair, (first, second) tuples, or a list of them
    its own    `subject.pairs`, or `subject.neighbours(claim)`, or `subject.neighbours()`
    tried out  the value of one query of sensitivity 1, as a number and as an array of one: (0, 1) and (100, 101)

What is tried out suits a mechanism whose `data` is the value of a sensitivity-1 query and no other: the
certificate says that the pairs were assumed.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dpverify.base.seeding import Stage, stream
from dpverify.claims.claim import Claim
from dpverify.claims.neighbours import Pair
from dpverify.errors import ParameterError, UsageError
from dpverify.trials.target import name_of, Target

ASSUMED = "no pairs were given: datasets are assumed to be values of one query that moves by at most 1"


def pairs_for(subject: Any, target: Target, claim: Claim, given: Any = None) -> tuple[tuple[Pair, ...], str]:
    """Checked pairs, and a note where they were assumed; UsageError where none is found."""
    found = given if given is not None else _own(subject, claim)
    if found is not None:
        return tuple(claim.check(pair) for pair in as_pairs(found)), ""
    for numbers in (float, int, lambda value: np.array([float(value)]), lambda value: np.array([value])):
        tried = [Pair(numbers(low), numbers(low + 1), name=f"{low} and {low + 1}") for low in (0, 100)]
        usable = tuple(claim.check(pair) for pair in tried if _releases(target, pair))
        if usable:
            return usable, ASSUMED
    raise UsageError(
        f"{name_of(target)}: no neighbouring pairs: give --pairs MODULE:NAME (pairs=), or the object an attribute "
        "`pairs` or a method `neighbours()`; plain numbers and arrays of one number were tried and refused"
    )


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


def _own(subject: Any, claim: Claim) -> Any:
    if getattr(subject, "pairs", None) is not None:
        return subject.pairs
    neighbours = getattr(subject, "neighbours", None)
    if neighbours is None:
        return None
    try:
        return neighbours(claim)
    except TypeError:
        return neighbours()


def _releases(target: Target, pair: Pair) -> bool:
    """True where one release on each dataset works."""
    try:
        for data in pair:
            if np.asarray(target.release(data, rng=stream(0, Stage.SHAPE), size=1)).shape[:1] != (1,):
                return False
    except Exception:  # foreign code, tried out on datasets that it may not take
        return False
    return True
