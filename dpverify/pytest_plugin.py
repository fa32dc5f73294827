"""pytest plugin: `pytest audits` runs the subjects of audit_*.py files, `dpaudit` audits in an ordinary test.

Every pytest start of every user loads this module, so it imports nothing of weight: numpy comes with the
first audit. Audits run in a watched child, as on the command line: one that crashes or hangs is a failed item
and not the end of the session. Verdicts are those of `dpverify audit` with the same options: a subject's trials
depend on the seed and its name, its significance on the number of selected pairs and promises; nothing depends
on the order or on the workers (xdist).
"""

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, TYPE_CHECKING

import pytest

from dpverify.cli.options import DEFAULT_SEED, DEFAULT_SIGNIFICANCE, DEFAULT_TIMEOUT, HELP
from dpverify.report.files import Outputs

if TYPE_CHECKING:
    from dpverify.auditing.record import AuditRecord
    from dpverify.execution.isolated import Call, Outcome
    from dpverify.promises import PromiseCheck
    from dpverify.suite.plan import PlanEntry
    from dpverify.suite.result import Settings

FORMATS = ("json", "html", "markdown", "junit", "sarif")
ASKED: "pytest.StashKey[tuple[int, int]]" = pytest.StashKey()  # items and shares of the significance, after selection


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the command line, with a prefix of their own."""
    group = parser.getgroup("dpverify", "audits of privacy claims (the options of `dpverify audit`)")
    group.addoption("--dp-trials", type=int, metavar="N", help=HELP["trials"])
    group.addoption(
        "--dp-significance", type=float, metavar="A", default=DEFAULT_SIGNIFICANCE, help=HELP["significance"]
    )
    group.addoption("--dp-seed", type=int, metavar="S", default=DEFAULT_SEED, help=HELP["seed"])
    group.addoption("--dp-sequential", action="store_true", help=HELP["sequential"])
    group.addoption("--dp-ladder", action="store_true", help=HELP["ladder"])
    group.addoption("--dp-no-tape", action="store_true", help=HELP["no_tape"])
    group.addoption("--dp-timeout", type=float, metavar="SECONDS", default=DEFAULT_TIMEOUT, help=HELP["timeout"])
    for form in FORMATS:
        group.addoption(f"--dp-{form}", metavar="F", help=f"Write the records of all audits as {form}.")


def pytest_configure(config: pytest.Config) -> None:
    """Registers the marker; refuses places that cannot be written."""
    config.addinivalue_line("markers", "dpaudit(**settings): defaults of the dpaudit fixture in this test")
    outputs = _outputs(config)
    if outputs.asked() and _is_controller(config):
        from dpverify.errors import UsageError
        from dpverify.report import files

        try:
            files.check_writable(outputs)
            files.drop(outputs)  # no report of an earlier session may look like this one's
        except UsageError as error:
            raise pytest.UsageError(str(error).replace("--", "--dp-", 1)) from None


def pytest_report_header(config: pytest.Config) -> str | None:
    """One line, and only where audits are asked for."""
    named = [Path(argument.partition("::")[0]) for argument in config.args]
    if not any(_is_audit(path) or (path.is_dir() and any(map(_is_audit, path.glob("audit_*.py")))) for path in named):
        return None
    trials = config.getoption("--dp-trials")
    return (
        f"dpverify: seed {config.getoption('--dp-seed')}, "
        f"trials {'as each subject says' if trials is None else trials}, "
        f"family-wise error {config.getoption('--dp-significance'):g}"
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "AuditFile | None":
    """audit_*.py files that speak of dpverify; other people's audit files are left alone."""
    if _is_audit(file_path):
        return AuditFile.from_parent(parent, path=file_path)
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Names audits as the command line does, from all that were collected, before any is deselected."""
    audits = [item for item in items if isinstance(item, EvidenceItem)]
    if audits:
        from dpverify.suite.plan import qualified

        for item, entry in zip(audits, qualified([item.entry for item in audits]), strict=True):
            item.entry = entry


def pytest_collection_finish(session: pytest.Session) -> None:
    """Shares the significance among all pairs and promises that -k and -m leave, before anything runs."""
    audits = [item for item in session.items if isinstance(item, EvidenceItem)]
    if audits:
        session.config.stash[ASKED] = len(audits), sum(item.entry.pairs for item in audits)
        for place, item in enumerate(audits):
            item.place = place


class AuditFile(pytest.File):
    """An audit_*.py file: one item a subject, one a promise."""

    def collect(self) -> "Iterator[EvidenceItem]":
        from dpverify.errors import DiscoveryError
        from dpverify.suite.plan import entries_of, manifest_call

        file = self.path.resolve()
        try:
            entries = entries_of(file, _isolated(manifest_call(file), self.config))
        except DiscoveryError as error:
            raise self.CollectError(str(error)) from None
        for entry in entries:
            yield EvidenceItem.from_parent(self, name=entry.local, entry=entry)


class EvidenceItem(pytest.Item):
    """One subject or promise. Passes where all is as expected."""

    place = 0  # its position among all such items
    outcome = ""  # its result as JSON, on the way to the report

    def __init__(self, *, entry: "PlanEntry", **rest: Any) -> None:
        super().__init__(**rest)
        self.entry = entry

    def runtest(self) -> None:
        from dpverify.base.text import clean
        from dpverify.report.json_file import render_one
        from dpverify.suite.result import Failure
        from dpverify.suite.run import call_of, outcome_of

        settings, (_, statements) = _settings(self.config), self.config.stash[ASKED]
        finished = _isolated(call_of(self.entry, settings, statements), self.config)
        outcome = outcome_of(self.entry, finished)
        self.outcome = render_one(outcome)
        if isinstance(outcome, Failure):
            from dpverify.report import words

            lines = outcome.output if outcome.kind != "error" else clean(outcome.traceback, lines=True).splitlines()
            raise NoVerdict("\n".join([f"{outcome.subject}: no verdict. {words.failed(outcome)}", *lines]))
        if not outcome.as_expected:
            raise Unexpected(_explained(outcome, settings))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, Unexpected | NoVerdict):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name


def _isolated(call: "Call", config: pytest.Config) -> "Outcome":
    from dpverify.cli.options import PRELOAD
    from dpverify.execution.isolated import isolated, Limits, start_server

    start_server(PRELOAD)
    return isolated(call, Limits(timeout=config.getoption("--dp-timeout")))


class Unexpected(AssertionError):
    """A verdict or an account is not what is expected."""


class NoVerdict(Exception):
    """The audit could not be finished."""


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Lets the record travel with the report, also from an xdist worker to its controller."""
    answer = yield
    if isinstance(item, EvidenceItem) and item.outcome:
        answer.get_result().dpverify = [item.place, item.outcome, item.config.stash[ASKED][0]]
        item.outcome = ""


