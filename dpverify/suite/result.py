"""What a suite comes to: records, checks of promises, failures, and what is missing; its exit code."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.auditing.ladder import with_twins
from dpverify.auditing.record import AuditRecord
from dpverify.auditing.statuses import Grade, Verdict
from dpverify.auditing.tape_record import LEDGERS, STATUSES
from dpverify.base import require
from dpverify.base.plain_values import decoded, describe_error
from dpverify.claims.curves import NOTIONS
from dpverify.errors import EXIT_FAILED, EXIT_OK, EXIT_UNEXPECTED, ParameterError, UsageError
from dpverify.execution.executors import check_backend
from dpverify.execution.sources import environment, Identity, identity
from dpverify.ledger.description import COLUMNS
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
    family: str = "bonferroni"  # the procedure behind the verdicts: one of `suite.result.FAMILIES`
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
            records=with_twins(
                [each for each in outcomes if isinstance(each, AuditRecord)],
                [each.subject for each in outcomes if isinstance(each, Failure)],
            ),
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
        """Where traces are required: subjects without one, or whose proof was not compared with their code.

        What is refuted anyway needs none.
        """
        if not self.require_tape:
            return ()
        return tuple(
            record.subject
            for record in self.records
            if record.verdict != Verdict.REFUTED
            and (record.tape is None or not record.tape.traced or record.grade not in (None, Grade.PROOF, Grade.CODE))
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


# ----------------------------------------------------------------------------------------------------------------------
# The verdicts of a suite taken together: which claims fall when the error of the whole family is limited.
#
#     bonferroni   a claim falls where its own bound, at an equal share of the significance, exceeds it: all bounds
#                  of the suite hold at once. What a suite does by itself.
#     holm         further claims fall, in the order of their p-values, each passing its share on to the rest. The
#                  probability that any claim is refuted wrongly stays <= the family-wise error. Refutes whatever
#                  bonferroni does.
#     e-bh         sequential suites: further claims fall by their e-values. The expected share of wrong refutations
#                  among the refuted claims stays <= the family-wise error: a weaker statement.
#
# All three hold however the audits depend on each other. Choose one before looking at results. Bounds stay
# what they are, at their own share: only verdicts change. A subject with several pairs is one claim whose weight is
# the number of its pairs; promises and failed subjects keep their weight and pass nothing on.


# ----------------------------------------------------------------------------------------------------------------------
# Several claims in one suite: which of them fall when the error of the whole family is limited.


_TINY = 1e-250  # a p-value below is judged by its logarithm
BoolArray = npt.NDArray[np.bool_]


def holm(
    p_values: Sequence[float] | npt.NDArray[np.float64],
    significance: float,
    *,
    log10_p_values: Sequence[float] | npt.NDArray[np.float64] | None = None,
    weights: Sequence[int] | npt.NDArray[np.int64] | None = None,
    reserved: int = 0,
) -> BoolArray:
    """Which hypotheses Holm's step-down rejects; shape of `p_values`, a vector.

    Pr[any true hypothesis is rejected] <= significance, whatever the dependence (Holm 1979).
    The smallest p/weight is compared with significance/(weight that is left) until one fails; a rejected one's
    weight is passed on. `weights` are 1 by default. `reserved` is the weight of hypotheses that are decided
    elsewhere, each at significance * weight/(total weight): they are part of the family, and never passed on.
    `log10_p_values` decide where p-values are below 1e-250: their order, and whether they fail.
    """
    require.open_unit(significance=significance)
    require.integer(at_least=0, reserved=reserved)
    p = _vector("p_values", p_values, upper=1.0)
    share = np.ones(p.size, np.int64) if weights is None else np.asarray(weights)
    if share.shape != p.shape or not (share >= 1).all():
        raise ParameterError("weights", weights, f"{p.size} whole numbers >= 1")
    with np.errstate(divide="ignore"):
        logs = np.log10(p) if log10_p_values is None else _vector("log10_p_values", log10_p_values, upper=0.0)
    if logs.shape != p.shape:
        raise ParameterError("log10_p_values", log10_p_values, f"{p.size} logarithms")
    tiny = p < _TINY
    order = np.lexsort((logs - np.log10(share), np.where(tiny, 0.0, p) / share))
    left = reserved + np.cumsum(share[order][::-1])[::-1]
    # products and no quotients, so that equality is decided by the p-value's own rounding
    fails = p[order] * left > significance * share[order]
    deep = logs[order] + np.log10(left) > math.log10(significance) + np.log10(share[order])
    fails = np.where(tiny[order], deep, fails)
    rejected = np.zeros(p.size, dtype=bool)
    rejected[order[: int(np.argmax(fails)) if fails.any() else p.size]] = True
    return rejected


def e_benjamini_hochberg(
    log_wealth: Sequence[float] | npt.NDArray[np.float64], rate: float, *, count: int | None = None
) -> BoolArray:
    """Which hypotheses e-BH rejects, from log e-values; shape of `log_wealth`, a vector.

    E[share of true hypotheses among the rejected] <= rate, whatever the dependence (Wang, Ramdas 2022,
    Theorem 5.1): the largest k is rejected for which the k largest e-values are all >= count/(rate k).
    `count` is the number of hypotheses by default. Their weighted form (ibid.): e-values may have means
    other than 1 under their hypotheses, if these means add up to at most `count`.
    Take wealth at a stopping time, not its running maximum: the latter is no e-value.
    """
    require.open_unit(rate=rate)
    e = _vector("log_wealth", log_wealth, upper=np.inf)
    order = np.argsort(-e, kind="stable")
    total = e.size if count is None else count
    require.integer(at_least=e.size, count=total)
    if e.size == 0:
        return np.zeros(0, dtype=bool)
    enough = e[order] >= np.log(total / rate) - np.log(np.arange(1, e.size + 1))
    rejected = np.zeros(e.size, dtype=bool)
    rejected[order[: int(np.flatnonzero(enough)[-1]) + 1 if enough.any() else 0]] = True
    return rejected


def _vector(name: str, values: Sequence[float] | npt.NDArray[np.float64], upper: float) -> npt.NDArray[np.float64]:
    """At least -inf (0 for p-values, whose `upper` is 1) and at most `upper`; NaN fails."""
    vector = np.asarray(values, dtype=float)
    lower = 0.0 if upper == 1.0 else -np.inf
    if vector.ndim != 1 or not ((vector >= lower) & (vector <= upper)).all():
        raise ParameterError(name, values, f"a vector of numbers in [{lower}, {upper}]")
    return vector


# ----------------------------------------------------------------------------------------------------------------------


BONFERRONI, HOLM, E_BH = "bonferroni", "holm", "e-bh"
FAMILIES = (BONFERRONI, HOLM, E_BH)


def judged_together(result: SuiteResult, family: str) -> SuiteResult:
    """The suite with the verdicts of the family procedure; its bounds, promises and failures unchanged.

    ParameterError for an unknown procedure, UsageError where a record lacks what it needs.
    """
    if family not in FAMILIES:
        raise ParameterError("family", family, "one of " + ", ".join(FAMILIES))
    if family == BONFERRONI or not result.records:
        return replace(result, family=family)
    wanted = "p_value" if family == HOLM else "e_value"
    without = [record.subject for record in result.records if getattr(record, wanted) is None]
    if without:
        needed = "--sequential" if family == E_BH else "records written by this version"
        raise UsageError(f"family {family!r}: {without[0]} has no {wanted.replace('_', '-')}; needs {needed}")
    fallen = (_holm if family == HOLM else _e_bh)(result)
    records = tuple(
        _refuted(record, family, result.family_wise_error) if falls and record.verdict != Verdict.REFUTED else record
        for record, falls in zip(result.records, fallen, strict=True)
    )
    return replace(result, records=with_twins(records, [each.subject for each in result.failures]), family=family)


def _holm(result: SuiteResult) -> list[bool]:
    p_values = [record.p_value for record in result.records if record.p_value is not None]
    logs = [_log10(record) for record in result.records]
    weights = [record.pairs for record in result.records]
    rejected: list[bool] = holm(
        p_values,
        result.family_wise_error,
        log10_p_values=logs,
        weights=weights,
        reserved=_statements(result) - sum(weights),
    ).tolist()
    return rejected


def _log10(record: AuditRecord) -> float:
    """The logarithm of a record's p-value; files of older versions have the p-value alone, which may read 0."""
    if record.log10_p_value is not None:
        return record.log10_p_value
    return math.log10(record.p_value) if record.p_value else -math.inf


