"""`exact`: the exact eps of a release with finitely many outcomes on one pair, by enumeration of all its draws.

    EXACT        eps lies between eps_lower and eps_upper on this pair; both are rounded outwards
    NOT_FINITE   a draw is no finite draw, or a uniform is used and not only compared
    TOO_MANY     more paths than allowed, or than the time allows; with the count
    NOT_EXACT    the program is not what was enumerated: randomness outside of the tape, or ordinary releases that do
                 not fit the law. The reason says which

Let P and Q be the laws of what is released on both datasets, known up to intervals, and l, l' mass that was cut (tails,
paths below 1e-18). For every eps and either order

    sum max(0, p_low - e^eps q_high) - e^eps l'  <=  delta(eps)  <=  sum max(0, p_high - e^eps q_low) + l.

The first holds since the set S of its summands has P(S) >= sum p_low and Q(S) <= sum q_high + l'; the second since all
that is not enumerated has P-mass at most l. eps_lower is an eps at which the first exceeds delta, eps_upper one at
which the second does not. For delta = 0 these are ratios of single masses, and eps_upper is inf where mass was cut:
what was not looked at may tell the datasets apart. `tail_eps` is then eps_upper at a delta of TAIL times that mass.

An exact law is about its pair. Laws of NumPy's samplers are assumed; `random()` is j/2^53 (law="implemented").
"""

import copy
import math
import time
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
from scipy import special

from dpverify.base import require
from dpverify.base.seeding import Stage, stream
from dpverify.claims.claim import Claim, GaussianDP, ZCDP
from dpverify.claims.curves import RenyiDP
from dpverify.claims.neighbours import Pair
from dpverify.claims.profiles import gaussian_delta
from dpverify.errors import ParameterError
from dpverify.tape import outputs
from dpverify.tape.finite import depth_first, Enumerated, Law, output_key, PathLimits
from dpverify.tape.paths import vectorised
from dpverify.tape.supports import exp_down, exp_up
from dpverify.tape.transcript import Reason
from dpverify.trials.target import as_target, LoopedTarget, name_of

STATUSES = ("EXACT", "NOT_FINITE", "TOO_MANY", "NOT_EXACT")
RELEASES = 20_000  # of the test of fit, on each dataset
LEVEL = 1e-6  # of the test of fit: a right law fails it with at most this probability, on both datasets together
TAIL = 10  # times the mass that was cut: the delta of `tail_eps`
CELLS = 256  # outcomes that it looks at singly; the others fall into as many bins
SHARE = 0.5  # of the time that the enumeration took, at most, if releases are slow


@dataclass(frozen=True)
class TellingEvent:
    """The outcome with the largest ratio, and the middle of its probability on the two datasets."""

    outcome: str
    first: float
    second: float


@dataclass(frozen=True)
class Fit:
    """Ordinary releases against the enumerated laws: how many on each dataset, and the p-value of both."""

    releases: int
    p_value: float

    @property
    def fits(self) -> bool:
        """Whether the law is not rejected at LEVEL."""
        return self.p_value >= LEVEL


