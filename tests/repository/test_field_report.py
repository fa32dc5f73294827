"""The field report: rows on libraries are valid, their page is made of them; a row runs on a library that we make."""

import json
import stat
import sys
import textwrap
from pathlib import Path

import pytest

from audits.atlas import field_words, page, results
from audits.atlas.__main__ import main
from audits.atlas.reading import FIELD as FOLDER
from audits.atlas.reading import read_atlas
from audits.atlas.reproduce import reproduce
from audits.atlas.running import How
from dpverify.errors import UsageError
from dpverify.wild import schema

ROOT = Path(__file__).parents[2]
FIELD = read_atlas(FOLDER)
RUNS = [(entry, each) for entry in FIELD.entries for each in entry.evidence if each.run is not None]

TINY = """
    import random

    __version__ = "1.2"

    def laplace(scale):
        return random.expovariate(1 / scale) - random.expovariate(1 / scale)

    def count(records, epsilon=1.0):
        return len(records) + laplace(1 / epsilon)
"""
ROW = """
    id = "L1"
    kind = "library"
    title = "tiny, count is eps-DP"
    source = { package = "tiny-counts", version = "1.2", environment = "tiny", place = "count", licence = "none" }
    statement = "A count is eps-DP."
    formal = { unit = "a record", relation = "added", view = "central", released = "a count", parameters = "eps = 1" }
    status = "nothing found"
    true_value = "eps"
    derivation = "Laplace noise"
    witness = { instance = "none" }
    consequence = "nothing"
    fix = "nothing"

    [[readings]]
    name = "one record added"
    source = "printed"
    verdict = "undecided"
    number = "nothing found"

    [[evidence]]
    by = "certify"
    what = "the count"
    target = "tiny_counts:count"
    claim = "pure:1"
    schema = "list.toml"
    relation = "add-remove"
    minutes = 0.12
    equals = "NOT_REFUTED"

    [[evidence]]
    by = "trials"
    what = "a number"
    call = "one_number.py:one"
    equals = 1

    [[evidence]]
    by = "certify"
    what = "an eighth of the noise"
    target = "tiny_counts:count"
    claim = "pure:1"
    schema = "list.toml"
    relation = "add-remove"
    arguments = { epsilon = 8.0 }
    minutes = 0.12
    planted = true
    equals = "REFUTED"
"""
LIST = '[data]\nas = "list"\nrows = [4, 5]\n\n[columns.x]\nkind = "real"\nlow = 0.0\nhigh = 1.0\n'


