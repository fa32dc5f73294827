"""A researcher's own agent, whole: what its privacy, its error bounds and its regret can be checked by.

    agent       a rule `plan(counts) -> policies`: everything that it knows about users is in the released counts
    privatizer  a `Source` with a ledger, such as `dp_ucbvi.central` (joint view) and `dp_ucbvi.local` at pure eps, or
                `GaussianTrees.central` and `GaussianMessages.local` of `gaussian_counts` at (eps, delta)

From these two and the number of users follow the ledger, the whole run as audit targets (`transcript`, `actions`), the
exact log ratio of one run at full size (`witness`), the promise that counts are as near as the agent is told
(`promise`), and the regret (`regret`). An agent cannot see what was not released: it is handed released counts only.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from algorithms.counting import Exact, LocalCounts, TreeCounts
from algorithms.environments import Environment
from algorithms.gaussian_counts import GaussianMessages
from algorithms.instances import FullSizeOnline
from algorithms.one_run import Witness
from algorithms.online import Learner, Planned, regret_per_episode, run_online
from algorithms.protocol import Served
from algorithms.transcripts import Actions, replaced, Transcript
from algorithms.users import TapeUsers, Tree
from dpverify.accounting.accountant import account
from dpverify.accounting.ledger import Ledger
from dpverify.base import require
from dpverify.base.errors import ParameterError
from dpverify.base.seeding import derive, Stage, stream
from dpverify.claims.claim import ApproxDP, PureDP
from dpverify.claims.neighbours import Pair, Unit, View
from dpverify.evidence.promises import Outcomes, Promise
from mechanisms.datasets.visit_counts import CountLayout, PrivateCounts
from mechanisms.toolbox.noise_laws import Laplace

Array = np.ndarray[Any, np.dtype[Any]]


class CheckedAgent:
    """An agent whose policies are looked at: ParameterError for what is no table of action numbers.

    A replay plans again from the released counts, so a plan must be a function of them. The first eight plans, and
    then each whose number is a power of two, are made twice: an agent with coins or a memory of its own is refused
    where the two differ. State that changes more slowly is not seen.
    """

    def __init__(self, agent: Learner, shape: tuple[int, int, int]) -> None:
        self.agent, self.shape, self._plans = agent, shape, 0  # shape: H, S, A

    def plan(self, counts: PrivateCounts) -> Array:
        """The agent's policies, (runs, H, S) of integers in [0, A)."""
        self._plans += 1
        found = self._table(counts)
        twice = self._plans <= 8 or self._plans & (self._plans - 1) == 0
        if twice and not np.array_equal(found, self._table(counts)):
            raise ParameterError(self._what, "two tables", "the same policies for the same counts: no coins, no memory")
        return found

    @property
    def _what(self) -> str:
        return f"{type(self.agent).__name__}.plan, call {self._plans}"

    def _table(self, counts: PrivateCounts) -> Array:
        horizon, states, actions = self.shape
        wanted = (len(counts.visits), horizon, states)
        found = np.asarray(self.agent.plan(counts))
        if found.shape != wanted:
            raise ParameterError(self._what, found.shape, f"policies of shape {wanted}: runs, H, S")
        if not np.issubdtype(found.dtype, np.integer):
            raise ParameterError(self._what, found.dtype, "action numbers, an array of integers")
        if found.size and not (0 <= found.min() and found.max() < actions):
            raise ParameterError(
                self._what, (int(found.min()), int(found.max())), f"action numbers from 0 to {actions - 1}"
            )
        return found


