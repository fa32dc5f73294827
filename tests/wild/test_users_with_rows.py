"""A user with many rows: noise for one row is enough for a row, and not for a user."""

import numpy as np
import pytest

from dpverify.claims.claim import PureDP
from dpverify.claims.neighbours import Relation, Unit
from dpverify.cli.main import run
from dpverify.errors import NeighbourError, UsageError
from dpverify.wild import datasets, pairs, replay, schema, try_out
from dpverify.wild.datasets import Candidate

REPLACE, ADD = Relation.REPLACE_ONE, Relation.ADD_OR_REMOVE_ONE
USER = {"kind": "unit", "most": 3}
PLACE = {"kind": "category", "values": ["a", "b", "c"]}
MINUTES = {"kind": "real", "low": 0.0, "high": 1.0}
VISITS = {"data": {"as": "columns", "rows": [4, 20]}, "columns": {"user": USER, "place": PLACE, "minutes": MINUTES}}
ROWS = {**VISITS, "columns": {**VISITS["columns"], "user": {"kind": "integer", "low": 0, "high": 9}}}
FAST = {"minutes": 2.0, "out_of_domain": "off", "trials": 250}


def of(**columns):
    return {**VISITS, "columns": columns}


def visits(data, rng, scale):
    """Noisy numbers of visits to each place."""
    return {name: data["place"].tolist().count(name) + rng.laplace(0.0, scale) for name in ("a", "b", "c")}


def capped(data, rng, scale):
    """One visit of each user counts."""
    return len(set(data["user"].tolist())) + rng.laplace(0.0, scale)


@pytest.mark.process
@pytest.mark.parametrize(
    ("document", "scale", "verdict"),
    [
        (ROWS, 1.0, "NOT_REFUTED"),  # noise for one row, and a row is what is protected
        (VISITS, 1.0, "REFUTED"),
        (VISITS, 3.0, "NOT_REFUTED"),
        (VISITS, 1.5, "REFUTED"),  # noise for two
        ({**VISITS, "columns": {**VISITS["columns"], "user": {**USER, "most": 1}}}, 1.0, "NOT_REFUTED"),
    ],
)
def test_noise_for_one_row_is_no_noise_for_a_user(document, scale, verdict):
    record = try_out(
        visits, claim=PureDP(1.0), schema=document, relation="add-remove", arguments={"scale": scale}, **FAST
    )
    assert record.verdict == verdict, record.notes
    users = document is not ROWS
    assert record.relation == ("add-or-remove-one user" if users else "add-or-remove-one")
    assert any("all rows of one user (user)" in note for note in record.notes) == users
    if verdict == "REFUTED":
        found = next(each for each in record.pairs if each.witness is not None)
        assert found.relation == "add-or-remove-one user"
        marked = [sum(row.startswith("> ") for row in rows) for rows in (found.first, found.second)]
        assert marked == [0, 3]


@pytest.mark.process
def test_a_user_who_is_replaced_costs_twice_the_rows_and_one_who_is_capped_one_row():
    for scale, verdict in ((6.0, "NOT_REFUTED"), (2.0, "REFUTED")):
        record = try_out(
            visits, claim=PureDP(1.0), schema=VISITS, relation="replace", arguments={"scale": scale}, **FAST
        )
        assert (record.verdict, record.relation) == (verdict, "replace-one user"), record.notes
    record = try_out(capped, claim=PureDP(1.0), schema=VISITS, arguments={"scale": 1.0}, **FAST)
    assert record.verdict == "NOT_REFUTED", record.notes
    assert all(each.relation.endswith(" user") for each in record.pairs)


@pytest.mark.process
@pytest.mark.parametrize(("container", "more"), [("vector", {}), ("columns", {"hidden": True})])
def test_the_code_may_not_get_the_column(container, more):
    def total(data, rng, scale):
        assert container == "vector" or list(data) == ["minutes"]
        return float(np.sum(data if container == "vector" else data["minutes"])) + rng.laplace(0.0, scale)

    document = {"data": {"as": container, "rows": [4, 12]}, "columns": {"user": {**USER, **more}, "minutes": MINUTES}}
    for scale, verdict in ((1.0, "REFUTED"), (3.0, "NOT_REFUTED")):
        record = try_out(
            total, claim=PureDP(1.0), schema=document, relation="add-remove", arguments={"scale": scale}, **FAST
        )
        assert record.verdict == verdict, record.notes


@pytest.mark.parametrize("relation", [REPLACE, ADD])
@pytest.mark.parametrize("rows", [[4, 20], [0, 3], [0, 400]])
def test_pairs_differ_in_one_user_of_one_two_and_the_most_rows(relation, rows):
    found = schema.parse({**VISITS, "data": {"rows": rows}, "columns": {**VISITS["columns"], "i": {"kind": "id"}}})
    rng = np.random.default_rng(1)
    stream = pairs.random_pairs(found, relation, rng)
    made = pairs.grid(found, relation, rng)
    counts, groups, starts, ends, spread = set(), set(), set(), set(), False
    for each in [*made, *(next(stream) for _ in range(60)), *pairs.outside(found, relation, rng)]:
        assert each.unit == 0
        for records in (each.first, each.second):
            assert rows[0] <= len(records) <= rows[1]
            assert len({row[3] for row in records}) == len(records)  # ids
            users = [row[0] for row in records]
            assert max((users.count(user) for user in users), default=0) <= 3
        changed = sorted(datasets.gap(each.second, each.first, 0))
        assert {each.second[at][0] for at in changed} == {pairs.USER}
        counts.add(len(changed))
        groups.add(len({each.second[at][1] for at in changed}))
        starts.add(changed[0] == 0)
        ends.add(changed[-1] == len(each.second) - 1)
        spread = spread or changed != list(range(changed[0], changed[-1] + 1))
    assert counts == {1, 2, 3}
    assert groups == {1, 2, 3}
    assert starts == ends == {True, False} or rows == [0, 3]
    assert spread or rows == [0, 3]
    if relation is REPLACE and rows != [4, 20]:
        assert any(len(each.first) != len(each.second) for each in made)


