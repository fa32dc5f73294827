"""What a suite comes to: records, checks of promises, failures, and what is missing; its exit code."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dpverify.auditing.ladder import with_twins
from dpverify.auditing.record import AuditRecord
from dpverify.auditing.verdict import Verdict
from dpverify.base.plain_values import describe_error
from dpverify.errors import EXIT_FAILED, EXIT_OK, EXIT_UNEXPECTED
from dpverify.execution.sources import environment, Identity, identity
from dpverify.promises import OPEN, PromiseCheck


@dataclass(frozen=True)
class Failure:
    """A subject whose audit could not be finished: no record, no verdict.

    kind        error: an exception; exit, signal: its process died; timeout, memory: it ran into a limit; protocol,
                system, cluster: what should have run it broke
    output      the last lines that its process wrote, where it died
    file, line  where in foreign code it happened, as far as that is known, else where the subject is declared
    """

    subject: str
    error: str
    kind: str = "error"
    traceback: str = ""
    output: tuple[str, ...] = ()
    file: str = ""
    line: int = 0

    @classmethod
    def of(cls, subject: str, error: BaseException, file: str = "", line: int = 0) -> "Failure":
        """From what its code raised; `file` and `line` declare it."""
        return cls.told(subject, describe_error(error), file, line)

    @classmethod
    def told(cls, subject: str, error: Mapping[str, Any], file: str = "", line: int = 0) -> "Failure":
        """From an exception as `base.plain_values` writes it.

        Anything but our own errors is foreign code or a bug of ours: one line with its place.
        """
        place = (error["file"], error["line"]) if error["file"] else (file, line)
        if error["expected"]:
            said = error["text"]
        else:
            where = f" ({Path(error['file']).name}:{error['line']})" if error["file"] else ""
            said = f"{error['type']}: {error['text']}{where}"
        return cls(subject, said, error["kind"], error["traceback"], (), shown_path(place[0]), place[1])

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> "Failure":
        """Inverse of `asdict`, also after a trip through JSON."""
        fields = {name: plain[name] for name in cls.__dataclass_fields__ if name in plain}
        return cls(**{**fields, "output": tuple(fields.get("output", ()))})


def shown_path(file: str) -> str:
    """A path as a person in the current folder would write it."""
    here = Path.cwd()
    return str(Path(file).relative_to(here)) if file and Path(file).is_relative_to(here) else file


@dataclass(frozen=True, kw_only=True)
class SuiteResult:
    """Records and failures of a suite, in the order of its subjects.

    require_tape whether a record without a trace of its code is as good as none
    asked        names of all subjects and promises that were to be judged; None where nobody asked for more than
                 there is
    interrupted  what ended the run early; empty where nothing did
    """

    records: tuple[AuditRecord, ...]
    failures: tuple[Failure, ...]
    seed: int
    family_wise_error: float
    environment: dict[str, str]
    promises: tuple[PromiseCheck, ...] = ()
    family: str = "bonferroni"  # the procedure behind the verdicts: one of `suite.family.FAMILIES`
    asked: tuple[str, ...] | None = None
    interrupted: str = ""
    require_tape: bool = False  # code that could not be traced has no good answer
    identity: Identity = field(default_factory=dict)  # which code this was, see `execution.sources`

    @classmethod
    def of(
        cls,
        outcomes: Sequence["Outcome"],
        *,
        seed: int,
        family_wise_error: float,
        asked: tuple[str, ...] | None = None,
        interrupted: str = "",
        require_tape: bool = False,
    ) -> "SuiteResult":
        """What was found, whoever ran it: each record with what became of its planted twins (`auditing.ladder`)."""
        return cls(
            records=with_twins([each for each in outcomes if isinstance(each, AuditRecord)]),
            failures=tuple(each for each in outcomes if isinstance(each, Failure)),
            seed=seed,
            family_wise_error=family_wise_error,
            environment=environment(),
            identity=identity(),
            promises=tuple(each for each in outcomes if isinstance(each, PromiseCheck)),
            asked=asked,
            interrupted=interrupted,
            require_tape=require_tape,
        )

    @property
    def missing(self) -> tuple[str, ...]:
        """What was asked and has no outcome, not even a failure."""
        done = Counter(record.subject for record in self.records)
        done.update(failure.subject for failure in self.failures)
        done.update(check.name for check in self.promises)
        left = []
        for name in self.asked or ():
            if done[name]:
                done[name] -= 1
            else:
                left.append(name)
        return tuple(left)

    def asking(self, missing: Sequence[str]) -> "SuiteResult":
        """The same result, where these names were asked for beside those that have an outcome."""
        names = [each.subject for each in self.records] + [each.name for each in self.promises]
        return replace(self, asked=(*names, *(each.subject for each in self.failures), *missing))

    @property
    def unjudged(self) -> int:
        """How many of those that were asked have no verdict: failed, or not reached."""
        return len(self.failures) + len(self.missing)

    @property
    def untraced(self) -> tuple[str, ...]:
        """Where traces are required: subjects without one. What is refuted anyway needs none."""
        if not self.require_tape:
            return ()
        return tuple(
            record.subject
            for record in self.records
            if record.verdict != Verdict.REFUTED and (record.tape is None or not record.tape.traced)
        )

    @property
    def complete(self) -> bool:
        """True where everything that was asked has an outcome and nothing failed."""
        return not self.unjudged and not self.interrupted

    @property
    def exit_code(self) -> int:
        """1 where a verdict or account is not as expected, else 3 where something has no result, else 0."""
        results: list[AuditRecord | PromiseCheck] = [*self.records, *self.promises]
        conclusive = [each for each in results if each.verdict not in (Verdict.INCONCLUSIVE, Verdict.INVALID, OPEN)]
        if not all(each.as_expected for each in conclusive):
            return EXIT_UNEXPECTED
        if not self.complete or not results or not all(each.as_expected for each in results):
            return EXIT_FAILED
        if self.untraced:
            return EXIT_FAILED
        return EXIT_OK


Outcome = AuditRecord | PromiseCheck | Failure
