"""`try`: planted bugs fall with a readable witness and a script, correct code stands, and what was seen is said."""

import math
import random
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from dpverify.claims.claim import ApproxDP, PureDP, ZCDP
from dpverify.claims.neighbours import Relation
from dpverify.errors import TargetError, UsageError
from dpverify.wild import pair_audit, try_out, trying
from dpverify.wild.datasets import Candidate
from dpverify.wild.fields import Codebook
from dpverify.wild.local import Here
from dpverify.wild.record import search_event, stated
from dpverify.wild.schema import as_schema

pytestmark = pytest.mark.process

LOCAL = {"data": {"as": "value"}, "columns": {"item": {"kind": "category", "values": [0, 1]}}}
NUMBERS = {"data": {"as": "vector", "rows": [3, 4]}, "columns": {"x": {"kind": "real", "low": 0.0, "high": 1.0}}}
ONE = PureDP(1.0)


def tried(target, schema=NUMBERS, claim=ONE, **options):
    options = {"relation": None if schema is LOCAL else "replace", "out_of_domain": "off", "minutes": 5.0, **options}
    return try_out(target, claim=claim, schema=schema, **options)


def response(eps):
    """Randomised response (Warner 1965): exactly eps-LDP."""

    def release(item, rng):
        return item if rng.random() < 1 / (1 + math.exp(-eps)) else 1 - item

    return release


def test_randomised_response_stands_at_its_eps_and_falls_above():
    # level 0.05 for the whole run; power > 0.99: 2,400 trials of eps 2 against 1 at alpha 0.025
    record = tried(response(1.0), LOCAL)
    assert (record.verdict, record.exit_code) == ("NOT_REFUTED", 3)
    assert 1 < record.matrix[0].detectable < 2
    assert any("no proof" in note for note in record.notes)
    record = tried(response(2.0), LOCAL)
    assert (record.verdict, record.exit_code) == ("REFUTED", 1)
    (found,) = [each for each in record.pairs if each.witness is not None]
    assert str(found.witness.event) in ("output = 0", "output = 1", "output >= 1", "output <= 0")
    assert found.witness.eps(0.0) > 1
    assert 1 <= found.eps_lower <= 2


def total(data, rng, scale=1.0):
    return {"sum": data.sum() + rng.laplace(0.0, scale), "n": len(data)}


def test_half_the_noise_falls_and_its_fields_are_named():
    record = tried(total, arguments={"scale": 0.25})
    assert record.verdict == "REFUTED"
    found = next(each for each in record.pairs if each.witness is not None)
    assert "output['sum']" in str(found.witness.event)
    assert sum(row.startswith("> ") for row in found.first) == 1
    document = record.to_dict()
    keys = {
        "command",
        "target",
        "claim",
        "relation",
        "verdict",
        "versions",
        "predicted_seconds",
        "seconds",
        "notes",
        "matrix",
        "pairs",
        "findings",
        "repro",
    }
    assert keys <= set(document)


def remembers(data, rng):
    """Sorts its data in place and drops one: on the same object again and again it would end up empty."""
    data = data["x"]
    data.sort()
    value = float(data.sum()) + rng.laplace(0.0, 0.25)
    data[:] = 0.0
    return value


def copies(data, rng):
    return remembers({"x": data["x"].copy()}, rng)


def test_a_target_that_changes_its_input_has_the_verdict_of_its_copying_twin():
    schema = {**NUMBERS, "data": {"as": "columns", "rows": [3, 4]}}
    one, two = tried(remembers, schema, seed=5), tried(copies, schema, seed=5)
    # how many trials are made at a time depends on how long one takes
    assert [(each.name, each.verdict) for each in one.pairs] == [(each.name, each.verdict) for each in two.pairs]
    assert any("changes its input" in note for note in one.notes)
    assert not any("changes its input" in note for note in two.notes)


def raising(data, rng):
    if data.max() == 1.0:
        raise ValueError(f"{data.max()} is too large")
    return float(rng.random())


def length(data, rng):
    return rng.random(3 if data.max() < 1.0 else 4)


@pytest.mark.parametrize(("function", "word"), [(raising, "raise"), (length, "output")])
def test_exceptions_and_lengths_are_outputs(function, word):
    record = tried(function)
    assert record.verdict == "REFUTED"
    found = next(each for each in record.pairs if each.witness is not None)
    assert word in str(found.witness.event)


