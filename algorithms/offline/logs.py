"""Logged trajectories as a CSV file: user, step, state, action, reward, next_state; one line a user and step.

user          any text; the lines of a user need not stand together
step          0 .. H-1, each once for every user: all episodes have H steps
state, action, next_state    whole numbers from 0; the next state is the state of the step after
reward        in [0, 1]
"""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.errors import ParameterError, RunError, UsageError
from mechanisms.datasets.trajectories import Trajectories

IntArray = npt.NDArray[np.int64]

COLUMNS = ("user", "step", "state", "action", "reward", "next_state")


def load_trajectories(path: str | Path, *, states: int, actions: int, horizon: int | None = None) -> Trajectories:
    """Load logged trajectories from a CSV file and check all of it.

    Parameters
    ----------
    path : str or Path
        A CSV file with the columns user, step, state, action, reward, next_state in any order, and no others.
    states, actions : int
        S and A: states are in 0..S-1, actions in 0..A-1. They are public, and not read off the data.
    horizon : int or None
        H, if it is known; otherwise it is the largest step + 1.

    Returns
    -------
    Trajectories
        Users in the order of their first lines, with rewards and final states.

    Raises
    ------
    UsageError
        For a file that is missing, cannot be read, is empty or has other columns.
    ParameterError
        For what is no number in its range (NaN included), a step that is missing or there twice, and a next state that
        is not the state of the step after. The message names file and line, or user and step.

    Examples
    --------
    >>> import csv, tempfile
    >>> lines = [("user", "step", "state", "action", "reward", "next_state")]
    >>> lines += [("ann", 0, 0, 1, 0, 1), ("ann", 1, 1, 0, 0.5, 0)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(f"{folder}/logs.csv", "w") as file:
    ...         csv.writer(file).writerows(lines)
    ...     data = load_trajectories(f"{folder}/logs.csv", states=2, actions=2)
    >>> data.states.tolist(), data.final_states.tolist()
    ([[0, 1]], [0])
    """
    require.integer(at_least=1, states=states, actions=actions)
    if horizon is not None:
        require.integer(at_least=1, horizon=horizon)
    numbers, columns = _read_columns(path)
    limits = {"step": horizon or len(numbers), "state": states, "action": actions, "next_state": states}
    whole = {
        name: np.array(
            [_whole(path, line, name, text, limit) for line, text in zip(numbers, columns[name], strict=True)]
        )
        for name, limit in limits.items()
    }
    paid = np.array([_reward(path, line, text) for line, text in zip(numbers, columns["reward"], strict=True)])
    names = list(dict.fromkeys(columns["user"]))
    place = {name: number for number, name in enumerate(names)}
    user = np.array([place[name] for name in columns["user"]])
    steps = int(whole["step"].max()) + 1 if horizon is None else horizon
    order = _in_order(path, names, user, whole["step"], steps)
    state, action, following = (
        whole[name][order].reshape(len(names), steps) for name in ("state", "action", "next_state")
    )
    broken = np.argwhere(following[:, :-1] != state[:, 1:])
    if len(broken):
        who, h = broken[0].tolist()
        where = f"{path}: next_state of user {names[who]!r} in step {h}"
        raise ParameterError(where, int(following[who, h]), f"{state[who, h + 1]}, the state of step {h + 1}")
    return Trajectories(
        states=state,
        actions=action,
        S=states,
        A=actions,
        rewards=paid[order].reshape(state.shape),
        final_states=following[:, -1],
    )


def write_trajectories(path: str | Path, data: Trajectories) -> Path:
    """Write trajectories to a CSV file that `load_trajectories` reads.

    Parameters
    ----------
    path : str or Path
        The file.
    data : Trajectories
        Of one player, with final states and without absent users. Users are numbered from 0.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ParameterError
        For data of another kind.
    RunError
        For a place that cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from algorithms.offline.logs import load_trajectories
    >>> from mechanisms.datasets.trajectories import Trajectories
    >>> data = Trajectories(states=[[0, 1]], actions=[[1, 0]], rewards=[[0, 0.5]], final_states=[0], S=2, A=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load_trajectories(write_trajectories(f"{folder}/logs.csv", data), states=2, actions=2)
    >>> again.rewards.tolist()
    [[0.0, 0.5]]
    """
    if data.B is not None or data.final_states is None or data.absent.any():
        raise ParameterError("data", data.layout, "of one player, with final states, without absent users")
    columns = [np.indices(data.states.shape)[0], np.indices(data.states.shape)[1], data.states, data.actions]
    columns += [np.asarray(data.rewards), data.next_states]
    try:
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            writer.writerows(zip(*(each.ravel().tolist() for each in columns), strict=True))
    except OSError as error:
        raise RunError(f"{path}: could not be written ({error.strerror})") from error
    return Path(path)


def _read_columns(path: str | Path) -> tuple[list[int], dict[str, list[str]]]:
    """Numbers of the lines, and the texts of each column."""
    numbers, rows = list[int](), list[dict[str, Any]]()
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file, strict=True)
            head = list(reader.fieldnames or ())
            if sorted(head) != sorted(COLUMNS):
                raise UsageError(f"{path}: has the columns {', '.join(head)[:200]!r}, and not {', '.join(COLUMNS)}")
            for row in reader:
                if None in row or None in row.values():
                    raise UsageError(f"{path}, line {reader.line_num}: has not {len(COLUMNS)} values")
                numbers.append(reader.line_num)
                rows.append(row)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{path}: is no CSV file ({error})") from error
    if not rows:
        raise UsageError(f"{path}: has no line of data")
    return numbers, {name: [row[name] for row in rows] for name in COLUMNS}


def _whole(path: str | Path, line: int, name: str, text: str, limit: int) -> int:
    """A number from 0, below the limit."""
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) < limit):
        raise ParameterError(f"{path}, line {line}: {name}", text, f"a whole number in 0..{limit - 1}")
    return int(text)


def _reward(path: str | Path, line: int, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not 0 <= value <= 1:  # NaN fails
        raise ParameterError(f"{path}, line {line}: reward", text, "a number in [0, 1]")
    return value


def _in_order(path: str | Path, names: Sequence[str], user: IntArray, step: IntArray, steps: int) -> IntArray:
    """Numbers of the lines by user and step; ParameterError where a user has not every step once."""
    order = np.lexsort((step, user))
    ends = np.cumsum(np.bincount(user))[:-1]
    for name, seen in zip(names, np.split(step[order], ends), strict=True):
        if not np.array_equal(seen, np.arange(steps)):
            raise ParameterError(f"{path}: steps of user {name!r}", seen.tolist(), f"0..{steps - 1}, each once")
    return order
