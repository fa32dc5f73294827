"""Sentences about entries on libraries: the field report, with what came out the last time."""

from pathlib import Path
from typing import Any

from audits.atlas.entry import Entry, Evidence, Place, written
from audits.atlas.results import read_results, told

TITLE = "Field report: claims of libraries, tried"
INTRODUCTION = (
    "What libraries say about their privacy, in their own words, tried by `dpverify certify --data` and"
    " `dpverify replay` from outside, without a change to them. Every row has the claim, the version, the reading that"
    " it rests on, what was"
    " run, what came out and how to run it again. Libraries where nothing was found have rows of the same form and the"
    " same weight, each with a planted twin of the same call (half the noise, a missing step) that was caught: that is"
    " what the silence is worth.",
    "**Maintainers first.** These reports are for disclosure to the maintainers: in private where a library has a"
    " policy for security reports, else as an issue with the script that needs nothing of ours, the pair and a proposed"
    " fix. What has been known in public before is marked with its issue; what is marked “no public report found” was"
    " looked for, not exhaustively, and nobody should be surprised by it here: each row says whether anybody has been"
    " written to. An answer, a fix and a report of ours that turns out to be wrong are written into the row and stay.",
    "A verdict is about the named version, call, reading and pairs, and about nothing else: not about a library as a"
    " whole, and not about anybody who uses it. REFUTED: trials show an event whose probabilities on two neighbouring"
    " datasets contradict the claim, at 95 % for the whole run. OVER: the library's own calls do not add up on a pair;"
    " by itself no refutation of the claim. KEPT and NOT REFUTED: nothing was found on the pairs that were tried; no"
    " proof. UNDECIDED: a call that the rules of a replay cannot judge.",
    "To run rows again: one environment a library, in one folder, `libs/NAME`, with the packages that the row names;"
    " then `python -m audits.atlas run W2 --python libs`, from a checkout. `--seed S` takes other seeds, `--repro"
    " DIR` writes the scripts for the maintainers. A row whose library is not there is NOT RUN, exit code 3; it is"
    " never green. A row that nobody ran here yet says so instead of a status; “in part run”: some of its evidence"
    " was not run. The commands below the tables are what a row asks for, with files of `audits/field`; `--python`"
    " names the library's own interpreter there, too.",
)


def source(place: Place) -> list[tuple[str, str]]:
    """Where the claim stands."""
    packages = " ".join(
        f"'{each}'" if set(each) & set("<>") else each for each in (f"{place.package}=={place.version}", *place.also)
    )
    return [
        ("library", f"{place.package} {place.version} ({place.licence})"),
        ("place", place.place),
        ("environment", f"libs/{place.environment}: pip install {packages}"),
    ]


def last(number: int, results: dict[str, Any] | None) -> str:
    """What one piece of evidence came to, in a cell."""
    found = _of(number, results)
    if results is None or not found:
        return "not run yet"
    if found["failed"]:
        return "failed"
    value = found["value"]
    shown = value.replace("_", " ") if isinstance(value, str) else written(value)
    old = "" if results["current"] else ", of an older form of this row"
    return f"{shown}{'' if found['as_stated'] else ', not as stated'}, {found['seconds']:.0f} s{old}"


def status(entry: Entry, folder: Path) -> str:
    """What is known of an entry: of a library's, nothing before it was run, and only in part before all of it was."""
    if entry.kind != "library":
        return entry.status
    results = read_results(entry, folder)
    done = [each for each in (results or {}).get("evidence", ()) if each]
    if results is None or not results["current"] or not done:
        return f"NOT RUN (expected: {entry.status})"
    if not all(each["as_stated"] for each in done):
        return f"DIFFERS (expected: {entry.status})"
    return entry.status if len(done) == len(entry.evidence) else f"{entry.status} (in part run)"


def summary(entry: Entry, results: dict[str, Any] | None) -> str:
    """How much of a row was run, as it is, and came out as stated."""
    if results is not None and not results["current"]:
        return "an older form of this row"
    done = [each for each in (results or {}).get("evidence", ()) if each]
    fine = sum(bool(each["as_stated"]) for each in done)
    of = len(entry.evidence)
    return (
        f"all {of} as stated" if fine == of else f"{fine} as stated, {len(done) - fine} not, {of - len(done)} not run"
    )


def details(evidence: Evidence, number: int, results: dict[str, Any] | None) -> list[str]:
    """The lines below the table: numbers, pair, event."""
    lines = [evidence.repeated] if evidence.repeated else []
    kept = _of(number, results).get("kept", {})
    found = told(kept)
    if kept:
        versions = ", ".join(f"{name} {version}" for name, version in kept["versions"].items())
        found.append(f"seed {kept['seed']}; {versions}")
    return found + lines


def asked(evidence: Evidence) -> str:
    """How the library was asked, as the command that does it."""
    run = evidence.run
    if run is None:
        return evidence.call
    given = {name: tuple(each) if isinstance(each, list) else each for name, each in evidence.arguments.items()}
    options = {name: value for name, value in run.options.items() if name not in ("public", "out")}
    words = [f"dpverify {evidence.by} {run.target} --claim {run.claim} --data {run.schema}"]
    words += [f'--arg "{name}={value!r}"' for name, value in given.items()]
    words += [f"--{name.replace('_', '-')} {value}" for name, value in options.items()]
    words += [f"--{name} '{each}'" for name in ("public", "out") for each in run.options.get(name, ())]
    return " ".join(words)


def _of(number: int, results: dict[str, Any] | None) -> dict[str, Any]:
    found = [] if results is None else results["evidence"]
    return (found[number] or {}) if number < len(found) else {}


def pair(number: int, results: dict[str, Any] | None) -> list[str]:
    """The two datasets of the best pair, as they are printed."""
    found = _of(number, results).get("kept", {}).get("pair")
    if not found or not found["first"]:
        return []
    return ["first:", *(f"  {row}" for row in found["first"]), "second:", *(f"  {row}" for row in found["second"])]
