"""Evidence by `certify --data` or `replay`, on a library in its own interpreter, as a word and what is kept."""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audits.atlas.entry import Entry, Evidence, Place
from dpverify.claims import parse_claim
from dpverify.errors import RunError, UsageError
from dpverify.wild.replaying import replayed_elsewhere
from dpverify.wild.trying import try_out

MINUTES = 4.0
SECONDS = 30.0  # of one release, at most
REPLAY_SECONDS = 600.0
SHOWN = 4  # findings, lines of a witness
VERSION = (
    "import importlib.metadata as m, sys\n"
    "try:\n    print(m.version(sys.argv[1]))\nexcept m.PackageNotFoundError:\n    print('')\n"
)


class NotRun(RunError):
    """There is no interpreter with this version of the library."""


@dataclass(frozen=True)
class How:
    """Where libraries are (NAME=INTERPRETER, or a folder with NAME/bin/python in it), and what is asked besides.

    That is one kind of evidence alone, another seed, a folder for scripts.
    """

    python: tuple[str, ...] = ()
    by: str = ""
    seed: int | None = None
    repro: str | None = None

    def __post_init__(self) -> None:
        for text in self.python:
            if not re.fullmatch(r"[\w.-]+=.+", text) and not Path(text).is_dir():
                raise UsageError(f"--python {text!r}: must be NAME=INTERPRETER, or a folder with NAME/bin/python in it")

    def interpreter(self, place: Place) -> str:
        """The one that has the library in the version that the entry is about, or NotRun.

        For a name that nobody gave it is the one that runs this.
        """
        name = place.environment
        named = [text.partition("=")[2] for text in self.python if text.startswith(f"{name}=")]
        found = [*map(Path, named), *(Path(text) / name / "bin" / "python" for text in self.python)]
        python = next((str(each.absolute()) for each in found if each.is_file()), sys.executable)
        asked = [python, "-c", VERSION, place.package]
        try:
            has = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=False).stdout.strip()
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NotRun(f"NOT RUN: the interpreter for {name!r} does not answer ({error})") from None
        if has != place.version:
            found_there = f"{place.package} {has}" if has else f"no {place.package}"
            raise NotRun(
                f"NOT RUN: needs {place.package} {place.version}, the interpreter for {name!r} has {found_there};"
                f" --python {name}=INTERPRETER names another one"
            )
        return python


def run(evidence: Evidence, entry: Entry, folder: Path, how: How) -> tuple[str, dict[str, Any]]:
    """Its verdict in one word, and what is worth keeping of the record.

    Raises NotRun where the library is not there, UsageError and TargetError as the commands do.
    """
    assert evidence.run is not None
    python = how.interpreter(entry.source)
    asked, options = evidence.run, dict(evidence.run.options)
    if how.seed is not None:
        options["seed"] = how.seed
    home = folder.absolute()
    arguments = {key: tuple(value) if isinstance(value, list) else value for key, value in evidence.arguments.items()}
    place, _, name = asked.target.rpartition(":")
    target = f"{home / place}:{name}" if place.endswith(".py") else asked.target
    schema = home / asked.schema
    if not schema.is_file():
        raise UsageError(f"{asked.schema}: no such file in the folder of the entries")
    if evidence.by == "replay":
        relation = {
            "relation": options.pop("relation", None),
            "count": options.pop("pairs", 40),
            "instrument": options.pop("calls", "auto"),
        }
        lists = {key: list(options.pop(key, ())) for key in ("out", "public")}
        document = replayed_elsewhere(
            python=python,
            timeout=REPLAY_SECONDS,
            cwd=str(home),
            asked={
                "target": target,
                "claim": asked.claim,
                "data": str(schema),
                **relation,
                **lists,
                **options,
                "arg": [f"{key}={value!r}" for key, value in arguments.items()],
            },
        )["document"]
    else:
        for key in ("out", "public"):
            options[key] = tuple(options.get(key, ()))
        record = try_out(
            target,
            claim=parse_claim(asked.claim),
            schema=schema,
            python=python,
            cwd=str(home),
            timeout_s=SECONDS,
            arguments=arguments,
            repro=None if evidence.planted else how.repro,
            **{"minutes": MINUTES, "out_of_domain": "off", **options},
        )
        document = record.to_dict()
    return document["verdict"], _kept(document, entry.source.package)


def _kept(document: dict[str, Any], package: str) -> dict[str, Any]:
    """What the page shows: no path, nothing that changes from machine to machine but the time."""
    known = {key.lower().replace("_", "-"): key for key in document["versions"]}
    names = [known[each] for each in (package.lower(), "numpy", "python") if each in known]
    kept: dict[str, Any] = {
        "seed": document["seed"],
        "versions": {name: document["versions"][name] for name in names},
        "relation": document["relation"],
        "relations": {row["relation"]: _row(row, document["command"]) for row in document["matrix"]},
    }
    shown = [each for each in document["pairs"] if each["verdict"] == "REFUTED" and each["domain"] == "in"]
    with_event = [each for each in shown if each["witness"]]
    if with_event or shown:
        best = (with_event or shown)[0]
        kept["pair"] = {
            "name": best["name"],
            "relation": best["relation"],
            "first": best["first"],
            "second": best["second"],
            "eps_lower": best["eps_lower"],
            "trials": best["trials"],
        }
        if best["witness"]:
            kept["witness"] = best["witness"]["text"]
    kept["findings"] = list(dict.fromkeys(each["text"] for each in document["findings"]))[:SHOWN]
    return kept


def _row(row: dict[str, Any], command: str) -> dict[str, Any]:
    names = ("verdict", "pairs", "refuted", "trials", "eps_lower", "detectable")
    kept = {name: row[name] for name in names}
    if command == "replay":  # there it is what the costliest pair's calls add up to
        del kept["trials"], kept["eps_lower"]
        kept["eps_upper"] = kept.pop("detectable")
    return kept
