"""Researchers' own agents beside the repository's: the same privatizer, users, seeds and search for all.

    privacy     equal by construction: at each eps every agent is handed the counts of one privatizer, made for it
    checked     at each eps, with each agent of the caller's: the ledger's account is at most the claim; the code
                conforms to the ledger on a few users (the tape); one run of all users has a witness at most the claim,
                and noise of the stated law
    fair        one search (`search`), the same number of points and runs for every agent that has a `space`; its seeds
                are functions of the search seed, the figure's of another one; both are the same at every eps
    beside      uniform actions (data-free) and UCB-VI on exact counts (no privacy): other privacy, references only

Where one check fails nobody's regret is drawn: all agents rest on the same privatizer. `Comparison.drawn` says so.
"""

import hashlib
import inspect
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
import numpy.typing as npt

from algorithms.baselines.ucbvi import UCBVI
from algorithms.core.counting import layout_of
from algorithms.core.environments import Environment
from algorithms.dp_ucbvi.learner import DPUCBVI
from algorithms.experiments.compare_evidence import evidence, FEW
from algorithms.experiments.constants import KNOWN, SPACES
from algorithms.experiments.search import Point, search, Space
from algorithms.experiments.store import finish_cell
from algorithms.study import Study
from algorithms.tabular import backward_induction, expected_return, uniform_policy
from dpverify.base import require
from dpverify.errors import ParameterError
from dpverify.execution import sources
from dpverify.execution.executors import ordered_map
from mechanisms.datasets.visit_counts import CountLayout

Array = npt.NDArray[np.float64]
MakeAgent = Callable[..., Any]  # (privatizer, users, **point)
MakePrivatizer = Callable[..., Any]  # (layout, users, eps), and delta where it is not 0

BASELINE, EXACT, BLIND = "DP-UCBVI", "UCB-VI, exact counts", "uniform actions"
GRID = 60  # users at which a curve is kept


@dataclass(frozen=True)
class Line:
    """One agent at one eps: its mean regret over the runs and the standard error of it, at the end and on the way.

    `privacy` has view, notion, eps, delta and unit, and is None for a reference, which spends nothing or has none.
    """

    agent: str
    privacy: dict[str, Any] | None
    regret: float
    error: float
    seed: int  # of users and noise
    point: Point
    search: dict[str, Any]  # points, seed, seeds, runs, what was tried; empty where there was nothing to search
    users: list[int]  # at which the curve is kept
    mean: list[float]
    spread: list[float]  # the standard error


@dataclass(frozen=True)
class Comparison:
    """All that a table of regrets rests on; where there are `objections` nothing is drawn."""

    environment: str
    relative_to: str  # what regret is measured against
    users: int
    runs: int
    eps: tuple[float, ...]
    checks: tuple[dict[str, Any], ...]
    lines: tuple[Line, ...]

    @property
    def objections(self) -> tuple[str, ...]:
        """Of all checks."""
        said = ((each["agent"], each["privacy"]["eps"], why) for each in self.checks for why in each["objections"])
        return tuple(f"{why} ({agent}, eps {eps:g})" for agent, eps, why in said)

    @property
    def drawn(self) -> bool:
        """Whether regrets are compared."""
        return not self.objections

    @property
    def refuted(self) -> bool:
        """Whether the code or its ledger contradicts the claim, and not only a check that could not be made."""
        return any(each.startswith("REFUTED") for each in self.objections)

    def at(self, agent: str, eps: float) -> Line:
        """The line of an agent at an eps; a reference has one line for all."""
        return next(
            each for each in self.lines if each.agent == agent and (not each.privacy or each.privacy["eps"] == eps)
        )

    def to_dict(self) -> dict[str, Any]:
        """For a file of numbers."""
        return {**asdict(self), "objections": self.objections}


class Contender(NamedTuple):
    """An agent that is searched and drawn; `exact`: without privacy, a reference."""

    name: str
    make: MakeAgent
    space: Space
    known: Sequence[Point] = ()
    exact: bool = False


