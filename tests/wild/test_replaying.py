"""`replay`: correct uses of libraries are kept, known defects and planted twins OVER, what is not seen undecided."""

import math
import random
import sys

import numpy as np
import pytest
from private_libraries import diffprivlib

from dpverify.accounting.accountant import account
from dpverify.claims.claim import ApproxDP, PureDP
from dpverify.claims.neighbours import Relation
from dpverify.errors import TargetError, UsageError
from dpverify.ledger.compound_events import Filtered
from dpverify.tape.instruments.calls import NoiseCall
from dpverify.wild import replay
from dpverify.wild.replay_calls.recorded import RecordedRun, Step
from dpverify.wild.replay_calls.rules import aligned

LIBRARY = diffprivlib()
pytestmark = pytest.mark.filterwarnings("ignore")

from diffprivlib import mechanisms, models, tools  # noqa: E402
from diffprivlib.models.k_means import KMeans  # noqa: E402
from diffprivlib.models.linear_regression import LinearRegression  # noqa: E402

REAL = {"kind": "real", "low": 0.0, "high": 10.0}
VECTOR = {"data": {"as": "vector"}, "columns": {"x": REAL}}
MATRIX = {"data": {"as": "array"}, "columns": {"x": REAL}}
BOUNDS = {"epsilon": 1.0, "bounds": (0, 10)}
PLANE = {"data": {"as": "args"}, "columns": {"x": REAL, "y": REAL}}


def looked(target, schema=VECTOR, relation="replace", claim=None, count=6, **options):
    return replay(target, claim=claim or PureDP(1.0), schema=schema, relation=relation, count=count, **options)


def rules(record):
    return {each.rule for each in record.findings}


def counts(data):
    return tools.histogram(data, epsilon=1.0, bins=4, range=(0, 10))[0]


def weighted(data):
    return tools.histogram(data["x"], epsilon=1.0, bins=4, range=(0, 10), weights=data["w"])[0]


SLOPE = {"epsilon": 1.0, "bounds_X": (-1, 1), "bounds_y": (-1, 1), "fit_intercept": False}
UNIT = {"kind": "real", "low": -1.0, "high": 1.0}
KEPT = [
    (tools.mean, VECTOR, BOUNDS, "replace", 1.0),
    (tools.std, VECTOR, BOUNDS, "replace", 1.0),
    (tools.sum, VECTOR, BOUNDS, "replace", 1.0),
    (tools.count_nonzero, VECTOR, {"epsilon": 1.0}, "replace", 1.0),
    (counts, VECTOR, {}, "add-remove", 1.0),
    (models.StandardScaler, MATRIX, BOUNDS, "replace", 1.0),
    (LinearRegression, {**PLANE, "columns": {"x": UNIT, "y": UNIT}}, SLOPE, "both", 1.0),
]


@pytest.mark.parametrize(
    ("target", "schema", "arguments", "relation", "eps"),
    KEPT,
    ids=lambda each: getattr(each, "__name__", str(each))[:24],
)
def test_correct_uses_are_kept(target, schema, arguments, relation, eps):
    record = looked(target, schema, relation, arguments=arguments)
    assert (record.verdict, record.exit_code) == ("KEPT", 0), record.findings
    assert all(0 < row.detectable <= eps * (1 + 1e-9) for row in record.matrix)
    assert account(record.ledger, delta=0.0) <= eps * (1 + 1e-9)
    assert any("no proof for all pairs" in note for note in record.notes)


