"""The HTML report in a browser: four answers at once, filters, anchors, axe-core, print, no script.

Run with `pytest -m browser`. It needs Chromium (`apt-get install chromium`) and axe-core: `npm install axe-core` in any
folder, and AXE_CORE=that/folder/node_modules/axe-core/axe.min.js.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from chromium import Chromium, Page

from dpverify import audit, Pair, PureDP, ZCDP
from dpverify.auditing.record import AuditRecord
from dpverify.auditing.statuses import Verdict
from dpverify.ledger.events import GaussianNoise, Ledger, Sensitivity
from dpverify.promises import check_promise, Outcomes, Promise
from dpverify.report import html_page
from dpverify.suite.result import Failure, SuiteResult

pytestmark = pytest.mark.browser
QUESTIONS = ["What is false?", "What is proved?", "What is open?", "Anything wrong with the run?"]
SIZES = [(1400, 900), (390, 844)]
PAPERS = ("A paper (Someone 2020)", "Another paper (Else 2024)", "")


class Noisy:
    """A number with Gaussian noise and its ledger."""

    def __init__(self, sigma):
        self.ledger = Ledger(GaussianNoise(what="number", sigma=sigma, sensitivity=Sensitivity(replace=1)))
        self.sigma = sigma

    def release(self, data, *, rng, size):
        return rng.normal(data, self.sigma, size)


def _suite(claims: int) -> SuiteResult:
    """Claims of every status, with bugs that are caught and one that is not; a failure; promises, one BROKEN."""
    pair = Pair(0.0, 1.0)
    proved = audit(Noisy(1.0), claim=ZCDP(0.5), pair=pair, trials=1_000, seed=1)
    false = audit(Noisy(0.3), claim=ZCDP(0.5), pair=pair, trials=1_000, seed=1)
    plain = audit(Noisy(1.0).release, claim=PureDP(2.5), pair=pair, trials=2_000, seed=1)
    assert (proved.status, false.status, plain.status) == ("ACCOUNTED", "REFUTED", "OPEN")
    records = []
    for index in range(claims):
        kind, stem = index % 8, f"file{index // 8}/claim-{index}"
        record = {0: false, 1: plain, 2: plain}.get(kind, proved)
        told = {"subject": stem, "file": f"audits/audit_file{index // 8}.py", "line": 10 + index}
        told |= {"paper": PAPERS[index % 3], "statement": f"Lemma {index // 4}: the release is private"}
        records.append(replace(record, **told, expected="REFUTED" if kind == 0 else None))
        if kind in (3, 4):
            for bug in ("half-noise", "no-noise"):
                missed = index == 3 and bug == "no-noise"
                bad = replace(proved if missed else false, **told | {"subject": f"{stem}!{bug}"})
                records.append(replace(bad, planted=True, expected="REFUTED"))
    records[1] = replace(records[1], verdict=Verdict.INVALID, invalid="one draw is made for the whole call")
    checks = [_promise(f"file0/promise-{rate}", rate) for rate in (0.0, 0.5)]
    failure = Failure("odd <name> & more", "ValueError: no", traceback="Traceback\n  line", file="audits/audit_odd.py")
    return SuiteResult(
        records=tuple(records),
        failures=(failure,),
        promises=tuple(checks),
        seed=1,
        family_wise_error=0.05,
        environment={"python": "3"},
    )


def _promise(name: str, rate: float):
    draw = lambda *, rng, size: Outcomes((rng.random(size) < rate).astype(float))  # noqa: E731
    return check_promise(Promise(name=name, draw=draw, bound=0.5, failure_probability=0.05, trials=500), seed=1)


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with Chromium() as found:
        yield found


@pytest.fixture(scope="module")
def axe() -> str:
    place = os.environ.get("AXE_CORE", "")
    assert place, "AXE_CORE: npm install axe-core, and the path of its axe.min.js"
    return Path(place).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(html_page.render(_suite(40)), encoding="utf-8")
    return path


@pytest.fixture
def page(browser, report) -> Page:
    found = browser.page(1400, 900)
    found.open(report)
    return found


def _shown(page: Page) -> list[str]:
    """Names of the claims that are seen."""
    rows = "[...document.querySelectorAll('#table tr[data-s]')].filter((e) => e.getClientRects().length)"
    return page.eval(f"{rows}.map((e) => e.querySelector('a').textContent)")


def _choose(page: Page, field: str, value: str) -> None:
    page.eval(
        f"(() => {{ const e = document.querySelector('[name={field}]'); if (e.type === 'checkbox') e.checked = true; "
        f"else e.value = {value!r}; e.dispatchEvent(new Event('input', {{bubbles: true}})); }})()"
    )


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("dark", [False, True])
def test_four_answers_stand_in_the_first_screen(browser, report, width, height, dark):
    page = browser.page(width, height, dark=dark)
    page.open(report)
    boxes = page.eval(
        "[...document.querySelectorAll('.answer')].map((e) => [e.querySelector('h2').textContent, "
        "e.querySelector('.n').textContent.trim(), e.getBoundingClientRect().top, e.getBoundingClientRect().bottom])"
    )
    assert [question for question, *_ in boxes] == QUESTIONS
    assert [answer.split()[0] for _, answer, *_ in boxes] == ["5", "25", "9", "Not"]
    assert all(0 <= top < bottom <= height for *_, top, bottom in boxes)
    assert page.eval("document.documentElement.scrollWidth") <= width
    said = page.eval("document.getElementById('answers').innerText")
    assert "1 promise BROKEN" in said
    assert "19 of 20 planted bugs caught" in said
    assert "(1 BROKEN)" in page.eval("document.querySelector('nav').innerText")


def test_filters_count_and_stand_in_the_address(page, report):
    assert len(_shown(page)) == 41
    _choose(page, "status", "REFUTED")
    assert _shown(page) == [f"file{index}/claim-{8 * index}" for index in (0, 3, 2, 1, 4)]  # by paper
    assert page.eval("document.getElementById('count').textContent") == "5 of 41 rows"
    _choose(page, "group", "1")
    assert _shown(page) == ["file2/claim-16"]
    address = page.eval("location.hash")
    assert address == "#?status=REFUTED&group=1"
    _choose(page, "q", "no such claim")
    assert _shown(page) == []
    assert page.eval("document.getElementById('none').getClientRects().length") == 1
    page.eval("document.querySelector('#none button').click()")
    page.wait("location.hash === '' || location.hash === '#'")
    assert len(_shown(page)) == 41
    page.open(report, address)
    assert _shown(page) == ["file2/claim-16"]


def test_not_as_expected_can_be_asked_for(page):
    _choose(page, "attention", "1")
    assert set(_shown(page)) == {"file0/claim-1", "file0/claim-3", "odd <name> & more"}


def test_words_of_name_statement_bug_and_file_are_found(page):
    for words, expected in (
        ("lemma 0:", 4),
        ("claim-11", 1),
        ("audit_file4.py", 8),
        ("claim-3!no-noise", 1),
        ("Someone 2020", 14),
    ):
        _choose(page, "q", words)
        assert len(_shown(page)) == expected, words


def test_rows_are_sorted(page):
    _choose(page, "sort", "ratio")
    ratios = page.eval("[...document.querySelectorAll('#table tr[data-s]')].map((e) => Number(e.dataset.r))")
    assert ratios == sorted(ratios, reverse=True)
    page.eval("document.querySelector('th[data-sort=name] button').click()")
    assert _shown(page)[:41] == sorted(_shown(page))
    assert page.eval("document.querySelector('th[data-sort=name]').getAttribute('aria-sort')") == "ascending"


def test_anchors_open_their_evidence(browser, report):
    page = browser.page(1400, 900)
    page.open(report, "#file0/claim-3!no-noise")
    page.wait("document.querySelectorAll('tr.d svg.plot').length === 6")  # the claim's, and the bug's
    place = page.eval("document.getElementById('file0/claim-3!no-noise').getBoundingClientRect().top")
    assert 0 <= place < 900
    page.eval("[...document.querySelectorAll('#table > tbody > tr > th a')][0].click()")
    page.wait("document.querySelectorAll('tr.d svg.plot').length === 9")
    assert page.eval("location.hash").startswith("#file")


def test_the_head_of_the_table_stays_in_sight(page):
    page.eval("document.querySelectorAll('tr[data-s]')[30].scrollIntoView()")
    page.wait("scrollY > 300")
    tops = page.eval("['#tools', '#table thead th'].map((e) => document.querySelector(e).getBoundingClientRect().top)")
    assert tops[0] == 0
    assert 0 < tops[1] < 120


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("fragment", ["", "#file0/claim-3!half-noise", "#?q=nothing", "#odd-name-more~13dc1ff3"])
def test_axe_finds_nothing(browser, report, axe, width, height, dark, fragment):
    page = browser.page(width, height, dark=dark)
    page.open(report, fragment)
    if "claim" in fragment:
        page.wait("document.querySelectorAll('tr.d svg.plot').length === 6")
    page.eval(axe)
    found = page.eval("axe.run().then((r) => r.violations.map((v) => [v.id, v.nodes.map((n) => n.html)]))")
    assert found == []
    assert page.eval("document.documentElement.scrollWidth") <= width


def test_axe_would_find_something(page, axe):
    page.eval("document.querySelector('[name=q]').closest('label').replaceWith(document.querySelector('[name=q]'))")
    page.eval("document.querySelector('[name=q]').removeAttribute('placeholder')")
    page.eval(axe)
    found = page.eval("axe.run().then((r) => r.violations.map((v) => v.id))")
    assert "label" in found


def test_print_is_a_few_pages(browser, tmp_path):
    path = tmp_path / "large.html"
    path.write_text(html_page.render(_suite(140)), encoding="utf-8")
    page = browser.page(1400, 900)
    page.open(path, "#file0/claim-3")
    page.wait("document.querySelectorAll('tr.d svg.plot').length === 3")
    counts = [int(each) for each in re.findall(rb"/Count (\d+)", page.pdf())]
    assert 2 <= max(counts) <= 5


def test_without_script_every_row_is_there(browser, report):
    page = browser.page(1400, 900, script=False)
    page.open(report)
    assert len(_shown(page)) == 41
    assert page.eval("document.getElementById('tools').getClientRects().length") == 0
    text = page.eval("document.body.innerText")
    for said in ("audits/audit_file0.py:13", "1 of 2", "Without script", *QUESTIONS):
        assert said in text


def test_nothing_is_held_against_the_page_and_foreign_text_does_not_run(browser, tmp_path):
    text = "<script>window.ran = 1</script><img src=x onerror='window.ran = 1'>"
    suite = _suite(9)
    records = tuple(replace(each, notes=(text,), witness=text, statement=text, paper=text) for each in suite.records)
    records = (_renamed(records[0], text), *records[1:])
    path = tmp_path / "hostile.html"
    path.write_text(html_page.render(replace(suite, records=records)), encoding="utf-8")
    page = browser.page(1400, 900)
    page.open(path)
    page.eval("document.querySelectorAll('#table > tbody > tr > th a').forEach((e) => e.click())")
    page.wait("document.querySelectorAll('tr.d svg.plot').length >= 24")
    assert page.eval("window.ran") is None
    assert page.complaints() == []
    # the policy itself holds, should text ever get through: this is blocked, and the browser says so
    page.eval("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.ran = 1\">')")
    page.wait("true")
    assert page.eval("new Promise((done) => setTimeout(() => done(window.ran ?? null), 200))") is None
    assert any("Content Security Policy" in each for each in page.complaints())


def _renamed(record: AuditRecord, name: str) -> AuditRecord:
    return replace(record, subject=name)
