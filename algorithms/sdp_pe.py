"""SDP-PE (Bai, Talebi, Zhao, Cheng, Chen): policy elimination in stages of doubling batches, with private counts.

Stage b, phi_b = policies left, L = L_b users a share (`schedule`), E = error bound of the batch, iota = ln(2HAK/delta):

  crude  (Algorithm 2), h = 1..H: pi_{h,x,a} = argmax over phi_b of Pr[x_h = x, a_h = a] in P~cru; their uniform
         mixture plays L/H users; layer h's counts are released; (h,x,a,x') is infrequent (in W) where
         N~(x,a,x') <= C1 E H^2 iota; P~cru = N~(x,a,x')/N~(x,a) outside W, 0 in W (mass to the absorbing state)
  fine   (Algorithm 3) journal: the optimal-design mixture of eq. (4) (`design`) plays L users and the mixture
         pi_0 of all pi_{h,x,a} L users; conference: every pi_{h,x,a} plays L/(HXA).  P~ref, r~ = R~/N~ of this
         batch alone ("forgetting"), same W
  keep   pi with max_mu V^mu(r~,P~ref) - V^pi(r~,P~ref) < 2C (sqrt(X A H^3 iota/L) + X^3 A H^5 E iota/L);
         conference: 2C (sqrt(X^2 A H^5 iota/L) + X^3 A^2 H^5 E iota/L)

With `ExactBatches` and E = 0 this is PE, the non-private baseline. Users are in one batch each, so the
privacy of all batches together is that of one.

Constants. Theory: C1 = 6; C is universal and unnamed in the papers, 1 stands for it. With them nothing is
ever eliminated at the papers' K = 20,000. `threshold_scale` is C on the sampling term, `privacy_scale` C on
the E term, `infrequent_scale` C1, `error_scale` multiplies E wherever it is used. Other values than the
defaults are tuning: choices for a learning curve, without the theorem.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from algorithms.batches import Batches
from algorithms.design import coverage_design
from algorithms.policy_sets import PolicySet
from algorithms.schedule import StagePlan, stages
from algorithms.users import Episodes, play, Users
from dpverify.base import require
from dpverify.base.errors import ParameterError
from mechanisms.counts import CountLayout
from mechanisms.postprocess import never_underestimating

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# (users of the batch, their policies (..., n, H, S), raw released counts (..., cells))
Observe = Callable[[range, IntArray, Array], None]


class StageReport(NamedTuple):
    """What a stage did: sizes and errors, for reports and checks."""

    stage: int
    length: int
    policies_before: int
    policies_after: int
    frequent: int  # tuples outside W
    error: float  # E of the fine batch
    gap: float  # elimination threshold
    reachable: int  # J
    excess: float  # suboptimality of the exploration mixture in eq. (4)


class StagedRun(NamedTuple):
    """Policies (..., K, H, S) that were played, the set left, the number of deployments, and the stages.

    With leading axes the reports' numbers are of the first run.
    """

    policies: npt.NDArray[np.int8]
    remaining: PolicySet
    deployments: int
    reports: list[StageReport]


class _Crude(NamedTuple):
    visitors: IntArray  # (..., H X A, H, S)
    frequent: Mask  # (..., H, X, A, X)
    law: Array  # (..., H, X, A, X)


@dataclass(frozen=True, kw_only=True)
class SDPPE:
    """Both versions of the algorithm; see the module for the constants."""

    layout: CountLayout
    episodes: int
    version: Literal["journal", "conference"] = "journal"
    delta: float = 0.05
    threshold_scale: float = 1.0
    privacy_scale: float = 1.0
    infrequent_scale: float = 6.0
    error_scale: float = 1.0
    tolerance: float = 0.1

    def __post_init__(self) -> None:
        require.integer(at_least=1, episodes=self.episodes)
        require.open_unit(delta=self.delta)
        require.positive(threshold_scale=self.threshold_scale, tolerance=self.tolerance)
        require.non_negative(
            privacy_scale=self.privacy_scale, infrequent_scale=self.infrequent_scale, error_scale=self.error_scale
        )
        if self.version not in ("journal", "conference"):
            raise ParameterError("version", self.version, "'journal' or 'conference'")
        if not self.layout.rewards:
            raise ParameterError("layout.rewards", False, "True")

    @property
    def log_term(self) -> float:
        """Iota."""
        return math.log(2 * self.layout.H * self.layout.A * self.episodes / self.delta)

    @property
    def plan(self) -> list[StagePlan]:
        """The stages."""
        return stages(self.episodes, self.layout.H, shares=3 if self.version == "journal" else 2)

    @property
    def layer_layout(self) -> CountLayout:
        """Layout of a crude batch: one step, no rewards."""
        return CountLayout(H=1, S=self.layout.S, A=self.layout.A)

    def gap(self, length: int, error: float) -> float:
        """Elimination threshold of a stage."""
        x, a, h = self.layout.S, self.layout.A, self.layout.H
        journal = self.version == "journal"
        sampling = x * a * h**3 if journal else x**2 * a * h**5
        privacy = x**3 * (a if journal else a**2) * h**5 * error * self.log_term / length
        return 2 * (self.threshold_scale * math.sqrt(sampling * self.log_term / length) + self.privacy_scale * privacy)

    def run(
        self,
        users: Users,
        batches: Batches,
        policies: PolicySet,
        initial: Array,
        *,
        rng: np.random.Generator,
        lead: tuple[int, ...] = (),
        observe: Observe | None = None,
    ) -> StagedRun:
        """All users in order. `lead` = leading axes, those of `policies`; `initial` = law of the first state."""
        if len(users) != self.episodes:
            raise ParameterError("len(users)", len(users), f"{self.episodes} users")
        size = self.layout
        played = np.zeros((*lead, self.episodes, size.H, size.S), dtype=np.int8)
        deployments, reports, remaining = 0, [], policies

        def deploy(first: int, number: int, mixture: IntArray, weights: Array | None) -> tuple[range, IntArray]:
            nonlocal deployments
            who = range(first, first + number)
            deployments += number > 0
            mine = _assign(mixture, weights, lead, number, rng)
            played[..., first : first + number, :, :] = mine
            return who, mine

        def release(who: range, mine: IntArray, layout: CountLayout, layer: int | None) -> Array:
            if not len(who):  # an empty batch tells nothing: counts of nobody
                return np.zeros((*lead, layout.cells))
            seen = play(users, np.asarray(who), mine, actions=size.A)
            counts = batches.release(seen if layer is None else _one_step(seen, layer), layout, rng=rng)
            if observe is not None:
                observe(who, mine, counts)
            return counts

        for stage in self.plan:
            before = remaining
            crude = self._crude(stage, before, batches, deploy, release, initial, lead, rng)
            fine, reachable, excess = self._fine_mixtures(stage, before, crude, initial)
            first, deployed = stage.end - sum(stage.fine), []
            for number, (mixture, weights) in zip(stage.fine, fine, strict=True):
                deployed.append(deploy(first, number, mixture, weights))
                first += number
            who = range(stage.end - sum(stage.fine), stage.end)
            counts = release(who, np.concatenate([mine for _, mine in deployed], axis=-3), size, None)
            error = self.error_scale * batches.error(size, len(who))
            visits, law = self._estimate(counts, size, error, crude.frequent)
            rewards = size.unpack(counts).rewards
            assert rewards is not None
            gap = self.gap(stage.length, error)
            remaining = before.keep(law, np.clip(rewards / visits, 0.0, 1.0), gap)
            reports.append(
                StageReport(
                    stage.number,
                    stage.length,
                    int(before.size.flat[0]),
                    int(remaining.size.flat[0]),
                    int(crude.frequent[(0,) * len(lead)].sum()),
                    error,
                    gap,
                    reachable,
                    excess,
                )
            )
            best = remaining.best(law, np.clip(rewards / visits, 0.0, 1.0))
        rest = self.episodes - self.plan[-1].end if self.plan else self.episodes
        if rest:  # too few for a stage: they play what is best by now (any policy if there was no stage)
            final = best if self.plan else remaining.draw(rng)
            deploy(self.episodes - rest, rest, final[..., None, :, :], None)
        return StagedRun(played, remaining, deployments, reports)

    def _crude(
        self,
        stage: StagePlan,
        phi: PolicySet,
        batches: Batches,
        deploy: Callable[..., tuple[range, IntArray]],
        release: Callable[..., Array],
        initial: Array,
        lead: tuple[int, ...],
        rng: np.random.Generator,
    ) -> _Crude:
        size, layer = self.layout, self.layer_layout
        law = np.zeros((*lead, *size.transitions_shape))
        frequent = np.zeros(law.shape, dtype=bool)
        visitors, first = [], stage.first
        for h, number in enumerate(stage.layers):
            visitors.append(phi.visitors(law, h, rng=rng))
            who, mine = deploy(first, number, visitors[-1], None)
            first += number
            counts = release(who, mine, layer, h)
            error = self.error_scale * batches.error(layer, number) if number else 0.0
            seen, chances = self._estimate(counts, layer, error, None)
            often = seen[..., None] * chances > self.infrequent_scale * error * size.H**2 * self.log_term
            frequent[..., h, :, :, :] = often[..., 0, :, :, :]
            law[..., h, :, :, :] = np.where(often, chances, 0.0)[..., 0, :, :, :]
        return _Crude(np.concatenate(visitors, axis=-3), frequent, law)

    def _fine_mixtures(
        self, stage: StagePlan, phi: PolicySet, crude: _Crude, initial: Array
    ) -> tuple[list[tuple[IntArray, Array | None]], int, float]:
        """Mixtures of the fine users with their weights (None = uniform), J, and the design's excess."""
        if self.version == "conference":
            return [(phi_all(phi, crude, self.layout), None)], 0, 0.0
        design = coverage_design(phi.best, crude.visitors, crude.law, initial, tolerance=self.tolerance)
        mixtures = [(design.policies, design.weights), (crude.visitors, None)]
        return mixtures, int(design.reachable.flat[0]), float(design.excess.flat[0])

    def _estimate(self, counts: Array, layout: CountLayout, error: float, frequent: Mask | None) -> tuple[Array, Array]:
        """(N~(x,a), P~(x'|x,a)) with P~ = 0 outside `frequent`."""
        raw = layout.unpack(counts)
        if error == 0:
            visits = np.maximum(raw.visits, 1.0)
            law = raw.transitions / visits[..., None]
        else:
            done = never_underestimating(raw.transitions, raw.visits, error)
            visits, law = done.pair_counts, done.next_counts / done.pair_counts[..., None]
        return visits, law if frequent is None else np.where(frequent, law, 0.0)


