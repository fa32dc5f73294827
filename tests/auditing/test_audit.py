import math
from dataclasses import replace

import numpy as np
import pytest

import dpverify
from dpverify import (
    ApproxDP,
    audit,
    GaussianDP,
    Pair,
    PureDP,
    Records,
    Relation,
    ZCDP,
)
from dpverify.auditing.record import AuditRecord
from dpverify.auditing.statuses import judge, Verdict
from dpverify.errors import NeighbourError, ParameterError, TargetError
from dpverify.evidence.bounds import BinomialTest, TwoStepTest
from dpverify.evidence.tally import Tally
from dpverify.ledger.events import GaussianNoise, LaplaceNoise, Ledger, Sensitivity

PAIR = Pair(0.0, 1.0, name="0 or 1")


def laplace(data, *, rng, size):
    return data + rng.laplace(size=size)


class Exact:
    """Laplace noise of scale 1 with its log ratio; the ledger says `stated`."""

    def __init__(self, stated=1.0, sign=1):
        self.ledger = Ledger(LaplaceNoise(scale=stated, sensitivity=Sensitivity(replace=1)))
        self.sign = sign

    def release(self, data, *, rng, size):
        return data + rng.laplace(size=size)

    def log_ratio(self, outputs, pair):
        return self.sign * (np.abs(outputs - pair.second) - np.abs(outputs - pair.first))


class Gauss:
    def __init__(self, sigma=1.0):
        self.sigma = sigma
        self.ledger = Ledger(GaussianNoise(sigma=1.0, sensitivity=Sensitivity(replace=1)))

    def release(self, data, *, rng, size):
        return data + self.sigma * rng.standard_normal(size)

    def log_ratio(self, outputs, pair):
        return ((outputs - pair.second) ** 2 - (outputs - pair.first) ** 2) / (2 * self.sigma**2)


def run(target, claim, **options):
    return audit(target, claim=claim, **{"pair": PAIR, "trials": 20_000, "seed": 11, **options})


def same(a: AuditRecord, b: AuditRecord) -> bool:
    return replace(a, seconds=0.0) == replace(b, seconds=0.0)


def test_a_true_claim_stands_a_false_one_falls():
    """The true claim holds with equality, so it falls with probability 0.001; the false one stands hardly ever."""
    for target in (Exact(), laplace):
        assert run(target, PureDP(1.0), significance=1e-3).verdict == "NOT_REFUTED"
        refuted = run(target, PureDP(0.8), significance=1e-3)
        assert refuted.verdict == "REFUTED"
        assert 0.8 < refuted.eps_lower <= 1.0


def test_the_record_holds_what_the_contract_names():
    record = run(Exact(), PureDP(1.0))
    assert record.eps_upper == 1.0
    assert record.accounted is True
    assert record.trials == 20_000
    assert (record.significance, record.seed, record.score) == (0.05, 11, "likelihood")
    assert "score >=" in record.witness
    assert 1.0 < record.detectable_eps < 1.2
    plain = record.to_dict()
    assert {"subject", "claim", "expected", "verdict", "accounted", "eps_lower", "eps_upper", "delta"} <= set(plain)
    assert {"trials", "significance", "seed", "seconds"} <= set(plain)
    assert AuditRecord.from_dict(plain) == record


def test_without_a_ledger_nothing_is_accounted():
    record = run(laplace, PureDP(1.0))
    assert (record.eps_upper, record.accounted) == (None, None)


def test_a_ledger_is_judged_by_itself():
    assert run(Exact(stated=1.0), PureDP(0.999999)).accounted is False
    silent = run(Exact(), PureDP(1.0, relation=Relation.ADD_OR_REMOVE_ONE))
    assert silent.accounted is None
    assert any("no sensitivity" in note for note in silent.notes)


def test_a_ledger_that_the_trials_contradict_is_reported_whatever_the_claim():
    record = run(Exact(stated=2.0), PureDP(3.0))
    assert record.verdict == "NOT_REFUTED"
    assert record.accounted is True
    assert record.ledger_contradicted
    assert not record.as_expected


@pytest.mark.process
def test_equal_seeds_give_equal_records_for_any_number_of_workers():
    one = run(laplace, PureDP(1.0), trials=1_200_000)
    assert same(one, run(laplace, PureDP(1.0), trials=1_200_000, jobs=2))
    assert not same(one, run(laplace, PureDP(1.0), trials=1_200_000, seed=12))


def test_a_turned_log_ratio_is_turned_back_and_noted():
    record = run(Exact(sign=-1), PureDP(0.8))
    assert record.verdict == "REFUTED"
    assert any("sign was turned" in note for note in record.notes)


@pytest.mark.parametrize(("claim", "lower"), [(ZCDP(0.5), ZCDP(0.25)), (GaussianDP(1.0), GaussianDP(0.9))], ids=str)
def test_whole_profiles_are_judged_in_their_own_number(claim, lower):
    true, false = run(Gauss(), claim), run(Gauss(), lower)
    assert true.verdict == "NOT_REFUTED"
    assert true.accounted is True
    assert false.verdict == "REFUTED"
    assert false.accounted is False
    assert lower.number < false.number_lower <= claim.number
    assert true.detectable_eps > claim.eps


