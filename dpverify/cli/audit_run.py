"""`dpverify audit` after its options are parsed: discovery, the watched run, the reports, the exit code."""

import contextlib
import hashlib
import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dpverify.base import text
from dpverify.base.text import clean
from dpverify.cli import console
from dpverify.errors import DpverifyError, EXIT_FAILED, EXIT_UNEXPECTED, RunError
from dpverify.execution.interruption import Heard, heeded
from dpverify.execution.isolated import Limits
from dpverify.execution.journal import FOLDER, Journal, prune
from dpverify.promises import PromiseCheck
from dpverify.report import files
from dpverify.report.files import Outputs
from dpverify.report.sarif import annotations
from dpverify.suite import plan
from dpverify.suite.plan import Manifest
from dpverify.suite.result import Failure, judged_together, Outcome, Settings, SuiteResult
from dpverify.suite.run import place_of, result_of, run_watched, seconds_of, Supervision

# what a report says until the run has ended, should it be killed
NOT_FINISHED = "still under way, or interrupted without a farewell"


@dataclass(frozen=True, kw_only=True)
class SuiteRequest:
    """What `dpverify audit` was asked for; `arguments` as they were typed."""

    paths: list[Path]
    expression: str
    settings: Settings
    limits: Limits
    outputs: Outputs
    family: str
    scorecard: bool = False
    promises_only: bool = False
    resume: bool = False
    quiet: bool = False
    arguments: tuple[str, ...] = ()
    exit_first: bool = False
    last_failed: bool = False
    durations: int = 0


def _said(trouble: str) -> None:
    print(f"dpverify: {trouble}", file=sys.stderr)


def run_audit(request: SuiteRequest) -> int:
    """Runs it and returns the exit code."""
    files.check_writable(request.outputs)
    watch = Supervision(limits=request.limits, trouble=_said)
    with heeded(watch.halt) as heard:
        try:
            agenda = _discovered(request, watch)
            return _audited(request, agenda, watch, heard)
        except DpverifyError as error:
            if heard.number:
                print(f"dpverify: interrupted by {heard.name} before anything was run", file=sys.stderr)
                return heard.exit_code
            raise error
        except KeyboardInterrupt:  # the second one: reports stay as they are, marked as not finished
            again = _kept_and_again(request, watch)
            print(f"dpverify: interrupted by {heard.name or 'SIGINT'} twice; {again}", file=sys.stderr)
            return heard.exit_code if heard.number else 130
        finally:
            watch.halt.close()
            if watch.journal is not None:
                watch.journal.close()


def _discovered(request: SuiteRequest, watch: Supervision) -> plan.Manifest:
    try:
        jobs = request.settings.jobs
        agenda = plan.read_plan(request.paths, request.expression, watch.limits, jobs=jobs, halt=watch.halt)
        if request.last_failed:
            agenda = _of_last_time(request, agenda)
        agenda = agenda.of_papers() if request.scorecard else agenda
        return agenda.of_promises() if request.promises_only else agenda
    except DpverifyError as error:
        files.write_reports(
            _not_started(request, str(error)), request.outputs
        )  # no old report may look like this run's
        raise


def _of_last_time(request: SuiteRequest, agenda: plan.Manifest) -> plan.Manifest:
    """What failed the last time, at the same shares of the significance; everything where nothing did."""
    failed = known(request.paths)
    some = agenda.only(failed)
    if some.entries:
        print(f"dpverify: --last-failed: {len(some.entries)} of {len(agenda.entries)}", file=sys.stderr)
        return some
    print("dpverify: --last-failed: nothing failed the last time; runs everything", file=sys.stderr)
    return agenda


class _First:
    """Ends the run at the first outcome that is not as expected, for -x."""

    def __init__(self, watch: Supervision, wanted: bool) -> None:
        self.watch, self.wanted, self.name = watch, wanted, ""

    def heard(self, outcome: Outcome) -> None:
        """Told of every outcome."""
        if self.wanted and not self.name and not fine(outcome):
            self.name = outcome.name if isinstance(outcome, PromiseCheck) else outcome.subject
            self.watch.halt.set()


