"""`dpverify certify --data`: somebody's own function, and what its data look like in one line."""

import contextlib
import io
import math
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from dpverify.auditing.tape_record import Taped
from dpverify.cli import certify_data, main
from dpverify.errors import TargetError, UsageError
from dpverify.report import screen
from dpverify.wild import local
from dpverify.wild.datasets import built, call_in_words
from dpverify.wild.one_line import data_schema, EXAMPLES, guessed
from dpverify.wild.record import Row, TryRecord

FUNCTIONS = """
import math
import random

import numpy as np


def mean(values: np.ndarray, eps=1.0):
    return np.clip(values, 0, 100).mean() + np.random.laplace(scale=100 / len(values) / eps)


def bad_mean(values: np.ndarray, eps=1.0):
    return np.clip(values, 0, 100).mean() + np.random.laplace(scale=1 / eps)


def histogram(values: list[int], *, rng):
    return np.bincount(values, minlength=4) + rng.laplace(scale=2.0, size=4)


def bad_histogram(values: list[int], *, rng):
    return np.bincount(values, minlength=4) + rng.laplace(scale=1.0, size=4)


def answer(value: str):
    return value if random.random() < math.e / (1 + math.e) else {"yes": "no", "no": "yes"}[value]


def bad_answer(value: str):
    return value if random.random() < 0.9 else {"yes": "no", "no": "yes"}[value]
"""
LAWS = """
import numpy as np


def laplace_sum(values: np.ndarray, *, rng):
    return 3 - 2 * (values.sum() + rng.laplace(scale=1.0))


def laplace_counts(values: np.ndarray, *, rng):
    return np.array([(values < 0.5).sum(), (values >= 0.5).sum()]) + rng.laplace(scale=2.0, size=2)


def normal_sum(values: np.ndarray, *, rng):
    return values.sum() + rng.normal(scale=1.0)


def rounded_sum(values: np.ndarray, *, rng):
    return round(values.sum() + rng.laplace(scale=1.0), -1)


def clipped_sum(values: np.ndarray, *, rng):
    return max(values.sum() + rng.laplace(scale=1.0), 0.0)


def hidden_sum(values: np.ndarray, *, rng):
    return values.sum() + rng.laplace(scale=1.0) > 0


def summed_noise(values: np.ndarray, *, rng):
    return values.sum() + rng.laplace(scale=1.0) + rng.laplace(scale=1.0)


def hidden_by_another_draw(values: np.ndarray, *, rng):
    return (values.sum() + 100 * rng.random()) + rng.laplace(scale=1.0)


def hidden_by_a_whole_number(values: np.ndarray, *, rng):
    return (values.sum() + rng.integers(0, 1000)) + rng.laplace(scale=1.0)


def two_sums(values: np.ndarray, *, rng):
    return values.sum() + rng.laplace(scale=2.0), values.sum() + rng.laplace(scale=2.0)
"""
MEAN = ("vector: real 0..100, rows 5..50", "replace")
CELLS = ("list: integer 0..3, rows 5..20", "replace")
VALUE = ("value: category yes|no", None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("own")
    (place / "own.py").write_text(FUNCTIONS)
    (place / "laws.py").write_text(LAWS)
    return place


def run(folder, *words):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main.run(list(words))
    return SimpleNamespace(returncode=code, stdout=out.getvalue(), stderr=err.getvalue())


def certify(folder, name, *more):
    return run(folder, "certify", f"own.py:{name}", "--claim", "pure:1", *more)


@pytest.mark.process
@pytest.mark.parametrize(
    ("name", "data", "word", "code"),
    [
        ("mean", MEAN, "CERTIFIED", 0),
        ("bad_mean", MEAN, "REFUTED", 1),
        ("histogram", CELLS, "CERTIFIED", 0),
        ("bad_histogram", CELLS, "REFUTED", 1),
        ("answer", VALUE, "CERTIFIED", 0),
        ("bad_answer", VALUE, "REFUTED", 1),
    ],
)
def test_the_first_word_is_right_and_one_screen_says_why(folder, name, data, word, code):
    spec, relation = data
    made = certify(folder, name, "--data", spec, "--trials", "600", *(["--relation", relation] if relation else []))
    assert made.returncode == code, made.stdout + made.stderr
    lines = made.stdout.splitlines()
    assert lines[0].split()[0] == word
    assert len(lines) <= 14
    assert all(len(line) <= 100 for line in lines[:-1])
    assert lines[-1].startswith("  again   dpverify certify own.py:")
    rows = [line.split()[0] for line in lines]
    last = "proof" if word == "CERTIFIED" else "ledger"
    assert rows.index("audit") < rows.index("code") < rows.index(last)
    assert name.endswith("answer") or "not traced" not in made.stdout  # numpy's global generator is seen
    assert ("laplace(1) at own.py" in made.stdout) == name.startswith("bad_") or name.endswith("answer")


@pytest.mark.process
@pytest.mark.parametrize(
    ("name", "true", "false"),
    [  # Laplace noise of eps 1: rho = 1/e, mu = 1.0301, D_2 = .6190, delta(.9) = 1 - e^(-.05) = .0488
        ("laplace_sum", "zcdp:.3679", "zcdp:.367"),
        ("laplace_sum", "gdp:1.0302", "gdp:1.028"),
        ("laplace_sum", "rdp:2,.6192", "rdp:2,.618"),
        ("laplace_sum", "approx:.9,.0488", "approx:.8,.0488"),
        ("normal_sum", "zcdp:.5", "zcdp:.499"),
    ],
)
def test_the_law_of_one_release_decides_every_notion(folder, name, true, false):
    line = ("--data", "vector: real 0..1, rows 5..20", "--relation", "replace")
    made = run(folder, "certify", f"laws.py:{name}", "--claim", true, *line)
    assert (made.returncode, made.stdout.split()[0]) == (0, "CERTIFIED"), made.stdout + made.stderr
    made = run(folder, "certify", f"laws.py:{name}", "--claim", false, *line, "--json", "law.json")
    assert (made.returncode, made.stdout.split()[0]) == (1, "REFUTED"), made.stdout + made.stderr
    assert "by its law" in made.stdout
    assert run(folder, "check", "law.json").returncode == 0


@pytest.mark.process
@pytest.mark.parametrize(
    ("name", "claim"),  # claims below what the noise alone would cost: not false of each of these
    [
        ("rounded_sum", "zcdp:.3"),
        ("clipped_sum", "zcdp:.3"),
        ("hidden_sum", "zcdp:.3"),
        ("summed_noise", "zcdp:.3"),
        ("hidden_by_another_draw", "zcdp:.3"),
        ("hidden_by_a_whole_number", "zcdp:.3"),
        ("two_sums", "zcdp:.2"),
        ("laplace_counts", "zcdp:.2"),
    ],
)
def test_a_law_that_is_not_that_of_the_noise_refutes_nothing(folder, name, claim):
    line = ("--data", "vector: real 0..1, rows 5..20", "--relation", "replace", "--trials", "100")
    made = run(folder, "certify", f"laws.py:{name}", "--claim", claim, *line)
    assert "by its law" not in made.stdout
    assert made.stdout.split()[0] == "OPEN", made.stdout


@pytest.mark.process
def test_a_schema_of_many_rows_is_proved_and_tried_on_fewer(folder):
    many = ("--data", "vector: real 0..100, rows 5..100000", "--relation", "replace")
    made = certify(folder, "mean", *many)
    assert made.returncode == 0, made.stdout + made.stderr
    assert made.stdout.startswith("CERTIFIED   mean is pure:1 (replace-one) for 5 to 100000 rows: proved from the code")
    wrong = certify(folder, "bad_mean", *many)
    assert wrong.returncode == 1, wrong.stdout + wrong.stderr
    assert "the pair that the proof names" in wrong.stdout


def test_a_claim_that_is_proved_and_refuted_is_invalid():
    seen = {"command": "certify", "target": "own.py:f", "claim": "pure:1", "versions": {}, "seed": 1}
    refuted = TryRecord(**seen, relation="replace-one", verdict="REFUTED", predicted_seconds=0.0, seconds=0.0)
    proof = {"replace-one": {"holds": True, "eps": 1.0, "steps": []}}
    found = certify_data.with_proof(refuted, proof, "replace")
    assert (found.verdict, found.exit_code) == ("INVALID", 3)
    assert "proved from the code and refuted" in found.notes[0]
    kept = certify_data.with_proof(replace(refuted, verdict="NOT_REFUTED"), proof, "replace")
    assert (kept.verdict, kept.exit_code) == ("CERTIFIED", 0)
    other = certify_data.with_proof(refuted, {"replace-one": {"holds": False}}, "replace")
    assert other.verdict == "REFUTED"


SEEN = {"command": "certify", "target": "own.py:f", "claim": "pure:1", "versions": {}, "seed": 1}


def open_record(again="dpverify certify own.py:f", **more):
    row = Row("replace-one", "NOT_REFUTED", 2, 0, 4_000, 0.0, 1.2)
    times = {"predicted_seconds": 0.0, "seconds": 31.0}
    return TryRecord(**SEEN, **times, relation="replace-one", verdict="NOT_REFUTED", matrix=(row,), again=again, **more)


@pytest.mark.parametrize(("given", "advised"), [("", "20000"), ("--trials 600", "20000"), ("--trials 20000", "200000")])
def test_what_was_given_is_not_advised(given, advised):
    shown = screen.tried(open_record(f"dpverify certify own.py:f --allow-open {given}"))
    (line,) = [each for each in shown if each.startswith("  next")]
    assert line.split() == ["next", "--trials", advised, "looks", "harder"]


def test_noise_that_is_the_claim_but_for_rounding_is_not_more_than_the_claim():
    code = {"replace-one": Taped(status="EXACT", number=math.nextafter(1.0, 2.0), lower=None, pairs=1)}
    assert "more than is claimed" not in "\n".join(screen.tried(open_record(code=code)))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("args: real 0..1, real 0..1, rows 5", "X: array of shape (n, 1), y: array of shape (n,); `keywords:`"),
        ("args: real 0..1 x 3, label category 0|1, rows 5", "X: array of shape (n, 3), y: array of shape (n,)"),
        ("vector: real 0..1, rows 5", ""),
    ],
)
def test_the_shapes_of_several_arguments_are_said_and_true(line, said):
    schema = data_schema(line)
    words = call_in_words(schema)
    assert said in words
    assert bool(said) == bool(words)
    if words:
        rows = tuple(tuple(column.extremes()[0] for column in schema.columns) for _ in range(5))
        x, y = built(schema, rows)
        assert f"(n, {x.shape[1]})" in words
        assert (len(x), y.shape) == (5, (5,))
        assert f"  data    {words}"[:60] in "\n".join(screen.tried(open_record(called_with=words)))


