"""What runs inside watched children to load and list an audit file.

Without what would run its subjects: that loads slowly.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpverify.evidence.promises import Promise
from dpverify.verdicts.discovery import load_audits
from dpverify.verdicts.subject import Subject


def manifest(file: str) -> dict[str, Any]:
    """All subjects and promises of a file; DiscoveryError where it does not load."""
    loaded = load(file)
    entries = [
        {
            "kind": "subject",
            "local": local,
            "name": subject.name,
            "file": subject.file,
            "line": subject.line,
            "pairs": len(subject.pairs),
            "trials": subject.trials,
            "claim": str(subject.claim),
            "relation": str(subject.claim.relation),
            "expected": subject.expected,
            "planted": subject.planted,
            "paper": subject.paper,
            "statement": subject.statement,
        }
        for local, subject in loaded.subjects.items()
    ]
    entries += [
        {
            "kind": "promise",
            "local": local,
            "name": promise.name,
            "trials": promise.trials,
            "claim": f"error > {promise.bound:.4g} with probability <= {promise.failure_probability:g}",
            "expected": promise.expected,
            "paper": promise.paper,
            "statement": promise.statement,
        }
        for local, promise in loaded.promises.items()
    ]
    return {"entries": entries}


@dataclass(frozen=True)
class Loaded:
    """Subjects and promises of a file, by the names that it gives them."""

    subjects: dict[str, Subject]
    promises: dict[str, Promise]


def load(file: str) -> Loaded:
    """The file's subjects and promises. DiscoveryError where it does not load."""
    subjects, promises = load_audits(Path(file))
    return Loaded(
        {each.name.partition("/")[2]: each for each in subjects},
        {each.name.partition("/")[2]: each for each in promises},
    )
