"""The suite of this repository shares one significance: a promise without any failure must be KEPT at its share."""

from pathlib import Path

from dpverify.promises import KEPT, rate_bounds
from dpverify.suite.discovery import load_audits
from dpverify.suite.plan import find_files

AUDITS = Path(__file__).parents[2] / "audits"
SIGNIFICANCE = 0.05
ROOM = 1.5  # for what is added to the suite


def test_every_promise_has_the_trials_that_its_share_asks_for():
    found = [load_audits(file) for file in find_files([AUDITS])]
    promises = [each for _, promises in found for each in promises]
    statements = len(promises) + sum(len(subject.pairs) for subjects, _ in found for subject in subjects)
    level = SIGNIFICANCE / (ROOM * statements)
    short = [
        each.name
        for each in promises
        if each.expected == KEPT and not rate_bounds(0, each.trials, level)[1] <= each.failure_probability
    ]
    assert len(promises) > 100
    assert short == []
