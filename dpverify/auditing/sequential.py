"""A sequential audit: trials until the claim falls, until it hardly can, or until the budget is spent.

Nothing is held back for learning. Trials arrive in blocks; a block is wagered on with a rule that was settled
before it was drawn, and then joins the trials that later rules are learned from. Whatever the rule and
whenever the audit stops, a true claim is refuted with probability at most the significance.
"""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
import numpy.typing as npt

from dpverify.auditing.finding import Finding, found, Request
from dpverify.base.rounding import digits_up
from dpverify.claims.claim import Claim, WholeProfile
from dpverify.evidence import betting
from dpverify.evidence.attack import Attack, Evidence, Failed, failures, Judged, judged
from dpverify.evidence.betting import (
    abstain,
    EProcess,
    eps_grid,
    FIRST_FIT,
    FIRST_LOOK,
    FOLLOWING_EXACT,
    FOLLOWING_LEARNED,
    informative_fraction,
    LEVELS,
    LOOK,
    no_guesses,
    ranked_levels,
    RankedLevels,
)
from dpverify.evidence.lower_bound import LowerBound
from dpverify.evidence.scores.model_selection import fit_score, Fitted
from dpverify.evidence.tally import Bet, Tally, Working
from dpverify.execution.executors import ordered_map
from dpverify.trials.collect import (
    Experiment,
    FIRST_GRAIN,
    Grain,
    past_trials,
    select,
    SelectionTrials,
    wagered,
    workers,
)

REFIT = 1.5
MOST_FITTED = 1 << 17  # trials; more teach little and have to be held in memory
MOST_FITTED_ITEMS = 1 << 23
EXACT_DRAWS = 1 << 14  # with the exact score: they only place the levels, on top of the budget
FUTILE_FROM = 0.1  # share of the budget after which an audit may be given up
FAST_GRAIN = 4096  # trials of a vectorised target that are not split: a grain more costs as much as many trials
MOST_CONVERTED = 8  # looks that are told in the unit of the claim
LEAST_NUMBER = 2.0**-40  # claimed numbers are searched above this
PIECES = 4  # grains of a look, where it is large enough: for workers

Unjudged = tuple[tuple[int, int], Failed, frozenset[str]]  # sizes, failures and their protocol, before there is a rule


def wager(experiment: Experiment, request: Request) -> Finding:
    """Runs the trials; the bound is the lower end of a confidence sequence at the moment of stopping."""
    claim, significance = request.claim, request.significance
    grid = eps_grid(claim.eps)
    following = FOLLOWING_EXACT if request.exact else FOLLOWING_LEARNED
    process = EProcess(claim_eps=claim.eps, delta=claim.delta, levels=LEVELS, predictive=following, grid=grid)
    learner = _Learner(experiment, request)
    total, why = no_guesses(), "budget spent"
    course: list[tuple[int, float]] = []
    bets: list[Bet] = []
    for sizes in _looks(experiment, request):
        rule = learner.rule
        for size, tally in learner.run(sizes):
            # without a rule, too few trials to say anything: no guess, no stake
            predicted = np.full(LEVELS, 0.5) if rule is None else rule.updated(learner.seen, claim.eps)
            process.update(no_guesses(size) if rule is None else tally, predicted=predicted)
            bets.append(Bet.of(no_guesses(size) if rule is None else tally, predicted))
            learner.count(tally)
            total += tally
            if request.progress is not None:
                request.progress(size)
        eps_lower = process.eps_lower(significance)
        course.append((process.trials, eps_lower))
        if eps_lower > claim.eps:
            why = "refuted"
            break
        left = request.trials - process.trials
        if process.trials >= FUTILE_FROM * request.trials and betting.futile(
            learner.seen, process.log_wealth, left, claim.eps, claim.delta, significance
        ):
            why = "futile to go on"
            break
        learner.learn()
    learner.evidence.check()
    attack = abstain(request.trials).attack if learner.rule is None else learner.rule.attack
    eps_lower = process.eps_lower(significance)
    detectable = digits_up(
        betting.sequential_detectable_eps(
            trials=process.trials,
            guess_fraction=informative_fraction(attack.expected, claim.delta),
            claim_eps=claim.eps,
            delta=claim.delta,
            significance=significance,
            power=request.power,
            exact=request.exact,
        )
    )
    bound = LowerBound(
        eps_lower=eps_lower,
        number_lower=_in_own_unit(claim, eps_lower),
        detectable=_implying(claim, detectable),
        detectable_eps=detectable,
        test="betting",
        right=int(total.right.sum()),
        wrong=int(total.wrong.sum()),
        p_value=process.p_value,
        log10_p_value=process.log10_p_value,
        e_value=process.e_value,
        working=Working.of(total, grid=tuple(grid.tolist()), following=following, bets=tuple(bets)),
    )
    shares = np.cumsum(total.wrong) / process.trials, np.cumsum(total.right) / process.trials
    return found(
        bound,
        attack,
        learner.evidence,
        trials=process.trials,
        selection=learner.extra,
        curve=tuple(zip(shares[0].tolist(), shares[1].tolist(), strict=True)),
        course=tuple(course),
        number_course=tuple(_number_course(claim, course)),
        notes=(f"sequential: stopped after {process.trials} of {request.trials} trials, {why}",),
    )


