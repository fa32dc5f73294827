"""Sentences about entries of the atlas that the pages share."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from audits.atlas import field_words
from audits.atlas.entry import Entry

FAMILIES = {
    "A": "Statements of papers",
    "N": "Statements of papers, found later",
    "C": "Public research code",
    "R": "Withdrawn: what was said here of others and does not stand",
    "W": "Libraries: statements that do not hold, or hold under one reading alone",
    "T": "Libraries: correct uses, which must stay quiet",
    "L": "More libraries and tools",
}
TITLE = "Errata atlas of published private reinforcement learning and bandits"
INTRODUCTION = (
    "Statements about privacy in published papers and public research code, what each of them says in formal words,"
    " the reading that this rests on, and what was found. Statements that hold have the same form and the same weight"
    " as those that do not. A finding is about a statement as it stands in the named text or file, and about nothing"
    " else: not about a method as a whole, and not about anybody's use of it.",
    "A reading is printed (the text says so), inferred (the text can hardly mean anything else) or garbled (the copy"
    " that was read is damaged there; nothing is concluded from it, and no statement is called false on its strength)."
    " A status of false rests on a printed or inferred reading and on two kinds of evidence with code of their own. The"
    " text of the papers that was read is named by its SHA-256. A slip is false to the letter, and every reader repairs"
    " it: nothing that is claimed rests on it.",
    "Algorithms are our own short transcriptions of the mathematics; nothing is copied. Code that says of itself that"
    " it simulates noise is marked so, and judged only on the label that it prints. Whoever wrote what is discussed"
    " here is welcome to correct an entry; corrections of ours stay on the page, and so does what was withdrawn, with"
    " its date and reason.",
)


def head(entries: Sequence[Entry]) -> tuple[str, tuple[str, ...]]:
    """The page's title and its first paragraphs."""
    if all(each.kind == "library" for each in entries):
        return field_words.TITLE, field_words.INTRODUCTION
    return TITLE, INTRODUCTION


def counts(entries: Sequence[Entry], folder: Path) -> str:
    """How many entries have which status; what was not run counts as that."""
    found = Counter(field_words.status(each, folder).partition(" (")[0] for each in entries)
    return "; ".join(f"{status}: {number}" for status, number in found.most_common())


def families(entries: Sequence[Entry]) -> list[tuple[str, list[Entry]]]:
    """Entries under the heading of their letter."""
    letters = dict.fromkeys(each.family for each in entries)
    return [(FAMILIES.get(one, one), [each for each in entries if each.family == one]) for one in letters]


def source(entry: Entry) -> list[tuple[str, str]]:
    """Where it stands, as (name, text)."""
    place = entry.source
    if place.paper is not None:
        paper = place.paper
        return [
            ("paper", f"{paper.title}; {paper.authors}; {paper.venue}; {paper.version}"),
            ("place", place.place),
            ("text read", f"SHA-256 {paper.text_sha256}"),
        ]
    if place.package:
        return field_words.source(place)
    rows = [("code", f"{place.repo}, {place.file} {place.lines}"), ("commit", place.commit), ("licence", place.licence)]
    return [*rows, ("says of itself", place.label)] if place.label else rows


def witness(entry: Entry) -> str:
    """The smallest instance, in a sentence."""
    found = entry.witness
    said = found.instance
    if found.first and found.second:
        said += f". First: {found.first}. Second: {found.second}"
    if found.event:
        said += f". Event: {found.event}"
    if found.p is not None and found.q is not None:
        said += f", with probability {found.p:g} against {found.q:g}"
    if found.trials is not None:
        said += f"; {found.trials:g} trials show it"
    return said + "."


def rest(entry: Entry) -> list[tuple[str, str]]:
    """What follows the evidence, as (name, text)."""
    rows = [("instance", witness(entry)), ("what is true", entry.true_value), ("why", entry.derivation)]
    rows += [(f"withdrawn on {each.date}", f"{each.what} {each.reason}") for each in entry.withdrawn]
    if entry.certified is not None:
        low, high = entry.certified
        rows.append(("certified", f"between {low:g} and {high:g}"))
    if entry.would_catch:
        rows.append(("would have caught", entry.would_catch))
    rows += [("for a user of the result", entry.consequence), ("mended by", entry.fix)]
    if entry.fix_audit:
        rows.append(("audits of the mended form", ", ".join(entry.fix_audit)))
    if entry.inherits:
        rows.append(("see also", ", ".join(entry.inherits)))
    rows.append(("contact", entry.contact))
    return rows


def formal(entry: Entry) -> str:
    """Our formal words for it."""
    found = entry.formal
    where = f"unit: {found.unit}; neighbours: {found.relation}; view: {found.view}"
    return f"{where}; released: {found.released}; {found.parameters}"