@pytest.mark.process
def test_a_function_of_two_arguments_is_told_their_shapes_and_the_time_is_that_of_the_command(folder):
    text = (
        "import numpy as np\ndef f(x, y):\n    return np.clip(x[:, 0] * y, 0, 1).sum() + np.random.laplace(scale=2)\n"
    )
    (folder / "two.py").write_text(text, encoding="utf-8")
    data = "args: real 0..1, real 0..1, rows 3..5"
    before = time.monotonic()
    made = run(
        folder, "certify", "two.py:f", "--claim", "pure:.1", "--data", data, "--relation", "replace", "--trials", "100"
    )
    taken = time.monotonic() - before
    lines = made.stdout.splitlines()
    assert "X: array of shape (n, 1), y: array of shape (n,)" in made.stdout
    assert lines[1].startswith("  data ")
    assert taken - 1 < float(lines[0].split()[-2]) <= taken


def test_texts_in_an_output_are_named_with_a_remedy_that_works():
    for tried, remedy in ((True, "the trials read them; return numbers"), (False, "with --data instead of --pairs")):
        with pytest.raises(TargetError, match="f returns texts") as raised:
            local._numbers("above", "f", tried=tried)
        assert remedy in str(raised.value)


@pytest.mark.process
def test_no_dataset_is_ever_assumed(folder):
    made = certify(folder, "mean")
    assert (made.returncode, made.stdout) == (2, "")
    assert made.stderr.count("\n") == 1
    assert "on which datasets?" in made.stderr
    assert "--data 'vector: real 0..100, rows 5..50'" in made.stderr  # by its annotation


