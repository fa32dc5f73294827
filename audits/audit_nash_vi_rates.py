"""DP-Nash-VI, Theorems 4.1, 4.2, 5.2 and 5.5, where they say something: kept; broken by who learns nothing or wrongly.

Runs are of matrix games and hardly any noise: 12,000 users, so that the bounds with constants of 1 are below what
uniform play loses, and 20,000 of a game whose equilibrium is mixed. The rate of the output is asked of
plans from up to 1e14 visits of every cell, with noise of +-E/4 on every count; broken by an E that grows as K does.
"""

from collections.abc import Callable
from typing import Any

from algorithms.nash_vi.learner import error_of, NashVI
from algorithms.nash_vi.markov_games import game_fork, MarkovGame, matrix_game, random_game
from algorithms.nash_vi.regret_promises import rate_promise, regret_bound, selfplay_promise
from audits.papers import NASH_VI, unnamed
from audits.planted.nash_vi import (
    DataFree,
    MirroredStates,
    PlayersExchanged,
    PureMaximin,
    ReversedSteps,
    UniformPlay,
    Widened,
    WidenedByNoise,
)
from dpverify import Subject
from dpverify.promises import all_of, BROKEN, Promise
from mechanisms.privatizers.central import Central
from mechanisms.privatizers.local import Local
from mechanisms.privatizers.no_privacy import NoPrivacy
from mechanisms.privatizers.protocol import OnlinePrivatizer

USERS, BETA = 12_000, 0.1
LARGE, LARGER = (10**10, 10**12, 10**14), (10**12, 10**14, 10**16)
game = matrix_game([[0.0, 0.5], [0.5, 1.0]])  # the second row and the first column, and ties go to the first row
mixed = matrix_game([[1.0, 0.0], [0.0, 0.35]])  # both play the first with probability 7/27
steps = random_game(1, 2, 2, 2, 2)  # its equilibrium is mixed
forked = game_fork()


def runs(
    name: str,
    kind: Callable[..., NashVI] = NashVI,
    *,
    of: MarkovGame = game,
    privatizer: OnlinePrivatizer | None = None,
    costs: bool = False,
    **options: Any,
) -> Promise:
    """In a matrix game, where the rewards are known and so nothing is to be learnt but the equilibrium.

    `costs`: rewards are taken for costs.
    """
    source = NoPrivacy(layout=of.layout) if privatizer is None else privatizer
    learner = kind(
        layout=of.layout,
        rewards=1 - of.rewards if costs else of.rewards,
        episodes=USERS if of is game else 20_000,
        error=error_of(source, BETA),
        beta=BETA,
    )
    trials = 10 if options.get("expected") == BROKEN else 96
    return selfplay_promise(
        [of], learner, source, what="both", name=name, **{"trials": trials, "paper": NASH_VI, **options}
    )


def learns(name: str, kind: Callable[..., NashVI] = NashVI, **options: Any) -> Promise:
    """A fork and its mirror image: which action leads to what pays has to be learnt."""
    games = (forked, forked.mirrored)
    playing = kind(layout=forked.layout, rewards=forked.rewards, episodes=160_000, error=0.0, beta=0.25)
    settings: dict[str, Any] = {"trials": 15, "block": 15, "statement": LEARNT, "paper": NASH_VI, **options}
    return selfplay_promise(games, playing, NoPrivacy(layout=forked.layout), what="both", name=name, **settings)


def rate(
    name: str,
    kind: Callable[..., NashVI] = NashVI,
    *,
    visits: tuple[int, int, int] = LARGE,
    error: Callable[[int], float] = lambda users: 0.0,
    costs: bool = False,
    **options: Any,
) -> Promise:
    """`error(K)` is E; in a game, and in a fork and its mirror.

    In one of the two the gap of who reads no data is 1/2 at least, and so would be the width at the largest K.
    """

    def planner(where: MarkovGame) -> Callable[[int], NashVI]:
        rewards = 1 - where.rewards if costs else where.rewards
        return lambda users: kind(layout=where.layout, rewards=rewards, episodes=users, error=error(users), beta=BETA)

    power = options.pop("power", 0.5)
    parts = [
        rate_promise(where, planner(where), visits, power=power, name=where.name)
        for where in (steps, forked, forked.mirrored)
    ]
    trials = 12 if options.get("expected") == BROKEN else 60
    return all_of(parts, name=name, **{"trials": trials, "paper": NASH_VI, **options})


def reads_no_data(width: float, share: float = 0.0) -> Callable[..., NashVI]:
    """Plays in the fork what is right there, but for `share`, and claims widths that fall as K^-1/2."""

    def made(**sizes: Any) -> NashVI:
        known = forked if sizes["layout"] == forked.layout else steps
        return DataFree(**sizes, known=known, width=width, share=share)

    return made


