"""The view of the other users' actions: it sees missing noise, its search finds users who tell, and twins are asked."""

import numpy as np
import pytest

from algorithms.beyond.black_box import search_trees
from algorithms.beyond.black_box_instances import black_box, NAMES
from algorithms.core.transcripts import replaced, users_of
from algorithms.core.users import Tree
from dpverify import audit, planted, PureDP, Subject
from dpverify.auditing.subject import lacking
from dpverify.errors import DiscoveryError, ParameterError
from dpverify.suite.discovery import load_audits

TRIALS = 200_000
RUNGS = (("pucb-known-rewards", 2, 2.9), ("pucb", 4, 2.9), ("bernstein-vi", 8, 3.3), ("dp-nash-vi", 3, 3.6))


def audited(name, noise, trials, seed=1):
    instance = black_box(name, noise=noise)
    return audit(instance.target, claim=instance.claim, pair=instance.pair, trials=trials, seed=seed)


@pytest.mark.parametrize(("name", "less", "seen"), RUNGS)
def test_less_noise_is_refuted_by_the_actions_alone(name, less, seen):
    record = audited(name, 1 / less, TRIALS)
    assert record.verdict == "REFUTED"
    assert record.eps_lower >= seen


@pytest.mark.parametrize("name", NAMES)
def test_exact_counts_are_seen_and_honest_noise_is_seen_and_not_refuted(name):
    assert audited(name, 0.0, 40_000).eps_lower >= 8
    honest = audited(name, 1.0, 20_000)
    assert honest.verdict == "NOT_REFUTED"
    assert 0.3 <= honest.eps_lower <= black_box(name).upper <= black_box(name).claim.eps


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_honest_noise_is_never_refuted(name):  # by a wrong claim of level .05 it would be in one seed of 20
    assert all(audited(name, 1.0, 20_000, seed).verdict == "NOT_REFUTED" for seed in range(20))


def test_the_search_leaves_a_pair_that_shows_nothing():
    instance = black_box("pucb-known-rewards", noise=0.5)
    alike, other = Tree.steady((0, 0), (1.0,), 2), Tree.steady((0, 0), (0.0,), 2)
    start = replaced([alike] * 2, 0, other, "paid or not: no visit moves")
    options = {"claim": instance.claim, "trials": 20_000, "seed": 3}
    before = audit(instance.target, claim=instance.claim, pair=start, trials=20_000, seed=1)
    found = search_trees(instance.target, start=start, **options)
    after = audit(instance.target, claim=instance.claim, pair=found, trials=20_000, seed=1)
    assert before.eps_lower <= 0
    assert after.eps_lower > 2
    assert [users_of(each) for each in found] != [users_of(each) for each in start]
    worlds = [users_of(each).trees for each in found]
    assert worlds[0][1] == worlds[1][1]
    with pytest.raises(ParameterError, match="free"):
        search_trees(instance.target, start=start, free=("everybody",), **options)


def test_a_view_of_actions_without_twins_does_not_load(tmp_path):
    instance = black_box("pucb")
    subject = Subject(name="seen", target=instance.target, claim=PureDP(2.5), pairs=(instance.pair,))
    exact, less = (planted(subject, twin, instance.target) for twin in ("exact-counts", "noise-4"))
    assert lacking([subject, exact, less]) == []
    assert lacking([subject, exact]) == ["seen has no planted twin noise-"]
    blind = Subject(name="seen", target=instance.target, claim=PureDP(2.5), pairs=(instance.pair,), blind="too few")
    assert lacking([blind, exact]) == []
    assert lacking([blind]) == ["seen has no planted twin exact-counts"]
    assert blind.found("a/seen", "f", 1).notes == ("blind to noise: too few",)
    file = tmp_path / "audit_alone.py"
    file.write_text(
        "from algorithms.beyond.black_box_instances import black_box\nfrom dpverify import Subject\n"
        "b = black_box('pucb')\nsubjects = [Subject(name='s', target=b.target, claim=b.claim, pairs=(b.pair,))]\n"
    )
    with pytest.raises(DiscoveryError, match="no planted twin exact-counts"):
        load_audits(file)


def test_names_and_noise_are_checked():
    with pytest.raises(ParameterError, match="pucb-known-rewards"):
        black_box("puct")
    with pytest.raises(ParameterError, match="noise"):
        black_box("pucb", noise=-1.0)
    assert black_box("pucb", noise=0.0).upper == black_box("pucb").upper
    assert np.isclose(black_box("dp-nash-vi").upper, 2.75)
