"""diffprivlib on the tape: correct uses are not flagged, known defects and planted twins are, with the user's line."""

import inspect
import math
import secrets

import numpy as np
import pytest
from private_libraries import diffprivlib

from dpverify.claims.claim import PureDP
from dpverify.claims.neighbours import Pair, Relation
from dpverify.ledger.events import LaplaceNoise, Ledger, Sensitivity
from dpverify.tape.instruments import calls
from dpverify.tape.instruments.diffprivlib import NORMS
from dpverify.tape.tracer import trace

diffprivlib()  # its forests cannot be imported here
pytestmark = pytest.mark.filterwarnings("ignore")

from diffprivlib import BudgetAccountant, mechanisms, models, tools  # noqa: E402
from diffprivlib.models.k_means import KMeans  # noqa: E402
from diffprivlib.models.linear_regression import LinearRegression  # noqa: E402

X = np.array([0.0, 3.0, 5.0, 9.0, 1.0, 2.0, 8.0, 7.0])
NEAR = np.array([0.0, 9.5, 5.0, 9.0, 1.0, 2.0, 8.0, 7.0])
LESS = X[:-1]
ONCE = Ledger.of((LaplaceNoise(scale=1.0, sensitivity=Sensitivity(replace=1.0, add_remove=1.0)), 1))


def look(function, first=X, second=NEAR, *, claim=None, ledger=None, transcripts=2):
    return trace(
        function,
        pair=Pair(first, second),
        claim=claim,
        ledger=ledger,
        transcripts=transcripts,
        stress=False,
        timeout=600.0,
    )


def line_of(function):
    """file:line of the line with the word HERE."""
    lines, start = inspect.getsourcelines(function)
    return f"tape/test_instruments_diffprivlib.py:{start + next(at for at, text in enumerate(lines) if 'HERE' in text)}"


def of(words):
    """A release from a call without generator and size."""

    def release(data, *, rng, size):
        return words(data)

    return release