def central_error(users: int, eps: float = 1.0) -> float:
    return error_of(Central.corrected(eps, steps.layout, users, releases=users - 1, fixed_start=True), BETA)


def weak_error(users: int) -> float:
    """At eps = 1 the part for the noise, which falls as 1/K, is the largest up to K = 1e15."""
    return central_error(users, 1_000.0)


def local_error(users: int) -> float:
    return error_of(Local.corrected(1.0, steps.layout, users=users), BETA)


central = Central.corrected(2e4, game.layout, USERS, releases=USERS - 1)
local = Local.corrected(2e5, game.layout, users=USERS)


def private_share(privatizer: OnlinePrivatizer) -> str:
    """What is E's of the bound of a run."""
    exact, private = (
        regret_bound(NashVI(layout=game.layout, rewards=game.rewards, episodes=USERS, error=error, beta=BETA))
        for error in (0.0, error_of(privatizer, BETA))
    )
    return f", {1 - exact / private:.0%} of the bound for the noise"


BOUND = (
    "Theorem 4.1 as (49) and Theorem 4.2 as (50), powers of iota of (46) and (48), constants of 1: "
    "regret, and K times the gap of the output"
)
LEARNT = BOUND + ", on a fork and its mirror; 160,000 users"
RATE = (
    "the gap of the output is at most its width, which falls as 1/sqrt K up to iota, at three K, of plans; "
    "in a game, and in a fork and its mirror"
)
NOISY = RATE + ", counts moved by +-E/4"

subjects: list[Subject] = []  # what is private about DP-Nash-VI stands in audit_nash_vi
promises = [
    learns("regret-nash and output-nash"),
    learns("regret-nash and output-nash, reads no data", reads_no_data(1.0), expected=BROKEN),
    runs("nothing to learn", statement=BOUND),
    runs("nothing to learn, uniform play", UniformPlay, expected=BROKEN, statement=BOUND),
    runs("nothing to learn, rewards as costs", costs=True, expected=BROKEN, statement=BOUND),
    runs("nothing to learn, mixed", of=mixed, statement=BOUND),
    runs("nothing to learn, mixed, pure maximin", PureMaximin, of=mixed, expected=BROKEN, trials=5, statement=BOUND),
    runs(
        "nothing to learn, central",
        privatizer=central,
        statement="Theorem 5.2, eps = 2e4; " + BOUND + private_share(central),
    ),
    runs(
        "nothing to learn, local",
        privatizer=local,
        statement="Theorem 5.5, eps = 2e5; " + BOUND + private_share(local),
    ),
    rate("rate-nash, no noise", statement="Theorem 4.2: " + RATE),
    rate("rate-nash, central", error=central_error, statement="Theorem 5.2, eps = 1: " + NOISY),
    rate(
        "rate-nash, central, its bonus as K^-.45", WidenedByNoise, error=central_error, expected=BROKEN, statement=NOISY
    ),
    rate(
        "rate-nash, central, eps = 1000", error=weak_error, visits=LARGER, statement="Theorem 5.2, eps = 1000: " + NOISY
    ),
    rate("rate-nash, central, K^-.45", Widened, error=weak_error, visits=LARGER, expected=BROKEN, statement=NOISY),
    rate(
        "rate-nash, local, K^-.45",
        Widened,
        error=local_error,
        visits=(10**12, 10**13, 10**14),
        power=1.5,
        expected=BROKEN,
        statement=NOISY,
    ),
    rate(
        "rate-nash, local",
        error=local_error,
        visits=(10**12, 10**13, 10**14),
        power=1.5,
        statement="Theorem 5.5, eps = 1: " + NOISY,
    ),
    rate("rate-nash, E = K/1e5", error=lambda users: users / 1e5, expected=BROKEN, statement=RATE),
    rate("rate-nash, K^-.45", Widened, expected=BROKEN, statement=RATE),
    *(
        rate(f"rate-nash, {what}", kind, expected=BROKEN, statement=RATE)
        for what, kind in {
            "uniform play": UniformPlay,
            "pure maximin": PureMaximin,
            "reversed steps": ReversedSteps,
            "players exchanged": PlayersExchanged,
            "mirrored states": MirroredStates,
        }.items()
    ),
    *(
        rate(f"rate-nash, reads no data, width {width:g}", reads_no_data(width, share), expected=BROKEN, statement=RATE)
        for width, share in ((1.0, 0.0), (1e6, 0.5), (3e6, 0.5))
    ),
    rate("rate-nash, rewards as costs", costs=True, expected=BROKEN, statement=RATE),
]

promises = unnamed(promises)
