"""What the analysis of SDP-PE rests on, stage by stage, as `Promise`s that trials can break. A trial is a run.

P is the true law, W the tuples (h, x, a, x') that the crude exploration saw too rarely, P' = P outside W and 0 in W
(the mass goes to the absorbing state), P~cru the crude estimate. Journal version, Appendix B:

    kernel_promise    Lemma 14: in every stage (1 - 1/H) P~cru <= P' <= (1 + 1/H) P~cru outside W, with
                      probability 1 - 4 delta, and P~cru = 0 in W on every path. Active: the share of tuples outside W
    visiting_promise  Lemma 15, of the same stages: V^pi(1_j, P~cru)/4 <= V^pi(1_j, P') <= 3 V^pi(1_j, P~cru) for every
                      policy and j = (h, x, a). Active: the share of j that some policy reaches after the first step
    coverage_promise  Lemma 17, on which Lemma 9 rests: max over mu in phi_b of sum_j V^mu(1_j, P')/V^ref(1_j, P') is
                      at most 12 X A H, j = (h, x, a), 0/0 = 0, for the mixture that the fine exploration is given;
                      that users are dealt it is in Lemma 18, which reads their episodes.
                      Active: the share of stages with at least two policies left; one covers itself
    bias_promise      Lemma 8: V^pi(P) - V^pi(P') <= 96 (6 E X H^2 + 1) X^2 A H^3 iota/L_b for every pi in phi_b and
                      rewards in [0, 1], H times Lemma 16's bound on Pr_pi[meets W] (`meeting`). (16) gives it:
                      Pr[W | (h, x, a)] <= 2 (6 E H^2 X iota + iota)/N with N >= L_b sup V/(48 H X A) in the second
                      case; the first, (14), has 48 for 96. (17) writes 7 E H^2 X for 6 E H^2 X + 1, hence `printed`:
                      672 E X^3 A H^5 iota/L_b, false for small E. Active: stages whose bound is below H, or below 1
    counts_promise    Lemma 18: in every stage and j outside W, N_j >= L_b V^ref(1_j, P')/2 - iota for the L_b users
                      of the fine mixture alone, before noise. `share` stands for 1/2. Active: right sides above 0
    regret_bound      Theorem 6 with the last sum of its proof:
                      6H + sum_{b>1} 12 C L_b (sqrt(X A H^3 iota/L_{b-1}) + X^3 A H^5 E iota/L_{b-1})
"""

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.core.counting import total_counts
from algorithms.core.environments import Environment
from algorithms.core.mixtures import PolicyMixture
from algorithms.core.protocol import Look, Served
from algorithms.core.users import Episodes, TapeUsers
from algorithms.sdp_pe.batches import Batches
from algorithms.sdp_pe.elimination import SDPPE
from algorithms.sdp_pe.policy_sets import ExplicitSet
from algorithms.sdp_pe.schedule import StagePlan
from algorithms.tabular import all_policies, expected_return, Model, occupancy
from dpverify.base import require
from dpverify.errors import ParameterError
from dpverify.promises import Outcomes, Promise

Array = npt.NDArray[Any]
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class SeenStage:
    """A stage of `size` runs: the policies before it, W's complement and P~cru (size, H, X, A, X), what fine plays."""

    plan: StagePlan
    policies: ExplicitSet
    frequent: npt.NDArray[np.bool_]
    law: Array
    mixtures: list[PolicyMixture]
    error: float

    def absorbing(self, model: Model) -> Array:
        """P', (size, H, X, A, X)."""
        return np.where(self.frequent, model.transitions, 0.0)

    def reach(self, model: Model) -> Array:
        """V^ref(1_j, P') of the fine mixture, (size, H, X, A)."""
        mixture = self.mixtures[0]
        assert mixture.weights is not None
        visits = occupancy(mixture.policies, self.absorbing(model)[:, None], model.initial)
        return np.asarray((mixture.weights[..., None, None, None] * visits).sum(axis=1))


Judge = Callable[[SeenStage], Outcomes]  # errors are over their bounds


