"""The TOML files of a folder -> entries; `papers.toml` is the one table paper -> statement -> code -> audit."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from audits.atlas.entry import Entry, Evidence, METHODS, NOT_READ, Paper, Place, Row, Run, RUNS
from audits.atlas.rules import broken
from audits.atlas.tables import is_number, Table, toml
from dpverify.errors import UsageError

PUBLISHED, FIELD = FOLDERS = tuple(Path(__file__).parents[1] / name for name in ("published", "field"))
PAPERS_FILE = "papers.toml"
LETTERS = "ANCRWTL"  # in this order
PLACES = {  # what a place must say, by the key that says which kind of place it is
    "paper": ("place",),
    "package": ("version", "environment", "place", "licence"),
    "repo": ("commit", "file", "lines", "licence"),
}
FORMS = ("equals", "near", "between", "at_least", "at_most", "one_of")
WORDS = {"certify": ("REFUTED", "NOT_REFUTED", "INCONCLUSIVE"), "replay": ("KEPT", "OVER", "UNDECIDED", "REFUTED")}
BOTH = ("relation", "public", "out", "call")
OPTIONS = {  # of the command; the rest has its defaults
    "certify": (*BOTH, "minutes", "out_of_domain", "encode"),
    "replay": (*BOTH, "pairs", "calls", "confirm"),
}


@dataclass(frozen=True)
class Atlas:
    """All entries of a folder, in order: by letter (papers before code), then by number."""

    folder: Path
    entries: tuple[Entry, ...]

    def entry(self, name: str) -> Entry:
        """The entry of this id; KeyError where there is none."""
        return {each.id: each for each in self.entries}[name]


def read_papers(folder: Path) -> tuple[dict[str, Paper], tuple[Row, ...]]:
    """Papers by key, and the rows of the table in the order of the file; UsageError for what is wrong in it."""
    table = Table(folder / PAPERS_FILE, toml(folder / PAPERS_FILE))
    papers = {each.key: each for each in (one.made(Paper) for one in table.tables("papers"))}
    for each in papers.values():
        if not re.fullmatch(rf"[0-9a-f]{{64}}|{NOT_READ}", each.text_sha256):
            raise UsageError(f"{table.file}: {each.key}: text_sha256 must be 64 hexadecimal digits, or {NOT_READ!r}")
    rows = [each.made(Row) for each in table.tables("rows")]
    named = (replace(each, paper=papers[each.paper].name) if each.paper in papers else each for each in rows)
    return papers, tuple(named)


def placed(rows: Iterable[Row], paper: str, said: str) -> list[Row]:
    """The rows of the paper of this name whose place stands in `said`, as words of their own."""
    return [
        row for row in rows if row.paper == paper and re.search(rf"(?<![\w.]){re.escape(row.place)}(?![\w]|\.\w)", said)
    ]


def read_atlas(folder: Path) -> Atlas:
    """Every TOML file of the folder as an entry; UsageError for the first mistake in a file."""
    papers, rows = read_papers(folder) if (folder / PAPERS_FILE).exists() else ({}, ())
    files = {file.stem: file for file in folder.glob("*.toml") if file.name != PAPERS_FILE}
    found = [_entry(file, papers) for file in files.values()]
    for each in found:
        for other in each.inherits:
            if other not in files:
                raise UsageError(f"{files[each.id]}: inherits = {other!r}: must be the id of an entry")
        where = each.source
        if where.paper and not any(each.id in row.entries for row in placed(rows, where.paper.name, where.place)):
            raise UsageError(
                f"{files[each.id]}: source.place = {where.place!r}: must name the place of a row of {PAPERS_FILE}"
                f" with paper = {where.paper.key!r} and {each.id!r} among its entries"
            )
    found.sort(key=lambda each: (LETTERS.index(each.family), int(each.id.removeprefix(each.family))))
    return Atlas(folder, tuple(found))


def _entry(file: Path, papers: dict[str, Paper]) -> Entry:
    table = Table(file, toml(file))
    source = _place(table.below("source", table.values.get("source")), papers)
    evidence = tuple(map(_evidence, table.tables("evidence")))
    entry: Entry = table.made(Entry, source=source, evidence=evidence)
    if entry.id != file.stem or not re.fullmatch(rf"[{LETTERS}][1-9][0-9]*", entry.id):
        raise UsageError(f"{file}: id = {entry.id!r}: must be the file's name, one of {LETTERS} and a number (A1)")
    for problem in broken(entry):
        raise UsageError(f"{file}: {problem}")
    return entry


def _place(table: Table, papers: dict[str, Paper]) -> Place:
    kind = next((key for key in PLACES if key in table.values), "repo")
    given: dict[str, Any] = {}
    if kind == "paper":
        if table.values["paper"] not in papers:
            raise table.wrong("paper", "one of " + ", ".join(sorted(papers)))
        given = {"paper": papers[table.values["paper"]]}
    for key in (kind, *PLACES[kind]):
        if key not in table.values:
            raise table.wrong(key, "given")
    found: Place = table.made(Place, **given)
    if found.commit and not re.fullmatch(r"[0-9a-f]{40}", found.commit):
        raise table.wrong("commit", "40 hexadecimal digits")
    if found.environment and not re.fullmatch(r"[\w.-]+", found.environment):
        raise table.wrong("environment", "a name: letters, digits, dots and dashes")
    return found


def _evidence(table: Table) -> Evidence:
    """A function of the folder, or a run of `try` or `replay` in a library's interpreter."""
    by = table.values.get("by")
    if by not in METHODS:
        raise table.wrong("by", "one of " + ", ".join(sorted(METHODS)))
    words = WORDS.get(by, ())
    form, bounds = _stated(table, words)
    del table.values[form]
    false_if = table.values.get("false_if")
    if false_if is not None and false_if not in (words or (True, False)):
        raise table.wrong("false_if", "one of " + ", ".join(words) if words else "true or false")
    run = None
    if by in RUNS:
        _named(table, "target", r"[\w/.-]+:[\w.]+", "MODULE:OBJECT, or FILE.py:OBJECT in the folder of the entries")
        _named(table, "schema", r"[\w/.-]+\.toml", "FILE.toml, in the folder of the entries")
        options = {key: table.values.pop(key) for key in OPTIONS[by] if key in table.values}
        asked = {key: table.values.pop(key) for key in ("target", "claim", "schema") if key in table.values}
        run = table.below("", {**asked, "options": options}).made(Run)
    else:
        _named(table, "call", r"[\w/.-]+\.py:\w+", "FILE.py:FUNCTION, in the folder of the entries")
    found: Evidence = table.made(Evidence, form=form, bounds=bounds, false_if=false_if, run=run)
    return found


def _stated(table: Table, words: tuple[str, ...]) -> tuple[str, tuple[float | bool | str, ...]]:
    given = [form for form in FORMS if form in table.values]
    if len(given) != 1:
        raise table.wrong("equals", "given, or near, between, at_least or at_most; exactly one of them")
    form, value = given[0], table.values[given[0]]
    bounds = tuple(value) if isinstance(value, list) else (value,)
    if words or form == "one_of":
        if form not in ("equals", "one_of") or not bounds or not all(each in words for each in bounds):
            raise table.wrong(form, "of " + ", ".join(words) if words else "left out: it is for try and replay")
        return form, bounds
    wanted = 2 if form in ("near", "between") else 1
    truth = form == "equals" and isinstance(value, bool)
    if len(bounds) != wanted or not (truth or all(map(is_number, bounds))):
        raise table.wrong(form, "two numbers" if wanted == 2 else "a number (or, for equals, true or false)")
    return form, bounds


def _named(table: Table, key: str, form: str, allowed: str) -> None:
    text = table.values.get(key)
    if not isinstance(text, str) or not re.fullmatch(form, text) or ".." in text or text.startswith("/"):
        raise table.wrong(key, allowed)
