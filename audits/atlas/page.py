"""A page of the site, generated from the entries alone, the same bytes for the same entries."""

from pathlib import Path

from audits.atlas import field_words, words
from audits.atlas.entry import Entry
from audits.atlas.reading import Atlas
from audits.atlas.results import read_results
from dpverify.base.text import clean


def render(atlas: Atlas) -> str:
    """The whole page."""
    title, introduction = words.head(atlas.entries)
    parts = [f"# {title}\n"]
    parts += [f"{paragraph}\n" for paragraph in introduction]
    counted = words.counts(atlas.entries, atlas.folder)
    parts.append(
        f"{len(atlas.entries)} entries; {counted}. This page is made by `python -m audits.atlas page`;"
        " `python -m audits.atlas run ID` computes an entry's numbers again.\n"
    )
    for title, entries in words.families(atlas.entries):
        library = entries[0].kind == "library"
        heads = ["id", "statement", "status", *(["evidence, last run"] if library else [])]
        parts += [f"## {title}\n", f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}"]
        for each in entries:
            last = f" {field_words.summary(each, read_results(each, atlas.folder))} |" if library else ""
            status = field_words.status(each, atlas.folder)
            parts.append(f"| [{each.id}](#{each.id.lower()}) | {_cell(each.title)} | {status} |{last}")
        parts.append("")
    parts += [section(each, atlas.folder) for each in atlas.entries]
    return "\n".join(parts)


def section(entry: Entry, folder: Path) -> str:
    """One entry."""
    lines = [f'<a id="{entry.id.lower()}"></a>', "", f"## {entry.id}: {_text(entry.title)}", ""]
    kind = entry.kind + (", simulation" if entry.simulation else "")
    lines += [f"**{field_words.status(entry, folder)}** ({kind})", ""]
    lines += [f"- {name}: {_text(value)}" for name, value in words.source(entry)]
    lines += ["", f"**Statement.** {_text(entry.statement)}", ""]
    if entry.quote:
        lines += [f"> “{_text(entry.quote)}”", ""]
    lines += [f"Formally: {_text(words.formal(entry))}.", ""]
    lines += ["| reading | from | verdict | number |", "|---|---|---|---|"]
    lines += [f"| {_cell(r.name)} | {r.source} | {r.verdict} | {_cell(r.number)} |" for r in entry.readings]
    if entry.kind == "library":
        lines += _runs(entry, folder)
    elif entry.evidence:
        lines += ["", f"Computed again by `{entry.command}`:", "", "| evidence | what | must be |", "|---|---|---|"]
        lines += [f"| {e.by} | {_cell(e.what)} | {e.stated} |" for e in entry.evidence]
    else:
        lines += ["", f"Nothing to run: {_text(entry.unrun)}."]
    lines += ["", *(f"- **{name}**: {_text(value)}" for name, value in words.rest(entry))]
    return "\n".join(lines) + "\n"


def _runs(entry: Entry, folder: Path) -> list[str]:
    """Evidence on a library: what was asked and what came out, then the lines of each run and the best pair."""
    results = read_results(entry, folder)
    command = f"{entry.command} --python libs"
    lines = ["", f"Run again by `{command}`:", "", "| evidence | what | must be | last result |", "|---|---|---|---|"]
    for number, each in enumerate(entry.evidence):
        by = f"{each.by}, planted twin" if each.planted else each.by
        lines.append(
            f"| {by} | {_cell(each.what)} | {_cell(each.stated)} | {_cell(field_words.last(number, results))} |"
        )
    for number, each in enumerate(entry.evidence):
        said = field_words.details(each, number, results)
        lines += [
            "",
            f"{each.by}: {_cell(each.what)}",
            "",
            "```text",
            field_words.asked(each),
            *(clean(line) for line in said),
        ]
        lines += [clean(line) for line in field_words.pair(number, results)] if not each.planted else []
        lines.append("```")
    return lines


def _text(text: str) -> str:
    """Foreign text as it is, without HTML and without emphasis by accident."""
    for sign, code in (("\\", "\\\\"), ("<", "&lt;"), (">", "&gt;"), ("*", "\\*"), ("_", "\\_"), ("`", "\\`")):
        text = text.replace(sign, code)
    return clean(text)


def _cell(text: str) -> str:
    return _text(text).replace("|", "\\|")
