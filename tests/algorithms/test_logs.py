"""Logged trajectories as files: round trips, one line with exit code 2 for what is none, and `compare` on them."""

import numpy as np
import pytest
from architecture.test_docstrings import find_faults

from algorithms.core.environments import river_swim
from algorithms.core.model_files import write_environment
from algorithms.experiments import compare_command
from algorithms.experiments.compare import compare
from algorithms.experiments.compare_families import offline
from algorithms.offline.data import collect, take
from algorithms.offline.logs import COLUMNS, load_trajectories, write_trajectories
from algorithms.tabular import uniform_policy
from dpverify.base.seeding import Stage, stream
from dpverify.errors import ParameterError, RunError
from mechanisms.datasets.trajectories import Trajectories

RIVER = river_swim(3, 2)
HEAD = ",".join(COLUMNS)
GOOD = ["ann,0,0,1,0,1", "ann,1,1,0,0.5,0", "bob,0,0,0,1,0", "bob,1,0,1,0,2"]


def logged(users):
    model = RIVER.model
    return collect(model, uniform_policy(2, 3, 2), users, rng=stream(4, Stage.EXPERIMENT))


def edited(line, text):
    return [HEAD, *GOOD[:line], text, *GOOD[line + 1 :]]


BAD = {
    "a column is missing": (["user,step,state,action,reward", "ann,0,0,1,0"], "has the columns"),
    "a column more": ([f"{HEAD},weight", "ann,0,0,1,0,1,1"], "has the columns"),
    "no column": ([], "has the columns"),
    "no data": ([HEAD], "has no line of data"),
    "a value is missing": (edited(1, "ann,1,1,0,0.5"), "line 3: has not 6 values"),
    "a value more": (edited(1, "ann,1,1,0,0.5,0,0"), "line 3: has not 6 values"),
    "a state is no number": (edited(0, "ann,0,left,1,0,1"), "line 2: state = 'left': must be a whole number in 0..2"),
    "a state is no whole number": (edited(0, "ann,0,0.0,1,0,1"), "line 2: state = '0.0': must be"),
    "a state is too large": (edited(3, "bob,1,3,1,0,2"), "line 5: state = '3': must be a whole number in 0..2"),
    "a state is negative": (edited(3, "bob,1,-1,1,0,2"), "line 5: state = '-1': must be"),
    "an action is too large": (edited(2, "bob,0,0,2,1,0"), "line 4: action = '2': must be a whole number in 0..1"),
    "a next state is too large": (edited(3, "bob,1,0,1,0,7"), "line 5: next_state = '7': must be"),
    "a step is too late": (edited(3, "bob,2,0,1,0,2"), "line 5: step = '2': must be a whole number in 0..1"),
    "a reward is NaN": (edited(2, "bob,0,0,0,nan,0"), "line 4: reward = 'nan': must be a number in [0, 1]"),
    "a reward is above 1": (edited(2, "bob,0,0,0,1.01,0"), "line 4: reward = '1.01': must be"),
    "a reward is missing": (edited(2, "bob,0,0,0,,0"), "line 4: reward = '': must be"),
    "a step is missing": ([HEAD, *GOOD[:3]], "steps of user 'bob' = [0]: must be 0..1, each once"),
    "a step is there twice": (edited(3, "bob,0,0,1,0,2"), "steps of user 'bob' = [0, 0]: must be"),
    "the next step is elsewhere": (edited(3, "bob,1,1,1,0,2"), "next_state of user 'bob' in step 0 = 0: must be 1"),
}


