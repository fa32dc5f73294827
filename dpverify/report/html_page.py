"""One self-contained HTML page: the answer first, every claim in one table, its evidence on demand.

No network, the same bytes for the same records, readable without script. A policy in the page allows its own script
and style alone, by their digests: whatever a record's text may contain, it does not run.
"""

import base64
import hashlib
import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from dpverify.auditing.certificate import Certificate, digest_of, SCHEMA
from dpverify.auditing.record import AuditRecord
from dpverify.base.text import cleaned
from dpverify.errors import UsageError
from dpverify.ledger.description import COLUMNS
from dpverify.promises import PromiseCheck
from dpverify.report import plots, words
from dpverify.report.json_file import strict
from dpverify.report.overview import answers, ClaimEntry, ORDER, Overview
from dpverify.report.plots import Figure, figures
from dpverify.suite.result import SuiteResult

TOLD = 100  # outcomes that are not as expected and are told in full at the top


@dataclass(frozen=True)
class _View:
    """A record with its drawings and sentences."""

    record: AuditRecord
    anchor: str
    bar: Markup
    figures: Sequence[Figure]
    command: str


@dataclass(frozen=True)
class _Row:
    """An entry with its place among the packed details, and those of its bugs."""

    entry: ClaimEntry
    anchor: str
    index: int
    bugs: tuple["_Row", ...] = ()

    @property
    def bar(self) -> Markup:
        """Its interval."""
        return Markup("" if self.entry.record is None else plots.interval_bar(self.entry.record))

    @property
    def ratio(self) -> float:
        """Lower bound over claim, to sort by; -1 where there is none."""
        record = self.entry.record
        return -1.0 if record is None or not record.claimed > 0 else min(record.number_lower / record.claimed, 1e9)


def render(result: SuiteResult) -> str:
    """The page."""
    result = cleaned(result)
    overview = Overview.of(result)
    every = [one for entry in overview.entries for one in (entry, *entry.bugs)]
    names = [one.name for one in every] + [check.name for check in result.promises]
    names += [group.name for group in overview.groups]
    places = anchors(names)
    rows = _rows(overview, places)
    pieces = [_detail(row, result) for each in rows for row in (each, *each.bugs)]
    of_entry = {id(row.entry): row for row in rows}
    style, script = _text("style.html"), _text("page.js")
    return (
        template("page.html").render(
            result=result,
            overview=overview,
            answers=answers(overview),
            rows=rows,
            groups=[
                (group, anchor, [of_entry[id(entry)] for entry in group.entries])
                for group, anchor in zip(overview.groups, places[-len(overview.groups) :], strict=False)
            ],
            places=dict(zip(reversed(names), reversed(places), strict=True)),
            headline=words.headline(result),
            ticks=plots.interval_scale(),
            statuses=[status for status in ORDER if overview.counts[status]],
            told=overview.unexpected[:TOLD],
            promises=promised(result.promises),
            promise_places=places[len(every) :],
            coverage_ticks=plots.coverage_scale(),
            blocks=_blocks(pieces),
            many=MANY,
            style=Markup(style),
            script=Markup(script),
            policy=f"default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "
            f"style-src {_digest(style)}; script-src {_digest(script)}",
        )
        + "\n"
    )


def view(anchor: str, record: AuditRecord, command: str) -> _View:
    """A record with its drawings; `command` makes it again."""
    drawn = [Figure(f.title, f.caption, Markup(f.svg), f.head, f.rows) for f in figures(record)]
    return _View(record, anchor, Markup(plots.interval_bar(record)), drawn, command)


def promised(checks: Sequence[PromiseCheck]) -> list[tuple[PromiseCheck, Markup]]:
    """Checks of promises with their bars."""
    return [(check, Markup(plots.coverage_bar(check))) for check in checks]


def _rows(overview: Overview, places: Sequence[str]) -> list[_Row]:
    rows, index = list[_Row](), 0
    for entry in overview.entries:
        after = range(index + 1, index + 1 + len(entry.bugs))
        bugs = tuple(_Row(bug, places[place], place) for bug, place in zip(entry.bugs, after, strict=True))
        rows.append(_Row(entry, places[index], index, bugs))
        index = after.stop
    return rows


def _detail(row: _Row, result: SuiteResult) -> str:
    record = row.entry.record
    shown = None if record is None else view(row.anchor, record, words.command(record, result))
    return template("detail.html").render(row=row, entry=row.entry, view=shown).strip()


def _text(name: str) -> str:
    """A file of this folder as it stands in the page."""
    return "\n" + (Path(__file__).parent / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}'"


