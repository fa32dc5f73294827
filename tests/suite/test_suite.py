"""Suites: expectations, shares of the significance, promises, exit codes."""

import pytest
from in_process import run_suite

from dpverify import Pair, planted, PureDP, Subject
from dpverify.errors import DiscoveryError, ParameterError
from dpverify.promises import BROKEN, KEPT, Outcomes, Promise
from dpverify.suite.discovery import load_audits
from dpverify.suite.plan import Agenda
from dpverify.suite.result import Settings

PAIRS = (Pair(0.0, 1.0, name="0 or 1"),)


def laplace(data, *, rng, size):
    return data + rng.laplace(size=size)


def half_noise(data, *, rng, size):
    return data + rng.laplace(scale=0.5, size=size)


def uniform_errors(*, rng, size):
    return Outcomes(rng.random(size))


def subject(name="laplace", target=laplace, **changes):
    return Subject(
        **{"name": name, "target": target, "claim": PureDP(1.0), "pairs": PAIRS, "trials": 20_000, **changes}
    )


def promise(bound, **changes):
    settings = {"name": f"below {bound}", "failure_probability": 0.1, "trials": 20_000, **changes}
    return Promise(draw=uniform_errors, bound=bound, **settings)


def run(*subjects, promises=(), **settings):
    return run_suite(subjects, Settings(seed=3, **settings), promises=promises)


def test_a_suite_is_green_when_claims_stand_and_planted_bugs_are_caught():
    true = subject()
    result = run(true, planted(true, "half", half_noise))
    assert [record.verdict for record in result.records] == ["NOT_REFUTED", "REFUTED"]
    assert result.records[1].subject == "laplace!half"
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("subjects", "code"),
    [
        ((subject(target=half_noise),), 1),  # a claim falls
        ((planted(subject(claim=PureDP(1.2)), "no bug", laplace),), 1),  # a bug that is none is not caught
        ((subject(accounted=True),), 1),  # an account is expected and there is no ledger
        ((subject(trials=2),), 3),  # nothing could have been caught
        ((subject(target=lambda data, *, rng, size: 0.0),), 3),  # no release
        ((subject(), subject("broken", target=lambda data, *, rng, size: 0.0)), 3),
        ((subject(target=half_noise), subject("broken", target=lambda data, *, rng, size: 0.0)), 1),
    ],
)
def test_exit_codes(subjects, code):
    assert run(*subjects).exit_code == code


def test_a_failed_subject_has_no_record_and_the_others_go_on():
    result = run(subject("broken", target=lambda data, *, rng, size: 0.0), subject())
    assert [failure.subject for failure in result.failures] == ["broken"]
    assert [record.subject for record in result.records] == ["laplace"]
    assert "shape ()" in result.failures[0].error


def test_the_significance_is_shared_by_pairs_and_promises():
    two_pairs = subject("two", pairs=(*PAIRS, Pair(1.0, 0.0, name="turned")))
    result = run(subject(), two_pairs, promises=(promise(0.95),), significance=0.04)
    assert {record.significance for record in result.records} == {0.01}
    assert result.promises[0].significance == 0.01
    assert result.family_wise_error == 0.04


def test_promises_are_judged_by_what_is_expected_of_them():
    kept, broken = promise(0.95), promise(0.8, expected=BROKEN)
    assert run(subject(), promises=(kept, broken)).exit_code == 0
    assert [check.verdict for check in run(subject(), promises=(kept, broken)).promises] == [KEPT, BROKEN]
    assert run(subject(), promises=(promise(0.8),)).exit_code == 1
    assert run(subject(), promises=(promise(0.9),)).exit_code == 3  # exactly at the promise: open


def test_a_subject_alone_has_the_seed_it_has_in_the_suite():
    together = run(subject("a"), subject("b"), significance=0.1).records[1]
    alone = run(subject("b"), significance=0.05).records[0]
    assert together.seed == alone.seed
    assert together.eps_lower == alone.eps_lower
    assert run(subject("a")).records[0].seed != alone.seed


def test_settings_are_checked():
    for wrong in ({"seed": -1}, {"significance": 0.0}, {"trials": 0}, {"jobs": 0}, {"backend": ""}):
        with pytest.raises(ParameterError):
            Settings(**{"seed": 1, **wrong})
    with pytest.raises(ParameterError, match="pairs"):
        subject(pairs=())


def test_files_may_declare_promises_and_misdeclared_ones_are_refused(tmp_path):
    body = "import numpy as np\nfrom dpverify.promises import Outcomes, Promise\nsubjects = []\n"
    (tmp_path / "audit_promising.py").write_text(
        body + "def draw(*, rng, size): return Outcomes(np.zeros(size))\n"
        "promises = [Promise(name='zero', draw=draw, bound=1.0, failure_probability=0.1)]\n"
    )
    subjects, promises = load_audits(tmp_path / "audit_promising.py")
    assert [each.name for each in promises] == ["promising/zero"]
    assert subjects == []
    with pytest.raises(DiscoveryError, match="paper"):
        Agenda((), tuple(promises)).of_papers()
    (tmp_path / "audit_careless.py").write_text("subjects = []\npromises = ['soon']\n")
    with pytest.raises(DiscoveryError, match="promises"):
        load_audits(tmp_path / "audit_careless.py")


def test_the_scorecard_holds_what_papers_state():
    printed = subject("printed", paper="A paper", statement="Lemma 1")
    agenda = Agenda((subject(), printed, planted(printed, "bug", half_noise)), (promise(0.95),)).of_papers()
    assert [each.name for each in agenda.subjects] == ["printed"]
    assert agenda.promises == ()
