"""Settings of all tests, and the rules that nothing is skipped and nothing stays loaded."""

import gc
import hashlib
import itertools
import os
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import settings

# the same examples in every run: red is a change of the code and not luck; --hypothesis-profile=default looks further
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def modules_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What a test wrote and imported is gone after it: code younger than its process is never taken for known code."""
    before = set(sys.modules)
    yield
    written = str(tmp_path_factory.getbasetemp())
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(written):
            del sys.modules[name]


@pytest.fixture(autouse=True)
def the_same_seeds(request: pytest.FixtureRequest) -> Iterator[None]:
    """An audit without a seed has the same one in every run: what one true claim in twenty meets is no luck."""
    from dpverify.base import seeding

    asked = itertools.count()

    def randbits(bits: int) -> int:
        digest = hashlib.sha256(f"{request.node.nodeid} {next(asked)}".encode()).digest()
        return int.from_bytes(digest, "big") % 2**bits

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(seeding, "secrets", SimpleNamespace(randbits=randbits))
        yield


@pytest.fixture(autouse=True)
def one_fork_server(request: pytest.FixtureRequest) -> None:
    """The first one of a worker stays, so that it must have loaded what the children of any test need."""
    if request.node.get_closest_marker("process") is not None:
        from dpverify.cli.options import PRELOAD
        from dpverify.execution.isolated import start_server

        start_server(PRELOAD)


ALLOWED = ("only Linux", "only Windows")  # how the reason for a skip begins that no installation could mend


class NothingIsSkipped:
    """A test that was skipped has not passed: a run with any is red. `pip install '.[test]'` brings all they need."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._note(report)

    def _note(self, report: Any) -> None:
        reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        allowed = hasattr(report, "wasxfail") or reason.removeprefix("Skipped: ").startswith(ALLOWED)
        if report.skipped and not allowed:
            self.found.append(f"{report.nodeid}: {reason}")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.found and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for line in self.found:
            terminalreporter.write_line(f"SKIPPED, which counts as failed: {line}", red=True)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One more than there are processors: a quarter of all time is spent waiting for limits and for processes."""
    return 1 + (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Ten thousand tests stay: no garbage collection, and no forked process, needs to go through them."""
    gc.collect()
    gc.freeze()


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # reports of workers arrive at their controller
        config.pluginmanager.register(NothingIsSkipped(), "nothing-is-skipped")
