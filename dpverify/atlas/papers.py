"""`papers.toml`: which papers there are, and the table paper -> statement -> code -> audit that all read."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from dpverify.atlas.entry import Paper
from dpverify.atlas.fields import Table
from dpverify.base.errors import UsageError

PAPERS_FILE = "papers.toml"


@dataclass(frozen=True)
class Row:
    """One claim of one paper: `code` is file:symbol, `audit` the stem of the file that judges it.

    `entries` are the ids of the atlas that speak of it.
    """

    paper: str
    place: str
    statement: str
    code: str
    audit: str
    entries: tuple[str, ...] = ()


@dataclass(frozen=True)
class Papers:
    """Papers by key, and the rows of the table in the order of the file."""

    papers: dict[str, Paper]
    rows: tuple[Row, ...]


def read_papers(folder: Path) -> Papers:
    """The folder's `papers.toml`; UsageError where it is none. A row's `paper` is a key, or a name of its own."""
    file = folder / PAPERS_FILE
    try:
        table = Table(str(file), tomllib.loads(file.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{file}: cannot be read ({error})") from error
    papers = {each.key: each for each in map(_paper, table.tables("papers"))}
    rows = tuple(_row(each, papers) for each in table.tables("rows"))
    table.done()
    return Papers(papers, rows)


def _paper(table: Table) -> Paper:
    keys = ("key", "name", "title", "authors", "venue", "version", "text_sha256")
    found = Paper(**{key: table.text(key) for key in keys})
    if not re.fullmatch(r"[0-9a-f]{64}|not read", found.text_sha256):
        raise table.wrong("text_sha256", "64 hexadecimal digits, or 'not read'")
    table.done()
    return found


def _row(table: Table, papers: dict[str, Paper]) -> Row:
    key = table.text("paper")
    texts = {name: table.text(name) for name in ("place", "statement", "code", "audit")}
    found = Row(paper=papers[key].name if key in papers else key, entries=table.texts("entries"), **texts)
    table.done()
    return found
