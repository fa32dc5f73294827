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
    """A step for which one pair of laws on the line is enough.

    Must hold: for every pair of neighbours under `relation`, and whatever was released before, the outputs of the step
    are no easier to tell apart than p from q, or than q from p: delta(eps) is at most that of the pair at every eps
    (Zhu, Dong, Wang 2022, Definition 7; such pairs compose, Theorem 10). `directed` says that the first of the two
    datasets, in the order that is common to the whole ledger, has p.

    >>> from dpverify.ledger.laws import LaplaceLaw, Truncated
    >>> p, q = (Truncated(LaplaceLaw(at, 1.0), at - 20.0, at + 20.0) for at in (0.0, 1.0))
    >>> DominatingPair(p=p, q=q, relation=Relation.REPLACE_ONE).directed
    False
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
    """`inside` is run on `sampled` of the `of` users, drawn without replacement, all subsets equally likely.

    Only under replace-one: `inside` must state its sensitivity under it, also for a dataset of `sampled` users
    (Balle, Barthe, Gaboardi 2018, Theorem 2; proof in `sampled_losses`). Under add/remove the number of users, and
    with it the law of the subset, would change.
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
    """A step whose log ratios of one pair of neighbours all lie in an interval of length `eps` (Durfee, Rogers 2019).

    The exponential mechanism with weights e^(eps u/(2s)), s the movement of a score: log ratios are
    (u - u') eps/(2s) in [-eps/2, eps/2], minus one and the same log of a ratio of sums. Noisy max with Gumbel noise of
    scale 2s/eps is that mechanism. Permute-and-flip, sparse vector and noisy max with Laplace noise are not.
    """

    eps: float
    uses: Sensitivity  # how many such steps a change of one user reaches: shifts of size 1

    def __post_init__(self) -> None:
        super().__post_init__()
        require.positive(eps=self.eps)


@dataclass(frozen=True, kw_only=True)
class AboveThreshold(Event):
    """Sparse vector: which of many queries are above a public threshold, paying only for the first `count` that are.

    Answers, asked one after the other, are compared with a threshold: each has fresh Laplace noise of `query_scale`,
    the threshold has Laplace noise of `threshold_scale`. Only the outcomes of the comparisons are released, and the run
    stops at the `count`-th positive one. `sensitivity` states by how much any one answer moves, in how many such runs.

        eps = s/threshold_scale + 2 count s/query_scale         the threshold is drawn once for the run
        eps = count (s/threshold_scale + 2 s/query_scale)       `fresh`: it is drawn anew after each positive outcome
        no factor 2                                             `monotone`: between two neighbours all answers move in
                                                                one direction, if at all (counts under add/remove)
        and count s/value_scale more                            the true answers of positive outcomes are released with
                                                                fresh Laplace noise; never the noisy ones compared

    (Lyu, Su, Li 2017, Theorems 2, 4 and 5; Dwork, Roth 2014, Theorems 3.23 to 3.26.) Each is a sum over noises that
    move in the proof: the threshold's by s, that of each positive outcome by 2 s, or by s. Negative outcomes are free.
    Released values are Laplace noise of their own, asked between the comparisons: what is pure composes concurrently as
    it does one after the other (Vadhan, Wang 2021).

    >>> one = Sensitivity(replace=1)
    >>> AboveThreshold(threshold_scale=2.0, query_scale=12.0, count=3, sensitivity=one).largest_loss(Fraction(1))
    Fraction(1, 1)
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

    `users` reports; any local randomisers, chosen adaptively; one user's record is replaced (Feldman, McMillan, Talwar
    2021). Several rounds are `Ledger(step) * rounds`. Under add/remove the number of reports, which is public, changes:
    refused.
    """

    local_eps: float
    users: int

    def __post_init__(self) -> None:
        super().__post_init__()
        require.positive(local_eps=self.local_eps)
        require.integer(at_least=1, users=self.users)


@dataclass(frozen=True, kw_only=True)
class MatrixGaussian(Event):
    """C x + z is released, z of independent N(0, sigma^2), C = `strategy` lower triangular, one row of x a step.

    A user takes part in at most `participations` steps that are at least `separation` apart, and moves each of their
    rows by at most `movement` in l2. Then C x moves by at most movement times the square root of

        max over sets S of such steps of  sum over i, j in S of |(C^T C)_ij|,

    which is attained where C^T C >= 0 (Choquette-Choo, McMahan, Rush, Thakurta 2023). Rows of x may depend on what was
    released before (Denisov, McMahan, Rush, Smith, Thakurta 2022, Theorem 2.1). The maximum is exact where columns
    that far apart are orthogonal (banded C) or the search ends early; else the upper bound of the first part is
    charged.
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
    """The best of a random number of runs, by a score that is a part of what a run releases.

    Must hold: the number of runs is drawn apart from all data, from a truncated negative binomial law (`gamma` in
    (0, 1), `shape` > -1; 1 is geometric of mean 1/gamma, 0 logarithmic) or from a Poisson law (`poisson`, its mean;
    where there is no run, nothing is released), and `run` lists all that one run does with the data, its score
    included.
    Papernot, Steinke 2022, Theorems 2 and 6; see `private_selection`.
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
    """A run whose noise may depend on what it released, and that stops before its sum of losses exceeds the budget.

    Must hold: each step is rho_t-zCDP (mu_t-GDP by Gaussian noise, eps_t-DP) with a parameter that is fixed by what was
    released before, and sum rho_t (sum mu_t^2, sum eps_t) never exceeds that of `budget`. Then the budget itself holds:
    Feldman, Zrnic 2021 and Whitehouse, Ramdas, Rogers, Wu 2023 for rho and eps; Smith, Thakurta 2022 and Koskela,
    Tobaben, Honkela 2023 for Gaussian steps and mu. A ledger that is read off such a run must be filed under it:
    composing its steps would fix in advance what was not. See `odometer_eps` for a guarantee at every time.
    """

    budget: Claim

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.budget, ZCDP | GaussianDP | PureDP):
            raise ParameterError("budget", self.budget, "a ZCDP, GaussianDP or PureDP claim")
