"""What the ledgers of our implementations say of statements as printed: multiples of the claimed parameter."""

import math

from algorithms.pucb.learner import printed_counters
from dpverify import account, Relation
from dpverify.accounting import accountant
from mechanisms.counters.logbase import LogBase
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.privatizers.central import Central, Reading
from mechanisms.privatizers.linear_costs import appendix_features, StepCost
from mechanisms.privatizers.local import Local
from mechanisms.privatizers.offline_tabular import OfflineTabularGaussian, OfflineTabularLaplace
from mechanisms.privatizers.shuffle import Messages, number_of_changed_counters, Shuffle
from mechanisms.shuffling.bits import noise_for, threshold
from mechanisms.shuffling.integers import ShuffledIntegers
from mechanisms.shuffling.profile import log_sum_delta

LOGS = {"2": LogBase.TWO, "e": LogBase.E}


def local(horizon: int, states: int, choices: int, fixed_start: bool = False) -> float:
    """True eps of DP-Nash-VI's Local privatizer at a claimed eps of 1 (A1)."""
    layout = CountLayout(H=horizon, S=states, A=choices, B=1)
    return account(Local.as_printed(1.0, layout, fixed_start=fixed_start).ledger)


def pucb(episodes: int, log: str, releases: int | None = None) -> float:
    """True eps of PUCB's counters at a claimed eps of 1, H = 1, S = 2 (A2)."""
    layout = CountLayout(H=1, S=2, A=1, rewards=True)
    return account(printed_counters(layout, episodes, 1.0, log=LOGS[log], releases=releases or episodes).ledger)


def central(episodes: int, log: str, reading: str) -> float:
    """True eps of DP-Nash-VI's Central privatizer at a claimed eps of 1, K - 1 prefixes, free first state (A6)."""
    layout = CountLayout(H=2, S=2, A=2, B=1)
    which = Reading[reading.upper()]
    made = Central.as_printed(1.0, layout, episodes, reading=which, log=LOGS[log], releases=episodes - 1)
    return account(made.ledger)


def integers(users: int, eps: float, beta: float) -> float:
    """Least delta at which the multiset of integer messages is (eps, delta)-DP, from its ledger at any eps (A7)."""
    target = ShuffledIntegers(users=users, noise=noise_for(threshold(eps, beta), users))
    return 1.0 if math.isinf(account(target.ledger, delta=beta)) else 0.0


def bits_log10_delta(users: int, eps: float, beta: float) -> float:
    """log10 of the exact delta(eps) where every bit is shuffled by itself (A7)."""
    noise = noise_for(threshold(eps, beta), users)
    return log_sum_delta(noise.total(users), noise.probability, eps) / math.log(10)


def batch(eps: float, beta: float, users: int, messages: str = "bits") -> float:
    """True eps of SDP-PE's batch at delta = beta, as a share of the claimed eps; H = 1, two counters a step (A8)."""
    layout = CountLayout(H=1, S=2, A=1, rewards=True)
    target = Shuffle.journal(eps, beta, layout, users, messages=Messages[messages.upper()])
    return account(target.ledger, delta=beta) / eps


def moved_counters(horizon: int) -> float:
    """Counters that a replaced user moves in a batch, as a multiple of the H that the proof counts (A8)."""
    return number_of_changed_counters(CountLayout(H=horizon, S=2, A=2, rewards=True)) / horizon


def tabular_rho(horizon: int) -> float:
    """True rho of DP-APVI with Gaussian noise at a claimed rho of 1 (A10)."""
    target = OfflineTabularGaussian(layout=CountLayout(H=horizon, S=2, A=2), rho=1.0)
    return float(accountant.rho_upper(target.ledger, relation=Relation.REPLACE_ONE))


def tabular_eps(horizon: int) -> float:
    """True eps of DP-APVI with Laplace noise at a claimed eps of 1 (A10)."""
    return account(OfflineTabularLaplace(layout=CountLayout(H=horizon, S=2, A=2), eps=1.0).ledger)


def gram(half: bool = False) -> float:
    """Cost of one released Gram statistic over unit features as a multiple of rho_0 (A11)."""
    c, rho_0 = (0.5 if half else math.sqrt(0.5)), 1.0
    return float(StepCost.of([], [c / math.sqrt(rho_0)]).unit_ball_replace())


def linear_total(horizon: int, split: bool) -> float:
    """Cost of all of DP-VAPVI as a multiple of rho; unit features, c = 1/sqrt 2 (A11)."""
    total, rho_0 = 0.0, 1.0 / (5 * horizon)
    sigmas = [math.sqrt(2 * horizon**4 / rho_0), *2 * [math.sqrt(2 * horizon**2 / rho_0)]]
    grams = 2 * [math.sqrt(1 / (2 * rho_0))]
    for h in range(1, horizon + 1):
        left = horizon - h
        targets = list(zip((left**2, left, left + 1), sigmas, strict=True))
        halves = [(targets[:2], grams[:1]), (targets[2:], grams[1:])] if split else [(targets, grams)]
        total += max(float(StepCost.of(some, gram).unit_ball_replace()) for some, gram in halves)
    return total


def appendix_total(horizon: int = 20, scaled: bool = False) -> float:
    """Cost of DP-VAPVI on the features of Appendix F, un-split, as a multiple of rho (A12)."""
    features = appendix_features().reshape(-1, 10) / (math.sqrt(7) if scaled else 1.0)
    total, rho_0 = 0.0, 1.0 / (5 * horizon)
    sigmas = [math.sqrt(2 * horizon**4 / rho_0), *2 * [math.sqrt(2 * horizon**2 / rho_0)]]
    for h in range(1, horizon + 1):
        left = horizon - h
        targets = list(zip((left**2, left, left + 1), sigmas, strict=True))
        total += StepCost.of(targets, 2 * [math.sqrt(1 / (2 * rho_0))]).table_replace(features)
    return total
