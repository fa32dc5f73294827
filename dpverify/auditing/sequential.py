"""A sequential audit: trials until the claim falls, until it hardly can, or until the budget is spent."""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from dpverify.auditing.finding import Finding, finding_from_attack, Request
from dpverify.base.rounding import digits_up
from dpverify.claims.claim import Claim, WholeProfile
from dpverify.evidence import betting
from dpverify.evidence.attack import Judged
from dpverify.evidence.betting import abstain, eps_grid, FIRST_LOOK, FOLLOWING_EXACT, FOLLOWING_LEARNED, LOOK
from dpverify.evidence.bettor import Bettor, judged_by, Unjudged
from dpverify.evidence.lower_bound import LowerBound
from dpverify.evidence.scores.model_selection import fit_score
from dpverify.evidence.tally import Working
from dpverify.execution.executors import ordered_map
from dpverify.trials.collect import Experiment, FIRST_GRAIN, Grain, select, wagered, workers

REFIT = 1.5
MOST_FITTED = 1 << 17  # trials; more teach little and have to be held in memory
MOST_FITTED_ITEMS = 1 << 23
EXACT_DRAWS = 1 << 14  # with the exact score: they only place the levels, on top of the budget
FUTILE_FROM = 0.1  # share of the budget after which an audit may be given up
FAST_GRAIN = 4096  # trials of a vectorised target that are not split: a grain more costs as much as many trials
MOST_CONVERTED = 8  # looks that are told in the unit of the claim
LEAST_NUMBER = 2.0**-40  # claimed numbers are searched above this
PIECES = 4  # grains of a look, where it is large enough: for workers


def wager(experiment: Experiment, request: Request) -> Finding:
    """Runs the trials; the bound is the lower end of a confidence sequence at the moment of stopping."""
    claim, significance = request.claim, request.significance
    grid = eps_grid(claim.eps)
    following = FOLLOWING_EXACT if request.exact else FOLLOWING_LEARNED
    fits = MOST_FITTED_ITEMS // max(1, experiment.form.items)
    most = 0 if request.exact else max(1024, min(MOST_FITTED, fits))
    fit = partial(fit_score, request.score, experiment.target, experiment.pair)
    bettor = Bettor(claim, fit=fit, following=following, refit=REFIT, most=most, horizon=request.trials, grid=grid)
    selection = max(64, min(EXACT_DRAWS, fits)) if request.exact else 0
    if request.exact:  # the score is known: its levels are placed, and no more is learned
        probe = select(experiment, selection, jobs=request.jobs, backend=request.backend)
        bettor.settle(fit(probe), probe.first)
    process, why, blocks = bettor.process, "budget spent", 0
    course: list[tuple[int, float]] = []
    for sizes in _looks(experiment, request):
        for size, part, held in _judged(experiment, request, bettor, blocks, sizes):
            bettor.bet(size, part, held)
            if request.progress is not None:
                request.progress(size)
        blocks += len(sizes)
        eps_lower = process.eps_lower(significance)
        course.append((process.trials, eps_lower))
        if eps_lower > claim.eps:
            why = "refuted"
            break
        left = request.trials - process.trials
        if process.trials >= FUTILE_FROM * request.trials and betting.futile(
            bettor.seen, process.log_wealth, left, claim.eps, claim.delta, significance
        ):
            why = "futile to go on"
            break
        bettor.learn()
    bettor.evidence.check()
    eps_lower = process.eps_lower(significance)
    detectable = digits_up(bettor.detectable_eps(significance, request.power, exact=request.exact))
    total = bettor.total
    bound = LowerBound(
        eps_lower=eps_lower,
        number_lower=in_own_unit(claim, eps_lower),
        detectable=_implying(claim, detectable),
        detectable_eps=detectable,
        test="betting",
        right=int(total.right.sum()),
        wrong=int(total.wrong.sum()),
        p_value=process.p_value,
        log10_p_value=process.log10_p_value,
        e_value=process.e_value,
        working=Working.of(total, grid=tuple(grid.tolist()), following=following, bets=tuple(bettor.bets)),
    )
    shares = np.cumsum(total.wrong) / process.trials, np.cumsum(total.right) / process.trials
    return finding_from_attack(
        bound,
        bettor.attack or abstain(request.trials).attack,
        bettor.evidence,
        trials=process.trials,
        selection=selection,
        curve=tuple(zip(shares[0].tolist(), shares[1].tolist(), strict=True)),
        course=tuple(course),
        number_course=tuple(_number_course(claim, course)),
        notes=(f"sequential: stopped after {process.trials} of {request.trials} trials, {why}",),
    )


def _judged(
    experiment: Experiment, request: Request, bettor: Bettor, done: int, sizes: list[int]
) -> Iterator[tuple[int, Judged | Unjudged, Grain | None]]:
    """The grains of one look, numbered from `done`, judged by the bettor's rule; with their trials if it keeps them."""
    blocks = list(enumerate(sizes, start=done))
    work = partial(wagered, experiment, partial(judged_by, bettor.attack), bettor.keeps)
    # one small grain is not worth a trip
    used = workers(sum(sizes), experiment.seconds, request.jobs, request.backend)
    jobs, backend = (used, request.backend) if len(blocks) > 1 else (1, "loky")
    for size, (part, held) in zip(sizes, ordered_map(work, blocks, jobs=jobs, backend=backend), strict=True):
        yield size, part, held


def _number_course(claim: Claim, course: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """A few looks in the unit of a claim about a whole profile, for plots: a conversion takes as long as many looks."""
    if not isinstance(claim, WholeProfile) or not course:
        return []
    step = max(1, math.ceil((len(course) - 1) / MOST_CONVERTED))
    return [(trials, in_own_unit(claim, eps, tolerance=1e-3)) for trials, eps in course[-1::-step][::-1]]


def in_own_unit(claim: Claim, eps_lower: float, tolerance: float = 1e-12) -> float:
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
    high = max(in_own_unit(claim, eps), math.ulp(0.0))
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