@pytest.mark.process
@pytest.mark.parametrize(
    "more",
    [
        ("--data", "list: real 0..x, rows 5"),
        ("--data", "list: real 0..1", "--pairs", "own:pairs"),
        ("--data", "nowhere.toml"),
        ("--relation", "both"),
        ("--pairs", "own:pairs", "--minutes", "2"),
        ("--pairs", "own:pairs", "--out-of-domain", "off"),
        ("--data", "list: real 0..1", "--jobs", "2"),
        ("--data", "list: real 0..1", "--view", "local"),
    ],
)
def test_a_bad_request_is_one_line_and_no_verdict(folder, more):
    made = certify(folder, "mean", *more)
    assert (made.returncode, made.stdout) == (2, "")
    assert made.stderr.count("\n") == 1


@pytest.mark.process
def test_settings_for_the_other_kind_of_request_are_not_heeded_and_memory_is(tmp_path):
    folder = tmp_path  # one of its own: settings hold for all that runs in their folder
    (folder / "own.py").write_text(FUNCTIONS)
    (folder / "pyproject.toml").write_text("[tool.dpverify]\njobs = 1\nminutes = 2\n", encoding="utf-8")
    assert certify(folder, "mean", "--data", MEAN[0], "--dry-run").returncode == 0
    two = "from dpverify import Pair\nPAIRS = [Pair([0, 1, 1], [2, 1, 1])]\n"
    (folder / "two.py").write_text(two, encoding="utf-8")
    asked = [
        "certify",
        "own.py:histogram",
        "--claim",
        "pure:1",
        "--pairs",
        "two.py:PAIRS",
        "--trials",
        "100",
        "--no-tape",
    ]
    assert run(folder, *asked).returncode == 3
    hungry = "import numpy as np\ndef ask(data, *, rng):\n    return np.ones(10**9)[:1]\n"
    (folder / "hungry.py").write_text(hungry, encoding="utf-8")
    asked = [
        "certify",
        "hungry.py:ask",
        "--claim",
        "pure:1",
        "--data",
        "list: real 0..1, rows 2..3",
        "--memory",
        "500",
        "--no-tape",
    ]
    made = run(folder, *asked)
    assert (made.returncode, made.stderr.count("\n")) == (3, 1), made.stderr
    assert "MemoryError" in made.stderr