def _e_bh(result: SuiteResult) -> list[bool]:
    # the sum of a claim's e-values has mean <= its number of pairs: these add up to at most all statements
    with np.errstate(divide="ignore"):
        logs = np.log([record.pairs * (record.e_value or 0.0) for record in result.records])
    rejected: list[bool] = e_benjamini_hochberg(logs, result.family_wise_error, count=_statements(result)).tolist()
    return rejected


def _statements(result: SuiteResult) -> int:
    """Pairs and promises among which the suite shared its significance, failed ones included."""
    return round(result.family_wise_error / result.records[0].significance)


def _refuted(record: AuditRecord, family: str, level: float) -> AuditRecord:
    evidence = f"p = {record.p_text}" if family == HOLM else f"e = {record.e_value:.4g}"
    error = "family-wise error" if family == HOLM else "false discovery rate"
    note = f"refuted by {family} over the whole suite ({evidence}, {error} {level:g}); its own bound alone does not"
    refuted = replace(record, verdict=Verdict.REFUTED, refuted_by=family, notes=(*record.notes, note))
    return refuted if record.proof is None else refuted.with_proof(record.proof)


# ----------------------------------------------------------------------------------------------------------------------
# Outcomes of a suite as plain values, to travel between processes and to be kept in a journal.


def to_plain(outcome: Outcome) -> dict[str, Any]:
    """Kind and fields."""
    fields = asdict(outcome) if isinstance(outcome, Failure) else outcome.to_dict()
    return {"kind": type(outcome).__name__, "outcome": fields}


