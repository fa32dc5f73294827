"""Whether what a user's agent hands out is what an agent may hand out."""

from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.errors import ParameterError
from mechanisms.datasets.visit_counts import CountLayout, PrivateCounts

Array = npt.NDArray[Any]
SUMS = 1e-9  # how far from 1 the sum of probabilities may be


class CheckedAgent:
    """An agent whose policies are looked at: ParameterError for what is no table of action numbers, or no law of them.

    A replay plans again from the released counts, so a plan must be a function of them. The first eight plans, and
    then each whose number is a power of two, are made twice: an agent with coins or a memory of its own is refused
    where the two differ. State that changes more slowly is not seen.
    """

    def __init__(self, agent: Any, layout: CountLayout) -> None:
        self.agent, self.layout, self._plans = agent, layout, 0

    def plan(self, counts: PrivateCounts) -> Array:
        """Policies (runs, H, S) of integers in [0, A); in games laws of joint actions, (runs, H, S, A B)."""
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
        size, runs = self.layout, len(counts.visits)
        found, game = np.asarray(self.agent.plan(counts)), size.B is not None
        wanted = (runs, *size.visits_shape) if game else (runs, size.H, size.S)
        if found.shape != wanted:
            axes = "runs, H, S, A, B" if game else "runs, H, S"
            raise ParameterError(self._what, found.shape, f"policies of shape {wanted}: {axes}")
        if game:
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
