"""INCORRECT: privatizers of DP-Nash-VI with mistakes, each log ratio that of what runs; and planners with mistakes."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from algorithms.baselines.ucbvi import next_value_variance
from algorithms.nash_vi.learner import GamePlan, NashVI
from algorithms.nash_vi.markov_games import MarkovGame
from audits.certainty import certainty
from dpverify.trials.target import Array
from mechanisms.datasets.visit_counts import CountLayout, ExactCounts, PrivateCounts
from mechanisms.privatizers.central import Central


@dataclass(frozen=True)
class OneNoiseForAllSteps:
    """INCORRECT: the counters of step 1 draw the noise, and every later step adds the same. True: eps = infinity."""

    privatizer: Central

    @property
    def layout(self) -> CountLayout:
        return self.privatizer.layout

    def stream(self, runs: int, *, rng: np.random.Generator) -> "_Copied":
        return _Copied(self.privatizer, runs, rng)

    def transcript_log_ratio(self, outputs: Array, first: Array, second: Array) -> Array:
        """Differences between steps are exact."""
        one, other = (
            np.isclose(self._gaps(outputs), self._gaps(sums), rtol=0, atol=1e-6).all(axis=(1, 2))
            for sums in (first.cumsum(axis=1), second.cumsum(axis=1))
        )
        return certainty(one, other)

    def _gaps(self, flat: Array) -> Array:
        counts = self.layout.unpack(flat)
        runs, rounds = flat.shape[:2]
        blocks = [
            (each[:, :, 1:] - each[:, :, :1]).reshape(runs, rounds, -1) for each in (counts.visits, counts.transitions)
        ]
        return np.concatenate(blocks, axis=-1)


class _Copied:
    def __init__(self, privatizer: Central, runs: int, rng: np.random.Generator) -> None:
        self._layout = privatizer.layout
        self._noise = privatizer.stream(runs, rng=rng)
        self._sums, self._runs = np.zeros((runs, self._layout.cells)), runs

    def feed(self, increments: ExactCounts) -> PrivateCounts:
        self._sums = self._sums + self._layout.pack(increments)
        zeros = self._layout.zeros(self._runs)
        noise = self._noise.feed(ExactCounts(zeros.visits, zeros.transitions))
        sums = self._layout.unpack(self._sums)
        return PrivateCounts(sums.visits + noise.visits[:, :1], sums.transitions + noise.transitions[:, :1])


class UniformPlay(NashVI):
    """INCORRECT: never learns: its plans are uniform, whatever their values say."""

    def plan(self, counts: PrivateCounts) -> GamePlan:
        made = super().plan(counts)
        return made._replace(joint=np.full(made.joint.shape, 1 / self.layout.choices))


@dataclass(frozen=True, eq=False, kw_only=True)
class DataFree(NashVI):
    """INCORRECT: reads no data; plays the equilibrium of `known`, around whose value it claims a width as K^-1/2."""

    known: MarkovGame
    width: float = 1.0
    share: float = 0.0  # of uniform play

    @cached_property
    def _tables(self) -> tuple[Array, ...]:
        exact = self.known.nash()
        half = self.width * math.sqrt(self.log_term / self.episodes) / 2
        pure = exact.first[..., :, None] * exact.second[..., None, :]
        joint = (1 - self.share) * pure + self.share / self.layout.choices
        matrix = self.known.rewards + np.einsum("hsabt,ht->hsab", self.known.transitions, exact.values[1:])
        left = np.arange(self.layout.H, -1, -1.0)[:, None]
        upper, lower = np.minimum(exact.values + half, left), np.maximum(exact.values - half, 0.0)
        return joint, matrix + half, matrix - half, upper, lower

    def plan(self, counts: PrivateCounts) -> GamePlan:
        lead = counts.visits.shape[:-4]
        return GamePlan(*(np.broadcast_to(each, (*lead, *each.shape)) for each in self._tables))


class PureMaximin(NashVI):
    """INCORRECT: both players play what is best in the worst case for them, unmixed, instead of a CCE."""

    def plan(self, counts: PrivateCounts) -> GamePlan:
        made = super().plan(counts)
        first = np.eye(self.layout.A)[made.upper.min(axis=-1).argmax(axis=-1)]
        second = np.eye(made.upper.shape[-1])[made.lower.max(axis=-2).argmin(axis=-1)]
        return made._replace(joint=first[..., :, None] * second[..., None, :])


class ReversedSteps(NashVI):
    """INCORRECT: step h plays what step H - 1 - h should."""

    def plan(self, counts: PrivateCounts) -> GamePlan:
        made = super().plan(counts)
        return made._replace(joint=made.joint[..., ::-1, :, :, :].copy())


class Widened(NashVI):
    """INCORRECT: its width falls as K^-.45 instead of K^-.5."""

    def plan(self, counts: PrivateCounts) -> GamePlan:
        made = super().plan(counts)
        wider = (made.upper_values - made.lower_values) * (self.episodes / 1e16) ** 0.05
        return made._replace(upper_values=made.lower_values + wider)


class WidenedByNoise(NashVI):
    """INCORRECT: the bonus for the noise, H S E iota/N, falls as K^-.45 instead of 1/K."""

    def _bonus(self, visits: Array, kernel: Array, middle: Array) -> Array:
        private = self.layout.H * self.layout.S * self.error * self.log_term / visits
        wider = private * float((self.episodes / 1e10) ** 0.55 - 1)
        return super()._bonus(visits, kernel, middle) + wider


class MirroredStates(NashVI):
    """INCORRECT: next states in the wrong order."""

    def _processed(self, counts: PrivateCounts) -> tuple[Array, Array, Array]:
        visits, law, known = super()._processed(counts)
        return visits, law[..., ::-1], known


class PlayersExchanged(NashVI):
    """INCORRECT: reads the next states of (b, a) for those of (a, b)."""

    def _processed(self, counts: PrivateCounts) -> tuple[Array, Array, Array]:
        visits, law, known = super()._processed(counts)
        return visits, np.swapaxes(law, -3, -2), known


class OneForIota(NashVI):
    """INCORRECT: forgets the logarithm."""

    @property
    def log_term(self) -> float:
        return 1.0


class NoPrivateBonus(NashVI):
    """INCORRECT: no bonus for the noise, H S E iota/N."""

    def _bonus(self, visits: Array, kernel: Array, middle: Array) -> Array:
        return (
            super()._bonus(visits, kernel, middle) - self.layout.H * self.layout.S * self.error * self.log_term / visits
        )


class NoSamplingBonus(NashVI):
    """INCORRECT: no sqrt(Var iota/N)."""

    def _bonus(self, visits: Array, kernel: Array, middle: Array) -> Array:
        spread = np.sqrt(next_value_variance(kernel, middle) * self.log_term / visits)
        return super()._bonus(visits, kernel, middle) - spread
