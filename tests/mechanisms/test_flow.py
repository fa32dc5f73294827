"""Counts that n trajectories could have: against a general solver, by their guarantees, with a user's constraints."""

import itertools
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from audits.planted.postprocess import forbid_staying, RoundedCells
from dpverify.base.seeding import Stage, stream
from dpverify.errors import ParameterError, RunError
from dpverify.promises import BROKEN, check_promise, KEPT
from mechanisms.datasets.pairs import constant
from mechanisms.datasets.visit_counts import CountLayout, PrivateCounts
from mechanisms.flow import FlowConsistent
from mechanisms.privatizers.consistent import FlowProcessed
from mechanisms.privatizers.flow import PRECISE
from mechanisms.privatizers.flow_promises import find_missed_flow, flow_promise
from mechanisms.privatizers.nearest_counts import nearest_counts
from mechanisms.privatizers.offline_tabular import OfflineTabularLaplace

LAYOUT, USERS = CountLayout(H=3, S=2, A=2), 50
CHAIN = CountLayout(H=2, S=2, A=1)


def exact(layout=LAYOUT, users=USERS, seed=0, reachable=None):
    """Counts of `users` random walks; `reachable` (S, A, S) of the transitions that may happen."""
    rng = stream(seed, Stage.EXPERIMENT)
    law = rng.uniform(0.1, 1, size=(layout.H, layout.S, layout.choices, layout.S)) * (
        1 if reachable is None else reachable
    )
    counts, states = np.zeros(law.shape), rng.integers(layout.S, size=users)
    for h in range(layout.H):
        choices = rng.integers(layout.choices, size=users)
        each = law[h, states, choices]
        after = (np.cumsum(each, axis=1) > each.sum(axis=1, keepdims=True) * rng.random((users, 1))).argmax(axis=1)
        np.add.at(counts, (h, states, choices, after), 1.0)
        states = after
    transitions = counts.reshape(layout.transitions_shape)
    return PrivateCounts(transitions.sum(axis=-1), transitions)


def noisy(truth, seed, width=8.0, lead=()):
    """Noise uniform on (-width, width)."""
    rng = stream(seed, Stage.EXPERIMENT, 1)
    visits, transitions = (
        np.broadcast_to(x, (*lead, *x.shape)) + rng.uniform(-width, width, size=(*lead, *x.shape))
        for x in (truth.visits, truth.transitions)
    )
    return PrivateCounts(visits, transitions)


def distance(counts, other):
    return np.sqrt(((counts.visits - other.visits) ** 2).sum() + ((counts.transitions - other.transitions) ** 2).sum())


def flows(counts, layout=LAYOUT, users=USERS):
    """The largest violation of the constraints."""
    x = counts.transitions.reshape(layout.H, layout.S, layout.choices, layout.S)
    gaps = [np.abs(x[h].sum(axis=(0, 1)) - x[h + 1].sum(axis=(1, 2))).max() for h in range(layout.H - 1)]
    return max([abs(x[0].sum() - users), *gaps, -x.min()])


@pytest.mark.parametrize("loss", ["l2", "chebyshev"])
@pytest.mark.parametrize("layout", [LAYOUT, CountLayout(H=2, S=3, A=1), CountLayout(H=2, S=2, A=2, B=2)])
def test_solutions_are_consistent_and_keep_their_guarantee(loss, layout):
    truth = exact(layout)
    solver = FlowConsistent(layout, USERS, loss)
    for seed in range(5):
        raw = noisy(truth, seed)
        done = solver.solve(raw)
        assert flows(done, layout) <= 1e-6 * USERS
        assert np.array_equal(done.visits, done.transitions.sum(axis=-1))
        if loss == "l2":
            assert distance(done, truth) < distance(raw, truth)
        else:  # no count moves by more than the largest error that there was
            most = max(np.abs(raw.visits - truth.visits).max(), np.abs(raw.transitions - truth.transitions).max())
            moved = max(np.abs(raw.visits - done.visits).max(), np.abs(raw.transitions - done.transitions).max())
            assert moved <= most + 1e-4


