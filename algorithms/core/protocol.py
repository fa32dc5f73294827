"""One description of a run, whoever learns: online, in batches, in a game.

    before step k   the agent hands out a policy, or laws of actions that are drawn with coins which all see
    in step k       the step's users play it, each on her own data; their counts go through the privatizer
    after step k    the agent is told what was released, and nothing else
    at the end      it says what it found

    agent           `steps(users)`: who is served when, and what is counted: public before any data
                    `act(setting)`: a generator; it yields policies and is sent released counts
    privatizer      a `CountSource` (continual, one user a step: `counting`), or `Batches` (a step's users together)

`drive` is the only loop. Transcripts, their ratios, action views, witnesses, taps, promises and regrets look at each
`Served` step of it as it passes by. Agents know users through released counts only, so whatever they do is
post-processing: given these and the coins, nothing but a replaced user's own counts tells two worlds apart.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from algorithms.core.channels import channel_of, ChannelStep, ReplayedChannel
from algorithms.core.users import Episodes, play, Users, Which
from dpverify.errors import RunError

Array = npt.NDArray[Any]
Shown = Literal["nothing", "coins", "policies"]


class Setting(NamedTuple):
    """What an agent may know: its steps, the privatizer's public numbers, the runs side by side, coins of its own."""

    steps: Sequence[ChannelStep]
    privatizer: Any
    lead: tuple[int, ...]
    rng: np.random.Generator


class Final(NamedTuple):
    """What a run returns: `policies` are told to everybody, `found` is whatever else the learner knows by then."""

    policies: tuple[Array, ...] = ()
    found: Any = None


Acting = Generator[Any, Any, Final]


class Agent(Protocol):
    """A learner in any of the protocols.

    A policy is (*lead, H, S) action numbers for all users of the step, (*lead, users, H, S) one for each of them, or
    (*lead, H, S, actions) probabilities. `shown` is what everybody sees beside released counts: nothing, where policies
    are functions of these; the coins of random actions; or the policies themselves, where coins of the agent drew them.
    """

    @property
    def shown(self) -> Shown: ...

    def steps(self, users: int | None = None) -> Sequence[ChannelStep]:
        """All steps; None: for as many users as the agent is made for, if it is. ParameterError for another number."""
        ...

    def act(self, setting: Setting) -> Acting:
        """Yields one policy for every step, and is sent the released counts (*lead, cells), None after a silent one."""
        ...


class Served:
    """One step as it passes by; `counts` is what was released after it, None where nothing was.

    Users play when somebody looks at `episodes`: those of a silent step perhaps never.
    """

    def __init__(self, number: int, step: ChannelStep, first: int, policies: Array, coins: Array | None) -> None:
        self.number, self.step, self.first, self.policies, self.coins = number, step, first, policies, coins
        self.counts: Any = None
        self.users: Users | None = None
        self._episodes: Episodes | None = None

    @property
    def which(self) -> Which:
        """Numbers of the step's users, as `play` takes them."""
        return np.arange(self.first, self.first + self.step.users) if self.step.together else self.first

    @property
    def episodes(self) -> Episodes:
        """What the step's users did."""
        if self._episodes is None:
            assert self.users is not None
            self._episodes = self.play(self.users, self.which)
        return self._episodes

    def shown(self, agent: "Agent") -> Array:
        """What everybody sees of the step beside its counts, where that is something."""
        beside = self.coins if agent.shown == "coins" else self.policies
        assert beside is not None
        return beside

    def play(self, users: Users, which: Which) -> Episodes:
        """What other users would have done in this step."""
        return play(users, which, self.policies, actions=self.step.actions, coins=self.coins)


Look = Callable[[Served], None]


