"""A folder of TOML files -> the atlas; every mistake is one line that says file, key and what is allowed."""

import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dpverify.atlas.entry import (
    Entry,
    Formal,
    KINDS,
    Paper,
    Place,
    Reading,
    SOURCES,
    STATUSES,
    VERDICTS,
    Witness,
)
from dpverify.atlas.evidence import read_evidence
from dpverify.atlas.fields import Table
from dpverify.atlas.papers import PAPERS_FILE, read_papers
from dpverify.atlas.rules import broken
from dpverify.base.errors import UsageError

LETTERS = "ANCWTL"  # in this order; others after them
NAME = re.compile(r"[A-Z]+[1-9][0-9]*")


@dataclass(frozen=True)
class Atlas:
    """All entries of a folder, in order: by letter (papers before code), then by number."""

    folder: Path
    entries: tuple[Entry, ...]

    def entry(self, name: str) -> Entry:
        """The entry of this id; UsageError with those that there are."""
        for each in self.entries:
            if each.id == name:
                return each
        known = ", ".join(each.id for each in self.entries)
        raise UsageError(f"{self.folder}: no entry {name!r}; there are {known}")


def read_atlas(folder: Path) -> Atlas:
    """Reads every TOML file of the folder; `papers.toml` says which papers there are.

    Raises UsageError for a folder without entries, and for the first mistake in a file.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; --folder names the one with the entries (*.toml)")
    papers = read_papers(folder).papers if (folder / PAPERS_FILE).exists() else {}
    files = [file for file in folder.glob("*.toml") if file.name != PAPERS_FILE]
    found = sorted((read_entry(file, papers) for file in files), key=_order)
    if not found:
        raise UsageError(f"{folder}: no entries (*.toml) in it")
    names = {each.id for each in found}
    for each in found:
        for other in each.inherits:
            if other not in names:
                raise UsageError(f"{each.file}: inherits = {other!r}: must be the id of an entry")
    return Atlas(folder, tuple(found))


def _order(entry: Entry) -> tuple[int, str, int]:
    known = LETTERS.find(entry.family)
    return known if known >= 0 else len(LETTERS), entry.family, int(entry.id.removeprefix(entry.family))


def read_entry(file: Path, papers: dict[str, Paper]) -> Entry:
    """One file; UsageError where it is no TOML, no entry, or breaks a rule."""
    entry = _entry(Table(str(file), _toml(file)), papers)
    if entry.id != file.stem or not NAME.fullmatch(entry.id):
        raise UsageError(f"{file}: id = {entry.id!r}: must be the file's name, letters and a number (A1)")
    for problem in broken(entry):
        raise UsageError(f"{file}: {problem}")
    return replace(entry, file=str(file))


def _toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{file}: cannot be read ({error})") from error


def _entry(table: Table, papers: dict[str, Paper]) -> Entry:
    found = Entry(
        id=table.text("id"),
        kind=table.choice("kind", KINDS),
        title=table.text("title"),
        source=_source(table.table("source"), papers),
        simulation=table.flag("simulation"),
        statement=table.text("statement"),
        quote=table.text("quote", ""),
        formal=_formal(table.table("formal")),
        readings=tuple(_reading(each) for each in table.tables("readings")),
        status=table.choice("status", STATUSES),
        true_value=table.text("true_value"),
        derivation=table.text("derivation"),
        witness=_witness(table.table("witness")),
        certified=table.ends("certified"),
        would_catch=table.text("would_catch", ""),
        consequence=table.text("consequence"),
        fix=table.text("fix"),
        fix_audit=table.texts("fix_audit"),
        inherits=table.texts("inherits"),
        contact=table.text("contact", "nobody has been written to yet"),
        evidence=tuple(read_evidence(each) for each in table.tables("evidence")),
        unrun=table.text("unrun", ""),
    )
    table.done()
    return found


def _source(table: Table, papers: dict[str, Paper]) -> Place:
    if "paper" in table:
        if not papers:
            raise table.wrong("paper", f"left out: there is no {PAPERS_FILE} beside this file")
        found = Place(paper=papers[table.choice("paper", papers)], place=table.text("place"))
    elif "package" in table:
        found = Place(
            package=table.text("package"),
            version=table.text("version"),
            environment=table.text("environment"),
            place=table.text("place"),
            licence=table.text("licence"),
            also=table.texts("also"),
        )
        if not re.fullmatch(r"[\w.-]+", found.environment):
            raise table.wrong("environment", "a name: letters, digits, dots and dashes")
    else:
        found = Place(
            repo=table.text("repo"),
            commit=table.text("commit"),
            file=table.text("file"),
            lines=table.text("lines"),
            licence=table.text("licence"),
            label=table.text("label", ""),
        )
        if not re.fullmatch(r"[0-9a-f]{40}", found.commit):
            raise table.wrong("commit", "40 hexadecimal digits")
    table.done()
    return found


def _formal(table: Table) -> Formal:
    keys = ("unit", "relation", "view", "released", "parameters")
    found = Formal(**{key: table.text(key) for key in keys})
    table.done()
    return found


def _reading(table: Table) -> Reading:
    found = Reading(
        name=table.text("name"),
        source=table.choice("source", SOURCES),
        verdict=table.choice("verdict", VERDICTS),
        number=table.text("number"),
    )
    table.done()
    return found


def _witness(table: Table) -> Witness:
    found = Witness(
        instance=table.text("instance"),
        first=table.text("first", ""),
        second=table.text("second", ""),
        event=table.text("event", ""),
        p=table.optional("p"),
        q=table.optional("q"),
        trials=table.optional("trials"),
        seed=table.optional("seed"),
    )
    table.done()
    return found
