"""The errata atlas: entries are valid, every number comes out again, and what is wrong is seen."""

import re
import textwrap
from pathlib import Path

import pytest

from audits.atlas import page
from audits.atlas.__main__ import main
from audits.atlas.reading import PUBLISHED as FOLDER
from audits.atlas.reading import read_atlas, read_papers
from audits.atlas.reproduce import reproduce
from audits.papers import ROWS
from dpverify.errors import UsageError

ROOT = Path(__file__).parents[2]
ATLAS = read_atlas(FOLDER)
RUNNABLE = [entry for entry in ATLAS.entries if entry.evidence]

PAPERS = """
    [[papers]]
    key = "one"
    name = "One"
    title = "A paper"
    authors = "A. Author"
    venue = "nowhere"
    version = "first"
    text_sha256 = "0000000000000000000000000000000000000000000000000000000000000000"

    [[rows]]
    paper = "one"
    place = "Theorem 1"
    statement = "1-DP"
    code = "one.py:One"
    audit = "audit_one"
    entries = ["A1"]
"""
ENTRY = """
    id = "A1"
    kind = "privacy claim"
    title = "A claim"
    source = { paper = "one", place = "Theorem 1" }
    statement = "It is 1-DP."
    formal = { unit = "user", relation = "replaced", view = "central", released = "a number", parameters = "none" }
    status = "false"
    true_value = "2"
    derivation = "by hand"
    witness = { instance = "0 and 1", p = 0.5, q = 0.1 }
    consequence = "none"
    fix = "more noise"

    [[readings]]
    name = "as printed"
    source = "printed"
    verdict = "false"
    number = "2"

    [[evidence]]
    by = "derivation"
    what = "eps"
    call = "evidence.py:eps"
    near = [2.0, 0.1]
    reading = "as printed"
    false_above = 1.0

    [[evidence]]
    by = "trials"
    what = "certified"
    call = "evidence.py:certified"
    at_least = 1.5
    reading = "as printed"
    false_above = 1.0
"""
EVIDENCE = """
    def eps():
        return 2.0

    def certified():
        return 1.8

    def broken():
        raise ValueError("no such thing")

    def nan():
        return float("nan")

    def text():
        return "2"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with one entry that holds; modules called evidence are forgotten after each test."""
    for name, text in (("papers.toml", PAPERS), ("A1.toml", ENTRY), ("evidence.py", EVIDENCE)):
        (tmp_path / name).write_text(textwrap.dedent(text))
    import sys

    monkeypatch.delitem(sys.modules, "evidence", raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("evidence", None)


def changed(folder, old, new):
    file = folder / "A1.toml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    return folder


def test_all_entries_of_the_specification_are_there():
    wanted = [f"A{n}" for n in range(1, 14)] + [f"N{n}" for n in range(1, 11)] + [f"C{n}" for n in range(1, 11)]
    wanted += [f"R{n}" for n in range(1, 3)]
    assert [entry.id for entry in ATLAS.entries] == wanted
    assert [entry.id for entry in ATLAS.entries if not entry.evidence] == ["C9", "R2"]  # read only, withdrawn


@pytest.mark.parametrize("entry", RUNNABLE, ids=lambda entry: entry.id)
def test_every_entry_is_reproduced(entry):
    """Fixed seeds; certified bounds are at 95 % each, with margins of several standard errors in the entries."""
    assert reproduce(entry, FOLDER).differences == []


def test_nothing_is_called_false_on_a_damaged_text_and_survivors_are_there():
    for entry in ATLAS.entries:
        garbled = [reading for reading in entry.readings if reading.source == "garbled"]
        assert all(reading.verdict == "undecided" for reading in garbled)
        assert len(entry.quote.split()) <= 15
    assert sum(entry.status in ("true", "proof false, statement survives") for entry in ATLAS.entries) >= 6
    assert {"A10", "A11"} <= {e.id for e in ATLAS.entries if any(r.source == "garbled" for r in e.readings)}


def test_rows_and_entries_are_one_table():
    assert read_papers(FOLDER)[1] == ROWS
    named = {name for row in ROWS for name in row.entries}
    of_papers = {entry.id for entry in ATLAS.entries if entry.source.paper is not None}
    assert named == of_papers


def test_audits_that_entries_name_exist():
    """By the text of the audit files: names are literals there, or made of literals."""
    text = {file.stem: file.read_text() for file in (ROOT / "audits").glob("audit_*.py")}
    for entry in ATLAS.entries:
        for name in entry.fix_audit:
            stem, _, subject = name.partition("/")
            head = re.split(r"-K\d|-T\d|-log2|, start \d", subject)[0]
            assert head in text[f"audit_{stem}"], f"{entry.id}: {name}"


WRONG = {  # planted: what an entry may not get away with
    "number": ("near = [2.0, 0.1]", "near = [3.0, 0.1]", "eps: 2, stated 3 +- 0.1"),
    "bound": ("at_least = 1.5", "at_least = 1.9", "certified: 1.8, stated at least 1.9"),
    "verdict": ("false_above = 1.0\n\n", "false_above = 2.5\n\n", None),
    "raises": ('"evidence.py:eps"', '"evidence.py:broken"', "eps: ValueError: no such thing"),
    "nan": ('"evidence.py:eps"', '"evidence.py:nan"', "eps: is NaN, which shows nothing"),
}


@pytest.mark.parametrize("name", WRONG)
def test_planted_wrong_entries_are_not_reproduced(folder, name):
    old, new, said = WRONG[name]
    found = reproduce(read_atlas(changed(folder, old, new)).entry("A1"), folder)
    if said is None:  # one of two pieces of evidence says true, the other false: false it is
        assert found.verdicts == {"as printed": "false"}
        assert found.reproduced
        return
    assert not found.reproduced
    assert said in found.differences


def test_a_verdict_against_its_evidence_is_seen(folder):
    changed(folder, 'verdict = "false"', 'verdict = "true"')
    changed(folder, 'status = "false"', 'status = "true"')
    found = reproduce(read_atlas(folder).entry("A1"), folder)
    assert found.differences == ["reading 'as printed': evidence says false, the entry true"]


MISTAKES = [  # (old, new, what the one line must say)
    ('kind = "privacy claim"', 'kind = "rumour"', "kind = 'rumour': must be one of assumption, code"),
    ('id = "A1"', 'id = "A2"', "id = 'A2': must be the file's name"),
    ('fix = "more noise"', 'fix = "more noise"\nextra = 1', "extra = 1: must be left out"),
    ('source = "printed"', 'source = "garbled"', "source 'garbled' must have verdict 'undecided'"),
    ("near = [2.0, 0.1]", "near = [nan, 0.1]", "evidence[0].near = [nan, 0.1]: must be two numbers"),
    ("at_least = 1.5", "at_least = true", "evidence[1].at_least = True: must be a number"),
    ('by = "trials"', 'by = "derivation"', "must rest on two different kinds of evidence"),
    ('call = "evidence.py:eps"', 'call = "../evil.py:eps"', "must be FILE.py:FUNCTION"),
    (
        'consequence = "none"',
        'consequence = "none"\nquote = "' + "word " * 16 + '"',
        "quote: must have at most 15 words",
    ),
    ('status = "false"', 'status = "true"', "must have readings with verdict 'true' alone"),
    (
        'consequence = "none"',
        'consequence = "none"\ncertified = [2.0, 1.0]',
        "certified = [2.0, 1.0]: must be two numbers",
    ),
    ("consequence", "consequence consequence", "cannot be read"),
    ('place = "Theorem 1"', 'place = "Theorem 12"', "must name the place of a row of papers.toml"),
    ('place = "Theorem 1"', 'place = "Theorem 1.1"', "must name the place of a row of papers.toml"),
    ('status = "false"', 'status = "slip"', "status = 'slip': must have an inferred reading"),
    ('status = "false"', 'status = "withdrawn"', "status = 'withdrawn': must have `withdrawn`: date, what, reason"),
    (
        'status = "false"',
        'status = "withdrawn"\nwithdrawn = [{ date = "2026-11-27", what = "It.", reason = "No." }]',
        "status = 'withdrawn': must have no reading with verdict 'false'",
    ),
    (
        'status = "false"',
        'status = "false"\nwithdrawn = [{ date = "today", what = "It.", reason = "No." }]',
        "withdrawn.date = 'today': must be YYYY-MM-DD",
    ),
]


@pytest.mark.parametrize(("old", "new", "said"), MISTAKES)
def test_mistakes_are_one_clear_line(folder, old, new, said):
    with pytest.raises(UsageError) as caught:
        read_atlas(changed(folder, old, new))
    assert said in str(caught.value)
    assert str(folder / "A1.toml") in str(caught.value)
    assert "\n" not in str(caught.value)


NOT_READ = [  # planted: what an entry says of a text that was not read; (old, new, what the one line must say)
    ("", "", "one was not read (text_sha256): status = 'false' says something of its text"),
    ('status = "false"', 'status = "ambiguous"', "readings 'as printed' must not have verdict 'false'"),
]


@pytest.mark.parametrize(("old", "new", "said"), NOT_READ)
def test_of_a_text_that_was_not_read_nothing_is_said(folder, old, new, said):
    file = folder / "papers.toml"
    file.write_text(re.sub('text_sha256 = ".*"', 'text_sha256 = "not read"', file.read_text()))
    changed(folder, old, new)
    if "ambiguous" in new:  # a status that says nothing by itself needs two readings
        text = (folder / "A1.toml").read_text()
        more = '[[readings]]\nname = "another"\nsource = "inferred"\nverdict = "undecided"\nnumber = "0"\n\n'
        (folder / "A1.toml").write_text(text.replace("[[evidence]]", more + "[[evidence]]", 1))
    with pytest.raises(UsageError) as caught:
        read_atlas(folder)
    assert said in str(caught.value)


def test_what_was_not_read_may_be_withdrawn_but_not_called_printed(folder):
    file, entry = folder / "papers.toml", folder / "A1.toml"
    file.write_text(re.sub('text_sha256 = ".*"', 'text_sha256 = "not read"', file.read_text()))
    given = (
        'status = "withdrawn"\nunrun = "nothing"\nwithdrawn = [{ date = "2026-11-27", what = "It.", reason = "No." }]'
    )
    text = entry.read_text().replace('status = "false"', given).replace('verdict = "false"', 'verdict = "undecided"')
    text = text.replace('source = "printed"', 'source = "inferred"')[: text.index("[[evidence]]")]
    text = text.split("[[evidence]]")[0]
    entry.write_text(text)
    with pytest.raises(UsageError, match="must not speak of what is printed"):
        read_atlas(folder)
    entry.write_text(text.replace("as printed", "as it is"))
    assert read_atlas(folder).entry("A1").status == "withdrawn"


def test_the_command_lists_shows_and_runs(folder, capsys):
    """Exit codes 0, 1, 2 and 3."""

    def atlas(*words):
        code = main(words, [folder])
        return code, capsys.readouterr()

    assert atlas("list")[1].out.split() == ["A1", "false", "A", "claim"]
    assert "**Statement.** It is 1-DP." in atlas("show", "A1")[1].out
    code, said = atlas("show", "A2")
    assert (code, said.err) == (2, "audits.atlas: no entry 'A2'; there are A1\n")
    code, said = atlas("run", "A1")
    assert (code, said.out.splitlines()[-1]) == (0, "1 of 1 reproduced as the entries say")
    changed(folder, "at_least = 1.5", "at_least = 1.9")
    code, said = atlas("run")
    assert code == 1
    assert "NOT REPRODUCED: certified: 1.8, stated at least 1.9" in said.out
    changed(folder, "evidence.py:eps", "evidence.py:broken")
    assert atlas("run", "A1")[0] == 3


def test_what_has_nothing_to_run_is_no_success_when_asked_for(folder, capsys):
    text = (folder / "A1.toml").read_text()
    text = text[: text.index("[[evidence]]")].replace('status = "false"', 'status = "vacuous"\nunrun = "read only"')
    (folder / "A1.toml").write_text(text)
    assert main(["run", "A1"], [folder]) == 3
    assert "nothing to run: read only" in capsys.readouterr().out
    assert main(["run"], [folder]) == 3  # and a run of nothing at all is none


def test_the_page_of_the_site_is_the_one_that_the_entries_make():
    assert (ROOT / "docs" / "errata-atlas.md").read_text() == page.render(ATLAS)
