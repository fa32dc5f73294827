"""The price of mechanisms: `dpverify plan --spend 'dp-sgd: rate .01, noise 1.1, steps 10000' --delta 1e-5`.

What is left out of `--spend` is found for a wanted eps: the least noise whose account is proved to be within it.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpverify.errors import ParameterError, UsageError

if TYPE_CHECKING:
    from dpverify.ledger.events import Ledger

NOISE = {"dp-sgd": "noise", "laplace": "scale", "gaussian": "sigma"}  # what may be left out, for `--eps`
NEEDED = {"dp-sgd": ("rate", "steps"), "laplace": ("sensitivity",), "gaussian": ("sensitivity",)}
COUNTS = ("steps", "times")
DIGITS = 5  # of a noise that is found, and of an eps, both rounded up
FIRST, STEP = 64.0, 1.5  # of the search, in sensitivities: from much noise, of which accounts are cheap
REACH = 1e9  # noise beyond so many times the first, and below it by as much, is no answer


@dataclass(frozen=True)
class Spend:
    """One mechanism as it was typed; its noise may be missing."""

    name: str
    numbers: dict[str, float]

    @property
    def noise(self) -> str:
        """What its noise is called."""
        return NOISE[self.name]

    @property
    def open(self) -> bool:
        """Whether its noise is to be found."""
        return self.noise not in self.numbers

    def ledger(self, noise: float) -> "Ledger":
        """Of all its releases, with this noise."""
        from dpverify import ledger

        has = self.numbers
        if self.name == "dp-sgd":
            found = ledger.dp_sgd(rate=has["rate"], noise_multiplier=noise, steps=int(has["steps"]))
        elif self.name == "laplace":
            found = ledger.laplace(scale=noise, sensitivity=has["sensitivity"])
        else:
            found = ledger.gaussian(sigma=noise, sensitivity=has["sensitivity"])
        return found * int(has.get("times", 1))

    def words(self, noise: float) -> str:
        """As it could have been typed."""
        every = {**self.numbers, self.noise: noise}
        return f"{self.name}: " + ", ".join(f"{key} {_plain(value)}" for key, value in every.items())


def read(text: str) -> Spend:
    """A mechanism as it is typed: NAME: KEY NUMBER, ...; UsageError with what is wrong and what is allowed.

    >>> read("laplace: scale 2, sensitivity 1, times 3").numbers
    {'scale': 2.0, 'sensitivity': 1.0, 'times': 3}
    """
    name, colon, rest = text.partition(":")
    name = name.strip().lower()
    if name not in NOISE or not colon:
        raise UsageError(f"--spend {text!r}: must begin with one of " + ", ".join(f"'{each}:'" for each in NOISE))
    allowed = (*NEEDED[name], NOISE[name], "times")
    numbers: dict[str, float] = {}
    for part in rest.split(","):
        key, value = (*re.split(r"[\s=]+", part.strip(), maxsplit=1), "")[:2]
        if key not in allowed:
            raise UsageError(f"--spend {text!r}: {key!r} is none of {', '.join(allowed)} (each with its number)")
        if key in numbers:
            raise UsageError(f"--spend {text!r}: {key} stands there twice")
        numbers[key] = _number(text, key, value)
    for key in NEEDED[name]:
        if key not in numbers:
            raise UsageError(f"--spend {text!r}: needs {key}")
    found = Spend(name, numbers)
    try:
        found.ledger(numbers.get(found.noise, 1.0))
    except ParameterError as error:
        raise UsageError(f"--spend {text!r}: {error}") from None
    return found


def _number(text: str, key: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        raise UsageError(f"--spend {text!r}: {key} {value!r} is no number") from None
    if key not in COUNTS:
        return number
    if not (math.isfinite(number) and number.is_integer() and number >= 1):
        raise UsageError(f"--spend {text!r}: {key} {value}: must be a whole number >= 1")
    return int(number)


def price(spends: list[Spend], *, eps: float | None, delta: float) -> str:
    """One line: what they cost together at `delta`, or the least noise of the one that lacks its own."""
    from dpverify import account, ledger
    from dpverify.base import require
    from dpverify.base.rounding import digits_up
    from dpverify.claims.neighbours import Relation

    require.delta(delta=delta)
    missing = [each for each in spends if each.open]
    if len(missing) != (eps is not None):
        raise UsageError(_wrong(missing, eps))
    if delta == 0 and (without := [each.name for each in spends if each.name != "laplace"]):
        raise UsageError(f"{without[0]}: Gaussian noise has no eps at delta 0; needs --delta")
    sampled = any(each.name == "dp-sgd" for each in spends)
    relation = Relation.ADD_OR_REMOVE_ONE if sampled else Relation.REPLACE_ONE
    neighbours = "one record added or removed" if sampled else "neighbours as the sensitivity has them"

    def at(noise: float) -> float:
        each = [one.ledger(noise if one.open else one.numbers[one.noise]) for one in spends]
        return account(ledger.composed(*each), delta=delta, relation=relation)

    noise = math.nan
    if eps is not None:
        require.positive(eps=eps)
        others = [one.ledger(one.numbers[one.noise]) for one in spends if not one.open]
        if not account(ledger.composed(*others), delta=delta, relation=relation) < eps:
            raise UsageError(f"no noise of {missing[0].name} is enough for eps {eps:g}: the others alone spend it")
        noise = least_noise(at, eps=eps, unit=missing[0].numbers.get("sensitivity", 1.0))
    upper = at(noise)
    said = "; ".join(one.words(noise if one.open else one.numbers[one.noise]) for one in spends)
    found = f"{missing[0].noise} {_plain(noise)} for eps {eps:g}: " if eps is not None else ""
    proved = "proved" if upper < math.inf else "nothing is proved"
    where = f"at delta = {delta:g}, {proved}, {neighbours}"
    return f"{found}eps <= {_plain(digits_up(upper, DIGITS))} {where} ({said})"


def _wrong(missing: list[Spend], eps: float | None) -> str:
    if len(missing) > 1:
        return "--spend: one noise may be left out, not " + " and ".join(
            f"{each.noise} of {each.name}" for each in missing
        )
    if missing:
        return f"--spend: needs {missing[0].noise} of {missing[0].name}, or --eps and it is found"
    return f"--eps {eps:g} with --spend finds the noise that is left out; here none is"


def least_noise(at: Callable[[float], float], *, eps: float, unit: float) -> float:
    """The smallest number of `DIGITS` digits with at(noise) <= eps, where `at` falls; itself always proved.

    Bisection whose upper end has been accounted at every step. Starts from much noise.
    """
    from dpverify.base.rounding import digits_up

    first = high = digits_up(FIRST * (unit or 1.0), DIGITS)
    while not at(high) <= eps:
        high = digits_up(high * STEP, DIGITS)
        if high > first * REACH:
            raise UsageError(f"no noise was found whose eps is proved to be at most {eps:g}")
    low = digits_up(high / STEP, DIGITS)
    while at(low) <= eps:
        low, high = digits_up(low / STEP, DIGITS), low
        if low < first / REACH:
            raise UsageError(f"noise of {high:g} is enough for eps {eps:g}; less than that is not searched")
    while low < (middle := digits_up((low + high) / 2, DIGITS)) < high:
        low, high = (low, middle) if at(middle) <= eps else (middle, high)
    return high


def _plain(number: float) -> str:
    return f"{number:.12g}"