@pytest.mark.parametrize("seed", range(4))
def test_one_step_with_a_total_is_the_closed_form(seed):
    layout = CountLayout(H=1, S=3, A=2)
    raw = noisy(exact(layout), seed, width=30.0)
    general, closed = (
        FlowConsistent(layout, USERS, coupling=each).solve(raw).transitions for each in ("flow", "step totals")
    )
    assert closed == pytest.approx(general, abs=1e-4)
    assert closed.sum() == pytest.approx(USERS, rel=1e-12)


@pytest.mark.parametrize(("seed", "total"), [*itertools.product(range(3), [None, 0.0, 7.0, 1e4])])
def test_closed_forms_against_cvxpy(seed, total):
    rng = stream(seed, Stage.EXPERIMENT, 2)
    counts, visits = rng.normal(0, 20, size=(4, 3)), rng.normal(5, 20, size=4)
    x = cp.Variable((4, 3), nonneg=True)
    known = [] if total is None else [cp.sum(x) == total]
    loss = cp.sum_squares(x - counts) + cp.sum_squares(cp.sum(x, axis=1) - visits)
    cp.Problem(cp.Minimize(loss), known).solve(solver=cp.CLARABEL)
    assert nearest_counts(counts, visits, total) == pytest.approx(x.value, abs=2e-3)


def test_constraints_of_a_user_hold_and_help():
    reachable = np.array([[[1, 0], [1, 1]], [[1, 1], [0, 1]]])  # two transitions cannot happen

    def extra(x):
        return [x[h][s][a][after] == 0 for h in range(3) for s, a, after in zip(*np.where(reachable == 0), strict=True)]

    truth = exact(reachable=reachable)
    plain, own = FlowConsistent(LAYOUT, USERS), FlowConsistent(LAYOUT, USERS, extra=extra)
    errors = []
    for seed in range(6):
        raw = noisy(truth, seed)
        done = own.solve(raw)
        assert np.abs(done.transitions[:, reachable == 0]).max() <= 1e-4
        assert flows(done) <= 1e-6 * USERS
        errors.append((distance(done, truth), distance(plain.solve(raw), truth)))
    assert np.mean(errors, axis=0)[0] < np.mean(errors, axis=0)[1]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"users": 0}, "users"),
        ({"loss": "l1"}, "loss"),
        ({"coupling": "all"}, "coupling"),
        ({"coupling": "cells", "loss": "chebyshev"}, "coupling"),
        ({"coupling": "step totals", "extra": lambda x: []}, "coupling"),
    ],
)
def test_impossible_settings_are_refused(change, what):
    with pytest.raises(ParameterError, match=what):
        FlowConsistent(**{"layout": LAYOUT, "users": USERS, **change})


def test_what_cannot_be_solved_is_said():
    raw = noisy(exact(), 0)
    with pytest.raises(ParameterError, match="finite"):
        FlowConsistent(LAYOUT, USERS).solve(
            PrivateCounts(np.where(raw.visits > 5, np.nan, raw.visits), raw.transitions)
        )
    with pytest.raises(ParameterError, match="counts"):
        FlowConsistent(CountLayout(H=2, S=2, A=2), USERS).solve(raw)
    with pytest.raises(RunError, match="infeasible"):
        FlowConsistent(LAYOUT, USERS, extra=lambda x: [x[0][0][0][0] == 2 * USERS]).solve(raw)
    for wrong in (lambda x: None, lambda x: x[0][0][0][0] == 1, lambda x: [cp.square(x[0][0][0][0]) >= 4]):
        with pytest.raises(ParameterError, match="extra"):
            FlowConsistent(LAYOUT, USERS, extra=wrong).solve(raw)
    with pytest.raises(ParameterError, match="chebyshev"):
        FlowConsistent(LAYOUT, USERS).never_underestimating(raw, 20.0)
    with pytest.raises(ParameterError, match="error_bound"):
        FlowConsistent(LAYOUT, USERS, "chebyshev").never_underestimating(raw, float("nan"))