def refusal(folder, capsys):
    """The one line that the command says of logs.csv."""
    write_environment(folder / "mdp.npz", RIVER)
    given = ["--family", "offline", "--env", f"{folder}/mdp.npz", "--agent", "collections:Counter"]
    assert compare_command.run_compare([*given, "--logs", f"{folder}/logs.csv"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{folder}/logs.csv" in line
    return line


@pytest.mark.parametrize("what", BAD)
def test_what_is_no_log_is_one_line(what, tmp_path, capsys):
    lines, said = BAD[what]
    (tmp_path / "logs.csv").write_text("".join(f"{line}\n" for line in lines))
    assert said in refusal(tmp_path, capsys)


def test_files_that_are_no_csv_are_one_line(tmp_path, capsys):
    assert "cannot be read (No such file" in refusal(tmp_path, capsys)
    (tmp_path / "logs.csv").write_bytes(b"\xff\xfe\x00\x01")
    assert "is no CSV file" in refusal(tmp_path, capsys)
    (tmp_path / "logs.csv").write_text(f'{HEAD}\n"ann,0,0\n')
    assert "is no CSV file" in refusal(tmp_path, capsys)


def test_what_is_written_is_loaded(tmp_path):
    data = logged(20)
    found = load_trajectories(write_trajectories(tmp_path / "logs.csv", data), states=3, actions=2)
    for name in ("states", "actions", "rewards", "final_states"):
        np.testing.assert_array_equal(getattr(found, name), getattr(data, name))


def test_lines_and_columns_in_any_order_are_the_same_data(tmp_path):
    (tmp_path / "one.csv").write_text("\n".join([HEAD, *GOOD]))
    turned = [",".join(reversed(line.split(","))) for line in (HEAD, GOOD[1], GOOD[2], GOOD[0], GOOD[3])]
    (tmp_path / "two.csv").write_text("\r\n".join([*turned, ""]))
    one, two = (load_trajectories(tmp_path / name, states=3, actions=2) for name in ("one.csv", "two.csv"))
    assert one.differences(two).replaced == 0
    assert one.states.tolist() == [[0, 1], [0, 0]]
    assert one.final_states.tolist() == [0, 2]


def test_what_a_log_cannot_hold_is_not_written(tmp_path):
    cut = Trajectories(states=[[0]], actions=[[0]], S=1, A=1)
    with pytest.raises(ParameterError, match="with final states"):
        write_trajectories(tmp_path / "logs.csv", cut)
    with pytest.raises(RunError, match="could not be written"):
        write_trajectories(tmp_path / "none" / "logs.csv", logged(2))


@pytest.mark.parametrize("documented", [load_trajectories, write_trajectories], ids=lambda each: each.__name__)
def test_docstrings_are_true(documented):
    assert find_faults(documented) == []


class Greedy:
    """Goes where most users went."""

    def plan(self, counts):
        return counts.transitions[..., -1].argmax(axis=-1)


def compared(data, **options):
    terms = {"environment": RIVER, "users": len(data), "runs": 3, "points": 2, "seed": 1, "search_seed": 9, **options}
    return compare({"mine": Greedy}, family="offline", privatizer=offline, eps=(1.0,), logged=data, **terms)


def test_agents_are_compared_on_logged_users():
    """Runs differ in noise alone: exact counts give the same policy for all seeds. The search does not see the logs."""
    data = logged(40)
    found = compared(data)
    assert found.data.startswith("40 logged users, the same for all seeds")
    exact = found.at("APVI, exact counts", 1.0)
    assert len(set(exact.final)) == 1
    assert exact.half_width == 0
    other = compared(take(data, slice(20, None)), users=20)
    again = compared(take(data, slice(0, 20)), users=20)
    assert other.at("DP-APVI", 1.0).search == again.at("DP-APVI", 1.0).search
    assert again.at("mine", 1.0).final == compared(data, users=20).at("mine", 1.0).final


def test_logs_that_do_not_fit_are_refused():
    with pytest.raises(ParameterError, match="as the environment"):
        compared(logged(10), environment=river_swim(4, 2))
    with pytest.raises(ParameterError, match="at most the 10 that are logged"):
        compared(logged(10), users=11)


def test_the_command_takes_logs(tmp_path, capsys):
    write_environment(tmp_path / "mdp.npz", RIVER)
    write_trajectories(tmp_path / "logs.csv", logged(30))
    (tmp_path / "greedy_rl.py").write_text(
        "class Greedy:\n    def plan(self, counts):\n        return counts.transitions[..., -1].argmax(axis=-1)\n"
    )
    given = ["--agent", f"{tmp_path}/greedy_rl.py:Greedy", "--logs", f"{tmp_path}/logs.csv"]
    small = ["--env", f"{tmp_path}/mdp.npz", "--seeds", "2", "--points", "1"]
    assert compare_command.run_compare([*given, *small, "--family", "offline"]) == 0
    assert "30 logged users" in capsys.readouterr().out
    for wrong in ([*small], ["--family", "offline"]):
        assert compare_command.run_compare([*given, *wrong]) == 2
        assert "with --family offline, and --env" in capsys.readouterr().err
