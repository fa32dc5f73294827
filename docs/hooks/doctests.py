"""Docstrings for the site: examples (`>>>`) and aligned columns as code, which Markdown would run together."""

import re

import griffe

COLUMNS = re.compile(r"\S {3,}\S")  # two words with a gap: a table of spaces


class Doctests(griffe.Extension):
    """Fences what is no prose, in every docstring."""

    def on_instance(self, *, obj, **_):
        """After an object is read."""
        if obj.docstring is not None and not obj.is_alias:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text):
    """The text with code where it is code; paragraphs that are fenced or indented already stay."""
    parts = []
    for paragraph in re.split(r"\n\s*\n", text):
        lines = paragraph.splitlines()
        examples = [at for at, line in enumerate(lines) if line.startswith(">>>")]
        if examples and "---" not in paragraph:
            at = examples[0]
            code = ["```pycon", *lines[at:], "```"]
            parts += ["\n".join(lines[:at])] if at else []
            parts.append("\n".join(code))
        elif sum(bool(COLUMNS.search(line)) for line in lines) > 1 and not lines[0].startswith(("    ", "|")):
            parts.append("\n".join(["```text", *lines, "```"]))
        else:
            parts.append(paragraph)
    return "\n\n".join(parts)