def phi_all(phi: PolicySet, crude: _Crude, layout: CountLayout) -> IntArray:
    """Conference, Algorithm 3, line 2: the visitors of every (h, x, a) in the finished crude model."""
    rng = np.random.Generator(np.random.PCG64(0))  # ties cannot matter: an unreachable (x, a) is not explored
    found = [phi.visitors(crude.law, h, rng=rng) for h in range(layout.H)]
    return np.concatenate(found, axis=-3)


def _assign(
    mixture: IntArray, weights: Array | None, lead: tuple[int, ...], number: int, rng: np.random.Generator
) -> IntArray:
    """Policies (..., number, H, S) drawn from a mixture (..., V, H, S), independently for each user."""
    kinds = mixture.shape[-3]
    coins = rng.random((*lead, number))
    if weights is None:
        chosen = np.minimum((coins * kinds).astype(np.int64), kinds - 1)
    else:
        steps = np.cumsum(weights, axis=-1)[..., None, :-1]
        chosen = np.asarray((coins[..., None] >= steps).sum(axis=-1), dtype=np.int64)
    return np.take_along_axis(mixture, chosen[..., None, None], axis=-3)


def _one_step(episodes: Episodes, h: int) -> Episodes:
    step = slice(h, h + 1)
    return Episodes(episodes.states[..., h : h + 2], episodes.actions[..., step], episodes.rewards[..., step])