@pytest.mark.slow
def test_a_field_that_is_public_or_not_asked_for_is_left_out_and_listed():
    def leaks(data, rng):
        return {"exact": float(data.sum()), "noisy": rng.random()}

    document = {**NUMBERS, "data": {"as": "vector", "rows": [3, 3]}}
    for options in ({"public": ("output['exact']",)}, {"out": ("output['noisy']",)}):
        record = tried(leaks, document, minutes=0.02, **options)
        assert record.verdict != "REFUTED"
        assert any(note.startswith("not looked at: ") and "output" in note for note in record.notes)
    with pytest.raises(UsageError, match="no such field"):
        tried(leaks, document, out=("absent",))


def test_the_claim_stands_under_the_relation_that_fits():
    """A sum of numbers in [9, 10] with noise for a width of 1: replace-one holds, a record more moves it by 10."""

    def mean(data, rng):
        return float(data.sum()) + rng.laplace(0.0, 1.0)

    schema = {"data": {"as": "vector", "rows": [2, 3]}, "columns": {"x": {"kind": "real", "low": 9.0, "high": 10.0}}}
    record = tried(mean, schema, relation=None, trials=200)
    words = {row.relation: row.verdict for row in record.matrix}
    assert words["add-or-remove-one"] == "REFUTED"
    assert words["replace-one"] != "REFUTED"
    assert record.verdict != "REFUTED"
    assert any("can stand under replace-one only" in note for note in record.notes)
    assert tried(mean, schema, relation="add-remove").verdict == "REFUTED"
    with pytest.raises(UsageError, match="public"):
        tried(mean, {**schema, "public": {"size": True}}, relation="both")


@pytest.mark.slow
def test_what_is_out_of_the_domain_is_reported_apart():
    def far(data, rng):
        return float(np.clip(data, 0.0, None).sum()) / 10 + rng.laplace(0.0, 1.0)

    record = tried(far, out_of_domain="report", minutes=0.2)
    assert record.verdict != "REFUTED"
    assert any(each.domain == "out" and each.verdict == "REFUTED" for each in record.pairs)
    assert tried(far, out_of_domain="judge").verdict == "REFUTED"


def never(data):
    raise KeyError("nothing")


def test_a_target_that_never_answers_has_no_verdict():
    with pytest.raises(TargetError, match="KeyError"):
        tried(never)

    def machine(data):
        raise OSError("disk")

    with pytest.raises(TargetError, match="OSError: disk"):
        tried(machine)
    with pytest.raises(UsageError, match="minutes"):
        tried(total, minutes=0.0)
    with pytest.raises(UsageError, match="needs eps"):
        tried(lambda data, eps: 0.0)


class Clock:
    """Time that passes only by what is said to take some."""

    now = 0.0

    def monotonic(self):
        return self.now

    def fields(self, data, seeds):
        self.now += 0.01 * len(seeds)
        rng = np.random.default_rng(seeds)
        return {"fields": [{"x": each} for each in rng.random(len(seeds)).tolist()], "changed": False, "notes": []}


@pytest.mark.parametrize("learning", [0.5, 5.0])
def test_no_block_and_no_rule_is_begun_that_would_not_end_in_time(learning, monkeypatch):
    """Releases of 10 ms; a rule takes seconds: the first one is learned in any case."""
    clock = Clock()
    real = pair_audit.fit_rule

    def slowly(trials):
        clock.now += learning
        return real(trials)

    monkeypatch.setattr(pair_audit, "fit_rule", slowly)
    row = ((1.0,),)
    one = pair_audit.Contender(
        Candidate("a pair", Relation.REPLACE_ONE, row, ((2.0,),)),
        (b"", b""),
        clock,
        ONE,
        share=0.05,
        seed=1,
        index=0,
        block=64,
        clock=clock.monotonic,
    )
    one.sample(100)
    began = clock.now
    one.run(10**6, 8.0)
    assert 4.0 < clock.now - began <= 8.0 + 1e-6
    assert one.process.trials > 200


def test_trials_that_could_not_have_caught_anything_are_no_evidence():
    record = tried(response(1.0), LOCAL, PureDP(30.0), minutes=0.1)
    assert (record.verdict, record.exit_code) == ("INCONCLUSIVE", 3)
    assert any("could not have caught" in note for note in record.notes)


