"""The learners at the size of their experiments, with a neighbouring pair that moves all that a user can move.

    name              learner, privatizer                       H  S  A (B)  users    claim
    pucb              PUCB, corrected binary counters           6  4  2      20,000   1-JDP
    bernstein-vi-jdp  Bernstein-VI, Central                     6  4  2      20,000   1-JDP
    bernstein-vi-ldp  Bernstein-VI, Local                       6  4  2      20,000   1-LDP
    dp-nash-vi-jdp    DP-Nash-VI, Central                       4  4  2 (2)  5,000    1-JDP
    dp-nash-vi-ldp    DP-Nash-VI, Local                         4  4  2 (2)  5,000    1-LDP
    sdp-pe            SDP-PE, calibrated shuffled bits          6  4  2      20,000   (1, 1e-3)-SDP  `sdp_pe.full_size`
    dp-apvi           DP-APVI, Gaussian counts                  20 2  100    1,000    1-zCDP         `offline.full_size`
    dp-vapvi          DP-VAPVI, noise as printed, d = 10        20 2  100    1,000    1-zCDP         `offline.full_size`

Online learners: the first user is replaced, who lies in the most nodes. She stays in state 0 in one world and in state
1 in the other, and is paid 1 where rewards are counted, so 2H cells of every family move (`Tree.steady`). All others
are drawn from RiverSwim, or from a random game. Constants are those of the learning curves: they change what is played,
never the noise. Sizes: SDP-PE journal, section VI; DP-Nash-VI as in our curves; offline paper, Appendix F.

Local rows: the witness is about one user's message; beside it, one-run canaries (`canaries`) from a run in which a coin
chooses every user's life.
"""

import hashlib
import time
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from algorithms.bernstein_vi.learner import BernsteinVI, central, local
from algorithms.beyond.black_box_instances import black_box as black_box
from algorithms.beyond.gaussian_counts import GaussianMessages
from algorithms.core.canaries import Canaries, canaries, CoinUsers
from algorithms.core.counting import LocalCounts, Plugged, TreeCounts
from algorithms.core.environments import Environment, river_swim
from algorithms.core.node_evidence import after, FarSide, NodeEvidence
from algorithms.core.noise_tap import LAPLACE, NoiseTap, NORMAL
from algorithms.core.one_run import FullSize, RunWitness
from algorithms.core.online import Learner, Planned
from algorithms.core.protocol import Agent, drive, opening, Served
from algorithms.core.shift_certificates import gaussian_eps
from algorithms.core.users import Replaced, TapeUsers, Tree, TreeUsers
from algorithms.figure_instances import figure_regret as figure_regret
from algorithms.nash_vi.learner import error_of, NashVI, SelfPlay
from algorithms.nash_vi.markov_games import random_game
from algorithms.offline.full_size import dp_apvi, dp_vapvi
from algorithms.pucb.learner import corrected_counters, printed_error, PUCB
from algorithms.sdp_pe.batches import ShuffledBatches
from algorithms.sdp_pe.full_size import sdp_pe
from dpverify.accounting.accountant import account
from dpverify.base import require
from dpverify.base.seeding import derive, Stage, stream
from dpverify.claims import ApproxDP, PureDP, Unit, View
from dpverify.errors import ParameterError, RunError
from dpverify.ledger import Ledger
from dpverify.tape.generator import streaming
from dpverify.tape.sources import Change
from dpverify.tape.witness import towards_zero
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.privatizers.central import Central
from mechanisms.privatizers.local import Local
from mechanisms.toolbox.noise_laws import GaussianNoiseLaw, LaplaceNoiseLaw

Array = npt.NDArray[Any]

SIZES = {
    "pucb": 20_000,
    "bernstein-vi-jdp": 20_000,
    "bernstein-vi-ldp": 20_000,
    "sdp-pe": 20_000,
    "dp-nash-vi-jdp": 5_000,
    "dp-nash-vi-ldp": 5_000,
    "dp-apvi": 1_000,
    "dp-vapvi": 1_000,
}
NAMES = tuple(SIZES)
EPS, DELTA, BETA = 1.0, 1e-3, 0.05
_START = 0  # of the game
_LAYOUT = CountLayout(H=6, S=4, A=2, rewards=True)  # of RiverSwim