def compare(
    agents: Mapping[str, Any],
    *,
    eps: Sequence[float],
    jobs: int = 1,
    folder: Path | None = None,
    resume: bool = False,
    **terms: Any,
) -> Comparison:
    """Checks the privatizer with every agent at every eps, then searches and draws all of them alike.

    Parameters
    ----------
    agents : mapping of str to object
        Name -> an object with `plan`, or a callable (privatizer, users, **point) that makes one; where it has a
        `space`, {parameter: (low, high)}, its point is searched as the repository's is.
    eps : sequence of float
        What everybody spends, once each.
    jobs : int
        Processes; what is found does not depend on it.
    folder, resume : Path, bool
        Each finished cell (an agent at an eps) is kept there as JSON; with `resume` those of the same settings,
        sources and versions are not computed again.
    **terms
        What is alike for all: see `Terms`.

    Raises
    ------
    ParameterError
        For what does not fit together, and for a search on the seed of the figure.
    """
    fair = Terms(**terms)
    authors = [Contender(name, _maker(agent), getattr(agent, "space", None) or {}) for name, agent in agents.items()]
    if not authors or {BASELINE, EXACT, BLIND} & set(agents):
        raise ParameterError("agents", list(agents), f"one at least, none called {BASELINE}, {EXACT} or {BLIND}")
    if not eps or len(set(eps)) < len(eps):
        raise ParameterError("eps", list(eps), "one at least, each once")
    for each in eps:
        fair.check_privatizer(each)

    def found(work: Callable[[tuple[Contender, float]], dict[str, Any]], cells: Any) -> list[dict[str, Any]]:
        """The cells' findings in order, computed where they are not kept."""
        if folder is not None:
            work = partial(finish_cell, folder, work, fair.settings(agents), resume)
        return [json.loads(json.dumps(each)) for each in ordered_map(work, cells, jobs=jobs)]  # as they are kept

    checks = found(fair.check, product(authors, eps))
    lines: list[dict[str, Any]] = []
    if not any(each["objections"] for each in checks):
        everybody = [*product([*authors, fair.baseline], eps), (fair.reference, eps[0])]
        lines = [*found(fair.line, everybody), fair.blind()]
    return Comparison(fair.environment.name, fair.environment.relative_to, fair.users, fair.runs, tuple(eps),
                      tuple(checks), tuple(Line(**each) for each in lines))  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What is alike for all agents: K = `users` of `environment`, `runs` runs on `seed`, a search of `points` points.

    `privatizer`: (layout, users, eps) -> privatizer; (layout, users, eps, delta) where delta is not 0.
    """

    environment: Environment
    privatizer: MakePrivatizer = field(repr=False)
    delta: float = 0.0
    users: int
    runs: int
    points: int
    seed: int
    search_seed: int

    def __post_init__(self) -> None:
        require.integer(at_least=FEW, users=self.users)
        require.integer(at_least=2, runs=self.runs)
        require.integer(at_least=1, points=self.points)
        require.integer(at_least=0, seed=self.seed, search_seed=self.search_seed)
        require.delta(delta=self.delta)
        if self.seed == self.search_seed:
            raise ParameterError(
                "search_seed", self.search_seed, "another seed than the figure's: nothing is tuned on its users"
            )

    @property
    def layout(self) -> CountLayout:
        """Of the counts."""
        return layout_of(self.environment.model)

    def check_privatizer(self, eps: float) -> None:
        """ParameterError for an eps that is none, and a privatizer that is not called so."""
        require.positive(eps=eps)
        if not callable(self.privatizer) or not _takes(self.privatizer, self.layout, self.users, *self._spent(eps)):
            wanted = "(layout, users, eps, delta): delta is not 0" if self.delta else "(layout, users, eps)"
            raise ParameterError("privatizer", self.privatizer, f"called with {wanted}")

    def study(self, one: Contender, point: Point, eps: float, users: int | None = None) -> Study:
        """An agent on the counts that everybody is handed at this eps; for fewer users where `users` says so."""
        users = users or self.users
        source = self.privatizer(self.layout, users, *self._spent(eps))
        agent = one.make(source, users, **point)
        return Study(agent=agent, privatizer=source, users=users, eps=eps, delta=self.delta)

    def check(self, cell: tuple[Contender, float]) -> dict[str, Any]:
        """What speaks against drawing an agent at an eps, at the middle of its space."""
        one, eps = cell
        point = {name: math.sqrt(low * high) for name, (low, high) in one.space.items()}
        studied = partial(self.study, one, point, eps)
        mine = studied()
        shown = evidence(mine, lambda users: studied(users=users), self.environment, self.seed)
        return {"agent": one.name, "privacy": _privacy(mine), "upper": mine.upper, **shown}

    def line(self, cell: tuple[Contender, float]) -> dict[str, Any]:
        """An agent at an eps: its point is searched, and drawn on other users."""
        one, eps = cell
        point, told = dict(*one.known[:1]), dict[str, Any]()
        if one.space and not one.exact:
            found = search({one.name: one.space}, lambda _, tried, seeds: self.study(one, tried, eps).losses(
                self.environment, seeds), points=self.points, seed=self.search_seed, known={one.name: one.known},
            )[one.name]  # fmt: skip
            point, told = found.point, {"points": self.points, "seed": self.search_seed, **found.record}
        mine = self.study(one, point, eps)
        regret = mine.regret(self.environment, runs=self.runs, seed=self.seed, exact=one.exact, per_user=True)
        return self._drawn(one.name, None if one.exact else _privacy(mine), regret, point, told)

    def blind(self) -> dict[str, Any]:
        """The agent that never looks: uniform actions, known without a draw."""
        model = self.environment.model
        best = backward_induction(model.transitions, model.rewards).values[0] @ model.initial
        policy = uniform_policy(model.horizon, model.states, model.actions)
        lost = float(best - expected_return(policy, model.transitions, model.rewards, model.initial))
        return self._drawn(BLIND, None, np.full((self.users, self.runs), lost), {}, {})

    @property
    def baseline(self) -> Contender:
        """The repository's, at equal privacy."""

        def make(privatizer: Any, users: int, *, bonus: float, error: float) -> DPUCBVI:
            return DPUCBVI(layout=self.layout, episodes=users, error=error * privatizer.error, bonus_scale=bonus)

        return Contender(BASELINE, make, SPACES["UCBVI-JDP"], KNOWN["UCBVI-JDP"])

    @property
    def reference(self) -> Contender:
        """Without privacy: not comparable."""

        def make(privatizer: Any, users: int, *, bonus: float) -> UCBVI:
            return UCBVI(layout=self.layout, episodes=users, bonus_scale=bonus)

        return Contender(EXACT, make, SPACES["UCBVI"], KNOWN["UCBVI"], exact=True)

    def settings(self, agents: Mapping[str, Any]) -> dict[str, Any]:
        """All that a finished cell depends on but its agent's name and its eps."""
        model, digest = self.environment, hashlib.sha256()
        for each in (model.model.transitions, model.reward_means, model.model.initial, np.array(model.taste)):
            digest.update(np.ascontiguousarray(each).data)
        try:
            objects = {name: joblib.hash(each) for name, each in {**agents, "privatizer": self.privatizer}.items()}
        except Exception as error:  # whatever a foreign object raises when it is pickled
            raise ParameterError("agents", list(agents), f"objects that pickle takes, to be kept ({error})") from error
        files = [__file__, *map(sources.file_of, (*agents.values(), self.privatizer))]
        numbers = {name: getattr(self, name) for name in ("delta", "users", "runs", "points", "seed", "search_seed")}
        return {**numbers, "environment": model.name, "model": digest.hexdigest(), "objects": objects,
                "sources": sources.digest(files), "own": sources.own_digest(), **sources.environment()}  # fmt: skip

    def _spent(self, eps: float) -> tuple[float, ...]:
        return (eps, self.delta) if self.delta else (eps,)

    def _drawn(
        self, name: str, privacy: dict[str, Any] | None, regret: Array, point: Point, told: dict[str, Any]
    ) -> dict[str, Any]:
        """A line from the regret of every user in every run, (users, runs)."""
        at = np.unique(np.linspace(1, self.users, min(GRID, self.users)).astype(int))
        total = np.cumsum(regret, axis=0)[at - 1]
        mean, spread = total.mean(axis=1), total.std(axis=1, ddof=1) / math.sqrt(self.runs)
        return asdict(Line(name, privacy, float(mean[-1]), float(spread[-1]), self.seed, dict(point), told,
                           at.tolist(), mean.tolist(), spread.tolist()))  # fmt: skip