def test_delta_is_subtracted():
    """The truth with probability 0.2: (0, 0.2)-DP, and no pure DP."""

    def rarely(item, rng):
        return item if rng.random() < 0.2 else 0.5

    assert tried(rarely, LOCAL, ApproxDP(0.1, 0.25)).verdict == "NOT_REFUTED"
    assert tried(rarely, LOCAL, ApproxDP(0.1, 0.05)).verdict == "REFUTED"


LIBRARY = """
import random
__version__ = "7.1"
def count(records, epsilon):
    noise = random.expovariate(4 * epsilon) - random.expovariate(4 * epsilon)
    return {"total": sum(records) + noise, "unit": "persons"}
"""


def test_the_script_runs_with_the_library_alone(tmp_path):
    (tmp_path / "tally.py").write_text(textwrap.dedent(LIBRARY))
    schema = {"data": {"as": "list", "rows": [3, 4]}, "columns": {"x": {"kind": "real", "low": 0.0, "high": 1.0}}}
    record = tried(
        f"{tmp_path}/tally.py:count",
        schema,
        arguments={"epsilon": 1.0},
        repro=str(tmp_path / "repro"),
        cwd=str(tmp_path),
    )
    assert record.verdict == "REFUTED"
    assert record.versions["tally"] == "7.1"
    (script,) = record.repro
    text = Path(script).read_text()
    assert text.startswith("# tally 7.1")
    assert "dpverify" not in text
    done = subprocess.run([sys.executable, "-I", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "the bound is broken" in done.stdout


def test_a_witness_is_chosen_by_what_it_certifies():
    rng = np.random.default_rng(3)
    first = [{"a": float(x), "b": float(y)} for x, y in rng.normal(size=(600, 2))]
    second = [{"a": float(x), "b": float(x > 0.0)} for x in rng.normal(size=600)]
    book = Codebook.of(first[:100] + second[:100])
    rows = book.rows(first), book.rows(second)
    event = search_event(book, rows[0][:300], rows[1][:300], 1.0, 0.0)
    found = stated(event, rows[0][300:], rows[1][300:])
    assert found.eps(0.0) > 2
    both = search_event(book, rows[0], book.rows(first[::-1]), 1.0, 0.0)
    assert stated(both, rows[0], book.rows(first[::-1])).eps(0.0) < 1


COUNTS = {"data": {"as": "list", "rows": [4, 20]}, "columns": {"value": {"kind": "category", "values": [0, 1, 2, 3]}}}


def winner(data, rng, scale=1.0):
    """Noisy max with Gumbel noise: counts that move by 1 make it (1/scale)^2/2-zCDP at most."""
    counts = np.array([sum(each == value for each in data) for value in range(4)], dtype=float)
    return int((counts + scale * rng.gumbel(size=4)).argmax())


def noisy_sum(data, rng, sigma=1.0):
    return float(data.sum() + sigma * rng.normal())


@pytest.mark.parametrize(("target", "schema", "name"), [(winner, COUNTS, "scale"), (noisy_sum, NUMBERS, "sigma")])
def test_a_zcdp_claim_falls_for_a_fraction_of_the_noise_and_stands_for_all_of_it(target, schema, name):
    # at delta 1e-5 none of the twins fell (3 seeds each); level 0.05 a run, power > 0.9 (all of 6 seeds)
    options = {"relation": "add-remove", "claim": ZCDP(0.5), "seed": 31}
    record = tried(target, schema, arguments={name: 0.2 if name == "scale" else 0.5}, **options)
    assert record.verdict == "REFUTED"
    assert any("implies eps 2.043 at delta 0.05" in note for note in record.notes)
    record = tried(target, schema, arguments={name: 1.0}, minutes=0.02, **options)
    assert record.verdict != "REFUTED"


def test_the_first_missing_value_of_all_is_seen():
    # with 15 % of all cells missing, hardly a dataset of 20 has none: the pair must be made, not met
    column = {"kind": "real", "low": 0.0, "high": 1.0, "missing": True}
    record = tried(
        noisy_sum,
        {"data": {"as": "vector", "rows": [4, 20]}, "columns": {"x": column}},
        arguments={"sigma": 50.0},
    )
    assert record.verdict == "REFUTED"
    fallen = {each.name for each in record.pairs if each.verdict == "REFUTED"}
    made = {each for each in fallen if not each.startswith("found by paired runs")}  # the climb finds such pairs, too
    assert made == {"nothing missing: the last becomes x missing"}


ROWS = {"data": {"as": "list", "rows": [4, 60]}, "columns": {"x": {"kind": "real", "low": 0.0, "high": 10.0}}}


@pytest.mark.parametrize("relation", ["replace", "add-remove"])
@pytest.mark.parametrize(
    "read",
    [lambda x: x[0], lambda x: x[len(x) // 2], lambda x: x[-1], lambda x: sum(x[40:])],
    ids=["first", "middle", "last", "late"],
)
def test_a_record_without_noise_is_seen_wherever_it_stands(read, relation):
    record = tried(lambda data, rng: float(read(data)), ROWS, relation=relation)
    assert record.verdict == "REFUTED"


@pytest.mark.parametrize("release", [lambda data, rng: 0, lambda data, rng: {"n": len(data) > 3, "said": "done"}])
def test_what_never_changes_is_no_clean_bill(release):
    record = tried(release, ROWS, trials=100)
    assert (record.verdict, record.exit_code) == ("INCONCLUSIVE", 3)
    assert any("every trial returned the same output" in note and "--data" in note for note in record.notes)


def test_fields_that_were_left_out_are_named_as_they_are_asked_for():
    def pair(data, rng):
        return float(data.sum()), {"seen": float(rng.random())}

    with pytest.raises(UsageError, match=r"there are .*output\[0\], .*output\[1\]\['seen'\]"):
        tried(pair, out=("seen",))


def test_more_trials_are_made_where_they_are_asked_for():
    few, more = (tried(response(1.0), LOCAL, trials=each).matrix[0].trials for each in (200, 1_000))
    assert more > 2 * few


def test_only_a_source_that_is_not_seeded_is_said_to_be_none():
    system = np.random.default_rng()
    said = [
        any("not seeded" in note for note in tried(each, minutes=0.02).notes)
        for each in (lambda data: random.random(), lambda data: float(system.random()))
    ]
    assert said == [False, True]


def test_a_script_needs_no_numpy_where_the_library_has_none(tmp_path):
    """In an environment with nothing but Python: the script would end with an import that fails."""
    (tmp_path / "bare.py").write_text(
        "import random\n\n\ndef count(data):\n    return len(data) + random.random() / 2\n"
    )
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    python = str(tmp_path / "env" / "bin" / "python")
    record = tried(
        "bare.py:count", ROWS, relation="add-remove", python=python, cwd=str(tmp_path), minutes=0.2, repro=str(tmp_path)
    )
    assert record.verdict == "REFUTED"
    (script,) = record.repro
    assert "numpy" not in Path(script).read_text(encoding="utf-8")
    done = subprocess.run([python, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")


def test_slow_code_is_tried_on_few_pairs_with_many_trials(monkeypatch):
    many = tried(total, arguments={"scale": 0.25})
    monkeypatch.setattr(trying.Trial, "_once", lambda trial: 0.2)  # seconds of a release
    few = tried(total, arguments={"scale": 0.25})
    assert few.verdict == "REFUTED"
    inside = [each for each in few.pairs if each.domain == "in" and "random" not in each.name]
    assert trying.LEAST_PAIRS <= len(inside) < len(many.pairs)
    assert any("the code is slow" in note for note in few.notes)
    assert not any("the code is slow" in note for note in many.notes)


@pytest.mark.parametrize(("once", "halved"), [(0.0, 0), (0.001, 0), (0.02, 1), (0.08, 3)])
def test_pairs_are_halved_until_they_fit(once, halved):
    assert trying.halved_for(9000, once, 90.0) == halved
    assert 9000 * once / 2**halved <= 90.0


def test_a_release_takes_what_the_processor_works_or_the_clock_says_where_it_waits():
    schema = as_schema(NUMBERS)
    inside = trying.grids(schema, "replace", 1)
    assert trying.release_seconds(Here(waits), schema, inside) > 0.01
    assert trying.release_seconds(Here(total), schema, inside) < 0.01
    assert trying.release_seconds(Here(raises_nothing), schema, {}) == 0.0


def waits(data, rng):
    time.sleep(0.02)
    return data.sum() + rng.laplace(0.0, 1.0)


def raises_nothing(data, rng):
    return 0.0
