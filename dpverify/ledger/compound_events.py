"""Events of modern releases: any dominating pair, sampling, matrix noise, shuffling, sparse vector, filters and others.

Frozen and keyword-only, as those of `ledger`; each says which statement must hold, and where it is proved.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.base.rounding import as_fraction, UNIT
from dpverify.claims.claim import Claim, GaussianDP, PureDP, ZCDP
from dpverify.claims.neighbours import Relation
from dpverify.errors import AccountingError, ParameterError
from dpverify.ledger.events import Event, Ledger, Sensitivity, Shift
from dpverify.ledger.laws import Law

# ----------------------------------------------------------------------------------------------------------------------
# How far C x moves when one user's rows of x move: the largest norm of a sum of columns of C.


Array = npt.NDArray[np.float64]

MOST_SETS = 100_000  # partial sets that a search may look at
EQUAL = 1 + 1e-9


@lru_cache(maxsize=64)
def largest_norm(strategy: tuple[tuple[float, ...], ...], participations: int, separation: int) -> float:
    """Upper bound on sqrt(max over S of sum over i, j in S of |G_ij|), G = C^T C, |S| <= participations, steps far
    apart.

    Exact, up to rounding, in three cases: (a) |G| vanishes `separation` and more off the diagonal: dynamic programming
    over the diagonal. (b) |G_ij|, i <= j, falls when j grows and when both grow, as for Toeplitz C with non-negative
    falling coefficients: the earliest steps 0, b, 2b, ... are the best, since every other set has larger places and
    larger distances. (c) Depth-first search over sets ends within 10^5 of them. Else the sum of the k largest of

        |G_jj| + the k - 1 largest |G_ij| of steps i that far from j.
    """
    c = np.array(strategy, dtype=np.float64)
    separation = min(separation, len(c))
    # by a power of two, without rounding, so that no square leaves what floats carry
    scale = 2.0 ** (math.frexp(float(np.abs(c).max()))[1] - 1)
    c = c / scale
    sizes = np.abs(c).T @ np.abs(c)
    gram = np.abs(c.T @ c) + (len(c) + 4) * UNIT * sizes  # matrix products are off by (n + 2) units of `sizes`
    distance = np.abs(np.subtract.outer(np.arange(len(c)), np.arange(len(c))))
    most = min(participations, 1 + (len(c) - 1) // separation)
    if not gram[distance >= separation].any():
        best = _separate(np.diag(gram), most, separation)
    else:
        falling = _falling(gram)
        if (falling <= EQUAL * gram).all():
            first = np.arange(most) * separation
            best = float(falling[np.ix_(first, first)].sum())
        else:
            found = _search(gram, most, separation)
            best = _bound(gram, distance >= separation, most) if found is None else found
    return math.sqrt(best) * (1 + (2 * most * most + 16) * UNIT) * scale


def exact_square(strategy: tuple[tuple[float, ...], ...], participations: int, separation: int) -> Fraction | None:
    """The square of what `largest_norm` bounds, in fractions: of one participation, the largest |C e_j|^2. Else None.

    Columns that floats see below the largest by more than n + 8 units in the last place are not the largest.
    """
    c = np.array(strategy, dtype=np.float64)
    if min(participations, 1 + (len(c) - 1) // min(separation, len(c))) > 1:
        return None
    scaled = c / np.abs(c).max() if c.any() else c
    squares = (scaled * scaled).sum(axis=0)
    near = np.flatnonzero(squares >= squares.max() * (1 - 4 * (len(c) + 8) * UNIT))
    columns = {tuple(sorted(np.abs(c[:, j][c[:, j] != 0]).tolist())) for j in near}
    return max(sum((Fraction(each) ** 2 for each in column), Fraction(0)) for column in columns)


def _separate(values: Array, most: int, separation: int) -> float:
    """Largest sum of at most `most` values >= 0 whose places are `separation` apart."""
    best = np.zeros(len(values) + separation)  # at i + separation: of one place less, up to i
    for _ in range(most):
        taken = values + best[: len(values)]
        best = np.concatenate([np.zeros(separation), np.maximum.accumulate(taken)])
    return float(best.max())


def _falling(gram: Array) -> Array:
    """The least matrix above the symmetric `gram` that falls when j grows and when both grow, i <= j."""
    n, found = len(gram), gram.copy()
    wider = np.zeros(0)
    for offset in range(n - 1, -1, -1):
        values = np.diag(gram, offset).copy()
        values[: len(wider)] = np.maximum(values[: len(wider)], wider)
        wider = np.maximum.accumulate(values[::-1])[::-1]
        places = np.arange(n - offset)
        found[places, places + offset] = found[places + offset, places] = wider
    return found


def _search(gram: Array, most: int, separation: int) -> float | None:
    """Depth first; a branch ends where even the largest later gains would not help. None where it takes too long."""
    n, diagonal = len(gram), np.diag(gram)
    far = np.subtract.outer(np.arange(n), np.arange(n)) >= separation
    pair = float(gram[far].max(initial=0.0))
    optimistic = [0.0]  # what the last r steps gain at most
    for r in range(1, most + 1):
        optimistic.append(optimistic[-1] + float(diagonal.max()) + 2 * (most - r) * pair)
    best, seen = 0.0, 0
    stack: list[tuple[int, int, float, Array]] = [(0, 0, 0.0, np.zeros(n))]
    while stack:
        start, size, value, cross = stack.pop()
        best = max(best, value)
        if size == most or start >= n:
            continue
        gains = diagonal[start:] + 2 * cross[start:]
        useful = np.flatnonzero(value + gains + optimistic[most - size - 1] > best)
        for place in useful[np.argsort(gains[useful])]:
            j = start + int(place)
            stack.append((j + separation, size + 1, value + float(gains[place]), cross + gram[j]))
        seen += len(useful)
        if seen > MOST_SETS:
            return None
    return best


def _bound(gram: Array, away: npt.NDArray[np.bool_], most: int) -> float:
    far = -np.sort(-np.where(away, gram, 0.0), axis=1)[:, : most - 1]
    rows = np.diag(gram) + far.sum(axis=1)
    return float(-np.sort(-rows)[:most].sum())


# ----------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class DominatingPair(Event):
    """A step whose worst case is one pair of laws on the line is charged by that pair.

    Must hold: for every pair of neighbours under `relation`, and whatever was released before, the outputs of the step
    are no easier to tell apart than p from q, or than q from p: delta(eps) is at most that of the pair at every eps.

    Parameters
    ----------
    what : str
        The released quantity, in the words of its paper.
    p : Law
        Law of the first dataset.
    q : Law
        Law of the second one.
    relation : Relation
        Under which the pair dominates. An account under another one is an error.
    directed : bool
        Whether the first of the two datasets, in the order that is common to the whole ledger, has p. Else
        either of them may.

    Raises
    ------
    ParameterError
        For a p or q that is no `Law`, and a relation that is none.

    Notes
    -----
    Dominating pairs are those of Zhu, Dong, Wang 2022, Definition 7; such pairs compose (Theorem 10 there).

    Examples
    --------
    Laplace noise of scale 1 that is cut at a distance of 20, on a value that moves by 1:

    >>> from dpverify import account, Relation
    >>> from dpverify.ledger import DominatingPair, LaplaceLaw, Ledger, Truncated
    >>> p, q = (Truncated(LaplaceLaw(at, 1.0), at - 20.0, at + 20.0) for at in (0.0, 1.0))
    >>> step = DominatingPair(p=p, q=q, relation=Relation.REPLACE_ONE)
    >>> round(account(Ledger(step), delta=1e-6), 3)
    1.0
    """

    p: Law
    q: Law
    relation: Relation
    directed: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()


@dataclass(frozen=True, kw_only=True)
class PoissonSampled(Event):
    """Releases from a Poisson sample: a random subset that every user joins independently.

    All of `inside` runs on the same subset; a fresh subset is a new event (`Ledger(step) * 1000`). Only under
    add/remove: `inside` must state its sensitivity under it. The datasets with and without the user are the two orders,
    alternatives for the whole ledger (Zhu, Dong, Wang 2022, Theorem 11). Under replace-one no account is known to
    hold: the pair of the add/remove amplification does not dominate there (Lebeda, Regehr, Kamath, Steinke 2024).

    Parameters
    ----------
    what : str
        The released quantity, in the words of its paper.
    rate : float
        Probability with which a user joins the subset, in [0, 1].
    inside : Ledger
        What is released from the subset.

    Raises
    ------
    ParameterError
        For a rate outside [0, 1].
    """

    rate: float
    inside: Ledger

    def __post_init__(self) -> None:
        super().__post_init__()
        require.probability(rate=self.rate)


@dataclass(frozen=True, kw_only=True)
class FixedSizeSampled(Event):
    """The ledger `inside` is run on `sampled` of the `of` users, drawn without replacement, all subsets equally likely.

    Only under replace-one: `inside` must state its sensitivity under it, also for a dataset of `sampled` users. Under
    add/remove the number of users, and with it the law of the subset, would change.

    Parameters
    ----------
    what : str
        The released quantity, in the words of its paper.
    sampled : int
        Size of the subset, from 0 to `of`.
    of : int
        How many users there are, at least 1; a public number.
    inside : Ledger
        What is released from the subset.

    Raises
    ------
    ParameterError
        For sizes that are no whole numbers, a negative `sampled`, one above `of`, and an `of` below 1.

    Notes
    -----
    Balle, Barthe, Gaboardi 2018, Theorem 2; proof in `accounting.sampled_losses`.

    Examples
    --------
    One user in a hundred is drawn for a release of eps = 1, which costs log(1 + (e - 1)/100):

    >>> from dpverify import account
    >>> from dpverify.ledger import FixedSizeSampled, laplace, Ledger
    >>> inside = laplace(scale=1.0, sensitivity=1.0)
    >>> round(account(Ledger(FixedSizeSampled(sampled=10, of=1000, inside=inside))), 5)
    0.01704
    """

    sampled: int
    of: int
    inside: Ledger

    def __post_init__(self) -> None:
        super().__post_init__()
        require.integer(at_least=0, sampled=self.sampled)
        require.integer(at_least=1, of=self.of)
        if self.sampled > self.of:
            raise ParameterError("sampled", self.sampled, f"at most of = {self.of}")


@dataclass(frozen=True, kw_only=True)
class BoundedRange(Event):
    """A step has log ratios that lie, for any one pair of neighbours, in an interval of length `eps`.

    The exponential mechanism is such a step, and so is noisy max with Gumbel noise. Permute-and-flip, sparse vector and
    noisy max with Laplace noise are not: for these, `PureStep` and `AboveThreshold`.

    Parameters
    ----------
    what : str
        The released quantity, in the words of its paper.
    eps : float
        Length of the interval, 0 < eps < inf. The step is eps-DP.
    uses : Sensitivity
        How many such steps a change of one user reaches: shifts of size 1.

    Raises
    ------
    ParameterError
        Unless 0 < eps < inf.

    Notes
    -----
    The exponential mechanism with weights e^(eps u/(2s)), s the movement of a score: log ratios are
    (u - u') eps/(2s) in [-eps/2, eps/2], minus one and the same log of a ratio of sums. Noisy max with Gumbel noise of
    scale 2s/eps is that mechanism. Bounded range is due to Durfee, Rogers 2019.

    Examples
    --------
    Many steps cost less than as many that are only known to be pure:

    >>> from dpverify import account
    >>> from dpverify.ledger import BoundedRange, Ledger, PureStep, Sensitivity
    >>> once = Sensitivity(replace=1)
    >>> [round(account(Ledger(kind(eps=0.1, uses=once)) * 100, delta=1e-6), 2) for kind in (BoundedRange, PureStep)]
    [2.25, 4.77]
    """

    eps: float
    uses: Sensitivity

    def __post_init__(self) -> None:
        super().__post_init__()
        require.positive(eps=self.eps)


@dataclass(frozen=True, kw_only=True)
class AboveThreshold(Event):
    """Sparse vector says which of many queries are above a public threshold, and pays only for the first that are.

    Answers, asked one after the other, are compared with a threshold: each has fresh Laplace noise of `query_scale`,
    the threshold has Laplace noise of `threshold_scale`. Only the outcomes of the comparisons are released, and the run
    stops at the `count`-th positive one.

    Parameters
    ----------
    what : str
        The released quantity, in the words of its paper.
    threshold_scale : float
        Scale of the noise on the threshold, in the unit of the answers, 0 < threshold_scale < inf.
    query_scale : float
        Scale of the noise on each answer that is compared, 0 < query_scale < inf.
    sensitivity : Sensitivity
        By how much any one answer moves, in how many such runs.
    count : int
        At which positive outcome the run stops, at least 1.
    monotone : bool
        Whether all answers move in one direction between two neighbours, if at all, as counts do under add/remove.
    fresh : bool
        Whether the threshold's noise is drawn anew after each positive outcome.
    value_scale : float, optional
        Scale of fresh Laplace noise with which the true answers of positive outcomes are released, finite and > 0;
        never the noisy ones that were compared. None where they are not released.

    Raises
    ------
    ParameterError
        Unless the scales are positive and finite and `count` is a whole number >= 1.

    Notes
    -----
    Where an answer moves by s, the run costs

        eps = s/threshold_scale + 2 count s/query_scale         the threshold is drawn once for the run
        eps = count (s/threshold_scale + 2 s/query_scale)       `fresh`
        no factor 2                                             `monotone`
        and count s/value_scale more                            with a `value_scale`

    (Lyu, Su, Li 2017, Theorems 2, 4 and 5; Dwork, Roth 2014, Theorems 3.23 to 3.26.) Each is a sum over noises that
    move in the proof: the threshold's by s, that of each positive outcome by 2 s, or by s. Negative outcomes are free.
    Released values are Laplace noise of their own, asked between the comparisons: what is pure composes concurrently as
    it does one after the other (Vadhan, Wang 2021).

    Examples
    --------
    The cost is 1/2 for the threshold and 3 * 2/12 for the positive outcomes, however many queries are asked:

    >>> from dpverify import account
    >>> from dpverify.ledger import AboveThreshold, Ledger, Sensitivity
    >>> run = AboveThreshold(threshold_scale=2.0, query_scale=12.0, count=3, sensitivity=Sensitivity(replace=1))
    >>> account(Ledger(run))
    1.0
    """

    threshold_scale: float
    query_scale: float
    sensitivity: Sensitivity
    count: int = 1
    monotone: bool = False
    fresh: bool = False
    value_scale: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        require.positive(threshold_scale=self.threshold_scale, query_scale=self.query_scale)
        require.integer(at_least=1, count=self.count)
        if self.value_scale is not None:
            require.positive(value_scale=self.value_scale)

    @property
    def thresholds(self) -> int:
        """How many are drawn, at most."""
        return int(self.count) if self.fresh else 1

    def largest_loss(self, size: Fraction) -> Fraction:
        """Of the comparisons with one threshold, where answers move by `size`."""
        moved = (1 if self.monotone else 2) * (int(self.count) // self.thresholds)
        return size / as_fraction(self.threshold_scale) + moved * size / as_fraction(self.query_scale)


@dataclass(frozen=True, kw_only=True)
class Shuffled(Event):
    """Every user sends one report of a `local_eps`-DP randomiser, and only the shuffled reports are released.

    The local randomisers may be any, also chosen adaptively, and one user's record is replaced. Several rounds are
    `Ledger(step) * rounds`. Under add/remove the number of reports, which is public, changes: an account is refused.

    Parameters
    ----------
    what : str
        The released quantity, in the words of its paper.
    local_eps : float
        What each randomiser guarantees by itself, 0 < local_eps < inf.
    users : int
        How many reports are shuffled, at least 1.

    Raises
    ------
    ParameterError
        Unless 0 < local_eps < inf and `users` is a whole number >= 1.

    Notes
    -----
    Feldman, McMillan, Talwar 2021.

    Examples
    --------
    >>> from dpverify import account
    >>> from dpverify.ledger import Ledger, Shuffled
    >>> round(account(Ledger(Shuffled(local_eps=1.0, users=10_000)), delta=1e-6), 3)
    0.053
    """

    local_eps: float
    users: int

    def __post_init__(self) -> None:
        super().__post_init__()
        require.positive(local_eps=self.local_eps)
        require.integer(at_least=1, users=self.users)


@dataclass(frozen=True, kw_only=True)
class MatrixGaussian(Event):
    """The release is C x + z, z of independent N(0, sigma^2), C = `strategy` lower triangular, one row of x a step.

    A user takes part in at most `participations` steps that are at least `separation` apart, and moves each of their
    rows by at most `movement` in l2.

    Parameters
    ----------
    what : str
        The released quantity, in the words of its paper.
    strategy : tuple of tuple of float
        The rows of C, a lower triangular matrix of shape (steps, steps), as tuples of finite floats.
    sigma : float
        Standard deviation of the noise, in the unit of C x, 0 < sigma < inf.
    movement : Sensitivity
        How far one user moves a row of x, in l2: one shift of one coordinate for each relation.
    participations : int
        In how many steps a user takes part at most, at least 1.
    separation : int
        How far apart two of these steps are must be, at least 1: with 10, a user of step 3 is next in step 13 or later.

    Raises
    ------
    ParameterError
        For a strategy that has no rows, is not square or not lower triangular, or has entries that are not finite, a
        sigma that is not positive and finite, and counts that are no whole numbers >= 1.

    Notes
    -----
    C x moves by at most movement times the square root of

        max over sets S of such steps of  sum over i, j in S of |(C^T C)_ij|,

    which is attained where C^T C >= 0 (Choquette-Choo, McMahan, Rush, Thakurta 2023). Rows of x may depend on what was
    released before (Denisov, McMahan, Rush, Smith, Thakurta 2022, Theorem 2.1). The maximum is exact where columns
    that far apart are orthogonal (banded C) or the search ends early; else the upper bound of `largest_norm`, in this
    module, is charged.

    Examples
    --------
    Both prefix sums of two steps are released; a user of the first step moves each of them by 1:

    >>> from dpverify import Relation
    >>> from dpverify.ledger import MatrixGaussian, Sensitivity
    >>> sums = MatrixGaussian(strategy=((1.0, 0.0), (1.0, 1.0)), sigma=2.0, movement=Sensitivity(replace=1))
    >>> sums.square(Relation.REPLACE_ONE)
    Fraction(2, 1)
    """

    strategy: tuple[tuple[float, ...], ...]
    sigma: float
    movement: Sensitivity
    participations: int = 1
    separation: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        require.several(object, strategy=self.strategy)
        for i, row in enumerate(self.strategy):
            require.several(object, **{f"strategy[{i}]": row})
        object.__setattr__(self, "strategy", tuple(tuple(row) for row in self.strategy))
        require.own_numbers(self)
        require.positive(sigma=self.sigma)
        require.integer(at_least=1, participations=self.participations, separation=self.separation)
        for i, row in enumerate(self.strategy):
            require.finite(**{f"strategy[{i}][{j}]": each for j, each in enumerate(row)})
            if len(row) != len(self.strategy) or any(row[i + 1 :]):
                raise ParameterError(f"strategy[{i}]", row, "a row of a square lower triangular matrix")
        if not self.strategy:
            raise ParameterError("strategy", self.strategy, "at least one row")

    def sensitivity(self, relation: Relation) -> Fraction:
        """How far C x moves in l2, rounded up; AccountingError where `movement` is not one number under `relation`."""
        shift = self._shift(relation)
        largest = largest_norm(self.strategy, self.participations, self.separation)
        if not math.isfinite(largest):
            raise AccountingError(f"the strategy of {self.what!r} is too large: its norm is no float")
        return as_fraction(shift.size) * Fraction(largest)

    def square(self, relation: Relation) -> Fraction:
        """The square of how far C x moves: the closed form itself for one participation, else that of `sensitivity`."""
        exact = exact_square(self.strategy, self.participations, self.separation)
        if exact is None:
            return self.sensitivity(relation) ** 2
        return as_fraction(self._shift(relation).size) ** 2 * exact

    def _shift(self, relation: Relation) -> Shift:
        shifts = self.movement.under(relation)
        if len(shifts) != 1 or shifts[0].count != 1:
            raise AccountingError(f"{shifts!r}: a row of x moves by one l2 distance")
        return shifts[0]


@dataclass(frozen=True, kw_only=True)
class Selected(Event):
    """The best of a random number of runs is released, by a score that is a part of what a run releases.

    Must hold: the number of runs is drawn apart from all data, from a truncated negative binomial law (`gamma` and
    `shape`) or from a Poisson law (`poisson`), and `run` lists all that one run does with the data, its score included.
    `private_selection` makes the ledger of such a selection.

    Parameters
    ----------
    what : str
        The released quantity, in the words of its paper.
    run : Ledger
        What one run does.
    gamma : float, optional
        Parameter of the negative binomial law, in (0, 1). Either this one or `poisson` is given.
    shape : float
        Other parameter of that law, -1 < shape < inf: 1 is geometric of mean 1/gamma, 0 logarithmic.
    poisson : float, optional
        Mean of the Poisson law, 0 < poisson < inf; where there is no run, nothing is released.

    Raises
    ------
    ParameterError
        For both of `gamma` and `poisson` or none of them, a gamma outside (0, 1), a mean that is not positive and
        finite, and a shape that is not finite and above -1.

    Notes
    -----
    Papernot, Steinke 2022, Theorems 2 and 6.

    Examples
    --------
    One training with Gaussian noise, and the best of ten on average:

    >>> from dpverify import account
    >>> from dpverify.ledger import gaussian, Ledger, Selected
    >>> run = gaussian(sigma=4.0, sensitivity=1.0)
    >>> [round(account(each, delta=1e-6), 2) for each in (run, Ledger(Selected(run=run, gamma=0.1)))]
    [1.06, 2.27]
    """

    run: Ledger
    gamma: float | None = None
    shape: float = 1.0
    poisson: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.gamma is None) == (self.poisson is None):
            raise ParameterError("gamma, poisson", (self.gamma, self.poisson), "one of them, not both")
        if self.gamma is not None:
            require.open_unit(gamma=self.gamma)
        if self.poisson is not None:
            require.positive(poisson=self.poisson)
        if not -1 < self.shape < math.inf:
            raise ParameterError("shape", self.shape, "above -1 and finite")


@dataclass(frozen=True, kw_only=True)
class Filtered(Event):
    """A run chooses its noise by what it released before and stops before its sum of losses exceeds the budget.

    Must hold: each step is rho_t-zCDP (mu_t-GDP by Gaussian noise, eps_t-DP) with a parameter that is fixed by what was
    released before, and sum rho_t (sum mu_t^2, sum eps_t) never exceeds that of `budget`. Then the budget itself holds.
    A ledger that is read off such a run must be filed under it: composing its steps would fix in advance what was not.
    See `odometer_eps` for a guarantee at every time.

    Parameters
    ----------
    what : str
        The released quantity, in the words of its paper.
    budget : ZCDP, GaussianDP or PureDP
        What the run never exceeds. An account under another relation than that of the budget is an error.

    Raises
    ------
    ParameterError
        For a budget of any other kind.

    Notes
    -----
    Feldman, Zrnic 2021 and Whitehouse, Ramdas, Rogers, Wu 2023 for rho and eps; Smith, Thakurta 2022 and Koskela,
    Tobaben, Honkela 2023 for Gaussian steps and mu.

    Examples
    --------
    >>> from dpverify import account, ZCDP
    >>> from dpverify.ledger import Filtered, Ledger
    >>> round(account(Ledger(Filtered(budget=ZCDP(0.5))), delta=1e-6), 3)
    5.222
    """

    budget: Claim

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.budget, ZCDP | GaussianDP | PureDP):
            raise ParameterError("budget", self.budget, "a ZCDP, GaussianDP or PureDP claim")
