"""Whether what a user's agent hands out is what an agent may hand out."""

import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.core.online import handed
from dpverify.errors import ParameterError
from mechanisms.datasets.visit_counts import CountLayout, PrivateCounts

Array = npt.NDArray[Any]
SUMS = 1e-9  # how far from 1 the sum of probabilities may be


class CheckedAgent:
    """An agent whose policies are looked at: ParameterError for what is no table of action numbers, or no law of them.

    A plan must be a function of the released counts and of the `rng` and the `state` that it is handed, where it takes
    them (`online.Learner`). The first eight plans, and then each whose number is a power of two, are made twice, from
    equal generators and states: an agent with coins or a memory of its own is refused where the two differ. State that
    changes more slowly is not seen. A plan of counts alone (no state, no coin drawn) is then asked as well with all
    runs like the last one: runs are independent trials, and none may depend on another one's counts.
    """

    def __init__(self, agent: Any, layout: CountLayout) -> None:
        self.agent, self.layout, self._plans = agent, layout, 0
        self.plan_keywords = handed(agent)
        if "rng" in self.plan_keywords and layout.B is not None:
            raise ParameterError("agent", agent, "plan without rng: in games the players draw from its laws themselves")

    def plan(self, counts: PrivateCounts, **given: Any) -> Any:
        """Policies (runs, H, S) of integers in [0, A); in games laws of joint actions, (runs, H, S, A B).

        With the new state behind them where the agent takes one.
        """
        self._plans += 1
        copied = type(given.get("rng")) in (type(None), np.random.Generator)  # the tape's has no copy
        twice = copied and (self._plans <= 8 or self._plans & (self._plans - 1) == 0)
        again, alike = (copy.deepcopy((counts, given)), copy.deepcopy(counts)) if twice else ((counts, given), counts)
        coins = repr(given["rng"].bit_generator.state) if "rng" in given and twice else ""
        table, state = self._made(counts, given)  # which may write into its counts
        if twice and not np.array_equal(table, self._made(*again)[0]):
            raise ParameterError(self._what, "two tables", "the same policies for the same counts, rng and state")
        drew = coins and repr(given["rng"].bit_generator.state) != coins  # one run's coins may move another's
        if twice and len(table) > 1 and "state" not in self.plan_keywords and not drew:
            alike = alike[np.full(len(table), -1)]  # of the same shape: sums are rounded alike
            if not np.array_equal(table[-1], self._made(alike, again[1])[0][-1]):
                wanted = "the same policies for the same counts, whatever counts the other runs have"
                raise ParameterError(self._what, "two tables", wanted)
        return (table, state) if "state" in self.plan_keywords else table

    @property
    def _what(self) -> str:
        return f"{type(self.agent).__name__}.plan, call {self._plans}"

    def _made(self, counts: PrivateCounts, given: dict[str, Any]) -> tuple[Array, Any]:
        found = self.agent.plan(counts, **given)
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
