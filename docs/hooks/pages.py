"""What the site adds to pages: names of files above their code, and the gallery, from the table that tests check."""

import json
import re
import sys
from pathlib import Path

from mkdocs.structure.files import File

from dpverify.report import json_file

ROOT = Path(__file__).parents[2]
SOURCE = "https://github.com/dpverify/dpverify/blob/main/"
HEAD = """# Audits of this repository

Every mechanism, privatizer and learner of five papers on private reinforcement learning, and the mechanisms that they
are made of, as printed and as corrected, each with planted bugs that its audit must catch. One command runs all of
them from a checkout: `dpverify audit audits --html report.html`; `dpverify report records.json --scorecard` orders what
was found by paper and statement. What is wrong in print is told in the [errata atlas](errata-atlas.md).
"""


def on_files(files, *, config):
    """Adds the gallery, and the schemas of what `--json` writes."""
    files.append(File.generated(config, "gallery.md", content=page()))
    for name, schema in (("records", json_file.records_schema()), ("certificate", json_file.certificate_schema())):
        files.append(File.generated(config, f"{name}.schema.json", content=json.dumps(schema, indent=2)))
    return files


def on_page_markdown(markdown, **_):
    """A block that is a file is headed by its name."""
    return re.sub(r"^```(\w+) file=(\S+)$", r'```\1 title="\2"', markdown, flags=re.MULTILINE)


def on_page_content(html, **_):
    """What is wider than the screen is scrolled by keyboard, too."""
    return re.sub(r"<(pre|table)(?=[ >])", r'<\1 tabindex="0"', html)


def page():
    """Its text."""
    sys.path.insert(0, str(ROOT))
    try:
        from audits.papers import ROWS
    finally:
        sys.path.remove(str(ROOT))
    parts, paper = [HEAD], None
    for row in sorted(ROWS, key=lambda row: row.paper):
        if row.paper != paper:
            paper = row.paper
            parts.append(f"\n## {paper}\n\n| place | statement | code | audit |\n|---|---|---|---|")
        parts.append(_line(row))
    return "\n".join(parts) + "\n"


def _line(row):
    file, _, symbol = row.code.partition(":")
    entries = ", ".join(f"[{each}](errata-atlas.md#{each.lower()})" for each in row.entries)
    judged = f"[{row.audit}]({SOURCE}audits/{row.audit}.py)" + (f"; atlas {entries}" if entries else "")
    return f"| {row.place} | {row.statement} | [{symbol}]({SOURCE}{file}) | {judged} |"
