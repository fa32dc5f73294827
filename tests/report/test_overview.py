"""The four answers: what is false, proved, open, and wrong with the run; colours follow the status alone."""

from dataclasses import replace

import pytest

from dpverify import audit, Pair, PureDP
from dpverify.auditing.statuses import Status, Verdict
from dpverify.auditing.tracing import FULL, taped_pair
from dpverify.cli import console
from dpverify.ledger.events import LaplaceNoise, Ledger, Sensitivity
from dpverify.promises import check_promise, Outcomes, Promise
from dpverify.report import html_page, junit, markdown, words
from dpverify.report.overview import answers, BAD, GOOD, headline, Overview, PLAIN, WARN
from dpverify.suite.result import Failure, SuiteResult


class Noisy:
    def __init__(self, scale):
        self.scale = scale
        self.ledger = Ledger(LaplaceNoise(what="number", scale=scale, sensitivity=Sensitivity(replace=1)))

    def release(self, data, *, rng, size):
        return data + rng.laplace(scale=self.scale, size=size)


@pytest.fixture(scope="module")
def kinds():
    pair, claim = Pair(0.0, 1.0), PureDP(1.0)
    accounted = audit(Noisy(1.0), claim=claim, pair=pair, trials=2_000, seed=1)
    tape = taped_pair(Noisy(1.0), claim=claim, pair=pair, ledger=None, seed=1, trials=2_000, transcripts=FULL)
    proved = accounted.with_tape(tape)
    false = audit(Noisy(0.2), claim=claim, pair=pair, trials=2_000, seed=1)
    plain = audit(Noisy(1.0).release, claim=claim, pair=pair, trials=2_000, seed=1)
    assert [each.status for each in (proved, accounted, false, plain)] == ["CERTIFIED", "ACCOUNTED", "REFUTED", "OPEN"]
    return proved, false, plain, accounted


def suite(*records, **more) -> SuiteResult:
    given = {"failures": (), "seed": 1, "family_wise_error": 0.05, "environment": {}, **more}
    return SuiteResult(records=records, **given)


def bug(record, name):
    return replace(record, subject=name, planted=True, expected="REFUTED")


def promise(rate, expected="KEPT"):
    def draw(*, rng, size):
        return Outcomes((rng.random(size) < rate).astype(float))

    given = Promise(name=f"s/rate {rate}", draw=draw, bound=0.5, failure_probability=0.05, expected=expected)
    return check_promise(given, seed=1, trials=500)


def run_of(result):
    return answers(Overview.of(result))[3]


def test_a_good_run_is_green_and_bugs_are_folded(kinds):
    proved, false, plain, _ = kinds
    result = suite(
        replace(proved, subject="s/a"),
        bug(false, "s/a!x"),
        bug(false, "s/a!y"),
        replace(plain, subject="s/b"),
        replace(false, subject="s/c", expected="REFUTED"),
    )
    overview = Overview.of(result)
    assert [(one.name, one.count) for one in overview.entries] == [("s/a", "2 of 2"), ("s/b", ""), ("s/c", "")]
    assert overview.counts == {Status.CERTIFIED: 1, Status.OPEN: 1, Status.REFUTED: 1}
    found = answers(overview)
    assert [answer.count for answer in found] == ["1", "1", "1", "Nothing"]
    assert [answer.kind for answer in found] == [BAD, GOOD, PLAIN, GOOD]
    assert str(found[0]) == "1 of 3 claims; as expected"
    assert "2 of 2 planted bugs caught, 1 claim without one" in str(found[3])  # s/b; s/c is known to be false
    told = "3 claims: 1 REFUTED, 1 CERTIFIED, 1 OPEN; all as expected; 2 of 2 planted bugs caught; 1 of 1 traced"
    assert headline(result) == f"{told} in the code."


def test_a_claim_of_which_only_the_ledger_speaks_is_told_apart(kinds):
    accounted = kinds[3]
    assert accounted.unseen == "the code was not traced"
    found = answers(Overview.of(suite(replace(accounted, subject="s/a"))))[1]
    assert str(found) == "0 of 1 claim; 1 more ACCOUNTED: by their ledgers; that the code follows them was not seen"
    assert words.kind(Status.ACCOUNTED) == PLAIN