def pytest_sessionstart(session: pytest.Session) -> None:
    """One keeper of records for each session."""
    session.config.pluginmanager.register(Keeper(session.config), "dpverify-keeper")


class Keeper:
    """Gathers the records where the reports arrive, and writes them when all is done."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.found: dict[int, str] = {}
        self.asked = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if sent := getattr(report, "dpverify", None):
            self.found[sent[0]] = sent[1]
            self.asked = sent[2]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        asked = max(self.asked, self.config.stash.get(ASKED, (0, 0))[0])
        if not asked:
            return
        from dpverify.report import files, words
        from dpverify.report.json_file import join

        options = self.config.option
        found = [self.found[place] for place in sorted(self.found)]
        result = join(found, options.dp_seed, options.dp_significance)
        missing = [f"audit {place + 1} of {asked}" for place in range(asked) if place not in self.found]
        result = result.asking(missing)
        terminalreporter.write_sep("-", "dpverify")
        terminalreporter.write_line(words.headline(result))
        files.write_reports(result, _outputs(self.config))


@pytest.fixture
def dpaudit(request: pytest.FixtureRequest) -> Any:
    """`dpaudit(target, claim=PureDP(1.0), pair=Pair(0, 1))`: fails the test where the claim is refuted.

    Takes everything that `dpverify.audit` takes, and `expect="REFUTED"` for a claim that must fall. Returns the
    record. Every call has the full significance of its own (--dp-significance, or its own argument), its seed
    follows from --dp-seed and the test's name. `@pytest.mark.dpaudit(trials=...)` sets defaults for a test.
    """
    marker = request.node.get_closest_marker("dpaudit")
    given = {} if marker is None else dict(marker.kwargs)

    def check(target: Any, *, expect: str = "NOT_REFUTED", **arguments: Any) -> "AuditRecord":
        from dataclasses import replace

        from dpverify.auditing.pipeline import audit
        from dpverify.base.seeding import derive

        option = request.config.option
        defaults: dict[str, Any] = {
            "significance": option.dp_significance,
            "seed": derive(option.dp_seed, request.node.nodeid),
            "sequential": option.dp_sequential,
            "ladder": option.dp_ladder,
        }
        if option.dp_trials is not None:
            defaults["trials"] = option.dp_trials
        record = replace(audit(target, **{**defaults, **given, **arguments}), expected=expect)
        if record.verdict != expect:
            from dpverify.report import words

            pytest.fail(f"{record.verdict}, expected {expect}. {words.sentence(record)}", pytrace=False)
        return record

    return check


def _explained(outcome: "AuditRecord | PromiseCheck", settings: "Settings") -> str:
    from dpverify.promises import PromiseCheck
    from dpverify.report import words

    if isinstance(outcome, PromiseCheck):
        return f"{outcome}, expected {outcome.expected}"
    return "\n".join(
        [
            f"{outcome.subject}: {outcome.verdict}, {words.expectation(outcome)}",
            words.evidence_words(outcome),
            f"witness: {outcome.witness}",
            f"again, alone: {words.command_for(outcome, settings.seed)}",
        ]
    )


def _settings(config: pytest.Config) -> "Settings":
    from dpverify.suite.result import Settings

    return Settings(
        seed=config.getoption("--dp-seed"),
        significance=config.getoption("--dp-significance"),
        trials=config.getoption("--dp-trials"),
        sequential=config.getoption("--dp-sequential"),
        ladder=config.getoption("--dp-ladder"),
        tape=not config.getoption("--dp-no-tape"),
    )


def _outputs(config: pytest.Config) -> Outputs:
    return Outputs(**{form: config.getoption(f"--dp-{form}") for form in FORMATS})


def _is_controller(config: pytest.Config) -> bool:
    return not hasattr(config, "workerinput")


def _is_audit(path: Path) -> bool:
    named = path.name.startswith("audit_") and path.suffix == ".py" and path.is_file()
    return named and "dpverify" in path.read_text(encoding="utf-8", errors="replace")
