"""All rows of one user: what is a pair of neighbours, what is not, and what the record says."""

import math

import numpy as np
import pandas
import pytest

from dpverify import audit, Pair, PureDP, Records, Relation, Unit
from dpverify.accounting.groups import group_of
from dpverify.claims.neighbours import Difference, unit_difference
from dpverify.cli.main import run
from dpverify.errors import NeighbourError, UsageError
from dpverify.ledger.events import LaplaceNoise, Ledger, Sensitivity

REPLACE, ADD = Relation.REPLACE_ONE, Relation.ADD_OR_REMOVE_ONE
ANN, BOB = ("ann", 1), ("bob", 2)


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ([ANN, BOB], [ANN, BOB], Difference()),
        ([ANN, ANN, BOB], [BOB], Difference(removed=1)),
        ([ANN, BOB, ANN], [BOB], Difference(removed=1)),
        ([BOB], [ANN, BOB, ANN, ANN], Difference(added=1)),
        ([ANN, BOB, ANN], [ANN, BOB], Difference(replaced=1)),
        ([ANN, BOB], [("ann", 5), BOB, ("ann", 6)], Difference(replaced=1)),
        ([ANN, BOB], [("cid", 1), BOB], Difference(replaced=1)),  # another user in his place
        ([ANN, BOB], [("ann", 5), ("bob", 5)], Difference(replaced=2)),
        ([ANN, BOB], [("cid", 1), ("dan", 2)], Difference(replaced=2)),
        ([ANN, BOB], [BOB, ANN], Difference(replaced=2)),  # order counts
        ([ANN], [BOB, ("cid", 1)], Difference(replaced=1, added=1)),
    ],
)
def test_differences_are_counted_in_users(first, second, found):
    assert Records(first, unit=0).differences(Records(second, unit=0)) == found
    assert unit_difference([(row[0], row) for row in first], [(row[0], row) for row in second]) == found


def frame(rows):
    return pandas.DataFrame({"user": [row[0] for row in rows], "x": [float(row[1]) for row in rows]})


FORMS = {
    "records": (lambda rows: Records(rows, unit=0, most=3), {}),
    "records of a pair": (Records, {"unit": 0, "most": 3}),
    "list": (list, {"unit": 0, "most": 3}),
    "function": (list, {"unit": lambda row: row[0], "most": 3}),
    "dicts": (lambda rows: [{"user": user, "x": x} for user, x in rows], {"unit": "user", "most": 3}),
    "frame": (frame, {"unit": "user", "most": 3}),
    "columns": (
        lambda rows: {"user": np.array([each[0] for each in rows]), "x": [each[1] for each in rows]},
        {"unit": "user", "most": 3},
    ),
    "array": (lambda rows: np.array([[ord(user[0]), x] for user, x in rows], dtype=float), {"unit": 0, "most": 3}),
    "fields": (lambda rows: np.array(rows, dtype=[("user", "U3"), ("x", "f8")]), {"unit": "user", "most": 3}),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_pair_of_any_form_is_compared_by_its_users(form):
    make, named = FORMS[form]
    claim = PureDP(1.0, relation=ADD, unit=Unit.USER)
    pair = claim.check(Pair(make([ANN, BOB, ANN]), make([BOB]), **named))
    assert pair.verified
    with pytest.raises(NeighbourError, match="is not replace-one user: 0 replaced, 0 added, 1 removed"):
        PureDP(1.0, unit=Unit.USER).check(Pair(pair.first, pair.second, **named))
    PureDP(1.0, unit=Unit.USER).check(Pair(make([ANN, BOB, ANN]), make([BOB, ("ann", 7)]), **named))
    with pytest.raises(NeighbourError, match="the claim is about one record"):
        PureDP(1.0, relation=ADD).check(Pair(make([ANN, BOB, ANN]), make([BOB]), **named))
    with pytest.raises(NeighbourError, match="2 removed"):
        claim.check(Pair(make([ANN, BOB, ("cid", 1)]), make([ANN]), **named))
    with pytest.raises(UsageError, match="has 4 rows; the most are 3"):
        claim.check(Pair(make([ANN, *[BOB] * 4]), make([ANN]), **named))


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: Pair([ANN], [BOB], unit=0, most=0), "most = 0: must be a whole number >= 1"),
        (lambda: Pair([ANN], [BOB], unit=0, most=math.nan), "most = nan"),
        (lambda: Pair([ANN], [BOB], most=2), "needs unit"),
        (lambda: Records([ANN], unit=0, most=0), "most = 0"),
        (lambda: Records([ANN], unit="user"), "unit = 'user': there is none in a row"),
        (lambda: Records([ANN, ANN], unit=0, most=1), "unit 'ann' has 2 rows; the most are 1"),
        (lambda: Records([1, 2], unit=0), "unit = 0: there is none in a row that is a number"),
        (lambda: Pair(frame([ANN]), frame([BOB]), unit="person").checked(REPLACE), "no such column; there are user, x"),
        (lambda: Pair([[1]], [[2]], unit=5).checked(REPLACE), "unit = 5: there is none"),
        (lambda: Pair([([],)], [([],)], unit=0).checked(REPLACE), "unit = 0: there is none"),
        (lambda: Pair([(None, 1)], [(None, 2)], unit=0).checked(REPLACE), "unit = 0: there is none"),
        (
            lambda: Pair(np.array([[math.nan, 1]]), np.array([[2.0, 1]]), unit=0).checked(REPLACE),
            "unit = 0: there is none",
        ),
        (lambda: Pair(1.0, 2.0, unit=0).checked(REPLACE), "a number has no rows"),
        (lambda: Pair(np.float64(1.0), np.array(2.0), unit=0, mixed=True).checked(REPLACE), "has no rows"),
        (lambda: Pair({"u": [1, 2], "x": [1]}, {"u": [1], "x": [1]}, unit="u").checked(ADD), "of one length"),
        (lambda: Records([ANN], unit=0).differences(Records([ANN])), "units of two Records differ"),
    ],
)
def test_what_names_no_user_is_refused(made, words):
    with pytest.raises(UsageError, match=words):
        made()


