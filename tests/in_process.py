"""A suite of subjects in memory, in this process: each as the product's child runs it, at the shares of the whole."""

from dpverify.verdicts.suite import run_promise, run_subject
from dpverify.verdicts.suite_result import SuiteResult


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
