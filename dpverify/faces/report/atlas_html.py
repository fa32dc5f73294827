"""The atlas as one self-contained HTML page: no network, no script, the same bytes for the same entries."""

from dpverify.atlas.reading import Atlas
from dpverify.base.text import cleaned
from dpverify.faces.report import atlas_words as words
from dpverify.faces.report.as_html import template

COLOURS = {"false": "no", "true": "ok", "undecided": "un"}
STATUS = {"false": "no", "true": "ok", "proof false, statement survives": "ok"}


def render(atlas: Atlas) -> str:
    """The page."""
    entries = cleaned(atlas.entries)
    return (
        template("atlas.html").render(
            entries=entries,
            families=words.families(entries),
            introduction=words.INTRODUCTION,
            counts=words.counts(entries),
            source=words.source,
            rest=words.rest,
            formal=words.formal,
            verdicts=COLOURS,
            statuses=STATUS,
        )
        + "\n"
    )
