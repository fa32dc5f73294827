"""DP-Nash-VI, Theorems 4.1, 4.2, 5.2 and 5.5, where they say something: kept; broken where rewards are costs.

Runs are of a matrix game, 6,000 users and hardly any noise: the smallest at which the bounds with constants of 1 are
below what the worst pair of policies would have. The rate of the output is asked of plans from up to 1e14 visits of
every cell, where the noise of `Local` at eps = 1 begins to leave room; broken by an E that grows as K does.
"""

from collections.abc import Callable
from typing import Any

from algorithms.nash_vi.learner import error_of, NashVI
from algorithms.nash_vi.markov_games import matrix_game, random_game
from algorithms.nash_vi.regret_promises import rate_promise, selfplay_promise
from audits.papers import NASH_VI
from dpverify import Subject
from dpverify.promises import BROKEN, Promise
from mechanisms.privatizers.central import Central
from mechanisms.privatizers.local import Local
from mechanisms.privatizers.no_privacy import NoPrivacy
from mechanisms.privatizers.protocol import OnlinePrivatizer

USERS, BETA = 6_000, 0.1
DENSE = (10**8, 10**10, 10**12)
game = matrix_game([[0.0, 0.5], [0.5, 1.0]])  # the second row and the first column, and ties go to the first row
steps = random_game(0, 2, 2, 2, 2)


def runs(name: str, privatizer: OnlinePrivatizer, *, costs: bool = False, **options: Any) -> Promise:
    """`costs`: rewards are taken for costs."""
    rewards = 1 - game.rewards if costs else game.rewards
    error = error_of(privatizer, BETA)
    learner = NashVI(layout=game.layout, rewards=rewards, episodes=USERS, error=error, beta=BETA)
    trials = 10 if costs else 96
    settings: dict[str, Any] = {"trials": trials, "paper": NASH_VI, "expected": BROKEN if costs else "KEPT", **options}
    return selfplay_promise(game, learner, privatizer, name=name, **settings)


def rate(name: str, visits: tuple[int, int, int], error: Callable[[int], float], **options: Any) -> Promise:
    """`error(K)` is E."""

    def planner(users: int) -> NashVI:
        return NashVI(layout=steps.layout, rewards=steps.rewards, episodes=users, error=error(users), beta=BETA)

    settings: dict[str, Any] = {"trials": 96, "paper": NASH_VI, **options}
    return rate_promise(steps, planner, visits, name=name, **settings)


def central_error(users: int) -> float:
    return error_of(Central.corrected(1.0, steps.layout, users, releases=users - 1, fixed_start=True), BETA)


def local_error(users: int) -> float:
    return error_of(Local.corrected(1.0, steps.layout, users=users), BETA)


plain = NoPrivacy(layout=game.layout)
central = Central.corrected(2e4, game.layout, USERS, releases=USERS - 1)
local = Local.corrected(2e5, game.layout, users=USERS)
REGRET = "Theorem 4.1 as (49), powers of iota of (46) and (48), constants of 1"
OUTPUT = "Theorem 4.2 as (50), with the bound of (49)"
RATE = "the gap of the output falls as 1/sqrt K up to iota^2, at three K, of plans from dense counts"

subjects: list[Subject] = []  # what is private about DP-Nash-VI stands in audit_nash_vi
promises = [
    runs("regret-nash", plain, statement=REGRET),
    runs("regret-nash, rewards as costs", plain, costs=True, statement=REGRET),
    runs("output-nash", plain, output=True, statement=OUTPUT),
    runs("output-nash, rewards as costs", plain, costs=True, output=True, statement=OUTPUT),
    runs("regret-nash, central", central, statement="Theorem 5.2, eps = 2e4; " + REGRET),
    runs("regret-nash, local", local, statement="Theorem 5.5, eps = 2e5; " + REGRET),
    rate("rate-nash, no noise", (10**6, 10**8, 10**10), lambda _: 0.0, statement="Theorem 4.2: " + RATE),
    rate("rate-nash, central", DENSE, central_error, statement="Theorem 5.2, eps = 1: " + RATE),
    rate("rate-nash, local", (10**12, 10**13, 10**14), local_error, statement="Theorem 5.5, eps = 1: " + RATE),
    rate("rate-nash, E = K/1e5", DENSE, lambda users: users / 1e5, expected=BROKEN, statement=RATE),
]