class _Learner:
    """Holds past trials and the rule that they recommend."""

    def __init__(self, experiment: Experiment, request: Request) -> None:
        self.experiment, self.request = experiment, request
        self.rule: RankedLevels | None = None
        self.seen = no_guesses()  # guesses of the current rule
        self.evidence = Evidence()
        self._held: list[Grain] = []
        self._trials = self._fitted = 0
        self._index = 0
        most = MOST_FITTED_ITEMS // max(1, experiment.form.items)
        self._most = max(1024, min(MOST_FITTED, most))
        self._keeps = not request.exact
        self.extra = max(64, min(EXACT_DRAWS, most)) if request.exact else 0
        if request.exact:
            probe = select(experiment, self.extra, jobs=request.jobs, backend=request.backend)
            self._settle(self._fit(probe), probe.first)

    def run(self, sizes: list[int]) -> Iterator[tuple[int, Tally]]:
        """Tallies of the grains of one look under the current rule."""
        blocks = [(self._index + i, size) for i, size in enumerate(sizes)]
        self._index += len(blocks)
        attack = None if self.rule is None else self.rule.attack
        work = partial(wagered, self.experiment, partial(_judged, attack), self._keeps)
        # one small grain is not worth a trip
        used = workers(sum(sizes), self.experiment.seconds, self.request.jobs, self.request.backend)
        jobs, backend = (used, self.request.backend) if len(blocks) > 1 else (1, "loky")
        for (_, size), (part, held) in zip(blocks, ordered_map(work, blocks, jobs=jobs, backend=backend), strict=True):
            if held is not None:
                self._held.append(held)
            self._trials += size
            if isinstance(part, Judged):
                self.evidence.add(part, self.rule)
                yield size, part.tally
            else:
                self.evidence.count(*part)
                yield size, no_guesses(size)

    def count(self, tally: Tally) -> None:
        """Remembers how the current rule fared."""
        self.seen = self.seen + tally

    def learn(self) -> None:
        """A new rule from all past trials, where they have grown enough; it is for later blocks."""
        if not self._keeps or self._trials < max(FIRST_FIT, REFIT * self._fitted):
            return
        past = past_trials(self._held)
        self._fitted = len(past)
        self._keeps = self._trials < self._most
        if past.first.all() or not past.first.any():
            return
        self._settle(self._fit(past), past.first)
        if not self._keeps:
            self._held = []

    def _fit(self, trials: SelectionTrials) -> Fitted:
        return fit_score(self.request.score, self.experiment.target, self.experiment.pair, trials)

    def _settle(self, fitted: Fitted, first: npt.NDArray[np.bool_]) -> None:
        self.rule = ranked_levels(fitted, first, self.request.trials)
        self.seen = no_guesses()


def _judged(attack: Attack | None, grain: Grain) -> Judged | Unjudged:
    if attack is not None:
        return judged(attack, grain)
    heads = int(np.count_nonzero(grain.first))
    return (heads, len(grain) - heads), failures(grain), grain.failing


def _number_course(claim: Claim, course: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """A few looks in the unit of a claim about a whole profile, for plots: a conversion takes as long as many looks."""
    if not isinstance(claim, WholeProfile) or not course:
        return []
    step = max(1, math.ceil((len(course) - 1) / MOST_CONVERTED))
    return [(trials, _in_own_unit(claim, eps, tolerance=1e-3)) for trials, eps in course[-1::-step][::-1]]


def _in_own_unit(claim: Claim, eps_lower: float, tolerance: float = 1e-12) -> float:
    """The largest claimed number (eps, rho, mu or factor), from below, that implies no more than `eps_lower`.

    0 where even the smallest number of its kind implies more, as with Renyi divergences of few orders.
    """
    if not isinstance(claim, WholeProfile):
        return eps_lower
    if not eps_lower > 0:
        return 0.0
    low, high = 0.0, claim.number
    while claim.with_number(high).eps <= eps_lower:
        low, high = high, 2 * high
    while high - low > tolerance * high and high > LEAST_NUMBER:
        middle = (low + high) / 2
        low, high = (middle, high) if claim.with_number(middle).eps <= eps_lower else (low, middle)
    return low


def _implying(claim: Claim, eps: float) -> float:
    """The smallest claimed number, from above and to four digits, that implies `eps` at the claim's delta."""
    if not isinstance(claim, WholeProfile) or eps == math.inf:
        return eps
    high = max(_in_own_unit(claim, eps), math.ulp(0.0))
    while claim.with_number(high).eps < eps:
        high *= 1 + 1e-9
    return digits_up(high)


def _looks(experiment: Experiment, request: Request) -> Iterator[list[int]]:
    """Sizes of the grains between two looks: fixed by the budget, the target's largest grain and whether it loops."""
    floor, done = FIRST_GRAIN if hasattr(experiment.target, "attempts") else FAST_GRAIN, 0
    while done < request.trials:
        goal = min(request.trials, max(done + FIRST_LOOK, math.ceil(LOOK * done)))
        most = min(experiment.largest, max(floor, math.ceil((goal - done) / PIECES)))
        sizes = []
        while done < goal:
            sizes.append(min(most, goal - done))
            done += sizes[-1]
        yield sizes
