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

With `ExactBatches` and E = 0 this is PE, the non-private baseline. r~ is cut to [0, 1]
(post-processing). Users are in one batch each, so the privacy of all batches together is that of one.

Constants. Theory: C1 = 6; C is universal and unnamed in the papers, 1 stands for it. With them nothing is
ever eliminated at the papers' K = 20,000. `threshold_scale` is C on the sampling term, `privacy_scale` C on
the E term, `infrequent_scale` C1, `error_scale` multiplies E wherever it is used. Other values than the
defaults are tuning: choices for a learning curve, without the theorem.
"""

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from algorithms.core.channels import ChannelStep
from algorithms.core.mixtures import PolicyMixture
from algorithms.core.online import number_of_users
from algorithms.core.protocol import Acting, drive, Final, Look, Served, Setting, Shown
from algorithms.core.users import Users
from algorithms.sdp_pe.batches import Batches
from algorithms.sdp_pe.design import coverage_design
from algorithms.sdp_pe.policy_sets import ExplicitSet, PolicySet
from algorithms.sdp_pe.schedule import StagePlan, stages
from algorithms.tabular import all_policies
from dpverify.base import require
from dpverify.errors import ParameterError
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.privatizers.consistency import never_underestimating

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


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
    def layer(self) -> CountLayout:
        """Of a batch of the crude exploration."""
        return CountLayout(H=1, S=self.layout.S, A=self.layout.A)

    @property
    def plan(self) -> list[StagePlan]:
        """The stages."""
        return stages(self.episodes, self.layout.H, shares=3 if self.version == "journal" else 2)

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
        observe: Look | None = None,
    ) -> StagedRun:
        """All users in order. `lead` = leading axes, those of `policies`; `initial` = law of the first state."""
        size = self.layout
        played = np.zeros((*lead, self.episodes, size.H, size.S), dtype=np.int8)

        def keep(served: Served) -> None:
            played[..., served.first : served.first + served.step.users, :, :] = served.policies
            if observe is not None:
                observe(served)

        agent = Staged(learner=self, initial=tuple(initial), policies=policies)
        phi, reports = drive(agent, batches, users, lead=lead, rng=rng, observe=keep).found
        return StagedRun(played, phi, sum(map(self.mixtures, agent.steps())), reports)

    def mixtures(self, step: ChannelStep) -> int:
        """That a step deploys: two are counted together in the journal's fine exploration."""
        fine = self.version == "journal" and step.part is None and not step.silent
        return 2 if fine else int(step.users > 0)

    def stage(
        self, stage: StagePlan, phi: PolicySet, initial: Array, setting: Setting
    ) -> Generator[IntArray, Array, tuple[Array, Array, StageReport]]:
        """One stage of a run: (P~ref, r~, report without the numbers of policies)."""
        crude = yield from self._crude(stage, phi, setting)
        return (yield from self._fine(stage, phi, crude, setting, initial))

    def _crude(self, stage: StagePlan, phi: PolicySet, setting: Setting) -> Generator[IntArray, Array, _Crude]:
        size, layer = self.layout, self.layer
        law = np.zeros((*setting.lead, *size.transitions_shape))
        frequent = np.zeros(law.shape, dtype=bool)
        visitors = []
        for h, number in enumerate(stage.layers):
            visitors.append(phi.visitors(law, h, rng=setting.rng))
            counts = yield self._uniform(visitors[-1]).assign(setting.lead, number, rng=setting.rng)
            error = self._error(setting.privatizer, layer, number)
            visits, chances = self._estimate(counts, layer, error)
            often = visits[..., None] * chances > self.infrequent_scale * error * size.H**2 * self.log_term
            frequent[..., h, :, :, :] = often[..., 0, :, :, :]
            law[..., h, :, :, :] = np.where(often, chances, 0.0)[..., 0, :, :, :]
        return _Crude(np.concatenate(visitors, axis=-3), frequent, law)

    def _fine(
        self, stage: StagePlan, phi: PolicySet, crude: _Crude, setting: Setting, initial: Array
    ) -> Generator[IntArray, Array, tuple[Array, Array, StageReport]]:
        mixtures, reachable, excess = self._explore(stage, phi, crude, setting, initial)
        deployed = zip(mixtures, stage.fine, strict=True)
        drawn = [mixture.assign(setting.lead, number, rng=setting.rng) for mixture, number in deployed]
        counts = yield np.concatenate(drawn, axis=-3)
        error = self._error(setting.privatizer, self.layout, sum(stage.fine))
        visits, chances = self._estimate(counts, self.layout, error)
        sums = self.layout.unpack(counts).rewards
        assert sums is not None
        rewards = np.clip(sums / visits, 0.0, 1.0)
        frequent = int(crude.frequent[(0,) * len(setting.lead)].sum())
        gap = self.gap(stage.length, error)
        report = StageReport(stage.number, stage.length, 0, 0, frequent, error, gap, reachable, excess)
        return np.where(crude.frequent, chances, 0.0), rewards, report

    def _explore(
        self, stage: StagePlan, phi: PolicySet, crude: _Crude, setting: Setting, initial: Array
    ) -> tuple[list[PolicyMixture], int, float]:
        """What the fine exploration plays; J and suboptimality of the design."""
        if self.version == "conference":
            found = [phi.visitors(crude.law, h, rng=setting.rng) for h in range(self.layout.H)]
            return [self._uniform(np.concatenate(found, axis=-3))], 0, 0.0
        design = coverage_design(phi.best, crude.visitors, crude.law, initial, tolerance=self.tolerance)
        mixtures = [PolicyMixture(design.policies, design.weights), self._uniform(crude.visitors)]
        return mixtures, int(design.reachable.flat[0]), float(design.excess.flat[0])

    def _uniform(self, policies: IntArray) -> PolicyMixture:
        return PolicyMixture(policies, in_turn=self.version == "conference")

    def _error(self, batches: Batches, layout: CountLayout, users: int) -> float:
        return self.error_scale * batches.error(layout, users) if users else 0.0

    def _estimate(self, counts: Array, layout: CountLayout, error: float) -> tuple[Array, Array]:
        """(N~(x,a), N~(x,a,x')/N~(x,a)), post-processed where E > 0."""
        raw = layout.unpack(counts)
        if error == 0:
            visits = np.maximum(raw.visits, 1.0)
            return visits, raw.transitions / visits[..., None]
        done = never_underestimating(raw.transitions, raw.visits, error)
        return done.pair_counts, done.next_counts / done.pair_counts[..., None]