@dataclass(frozen=True, kw_only=True)
class FullSizeOnline:
    """One row of the table: `upper` is the ledger of the honest privatizer, in the claim's unit."""

    name: str
    users: int
    claim: PureDP | ApproxDP
    upper: float
    scale: float  # of the noise on a node, as the ledger states it
    ledger: Ledger  # of the honest privatizer
    learner: Any
    source: Any  # TreeCounts, LocalCounts, GaussianMessages, Central or Local
    change: Change | None = None
    least: float = 0.98
    environment: Environment | None = None  # of all other users; None: RiverSwim, or a random game

    @property
    def local(self) -> bool:
        """The adversary sees each user's message."""
        return isinstance(self.source, LocalCounts | Local | GaussianMessages)

    @property
    def _law(self) -> LaplaceNoiseLaw | GaussianNoiseLaw:
        """Of a node or a message, as the privatizer states it."""
        if not self.local:
            return self.source.counter.noise  # type: ignore[no-any-return]
        if isinstance(self.source, GaussianMessages):
            return GaussianNoiseLaw(self.source.sigma)
        return LaplaceNoiseLaw(self.source.scale)

    def witness(self, seed: int) -> RunWitness:
        """One run with the first user's noise on the far side, everything else as drawn; normal noise all as drawn."""
        begin = time.process_time()
        layout, game = self.source.layout, self._agent.shown == "coins"
        trees = tuple(_steady(layout, state) for state in (0, 1))
        environment = self.environment
        if environment is None:
            environment = random_game(seed, 4, 2, 2, 4, concentration=0.3).environment if game else river_swim()
        users = Replaced(TapeUsers(environment, environment.tapes(seed, 1, self.users)), 0, trees[0])
        tree = not self.local
        noise = self._law
        normal = isinstance(noise, GaussianNoiseLaw)
        tap = NoiseTap(layout.cells, self.scale, NORMAL if normal else LAPLACE)
        evidence = NodeEvidence(self.users - 1, tree, noise, tap)
        coins = [stream(derive(seed, f"{self.name}/agent"), Stage.EXPERIMENT) for _ in range(2)]  # what an agent draws
        start = opening(self._agent, self._channel, self.users, lead=(1,), rng=self._noise(seed), agent_rng=coins[0])
        first, second = (start.step.exact(start.play(TreeUsers((each,)), 0))[0] for each in trees)
        shift, other_user, digest = first - second, TreeUsers((trees[1],)), hashlib.sha256()

        def look(served: Served) -> None:
            if served.counts is None:
                return  # the last user's counts are not released
            own = served.step.exact(served.episodes)[0]
            other = served.step.exact(served.play(other_user, 0))[0] if served.number == 0 else own
            if served.number == 0 and ((own - other) != shift).any():
                raise RunError("the first user's moves are not those that her noise was chosen for")
            digest.update(np.ascontiguousarray(served.counts[0]).data)
            evidence.step(own, other, served.counts[0].copy())

        far = FarSide(shift, evidence.item_nodes, "normal" if normal else "laplace")
        rng, tape = streaming(self._noise(seed), after(self.change, far))
        drive(self._agent, self._channel, users, lead=(1,), rng=rng, observe=look, agent_rng=coins[1])
        if tape.notes:
            raise RunError(f"draws left the tape: {tape.notes[0]}")
        if len(far.chosen) != len(evidence.used):
            raise RunError(f"{type(self.source).__name__}: its noise is not drawn from the generator that it is handed")
        thrown = self.users * layout.H if game else 0
        report = tap.report(drawn=tape.drawn - thrown, stated=layout.cells * (self.users - 1))
        nodes, unit, method, read = len(evidence.item_nodes), "eps", "witness", "object"
        if isinstance(self.claim, ApproxDP):
            unit = f"eps at delta {self.claim.delta:g}"
        if normal:
            assert isinstance(self.claim, ApproxDP)
            lower, method, read = gaussian_eps(evidence.mu(far), self.claim.delta), "shift certificate", "code"
        else:
            lower = towards_zero(evidence.loss)
        used = time.process_time() - begin
        view = "one message" if self.local else "released counts"
        code = evidence.code(far, self.ledger)
        told = digest.hexdigest()
        return RunWitness(
            lower, unit, method, evidence.moved, nodes, tape.drawn, used, told, report, code, view, read=read
        )

    def canaries(self, seed: int) -> Canaries:
        """One more run, for local rows: ParameterError for a tree, whose nodes hide a user's share of eps."""
        if not self.local:
            raise ParameterError("name", self.name, "a local row: the others show no single message")
        layout = self.source.layout
        rng = stream(derive(seed, f"{self.name}/canaries"), Stage.EXPERIMENT)
        coins = rng.integers(2, size=self.users)
        trees = [TreeUsers((_steady(layout, state),)) for state in (0, 1)]
        scores, before = np.zeros(self.users - 1), np.zeros(layout.cells)

        def look(served: Served) -> None:
            nonlocal before
            if served.counts is not None:
                message, before = served.counts[0] - before, served.counts[0].copy()
                first, second = (served.step.exact(served.play(each, 0))[0] for each in trees)
                scores[served.number] = (np.abs(message - second) - np.abs(message - first)).sum() / self.scale

        lives = CoinUsers(TreeUsers(tuple(_steady(layout, state) for state in (0, 1))), coins)
        drive(self._agent, self._channel, lives, lead=(1,), rng=streaming(rng, self.change)[0], observe=look)
        return canaries(scores, coins[:-1] == 1)

    @property
    def _agent(self) -> Agent:
        if isinstance(self.learner, NashVI):
            return SelfPlay(planner=self.learner, start=_START)
        return Planned(learner=self.learner, layout=self.source.layout)

    @property
    def _channel(self) -> Any:
        return Plugged(self.source) if isinstance(self.source, Central | Local) else self.source

    def _noise(self, seed: int) -> np.random.Generator:
        return stream(derive(seed, self.name), Stage.EXPERIMENT)


