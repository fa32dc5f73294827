"""`python -m algorithms.experiments users-needed`: from how many users on a theorem says anything (eps = 1 or rho = 1).

A bound on regret (suboptimality, bad episodes) says nothing where it is above what uniform actions lose: who learns
nothing keeps it as well. Each bound has the constants of its proof, or 1 where the paper names none, and the E that the
corrected noise has at eps = 1. Instances are those of the promises (`dpverify audit audits`), where the better action
is easy to tell.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

from algorithms.core.counting import layout_of
from algorithms.core.environments import Environment
from algorithms.nash_vi.learner import error_of, NashVI
from algorithms.nash_vi.markov_games import game_fork
from algorithms.nash_vi.regret_promises import regret_bound as nash_bound
from algorithms.nash_vi.regret_promises import uniform_gap as uniform_gap_of_game
from algorithms.offline.apvi import DPAPVI
from algorithms.offline.suboptimality_promises import apvi_bound, fork
from algorithms.pucb.learner import printed_error, PUCB
from algorithms.pucb.regret_promises import pucb_regret, pucb_suboptimal, uniform_gap
from algorithms.sdp_pe.batches import ShuffledBatches
from algorithms.sdp_pe.elimination import SDPPE
from algorithms.sdp_pe.promises import regret_bound as sdp_pe_bound
from dpverify.errors import ParameterError
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.privatizers.central import Central
from mechanisms.privatizers.local import Local
from mechanisms.privatizers.offline_tabular import OfflineTabularGaussian

EPS, BETA, ALPHA = 1.0, 0.1, 0.5
ARMS = Environment("two arms, .1 and .9", np.ones((1, 1, 2, 1)), np.array([[[0.1, 0.9]]]), np.ones(1))
GAP = 0.1


@dataclass(frozen=True)
class Guarantee:
    """A bound as a share of what uniform actions lose, as a function of the number of users.

    `share` is infinite where the theorem's conditions do not hold.
    """

    name: str
    instance: str
    privacy: str
    share: Callable[[int], float]

    def users(self) -> int | None:
        """The least number of users, to two digits, at which the share is below 1; None up to 1e18."""
        grid = [tenths * 10**power for power in range(18) for tenths in range(10, 100)]
        low, high = 0, len(grid)
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self.share(grid[middle]) < 1 else (middle + 1, high)
        return grid[low] if low < len(grid) else None


def guarantees() -> list[Guarantee]:
    """One row for each theorem whose bound has constants."""
    layout, game = layout_of(ARMS.model), game_fork()
    lost, lost_in_game = uniform_gap(ARMS.model), uniform_gap_of_game(game)

    def pucb(users: int) -> PUCB:
        return PUCB(layout=layout, episodes=users, error=printed_error(layout, users, EPS, BETA), beta=BETA)

    def nash(users: int, error: float) -> float:
        learner = NashVI(layout=game.layout, rewards=game.rewards, episodes=users, error=error, beta=BETA)
        return nash_bound(learner) / (users * lost_in_game)

    def central(users: int) -> float:
        privatizer = Central.corrected(EPS, game.layout, users, releases=users - 1, fixed_start=True)
        return nash(users, error_of(privatizer, BETA))

    def local(users: int) -> float:
        return nash(users, error_of(Local.corrected(EPS, game.layout, users=users), BETA))

    def sdp_pe(users: int) -> float:
        batches = ShuffledBatches(layout=layout, eps=EPS, beta=1e-3, delta=0.01, budget="calibrated")
        return sdp_pe_bound(SDPPE(layout=layout, episodes=users, delta=0.01), batches) / (users * lost)

    def apvi(users: int) -> float:
        model, sizes = fork(GAP), CountLayout(H=2, S=2, A=2)
        noise = OfflineTabularGaussian(layout=sizes, rho=1.0)
        planner = DPAPVI(layout=sizes, rewards=model.rewards, privatizer=noise, delta=BETA).planner
        everywhere = np.full((2, 2, 2), 0.5)
        try:
            bound = apvi_bound(model, everywhere, users, error=planner.error, iota=planner.log_term)
        except ParameterError:
            return float("inf")
        return bound / uniform_gap(model)

    forked = f"fork, better by {2 * GAP:g}"
    return [
        Guarantee(
            "PUCB, Theorem 4: regret", ARMS.name, "1-JDP", lambda users: pucb_regret(pucb(users)) / (users * lost)
        ),
        Guarantee(
            f"PUCB, Theorem 3: episodes worse by {ALPHA}",
            ARMS.name,
            "1-JDP",
            lambda users: 2 * pucb_suboptimal(pucb(users), ALPHA) / users,
        ),
        Guarantee("SDP-PE, Theorem 6: regret", ARMS.name, "(1, 0.001)-SDP", sdp_pe),
        Guarantee("DP-Nash-VI, Theorem 5.2: regret", "game, fork", "1-JDP", central),
        Guarantee("DP-Nash-VI, Theorem 5.5: regret", "game, fork", "1-LDP", local),
        Guarantee("DP-APVI, Theorem 3.4: suboptimality", forked, "1-zCDP", apvi),
    ]


def rows() -> list[tuple[str, str, str, str]]:
    """Theorem, instance, privacy, and the number of users."""
    found = []
    for each in guarantees():
        users = each.users()
        found.append((each.name, each.instance, each.privacy, "never" if users is None else f"{users:.1e}"))
    return found


def users_needed() -> None:
    """From how many users on each theorem's bound is below what uniform actions lose."""
    table = Table("theorem", "instance", "privacy", "users")
    for row in rows():
        table.add_row(*row)
    Console().print(table)
