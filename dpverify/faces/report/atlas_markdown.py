"""The atlas as Markdown: one page, generated from the entries alone, the same bytes for the same entries."""

from collections.abc import Callable

from dpverify.atlas.entry import Entry
from dpverify.atlas.reading import Atlas
from dpverify.base.text import clean
from dpverify.faces.report import atlas_words as words


def render(atlas: Atlas) -> str:
    """The whole page."""
    parts = ["# Errata atlas of published private reinforcement learning and bandits\n"]
    parts += [f"{paragraph}\n" for paragraph in words.INTRODUCTION]
    parts.append(
        f"{len(atlas.entries)} entries; {words.counts(atlas.entries)}. This page is made by `dpverify atlas page`;"
        " `dpverify atlas run ID` computes an entry's numbers again.\n"
    )
    for title, entries in words.families(atlas.entries):
        parts.append(f"## {title}\n")
        rows = [f"| [{each.id}](#{each.id.lower()}) | {_cell(each.title)} | {each.status} |" for each in entries]
        parts.append("\n".join(["| id | statement | status |", "|---|---|---|", *rows]) + "\n")
    parts += [section(each) for each in atlas.entries]
    return "\n".join(parts)


def section(entry: Entry) -> str:
    """One entry."""
    return "\n".join(_lines(entry, _text, _cell)) + "\n"


def plain(entry: Entry) -> str:
    """One entry for a terminal: the same lines, their texts as they are."""
    return "\n".join(_lines(entry, clean, clean)[2:])


def _lines(entry: Entry, text: Callable[[str], str], cell: Callable[[str], str]) -> list[str]:
    lines = [f'<a id="{entry.id.lower()}"></a>', "", f"## {entry.id}: {text(entry.title)}", ""]
    kind = entry.kind + (", simulation" if entry.simulation else "")
    lines += [f"**{entry.status}** ({kind})", ""]
    lines += [f"- {name}: {text(value)}" for name, value in words.source(entry)]
    lines += ["", f"**Statement.** {text(entry.statement)}", ""]
    if entry.quote:
        lines += [f"> “{text(entry.quote)}”", ""]
    lines += [f"Formally: {text(words.formal(entry))}.", ""]
    lines += ["| reading | from | verdict | number |", "|---|---|---|---|"]
    lines += [f"| {cell(r.name)} | {r.source} | {r.verdict} | {cell(r.number)} |" for r in entry.readings]
    if entry.evidence:
        lines += ["", f"Computed again by `{entry.command}`:", "", "| evidence | what | must be |", "|---|---|---|"]
        lines += [f"| {e.by} | {cell(e.what)} | {e.stated} |" for e in entry.evidence]
    else:
        lines += ["", f"Nothing to run: {text(entry.unrun)}."]
    return [*lines, "", *(f"- **{name}**: {text(value)}" for name, value in words.rest(entry))]


def _text(text: str) -> str:
    """Foreign text as it is, without HTML and without emphasis by accident."""
    for sign, code in (("\\", "\\\\"), ("<", "&lt;"), (">", "&gt;"), ("*", "\\*"), ("_", "\\_"), ("`", "\\`")):
        text = text.replace(sign, code)
    return clean(text)


def _cell(text: str) -> str:
    return _text(text).replace("|", "\\|")
