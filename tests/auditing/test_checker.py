"""The independent checker accepts what dpverify writes, of every kind, and rejects what does not follow."""

import ast
import copy
import json
import math
import subprocess
import sys
import time
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from dpverify import ApproxDP, audit, certify, check, GaussianDP, Pair, PureDP, Records, TradeOff, ZCDP
from dpverify.auditing.certificate import digest_of
from dpverify.base.seeding import derive
from dpverify.cli import main
from dpverify.evidence.bounds.binomial import BonferroniTest
from dpverify.evidence.bounds.tradeoff_curve import CurveTest
from dpverify.evidence.bounds.two_step import UnconditionalTest
from dpverify.evidence.bounds.weighted import WeightedTest
from dpverify.evidence.tally import Tally
from dpverify.ledger.events import GaussianNoise, LaplaceNoise, Ledger, Sensitivity, Shift
from dpverify.report import json_file
from dpverify.report.html_page import certificate_json
from dpverify.suite.result import SuiteResult

FILE = Path(check.__file__)
PAIR = Pair(0.0, 1.0, name="moved")
SHARE = 200  # mutations


class Histogram:
    pairs = (Pair(Records([0, 1]), Records([3, 1]), name="moved"),)
    ledger = Ledger(LaplaceNoise(scale=2.0, sensitivity=Sensitivity(replace=Shift(1.0, 2))))
    scale = 2.0

    def release(self, data, *, rng, size):
        return self.exact(data) + rng.laplace(scale=self.scale, size=(size, 4))

    def exact(self, data):
        return np.bincount(data.rows, minlength=4)

    def noise_bound(self, beta):
        return self.scale * math.log(4 / beta)


class Buggy(Histogram):
    scale = 1.0
    ledger = None


class Gaussian:
    def __init__(self, sigma):
        self.sigma = sigma
        self.ledger = Ledger(GaussianNoise(sigma=sigma, sensitivity=Sensitivity(replace=1.0)))

    def release(self, data, *, rng, size):
        return data + rng.normal(scale=self.sigma, size=size)

    def log_ratio(self, outputs, pair):
        return ((outputs - pair[1]) ** 2 - (outputs - pair[0]) ** 2).ravel() / (2 * self.sigma**2)


def laplace(data, *, rng, size):
    return data + rng.laplace(size=size)


def coin(data, *, rng, size):
    return (rng.random(size) < 0.75) == data


def leaking(data, *, rng, size):
    noisy = data + rng.laplace(size=size)
    noisy[rng.random(size) < 0.02] = 1e6 * data
    return noisy


BENT = TradeOff(((0, 1), (0.01, 0.9), (0.1, 0.7), (0.3, 0.3), (1, 0)))
CERTIFIED = {  # cheap ones first
    "proved": (Histogram(), PureDP(1.0), None, {}),
    "refuted by the code": (Buggy(), PureDP(1.0), None, {}),
    "refuted by trials": (coin, PureDP(0.9), Pair(False, True), {"tape": False}),
    "enumerated": (coin, PureDP(1.2), Pair(False, True), {}),
    "approx": (Gaussian(1.0), ApproxDP(4.5, 1e-5), PAIR, {}),
    "gdp": (Gaussian(0.7), GaussianDP(1.0), PAIR, {"tape": False}),
    "revealed": (leaking, ApproxDP(1.0, 1e-3), PAIR, {"tape": False}),
    "promised": (Histogram(), PureDP(1.0), None, {"tape": False}),
    "zcdp": (Gaussian(1.0), ZCDP(0.5), PAIR, {"tape": False}),
}
SLOW = ("zcdp", "revealed", "betting")  # seconds of work each: few mutations


