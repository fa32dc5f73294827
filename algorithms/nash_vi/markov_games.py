"""Two-player zero-sum Markov games of a finite horizon: exact best responses, Nash values, examples.

    transitions  (H, S, A, B, S)   P_h(s' | s, a, b)
    rewards      (H, S, A, B)      r_h(s, a, b) in [0, 1], deterministic and known
    start        s_1, fixed

Player 1 (actions A) maximises, player 2 (actions B) minimises. Against a fixed Markov policy of one player the
other one faces a decision process, so a best response is backward induction and nothing else:

    V^{+,nu}_h(s) = max_a  E_{b ~ nu} [r + P V^{+,nu}_{h+1}](s, a, b),    V^{mu,+} likewise with min_b E_{a ~ mu}
    V*_h(s)       = the value of the matrix game [r + P V*_{h+1}](s, ., .)

Policies are (..., H, S, A) and (..., H, S, B); joint ones (..., H, S, A, B). Leading axes broadcast.
Source: "Differentially private RL with self-play" (Qiao, Wang 2024), section 2.1.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from algorithms.core.environments import Environment
from algorithms.nash_vi.equilibria import nash
from algorithms.tabular import backward_induction
from dpverify.base import require
from dpverify.base.seeding import Stage, stream
from dpverify.errors import ParameterError
from mechanisms.datasets.visit_counts import CountLayout

Array = npt.NDArray[np.float64]


class NashPlan(NamedTuple):
    """Equilibrium policies (H, S, A), (H, S, B) and values (H+1, S)."""

    first: Array
    second: Array
    values: Array


@dataclass(frozen=True, eq=False)
class MarkovGame:
    """See the module. ParameterError for shapes that do not fit, rows not summing to 1, rewards outside [0, 1]."""

    name: str
    transitions: Array
    rewards: Array
    start: int = 0

    def __post_init__(self) -> None:
        law, rewards = np.asarray(self.transitions, np.float64), np.asarray(self.rewards, np.float64)
        if law.ndim != 5 or law.shape[-1] != law.shape[1] or rewards.shape != law.shape[:-1]:
            raise ParameterError("shapes", (law.shape, rewards.shape), "(H, S, A, B, S) and (H, S, A, B)")
        if not (np.all(law >= 0) and np.all(np.abs(law.sum(axis=-1) - 1) <= 1e-9)):
            raise ParameterError("transitions", law, "probabilities, rows summing to 1")
        if not np.all((rewards >= 0) & (rewards <= 1)):
            raise ParameterError("rewards", rewards, "in [0, 1]")
        require.integer(at_least=0, start=self.start)
        if self.start >= law.shape[1]:
            raise ParameterError("start", self.start, f"a state in 0..{law.shape[1] - 1}")
        object.__setattr__(self, "transitions", law)
        object.__setattr__(self, "rewards", rewards)

    @property
    def layout(self) -> CountLayout:
        """Counters of the game, without rewards: they are known."""
        horizon, states, first, second = self.rewards.shape
        return CountLayout(H=horizon, S=states, A=first, B=second)

    @property
    def environment(self) -> Environment:
        """The game as an environment with A B joint actions a B + b: users that answer them."""
        horizon, states, first, second = self.rewards.shape
        return Environment(
            self.name,
            self.transitions.reshape(horizon, states, first * second, states),
            self.rewards.reshape(horizon, states, first * second),
            np.eye(states)[self.start],
        )

    @property
    def mirrored(self) -> "MarkovGame":
        """The same with the first player's actions in reversed order in the transitions; rewards, known, stay."""
        return MarkovGame(f"{self.name}, mirrored", self.transitions[:, :, ::-1], self.rewards, self.start)

    def max_response(self, second: Array) -> Array:
        """V^{+,nu} (..., H+1, S): what a best response gets against `second` (..., H, S, B)."""
        law = np.einsum("hsabt,...hsb->...hsat", self.transitions, second)
        pays = np.einsum("hsab,...hsb->...hsa", self.rewards, second)
        return backward_induction(law, pays).values

    def min_response(self, first: Array) -> Array:
        """V^{mu,+} (..., H+1, S): what is left of `first` (..., H, S, A) under the worst opponent."""
        law = np.einsum("hsabt,...hsa->...hsbt", self.transitions, first)
        pays = np.einsum("hsab,...hsa->...hsb", self.rewards, first)
        return -backward_induction(law, -pays).values

    def gap(self, first: Array, second: Array, *, block: int = 4096) -> Array:
        """V^{+,nu}_1(s_1) - V^{mu,+}_1(s_1), shape (...): the alpha of an alpha-Nash pair; 0 for equilibria only."""
        lead = first.shape[:-3]
        one, two = first.reshape(-1, *first.shape[-3:]), second.reshape(-1, *second.shape[-3:])
        parts = [
            self.max_response(two[i : i + block])[:, 0, self.start]
            - self.min_response(one[i : i + block])[:, 0, self.start]
            for i in range(0, len(one), block)
        ]
        return np.concatenate(parts).reshape(lead)

    def nash(self) -> NashPlan:
        """An equilibrium by backward induction: one matrix game a state and step."""
        horizon, states, first, second = self.rewards.shape
        one, two = np.empty((horizon, states, first)), np.empty((horizon, states, second))
        values = np.zeros((horizon + 1, states))
        for h in range(horizon - 1, -1, -1):
            matrix = self.rewards[h] + self.transitions[h] @ values[h + 1]
            one[h], two[h] = nash(matrix)
            values[h] = np.einsum("sa,sab,sb->s", one[h], matrix, two[h])
        return NashPlan(one, two, values)