HEAVY = {"data": {"as": "columns"}, "columns": {"x": REAL, "w": {"kind": "weight", "low": 0.0, "high": 5.0}}}
WIDE = {
    "data": {"as": "array", "rows": [12, 14]},
    "columns": {f"c{at}": {"kind": "real", "low": 0.0, "high": 1.0} for at in range(24)},
}
GAPS = {"data": {"as": "vector"}, "columns": {"x": {**REAL, "missing": True}}}
DEFECTS = {
    "W1": (
        LinearRegression,
        PLANE,
        {"epsilon": 1.0, "bounds_X": (0, 10), "bounds_y": (0, 10), "fit_intercept": False},
        "sensitivity",
        {},
    ),
    "W2": (weighted, HEAVY, {}, "sensitivity", {}),
    "W3": (
        KMeans,
        WIDE,
        {"epsilon": 1.0, "bounds": (0, 1), "n_clusters": 2},
        "budget",
        {"out": ("cluster_centers_",), "count": 2},
    ),
    "W4": (KMeans, MATRIX, {**BOUNDS, "n_clusters": 1}, "unprotected", {}),
    "W5": (tools.mean, GAPS, BOUNDS, "sensitivity", {"count": 40}),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_known_defects_are_over(name):
    target, schema, arguments, rule, options = DEFECTS[name]
    record = looked(target, schema, arguments=arguments, **options)
    assert (record.verdict, record.exit_code) == ("OVER", 1)
    assert rule in rules(record)
    assert any("no refutation of the claim until" in note for note in record.notes)
    if name == "W4":
        assert "inertia_" in next(each.text for each in record.findings if each.rule == rule)
    if name == "W5":
        assert math.isinf(next(each.moved for each in record.findings if each.rule == rule))


def test_public_fields_are_not_unprotected():
    record = looked(KMeans, MATRIX, arguments={**BOUNDS, "n_clusters": 1}, public=("inertia_", "labels_"))
    assert "unprotected" not in rules(record)


def test_a_relation_that_does_not_fit_is_over_and_the_other_one_stands():
    record = looked(tools.mean, relation=None, arguments=BOUNDS)
    assert record.verdict == "KEPT"
    assert record.relation == "replace-one"
    assert looked(tools.mean, relation="both", arguments=BOUNDS).verdict == "OVER"
    text = next(each.text for each in record.findings if each.rule == "declaration")
    assert "stands only if the number of records is public" in text


# Planted twins


def understated(data):
    return mechanisms.Laplace(epsilon=1.0, sensitivity=1.0).randomise(float(data.sum()))


def twice(data):
    count = mechanisms.Laplace(epsilon=1.0, sensitivity=10.0)
    return [count.randomise(float(data.sum())) for _ in range(2)]


def vector(data):
    """One mechanism for a vector that moves by its sensitivity in all: charged once."""
    both = mechanisms.Laplace(epsilon=1.0, sensitivity=20.0)
    return [both.randomise(float(each)) for each in (data.sum(), -data.sum())]


def of_the_data(data):
    return mechanisms.Laplace(epsilon=1.0, sensitivity=10.0 + data.max()).randomise(0.0)


def beside(data):
    return mechanisms.Laplace(epsilon=1.0, sensitivity=10.0).randomise(float(data.sum())), float(data.max())


def last_digits(data):
    noisy = mechanisms.Laplace(epsilon=1.0, sensitivity=10.0).randomise(float(data.sum()))
    return noisy * (1 + 1e-13 * (data.max() > 5))


@pytest.mark.parametrize(
    ("target", "rule"),
    [
        (understated, "sensitivity"),
        (twice, "budget"),
        (of_the_data, "declaration"),
        (beside, "unprotected"),
        (last_digits, "unprotected"),
    ],
)
def test_planted_twins_are_over(target, rule):
    record = looked(target, count=24)
    assert record.verdict == "OVER"
    assert rule in rules(record)


def test_parts_of_a_vector_are_charged_once():
    assert looked(vector).verdict == "KEPT"
    assert looked(twice, claim=PureDP(2.0)).verdict == "KEPT"


def test_trials_confirm_what_is_over():
    record = looked(understated, confirm=400)
    assert record.verdict == "REFUTED"
    assert record.pairs[0].eps_lower >= 1
    record = looked(lambda data: round(0 * understated(data)), confirm=100)  # post-processing hides the excess
    assert record.verdict == "OVER"


# What cannot be decided, and what is no answer


def quantile(data):
    return tools.median(data, epsilon=1.0, bounds=(0, 10))


def by_numpy(data):
    return float(data.sum()) + np.random.laplace(0.0, 10.0)  # noqa: NPY002


def by_random(data):
    noisy = mechanisms.Laplace(epsilon=1.0, sensitivity=10.0).randomise(float(data.sum()))
    return noisy, int(data[-1] > 5) ^ (random.random() < 0.25)


def by_rng(data, rng):
    return float(data.sum()) + rng.laplace(0.0, 10.0)


def by_system(data):
    return (
        mechanisms.Laplace(epsilon=1.0, sensitivity=10.0).randomise(float(data.sum())) + random.SystemRandom().random()
    )


def groups(data):
    """A group without records is drawn apart with the same law: calls on one dataset only."""
    count, found = mechanisms.Geometric(epsilon=1.0, sensitivity=2), []
    for part in range(2):
        size = int((data // 5.001 == part).sum())
        if size:
            found.append(count.randomise(size))
        else:
            found.append(count.randomise(0))
    return found


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (quantile, "candidates"),
        (by_system, "no instrument sees"),
        (lambda data: 1.0, "no noise call"),
        (by_random, "is not traced"),
    ],
)
def test_what_is_not_understood_is_undecided(target, words):
    record = looked(target, count=16)
    assert (record.verdict, record.exit_code) == ("UNDECIDED", 3)
    assert any(words in each.text for each in record.findings)


@pytest.mark.parametrize("target", [by_numpy, by_rng])
def test_noise_that_the_code_draws_itself_is_followed(target):
    record = looked(target, count=16)
    assert record.verdict == "KEPT", record.findings
    assert 0 < record.matrix[0].detectable <= 1


def test_a_skipped_call_is_undecided_and_never_over():
    schema = {"data": {"as": "vector", "rows": [1, 2]}, "columns": {"x": REAL}}
    record = looked(groups, schema, count=20)
    assert record.verdict == "UNDECIDED"
    assert rules(record) == {"control flow"}


def test_no_verdict_without_an_answer():
    with pytest.raises(TargetError, match="most releases raise ValueError"):
        looked(lambda data: int("x"))
    with pytest.raises(UsageError, match="--calls opendp: no call of it was seen"):
        looked(tools.mean, arguments=BOUNDS, instrument="opendp")
    with pytest.raises(UsageError, match="has no parameter epsilon"):
        looked(understated, arguments={"epsilon": 1.0})


def adaptive(data):
    """The second scale depends on the first answer: no ledger may be read off one run."""
    first = mechanisms.Laplace(epsilon=0.25, sensitivity=10.0).randomise(float(data.sum()))
    eps = 0.25 + 0.25 * (first % 1)
    return first, mechanisms.Laplace(epsilon=eps, sensitivity=10.0).randomise(float(data.sum()))


def test_noise_that_depends_on_what_was_released_is_filed_under_a_filter():
    record = looked(adaptive, count=12, relation="add-remove")
    assert record.verdict == "KEPT"
    events = [event for event, _ in record.ledger.counted]
    assert [type(each) for each in events] == [Filtered]
    record = looked(adaptive, count=12, relation="add-remove", claim=ApproxDP(1.0, 1e-6))
    assert record.verdict != "KEPT"  # no filter for (eps, delta)


def step(value, sensitivity=1.0, number=0):
    call = NoiseCall(
        "m", ("f", 1), "l:1", np.atleast_1d(float(value)), {}, sensitivity, 1.0, 1.0, 0.0, (0, "l:1"), None
    )
    return Step(("m", "f:1", "l:1"), number, call)


def run(*values):
    return RecordedRun([step(value, number=at) for at, value in enumerate(values)], [], [], [])


@pytest.mark.parametrize(
    ("first", "second", "matches", "alone"),
    [
        ((5, 9, 2), (5, 9, 2), [(0, 0), (1, 1), (2, 2)], 0),
        ((5, 9, 2), (9, 2), [(1, 0), (2, 1)], 1),
        ((5, 9, 2), (5, 9.5, 2), [(0, 0), (1, 1), (2, 2)], 0),
        ((5, 90, 2), (5, 9, 2), [(0, 0), (1, 1), (2, 2)], 0),
        ((), (1,), [], 1),
        ((1, 2, 3, 4), (0, 1, 2, 3, 4), [(0, 1), (1, 2), (2, 3), (3, 4)], 1),
    ],
)
def test_calls_are_aligned_by_what_they_were_given(first, second, matches, alone):
    pairs, left, _ = aligned(run(*first), run(*second))
    assert [(one.number, two.number) for one, two in pairs] == matches
    assert len(left) == alone


def test_opendp_calls_are_replayed():
    import opendp.prelude as dp

    dp.enable_features("contrib")
    records = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    count = records >> dp.t.then_count() >> dp.m.then_laplace(scale=1.0)
    number = dp.m.make_laplace(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=1.0)
    listed = {"data": {"as": "list", "rows": [3, 6]}, "columns": {"x": REAL}}
    record = looked(lambda data: count([each for each in data if each > 4]), listed, "add-remove", instrument="opendp")
    assert record.verdict == "KEPT", record.findings
    assert record.matrix[0].detectable == pytest.approx(1.0)
    record = looked(lambda data: number(sum(data)), listed, "add-remove")  # ages that nobody clipped
    assert record.verdict == "OVER"
    assert {each.relation for each in record.pairs} == {str(Relation.ADD_OR_REMOVE_ONE)}


COMPILED = """
import random


class MetaAlgorithm:
    def __init__(self, **kwargs):
        self.low, self.high, self.held = kwargs["lower_bound"], kwargs["upper_bound"], []

    def add_entries(self, data):
        self.held += data

    def quick_result(self, data):
        return sum(min(max(each, self.low), self.high) for each in data) + random.SystemRandom().gauss(0, 1)

    def result(self):
        return self.quick_result(self.held)
"""


@pytest.fixture
def pydp(tmp_path, monkeypatch):
    """A library with the interface of python-dp, whose own is compiled."""
    folder = tmp_path / "pydp" / "algorithms"
    folder.mkdir(parents=True)
    for each in (tmp_path / "pydp" / "__init__.py", folder / "__init__.py"):
        each.write_text("")
    (folder / "_algorithm.py").write_text(COMPILED)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("pydp", "pydp.algorithms", "pydp.algorithms._algorithm"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    module = __import__("pydp.algorithms._algorithm", fromlist=["x"])
    yield module.MetaAlgorithm
    for name in ("pydp", "pydp.algorithms", "pydp.algorithms._algorithm"):
        sys.modules.pop(name, None)


def test_a_compiled_library_is_undecided_where_its_entries_differ_and_over_where_its_bounds_do(pydp):
    def bounded(data):
        answer = pydp(epsilon=1.0, lower_bound=0.0, upper_bound=10.0)
        answer.add_entries(data)
        return answer.result()

    def same(data):
        return pydp(epsilon=1.0, lower_bound=0.0, upper_bound=10.0).quick_result([1.0, 2.0])

    def observed(data):
        return pydp(epsilon=1.0, lower_bound=min(data), upper_bound=max(data)).quick_result([1.0, 2.0])

    listed = {"data": {"as": "list", "rows": [3, 6]}, "columns": {"x": REAL}}
    record = looked(bounded, listed, instrument="pydp")
    assert record.verdict == "UNDECIDED"
    assert "trials decide" in record.findings[0].text
    assert looked(same, listed).verdict == "KEPT"
    record = looked(observed, listed)
    assert record.verdict == "OVER"
    assert "_bound" in " ".join(each.text for each in record.findings if each.rule == "setting")


def test_a_transformation_is_held_to_its_own_map():
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious")
    records = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    number = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    honest = records >> dp.t.then_clamp((0.0, 10.0)) >> dp.t.then_sum()
    wrong = dp.t.make_user_transformation(*records, *number, lambda data: float(sum(data)), lambda d_in: float(d_in))
    noise = dp.m.make_laplace(*number, scale=10.0)
    listed = {"data": {"as": "list", "rows": [3, 6]}, "columns": {"x": REAL}}
    assert looked(lambda data: noise(honest(data)), listed, "add-remove").verdict == "KEPT"
    record = looked(lambda data: noise(wrong(data)), listed, "add-remove")
    assert record.verdict == "OVER"
    assert any("its map says 1" in each.text for each in record.findings)
