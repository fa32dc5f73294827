"""DP-APVI and DP-VAPVI at full size, Appendix F of the offline paper: H = 20, S = 2, A = 100, 1,000 users, 1-zCDP.

DP-APVI     one Gaussian release of all counts. A user who stays in state 0 with action 0 instead of state 1 with
            action 1 moves 2H cells of each family by 1: rho = |shift/sigma|^2/2, exactly, and equal to the ledger.
            sigma is the code's: what it released less the exact counts, over the normal z that passed the tape.
DP-VAPVI    5H adaptive Gaussian statistics, d = 10, un-split, noise as printed. The replaced user plays, in all steps,
            the two rows of the feature table whose Gram matrices are farthest apart. The shifts of the vectors depend
            on V, so on what was released: rho >= KL = their mean cost, from `TRANSCRIPTS` transcripts, each in
            [0, ledger] (`shift_certificates.mean_lower`). The features are never antipodal, so the ledger, which
            holds for the whole unit ball, is not reached.
Tap         all noise of the transcripts; of DP-APVI in `RELEASES` releases, each step of the horizon as one row.
"""

import hashlib
import time
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.core.node_evidence import after, FarSide, NodeEvidence
from algorithms.core.noise_tap import NoiseTap, NORMAL, SIGNIFICANCE, TapReport
from algorithms.core.one_run import RunWitness
from algorithms.core.shift_certificates import mean_lower
from algorithms.offline.apvi import DPAPVI
from algorithms.offline.data import appendix_mdp, collect, leaning_policy
from algorithms.offline.vapvi import VAPVI
from algorithms.offline.vapvi_transcripts import StatisticsView
from dpverify.accounting.accountant import rho_upper
from dpverify.base.rounding import float_up
from dpverify.base.seeding import derive, Stage, stream
from dpverify.claims import Pair, Relation, Unit, ZCDP
from dpverify.errors import RunError
from dpverify.ledger import Ledger
from dpverify.tape.generator import Streamed, streaming
from dpverify.tape.sources import Change
from dpverify.tape.witness import towards_zero
from mechanisms.datasets.trajectories import Trajectories
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.privatizers.linear_noise import LinearNoise
from mechanisms.privatizers.offline_tabular import OfflineTabularGaussian
from mechanisms.toolbox.noise_laws import GaussianNoiseLaw

Array = npt.NDArray[np.float64]

HORIZON, ACTIONS, DIMENSION, RHO = 20, 100, 10, 1.0
TRANSCRIPTS, RELEASES, BLOCK = 1_000, 40, 100


