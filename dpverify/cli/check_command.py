"""`dpverify check`: the independent checker, and on request a sample of the trials once more."""

import json
import random
import secrets
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from dpverify import check as checker
from dpverify.base.text import clean
from dpverify.errors import EXIT_FAILED, EXIT_UNEXPECTED, EXIT_USAGE, UsageError


def check(
    certificate: Annotated[Path, typer.Argument(help="What certify or audit wrote with --json.", show_default=False)],
    rerun: Annotated[
        int, typer.Option("--rerun", metavar="N", min=0, help="Run N of its blocks of trials again, chosen at random.")
    ] = 0,
) -> None:
    """Compute again everything that follows from the counts, bets, events and values in the file; trust nothing.

    All words of the file are written again from its evidence and compared. What follows from nothing else in the file
    is listed as taken from it. Of a proof from the code it computes the account of every path; --rerun 1 proves
    the code again and compares.
    The checker is one file of the standard library that runs without dpverify as well: `python check.py FILE`.
    Exit code: 0 all that was checked follows, 1 something does not, 2 not such a file, 3 blocks could not be run again.
    """
    code = checker.main([str(certificate)], _words)
    if code or not rerun:
        raise typer.Exit(EXIT_USAGE if code == 2 else EXIT_UNEXPECTED if code else 0)
    raise typer.Exit(_again(json.loads(certificate.read_text(encoding="utf-8")), rerun))


def _words(document: dict[str, Any]) -> tuple[list[str], list[str]]:
    """What the file says otherwise than its evidence, and the list of what is taken from the file."""
    from dpverify.report.rebuilding import differences, taken_from_file

    if document["schema"] not in checker.SCHEMAS:
        return [], []
    parts: dict[str, list[str]] = {}
    for path in taken_from_file(document):
        part, inside, name = path.partition("[].")
        parts.setdefault(f"{part}[]: " if inside else "", []).append(name if inside else path)
    lines = [f"taken from the file: {part}{', '.join(names)}" for part, names in parts.items()]
    return list(map(clean, differences(document))), list(map(clean, lines))


def _again(document: dict[str, Any], count: int) -> int:
    from dpverify.cli import isolated_command
    from dpverify.execution.isolated import Limits

    if "tried" in document["schema"]:
        return _proved_again(document)
    words = shlex.split(document.get("command", ""))
    if words[:2] != ["dpverify", "certify"]:
        raise UsageError("--rerun: needs a certificate that `dpverify certify` wrote; it names the code to run")
    arguments = {"document": document, "words": words[2:], "count": count, "draw": secrets.randbits(32)}
    rows = isolated_command.answer("dpverify.cli.check_command:again", arguments, Limits(), missing="second run")
    for row in rows:
        same = row["stated"] == row["found"]
        what = (
            "(trials, right, wrong) as recorded"
            if same
            else f"recorded {tuple(row['stated'])}, now {tuple(row['found'])}"
        )
        print(clean(f"{'SAME' if same else 'DIFFERS'} pair {row['pair']}, block {row['index']}: {what}"))
    if not rows:
        print("dpverify: no block of trials is listed", file=sys.stderr)
        return EXIT_FAILED
    return EXIT_UNEXPECTED if any(row["stated"] != row["found"] for row in rows) else 0


def _proved_again(document: dict[str, Any]) -> int:
    """Proves the code of the certificate once more: the exit code, 1 where something else is proved."""
    from dpverify.cli import isolated_command
    from dpverify.execution.isolated import Limits

    asked = _asked(shlex.split(document["again"])[2:])
    given = {
        "spec": asked["subject"],
        "claim": asked["claim"],
        "data": asked["data"],
        "view": asked["view"],
        "call": asked["call"],
        "arg": list(asked["arg"] or []),
        "relation": asked["relation"],
    }
    found = isolated_command.answer("dpverify.cli.certify_data:proved_in_child", given, Limits(), missing="proof")
    same = True
    for relation, stated in document["proof"].items():
        again, before = (checker.lasting(each) for each in (found.get(relation, {}), stated))  # type: ignore[no-untyped-call]
        equal = again == before
        same = same and equal
        print(clean(f"{'SAME' if equal else 'DIFFERS'} proof under {relation}"))
    if not document["proof"]:
        print("dpverify: no proof is listed", file=sys.stderr)
        return EXIT_FAILED
    return 0 if same else EXIT_UNEXPECTED


def _asked(words: list[str]) -> dict[str, Any]:
    """The options of `certify` in these words, read as it reads them."""
    import typer

    from dpverify.cli.certify_command import certify

    app = typer.Typer(add_completion=False)
    app.command()(certify)
    found = typer.main.get_command(app).make_context("certify", list(words)).params
    return {name: getattr(value, "value", value) for name, value in found.items()}


def again(*, document: dict[str, Any], words: list[str], count: int, draw: int) -> list[dict[str, Any]]:
    """Blocks of the certificate's records once more, as plain values; runs in the child."""
    from dpverify.auditing.certificate import Certificate
    from dpverify.auditing.pipeline import rerun
    from dpverify.auditing.subject import as_pairs, for_units, pairs_for
    from dpverify.claims.curves import parse_claim
    from dpverify.claims.neighbours import Relation, View
    from dpverify.cli import isolated_command
    from dpverify.trials.target import as_target

    certificate = Certificate.from_dict(document)
    asked = _asked(words)
    neighbours = Relation.REPLACE_ONE if asked["relation"] == "replace" else Relation.ADD_OR_REMOVE_ONE
    claim = parse_claim(asked["claim"], relation=neighbours, view=View(asked["view"]))
    subject = isolated_command.named_subject(asked["subject"], asked["call"], asked["arg"] or [], asked["python"])
    target = as_target(subject)
    own = None if asked["pairs"] is None else as_pairs(isolated_command.load_object(asked["pairs"]))
    claim = for_units(claim, target, own)
    pairs = pairs_for(target, target, claim, own)
    listed = [
        (i, j)
        for i, record in enumerate(certificate.records)
        for j in range(len(record.working.blocks if record.working else ()))
    ]
    sample = random.Random(draw).sample(listed, min(count, len(listed)))
    rows = []
    for i in sorted({pair for pair, _ in sample}):
        places = sorted(block for pair, block in sample if pair == i)
        for block in rerun(target, claim, pairs[i], certificate.records[i], places):
            rows.append({"pair": i + 1, "index": block.index, "stated": block.stated, "found": block.found})
    return rows