@cache
def written(name):
    """What dpverify writes, as a stranger reads it."""
    if name != "betting":
        target, claim, pairs, options = CERTIFIED[name]
        made = certify(target, claim=claim, pairs=pairs, trials=2_000, seed=3, name=name, **options)
        return json.loads(certificate_json(made))
    own = derive(5, "b#0")
    bets = [
        replace(
            audit(coin, claim=PureDP(0.9), pair=Pair(False, True), trials=1_000, seed=own, sequential=True), subject="b"
        )
    ]
    result = SuiteResult.of(bets, seed=5, family_wise_error=0.05)
    return json.loads(json_file.render(result))


@pytest.fixture(scope="module")
def documents():
    return {name: written(name) for name in (*CERTIFIED, "betting")}


def test_everything_that_is_written_is_accepted_in_a_second(documents):
    for name, document in documents.items():
        started = time.process_time()
        wrong, left = check.check(document)
        assert wrong == [], name
        assert time.process_time() - started < 3.0, name  # on a machine that does other things, too: 0.9 at most alone
        assert any("detectable" in line for lines in left.values() for line in lines)


def test_the_kinds_of_tests_are_all_there(documents):
    tests = {record["test"] for document in documents.values() for record in document["records"]}
    assert {"none", "binomial", "curve", "betting"} <= tests
    assert {record["score"] for record in documents["proved"]["records"]} != {"none"}


# follows from nothing else in the file, or is no evidence: listed, or words and times
FREE = (
    "course number_course power pair_verified budget seconds loss error bad line draws tightness worst "
    "block bound detectable_rate statement require_tape confidence transcripts pairs paths selection_trials pooled "
    "detectable detectable_eps chances events identity grid weights"
).split()


def leaves(value, path=()):
    if isinstance(value, dict):
        for name, inside in value.items():
            yield from leaves(inside, (*path, name))
    elif isinstance(value, list):
        for index, inside in enumerate(value):
            yield from leaves(inside, (*path, index))
    elif isinstance(value, bool | int | float):
        yield path, value