def from_plain(plain: dict[str, Any]) -> Outcome:
    """Inverse of `to_plain`, also after a trip through JSON; KeyError, TypeError or ValueError for something else.

    Every field is of its type and no number is NaN: whatever a child answers, all reports can be written.
    """
    outcome: Outcome = decoded(KINDS[plain["kind"]], plain["outcome"])
    if isinstance(outcome, AuditRecord):
        check_words(outcome)
    return outcome


def check_words(record: AuditRecord) -> None:
    """ValueError for a word or a name of a record that means nothing to a reader."""
    if record.notion not in NOTIONS or record.claim.partition(":")[0] != record.notion:
        raise ValueError(f"notion is {record.notion!r} and claim {record.claim[:60]!r}")
    if set(record.failed_trials) != {"first", "second"}:
        raise ValueError(f"failed_trials has {sorted(record.failed_trials)}, must have first and second")
    if record.refuted_by and record.refuted_by not in (HOLM, E_BH):
        raise ValueError(f"refuted_by is {record.refuted_by!r}")
    if record.tape is not None and (record.tape.status not in STATUSES or record.tape.ledger not in LEDGERS):
        raise ValueError(f"tape says {record.tape.status!r} and {record.tape.ledger!r}")
    if any(len(row) != len(COLUMNS) for row in record.ledger):
        raise ValueError(f"ledger must have rows of {len(COLUMNS)}")


KINDS: dict[str, type[Any]] = {each.__name__: each for each in (AuditRecord, PromiseCheck, Failure)}

# ----------------------------------------------------------------------------------------------------------------------
# What a run adds to its subjects. Apart from what runs them: who only asks for a run need not load that.


@dataclass(frozen=True)
class Settings:
    """What a run adds to its subjects; `trials` None keeps each subject's own budget."""

    seed: int
    significance: float = 0.05
    trials: int | None = None
    jobs: int = 1
    backend: str = "loky"
    sequential: bool = False
    ladder: bool = False  # measure the power, see `auditing.ladder`
    tape: bool = True  # trace the code before the trials, see `auditing.tracing`
    require_tape: bool = False  # what cannot be traced has no good answer

    def __post_init__(self) -> None:
        require.integer(at_least=0, seed=self.seed)
        require.integer(at_least=1, jobs=self.jobs)
        require.open_unit(significance=self.significance)
        check_backend(self.backend)
        if self.require_tape and not self.tape:
            raise ParameterError("require_tape", self.require_tape, "False without the tape")
        if self.trials is not None:
            require.integer(at_least=1, trials=self.trials)


Listener = Callable[[Outcome], None]
Ticker = Callable[[str, int], None]  # told the subject and the number of its trials that were just finished
