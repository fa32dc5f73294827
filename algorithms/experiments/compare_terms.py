"""What is alike for all agents of `compare`: the interface of a family, and the family of one user a plan.

run         an agent on the privatizer that everybody is handed at this eps, `Terms.study`: `.losses(environment,
seeds)` for the search, `.regret(environment, runs, seed, exact, per_user)` for the curve
measured    `Terms.measure` in `Terms.unit`, at `Terms.axis` of the curve, relative to `Terms.relative_to`
beside      `Terms.baselines` at equal privacy and search, `Terms.references` without, `Terms.blind` without data
"""

import copy
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from typing import Any, ClassVar, NamedTuple

import joblib
import numpy as np
import numpy.typing as npt

from algorithms.baselines.ucbvi import UCBVI
from algorithms.bernstein_vi.learner import BernsteinVI
from algorithms.core.counting import layout_of
from algorithms.core.environments import Environment
from algorithms.experiments.compare_evidence import evidence, FEW
from algorithms.experiments.constants import KNOWN, SPACES
from algorithms.experiments.intervals import mean_and_half_width
from algorithms.experiments.search import Point, search, Space
from algorithms.pucb.learner import PUCB
from algorithms.study import Study
from algorithms.tabular import backward_induction, expected_return, Model, uniform_policy
from dpverify.base import require
from dpverify.errors import ParameterError
from dpverify.execution import sources
from mechanisms.datasets.visit_counts import CountLayout

Array = npt.NDArray[np.float64]
MakeAgent = Callable[..., Any]  # (privatizer, users, **point)
MakePrivatizer = Callable[..., Any]  # (layout, users, eps), and delta where it is not 0

BASELINE, EXACT, BLIND = "Bernstein-VI", "UCB-VI, exact counts", "uniform actions"
REWARDS_ONLY = "rewards known, transitions taken for uniform"  # data-free as well, where rewards are known
GRID = 60  # users at which a curve is kept


@dataclass(frozen=True)
class Line:
    """One agent at one eps: its mean regret over the seeds and half of its interval, at the end and on the way.

    Intervals are those of `intervals`. `privacy` has view, notion, eps, delta and unit, and is None for a reference,
    which spends nothing or has none.
    """

    agent: str
    privacy: dict[str, Any] | None
    regret: float
    half_width: float
    final: list[float]  # regret at the end, one a seed
    seed: int  # of users and noise; the seeds of the runs are functions of it
    point: Point
    search: dict[str, Any]  # points, by_hand, seed, seeds, runs, what was tried; empty where nothing was searched
    users: list[int]  # at which the curve is kept
    mean: list[float]
    half_widths: list[float]