def classes(data):
    count = mechanisms.Geometric(epsilon=1.0, sensitivity=1)
    return [count.randomise(int((data // 4 == group).sum())) for group in range(3)]


def queries(data):
    """Ten answers of one mechanism, each with a tenth of the budget."""
    answer = mechanisms.Laplace(epsilon=0.1, sensitivity=1.0)
    return [answer.randomise(float((data > at).sum())) for at in range(10)]


def noisy_max(data):
    count = mechanisms.Laplace(epsilon=1.0, sensitivity=1.0)
    return int(np.argmax([count.randomise(float((data > at).sum())) for at in (2, 4, 6)]))


def line(data):
    X, y = (data / 10).reshape(-1, 1), data / 20
    model = LinearRegression(epsilon=1.0, bounds_X=(-1, 1), bounds_y=(-1, 1), fit_intercept=False)
    return model.fit(X, y).coef_


CORRECT = {
    "mean": (lambda data: tools.mean(data, epsilon=1.0, bounds=(0, 10)), NEAR, 0.65),
    "var": (lambda data: tools.var(data, epsilon=1.0, bounds=(0, 10)), NEAR, None),
    "std": (lambda data: tools.std(data, epsilon=1.0, bounds=(0, 10)), NEAR, None),
    "sum": (lambda data: tools.sum(data, epsilon=1.0, bounds=(0, 10)), NEAR, 0.65),
    "count": (lambda data: tools.count_nonzero(data > 4, epsilon=1.0), NEAR, 1.0),
    "histogram": (lambda data: tools.histogram(data, epsilon=1.0, bins=4, range=(0, 10))[0], LESS, 1.0),
    "columns": (lambda data: tools.mean(data.reshape(-1, 2), axis=0, epsilon=1.0, bounds=(0, 10)), NEAR, None),
    "scaler": (
        lambda data: models.StandardScaler(epsilon=1.0, bounds=(0, 10)).fit(data.reshape(-1, 1)).mean_,
        NEAR,
        None,
    ),
    "line": (line, NEAR, None),
    "classes": (classes, LESS, 1.0),
    "queries": (queries, NEAR, 0.7),
    "noisy max": (noisy_max, LESS, 3.0),
    "gaussian": (
        lambda data: mechanisms.GaussianAnalytic(epsilon=2.0, delta=1e-5, sensitivity=10.0).randomise(
            float(data.sum())
        ),
        NEAR,
        math.inf,
    ),
    "discrete gaussian": (
        lambda data: mechanisms.GaussianDiscrete(epsilon=0.5, delta=1e-3).randomise(len(data)),
        LESS,
        math.inf,
    ),
    "staircase": (
        lambda data: mechanisms.Staircase(epsilon=1.0, sensitivity=10.0).randomise(float(data.sum())),
        NEAR,
        1.0,
    ),
    "choice": (
        lambda data: mechanisms.Exponential(
            epsilon=1.0,
            sensitivity=1.0,
            utility=[float((data < 5).sum()), float((data >= 5).sum())],
            candidates=["low", "high"],
        ).randomise(),
        LESS,
        None,
    ),
    "label": (
        lambda data: mechanisms.Binary(epsilon=1.0, value0="n", value1="y").randomise("y" if data[1] > 5 else "n"),
        NEAR,
        1.0,
    ),
}


@pytest.mark.parametrize("name", CORRECT)
def test_correct_uses_are_not_flagged(name):
    words, second, eps = CORRECT[name]
    found = look(of(words), X, second)
    assert found.status == "DERIVED", found.reasons
    assert all("test_instruments_diffprivlib.py:" in draw.site for draw in found.draws), found.draws
    if eps is None:
        assert found.certified() is None or found.certified().eps <= 1.0 + 1e-9
    else:
        assert found.eps() == pytest.approx(eps, rel=1e-9)


def test_noise_that_the_ledger_has_conforms():
    def one(data):
        return mechanisms.Laplace(epsilon=1.0, sensitivity=1.0).randomise(float(len(data)))

    found = look(of(one), X, LESS, ledger=ONCE)
    assert found.status == "CONFORMS", found.reasons
    assert found.eps() == 1.0


# Known defects of release 0.6.6


def regression(data):
    model = LinearRegression(epsilon=1.0, bounds_X=(0, 10), bounds_y=(0, 10))
    return model.fit(data.reshape(-1, 1), data / 2).coef_  # HERE


def weighted(data):
    return tools.histogram(data[0], epsilon=1.0, bins=4, range=(0, 4), weights=data[1])[0]  # HERE


def many_columns(data):
    return KMeans(n_clusters=2, epsilon=1.0, bounds=(0, 1)).fit(data).cluster_centers_  # HERE


def attributes(data):
    return KMeans(n_clusters=1, epsilon=1.0, bounds=(0, 10)).fit(data.reshape(-1, 1))  # HERE


WIDE = np.linspace(0, 1, 12 * 24).reshape(12, 24)
OTHER = np.vstack([1 - WIDE[:1], WIDE[1:]])
HEAVY = (np.array([0.5, 1.5]), np.ones(2)), (np.array([0.5, 1.5, 2.5]), np.array([1.0, 1.0, 5.0]))
DEFECTS = {
    "W1": (regression, (X, NEAR), "CONTRADICTED", "SENSITIVITY"),
    "W2": (weighted, HEAVY, "CONTRADICTED", "SENSITIVITY"),
    "W3": (many_columns, (WIDE, OTHER), "CONTRADICTED", "BUDGET"),
    "W4": (attributes, (X, NEAR), "NOT_TRACED", "UNPROTECTED"),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_known_defects_are_flagged_at_the_call_site(name):
    function, pair, status, code = DEFECTS[name]
    found = look(of(function), *pair)
    assert found.status == status, found.reasons
    reason = next(each for each in found.reasons if each.code == code)
    assert reason.site == line_of(function)
    if name == "W4":
        assert ".inertia_" in reason.text


# Planted twins


def understated(data):
    return mechanisms.Laplace(epsilon=1.0, sensitivity=1.0).randomise(float(data.sum()))  # HERE


def unclipped(data):
    half = mechanisms.Laplace(epsilon=1.0, sensitivity=10.0)
    return half.randomise(float(data.sum()))  # HERE


def spent_once(data):
    account = BudgetAccountant()
    account.spend(1.0, 0.0)
    first, second = (mechanisms.Laplace(epsilon=1.0, sensitivity=10.0) for _ in range(2))
    return first.randomise(float(data.sum())), second.randomise(float(data.sum()))  # HERE


def of_the_data(data):
    return mechanisms.Laplace(epsilon=1.0, sensitivity=10.0 + data.max()).randomise(0.0)  # HERE


@pytest.mark.parametrize(
    ("function", "pair", "code"),
    [
        (understated, (X, NEAR), "SENSITIVITY"),
        (unclipped, (X, np.where(X == 3, 40.0, X)), "SENSITIVITY"),
        (spent_once, (X, NEAR), "BUDGET"),
        (of_the_data, (X, NEAR), "SETTING"),
    ],
)
def test_twins_contradict_the_declaration(function, pair, code):
    found = look(of(function), *pair)
    assert found.status == "CONTRADICTED"
    assert [(each.code, each.site) for each in found.reasons] == [(code, line_of(function))]


def twice(data):
    count = mechanisms.Laplace(epsilon=1.0, sensitivity=1.0)
    return [count.randomise(float(len(data))) for _ in range(2)]


def half_the_noise(data):
    return mechanisms.Laplace(epsilon=2.0, sensitivity=1.0).randomise(float(len(data)))


def average(data):
    count = mechanisms.Laplace(epsilon=1.0, sensitivity=1.0)
    return sum(count.randomise(float(len(data))) for _ in range(2)) / 2


@pytest.mark.parametrize("function", [twice, half_the_noise, average])
def test_twins_contradict_the_ledger(function):
    found = look(of(function), X, LESS, ledger=ONCE)
    assert found.status == "UNDECIDED"
    assert found.reasons[0].code == "NO_EVENT"


def test_a_finding_stands_beside_a_ledger_only_where_the_code_conforms():
    wide = Ledger.of((LaplaceNoise(scale=1.0, sensitivity=Sensitivity(replace=7.0, add_remove=7.0)), 1))
    found = look(of(understated), ledger=wide)
    assert found.status == "CONFORMS"  # what the author says is so; the library was told less
    assert found.transcripts == 2
    assert any("SENSITIVITY" in note for note in found.notes)
    assert look(of(understated), ledger=ONCE).status == "CONTRADICTED"
    early = look(of(understated))
    assert (early.status, early.transcripts, early.eps(), early.certified()) == ("CONTRADICTED", 0, None, None)


def test_a_claim_falls_by_what_the_code_shows():
    found = look(of(half_the_noise), X, LESS, claim=PureDP(1.0, relation=Relation.ADD_OR_REMOVE_ONE), transcripts=10)
    assert found.status == "CONTRADICTED"
    assert found.reasons[0].code == "WITNESS"
    assert found.witness.log_ratio == pytest.approx(2.0)


@pytest.mark.parametrize("name", ["Laplace", "LaplaceBoundedDomain"])
def test_a_sampler_with_half_the_noise_is_not_traced(name, monkeypatch):
    kept = mechanisms.Laplace._laplace_sampler
    monkeypatch.setattr(mechanisms.Laplace, "_laplace_sampler", staticmethod(lambda *unif: kept(*unif) / 2))
    bounds = {} if name == "Laplace" else {"lower": 0.0, "upper": 100.0}
    kind = getattr(mechanisms, name)
    found = look(of(lambda data: kind(epsilon=1.0, sensitivity=10.0, **bounds).randomise(float(data.sum()))))
    assert found.status == "NOT_TRACED"
    assert found.reasons[0].code == "NOISE"


def test_a_sigma_that_does_not_give_its_delta_is_not_traced():
    def half(data):
        mechanism = mechanisms.GaussianAnalytic(epsilon=1.0, delta=1e-5, sensitivity=10.0)
        mechanism._scale /= 2
        return mechanism.randomise(float(data.sum()))

    assert look(of(half)).reasons[0].code == "NOISE"


# The call is made, and something else is released: never fine

STRANGE = secrets.SystemRandom()


class Own(mechanisms.Laplace):
    """Draws from the library's generator beside the library's mechanism."""

    def randomise(self, value):
        return value + math.log(self._rng.random())


def made():
    return mechanisms.Laplace(epsilon=1.0, sensitivity=10.0)


def total(data):
    return float(data.sum())


BESIDE = {
    "its result is dropped": lambda data: (made().randomise(total(data)), total(data))[1],
    "beside it the truth": lambda data: (made().randomise(total(data)), total(data)),
    "in the last digits": lambda data: made().randomise(total(data)) * (1 + 1e-13 * (total(data) > 36)),
    "noise of another generator": lambda data: (made().randomise(total(data)), total(data) + STRANGE.random())[1],
    "a seed": lambda data: mechanisms.Laplace(epsilon=1.0, sensitivity=10.0, random_state=7).randomise(total(data)),
    "a subclass that draws itself": lambda data: Own(epsilon=1.0, sensitivity=10.0).randomise(total(data)),
    "only on one dataset": lambda data: made().randomise(total(data)) if data[1] < 5 else total(data),
    "an exception": lambda data: made().randomise(total(data)) if data[1] < 5 else int("x"),
    "an unknown law": lambda data: mechanisms.Uniform(delta=0.1, sensitivity=10.0).randomise(total(data)),
    "an objective": lambda data: mechanisms.Vector(epsilon=1.0, function_sensitivity=1.0, dimension=1).randomise(
        lambda omega: total(data) * omega[0]
    )([1.0]),
    "quantiles": lambda data: tools.median(data, epsilon=1.0, bounds=(0, 10)),
}


@pytest.mark.parametrize("name", BESIDE)
def test_what_no_call_protects_is_never_fine(name):
    found = look(of(BESIDE[name]))
    assert found.status == "NOT_TRACED", (found.status, found.eps())
    assert found.eps() is None
    assert found.certified() is None


def test_a_run_leaves_the_library_as_it_was():
    before = mechanisms.Laplace.randomise, BudgetAccountant.spend, BudgetAccountant._default
    look(of(CORRECT["mean"][0]))
    assert (mechanisms.Laplace.randomise, BudgetAccountant.spend, BudgetAccountant._default) == before


def squares(turn):
    """Two second moments that differ by a a' - b b', a and b at a right angle: by 2 in trace, by 1 as an operator."""
    a, b = np.array([math.cos(turn), math.sin(turn)]), np.array([-math.sin(turn), math.cos(turn)])
    return 3 * np.eye(2) + np.outer(a, a), 3 * np.eye(2) + np.outer(b, b)


@pytest.mark.parametrize("turn", [0.0, 0.4, math.pi / 4])
@pytest.mark.parametrize(("sensitivity", "kept"), [(1.0, True), (0.9, False)])
def test_matrices_move_in_the_norm_of_their_mechanism(turn, sensitivity, kept):
    def direction(moments):
        return mechanisms.Bingham(epsilon=1.0, sensitivity=sensitivity).randomise(moments)

    first, second = squares(turn)
    gap = first - second
    assert np.linalg.norm(gap, 2) == pytest.approx(1.0)
    assert np.linalg.norm(gap) == pytest.approx(math.sqrt(2))
    assert np.linalg.norm(gap, "nuc") == pytest.approx(2.0)
    found = [each for each in look(of(direction), first, second).reasons if each.code == "SENSITIVITY"]
    assert bool(found) is not kept


def test_every_norm_of_a_distance_is_told_apart():
    first, second = squares(math.pi / 4)
    norms = [calls.distance(first, second, norm) for norm in (1.0, 2.0, math.inf, "spectral", "nuclear")]
    assert norms == pytest.approx([2.0, math.sqrt(2), 1.0, 1.0, 2.0])
    first, second = np.diag([3.0, 1.0]), np.array([[2.0, 2.0], [2.0, 0.0]])
    norms = [calls.distance(first, second, norm) for norm in (1.0, 2.0, math.inf, "spectral", "nuclear")]
    assert norms == pytest.approx([6.0, math.sqrt(10), 2.0, 3.0, 4.0])
    assert calls.distance(np.array([[np.nan]]), np.array([[0.0]]), "spectral") == math.inf
    assert calls.distance(np.zeros(2), np.ones(2), "spectral") == math.inf  # no matrix: nothing is said to be small


def test_every_norm_has_a_mechanism_and_a_reason():
    for name, (norm, why) in NORMS.items():
        assert hasattr(mechanisms, name)
        assert why
        assert norm in (1.0, 2.0, math.inf, *calls.MATRIX)
