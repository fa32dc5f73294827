"""The constants of the learning curves: set by hand, or found by one search for all. No theorem covers them.

Scales multiply the theory's value (bonus, E), or replace a constant (C, C1). They change what is learned, never the
noise: every private curve spends exactly what it states, and the accountant does not see them. With the theory's own
nothing is learned at K = 20,000.

RiverSwim: `tuning` tries the same number of points of each learner's `SPACES`, the first of them set by hand (`KNOWN`),
on seeds that no figure uses, at eps = 1; `CHOSEN` is which point stands: one set by hand (seed 99) until the search
has been run for all. `--search N` draws with what it finds. The bandit's are set by hand on seed 99.
"""

from dataclasses import dataclass
from typing import Any

from algorithms.experiments.search import draw_points, Point, Space


@dataclass(frozen=True)
class Optimistic:
    """UCB-VI's bonus scale; with privacy C2 of Bernstein-VI and the scale of E."""

    bonus: float
    error: float = 1.0


@dataclass(frozen=True)
class Elimination:
    """SDP-PE: C on the sampling term, C on the E term, C1, and the scale of E; PE uses the first alone."""

    threshold: float
    privacy: float = 0.0
    infrequent: float = 0.0
    error: float = 1.0


Constants = Optimistic | Elimination

PLAIN = ("UCBVI", "PE", "batched-optimism")  # without privacy
PURE = ("UCBVI-JDP", "UCBVI-LDP")  # eps
UNPAID = "UCBVI-JDP-gaussian-known-bonus"  # with the bonus for known rewards: learned ones are not paid for
APPROX = ("UCBVI-JDP-gaussian", "UCBVI-LDP-gaussian", "SDP-PE", "shuffled-optimism", UNPAID)  # (eps, delta)
ELIMINATION = ("PE", "SDP-PE")

_BONUS, _ERROR = (10**-4.5, 0.1), (10**-4.5, 10**-0.5)
_THRESHOLD = (3e-4, 0.3)
_ONE: Space = {"bonus": _BONUS}
_TWO: Space = {"bonus": _BONUS, "error": _ERROR}
SPACES: dict[str, Space] = {
    "UCBVI": _ONE,
    "batched-optimism": _ONE,
    "PE": {"threshold": _THRESHOLD},
    "SDP-PE": {"threshold": _THRESHOLD, "privacy": (1e-8, 1e-4), "infrequent": (1e-5, 1e-2), "error": (1e-3, 1.0)},
    **dict.fromkeys((*PURE, *APPROX[:2], "shuffled-optimism", UNPAID), _TWO),
}
_BY_HAND: list[Point] = [{"bonus": 1e-3, "error": 1e-3}, {"bonus": 0.02, "error": 0.02}]
_STAGED_BY_HAND: list[Point] = [{"threshold": 0.003, "privacy": 3e-7, "infrequent": 5e-4, "error": 0.03}]
KNOWN: dict[str, list[Point]] = {
    name: [{key: each[key] for key in space} for each in (_STAGED_BY_HAND if name in ELIMINATION else _BY_HAND)]
    for name, space in SPACES.items()
}

SEARCH_SEED, SEARCH_POINTS, SEARCH_EPS = 9, 8, 1.0
CHOSEN = {  # number of the point: by a search with SEARCH_POINTS points; at pure eps none was searched: set by hand
    **dict.fromkeys(SPACES, 0),
    "UCBVI": 4,
    "batched-optimism": 2,
    "shuffled-optimism": 2,
    UNPAID: 7,
    "UCBVI-LDP-gaussian": 2,
}

BY_HAND: dict[str, Any] = {"points": 0, "constants": "set by hand on seed 99"}  # in place of a search's record
AS_CHOSEN: dict[str, Any] = {
    "points": 0,
    "constants": "as chosen before, CHOSEN of algorithms/experiments/constants.py",
}
TOLERANCE = 0.5  # of SDP-PE's exploration design: excess at most half of the optimal value J
DELTA = 1e-3  # the beta of SDP-PE's (eps, beta), to which the paper gives no number, and everybody's delta


def constants_at(learner: str, point: Point) -> Constants:
    """A point of the learner's space as constants."""
    return Elimination(**point) if learner in ELIMINATION else Optimistic(**point)


def _searched(learner: str) -> Constants:
    known = KNOWN[learner]
    return constants_at(learner, draw_points(SPACES[learner], SEARCH_POINTS, SEARCH_SEED, known)[CHOSEN[learner]])


_NOISY, _STAGED = Optimistic(0.01, 0.01), Elimination(0.2, 0.003, 1e-3, 0.03)
TUNED: dict[tuple[str, str], Constants] = {
    **{("riverswim", learner): _searched(learner) for learner in SPACES},
    **{("bandit", learner): _STAGED if learner in ELIMINATION else _NOISY for learner in SPACES},
    ("bandit", "UCBVI"): Optimistic(0.1),
}
