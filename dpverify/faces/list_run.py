"""`dpverify audit --list`: names, claims and budgets of what audit files declare; nothing is run.

On its own, since it needs neither statistics nor reports: their imports would take longer than a list.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from dpverify.base import require
from dpverify.base.errors import DpverifyError, UsageError
from dpverify.runs.interruption import Halt, heeded
from dpverify.runs.isolated import Limits
from dpverify.verdicts.manifest import Manifest, read

MOST = 8  # files read at a time where nobody says how many: counting usable processors takes longer than a list


def run(
    paths: list[Path], expression: str, limits: Limits, *, jobs: int | None, scorecard: bool, promises_only: bool
) -> int:
    """Prints the list and returns the exit code; ParameterError for no jobs."""
    jobs = min(os.cpu_count() or 1, MOST) if jobs is None else jobs
    require.integer(at_least=1, jobs=jobs)
    halt = Halt()
    with heeded(halt) as heard:
        try:
            found = read(paths, expression, limits, jobs=jobs, halt=halt)
            found = found.of_papers() if scorecard else found
            show(found.of_promises() if promises_only else found)
            return 0
        except DpverifyError as error:
            if heard.number:
                print(f"dpverify: interrupted by {heard.name} before anything was run", file=sys.stderr)
                return heard.exit_code
            raise error
        finally:
            halt.close()


def alone(asked: Mapping[str, object]) -> None:
    """UsageError for an option that a list could not serve: exit 0 says that all that was asked is done."""
    for option, value in asked.items():
        if value:
            raise UsageError(f"{option}: needs a run, and --list runs nothing")


def show(agenda: Manifest) -> None:
    """One line for each subject and promise."""
    for each in agenda.subjects:
        print(f"{each.name}\t{each.claim}\t{each.relation}\t{each.trials} trials\t{each.expected}")
    for each in agenda.promises:
        print(f"{each.name}\t{each.claim}\t{each.trials} trials\t{each.expected}")