def files(place, texts):
    for name, text in texts.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(textwrap.dedent(text))


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A folder with one row, and an environment `tiny` whose interpreter alone sees the library."""
    site = tmp_path / "site"
    files(site, {"tiny_counts.py": TINY, "tiny_counts-1.2.dist-info/METADATA": "Name: tiny-counts\nVersion: 1.2\n"})
    files(
        tmp_path,
        {"rows/L1.toml": ROW, "rows/schemas/list.toml": LIST, "rows/one_number.py": "def one():\n    return 1\n"},
    )
    change(tmp_path / "rows", '"list.toml"', '"schemas/list.toml"', -1)
    python = tmp_path / "libs/tiny/bin/python"
    files(tmp_path, {"libs/tiny/bin/python": f'#!/bin/sh\nPYTHONPATH="{site}" exec "{sys.executable}" "$@"\n'})
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("one_number", None)


def change(rows, old, new, count=1):
    text = (rows / "L1.toml").read_text()
    assert old in text
    (rows / "L1.toml").write_text(text.replace(old, new, count))


def field(place, *words):
    return main([*map(str, words)], [place / "rows"])


def test_all_rows_of_the_specification_and_more_libraries_are_there():
    names = [entry.id for entry in FIELD.entries]
    assert names[:24] == [f"W{n}" for n in range(1, 10)] + [f"T{n}" for n in range(1, 16)]
    more = [entry for entry in FIELD.entries if entry.family == "L"]
    known = {entry.source.package for entry in FIELD.entries if entry.family != "L"}
    assert len({entry.source.package for entry in more} - known) >= 6
    assert {entry.status for entry in more} == {"false", "nothing found"}


def test_every_row_says_what_is_claimed_where_and_what_became_of_it():
    for entry in FIELD.entries:
        assert entry.kind == "library"
        assert entry.source.environment
        assert any(word in entry.contact for word in ("known upstream", "no public report found", "nothing to report"))
        if entry.status == "nothing found":
            assert entry.would_catch
            assert any(each.planted for each in entry.evidence)


@pytest.mark.parametrize(("entry", "evidence"), RUNS, ids=lambda each: getattr(each, "id", getattr(each, "what", "")))
def test_what_is_run_exists(entry, evidence):
    place = evidence.run.target.rpartition(":")[0]
    assert not place.endswith(".py") or (FOLDER / place).is_file()
    schema.read_schema(FOLDER / evidence.run.schema)


def test_numbers_that_need_no_library_come_out_again():
    computed = 0
    for entry in FIELD.entries:
        alone = [each for each in entry.evidence if each.run is None]
        for each in alone:
            found = reproduce(entry, FOLDER, How(by=each.by))
            assert found.differences == []
            computed += len(found.measured)
    assert computed >= 10


def test_results_are_of_the_rows_as_they_are_and_as_stated():
    """A row that was changed is run again with --keep; what was never run says so on the page."""
    for entry in FIELD.entries:
        found = results.read_results(entry, FOLDER)
        if found is None:  # correct uses of others that nobody ran here yet
            assert entry.family == "T", entry.id
            assert f"{len(entry.evidence)} not run" in field_words.summary(entry, found)
            assert field_words.status(entry, FOLDER) == "NOT RUN (expected: nothing found)"
            continue
        assert found["current"], entry.id
        done = [each for each in found["evidence"] if each]
        assert done, entry.id
        assert all(each["as_stated"] for each in done), entry.id
        whole = len(done) == len(entry.evidence)
        assert field_words.status(entry, FOLDER) == (entry.status if whole else f"{entry.status} (in part run)")
        assert "/" not in "".join(each.get("kept", {}).get("pair", {}).get("name", "") for each in done)


def test_the_page_of_the_site_is_the_one_that_the_rows_make():
    assert (ROOT / "docs/field-report.md").read_text() == page.render(FIELD)


def test_a_row_is_run_in_the_environment_of_its_library(tiny, capsys):
    """The correct count stands, its twin with an eighth of the noise (eps 8) falls within some hundred trials."""
    assert field(tiny, "run", "L1", "--python", tiny / "libs", "--keep", "--repro", tiny / "found") == 0
    said = capsys.readouterr().out
    assert "ok      certify: the count: NOT_REFUTED" in said
    assert "ok      certify: an eighth of the noise: REFUTED" in said
    kept = json.loads((tiny / "rows/results/L1.json").read_text())
    assert [each["value"] for each in kept["evidence"]] == ["NOT_REFUTED", 1.0, "REFUTED"]
    assert kept["evidence"][0]["kept"]["versions"]
    assert not list(tiny.glob("found/**/*.py"))  # a planted twin is nobody's mistake
    said = page.render(read_atlas(tiny / "rows"))
    assert "| certify, planted twin | an eighth of the noise | REFUTED | REFUTED, " in said
    change(tiny / "rows", "epsilon = 8.0", "epsilon = 9.0")
    assert "of an older form of this row" in page.render(read_atlas(tiny / "rows"))
    assert field(tiny, "run", "L1", "--python", tiny / "libs", "--by", "trials", "--keep") == 0
    kept = json.loads((tiny / "rows/results/L1.json").read_text())
    assert [each and each["value"] for each in kept["evidence"]] == [None, 1.0, None]  # what was older is gone


def test_a_twin_that_is_not_caught_is_no_success(tiny, capsys):
    change(tiny / "rows", "epsilon = 8.0", "epsilon = 0.5")
    assert field(tiny, "run", "L1", "--python", f"tiny={tiny}/libs/tiny/bin/python", "--by", "certify") == 1
    assert "NOT REPRODUCED: an eighth of the noise: NOT_REFUTED, stated REFUTED" in capsys.readouterr().out


def test_what_is_not_installed_is_not_run_and_never_green(tiny, capsys):
    assert field(tiny, "run", "L1", "--keep") == 3
    said = capsys.readouterr().out
    assert "NOT RUN: needs tiny-counts 1.2, the interpreter for 'tiny' has no tiny-counts" in said
    assert not (tiny / "rows/results").exists()
    change(tiny / "rows", 'version = "1.2"', 'version = "1.3"')
    assert field(tiny, "run", "L1", "--python", tiny / "libs") == 3
    assert "the interpreter for 'tiny' has tiny-counts 1.2" in capsys.readouterr().out


MISTAKES = [
    ('equals = "NOT_REFUTED"', 'equals = "FINE"', "of REFUTED, NOT_REFUTED, INCONCLUSIVE"),
    ('equals = "NOT_REFUTED"', "at_least = 1", "of REFUTED, NOT_REFUTED, INCONCLUSIVE"),
    ("planted = true\n", "", "must have evidence on the library, and a planted twin that is caught"),
    ('planted = true\nequals = "REFUTED"', 'planted = true\nequals = "NOT_REFUTED"', "must be REFUTED or OVER"),
    ("planted = true\n", 'planted = true\nreading = "one record added"\n', "must decide no reading"),
    ('target = "tiny_counts:count"', 'target = "../x.py:count"', "FILE.py:OBJECT in the folder"),
    ('schema = "schemas/list.toml"', 'schema = "/x.toml"', "FILE.toml, in the folder"),
    ("minutes = 0.12\n", "pairs = 3\n", "no such key"),
    ('kind = "library"', 'kind = "code"', "must be a repository for kind = 'code'"),
    ('environment = "tiny"', 'environment = "a b"', "letters, digits, dots and dashes"),
    ('status = "nothing found"', 'status = "argument false, claim undecided"', "a reading that is false"),
]


@pytest.mark.parametrize(("old", "new", "said"), MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes_in_a_row_are_one_line(tiny, old, new, said):
    change(tiny / "rows", old, new)
    with pytest.raises(UsageError, match=r"L1\.toml") as error:
        read_atlas(tiny / "rows")
    assert said in str(error.value)