@cache
def template(name: str) -> Template:
    """A template of this folder; escapes everything that is not marked as markup."""
    environment = Environment(
        loader=PackageLoader("dpverify.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(number=words.number, words=words, columns=COLUMNS, inf=math.inf)
    environment.filters["coded"] = _coded
    return environment.get_template(name)


def _coded(text: str) -> Markup:
    """What stands between backticks as code; a single backtick stays one."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        parts[-2:] = ["`".join(parts[-2:])]
    return Markup("").join(Markup("<code>{}</code>").format(part) if i % 2 else part for i, part in enumerate(parts))


# ----------------------------------------------------------------------------------------------------------------------
# Stable places in a page: `local/corrected!half-noise` is at `#local/corrected!half-noise`, in every report.


OWN = (
    "answers",
    "attention",
    "claims",
    "tools",
    "count",
    "table",
    "none",
    "more",
    "promises",
    "reading",
    "run",
    "script",
)
_ODD = re.compile(r"[^A-Za-z0-9._/!:~-]+")


def anchors(names: Iterable[str]) -> list[str]:
    """An anchor for each name, made of the name alone as long as it has signs that an address may hold.

    Other signs become a hyphen and a digest of the name is added, so that an anchor does not depend on other names.
    A name that stands twice is numbered.
    """
    found, seen = list[str](), Counter[str]()
    for name in names:
        anchor = _anchor(name)
        seen[anchor] += 1
        found.append(anchor if seen[anchor] == 1 else f"{anchor}~~{seen[anchor]}")
    return found


def _anchor(name: str) -> str:
    plain = _ODD.sub("-", name)
    if plain == name and name and name not in OWN and not name.startswith("pack-") and "~" not in name:
        return name
    return f"{plain}~{hashlib.blake2b(name.encode('utf-8', 'surrogatepass'), digest_size=4).hexdigest()}"


# ----------------------------------------------------------------------------------------------------------------------
# Details on demand: many pieces of markup as a few compressed blocks, which the page's script opens one at a time.
#
# A record in full takes 6 KB and more, mostly the same words around other numbers: packed it is a fifth of that, and a
# browser lays out what is looked at alone.


MANY = 32  # pieces in a block: what one click unpacks


def _blocks(pieces: Sequence[str]) -> list[str]:
    """Piece i is number i % MANY, split at NUL, of block i // MANY: zlib (RFC 1950) in base64."""
    return [_packed(pieces[start : start + MANY]) for start in range(0, len(pieces), MANY)]


def _packed(pieces: Sequence[str]) -> str:
    return base64.b64encode(zlib.compress("\0".join(pieces).encode(), 9)).decode("ascii")


def unpack_details(page: str) -> list[str]:
    """All pieces of a page that holds the blocks."""
    found = re.findall(r'<script type="text/plain" id="pack-\d+">([^<]*)</script>', page)
    return [piece for each in found for piece in zlib.decompress(base64.b64decode(each)).decode().split("\0")]


# ----------------------------------------------------------------------------------------------------------------------
# A certificate as JSON, and as one self-contained HTML page.


def render_certificate(certificate: Certificate) -> str:
    """The page."""
    certificate = cleaned(certificate)
    command = certificate.command or "(made by dpverify.certify in Python)"
    plain = certificate.to_dict()
    return (
        template("certificate.html").render(
            c=certificate,
            views=[view(f"s{index + 1}", record, command) for index, record in enumerate(certificate.records)],
            promises=promised(certificate.promises),
            coverage_ticks=plots.coverage_scale(),
            not_proved=certificate.not_proved,
            interval=Markup(plots.interval_bar(certificate.strongest)),
            ticks=plots.interval_scale(),
            about=plain["statement"],
            digest=plain["digest"],
        )
        + "\n"
    )


def certificate_json(certificate: Certificate) -> str:
    """The certificate as strict JSON; infinity is 1e999."""
    return strict(cleaned(certificate).to_dict())


# ----------------------------------------------------------------------------------------------------------------------
# Certificates from files: read, and compared with their own digest.


def is_certificate(path: Path) -> bool:
    """Whether a file says that it is a certificate, of whatever version; False for what cannot be read."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and str(document.get("schema", "")).startswith("dpverify/certificate/")


def load_certificate(path: Path) -> Certificate:
    """The certificate in a file; UsageError for another schema or digest, and for what is none."""
    try:
        document: Any = json.loads(path.read_text(encoding="utf-8"))
        if document["schema"] != SCHEMA:
            raise UsageError(f"{path}: schema {document['schema']!r}, must be {SCHEMA!r}")
        if document["digest"] != digest_of(document):
            raise UsageError(f"{path}: its digest is not that of its contents: it was changed after it was written")
        return Certificate.from_dict(document)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, KeyError, TypeError, IndexError) as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(f"{path}: not a certificate of dpverify ({type(error).__name__}: {error})") from error