def test_nothing_is_green_where_nothing_is_proved(kinds):
    result = suite(replace(kinds[2], subject="s/b"), bug(kinds[1], "s/b!x"))
    assert words.kind(Status.OPEN) == PLAIN
    page = html_page.render(result)
    row = page.partition('<tr id="s/b"')[2].partition("</tr>")[0]
    assert '<b class="s ">OPEN</b>' in row
    assert 'class="s ok"' not in row
    assert "NOT_REFUTED" not in page


def test_what_is_wrong_is_named_and_the_worst_comes_first(kinds):
    _, false, plain, _ = kinds
    result = suite(
        replace(false, subject="s/a"),
        bug(false, "s/a!x"),
        bug(kinds[3], "s/a!missed"),
        replace(plain, subject="s/c", verdict=Verdict.INVALID, invalid="why"),
        replace(plain, subject="s/d", verdict=Verdict.INCONCLUSIVE),
        failures=(Failure("s/e", "ValueError: no"),),
        asked=("s/a", "s/a!x", "s/a!missed", "s/c", "s/d", "s/e", "s/f", "s/rate 0.5", "s/rate 0.0"),
        promises=(promise(0.5), promise(0.0)),
    )
    false_, _, _, run = answers(Overview.of(result))
    assert run.count == "Not as expected"
    assert [(line.kind, str(line)) for line in run.lines] == [
        (WARN, "2 of 9 could not be judged"),
        (BAD, "1 claim not as expected: s/a"),
        (BAD, "1 of 2 planted bugs caught, not: s/a!missed"),
        (BAD, "1 promise not as expected: s/rate 0.5"),
        (WARN, "1 INCONCLUSIVE: s/d"),
        (WARN, "1 INVALID: s/c"),
        (WARN, "1 FAILED: s/e"),
        (WARN, "1 not reached: s/f"),
    ]
    assert str(false_) == "1 of 5 claims; not expected: s/a; 1 promise BROKEN, not expected: s/rate 0.5"
    for text in (html_page.render(result), markdown.render(result)):
        for name in ("s/a!missed", "s/c", "s/d", "s/e", "s/f", "s/rate 0.5"):
            assert name in text
    assert "(1 BROKEN)" in html_page.render(result)
    assert '<property name="status" value="INVALID"' in junit.render(result)


def test_a_broken_promise_that_was_expected_is_no_trouble_and_stands_in_the_answer(kinds):
    result = suite(replace(kinds[0], subject="s/a"), bug(kinds[1], "s/a!x"), promises=(promise(0.5, "BROKEN"),))
    false, _, _, run = answers(Overview.of(result))
    assert str(false) == "0 of 1 claim; 1 promise BROKEN, as expected"
    assert run.count == "Nothing"
    assert "Promises (1 BROKEN)" in html_page.render(result)


def test_nothing_at_all_is_wrong(kinds):
    assert str(run_of(suite())) == "Incomplete; nothing was audited"


def test_console_says_the_same_words_last(kinds, capsys):
    result = suite(replace(kinds[0], subject="s/a"), bug(kinds[1], "s/a!x"), bug(kinds[0], "s/a!missed"))
    console.show_result(result)
    out = capsys.readouterr().out.splitlines()
    assert out[0].split()[:3] == ["status", "subject", "claim"]
    assert out[1].startswith("CERTIFIED  s/a")
    assert "1 of 2" in out[1]
    assert out[2].split()[:2] == ["MISSED", "s/a!missed"]  # a bug that is caught has no line
    assert not any(line.startswith(("CAUGHT", "REFUTED")) for line in out)
    for answer, line in zip(answers(Overview.of(result)), out[-4:], strict=True):
        assert line.startswith(answer.question)
        assert answer.count in line


def test_details_are_packed_and_small(kinds):
    many = suite(*(replace(kinds[index % 3], subject=f"s/{index}") for index in range(300)))
    page = html_page.render(many)
    pieces = html_page.unpack_details(page)
    assert len(pieces) == 300
    assert all("The trials certify" in piece or "is false" in piece for piece in pieces)
    assert len(page) / 300 < 2_500  # bytes a subject: 20,000 in 50 MB; one record in full has more than twice that
    assert len(pieces[0]) > 5_000
