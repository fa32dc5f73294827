"""Promises about utility: "the error exceeds E with probability at most beta", checked by trials.

    promise = Promise(name=..., draw=..., bound=E, failure_probability=beta)
    check   = check_promise(promise, trials=100_000, seed=7)

`draw(rng=, size=)` makes `size` independent trials and returns `Outcomes`: the error of each trial, further
trials that failed for another reason (an underestimate), and invariants that must hold on every path.

Verdict, at the stated significance alpha:
    BROKEN  an invariant failed in some trial, or the failure rate is certified to exceed beta
    KEPT    no invariant failed, and the failure rate is certified to be at most beta
    INCONCLUSIVE  not broken, and no bound that was compared said anything: all were at their caps (`active`)
    OPEN    none of these
Each certificate is one side of a Clopper-Pearson interval at level alpha. A wrong KEPT needs a true rate above
beta, a wrong BROKEN one of at most beta, so whatever the truth, a wrong verdict has probability at most alpha.
An invariant that held in all trials is reported as that, not as proven.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.base.seeding import Stage, stream
from dpverify.errors import ParameterError, TargetError

KEPT, BROKEN, OPEN, INCONCLUSIVE = "KEPT", "BROKEN", "OPEN", "INCONCLUSIVE"
POWER = 0.95

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Outcomes:
    """An Outcomes holds what a block of trials of a promise has shown.

    Parameters
    ----------
    errors : array of float, shape (size,)
        The error of each trial, in the unit of the promise's bound; a NaN is a failure.
    failed : array of bool, shape (size,), optional
        Trials that failed for another reason, such as an underestimate.
    invariants : mapping of str to array of bool, shape (size,)
        For each invariant, True where it held. It must hold in every trial.
    active : array of float, shape (size,), optional
        Share of the trial's bounds, in [0, 1], that were not at their caps, where a bound cannot fail. None: bounds
        have no caps.

    Examples
    --------
    >>> import numpy as np
    >>> from dpverify.promises import Outcomes
    >>> drawn = Outcomes(np.array([0.2, 3.0]), invariants={"counts are not negative": np.array([True, True])})
    >>> drawn.errors.shape, drawn.failed is None
    ((2,), True)
    """

    errors: Array
    failed: Array | None = None
    invariants: Mapping[str, Array] = field(default_factory=dict)
    active: Array | None = None


@dataclass(frozen=True, kw_only=True)
class Promise:
    """A Promise says that the error exceeds a bound with at most a certain probability.

    In symbols, Pr[error > bound, or failed] <= failure_probability. A block of trials is drawn at once and forgotten;
    it is the unit of memory and of seeding.

    Parameters
    ----------
    name : str
        Name of the promise in reports.
    draw : callable
        `draw(rng=, size=)` makes `size` independent trials with the generator `rng` and returns `Outcomes`.
    bound : float
        What the error stays within, in the unit of the error, >= 0.
    failure_probability : float
        What is promised, in (0, 1).
    trials : int
        How many trials a suite makes.
    block : int
        How many trials are drawn at once.
    expected : {"KEPT", "BROKEN", "OPEN", "INCONCLUSIVE"}
        The verdict that a suite expects.
    paper, statement : str
        Where a published promise comes from.

    Raises
    ------
    ParameterError
        For a negative bound, a probability outside (0, 1), numbers of trials that are not positive, and another
        `expected`.

    Examples
    --------
    >>> import math
    >>> import numpy as np
    >>> from dpverify.promises import check_promise, Outcomes, Promise
    >>> def noise(*, rng, size):
    ...     return Outcomes(errors=np.abs(rng.laplace(scale=2.0, size=size)))
    >>> within = 2.0 * math.log(1 / 0.04)  # is exceeded with probability 0.04
    >>> promise = Promise(name="one noisy count", draw=noise, bound=within, failure_probability=0.05)
    >>> check_promise(promise, seed=1, trials=20_000).verdict
    'KEPT'
    """

    name: str
    draw: Callable[..., Outcomes]
    bound: float
    failure_probability: float
    trials: int = 100_000
    block: int = 4096
    expected: str = KEPT
    paper: str = ""
    statement: str = ""

    def __post_init__(self) -> None:
        require.non_negative(bound=self.bound)
        require.open_unit(failure_probability=self.failure_probability)
        require.integer(at_least=1, trials=self.trials, block=self.block)
        if self.expected not in (KEPT, BROKEN, OPEN, INCONCLUSIVE):
            raise ParameterError("expected", self.expected, f"{KEPT}, {BROKEN}, {OPEN} or {INCONCLUSIVE}")


@dataclass(frozen=True, kw_only=True)
class PromiseCheck:
    """A PromiseCheck holds what the trials of one promise say.

    `check_promise` makes it.

    Parameters
    ----------
    name : str
        Name of the promise.
    bound : float
        What the error was promised to stay within.
    failure_probability : float
        With which the promise may fail, in (0, 1).
    trials : int
        Number of trials.
    failures : int
        In how many of them the error exceeded the bound, or the trial failed.
    failure_rate : float
        `failures` over `trials`.
    rate_lower, rate_upper : float
        One-sided bounds on the failure probability, each valid at 1 - `significance`.
    significance : float
        Probability with which the verdict may be wrong, in (0, 1).
    verdict : {"KEPT", "BROKEN", "OPEN", "INCONCLUSIVE"}
        BROKEN: an invariant failed in some trial, or the failure rate is certified to exceed what is promised. KEPT: it
        is certified not to. INCONCLUSIVE: no bound that was compared said anything, all were at their caps. OPEN: none
        of these.
    detectable_rate : float or None
        Smallest failure probability that is called BROKEN with probability 95 %; None where no number of failures in so
        many trials would be.
    tightness : float
        (1 - failure_probability)-quantile of the observed errors over the bound: 1 is tight.
    worst : float
        Largest error over the bound.
    violations : dict of str to int
        For each invariant, in how many trials it failed.
    witness : dict or None
        Invariant, block and trial of the first violation: `stream(seed, PROMISE, block)`.
    seed : int
        Equal seeds give equal checks.
    block : int
        How many trials were drawn at once.
    expected : str
        The verdict that the promise's author wrote down.
    paper, statement : str
        Where a published promise comes from.
    active_share : float or None
        Mean share of bounds that were not at their caps; None where bounds have none.

    Notes
    -----
    Each certificate is one side of a Clopper-Pearson interval at level alpha. A wrong KEPT needs a true rate above the
    promised one, a wrong BROKEN one of at most that. So whatever the truth, a wrong verdict has probability at most
    alpha. An invariant that held in all trials is reported as that, not as proved.

    Examples
    --------
    >>> import numpy as np
    >>> from dpverify.promises import check_promise, Outcomes, Promise
    >>> def noise(*, rng, size):
    ...     return Outcomes(errors=np.abs(rng.laplace(scale=2.0, size=size)))
    >>> broken = Promise(name="one noisy count", draw=noise, bound=1.0, failure_probability=0.05)
    >>> found = check_promise(broken, seed=1, trials=1_000)
    >>> found.verdict, found.rate_lower < 0.607 < found.rate_upper  # e^(-1/2) is 0.607
    ('BROKEN', True)
    """

    name: str
    bound: float
    failure_probability: float
    trials: int
    failures: int
    failure_rate: float
    rate_lower: float
    rate_upper: float
    significance: float
    verdict: str
    detectable_rate: float | None
    tightness: float
    worst: float
    violations: dict[str, int]
    witness: dict[str, Any] | None
    seed: int
    block: int
    expected: str
    paper: str = ""
    statement: str = ""
    active_share: float | None = None

    @property
    def as_expected(self) -> bool:
        """True where the verdict is the one that the promise's author wrote down."""
        return self.verdict == self.expected

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a report, with `as_expected`."""
        return {**asdict(self), "as_expected": self.as_expected}

    def __str__(self) -> str:
        reach = "no failure rate" if self.detectable_rate is None else f"a failure rate of {self.detectable_rate:.3g}"
        reach = f"{reach} is called {BROKEN} with probability {POWER:g}"
        return (
            f"{self.name}: {self.verdict}; {self.failures} of {self.trials} trials failed, rate at most "
            f"{self.rate_upper:.3g} where {self.failure_probability:.3g} is promised; {reach}; {self.reach}"
        )

    @property
    def reach(self) -> str:
        """How much the bounds could have said: tightness, and the share that was not at its cap."""
        active = "" if self.active_share is None else f", {self.active_share:.2%} of the bounds below their caps"
        return f"tightness {self.tightness:.3g}{active}"


def _judged(*, broken: bool, rate_upper: float, failure_probability: float, active_share: float | None) -> str:
    """The verdict from what was counted."""
    if broken:
        return BROKEN
    if active_share == 0:
        return INCONCLUSIVE
    return KEPT if rate_upper <= failure_probability else OPEN


def check_promise(
    promise: Promise, *, seed: int, trials: int | None = None, significance: float = 0.05
) -> PromiseCheck:
    """Check a promise by trials.

    Parameters
    ----------
    promise : Promise
        What is checked.
    seed : int
        Equal arguments give equal checks.
    trials : int, optional
        How many trials to make. None takes the promise's own number.
    significance : float
        Probability with which the verdict may be wrong, in (0, 1).

    Returns
    -------
    PromiseCheck
        `verdict` is its answer in one word. Memory holds one block and the largest trials * failure_probability errors.

    Raises
    ------
    ParameterError
        For a number of trials that is not positive, and a significance outside (0, 1).
    TargetError
        If `draw` does not return what it must. A NaN error is a failure and no error of the run.

    Notes
    -----
    KEPT and BROKEN are each one side of a Clopper-Pearson interval, see `PromiseCheck`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpverify.promises import check_promise, Outcomes, Promise
    >>> def noise(*, rng, size):
    ...     return Outcomes(errors=np.abs(rng.normal(scale=1.0, size=size)))
    >>> promise = Promise(name="normal noise", draw=noise, bound=2.0, failure_probability=0.05)
    >>> found = check_promise(promise, seed=1, trials=20_000)  # the true rate is 0.0455
    >>> found.verdict, found.trials
    ('KEPT', 20000)
    """
    trials = promise.trials if trials is None else trials
    require.integer(at_least=1, trials=trials)
    require.open_unit(significance=significance)
    beta, keep = promise.failure_probability, math.floor(trials * promise.failure_probability) + 1
    failures, violations, witness, largest = 0, dict[str, int](), None, np.empty(0)
    active: float | None = None
    for block, start in enumerate(range(0, trials, promise.block)):
        size = min(promise.block, trials - start)
        drawn = promise.draw(rng=stream(seed, Stage.PROMISE, block), size=size)
        errors, failed, invariants = _checked(drawn, size)
        if drawn.active is not None:
            active = (active or 0.0) + float(drawn.active.sum())
        failures += int((failed | ~(errors <= promise.bound)).sum())
        for name, held in invariants.items():
            violations[name] = violations.get(name, 0) + int((~held).sum())
            if witness is None and not held.all():
                witness = {"invariant": name, "block": block, "trial": int((~held).argmax())}
        pooled = np.concatenate([largest, np.where(np.isnan(errors), np.inf, errors)])
        largest = np.sort(pooled)[-keep:]
    lower, upper = rate_bounds(failures, trials, significance)
    broken = any(violations.values()) or lower > beta
    share = None if active is None else active / trials
    return PromiseCheck(
        name=promise.name,
        bound=promise.bound,
        failure_probability=beta,
        trials=trials,
        failures=failures,
        failure_rate=failures / trials,
        rate_lower=lower,
        rate_upper=upper,
        significance=significance,
        verdict=_judged(broken=broken, rate_upper=upper, failure_probability=beta, active_share=share),
        detectable_rate=detectable_rate(trials, beta, significance),
        tightness=_over(float(largest[0]), promise.bound),
        worst=_over(float(largest[-1]), promise.bound),
        violations=violations,
        witness=witness,
        seed=seed,
        block=promise.block,
        expected=promise.expected,
        paper=promise.paper,
        statement=promise.statement,
        active_share=share,
    )


def all_of(parts: Sequence[Promise], *, name: str, **options: Any) -> Promise:
    """Join promises into one, of which a trial is a trial of every part: an instance and its mirror image, for example.

    A promise on one instance can be kept by a player who reads no data and happens to play what is right there. On an
    instance and its mirror image together she loses on one of the two.

    Parameters
    ----------
    parts : sequence of Promise
        At least one promise. The invariants of each must hold.
    name : str
        Of the whole.
    **options : fields of `Promise`
        `failure_probability` is the sum of the parts' own by default, `statement`, `paper`, `trials`, `block` and
        `expected` are those of the first part.

    Returns
    -------
    Promise
        The error of a trial is the largest of the parts' errors, each divided by its bound; where all bounds are equal
        they are not divided. A trial is as active as its least active part: it says nothing where one of them cannot
        fail.

    Raises
    ------
    ParameterError
        If there is no part, or bounds differ and one of them is 0.

    Notes
    -----
    Some part fails with probability at most the sum of the parts' failure probabilities (Boole's inequality), however
    the trials of the parts depend on each other.

    Examples
    --------
    >>> import numpy as np
    >>> from dpverify.promises import Outcomes, Promise, all_of, check_promise
    >>> truth = {"heads": 1.0, "tails": 0.0}
    >>> def always_one(*, rng, size, of): return Outcomes(errors=np.full(size, abs(1.0 - truth[of])))
    >>> from functools import partial
    >>> parts = [Promise(name=of, draw=partial(always_one, of=of), bound=0.5, failure_probability=0.05) for of in truth]
    >>> check_promise(parts[0], seed=1, trials=100).verdict
    'KEPT'
    >>> check_promise(all_of(parts, name="both"), seed=1, trials=100).verdict
    'BROKEN'
    """
    if not parts:
        raise ParameterError("parts", [], "at least one promise")
    bounds = {part.bound for part in parts}
    if len(bounds) > 1 and 0 in bounds:
        raise ParameterError("parts", sorted(bounds), "bounds above 0 where they differ: errors are divided by them")

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        drawn = [Outcomes(np.empty(0))] * len(parts)
        for at in rng.permutation(len(parts)):  # who keeps state between calls cannot tell which part it is
            drawn[at] = parts[at].draw(rng=rng, size=size)
        errors, failed, invariants = zip(*(_checked(each, size) for each in drawn), strict=True)
        shares = [np.asarray(each.active) for each in drawn if each.active is not None]
        units = [1.0 if len(bounds) == 1 else part.bound for part in parts]
        return Outcomes(
            errors=np.max([error / unit for error, unit in zip(errors, units, strict=True)], axis=0),
            failed=np.any(failed, axis=0),
            invariants={
                f"{what} ({part.name})": held
                for part, each in zip(parts, invariants, strict=True)
                for what, held in each.items()
            },
            active=np.min(shares, axis=0) if shares else None,
        )

    first = parts[0]
    of_the_first = {key: getattr(first, key) for key in ("trials", "block", "paper", "statement", "expected")}
    together = {
        "bound": first.bound if len(bounds) == 1 else 1.0,
        "failure_probability": sum(part.failure_probability for part in parts),
    }
    return Promise(name=name, draw=draw, **{**of_the_first, **together, **options})


def rate_bounds(failures: int, trials: int, significance: float) -> tuple[float, float]:
    """Compute Clopper-Pearson bounds on a failure probability, each one-sided.

    Parameters
    ----------
    failures : int
        How many trials failed, 0 <= failures <= trials.
    trials : int
        How many trials were made, at least 1.
    significance : float
        Probability with which each bound may be wrong, in (0, 1).

    Returns
    -------
    tuple of (float, float)
        The lower bound, 0 without failures, and the upper bound, 1 if all trials failed.

    Raises
    ------
    ParameterError
        For numbers outside of these ranges.

    Notes
    -----
    The lower bound is the rate at which so many failures, or more, have probability `significance`; at any smaller rate
    they have less. The upper bound is its mirror image (Clopper, Pearson 1934). Both are quantiles of beta laws.

    Examples
    --------
    >>> from dpverify.promises import rate_bounds
    >>> lower, upper = rate_bounds(0, 100, 0.05)
    >>> lower, round(upper, 4), round(1 - 0.05 ** (1 / 100), 4)
    (0.0, 0.0295, 0.0295)
    """
    require.integer(at_least=1, trials=trials)
    require.integer(at_least=0, failures=failures, successes=trials - failures)
    require.open_unit(significance=significance)
    from scipy import stats  # slow to load, and declaring a promise does not need it

    lower = float(stats.beta.ppf(significance, failures, trials - failures + 1)) if failures else 0.0
    upper = float(stats.beta.isf(significance, failures + 1, trials - failures)) if failures < trials else 1.0
    return lower, upper


def detectable_rate(trials: int, failure_probability: float, significance: float) -> float | None:
    """Compute the smallest failure probability that is called BROKEN with probability 95 %.

    Parameters
    ----------
    trials : int
        How many trials are made, at least 1.
    failure_probability : float
        What is promised, in (0, 1).
    significance : float
        Probability with which the verdict may be wrong, in (0, 1).

    Returns
    -------
    float or None
        The rate; None where even a rate of 1 is not called BROKEN.

    Notes
    -----
    BROKEN needs k failures, k the least with Pr[Bin(trials, failure_probability) >= k] < significance. The answer
    solves Pr[Bin(trials, rate) >= k] = 0.95.

    Examples
    --------
    >>> from dpverify.promises import detectable_rate
    >>> round(detectable_rate(1_000, 0.05, 0.05), 3), detectable_rate(1, 0.05, 0.05)
    (0.076, None)
    """
    from scipy import stats  # slow to load, and declaring a promise does not need it

    needed = int(stats.binom.isf(significance, trials, failure_probability))
    while needed <= trials and not rate_bounds(needed, trials, significance)[0] > failure_probability:
        needed += 1
    return float(stats.beta.ppf(POWER, needed, trials - needed + 1)) if needed <= trials else None


def _checked(drawn: Outcomes, size: int) -> tuple[Array, Array, dict[str, Array]]:
    if not isinstance(drawn, Outcomes):
        raise TargetError(f"draw returned a {type(drawn).__name__}, not Outcomes")
    errors = np.asarray(drawn.errors, dtype=np.float64)
    failed = np.zeros(size, dtype=bool) if drawn.failed is None else np.asarray(drawn.failed)
    invariants = {name: np.asarray(held) for name, held in drawn.invariants.items()}
    if drawn.active is not None:
        active = np.asarray(drawn.active)
        if active.shape != (size,) or not ((active >= 0) & (active <= 1)).all():
            raise TargetError(f"draw returned active with shape {active.shape}, not {size} shares in [0, 1]")
    for name, array in {"errors": errors, "failed": failed, **invariants}.items():
        if array.shape != (size,) or (name != "errors" and array.dtype != np.bool_):
            raise TargetError(f"draw returned {name} with shape {array.shape} and type {array.dtype}, not ({size},)")
    return errors, failed, invariants


def _over(error: float, bound: float) -> float:
    """error / bound; inf where a bound of 0 is exceeded."""
    if bound:
        return error / bound
    return 0.0 if error == 0 else math.inf
