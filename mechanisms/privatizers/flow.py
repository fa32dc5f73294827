"""Noisy counts of a batch -> counts that n trajectories could have: what leaves a state is what came into it.

With x_h(s, a, s') >= 0 in place of the noisy transitions n_h(s, a, s'), and X_h(s, a) = sum over s' of x_h(s, a, s')
in the place of the noisy visits N_h(s, a):

    sum over s, a of X_1(s, a) = n                                          (the number of users, public)
    sum over s, a of x_h(s, a, s') = sum over a of X_{h+1}(s', a)            for all s', h < H     (flow)

loss "l2"         minimise sum (x - n)^2 + sum (X - N)^2. The exact counts satisfy all constraints, so the result is
                  no further from them than the noisy counts are, in this norm: a projection onto a convex set.
loss "chebyshev"  minimise t with |x - n| <= t and |X - N| <= t, then the l2 loss at that t. If all noisy counts are
                  within w of the exact ones, then t <= w and all results are within 2w of them:
                  `never_underestimating` keeps the papers' E = 4w with the shift of `consistency`.

Constraints of one's own keep both statements if the exact counts of every dataset satisfy them: transitions that are
known to be impossible, say. The papers post-process cell by cell; flow and the number of users are not in them.
The claim is that of the noisy counts: post-processing (Dwork, Roth 2014, Proposition 2.1). The programme is cvxpy's,
compiled once and solved by Clarabel; `coupling` chooses a closed form of less.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.errors import ParameterError, RunError
from mechanisms.datasets.visit_counts import CountLayout, PrivateCounts
from mechanisms.privatizers.nearest_counts import nearest_counts

Array = npt.NDArray[np.float64]
Transitions = Sequence[Sequence[Sequence[Any]]]  # x[h][s][a]: an affine expression of shape (S',)

ACCURACY = 1e-6  # of the largest count: what a solution may miss a constraint by
PRECISE = {"tol_gap_abs": 1e-13, "tol_gap_rel": 1e-13, "tol_feas": 1e-11}  # a quadratic loss is flat near its least
SLACK = 1e-7  # of t, and of the largest count, that the second step of "chebyshev" may use


def check_consistent(consistent: str, users: int | None) -> None:
    """ParameterError for settings of a learner that post-processes "cells" or, with the number of `users`, "flow"."""
    if consistent not in ("cells", "flow"):
        raise ParameterError("consistent", consistent, "'cells' or 'flow'")
    if users is not None:
        require.integer(at_least=1, users=users)
    elif consistent == "flow":
        raise ParameterError("users", users, "the number of users of the counts where consistent is 'flow'")


@dataclass(frozen=True)
class FlowConsistent:
    """Consistent counts of `users` trajectories; `solve` takes raw counts of a batch with `layout`.

    layout    sizes; a second player's actions are further actions
    users     n, public: as many trajectories are in every dataset (replace-one)
    loss      "l2" or "chebyshev"; see the module
    extra     `extra(x)` returns further convex constraints; x[h][s][a] is an affine cvxpy expression of shape (S,), the
              number of users who went from s under (joint) action a in step h to each state
    coupling  "flow": all of the above. "step totals": the l2 loss and the number of users in every step; "cells":
              the l2 loss alone. Both in closed form (`nearest_counts`), for online plans.
    """

    layout: CountLayout
    users: int
    loss: Literal["l2", "chebyshev"] = "l2"
    extra: Callable[[Transitions], Sequence[Any]] | None = None
    coupling: Literal["flow", "step totals", "cells"] = "flow"

    def __post_init__(self) -> None:
        require.own_numbers(self)
        require.integer(at_least=1, users=self.users)
        for name, value, allowed in (
            ("loss", self.loss, ("l2", "chebyshev")),
            ("coupling", self.coupling, ("flow", "step totals", "cells")),
        ):
            if value not in allowed:
                raise ParameterError(name, value, " or ".join(map(repr, allowed)))
        if self.coupling != "flow" and (self.loss != "l2" or self.extra is not None):
            raise ParameterError(
                "coupling", self.coupling, "'flow' for another loss than l2 or constraints of one's own"
            )

    def __getstate__(self) -> dict[str, Any]:
        """Without the compiled programme: a copy compiles its own."""
        return {name: value for name, value in self.__dict__.items() if name != "_programme"}

    def solve(self, counts: PrivateCounts) -> PrivateCounts:
        """Counts (...) made consistent: transitions >= 0, visits their exact floating-point sums, rewards as they are.

        ParameterError for other shapes, NaN or infinity; RunError where the solver finds no optimum (a user's
        constraints that contradict the flow), or none that keeps the constraints to ACCURACY.
        """
        lead, noisy, visits = self._flat(counts)
        if self.coupling != "flow":
            found = nearest_counts(noisy, visits, float(self.users) if self.coupling == "step totals" else None)
        else:
            runs = zip(noisy.reshape(-1, *noisy.shape[-3:]), visits.reshape(-1, *visits.shape[-2:]), strict=True)
            found = np.array([self._solved(*each) for each in runs])
        shape = (*lead, *self.layout.transitions_shape)
        transitions = found.reshape(shape)
        return PrivateCounts(transitions.sum(axis=-1), transitions, counts.rewards)

    def never_underestimating(self, counts: PrivateCounts, error_bound: float) -> PrivateCounts:
        """`solve`, then x(s') + E/(2S): the papers' assumption with E, as `consistency.never_underestimating`.

        If every noisy count is within E/4 of the exact one, then, up to the solver's accuracy, every result is within
        E and visits are not below the exact ones: solutions are within E/2 of them (see the module).
        ParameterError unless 0 < E < inf and the loss is "chebyshev": l2 bounds no single count.
        """
        require.positive(error_bound=error_bound)
        if self.loss != "chebyshev":
            raise ParameterError("loss", self.loss, "'chebyshev': l2 bounds no single count")
        done = self.solve(counts)
        transitions = done.transitions + error_bound / (2 * self.layout.S)
        return PrivateCounts(transitions.sum(axis=-1), transitions, counts.rewards)

    def _flat(self, counts: PrivateCounts) -> tuple[tuple[int, ...], Array, Array]:
        """Leading axes; transitions (..., H, S A, S) and visits (..., H, S A) as floats."""
        size = self.layout
        noisy, visits = np.asarray(counts.transitions, dtype=np.float64), np.asarray(counts.visits, dtype=np.float64)
        lead = visits.shape[: max(0, visits.ndim - len(size.visits_shape))]
        if visits.shape != (*lead, *size.visits_shape) or noisy.shape != (*lead, *size.transitions_shape):
            raise ParameterError(
                "counts", (visits.shape, noisy.shape), f"visits (..., {size.visits_shape}), transitions"
            )
        if not (np.isfinite(noisy).all() and np.isfinite(visits).all()):
            raise ParameterError("counts", "NaN or infinity", "finite counts")
        cells = size.S * size.choices
        return lead, noisy.reshape(*lead, size.H, cells, size.S), visits.reshape(*lead, size.H, cells)

    @cached_property
    def _programme(self) -> Any:
        """Problems, the variable and the parameters; counts are divided by `scale` before they are handed in."""
        cp: Any = import_module("cvxpy")  # slow to load, and the closed forms need none
        size = self.layout
        cells = size.S * size.choices
        x = [cp.Variable((cells, size.S), nonneg=True) for _ in range(size.H)]
        sums = [cp.sum(each, axis=1) for each in x]
        noisy = [cp.Parameter((cells, size.S)) for _ in x]
        visits = [cp.Parameter(cells) for _ in x]
        total, scale, reach, t = cp.Parameter(), cp.Parameter(nonneg=True), cp.Parameter(nonneg=True), cp.Variable()
        into = np.kron(np.eye(size.S), np.ones((1, size.choices)))  # (S, cells): cells of each state
        flow = [cp.sum(sums[0]) == total]
        flow += [cp.sum(x[h], axis=0) == into @ sums[h + 1] for h in range(size.H - 1)]
        if self.extra is not None:
            # a constraint is stated in users: z = scale x; a variable of its own keeps the programme parametrised
            z = [cp.Variable((cells, size.S)) for _ in x]
            flow += [z[h] == cp.multiply(scale, x[h]) for h in range(size.H)]
            rows = range(size.choices)
            own = [[[z[h][s * size.choices + a] for a in rows] for s in range(size.S)] for h in range(size.H)]
            flow += _checked(self.extra(own))
        loss = sum(cp.sum_squares(x[h] - noisy[h]) + cp.sum_squares(sums[h] - visits[h]) for h in range(size.H))

        def within(bound: Any) -> list[Any]:
            return [
                limit
                for h in range(size.H)
                for limit in (cp.abs(x[h] - noisy[h]) <= bound, cp.abs(sums[h] - visits[h]) <= bound)
            ]

        least = cp.Problem(cp.Minimize(t), [*flow, *within(t)])
        nearest = cp.Problem(cp.Minimize(loss), [*flow, *(within(reach) if self.loss == "chebyshev" else [])])
        return least, nearest, x, t, noisy, visits, total, scale, reach

    def _solved(self, noisy: Array, visits: Array) -> Array:
        """One run: (H, S A, S)."""
        least, nearest, x, t, *parameters = self._programme
        size = float(max(self.users, np.abs(noisy).max(), np.abs(visits).max()))
        for parameter, value in zip(parameters[0], noisy / size, strict=True):
            parameter.value = value
        for parameter, value in zip(parameters[1], visits / size, strict=True):
            parameter.value = value
        parameters[2].value, parameters[3].value = self.users / size, size
        if self.loss == "chebyshev":
            _optimal(least)
            parameters[4].value = float(t.value) * (1 + SLACK) + SLACK
        _optimal(nearest)
        found = size * np.maximum(np.stack([each.value for each in x]), 0.0)
        missed = self._missed(found)
        if not missed <= ACCURACY * size:
            raise RunError(f"flow-consistent counts found only to {missed:.1e} of {size:g}")
        return np.asarray(found)

    def _missed(self, found: Array) -> float:
        """By how much the flow is missed."""
        sums = found.sum(axis=-1)
        into = sums.reshape(self.layout.H, self.layout.S, -1).sum(axis=-1)
        gaps = np.abs(found.sum(axis=1)[:-1] - into[1:]).max(initial=0.0)
        return float(max(gaps, abs(sums[0].sum() - self.users)))


def _checked(constraints: Any) -> list[Any]:
    """ParameterError for what is no list of convex constraints."""
    found = list(constraints) if isinstance(constraints, list | tuple) else None
    if found is None:
        raise ParameterError("extra", type(constraints).__name__, "a function that returns a list of constraints")
    for each in found:
        if not isinstance(each, bool) and not (hasattr(each, "is_dcp") and each.is_dcp()):
            raise ParameterError("extra", each, "convex constraints (cvxpy: disciplined convex programming)")
    return found


def _optimal(problem: Any) -> None:
    """Solved to PRECISE, or where that is too much to what is the solver's default."""
    error: Any = import_module("cvxpy.error").SolverError
    said = ""
    for settings in (PRECISE, dict.fromkeys(PRECISE, 1e-8)):
        try:
            with warnings.catch_warnings(
                action="ignore", category=UserWarning
            ):  # that it may be inaccurate: see status
                problem.solve(solver="CLARABEL", **settings)
        except error as failed:  # it got stuck: numerical trouble on the way to PRECISE
            said = str(failed)
            continue
        if problem.status == "optimal":
            return
        said = f"the programme is {problem.status}"
    raise RunError(f"flow-consistent counts: {said}")
