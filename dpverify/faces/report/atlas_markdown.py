"""The atlas as Markdown: one page, generated from the entries alone, the same bytes for the same entries."""

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
    lines = [f'<a id="{entry.id.lower()}"></a>', "", f"## {entry.id}: {_text(entry.title)}", ""]
    kind = entry.kind + (", simulation" if entry.simulation else "")
    lines += [f"**{entry.status}** ({kind})", ""]
    lines += [f"- {name}: {_text(value)}" for name, value in words.source(entry)]
    lines += ["", f"**Statement.** {_text(entry.statement)}", ""]
    if entry.quote:
        lines += [f"> “{_text(entry.quote)}”", ""]
    lines += [f"Formally: {_text(words.formal(entry))}.", ""]
    lines += ["| reading | from | verdict | number |", "|---|---|---|---|"]
    lines += [f"| {_cell(r.name)} | {r.source} | {r.verdict} | {_cell(r.number)} |" for r in entry.readings]
    lines += ["", *_evidence(entry), ""]
    lines += [f"- **{name}**: {_text(value)}" for name, value in words.rest(entry)]
    return "\n".join(lines) + "\n"


def _evidence(entry: Entry) -> list[str]:
    if not entry.evidence:
        return [f"Nothing to run: {_text(entry.unrun)}."]
    rows = [f"| {e.by} | {_cell(e.what)} | {e.stated} |" for e in entry.evidence]
    return [f"Computed again by `{entry.command}`:", "", "| evidence | what | must be |", "|---|---|---|", *rows]


def _text(text: str) -> str:
    """Foreign text as it is, without HTML and without emphasis by accident."""
    for sign, code in (("\\", "\\\\"), ("<", "&lt;"), (">", "&gt;"), ("*", "\\*"), ("_", "\\_"), ("`", "\\`")):
        text = text.replace(sign, code)
    return clean(text)


def _cell(text: str) -> str:
    return _text(text).replace("|", "\\|")
