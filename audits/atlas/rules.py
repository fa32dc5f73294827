"""What an entry may say: no statement of others is called false on a damaged text, or on one witness alone."""

import re
from collections.abc import Iterator

from audits.atlas.entry import Entry

QUOTED = 15  # words of others, at most
DERIVED = {"derivation", "second derivation", "exact law", "enumeration"}


def broken(entry: Entry) -> Iterator[str]:
    """Every rule that the entry breaks, in words."""
    yield from _not_read(entry)
    yield from _readings(entry)
    yield from _status(entry)
    yield from _evidence(entry)
    yield from _withdrawn(entry)
    if len(entry.quote.split()) > QUOTED:
        yield f"quote: must have at most {QUOTED} words"
    if entry.simulation and entry.kind != "code":
        yield "simulation = true: must be code"
    if entry.simulation and not entry.source.label:
        yield "source.label is missing: must be what code that simulates says about itself"
    wanted = {"code": "a repository", "library": "a package"}.get(entry.kind, "a paper")
    given = "a paper" if entry.source.paper else "a package" if entry.source.package else "a repository"
    if wanted != given:
        yield f"source: must be {wanted} for kind = {entry.kind!r}"


def _readings(entry: Entry) -> Iterator[str]:
    names = [each.name for each in entry.readings]
    if not names:
        yield "readings is missing: must be at least one"
    if len(set(names)) != len(names):
        yield "readings: must have different names"
    for each in entry.readings:
        if each.source == "garbled" and each.verdict != "undecided":
            yield f"readings {each.name!r}: source 'garbled' must have verdict 'undecided'"


def _status(entry: Entry) -> Iterator[str]:
    verdicts = {each.verdict for each in entry.readings if each.source != "garbled"}
    if entry.status in ("false", "slip"):
        said = f"status = {entry.status!r}: must"
        if not any(each.verdict == "false" for each in entry.readings):
            yield f"{said} have a printed or inferred reading with verdict 'false'"
        if len(_independent(entry)) < 2:
            yield f"{said} rest on two different kinds of evidence, each with code of its own"
        if not any(each.by in DERIVED for each in entry.evidence) and entry.certified is None:
            yield f"{said} have an exact number or a certified bound"
    if entry.status == "slip" and not any(
        each.source == "inferred" and each.verdict != "false" for each in entry.readings
    ):
        yield "status = 'slip': must have an inferred reading, what a reader takes it for, whose verdict is not 'false'"
    if entry.status == "true" and verdicts != {"true"}:
        yield "status = 'true': must have readings with verdict 'true' alone"
    if entry.status == "ambiguous" and len(entry.readings) < 2:
        yield "status = 'ambiguous': must have two readings"
    if entry.status == "argument false, claim undecided" and verdicts != {"false", "undecided"}:
        yield "status = 'argument false, claim undecided': must have a reading that is false, and one that is undecided"
    if entry.status == "nothing found" and "false" in verdicts:
        yield "status = 'nothing found': must have no reading with verdict 'false'"
    if entry.status == "nothing found" and len({each.planted for each in entry.evidence}) < 2:
        yield "status = 'nothing found': must have evidence on the library, and a planted twin that is caught"
    if entry.status == "proof false, statement survives" and not {"false", "true"} <= verdicts:
        yield "status = 'proof false, statement survives': must have a reading of each verdict"


def _withdrawn(entry: Entry) -> Iterator[str]:
    if entry.status == "withdrawn" and not entry.withdrawn:
        yield "status = 'withdrawn': must have `withdrawn`: date, what, reason"
    if entry.status == "withdrawn" and any(each.verdict == "false" for each in entry.readings):
        yield "status = 'withdrawn': must have no reading with verdict 'false'"
    for each in entry.withdrawn:
        if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", each.date):
            yield f"withdrawn.date = {each.date!r}: must be YYYY-MM-DD"


def _not_read(entry: Entry) -> Iterator[str]:
    """Of a text that was not read here nothing is said: neither that it is false nor what is printed in it."""
    if entry.source.paper is None or entry.source.paper.read:
        return
    said = f"source: {entry.source.paper.key} was not read (text_sha256):"
    if entry.status not in ("withdrawn", "not reproducible", "ambiguous"):
        yield f"{said} status = {entry.status!r} says something of its text"
    for each in entry.readings:
        if each.verdict == "false":
            yield f"{said} readings {each.name!r} must not have verdict 'false'"
        if each.source == "printed":
            yield f"{said} readings {each.name!r} must not be printed"
    if any("printed" in text for text in (entry.title, entry.statement, *(each.name for each in entry.readings))):
        yield f"{said} title, statement and readings must not speak of what is printed"


def _independent(entry: Entry) -> set[str]:
    """Kinds of evidence with different functions: one function cannot confirm itself."""
    by_call = {each.call or each.by: each.by for each in reversed(entry.evidence) if not each.planted}
    return set(by_call.values())


def _evidence(entry: Entry) -> Iterator[str]:
    if bool(entry.evidence) is bool(entry.unrun):
        yield "evidence: must be given, or `unrun` with the reason why there is none"
    names = {each.name for each in entry.readings}
    for each in entry.evidence:
        if each.reading and each.reading not in names:
            yield f"evidence {each.what!r}: reading = {each.reading!r} must be the name of a reading"
        if each.planted and each.reading:
            yield f"evidence {each.what!r}: planted: must decide no reading, it is about a twin"
        if each.planted and not {"REFUTED", "OVER"} >= set(each.bounds):
            yield f"evidence {each.what!r}: planted: must be REFUTED or OVER"
        if each.decides and not each.reading:
            yield f"evidence {each.what!r}: reading is missing: must be the one that it decides"
    decided = {each.reading for each in entry.evidence if each.decides}
    for reading in entry.readings:
        if entry.evidence and reading.verdict != "undecided" and reading.name not in decided:
            yield f"readings {reading.name!r}: verdict must be decided by evidence (false_above, false_below, false_if)"
        if reading.verdict == "undecided" and reading.name in decided:
            yield f"readings {reading.name!r}: verdict 'undecided' must not be decided by evidence"
