"""Small instances on which the actions of the others tell most: what an attack in the black-box view can see.

    name                learner, what is counted                            D   claim
    pucb-known-rewards  PUCB, visits alone, rewards known to be 0           2   2.5-JDP
    pucb                PUCB, the last transition not fed                   4   2.5-JDP
    bernstein-vi        Bernstein-VI, central                           6   2.5-JDP
    dp-nash-vi          DP-Nash-VI, central, one player, H = 2              8   2.75-JDP

All have two users, two states and two actions: one level of the tree, the hidden user first, then the final policy.
What makes decisions tell: she starts in different states in the two worlds and is not paid, so the final policy shows
one noisy comparison in the cell that she left and one in the cell that she entered; the boundary between a known and an
unknown cell lies inside the noise. Of the D cells that a replaced user may move only the visits move here, so a share
of at most 2/D of eps is seen (half for dp-nash-vi): less noise by a factor f is caught where f < .65 times that share.

The constants are chosen for the attack. They change what is played, never the noise.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.bernstein_vi.learner import BernsteinVI, central
from algorithms.core.counting import Plugged, TreeCounts
from algorithms.core.online import Planned
from algorithms.core.transcripts import Actions, replaced
from algorithms.core.users import Tree
from algorithms.nash_vi.learner import NashVI, SelfPlay
from algorithms.pucb.learner import corrected_counters, PUCB, touched_cells
from dpverify.accounting.accountant import account
from dpverify.base import require
from dpverify.claims import Pair, PureDP, Unit, View
from dpverify.errors import ParameterError
from dpverify.ledger import Ledger
from mechanisms.counters.tree import BinaryCounter
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.privatizers.central import Central
from mechanisms.privatizers.no_privacy import NoPrivacy
from mechanisms.toolbox.noise_laws import NoNoise

Array = npt.NDArray[np.float64]

NAMES = ("pucb-known-rewards", "pucb", "bernstein-vi", "dp-nash-vi")
EPS, EPS_GAME, USERS = 2.5, 2.75, 2
_ONE = CountLayout(H=1, S=2, A=2, rewards=True)
_GAME = CountLayout(H=2, S=2, A=2, B=1)
_REWARDS = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]).reshape(_GAME.visits_shape)  # the best of random ones


@dataclass(frozen=True, kw_only=True)
class BlackBox:
    """`target` with so much of its noise; `claim` and `upper`, the ledger, are those of all of it."""

    target: Any
    claim: PureDP
    pair: Pair
    upper: float


@dataclass(frozen=True)
class VisitCounts:
    """The visits alone, by binary counters; rewards are known to be 0 and transitions not needed (H = 1)."""

    layout: CountLayout
    counter: BinaryCounter
    error: float

    @property
    def ledger(self) -> Ledger:
        """Two visit cells move in every step."""
        return self.counter.ledger

    def stream(self, runs: int, *, rng: np.random.Generator) -> "_Visits":
        return _Visits(self.layout, self.counter.stream(runs, rng=rng))


class _Visits:
    def __init__(self, layout: CountLayout, inner: Any) -> None:
        self._layout, self._inner = layout, inner

    def feed(self, increments: Array) -> Array:
        counts = np.zeros_like(increments)
        tuples = self._layout.tuples
        counts[:, :tuples] = self._inner.feed(increments[:, :tuples])
        return counts


def black_box(name: str, *, noise: float = 1.0) -> BlackBox:
    """The instance `name`; `noise` scales every draw, 0 is exact counts. ParameterError for an unknown name."""
    if name not in NAMES:
        raise ParameterError("name", name, ", ".join(NAMES))
    require.non_negative(noise=noise)
    if name == "dp-nash-vi":
        return _game(noise)
    options: dict[str, Any] = {}
    learner: Any
    if name == "bernstein-vi":
        honest: Any = central(_ONE, USERS, EPS)
        honest = replace(honest, error=0.01)
        learner = BernsteinVI(layout=_ONE, episodes=USERS, error=0.01, bonus_scale=0.037, bonus="known")
    else:
        error = 0.375 if name == "pucb-known-rewards" else 0.38
        learner = PUCB(layout=_ONE, episodes=USERS, error=error, bonus_scale=1e-3)
        if name == "pucb":
            options = {"last_transition": False}
            touches = touched_cells(1, last_transition=False)
            honest = TreeCounts(_ONE, corrected_counters(_ONE, USERS - 1, EPS, touches=touches), error)
        else:
            visits = BinaryCounter.calibrated(USERS - 1, EPS, touches=1, cells=(_ONE.tuples,))
            honest = VisitCounts(_ONE, visits, error)
    drawn = replace(honest, counter=replace(honest.counter, noise=_scaled(honest.counter.noise, noise)))
    return BlackBox(
        target=Actions(agent=Planned(learner=learner, layout=_ONE, **options), privatizer=drawn, hidden=0),
        claim=_claim(EPS),
        pair=_start(1, 2),
        upper=account(honest.ledger),
    )


def _game(noise: float) -> BlackBox:
    honest = Central.corrected(EPS_GAME, _GAME, USERS, releases=USERS - 1)
    learner = NashVI(
        layout=_GAME,
        rewards=_REWARDS,
        episodes=USERS,
        error=0.8,
        bonus_scale=0.0104,
        gap_scale=0.01,
    )
    drawn: Any = honest.with_noise(noise) if noise else NoPrivacy(layout=_GAME)
    target = Actions(agent=SelfPlay(planner=learner), privatizer=Plugged(drawn), hidden=0)
    return BlackBox(target=target, claim=_claim(EPS_GAME), pair=_start(2, 2, (1, 0, 0)), upper=account(honest.ledger))


def _scaled(noise: Any, factor: float) -> Any:
    return noise.with_noise(factor) if factor else NoNoise()


def _claim(eps: float) -> PureDP:
    return PureDP(eps, unit=Unit.TRAJECTORY, view=View.JOINT, source="billboard lemma")


def _start(horizon: int, actions: int, colluder: tuple[int, ...] = ()) -> Pair:
    """Unpaid users: the hidden one stays in state 0, or in state 1; the other walks through `colluder`, or stays."""
    stays, other = (Tree.steady((s,) * (horizon + 1), (0.0,) * horizon, actions) for s in (0, 1))
    second = Tree.steady(colluder, (0.0,) * horizon, actions) if colluder else stays
    return replaced([stays, second], 0, other, "the hidden user starts in the other state")