def marginals(joint: Array) -> tuple[Array, Array]:
    """(..., A) and (..., B) of a joint distribution (..., A, B)."""
    return joint.sum(axis=-1), joint.sum(axis=-2)


def matrix_game(payoff: npt.ArrayLike, *, name: str = "matrix-game") -> MarkovGame:
    """One step, one state: `payoff` (A, B) in [0, 1]. Matching pennies: [[1, 0], [0, 1]], value 1/2."""
    table = np.asarray(payoff, dtype=np.float64)
    if table.ndim != 2:
        raise ParameterError("payoff", payoff, "a matrix")
    return MarkovGame(name, np.ones((1, 1, *table.shape, 1)), table[None, None])


def game_fork() -> MarkovGame:
    """Two steps, states and actions, an opponent with one: only state 1 of step 2 pays, and only action 1 leads there.

    The rewards say nothing about the actions: who reads no data loses here or on the mirror image.
    """
    law, rewards = np.full((2, 2, 2, 1, 2), 0.5), np.zeros((2, 2, 2, 1))
    law[0, :, 0, 0], law[0, :, 1, 0] = (1.0, 0.0), (0.0, 1.0)
    rewards[1, 1] = 1.0
    return MarkovGame("fork", law, rewards)


def random_game(
    seed: int, states: int, first: int, second: int, horizon: int, *, concentration: float = 1.0
) -> MarkovGame:
    """Dirichlet(concentration) transitions, uniform rewards, start 0; a function of the seed."""
    require.integer(at_least=1, states=states, first=first, second=second, horizon=horizon)
    require.positive(concentration=concentration)
    rng = stream(seed, Stage.EXPERIMENT, 1 << 22)
    law = rng.dirichlet(np.full(states, concentration), size=(horizon, states, first, second))
    return MarkovGame("random-game", law, rng.random((horizon, states, first, second)))


def pursuit(side: int = 2, horizon: int = 4, *, slip: float = 0.1) -> MarkovGame:
    """Evader (player 1) and pursuer (player 2) on a side x side grid; the evader is paid 1 in every step in
    which they stand on different cells.

    States: (evader, pursuer), side^4 of them, beginning in opposite corners. Actions up, down, left, right; a
    move slips (no move) with probability `slip`, for each player by herself; walls stop. Moves are
    simultaneous, so good play is mixed.
    """
    require.integer(at_least=2, side=side)
    require.integer(at_least=1, horizon=horizon)
    require.probability(slip=slip)
    cells = side * side
    moves = np.zeros((cells, 4, cells))
    for cell in range(cells):
        row, column = divmod(cell, side)
        for action, (down, right) in enumerate(((-1, 0), (1, 0), (0, -1), (0, 1))):
            there = min(max(row + down, 0), side - 1) * side + min(max(column + right, 0), side - 1)
            moves[cell, action, there] += 1 - slip
            moves[cell, action, cell] += slip
    states = cells * cells
    law = np.einsum("eax,pby->epabxy", moves, moves).reshape(states, 4, 4, states)
    apart = np.arange(states) // cells != np.arange(states) % cells
    pays = np.broadcast_to(apart[:, None, None].astype(np.float64), (states, 4, 4))
    return MarkovGame(
        "pursuit",
        np.broadcast_to(law, (horizon, *law.shape)),
        np.broadcast_to(pays, (horizon, *pays.shape)),
        start=cells - 1,  # evader in the first corner, pursuer in the last
    )
