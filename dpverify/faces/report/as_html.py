"""One self-contained HTML page: no network, no script needed to read it, the same bytes for the same records."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from dpverify.accounting.describe import COLUMNS
from dpverify.faces.report import intervals, words
from dpverify.faces.report.plots import Figure, figures
from dpverify.verdicts.record import AuditRecord
from dpverify.verdicts.suite import SuiteResult
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
    views = [_view(index, record, result) for index, record in enumerate(result.records)]
    return (
        _template("page.html").render(
            result=result,
            views=views,
            papers=_shares(result.records, lambda record: record.paper) if any(r.paper for r in result.records) else [],
            files=_shares(result.records, lambda record: words.group(record.subject)),
            headline=words.headline(result),
            ticks=intervals.scale(),
            number=words.number,
            words=words,
            columns=COLUMNS,
        )
        + "\n"
    )


def _view(index: int, record: AuditRecord, result: SuiteResult) -> View:
    drawn = [Figure(f.title, f.caption, Markup(f.svg), f.head, f.rows) for f in figures(record)]  # noqa: S704
    return View(record, f"s{index + 1}", Markup(intervals.bar(record)), drawn, words.command(record, result))


def _shares(records: Sequence[AuditRecord], key: "object") -> list[Share]:
    assert callable(key)
    names = sorted({key(record) for record in records} - {""})
    shares = [Share(name, [record for record in records if key(record) == name]) for name in names]
    rest = [record for record in records if not key(record)]
    return [*shares, Share("(none named)", rest)] if rest else shares


@cache
def _template(name: str) -> Template:
    environment = Environment(
        loader=PackageLoader("dpverify.faces.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)
