"""A researcher's own agent beside the repository's: the same privatizer, users, seeds and search for all.

    privacy     equal by construction: every agent is handed the counts of one privatizer, made for (eps, delta)
    checked     the ledger's account is at most the claim; the code conforms to the ledger on a few users (the tape);
                one run of all users has a witness at most the claim, and noise of the stated law (Laplace alone)
    fair        one search (`search`), the same number of points and runs for every agent that has a `space`; its seeds
                are functions of the search seed, the figure's of another one
    beside      uniform actions (data-free) and UCB-VI on exact counts (no privacy): other privacy, references only

Where a check fails nobody's regret is drawn: all agents rest on the same privatizer. `Comparison.drawn` says so.
"""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.baselines.ucbvi import UCBVI
from algorithms.core.counting import ExactSource, layout_of
from algorithms.core.environments import Environment
from algorithms.core.online import Learner, regret_per_episode, run_online
from algorithms.core.users import TapeUsers
from algorithms.dp_ucbvi.learner import DPUCBVI
from algorithms.experiments import compare_evidence
from algorithms.experiments.compare_evidence import FEW
from algorithms.experiments.constants import KNOWN, SPACES
from algorithms.experiments.search import Point, search, SearchResult, Space
from algorithms.study import Study
from algorithms.tabular import backward_induction, expected_return, uniform_policy
from dpverify.base import require
from dpverify.base.seeding import Stage, stream
from dpverify.errors import ParameterError
from mechanisms.datasets.visit_counts import CountLayout

Array = npt.NDArray[np.float64]
MakeAgent = Callable[..., Learner]  # (privatizer, users, **point)
MakePrivatizer = Callable[..., Any]  # (layout, users, eps), and delta where it is not 0

PROMISED_USERS = 50


@dataclass(frozen=True)
class CompareRow:
    """One agent: its mean regret over `runs` runs and the standard error of it; the point that was found for it."""

    learner: str
    privacy: str  # equal, none
    point: Point
    regret: float
    error: float
    searched: int  # runs of the search
    why: str = ""


@dataclass(frozen=True)
class Comparison:
    """All that a table of regrets rests on; `objections` is empty, or nothing is drawn."""

    environment: str
    users: int
    runs: int
    seed: int
    privacy: dict[str, Any]
    upper: float
    tape: dict[str, Any]
    witness: dict[str, Any] | None
    promise: dict[str, Any]
    search: dict[str, Any]
    objections: tuple[str, ...]
    rows: tuple[CompareRow, ...]

    @property
    def drawn(self) -> bool:
        """Whether regrets are compared."""
        return not self.objections

    @property
    def refuted(self) -> bool:
        """Whether the code or its ledger contradicts the claim, and not only a check that could not be made."""
        return any(each.startswith("REFUTED") for each in self.objections)

    def to_dict(self) -> dict[str, Any]:
        """For a file of numbers."""
        return asdict(self)