def test_relations_and_pairs_are_checked_before_anything_runs():
    def never(data, *, rng, size):
        raise AssertionError("ran")

    pair = Pair(Records([1, 2]), Records([3, 4]))
    with pytest.raises(NeighbourError, match="2 replaced"):
        audit(never, claim=PureDP(1.0), pair=pair)
    verified = audit(
        lambda data, *, rng, size: len(data) + rng.laplace(size=size),
        claim=PureDP(1.0, relation=Relation.ADD_OR_REMOVE_ONE),
        pair=Pair(Records([1, 2]), Records([1])),
        trials=1000,
        seed=1,
    )
    assert verified.pair_verified
    assert not run(laplace, PureDP(1.0)).pair_verified


BAD = [
    ({"trials": 0}, "trials"),
    ({"trials": 1.5}, "trials"),
    ({"significance": 0}, "significance"),
    ({"significance": math.nan}, "significance"),
    ({"seed": -1}, "seed"),
    ({"score": "neural"}, "score"),
    ({"jobs": 0}, "jobs"),
    ({"claim": 1.0}, "claim"),
    ({"pair": (0, 1)}, "pair"),
]


@pytest.mark.parametrize(("options", "name"), BAD, ids=[str(options) for options, _ in BAD])
def test_what_is_not_allowed_is_named(options, name):
    with pytest.raises(ParameterError, match=name) as caught:
        audit(laplace, **{"claim": PureDP(1.0), "pair": PAIR, **options})
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_target_of_the_wrong_shape_has_no_verdict():
    with pytest.raises(TargetError, match="must be") as caught:
        run(lambda data, *, rng, size: rng.laplace(), PureDP(1.0))
    assert caught.value.exit_code == 3


def test_three_trials_cannot_catch_anything():
    for target in (Exact(), laplace):
        record = run(target, PureDP(1.0), trials=3)
        assert record.verdict == "INCONCLUSIVE"
        assert record.detectable_eps == math.inf


def test_nan_and_exceptions_are_evidence():
    def nan_on_second(data, *, rng, size):
        return np.where(data + 0 * rng.random(size) > 0.5, np.nan, 1.0)

    def raises_on_second(data, *, rng, size):
        if data > 0.5:
            raise ZeroDivisionError
        return rng.laplace(size=size)

    for target in (nan_on_second, raises_on_second):
        record = run(target, PureDP(3.0), trials=4000)
        assert record.verdict == "REFUTED"
        assert math.isfinite(record.eps_lower)  # trials never prove infinity


def test_verdicts_follow_from_three_numbers_and_nan_is_never_safe():
    assert judge(number_lower=1.1, claimed=1.0, detectable=2.0) is Verdict.REFUTED
    assert judge(number_lower=1.0, claimed=1.0, detectable=2.0) is Verdict.NOT_REFUTED
    assert judge(number_lower=0.0, claimed=1.0, detectable=math.inf) is Verdict.INCONCLUSIVE
    for numbers in [(math.nan, 1.0, 2.0), (0.5, math.nan, 2.0), (0.5, 1.0, math.nan)]:
        verdict = judge(number_lower=numbers[0], claimed=numbers[1], detectable=numbers[2])
        assert verdict is Verdict.INCONCLUSIVE


def noisy_maximum(data, *, rng, size):
    """Which of three noisy counts is largest; the first one is larger by 0.3 on the second dataset."""
    return (rng.laplace(size=(size, 3)) + np.array([0.3 * data, 0.0, 0.0])).argmax(axis=1)


def test_a_record_of_shared_significance_shows_the_event_that_certified():
    records = [run(noisy_maximum, PureDP(0.1), trials=20_000, seed=seed) for seed in range(8)]
    shared = [record for record in records if record.test == "shared binomial"]
    assert len(shared) >= 2  # few values leave room for few events
    for record in shared:
        assert any("events share the significance" in note for note in record.notes)
        counts = Tally.of(record.right, record.wrong, record.trials)
        tenths = [BinomialTest().eps_lower(counts, delta=0.0, significance=0.05 * part / 10) for part in range(1, 11)]
        assert min(abs(record.eps_lower - each) for each in tenths) < 1e-9
        assert record.detectable_eps > 0.1
        # no prefix is drawn with significance that was given away
        assert record.course[-1] == (record.trials - record.selection_trials, record.eps_lower)


def test_the_guesses_of_a_record_are_those_that_its_bound_is_computed_from():
    asked = {"pair": Pair(0.0, 1.0), "trials": 4000}
    for claim, test in ((ApproxDP(0.5, 1e-5), TwoStepTest()), (PureDP(0.5), BinomialTest())):
        # an exact score has one event at delta = 0
        target = laplace if claim.delta else Exact()
        record = dpverify.audit(target, claim=claim, seed=1, **asked)
        assert record.test == test.name
        counts = Tally.of(record.right, record.wrong, record.course[-1][0], one_sided=record.one_sided)
        again = test.eps_lower(counts, delta=claim.delta, significance=record.significance)
        assert again == record.eps_lower == record.course[-1][1]
