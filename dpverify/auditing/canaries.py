"""A claim and ONE run of a training: canaries that were in or out by fair coins, and the scores that they got.

The tests and their proofs are in `evidence.single_run`; here it is looked at whether the file may be believed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from dpverify.auditing.finding import Finding, invalid, make_record, nothing, POWER
from dpverify.auditing.record import AuditRecord
from dpverify.base import require
from dpverify.claims.claim import Claim
from dpverify.claims.neighbours import Pair, Records, Relation, View
from dpverify.errors import InvalidTrials, ParameterError
from dpverify.evidence.lower_bound import LowerBound
from dpverify.evidence.single_run import certify_one_run, counted, FEWEST, guess_counts
from dpverify.evidence.tally import Tally

SCORE = "one run"
UNFAIR = 1e-6  # coins with a smaller p-value were not fair
MOST_MISSING = 0.01  # share of scores that are no finite numbers


def one_run(
    included: Any,
    scores: Any,
    *,
    claim: Claim,
    second: Any = None,
    groups: Sequence[Any] | None = None,
    significance: float = 0.05,
    name: str = "one run",
) -> AuditRecord:
    """Test a privacy claim on one run of a training, or of any mechanism, that saw each of m canaries or did not.

    Before the run a fair coin is thrown for each canary, independently, and says whether it is among the data.
    Afterwards each canary gets a score; larger says more likely included. How it is scored does not matter, as long as
    nobody looks at the coins. Nothing else is assumed: canaries may interfere, and their scores depend on all coins.

    Parameters
    ----------
    included : array of shape (m,)
        0 or 1 (or booleans): the coins.
    scores : array of shape (m,)
        Any numbers. NaN and infinite ones abstain.
    claim : Claim
        About adding or removing one canary, or with `second` about replacing one: the relation is what the canaries
        are, whatever the claim says.
    second : array of shape (m,), optional
        Canaries come in pairs, of which one was used: `scores` are those of the first, used where `included` is 1, and
        these are those of the second.
    groups : sequence of length m, optional
        Which checkpoint or attack a row belongs to. They share the significance equally (Bonferroni); the record is
        that of the most telling one.
    significance : float
        Probability with which the bound may exceed the truth.
    name : str
        How the record calls it.

    Returns
    -------
    AuditRecord
        Its trials are the canaries of the group. INVALID where no bound may be computed: only 0s or only 1s, coins
        that a binomial test refuses at 1e-6, several rows a canary (coins that repeat themselves, or groups of equal
        scores with one coin each: ids of the canaries would be needed), more than 1 % of the scores missing.
        INCONCLUSIVE with fewer than 16 canaries, or where all scores are equal.

    Raises
    ------
    ParameterError
        For arrays that are not of one length, coins that are not 0 or 1, scores that are no numbers, or no claim.

    References
    ----------
    Steinke, Nasr, Jagielski 2023, Theorem 5.2; Mahloujifar, Melis, Chaudhuri 2024; see `evidence.single_run`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpverify import ApproxDP, one_run
    >>> rng = np.random.default_rng(1)
    >>> included = rng.random(1000) < 0.5
    >>> scores = included + rng.normal(scale=0.5, size=1000)  # a sensitivity of 1, and half of it as noise
    >>> record = one_run(included, scores, claim=ApproxDP(1.0, 1e-5))
    >>> str(record.verdict), record.eps_lower > 2
    ('REFUTED', True)
    """
    started = perf_counter()
    if not isinstance(claim, Claim):
        raise ParameterError("claim", claim, "a claim such as ApproxDP(8, 1e-5)")
    require.open_unit(significance=significance)
    coins, evidence = _coins(included), _numbers("scores", scores)
    claim = replace(claim, relation=Relation.ADD_OR_REMOVE_ONE, view=View.CENTRAL)
    pair = Pair(Records(["canary"]), Records([]), name="one canary more or less")
    if second is not None:
        claim = replace(claim, relation=Relation.REPLACE_ONE)
        pair = Pair(Records(["first"]), Records(["second"]), name="one canary instead of another")
        others = _same_length("second", _numbers("second", second), coins.size)
        with np.errstate(invalid="ignore"):
            evidence = _same_length("scores", evidence, coins.size) - others
    _same_length("scores", evidence, coins.size)
    label = (
        np.zeros(coins.size, dtype=object) if groups is None else np.array([str(each) for each in groups], dtype=object)
    )
    _same_length("groups", label, coins.size)
    found = _judged(coins, evidence, label, claim, significance)
    return make_record(
        _Canaries(name),  # type: ignore[arg-type]  # it only lends its name: nothing is released
        claim,
        claim.check(pair),
        found,
        None,
        significance=significance,
        seed=0,
        budget=coins.size,
        seconds=perf_counter() - started,
    )


@dataclass(frozen=True)
class _Canaries:
    name: str


def _judged(
    coins: npt.NDArray[np.bool_], scores: npt.NDArray[np.float64], label: npt.NDArray[Any], claim: Claim, level: float
) -> Finding:
    """Every group at its share; the finding of the one that certifies most."""
    names = list(dict.fromkeys(label.tolist()))
    best: tuple[LowerBound, Tally, str] | None = None
    notes: list[str] = []
    for name in names:
        rows, of = label == name, f" of group {name}" if len(names) > 1 else ""
        try:
            if why := _too_little(coins[rows], scores[rows]):
                notes.append(why + of)
                continue
        except InvalidTrials as error:
            return invalid(f"{error}{of}", sequential=False)
        shares = guess_counts(int(rows.sum()))
        tally = counted(coins[rows], scores[rows], shares)
        events = tuple((k, share / len(names)) for k, share in enumerate(shares.values(), start=1))
        bound = certify_one_run(tally, claim, events, level, POWER)
        if best is None or (bound.number_lower, -bound.log10_p_value) > (best[0].number_lower, -best[0].log10_p_value):
            best = bound, tally, name
    if best is None:
        return replace(nothing(), score=SCORE, notes=tuple(notes))
    bound, tally, name = best
    if len(names) > 1:
        notes.append(f"{len(names)} groups share the significance; the record is that of {name}, which certifies most")
    if missing := int((~np.isfinite(scores)).sum()):
        notes.append(f"{missing} scores are no finite numbers: these canaries abstain")
    if tied := _tied(scores[label == name], sum(tally.right) + sum(tally.wrong)):
        notes.append(
            f"{tied} canaries have equal scores where guesses end: coins of the audit's own say which are guessed"
        )
    notes.append("the coins are taken as fair and independent, and the scores as made without a look at them")
    right, wrong = np.cumsum(tally.right), np.cumsum(tally.wrong)
    half = (bound.right + bound.wrong) // 2
    return Finding(
        bound=bound,
        score=SCORE,
        witness=f"in for the {half} largest scores, out for the {half} smallest",
        one_sided=False,
        turned=False,
        trials=tally.trials,
        selection=0,
        curve=tuple(zip((wrong / tally.trials).tolist(), (right / tally.trials).tolist(), strict=True)),
        course=(),
        failed=({}, {}),
        mostly_failed=False,
        notes=tuple(notes),
        working=None
        if bound.working is None
        else replace(bound.working, blocks=((0, tally.trials, int(right[-1]), int(wrong[-1])),)),
    )


def _tied(scores: npt.NDArray[np.float64], guesses: int) -> int:
    """Canaries with the score at which the largest number of guesses ends, on either side; 0 where nothing is cut."""
    ranked, half = np.sort(scores[np.isfinite(scores)]), int(guesses) // 2
    if not 0 < half < len(ranked):
        return 0
    cuts = ((ranked[half - 1], ranked[half]), (ranked[-half], ranked[-half - 1]))
    return int(np.isin(scores, [end for end, beyond in cuts if end == beyond]).sum())


def _too_little(coins: npt.NDArray[np.bool_], scores: npt.NDArray[np.float64]) -> str:
    """Why nothing can be said, or empty; InvalidTrials where nothing may be."""
    m, ones, missing = coins.size, int(coins.sum()), int((~np.isfinite(scores)).sum())
    if m < FEWEST:
        return f"{m} canaries, and fewer than {FEWEST} show nothing"
    if ones in (0, m):
        raise InvalidTrials("COINS", f"all {m} canaries are {'in' if ones else 'out'}: no fair coins decided")
    if (p := float(scipy.stats.binomtest(ones, m).pvalue)) < UNFAIR:
        raise InvalidTrials("COINS", f"{ones} of {m} canaries are in: fair coins do that with probability {p:.1g}")
    if period := _period(coins):
        raise InvalidTrials(
            "COINS", f"the coins of {m} canaries repeat {period} of them: a canary is one row of a group"
        )
    if missing > MOST_MISSING * m:
        raise InvalidTrials("SCORES", f"{missing} of {m} scores are no finite numbers, more than {MOST_MISSING:.0%}")
    if rows := _rows_of_canaries(coins, scores):
        told = f"rows of one score have one coin, and every score has {rows} rows or a multiple of it"
        raise InvalidTrials(
            "COINS",
            f"{told}: several rows a canary, in some order. Without ids of the canaries they "
            "cannot be told apart: give one row for each canary",
        )
    found = scores[np.isfinite(scores)]
    return f"all {m} scores are equal" if (found == found[0]).all() else ""


def _period(coins: npt.NDArray[np.bool_]) -> int:
    """How many coins there are, if the others only repeat them, all in turn or each at once; 0: they do not.

    Fair coins do that with probability 2^-(m - period), here at most 2^-20. Rows may be sorted by their coins.
    """
    m = coins.size
    if np.count_nonzero(coins[1:] != coins[:-1]) < 2:
        return 0
    for period in (p for p in range(1, m // 2 + 1) if m % p == 0 and m - p >= 20):
        at_once = coins.reshape(period, -1)
        if (coins[period:] == coins[:-period]).all() or (at_once == at_once[:, :1]).all():
            return period
    return 0


def _rows_of_canaries(coins: npt.NDArray[np.bool_], scores: npt.NDArray[np.float64]) -> int:
    """How many rows a canary has, where rows with equal scores are those of one canary; 0: that is not seen.

    At least FEWEST scores, each of them k times or a multiple of it with k > 1, and rows of one score have one coin: of
    distinct canaries fair coins do that with probability at most 2^-(m - scores), here at most 2^-16, unless scores
    tell the coins, and then they would have to come in equal numbers.
    """
    _, which, times = np.unique(scores, return_inverse=True, return_counts=True)
    least = int(times.min())
    if len(times) < FEWEST or least < 2 or (times % least).any():
        return 0
    ones = np.bincount(which, weights=coins)
    return least if ((ones == 0) | (ones == times)).all() else 0


def _coins(included: Any) -> npt.NDArray[np.bool_]:
    coins = _numbers("included", included)
    if not np.isin(coins, (0.0, 1.0)).all() or not coins.size:
        raise ParameterError("included", included, "0 or 1 for each canary")
    return np.asarray(coins == 1, dtype=np.bool_)


def _numbers(name: str, values: Any) -> npt.NDArray[np.float64]:
    try:
        found = np.asarray(values)
        if found.dtype.kind in "biuf" or found.dtype == object:
            found = found.astype(np.float64)
        if isinstance(values, np.ma.MaskedArray):  # what is hidden is missing, whatever lies below
            found = np.where(np.ma.getmaskarray(values), np.nan, found)
    except (TypeError, ValueError, OverflowError):
        found = np.zeros((0, 0))
    if found.ndim != 1 or found.dtype != np.float64:
        raise ParameterError(name, values, "numbers, one for each canary")
    return found


def _same_length(name: str, values: npt.NDArray[Any], length: int) -> npt.NDArray[Any]:
    if values.size != length:
        raise ParameterError(name, f"{values.size} values", f"{length} values, as many as coins")
    return values
