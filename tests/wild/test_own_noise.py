"""`replay` of code that draws its own noise: what it is worth together, and nothing where that cannot be said."""

import random

import numpy as np
import pytest

from dpverify.claims.claim import PureDP, ZCDP
from dpverify.wild.record import lines
from dpverify.wild.replaying import replay

pytestmark = pytest.mark.process

UNIT = {"data": {"as": "vector", "rows": [12, 16]}, "columns": {"x": {"kind": "real", "low": 0.0, "high": 1.0}}}
ROUNDS = 3


def looked(target, claim=1.0, relation="add-remove", count=3, **options):
    return replay(target, claim=PureDP(claim), schema=UNIT, relation=relation, count=count, **options)


def kmeans(data, draw, eps):
    """Lloyd's algorithm with noise for `eps` in each of three iterations: half for sizes, half for sums."""
    centres = [0.25, 0.75]
    for _ in range(ROUNDS):
        nearest = np.abs(data[:, None] - np.array(centres)).argmin(axis=1)
        for k in range(2):
            mine = data[nearest == k]
            size = len(mine) + draw(0.0, 2 / eps)
            total = mine.sum() + draw(0.0, 2 / eps)
            centres[k] = min(1.0, max(0.0, total / max(size, 1.0)))
    return centres


def by_numpy(data, eps):
    return kmeans(data, np.random.laplace, eps)


def by_handed(data, rng, eps):
    return kmeans(data, rng.laplace, eps)


@pytest.mark.parametrize("target", [by_numpy, by_handed])
def test_a_budget_that_every_iteration_spends_is_counted(target):
    record = looked(target, arguments={"eps": 1.0})
    assert (record.verdict, record.exit_code) == ("UNDECIDED", 3)
    (found,) = [each for each in record.findings if each.rule == "overspending"]
    assert not found.decided
    assert 1.5 <= found.moved <= ROUNDS * (1 + 1e-9)  # a size moves by one, a sum by the record: (1 + x) eps/2 each
    factor = f"{found.moved:.3g}"
    assert f"is worth eps {found.moved:.4g} on this pair: claim pure:1 is OPEN" in found.text
    assert f"your budget is spent {factor} times" in found.text
    assert record.matrix[0].detectable == found.moved
    assert any(found.text in line for line in lines(record))


@pytest.mark.parametrize("target", [by_numpy, by_handed])
def test_its_right_twin_is_kept(target):
    record = looked(target, arguments={"eps": 1.0 / ROUNDS})
    assert record.verdict == "KEPT", record.findings
    assert not record.findings
    assert 0.5 <= record.matrix[0].detectable <= 1 + 1e-9
    assert not any("spent" in line for line in lines(record))


def normal(data):
    return float(data.sum()) + random.gauss(0.0, 20.0)


@pytest.mark.parametrize(("claim", "verdict"), [(ZCDP(0.00125), "KEPT"), (ZCDP(0.0001), "UNDECIDED")])
def test_draws_of_random_are_followed(claim, verdict):
    """A sum that moves by 1 at most, at sigma 20: rho = 1/800."""
    record = replay(normal, claim=claim, schema=UNIT, relation="replace", count=8)
    assert record.verdict == verdict, record.findings
    assert 0 < record.matrix[0].detectable < 1
    assert {each.rule for each in record.findings} == ({"overspending"} if verdict == "UNDECIDED" else set())


def leaks(data):
    return float(data.sum()) + np.random.laplace(0.0, 1.0), float(data[-1])  # noqa: NPY002


def unfollowed(data):
    return float(data.sum()) + random.triangular(-9.0, 9.0)


def own_generator(data):
    return float(data.sum()) + random.Random(4).gauss(0.0, 9.0)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (leaks, "not traced"),
        (unfollowed, "not traced"),
        (normal, "is worth eps inf"),
    ],
)
def test_what_is_not_covered_by_noise_is_never_kept(target, words):
    record = looked(target, relation="replace")
    assert record.verdict == "UNDECIDED"
    assert any(words in each.text for each in record.findings), record.findings


def test_noise_that_is_the_same_every_time_is_none():
    assert looked(own_generator, relation="replace").verdict != "KEPT"


def test_a_run_leaves_random_as_it_was():
    kept, state = dict(vars(random)), random.getstate()
    looked(normal, 1.0, "replace", count=1)
    assert {name: vars(random)[name] for name in kept} == kept
    random.setstate(state)


def test_a_seed_that_is_set_is_no_noise(tmp_path):
    (tmp_path / "seeded.py").write_text(
        "import numpy as np\n\n\ndef release(data):\n    np.random.seed(3)\n"
        "    return float(data.sum()) + np.random.laplace(0.0, 1.0)\n"
    )
    record = looked(f"{tmp_path}/seeded.py:release", relation="replace")
    assert record.verdict == "UNDECIDED"
    assert any("a seed is set" in each.text for each in record.findings)
