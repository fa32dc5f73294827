"""Foreign text at every boundary: whatever is in a name or a message, no face breaks and nothing is commanded."""

import json
import re
from dataclasses import fields, replace
from xml.etree import ElementTree as etree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify import Pair, PureDP
from dpverify.auditing.pipeline import audit
from dpverify.auditing.statuses import Verdict
from dpverify.auditing.tape_record import Taped, TapeDraw, TapeReason
from dpverify.base import text as workflow
from dpverify.base.text import clean, cleaned, LONGEST
from dpverify.cli import console
from dpverify.promises import check_promise, Outcomes, Promise
from dpverify.report import html_page, json_file, junit, markdown, sarif
from dpverify.suite.result import Failure, SuiteResult

ANY = st.text(st.characters(exclude_categories=()), max_size=20)  # with lone surrogates
NASTY = st.sampled_from(
    [
        "\x1b[31mred",
        "\x1b]0;title\x07",
        "a\u202egnp.exe",
        "\ud800",
        "a\nb",
        "\r\n::error::x",
        "::set-output name=a::b",
        "##[error]x",
        "]]>",
        "<script>alert(1)</script>",
        "[bold red]x[/]",
        "[/]",
        "| a | b |",
        "\x00",
        "\ufffe",
        "\u2028",
        "a" * 30_000,
        "%0A::error::",
        "{{ 7 * 7 }}",
        "*/",
        "${{ secrets.X }}",
        "\x85",
        "\x9b31m",
        "&amp;",
        "'\"",
        "\x7f",
    ]
)
TEXTS = st.one_of(ANY, NASTY, st.tuples(NASTY, ANY).map("".join))
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")


@given(TEXTS)
def test_clean_text_is_one_printable_line_and_stays_as_it_is(text):
    found = clean(text)
    assert "\n" not in found
    assert not UNSEEN.search(found)
    assert clean(found) == found
    assert len(found) <= 10 * LONGEST
    found.encode("utf-8")
    etree.fromstring(f"<a>{found.replace('&', '').replace('<', '').replace(']]>', '')}</a>")
    many = clean(text, lines=True)
    assert not UNSEEN.search(many)
    assert clean(many, lines=True) == many


@pytest.fixture(scope="module")
def parts():
    record = audit(_release, claim=PureDP(3.0), pair=Pair(0, 1), trials=400, seed=1, score="histogram")
    promise = Promise(name="p", draw=_draw, bound=1.0, failure_probability=0.5, trials=20)
    return record, check_promise(promise, seed=1)


def _release(data, *, rng, size):
    return (rng.random(size) < 0.75) == data


def _draw(*, rng, size):
    return Outcomes(rng.random(size))


def _hostile(parts, text):
    """A result in which every text that others write is `text`."""
    record, check = parts
    texts = {
        each.name: text
        for each in fields(record)
        if isinstance(getattr(record, each.name), str)
        and each.name not in ("verdict", "notion", "expected", "refuted_by")
    }
    more = {"notes": (text,), "assumptions": (text,), "ledger": ((text,) * 7,)}
    reason, draw = TapeReason(text, text, text), TapeDraw(text, text, None, 1, 1, 1.0, 1.0, 1.0)
    more["tape"] = Taped(
        status="CONTRADICTED", ledger="CONTRADICTED", reasons=(reason,), draws=(draw,), witness=text, notes=(text,)
    )
    bad = replace(record, **texts, **more, verdict=Verdict.REFUTED, expected="NOT_REFUTED")
    good = replace(record, **texts, **more)
    return SuiteResult(
        records=(bad, good),
        failures=(Failure(text, text, "signal", text, (text, text), text, 3),),
        seed=1,
        family_wise_error=0.05,
        environment={"python": text},
        promises=(replace(check, name=text, paper=text, statement=text, violations={text: 0}),),
        asked=(text, text, text, text, f"{text}!"),
        interrupted=text or "interrupted",
    )


@settings(max_examples=40)
@given(TEXTS)
def test_no_face_breaks_and_none_shows_a_sign_that_acts(parts, text):
    result = _hostile(parts, text)
    documents = {each.__name__: each.render(result) for each in (html_page, json_file, junit, markdown, sarif)}
    for name, document in documents.items():
        document.encode("utf-8")
        assert not UNSEEN.search(document), name
    json.loads(documents[json_file.__name__])
    json.loads(documents[sarif.__name__])
    suite = etree.fromstring(documents[junit.__name__].partition("\n")[2])
    assert len(suite.findall(".//testcase")) == 2 + 1 + 1 + 1 + 1  # records, promise, failure, missing, the run itself
    page = documents[html_page.__name__]
    for text_of_page in (page, *html_page.unpack_details(page)):
        assert "<script>alert" not in text_of_page
        assert not UNSEEN.search(text_of_page)
    lines = documents[markdown.__name__].splitlines()
    table = [line for line in lines if line.startswith("| ")]
    answers, outcomes = 4, len(markdown.HEAD) + 1  # signs between cells, and at both ends
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in table} == {answers, outcomes}


@settings(max_examples=40)
@given(TEXTS)
def test_the_terminal_shows_text_and_annotations_are_one_line_each(parts, text):
    import contextlib
    import io

    result = _hostile(parts, text)
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        console.show_result(result)
        console.show_scorecard(result)
    assert not UNSEEN.search(shown.getvalue())
    for line in sarif.annotations(result):
        assert line.startswith("::error ")
        assert "\n" not in line
        head, _, message = line[2:].partition("::")
        assert not UNSEEN.search(line)
        assert "::" not in head
        assert message


def test_only_our_own_lines_are_commands(monkeypatch, capsys):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    with workflow.only_text():
        print("::error::not ours")
        workflow.commands(["::error::ours"])
        print("##[error]not ours")
    begin, _, resume, ours, stop, _, end = capsys.readouterr().out.splitlines()
    token = begin.removeprefix("::stop-commands::")
    assert len(token) == 32
    assert (resume, ours, stop, end) == (f"::{token}::", "::error::ours", begin, f"::{token}::")
    monkeypatch.delenv("GITHUB_ACTIONS")
    with workflow.only_text():
        workflow.commands(["::error::ours"])
    assert capsys.readouterr().out == ""


def test_cleaned_reaches_everything_and_keeps_lines_where_they_are_promised():
    failure = Failure("a\nb", "c\x1b", "error", "line\nline\x1b", ("x\ny",), "f\u202e", 1)
    assert cleaned(failure) == Failure("a b", "c\\x1b", "error", "line\nline\\x1b", ("x y",), "f\\u202e", 1)
    assert cleaned({"a\n": ["b\n", Verdict.REFUTED, 1.5, None]}) == {"a ": ["b ", Verdict.REFUTED, 1.5, None]}
