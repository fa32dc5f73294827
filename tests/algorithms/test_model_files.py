"""MDPs as files: round trips, and one line with exit code 2 for everything that is not one."""

import numpy as np
import pytest
from architecture.test_docstrings import find_faults

from algorithms.core.environments import Environment, heterogeneous_bandit, random_environment, river_swim
from algorithms.core.model_files import load_environment, write_environment
from algorithms.experiments import compare_command
from dpverify.errors import ParameterError, RunError, UsageError

LAW = np.array([[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.25, 0.75]]])  # (S, A, S)
GOOD = {"P": np.stack([LAW] * 3), "r": np.full((3, 2, 2), 0.5), "p0": np.array([1.0, 0.0])}


def edited(name, place, value):
    array = GOOD[name].copy()
    array[place] = value
    return {**GOOD, name: array}


BAD = {  # arrays, and what is said of them
    "P is missing": ({"r": GOOD["r"], "p0": GOOD["p0"]}, "lacks P"),
    "an array more": ({**GOOD, "gamma": np.array(0.9)}, "holds gamma"),
    "P has two axes": ({**GOOD, "P": np.eye(2)}, "P.shape = (2, 2): must be (H, S, A, S) or (S, A, S)"),
    "P is not square": ({**GOOD, "P": np.ones((3, 2, 2, 1))}, "P.shape = (3, 2, 2, 1): must be"),
    "P is empty": ({**GOOD, "P": np.ones((0, 2, 2, 2))}, "P.shape = (0, 2, 2, 2): must be"),
    "H is not known": ({**GOOD, "P": LAW, "r": np.full((2, 2), 0.5)}, "give H in the file, or as horizon"),
    "H is no number": ({**GOOD, "P": LAW, "H": np.array([3])}, "H = [3]: must be a whole number"),
    "H is 0": ({**GOOD, "P": LAW, "H": np.array(0)}, "H = 0: must be a whole number"),
    "H differs from P": ({**GOOD, "H": np.array(4)}, "H = 4: must be 3"),
    "H differs from r": ({**GOOD, "P": LAW, "H": np.array(4)}, "r.shape = (3, 2, 2): must be (4, 2, 2)"),
    "r has another shape": ({**GOOD, "r": np.full((3, 2), 0.5)}, "r.shape = (3, 2): must be (3, 2, 2)"),
    "p0 has another shape": ({**GOOD, "p0": np.full(3, 1 / 3)}, "p0.shape = (3,): must be (2,)"),
    "a row does not sum to 1": (edited("P", (1, 0, 1, 0), 0.9), "P[1, 0, 1].sum() = 0.9: must be 1"),
    "a probability is below 0": (edited("P", (2, 0, 0), [-0.5, 1.5]), "P[2, 0, 0, 0] = -0.5: must be a probability"),
    "P is NaN": (edited("P", (0, 0, 0, 0), np.nan), "P[0, 0, 0, 0] = nan: must be a probability"),
    "P is infinite": (edited("P", (0, 0, 0, 0), np.inf), "P[0, 0, 0, 0] = inf: must be a probability"),
    "a reward is NaN": (edited("r", (0, 1, 0), np.nan), "r[0, 1, 0] = nan: must be in [0, 1]"),
    "a reward is above 1": (edited("r", (2, 1, 1), 1.5), "r[2, 1, 1] = 1.5: must be in [0, 1]"),
    "a reward is below 0": (edited("r", (0, 0, 0), -0.1), "r[0, 0, 0] = -0.1: must be in [0, 1]"),
    "p0 does not sum to 1": ({**GOOD, "p0": np.array([0.5, 0.4])}, "p0.sum() = 0.9: must be 1"),
    "p0 is NaN": ({**GOOD, "p0": np.array([np.nan, 1.0])}, "p0[0] = nan: must be a probability"),
    "P is text": ({**GOOD, "P": np.array("none")}, "P.dtype = '<U4': must be that of real numbers"),
    "r is complex": ({**GOOD, "r": GOOD["r"] + 0j}, "r.dtype = 'complex128': must be that of real numbers"),
    "P holds objects": ({**GOOD, "P": np.array([None])}, "holds Python objects"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_no_mdp_is_one_line(what, tmp_path, capsys):
    arrays, said = BAD[what]
    np.savez(tmp_path / "mdp.npz", **arrays)
    assert said in refusal(tmp_path / "mdp.npz", capsys)


def refusal(path, capsys):
    """The one line that the command says of the file."""
    assert compare_command.run_compare(["--env", str(path), "--agent", "collections:Counter"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert str(path) in line
    with pytest.raises(UsageError):
        load_environment(path)
    return line


def test_files_that_are_no_npz_are_one_line(tmp_path, capsys):
    assert "cannot be read (No such file" in refusal(tmp_path / "none.npz", capsys)
    (tmp_path / "folder.npz").mkdir()
    assert "cannot be read (Is a directory)" in refusal(tmp_path / "folder.npz", capsys)
    (tmp_path / "text.npz").write_text("P = 1\n")
    assert "is no npz file" in refusal(tmp_path / "text.npz", capsys)
    (tmp_path / "empty.npz").touch()
    assert "is no npz file" in refusal(tmp_path / "empty.npz", capsys)
    with (tmp_path / "array.npz").open("wb") as file:
        np.save(file, GOOD["P"])
    assert "is no npz file" in refusal(tmp_path / "array.npz", capsys)
    np.savez(tmp_path / "broken.npz", **GOOD)
    whole = bytearray((tmp_path / "broken.npz").read_bytes())
    whole[200] ^= 255  # a probability
    (tmp_path / "broken.npz").write_bytes(whole)
    assert "is a broken npz file" in refusal(tmp_path / "broken.npz", capsys)


@pytest.mark.parametrize("environment", [river_swim(), random_environment(3, 3, 2, 4)], ids=lambda each: each.name)
def test_what_is_written_is_loaded(environment, tmp_path):
    write_environment(tmp_path / "mdp.npz", environment)
    found = load_environment(tmp_path / "mdp.npz")
    assert found.name == "mdp"
    np.testing.assert_array_equal(found.model.transitions, environment.model.transitions)
    np.testing.assert_array_equal(found.reward_means, environment.reward_means)
    np.testing.assert_array_equal(found.model.initial, environment.model.initial)


def test_rewards_of_the_next_state_are_written_and_loaded(tmp_path):
    environment = Environment("next", GOOD["P"], np.broadcast_to([0.0, 1.0], GOOD["P"].shape), GOOD["p0"])
    write_environment(tmp_path / "mdp.npz", environment)
    np.testing.assert_array_equal(load_environment(tmp_path / "mdp.npz").reward_means, environment.reward_means)


def test_what_a_file_cannot_hold_is_not_written(tmp_path):
    with pytest.raises(ParameterError, match="one law for all users"):
        write_environment(tmp_path / "mdp.npz", heterogeneous_bandit(1))
    with pytest.raises(ParameterError, match=r"ending is \.npz"):
        write_environment(tmp_path / "mdp.txt", river_swim())
    with pytest.raises(RunError, match="could not be written"):
        write_environment(tmp_path / "none" / "mdp.npz", river_swim())


def test_a_law_that_is_the_same_in_every_step_needs_a_horizon(tmp_path):
    path = tmp_path / "mdp.npz"
    still = {**GOOD, "P": LAW}
    np.savez(path, **still)
    assert load_environment(path).model.horizon == 3  # that of r
    with pytest.raises(ParameterError, match=r"r\.shape = \(3, 2, 2\): must be \(4, 2, 2\)"):
        load_environment(path, horizon=4)
    flat = {**still, "r": np.full((2, 2), 0.5)}
    np.savez(path, **flat)
    assert load_environment(path, horizon=4).model.rewards.shape == (4, 2, 2)
    np.savez(path, **flat, H=5)
    assert load_environment(path).model.horizon == 5
    for arrays in ({**flat, "H": 5}, GOOD):
        np.savez(path, **arrays)
        with pytest.raises(ParameterError, match="has an H of its own"):
            load_environment(path, horizon=5)


def test_single_precision_is_enough(tmp_path):
    model = random_environment(2, 5, 2, 3).model
    single = {"P": model.transitions.astype("f4"), "r": model.rewards.astype("f4"), "p0": model.initial.astype("f4")}
    np.savez(tmp_path / "mdp.npz", **single)
    found = load_environment(tmp_path / "mdp.npz").model
    assert found.complete
    np.testing.assert_allclose(found.transitions, model.transitions, atol=1e-6)


@pytest.mark.parametrize("documented", [load_environment, write_environment], ids=lambda each: each.__name__)
def test_docstrings_are_true(documented):
    assert find_faults(documented) == []