def mutated(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    return 1.07 * value + 0.003 if math.isfinite(value) else 5.0


def changed(document, path, value):
    """With a digest that is right again: a digest is no excuse for not computing."""
    found = copy.deepcopy(document)
    inside = found
    for step in path[:-1]:
        inside = inside[step]
    inside[path[-1]] = value
    if "digest" in found:
        found["digest"] = digest_of(found)
    return found


def places(document):
    """Numbers that follow from others: one of a kind, the first two of a list."""
    seen, found = {}, []
    for path, value in leaves(document):
        kind = tuple(step for step in path if isinstance(step, str))
        first = document["records"][0]
        pure_slack = kind[-1] in ("one_sided", "sequential") and (first["delta"] == 0 or first["test"] == "none")
        header = "statements" not in document and len(path) == 1  # of a run whose subjects are not all there
        if set(kind) & set(FREE) or pure_slack or header:
            continue
        seen[kind] = seen.get(kind, 0) + 1
        if seen[kind] <= 2:
            found.append((path, value))
    return found


def test_two_hundred_of_two_hundred_mutations_are_rejected(documents):
    """Counts, bounds, levels, seeds, verdicts, accounts, witnesses: each alone, the digest computed again."""
    asked = []
    for name, document in documents.items():
        here = places(document)
        wanted = 6 if name in SLOW else 40
        step = max(1, len(here) // wanted)
        asked += [(name, *each) for each in here[::step][:wanted]]
    assert len(asked) >= SHARE
    step = len(asked) / SHARE
    slipped = [
        (name, path)
        for name, path, value in (asked[int(index * step)] for index in range(SHARE))
        if not check.check(changed(documents[name], path, mutated(value)))[0]
    ]
    assert slipped == []


def test_a_digest_that_was_not_computed_again_is_rejected():
    document = copy.deepcopy(written("proved"))
    document["subject"] = "another"
    assert any("digest" in line for line in check.check(document)[0])


def test_other_texts_are_rejected():
    for path, value in {
        ("verdict",): "REFUTED",
        ("status",): "OPEN",
        ("claim",): "pure:2",
        ("schema",): "dpverify/certificate/1",
        ("records", 0, "test"): "threshold",
        ("records", 0, "claim"): "pure:2",
        ("records", 0, "invalid"): "odd",
        ("records", 0, "notion"): "approx",
        ("records", 0, "status"): "OPEN",
        ("promises", 0, "verdict"): "BROKEN",
    }.items():
        assert check.check(changed(written("proved"), path, value))[0], path


def test_records_may_not_be_left_out():
    document = copy.deepcopy(written("proved"))
    del document["records"][0]["working"]["levels"][-1]
    document["digest"] = digest_of(document)
    assert check.check(document)[0]
    document = copy.deepcopy(written("proved"))
    document["promises"], document["digest"] = [], ""
    document["digest"] = digest_of(document)
    assert check.check(document)[0] == [] or check.check(document)[0]  # fewer statements than shares are no lie
    document["records"] = []
    document["digest"] = digest_of(document)
    assert check.check(document)[0]


def test_a_suite_shares_one_level_and_one_seed_and_counts_nobody_twice():
    """Full levels in every record would look like one proved report, and are none; so would seeds that were picked."""
    document = written("betting")
    assert check.check(document)[0] == []
    picked = {**document["records"][0], "seed": 7}
    greedy = {**document["records"][0], "subject": "c", "seed": derive(5, "c#0")}
    for records, said in (
        ([picked], "seed of b"),
        ([*document["records"], greedy], "levels exceed"),
        (document["records"] * 2, "stands twice"),
    ):
        assert any(said in line for line in check.check({**document, "records": records})[0]), said
    assert any("seed of b" in line for line in check.check({**document, "seed": 6})[0])


def test_it_imports_the_standard_library_alone():
    names = set()
    for node in ast.walk(ast.parse(FILE.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").partition(".")[0])
    assert names <= set(sys.stdlib_module_names)


@pytest.mark.process
def test_it_runs_alone_and_says_what_it_found(tmp_path):
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(written("proved")), encoding="utf-8")
    bad.write_text(json.dumps(changed(written("proved"), ("records", 0, "right"), 1)), encoding="utf-8")
    for file, code, said in ((good, 0, "ACCEPTED"), (bad, 1, "REJECTED"), (tmp_path / "none.json", 2, "")):
        done = subprocess.run([sys.executable, "-I", "-S", FILE, file], capture_output=True, text=True, check=False)
        assert (done.returncode, said in done.stdout) == (code, True), done.stderr
        assert main.run(["check", str(file)]) == code
    assert (
        "NOT CHECKED" in subprocess.run([sys.executable, FILE, good], capture_output=True, text=True, check=True).stdout
    )


def test_files_that_are_none_are_no_certificates(tmp_path, capsys):
    for text in (
        "",
        "[]",
        "3",
        "{}",
        '{"schema": "dpverify/certificate/2"}',
        '{"schema": "dpverify/records/2", "records": 1}',
    ):
        (tmp_path / "x.json").write_text(text, encoding="utf-8")
        assert main.run(["check", str(tmp_path / "x.json")]) in (1, 2), text
    assert "Traceback" not in capsys.readouterr().err


# the formulas, against dpverify's own and SciPy's


def counted_record(test, claim, levels, n, level, *, one_sided=False, pooled=None):
    """What a record says of its counts, as dpverify computes it from a test."""
    right, wrong = (np.array(side) for side in zip(*levels, strict=True))
    tally = Tally(n, right, wrong, one_sided=one_sided)
    pooled = len(levels) if pooled is None else pooled
    seen = tally if isinstance(test, BonferroniTest | WeightedTest) else tally.pooled(pooled)
    eps = test.eps_lower(seen, delta=claim.delta, significance=level)
    number, p, log = eps, None, None
    if isinstance(test, CurveTest):
        number = test.number_lower(seen, significance=level)
        p, log = test.claim_p_value(seen), test.claim_log10_p_value(seen)
    else:
        p = test.p_value(seen, eps=claim.eps, delta=claim.delta)
        log = test.log10_p_value(seen, eps=claim.eps, delta=claim.delta)
    special_ones = {
        "events": [list(each) for each in getattr(test, "events", ())],
        "weights": list(getattr(test, "weights", ())),
        "nuisance": getattr(test, "nuisance_level", None),
        "order": getattr(test, "order_level", None),
        "abstains": getattr(test, "abstains", True),
    }
    curve = [[w / n, v / n] for v, w in zip(np.cumsum(right).tolist(), np.cumsum(wrong).tolist(), strict=True)]
    blocks = [[0, n, int(right.sum()), int(wrong.sum())]]
    working = {"trials": n, "levels": [list(each) for each in levels], "pooled": pooled, "blocks": blocks, "bets": []}
    return {
        "working": {**working, **special_ones},
        "significance": level,
        "claimed": claim.number,
        "delta": claim.delta,
        "audited": None,
        "eps_lower": eps,
        "number_lower": number,
        "p_value": p,
        "log10_p_value": log,
        "trials": n,
        "selection_trials": 0,
        "one_sided": one_sided,
        "right": int(right[:pooled].sum()),
        "curve": curve,
        "wrong": int(wrong[:pooled].sum()),
        "course": [[n, eps]],
        "sequential": False,
        "pairs": 1,
        "test": test.name,
        "notion": claim.notion,
        "claim": str(claim),
        "claimed_eps": claim.eps,
    }


def counted_cases():
    """(name, record): at the level of one of a suite's 266, counts that are few, many, none, and all."""
    level = 0.05 / 266
    fixed = {"nuisance_level": level / 50, "order_level": level}
    for right, wrong, n in ((752, 13, 40_000), (709, 162, 100_000), (300, 0, 20_000)):
        yield "unconditional", (UnconditionalTest(**fixed), ApproxDP(0.9, 1e-3), [(right, wrong)], n, level)
    for claim, right, wrong in ((ZCDP(2.0), 22_015, 79), (GaussianDP(1.0), 13_008, 208), (BENT, 19_662, 16_006)):
        yield f"curve of {claim}", (CurveTest(claim, **fixed), claim, [(right, wrong)], 50_000, level)
    for claim, right in ((GaussianDP(1.0), 8_393), (ZCDP(1.0), 10_000)):
        all_guess = CurveTest(claim, abstains=False, **fixed)
        yield f"sign of {claim}", (all_guess, claim, [(right, 10_000 - right)], 10_000, level)
    many = [(1329, 53), (2500, 400), (800, 700)]
    yield "weighted", (WeightedTest((7, 3, 0)), PureDP(1.0), many, 60_000, level)
    yield "shared", (BonferroniTest(((1, 0.7), (2, 0.3))), PureDP(1.0), many, 60_000, level)
    yield "no wrong guess", (BonferroniTest(((1, 1.0),)), PureDP(1.0), [(20_800, 0)], 90_000, level)


@pytest.mark.parametrize(("name", "given"), [pytest.param(*case, id=case[0]) for case in counted_cases()])
def test_what_dpverify_computes_from_counts_is_accepted_and_a_twentieth_more_is_not(name, given):
    record = counted_record(*given)
    started = time.process_time()
    assert check.counted(record, True, []) is None
    assert time.process_time() - started < 3.0
    for part in ("eps_lower", "number_lower"):
        more = {**record, part: record[part] * 1.05 + 1e-3}
        if "curve" not in record["test"]:
            more = {**record, "eps_lower": more[part], "number_lower": more[part]}
        if record[part] < math.inf:
            with pytest.raises(check.Wrong, match=part if "curve" in record["test"] else "lower"):
                check.counted(more, True, [])
