"""`[tool.dpverify]` of pyproject.toml and `--profile`: which default a command has, and what is no setting."""

from typing import Annotated

import pytest
import typer

from dpverify.cli import settings
from dpverify.cli.main import COMMANDS, run
from dpverify.errors import UsageError


def place(tmp_path, text, monkeypatch):
    (tmp_path / "pyproject.toml").write_text(text)
    below = tmp_path / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    return settings.defaults(COMMANDS, below)


def test_a_command_s_table_beats_that_of_all(tmp_path, monkeypatch):
    found = place(
        tmp_path,
        "[tool.dpverify]\nseed = 7\nquiet = true\n[tool.dpverify.audit]\nseed = 8\nlf = true\n"
        "[tool.dpverify.certify]\narg = ['eps=1']\n[tool.dpverify.profiles.mine]\ntrials = 3\n",
        monkeypatch,
    )
    assert {name: found[name].get("seed") for name in ("audit", "certify", "trace", "diff")} == {
        "audit": 8,
        "certify": 7,
        "trace": 7,
        "diff": None,
    }
    assert found["audit"]["last_failed"] is True
    assert found["certify"]["arg"] == ["eps=1"]
    assert "quiet" not in found["trace"]
    assert found["audit"]["profiles"]["mine"] == {"trials": 3}
    assert found["trace"]["profiles"]["quick"] == {"transcripts": 16}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[tool.dpverify]\nsede = 7", "'sede': no command has such an option"),
        ("[tool.dpverify.diff]\nseed = 7", "diff has no such option"),
        ("[tool.dpverify.audit]\nlist = true", "audit has no such option"),
        ("[tool.dpverify]\ndry-run = true", "no command has such an option"),
        ("[tool.dpverify]\nseed = 7.5", "must be a whole number"),
        ("[tool.dpverify]\nseed = true", "must be a whole number"),
        ("[tool.dpverify]\nsignificance = 'small'", "must be a number"),
        ("[tool.dpverify]\nquiet = 1", "must be true or false"),
        ("[tool.dpverify]\njson = 1", "must be a text"),
        ("[tool.dpverify]\narg = 'eps=1'", "must be a list of texts"),
        ("[tool.dpverify]\naudit = 1", "must be a table"),
        ("[tool.dpverify.profiles]\nquick = 1", "must be a table"),
        ("[tool.dpverify.profiles.quick]\nspeed = 1", "no command has such an option"),
        ("[tool]\ndpverify = 1", "must be a table"),
        ("[tool.dpverify", "cannot be read"),
    ],
)
def test_what_is_no_setting_is_one_line_and_exit_code_2(tmp_path, monkeypatch, capsys, text, words):
    with pytest.raises(UsageError, match=words):
        place(tmp_path, text, monkeypatch)
    assert run(["plan", "--claim", "pure:1"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


AUDIT = """
import numpy as np
from dpverify import Pair, PureDP, Subject
class Noisy:
    def release(self, data, *, rng, size):
        return data + rng.laplace(0.0, 1.0, size)
subjects = [Subject(name="count", target=Noisy(), claim=PureDP(1.0), pairs=(Pair(0.0, 1.0),))]
"""


@pytest.mark.parametrize(
    ("typed", "trials"),
    [
        ([], 111),
        (["--profile", "mine"], 222),
        (["--profile", "mine", "--trials", "333"], 333),
    ],
)
def test_what_is_typed_beats_a_profile_and_that_the_table(tmp_path, monkeypatch, capsys, typed, trials):
    asked = []

    def audit(
        profile: Annotated[str | None, typer.Option(is_eager=True, callback=settings.profile)] = None,
        trials: Annotated[int, typer.Option()] = 0,
    ) -> None:
        asked.append(trials)

    def other() -> None:
        """Typer makes a group of two."""

    text = "[tool.dpverify]\ntrials = 111\n[tool.dpverify.profiles.mine]\ntrials = 222\n"
    (tmp_path / "pyproject.toml").write_text(text.replace("[tool.dpverify]", "[tool.dpverify.audit]", 1))
    app, commands = typer.Typer(), {"audit": audit, "other": other}
    for name, command in commands.items():
        app.command(name)(command)
    monkeypatch.setattr(settings, "PROFILES", {})
    app(["audit", *typed], standalone_mode=False, default_map=settings.defaults(commands, tmp_path))
    assert asked == [trials]


def test_an_unknown_profile_is_refused(tmp_path, monkeypatch, capsys):
    place(tmp_path, "", monkeypatch)
    (tmp_path / "audit_count.py").write_text(AUDIT)
    assert run(["audit", str(tmp_path), "--list", "--profile", "slow"]) == 2
    assert "must be one of quick, ci, nightly" in capsys.readouterr().err
    assert run(["audit", str(tmp_path), "--list", "--profile", "quick"]) == 0


def test_the_help_of_audit_is_sixteen_options_in_groups(capsys):
    assert run(["audit", "--help"]) == 0
    said = capsys.readouterr().out
    options = [line for line in said.splitlines() if line.startswith("  -") and "--help" not in line]
    assert len(options) == 16
    assert [each for each in ("What", "How much", "Evidence", "Outputs", "Running") if f"{each}:" not in said] == []
