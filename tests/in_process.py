"""Audit files and suites of subjects in this process: loaded and run as the product's child does."""

from dpverify.suite.discovery import load_audits
from dpverify.suite.plan import Agenda, find_files
from dpverify.suite.result import SuiteResult
from dpverify.suite.task import run_promise, run_subject


def load_folder(folder):
    """All subjects and promises of its audit files."""
    loaded = [load_audits(file) for file in find_files([folder])]
    return Agenda(*(tuple(each for own in kind for each in own) for kind in zip(*loaded, strict=True)))


def run_suite(subjects, settings, promises=()):
    level = settings.significance / (sum(len(each.pairs) for each in subjects) + len(promises))
    outcomes = [run_subject(each, settings, level) for each in subjects]
    outcomes += [run_promise(each, settings, level) for each in promises]
    asked = tuple(each.name for each in (*subjects, *promises))
    return SuiteResult.of(
        outcomes,
        seed=settings.seed,
        family_wise_error=settings.significance,
        asked=asked,
        require_tape=settings.require_tape,
    )