def kernel_promise(environment: Environment, learner: SDPPE, batches: Batches, **options: Any) -> Promise:
    """Errors are H |P'/P~cru - 1|."""

    def judge(stage: SeenStage) -> Outcomes:
        true = stage.absorbing(environment.model)
        ratio = np.where(stage.frequent, true / np.where(stage.frequent, stage.law, 1.0), 1.0)
        off = learner.layout.H * np.abs(ratio - 1).reshape(len(ratio), -1).max(axis=1)
        none = (stage.frequent | (stage.law == 0)).reshape(len(ratio), -1).all(axis=1)
        active = stage.frequent.reshape(len(ratio), -1).mean(axis=1)
        return Outcomes(errors=off, invariants={"P~cru = 0 in W": none}, active=active)

    return _promise(environment, learner, batches, judge, {"failure_probability": 4 * learner.delta, **options})


def visiting_promise(environment: Environment, learner: SDPPE, batches: Batches, **options: Any) -> Promise:
    """Errors are the largest of V'/(3 V~) and V~/(4 V'), 0/0 = 0, over all deterministic policies; needs H >= 2."""
    model, size = environment.model, learner.layout
    require.integer(at_least=2, H=size.H)
    every = all_policies(size.H, size.S, size.A)

    def judge(stage: SeenStage) -> Outcomes:
        true, found = (occupancy(every, law[:, None], model.initial) for law in (stage.absorbing(model), stage.law))
        off = np.maximum(_ratios(true, 3 * found), _ratios(found, 4 * true))
        reached = (np.maximum(true, found)[:, :, 1:] > 0).any(axis=1)
        active = reached.reshape(len(off), -1).mean(axis=1)
        return Outcomes(errors=off.reshape(len(off), -1).max(axis=1), active=active)

    return _promise(environment, learner, batches, judge, {"failure_probability": 4 * learner.delta, **options})


def coverage_promise(environment: Environment, learner: SDPPE, batches: Batches, **options: Any) -> Promise:
    """Errors are the coverage over 12 X A H, infinite where a policy goes where the mixture does not."""
    model, most = environment.model, 12 * learner.layout.tuples

    def judge(stage: SeenStage) -> Outcomes:
        law = stage.absorbing(model)[:, None]
        reach = stage.reach(model)
        visits = occupancy(stage.policies.policies, law, model.initial)
        ratios = _ratios(visits, reach[:, None])
        coverage = np.where(stage.policies.alive, ratios.sum(axis=(-3, -2, -1)), 0.0).max(axis=1)
        return Outcomes(errors=coverage / most, active=(stage.policies.size > 1).astype(np.float64))

    return _promise(environment, learner, batches, judge, {"failure_probability": 4 * learner.delta, **options})


def bias_promise(
    environment: Environment,
    learner: SDPPE,
    batches: Batches,
    *,
    printed: bool = False,
    meeting: bool = False,
    **options: Any,
) -> Promise:
    """Errors are the largest lost value over its bound; rewards of 1 everywhere lose most.

    With `meeting` the chance of W over its bound: what is lost of a reward of 1 for a last step that is not in W.
    """
    model, size = environment.model, learner.layout
    ones, most = np.ones(model.rewards.shape), 1 if meeting else size.H
    last = ones * (np.arange(size.H) == size.H - 1)[:, None, None]

    def judge(stage: SeenStage) -> Outcomes:
        every = stage.policies.policies
        law = stage.absorbing(model)[:, None]
        whole = expected_return(every, model.transitions, last if meeting else ones, model.initial)
        left = expected_return(every, law, last * law.sum(axis=-1) if meeting else ones, model.initial)
        lost = np.where(stage.policies.alive, whole - left, 0.0).max(axis=1)
        share = size.S**2 * size.A * size.H**3 * learner.log_term / stage.plan.length
        counted = stage.error * size.S * size.H**2
        bound = (672 * counted if printed else 96 * (6 * counted + 1)) * share * most / size.H
        over = lost / bound if bound > 0 else np.where(lost <= ROUNDING, 0.0, np.inf)
        return Outcomes(errors=over, active=np.full(len(lost), float(bound < most)))

    return _promise(environment, learner, batches, judge, {"failure_probability": 7 * learner.delta, **options})


