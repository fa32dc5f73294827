"""What was not as expected the last time, for `--last-failed`: names of subjects and promises by the paths asked.

A run of some of them forgets those that are as expected now and leaves the others where they are.
"""

import contextlib
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from dpverify.runs.journal import FOLDER
from dpverify.verdicts.manifest import Manifest
from dpverify.verdicts.suite_result import Failure, Outcome

Key = tuple[str, str]


def known(paths: Sequence[Path]) -> set[Key]:
    """What failed before; nothing where there was no run, or its file cannot be read."""
    try:
        return {(str(kind), str(name)) for kind, name in json.loads(_place(paths).read_text(encoding="utf-8"))}
    except (OSError, ValueError, TypeError):
        return set()


def remember(paths: Sequence[Path], agenda: Manifest, outcomes: Mapping[Key, Outcome]) -> None:
    """Adds what is not as expected or has no outcome, and takes away what is; what was not asked stays."""
    asked = {entry.key for entry in agenda.entries}
    failed = {key for key in asked if key not in outcomes or not fine(outcomes[key])}
    place = _place(paths)
    with contextlib.suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(sorted((known(paths) - asked) | failed)), encoding="utf-8")


def fine(outcome: Outcome) -> bool:
    """Whether it is as expected."""
    return not isinstance(outcome, Failure) and outcome.as_expected


def _place(paths: Sequence[Path]) -> Path:
    named = json.dumps(sorted(str(path.resolve()) for path in paths))
    return FOLDER / "failed" / f"{hashlib.sha256(named.encode()).hexdigest()[:16]}.json"
