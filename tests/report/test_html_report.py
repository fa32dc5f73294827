"""Every rendering of one small run: complete, strict, self-contained, and the same for the same records."""

import base64
import hashlib
import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import jsonschema
import pytest
from in_process import run_suite

from audits.audit_laplace import subjects as laplace_subjects
from dpverify import Pair, PureDP, Subject
from dpverify.auditing.statuses import Verdict
from dpverify.errors import RunError, UsageError
from dpverify.promises import check_promise, Outcomes, Promise
from dpverify.report import html_page, json_file, junit, markdown, sarif, words
from dpverify.report.html_page import anchors
from dpverify.suite.result import Failure, Settings, SuiteResult


def _broken(data, *, rng, size):
    return rng.normal(size=size + 1)


@pytest.fixture(scope="module")
def result() -> SuiteResult:
    broken = Subject(name="broken <b>", target=_broken, claim=PureDP(1.0), pairs=(Pair(0.0, 1.0),))
    return run_suite([*laplace_subjects, broken], Settings(seed=3, trials=6_000))


@pytest.fixture(scope="module")
def page(result) -> str:
    return html_page.render(result)


class Page(HTMLParser):
    """Collects what a page refers to and checks that every element is closed."""

    VOID = frozenset({"meta", "link", "col", "input", "br"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open, self.ids, self.links, self.outside, self.counts = [], [], [], [], {}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        for name, value in attributes:
            assert name != "style"  # the page's own policy would ignore it
            assert not name.startswith("on")
            if name == "id":
                self.ids.append(value)
            if name == "href" and value.startswith("#"):
                self.links.append(value[1:])
            elif name in ("src", "href") and not value.startswith("data:"):
                self.outside.append(value)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_page_is_well_formed_and_self_contained(page, result):
    details = html_page.unpack_details(page)
    parsed = [Page(text) for text in (page, *details)]
    assert all(each.open == [] and each.outside == [] for each in parsed)
    assert not re.search(r"url\(|@import|https?://", page + "".join(details))
    ids = [each for text in parsed for each in text.ids]
    assert len(ids) == len(set(ids))
    states = [each for each in parsed[0].links if each.startswith("?")]
    assert set(states) <= {"?status=CERTIFIED", "?status=OPEN"}
    assert {each for text in parsed for each in text.links} - set(states) <= set(ids)
    # a bar a claim, three plots a record, whether a claim or a bug
    claims = sum(not record.planted for record in result.records)
    assert page.count('<td class="c-bar"><svg class="bar"') == claims
    assert "".join(details).count('class="plot"') == 3 * len(result.records)
    assert len(details) == len(result.records) + len(result.failures)


def test_the_policy_allows_the_page_itself_and_nothing_else(page):
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    policy = policy.replace("&#39;", "'")
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for name, tag in (("style", r"<style>([^<]*)</style>"), ("script", r'<script id="script"[^>]*>(.*?)</script>')):
        (text,) = re.findall(tag, page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy


def test_page_says_what_the_records_say(page, result):
    details = "".join(html_page.unpack_details(page))
    for record in result.records:
        assert record.subject in (details if record.planted else page)
        assert record.witness.replace(">", "&gt;").replace("<", "&lt;") in details
    assert "broken &lt;b&gt;" in page
    assert "broken <b>" not in page + details
    assert "scale = 1" in details  # the ledger


def test_without_script_the_table_has_every_claim_with_its_numbers(page, result):
    for record in result.records:
        if not record.planted:
            row = page.partition(f'<tr id="{anchors([record.subject])[0]}"')[2].partition("</tr>")[0]
            for said in (
                record.status,
                words.lower(record),
                words.number(record.claimed),
                record.statement,
            ):
                assert said in row


def test_rendering_is_pure(page, result, tmp_path):
    file = tmp_path / "results.json"
    file.write_text(json_file.render(result), encoding="utf-8")
    again = json_file.load_results(file)
    assert again == result
    assert html_page.render(again) == page
    assert markdown.render(again) == markdown.render(result)
    assert junit.render(again) == junit.render(result)


def test_json_is_strict_and_refuses_nan(result):
    endless = replace(result, records=(replace(result.records[0], detectable=math.inf, detectable_eps=math.inf),))
    text = json_file.render(endless)
    assert "1e999" in text
    assert "Infinity" not in text
    assert json.loads(text)["records"][0]["detectable_eps"] == math.inf
    with pytest.raises(RunError, match="NaN"):
        json_file.render(replace(result, records=(replace(result.records[0], eps_lower=math.nan),)))


def test_json_of_something_else_is_refused(tmp_path):
    file = tmp_path / "other.json"
    for text, said in (("{", "not a result file"), ("[]", "not a result file"), ('{"schema": "x"}', "schema 'x'")):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(UsageError, match=said):
            json_file.load_results(file)


def test_junit_failures_and_errors_agree_with_the_exit_code(result):
    good = replace(result, failures=(), asked=None)
    surprise = replace(good, records=(replace(good.records[0], verdict=Verdict.REFUTED), *good.records[1:]))
    unsure = replace(good, records=(replace(good.records[0], verdict=Verdict.INCONCLUSIVE), *good.records[1:]))
    for suite, code in ((good, 0), (surprise, 1), (result, 3), (unsure, 3)):
        root = ElementTree.fromstring(junit.render(suite).encode())[0]
        failures, errors = int(root.get("failures")), int(root.get("errors"))
        assert (1 if failures else 3 if errors else 0) == code == suite.exit_code
        assert len(root.findall("testcase")) == int(root.get("tests"))
        assert len(root.findall("testcase/failure")) == failures
        assert len(root.findall("testcase/error")) == errors


def test_junit_has_no_character_that_xml_forbids(result):
    odd = replace(result, failures=(Failure("a\x00b", "c\x1b[31m\ud800"),))
    ElementTree.fromstring(junit.render(odd).encode())


def test_markdown_cannot_be_broken_by_names(result):
    odd = replace(result, records=(replace(result.records[0], subject="a|b\n<img>"),), failures=())
    row = next(line for line in markdown.render(odd).splitlines() if "a\\|b" in line)
    assert row.count(" | ") == len(markdown.HEAD) - 1
    assert "<img>" not in row


@pytest.mark.parametrize("sequential", [False, True])
def test_command_repeats_the_record_alone(result, sequential):
    if sequential:
        few = [each for each in laplace_subjects if each.name.partition("!")[0] == "histogram"]
        result = run_suite(few, Settings(seed=3, trials=6_000, sequential=True))
    record = next(record for record in result.records if record.subject == "histogram")
    words_ = words.command(record, result).split()
    assert ("--sequential" in words_) is sequential
    assert words_[words_.index("--trials") + 1] == "6000"
    share = float(words_[words_.index("--significance") + 1])
    alone = next(each for each in laplace_subjects if each.name == "histogram")
    again = run_suite([alone], Settings(seed=3, trials=6_000, significance=share, sequential=sequential))
    assert {step.kind for step in record.ladder} == {"planted"}  # alone there are no twins to tell of
    assert replace(again.records[0], seconds=0.0) == replace(record, seconds=0.0, ladder=())


def test_empty_result_renders(result):
    empty = SuiteResult(records=(), failures=(), seed=1, family_wise_error=0.05, environment={})
    for renderer in (html_page, json_file, junit, markdown, sarif):
        assert renderer.render(empty)
    assert empty.exit_code == 3


def test_results_obey_the_schema(result):
    def draw(*, rng, size):
        return Outcomes(rng.random(size))

    check = check_promise(Promise(name="p", draw=draw, bound=0.9, failure_probability=0.2, trials=100), seed=1)
    written = json.loads(json_file.render(replace(result, promises=(check,))))
    judge = jsonschema.Draft202012Validator(json_file.records_schema())
    assert list(judge.iter_errors(written)) == []
    written["records"][0]["eps_lower"] = "much"
    del written["records"][1]["seed"]
    assert len(list(judge.iter_errors(written))) == 2


def test_a_promise_says_how_much_its_bounds_could_have_said(result):
    """A promise that is kept by bounds at their caps looks like one that is kept by tight bounds: both are told."""

    def draw(*, rng, size):
        return Outcomes(rng.random(size), active=rng.random(size) * 0 + 0.25)

    check = check_promise(Promise(name="p", draw=draw, bound=0.9, failure_probability=0.2, trials=100), seed=1)
    page = html_page.render(replace(result, promises=(check,)))
    assert f"Tightness {check.tightness:.3g}, 25.00% of the bounds below their caps." in page
