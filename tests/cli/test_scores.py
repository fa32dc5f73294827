"""`dpverify scores`: files of canaries, what cannot be read, exit codes and all faces."""

import hashlib
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from dpverify import check
from dpverify.cli import main
from dpverify.cli.scores_command import _content, _table
from dpverify.errors import UsageError

M = 2000
RNG = np.random.default_rng(11)
INCLUDED = RNG.random(M) < 0.5
KEPT, BROKEN = INCLUDED + RNG.normal(scale=2.0, size=M), INCLUDED + RNG.normal(scale=0.4, size=M)
CLAIM = "approx:2,1e-5"


def written(path: Path, columns: dict[str, Any], suffix: str = ".csv") -> Path:
    file = path / f"canaries{suffix}"
    rows = list(zip(*columns.values(), strict=True))
    if suffix == ".csv":
        text = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    else:
        text = [json.dumps(dict(zip(columns, row, strict=True))) for row in rows]
    file.write_text("\n".join(text) + "\n")
    return file


def run(*arguments: object) -> int:
    return main.run(["scores", *map(str, arguments)])


def read(file: Path) -> dict[str, list[Any]]:
    return _table(file, _content(file))[0]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_exit_codes_follow_the_claim(tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
    for scores, codes, word in ((KEPT, (3, 0), "OPEN"), (BROKEN, (1, 1), "REFUTED")):
        file = written(tmp_path, {"score": scores.tolist(), "included": INCLUDED.astype(int).tolist()}, suffix)
        assert run(file, "--claim", CLAIM) == codes[0]
        assert run(file, "--claim", CLAIM, "--allow-open") == codes[1]
        assert word in capsys.readouterr().out
    assert run(written(tmp_path, {"included": [0, 1], "score": [1.0, 2.0]}), "--claim", CLAIM) == 3
    assert "2 canaries, and fewer than 16" in capsys.readouterr().out
    assert run(written(tmp_path, {"included": [1] * 40, "score": range(40)}), "--claim", CLAIM) == 3
    assert "INVALID: COINS, all 40 canaries are in" in capsys.readouterr().out


def test_every_face_is_written_and_the_checker_accepts_it(tmp_path: Path) -> None:
    file = written(tmp_path, {"included": INCLUDED.astype(int), "score": BROKEN})
    faces = {form: tmp_path / f"out.{form}" for form in ("json", "html", "markdown", "junit", "sarif")}
    assert run(file, "--claim", CLAIM, *(word for form, path in faces.items() for word in (f"--{form}", path))) == 1
    again = "canaries.csv --claim approx:2,1e-05 --significance 0.05"  # folders of a test may be quoted
    assert all(again in faces[form].read_text() for form in ("markdown", "junit", "sarif"))
    assert "REFUTED" in faces["html"].read_text()  # details are packed there
    assert check.main([str(faces["json"])]) == 0
    assert ElementTree.parse(faces["junit"]).getroot().attrib["name"] == "dpverify"
    assert json.loads(faces["sarif"].read_text())["runs"][0]["results"][0]["ruleId"] == "claim-refuted"
    record = json.loads(faces["json"].read_text())["records"][0]
    assert (record["score"], record["trials"], record["relation"]) == ("one run", M, "add-or-remove-one")


@pytest.mark.parametrize("claim", ["zcdp:1e-9", "rdp:2,1e-9", "gdp:1e-6"])
def test_a_tiny_claim_is_judged_and_its_record_is_accepted(tmp_path: Path, claim: str) -> None:
    for scores, code in ((RNG.normal(size=200), 3), (INCLUDED[:200] + RNG.normal(scale=0.1, size=200), 1)):
        file = written(tmp_path, {"included": INCLUDED[:200].astype(int), "score": scores})
        assert run(file, "--claim", claim, "--json", tmp_path / "r.json") == code
        assert check.main([str(tmp_path / "r.json")]) == 0


def test_pairs_and_groups_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = {"included": INCLUDED, "first": KEPT, "second": -BROKEN, "group": ["a", "b"] * (M // 2)}
    file = written(tmp_path, columns)
    assert run(file, "--claim", "pure:1", "--json", tmp_path / "r.json") == 1
    assert "2 groups share the significance" in capsys.readouterr().out
    assert json.loads((tmp_path / "r.json").read_text())["records"][0]["relation"] == "replace-one"


def test_columns_that_are_not_read_are_named_and_a_pipe_is_read_once(tmp_path: Path) -> None:
    columns = {"included": INCLUDED.astype(int), "score": KEPT, "checkpoint": ["late"] * M}
    content = written(tmp_path, columns).read_bytes()
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=[content])
    writer.start()
    assert run(pipe, "--claim", CLAIM, "--json", tmp_path / "r.json") == 3
    writer.join()
    record = json.loads((tmp_path / "r.json").read_text())["records"][0]
    assert record["source_digest"] == hashlib.sha256(content).hexdigest()
    assert "columns that are not read: checkpoint" in " ".join(record["notes"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has the columns of nothing"),
        ("in,score\n1,2\n", "needs included,score"),
        ("included,score,score\n1,2,2\n", "each once"),
        ("included,score\n1,2\n2,1\n", "line 3: included is '2'"),
        ("included,score\n1,2\n0,two\n", "line 3: score is 'two'"),
        ("included,score\n1,1_000\n", "line 2: score is '1_000'"),
        ("included,score\n1,2\n0\n", "line 3: 1 cells, and there are 2 columns"),
        ("included,score\n", "included = []"),
        ("included,score\n1,\xff\n", "line 2: score"),
        ('included,score,group\n1,2,a\n0,1,"a\n1,2,a\n', "unexpected end of data"),
        ('{"included": 1, "score": 1' + "0" * 400 + "}", "line 2: score is"),
        ("[" * 100_000, "recursion"),
        ('{"included": 1, "included": 0, "score": 1}', "stands twice"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_line(
    tmp_path: Path, text: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / ("canaries.jsonl" if text[:1] in ("{", "[") else "canaries.csv")
    file.write_text(text, encoding="utf-8")
    assert run(file, "--claim", CLAIM) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_missing_scores_are_read_and_broken_lines_are_not(tmp_path: Path) -> None:
    file = tmp_path / "canaries.csv"
    file.write_text("\ufeffincluded, score\n1,\nTrue,nan\n\n0,-inf\n")
    table = read(file)
    assert table["included"] == [1.0, 1.0, 0.0]
    assert np.isnan(table["score"][:2]).all()
    lines = tmp_path / "canaries.jsonl"
    lines.write_text('{"included": 1, "score": null}\n{"included": 0}\n')
    with pytest.raises(UsageError, match="a line has included, and the first one included, score"):
        read(lines)
    with pytest.raises(UsageError, match="No such file"):
        read(tmp_path / "none.csv")


def test_parquet_is_read_by_pandas_where_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pandas = pytest.importorskip("pandas")
    file = tmp_path / "canaries.parquet"
    file.write_bytes(b"")
    frame = pandas.DataFrame({"included": [True, False], "score": [0.5, None]})
    monkeypatch.setattr(pandas, "read_parquet", lambda path: frame)
    assert read(file)["included"] == [1.0, 0.0]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match="pandas, which is not installed"):
        read(file)