@dataclass(frozen=True, kw_only=True)
class Exact:
    """An Exact holds what the enumeration of all random draws has found on one pair.

    `exact` makes it.

    Parameters
    ----------
    name : str
        Name of the target.
    status : {"EXACT", "NOT_FINITE", "TOO_MANY", "NOT_EXACT"}
        EXACT: `eps_lower` and `eps_upper` enclose the true eps. NOT_FINITE: a draw is no finite draw, or a uniform is
        used and not only compared. TOO_MANY: more paths than allowed, or than the time allows. NOT_EXACT: the program
        is not what was enumerated (randomness outside of the tape, or ordinary releases that do not fit the law).
    reason : Reason or None
        Why `status` is not EXACT; None where it is.
    eps_lower, eps_upper : float or None
        Bounds on eps at `delta`, rounded outwards; None where `status` is not EXACT. `eps_upper` is inf at delta 0
        where mass was cut: what was not looked at may tell the datasets apart.
    delta : float
        At which eps was computed, in [0, 1).
    paths : int
        Number of paths through the draws, on both datasets together.
    outcomes : int
        Number of different outcomes.
    lost_mass : float
        Largest mass that was cut on a dataset: tails, and paths below 1e-18.
    tail_eps : float or None
        `eps_upper` at ten times `lost_mass`, where it is inf at delta 0 for that mass.
    event : TellingEvent or None
        The outcome with the largest ratio of probabilities.
    fit : Fit or None
        Ordinary releases against the enumerated laws.
    law : {"implemented", "ideal"}
        Law of NumPy's uniforms: on the grid of 2^-53 as they are implemented, or ideal real numbers.
    seconds : float
        Wall time.
    number_lower : float or None
        Lower bound on the number of a claim that is a whole profile: rho, mu or factor.

    Notes
    -----
    Let P and Q be the laws of what is released on both datasets, known up to intervals, and l, l' the mass that was cut
    from them. For every eps and either order of the datasets

        sum max(0, p_low - e^eps q_high) - e^eps l'  <=  delta(eps)  <=  sum max(0, p_high - e^eps q_low) + l.

    The first holds since the set S of its summands has P(S) >= sum p_low and Q(S) <= sum q_high + l', the second since
    all that is not enumerated has P-mass at most l. `eps_lower` is an eps at which the first exceeds delta, `eps_upper`
    one at which the second does not.

    Examples
    --------
    >>> import math
    >>> from dpverify import exact, Pair
    >>> def coin(data, *, rng, size):
    ...     return rng.random(size) < (0.75 if data[0] else 0.25)
    >>> found = exact(coin, pair=Pair([0], [1]))
    >>> found.status, found.outcomes, found.eps_lower <= math.log(3) <= found.eps_upper
    ('EXACT', 2, True)
    """

    name: str
    status: str
    reason: Reason | None
    eps_lower: float | None
    eps_upper: float | None
    delta: float
    paths: int
    outcomes: int
    lost_mass: float
    tail_eps: float | None  # eps_upper at delta = TAIL * lost_mass, where eps_upper at delta 0 is inf for that mass
    event: TellingEvent | None
    fit: Fit | None
    law: Law
    seconds: float
    number_lower: float | None = None  # of a claim that is a whole profile

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; infinities as their names."""
        return {
            "name": self.name,
            "status": self.status,
            "reason": None if self.reason is None else vars(self.reason),
            "eps_lower": _plain(self.eps_lower),
            "eps_upper": _plain(self.eps_upper),
            "delta": self.delta,
            "paths": self.paths,
            "outcomes": self.outcomes,
            "lost_mass": self.lost_mass,
            "tail_eps": _plain(self.tail_eps),
            "number_lower": _plain(self.number_lower),
            "event": None if self.event is None else vars(self.event),
            "fit": None if self.fit is None else vars(self.fit),
            "law": self.law,
            "seconds": self.seconds,
        }


def _plain(value: float | None) -> Any:
    return str(value) if value is not None and not math.isfinite(value) else value


def exact(
    target: Any,
    *,
    pair: Pair,
    delta: float = 0.0,
    claim: Claim | None = None,
    paths: int = 2**21,
    law: Law = "implemented",
    seed: int = 7,
    timeout: float = 60.0,
) -> Exact:
    """Compute the exact eps of a release on one pair, by enumerating all of its random draws.

    The release must have finitely many outcomes.

    Parameters
    ----------
    target : object or callable
        A target as for `audit`.
    pair : Pair
        The two datasets.
    delta : float
        At which eps is computed, in [0, 1).
    claim : Claim, optional
        Where it is about a whole profile (zCDP, Renyi DP, Gaussian DP), `number_lower` of the result is a lower bound
        on its number.
    paths : int
        Largest number of paths through the draws, on each dataset.
    law : {"implemented", "ideal"}
        Law of NumPy's uniforms: on the grid of 2^-53 as they are implemented, or ideal real numbers.
    seed : int
        Of the ordinary releases that the enumerated law is compared with.
    timeout : float
        Seconds on each dataset. A single call of the target is not interrupted.

    Returns
    -------
    Exact
        `eps_lower` and `eps_upper` enclose the true eps where `status` is "EXACT". Otherwise `reason` says why there is
        no number.

    Raises
    ------
    ParameterError
        For a pair that is none, and for a parameter outside of its range.

    Examples
    --------
    >>> import math
    >>> from dpverify import exact, Pair
    >>> def coin(data, *, rng, size):
    ...     return rng.random(size) < (0.75 if data[0] else 0.25)
    >>> found = exact(coin, pair=Pair([0], [1]))
    >>> found.status, found.paths, round(found.eps_upper - math.log(3), 12)
    ('EXACT', 4, 0.0)
    """
    require.delta(delta=delta)
    require.integer(at_least=1, paths=paths)
    require.integer(at_least=0, seed=seed)
    require.positive(timeout=timeout)
    if law not in get_args(Law):
        raise ParameterError("law", law, "one of " + ", ".join(get_args(Law)))
    if not isinstance(pair, Pair):
        raise ParameterError("pair", pair, "a dpverify.Pair of two neighbouring datasets")
    target = as_target(target)
    start = time.monotonic()
    found: list[Enumerated] = []
    for data in (pair.first, pair.second):
        found.append(_law(target, data, PathLimits(paths, time.monotonic() + timeout, law), seed))
        if found[-1].bad is not None:
            break
    bad = next((each.bad for each in found if each.bad is not None), None)
    for each in found:
        if bad is None and not _whole(each):
            bad = Reason("MASS", "", "the masses of all paths do not add up to 1")
    fit = None
    if bad is None:
        fit = _fit(target, (pair.first, pair.second), (found[0], found[1]), seed, time.monotonic() - start)
        if not fit.fits:
            bad = Reason("FIT", "", f"{fit.releases} ordinary releases do not fit the law (p = {fit.p_value:.2g})")
    status = "EXACT" if bad is None else bad.code if bad.code in STATUSES else "NOT_EXACT"
    lower = upper = event = tail = number = None
    lost = max(each.lost for each in found)
    if bad is None:
        lower, upper = _interval(found[0], found[1], delta)
        tail = _interval(found[0], found[1], TAIL * lost)[1] if lost and not delta else None
        event = _largest(found[0], found[1])
        if claim is not None:
            number = number_at_least(claim, _ends(found[0], found[1]), (found[0].lost, found[1].lost))
    return Exact(
        name=name_of(target),
        status=status,
        reason=bad,
        eps_lower=lower,
        eps_upper=upper,
        delta=delta,
        paths=sum(each.paths for each in found),
        outcomes=len(set().union(*(each.law for each in found))),
        lost_mass=lost,
        tail_eps=tail,
        event=event,
        fit=fit,
        law=law,
        seconds=time.monotonic() - start,
        number_lower=number,
    )


def law_of(target: Any, data: Any, limits: PathLimits, seed: int) -> Enumerated:
    """The law of one dataset; `bad` says why there is none, also where the masses do not add up to 1."""
    found = _law(target, data, limits, seed)
    if found.bad is None and not _whole(found):
        return replace(found, bad=Reason("MASS", "", "the masses of all paths do not add up to 1"))
    return found


def eps_between(first: Enumerated, second: Enumerated, delta: float) -> float:
    """The eps of both orders together, rounded up."""
    return _interval(first, second, delta)[1]


def _law(target: Any, data: Any, limits: PathLimits, seed: int) -> Enumerated:
    if not isinstance(target, LoopedTarget):
        found = vectorised(target, data, limits, seed)
        if found.bad is None or found.bad.code != "LOOPED":
            return found
    return depth_first(target, data, limits, seed)


def _whole(found: Enumerated) -> bool:
    low, high = (math.fsum(mass[at] for mass in found.law.values()) for at in (0, 1))
    return low <= 1 + 1e-15 and high + found.lost >= 1 - 1e-15


# the privacy of the two laws

Ends = list[tuple[float, float, float, float]]  # p_low, p_high, q_low, q_high of every outcome


def _ends(first: Enumerated, second: Enumerated) -> Ends:
    nothing = (0.0, 0.0)
    return [(*first.law.get(key, nothing), *second.law.get(key, nothing)) for key in first.law | second.law]


def _interval(first: Enumerated, second: Enumerated, delta: float) -> tuple[float, float]:
    """(eps_lower, eps_upper) of both orders together."""
    ends = _ends(first, second)
    swapped = [(c, d, a, b) for a, b, c, d in ends]
    both = [_one_order(ends, first.lost, second.lost, delta), _one_order(swapped, second.lost, first.lost, delta)]
    return max(low for low, _ in both), max(high for _, high in both)


def _one_order(ends: Ends, lost: float, other_lost: float, delta: float) -> tuple[float, float]:
    if delta == 0:
        lower = max((_log_down(a, d + other_lost) for a, _, _, d in ends if a > 0), default=0.0)
        upper = math.inf if lost else max((_log_up(b, c) for _, b, c, _ in ends if b > 0), default=0.0)
        return max(lower, 0.0), max(upper, 0.0)

    def least(eps: float) -> float:
        e = exp_up(eps)
        if math.isinf(e):
            return math.fsum(a for a, _, _, d in ends if d + other_lost == 0) * (1 - 2.0**-50)
        terms = [a - e * d * (1 + 2.0**-50) for a, _, _, d in ends]
        return math.fsum(each for each in terms if each > 0) * (1 - 2.0**-48) - e * other_lost * (1 + 2.0**-50)

    def most(eps: float) -> float:
        e = exp_down(eps)
        terms = [b - e * c * (1 - 2.0**-50) for _, b, c, _ in ends]
        return (math.fsum(each for each in terms if each > 0) + lost) * (1 + 2.0**-48)

    return _last(lambda eps: least(eps) > delta), _last(lambda eps: most(eps) > delta, above=True)


# The number of a claim of a whole profile, from below.
#
# p^a q^(1-a) grows in p and falls in q for a > 1, and no summand is below 0: over the outcomes that are known, with
# p_low and q_high + l', the sum is at most that of the law, so that D_a >= log(sum)/(a - 1). rho is then at least D_a/a
# and a Renyi factor D_a/eps_a, at any order a. mu is at least the mu whose profile has the law's least delta at an eps:
# `gaussian_delta` is rounded up. Sums of floats and logarithms are charged 2^-40 of their terms.


ORDERS = tuple(1 + 2.0**each for each in np.arange(-7, 9.5, 0.5))  # of rho
LEVELS = tuple(np.arange(0, 41) / 8.0)  # eps at which mu is looked for
CHARGED = 2.0**-40


def number_at_least(claim: Claim, ends: Ends, lost: tuple[float, float]) -> float | None:
    """A number that `claim` must have at least; None for claims that a number does not order here."""
    swapped = [(c, d, a, b) for a, b, c, d in ends]
    orders = ((ends, lost[1]), (swapped, lost[0]))
    found: list[float] = []
    match claim:
        case ZCDP():
            found = [renyi_at_least(each, gone, order) / order for each, gone in orders for order in ORDERS]
        case RenyiDP():
            pairs = [(float(order), float(eps)) for order, eps in claim.curve]
            found = [renyi_at_least(each, gone, order) / eps for each, gone in orders for order, eps in pairs]
        case GaussianDP():
            found = [_mu_at_least(each, gone, eps) for each, gone in orders for eps in LEVELS]
    return max(found, default=None)


def renyi_at_least(ends: Ends, other_lost: float, order: float) -> float:
    """D of this order, of the first law against the second, from below."""
    if any(a > 0 and d + other_lost == 0 for a, _, _, d in ends):
        return math.inf
    logs = [(order * math.log(a), (1 - order) * math.log(d + other_lost)) for a, _, _, d in ends if a > 0]
    if not logs:
        return 0.0
    charged = CHARGED * (1 + max(abs(p) + abs(q) for p, q in logs))
    found = float(special.logsumexp([p + q for p, q in logs])) - charged
    return max(0.0, found / (order - 1))


def _mu_at_least(ends: Ends, other_lost: float, eps: float) -> float:
    """The mu whose Gaussian profile has at eps what the law has there at least."""
    e = exp_up(eps)
    terms = [a - e * (d + other_lost) * (1 + 2.0**-50) for a, _, _, d in ends]
    delta = math.fsum(each for each in terms if each > 0) * (1 - CHARGED) - CHARGED
    if delta <= 0:
        return 0.0
    low, high = 0.0, 1.0
    while gaussian_delta(high, eps) < delta:
        low, high = high, 2 * high
        if high > 64:
            return 64.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(middle, eps) < delta else (low, middle)
    return low


def _last(exceeds: Any, *, above: bool = False) -> float:
    """Where a decreasing function stops exceeding delta: an eps where it does (0 if nowhere), or, above, one where it
    does not (inf if nowhere).
    """
    low, high = 0.0, 1.0
    if not exceeds(low):
        return 0.0
    while exceeds(high):
        low, high = high, 2 * high
        if high > 1000:
            return math.inf
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if exceeds(middle) else (low, middle)
    return high if above else low


def _log_down(p: float, q: float) -> float:
    if p == 0 or q == 0:
        return math.inf if p > 0 else -math.inf
    found = math.log(p) - math.log(q) if p / q in (0.0, math.inf) else math.log(p / q)
    return found - (abs(found) + 4) * 2.0**-52


def _log_up(p: float, q: float) -> float:
    if q == 0:
        return math.inf
    found = math.log(p) - math.log(q) if p / q in (0.0, math.inf) else math.log(p / q)
    return found + (abs(found) + 4) * 2.0**-52


def _largest(first: Enumerated, second: Enumerated) -> TellingEvent | None:
    nothing = (0.0, 0.0)

    def middle(found: Enumerated, key: bytes) -> float:
        return sum(found.law.get(key, nothing)) / 2

    def ratio(key: bytes) -> float:
        p, q = first.law.get(key, nothing), second.law.get(key, nothing)
        return max(_log_down(p[0], q[1] + second.lost), _log_down(q[0], p[1] + first.lost))

    keys = first.law | second.law
    if not keys:
        return None
    key = max(keys, key=lambda each: (ratio(each), middle(first, each) + middle(second, each)))
    return TellingEvent({**second.shown, **first.shown}[key], middle(first, key), middle(second, key))


# ordinary releases


def _fit(target: Any, data: tuple[Any, Any], found: tuple[Enumerated, Enumerated], seed: int, budget: float) -> Fit:
    """Ordinary releases, with NumPy's own generator: exact binomial tests, Bonferroni over outcomes and datasets."""
    least, made = 1.0, RELEASES
    for arm, (each, law) in enumerate(zip(data, found, strict=True)):
        rng = stream(seed, Stage.TAPE, arm, 31)
        seen = _ordinary(copy.deepcopy(target), copy.deepcopy(each), rng, max(SHARE * budget, 1.0))
        made = min(made, seen.total())
        least = min(least, _p_value(seen, law))
    return Fit(made, min(1.0, 2 * least))


