"""`dpverify atlas`: statements of others and what was found about them; every number is computed again on demand."""

from pathlib import Path
from typing import Annotated, Any

import typer

from dpverify.base.errors import EXIT_FAILED, EXIT_OK, EXIT_UNEXPECTED, RunError, UsageError
from dpverify.base.text import clean
from dpverify.faces.options import Outputs

FOLDER = "audits/published"

app = typer.Typer(
    help="The errata atlas: statements of others about privacy, and what was found.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Folder = Annotated[Path, typer.Option("--folder", metavar="DIR", help="The folder with the entries (*.toml).")]
Id = Annotated[str, typer.Argument(metavar="ID", help="An entry, e.g. A1.", show_default=False)]


@app.command("list")
def list_entries(folder: Folder = Path(FOLDER)) -> None:
    """One line an entry: id, status, title."""
    from dpverify.atlas.reading import read_atlas

    for each in read_atlas(folder).entries:
        print(clean(f"{each.id:4s} {each.status:33s} {each.title}"))


@app.command()
def show(entry: Id, folder: Folder = Path(FOLDER)) -> None:
    """One entry: the statement, the reading it rests on, evidence, and what follows."""
    from dpverify.atlas.reading import read_atlas
    from dpverify.faces.report import atlas_markdown

    for line in atlas_markdown.plain(read_atlas(folder).entry(entry)).split("\n"):
        print(clean(line))


@app.command()
def run(
    entries: Annotated[list[str] | None, typer.Argument(metavar="ID...", help="Entries; default: all.")] = None,
    folder: Folder = Path(FOLDER),
    timeout: Annotated[float, typer.Option(metavar="SECONDS", help="For each entry.")] = 600.0,
    json: Annotated[str | None, typer.Option("--json", metavar="F", help="Write the numbers as JSON.")] = None,
) -> None:
    """Compute the evidence of entries again, each in a process of its own, and compare with what they say.

    Without ID: all entries that have something to run; the others are named. Exit code: 0 everything that was asked is
    reproduced as the entry says, 1 a number or a verdict is another one, 2 usage (also a mistake in an entry), 3 a
    number could not be computed, or there is nothing to run.
    """
    from dpverify.atlas.reading import read_atlas
    from dpverify.base import require
    from dpverify.faces import watched_run
    from dpverify.faces.report import files
    from dpverify.faces.report.as_json import strict
    from dpverify.runs.task import Limits

    require.positive(timeout=timeout)
    outputs = Outputs(json)
    atlas = read_atlas(folder)
    asked = list(dict.fromkeys(entries or ()))
    chosen = [atlas.entry(name) for name in asked] or list(atlas.entries)
    files.check(outputs)
    files.drop(outputs)
    answers: list[dict[str, Any]] = []
    for each in chosen:
        if not each.evidence:
            print(clean(f"{each.id}  nothing to run: {each.unrun}"))
            if asked:
                answers.append(
                    {"code": EXIT_FAILED, "document": {"id": each.id, "reproduced": False, "unrun": each.unrun}}
                )
            continue
        arguments = {"name": each.id, "folder": str(folder)}
        try:
            found = watched_run.answer(
                "dpverify.faces.commands.atlas:made", arguments, Limits(timeout=timeout), missing="evidence"
            )
        except RunError as error:
            failed = {"id": each.id, "reproduced": False, "failed": str(error)}
            found = {"lines": [f"{each.id}  FAILED: {error}"], "code": EXIT_FAILED, "document": failed}
        for line in found["lines"]:
            print(clean(line), flush=True)
        answers.append(found)
    fine = sum(answer["code"] == EXIT_OK for answer in answers)
    print(f"{fine} of {len(answers)} reproduced as the entries say")
    watched_run.write(json, strict({"entries": [answer["document"] for answer in answers]}))
    codes = {answer["code"] for answer in answers} or {EXIT_FAILED}
    raise typer.Exit(next((code for code in (EXIT_UNEXPECTED, EXIT_FAILED) if code in codes), EXIT_OK))


def made(*, name: str, folder: str) -> dict[str, Any]:
    """One entry's evidence in lines, as a document, and its exit code; runs in the child."""
    from dpverify.atlas.reading import read_atlas
    from dpverify.atlas.reproduce import document, lines, reproduce

    place = Path(folder)
    found = reproduce(read_atlas(place).entry(name), place)
    code = EXIT_OK if found.reproduced else EXIT_FAILED if found.failed else EXIT_UNEXPECTED
    return {"lines": lines(found), "document": document(found), "code": code}


@app.command()
def page(
    folder: Folder = Path(FOLDER),
    markdown: Annotated[str | None, typer.Option("--markdown", metavar="F", help="Write the page as Markdown.")] = None,
    html: Annotated[str | None, typer.Option("--html", metavar="F", help="Write a self-contained HTML page.")] = None,
) -> None:
    """Write all entries as a page: Markdown for a site, HTML to be read as it is. Computes no evidence."""
    from dpverify.atlas.reading import read_atlas
    from dpverify.faces import watched_run
    from dpverify.faces.report import atlas_html, atlas_markdown, files

    if markdown is None and html is None:
        raise UsageError("atlas page: say where it goes, --markdown F or --html F")
    outputs = Outputs(html=html, markdown=markdown)
    atlas = read_atlas(folder)
    files.check(outputs)
    watched_run.write(markdown, atlas_markdown.render(atlas))
    watched_run.write(html, atlas_html.render(atlas))