def test_a_public_size_keeps_the_number_of_rows():
    found = schema.parse({**VISITS, "public": {"size": True}})
    assert all(len(each.first) == len(each.second) for each in pairs.grid(found, REPLACE, np.random.default_rng(1)))


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (of(user={"kind": "unit", "most": 0}, x=MINUTES), r"\[columns.user\] most = 0: must be a whole number"),
        (of(user={"kind": "unit", "most": float("nan")}, x=MINUTES), "most = nan"),
        (of(user={"kind": "unit", "most": 2.0}, x=MINUTES), "most = 2.0"),
        (of(user={"kind": "unit", "most": True}, x=MINUTES), "most = True"),
        (of(user=USER, other=USER, x=MINUTES), "one column may be of kind unit; here are user, other"),
        ({"data": {"as": "vector"}, "columns": {"user": USER}}, "one column, here are 0"),
        (of(user={**USER, "hidden": True}), "needs a column beside"),
        (of(user={**USER, "low": 0}, x=MINUTES), "low: not for"),
        (of(user=USER, x={**MINUTES, "most": 3}), "most: only for a column of kind unit"),
        ({"data": {"as": "value"}, "columns": {"user": USER, "x": MINUTES}}, "one record is the whole dataset"),
    ],
)
def test_units_that_are_none_are_refused(document, words):
    with pytest.raises(UsageError, match=words):
        schema.parse(document)


@pytest.mark.process
@pytest.mark.parametrize(("most", "words"), [("0", "most = 0"), ("nan", "most = nan"), ("-1", "most = -1")])
def test_a_wrong_schema_is_one_line_and_exit_code_2(tmp_path, most, words, capsys):
    file = tmp_path / "visits.toml"
    file.write_text(f'[columns.user]\nkind = "unit"\nmost = {most}\n[columns.x]\nkind = "real"\nlow = 0\nhigh = 1\n')
    assert run(["certify", "json:dumps", "--claim", "pure:1", "--data", str(file)]) == 2
    said = capsys.readouterr().err.strip()
    assert words in said
    assert len(said.splitlines()) == 1


def test_pairs_of_somebody_else_are_held_to_the_schema():
    def given(first, second):
        return replay(
            lambda data, rng: 0.0,
            claim=PureDP(1.0),
            schema=VISITS,
            relation="add-remove",
            given=[Candidate("mine", ADD, first, second, "in", 0)],
        )

    base = ((0, "a", 0.5),) * 3
    with pytest.raises(UsageError, match="unit 1 has 4 rows; the most are 3"):
        given(base, (*base, *[(1, "b", 1.0)] * 4))
    short = tuple(row[1:] for row in base)
    with pytest.raises(UsageError, match="each row must have the 3 columns"):
        given(short, (*short, ("c", 1.0)))
    with pytest.raises(NeighbourError, match="is not add-or-remove-one user"):
        given(base, (*base, (1, "b", 1.0), (2, "b", 1.0)))


@pytest.mark.process
def test_a_replay_is_about_users_and_a_script_shows_what_the_code_gets(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "of_users.py").write_text(
        "import opendp.prelude as dp\ndp.enable_features('contrib')\n"
        "def total(data, scale):\n"
        "    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)\n"
        "    return dp.m.make_laplace(*space, scale=scale)(float(sum(data)))\n"
    )
    (tmp_path / "visits.toml").write_text(
        '[data]\nas = "list"\nrows = [4, 12]\n[columns.user]\nkind = "unit"\nmost = 3\n'
        '[columns.minutes]\nkind = "real"\nlow = 0\nhigh = 1\n'
    )
    asked = ["of_users.py:total", "--claim", "pure:1", "--data", "visits.toml", "--relation", "add-remove"]
    assert run(["replay", *asked, "--arg", "scale=3.0", "--pairs", "8"]) == 0
    assert "add-or-remove-one user: KEPT" in capsys.readouterr().out
    assert run(["replay", *asked, "--arg", "scale=1.0", "--pairs", "8"]) == 1
    assert "add-or-remove-one user: OVER" in capsys.readouterr().out
    found = [
        "--arg",
        "scale=0.5",
        "--repro",
        "found",
        "--out-of-domain",
        "off",
        "--minutes",
        "2",
        "--no-tape",
        "--explain",
    ]
    assert run(["certify", *asked, *found]) == 1
    assert "script without dpverify: found/refuted_1.py" in capsys.readouterr().out
    text = (tmp_path / "found" / "refuted_1.py").read_text()
    assert "add-or-remove-one user" in text
    assert str(pairs.USER) not in text  # the column is hidden from the code


def test_a_claim_about_users_needs_a_unit():
    with pytest.raises(UsageError, match='a column of kind = "unit"'):
        try_out(visits, claim=PureDP(1.0, unit=Unit.USER), schema=ROWS, arguments={"scale": 1.0})