def compare(
    agent: Any,
    *,
    name: str,
    environment: Environment,
    privatizer: MakePrivatizer,
    eps: float,
    delta: float = 0.0,
    users: int,
    runs: int,
    points: int,
    seed: int,
    search_seed: int,
) -> Comparison:
    """Checks the privatizer, searches for all agents alike, and draws on `seed`.

    agent       an object with `plan`, or a callable (privatizer, users, **point) that makes one; where it has a
                `space`, {parameter: (low, high)}, its point is searched as the repository's is
    privatizer  (layout, users, eps) -> privatizer; (layout, users, eps, delta) where delta is not 0

    ParameterError for what does not fit together, and for a search on the seed of the figure.
    """
    require.integer(at_least=FEW, users=users)
    require.integer(at_least=2, runs=runs)
    require.integer(at_least=1, points=points)
    require.integer(at_least=0, seed=seed, search_seed=search_seed)
    if seed == search_seed:
        raise ParameterError(
            "search_seed", search_seed, "another seed than the figure's: nothing is tuned on its users"
        )
    layout = layout_of(environment.model)

    require.positive(eps=eps)
    require.delta(delta=delta)
    if not callable(privatizer) or not _takes(privatizer, layout, users, eps, *([delta] if delta else [])):
        wanted = "(layout, users, eps, delta): delta is not 0" if delta else "(layout, users, eps)"
        raise ParameterError("privatizer", privatizer, f"called with {wanted}")

    def made(number: int) -> Any:
        return privatizer(layout, number, eps, delta) if delta else privatizer(layout, number, eps)

    agents = {name: _maker(agent), "DP-UCBVI": _dp_ucbvi(layout)}
    spaces: dict[str, Space] = {name: getattr(agent, "space", None) or {}, "DP-UCBVI": SPACES["UCBVI-JDP"]}
    if len(agents) < 2:
        raise ParameterError("name", name, "another name than DP-UCBVI")
    source = made(users)

    def study(which: str, point: Point) -> Study:
        return Study(agent=agents[which](source, users, **point), privatizer=source, users=users, eps=eps, delta=delta)

    point = _first(spaces[name])
    mine = study(name, point)

    def smaller(number: int) -> Study:
        few = made(number)
        return Study(agent=agents[name](few, number, **point), privatizer=few, users=number, eps=eps, delta=delta)

    objections, evidence = compare_evidence.evidence(mine, smaller, environment, seed)
    promised = compare_evidence.promise_evidence(smaller(min(users, PROMISED_USERS)), name, environment, seed)
    found: dict[str, SearchResult] = {}
    rows: list[CompareRow] = []
    if not objections:
        known = {"DP-UCBVI": KNOWN["UCBVI-JDP"]}
        found = search(
            spaces, lambda which, point, seeds: study(which, point).losses(environment, seeds),
            points=points, seed=search_seed, known=known,
        )  # fmt: skip
        for each, best in found.items():
            regret = study(each, best.point).regret(environment, runs=runs, seed=seed)
            rows.append(_row(each, "equal", regret, best.point, best.runs))
        uniform = np.full(runs, users * _regret_of_uniform_actions(environment))
        rows.append(_row("uniform actions", "none spent", uniform, {}, 0, "data-free: an agent should be below it"))
        rows.append(_row("UCB-VI", "no privacy", _exact(environment, layout, users, runs, seed), {}, 0,
                         "exact counts: not comparable, a reference"))  # fmt: skip
    claim = mine.claim
    privacy = {
        "view": claim.view.value,
        "notion": "(eps, delta)-DP" if delta else "eps-DP",
        "eps": eps,
        "delta": delta,
        "unit": claim.unit.value,
    }
    return Comparison(
        environment=environment.name,
        users=users,
        runs=runs,
        seed=seed,
        privacy=privacy,
        upper=mine.upper,
        tape=evidence["tape"],
        witness=evidence["witness"],
        promise=promised,
        search={"points": points, "seed": search_seed, "learners": {each: asdict(one) for each, one in found.items()}},
        objections=tuple(objections),
        rows=tuple(rows),
    )


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


def _dp_ucbvi(layout: CountLayout) -> MakeAgent:
    def make(privatizer: Any, users: int, *, bonus: float, error: float) -> DPUCBVI:
        return DPUCBVI(layout=layout, episodes=users, error=error * privatizer.error, bonus_scale=bonus)

    return make


def _first(space: Space) -> Point:
    """The middle of a space, on the log scale: what the checks are made at."""
    return {name: math.sqrt(low * high) for name, (low, high) in space.items()}


def _regret_of_uniform_actions(environment: Environment) -> float:
    model = environment.model
    best = backward_induction(model.transitions, model.rewards).values[0] @ model.initial
    policy = uniform_policy(model.horizon, model.states, model.actions)
    return float(best - expected_return(policy, model.transitions, model.rewards, model.initial))


def _exact(environment: Environment, layout: CountLayout, users: int, runs: int, seed: int) -> Array:
    learner = UCBVI(layout=layout, episodes=users, bonus_scale=KNOWN["UCBVI"][0]["bonus"])
    everybody = TapeUsers(environment, environment.tapes(seed, runs, users))
    done = run_online(everybody, learner, ExactSource(layout), runs=runs, rng=stream(seed, Stage.EXPERIMENT))
    return np.asarray(regret_per_episode(done.policies, environment.model).sum(axis=0))


def _row(
    name: str, privacy: str, regret: Array, point: Mapping[str, float], searched: int, why: str = ""
) -> CompareRow:
    error = float(regret.std(ddof=1) / math.sqrt(len(regret)))
    return CompareRow(name, privacy, dict(point), float(regret.mean()), error, searched, why)


def table(found: Comparison) -> Sequence[Sequence[str]]:
    """Rows of text: learner, privacy, regret, search, point."""
    return [
        (each.learner, each.privacy, f"{each.regret:.4g} +- {each.error:.2g}", f"{each.searched} runs",
         ", ".join(f"{key} = {value:.3g}" for key, value in each.point.items()) or each.why)
        for each in found.rows
    ]  # fmt: skip
