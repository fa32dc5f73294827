"""Whether what a user's agent hands out is what an agent may hand out."""

import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.core.online import handed
from dpverify.base.seeding import Stage, stream
from dpverify.errors import ParameterError
from mechanisms.datasets.visit_counts import CountLayout, PrivateCounts

Array = npt.NDArray[Any]
SUMS = 1e-9  # how far from 1 the sum of probabilities may be
COINS = 200  # generators that must be drawn from alike: rejection that fits by luck is refused at most 1 time in 50,000


class CheckedAgent:
    """An agent whose policies are looked at: ParameterError for what is no table of action numbers, or no law of them.

    A plan must be a function of the released counts and of the `rng` and the `state` that it is handed, where it takes
    them (`online.Learner`). The first eight plans, and then each whose number is a power of two, are made twice, the
    second time by a copy of the agent as it came, from equal generators and states: an agent with coins or a memory of
    its own is refused where the two differ. What shows in other plans alone, or is kept elsewhere, is not seen.

    Runs are independent trials, and none may depend on another one's counts: the same plans are asked for with all runs
    like one of them, whose policies must stay. From the first plan on its state comes from such counts alone as well.
    Where how many coins are drawn depends on the counts (a gamma law by rejection), one run's coins move another's:
    that is not judged.
    """

    def __init__(self, agent: Any, layout: CountLayout) -> None:
        self.agent, self.layout, self._plans = agent, layout, 0
        self._as_it_came = _copied(agent)
        self.plan_keywords = handed(agent)
        self._alike: tuple[int, int, Any] = (0, 0, None)  # the last plan from counts all alike: number, run, state
        if "rng" in self.plan_keywords and layout.B is not None:
            raise ParameterError("agent", agent, "plan without rng: in games the players draw from its laws themselves")

    def plan(self, counts: PrivateCounts, **given: Any) -> Any:
        """Policies (runs, H, S) of integers in [0, A); in games laws of joint actions, (runs, H, S, A B).

        With the new state behind them where the agent takes one.
        """
        self._plans += 1
        looked_at = self._plans <= 8 or self._plans & (self._plans - 1) == 0
        again = copy.deepcopy((counts, given)) if looked_at else None
        table, state = self._made(self.agent, counts, given)  # which may write into its counts
        if again is not None:
            self._look_at(table, *again)
        return (table, state) if "state" in self.plan_keywords else table

    def _look_at(self, table: Array, counts: PrivateCounts, given: dict[str, Any]) -> None:
        """ParameterError where the same plan gives another table, or one run's part moves with other runs."""

        def made(numbers: PrivateCounts, arguments: dict[str, Any], seed: int | None = None) -> tuple[Array, Any, str]:
            """Table, new state, and how the generator stands after it."""
            numbers, arguments = copy.deepcopy((numbers, arguments))
            if seed is not None:
                arguments["rng"] = stream(seed, Stage.EXPERIMENT)
            found, state = self._made(_copied(self._as_it_came), numbers, arguments)
            return found, state, repr(arguments["rng"].bit_generator.state) if "rng" in arguments else ""

        again, _, coins = made(counts, given)
        if not np.array_equal(table, again):
            raise ParameterError(self._what, "two tables", "the same policies for the same counts, rng and state")
        if len(table) == 1:
            return
        number, at, state = self._alike
        follows = given.get("state") is not None and number == self._plans - 1
        if not follows:  # another run every time, in no order
            at = int(stream(self._plans, Stage.EXPERIMENT).integers(len(table)))
        alike = counts[np.full(len(table), at)]  # of the same shape: sums are rounded alike
        alone = {**given, "state": state} if follows else given
        found, state, others = made(alike, alone)
        self._alike = (self._plans if coins == others else -1, at, state)
        if coins == others and not np.array_equal(table[at], found[at]):
            each = np.arange(len(table))
            one_changed = [counts[np.where(each == other, at, each)] for other in each]
            if "rng" not in given or (
                all(made(counts, given, seed)[2] == made(alike, alone, seed)[2] for seed in range(COINS))
                and all(made(one, given, 0)[2] == made(counts, given, 0)[2] for one in one_changed)
            ):  # as many coins for every run, whatever its counts: then none has moved
                wanted = "the same policies for the same counts, whatever counts the other runs have"
                raise ParameterError(self._what, "two tables", wanted)

    @property
    def _what(self) -> str:
        return f"{type(self.agent).__name__}.plan, call {self._plans}"

    def _made(self, agent: Any, counts: PrivateCounts, given: dict[str, Any]) -> tuple[Array, Any]:
        found = agent.plan(counts, **given)
        if "state" not in self.plan_keywords:
            return self._table(found, len(counts.visits)), None
        if not (isinstance(found, tuple) and len(found) == 2):
            raise ParameterError(self._what, type(found).__name__, "(policies, state): it takes a state")
        return self._table(found[0], len(counts.visits)), found[1]

    def _table(self, made: Any, runs: int) -> Array:
        size, found = self.layout, np.asarray(made)
        wanted = (runs, size.H, size.S) if size.B is None else (runs, *size.visits_shape)
        if found.shape != wanted:
            axes = "runs, H, S" if size.B is None else "runs, H, S, A, B"
            raise ParameterError(self._what, found.shape, f"policies of shape {wanted}: {axes}")
        if size.B is not None:
            return self._laws(found).reshape(runs, size.H, size.S, size.choices)
        if not np.issubdtype(found.dtype, np.integer):
            raise ParameterError(self._what, found.dtype, "action numbers, an array of integers")
        if found.size and not (0 <= found.min() and found.max() < size.A):
            raise ParameterError(
                self._what, (int(found.min()), int(found.max())), f"action numbers from 0 to {size.A - 1}"
            )
        return found

    def _laws(self, found: Array) -> Array:
        if not np.issubdtype(found.dtype, np.floating):
            raise ParameterError(self._what, found.dtype, "probabilities of joint actions, an array of floats")
        if not (np.isfinite(found).all() and (found >= 0).all()):
            raise ParameterError(self._what, "a number that is NaN, infinite or below 0", "probabilities")
        sums = found.sum(axis=(-2, -1))
        if not (np.abs(sums - 1) <= SUMS).all():
            worst = float(sums.flat[np.abs(sums - 1).argmax()])
            raise ParameterError(self._what, worst, f"probabilities of joint actions that sum to 1 (to {SUMS:g})")
        return found


def _copied(agent: Any) -> Any:
    """A copy, or the agent itself where there can be none: then a memory that answers alike twice is not seen."""
    try:
        return copy.deepcopy(agent)
    except Exception:  # foreign code: a handle, say, has no copy
        return agent
