"""`dpverify atlas`: statements of others and what was found about them; every number is computed again on demand."""

from pathlib import Path
from typing import Annotated, Any, TYPE_CHECKING

import typer

from dpverify.base.errors import EXIT_FAILED, EXIT_OK, EXIT_UNEXPECTED, RunError, UsageError
from dpverify.base.text import clean
from dpverify.faces.options import Outputs

if TYPE_CHECKING:
    from dpverify.atlas.reading import Atlas

FOLDERS = ("audits/published", "audits/field")  # looked in for an entry that is asked for without --folder

app = typer.Typer(
    help="The errata atlas: statements of others about privacy, and what was found.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Folder = Annotated[
    Path | None,
    typer.Option("--folder", metavar="DIR", help="The folder with the entries (*.toml); default: " + FOLDERS[0] +
                 ", and " + FOLDERS[1] + " for entries that are asked for.", show_default=False),
]  # fmt: skip
Id = Annotated[str, typer.Argument(metavar="ID", help="An entry, e.g. A1.", show_default=False)]


@app.command("list")
def list_entries(folder: Folder = None) -> None:
    """One line an entry: id, status, title."""
    from dpverify.faces.report.field_words import status

    for each, place in ((entry, atlas.folder) for atlas in _atlases(folder) for entry in atlas.entries):
        print(clean(f"{each.id:4s} {status(each, place):33s} {each.title}"))


@app.command()
def show(entry: Id, folder: Folder = None) -> None:
    """One entry: the statement, the reading it rests on, evidence, and what follows."""
    from dpverify.faces.report import atlas_markdown

    atlas = _of(_atlases(folder), entry)
    for line in atlas_markdown.plain(atlas.entry(entry), atlas.folder).split("\n"):
        print(clean(line))


@app.command()
def run(
    entries: Annotated[list[str] | None, typer.Argument(metavar="ID...", help="Entries; default: all.")] = None,
    folder: Folder = None,
    python: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=PATH", help="The interpreter of a library's environment, or a folder with "
                     "NAME/bin/python in it; repeatable."),
    ] = None,
    by: Annotated[str, typer.Option(metavar="KIND", help="This kind of evidence alone: try, replay, trials, ...")] = "",
    timeout: Annotated[float, typer.Option(metavar="SECONDS", help="For each entry.")] = 1800.0,
    seed: Annotated[int | None, typer.Option(metavar="S", help="Of runs of try and replay.")] = None,
    repro: Annotated[str | None, typer.Option(metavar="DIR", help="Write a script without dpverify a refuted pair.")]
    = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep what came out beside the entries, for `page`.")] = False,
    json: Annotated[str | None, typer.Option("--json", metavar="F", help="Write the numbers as JSON.")] = None,
) -> None:  # fmt: skip
    """Compute the evidence of entries again, each in a process of its own, and compare with what they say.

    Without ID: all entries that have something to run; the others are named. Exit code: 0 everything that was asked is
    reproduced as the entry says, 1 a number or a verdict is another one, 2 usage (also a mistake in an entry), 3 a
    number could not be computed, a library is not there (NOT RUN), or there is nothing to run.
    """
    from dpverify.atlas.entry import METHODS
    from dpverify.atlas.environments import Environments
    from dpverify.base import require
    from dpverify.faces import watched_run
    from dpverify.faces.report import files
    from dpverify.faces.report.as_json import strict
    from dpverify.runs.isolated import Limits

    require.positive(timeout=timeout)
    if by and by not in METHODS:
        raise UsageError(f"--by {by!r}: must be one of " + ", ".join(METHODS))
    Environments(python or ())  # refused here, before anything is started
    outputs = Outputs(json)
    asked = list(dict.fromkeys(entries or ()))
    atlases = _atlases(folder)
    chosen = [(_of(atlases, name), name) for name in asked] or [(atlases[0], each.id) for each in atlases[0].entries]
    files.check(outputs)
    files.drop(outputs)
    answers: list[dict[str, Any]] = []
    for atlas, name in chosen:
        each = atlas.entry(name)
        if by and each.evidence and not any(one.by == by for one in each.evidence) and not asked:
            continue
        if not each.evidence:
            print(clean(f"{each.id}  nothing to run: {each.unrun}"))
            if asked:
                answers.append(
                    {"code": EXIT_FAILED, "document": {"id": each.id, "reproduced": False, "unrun": each.unrun}}
                )
            continue
        arguments = {"name": each.id, "folder": str(atlas.folder), "python": python or [], "by": by, "seed": seed,
                     "repro": None if repro is None else f"{repro}/{each.id}", "keep": keep}  # fmt: skip
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


def made(
    *, name: str, folder: str, python: list[str], by: str, seed: int | None, repro: str | None, keep: bool
) -> dict[str, Any]:
    """One entry's evidence in lines, as a document, and its exit code; runs in the child."""
    from dpverify.atlas import results
    from dpverify.atlas.environments import Environments
    from dpverify.atlas.reading import read_atlas
    from dpverify.atlas.reproduce import document, lines, reproduce
    from dpverify.atlas.running import How
    from dpverify.faces import watched_run
    from dpverify.faces.report.as_json import strict

    place = Path(folder)
    entry = read_atlas(place).entry(name)
    found = reproduce(entry, place, How(Environments(python), by, seed, repro))
    if keep and not found.not_run:  # what is there already says more than nothing
        file = results.path(entry, place)
        file.parent.mkdir(exist_ok=True)
        watched_run.write(str(file), strict(results.kept(entry, place, document(found), by)))
    code = EXIT_OK if found.reproduced else EXIT_FAILED if found.failed else EXIT_UNEXPECTED
    return {"lines": lines(found), "document": document(found), "code": code}


def _atlases(folder: Path | None) -> "list[Atlas]":
    """The folder's atlas, or those that there are of the usual ones."""
    from dpverify.atlas.reading import read_atlas

    if folder is not None:
        return [read_atlas(folder)]
    there = [place for place in map(Path, FOLDERS) if place.is_dir()]
    return [read_atlas(place) for place in there or map(Path, FOLDERS[:1])]


def _of(atlases: "list[Atlas]", name: str) -> "Atlas":
    """The one that has the entry; UsageError with those that there are."""
    for each in atlases:
        if any(entry.id == name for entry in each.entries):
            return each
    known = ", ".join(entry.id for each in atlases for entry in each.entries)
    raise UsageError(f"{', '.join(str(each.folder) for each in atlases)}: no entry {name!r}; there are {known}")


@app.command()
def page(
    folder: Folder = None,
    markdown: Annotated[str | None, typer.Option("--markdown", metavar="F", help="Write the page as Markdown.")] = None,
    html: Annotated[str | None, typer.Option("--html", metavar="F", help="Write a self-contained HTML page.")] = None,
) -> None:
    """Write all entries as a page: Markdown for a site, HTML to be read as it is. Computes no evidence."""
    from dpverify.faces import watched_run
    from dpverify.faces.report import atlas_html, atlas_markdown, files

    if markdown is None and html is None:
        raise UsageError("atlas page: say where it goes, --markdown F or --html F")
    outputs = Outputs(html=html, markdown=markdown)
    atlas = _atlases(folder)[0]
    files.check(outputs)
    watched_run.write(markdown, atlas_markdown.render(atlas))
    watched_run.write(html, atlas_html.render(atlas))