def full_size(
    name: str,
    *,
    noise: float = 1.0,
    change: Change | None = None,
    users: int | None = None,
    features: Literal["scaled", "printed"] = "scaled",
) -> FullSize:
    """The instance `name`; `noise` scales what is drawn (its standard deviation) and leaves claim and ledger alone.

    `change` puts other noise in the place of what is drawn (planted bugs); `users` is smaller for tests; `features`
    are those of DP-VAPVI: as printed they are too long for its ledger.
    """
    if name not in NAMES:
        raise ParameterError("name", name, ", ".join(NAMES))
    require.positive(noise=noise)
    if features != "scaled" and (name != "dp-vapvi" or features != "printed"):
        raise ParameterError("features", features, "'scaled', or 'printed' for dp-vapvi")
    count = SIZES[name] if users is None else users
    require.integer(at_least=2, users=count)
    if name == "dp-apvi":
        return dp_apvi(count, noise, change)
    if name == "dp-vapvi":
        return dp_vapvi(count, noise, change, features)
    if name == "sdp-pe":
        batches = ShuffledBatches(layout=_LAYOUT, eps=EPS, beta=DELTA, budget="calibrated")
        return sdp_pe(count, batches if noise == 1 else batches.with_noise(noise), batches, change)
    locally = name.endswith("ldp")
    learner, honest = (_game if name.startswith("dp-nash-vi") else _single)(name, count)
    node = LaplaceNoiseLaw(honest.scale) if locally else honest.counter.noise
    source = honest
    if isinstance(honest, TreeCounts):
        source = replace(honest, counter=replace(honest.counter, noise=node.with_noise(noise)))
    elif noise != 1:
        source = replace(honest, scale=noise * honest.scale)
    view = View.LOCAL if locally else View.JOINT
    return FullSizeOnline(
        name=name,
        users=count,
        claim=PureDP(EPS, unit=Unit.TRAJECTORY, view=view),
        upper=account(honest),
        scale=node.scale,
        ledger=honest.ledger,
        learner=learner,
        source=source,
        change=change,
    )


def _single(name: str, users: int) -> tuple[Learner, Any]:
    layout = _LAYOUT
    if name == "pucb":
        counters = corrected_counters(layout, users - 1, EPS)
        error = printed_error(layout, users, EPS, BETA)
        return PUCB(layout=layout, episodes=users, error=error), TreeCounts(layout, counters, error)
    make: Any = local if name.endswith("ldp") else central
    source = make(layout, users, EPS, error_scale=1e-3)
    return BernsteinVI(layout=layout, episodes=users, error=source.error, bonus_scale=1e-3), source


def _game(name: str, users: int) -> tuple[NashVI, Any]:
    game = random_game(1, 4, 2, 2, 4, concentration=0.3)
    source: Any = Central.corrected(EPS, game.layout, users, releases=users - 1)
    if name.endswith("ldp"):
        source = Local.corrected(EPS, game.layout, users=users - 1)
    error = error_of(source, BETA, scale=0.01)
    constants = {"bonus_scale": 1e-4, "gap_scale": 0.01}
    rewards = game.rewards
    return NashVI(layout=game.layout, rewards=rewards, episodes=users, error=error, beta=BETA, **constants), source


def _steady(layout: CountLayout, state: int) -> Tree:
    """A user who stays in `state` and is paid 1 where rewards are counted."""
    return Tree.steady((state,) * (layout.H + 1), (float(layout.rewards),) * layout.H, layout.choices)