def drive(
    agent: Agent,
    privatizer: Any,
    users: Users,
    *,
    lead: tuple[int, ...],
    rng: np.random.Generator,
    observe: Look | None = None,
    replay: ReplayedChannel | None = None,
    agent_rng: np.random.Generator | None = None,
) -> Final:
    """All users in order, in as many runs side by side as `lead` says.

    Coins are drawn before any noise: equal generators give equal coins whatever the privatizer. What an agent draws
    itself comes from `agent_rng`, from `rng` where it is None. A `replay` draws nothing; it ends with the last release
    and has no end to tell of.
    """
    steps = agent.steps(len(users))
    if replay is None:
        coins = coins_of(agent, len(steps), lead, users.horizon, rng)
        release = channel_of(privatizer).open(lead, rng)
    else:
        steps = steps[: max(number for number, step in enumerate(steps) if step.releases) + 1]
        coins, release = replay.coins, replay.open(lead, rng)
    acting = agent.act(Setting(steps, privatizer, lead, rng if agent_rng is None else agent_rng))
    counts, first = None, 0
    for number, step in enumerate(steps):
        served = _handed(acting.send(_own(counts)), number, step, first, lead, coins)
        first += step.users
        if not step.users:  # nobody came: a batch of nobody has told nothing
            counts = None if step.silent else np.zeros((*lead, step.layout.cells))
            continue
        served.users = users
        counts = served.counts = None if step.silent else release(step, served.episodes)
        if observe is not None:
            observe(served)
    if replay is not None:
        return Final()
    try:
        acting.send(_own(counts))
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    raise RunError(f"{type(agent).__name__}.act has more policies than the {len(steps)} steps")


def _own(counts: Any) -> Any:
    """Counts that an agent may write into: the privatizer goes on from its own.

    Numbers, on the tape as well: what is released is one, whatever an agent adds to it before it looks.
    """
    return None if counts is None else np.array(counts)


def opening(
    agent: Agent,
    privatizer: Any,
    users: int,
    *,
    lead: tuple[int, ...],
    rng: np.random.Generator,
    agent_rng: np.random.Generator | None = None,
) -> Served:
    """The first step of a run with these generators, before anybody has come: its policy is planned from no counts."""
    steps = agent.steps(users)
    coins = coins_of(agent, len(steps), lead, steps[0].layout.H, rng)
    acting = agent.act(Setting(steps, privatizer, lead, rng if agent_rng is None else agent_rng))
    return _handed(acting.send(None), 0, steps[0], 0, lead, coins)


def coins_of(agent: Agent, steps: int, lead: tuple[int, ...], horizon: int, rng: np.random.Generator) -> Array | None:
    """The public coins of all steps, (steps, *lead, H), where the agent's actions are random."""
    return rng.random((steps, *lead, horizon)) if agent.shown == "coins" else None


def _handed(
    policies: Array, number: int, step: ChannelStep, first: int, lead: tuple[int, ...], coins: Array | None
) -> Served:
    if step.together and policies.ndim == len(lead) + 2:
        policies = policies[..., None, :, :]
    return Served(number, step, first, policies, None if coins is None else coins[number])


@dataclass(frozen=True, eq=False)
class Handed:
    """An agent that hands out given policies (*lead, policies, H, S): the replay of one whose policies are shown.

    There is one for every user of a step, or one for each step.
    """

    agent: Agent
    policies: Array
    shown: Shown = "nothing"

    def steps(self, users: int | None = None) -> Sequence[ChannelStep]:
        return self.agent.steps(users)

    def act(self, setting: Setting) -> Acting:
        given, first = self.policies, 0
        each = given.shape[len(setting.lead)] == sum(step.users for step in setting.steps)
        for number, step in enumerate(setting.steps):
            if each and step.together:
                yield given[..., first : first + step.users, :, :]
            else:
                yield given[..., number, :, :]
            first += step.users
        return Final()


def played(
    agent: Agent, users: Users, privatizer: Any, *, runs: int, rng: np.random.Generator
) -> tuple[Array, list[int]]:
    """Policies of every step, (steps, runs, ...), and its number of users: of an agent with one policy a step."""
    seen: list[Array] = []
    sizes: list[int] = []

    def keep(served: Served) -> None:
        table = served.policies.reshape(runs, *served.policies.shape[1 + served.step.together :])
        seen.append(table.astype(np.int8) if np.issubdtype(table.dtype, np.integer) else table)
        sizes.append(served.step.users)

    drive(agent, privatizer, users, lead=(runs,), rng=rng, observe=keep)
    return np.stack(seen), sizes
