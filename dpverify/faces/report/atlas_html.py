"""The atlas as one self-contained HTML page: no network, no script, the same bytes for the same entries."""

from dpverify.atlas.entry import Entry
from dpverify.atlas.reading import Atlas
from dpverify.atlas.results import read_results
from dpverify.base.text import clean, cleaned
from dpverify.faces.report import atlas_words as words
from dpverify.faces.report import field_words
from dpverify.faces.report.as_html import template

COLOURS = {"false": "no", "true": "ok", "undecided": "un"}
STATUS = {"nothing found": "ok", "false": "no", "true": "ok", "proof false, statement survives": "ok"}


def render(atlas: Atlas) -> str:
    """The page."""
    entries = cleaned(atlas.entries)
    title, introduction = words.head(entries)
    return (
        template("atlas.html").render(
            entries=entries,
            families=words.families(entries),
            title=title,
            introduction=[each.replace("**", "").replace("`", "") for each in introduction],
            last={each.id: _last(each, atlas) for each in entries if each.kind == "library"},
            counts=words.counts(entries, atlas.folder),
            status={each.id: field_words.status(each, atlas.folder) for each in entries},
            source=words.source,
            rest=words.rest,
            formal=words.formal,
            verdicts=COLOURS,
            statuses=STATUS,
        )
        + "\n"
    )


def _last(entry: Entry, atlas: Atlas) -> list[str]:
    results = read_results(entry, atlas.folder)
    return [clean(field_words.last(number, results)) for number in range(len(entry.evidence))]
