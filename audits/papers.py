"""Paper -> statement -> code -> audit: what a reader of a paper looks for, and where it is judged.

Read from `published/papers.toml`, the one table of papers and rows that this module, the scorecard (by the names that
subjects carry) and the atlas share. A row says in which paper, at which place, what is claimed (`statement`), which
code makes the claim (`file:symbol`), which audit judges it, as printed and as corrected, and which entries of the atlas
speak of it. "single release" stands for textbook mechanisms. What names a paper says in its statement at which place
of a row; what is REFUTED or BROKEN names one only where an entry of the atlas speaks of that place. Tests check this,
that every file and symbol exists, and that every audit and every module with a claim stands in a row.
"""

from collections.abc import Iterable
from dataclasses import replace

from audits.atlas.entry import Row
from audits.atlas.reading import placed, PUBLISHED, read_papers
from dpverify import Subject
from dpverify.promises import BROKEN, Promise

__all__ = [
    "GARBLED",
    "NASH_VI",
    "OFFLINE",
    "PUCB",
    "RELEASE",
    "ROWS",
    "SDP_PE",
    "SDP_PE_JOURNAL",
    "Row",
    "misnamed",
    "unnamed",
]

_PAPERS, ROWS = read_papers(PUBLISHED)

PUCB = _PAPERS["pucb"].name
NASH_VI = _PAPERS["nash_vi"].name
OFFLINE = _PAPERS["offline"].name
SDP_PE = _PAPERS["sdp_pe"].name
SDP_PE_JOURNAL = _PAPERS["sdp_pe_journal"].name
RELEASE = "single release"  # of no paper of the proving ground: its module names the source

GARBLED = "; garbled in the text that was read: this is a reading of ours, and says nothing about the paper"


def unnamed(promises: Iterable[Promise], *, errata: tuple[str, ...] = ()) -> list[Promise]:
    """The promises; what is BROKEN on purpose names no paper.

    It is a learner with a mistake or a constant of ours, and no word about the paper. `errata`, by name, are those that
    are: statements of which an entry of the atlas says the same.
    """
    return [
        replace(each, paper="") if each.expected == BROKEN and each.name not in errata else each for each in promises
    ]


def misnamed(each: Subject | Promise) -> str:
    """What is wrong with the paper that a subject or promise of the suite (`STEM/NAME`) names; empty: nothing."""
    paper = next((known for known in _PAPERS.values() if known.name == each.paper), None)
    if "printed" in f"{each.name} {each.statement}" and (paper is None or not paper.read):
        return f"{each.name}: speaks of what is printed, and names no text that was read"
    if paper is None:
        return "" if each.paper in ("", RELEASE) else f"{each.name}: {each.paper!r} is no paper of papers.toml"
    rows = [row for row in placed(ROWS, each.paper, each.statement) if row.audit == f"audit_{each.name.split('/')[0]}"]
    if not rows:
        return f"{each.name}: its statement has no place of a row of {paper.key}: {each.statement!r}"
    false = each.expected in ("REFUTED", BROKEN) and not getattr(each, "planted", False)
    if false and not paper.read:
        return f"{each.name}: is {each.expected}, and the text of {paper.key} was not read"
    if false and not any(row.entries for row in rows):
        return f"{each.name}: is {each.expected}, and no entry of the atlas speaks of {rows[0].place}"
    return ""