@dataclass(frozen=True, eq=False, kw_only=True)
class Staged:
    """`learner` as an agent, from `policies`, or from all deterministic ones, listed: for small instances."""

    learner: SDPPE
    initial: tuple[float, ...]
    policies: PolicySet | None = None
    shown: Shown = "policies"

    def steps(self, users: int | None = None) -> Sequence[ChannelStep]:
        """Layers and fine batch of every stage; the users left over, too few for another stage, are not counted."""
        learner = self.learner
        number_of_users(users, learner.episodes)
        found: list[ChannelStep] = []
        for stage in learner.plan:
            found += [ChannelStep(number, learner.layer, True, h) for h, number in enumerate(stage.layers)]
            found.append(ChannelStep(sum(stage.fine), learner.layout, True))
        return [
            *found,
            ChannelStep(learner.episodes - sum(each.users for each in found), learner.layout, True, silent=True),
        ]

    def act(self, setting: Setting) -> Acting:
        """Stage by stage; what is found is (policies left, reports)."""
        learner, initial, reports = self.learner, np.array(self.initial), list[StageReport]()
        size, phi = learner.layout, self.policies
        if phi is None:
            phi = ExplicitSet.full(all_policies(size.H, size.S, size.A), initial, size.A, setting.lead)
        best = phi.draw(setting.rng)
        for stage in learner.plan:
            law, rewards, report = yield from learner.stage(stage, phi, initial, setting)
            before, phi = phi, phi.keep(law, rewards, report.gap)
            best = phi.best(law, rewards)
            sizes = int(before.size.flat[0]), int(phi.size.flat[0])
            reports.append(report._replace(policies_before=sizes[0], policies_after=sizes[1]))
        left = setting.steps[-1].users
        yield PolicyMixture(best[..., None, :, :]).assign(setting.lead, left, rng=setting.rng)
        return Final(found=(phi, reports))