def _ordinary(target: Any, data: Any, rng: np.random.Generator, seconds: float) -> Counter[bytes]:
    """Keys of up to RELEASES releases: in one call if its rows are what single calls give, else one by one."""
    found: Counter[bytes] = Counter()
    try:
        value = None if isinstance(target, LoopedTarget) else target.release(data, rng=rng, size=RELEASES)
    except Exception:  # what it gives one by one is judged below
        value = None
    if type(value) is np.ndarray and value.dtype.kind != "O" and value.ndim and len(value) == RELEASES:
        bits = np.ascontiguousarray(value).reshape(RELEASES, -1).view(np.uint8)
        _, first, times = np.unique(bits, axis=0, return_index=True, return_counts=True)
        for at, count in zip(first.tolist(), times.tolist(), strict=True):  # rows with equal bits have one key
            found[output_key(outputs.parts(("returned", value[at : at + 1])))] += count
        return found
    until = time.monotonic() + seconds
    while found.total() < RELEASES and (time.monotonic() < until or found.total() < 100):
        try:
            outcome: Any = ("returned", target.release(data, rng=rng, size=1))
        except (Exception, SystemExit) as error:  # an exception is what it gives
            outcome = ("raised", (type(error).__qualname__, str(error)))
        found[output_key(outputs.parts(outcome))] += 1
    return found


def _p_value(seen: Counter[bytes], law: Enumerated) -> float:
    counts, releases = seen.copy(), seen.total()
    ranked = sorted(law.law, key=lambda key: -law.law[key][1])
    cells = [[key] for key in ranked[:CELLS]]
    cells += [ranked[CELLS + at :: CELLS] for at in range(CELLS) if ranked[CELLS + at :: CELLS]]
    tests = [
        (
            sum(counts.pop(key, 0) for key in cell),
            math.fsum(law.law[key][0] for key in cell),
            math.fsum(law.law[key][1] for key in cell),
        )
        for cell in cells
    ]
    tests.append((sum(counts.values()), 0.0, law.lost))  # what was not enumerated
    least = min(_binomial_test(count, releases, low, high) for count, low, high in tests)
    return min(1.0, least * len(tests))


def _binomial_test(count: int, trials: int, low: float, high: float) -> float:
    """Two-sided: twice the smaller tail, each at the end of [low, high] that favours the law."""
    above = 1.0 if count == 0 else float(special.betainc(count, trials - count + 1, min(high, 1.0)))
    below = 1.0 if count == trials else float(special.betaincc(count + 1, trials - count, min(low, 1.0)))
    return min(1.0, 2 * above, 2 * below)
