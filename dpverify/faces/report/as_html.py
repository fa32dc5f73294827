"""One self-contained HTML page: no network, no script needed to read it, the same bytes for the same records."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from dpverify.accounting.describe import COLUMNS
from dpverify.base.text import cleaned
from dpverify.evidence.promises import PromiseCheck
from dpverify.faces.report import coverage, intervals, tape_words, words
from dpverify.faces.report.plots import Figure, figures
from dpverify.verdicts.names import group
from dpverify.verdicts.record import AuditRecord
from dpverify.verdicts.suite_result import SuiteResult
from dpverify.verdicts.verdict import Verdict


@dataclass(frozen=True)
class View:
    """A record with its drawings and sentences."""

    record: AuditRecord
    anchor: str
    bar: Markup
    figures: Sequence[Figure]
    command: str


@dataclass(frozen=True)
class Share:
    """One line of a summary: how a group of subjects fared."""

    name: str
    records: Sequence[AuditRecord]

    @property
    def claims(self) -> Sequence[AuditRecord]:
        """The subjects that are no planted bugs."""
        return [record for record in self.records if not record.planted]

    def counted(self, verdict: str) -> int:
        """Claims (not bugs) with this verdict."""
        return sum(record.verdict == verdict for record in self.claims)

    @property
    def bugs(self) -> str:
        """Planted bugs as caught / planted."""
        bugs = [record for record in self.records if record.planted]
        return f"{sum(bug.verdict is Verdict.REFUTED for bug in bugs)} / {len(bugs)}" if bugs else "-"

    @property
    def unexpected(self) -> int:
        """Subjects that are not as expected."""
        return sum(not record.as_expected for record in self.records)


def render(result: SuiteResult) -> str:
    """The page."""
    result = cleaned(result)
    views = [
        view(f"s{index + 1}", record, words.command(record, result)) for index, record in enumerate(result.records)
    ]
    return (
        template("page.html").render(
            result=result,
            views=views,
            papers=_shares(result.records, lambda record: record.paper) if any(r.paper for r in result.records) else [],
            files=_shares(result.records, lambda record: group(record.subject)),
            headline=words.headline(result),
            ticks=intervals.scale(),
            promises=promised(result.promises),
            coverage_ticks=coverage.scale(),
        )
        + "\n"
    )


def view(anchor: str, record: AuditRecord, command: str) -> View:
    """A record with its drawings; `command` makes it again."""
    drawn = [Figure(f.title, f.caption, Markup(f.svg), f.head, f.rows) for f in figures(record)]
    return View(record, anchor, Markup(intervals.bar(record)), drawn, command)


def promised(checks: Sequence[PromiseCheck]) -> list[tuple[PromiseCheck, Markup]]:
    """Checks of promises with their bars."""
    return [(check, Markup(coverage.bar(check))) for check in checks]


def _shares(records: Sequence[AuditRecord], key: "object") -> list[Share]:
    assert callable(key)
    names = sorted({key(record) for record in records} - {""})
    shares = [Share(name, [record for record in records if key(record) == name]) for name in names]
    rest = [record for record in records if not key(record)]
    return [*shares, Share("(none named)", rest)] if rest else shares


@cache
def template(name: str) -> Template:
    """A template of this folder; escapes everything that is not marked as markup."""
    environment = Environment(
        loader=PackageLoader("dpverify.faces.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(number=words.number, words=words, tape_words=tape_words, columns=COLUMNS, inf=math.inf)
    return environment.get_template(name)