def counts_promise(
    environment: Environment, learner: SDPPE, batches: Batches, *, share: float = 0.5, **options: Any
) -> Promise:
    """Errors are the largest share L_b V^ref/(N + iota) where W leaves anything, over all stages."""
    model, iota = environment.model, learner.log_term
    _require_stage(learner)

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        seen, worst, active = list[SeenStage](), list[Array](), list[Array]()

        def compare(served: Served) -> None:
            if served.step.silent or served.step.part is not None:
                return
            stage, (states, actions, rewards) = seen[-1], served.episodes
            mine = np.s_[..., : stage.plan.fine[0], :]
            fine = Episodes(states[mine], actions[mine], rewards[mine])
            least = share * stage.plan.fine[0] * stage.reach(model) * stage.frequent.any(axis=-1)
            ratio = least / (learner.layout.unpack(total_counts(fine, learner.layout)).visits + iota)
            worst.append(ratio.reshape(size, -1).max(axis=1))
            active.append((least > iota).reshape(size, -1).mean(axis=1))

        watched = _watched(learner, batches, seen.append)
        _run(environment, watched, batches, size, rng=rng, observe=compare)
        return Outcomes(errors=np.max(worst, axis=0), active=np.mean(active, axis=0))

    given = {"failure_probability": 4 * learner.delta, "block": 32, **options}
    return Promise(draw=draw, bound=1.0, **given)


def regret_bound(learner: SDPPE, batches: Batches) -> float:
    """At C = `threshold_scale` for both terms, E that of each fine batch."""
    size, plan = learner.layout, learner.plan
    total = 6.0 * size.H
    for before, stage in pairwise(plan):
        error = batches.error(size, sum(before.fine))
        share = size.S * size.A * size.H**3 * learner.log_term / before.length
        accuracy = math.sqrt(share) + size.S**2 * size.H**2 * error * share
        total += 12 * learner.threshold_scale * stage.length * accuracy
    return total


def _promise(environment: Environment, learner: SDPPE, batches: Batches, judge: Judge, options: Any) -> Promise:
    """`policies` among the options: what to start from instead of all deterministic policies."""
    policies = options.pop("policies", None)
    _require_stage(learner)

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        seen: list[Outcomes] = []
        watched = _watched(learner, batches, lambda stage: seen.append(judge(stage)))
        _run(environment, watched, batches, size, rng=rng, policies=policies)
        invariants = {name: np.all([each.invariants[name] for each in seen], axis=0) for name in seen[0].invariants}
        errors, active = (np.stack([np.asarray(getattr(each, name)) for each in seen]) for name in ("errors", "active"))
        return Outcomes(errors=errors.max(axis=0), invariants=invariants, active=active.mean(axis=0))

    return Promise(draw=draw, bound=1.0, **{"block": 32, **options})


def _require_stage(learner: SDPPE) -> None:
    """The lemmas are the journal version's, of its stages."""
    if learner.version != "journal":
        raise ParameterError("version", learner.version, "'journal': the lemmas are of its Appendix B")
    if not learner.plan:
        raise ParameterError("episodes", learner.episodes, ">= 3: fewer users make no stage")


def _run(
    environment: Environment,
    learner: SDPPE,
    batches: Batches,
    size: int,
    *,
    rng: np.random.Generator,
    policies: Array | None = None,
    observe: Look | None = None,
) -> None:
    layout, initial = learner.layout, environment.model.initial
    policies = all_policies(layout.H, layout.S, layout.A) if policies is None else policies
    users = TapeUsers(environment, rng.random((size, learner.episodes, environment.tape_width)))
    phi = ExplicitSet.full(policies, initial, layout.A, (size,))
    learner.run(users, batches, phi, initial, rng=rng, lead=(size,), observe=observe)


def _ratios(above: Array, below: Array) -> Array:
    """above/below, 0 where `above` is 0 and infinite where only `below` is; NaN stays."""
    above, below = np.broadcast_arrays(above, below)
    return np.where(above == 0, 0.0, np.where(below > 0, above / np.where(below > 0, below, 1.0), np.inf))


def _watched(learner: SDPPE, batches: Batches, tell: Callable[[SeenStage], None]) -> SDPPE:
    """The same learner, which tells of every stage what its fine exploration was given and what it played."""
    explore, other = learner._explore, copy.copy(learner)

    def told(stage: StagePlan, phi: Any, crude: Any, *rest: Any) -> Any:
        found = explore(stage, phi, crude, *rest)
        error = max(learner._error(batches, learner.layer, number) for number in stage.layers)
        tell(SeenStage(stage, phi, crude.frequent, crude.law, found[0], error))
        return found

    object.__setattr__(other, "_explore", told)
    return other