def _privacy(study: Study) -> dict[str, Any]:
    notion = "(eps, delta)-DP" if study.delta else "eps-DP"
    claim = study.claim
    return {"view": claim.view.value, "notion": notion, "eps": study.eps, "delta": study.delta,
            "unit": claim.unit.value}  # fmt: skip


def _maker(agent: Any) -> MakeAgent:
    if callable(getattr(agent, "plan", None)) and not isinstance(agent, type):
        return lambda privatizer, users, **point: agent
    if not callable(agent):
        raise ParameterError(
            "agent", agent, "an object with plan(counts), or a callable (privatizer, users) that makes one"
        )
    space = getattr(agent, "space", None) or {}
    if not isinstance(space, Mapping):
        raise ParameterError("space", space, "{parameter: (low, high)}")
    point = dict.fromkeys(space)
    if not _takes(agent, None, 1, **point):
        if isinstance(agent, type) and not point and _takes(agent):  # a class that needs nothing to be made
            return lambda privatizer, users, **point: agent()
        named = "".join(f", {name}" for name in point)
        raise ParameterError("agent", agent, f"called with (privatizer, users{named})")
    return agent  # type: ignore[no-any-return]


def _takes(function: Any, *given: Any, **named: Any) -> bool:
    """Whether it can be called so, as far as it says."""
    try:
        inspect.signature(function).bind(*given, **named)
    except TypeError:
        return False
    except ValueError:  # it does not say
        return True
    return True


def table(found: Comparison) -> list[tuple[str, ...]]:
    """Rows of text: agent, privacy, then mean +- standard error and the point at each eps."""
    rows = []
    for name in dict.fromkeys(each.agent for each in found.lines):
        lines = [found.at(name, eps) for eps in found.eps]
        privacy = "equal" if lines[0].privacy else "reference"
        points = [", ".join(f"{key} = {value:.3g}" for key, value in each.point.items()) for each in lines]
        shown = [f"{each.regret:.4g} +- {each.error:.2g}" for each in lines]
        rows.append((name, privacy, *(f"{one}\n{two}".strip() for one, two in zip(shown, points, strict=True))))
    return rows
