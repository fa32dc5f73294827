"""The command of the atlas, from a checkout: python -m audits.atlas list | show ID | run [ID...] | page."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from audits.atlas import page, results
from audits.atlas.entry import METHODS
from audits.atlas.field_words import status
from audits.atlas.reading import Atlas, FIELD, FOLDERS, PUBLISHED, read_atlas
from audits.atlas.reproduce import document, lines, reproduce
from audits.atlas.running import How
from dpverify.base.text import clean
from dpverify.errors import DpverifyError, EXIT_FAILED, EXIT_OK, EXIT_UNEXPECTED, UsageError

EXITS = (
    "Exit code: 0 all is as the entries say, 1 a number or a verdict is another one, 2 usage, 3 a number could not be"
    " computed, a library is not there, or there is nothing to run."
)
PAGES = {PUBLISHED: "errata-atlas.md", FIELD: "field-report.md"}  # under docs/


def main(words: Sequence[str] | None = None, folders: Sequence[Path] = FOLDERS) -> int:
    """Runs one command and returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m audits.atlas", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="one line an entry: id, status, title")
    commands.add_parser("show", help="one entry as its page shows it").add_argument("id")
    commands.add_parser("page", help="write docs/errata-atlas.md and docs/field-report.md; computes no evidence")
    run = commands.add_parser("run", help="compute evidence again, and compare with what the entries say", epilog=EXITS)
    run.add_argument("ids", nargs="*", metavar="ID", help="default: all of audits/published")
    run.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="NAME=PATH",
        help="the interpreter of a library's environment, or a folder with NAME/bin/python in it",
    )
    run.add_argument("--by", default="", choices=["", *METHODS], help="this kind of evidence alone")
    run.add_argument("--seed", type=int, help="of runs of try and replay")
    run.add_argument("--repro", metavar="DIR", help="write a script without dpverify a refuted pair")
    run.add_argument("--keep", action="store_true", help="keep what came out beside the entries, for the page")
    asked = parser.parse_args(words)
    try:
        atlases = [read_atlas(folder) for folder in folders]
        if asked.command == "run":
            return _run(asked, atlases)
        if asked.command == "show":
            atlas = _having(asked.id, atlases)
            print(page.section(atlas.entry(asked.id), atlas.folder))
        elif asked.command == "list":
            for atlas in atlases:
                for each in atlas.entries:
                    print(clean(f"{each.id:4s} {status(each, atlas.folder):33s} {each.title}"))
        else:
            for atlas in atlases:
                file = Path(__file__).parents[2] / "docs" / PAGES[atlas.folder]
                file.write_text(page.render(atlas), encoding="utf-8")
    except DpverifyError as error:
        print(f"audits.atlas: {error}", file=sys.stderr)
        return error.exit_code
    return EXIT_OK


def _run(asked: argparse.Namespace, atlases: Sequence[Atlas]) -> int:
    chosen = [(_having(name, atlases), name) for name in dict.fromkeys(asked.ids)]
    codes = []
    for atlas, name in chosen or [(atlases[0], each.id) for each in atlases[0].entries]:
        entry = atlas.entry(name)
        how = How(tuple(asked.python), asked.by, asked.seed, asked.repro and f"{asked.repro}/{name}")
        if asked.by and entry.evidence and not chosen and all(each.by != asked.by for each in entry.evidence):
            continue
        if not entry.evidence:
            print(clean(f"{name}  nothing to run: {entry.unrun}"))
            codes += [EXIT_FAILED] * bool(chosen)
            continue
        found = reproduce(entry, atlas.folder, how)
        if asked.keep and not found.not_run:  # what is there already says more than nothing
            results.keep(entry, atlas.folder, document(found), asked.by)
        print("\n".join(map(clean, lines(found))), flush=True)
        codes.append(EXIT_OK if found.reproduced else EXIT_FAILED if found.failed else EXIT_UNEXPECTED)
    print(f"{codes.count(EXIT_OK)} of {len(codes)} reproduced as the entries say")
    if EXIT_UNEXPECTED in codes:
        return EXIT_UNEXPECTED
    return EXIT_FAILED if EXIT_FAILED in codes or not codes else EXIT_OK


def _having(name: str, atlases: Sequence[Atlas]) -> Atlas:
    """The one that has the entry; UsageError with those that there are."""
    known = {entry.id: each for each in atlases for entry in each.entries}
    if name not in known:
        raise UsageError(f"no entry {name!r}; there are {', '.join(known)}")
    return known[name]


if __name__ == "__main__":
    sys.exit(main())