class Visits:
    """Number of visits with noise of this scale."""

    def __init__(self, scale):
        self.scale = scale

    def release(self, data, *, rng, size):
        return len(data) + rng.laplace(scale=self.scale, size=size)

    def ledger_of_a_row(self):
        return Ledger(LaplaceNoise(scale=self.scale, sensitivity=Sensitivity(add_remove=1.0)))


PAIR = Pair(Records([ANN, BOB, ANN, ANN], unit=0, most=3), Records([BOB], unit=0, most=3))


@pytest.mark.parametrize(("scale", "verdict", "proved"), [(1.0, "REFUTED", False), (3.0, "NOT_REFUTED", True)])
def test_noise_for_a_row_is_refuted_for_a_user_and_the_ledger_says_so(scale, verdict, proved):
    from dpverify.report import words

    target, claim = Visits(scale), PureDP(1.0, relation=ADD, unit=Unit.USER)
    ledger = group_of(target.ledger_of_a_row(), 3)
    record = audit(target, claim=claim, pair=PAIR, ledger=ledger, trials=20_000, seed=1)
    assert (record.verdict.value, record.unit, record.pair_verified) == (verdict, "user", True)
    assert record.eps_upper == pytest.approx(3.0 / scale)
    assert (record.eps_upper <= 1.0) == proved
    assert words.claim(record) == "pure:1 +/-1 per user"
    rows = Pair(Records([ANN, BOB]), Records([BOB]))
    at_rows = audit(Visits(1.0), claim=PureDP(1.0, relation=ADD), pair=rows, trials=20_000, seed=1)
    assert at_rows.verdict.value == "NOT_REFUTED"


CODE = """
from dpverify import Pair, Records
def rows(*users):
    return Records([(each, 1) for each in users], unit=0, most=2)
def visits(data, rng):
    return len(data) + rng.laplace(scale=1.0)
pairs = [Pair(rows("a", "b", "b"), rows("a"))]
plain = [Pair([("a", 1)], [("a", 1), ("b", 1), ("b", 1)], unit=0, most=2)]
def many():
    return [Pair(rows("a", "b", "b", "b"), rows("a"))]
nowhere = [Pair([("a", 1)], [("b", 1)], unit="user")]
"""


@pytest.mark.process
@pytest.mark.parametrize(
    ("pairs", "code", "words"),
    [
        ("pairs", 1, "REFUTED"),
        ("plain", 1, "REFUTED"),
        ("many", 2, "unit 'b' has 3 rows; the most are 2"),
        ("nowhere", 2, "unit = 'user': there is none in a row"),
    ],
)
def test_certify_takes_the_unit_from_its_pairs(tmp_path, monkeypatch, capsys, pairs, code, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "of_visits.py").write_text(CODE)
    asked = [
        "certify",
        "of_visits.py:visits",
        "--claim",
        "pure:1",
        "--pairs",
        f"of_visits.py:{pairs}",
        "--relation",
        "add-remove",
        "--trials",
        "20000",
        "--json",
        "out.json",
    ]
    assert run(asked) == code
    said = capsys.readouterr()
    assert words in said.out + said.err
    if code == 1:
        assert '"unit": "user"' in (tmp_path / "out.json").read_text()
    else:
        assert len(said.err.strip().splitlines()) == 1
