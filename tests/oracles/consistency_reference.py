"""The programme of `postprocess` as its papers write it, handed to a general solver one cell at a time.

Slow on purpose: it shares no line with the closed form and is what that one is tested against. Both
problems are DPP-parameterised, so cvxpy compiles them once for each S. cvxpy is imported on first use.
"""

import importlib
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.errors import RunError

FloatArray = npt.NDArray[np.float64]


class ReferenceProgramme:
    """(LP) of `postprocess` for cells with `states` next states.

    `solve` returns a minimiser and the optimal t. `project` returns the point of {x >= 0, |sum x - n| <= c}
    that is nearest in l2. Accuracy is the solver's, about 1e-7 relative. RunError when it finds no optimum.
    """

    def __init__(self, states: int) -> None:
        require.integer(at_least=1, states=states)
        self.states = states

    @cached_property
    def _programme(self) -> Any:
        cp: Any = importlib.import_module("cvxpy")  # lazily: slow to load, and only the reference needs it
        x, t = cp.Variable(self.states), cp.Variable()
        noisy, total, slack = cp.Parameter(self.states), cp.Parameter(), cp.Parameter(nonneg=True)
        consistent = [x >= 0, cp.abs(cp.sum(x) - total) <= slack]
        smallest = cp.Problem(cp.Minimize(t), [cp.abs(x - noisy) <= t, *consistent])
        nearest = cp.Problem(cp.Minimize(cp.sum_squares(x - noisy)), consistent)
        return smallest, nearest, x, noisy, total, slack

    def solve(self, next_noisy: npt.ArrayLike, pair_noisy: float, slack: float) -> tuple[FloatArray, float]:
        """A minimiser x, shape (S,), and the optimal t of one cell."""
        smallest, _, x, *parameters = self._programme
        return self._solved(smallest, x, parameters, next_noisy, pair_noisy, slack)

    def project(self, next_noisy: npt.ArrayLike, pair_noisy: float, slack: float) -> tuple[FloatArray, float]:
        """The nearest point x, shape (S,), and its squared distance."""
        _, nearest, x, *parameters = self._programme
        return self._solved(nearest, x, parameters, next_noisy, pair_noisy, slack)

    @staticmethod
    def _solved(problem: Any, x: Any, parameters: Any, *values: Any) -> tuple[FloatArray, float]:
        for parameter, value in zip(parameters, values, strict=True):
            parameter.value = np.asarray(value, dtype=np.float64)
        problem.solve(solver="CLARABEL")
        if problem.status not in ("optimal", "optimal_inaccurate"):
            raise RunError(f"the reference programme is {problem.status}")
        return np.array(x.value), float(problem.value)
