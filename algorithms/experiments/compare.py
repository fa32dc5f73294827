"""Researchers' own agents beside the repository's: the same privatizer, users, seeds and search for all.

    privacy     equal by construction: at each eps every agent is handed the counts of one privatizer, made for it
    checked     at each eps, with each agent of the caller's: the ledger's account is at most the claim; the code
                conforms to the ledger on a few users (the tape); one run of all users has a witness at most the claim,
                and noise of the stated law
    fair        one search (`search`), the same number of points and runs for every agent that has a `space`; its seeds
                are functions of the search seed, the figure's of another one; both are the same at every eps
    beside      uniform actions (data-free) and a learner on exact counts (no privacy): other privacy, references only
    family      one user a plan, batches, games or offline (`compare_families`), one in a call

Where one check fails nobody's regret is drawn: all agents rest on the same privatizer. `Comparison.drawn` says so.
"""

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from algorithms.experiments.compare_families import FAMILIES
from algorithms.experiments.compare_terms import BASELINE as BASELINE
from algorithms.experiments.compare_terms import BLIND as BLIND
from algorithms.experiments.compare_terms import Contender, Line, MakeAgent, takes
from algorithms.experiments.compare_terms import EXACT as EXACT
from algorithms.experiments.intervals import CONFIDENCE, mean_and_half_width
from algorithms.experiments.search import check_space
from algorithms.experiments.store import finish_cell
from dpverify.errors import ParameterError
from dpverify.execution.executors import ordered_map


@dataclass(frozen=True)
class Comparison:
    """All that a table of regrets rests on; where there are `objections` nothing is drawn."""

    family: str
    measure: str
    unit: str
    axis: str  # of the curves
    data_free: tuple[str, ...]  # names of agents that look at nothing
    refused: tuple[str, ...]  # what is not compared, and why
    environment: str
    relative_to: str  # what is measured is relative to it
    data: str  # where the users are from
    users: int
    runs: int
    eps: tuple[float, ...]
    checks: tuple[dict[str, Any], ...]
    lines: tuple[Line, ...]
    basis: str  # the agent that differences are from

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

    def difference(self, agent: str, eps: float) -> tuple[float, float]:
        """Mean and half-width of what an agent has more than `basis` at an eps, seed by seed."""
        mine, theirs = (np.array(self.at(name, eps).final) for name in (agent, self.basis))
        mean, half_width = mean_and_half_width(mine - theirs)
        return float(mean), float(half_width)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """What CSV and JSON say of each agent at each eps; a reference is the same at all of them."""
        found = []
        for name in dict.fromkeys(each.agent for each in self.lines):
            for eps in self.eps:
                line, (apart, reach) = self.at(name, eps), self.difference(name, eps)
                found.append(
                    {
                        "agent": name,
                        "privacy": "equal" if line.privacy else "reference",
                        "eps": eps,
                        "delta": line.privacy["delta"] if line.privacy else "",
                        "users": self.users,
                        "seeds": self.runs,
                        "mean": line.regret,
                        "low": line.regret - line.half_width,
                        "high": line.regret + line.half_width,
                        "basis": self.basis,
                        "difference": apart,
                        "difference_low": apart - reach,
                        "difference_high": apart + reach,
                        "tuned": tuning_of(line),
                        "point": json.dumps(line.point) if line.point else "",
                    }
                )
        return found

    def to_dict(self) -> dict[str, Any]:
        """For a file of numbers."""
        return {**asdict(self), "objections": self.objections, "confidence": CONFIDENCE, "rows": self.rows}


def compare(
    agents: Mapping[str, Any],
    *,
    eps: Sequence[float],
    family: str = "online",
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
    family : str
        "online", "batches", "games" or "offline": see `compare_families`.
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
    if family not in FAMILIES:
        raise ParameterError("family", family, ", ".join(FAMILIES))
    fair = FAMILIES[family](**terms)
    authors = [Contender(name, _maker(agent), getattr(agent, "space", None) or {}) for name, agent in agents.items()]
    ours = [*fair.data_free, *(each.name for each in (*fair.rivals, *fair.references))]
    if not authors or set(ours) & set(agents):
        raise ParameterError("agents", list(agents), f"one at least, none called {', '.join(ours)}")
    for each in authors:
        check_space(each.name, each.space)
    if not eps or len(set(eps)) < len(eps):
        raise ParameterError("eps", list(eps), "one at least, each once")
    for spent in eps:
        fair.check_privatizer(spent)

    def found(work: Callable[[tuple[Contender, float]], dict[str, Any]], cells: Any) -> list[dict[str, Any]]:
        """The cells' findings in order, computed where they are not kept."""
        if folder is not None:
            work = partial(finish_cell, folder, work, fair.settings(agents), resume)
        return [json.loads(json.dumps(each)) for each in ordered_map(work, cells, jobs=jobs)]  # as they are kept

    checks = found(fair.check, product(authors, eps))
    lines: list[dict[str, Any]] = []
    if not any(each["objections"] for each in checks):
        everybody = [*product([*authors, *fair.rivals], eps), *product(fair.references, eps[:1])]
        lines = [*found(fair.line, everybody), *fair.blind()]
    return Comparison(
        family,
        fair.MEASURE,
        fair.UNIT,
        fair.AXIS,
        tuple(fair.data_free),
        fair.REFUSED,
        fair.environment.name,
        fair.relative_to,
        fair.data,
        fair.users,
        fair.runs,
        tuple(eps),
        tuple(checks),
        tuple(Line(**each) for each in lines),
        fair.baselines[0].name,
    )


def _maker(agent: Any) -> MakeAgent:
    if callable(getattr(agent, "plan", None)) and not isinstance(agent, type):
        return lambda privatizer, users, **point: copy.deepcopy(agent)  # no line remembers another one
    if not callable(agent):
        raise ParameterError(
            "agent", agent, "an object with plan(counts), or a callable (privatizer, users) that makes one"
        )
    space = getattr(agent, "space", None) or {}
    if not (isinstance(space, Mapping) and all(isinstance(each, str) for each in space)):
        raise ParameterError("space", space, "{parameter: (low, high)}")
    point = dict.fromkeys(space)
    if not takes(agent, None, 1, **point):
        if isinstance(agent, type) and not point and takes(agent):  # a class that needs nothing to be made
            return lambda privatizer, users, **point: agent()
        named = "".join(f", {name}" for name in point)
        raise ParameterError("agent", agent, f"called with (privatizer, users{named})")
    return agent  # type: ignore[no-any-return]


def tuning_of(line: Line) -> str:
    """What was searched of an agent, by how much, and what was set by hand."""
    named = ", ".join(line.point)
    if not line.point:
        return "nothing"
    if not line.search:
        return f"{named}: by hand"
    return f"{named}: {line.search['points']} points ({line.search['by_hand']} by hand), {line.search['runs']} runs"


def table(found: Comparison) -> list[tuple[str, ...]]:
    """Rows of text: agent, privacy, what was tuned; then mean, paired difference and the point at each eps."""
    rows = []
    for name in dict.fromkeys(each.agent for each in found.lines):
        cells = []
        for eps in found.eps:
            line, (apart, reach) = found.at(name, eps), found.difference(name, eps)
            told = [f"{line.regret:.4g} +- {line.half_width:.3g}"]
            told += [f"{apart:+.4g} +- {reach:.3g}"] if name != found.basis else []
            told += [f"{key} = {value:.3g}" for key, value in line.point.items()]
            cells.append("\n".join(told))
        line = found.at(name, found.eps[0])
        rows.append((name, "equal" if line.privacy else "reference", tuning_of(line), *cells))
    return rows
