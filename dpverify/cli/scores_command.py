"""`dpverify scores`: a claim and ONE run of a training, from a file with a row for each canary."""

import csv
import hashlib
import io
import json as jsons
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TYPE_CHECKING

import typer

from dpverify.cli.audit_command import Html, Json, Junit, Markdown, Quiet, Sarif
from dpverify.cli.options import DEFAULT_SEED, DEFAULT_SIGNIFICANCE, HELP
from dpverify.errors import EXIT_FAILED, EXIT_OK, UsageError
from dpverify.report.files import Outputs

if TYPE_CHECKING:
    from dpverify.auditing.record import AuditRecord

ADDED, REPLACED, GROUP = ("included", "score"), ("included", "first", "second"), "group"
COINS = {"0": 0.0, "1": 1.0, "0.0": 0.0, "1.0": 1.0, "false": 0.0, "true": 1.0}


def scores(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="CSV, JSON lines or Parquet with included,score.", show_default=False)
    ],
    claim: Annotated[str, typer.Option(metavar="CLAIM", help=HELP["claim"])],
    significance: Annotated[
        float, typer.Option(metavar="A", help="Probability with which the bound may exceed the truth.")
    ] = DEFAULT_SIGNIFICANCE,
    json: Json = None,
    html: Html = None,
    markdown: Markdown = None,
    junit: Junit = None,
    sarif: Sarif = None,
    quiet: Quiet = False,
    allow_open: Annotated[
        bool, typer.Option("--allow-open", help="Exit code 0 where the claim is OPEN: not refuted, not proved.")
    ] = False,
) -> None:
    """A certificate from ONE training run: canaries that were in or out by fair coins, and the scores that they got.

    A row a canary: `included` (0 or 1, a fair coin thrown before the training), `score` (larger: more likely included;
    whoever scores has not seen the coins), optionally `group` (checkpoint, attack: they share the significance). With
    `first` and `second` instead of `score`, canaries come in pairs, of which one was used: the first where included is
    1. Parquet needs pandas.

    Exit code: 1 the claim is refuted, 2 usage, or no such file, 3 everything else: OPEN (0 with --allow-open),
    inconclusive, invalid. It is never CERTIFIED: one run proves nothing.
    """
    from dpverify.claims.curves import parse_claim

    stated, content = parse_claim(claim), _content(file)
    table, unread = _table(file, content)
    from dpverify.auditing.canaries import one_run
    from dpverify.base.seeding import derive
    from dpverify.base.text import clean, commands
    from dpverify.cli import console
    from dpverify.report import files
    from dpverify.report.sarif import annotations
    from dpverify.suite.result import SuiteResult

    outputs = Outputs(json, html, markdown, junit, sarif)
    files.check_writable(outputs)
    scored = {"scores": table["score"]} if "score" in table else {"scores": table["first"], "second": table["second"]}
    record = one_run(
        table["included"],
        claim=stated,
        groups=table.get(GROUP),
        significance=significance,
        name=file.stem,
        **scored,
    )
    seed = derive(DEFAULT_SEED, f"{file.stem}#0")  # no draw depends on it: a suite's records have seeds of its own
    notes = [f"columns that are not read: {', '.join(unread)}; each row is a canary of its own"] if unread else []
    digest = hashlib.sha256(content).hexdigest()
    record = replace(record, seed=seed, file=str(file), source_digest=digest, notes=(*record.notes, *notes))
    result = SuiteResult.of([record], seed=DEFAULT_SEED, family_wise_error=significance)
    files.write_reports(result, outputs)
    console.show_result(result, quiet=quiet)
    for line in [] if quiet else _told(record):
        print(clean(f"{record.subject}: {line}"))
    commands(annotations(result))
    code = result.exit_code  # 0: the claim is OPEN, because there is no ledger that would prove it
    raise typer.Exit(EXIT_FAILED if code == EXIT_OK and not allow_open else code)


def _told(record: "AuditRecord") -> Iterator[str]:
    """The counts behind the bound, and what a reader has to know of them."""
    if record.trials:
        guesses = record.right + record.wrong
        yield f"{record.right} of {guesses} guesses right, of {record.trials} canaries ({record.witness})"
    yield from record.notes