class Contender(NamedTuple):
    """An agent that is searched and drawn.

    `exact`: without privacy, a reference. `divides`: the repository's own, which divides the users itself.
    """

    name: str
    make: MakeAgent
    space: Space
    known: Sequence[Point] = ()
    exact: bool = False
    divides: bool = False

    def made(self, privatizer: Any, users: int, point: Point) -> Any:
        """The agent, from a privatizer of its own: what it does to that one is not what its counts come from."""
        return self.make(copy.deepcopy(privatizer), users, **point)


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What is alike for all agents: K = `users` of `environment`, `runs` runs on `seed`, a search of `points` points.

    `privatizer`: (layout, users, eps) -> privatizer; (layout, users, eps, delta) where delta is not 0.
    """

    MEASURE: ClassVar = "regret"
    UNIT: ClassVar = "expected reward, summed over users"
    AXIS: ClassVar = "user"
    REFUSED: ClassVar[tuple[str, ...]] = ()  # what is not drawn beside them, and why
    SETTING: ClassVar[type] = Environment

    environment: Any  # of the type SETTING
    privatizer: MakePrivatizer = field(repr=False)
    delta: float = 0.0
    users: int
    runs: int
    points: int
    seed: int
    search_seed: int
    opponents: tuple[str, ...] = ()  # names of `known_opponents` that stand beside the baselines

    def __post_init__(self) -> None:
        if len(set(self.opponents)) < len(self.opponents) or not self.known_opponents.keys() >= set(self.opponents):
            allowed = ", ".join(self.known_opponents) or "none"
            raise ParameterError("opponents", list(self.opponents), f"each once, of those of this family: {allowed}")
        if not isinstance(self.environment, self.SETTING):
            found = type(self.environment).__name__
            raise ParameterError("environment", found, f"of type {self.SETTING.__name__} for this family")
        check_numbers(
            users=self.users,
            runs=self.runs,
            points=self.points,
            seed=self.seed,
            search_seed=self.search_seed,
            delta=self.delta,
        )

    @property
    def model(self) -> Model:
        """Of the environment."""
        return self.environment.model  # type: ignore[no-any-return]

    @property
    def layout(self) -> CountLayout:
        """Of the counts."""
        return layout_of(self.model)

    @property
    def data(self) -> str:
        """Where the users of the runs are from."""
        return "users are drawn from the environment, anew for each seed"

    @property
    def relative_to(self) -> str:
        """What is measured is relative to it."""
        return self.environment.relative_to  # type: ignore[no-any-return]

    def check_privatizer(self, eps: float) -> None:
        """ParameterError for an eps that is none, and a privatizer that is not called so."""
        require.positive(eps=eps)
        if not callable(self.privatizer) or not takes(self.privatizer, self.layout, self.users, *self._spent(eps)):
            if not self.delta and takes(self.privatizer, self.layout, self.users, eps, 0.5):
                raise ParameterError("delta", self.delta, "above 0: the privatizer is (layout, users, eps, delta)")
            wanted = "(layout, users, eps, delta): delta is not 0" if self.delta else "(layout, users, eps)"
            raise ParameterError("privatizer", self.privatizer, f"called with {wanted}")

    def study(self, one: Contender, point: Point, eps: float, users: int | None = None) -> Any:
        """What is run: an agent on the counts that everybody is handed at this eps; for `users`, where that says so."""
        users = users or self.users
        source = self.privatizer(self.layout, users, *self._spent(eps))
        agent = one.made(source, users, point)
        return Study(agent=agent, privatizer=source, users=users, eps=eps, delta=self.delta)

    def check(self, cell: tuple[Contender, float]) -> dict[str, Any]:
        """What speaks against drawing an agent at an eps, at the middle of its space."""
        one, eps = cell
        point = {name: math.sqrt(low * high) for name, (low, high) in one.space.items()}
        studied = partial(self.study, one, point, eps)
        mine = studied()
        shown = evidence(mine, lambda users: studied(users=users), self.environment, self.seed)
        return {"agent": one.name, "privacy": privacy_of(mine), "upper": mine.upper, **shown}

    def line(self, cell: tuple[Contender, float]) -> dict[str, Any]:
        """An agent at an eps: its point is searched, and drawn on other users."""
        one, eps = cell
        point, told = dict(*one.known[:1]), dict[str, Any]()
        if one.space and not one.exact:
            found = search(
                {one.name: one.space},
                lambda _, tried, seeds: self.study(one, tried, eps).losses(self.environment, seeds),
                points=self.points,
                seed=self.search_seed,
                known={one.name: one.known},
            )[one.name]
            by_hand = min(self.points, len(one.known))
            point = found.point
            told = {"points": self.points, "by_hand": by_hand, "seed": self.search_seed, **found.record}
        mine = self.study(one, point, eps)
        regret = mine.regret(self.environment, runs=self.runs, seed=self.seed, exact=one.exact, per_user=True)
        return self._drawn(one.name, None if one.exact else privacy_of(mine), regret, point, told)

    def blind(self) -> list[dict[str, Any]]:
        """Those that never look, known without a draw."""
        shape = (self.users, self.runs)
        return [self._drawn(name, None, np.full(shape, lost), {}, {}) for name, lost in self.data_free.items()]

    @property
    def data_free(self) -> dict[str, float]:
        """What is lost by each user of an agent without data: by uniform actions."""
        model = self.model
        best = backward_induction(model.transitions, model.rewards).values[0] @ model.initial
        policy = uniform_policy(model.horizon, model.states, model.actions)
        return {BLIND: float(best - expected_return(policy, model.transitions, model.rewards, model.initial))}

    @property
    def baselines(self) -> tuple[Contender, ...]:
        """The repository's, at equal privacy."""

        def make(privatizer: Any, users: int, *, bonus: float, error: float) -> BernsteinVI:
            return BernsteinVI(layout=self.layout, episodes=users, error=error * privatizer.error, bonus_scale=bonus)

        return (Contender(BASELINE, make, SPACES["UCBVI-JDP"], KNOWN["UCBVI-JDP"]),)

    @property
    def known_opponents(self) -> dict[str, Contender]:
        """Planners of papers, on the counts that everybody is handed, at equal search; none of their points is known.

        PUCB: Algorithm 3 of Vietri, Balle, Krishnamurthy and Wu (2020). Its bonus and its E are scaled, as those of
        Bernstein-VI are; E is the privatizer's, and its counters are the privatizer's, not the paper's.
        """

        def make(privatizer: Any, users: int, *, bonus: float, error: float) -> PUCB:
            return PUCB(layout=self.layout, episodes=users, error=error * privatizer.error, bonus_scale=bonus)

        return {"PUCB": Contender("PUCB", make, SPACES["UCBVI-JDP"])}

    @property
    def rivals(self) -> tuple[Contender, ...]:
        """All that is drawn at equal privacy beside the caller's agents."""
        return (*self.baselines, *(self.known_opponents[name] for name in self.opponents))

    @property
    def references(self) -> tuple[Contender, ...]:
        """Without privacy: not comparable."""

        def make(privatizer: Any, users: int, *, bonus: float) -> UCBVI:
            return UCBVI(layout=self.layout, episodes=users, bonus_scale=bonus)

        return (Contender(EXACT, make, SPACES["UCBVI"], KNOWN["UCBVI"], exact=True),)

    def settings(self, agents: Mapping[str, Any]) -> dict[str, Any]:
        """All that a finished cell depends on but its agent's name and its eps."""
        try:
            objects = {
                name: joblib.hash(each)
                for name, each in {**agents, "privatizer": self.privatizer, "environment": self.environment}.items()
            }
        except Exception as error:  # whatever a foreign object raises when it is pickled
            raise ParameterError("agents", list(agents), f"objects that pickle takes, to be kept ({error})") from error
        files = [inspect.getfile(type(self)), *sources.files_of(*agents.values(), self.privatizer)]
        numbers = {each.name: getattr(self, each.name) for each in fields(self) if each.type in (int, float)}
        return {
            "family": type(self).__name__,
            **numbers,
            "objects": objects,
            "sources": sources.digest(files),
            "own": sources.own_digest(),
            **sources.environment(),
        }

    def curve(self, measured: Array) -> tuple[npt.NDArray[np.int64], Array]:
        """Where it is kept, and its values there, (points, runs): of every user's (users, runs)."""
        at = np.unique(np.linspace(1, self.users, min(GRID, self.users)).astype(np.int64))
        return at, np.cumsum(measured, axis=0)[at - 1]

    def _spent(self, eps: float) -> tuple[float, ...]:
        return (eps, self.delta) if self.delta else (eps,)

    def _drawn(
        self, name: str, privacy: dict[str, Any] | None, regret: Array, point: Point, told: dict[str, Any]
    ) -> dict[str, Any]:
        """A line from the regret of every user in every run, (users, runs)."""
        at, total = self.curve(regret)
        mean, half_width = mean_and_half_width(total)
        return asdict(
            Line(
                agent=name,
                privacy=privacy,
                regret=float(mean[-1]),
                half_width=float(half_width[-1]),
                final=total[-1].tolist(),
                seed=self.seed,
                point=dict(point),
                search=told,
                users=at.tolist(),
                mean=mean.tolist(),
                half_widths=half_width.tolist(),
            )
        )


def check_numbers(*, users: int, runs: int, points: int, seed: int, search_seed: int, delta: float) -> None:
    """ParameterError for numbers that no comparison has."""
    require.integer(at_least=FEW, users=users)
    require.integer(at_least=2, runs=runs)
    require.integer(at_least=1, points=points)
    require.integer(at_least=0, seed=seed, search_seed=search_seed)
    require.delta(delta=delta)
    if seed == search_seed:
        raise ParameterError(
            "search_seed", search_seed, "another seed than the figure's: nothing is tuned on its users"
        )


def privacy_of(study: Any) -> dict[str, Any]:
    """What everybody spends, in words."""
    notion = "(eps, delta)-DP" if study.delta else "eps-DP"
    claim = study.claim
    return {
        "view": claim.view.value,
        "notion": notion,
        "eps": study.eps,
        "delta": study.delta,
        "unit": claim.unit.value,
    }


def takes(function: Any, *given: Any, **named: Any) -> bool:
    """Whether it can be called so, as far as it says."""
    try:
        inspect.signature(function).bind(*given, **named)
    except TypeError:
        return False
    except ValueError:  # it does not say
        return True
    return True