def _not_started(request: SuiteRequest, why: str) -> SuiteResult:
    what = " ".join(str(path) for path in request.paths)
    return SuiteResult.of(
        [Failure(what, why, "discovery")],
        seed=request.settings.seed,
        family_wise_error=request.settings.significance,
        asked=(what,),
    )


def _audited(request: SuiteRequest, agenda: plan.Manifest, watch: Supervision, heard: Heard) -> int:
    settings, outputs = request.settings, request.outputs
    before = _journal(request, watch)
    files.write_reports(result_of(agenda, settings, {}, NOT_FINISHED), outputs, early=True)
    with console.progress_shown(agenda, settings, before, quiet=request.quiet) as watcher:
        first = _First(watch, request.exit_first)

        def listen(outcome: Outcome) -> None:
            watcher.finished(outcome)
            first.heard(outcome)

        found = run_watched(agenda, settings, watch, listen, watcher.trials)
    result = found.result
    remember(request.paths, agenda, found.outcomes)
    if first.name and not heard.number:
        result = replace(result, interrupted=f"stopped at {first.name} (-x)" if result.missing else "")
    elif result.interrupted:
        result = replace(result, interrupted=f"interrupted by {heard.name}")
    else:
        result = judged_together(result, request.family)
    problem = _written(result, outputs)
    if heard.number:
        return _interrupted(request, result, watch, heard)
    (console.show_scorecard if request.scorecard else console.show_result)(result, quiet=request.quiet)
    text.commands(annotations(result))
    _durations(request, watch)
    if problem:
        print(f"dpverify: {problem}", file=sys.stderr)
        return EXIT_UNEXPECTED if result.exit_code == EXIT_UNEXPECTED else EXIT_FAILED
    prune(FOLDER)
    return result.exit_code


def _durations(request: SuiteRequest, watch: Supervision) -> None:
    """The slowest of what was run, in seconds of its own process."""
    if not request.durations or watch.journal is None:
        return
    slowest = sorted(seconds_of(watch.journal).items(), key=lambda item: -item[1])[: request.durations]
    print(f"slowest {len(slowest)}:")
    for (_, name), seconds in slowest:
        print(clean(f"{seconds:10.2f} s  {name}"))


def _journal(request: SuiteRequest, watch: Supervision) -> dict[tuple[str, str], float]:
    """Opens the run's journal, and says how long everything took the last time."""
    paths = sorted(str(path.resolve()) for path in request.paths)
    place = place_of(FOLDER, paths, request.expression, request.scorecard, request.promises_only)
    before = seconds_of(Journal.of(place)) if place.exists() else {}
    if request.resume and not before:  # interrupted before anything was done: a retry need not know
        print(
            "dpverify: --resume: no interrupted run of this selection here; starts from the beginning", file=sys.stderr
        )
    try:
        watch.journal = Journal.start(place, resume=request.resume)
    except OSError as error:
        print(f"dpverify: no journal, so no --resume ({place}: {error.strerror})", file=sys.stderr)
    if watch.journal is not None and watch.journal.damaged:
        print(f"dpverify: {watch.journal.damaged} damaged lines of {place} do not count", file=sys.stderr)
    return before


def _written(result: SuiteResult, outputs: Outputs) -> str:
    try:
        files.write_reports(result, outputs)
    except RunError as error:
        return str(error)
    return ""


def _interrupted(request: SuiteRequest, result: SuiteResult, watch: Supervision, heard: Heard) -> int:
    asked = len(result.asked or ())
    done = asked - len(result.missing)
    again = _kept_and_again(request, watch)
    print(f"dpverify: interrupted by {heard.name}, {done} of {asked} done; {again}", file=sys.stderr)
    return heard.exit_code


def _kept_and_again(request: SuiteRequest, watch: Supervision) -> str:
    """What is kept, and how to go on."""
    if watch.journal is None:
        return "nothing is kept"
    again = [word for word in request.arguments if word != "--resume"]
    return f"kept in {watch.journal.path}; go on with: {shlex.join(['dpverify', *again, '--resume'])}"


# ----------------------------------------------------------------------------------------------------------------------
# What was not as expected the last time, for `--last-failed`: names of subjects and promises by the paths asked.
#
# A run of some of them forgets those that are as expected now and leaves the others where they are.


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
