"""A researcher's own agent, whole: what its privacy, its error bounds and its regret can be checked by.

    agent       a rule `plan(counts) -> policies`: everything that it knows about users is in the released counts; with
                coins, `plan(counts, *, rng)`, or a memory, `plan(counts, *, state) -> (policies, state)`, or both:
                the coins of `rng` are ours, so what they draw is shown beside the counts
    privatizer  what counts are released through; it says which protocol the agent is run in:

    one user a plan     `bernstein_vi.central` (joint view) and `bernstein_vi.local` (local view) at pure eps; at
                        (eps, delta) `GaussianTrees.central` and `GaussianMessages.local` of `gaussian_counts`
    batches             `ShuffledBatches(layout=..., eps=..., beta=..., budget="calibrated")` (shuffle view), or what
                        has `layout`, `release`, `log_ratio` and `ledger` like it; with `deployments`
    two-player games    `Central.corrected` and `Local.corrected` of `mechanisms.privatizers`; `plan` returns laws of
                        joint actions, (runs, H, S, A, B), drawn with coins that all see; rewards are known

From these and the number of users follow the ledger, the whole run as audit targets (`transcript`, `actions`), the
exact log ratio of one run at full size (`witness`), the promise that counts are as near as the agent is told
(`promise`), and the regret (`regret`). An agent cannot see what was not released: it is handed released counts only.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from algorithms.beyond.gaussian_counts import GaussianMessages
from algorithms.core.checked_agent import CheckedAgent
from algorithms.core.counting import ExactSource, LocalCounts, Plugged, TreeCounts
from algorithms.core.environments import Environment
from algorithms.core.one_run import RunWitness
from algorithms.core.online import Planned, regret_per_episode
from algorithms.core.protocol import drive, played, Served
from algorithms.core.transcripts import Actions, replaced, RunTranscript
from algorithms.core.users import TapeUsers, Tree
from algorithms.instances import FullSizeOnline
from algorithms.nash_vi.markov_games import marginals, MarkovGame
from algorithms.sdp_pe.batches import ExactBatches
from dpverify.accounting.accountant import account
from dpverify.base import require
from dpverify.base.seeding import derive, Stage, stream
from dpverify.claims import ApproxDP, Pair, PureDP, Unit, View
from dpverify.errors import ParameterError
from dpverify.ledger import Ledger
from dpverify.promises import Outcomes, Promise
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.privatizers.central import Central
from mechanisms.privatizers.local import Local
from mechanisms.toolbox.noise_laws import GaussianNoiseLaw, LaplaceNoiseLaw

Array = np.ndarray[Any, np.dtype[Any]]


PLAYED = (TreeCounts, LocalCounts, GaussianMessages, Central, Local)  # one user a plan; the last two are of games
LOCAL = (LocalCounts, GaussianMessages, Local)
WITNESSED = (LaplaceNoiseLaw, GaussianNoiseLaw, LocalCounts, GaussianMessages, Local)  # by noise, or by messages
KINDS = (
    "TreeCounts, LocalCounts (algorithms.bernstein_vi.learner) or GaussianMessages"
    " (algorithms.beyond.gaussian_counts); Central or Local "
    "of a game; or batches with release, log_ratio and ledger, as ShuffledBatches has"
)


@dataclass(frozen=True, kw_only=True)
class Study:
    """`agent` run on `privatizer` by `users` users, the last ones' counts not released; see the module for the kinds.

    (`eps`, `delta`) is what is claimed: of all that every other user sees (trees: joint DP), of every user's message
    (local DP), or of the counts of her batch (shuffle DP). `deployments`: the number of batches. ParameterError where
    these do not fit.
    """

    agent: Any
    privatizer: Any
    users: int
    eps: float
    delta: float = 0.0
    deployments: int | None = None

    def __post_init__(self) -> None:
        require.integer(at_least=2, users=self.users)
        require.positive(eps=self.eps)
        require.delta(delta=self.delta)
        if not isinstance(self.privatizer, PLAYED):
            if not all(callable(getattr(self.privatizer, name, None)) for name in ("release", "log_ratio", "ledger")):
                raise ParameterError("privatizer", self.privatizer, KINDS)
            if not isinstance(getattr(self.privatizer, "layout", None), CountLayout):
                raise ParameterError("privatizer.layout", None, "the layout of its counts")
        if isinstance(self.privatizer, Central | Local) and (self.layout.B is None or self.layout.rewards):
            raise ParameterError("privatizer.layout", self.layout, "that of a game, with B and without rewards")
        if isinstance(self.privatizer, PLAYED) == (self.deployments is not None):
            raise ParameterError("deployments", self.deployments, "a number of batches for batches, and None otherwise")
        if self.deployments is not None:
            require.integer(at_least=2, deployments=self.deployments)
            if self.deployments > self.users:
                raise ParameterError("deployments", self.deployments, f"at most {self.users}, one user each")
        if not callable(getattr(self.agent, "plan", None)):
            raise ParameterError("agent", self.agent, "an object with plan(counts) -> policies")
        made = self._made_for
        if made is not None and made < self.users - 1:
            raise ParameterError("users", self.users, f"at most {made + 1}, as the privatizer's")

    @property
    def layout(self) -> CountLayout:
        """Of the counts."""
        return self.privatizer.layout  # type: ignore[no-any-return]

    @property
    def claim(self) -> PureDP | ApproxDP:
        """Pure where `delta` is 0; the unit is a whole trajectory."""
        view = View.SHUFFLE if self.deployments else View.LOCAL if isinstance(self.privatizer, LOCAL) else View.JOINT
        if self.delta:
            return ApproxDP(self.eps, self.delta, unit=Unit.TRAJECTORY, view=view)
        return PureDP(self.eps, unit=Unit.TRAJECTORY, view=view)

    @property
    def ledger(self) -> Ledger:
        """That of the released counts: whatever the agent does with them is post-processing."""
        stated = self.transcript.ledger
        assert stated is not None
        return stated

    @property
    def upper(self) -> float:
        """Eps of the ledger at `delta`."""
        return float(account(self.ledger, delta=self.delta))

    @property
    def transcript(self) -> RunTranscript:
        """Target: all released counts of a run, with the exact log ratio; in games also the coins."""
        return RunTranscript(agent=self._agent, privatizer=self._source)

    def actions(self, hidden: int, *, exact: bool = False) -> Actions:
        """Target: what all users but `hidden` (from 0) are told, and the final policy.

        `exact`: the agent is handed counts without noise, a planted twin: an audit of actions that does not refute it
        sees nothing.
        """
        if not 0 <= hidden < self.users:
            raise ParameterError("hidden", hidden, f"a user, 0 to {self.users - 1}")
        return Actions(agent=self._agent, privatizer=self._exact if exact else self._source, hidden=hidden)

    def with_noise(self, factor: float) -> "Study":
        """The same claim with `factor` times the noise, and the ledger that this has: 1/2 is a planted bug."""
        require.positive(factor=factor)
        source: Any = self.privatizer
        drawn: Any
        if isinstance(source, TreeCounts):
            drawn = replace(source, counter=replace(source.counter, noise=source.counter.noise.with_noise(factor)))
        elif isinstance(source, LocalCounts | Local):
            drawn = replace(source, scale=factor * source.scale)
        elif callable(getattr(source, "with_noise", None)):
            drawn = source.with_noise(factor)
        else:
            raise ParameterError("privatizer", source, "an object with with_noise(factor)")
        return replace(self, privatizer=drawn)

    def pair(self, user: int = 0) -> Pair:
        """Datasets in which all that a user's data can move is moved: `user` stays in state 1 instead of 0, paid 1.

        All others stay in state 0 unpaid. For targets with few users: a dataset lists every user.
        """
        return steady_pair(self.layout, self.users, user)

    def witness(self, environment: Environment | MarkovGame, *, seed: int) -> RunWitness:
        """One run with users of `environment`, the first one replaced: the exact log ratio of what was released.

        A lower bound on eps that takes the noise's law for granted, and tests of that law beside it (`tap`). Gaussian
        noise: eps at `delta` from the shifts and the scales that the code used.
        """
        model, counter = self._fits(environment), getattr(self.privatizer, "counter", None)
        node: Any = self.privatizer if counter is None else counter.noise
        if not isinstance(node, WITNESSED):
            raise ParameterError("privatizer", node, "Laplace or Gaussian noise of one user a plan")
        normal = isinstance(node, GaussianNoiseLaw | GaussianMessages)
        if normal and not self.delta:
            raise ParameterError("delta", self.delta, "above 0: Gaussian noise is not pure")
        run = FullSizeOnline(
            name=type(self.agent).__name__,
            users=self.users,
            claim=self.claim if normal else PureDP(self.eps, unit=Unit.TRAJECTORY, view=self.claim.view),
            upper=self.upper if normal else float(account(self.ledger)),
            scale=getattr(node, "sigma" if normal else "scale"),
            ledger=self.ledger,
            learner=self._agent.learner,
            source=self.privatizer,
            environment=model,
        )
        return run.witness(seed)

    def promise(
        self, environment: Environment | MarkovGame, *, beta: float, name: str = "counts", **options: Any
    ) -> Promise:
        """With probability 1 - `beta` all released counts of a run are within the agent's error bound of the true ones.

        That is `privatizer.error`, in games `error_bound(beta)`. Batches have a bound for each of them: ParameterError,
        see `pooled_promises`.
        """
        require.open_unit(beta=beta)
        if self.deployments is not None:
            raise ParameterError("privatizer", self.privatizer, "of one user a plan: batches have bounds of their own")
        model, source = self._fits(environment), self._source
        bound = Plugged(self.privatizer, beta).error if isinstance(source, Plugged) else source.error

        def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
            true, worst = np.zeros((size, self.layout.cells)), np.zeros(size)

            def compare(served: Served) -> None:
                if served.counts is not None:  # the last user is not fed
                    true[...] += served.step.exact(served.episodes)
                    np.maximum(worst, np.abs(served.counts - true).max(axis=1), out=worst)

            users = TapeUsers(model, rng.random((size, self.users, model.tape_width)))
            drive(self._agent, source, users, lead=(size,), rng=rng, observe=compare)
            return Outcomes(errors=worst)

        statement = "every released count of a run is within the error bound that the agent is told"
        given = {"statement": statement, **options}
        return Promise(name=name, draw=draw, bound=bound, failure_probability=beta, **given)

    def regret(
        self,
        environment: Environment | MarkovGame,
        *,
        runs: int,
        seed: int,
        exact: bool = False,
        per_user: bool = False,
    ) -> Array:
        """Total expected regret of each run, (runs,): sum over users of V* - V^pi in the model, in games the Nash gap.

        V* is that of `environment.relative_to`: the optimal policy, or where the model is estimated
        (`gym_users.estimated_environment`) the best policy on it, and V^pi is on that model too.
        `exact`: without privacy, on the same users. `per_user`: of each user, (users, runs), not their sum.
        """
        require.integer(at_least=1, runs=runs)
        tapes = self._fits(environment).tapes(seed, runs, self.users)
        found = self._regret(environment, tapes, seed, exact)
        return found if per_user else np.asarray(found.sum(axis=0))

    def losses(self, environment: Environment | MarkovGame, seeds: Sequence[int]) -> Array:
        """The same, one run a seed, (len(seeds),): what a search compares settings by. Noise depends on all seeds."""
        model = self._fits(environment)
        tapes = np.concatenate([model.tapes(each, 1, self.users) for each in seeds])
        found = self._regret(environment, tapes, derive(seeds[0], f"study/{list(seeds)}"), False)
        return np.asarray(found.sum(axis=0))

    def _regret(self, environment: Environment | MarkovGame, tapes: Array, seed: int, exact: bool) -> Array:
        rng, source = stream(derive(seed, "study/regret"), Stage.EXPERIMENT), self._exact if exact else self._source
        users = TapeUsers(self._fits(environment), tapes)
        policies, sizes = played(self._agent, users, source, runs=len(tapes), rng=rng)
        if isinstance(environment, MarkovGame):
            gaps = environment.gap(*marginals(policies.reshape(*policies.shape[:2], *self.layout.visits_shape)))
        else:
            gaps = regret_per_episode(policies, environment.model)
        return np.asarray(np.repeat(gaps, sizes, axis=0))

    def with_agent(self, agent: Any) -> "Study":
        """The same privatizer, users and claim: a baseline at equal privacy."""
        return replace(self, agent=agent)

    @property
    def _agent(self) -> Planned:
        checked = CheckedAgent(self.agent, self.layout)
        return Planned(learner=checked, layout=self.layout, users=self.users, deployments=self.deployments)

    @property
    def _source(self) -> Any:
        return Plugged(self.privatizer) if isinstance(self.privatizer, Central | Local) else self.privatizer

    @property
    def _exact(self) -> Any:
        return ExactSource(self.layout) if self.deployments is None else ExactBatches()

    @property
    def _made_for(self) -> int | None:
        """Users whose counts are released, where the privatizer is made for a number of them."""
        if isinstance(self.privatizer, Local):
            return self.privatizer.users
        counter = getattr(self.privatizer, "counter", None)
        return None if counter is None else int(counter.releases)

    def _fits(self, environment: Environment | MarkovGame) -> Environment:
        """Its users; ParameterError for other sizes than those of the counts."""
        size = self.layout
        if isinstance(environment, MarkovGame):
            if environment.layout != size:
                raise ParameterError("environment", environment.layout, f"{size}, as the privatizer's layout")
            return environment.environment
        model = environment.model
        if size.B is not None or (size.H, size.S, size.A) != (model.horizon, model.states, model.actions):
            sizes = f"H={size.H}, S={size.S}, A={size.A}, as the privatizer's layout" + (", a game" if size.B else "")
            raise ParameterError("environment", environment.name, sizes)
        return environment


def steady_pair(layout: CountLayout, users: int, user: int) -> Pair:
    """All users stay in state 0 unpaid but `user`, who is paid 1 and stays in state 0, or in state 1."""
    if not 0 <= user < users:
        raise ParameterError("user", user, f"a user, 0 to {users - 1}")
    if layout.S < 2:
        raise ParameterError("layout.S", layout.S, "at least 2: the pair is about two states")

    def steady(state: int, paid: float) -> Tree:
        return Tree.steady((state,) * (layout.H + 1), (paid * layout.rewards,) * layout.H, layout.choices)

    others = [steady(0, 0.0)] * users
    others[user] = steady(0, 1.0)
    return replaced(others, user, steady(1, 1.0), f"user {user + 1} stays in state 1 instead of 0")