def test_a_solver_that_gets_stuck_tries_the_usual_accuracy(monkeypatch):
    raw = noisy(exact(), 0)
    expected = FlowConsistent(LAYOUT, USERS).solve(raw).transitions
    solve, stuck = cp.Problem.solve, {PRECISE["tol_feas"]}

    def solve_or_get_stuck(problem, **settings):
        if settings["tol_feas"] in stuck:
            raise cp.error.SolverError("stuck")
        return solve(problem, **settings)

    monkeypatch.setattr(cp.Problem, "solve", solve_or_get_stuck)
    assert FlowConsistent(LAYOUT, USERS).solve(raw).transitions == pytest.approx(expected, abs=1e-2)
    stuck.add(1e-8)
    with pytest.raises(RunError, match="stuck"):
        FlowConsistent(LAYOUT, USERS).solve(raw)


def test_processed_counts_are_those_of_the_solver_with_the_claim_of_the_privatizer():
    privatizer = OfflineTabularLaplace(layout=CHAIN, eps=1.0)
    post = FlowProcessed(privatizer, FlowConsistent(CHAIN, USERS))
    raw = privatizer.private_counts(constant(CHAIN, USERS), rng=stream(1, Stage.EXPERIMENT), size=3)
    assert np.array_equal(post.process(raw), CHAIN.pack(post.flow.solve(raw)))
    released = post.release(constant(CHAIN, USERS), rng=stream(1, Stage.EXPERIMENT), size=3)
    assert np.array_equal(released, post.process(raw))
    assert (post.claim, post.ledger) == (privatizer.claim, privatizer.ledger)
    with pytest.raises(ParameterError, match=r"flow\.layout"):
        FlowProcessed(privatizer, FlowConsistent(LAYOUT, USERS))


@pytest.mark.parametrize("loss", ["l2", "chebyshev"])
def test_promises_are_kept_and_broken_by_what_they_are_about(loss):
    privatizer, data = OfflineTabularLaplace(layout=CHAIN, eps=1.0), constant(CHAIN, 200)
    flow = FlowConsistent(CHAIN, 200, loss)

    def broken(post, bound=None):
        promise = flow_promise(privatizer, post, data, 0.1, name="x", trials=40)
        found = check_promise(promise if bound is None else replace(promise, bound=bound), seed=1)
        return found.verdict, {name for name, times in found.violations.items() if times}

    chebyshev = loss == "chebyshev"
    bounded = "errors at most twice those of the noisy counts" if chebyshev else "no farther than the noisy counts"
    assert broken(flow) == (KEPT, set())
    assert broken(flow, bound=1.0) == (BROKEN, set())  # the error is measured
    assert broken(RoundedCells(flow)) == (BROKEN, {"flow and total"})
    assert broken(replace(flow, extra=forbid_staying)) == (BROKEN, {bounded})
    assert "flow and total" in broken(replace(flow, users=201))[1]
    assert "counts >= 0" in broken(Negative(flow))[1]
    with pytest.raises(ParameterError, match="final_states"):
        flow_promise(privatizer, flow, replace(data, final_states=None), 0.1, name="x")


class Negative:
    """Takes one from every count."""

    def __init__(self, flow):
        self.loss, self.flow = flow.loss, flow

    def solve(self, counts):
        transitions = self.flow.solve(counts).transitions - 1.0
        return PrivateCounts(transitions.sum(axis=-1), transitions)


def test_missed_flow_is_by_how_many_users():
    right = constant(CHAIN, 7).counts()
    lost = right.transitions.copy()
    lost[1, 0, 0, 0] -= 3  # three vanish after the first step
    both = np.stack([right.transitions, lost])
    counts = PrivateCounts(both.sum(axis=-1), both)
    assert find_missed_flow(counts, CHAIN, 7).tolist() == [0.0, 3.0]
    assert find_missed_flow(counts, CHAIN, 9).tolist() == [2.0, 3.0]
    off = PrivateCounts(both.sum(axis=-1) + 5, both)
    assert find_missed_flow(off, CHAIN, 7).tolist() == [5.0, 5.0]