# ----------------------------------------------------------------------------------------------------------------------
# Columns of a file, by name: numbers, and texts of `group`. What cannot be read is one line, with the row.


def _content(file: Path) -> bytes:
    """Its bytes, read once: of a pipe there is no second time."""
    try:
        return file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror or error})") from None


def _table(file: Path, content: bytes) -> tuple[dict[str, list[Any]], list[str]]:
    """The columns that are asked for, and the names of all others.

    UsageError for contents that have not all of them, or a cell that is no number.
    """
    kind = file.suffix.lower()
    try:
        if kind in (".parquet", ".pq"):
            return _columns(file, _parquet(file, content))
        lines = io.StringIO(content.decode("utf-8-sig"), newline="")
        return _columns(file, _json_lines(lines) if kind in (".jsonl", ".ndjson") else csv.reader(lines, strict=True))
    except (ValueError, RecursionError, csv.Error) as error:  # bytes that are no text, lines that are no JSON
        raise error if isinstance(error, UsageError) else UsageError(f"{file}: cannot be read ({error})") from None


def _columns(file: Path, rows: Iterable[list[Any]]) -> tuple[dict[str, list[Any]], list[str]]:
    rows = iter(rows)
    names = [str(name).strip() for name in next(rows, [])]
    wanted = ADDED if "score" in names else REPLACED
    if not set(wanted) <= set(names) or len(set(names)) < len(names):
        raise UsageError(
            f"{file}: has the columns {', '.join(names) or 'of nothing'}; needs included,score or "
            "included,first,second, each once"
        )
    kept = [name for name in (*wanted, GROUP) if name in names]
    readers: list[tuple[int, Callable[[Any], Any]]] = [(names.index(n), _READERS.get(n, _score)) for n in kept]
    found: list[list[Any]] = [[] for _ in kept]
    for number, row in enumerate(rows, start=2):
        if not row:  # an empty line
            continue
        if len(row) != len(names):
            raise UsageError(f"{file}, line {number}: {len(row)} cells, and there are {len(names)} columns")
        for column, (place, read) in zip(found, readers, strict=True):
            try:
                column.append(read(row[place]))
            except (ValueError, TypeError, OverflowError):
                raise UsageError(f"{file}, line {number}: {names[place]} is {str(row[place])[:60]!r}") from None
    return dict(zip(kept, found, strict=True)), [name for name in names if name not in kept]


def _coin(cell: Any) -> float:
    if (found := COINS.get(str(cell).strip().lower())) is None:
        raise ValueError(cell)
    return found


def _score(cell: Any) -> float:
    """A number; nothing, None and nan are a score that is missing."""
    if isinstance(cell, bool):
        raise ValueError(cell)
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return math.nan
    if isinstance(cell, str) and (not cell.isascii() or "_" in cell):  # float() would read them
        raise ValueError(cell)
    return float(cell)


_READERS: dict[str, Callable[[Any], Any]] = {"included": _coin, GROUP: str}


def _json_lines(lines: Iterable[str]) -> Iterator[list[Any]]:
    names: list[str] = []
    for line in lines:
        if line.strip():
            row = jsons.loads(line, object_pairs_hook=_once)
            if not isinstance(row, dict):
                raise ValueError("a line that is no JSON object")
            if not names:
                yield (names := list(row))
            if row.keys() != set(names):
                raise ValueError(f"a line has {', '.join(row)}, and the first one {', '.join(names)}")
            yield [row[name] for name in names]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name that stands twice in one object")
    return found


def _parquet(file: Path, content: bytes) -> Iterator[list[Any]]:
    try:
        import pandas
    except ImportError:
        raise UsageError(f"{file}: Parquet is read by pandas, which is not installed; CSV needs nothing") from None
    try:
        frame = pandas.read_parquet(io.BytesIO(content))
    except ImportError as error:
        raise UsageError(f"{file}: pandas cannot read Parquet here ({error})") from None
    yield list(frame.columns)
    yield from frame.to_numpy(dtype=object).tolist()
