"""What runs inside a watched child: run one subject or promise of an audit file.

Arguments and answers are plain values.
"""

from dataclasses import replace
from time import monotonic  # as it is now, whatever audited code makes of the module
from typing import Any

from dpverify.evidence.promises import PromiseCheck
from dpverify.runs.isolated import emit
from dpverify.verdicts.listing import load
from dpverify.verdicts.plain import to_plain
from dpverify.verdicts.settings import Settings
from dpverify.verdicts.suite import run_promise, run_subject
from dpverify.verdicts.suite_result import Failure

OFTEN = 0.5  # seconds between two words about progress


def run(
    *,
    file: str,
    kind: str,
    local: str,
    name: str,
    settings: dict[str, Any],
    level: float,
    source_digest: str | None = None,
) -> dict[str, Any]:
    """The outcome of one subject or promise, as `plain.to_plain` writes it; `name` is its name in this run."""
    loaded = load(file)
    made = Settings(**settings)
    if kind == "promise":
        promise = loaded.promises.get(local)
        return to_plain(_gone(name, file) if promise is None else _renamed(run_promise(promise, made, level), name))
    subject = loaded.subjects.get(local)
    if subject is None:
        return to_plain(_gone(name, file))
    found = subject.found(name, subject.file, subject.line)
    return to_plain(run_subject(found, made, level, _Teller().trials, source_digest))


def _gone(name: str, file: str) -> Failure:
    return Failure(name, f"{file}: does not declare it any more; its list differs from load to load", file=file)


def _renamed(check: PromiseCheck | Failure, name: str) -> PromiseCheck | Failure:
    """Under its name in the run; its seed came from its name in the file."""
    return replace(check, name=name) if isinstance(check, PromiseCheck) else replace(check, subject=name)


class _Teller:
    """Tells the parent of trials, not too often."""

    def __init__(self) -> None:
        self.told, self.count = 0.0, 0

    def trials(self, subject: str, count: int) -> None:
        """`count` more trials are done."""
        self.count += count
        now = monotonic()
        if now - self.told >= OFTEN:
            emit({"trials": self.count})
            self.told, self.count = now, 0