@dataclass(frozen=True, kw_only=True)
class FullSizeTabular:
    """The row of DP-APVI."""

    name: str
    users: int
    claim: ZCDP
    upper: float
    learner: DPAPVI
    honest: OfflineTabularGaussian  # that of the ledger
    change: Change | None = None
    least: float = 0.98

    def witness(self, seed: int) -> RunWitness:
        """The shifts of one pair, and the noise of `RELEASES` releases of it."""
        begin, layout = time.process_time(), self.learner.layout
        pair = _steady(_data(seed, self.users), (0, 0), (1, 1))
        first, second = (layout.pack(each.counts()) for each in pair)
        honest, far = self.honest, FarSide(first - second, (1,), "normal")
        rng, tape = _streaming(self.name, seed, after(self.change, far))
        released = np.concatenate([self.learner.release(pair.first, rng=rng, size=1) for _ in range(RELEASES)])
        self.learner.planner.plan(layout.unpack(np.maximum(released[:1], 0)))
        tap = NoiseTap(layout.cells // layout.H, honest.sigma, NORMAL)
        for row in released:
            noise = layout.unpack(row - first)
            for h in range(layout.H):
                tap.add(np.concatenate([noise.visits[h].ravel(), noise.transitions[h].ravel()]))
        report = _report(tap, tape, RELEASES * layout.cells)
        evidence = NodeEvidence(1, tree=False, noise=GaussianNoiseLaw(honest.sigma))
        evidence.step(first, second, released[0])
        lower, code = towards_zero(evidence.mu(far) ** 2 / 2), evidence.code(far, honest.ledger)
        digest, used = hashlib.sha256(released[0].tobytes()).hexdigest(), time.process_time() - begin
        return RunWitness(
            lower, "rho", "shift certificate", evidence.moved, 1, layout.cells, used, digest, report, code, read="code"
        )


@dataclass(frozen=True, kw_only=True)
class FullSizeLinear:
    """The row of DP-VAPVI."""

    name: str
    users: int
    claim: ZCDP
    upper: float
    view: StatisticsView
    scales: Array  # of the noise of a step, as the ledger states them
    transcripts: int = TRANSCRIPTS
    change: Change | None = None
    least: float = 0.3

    def witness(self, seed: int) -> RunWitness:
        """Costs and noise of `TRANSCRIPTS` transcripts of the farthest pair of rows of the feature table."""
        begin, view = time.process_time(), self.view
        pair = _steady(_data(seed, self.users), *farthest(view.learner.features))
        rng, tape = _streaming(self.name, seed, self.change)
        tap = NoiseTap(len(view.sigmas), 1.0, NORMAL)
        costs, digest, moved = [], hashlib.sha256(), 0
        for _ in range(self.transcripts // BLOCK):
            outputs = view.release(pair.first, rng=rng, size=BLOCK)
            digest.update(outputs.tobytes())
            first, second = (view.means(outputs, data) for data in pair)
            costs.append((((first - second) / view.sigmas) ** 2).sum(axis=(1, 2)) / 2)
            moved = max(moved, int((first != second).sum(axis=(1, 2)).max()))
            for step in ((outputs.reshape(first.shape) - first) / self.scales).reshape(-1, len(self.scales)):
                tap.add(step)
        report = _report(tap, tape, self.transcripts * HORIZON * len(self.scales))
        lower = towards_zero(mean_lower(np.concatenate(costs), self._most(), SIGNIFICANCE))
        used, method = time.process_time() - begin, f"mean of {self.transcripts} transcripts"
        kind, told = f"statistical, {SIGNIFICANCE:g}", digest.hexdigest()
        return RunWitness(lower, "rho", method, moved, HORIZON, tape.drawn, used, told, report, kind=kind)

    def _most(self) -> float:
        """The ledger of what runs: no transcript costs more."""
        ledger = self.view.ledger
        assert ledger is not None
        return _rho(ledger)


def dp_apvi(users: int, noise: float, change: Change | None) -> FullSizeTabular:
    """The row; `noise` scales what is drawn."""
    layout = CountLayout(H=HORIZON, S=2, A=ACTIONS)
    honest = OfflineTabularGaussian(layout=layout, rho=RHO)
    rewards = appendix_mdp(1, HORIZON).model.rewards
    drawn = replace(honest, rho=RHO / noise**2)
    learner = DPAPVI(layout=layout, rewards=rewards, privatizer=drawn)
    upper = _rho(honest.ledger)
    return FullSizeTabular(
        name="dp-apvi", users=users, claim=_claim(), upper=upper, learner=learner, honest=honest, change=change
    )


def dp_vapvi(users: int, noise: float, change: Change | None, features: str) -> FullSizeLinear:
    """The row; `features` scaled to the unit ball, or as printed, with lengths up to sqrt 7."""
    linear = appendix_mdp(1, HORIZON)
    honest = LinearNoise.as_printed(RHO, HORIZON, DIMENSION)
    scaled = _view(linear.scaled().features, honest)
    drawn = LinearNoise.as_printed(RHO / noise**2, HORIZON, DIMENSION)
    view = replace(_view((linear.scaled() if features == "scaled" else linear).features, drawn))
    if features != "scaled":
        view = replace(view, unit_ball=False)
    assert scaled.ledger is not None
    upper = _rho(scaled.ledger)
    return FullSizeLinear(
        name="dp-vapvi", users=users, claim=_claim(), upper=upper, view=view, scales=scaled.sigmas, change=change
    )


def farthest(features: Array) -> tuple[tuple[int, int], tuple[int, int]]:
    """(state, action) twice: the rows of (S, A, d) with the largest |phi phi^T - psi psi^T|_F."""
    rows = features.reshape(-1, features.shape[-1])
    inner = rows @ rows.T
    squares = np.diag(inner) ** 2
    first, second = np.unravel_index((squares[:, None] + squares - 2 * inner**2).argmax(), inner.shape)
    one, other = (divmod(int(each), features.shape[1]) for each in (first, second))
    return one, other


def _view(features: Array, noise: LinearNoise) -> StatisticsView:
    constants = {"penalty": 0.05 * DIMENSION**0.5}  # that of the figure
    return StatisticsView(VAPVI(features=features, horizon=HORIZON, noise=noise, **constants))


def _rho(ledger: Ledger) -> float:
    return float_up(Fraction(rho_upper(ledger, relation=Relation.REPLACE_ONE)))


def _claim() -> ZCDP:
    return ZCDP(RHO, unit=Unit.TRAJECTORY)


def _data(seed: int, users: int) -> Trajectories:
    model = appendix_mdp(1, HORIZON).model
    return collect(model, leaning_policy(HORIZON, 2, ACTIONS), users, rng=stream(seed, Stage.EXPERIMENT, 1))


def _steady(data: Trajectories, first: tuple[int, int], second: tuple[int, int]) -> Pair:
    """The first user stays in a state with an action, and is paid 1; another one in the other world."""
    worlds = []
    assert data.rewards is not None
    assert data.final_states is not None
    for state, action in (first, second):
        arrays = [data.states.copy(), data.actions.copy(), data.rewards.copy(), data.final_states.copy()]
        for array, value in zip(arrays, (state, action, 1.0, state), strict=True):
            array[0] = value
        states, actions, rewards, last = arrays
        worlds.append(replace(data, states=states, actions=actions, rewards=rewards, final_states=last))
    return Pair(worlds[0], worlds[1], name=f"{first} not {second}")


def _streaming(name: str, seed: int, change: Change | None) -> tuple[Any, Streamed]:
    return streaming(stream(derive(seed, name), Stage.EXPERIMENT), change)


def _report(tap: NoiseTap, tape: Streamed, stated: int) -> TapReport:
    if tape.notes:
        raise RunError(f"draws left the tape: {tape.notes[0]}")
    return tap.report(drawn=tape.drawn, stated=stated)