@pytest.mark.process
def test_an_exception_of_the_target_names_its_line(folder):
    (folder / "broken.py").write_text("def ask(data):\n    return [][3]\n", encoding="utf-8")
    made = run(folder, "certify", "broken.py:ask", "--claim", "pure:1", "--data", "list: real 0..1", "--no-tape")
    assert (made.returncode, "broken.py:2" in made.stderr) == (3, True), made.stderr


def test_every_example_is_a_schema_and_every_mistake_a_line():
    for shape, line in EXAMPLES.items():
        assert data_schema(line).container == shape
    assert len(data_schema("array: real -1..1 x 10, rows 100").columns) == 10
    assert data_schema("value: category a|b|c").local
    assert data_schema("records: who unit 3, spent real 0..5, rows 4..9").unit is not None
    for wrong in (
        "",
        "list",
        "lst: real 0..1",
        "list: rows 5",
        "list: foo 0..1",
        "list: real nan..1, rows 5",
        "list: real 0..1, rows 9..5",
        "list: real 0..1, rows inf",
        "list: real 0..1 x 0",
    ):
        with pytest.raises(UsageError):
            data_schema(wrong)


def test_the_shape_is_guessed_from_annotations():
    def frame(table: "pd.DataFrame"): ...  # noqa: F821

    def nothing(data): ...

    assert guessed(frame) == EXAMPLES["frame"]
    assert guessed(nothing) == EXAMPLES["vector"]