@dataclass(frozen=True, kw_only=True)
class Study:
    """`agent` run on `privatizer`, with `users` users one after the other; the last user's counts are not released.

    The privatizer is a `TreeCounts` (every other user sees functions of all released counts: joint DP) or a
    `LocalCounts` or `GaussianMessages` (every user's message is private by itself: local DP), made for at least `users`
    users. (`eps`, `delta`) is what is claimed. ParameterError where these do not fit.
    """

    agent: Learner
    privatizer: TreeCounts | LocalCounts | GaussianMessages
    users: int
    eps: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        require.integer(at_least=2, users=self.users)
        require.positive(eps=self.eps)
        require.delta(delta=self.delta)
        if not isinstance(self.privatizer, TreeCounts | LocalCounts | GaussianMessages):
            kinds = (
                "TreeCounts, LocalCounts or GaussianMessages, see algorithms.dp_ucbvi and algorithms.gaussian_counts"
            )
            raise ParameterError("privatizer", self.privatizer, kinds)
        if not callable(getattr(self.agent, "plan", None)):
            raise ParameterError("agent", self.agent, "an object with plan(counts) -> policies")
        if isinstance(self.privatizer, TreeCounts) and self.privatizer.counter.releases < self.users - 1:
            raise ParameterError(
                "users", self.users, f"at most {self.privatizer.counter.releases + 1}, as the privatizer's"
            )

    @property
    def claim(self) -> PureDP | ApproxDP:
        """Eps-JDP, or eps-LDP of every message, with `delta` where there is one; the unit is a whole trajectory."""
        view = View.JOINT if isinstance(self.privatizer, TreeCounts) else View.LOCAL
        if self.delta:
            return ApproxDP(self.eps, self.delta, unit=Unit.TRAJECTORY, view=view)
        return PureDP(self.eps, unit=Unit.TRAJECTORY, view=view)

    @property
    def ledger(self) -> Ledger:
        """That of the privatizer: whatever the agent does with released counts is post-processing."""
        return self.privatizer.ledger

    @property
    def upper(self) -> float:
        """Eps of the ledger at `delta`."""
        return float(account(self.privatizer, delta=self.delta))

    @property
    def transcript(self) -> Transcript:
        """Target: all released counts of a run, with the exact log ratio."""
        return Transcript(agent=self._agent, privatizer=self.privatizer)

    def actions(self, hidden: int, *, exact: bool = False) -> Actions:
        """Target: what all users but `hidden` (from 0) are told, and the final policy.

        `exact`: the agent is handed counts without noise, a planted twin: an audit of actions that does not refute it
        sees nothing.
        """
        if not 0 <= hidden < self.users:
            raise ParameterError("hidden", hidden, f"a user, 0 to {self.users - 1}")
        source = Exact(self.privatizer.layout) if exact else self.privatizer
        return Actions(agent=self._agent, privatizer=source, hidden=hidden)

    def with_noise(self, factor: float) -> "Study":
        """The same claim with `factor` times the noise, and the ledger that this has: 1/2 is a planted bug."""
        require.positive(factor=factor)
        source: TreeCounts | LocalCounts | GaussianMessages
        if isinstance(self.privatizer, GaussianMessages):
            source = self.privatizer.with_noise(factor)
        elif isinstance(self.privatizer, LocalCounts):
            source = replace(self.privatizer, scale=factor * self.privatizer.scale)
        else:
            counter = self.privatizer.counter
            source = replace(self.privatizer, counter=replace(counter, noise=counter.noise.with_noise(factor)))
        return replace(self, privatizer=source)

    def pair(self, user: int = 0) -> Pair:
        """Datasets in which all that a user's data can move is moved: `user` stays in state 1 instead of 0, paid 1.

        All others stay in state 0 unpaid. For targets with few users: a dataset lists every user.
        """
        return steady_pair(self.privatizer.layout, self.users, user)

    def witness(self, environment: Environment, *, seed: int) -> Witness:
        """One run with users of `environment`, the first one replaced: the exact log ratio of what was released.

        A lower bound on eps that takes the noise's law for granted, and tests of that law beside it (`tap`).
        """
        self._fits(environment)
        node = self.privatizer.counter.noise if isinstance(self.privatizer, TreeCounts) else self.privatizer
        if not isinstance(node, Laplace | LocalCounts):
            raise ParameterError("privatizer", node, "Laplace noise: a witness is about pure eps")
        run = FullSizeOnline(
            name=type(self.agent).__name__,
            users=self.users,
            claim=PureDP(self.eps, unit=Unit.TRAJECTORY, view=self.claim.view),
            upper=float(account(self.privatizer)),
            scale=node.scale,
            ledger=self.ledger,
            learner=self._checked,
            source=self.privatizer,
            environment=environment,
        )
        return run.witness(seed)

    def promise(self, environment: Environment, *, beta: float, name: str = "counts", **options: Any) -> Promise:
        """With probability 1 - `beta` all released counts of a run are within `privatizer.error` of the true ones."""
        require.open_unit(beta=beta)
        self._fits(environment)
        layout = self.privatizer.layout

        def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
            true, worst = np.zeros((size, layout.cells)), np.zeros(size)

            def compare(served: Served) -> None:
                if served.counts is not None:  # the last user is not fed
                    true[...] += served.step.exact(served.episodes)
                    np.maximum(worst, np.abs(served.counts - true).max(axis=1), out=worst)

            users = TapeUsers(environment, rng.random((size, self.users, environment.tape_width)))
            run_online(users, self._checked, self.privatizer, runs=size, rng=rng, observe=compare)
            return Outcomes(errors=worst)

        statement = "every released count of a run is within the error bound that the agent is told"
        given = {"statement": statement, **options}
        return Promise(name=name, draw=draw, bound=self.privatizer.error, failure_probability=beta, **given)

    def regret(self, environment: Environment, *, runs: int, seed: int) -> Array:
        """Total expected regret of each run, (runs,): sum over users of V* - V^pi in the environment's model."""
        require.integer(at_least=1, runs=runs)
        self._fits(environment)
        return self._regret(environment, environment.tapes(seed, runs, self.users), seed)

    def losses(self, environment: Environment, seeds: Sequence[int]) -> Array:
        """The same, one run a seed, (len(seeds),): what a search compares settings by. Noise depends on all seeds."""
        self._fits(environment)
        tapes = np.concatenate([environment.tapes(each, 1, self.users) for each in seeds])
        return self._regret(environment, tapes, derive(seeds[0], f"study/{list(seeds)}"))

    def _regret(self, environment: Environment, tapes: Array, seed: int) -> Array:
        rng = stream(derive(seed, "study/regret"), Stage.EXPERIMENT)
        done = run_online(TapeUsers(environment, tapes), self._checked, self.privatizer, runs=len(tapes), rng=rng)
        return np.asarray(regret_per_episode(done.policies, environment.model).sum(axis=0))

    def with_agent(self, agent: Learner) -> "Study":
        """The same privatizer, users and claim: a baseline at equal privacy."""
        return replace(self, agent=agent)

    @property
    def _agent(self) -> Planned:
        return Planned(learner=self._checked, layout=self.privatizer.layout)

    @property
    def _checked(self) -> CheckedAgent:
        layout = self.privatizer.layout
        return CheckedAgent(self.agent, (layout.H, layout.S, layout.A))

    def _fits(self, environment: Environment) -> None:
        fits(environment, self.privatizer.layout)


def fits(environment: Environment, layout: CountLayout) -> None:
    """ParameterError for an environment with other sizes than the counts."""
    model = environment.model
    if (layout.H, layout.S, layout.A) != (model.horizon, model.states, model.actions):
        sizes = f"H={layout.H}, S={layout.S}, A={layout.A}, as the privatizer's layout"
        raise ParameterError("environment", environment.name, sizes)


def steady_pair(layout: CountLayout, users: int, user: int) -> Pair:
    """All users stay in state 0 unpaid but `user`, who is paid 1 and stays in state 0, or in state 1."""
    if not 0 <= user < users:
        raise ParameterError("user", user, f"a user, 0 to {users - 1}")
    if layout.S < 2:
        raise ParameterError("layout.S", layout.S, "at least 2: the pair is about two states")

    def steady(state: int, paid: float) -> Tree:
        return Tree.steady((state,) * (layout.H + 1), (paid * layout.rewards,) * layout.H, layout.A)

    others = [steady(0, 0.0)] * users
    others[user] = steady(0, 1.0)
    return replaced(others, user, steady(1, 1.0), f"user {user + 1} stays in state 1 instead of 0")
