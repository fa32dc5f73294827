"""An entry's evidence, computed again, against what the entry says: every number, and every verdict on a reading."""

import math
import time
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import Any

from audits.atlas.entry import Entry, Evidence, written
from audits.atlas.results import told
from audits.atlas.running import How, NotRun, run
from dpverify.errors import DpverifyError, RunError
from dpverify.suite.discovery import import_file

ANY = How()


@dataclass(frozen=True)
class Measured:
    """One number as it came out; `failed` says why there is none."""

    evidence: Evidence
    value: float | bool | str
    seconds: float
    failed: str = ""
    not_run: bool = False  # the library is not there
    kept: dict[str, Any] = field(default_factory=dict)  # of a run of `try` or `replay`

    @property
    def as_stated(self) -> bool:
        """Whether there is a number, and it is what the entry says."""
        return not self.failed and self.evidence.met(self.value)


@dataclass(frozen=True)
class Reproduction:
    """All of an entry's evidence, and the verdicts that follow."""

    entry: Entry
    measured: tuple[Measured, ...]
    partial: bool = False  # one kind of evidence alone was asked for: it says nothing of the readings

    @property
    def failed(self) -> bool:
        """Whether something could not be computed."""
        return not self.measured or any(each.failed for each in self.measured)

    @property
    def not_run(self) -> bool:
        """Whether a library was not there."""
        return any(each.not_run for each in self.measured)

    @property
    def verdicts(self) -> dict[str, str]:
        """Reading -> what its evidence says: false where some says so, true where all of it does; else absent."""
        said: dict[str, set[str]] = {}
        for each in self.measured:
            if each.evidence.decides and not each.failed:
                said.setdefault(each.evidence.reading, set()).add(each.evidence.verdict(each.value))
        return {
            name: "false" if "false" in words else "true"
            for name, words in said.items()
            if "false" in words or words == {"true"}
        }

    @property
    def differences(self) -> list[str]:
        """What is not as the entry says, in words; [] where it is reproduced."""
        found = [
            f"{each.evidence.what}: {each.failed or f'{_number(each.value)}, stated {each.evidence.stated}'}"
            for each in self.measured
            if not each.as_stated
        ]
        verdicts = self.verdicts
        for reading in () if self.partial else self.entry.readings:
            computed = verdicts.get(reading.name, "undecided")
            if computed != reading.verdict:
                found.append(f"reading {reading.name!r}: evidence says {computed}, the entry {reading.verdict}")
        return found

    @property
    def reproduced(self) -> bool:
        """Whether there is evidence, and all that the entry says came out."""
        return not self.failed and not self.differences


def reproduce(entry: Entry, folder: Path, how: How = ANY) -> Reproduction:
    """Runs all evidence of `entry`; what fails is kept as such, and the rest goes on."""
    chosen = [each for each in entry.evidence if how.by in ("", each.by)]
    measured = tuple(_measured(each, entry, folder, how) for each in chosen)
    return Reproduction(entry, measured, len(measured) < len(entry.evidence))


def _measured(evidence: Evidence, entry: Entry, folder: Path, how: How) -> Measured:
    begin = time.perf_counter()
    try:
        if evidence.run is not None:
            word, kept = run(evidence, entry, folder, how)
            return Measured(evidence, word, time.perf_counter() - begin, kept=kept)
        value = _checked(_function(evidence.call, folder)(**evidence.arguments))
        return Measured(evidence, value, time.perf_counter() - begin)
    except NotRun as error:
        return Measured(evidence, math.nan, 0.0, str(error), not_run=True)
    except DpverifyError as error:
        failed = str(error)
    except Exception as error:  # whatever the evidence raises: it is no evidence then
        failed = f"{type(error).__name__}: {error}"
    return Measured(evidence, math.nan, time.perf_counter() - begin, failed)


def _function(call: str, folder: Path):  # type: ignore[no-untyped-def]  # a function of any arguments
    place, _, name = call.partition(":")
    file = (folder / place).resolve()
    if not file.is_file():
        raise RunError(f"{call}: no file {file.name} in the folder of the entries")
    function = getattr(import_file(file), name, None)
    if not callable(function):
        raise RunError(f"{call}: no function of that name")
    return function


def _checked(value: object) -> float | bool:
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return bool(value)
    if not isinstance(value, Real):
        raise RunError(f"must return a number, not a {type(value).__name__}")
    number = float(value)
    if math.isnan(number):
        raise RunError("is NaN, which shows nothing")
    return number


def _number(value: float | bool | str) -> str:
    return written(value) if isinstance(value, bool | str) else f"{value:.6g}"


def lines(found: Reproduction) -> list[str]:
    """What is printed: one line a number, then what it comes to."""
    entry = found.entry
    shown = [f"{entry.id}  {entry.title}"]
    for each in found.measured:
        value = each.failed or _number(each.value)
        word = "ok" if each.as_stated else "NOT RUN" if each.not_run else "FAILED" if each.failed else "DIFFERS"
        shown.append(
            f"  {word:7s} {each.evidence.by}: {each.evidence.what}: {value}"
            f" (stated {each.evidence.stated}); {each.seconds:.1f} s"
        )
        shown += [f"          {line}" for line in told(each.kept)]
    shown += [f"  reading {name!r}: {verdict}" for name, verdict in found.verdicts.items()]
    if found.reproduced:
        return [*shown, f"  reproduced: {'what was run of it' if found.partial else entry.status}"]
    return [*shown, *(f"  NOT REPRODUCED: {each}" for each in found.differences or ["nothing to run"])]


def document(found: Reproduction) -> list[dict[str, Any]]:
    """The numbers as they are kept."""
    return [
        {
            "by": each.evidence.by,
            "what": each.evidence.what,
            "call": each.evidence.call or (each.evidence.run and each.evidence.run.target),
            "value": None if each.failed else each.value,
            "stated": each.evidence.stated,
            "as_stated": each.as_stated,
            "failed": each.failed,
            "seconds": round(each.seconds, 3),
            **({"kept": each.kept} if each.kept else {}),
        }
        for each in found.measured
    ]
